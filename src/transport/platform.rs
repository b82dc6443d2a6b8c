//! What only the operating system can say: waiting exactly, a connect under way, looking without
//! taking, forks.
//!
//! Everything with `unsafe` or a `cfg(unix)` in the transport is here. Waiting and looking are system
//! calls in `unix`; everywhere else `portable` does with what std offers, coarser and with more calls, and
//! never with less safety. Built with the environment variable `ANYHOST_PORTABLE` a Unix takes that one too,
//! so that what other systems would run can be tested where there is a Unix.

use std::io;
use std::time::Duration;

#[cfg(any(not(unix), anyhost_portable))]
#[path = "platform/portable.rs"]
mod system;
#[cfg(all(unix, not(anyhost_portable)))]
#[path = "platform/unix.rs"]
mod system;

pub(super) use system::{block, peek, wait, wait_for_any};

/// What a wait is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ready {
    Read,
    Write,
}

/// How long a dial does not look at the interrupt. Linux wakes the wait when a socket is shut down;
/// elsewhere that may do nothing before there is a connection, so that looking has to do.
pub(super) const LOOK: Duration = match cfg!(all(target_os = "linux", not(anyhost_portable))) {
    true => Duration::from_millis(200),
    false => Duration::from_millis(25),
};

/// Whether a connect call that does not block has begun its work.
#[cfg(unix)]
pub(super) fn is_under_way(error: &io::Error) -> bool {
    // After an interruption it goes on by itself too.
    matches!(error.raw_os_error(), Some(libc::EINPROGRESS | libc::EINTR))
}

/// As above.
#[cfg(not(unix))]
pub(super) fn is_under_way(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

/// How often this process has been forked off its ancestors, as far as we saw: 0 in the process
/// that first asked, one more in each child's child.
///
/// A connection must not be shared by two processes. Asking for the process id would be a system
/// call each time; this is one load.
#[cfg(unix)]
pub(super) fn forks() -> u32 {
    use std::sync::Once;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static FORKS: AtomicU32 = AtomicU32::new(0);
    static WATCH: Once = Once::new();

    extern "C" fn in_child() {
        FORKS.fetch_add(1, Relaxed);
    }
    unsafe extern "C" {
        fn pthread_atfork(
            prepare: Option<extern "C" fn()>,
            parent: Option<extern "C" fn()>,
            child: Option<extern "C" fn()>,
        ) -> libc::c_int;
    }
    WATCH.call_once(|| {
        // SAFETY: the handler is a plain function that does one atomic addition, which is allowed
        // after a fork, and the library is never unloaded (build.rs links it with `nodelete`). If
        // registering fails for want of memory, forks go unseen, as without it.
        unsafe { pthread_atfork(None, None, Some(in_child)) };
    });
    FORKS.load(Relaxed)
}

/// There is no fork here.
#[cfg(not(unix))]
pub(super) fn forks() -> u32 {
    0
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_child_knows_that_it_is_one() {
        let before = forks();
        // SAFETY: the child calls nothing but an atomic load and `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: as above; ends the child at once.
            unsafe { libc::_exit(i32::from(forks() == before + 1)) };
        }
        let mut status = 0;
        // SAFETY: `child` is our child, and `status` is ours to write.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(libc::WEXITSTATUS(status), 1);
        assert_eq!(forks(), before);
    }
}
