//! A wait that can be ended early.

use parking_lot::{Condvar, Mutex};
use std::time::Instant;

/// Ends a wait on a clock before its time; see
/// [`Clock::sleep_until_or_rung`](super::Clock::sleep_until_or_rung).
///
/// ```
/// use anyhost::inject::Alarm;
/// use std::sync::Arc;
/// use std::time::{Duration, Instant};
///
/// let alarm = Arc::new(Alarm::new());
/// let waiter = std::thread::spawn({
///     let alarm = alarm.clone();
///     move || alarm.wait_until(Instant::now() + Duration::from_secs(3600))
/// });
/// alarm.ring();
/// waiter.join().unwrap(); // at once
/// assert!(alarm.has_rung());
/// ```
#[derive(Debug, Default)]
pub struct Alarm {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Alarm {
    /// One that has not rung.
    pub fn new() -> Self {
        Alarm::default()
    }

    /// Rings, once and for all: whoever waits returns, and whoever comes to wait later does not.
    pub fn ring(&self) {
        *self.rung.lock() = true;
        self.changed.notify_all();
    }

    /// Whether it has rung.
    pub fn has_rung(&self) -> bool {
        *self.rung.lock()
    }

    /// Returns when it rings, or at this instant by the machine's clock.
    pub fn wait_until(&self, instant: Instant) {
        let mut rung = self.rung.lock();
        while !*rung {
            if self.changed.wait_until(&mut rung, instant).timed_out() {
                return;
            }
        }
    }
}
