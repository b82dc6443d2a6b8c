//! How long the next attempt may take (seed 002, ruling R9).
//!
//! A policy is asked before each attempt and sees the call so far. Three answers come with the
//! crate: the same limit always; a quick usual limit that gives way after a timeout; a limit from
//! what the endpoint's recent answers took. Callers may bring their own.
//!
//! The list of a quick usual limit and what follows it is indexed by the call's timeouts in total,
//! not in a row, and is left for the usual limit as soon as an attempt ends in another way: that is
//! the seed's rule (vectors H-1 to H-15). What the seed, with its one server, need not say: only
//! timeouts after sending began are counted (X-1 to X-5). An endpoint that cannot be reached says
//! nothing about how long another one needs to answer.
//!
//! In: an [`Execution`], plain values. Out: a duration above 0, or `None` for no limit.
//!
//! Flow: pick → **timeout** → `limits`, which adds the deadline and the connect limit → attempt.
//!
//! Not here: when a call gives up (`call`), and what a timeout means for the endpoint (`classify`).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::duration_text::{DurationText, InvalidValue, NO_ZERO, parse_duration};
use super::report::{Cause, Ending, Limit, Report};

/// Decides how long the next attempt of a call may take.
///
/// One policy serves all calls of a client, from any thread, so what it needs to know about a call
/// is in the [`Execution`].
///
/// # Examples
///
/// A policy that gives the first attempt less time than the rest:
///
/// ```
/// # use anyhost::testing::{Reply, ScriptedTransport};
/// use anyhost::{Execution, TimeoutPolicy};
/// use std::time::Duration;
///
/// struct ImpatientAtFirst;
///
/// impl TimeoutPolicy for ImpatientAtFirst {
///     fn attempt_timeout(&self, execution: &Execution) -> Option<Duration> {
///         Some(Duration::from_secs(if execution.attempt == 1 { 1 } else { 10 }))
///     }
///
///     fn uses_latency(&self) -> bool {
///         false
///     }
/// }
///
/// # let (a, b) = ("https://a.example", "https://b.example");
/// # let network = ScriptedTransport::new().on(a, [Reply::times_out()]).on(b, [Reply::times_out()]);
/// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
/// # let client = builder.transport(network.clone()).clock(network.clock()).build()?;
/// let error = client.get("/").attempt_timeout(ImpatientAtFirst).send().unwrap_err();
/// let took: Vec<u64> = error.attempts().iter().map(|it| it.elapsed().as_secs()).collect();
/// assert_eq!(took, [1, 10]);
/// # Ok::<(), anyhost::Error>(())
/// ```
pub trait TimeoutPolicy: Send + Sync {
    /// The limit of the next attempt; `None` is no limit.
    ///
    /// It covers everything from looking up the name to the end of the answer: its whole body in
    /// `send`, its head in `stream`. The call's deadline and the connect limit can only shorten it.
    /// Zero is not allowed: the attempt would be over before it began.
    fn attempt_timeout(&self, execution: &Execution) -> Option<Duration>;

    /// Whether it looks at [`Execution::latency`]. A policy that does not spares each call the
    /// counting.
    ///
    /// # Default
    ///
    /// `true`, which is right for every policy.
    fn uses_latency(&self) -> bool {
        true
    }
}

/// A call so far, as a [`TimeoutPolicy`] sees it before each attempt.
///
/// The default value is the start of a call. Tests of policies set the fields they need:
///
/// ```
/// use anyhost::{Execution, Timeout, TimeoutPolicy};
/// use std::time::Duration;
///
/// let mut execution = Execution::default();
/// execution.latency = Some(Duration::from_millis(100));
/// let measured = Timeout::measured(Duration::from_millis(250), Duration::from_secs(5))?;
/// assert_eq!(measured.attempt_timeout(&execution), Some(Duration::from_millis(400)));
/// # Ok::<(), anyhost::InvalidValue>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Execution {
    /// The number of the attempt to come, from 1.
    pub attempt: u32,
    /// How many attempts have ended.
    pub ended: u32,
    /// How many of them were cut off by a limit after sending had begun, at whichever endpoint.
    pub timeouts: u32,
    /// The attempt that ended last was one of those.
    pub last_timed_out: bool,
    /// What 99 of 100 recent answers of that endpoint took at most; `None` while too few are known.
    /// See [`Latency`](super::Latency).
    pub latency: Option<Duration>,
    /// Since the call began.
    pub since_start: Duration,
}

impl Execution {
    /// Counts an attempt that has ended.
    ///
    /// A limit that ran out before sending began, the connect limit above all, counts as an attempt
    /// that did not time out (X-1, X-5).
    ///
    /// ```
    /// use anyhost::Execution;
    /// use anyhost::inject::{Cause, Ending, Limit, Report};
    ///
    /// let mut execution = Execution::default();
    /// let ending = Ending::Failed(Cause::TimedOut(Limit::Attempt));
    /// execution.record(&Report { ending, asked_to_send: true, ..Report::new() });
    /// assert_eq!((execution.attempt, execution.ended), (2, 1));
    /// assert_eq!((execution.timeouts, execution.last_timed_out), (1, true));
    /// ```
    pub fn record(&mut self, report: &Report) {
        self.last_timed_out = timed_out_after_sending(report);
        self.timeouts = self.timeouts.saturating_add(self.last_timed_out.into());
        self.ended = self.ended.saturating_add(1);
        self.attempt = self.ended.saturating_add(1);
    }
}

impl Default for Execution {
    fn default() -> Self {
        Execution {
            attempt: 1,
            ended: 0,
            timeouts: 0,
            last_timed_out: false,
            latency: None,
            since_start: Duration::ZERO,
        }
    }
}

/// The policies that come with the crate.
///
/// As the text of the option `attempt_timeout`: `5s` is [`fixed`](Timeout::fixed), `200ms,1s,10s` is
/// [`adaptive`](Timeout::adaptive), `measured 250ms..5s` is [`measured`](Timeout::measured), `off` is
/// [`infinite`](Timeout::infinite). [`FromStr`] reads these and [`Display`](fmt::Display) writes
/// them, so that what is written reads back as the same policy.
///
/// ```
/// use anyhost::Timeout;
/// use std::time::Duration;
///
/// let measured: Timeout = "measured 250ms..5s".parse().unwrap();
/// assert_eq!(measured, Timeout::measured(Duration::from_millis(250), Duration::from_secs(5)).unwrap());
/// assert_eq!(Timeout::default().to_string(), "5s");
/// ```
///
/// # Default
///
/// Fixed, 5 s: the default of seed 002.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeout(Policy);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Policy {
    Infinite,
    /// The usual limit, then those after the first, second … timeout. Fixed is a list of one (H-13).
    Steps(Vec<Duration>),
    Measured {
        low: Duration,
        high: Duration,
    },
}

impl Timeout {
    /// Gives every attempt the same limit.
    ///
    /// ```
    /// use anyhost::{Execution, Timeout, TimeoutPolicy};
    /// use std::time::Duration;
    ///
    /// let timeout = Timeout::fixed(Duration::from_secs(3))?;
    /// assert_eq!(timeout.attempt_timeout(&Execution::default()), Some(Duration::from_secs(3)));
    /// assert!(Timeout::fixed(Duration::ZERO).is_err());
    /// # Ok::<(), anyhost::InvalidValue>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Zero: an attempt in no time is none, and `0` must not be taken for "no limit" (ruling R9).
    pub fn fixed(limit: Duration) -> Result<Self, InvalidValue> {
        Timeout::adaptive(limit, [])
    }

    /// Sets no limit: an attempt ends by itself or by the call's deadline.
    ///
    /// ```
    /// use anyhost::{Execution, Timeout, TimeoutPolicy};
    ///
    /// assert_eq!(Timeout::infinite().attempt_timeout(&Execution::default()), None);
    /// assert_eq!(Timeout::infinite().to_string(), "off");
    /// ```
    pub const fn infinite() -> Self {
        Timeout(Policy::Infinite)
    }

    /// Gives an attempt the `usual` limit, unless the attempt before it timed out: then the first of
    /// `after` if that was the call's first timeout, the second if it was the second, and the last of
    /// them from there on.
    ///
    /// For services with single slow answers that are cured by asking again, and now and then a spell
    /// in which every answer is slow. Timeouts count over the whole call, across endpoints, when the
    /// request had begun to be sent; an attempt that ends in any other way brings `usual` back for
    /// the next one, and leaves the count alone (vectors H-1 to H-15, X-1 to X-5).
    ///
    /// # Errors
    ///
    /// A zero among the limits.
    ///
    /// # Examples
    ///
    /// ```
    /// use anyhost::{Execution, Timeout, TimeoutPolicy};
    /// use std::time::Duration;
    ///
    /// let (usual, first, second) =
    ///     (Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(10));
    /// let timeout = Timeout::adaptive(usual, [first, second])?;
    ///
    /// let mut execution = Execution::default();
    /// assert_eq!(timeout.attempt_timeout(&execution), Some(usual));
    /// execution.timeouts = 2;
    /// execution.last_timed_out = true;
    /// assert_eq!(timeout.attempt_timeout(&execution), Some(second));
    /// execution.last_timed_out = false;
    /// assert_eq!(timeout.attempt_timeout(&execution), Some(usual));
    /// # Ok::<(), anyhost::InvalidValue>(())
    /// ```
    pub fn adaptive(
        usual: Duration,
        after: impl IntoIterator<Item = Duration>,
    ) -> Result<Self, InvalidValue> {
        let steps = Policy::Steps(std::iter::once(usual).chain(after).collect());
        Timeout::checked(steps)
    }

    /// Draws the limit from what the endpoint's good answers took lately: four times what 99 of 100
    /// of them took at most, but not below `low` or above `high`.
    ///
    /// It is `high` for an endpoint of which fewer than 20 good answers are known, and for the
    /// attempt after a timeout of the same call: a request may be slow by its nature, and asking
    /// again as briefly would lose it at every endpoint. Timeouts push the estimate up, never down;
    /// see [`Latency`](super::Latency).
    ///
    /// # Errors
    ///
    /// A bound of zero, or `low` above `high`.
    pub fn measured(low: Duration, high: Duration) -> Result<Self, InvalidValue> {
        Timeout::checked(Policy::Measured { low, high })
    }

    fn checked(policy: Policy) -> Result<Self, InvalidValue> {
        let zero = match &policy {
            Policy::Infinite => false,
            Policy::Steps(steps) => steps.iter().any(Duration::is_zero),
            Policy::Measured { low, high } => low.is_zero() || high.is_zero(),
        };
        let reversed = matches!(&policy, Policy::Measured { low, high } if low > high);
        let timeout = Timeout(policy);
        if zero {
            return Err(InvalidValue::new(timeout.to_string(), NO_ZERO));
        }
        if reversed {
            return Err(InvalidValue::new(
                timeout.to_string(),
                "the lower bound comes first and is not above the upper one",
            ));
        }
        Ok(timeout)
    }
}

impl Default for Timeout {
    fn default() -> Self {
        Timeout(Policy::Steps(vec![DEFAULT]))
    }
}

impl TimeoutPolicy for Timeout {
    fn attempt_timeout(&self, execution: &Execution) -> Option<Duration> {
        let timeouts = if execution.last_timed_out { execution.timeouts as usize } else { 0 };
        match &self.0 {
            Policy::Infinite => None,
            Policy::Steps(steps) => steps.get(timeouts).or(steps.last()).copied(),
            Policy::Measured { high, .. } if execution.last_timed_out => Some(*high),
            Policy::Measured { low, high } => Some(match execution.latency {
                Some(latency) => latency.saturating_mul(MEASURED_FACTOR).clamp(*low, *high),
                None => *high,
            }),
        }
    }

    fn uses_latency(&self) -> bool {
        matches!(self.0, Policy::Measured { .. })
    }
}

impl FromStr for Timeout {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let text = text.trim();
        if text == "off" {
            return Ok(Timeout::infinite());
        }
        if let Some(bounds) = text.strip_prefix("measured") {
            let (low, high) = bounds
                .strip_prefix(|c: char| c.is_ascii_whitespace())
                .and_then(|bounds| bounds.split_once(".."))
                .ok_or_else(|| {
                    InvalidValue::new(text, "measured takes its bounds, as measured 250ms..5s")
                })?;
            return Timeout::measured(parse_duration(low)?, parse_duration(high)?);
        }
        let limits = text.split(',').map(|limit| match limit.trim() {
            "off" => Err(InvalidValue::new(text, "off stands alone, not in a list")),
            "" => Err(InvalidValue::new(
                text,
                "an attempt's limit is a duration as 5s, a list as 200ms,1s,10s, \
                 bounds as measured 250ms..5s, or off",
            )),
            limit => parse_duration(limit),
        });
        Timeout::checked(Policy::Steps(limits.collect::<Result<_, _>>()?))
    }
}

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Policy::Infinite => f.write_str("off"),
            Policy::Measured { low, high } => {
                write!(f, "measured {}..{}", DurationText(*low), DurationText(*high))
            }
            Policy::Steps(steps) => steps.iter().enumerate().try_for_each(|(i, step)| {
                let comma = if i == 0 { "" } else { "," };
                write!(f, "{comma}{}", DurationText(*step))
            }),
        }
    }
}

/// What a builder takes as its timeout policy: any [`TimeoutPolicy`], or a [`Timeout`] that may have
/// been refused, so that the refusal surfaces where the client is built.
///
/// ```
/// use anyhost::{Client, IntoTimeoutPolicy, Timeout};
/// use std::time::Duration;
///
/// assert!(Duration::from_secs(1).into_timeout_policy().is_ok());
///
/// // A policy that was refused is told when the client is built.
/// let built = Client::builder()
///     .base_urls("https://a.example")
///     .attempt_timeout(Timeout::fixed(Duration::ZERO))
///     .build();
/// assert_eq!(built.unwrap_err().option(), Some("attempt_timeout"));
/// ```
pub trait IntoTimeoutPolicy {
    /// The policy, or why there is none.
    ///
    /// # Errors
    ///
    /// The error of the constructor, for a [`Timeout`] that was refused.
    fn into_timeout_policy(self) -> Result<Box<dyn TimeoutPolicy>, InvalidValue>;
}

impl<P: TimeoutPolicy + 'static> IntoTimeoutPolicy for P {
    fn into_timeout_policy(self) -> Result<Box<dyn TimeoutPolicy>, InvalidValue> {
        Ok(Box::new(self))
    }
}

/// The same limit for every attempt; see [`Timeout::fixed`].
impl IntoTimeoutPolicy for Duration {
    fn into_timeout_policy(self) -> Result<Box<dyn TimeoutPolicy>, InvalidValue> {
        Timeout::fixed(self).into_timeout_policy()
    }
}

impl IntoTimeoutPolicy for Result<Timeout, InvalidValue> {
    fn into_timeout_policy(self) -> Result<Box<dyn TimeoutPolicy>, InvalidValue> {
        self?.into_timeout_policy()
    }
}

fn timed_out_after_sending(report: &Report) -> bool {
    let limit_met = match report.ending {
        Ending::Failed(Cause::TimedOut(limit)) => limit != Limit::Connect,
        _ => false,
    };
    limit_met && report.asked_to_send
}

/// The default of seed 002.
const DEFAULT: Duration = Duration::from_secs(5);

/// A measured limit is this many times the 99th percentile: what is slower than that is stuck far
/// more often than it is late. Also how much the limit grows each time timeouts push the estimate up
/// to it, so that from 250 ms three rounds reach 16 s.
const MEASURED_FACTOR: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::Latency;

    const MS: Duration = Duration::from_millis(1);
    const S: Duration = Duration::from_secs(1);

    #[test]
    fn zero_is_refused_with_value_and_rule() {
        let zero = Duration::ZERO;
        for (refused, value) in [
            (Timeout::fixed(zero), "0ms"),
            (Timeout::adaptive(zero, [S]), "0ms,1s"),
            (Timeout::adaptive(S, [S, zero]), "1s,1s,0ms"),
            (Timeout::measured(zero, S), "measured 0ms..1s"),
            ("0".parse(), "0ms"),
            ("1s, 0s".parse(), "1s,0ms"),
        ] {
            let error = refused.expect_err(value);
            assert_eq!((error.value(), error.rule()), (value, NO_ZERO));
        }
        let error = Timeout::measured(S, 999 * MS).expect_err("reversed");
        assert_eq!(
            error.to_string(),
            "\"measured 1s..999ms\": the lower bound comes first and is not above the upper one"
        );
        assert!(Timeout::measured(S, S).is_ok());
    }

    #[test]
    fn text_reads_as_the_policy_and_is_written_shortest() {
        for (text, policy, written) in [
            ("5s", Timeout::fixed(5 * S), "5s"),
            ("5000", Timeout::fixed(5 * S), "5s"),
            ("200ms,1s,10s", Timeout::adaptive(200 * MS, [S, 10 * S]), "200ms,1s,10s"),
            (" 200 , 1000ms,10s ", Timeout::adaptive(200 * MS, [S, 10 * S]), "200ms,1s,10s"),
            ("measured 250ms..5s", Timeout::measured(250 * MS, 5 * S), "measured 250ms..5s"),
            ("measured  250 .. 60s", Timeout::measured(250 * MS, 60 * S), "measured 250ms..1m"),
            ("off", Ok(Timeout::infinite()), "off"),
        ] {
            let policy = policy.expect(text);
            assert_eq!(text.parse(), Ok(policy.clone()), "{text:?}");
            assert_eq!(policy.to_string(), written);
            assert_eq!(written.parse(), Ok(policy), "{written} reads back");
        }
        assert_eq!(Timeout::default().to_string(), "5s");
    }

    #[test]
    fn text_that_is_no_policy_says_what_is_wrong() {
        for (text, says) in [
            ("", "\"\": an attempt's limit is a duration as 5s, a list"),
            ("1s,", "\"1s,\": an attempt's limit is a duration as 5s, a list"),
            ("1s,off", "\"1s,off\": off stands alone"),
            ("1s,5x", "\"5x\": a duration is a whole number of ms, s, m or h"),
            ("measured", "\"measured\": measured takes its bounds"),
            ("measured 5s", "\"measured 5s\": measured takes its bounds"),
            ("measured250ms..5s", "\"measured250ms..5s\": measured takes its bounds"),
            ("measured ..5s", "\"\": a duration is a whole number"),
            ("measured 1s..off", "\"off\": a duration is a whole number"),
            ("measured 5s..1s", "\"measured 5s..1s\": the lower bound comes first"),
            ("infinite", "\"infinite\": a duration is a whole number"),
        ] {
            let error = text.parse::<Timeout>().expect_err(text).to_string();
            assert!(error.starts_with(says), "{text:?} says {error}");
        }
    }

    #[test]
    fn measured_is_four_times_the_estimate_within_its_bounds() {
        let timeout = Timeout::measured(250 * MS, 5 * S).expect("bounds are in order");
        let limit = |latency, last_timed_out| {
            let timeouts = u32::from(last_timed_out);
            timeout.attempt_timeout(&Execution {
                latency,
                last_timed_out,
                timeouts,
                ..Execution::default()
            })
        };
        assert_eq!(limit(None, false), Some(5 * S), "unknown");
        assert_eq!(limit(Some(MS), false), Some(250 * MS));
        assert_eq!(limit(Some(100 * MS), false), Some(400 * MS));
        assert_eq!(limit(Some(1250 * MS), false), Some(5 * S));
        assert_eq!(limit(Some(Duration::MAX), false), Some(5 * S));
        assert_eq!(limit(Some(MS), true), Some(5 * S), "after a timeout of this call");
    }

    /// A server that turns from 10 ms to 600 ms for good is cut off thrice, then never again.
    #[test]
    fn measured_does_not_strangle_a_server_that_became_slower() {
        let timeout = Timeout::measured(250 * MS, 5 * S).expect("bounds are in order");
        let mut latency = Latency::new();
        (0..256).for_each(|_| latency.record_answer(10 * MS));
        let mut cut_off = Vec::new();
        for call in 0..1_000 {
            let execution = Execution { latency: latency.p99(), ..Execution::default() };
            let limit = timeout.attempt_timeout(&execution).expect("measured has a limit");
            if 600 * MS > limit {
                cut_off.push(call);
                latency.record_timeout(limit);
            } else {
                latency.record_answer(600 * MS);
            }
        }
        assert_eq!(cut_off, [0, 1, 2]);
    }

    #[test]
    fn a_builder_takes_policies_and_constructors_alike() {
        fn limit(policy: impl IntoTimeoutPolicy) -> Result<Option<Duration>, InvalidValue> {
            Ok(policy.into_timeout_policy()?.attempt_timeout(&Execution::default()))
        }
        struct Own;
        impl TimeoutPolicy for Own {
            fn attempt_timeout(&self, _: &Execution) -> Option<Duration> {
                Some(7 * S)
            }
        }
        assert_eq!(limit(Own), Ok(Some(7 * S)));
        assert_eq!(limit(Timeout::infinite()), Ok(None));
        assert_eq!(limit(Timeout::adaptive(200 * MS, [S, 10 * S])), Ok(Some(200 * MS)));
        assert_eq!(limit(Timeout::fixed(Duration::ZERO)).map_err(|e| e.rule()), Err(NO_ZERO));
    }
}
