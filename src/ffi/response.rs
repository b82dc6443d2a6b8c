//! A complete answer.

use super::attempt::{Shown, anyhost_attempt};
use super::error::anyhost_error;
use super::handle::{self, Object, Opaque, Owned, Tagged};
use super::{Out, guard, is_null, micros, millis, out_of_range, text};
use crate::Response;
use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The answer to a call: status, headers, the whole body, and every attempt that led to it.
///
/// Everything it hands out belongs to it, and lives as long as it does. One thread at a time.
pub struct anyhost_response(Opaque);

impl Object for anyhost_response {
    type Inside = Answer;
    const TAG: &'static [u8; 8] = b"ahanswer";
    const NAME: &'static str = "response";
}
impl Owned for anyhost_response {}

/// Frees an answer and everything it handed out. NULL does nothing. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_free(response: *mut anyhost_response) {
    guard!(value or (), { handle::free(response); Ok(()) })
}

/// The status of HTTP, as 200; 0 for NULL.
///
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_status(response: *const anyhost_response) -> i32 {
    guard!(value or 0, Ok(handle::get(response)?.status.into()))
}

/// The body, whole: `*out` leads to `*out_len` bytes, and one 0 byte follows them.
///
/// They live as long as the answer, and may be asked for any number of times, also beside
/// anyhost_response_read. An empty body is a pointer to the 0 byte. ANYHOST_E_NULL if `out` or
/// `out_len` is NULL. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_body(
    response: *const anyhost_response,
    out: *mut *const u8,
    out_len: *mut usize,
    err: *mut *mut anyhost_error,
) -> i32 {
    guard!(status err, {
        let out = Out::new(out, ptr::null(), "out");
        let out_len = Out::new(out_len, 0, "out_len");
        let (out, out_len) = (out?, out_len?);
        let answer = handle::get(response)?;
        out.set(answer.body.as_ptr());
        out_len.set(answer.body.len() - 1);
        Ok(())
    })
}

/// The next bytes of the body: copies up to `cap` of them to `buf` and writes their number to `*out_n`.
///
/// 0 bytes are the end of the body. ANYHOST_E_NULL if `out_n` is NULL, or `buf` is and `cap` is not 0.
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_read(
    response: *mut anyhost_response,
    buf: *mut c_void,
    cap: usize,
    out_n: *mut usize,
    err: *mut *mut anyhost_error,
) -> i32 {
    guard!(status err, {
        let out_n = Out::new(out_n, 0, "out_n")?;
        let answer = handle::get(response)?;
        if buf.is_null() && cap > 0 {
            return Err(is_null("buf"));
        }
        let piece = answer.next(cap);
        if !piece.is_empty() {
            ptr::copy_nonoverlapping(piece.as_ptr(), buf.cast(), piece.len());
        }
        out_n.set(piece.len());
        Ok(())
    })
}

/// The value of the header of this name, in any case; of several the one at `nth`, from 0.
///
/// NULL where there is none, and for a `response` or `name` of NULL. The value is NUL-ended and may
/// hold any byte above 0x7F; its length goes to `*out_len`, unless that is NULL. It lives as long as
/// the answer. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_header(
    response: *const anyhost_response,
    name: *const c_char,
    nth: usize,
    out_len: *mut usize,
) -> *const c_char {
    guard!(value or ptr::null(), {
        // NULL is allowed here.
        let out_len = Out::new(out_len, 0, "out_len").ok();
        let name = text::read(name, "name")?;
        let Some(value) = handle::get(response)?.header(name, nth) else {
            return Ok(ptr::null());
        };
        if let Some(out_len) = out_len {
            out_len.set(value.count_bytes());
        }
        Ok(value.as_ptr())
    })
}

/// How many headers there are, each value counted; 0 for NULL.
///
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_header_count(response: *const anyhost_response) -> usize {
    guard!(value or 0, Ok(handle::get(response)?.headers.len()))
}

/// The header at `i`, from 0: its name in lower case, its value, and the value's length.
///
/// Both are NUL-ended and live as long as the answer; the value may hold any byte above 0x7F.
/// ANYHOST_E_RANGE if there are not so many, ANYHOST_E_NULL if one of the three outputs is NULL. Since
/// 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_header_at(
    response: *const anyhost_response,
    i: usize,
    name: *mut *const c_char,
    value: *mut *const c_char,
    value_len: *mut usize,
) -> i32 {
    guard!(status, {
        let name = Out::new(name, ptr::null(), "name");
        let value = Out::new(value, ptr::null(), "value");
        let value_len = Out::new(value_len, 0, "value_len");
        let (name, value, value_len) = (name?, value?, value_len?);
        let header = handle::get(response)?.headers.get(i);
        let header = header.ok_or_else(|| out_of_range("i", "is beyond the last header"))?;
        name.set(header.0.as_ptr());
        value.set(header.1.as_ptr());
        value_len.set(header.1.count_bytes());
        Ok(())
    })
}

/// The length of the body in bytes; -1 for NULL.
///
/// An answer that was read whole always has one. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_content_length(response: *const anyhost_response) -> i64 {
    guard!(value or -1, Ok(handle::get(response)?.content_length()))
}

/// The URL that answered, without user info and query; NULL for NULL.
///
/// The text lives as long as the answer. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_url(response: *const anyhost_response) -> *const c_char {
    guard!(value or ptr::null(), Ok(handle::get(response)?.url.as_ptr()))
}

/// The label of the endpoint that answered; NULL for NULL.
///
/// The text lives as long as the answer. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_endpoint(
    response: *const anyhost_response,
) -> *const c_char {
    guard!(value or ptr::null(), Ok(handle::get(response)?.endpoint.as_ptr()))
}

/// How long the whole call took, in microseconds; 0 for NULL.
///
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_elapsed_us(response: *const anyhost_response) -> u64 {
    guard!(value or 0, Ok(handle::get(response)?.elapsed_us))
}

/// How long the server wants to be left alone, in milliseconds; 0 where it did not say, and for NULL.
///
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_retry_after_ms(response: *const anyhost_response) -> u64 {
    guard!(value or 0, Ok(handle::get(response)?.retry_after_ms))
}

/// How many attempts the call made, replays included; 0 for NULL.
///
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_attempt_count(
    response: *const anyhost_response,
) -> usize {
    guard!(value or 0, Ok(handle::get(response)?.attempts.len()))
}

/// The attempt at `i`, from 0; NULL beyond the last, and for NULL.
///
/// It lives as long as the answer. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_attempt(
    response: *const anyhost_response,
    i: usize,
) -> *const anyhost_attempt {
    guard!(value or ptr::null(), {
        Ok(handle::get(response)?.attempts.get(i).map_or(ptr::null(), Tagged::borrowed))
    })
}

/// The inside of an answer's handle: everything as C reads it.
pub(super) struct Answer {
    status: u16,
    url: CString,
    endpoint: CString,
    elapsed_us: u64,
    retry_after_ms: u64,
    headers: Vec<(CString, CString)>,
    /// With one 0 byte more.
    body: Vec<u8>,
    attempts: Box<[Tagged<Shown>]>,
    /// How much of the body has been read piece by piece.
    read: AtomicUsize,
}

impl anyhost_response {
    /// A new handle of this answer.
    pub(super) fn handle(answer: Response) -> *mut anyhost_response {
        handle::new(Answer::new(answer))
    }
}

impl Answer {
    fn new(answer: Response) -> Self {
        let value = |bytes| CString::new(bytes).expect("no header has a NUL in its value");
        Answer {
            status: answer.status(),
            url: text::owned(answer.url()),
            endpoint: text::owned(answer.endpoint()),
            elapsed_us: micros(answer.elapsed()),
            retry_after_ms: millis(answer.retry_after()),
            headers: answer.headers().map(|(n, v)| (text::owned(n), value(v))).collect(),
            attempts: Shown::all(answer.attempts()),
            body: nul_ended(answer.into_bytes()),
            read: AtomicUsize::new(0),
        }
    }

    fn content_length(&self) -> i64 {
        i64::try_from(self.body.len() - 1).unwrap_or(i64::MAX)
    }

    fn header(&self, name: &str, nth: usize) -> Option<&CString> {
        let named = |header: &&(CString, CString)| {
            header.0.as_bytes().eq_ignore_ascii_case(name.as_bytes())
        };
        self.headers.iter().filter(named).nth(nth).map(|(_, value)| value)
    }

    /// Up to `most` bytes that have not been read yet.
    fn next(&self, most: usize) -> &[u8] {
        let end = self.body.len() - 1;
        let from = self.read.load(Ordering::Relaxed);
        let to = from.saturating_add(most).min(end);
        self.read.store(to, Ordering::Relaxed);
        &self.body[from..to]
    }
}

/// Bytes with a 0 byte beyond their end.
pub(super) fn nul_ended(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.reserve_exact(1);
    bytes.push(0);
    bytes
}
