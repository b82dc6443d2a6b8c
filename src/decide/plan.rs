//! What one call may do, fixed when it starts.

use super::backoff::Backoff;
use super::endpoint::EndpointId;
use super::status_set::StatusSet;
use super::timeout::TimeoutPolicy;
use std::time::{Duration, Instant};

/// The bounds of one call.
#[derive(Clone)]
pub struct Plan<'a> {
    /// When everything must be over.
    pub deadline: Option<Instant>,
    /// Most attempts, replays not counted; `None`: until each endpoint had its share.
    pub max_attempts: Option<u32>,
    /// Most attempts at one endpoint.
    pub attempts_per_endpoint: u32,
    /// `resend` lets a request of this method go out again after it may have been sent.
    pub repeatable: bool,
    /// The body can be produced again.
    pub replayable: bool,
    /// Answers after which a repeatable request moves on.
    pub resend_statuses: &'a StatusSet,
    /// Answers that count against an endpoint.
    pub failure_statuses: &'a StatusSet,
    /// To obtain a connection, on every attempt but the last.
    pub connect_timeout: Option<Duration>,
    /// To obtain a connection, on the last attempt.
    pub connect_timeout_last: Option<Duration>,
    /// Says how long an attempt may take as a whole.
    pub attempt_timeout: &'a dyn TimeoutPolicy,
    /// Longest wait for the next byte of the answer's body.
    pub stall_timeout: Option<Duration>,
    /// The answer is handed out when its head is there: from then on only the deadline and the stall
    /// timeout bind (ruling R21).
    pub streamed: bool,
    /// The random wait before an endpoint is tried again.
    pub backoff: Backoff,
    /// How long a fallback stays preferred.
    pub hold_for: Duration,
    /// What to do where nothing may be tried.
    pub when_none_eligible: WhenNoneEligible,
    /// This endpoint and no other: that of an absolute URL.
    pub at: Option<EndpointId>,
    /// This endpoint and no other, once: the caller's own health check.
    pub only: Option<EndpointId>,
    /// This proxy and no other, once: the caller's own health check.
    pub through: Option<EndpointId>,
}

/// What a call does when no endpoint may be tried (ruling R8).
///
/// It concerns circuits that are open, endpoints that are disabled, and proxies that cool or are disabled.
/// Without a breaker no other endpoint is ever refused.
///
/// ```
/// use anyhost::{BreakerSettings, Client, Status, WhenNoneEligible};
/// # use anyhost::testing::{Reply, ScriptedTransport};
/// # let a = "https://only.example";
/// # let network = ScriptedTransport::new().on(a, [Reply::refused()]);
///
/// let client = |what| {
///     Client::builder()
///         .base_urls("https://only.example")
///         .breaker(BreakerSettings::default()) // opens at the fifth failure
///         .when_none_eligible(what)
/// #         .transport(network.clone())
/// #         .clock(network.clock())
///         .build()
/// };
/// let sixth = |client: Client| -> Status {
///     (0..6).map(|_| client.get("/").send().unwrap_err().status()).last().unwrap()
/// };
/// assert_eq!(sixth(client(WhenNoneEligible::FailFast)?), Status::NoEndpoint);
/// assert_eq!(sixth(client(WhenNoneEligible::TryNearest)?), Status::AttemptsSpent); // asked, and down
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenNoneEligible {
    /// It fails at once, and says how long the shortest wait is.
    #[default]
    FailFast,
    /// One call at a time tries the endpoint, or the proxy, that is due first; the others fail at once.
    TryNearest,
}
