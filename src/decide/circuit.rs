//! One circuit: decides whether an origin, or a proxy, may be tried now.
//!
//! A run of failures opens it; one leased probe at a time decides whether it closes (seed 001, R6,
//! R7). Consecutive failures and not a failure rate, because the seed asks for it and because it
//! reacts to a dead server at once.
//!
//! Asking ([`state`](Circuit::state)) changes nothing; [`enter`](Circuit::enter) hands out a
//! [`Ticket`], which comes back through [`succeed`](Circuit::succeed), [`fail`](Circuit::fail) or
//! [`release`](Circuit::release). The generation moves on whenever the circuit opens and with every
//! probe, and a ticket of an older generation changes nothing. So 20 requests in flight when a server
//! dies open its circuit once, for the wait of 5 failures, and their late answers do not close it
//! (X-20).
//!
//! Invariants: at most one probe starts per window; a probe that is never settled costs one window, or
//! the limits of its attempt and a base delay if that is longer; a wait never passes the maximum.
//!
//! Flow: `pick` reads `state`, the call takes a ticket, `record` hands the outcome back.
//!
//! Not here: disabling by hand or by a 407, reasons and transitions kept for people, the cooling of
//! an endpoint without a breaker (`pool`); what counts as a failure (`classify`); locks and keys
//! (`client::Breaker`).

use super::classify::ProxyFault;
use super::mutant::planted;
use crate::decide::{Backoff, BackoffError};
use std::fmt;
use std::time::{Duration, Instant};

/// When a circuit opens and for how long.
///
/// # Default
///
/// 5 failures in a row, waits from 30 s to 1 h with jitter: seed 001. The waits double from the first
/// failure on, so the first window at the defaults is 480 s before jitter (B-2), not 30 s.
///
/// ```
/// use anyhost::BreakerSettings;
/// use std::time::Duration;
///
/// let quick = BreakerSettings::new(3, Duration::from_millis(250), Duration::from_secs(20), true)?;
/// assert_eq!((quick.threshold(), quick.backoff().max()), (3, Duration::from_secs(20)));
/// let client = anyhost::Client::builder().base_urls("https://a.example").breaker(quick).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerSettings {
    threshold: u32,
    backoff: Backoff,
}

impl BreakerSettings {
    /// A circuit that opens at `threshold` failures in a row and then waits `base * 2^(n-1)` after
    /// the n-th, `max` at most. `jitter` lengthens each wait at random by up to 100 %, within `max`.
    ///
    /// # Errors
    ///
    /// Refused, with the [`BreakerSettingsError`] that says why, unless `threshold` >= 1 and
    /// 0 < `base` <= `max` <= 365 days. Seed 001 takes 0 for
    /// either and then refuses requests to keys that never failed (B-27) or none at all (B-28).
    pub fn new(
        threshold: u32,
        base: Duration,
        max: Duration,
        jitter: bool,
    ) -> Result<Self, BreakerSettingsError> {
        if threshold == 0 {
            return Err(BreakerSettingsError::ThresholdIsZero);
        }
        let backoff = Backoff::new(base, max, jitter).map_err(BreakerSettingsError::Delay)?;
        Ok(BreakerSettings { threshold, backoff })
    }

    /// The same with delays that grow by another factor than 2; see [`Backoff::with_growth`].
    ///
    /// Example: [`ClientBuilder::proxy_cooldown`](crate::ClientBuilder::proxy_cooldown).
    #[must_use]
    pub fn with_growth(self, factor: u32) -> Self {
        BreakerSettings { backoff: self.backoff.with_growth(factor), ..self }
    }

    /// Failures in a row that open a circuit.
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    /// The waits: [`after`](Backoff::after) that many failures.
    pub fn backoff(&self) -> Backoff {
        self.backoff
    }
}

impl Default for BreakerSettings {
    fn default() -> Self {
        BreakerSettings { threshold: 5, backoff: DEFAULT_BACKOFF }
    }
}

/// Why [`BreakerSettings`] were refused.
///
/// ```
/// use anyhost::{BreakerSettings, BreakerSettingsError};
/// use std::time::Duration;
///
/// let (base, max) = (Duration::from_secs(1), Duration::from_secs(60));
/// let error = BreakerSettings::new(0, base, max, true).unwrap_err();
/// assert_eq!(error, BreakerSettingsError::ThresholdIsZero);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BreakerSettingsError {
    /// The threshold is 0.
    ThresholdIsZero,
    /// The delays do not fit together.
    Delay(BackoffError),
}

impl fmt::Display for BreakerSettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BreakerSettingsError::ThresholdIsZero => {
                write!(f, "the failure threshold must be at least 1")
            }
            BreakerSettingsError::Delay(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BreakerSettingsError {}

/// Whether a circuit lets requests through, as read at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CircuitState {
    /// Closed: every request may pass.
    Eligible,
    /// Open: no request may pass yet.
    Cooling {
        /// The first instant at which a probe may pass.
        until: Instant,
    },
    /// Open, and the wait is over: one request may pass as the probe.
    ProbeAllowed,
    /// Open, with a probe under way.
    Probing {
        /// From then on the probe counts as lost and another may pass.
        until: Instant,
    },
}

/// Permission for one attempt. Hand it back to the circuit that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a ticket is settled: succeed, fail or release"]
pub struct Ticket {
    generation: u64,
    probe: bool,
}

impl Ticket {
    /// Whether this attempt is the probe of an open circuit.
    pub fn is_probe(&self) -> bool {
        self.probe
    }
}

/// What an outcome did to its circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing: the ticket is of an older generation.
    Stale,
    /// It was taken in, and the circuit is as open or closed as before.
    Kept,
    /// The circuit opened, or its probe failed and it stays open for longer.
    Opened,
    /// The probe succeeded.
    Closed,
}

/// One circuit. See the head of this file for its rules.
#[derive(Debug, Clone)]
pub struct Circuit {
    settings: BreakerSettings,
    stage: Stage,
    generation: u64,
    /// Failures in a row, by what failed. Of an endpoint everything is in the first.
    failures: [u32; ProxyFault::ALL.len()],
    /// What the last failure advised, or the end of the wait or lease if the circuit is open.
    retry_at: Option<Instant>,
    /// The probe under way is not lost until then, by its own limits.
    probe_until: Option<Instant>,
}

/// What a circuit remembers of its state; the rest follows from `retry_at` and the time of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Closed,
    Open,
    Probing,
}

impl Circuit {
    /// A closed circuit without failures.
    pub fn new(settings: BreakerSettings) -> Self {
        Circuit {
            settings,
            stage: Stage::Closed,
            generation: 0,
            failures: [0; ProxyFault::ALL.len()],
            retry_at: None,
            probe_until: None,
        }
    }

    /// Whether a request may pass at `now`. Waits end at their instant, not after it (B-4).
    pub fn state(&self, now: Instant) -> CircuitState {
        match (self.stage, self.retry_at) {
            (Stage::Open, Some(until)) if now < until && !planted!(WaitSkipped) => {
                CircuitState::Cooling { until }
            }
            (Stage::Probing, Some(until)) if now < self.lease(until) && !planted!(ProbeShared) => {
                CircuitState::Probing { until: self.lease(until) }
            }
            (Stage::Open | Stage::Probing, _) => CircuitState::ProbeAllowed,
            (Stage::Closed, _) => CircuitState::Eligible,
        }
    }

    /// Consecutive failures so far; where several kinds are counted apart, the most of one kind.
    pub fn failures(&self) -> u32 {
        self.failures.into_iter().max().unwrap_or(0)
    }

    /// Consecutive failures of one kind.
    pub fn failures_of(&self, fault: ProxyFault) -> u32 {
        self.failures[fault as usize]
    }

    /// How long to stay away by the last failure: also below the threshold, where nothing enforces
    /// it. Zero after a success and once the wait is over.
    pub fn wait(&self, now: Instant) -> Duration {
        self.retry_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
    }

    /// Whether nothing was heard of this origin for a maximum wait beyond the end of its last wait: its
    /// failures are then too old to keep where memory is wanted.
    pub fn is_quiet(&self, now: Instant) -> bool {
        let max = self.settings.backoff.max();
        self.retry_at.is_none_or(|at| now.saturating_duration_since(at) > max)
    }

    /// Takes a ticket, or says how long no request may pass. Where a probe is allowed the ticket is
    /// the probe, and `random` sets the jitter of its lease: one more wait of the same count (B-12).
    ///
    /// # Errors
    ///
    /// The time left, above 0, while the circuit is cooling or probed.
    pub fn enter(&mut self, now: Instant, random: u64) -> Result<Ticket, Duration> {
        match self.state(now) {
            CircuitState::Eligible => Ok(self.current_ticket()),
            CircuitState::ProbeAllowed => Ok(self.start_probe(now, random)),
            CircuitState::Cooling { until } | CircuitState::Probing { until } => Err(until - now),
        }
    }

    /// As [`enter`](Self::enter), but starts the probe before the wait is over: `try_nearest` of R8,
    /// where nothing else is eligible. A probe under way still keeps others out.
    ///
    /// # Errors
    ///
    /// The time left of the lease, above 0, while the circuit is probed.
    pub fn enter_early(&mut self, now: Instant, random: u64) -> Result<Ticket, Duration> {
        match self.state(now) {
            CircuitState::Cooling { .. } => Ok(self.start_probe(now, random)),
            _ => self.enter(now, random),
        }
    }

    /// Tells until when the attempt of a probe may take. It is not lost before that, even where the window
    /// is shorter, nor within a base delay beyond it, in which somebody notices that it is over. Else the
    /// next probe would come first and make every slow one stale: the circuit would not close on a slow
    /// answer, and no wait would grow on a timeout.
    pub fn let_run(&mut self, probe: Ticket, until: Instant) {
        if probe.is_probe() && !self.is_stale(probe) {
            let noticed = until.checked_add(self.settings.backoff.base()).unwrap_or(until);
            self.probe_until = self.probe_until.max(Some(noticed));
        }
    }

    /// A ticket of the present generation for callers that carry none: what they report always
    /// counts, as in seed 001 (B-23, B-24).
    pub fn current_ticket(&self) -> Ticket {
        Ticket { generation: self.generation, probe: self.stage == Stage::Probing }
    }

    /// A good answer: the count returns to 0 and the probe closes the circuit.
    ///
    /// The generation stays, so the ticket may still [`fail`](Self::fail) if the body of a streamed
    /// answer breaks later (R21).
    pub fn succeed(&mut self, ticket: Ticket) -> Change {
        self.succeed_but(ticket, None)
    }

    /// As [`succeed`](Self::succeed), but for one kind of failure, of which nothing is known yet: its
    /// count stays.
    pub fn succeed_but(&mut self, ticket: Ticket, unknown: Option<ProxyFault>) -> Change {
        if self.is_stale(ticket) {
            return Change::Stale;
        }
        let kept = unknown.map(|fault| (fault, self.failures_of(fault)));
        let change = if self.stage == Stage::Closed { Change::Kept } else { Change::Closed };
        self.stage = Stage::Closed;
        self.failures = [0; ProxyFault::ALL.len()];
        if let Some((fault, failures)) = kept {
            self.failures[fault as usize] = failures;
        }
        self.retry_at = None;
        change
    }

    /// A failure blamed on the origin. The circuit opens if the threshold is reached, if it was the
    /// probe, or if the server asked for a wait (`retry_after`), below the threshold too (R10).
    ///
    /// The wait is the longer of the backoff and `retry_after`, at most the maximum; read it with
    /// [`wait`](Self::wait).
    pub fn fail(
        &mut self,
        ticket: Ticket,
        retry_after: Option<Duration>,
        now: Instant,
        random: u64,
    ) -> Change {
        self.fail_at(ProxyFault::Connect, self.settings, ticket, retry_after, now, random)
    }

    /// As [`fail`](Self::fail), for one of several kinds of failure that are counted apart, by the settings
    /// of that kind (P-10). While the circuit is open there is one count: a probe that fails prolongs the
    /// wait, whatever it failed at.
    pub fn fail_at(
        &mut self,
        fault: ProxyFault,
        settings: BreakerSettings,
        ticket: Ticket,
        retry_after: Option<Duration>,
        now: Instant,
        random: u64,
    ) -> Change {
        if self.is_stale(ticket) {
            return Change::Stale;
        }
        let closed = self.stage == Stage::Closed;
        let before = if closed { self.failures_of(fault) } else { self.failures() };
        let failures = before.saturating_add(1);
        self.failures[fault as usize] = failures;
        let backoff = settings.backoff.after(failures, random);
        let wait = backoff.max(retry_after.unwrap_or_default()).min(settings.backoff.max());
        self.wait_until(now + wait);

        let opens = !closed
            || failures >= settings.threshold
            || retry_after.is_some_and(|asked| !asked.is_zero());
        if !opens {
            return Change::Kept;
        }
        self.stage = Stage::Open;
        self.generation += 1;
        Change::Opened
    }

    /// An outcome that says nothing of the origin: cancelled, cut short by the caller's deadline, a
    /// local error, or a ticket dropped unsettled (R6). Nothing grows and nothing closes; after a
    /// probe the next one may pass when its lease ends (P-6, P-14).
    pub fn release(&mut self, ticket: Ticket) -> Change {
        if self.is_stale(ticket) {
            return Change::Stale;
        }
        if self.stage == Stage::Probing {
            self.stage = Stage::Open;
            self.generation += 1;
        }
        Change::Kept
    }

    /// Opens the circuit with no wait: the next request is a probe, and tickets given before are stale.
    /// What was disabled and is enabled again starts so (R7).
    pub fn require_probe(&mut self) {
        self.stage = Stage::Open;
        self.generation += 1;
        self.retry_at = None;
    }

    fn start_probe(&mut self, now: Instant, random: u64) -> Ticket {
        self.stage = Stage::Probing;
        self.generation += 1;
        self.probe_until = None;
        self.wait_until(now + self.settings.backoff.after(self.failures(), random));
        self.current_ticket()
    }

    /// Never shortens a wait: the probe let through early may find a long Retry-After still running.
    fn wait_until(&mut self, instant: Instant) {
        self.retry_at = self.retry_at.max(Some(instant));
    }

    /// The end of the lease of a probe whose window ends at `window`.
    fn lease(&self, window: Instant) -> Instant {
        self.probe_until.map_or(window, |until| until.max(window))
    }

    fn is_stale(&self, ticket: Ticket) -> bool {
        ticket.generation != self.generation && !planted!(LateOutcomeCounts)
    }
}

/// 30 s to 1 h with jitter: the defaults of seed 001.
const DEFAULT_BACKOFF: Backoff =
    match Backoff::new(Duration::from_secs(30), Duration::from_secs(60 * 60), true) {
        Ok(backoff) => backoff,
        Err(_) => panic!("30 s is above 0 and below 1 h"),
    };
