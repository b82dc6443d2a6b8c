//! The earliest of the limits that bind one step, and its name.
//!
//! An instant and not a duration: whatever blocks is given the same instant again after each
//! wake-up, so nothing can stretch it. Not here: which limits an attempt has (`decide::Limits`)
//! and how a wait is cut into slices (`socket`).

use super::failure::Failure;
use crate::decide::Limit;
use crate::sys;
use std::time::{Duration, Instant};

/// When a step must be over, and which limit says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deadline {
    at: Option<Instant>,
    limit: Limit,
}

impl Deadline {
    /// The limit that ends at `at`; `None` never ends.
    pub(super) fn new(at: Option<Instant>, limit: Limit) -> Self {
        Deadline { at, limit }
    }

    /// This deadline, or the other one where that is earlier.
    pub(super) fn or_earlier(self, at: Option<Instant>, limit: Limit) -> Self {
        match (self.at, at) {
            (Some(own), Some(other)) if own <= other => self,
            (_, None) => self,
            (_, Some(_)) => Deadline { at, limit },
        }
    }

    /// The instant, if there is one.
    pub(super) fn at(self) -> Option<Instant> {
        self.at
    }

    /// The failure of a step that has run into this deadline.
    pub(super) fn passed(self) -> Failure {
        Failure::timed_out(self.limit)
    }

    /// What is left until then where that is at most `most`. Asked at every read and write, most often far
    /// from the deadline, which one comparison shows.
    pub(super) fn left_within(self, most: Duration) -> Result<Option<Duration>, Failure> {
        let Some(at) = self.at else { return Ok(None) };
        match sys::now().checked_add(most) {
            Some(soon) if at > soon => Ok(None),
            _ => self.left(),
        }
    }

    /// Fails once it has passed.
    pub(super) fn check(self) -> Result<(), Failure> {
        if self.at.is_some_and(|at| sys::now() >= at) { Err(self.passed()) } else { Ok(()) }
    }

    /// What is left: `None` without end, a failure when nothing is.
    pub(super) fn left(self) -> Result<Option<Duration>, Failure> {
        let Some(at) = self.at else { return Ok(None) };
        let left = at.saturating_duration_since(sys::now());
        if left.is_zero() { Err(self.passed()) } else { Ok(Some(left)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_limit_is_the_one_named() {
        let now = sys::now();
        let (soon, late) = (Some(now + Duration::from_secs(1)), Some(now + Duration::from_secs(2)));
        let cases = [
            (soon, late, soon, Limit::Connect),
            (late, soon, soon, Limit::Attempt),
            (soon, soon, soon, Limit::Connect),
            (None, late, late, Limit::Attempt),
            (soon, None, soon, Limit::Connect),
            (None, None, None, Limit::Connect),
        ];
        for (connect, attempt, at, limit) in cases {
            let d = Deadline::new(connect, Limit::Connect).or_earlier(attempt, Limit::Attempt);
            assert_eq!(d, Deadline { at, limit });
        }
    }

    #[test]
    fn a_passed_instant_leaves_nothing() {
        let d = Deadline::new(Some(sys::now()), Limit::Stall);
        assert_eq!(d.left(), Err(Failure::timed_out(Limit::Stall)));
        assert_eq!(d.check(), Err(Failure::timed_out(Limit::Stall)));
        assert_eq!(d.left_within(Duration::MAX), Err(Failure::timed_out(Limit::Stall)));
        let none = Deadline::new(None, Limit::Stall);
        assert_eq!((none.left(), none.check()), (Ok(None), Ok(())));
        assert_eq!(none.left_within(Duration::MAX), Ok(None));
    }

    #[test]
    fn what_is_left_is_told_when_it_is_little() {
        let hour = Duration::from_secs(3600);
        let d = Deadline::new(Some(sys::now() + hour), Limit::Attempt);
        assert_eq!(d.left_within(hour / 2), Ok(None));
        for most in [hour, Duration::MAX] {
            let left = d.left_within(most).unwrap();
            assert!(left.is_some_and(|left| left > hour / 2 && left <= hour), "{left:?}");
        }
        assert_eq!(d.check(), Ok(()));
    }
}
