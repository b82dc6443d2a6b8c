//! A process that is a fork of this one.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work` in a child that ends with it, and waits for that. Whether it said `true`.
///
/// The child has one thread, and copies of all sockets, those of the servers included; it may use
/// what no other thread holds a lock of. One that hangs is ended after 20 s.
pub fn in_child(work: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs only `work`, whose promise is above, and leaves by `_exit`, so that no
    // destructor and no `atexit` of the parent's runs twice.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no child");
    if child == 0 {
        // SAFETY: arms a timer, whose signal ends the child.
        unsafe { libc::alarm(20) };
        let good = catch_unwind(AssertUnwindSafe(work)).unwrap_or(false);
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(if good { 0 } else { 1 }) };
    }
    let mut status = 0;
    loop {
        // SAFETY: `child` is our child, and `status` is ours to write.
        match unsafe { libc::waitpid(child, &raw mut status, 0) } {
            -1 => assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EINTR)),
            _ => return status == 0,
        }
    }
}
