//! How long an endpoint's good answers take: the estimate behind `attempt_timeout=measured …`.
//!
//! The last 256 samples of one endpoint are kept as they are, and the 99th percentile (nearest rank)
//! is read from them: for 100 samples the second largest, for 256 the third. A histogram with decay
//! needs no less memory at this precision (1 KiB per endpoint), rounds every answer to a bucket and
//! has a speed of forgetting that nobody can name; of a ring one can say "the last 256". Samples do
//! not age with the clock: an endpoint that is asked once a minute would always be unknown.
//!
//! **Timeouts are samples too.** An attempt that met its limit says "at least this long". Leaving it
//! out would keep only what was quick enough, so each limit drawn from the estimate would strangle a
//! few more answers and the next limit would be lower still. It is entered at the time it had, but
//! only where that is no less than the present estimate: below, it tells nothing about the slow end
//! and would only dilute it. Hence a timeout never lowers the estimate, and three timeouts in the
//! last 256 samples raise it to the limit they met; as the policy allows a multiple of the estimate,
//! the limit then grows past what the endpoint needs. The price: an endpoint that hangs on more than
//! one request in a hundred is given the upper bound. A quantile that forgives more hangs would cut
//! off that many honest answers, and a write that is cut off cannot be repeated.
//!
//! In: how long attempts took. Out: one duration, never 0. All integers, the same on every platform.
//!
//! Flow: `record` enters samples after an attempt; the policy reads the estimate before the next.
//!
//! Not here: the multiple and the bounds (`timeout`), and which answers are good (`classify`).

use std::time::Duration;

/// Recent response times of one endpoint.
///
/// A sample covers what the attempt limit covers, from the start of the attempt to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latency {
    /// Microseconds, rounded up, at most [`KEPT`]; from then on a ring.
    samples: Vec<u32>,
    /// Where the ring is written next.
    next: usize,
    /// Good answers entered so far, up to [`ENOUGH`].
    answers: usize,
}

impl Latency {
    /// Of an endpoint that nothing is known of.
    pub fn new() -> Self {
        Latency::default()
    }

    /// Enters a good answer that took this long.
    ///
    /// Answers that are not good stay out: an error page is often quick, and says nothing about the
    /// time real work takes.
    pub fn record_answer(&mut self, took: Duration) {
        self.answers = ENOUGH.min(self.answers + 1);
        self.enter(micros(took));
    }

    /// Enters an attempt that was cut off after this long, with its request sent. Never lowers the
    /// estimate.
    pub fn record_timeout(&mut self, after: Duration) {
        let after = micros(after);
        if self.quantile().is_none_or(|quantile| after >= quantile) {
            self.enter(after);
        }
    }

    /// The time that 99 of 100 recent samples took at most; `None` before 20 good answers.
    pub fn p99(&self) -> Option<Duration> {
        if self.answers < ENOUGH {
            return None;
        }
        self.quantile().map(|micros| Duration::from_micros(micros.into()))
    }

    fn enter(&mut self, micros: u32) {
        if self.samples.len() < KEPT {
            self.samples.push(micros);
        } else {
            self.samples[self.next] = micros;
            self.next = (self.next + 1) % KEPT;
        }
    }

    /// Nearest rank: the smallest sample that at least 99 % do not exceed, which is one of the largest few.
    fn quantile(&self) -> Option<u32> {
        let mut largest = [0; KEPT / 100 + 1];
        for mut sample in self.samples.iter().copied() {
            for place in &mut largest {
                if sample > *place {
                    std::mem::swap(place, &mut sample);
                }
            }
        }
        (!self.samples.is_empty()).then(|| largest[self.samples.len() / 100])
    }
}

/// Rounded up, so that no sample is 0; what exceeds 71 minutes counts as 71 minutes.
fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_nanos().div_ceil(1000)).unwrap_or(u32::MAX).max(1)
}

/// Samples kept per endpoint. From 200 on the 99th percentile is the third largest, so that two
/// stray samples do not decide alone; more would only remember longer.
const KEPT: usize = 256;

/// Good answers before there is an estimate. With fewer the largest of them says too little about
/// the slow end; and no number of timeouts stands in for answers.
const ENOUGH: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn after_answers(answers: impl IntoIterator<Item = u64>) -> Latency {
        let mut latency = Latency::new();
        answers.into_iter().for_each(|millis| latency.record_answer(ms(millis)));
        latency
    }

    #[test]
    fn nothing_is_known_before_20_good_answers() {
        let mut latency = after_answers((1..=19).map(|_| 10));
        (0..500).for_each(|_| latency.record_timeout(ms(20)));
        assert_eq!(latency.p99(), None, "timeouts are no answers");
        latency.record_answer(ms(10));
        assert_eq!(latency.p99(), Some(ms(20)), "but they were not forgotten");
        assert_eq!(after_answers([10; 20]).p99(), Some(ms(10)));
    }

    #[test]
    fn the_quantile_is_the_nearest_rank() {
        for (count, millis) in [(20, 20), (99, 99), (100, 99), (200, 198), (201, 199), (256, 254)] {
            assert_eq!(after_answers(1..=count).p99(), Some(ms(millis)), "of 1..={count} ms");
            assert_eq!(after_answers((1..=count).rev()).p99(), Some(ms(millis)), "backwards");
        }
    }

    #[test]
    fn only_the_last_256_samples_count() {
        let slow_then_quick = |quick| after_answers([900; 256].into_iter().chain(vec![10; quick]));
        assert_eq!(slow_then_quick(253).p99(), Some(ms(900)), "three slow ones are left");
        assert_eq!(slow_then_quick(254).p99(), Some(ms(10)), "two slow ones are left");
        assert_eq!(slow_then_quick(10_000).samples.len(), 256);
    }

    #[test]
    fn three_timeouts_lift_the_estimate_to_the_limit_they_met() {
        let mut latency = after_answers([10; 256]);
        for (timeouts, p99) in [(1, 10), (2, 10), (3, 250)] {
            latency.record_timeout(ms(250));
            assert_eq!(latency.p99(), Some(ms(p99)), "after {timeouts} timeouts");
        }
    }

    #[test]
    fn a_timeout_below_the_estimate_changes_nothing() {
        let mut latency = after_answers([100; 50]);
        let before = latency.clone();
        latency.record_timeout(ms(99));
        assert_eq!(latency, before);
    }

    /// Every state that a fixed scramble of answers reaches, and a timeout of every size in each.
    #[test]
    fn no_timeout_lowers_the_estimate() {
        let mut latency = Latency::new();
        let mut bits = 1_u64;
        for step in 0..3_000 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let millis = 1 + (bits >> 33) % 400;
            let before = latency.p99();
            for after in [1, 50, 200, 390, 400, 5_000].map(ms) {
                let mut cut = latency.clone();
                cut.record_timeout(after);
                assert!(
                    cut.p99() >= before,
                    "step {step}: {after:?} made {:?} of {before:?}",
                    cut.p99()
                );
            }
            match bits >> 61 {
                0 => latency.record_timeout(ms(millis)),
                _ => latency.record_answer(ms(millis)),
            }
        }
    }

    #[test]
    fn the_estimate_is_never_0_and_never_overflows() {
        let mut latency = Latency::new();
        (0..20).for_each(|_| latency.record_answer(Duration::ZERO));
        assert_eq!(latency.p99(), Some(Duration::from_micros(1)));
        latency.record_answer(Duration::MAX);
        assert_eq!(latency.p99(), Some(Duration::from_micros(u32::MAX.into())));
    }
}
