//! A clock that stands still until it is moved: tests of minutes and hours take none (ruling R18).

use super::clock::{Clock, now};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A clock in the hands of a test. Feature `testing`.
///
/// Nothing but [`advance`](ManualClock::advance) and waiting on it moves it, and nothing moves it
/// back: whoever waits until an instant finds that instant reached at once, and the wait listed in
/// [`sleeps`](ManualClock::sleeps). Its wall clock goes with it, from Sun, 06 Nov 1994 08:49:37 GMT
/// (the date of the examples in RFC 9110 §5.6.7) unless [set](ManualClock::set_unix_seconds).
///
/// A clone is the same clock.
///
/// ```
/// use anyhost::inject::Clock;
/// use anyhost::testing::ManualClock;
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let began = clock.now();
/// clock.advance(Duration::from_secs(300));
/// clock.sleep_until(began + Duration::from_secs(302));
/// clock.sleep_until(began);
/// assert_eq!(clock.elapsed(), Duration::from_secs(302));
/// assert_eq!(clock.sleeps(), [Duration::from_secs(2), Duration::ZERO]);
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<Mutex<Hands>>);

#[derive(Debug)]
struct Hands {
    began: Instant,
    now: Instant,
    /// What the wall clock said when `now` was `began`; may lie before 1970 when it is set late.
    wall_at_start: i128,
    sleeps: Vec<Duration>,
}

/// Sun, 06 Nov 1994 08:49:37 GMT.
const WALL_AT_START: i128 = 784_111_777;

impl ManualClock {
    /// A clock that stands still.
    pub fn new() -> Self {
        let began = now();
        ManualClock(Arc::new(Mutex::new(Hands {
            began,
            now: began,
            wall_at_start: WALL_AT_START,
            sleeps: Vec::new(),
        })))
    }

    /// Moves it on. Whoever waits on it is not woken: nobody waits in the time of this clock.
    pub fn advance(&self, by: Duration) {
        self.0.lock().now += by;
    }

    /// How far it has gone since it was made.
    pub fn elapsed(&self) -> Duration {
        self.0.lock().elapsed()
    }

    /// Sets the wall clock, which decides nothing but what a date in Retry-After means where the
    /// answer has no date of its own. The monotonic time stays.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # use std::time::Duration;
    /// # let a = "https://a.example";
    /// // "at half past eight"; the answer does not say what time it is.
    /// let date = "Sun, 06 Nov 1994 08:30:00 GMT";
    /// let network = ScriptedTransport::new().on(a, [Reply::status(503).header("Retry-After", date)]);
    /// # let builder = anyhost::Client::builder().base_urls(a).transport(network.clone());
    /// # let client = builder.clock(network.clock()).build()?;
    /// network.clock().set_unix_seconds(784_110_540); // 08:29
    /// assert_eq!(client.get("/").send()?.retry_after(), Some(Duration::from_secs(60)));
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn set_unix_seconds(&self, seconds: u64) {
        let hands = &mut *self.0.lock();
        hands.wall_at_start = i128::from(seconds) - i128::from(hands.elapsed().as_secs());
    }

    /// Every wait so far, in order, zero for one that was over before it began. A client waits only
    /// before it comes back to an endpoint it has tried in the same call.
    pub fn sleeps(&self) -> Vec<Duration> {
        self.0.lock().sleeps.clone()
    }

    /// Moves it on to `instant`, unless it is there, without listing a wait.
    pub(crate) fn reach(&self, instant: Instant) {
        let hands = &mut *self.0.lock();
        hands.now = hands.now.max(instant);
    }
}

impl Hands {
    fn elapsed(&self) -> Duration {
        self.now.saturating_duration_since(self.began)
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        ManualClock::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        self.0.lock().now
    }

    fn sleep_until(&self, instant: Instant) {
        let hands = &mut *self.0.lock();
        hands.sleeps.push(instant.saturating_duration_since(hands.now));
        hands.now = hands.now.max(instant);
    }

    fn unix_seconds(&self) -> u64 {
        let hands = self.0.lock();
        u64::try_from(hands.wall_at_start + i128::from(hands.elapsed().as_secs())).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wall_clock_goes_along_and_can_be_set() {
        let clock = ManualClock::new();
        clock.advance(Duration::from_secs(10));
        assert_eq!(clock.unix_seconds(), 784_111_787);
        clock.set_unix_seconds(5);
        assert_eq!(clock.unix_seconds(), 5);
        clock.advance(Duration::from_millis(2500));
        assert_eq!(clock.unix_seconds(), 7);
        assert_eq!(clock.elapsed(), Duration::from_millis(12_500));
    }

    #[test]
    fn a_clone_is_the_same_clock() {
        let clock = ManualClock::new();
        clock.clone().advance(Duration::from_secs(1));
        assert_eq!(clock.elapsed(), Duration::from_secs(1));
    }
}
