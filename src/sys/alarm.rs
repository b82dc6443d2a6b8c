//! A wait that can be ended early.

use parking_lot::{Condvar, Mutex};
use std::time::Instant;

/// Ends a wait on a clock before its time; see
/// [`Clock::sleep_until_or_rung`](super::Clock::sleep_until_or_rung).
///
/// Example: [`inject::Clock`](crate::inject::Clock).
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

    /// Rings, once and for all.
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
