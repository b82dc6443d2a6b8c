//! One attempt of a call, as it stands in answers, errors and events.

use super::handle::{self, Object, Opaque, Tagged};
use super::{guard, text};
use crate::Attempt;
use std::ffi::{CString, c_char};
use std::ptr;

/// One attempt of a call. It belongs to the answer, error or event it was had from.
///
/// It never changes: any number of threads may read it.
pub struct anyhost_attempt(Opaque);

impl Object for anyhost_attempt {
    type Inside = Shown;
    const TAG: &'static [u8; 8] = b"ahattemp";
    const NAME: &'static str = "attempt";
}

/// Its place in the call, from 1; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_number(attempt: *const anyhost_attempt) -> u32 {
    guard!(value or 0, Ok(handle::get(attempt)?.attempt.number()))
}

/// The label of the endpoint; NULL for NULL.
///
/// The text lives as long as the attempt. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_endpoint(
    attempt: *const anyhost_attempt,
) -> *const c_char {
    guard!(value or ptr::null(), Ok(handle::get(attempt)?.endpoint.as_ptr()))
}

/// The label of the proxy it went through; NULL where it went straight to the endpoint, and for NULL.
///
/// The text lives as long as the attempt. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_proxy(attempt: *const anyhost_attempt) -> *const c_char {
    guard!(value or ptr::null(), Ok(handle::get(attempt)?.proxy()))
}

/// A few words on what broke, "" where nothing did; NULL for NULL.
///
/// The text lives as long as the attempt. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_message(attempt: *const anyhost_attempt) -> *const c_char {
    guard!(value or ptr::null(), Ok(handle::get(attempt)?.message.as_ptr()))
}

/// How far it got: one of ANYHOST_PHASE_*; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_phase(attempt: *const anyhost_attempt) -> i32 {
    guard!(value or 0, Ok(handle::get(attempt)?.attempt.phase().code()))
}

/// Why it failed: one of ANYHOST_REASON_*; 0 where it did not, and for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_reason(attempt: *const anyhost_attempt) -> i32 {
    guard!(value or 0, Ok(handle::get(attempt)?.attempt.reason().code()))
}

/// Whether the request reached a server in this attempt: one of ANYHOST_DELIVERY_*; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_delivery(attempt: *const anyhost_attempt) -> i32 {
    guard!(value or 0, Ok(handle::get(attempt)?.attempt.delivery().code()))
}

/// The status of the answer; 0 where no head of one arrived, and for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_http_status(attempt: *const anyhost_attempt) -> i32 {
    guard!(value or 0, Ok(handle::get(attempt)?.http_status()))
}

/// 1 = it went over a connection kept alive from an earlier exchange, 0 = over a new one; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_reused_connection(attempt: *const anyhost_attempt) -> i32 {
    guard!(value or 0, Ok(handle::get(attempt)?.attempt.reused_connection().into()))
}

/// 1 = it is the replay, on a new connection, of the attempt before it, which met a connection that had
/// died; 0 = it is not, and for NULL.
///
/// A replay shares that attempt's limits, and counts against none. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_is_replay(attempt: *const anyhost_attempt) -> i32 {
    guard!(value or 0, Ok(handle::get(attempt)?.attempt.is_replay().into()))
}

/// 1 = it asked for what a redirect points to; 0 = it did not, and for NULL.
///
/// Such a hop counts in no limit of attempts. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_is_hop(attempt: *const anyhost_attempt) -> i32 {
    guard!(value or 0, Ok(handle::get(attempt)?.attempt.is_hop().into()))
}

/// The operating system's error number (errno); 0 where there was none, and for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_os_error(attempt: *const anyhost_attempt) -> i32 {
    guard!(value or 0, Ok(handle::get(attempt)?.attempt.os_error()))
}

/// How long the server wants to be left alone, in milliseconds; 0 where it did not say, and for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_retry_after_ms(attempt: *const anyhost_attempt) -> u64 {
    guard!(value or 0, Ok(handle::get(attempt)?.retry_after_ms()))
}

/// When it began, in microseconds from the start of the call; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_started_us(attempt: *const anyhost_attempt) -> u64 {
    guard!(value or 0, Ok(handle::get(attempt)?.started_us()))
}

/// How long it took, in microseconds; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_elapsed_us(attempt: *const anyhost_attempt) -> u64 {
    guard!(value or 0, Ok(handle::get(attempt)?.elapsed_us()))
}

/// HTTP bytes sent, before encryption; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_bytes_sent(attempt: *const anyhost_attempt) -> u64 {
    guard!(value or 0, Ok(handle::get(attempt)?.attempt.bytes_sent()))
}

/// HTTP bytes received, after decryption; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_attempt_bytes_received(attempt: *const anyhost_attempt) -> u64 {
    guard!(value or 0, Ok(handle::get(attempt)?.attempt.bytes_received()))
}

/// An attempt with its texts as C reads them.
pub(super) struct Shown {
    attempt: Attempt,
    endpoint: CString,
    proxy: Option<CString>,
    message: CString,
}

impl Shown {
    pub(super) fn new(attempt: &Attempt) -> Tagged<Self> {
        Tagged::new::<anyhost_attempt>(Shown {
            endpoint: text::owned(attempt.endpoint()),
            proxy: attempt.proxy().map(text::owned),
            message: text::one_line(attempt.message()),
            attempt: attempt.clone(),
        })
    }

    pub(super) fn all(attempts: &[Attempt]) -> Box<[Tagged<Self>]> {
        attempts.iter().map(Shown::new).collect()
    }

    fn proxy(&self) -> *const c_char {
        self.proxy.as_ref().map_or(ptr::null(), |proxy| proxy.as_ptr())
    }

    fn http_status(&self) -> i32 {
        self.attempt.http_status().map_or(0, i32::from)
    }

    fn retry_after_ms(&self) -> u64 {
        super::millis(self.attempt.retry_after())
    }

    fn started_us(&self) -> u64 {
        super::micros(self.attempt.started())
    }

    fn elapsed_us(&self) -> u64 {
        super::micros(self.attempt.elapsed())
    }
}
