//! A handle that ends calls.

use super::handle::{self, Object, Opaque, Owned};
use super::{Out, guard};
use crate::Cancel;
use std::ptr;

/// Ends calls early. Any number of threads may use one at once.
///
/// It is given to requests with anyhost_request_set_cancel, one or many, and stays triggered: for later
/// calls a new one is made.
pub struct anyhost_cancel(Opaque);

impl Object for anyhost_cancel {
    type Inside = Cancel;
    const TAG: &'static [u8; 8] = b"ahcancel";
    const NAME: &'static str = "cancel";
}
impl Owned for anyhost_cancel {}

/// A new handle, which is not triggered.
///
/// `*out` is yours, to be freed with anyhost_cancel_free. ANYHOST_E_NULL if `out` is NULL. Any thread.
/// Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_cancel_new(out: *mut *mut anyhost_cancel) -> i32 {
    guard!(status, {
        let out = Out::new(out, ptr::null_mut(), "out")?;
        out.set(handle::new(Cancel::new()));
        Ok(())
    })
}

/// One more handle to the same: the same pointer, to be freed once more.
///
/// NULL for NULL. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_cancel_ref(cancel: *mut anyhost_cancel) -> *mut anyhost_cancel {
    guard!(value or ptr::null_mut(), handle::again(cancel))
}

/// Frees a handle. Requests that have it keep what they need. NULL does nothing. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_cancel_free(cancel: *mut anyhost_cancel) {
    guard!(value or (), { handle::free(cancel); Ok(()) })
}

/// Ends the calls of every request that has it, and those that begin later at once.
///
/// They answer ANYHOST_E_CANCELLED, within milliseconds wherever they are; the error's delivery says
/// whether a server may have received the request. Bodies of theirs that are still being read end
/// likewise. It does not wait for that; a second time does nothing, and so does NULL. Allowed in
/// callbacks. Any thread, but no signal handler. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_cancel_trigger(cancel: *mut anyhost_cancel) {
    guard!(value or (), { handle::keep(cancel)?.trigger(); Ok(()) })
}

/// 1 = it was triggered, 0 = it was not; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_cancel_is_triggered(cancel: *const anyhost_cancel) -> i32 {
    guard!(value or 0, Ok(handle::get(cancel)?.is_triggered().into()))
}
