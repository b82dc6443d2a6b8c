//! Decides how long to wait after failures in a row.
//!
//! Two readings of one doubling delay. [`Backoff::after`] is the breaker's: the delay plus up to as
//! much again, so that a wait is never shorter than the delay (seed 001). [`Backoff::full_jitter`] is
//! for coming back to an endpoint within one call: anything below the delay, which spreads callers
//! best where no window has to be kept (seed 002). Equal and decorrelated jitter were left out: no
//! seed uses them.
//!
//! In: how many failures, one random number. Out: a duration, never above the maximum.
//!
//! Flow: `record` asks through `circuit`; `next` asks before it returns to an endpoint.
//!
//! Not here: counting the failures (`circuit`), what a server asks for (`retry_after`).

use super::mutant::planted;
use std::fmt;
use std::time::Duration;

/// A delay that doubles from `base` to `max`, or [grows](Backoff::with_growth) by another factor.
///
/// ```
/// use anyhost::Backoff;
/// use std::time::Duration;
///
/// let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
/// let backoff = Backoff::new(second, minute, false)?;
/// assert_eq!((backoff.base(), backoff.max(), backoff.jitter()), (second, minute, false));
/// assert_eq!(backoff.after(3, 0), 4 * second);
/// assert_eq!(backoff.after(1000, 0), minute);
/// # Ok::<(), anyhost::BackoffError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    base: Duration,
    max: Duration,
    jitter: bool,
    growth: u32,
}

impl Backoff {
    /// The largest maximum: 365 days. Longer is a slip of units, and below it an instant plus a wait
    /// cannot overflow.
    pub const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

    /// A backoff from `base` to `max`. `jitter` is the random part of [`after`](Self::after).
    ///
    /// # Errors
    ///
    /// Refused, with the [`BackoffError`] that says why, unless 0 < `base` <= `max` <=
    /// [`LONGEST`](Self::LONGEST). Seed 001 takes any value; a
    /// base of 0 leaves a breaker that never refuses (B-28).
    pub const fn new(base: Duration, max: Duration, jitter: bool) -> Result<Self, BackoffError> {
        if base.is_zero() {
            return Err(BackoffError::BaseIsZero);
        }
        if base.as_nanos() > max.as_nanos() {
            return Err(BackoffError::BaseAboveMax { base, max });
        }
        if max.as_nanos() > Self::LONGEST.as_nanos() {
            return Err(BackoffError::MaxTooLong { max });
        }
        Ok(Backoff { base, max, jitter, growth: 2 })
    }

    /// The same, each delay `factor` times the one before, up to the maximum: 1 keeps every delay at the
    /// base, and 0 is taken for 1.
    ///
    /// ```
    /// # use anyhost::Backoff;
    /// # use std::time::Duration;
    /// # let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
    /// let fast = Backoff::new(second, minute, false)?.with_growth(5);
    /// let waits: Vec<u64> = (1..5).map(|failures| fast.after(failures, 0).as_secs()).collect();
    /// assert_eq!(waits, [1, 5, 25, 60]);
    /// # Ok::<(), anyhost::BackoffError>(())
    /// ```
    #[must_use]
    pub const fn with_growth(self, factor: u32) -> Self {
        Backoff { growth: if factor == 0 { 1 } else { factor }, ..self }
    }

    /// The wait after `failures` in a row: `base * growth^(failures - 1)`, at most `max` (B-10). No
    /// failure counts as one: the answer is `base`. `random` is a number of 64 bits, all equally likely, and
    /// stands for nothing without jitter.
    ///
    /// With jitter a random part of the delay, below 100 % of it, is added, and the sum is cut to
    /// `max` again: seed 001 documents a maximum and then exceeds it (B-B1), we keep it (R6).
    pub fn after(&self, failures: u32, random: u64) -> Duration {
        let delay = self.grown(failures.saturating_sub(1));
        if !self.jitter {
            return delay;
        }
        let max = if planted!(JitterBeyondMax) { Self::LONGEST } else { self.max };
        delay.saturating_add(part_of(delay, random)).min(max)
    }

    /// The wait before returning to an endpoint for the `returns`-th time, counted from 0: uniform in
    /// [0, min(max, base * growth^returns)), whatever `jitter` says (H-26 lists the ceilings). `random` is a
    /// number of 64 bits, all of them equally likely.
    ///
    /// ```
    /// # use anyhost::Backoff;
    /// # use std::time::Duration;
    /// let backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1), true)?;
    /// assert_eq!(backoff.full_jitter(0, 0), Duration::ZERO); // the least that chance gives
    /// let half = u64::MAX / 2 + 1;
    /// assert_eq!(backoff.full_jitter(1, half), Duration::from_millis(50)); // half of 100 ms
    /// # Ok::<(), anyhost::BackoffError>(())
    /// ```
    pub fn full_jitter(&self, returns: u32, random: u64) -> Duration {
        part_of(self.grown(returns), random)
    }

    /// The longest wait, which neither growth nor jitter passes.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// The delay after the first failure, before jitter.
    pub fn base(&self) -> Duration {
        self.base
    }

    /// Whether [`after`](Self::after) adds a random part.
    pub fn jitter(&self) -> bool {
        self.jitter
    }

    /// `base * growth^times`, at most `max`. Ends after 55 rounds at most: 1 ns doubled 55 times is longer
    /// than [`LONGEST`](Self::LONGEST).
    fn grown(&self, times: u32) -> Duration {
        let mut delay = self.base;
        for _ in 0..times {
            if delay >= self.max || self.growth == 1 {
                break;
            }
            delay = delay.saturating_mul(self.growth);
        }
        delay.min(self.max)
    }
}

/// Why a [`Backoff`] was refused.
///
/// ```
/// use anyhost::{Backoff, BackoffError};
/// use std::time::Duration;
///
/// let (base, max) = (Duration::from_secs(2), Duration::from_secs(1));
/// assert_eq!(Backoff::new(base, max, true).unwrap_err(), BackoffError::BaseAboveMax { base, max });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackoffError {
    /// The base delay is 0.
    BaseIsZero,
    /// The base delay is longer than the maximum.
    BaseAboveMax {
        /// The base delay asked for.
        base: Duration,
        /// The maximum asked for.
        max: Duration,
    },
    /// The maximum is longer than [`Backoff::LONGEST`].
    MaxTooLong {
        /// The maximum asked for.
        max: Duration,
    },
}

impl fmt::Display for BackoffError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackoffError::BaseIsZero => write!(f, "the base delay must be longer than 0"),
            BackoffError::BaseAboveMax { base, max } => {
                write!(f, "the base delay ({base:?}) is longer than the maximum delay ({max:?})")
            }
            BackoffError::MaxTooLong { max } => {
                write!(f, "the maximum delay ({max:?}) is longer than 365 days")
            }
        }
    }
}

impl std::error::Error for BackoffError {}

/// A part of `delay` in [0, `delay`): `random` read as a fraction of 2^64. Whole nanoseconds, rounded
/// down, so that the end is never reached.
fn part_of(delay: Duration, random: u64) -> Duration {
    let nanos = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
    let part = (u128::from(nanos) * u128::from(random)) >> 64;
    Duration::from_nanos(part as u64)
}
