//! An error.

use super::attempt::{Shown, anyhost_attempt};
use super::handle::{self, Object, Opaque, Owned, Tagged};
use super::{Out, guard, text};
use crate::Error;
use std::ffi::{CString, c_char};
use std::ptr;

/// What went wrong, and everything known about it. It never changes: any number of threads may read it.
///
/// Everything it hands out belongs to it, and lives as long as it does.
pub struct anyhost_error(Opaque);

impl Object for anyhost_error {
    type Inside = Told;
    const TAG: &'static [u8; 8] = b"ahfailed";
    const NAME: &'static str = "error";
}
impl Owned for anyhost_error {}

/// Frees an error and everything it handed out. NULL does nothing. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_error_free(error: *mut anyhost_error) {
    guard!(value or (), { handle::free(error); Ok(()) })
}

/// What kind of error it is: one of ANYHOST_E_*, the same that the function answered; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_error_status(error: *const anyhost_error) -> i32 {
    guard!(value or 0, Ok(handle::get(error)?.error.status().code()))
}

/// What went wrong, in one line. Never NULL: "" for NULL.
///
/// The text lives as long as the error. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_error_message(error: *const anyhost_error) -> *const c_char {
    guard!(value or c"".as_ptr(), Ok(handle::get(error)?.message.as_ptr()))
}

/// Whether the request reached a server, the most certain of all attempts: one of ANYHOST_DELIVERY_*.
///
/// 0, not sent, where no attempt was made, and for NULL. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_error_delivery(error: *const anyhost_error) -> i32 {
    guard!(value or 0, Ok(handle::get(error)?.error.delivery().code()))
}

/// Why the last attempt failed: one of ANYHOST_REASON_*; 0 where none did, and for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_error_reason(error: *const anyhost_error) -> i32 {
    guard!(value or 0, Ok(handle::get(error)?.error.reason().code()))
}

/// How far the last attempt got: one of ANYHOST_PHASE_*; 0 where none was made, and for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_error_phase(error: *const anyhost_error) -> i32 {
    guard!(value or 0, Ok(handle::get(error)?.error.phase().code()))
}

/// The status of the last answer whose head arrived; 0 where none did, and for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_error_http_status(error: *const anyhost_error) -> i32 {
    guard!(value or 0, Ok(handle::get(error)?.http_status()))
}

/// The operating system's error number (errno) of the last attempt; 0 where there was none, and for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_error_os_error(error: *const anyhost_error) -> i32 {
    guard!(value or 0, Ok(handle::get(error)?.error.os_error()))
}

/// The option or argument that is wrong; NULL where it is none of them, and for NULL.
///
/// The text lives as long as the error. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_error_option(error: *const anyhost_error) -> *const c_char {
    guard!(value or ptr::null(), Ok(handle::get(error)?.option()))
}

/// How long the service wants to be left alone, in milliseconds; 0 where it did not say, and for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_error_retry_after_ms(error: *const anyhost_error) -> u64 {
    guard!(value or 0, Ok(handle::get(error)?.retry_after_ms()))
}

/// How many attempts the call made, replays included; 0 where it was no call, and for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_error_attempt_count(error: *const anyhost_error) -> usize {
    guard!(value or 0, Ok(handle::get(error)?.attempts.len()))
}

/// The attempt at `i`, from 0; NULL beyond the last, and for NULL.
///
/// It lives as long as the error. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_error_attempt(
    error: *const anyhost_error,
    i: usize,
) -> *const anyhost_attempt {
    guard!(value or ptr::null(), {
        Ok(handle::get(error)?.attempts.get(i).map_or(ptr::null(), Tagged::borrowed))
    })
}

/// What the answer said that was turned down: `*out` leads to `*out_len` bytes, and a 0 byte follows.
///
/// Cut after 64 KiB; empty where no answer was turned down. The bytes live as long as the error.
/// ANYHOST_E_NULL if `out` or `out_len` is NULL. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_error_body(
    error: *const anyhost_error,
    out: *mut *const u8,
    out_len: *mut usize,
) -> i32 {
    guard!(status, {
        let out = Out::new(out, ptr::null(), "out");
        let out_len = Out::new(out_len, 0, "out_len");
        let (out, out_len) = (out?, out_len?);
        let error = handle::get(error)?;
        out.set(error.body.as_ptr());
        out_len.set(error.body.len() - 1);
        Ok(())
    })
}

/// The error as a JSON object: fields named as the getters, with names for numbers of a family.
///
/// Writes it to `buf`, which has room for `cap` bytes, NUL-ended. `*out_needed` is how many bytes it
/// takes with its NUL, in every case. ANYHOST_E_BUFFER if that is more than `cap`: `buf` then holds ""
/// (nothing for a `cap` of 0), so (NULL, 0) asks for the size. ANYHOST_E_NULL if `out_needed` is NULL, or
/// `buf` is and `cap` is not 0. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_error_json(
    error: *const anyhost_error,
    buf: *mut c_char,
    cap: usize,
    out_needed: *mut usize,
) -> i32 {
    guard!(status, text::copy_out(buf, cap, out_needed, || Ok(handle::get(error)?.error.to_json())))
}

/// The error at length, for a log that somebody reads at night.
///
/// Several lines, each ended by a line feed: what went wrong, "tried:" with each attempt, "not tried:" with
/// who may not be tried now and for how long, "certain:" with what is known of the delivery, and "to do:".
/// Its words may change from version to version: programs read the getters or anyhost_error_json.
///
/// Writes it to `buf` as anyhost_error_json does. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_error_explain(
    error: *const anyhost_error,
    buf: *mut c_char,
    cap: usize,
    out_needed: *mut usize,
) -> i32 {
    guard!(status, text::copy_out(buf, cap, out_needed, || Ok(handle::get(error)?.error.explain())))
}

/// The inside of an error's handle: everything as C reads it.
pub(super) struct Told {
    error: Error,
    message: CString,
    option: Option<CString>,
    attempts: Box<[Tagged<Shown>]>,
    /// With one 0 byte more.
    body: Vec<u8>,
}

impl anyhost_error {
    /// A new handle of this error.
    pub(super) fn handle(error: Error) -> *mut anyhost_error {
        let body = error.answer().map_or(Vec::new(), |answer| answer.bytes().to_vec());
        handle::new(Told {
            message: text::one_line(&error.to_string()),
            option: error.option().map(text::owned),
            attempts: Shown::all(error.attempts()),
            body: text::nul_ended(body),
            error,
        })
    }
}

impl Told {
    fn option(&self) -> *const c_char {
        self.option.as_ref().map_or(ptr::null(), |option| option.as_ptr())
    }

    fn http_status(&self) -> i32 {
        self.error.http_status().map_or(0, i32::from)
    }

    fn retry_after_ms(&self) -> u64 {
        super::millis(self.error.retry_after())
    }
}
