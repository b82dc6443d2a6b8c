//! The record of one attempt, as the caller sees it on answers and errors.

use crate::decide::{Delivery, Outcome, Phase, Reason, Report};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One attempt of a call: where it went, how far it got, and what that means.
///
/// ```no_run
/// # let client = anyhost::Client::new("https://a.example, https://b.example")?;
/// let answer = client.get("/v1/status").send()?;
/// for attempt in answer.attempts() {
///     println!("{attempt}"); // 1. https://a.example: refused while connecting (not sent), 1 ms
/// }
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Attempt {
    pub(crate) number: u32,
    pub(crate) endpoint: Arc<str>,
    pub(crate) proxy: Option<Arc<str>>,
    pub(crate) phase: Phase,
    pub(crate) reason: Reason,
    pub(crate) delivery: Delivery,
    pub(crate) status: Option<u16>,
    pub(crate) replay: bool,
    pub(crate) hop: bool,
    pub(crate) reused: bool,
    pub(crate) os_error: i32,
    pub(crate) started: Duration,
    pub(crate) elapsed: Duration,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) message: Cow<'static, str>,
}

impl Attempt {
    #[expect(clippy::too_many_arguments, reason = "a record of as many facts")]
    pub(crate) fn new(
        number: u32,
        endpoint: Arc<str>,
        proxy: Option<Arc<str>>,
        replay: bool,
        report: &Report,
        outcome: &Outcome,
        started: Duration,
        elapsed: Duration,
    ) -> Self {
        Attempt {
            number,
            endpoint,
            proxy,
            phase: report.phase,
            reason: outcome.reason,
            delivery: outcome.delivery,
            status: report.status,
            replay,
            hop: false,
            reused: report.reused,
            os_error: report.os_error,
            started,
            elapsed,
            bytes_sent: report.bytes_sent,
            bytes_received: report.bytes_received,
            retry_after: report.retry_after,
            message: report.detail.clone(),
        }
    }

    /// Its streamed body broke off after it was over.
    pub(crate) fn broke_off(&mut self, report: &Report, outcome: &Outcome) {
        self.reason = outcome.reason;
        self.os_error = report.os_error;
        self.message = report.detail.clone();
    }

    /// Its place in the call, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The label of the endpoint; of a hop to another origin, that origin.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The label of the proxy it went through; `None` where it went straight to the endpoint.
    pub fn proxy(&self) -> Option<&str> {
        self.proxy.as_deref()
    }

    /// How far it got.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Why it failed; [`Reason::None`] where it did not.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Whether the request reached a server in this attempt.
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// The status of the answer, once its head had arrived.
    pub fn http_status(&self) -> Option<u16> {
        self.status
    }

    /// It is the replay, on a fresh connection, of the attempt before it, which met a stale one. A
    /// replay shares that attempt's limits and counts against none (ruling R2).
    pub fn is_replay(&self) -> bool {
        self.replay
    }

    /// It asked for what a redirect points to: outside the choice of endpoints, and counted in no limit
    /// of attempts (ruling R14).
    pub fn is_hop(&self) -> bool {
        self.hop
    }

    /// It went over a connection kept alive from an earlier exchange.
    pub fn reused_connection(&self) -> bool {
        self.reused
    }

    /// The operating system's error number; 0 where there was none.
    pub fn os_error(&self) -> i32 {
        self.os_error
    }

    /// When it began, from the start of the call.
    pub fn started(&self) -> Duration {
        self.started
    }

    /// How long it took.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// How long to stay away from the endpoint: the longer of what its 429 or 503 asked and what its
    /// circuit advises; or from the proxy, where that is to blame.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Takes in what the circuit of the endpoint, or of the proxy, advises.
    pub(crate) fn wait(&mut self, advice: Duration) {
        if !advice.is_zero() {
            self.retry_after = self.retry_after.max(Some(advice));
        }
    }

    /// HTTP bytes sent, before encryption.
    pub fn bytes_sent(&self) -> u64 {
        self.bytes_sent
    }

    /// HTTP bytes received, after decryption.
    pub fn bytes_received(&self) -> u64 {
        self.bytes_received
    }

    /// A few words on what broke; empty where nothing did. Never shows a path, a query or a secret.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// One line: place, endpoint, what happened, what is certain of the delivery, milliseconds.
impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}. {}", self.number, self.endpoint)?;
        if let Some(proxy) = &self.proxy {
            write!(f, " through {proxy}")?;
        }
        write!(f, ": ")?;
        match (self.reason, self.status) {
            (
                Reason::None | Reason::Status5xx | Reason::RateLimited | Reason::BadAnswer,
                Some(status),
            ) => {
                write!(f, "{status}")?;
            }
            (reason, _) => {
                write!(f, "{} {}", reason.words(), self.phase.words())?;
            }
        }
        write!(f, " ({}), {} ms", self.delivery.words(), self.elapsed.as_millis())
    }
}
