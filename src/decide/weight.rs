//! Weight: decides how an endpoint's share of the picks moves with its results.
//!
//! Seed 003 has one fixed rule (a success adds 1000, a failure divides by 10, within 1 to 1000) and
//! its core library has others to choose from. All of them turn out to be one step after a success
//! and one after a failure, so a [`WeightStrategy`] is that pair: small, copied freely, and a split
//! of two strategies is a pair again instead of a tree. A trait for strategies of the user's own
//! was left out: no user of the seed has one, and a rule that runs inside the pool's lock must not
//! panic or wait.
//!
//! Invariant: `1 <= min <= value <= max`, and no step can overflow; what would be too much becomes
//! `max`, what would be too little becomes `min` (the seed's library wraps around: A-B13). A weight
//! never reaches 0, so an endpoint that fails is drawn rarely, never given up. The same result for
//! the same steps on every platform.
//!
//! Flow: classify → record (**weight**) → next call's pick (`draw`). The caller compares old and
//! new: equal weights are no event.
//!
//! Not here: which results count as failures (`classify`; neutral ones never get here), the draw
//! itself (`draw`), one mutex around it all (the pool, ruling R4).

use super::mutant::planted;
use std::cmp::Ordering;
use std::fmt;
use std::num::NonZeroU32;

/// An endpoint's share of the picks among those of its priority, and the bounds it moves in.
///
/// An endpoint is drawn in proportion to its weight: 100 beside 1000 gets 100 of 1100 picks.
/// Bounds hold always: `1 <= min <= value <= max`. A `Weight` is a value; changing it means
/// replacing it, and comparing the two tells whether anything changed.
///
/// # Default
///
/// 1000 of 1 to 1000 (seed 003): an endpoint starts fully trusted, and three failures in a row take
/// it to a thousandth of a healthy one.
///
/// # Examples
///
/// ```
/// use anyhost::{Weight, WeightError};
///
/// let weight = Weight::new(90, 1, 100)?;
/// assert_eq!((weight.value(), weight.min(), weight.max()), (90, 1, 100));
/// assert_eq!(weight.moved_by(-20).value(), 70);
/// assert_eq!(weight.moved_by(11).value(), 100);
/// assert!(weight.moved_by(-1000).is_at_min());
/// // Back from an outage, with a tenth of its load first; and under another maximum.
/// assert_eq!(weight.after_probe().value(), 10);
/// assert_eq!(weight.with_max(50)?.value(), 50);
/// assert_eq!(Weight::new(101, 1, 100), Err(WeightError::AboveMax { value: 101, max: 100 }));
/// # Ok::<(), WeightError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Weight {
    value: u32,
    min: u32,
    max: u32,
}

impl Weight {
    /// A weight of `value` that will stay within `min` and `max`, both included.
    ///
    /// # Errors
    ///
    /// [`WeightError::MinIsZero`], [`WeightError::BelowMin`] or [`WeightError::AboveMax`], the first
    /// that applies, with the numbers. A `min` above `max` leaves no value that fits.
    pub const fn new(value: u32, min: u32, max: u32) -> Result<Self, WeightError> {
        if min == 0 {
            return Err(WeightError::MinIsZero);
        }
        if value < min {
            return Err(WeightError::BelowMin { value, min });
        }
        if value > max {
            return Err(WeightError::AboveMax { value, max });
        }
        Ok(Weight { value, min, max })
    }

    /// The weight now.
    pub const fn value(self) -> u32 {
        self.value
    }

    /// The least it can become, 1 or more.
    pub const fn min(self) -> u32 {
        self.min
    }

    /// The most it can become.
    pub const fn max(self) -> u32 {
        self.max
    }

    /// Whether it can fall no further. When that becomes true of the last endpoint, the pool says
    /// so once (A-E2).
    pub const fn is_at_min(self) -> bool {
        self.value == self.min
    }

    /// This weight plus `delta`, stopped at its bounds (A-W8 to A-W10).
    pub fn moved_by(self, delta: i64) -> Self {
        let moved = i64::from(self.value).saturating_add(delta);
        // Bounds first, so that the result fits u32 again.
        let within = moved.clamp(i64::from(self.min), i64::from(self.max));
        Weight { value: within as u32, ..self }
    }

    /// The weight after a successful probe: a tenth of `max`, or `min` if that is more.
    ///
    /// An endpoint that has just come back takes a tenth of its load first, so that the crowd does
    /// not knock it over again; the next success restores it (ruling R7, X-18).
    pub fn after_probe(self) -> Self {
        self.at(divide_half_to_even(self.max, TEN))
    }

    /// The same weight under another maximum; what is above it comes down to it (ruling R22).
    ///
    /// # Errors
    ///
    /// [`WeightError::BelowMin`] when `max` is below `min`.
    pub fn with_max(self, max: u32) -> Result<Self, WeightError> {
        Weight::new(self.value.min(max), self.min, max)
    }

    /// `value`, stopped at the bounds of this weight.
    fn at(self, value: u32) -> Self {
        Weight { value: value.clamp(self.min, self.max), ..self }
    }
}

impl Default for Weight {
    fn default() -> Self {
        Weight { value: 1000, min: 1, max: 1000 }
    }
}

/// How a weight follows results: one step after a success, one after a failure.
///
/// # Default
///
/// None of its own; weighted clients start with [`agoda`](Self::agoda), the rule of seed 003.
///
/// # Examples
///
/// ```
/// use anyhost::{Weight, WeightStrategy};
///
/// let agoda = WeightStrategy::agoda();
/// let failed_once = agoda.after(Weight::default(), false);
/// let failed_twice = agoda.after(failed_once, false);
/// assert_eq!((failed_once.value(), failed_twice.value()), (100, 10));
/// assert_eq!(agoda.after(failed_twice, true).value(), 1000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightStrategy {
    success: Step,
    failure: Step,
}

/// One move of a weight, before its bounds apply.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Keep,
    Add(u32),
    Subtract(u32),
    DivideExactly(NonZeroU32),
    Multiply(f64),
    Divide(f64),
}

const TEN: NonZeroU32 = NonZeroU32::new(10).unwrap();

impl WeightStrategy {
    /// The rule of seed 003: a success adds 1000, a failure divides by 10.
    ///
    /// Within the default bounds one success restores the full weight, and `k` failures in a row
    /// leave `max(1, 1000 / 10^k)` (ruling R4, A-W1, A-W3). The divisor is the seed's; its
    /// library's code divides by 100 (A-W2), which is `add_or_divide(1000, 100)`.
    pub const fn agoda() -> Self {
        WeightStrategy { success: Step::Add(1000), failure: Step::DivideExactly(TEN) }
    }

    /// A success adds `increment`, a failure divides by `divisor`, rounded half to even
    /// (A-W13, A-W14). A divisor of 1 lets no failure count.
    ///
    /// ```
    /// use anyhost::{Weight, WeightError, WeightStrategy};
    ///
    /// let gentle = WeightStrategy::add_or_divide(100, 2)?;
    /// let failed = gentle.after(Weight::default(), false);
    /// assert_eq!((failed.value(), gentle.after(failed, true).value()), (500, 600));
    /// assert_eq!(WeightStrategy::add_or_divide(100, 0), Err(WeightError::DivisorIsZero));
    /// # Ok::<(), WeightError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`WeightError::DivisorIsZero`].
    pub const fn add_or_divide(increment: u32, divisor: u32) -> Result<Self, WeightError> {
        match NonZeroU32::new(divisor) {
            Some(divisor) => Ok(WeightStrategy {
                success: Step::Add(increment),
                failure: Step::DivideExactly(divisor),
            }),
            None => Err(WeightError::DivisorIsZero),
        }
    }

    /// A success adds `delta`, a failure subtracts it (A-W7).
    ///
    /// ```
    /// use anyhost::{Weight, WeightStrategy};
    ///
    /// let steps = WeightStrategy::fixed_delta(400);
    /// let failed = steps.after(Weight::default(), false);
    /// assert_eq!((failed.value(), steps.after(failed, true).value()), (600, 1000));
    /// ```
    pub const fn fixed_delta(delta: u32) -> Self {
        WeightStrategy { success: Step::Add(delta), failure: Step::Subtract(delta) }
    }

    /// A success multiplies by `factor`, a failure divides by it (A-W5, A-W6).
    ///
    /// The result is the product or quotient as an IEEE 754 double, rounded half to even to a whole
    /// number; for whole factors that is the exact result, rounded once. A factor below 1 is
    /// allowed, and lets the weight fall with success.
    ///
    /// # Errors
    ///
    /// [`WeightError::BadFactor`] unless `factor` is finite and above 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use anyhost::{Weight, WeightError, WeightStrategy};
    ///
    /// let half_as_much_again = WeightStrategy::exponential(1.5)?;
    /// assert_eq!(half_as_much_again.after(Weight::new(50, 1, 100)?, true).value(), 75);
    /// # Ok::<(), WeightError>(())
    /// ```
    pub fn exponential(factor: f64) -> Result<Self, WeightError> {
        if factor.is_finite() && factor > 0.0 {
            Ok(WeightStrategy { success: Step::Multiply(factor), failure: Step::Divide(factor) })
        } else {
            Err(WeightError::BadFactor(factor))
        }
    }

    /// Follows `success` after a success and `failure` after a failure; the other half of each is
    /// never consulted (A-W12).
    ///
    /// # Examples
    ///
    /// Quick to distrust, slow to forgive:
    ///
    /// ```
    /// use anyhost::{Weight, WeightStrategy};
    ///
    /// let wary = WeightStrategy::split(WeightStrategy::fixed_delta(50), WeightStrategy::agoda());
    /// let failed = wary.after(Weight::default(), false);
    /// assert_eq!(failed.value(), 100);
    /// assert_eq!(wary.after(failed, true).value(), 150);
    /// ```
    pub const fn split(success: WeightStrategy, failure: WeightStrategy) -> Self {
        WeightStrategy { success: success.success, failure: failure.failure }
    }

    /// Leaves every weight as it is (A-W11): fixed shares, whatever happens.
    ///
    /// ```
    /// use anyhost::{Weight, WeightStrategy};
    ///
    /// assert_eq!(WeightStrategy::none().after(Weight::default(), false), Weight::default());
    /// ```
    pub const fn none() -> Self {
        WeightStrategy { success: Step::Keep, failure: Step::Keep }
    }

    /// What `weight` becomes when an attempt succeeded (`success`) or failed. Bounds stay.
    pub fn after(self, weight: Weight, success: bool) -> Weight {
        let step = if success { self.success } else { self.failure };
        let value = weight.value;
        match step {
            Step::Keep => weight,
            Step::Add(delta) => weight.moved_by(i64::from(delta)),
            Step::Subtract(delta) => weight.moved_by(-i64::from(delta)),
            Step::DivideExactly(_) if planted!(DividesByHundred) => weight.at(value / 100),
            Step::DivideExactly(divisor) => weight.at(divide_half_to_even(value, divisor)),
            Step::Multiply(factor) => weight.at(whole(f64::from(value) * factor)),
            Step::Divide(factor) => weight.at(whole(f64::from(value) / factor)),
        }
    }
}

/// The quotient as a whole number, ties to the even one.
fn divide_half_to_even(value: u32, divisor: NonZeroU32) -> u32 {
    let quotient = value / divisor;
    let rest = value % divisor;
    // Compared with what is missing to the next quotient, because twice the rest may not fit.
    let up = match rest.cmp(&(divisor.get() - rest)) {
        Ordering::Less => false,
        Ordering::Equal => quotient % 2 == 1,
        Ordering::Greater => true,
    };
    quotient + u32::from(up)
}

/// The nearest whole number, ties to the even one.
fn whole(value: f64) -> u32 {
    // `as` saturates: a product too large for u32, or infinite, becomes u32::MAX.
    value.round_ties_even() as u32
}

/// A weight or a strategy that cannot be. Says which bound was broken, and by which number.
///
/// ```
/// use anyhost::{WeightError, WeightStrategy};
///
/// assert_eq!(WeightStrategy::add_or_divide(10, 0).unwrap_err(), WeightError::DivisorIsZero);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum WeightError {
    /// The minimum is 0: an endpoint of weight 0 would never be tried again.
    MinIsZero,
    /// The value, or a new maximum, is below the minimum.
    BelowMin {
        /// The number given.
        value: u32,
        /// The bound it broke.
        min: u32,
    },
    /// The value is above the maximum.
    AboveMax {
        /// The number given.
        value: u32,
        /// The bound it broke.
        max: u32,
    },
    /// The factor of an exponential strategy is 0, negative, infinite or not a number.
    BadFactor(f64),
    /// The divisor is 0.
    DivisorIsZero,
}

impl fmt::Display for WeightError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeightError::MinIsZero => write!(f, "the minimum weight is 0 and must be at least 1"),
            WeightError::BelowMin { value, min } => {
                write!(f, "weight {value} is below its minimum of {min}")
            }
            WeightError::AboveMax { value, max } => {
                write!(f, "weight {value} is above its maximum of {max}")
            }
            // Without the number: writing one such is 13 KiB of code, which C would carry for nothing.
            WeightError::BadFactor(_) => {
                write!(f, "the weight factor is not a finite number above 0")
            }
            WeightError::DivisorIsZero => {
                write!(f, "the weight divisor is 0 and must be at least 1")
            }
        }
    }
}

impl std::error::Error for WeightError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn construction_names_the_bound_and_the_number() {
        for (value, min, max, told) in [
            (5, 0, 10, "the minimum weight is 0 and must be at least 1"),
            (0, 1, 10, "weight 0 is below its minimum of 1"),
            (11, 1, 10, "weight 11 is above its maximum of 10"),
            (5, 10, 3, "weight 5 is below its minimum of 10"),
            (20, 10, 3, "weight 20 is above its maximum of 3"),
        ] {
            let error = Weight::new(value, min, max).expect_err(told);
            assert_eq!(error.to_string(), told);
        }
        for (value, min, max) in [(1, 1, 1), (u32::MAX, 1, u32::MAX), (3, 3, 9), (9, 3, 9)] {
            let weight = Weight::new(value, min, max).expect("within bounds");
            assert_eq!((weight.value(), weight.min(), weight.max()), (value, min, max));
        }
    }

    #[test]
    fn factors_and_divisors_that_mean_nothing_are_refused() {
        for factor in [0.0, -0.0, -2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            let error = WeightStrategy::exponential(factor).expect_err("refused");
            assert!(matches!(error, WeightError::BadFactor(_)), "{error:?}");
            assert_eq!(error.to_string(), "the weight factor is not a finite number above 0");
        }
        assert_eq!(WeightStrategy::add_or_divide(1000, 0), Err(WeightError::DivisorIsZero));
    }

    /// A-B13: the seed's library wraps to the wrong end here.
    #[test]
    fn steps_too_large_stop_at_the_bound_they_head_for() {
        let weight = Weight::new(u32::MAX - 1, 7, u32::MAX).unwrap();
        let fixed = WeightStrategy::fixed_delta(u32::MAX);
        assert_eq!(fixed.after(weight, true).value(), u32::MAX);
        assert_eq!(fixed.after(weight, false).value(), 7);
        assert_eq!(weight.moved_by(i64::MAX).value(), u32::MAX);
        assert_eq!(weight.moved_by(i64::MIN).value(), 7);
        for (factor, up, down) in [(f64::MAX, u32::MAX, 7), (f64::MIN_POSITIVE, 7, u32::MAX)] {
            let exponential = WeightStrategy::exponential(factor).unwrap();
            assert_eq!(exponential.after(weight, true).value(), up, "times {factor}");
            assert_eq!(exponential.after(weight, false).value(), down, "divided by {factor}");
        }
    }

    /// The claim in `exponential`'s documentation: whole factors lose nothing to the double.
    #[test]
    fn dividing_by_a_whole_factor_is_exact() {
        let values = (1..=2_000).chain(u32::MAX - 2_000..=u32::MAX);
        for value in values {
            let weight = Weight::new(value, 1, u32::MAX).unwrap();
            for divisor in (1..=130).chain([1_000, 65_535, 65_536, u32::MAX - 1, u32::MAX]) {
                let exact = WeightStrategy::add_or_divide(1, divisor).unwrap();
                let double = WeightStrategy::exponential(f64::from(divisor)).unwrap();
                assert_eq!(
                    exact.after(weight, false),
                    double.after(weight, false),
                    "{value} / {divisor}"
                );
            }
        }
    }

    #[test]
    fn a_new_maximum_brings_the_value_down_and_never_under_the_minimum() {
        let weight = Weight::new(555, 10, 1000).unwrap();
        assert_eq!(weight.with_max(100), Weight::new(100, 10, 100));
        assert_eq!(weight.with_max(2000), Weight::new(555, 10, 2000));
        assert_eq!(weight.with_max(9), Err(WeightError::BelowMin { value: 9, min: 10 }));
    }
}
