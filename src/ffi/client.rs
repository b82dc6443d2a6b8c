//! A client.

use super::error::anyhost_error;
use super::handle::{self, Object, Opaque, Owned};
use super::request::anyhost_request;
use super::response::anyhost_response;
use super::snapshot::anyhost_snapshot;
use super::update::anyhost_update;
use super::{Out, callback, catch, guard, text};
use crate::{Client, Error, Result, Status};
use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;
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

/// Sends a request and hands the answer out when its head is there, for a body that is large or comes
/// slowly.
///
/// The body is read with anyhost_response_read, piece by piece as it comes, or whole with
/// anyhost_response_body. What breaks off after the head is an error of those, and not had from another
/// endpoint. The option attempt_timeout holds up to the head; deadline, stall_timeout, cancel and shutdown
/// hold until the body ends. Freeing the answer before that closes its connection. `request` is free
/// again when this returns. `*out` is yours, to be freed with anyhost_response_free; it may outlive the
/// client.
///
/// Statuses as anyhost_client_send. Blocks. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_client_stream(
    client: *mut anyhost_client,
    request: *mut anyhost_request,
    out: *mut *mut anyhost_response,
    err: *mut *mut anyhost_error,
) -> i32 {
    guard!(status err, {
        let out = Out::new(out, ptr::null_mut(), "out")?;
        let (client, request) = (handle::keep(client)?, handle::keep(request)?);
        callback::outside()?;
        let answer = client.ask(|client| request.with(|request| client.stream(request))?)?;
        out.set(anyhost_response::streamed(answer, client.sound.clone()));
        Ok(())
    })
}

/// Ends the client: every call under way and every later one answers ANYHOST_E_SHUT_DOWN.
///
/// That holds for all handles of the client, and for bodies that are still being read. Idle connections
/// are closed. It does not wait, and there is no way back; the handles are still to be freed.
///
/// ANYHOST_E_NULL for NULL. Allowed in callbacks. Any thread, but no signal handler. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_client_shutdown(client: *mut anyhost_client) -> i32 {
    guard!(
        status,
        tell(client, |client| {
            client.shutdown();
            Ok(())
        })
    )
}

/// Closes the idle connections, because the network has changed or the machine is about to sleep.
///
/// Those in use are closed when their answer is complete. ANYHOST_E_NULL for NULL. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_client_drop_idle(client: *mut anyhost_client) -> i32 {
    guard!(
        status,
        tell(client, |client| {
            client.drop_idle();
            Ok(())
        })
    )
}

/// Sets the weight of an endpoint, the live one and the maximum; 0 = the option weight_max.
///
/// `key` is its label, or its URL as it was given.
///
/// ANYHOST_E_NOT_FOUND where no endpoint has this key, ANYHOST_E_RANGE for a weight outside weight_min to
/// weight_max. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_client_set_weight(
    client: *mut anyhost_client,
    key: *const c_char,
    weight: u32,
) -> i32 {
    guard!(status, {
        let key = text::read(key, "key");
        tell(client, |client| client.set_weight(key?, weight))
    })
}

/// Takes an endpoint out of service until anyhost_client_enable: no call tries it.
///
/// `key` is its label, or its URL as it was given. `why` is what snapshots say of it, "" for nothing. The
/// texts are copied. Allowed in callbacks.
///
/// ANYHOST_E_NOT_FOUND where no endpoint has this key. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_client_disable(
    client: *mut anyhost_client,
    key: *const c_char,
    why: *const c_char,
) -> i32 {
    guard!(status, {
        let (key, why) = (text::read(key, "key"), text::read(why, "why"));
        tell(client, |client| client.disable(key?, why?))
    })
}

/// Puts an endpoint back into service. With a circuit breaker the first request to it is a probe.
///
/// `key` is its label, or its URL as it was given. Allowed in callbacks.
///
/// ANYHOST_E_NOT_FOUND where no endpoint has this key. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_client_enable(
    client: *mut anyhost_client,
    key: *const c_char,
) -> i32 {
    guard!(status, {
        let key = text::read(key, "key");
        tell(client, |client| client.enable(key?))
    })
}

/// Sends a request to one endpoint only, once, whatever its state: a health check of your own.
///
/// `key` is its label, or its URL as it was given. A good answer closes its circuit, a failure counts as
/// one; what is disabled stays disabled. Redirects are not followed. `request` as in
/// anyhost_client_send. `*out` is yours, to be freed with anyhost_response_free.
///
/// ANYHOST_E_NOT_FOUND where no endpoint has this key; else as anyhost_client_send. Blocks. Any thread.
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_client_probe(
    client: *mut anyhost_client,
    key: *const c_char,
    request: *mut anyhost_request,
    out: *mut *mut anyhost_response,
    err: *mut *mut anyhost_error,
) -> i32 {
    guard!(status err, {
        let out = Out::new(out, ptr::null_mut(), "out")?;
        let (client, request) = (handle::keep(client)?, handle::keep(request)?);
        let key = text::read(key, "key")?;
        callback::outside()?;
        let answer =
            client.ask(|client| request.with(|request| client.health_check(key, request))?)?;
        out.set(anyhost_response::handle(answer));
        Ok(())
    })
}

/// Takes a snapshot: every endpoint as it is now, with what is known of it.
///
/// `*out` is yours, to be freed with anyhost_snapshot_free. ANYHOST_E_NULL if `client` or `out` is NULL.
/// Allowed in callbacks. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_client_snapshot(
    client: *mut anyhost_client,
    out: *mut *mut anyhost_snapshot,
) -> i32 {
    guard!(status, {
        let out = Out::new(out, ptr::null_mut(), "out")?;
        let snapshot = handle::keep(client)?.ask(|client| Ok(client.snapshot()))?;
        out.set(anyhost_snapshot::handle(snapshot));
        Ok(())
    })
}

/// Replaces the list of endpoints at once by that of `update`, which stays yours and may be applied again.
///
/// Endpoints that stay keep their live weight and state; priority, label, headers and, unless it is 0, the
/// maximum weight are those of the update. Calls under way start nothing on those that are taken out. An
/// update that names no endpoint leaves them as they are. A mistake changes nothing.
///
/// The first failure in making the update; ANYHOST_E_DUPLICATE, ANYHOST_E_DOWNGRADE and
/// ANYHOST_E_TLS_MATERIAL as anyhost_builder_build; ANYHOST_E_STATE where the update is in use. Any
/// thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_client_apply(
    client: *mut anyhost_client,
    update: *const anyhost_update,
    err: *mut *mut anyhost_error,
) -> i32 {
    guard!(status err, {
        let (client, update) = (handle::keep(client)?, handle::keep(update)?);
        let (endpoints, proxies) = update.with(|listed| listed.checked())??;
        let (endpoints, proxies) =
            ((!endpoints.is_empty()).then_some(endpoints), (!proxies.is_empty()).then_some(proxies));
        client.ask(|client| match (&endpoints, &proxies) {
            (None, None) => Ok(()),
            _ => client.apply(endpoints, proxies),
        })
    })
}

/// Tells a client something, from inside a callback too.
///
/// # Safety
///
/// `client` is NULL or a handle.
unsafe fn tell(
    client: *mut anyhost_client,
    what: impl FnOnce(&Client) -> Result<()>,
) -> Result<()> {
    // SAFETY: as the caller promises.
    unsafe { handle::keep(client)? }.ask(what)
}

/// The inside of a client's handle.
pub(super) struct Core {
    client: Client,
    sound: Soundness,
}

impl Core {
    /// A new handle of this client.
    pub(super) fn handle(client: Client) -> *mut anyhost_client {
        handle::new(Core { client, sound: Soundness::default() })
    }

    /// Asks the client for something, unless it is broken; a panic breaks it.
    pub(super) fn ask<T>(&self, what: impl FnOnce(&Client) -> Result<T>) -> Result<T> {
        if self.sound.broken.load(Ordering::Acquire) {
            return Err(Error::new(Status::Broken, Status::Broken.text()));
        }
        self.sound.watch(|| what(&self.client))
    }
}

/// Whether a client can be trusted, as its handle and the answers that it streams know together.
#[derive(Clone, Default)]
pub(super) struct Soundness {
    /// A panic went through it, and what it left behind is not to be trusted.
    broken: Arc<AtomicBool>,
}

impl Soundness {
    /// Does something with the client's inside; a panic breaks it.
    pub(super) fn watch<T>(&self, what: impl FnOnce() -> Result<T>) -> Result<T> {
        let result = catch(what);
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
