//! Calling C back: on the thread that is inside one of our functions, never under a lock.
//!
//! What leaves a callback as an exception, or as a Rust panic, cannot be carried through the frames
//! of this library and of C above it. It ends the process with a message, which is defined, as
//! against unwinding through C. A C++ program catches it in the callback.

use super::attempt::anyhost_attempt;
use super::event::anyhost_event;
use super::response::anyhost_response;
use crate::{Error, Result, Status};
use std::cell::Cell;
use std::ffi::c_void;
use std::io::{self, Write};

/// Told what happens in a client; see anyhost_builder_on_event.
///
/// `event` is borrowed until the callback returns, and so is everything it hands out.
pub type anyhost_event_cb =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, event: *const anyhost_event)>;

/// Asked what an answer is worth, one of ANYHOST_VERDICT_*; see anyhost_builder_on_judge.
///
/// `response` is borrowed until the callback returns, and so is everything it hands out. It has the
/// attempts before its own. Of anyhost_client_stream it has the head only: anyhost_response_body is
/// ANYHOST_E_STATE then. A number that is no verdict means ANYHOST_VERDICT_DEFAULT.
pub type anyhost_judge_cb = Option<
    unsafe extern "C-unwind" fn(user: *mut c_void, response: *const anyhost_response) -> i32,
>;

/// Asked whether to go on, one of ANYHOST_RETRY_*; see anyhost_builder_on_retry.
///
/// `last` is the attempt that was not good, borrowed until the callback returns. A number that is none of
/// them means ANYHOST_RETRY_DEFAULT.
pub type anyhost_retry_cb =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, last: *const anyhost_attempt) -> i32>;

/// Asked for the next bytes of a request's body; see anyhost_request_set_body_reader.
///
/// Writes up to `cap` bytes to `buf` and their number to `*out_n`; 0 is the end of the body. Answers 0,
/// or anything else to refuse, which ends the call with ANYHOST_E_BODY_SOURCE.
pub type anyhost_read_cb = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        buf: *mut u8,
        cap: usize,
        out_n: *mut usize,
    ) -> i32,
>;

/// Asked to go back to where a request's body begins; see anyhost_request_set_body_reader.
///
/// Answers 0, or anything else to refuse, which ends the call with ANYHOST_E_BODY_SOURCE.
pub type anyhost_rewind_cb = Option<unsafe extern "C-unwind" fn(user: *mut c_void) -> i32>;

/// Told how far a call is; see anyhost_request_set_progress.
///
/// `sent` and `received` count the bytes of the bodies in the attempt under way, as they go and come
/// (before decoding), and begin anew with the next; `total` is how many will be received, -1 where that is
/// not known. Answers 0, or anything else to end the call with ANYHOST_E_CANCELLED.
pub type anyhost_progress_cb = Option<
    unsafe extern "C-unwind" fn(user: *mut c_void, sent: u64, received: u64, total: i64) -> i32,
>;

/// Told that `user` is not needed any more. It runs exactly once.
pub type anyhost_free_cb = Option<unsafe extern "C-unwind" fn(user: *mut c_void)>;

thread_local! {
    /// How many callbacks this thread is inside of.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Runs a callback.
pub(super) fn enter<T>(callback: impl FnOnce() -> T) -> T {
    let no_way_out = NoWayOut;
    DEPTH.set(DEPTH.get() + 1);
    let result = callback();
    DEPTH.set(DEPTH.get() - 1);
    std::mem::forget(no_way_out);
    result
}

/// Refuses a call from inside a callback of this thread. Other threads are no concern of it.
pub(super) fn outside() -> Result<()> {
    if DEPTH.get() == 0 {
        return Ok(());
    }
    Err(Error::new(Status::Reentry, "a callback may not make a call on its own thread"))
}

/// Dropped only by an exception, foreign or not, on its way through.
struct NoWayOut;

impl Drop for NoWayOut {
    fn drop(&mut self) {
        let _ = io::stderr()
            .write_all(b"anyhost: an exception left a callback, which has to catch it; aborting\n");
        std::process::abort();
    }
}

/// The `user` of a callback, and how C learns that it is not needed any more.
pub(super) struct User {
    user: *mut c_void,
    free: anyhost_free_cb,
}

// SAFETY: the header says on which threads callbacks run, and that `user` has to bear it.
unsafe impl Send for User {}
// SAFETY: as above; what is shared is a pointer that this library never follows.
unsafe impl Sync for User {}

impl User {
    /// Made before anything can fail, so that `free` runs on failure too.
    pub(super) fn new(user: *mut c_void, free: anyhost_free_cb) -> Self {
        User { user, free }
    }

    pub(super) fn pointer(&self) -> *mut c_void {
        self.user
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if let Some(free) = self.free {
            // SAFETY: C gave the two together, to be called once, as here.
            enter(|| unsafe { free(self.user) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C-unwind" fn count(user: *mut c_void) {
        assert!(outside().is_err(), "a free callback is a callback");
        // SAFETY: the test below gives a counter that outlives this.
        unsafe { *user.cast::<u32>() += 1 };
    }

    #[test]
    fn user_is_freed_once() {
        let mut freed = 0_u32;
        let user = User::new((&raw mut freed).cast(), Some(count));
        let closure = move || user.pointer();
        drop(closure);
        assert_eq!(freed, 1);
        drop(User::new(std::ptr::null_mut(), None));
    }

    #[test]
    fn a_thread_is_inside_until_its_last_callback_returns() {
        assert!(outside().is_ok());
        enter(|| {
            enter(|| assert_eq!(outside().unwrap_err().status(), Status::Reentry));
            assert!(outside().is_err());
            std::thread::scope(|scope| {
                scope.spawn(|| assert!(outside().is_ok(), "another thread"));
            });
        });
        assert!(outside().is_ok());
    }
}
