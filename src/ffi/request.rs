//! A request.

use super::builder::number;
use super::callback::{
    self, User, anyhost_free_cb, anyhost_progress_cb, anyhost_read_cb, anyhost_rewind_cb,
};
use super::cancel::anyhost_cancel;
use super::error::anyhost_error;
use super::handle::{self, Object, Opaque, Owned};
use super::loan::Loan;
use super::{Out, guard, is_null, out_of_range, text};
use crate::{Body, Request, Result, Rewind, Transferred};
use std::ffi::{c_char, c_void};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::ptr;
use std::time::Duration;

/// A request, which can be sent more than once.
///
/// One thread at a time. While it is being sent, everything else on it answers ANYHOST_E_STATE.
pub struct anyhost_request(Opaque);

impl Object for anyhost_request {
    type Inside = Loan<Request>;
    const TAG: &'static [u8; 8] = b"ahreques";
    const NAME: &'static str = "request";
}
impl Owned for anyhost_request {}

/// A new request of this method for this path.
///
/// `path` is appended to the base URL of whichever endpoint gets the request; a query may follow it,
/// and its bytes go out as they are. The texts are copied. `*out` is yours, to be freed with
/// anyhost_request_free.
///
/// ANYHOST_E_ARGUMENT for a method that is none, for CONNECT, and for a path with a fragment, a blank, a
/// control character, a character beyond ASCII, <, > or a backtick, or a " in its query, and for one longer
/// than 60 KiB. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_request_new(
    method: *const c_char,
    path: *const c_char,
    out: *mut *mut anyhost_request,
    err: *mut *mut anyhost_error,
) -> i32 {
    guard!(status err, {
        let out = Out::new(out, ptr::null_mut(), "out")?;
        let request = Request::new(text::read(method, "method")?, text::read(path, "path")?)?;
        out.set(handle::new(Loan::new(request, "the request is in use by a call or a callback")));
        Ok(())
    })
}

/// Frees a request; one that is being sent goes when its call ends. NULL does nothing. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_request_free(request: *mut anyhost_request) {
    guard!(value or (), { handle::free(request); Ok(()) })
}

/// Sets a header, in the place of all of this name; a `value` of NULL takes them away.
///
/// The texts are copied. The header goes to whichever endpoint gets the request.
///
/// ANYHOST_E_ARGUMENT for what no header can be, and for Content-Length, Transfer-Encoding and
/// Connection. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_request_set_header(
    request: *mut anyhost_request,
    name: *const c_char,
    value: *const c_char,
) -> i32 {
    guard!(
        status,
        change(request, |request| {
            let name = text::read(name, "name")?;
            match text::read_if_any(value, "value")? {
                Some(value) => request.set_header(name, value),
                None => request.remove_header(name),
            }
        })
    )
}

/// Adds a header beside those of the same name. The texts are copied.
///
/// Statuses as anyhost_request_set_header; a `value` of NULL is ANYHOST_E_NULL. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_request_add_header(
    request: *mut anyhost_request,
    name: *const c_char,
    value: *const c_char,
) -> i32 {
    guard!(
        status,
        change(request, |request| {
            request.add_header(text::read(name, "name")?, text::read(value, "value")?)
        })
    )
}

/// Adds a header of a name and a value with their lengths, which need no NUL at their ends.
///
/// The value may hold any byte above 0x7F. (NULL, 0) is an empty value. Both are copied.
///
/// Statuses as anyhost_request_set_header; ANYHOST_E_NULL for a name or a value that is NULL and not
/// empty. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_request_add_header_n(
    request: *mut anyhost_request,
    name: *const c_char,
    name_len: usize,
    value: *const c_void,
    value_len: usize,
) -> i32 {
    guard!(
        status,
        change(request, |request| {
            let name = text::utf8(text::bytes(name.cast(), name_len, "name")?, "name")?;
            request.add_header(name, text::bytes(value, value_len, "value")?)
        })
    )
}

/// Sets the body: `len` bytes of `data`, copied. They can be sent again to another endpoint.
///
/// (NULL, 0) is an empty body. ANYHOST_E_NULL if `data` is NULL and `len` is not 0. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_request_set_body(
    request: *mut anyhost_request,
    data: *const c_void,
    len: usize,
) -> i32 {
    guard!(
        status,
        change(request, |request| {
            request.set_body(text::bytes(data, len, "data")?.to_vec());
            Ok(())
        })
    )
}

/// Sets the body: `len` bytes of `data`, which are not copied and have to stay as they are.
///
/// `free_user` (unless it is NULL) is called with `user` when they are not needed any more, because
/// the request has another body or is freed: exactly once, also if this function fails. The bytes can be
/// sent again to another endpoint.
///
/// (NULL, 0) is an empty body. ANYHOST_E_NULL if `data` is NULL and `len` is not 0. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_request_set_body_borrowed(
    request: *mut anyhost_request,
    data: *const c_void,
    len: usize,
    user: *mut c_void,
    free_user: anyhost_free_cb,
) -> i32 {
    guard!(status, {
        let user = User::new(user, free_user);
        change(request, |request| {
            let bytes = text::bytes(data, len, "data")?;
            request.set_body(Body::bytes(Borrowed { bytes, _user: user }));
            Ok(())
        })
    })
}

/// Sets the body: what `read` gives, asked for during the call on the thread that makes it.
///
/// `length` is how many bytes that will be, and fewer or more are ANYHOST_E_BODY_SOURCE; -1 = unknown,
/// and the body is sent in chunks. `rewind` goes back to the first byte, so that the request can go to
/// another endpoint or be sent again; with NULL the body can be read once, and makes one attempt only.
/// `user` is passed to both, and to `free_user` (unless that is NULL) when the request has another body
/// or is freed: exactly once, also if this function fails.
///
/// ANYHOST_E_NULL if `read` is NULL, ANYHOST_E_RANGE for a length below -1. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_request_set_body_reader(
    request: *mut anyhost_request,
    read: anyhost_read_cb,
    rewind: anyhost_rewind_cb,
    user: *mut c_void,
    free_user: anyhost_free_cb,
    length: i64,
) -> i32 {
    guard!(status, {
        let user = User::new(user, free_user);
        change(request, |request| {
            let read = read.ok_or_else(|| is_null("read"))?;
            let length = match length {
                -1 => None,
                _ => Some(u64::try_from(length).map_err(|_| {
                    out_of_range("length", "is a number of bytes, or -1 where it is not known")
                })?),
            };
            let source = Source { read, rewind, user };
            request.set_body(match rewind {
                Some(_) => Body::rewinding(source, length),
                None => Body::reader(source, length),
            });
            Ok(())
        })
    })
}

/// Sets an option for this request, in the place of the client's setting.
///
/// Only options whose anyhost_option_scope has the bit 2. A `value` of NULL lets the client's setting
/// hold again. The texts are copied. Statuses as anyhost_builder_set. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_request_set(
    request: *mut anyhost_request,
    option: *const c_char,
    value: *const c_char,
) -> i32 {
    guard!(
        status,
        change(request, |request| {
            let option = text::read(option, "option")?;
            match text::read_if_any(value, "value")? {
                Some(value) => request.set(option, value),
                None => request.unset(option),
            }
        })
    )
}

/// Sets an option for this request as a number: durations in milliseconds, flags as 0 or 1.
///
/// Statuses as anyhost_builder_set_int. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_request_set_int(
    request: *mut anyhost_request,
    option: *const c_char,
    value: i64,
) -> i32 {
    guard!(
        status,
        change(request, |request| { request.set(text::read(option, "option")?, &number(value)?) })
    )
}

/// Lets `cancel` end the calls of this request, in the place of an earlier one.
///
/// `cancel` stays yours, and may be freed at once. One that was triggered ends them as they begin.
///
/// ANYHOST_E_NULL if one of them is NULL. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_request_set_cancel(
    request: *mut anyhost_request,
    cancel: *mut anyhost_cancel,
) -> i32 {
    guard!(status, {
        let cancel = handle::keep(cancel)?;
        change(request, |request| {
            request.set_cancel(&cancel);
            Ok(())
        })
    })
}

/// Has `on_progress` called about every `every_ms` milliseconds while a call of this request is under way,
/// and once for each answer that is complete; NULL = nobody is told any more.
///
/// It runs on the thread that makes the call, also while that waits for bytes, and while a streamed body is
/// read on the thread that reads it. Not while the body's own reader runs. `user` is passed to it, and has
/// to be there as long as the request calls, or its answer is read.
///
/// ANYHOST_E_RANGE for 0 milliseconds, ANYHOST_E_NULL if `request` is NULL. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_request_set_progress(
    request: *mut anyhost_request,
    on_progress: anyhost_progress_cb,
    user: *mut c_void,
    every_ms: u64,
) -> i32 {
    guard!(
        status,
        change(request, |request| {
            let Some(on_progress) = on_progress else {
                request.progress = None;
                return Ok(());
            };
            let user = User::new(user, None);
            request.set_progress(Duration::from_millis(every_ms), watcher(on_progress, user))
        })
    )
}

/// Changes a request.
///
/// # Safety
///
/// `request` is NULL or a handle.
unsafe fn change(
    request: *mut anyhost_request,
    change: impl FnOnce(&mut Request) -> Result<()>,
) -> Result<()> {
    // SAFETY: as the caller promises.
    unsafe { handle::keep(request)? }.with(change)?
}

/// What tells C how far a call is.
fn watcher(
    on_progress: unsafe extern "C-unwind" fn(*mut c_void, u64, u64, i64) -> i32,
    user: User,
) -> impl FnMut(&Transferred) -> ControlFlow<()> + Send {
    move |so_far| {
        let total = so_far.total().map_or(-1, |total| i64::try_from(total).unwrap_or(i64::MAX));
        let (sent, received) = (so_far.sent(), so_far.received());
        // SAFETY: C gave the two together, to be called so.
        match callback::enter(|| unsafe { on_progress(user.pointer(), sent, received, total) }) {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

/// Bytes of C.
struct Borrowed {
    bytes: &'static [u8],
    _user: User,
}

impl AsRef<[u8]> for Borrowed {
    fn as_ref(&self) -> &[u8] {
        self.bytes
    }
}

/// A body that C gives piece by piece.
struct Source {
    read: unsafe extern "C-unwind" fn(*mut c_void, *mut u8, usize, *mut usize) -> i32,
    rewind: anyhost_rewind_cb,
    user: User,
}

impl Read for Source {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut n = 0;
        let (read, user) = (self.read, self.user.pointer());
        // SAFETY: C gave the two together, to be called so; the buffer is as long as is said.
        let verdict =
            callback::enter(|| unsafe { read(user, buf.as_mut_ptr(), buf.len(), &raw mut n) });
        if verdict != 0 {
            return Err(io::Error::other("the read callback refused"));
        }
        if n > buf.len() {
            return Err(io::Error::other(
                "the read callback claims more bytes than it had room for",
            ));
        }
        Ok(n)
    }
}

impl Rewind for Source {
    fn rewind(&mut self) -> io::Result<()> {
        let user = self.user.pointer();
        // SAFETY: C gave the two together, to be called so.
        let verdict = self.rewind.map_or(1, |rewind| callback::enter(|| unsafe { rewind(user) }));
        match verdict {
            0 => Ok(()),
            _ => Err(io::Error::other("the rewind callback refused")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three bytes, then a claim of more than fits, then a refusal.
    unsafe extern "C-unwind" fn read(
        user: *mut c_void,
        buf: *mut u8,
        cap: usize,
        out_n: *mut usize,
    ) -> i32 {
        // SAFETY: the test gives a counter and a buffer of at least three bytes.
        unsafe {
            let calls = &mut *user.cast::<u32>();
            *calls += 1;
            buf.copy_from_nonoverlapping(b"abc".as_ptr(), 3);
            *out_n = if *calls == 2 { cap + 1 } else { 3 };
            i32::from(*calls == 3)
        }
    }

    #[test]
    fn a_reader_is_believed_only_within_its_buffer() {
        let mut calls = 0_u32;
        let user = User::new((&raw mut calls).cast(), None);
        let mut source = Source { read, rewind: None, user };
        let mut buf = [0; 8];
        assert_eq!(source.read(&mut buf).unwrap(), 3);
        assert_eq!(&buf[..3], b"abc");
        assert!(source.read(&mut buf).unwrap_err().to_string().contains("more bytes"));
        assert!(source.read(&mut buf).unwrap_err().to_string().contains("refused"));
        assert!(source.rewind().is_err());
        drop(source);
        assert_eq!(calls, 3);
    }

    #[test]
    fn a_setting_taken_back_leaves_the_client_s() {
        let text = |request: &Request| {
            format!("{:?}", request.settings(&Default::default()).expect("they were checked"))
        };
        let mut request = Request::new("GET", "/").unwrap();
        let plain = text(&request);
        request.set("deadline", "3s").unwrap();
        request.set("max_body", "1k").unwrap();
        let both = text(&request);
        request.unset("deadline").unwrap();
        assert!(text(&request) != both && text(&request) != plain);
        request.unset("max_body").unwrap();
        assert_eq!(text(&request), plain);
        for option in ["seed", "no_such"] {
            assert_eq!(request.unset(option).unwrap_err().status(), crate::Status::Option);
        }
    }
}
