//! Time: monotonic, and replaceable as a whole (ruling R17).

use super::alarm::Alarm;
use std::time::{Duration, Instant, SystemTime};

/// Where a client reads the time and waits.
///
/// One clock serves a whole client. Decisions rest on monotonic time: a wall clock that jumps changes
/// none of them.
///
/// ```
/// # use anyhost::testing::{Reply, ScriptedTransport};
/// use anyhost::inject::{Alarm, Clock, SystemClock};
/// use std::time::{Duration, Instant};
///
/// /// The machine's time, and no patience.
/// struct Restless;
///
/// impl Clock for Restless {
///     fn now(&self) -> Instant {
///         SystemClock.now()
///     }
///     fn sleep_until(&self, _: Instant) {}
///     fn sleep_until_or_rung(&self, _: Instant, _: &Alarm) {}
///     fn unix_seconds(&self) -> u64 {
///         SystemClock.unix_seconds()
///     }
/// }
///
/// # let network = ScriptedTransport::new().on("https://a.example", [Reply::refused()]);
/// let client = anyhost::Client::builder()
///     .base_urls("https://a.example")
///     .attempts_per_endpoint(3)
///     .backoff_base(Duration::from_secs(1000))
///     .backoff_max(Duration::from_secs(1000))
///     .clock(Restless)
/// #     .transport(network)
///     .build()?;
/// assert_eq!(client.get("/").send().unwrap_err().attempts().len(), 3); // at once
/// # Ok::<(), anyhost::Error>(())
/// ```
pub trait Clock: Send + Sync {
    /// The current instant. Never goes back.
    fn now(&self) -> Instant;
    /// Returns at `instant`, or at once if it has passed.
    fn sleep_until(&self, instant: Instant);
    /// The same, but ends early when the alarm rings: the call was cancelled, or its client shut down.
    /// [`Alarm::wait_until`] waits so on the machine's time.
    ///
    /// # Default
    ///
    /// Waits until the instant, as [`sleep_until`](Clock::sleep_until) does.
    fn sleep_until_or_rung(&self, instant: Instant, _alarm: &Alarm) {
        self.sleep_until(instant);
    }
    /// Seconds since 1970 by the wall clock. Asked for one thing only: what a date in Retry-After
    /// means when the answer has no date of its own.
    fn unix_seconds(&self) -> u64;
}

/// The machine's monotonic clock.
///
/// Example: [`inject::Clock`](crate::inject::Clock).
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

    fn sleep_until_or_rung(&self, instant: Instant, alarm: &Alarm) {
        alarm.wait_until(instant);
    }

    #[expect(clippy::disallowed_methods, reason = "the door itself")]
    fn unix_seconds(&self) -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.unwrap_or(Duration::ZERO).as_secs()
    }
}

/// The machine's monotonic time, for what can only live in real time: sockets.
#[expect(clippy::disallowed_methods, reason = "the door itself")]
pub fn now() -> Instant {
    Instant::now()
}
