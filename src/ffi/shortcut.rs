//! The shortest use: a client of some base URLs, and one function for each method.

use super::client::{Core, anyhost_client};
use super::error::anyhost_error;
use super::response::anyhost_response;
use super::{Out, callback, guard, handle, text};
use crate::{Body, Client, RequestBuilder, Result};
use std::ffi::{c_char, c_void};
use std::ptr;

/// Opens a client of one service, with every setting at its default.
///
/// `base_urls` is a comma-separated list in the order to be tried, as "https://a.example,
/// https://b.example". `*out` is yours, to be freed with anyhost_client_free.
///
/// ANYHOST_E_URL for an entry that is no base URL, ANYHOST_E_CONFIG for an empty list,
/// ANYHOST_E_DUPLICATE for the same endpoint twice, ANYHOST_E_DOWNGRADE for https beside http,
/// ANYHOST_E_TLS_MATERIAL where the system has no certificates to trust. Nothing is connected yet. Any
/// thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_open(
    base_urls: *const c_char,
    out: *mut *mut anyhost_client,
    err: *mut *mut anyhost_error,
) -> i32 {
    guard!(status err, {
        let out = Out::new(out, ptr::null_mut(), "out")?;
        out.set(Core::handle(Client::new(text::read(base_urls, "base_urls")?)?));
        Ok(())
    })
}

/// Sends a GET request and reads the whole answer.
///
/// `path` is appended to the base URL of whichever endpoint gets the request; a query may follow it,
/// and its bytes go out as they are. `*out` is yours, to be freed with anyhost_response_free. Any
/// status of HTTP is an answer and ANYHOST_OK, unless the option require_success says otherwise.
///
/// Without an answer: a status from 200 on, with every attempt in the error. ANYHOST_E_ARGUMENT for a
/// path that no request can carry, ANYHOST_E_REENTRY from inside a callback. Blocks. Any thread, any
/// number at once. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_get(
    client: *mut anyhost_client,
    path: *const c_char,
    out: *mut *mut anyhost_response,
    err: *mut *mut anyhost_error,
) -> i32 {
    guard!(status err, simple("GET", client, path, out))
}

/// Sends a HEAD request: as anyhost_get, and the answer has headers only.
///
/// `*out` is yours, to be freed with anyhost_response_free. Statuses as anyhost_get. Blocks. Any
/// thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_head(
    client: *mut anyhost_client,
    path: *const c_char,
    out: *mut *mut anyhost_response,
    err: *mut *mut anyhost_error,
) -> i32 {
    guard!(status err, simple("HEAD", client, path, out))
}

/// Sends a DELETE request, which has no body.
///
/// It is not sent again after a server may have received it, unless the option resend allows that: the
/// error's delivery says what is certain. `*out` is yours, to be freed with anyhost_response_free.
/// Statuses as anyhost_get. Blocks. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_delete(
    client: *mut anyhost_client,
    path: *const c_char,
    out: *mut *mut anyhost_response,
    err: *mut *mut anyhost_error,
) -> i32 {
    guard!(status err, simple("DELETE", client, path, out))
}

/// Sends a POST request with `len` bytes of `body`, and reads the whole answer.
///
/// `content_type` is the header of that name; NULL = none. `body` is only read, and no longer than the
/// function runs; (NULL, 0) is an empty body. It is not sent again after a server may have received
/// it, unless the option resend allows that: the error's delivery says what is certain. `*out` is
/// yours, to be freed with anyhost_response_free.
///
/// Statuses as anyhost_get; ANYHOST_E_NULL for a body that is NULL and not empty. Blocks. Any thread.
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_post(
    client: *mut anyhost_client,
    path: *const c_char,
    content_type: *const c_char,
    body: *const c_void,
    len: usize,
    out: *mut *mut anyhost_response,
    err: *mut *mut anyhost_error,
) -> i32 {
    guard!(status err, with_body("POST", client, path, content_type, body, len, out))
}

/// Sends a PUT request: all is as with anyhost_post.
///
/// `*out` is yours, to be freed with anyhost_response_free. NULL and statuses as anyhost_post. Blocks.
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_put(
    client: *mut anyhost_client,
    path: *const c_char,
    content_type: *const c_char,
    body: *const c_void,
    len: usize,
    out: *mut *mut anyhost_response,
    err: *mut *mut anyhost_error,
) -> i32 {
    guard!(status err, with_body("PUT", client, path, content_type, body, len, out))
}

/// Sends a PATCH request: all is as with anyhost_post.
///
/// `*out` is yours, to be freed with anyhost_response_free. NULL and statuses as anyhost_post. Blocks.
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_patch(
    client: *mut anyhost_client,
    path: *const c_char,
    content_type: *const c_char,
    body: *const c_void,
    len: usize,
    out: *mut *mut anyhost_response,
    err: *mut *mut anyhost_error,
) -> i32 {
    guard!(status err, with_body("PATCH", client, path, content_type, body, len, out))
}

/// A request without a body.
///
/// # Safety
///
/// As the header says of the exported functions.
unsafe fn simple(
    method: &str,
    client: *mut anyhost_client,
    path: *const c_char,
    out: *mut *mut anyhost_response,
) -> Result<()> {
    // SAFETY: as the caller promises.
    unsafe { call(method, client, path, out, |request| Ok(request)) }
}

/// A request with a body.
///
/// # Safety
///
/// As the header says of the exported functions.
unsafe fn with_body(
    method: &str,
    client: *mut anyhost_client,
    path: *const c_char,
    content_type: *const c_char,
    body: *const c_void,
    len: usize,
    out: *mut *mut anyhost_response,
) -> Result<()> {
    // SAFETY: as the caller promises.
    unsafe {
        call(method, client, path, out, |request| {
            let request = match text::read_if_any(content_type, "content_type")? {
                Some(value) => request.header("Content-Type", value),
                None => request,
            };
            // Lent for as long as the function runs, within which the request is made, sent and dropped.
            Ok(request.body(Body::bytes(text::bytes(body, len, "body")?)))
        })
    }
}

/// # Safety
///
/// As the header says of the exported functions.
unsafe fn call(
    method: &str,
    client: *mut anyhost_client,
    path: *const c_char,
    out: *mut *mut anyhost_response,
    complete: impl FnOnce(RequestBuilder<'_>) -> Result<RequestBuilder<'_>>,
) -> Result<()> {
    // SAFETY: as the caller promises.
    let (out, client, path) = unsafe {
        let out = Out::new(out, ptr::null_mut(), "out")?;
        (out, handle::keep(client)?, text::read(path, "path")?)
    };
    callback::outside()?;
    let answer = client.ask(|client| complete(client.request(method, path))?.send())?;
    out.set(anyhost_response::handle(answer));
    Ok(())
}
