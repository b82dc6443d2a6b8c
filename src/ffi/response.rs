//! An answer.

use super::attempt::{Shown, anyhost_attempt};
use super::body::Body;
use super::client::Soundness;
use super::error::anyhost_error;
use super::handle::{self, Object, Opaque, Owned, Tagged};
use super::loan::Loan;
use super::{Out, guard, is_null, micros, millis, out_of_range, text};
use crate::{Response, Stream};
use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::OnceLock;

/// The answer to a call: status, headers, body, and every attempt that led to it.
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
    guard!(value or (), {
        if !handle::get(response)?.lent {
            handle::free(response);
        }
        Ok(())
    })
}

/// The status of HTTP, as 200; 0 for NULL.
///
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_status(response: *const anyhost_response) -> i32 {
    guard!(value or 0, Ok(handle::get(response)?.head.status().into()))
}

/// The body, whole: `*out` leads to `*out_len` bytes, and one 0 byte follows them.
///
/// They live as long as the answer, and may be asked for any number of times, also beside
/// anyhost_response_read. An empty body is a pointer to the 0 byte. Of an answer that is streamed this
/// reads what is still to come, at most as much as the option max_body allows, and blocks meanwhile.
///
/// ANYHOST_E_NULL if `out` or `out_len` is NULL. Of an answer that is streamed: ANYHOST_E_STATE where a part
/// of it was read before, and in a judge; ANYHOST_E_TOO_LARGE; ANYHOST_E_BODY, ANYHOST_E_DEADLINE,
/// ANYHOST_E_CANCELLED or ANYHOST_E_SHUT_DOWN for one that did not come to its end. What came before such
/// a failure can be had from anyhost_response_read. Since 0.1.0.
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
        let (bytes, len) =
            answer.body.with(|body| body.all().map(|bytes| (bytes.as_ptr(), bytes.len())))??;
        out.set(bytes);
        out_len.set(len);
        Ok(())
    })
}

/// The next bytes of the body: copies up to `cap` of them to `buf` and writes their number to `*out_n`.
///
/// 0 bytes are the end of the body, which is never one that broke off. Of an answer that is streamed this
/// blocks until there is something. Allowed in callbacks: one call's answer can be another one's body.
///
/// ANYHOST_E_NULL if `out_n` is NULL, or `buf` is and `cap` is not 0. Of an answer that is streamed:
/// ANYHOST_E_BODY, ANYHOST_E_DEADLINE, ANYHOST_E_CANCELLED or ANYHOST_E_SHUT_DOWN where it does not go on,
/// again and again. Since 0.1.0.
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
        let cap = cap.min(PIECE);
        if cap > 0 {
            // Rust may not look at memory that was never written.
            buf.cast::<u8>().write_bytes(0, cap);
        }
        let buf = text::bytes_mut(buf, cap);
        out_n.set(answer.body.with(|body| body.next(buf))??);
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
    guard!(value or 0, Ok(handle::get(response)?.headers().len()))
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
        let header = handle::get(response)?.headers().get(i);
        let header = header.ok_or_else(|| out_of_range("i", "is beyond the last header"))?;
        name.set(header.0.as_ptr());
        value.set(header.1.as_ptr());
        value_len.set(header.1.count_bytes());
        Ok(())
    })
}

/// The length of the body in bytes; -1 where it is not known, and for NULL.
///
/// An answer that was read whole always has one; one that is streamed where its head says so and nothing
/// is decoded. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_content_length(response: *const anyhost_response) -> i64 {
    guard!(value or -1, Ok(handle::get(response)?.content_length))
}

/// The URL that answered, without user info and query; NULL for NULL.
///
/// The text lives as long as the answer. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_url(response: *const anyhost_response) -> *const c_char {
    guard!(value or ptr::null(), Ok(handle::get(response)?.url().as_ptr()))
}

/// The label of the endpoint that answered; NULL for NULL.
///
/// The text lives as long as the answer. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_endpoint(
    response: *const anyhost_response,
) -> *const c_char {
    guard!(value or ptr::null(), Ok(handle::get(response)?.endpoint().as_ptr()))
}

/// How long the call took, in microseconds, if the answer is streamed up to its head; 0 for NULL.
///
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_elapsed_us(response: *const anyhost_response) -> u64 {
    guard!(value or 0, Ok(micros(handle::get(response)?.head.elapsed())))
}

/// How long the server wants to be left alone, in milliseconds; 0 where it did not say, and for NULL.
///
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_retry_after_ms(response: *const anyhost_response) -> u64 {
    guard!(value or 0, Ok(millis(handle::get(response)?.head.retry_after())))
}

/// How many attempts the call made, replays included; 0 for NULL.
///
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_response_attempt_count(
    response: *const anyhost_response,
) -> usize {
    guard!(value or 0, Ok(handle::get(response)?.head.attempts().len()))
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
        Ok(handle::get(response)?.attempts().get(i).map_or(ptr::null(), Tagged::borrowed))
    })
}

/// The inside of an answer's handle. Its texts are made for C when C first asks for them: most calls
/// want the status and the body, and nothing else.
pub(super) struct Answer {
    /// All but the body.
    head: Response,
    content_length: i64,
    url: OnceLock<CString>,
    endpoint: OnceLock<CString>,
    headers: OnceLock<Vec<(CString, CString)>>,
    attempts: OnceLock<Box<[Tagged<Shown>]>>,
    body: Loan<Body>,
    /// Shown to a judge, and not C's to free.
    lent: bool,
}

impl anyhost_response {
    /// A new handle of this answer, which is all there.
    pub(super) fn handle(mut answer: Response) -> *mut anyhost_response {
        let (length, body) = Self::take_body(&mut answer);
        handle::new(Answer::new(answer, length, body))
    }

    /// A new handle of this answer, whose body is still to come.
    pub(super) fn streamed(answer: Stream, client: Soundness) -> *mut anyhost_response {
        let length = answer.content_length();
        let (head, reader) = answer.into_parts();
        handle::new(Answer::new(head, length, Body::to_come(reader, client)))
    }

    /// Lends an answer to a callback. It is not copied: it moves there and back.
    pub(super) fn lend<T>(
        answer: &mut Response,
        callback: impl FnOnce(*const anyhost_response) -> T,
    ) -> T {
        let mut head = answer.take();
        let (length, body) = match head.is_head_only() {
            true => (None, Body::elsewhere()),
            false => Self::take_body(&mut head),
        };
        let mut view = Answer::new(head, length, body);
        view.lent = true;
        let mut view = Tagged::new::<anyhost_response>(view);
        let result = callback(view.borrowed());
        let body = view.body.take().map(Body::into_bytes).unwrap_or_default();
        *answer = view.head.take();
        answer.put_bytes(body);
        result
    }

    fn take_body(answer: &mut Response) -> (Option<u64>, Body) {
        let bytes = answer.take_bytes();
        (Some(bytes.len() as u64), Body::whole(bytes))
    }
}

impl Answer {
    fn new(head: Response, length: Option<u64>, body: Body) -> Self {
        Answer {
            head,
            content_length: length.map_or(-1, |n| i64::try_from(n).unwrap_or(i64::MAX)),
            url: OnceLock::new(),
            endpoint: OnceLock::new(),
            headers: OnceLock::new(),
            attempts: OnceLock::new(),
            body: Loan::new(body, "the body is being read"),
            lent: false,
        }
    }

    fn url(&self) -> &CString {
        self.url.get_or_init(|| text::owned(self.head.url()))
    }

    fn endpoint(&self) -> &CString {
        self.endpoint.get_or_init(|| text::owned(self.head.endpoint()))
    }

    fn headers(&self) -> &[(CString, CString)] {
        let value = |bytes| CString::new(bytes).expect("no header has a NUL in its value");
        self.headers.get_or_init(|| {
            self.head.headers().map(|(name, bytes)| (text::owned(name), value(bytes))).collect()
        })
    }

    fn attempts(&self) -> &[Tagged<Shown>] {
        self.attempts.get_or_init(|| Shown::all(self.head.attempts()))
    }

    fn header(&self, name: &str, nth: usize) -> Option<&CString> {
        let named = |header: &&(CString, CString)| {
            header.0.as_bytes().eq_ignore_ascii_case(name.as_bytes())
        };
        self.headers().iter().filter(named).nth(nth).map(|(_, value)| value)
    }
}

/// How much of a buffer is used at once. It is cleared first, which for more would cost what it saves.
const PIECE: usize = 64 * 1024;
