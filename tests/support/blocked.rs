//! Whether a thread of this process is blocked in the kernel: what no server can tell of a client.

use std::time::{Duration, Instant};

/// A thread, as others look at it.
#[derive(Clone, Copy)]
pub struct Caller(#[cfg(target_os = "linux")] libc::c_long);

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq)]
pub enum Blocked {
    /// A system call on a socket.
    OnSocket,
    /// Another thread.
    OnThread,
}

impl Caller {
    /// The thread that asks.
    #[cfg(target_os = "linux")]
    pub fn this() -> Caller {
        // SAFETY: asks for a number.
        Caller(unsafe { libc::syscall(libc::SYS_gettid) })
    }

    /// The thread that asks.
    #[cfg(not(target_os = "linux"))]
    pub fn this() -> Caller {
        Caller()
    }

    /// Waits until it is blocked so. What was in its socket before is read then, or it would not be.
    #[cfg(target_os = "linux")]
    #[track_caller]
    pub fn wait_until(self, blocked: Blocked, within: Duration) {
        let file = format!("/proc/self/task/{}/syscall", self.0);
        let until = Instant::now() + within;
        loop {
            // The number of the call it is in, or "running"; unreadable where tracing is forbidden.
            let Ok(line) = std::fs::read_to_string(&file) else { return super::pass(UNSEEN) };
            let number = line.split(' ').next().and_then(|word| word.parse().ok());
            let is_futex = |number: libc::c_long| number == libc::SYS_futex;
            if number.is_some_and(|number| is_futex(number) == (blocked == Blocked::OnThread)) {
                return;
            }
            assert!(Instant::now() < until, "not blocked within {within:?}: {line}");
            // Nobody tells when another thread falls asleep.
            super::pass(super::ms(1));
        }
    }

    /// Waits as long as it should take: other systems do not tell.
    #[cfg(not(target_os = "linux"))]
    pub fn wait_until(self, _: Blocked, _: Duration) {
        super::pass(UNSEEN);
    }
}

/// Where nothing can be seen. Enough on a machine that is not busy.
const UNSEEN: Duration = super::ms(100);
