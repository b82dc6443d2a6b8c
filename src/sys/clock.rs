//! Time: monotonic, and replaceable as a whole (ruling R17).

use std::time::Instant;

/// Where a client reads the time and waits.
///
/// One clock serves a whole client. Only monotonic time is asked for: a wall clock that jumps
/// changes no decision.
pub trait Clock: Send + Sync {
    /// The current instant. Never goes back.
    fn now(&self) -> Instant;
    /// Returns at `instant`, or at once if it has passed.
    fn sleep_until(&self, instant: Instant);
}

/// The machine's monotonic clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        now()
    }

    #[expect(clippy::disallowed_methods, reason = "the door itself")]
    fn sleep_until(&self, instant: Instant) {
        let left = instant.saturating_duration_since(now());
        if !left.is_zero() {
            std::thread::sleep(left);
        }
    }
}

/// The machine's monotonic time, for what can only live in real time: sockets.
#[expect(clippy::disallowed_methods, reason = "the door itself")]
pub fn now() -> Instant {
    Instant::now()
}
