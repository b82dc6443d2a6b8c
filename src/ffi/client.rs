//! A client.

use super::error::anyhost_error;
use super::handle::{self, Object, Opaque, Owned};
use super::request::anyhost_request;
use super::response::anyhost_response;
use super::{Out, callback, catch, guard};
use crate::{Client, Error, Result, Status};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// A client of one service that lives under one or more base URLs.
///
/// Any number of threads may use one at once.
pub struct anyhost_client(Opaque);

impl Object for anyhost_client {
    type Inside = Core;
    const TAG: &'static [u8; 8] = b"ahclient";
    const NAME: &'static str = "client";
}
impl Owned for anyhost_client {}

/// One more handle to the same client: the same pointer, to be freed once more.
///
/// For another owner, a second thread say. NULL for NULL. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_client_ref(client: *mut anyhost_client) -> *mut anyhost_client {
    guard!(value or ptr::null_mut(), handle::again(client))
}

/// Frees a handle; with the last one the client goes, and its connections are closed.
///
/// A call that is under way ends first: freeing does not end it, and is allowed in callbacks. NULL
/// does nothing. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_client_free(client: *mut anyhost_client) {
    guard!(value or (), { handle::free(client); Ok(()) })
}

/// Sends a request and reads the whole answer.
///
/// The body of the answer is read within the attempt, so an answer that breaks off can still be had
/// from another endpoint. Any status of HTTP is an answer and ANYHOST_OK, unless the option
/// require_success says otherwise. `request` stays yours and may be sent again; until this returns
/// nothing else may be done with it. `*out` is yours, to be freed with anyhost_response_free.
///
/// Without an answer: a status from 200 on, with every attempt in the error. ANYHOST_E_STATE where the
/// request is in use, or its body was a one-shot reader that an earlier call has read;
/// ANYHOST_E_REENTRY from inside a callback. Blocks. Any thread, any number at once, each with a request
/// of its own. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_client_send(
    client: *mut anyhost_client,
    request: *mut anyhost_request,
    out: *mut *mut anyhost_response,
    err: *mut *mut anyhost_error,
) -> i32 {
    guard!(status err, {
        let out = Out::new(out, ptr::null_mut(), "out")?;
        let (client, request) = (handle::keep(client)?, handle::keep(request)?);
        callback::outside()?;
        let answer = client.ask(|client| request.with(|request| client.send(request))?)?;
        out.set(anyhost_response::handle(answer));
        Ok(())
    })
}

/// The inside of a client's handle.
pub(super) struct Core {
    client: Client,
    /// A panic went through it, and what it left behind is not to be trusted.
    broken: AtomicBool,
}

impl Core {
    /// A new handle of this client.
    pub(super) fn handle(client: Client) -> *mut anyhost_client {
        handle::new(Core { client, broken: AtomicBool::new(false) })
    }

    /// Asks the client for something, unless it is broken; a panic breaks it.
    pub(super) fn ask<T>(&self, what: impl FnOnce(&Client) -> Result<T>) -> Result<T> {
        if self.broken.load(Ordering::Acquire) {
            return Err(Error::new(Status::Broken, Status::Broken.text()));
        }
        let result = catch(|| what(&self.client));
        if matches!(&result, Err(error) if error.status() == Status::Panic) {
            self.broken.store(true, Ordering::Release);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_breaks_the_client_for_good() {
        let client = Core::handle(Client::new("http://127.0.0.1:9").unwrap());
        // SAFETY: the handle is alive until the free at the end.
        unsafe {
            let core = handle::get(client).unwrap();
            assert_eq!(core.ask(|_| Ok(1)).unwrap(), 1);
            let panicked = core.ask(|_| -> Result<()> { panic!("planted") });
            assert_eq!(panicked.unwrap_err().status(), Status::Panic);
            for _ in 0..2 {
                assert_eq!(core.ask(|_| Ok(1)).unwrap_err().status(), Status::Broken);
            }
            anyhost_client_free(client);
        }
    }
}
