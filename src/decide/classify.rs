//! What the facts of an attempt mean. The only place that judges.
//!
//! A [`Report`] says what happened; an [`Outcome`] says whether a server may have acted on the
//! request, why the attempt failed, whose fault that was, and whether the call may go on. Everything
//! above reads the outcome: stacking clients that each judge again is how a breaker comes to hide
//! the very answer that failover needed.
//!
//! Delivery rests on one fact, whether the transport was ever asked to transmit a byte of this
//! request, and never on the kind of an error: a reset says nothing about what arrived before it.
//!
//! Flow: attempt → report → **classify** → record. Not here: whether another endpoint, another
//! attempt or time is left (`call`).

use super::mutant::planted;
use super::proxy_reply::ProxyReply;
use super::report::{Cause, Ending, Limit, Phase, Report};
use super::status_set::StatusSet;
use std::time::Duration;

/// Did the request reach a server? Later ones are more certain that it did.
///
/// The numbers are those of `ANYHOST_DELIVERY_*` in the C header.
///
/// ```
/// use anyhost::Delivery;
/// use anyhost::testing::{Reply, ScriptedTransport};
///
/// let a = "https://a.example";
/// for (reply, delivery) in [
///     (Reply::refused(), Delivery::NotSent),
///     (Reply::resets_after_sending(), Delivery::Maybe),
/// ] {
///     let network = ScriptedTransport::new().on(a, [reply]);
///     let client = anyhost::Client::builder()
///         .base_urls(a)
///         .transport(network.clone())
///         .clock(network.clock())
///         .build()?;
///     let error = client.post("/orders").body("{}").send().unwrap_err();
///     assert_eq!(error.delivery(), delivery);
/// }
/// // In the order of certainty: what is below may be sent again by anybody.
/// assert!(Delivery::NotProcessed < Delivery::Maybe);
/// assert_eq!((Delivery::Maybe.code(), Delivery::Maybe.name()), (2, "maybe"));
/// assert_eq!(Delivery::Maybe.words(), "may have been received");
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Delivery {
    /// No byte of it was given to a connection.
    NotSent = 0,
    /// A proxy in front of the service said that it could not hand it on (521, 523, early 522).
    NotProcessed = 1,
    /// Perhaps: it was sent, in part at least, and no answer came.
    Maybe = 2,
    /// Yes: a server answered it.
    Answered = 3,
}

/// Why an attempt did not succeed.
///
/// The numbers are those of `ANYHOST_REASON_*` in the C header.
///
/// ```
/// use anyhost::Reason;
///
/// // The name is for programs and the same in every language, the words are for people.
/// assert_eq!(Reason::TlsCert.name(), "tls_cert");
/// assert_eq!(Reason::TlsCert.code(), 6);
/// assert_eq!(Reason::TlsCert.words(), "certificate not accepted");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Reason {
    /// It did.
    None = 0,
    /// The name could not be resolved.
    Dns = 1,
    /// The connection was refused.
    Refused = 2,
    /// There was no route to the host.
    Unreachable = 3,
    /// A limit of the attempt ran out.
    Timeout = 4,
    /// TLS failed.
    Tls = 5,
    /// The certificate was not accepted.
    TlsCert = 6,
    /// The connection was reset.
    Reset = 7,
    /// The connection was closed before the answer was there.
    Eof = 8,
    /// What came back is not HTTP/1.1.
    Protocol = 9,
    /// The answer's status was a 5xx.
    Status5xx = 10,
    /// The answer's status was 429.
    RateLimited = 11,
    /// Credentials were refused.
    Auth = 12,
    /// A proxy refused the tunnel by its policy.
    TunnelRefused = 13,
    /// The caller's predicate turned the answer down.
    Predicate = 14,
    /// The operator disabled it.
    Operator = 15,
    /// The caller cancelled.
    Cancelled = 16,
    /// The deadline of the call passed.
    Deadline = 17,
    /// Something on our own side.
    Local = 18,
    /// An idle connection had died before it was used (ruling R2).
    StaleConnection = 19,
    /// The answer's status is none that HTTP knows (600 and above).
    BadAnswer = 20,
    /// The answer's body broke off.
    Truncated = 21,
    /// The circuit is open.
    CircuitOpen = 22,
}

/// Whose fault an attempt's end was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Blame {
    /// The endpoint's.
    Endpoint,
    /// That of the proxy on the way to it.
    Proxy,
    /// The caller's: its body source, its limits.
    Caller,
    /// Nobody's: a success, a stale connection, the call's own deadline, a proxy that keeps to its rules.
    Nobody,
}

/// What an attempt says of the proxy it went through, where it went through one (ruling R12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Passage {
    /// Nothing either way.
    Untold,
    /// It works: an answer came from behind it.
    Works,
    /// It works so far: the head of an answer came from behind it, and its body is yet to come.
    Begun,
    /// It let us through to the endpoint, which then failed: no proof of its health, but proof that the
    /// endpoint can be reached.
    Through,
    /// It failed.
    Failed(ProxyFault),
    /// It failed, or the endpoint behind it: another proxy will tell.
    Either,
    /// It refused our credentials, which time does not change.
    Unauthorized,
}

/// What a proxy failed at. Each kind is counted by itself: one that is slow now and then is not one
/// that is gone (seed 004).
///
/// ```
/// use anyhost::{BreakerSettings, Client, ProxyFault};
/// use std::time::Duration;
///
/// // A proxy that cannot be reached rests for 5 s, then 10 s, and never more than a minute.
/// let (base, max) = (Duration::from_secs(5), Duration::from_secs(60));
/// let rest = BreakerSettings::new(1, base, max, false).unwrap();
/// # use anyhost::testing::{Reply, ScriptedTransport};
/// # let network = ScriptedTransport::new()
/// #     .on("https://api.example", [Reply::ok("")])
/// #     .on_proxy("http://a.example:3128", [Reply::refused()])
/// #     .on_proxy("http://b.example:3128", [Reply::refused()]);
/// let client = Client::builder()
///     .base_urls("https://api.example")
///     .proxies("http://a.example:3128, http://b.example:3128")
///     .proxy_cooldown(ProxyFault::Connect, rest)
/// #     .transport(network.clone())
/// #     .clock(network.clock())
///     .build()?;
/// assert!(client.get("/").send().is_err()); // neither can be reached
/// let waits: Vec<Duration> = client.snapshot().members().iter().map(|it| it.cooling()).collect();
/// assert_eq!(waits, [Duration::ZERO, base, base]);
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProxyFault {
    /// Being reached: its name, its port, TLS to it, its greeting.
    Connect,
    /// Leading on to an endpoint, as another proxy has shown.
    Tunnel,
    /// Handing over the body of an answer: it stalled or broke off.
    Body,
}

impl ProxyFault {
    /// Every kind.
    pub const ALL: &'static [ProxyFault] =
        &[ProxyFault::Connect, ProxyFault::Tunnel, ProxyFault::Body];
}

/// What an attempt says about the health of the one it is blamed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Health {
    /// It works.
    Good,
    /// It failed.
    Bad,
    /// Nothing either way.
    Neutral,
}

/// What may follow, as far as this attempt is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Then {
    /// Hand the answer to the caller.
    Deliver,
    /// Try the next endpoint.
    MoveOn,
    /// Send it once more to the same endpoint, on a fresh connection (ruling R2).
    Replay,
    /// No further attempt: a server may have acted on the request, or the caller's side ended it.
    Stop,
}

/// The judgement of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// Whether the request reached a server.
    pub delivery: Delivery,
    /// Why the attempt failed.
    pub reason: Reason,
    /// Whose fault it was.
    pub blame: Blame,
    /// What it says about health.
    pub health: Health,
    /// What may follow.
    pub then: Then,
    /// What it says of the proxy.
    pub passage: Passage,
}

impl Outcome {
    /// The endpoint was not reached, and that is not its fault: another way to it may be tried.
    pub fn lost_its_way(&self) -> bool {
        self.blame == Blame::Proxy || self.passage == Passage::Either
    }

    /// What it means for the endpoint alone.
    pub(super) fn at_endpoint(&self) -> Outcome {
        Outcome { passage: Passage::Untold, ..*self }
    }

    /// What it means for the proxy alone.
    pub(super) fn at_proxy(&self) -> Outcome {
        let (reason, health) = match self.passage {
            Passage::Works | Passage::Begun => (Reason::None, Health::Good),
            Passage::Failed(_) | Passage::Unauthorized => (self.reason, Health::Bad),
            // It is worth counting where it is refused what it is asked for.
            _ if self.reason == Reason::TunnelRefused => (self.reason, Health::Neutral),
            _ => (Reason::None, Health::Neutral),
        };
        Outcome { reason, health, blame: Blame::Proxy, ..*self }
    }
}

/// What of a call bears on the judgement of its attempts.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// `resend` lets a request of this method go out again after it may have been sent.
    pub repeatable: bool,
    /// Answers after which a repeatable request moves on.
    pub resend_statuses: &'a StatusSet,
    /// Answers that count against an endpoint.
    pub failure_statuses: &'a StatusSet,
    /// The connect limit was shortened by the deadline of the call.
    pub connect_cut: bool,
    /// The limit of the attempt is the deadline of the call.
    pub attempt_cut: bool,
    /// An answer is judged by its head: its body is yet to come.
    pub streamed: bool,
    /// In this call another proxy could not reach the same endpoint either.
    pub suspected: bool,
    /// What the caller's judge said of the answer.
    pub verdict: Verdict,
}

/// What the caller's judge says of an answer.
///
/// The numbers are those of `ANYHOST_VERDICT_*` in the C header.
///
/// ```
/// use anyhost::testing::{Reply, ScriptedTransport};
/// use anyhost::{Client, Verdict};
///
/// // A page that says "maintenance" with a 200 is the fault of its endpoint: the next one is asked.
/// let (a, b) = ("https://a.example", "https://b.example");
/// let network = ScriptedTransport::new().on(a, [Reply::ok("maintenance")]).on(b, [Reply::ok("data")]);
/// let client = Client::builder()
///     .base_urls(&format!("{a}, {b}"))
///     .judge(|answer| match answer.bytes().starts_with(b"maintenance") {
///         true => Verdict::Fault,
///         false => Verdict::Default,
///     })
///     .transport(network.clone())
///     .clock(network.clock())
///     .build()?;
/// assert_eq!(client.get("/").send()?.text()?, "data");
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(i32)]
pub enum Verdict {
    /// What would be without it.
    #[default]
    Default = 0,
    /// A good answer, whatever its status: it counts for the endpoint, and is handed out.
    Accept = 1,
    /// The endpoint's fault: it counts against it, and the next one is tried, if the request may go out again.
    /// Where nothing more may be tried the call ends with [`Status::Rejected`](crate::Status::Rejected).
    Fault = 2,
    /// The caller's own fault: another endpoint would say the same. It counts against nobody, and the call ends
    /// with [`Status::Rejected`](crate::Status::Rejected).
    Caller = 3,
}

/// What the caller's retry callback says after an attempt that was not good.
///
/// The numbers are those of `ANYHOST_RETRY_*` in the C header.
///
/// ```
/// # use anyhost::testing::{Reply, ScriptedTransport};
/// # use std::time::Duration;
/// use anyhost::{Advice, Client};
/// # let (a, b) = ("https://a.example", "https://b.example");
///
/// // A 503 that names a wait comes from a queue before the whole service: nobody else is asked.
/// let network = ScriptedTransport::new()
///     .on(a, [Reply::status(503).retry_after(Duration::from_secs(5))])
///     .on(b, [Reply::ok("from b")]);
/// let client = Client::builder()
///     .base_urls("https://a.example, https://b.example")
///     .retry(|attempt| match attempt.retry_after() {
///         Some(_) => Advice::Stop,
///         None => Advice::Default,
///     })
/// #     .transport(network.clone())
/// #     .clock(network.clock())
///     .build()?;
/// assert_eq!(client.get("/").send()?.status(), 503);
/// assert!(network.attempts_at(b).is_empty());
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(i32)]
pub enum Advice {
    /// What would be without it.
    #[default]
    Default = 0,
    /// Try again, where the request may go out again at all: within [`resend`](crate::ClientBuilder::resend), the
    /// body, `max_attempts`, candidates and deadline. It never overrides what is unsafe.
    Again = 1,
    /// No further attempt: the call ends with the answer that is there, or with
    /// [`Status::AttemptsSpent`](crate::Status::AttemptsSpent).
    Stop = 2,
}

/// A 522 that comes later than this after sending says that the origin did not acknowledge a request
/// it was sent; an earlier one that no connection was made (ruling R1, Cloudflare's two causes).
const EARLY_522: Duration = Duration::from_secs(60);

/// Judges one attempt.
pub fn classify(report: &Report, rules: &Rules<'_>) -> Outcome {
    match (report.ending, report.status) {
        (Ending::Answered, Some(status)) => {
            let passage = match status {
                // Where there is no tunnel a proxy may speak for an endpoint that it cannot reach.
                502..=504 if !report.tunnelled => Passage::Untold,
                _ if rules.streamed => Passage::Begun,
                _ => Passage::Works,
            };
            Outcome { passage, ..answered(status, report.head_after, rules) }
        }
        // A transport that calls a headless exchange answered is at fault, not the endpoint.
        (Ending::Answered, None) => failed(Cause::Local, report, rules),
        (Ending::Failed(cause), _) => failed(cause, report, rules),
    }
}

/// An outcome after the caller's advice (ruling R11).
pub fn advised(outcome: &Outcome, advice: Advice, repeatable: bool) -> Outcome {
    let mine = matches!(outcome.reason, Reason::Local | Reason::Deadline | Reason::Cancelled);
    let then = match (advice, outcome.then) {
        (Advice::Again, Then::Deliver | Then::Stop)
            if (repeatable || planted!(AdviceBeatsSafety)) && !mine =>
        {
            Then::MoveOn
        }
        (Advice::Stop, Then::MoveOn | Then::Replay) => Then::Stop,
        (_, then) => then,
    };
    Outcome { then, ..*outcome }
}

fn answered(status: u16, head_after: Option<Duration>, rules: &Rules<'_>) -> Outcome {
    let outcome = by_status(status, head_after, rules);
    let fault = |reason, blame, health, then| Outcome { reason, blame, health, then, ..outcome };
    match rules.verdict {
        Verdict::Default => outcome,
        Verdict::Accept => fault(Reason::None, Blame::Nobody, Health::Good, Then::Deliver),
        Verdict::Fault => {
            let onward = rules.repeatable || outcome.delivery == Delivery::NotProcessed;
            let then = if onward { Then::MoveOn } else { Then::Stop };
            fault(Reason::Predicate, Blame::Endpoint, Health::Bad, then)
        }
        Verdict::Caller => fault(Reason::Predicate, Blame::Caller, Health::Neutral, Then::Stop),
    }
}

fn by_status(status: u16, head_after: Option<Duration>, rules: &Rules<'_>) -> Outcome {
    let processed = match status {
        521 | 523 => false,
        522 => head_after.is_none_or(|after| after >= EARLY_522),
        _ => true,
    };
    let moves_on = !processed || (rules.repeatable && rules.resend_statuses.contains(status));
    let failure = rules.failure_statuses.contains(status) || status >= 600;
    Outcome {
        delivery: if processed { Delivery::Answered } else { Delivery::NotProcessed },
        reason: match status {
            429 => Reason::RateLimited,
            500..=599 => Reason::Status5xx,
            600.. => Reason::BadAnswer,
            _ => Reason::None,
        },
        blame: if failure { Blame::Endpoint } else { Blame::Nobody },
        health: if failure { Health::Bad } else { Health::Good },
        then: if moves_on { Then::MoveOn } else { Then::Deliver },
        passage: Passage::Works,
    }
}

fn failed(cause: Cause, report: &Report, rules: &Rules<'_>) -> Outcome {
    let delivery = match (report.asked_to_send, report.status) {
        (false, _) => Delivery::NotSent,
        // A proxy that asks who we are has not handed it on (RFC 9110 section 15.5.8).
        _ if cause == Cause::ProxyRefused => Delivery::NotProcessed,
        _ if cause == Cause::Reset && planted!(ResetIsNotSent) => Delivery::NotSent,
        (true, None) => Delivery::Maybe,
        (true, Some(_)) => Delivery::Answered,
    };
    let may_go_on =
        delivery <= Delivery::NotProcessed || rules.repeatable || planted!(ResetMovesOn);
    let onward = if may_go_on { Then::MoveOn } else { Then::Stop };
    let ends = |reason, blame| Outcome {
        delivery,
        reason,
        blame,
        health: Health::Neutral,
        then: Then::Stop,
        passage: Passage::Untold,
    };
    let fails = |reason| Outcome {
        delivery,
        reason,
        blame: Blame::Endpoint,
        health: Health::Bad,
        then: onward,
        passage: passed(cause, report),
    };
    if is_stale(cause, report) {
        return Outcome {
            delivery,
            reason: Reason::StaleConnection,
            blame: Blame::Nobody,
            health: Health::Neutral,
            then: if rules.repeatable || planted!(StaleIsSafe) { Then::Replay } else { onward },
            passage: Passage::Untold,
        };
    }
    let outcome = match cause {
        Cause::TimedOut(Limit::Attempt) if rules.attempt_cut => {
            ends(Reason::Deadline, Blame::Nobody)
        }
        // Less time than the endpoint was due is no proof that it is down.
        Cause::TimedOut(Limit::Connect) if rules.connect_cut => {
            Outcome { health: Health::Neutral, ..fails(Reason::Timeout) }
        }
        Cause::TimedOut(_) => fails(Reason::Timeout),
        Cause::NameUnknown | Cause::NameLookup => fails(Reason::Dns),
        Cause::Refused => fails(Reason::Refused),
        Cause::Unreachable => fails(Reason::Unreachable),
        Cause::Tls => fails(Reason::Tls),
        Cause::Certificate => fails(Reason::TlsCert),
        Cause::Reset => fails(Reason::Reset),
        Cause::Closed => fails(Reason::Eof),
        Cause::Protocol => fails(Reason::Protocol),
        Cause::Truncated => fails(Reason::Truncated),
        Cause::ProxyRefused => fails(refusal(report.proxy_reply)),
        // Wherever it came, it says nothing of the endpoint (X-22), and nobody waits for more.
        Cause::Cancelled => ends(Reason::Cancelled, Blame::Nobody),
        Cause::TooLarge | Cause::BodySource | Cause::Local => ends(Reason::Local, Blame::Caller),
    };
    if outcome.blame == Blame::Endpoint { on_the_way(outcome, report, rules) } else { outcome }
}

/// What a failure says of the proxy, once the endpoint was reached.
fn passed(cause: Cause, report: &Report) -> Passage {
    match cause {
        _ if report.phase == Phase::Body => Passage::Failed(ProxyFault::Body),
        _ if report.tunnelled && report.phase >= Phase::Tls => Passage::Through,
        _ => Passage::Untold,
    }
}

/// Why a proxy says no.
fn refusal(reply: Option<ProxyReply>) -> Reason {
    match reply {
        Some(reply) if reply.is_about_credentials() => Reason::Auth,
        None | Some(ProxyReply::Http(..=499) | ProxyReply::Socks5(2 | 7 | 8)) => {
            Reason::TunnelRefused
        }
        Some(ProxyReply::Socks5(5)) => Reason::Refused,
        Some(_) => Reason::Unreachable,
    }
}

/// Whose fault it is where the endpoint was not reached: by the phase, and then by the cause (R12).
fn on_the_way(outcome: Outcome, report: &Report, rules: &Rules<'_>) -> Outcome {
    let proxys = |passage| Outcome { blame: Blame::Proxy, passage, ..outcome };
    let nobodys =
        |passage| Outcome { blame: Blame::Nobody, health: Health::Neutral, passage, ..outcome };
    let eithers = || match rules.suspected {
        // Two proxies say the same of it.
        true => Outcome { passage: Passage::Untold, ..outcome },
        false => nobodys(Passage::Either),
    };
    let late = |cause| matches!(cause, Ending::Failed(Cause::TimedOut(Limit::Connect)));
    match (report.phase, report.proxy_reply) {
        (_, Some(reply)) if reply.is_about_credentials() => proxys(Passage::Unauthorized),
        // Less time than it was due is no proof that a proxy is down.
        (Phase::ProxyConnect | Phase::ProxyAuth | Phase::Tunnel, None)
            if rules.connect_cut && late(report.ending) =>
        {
            Outcome { blame: Blame::Proxy, ..nobodys(Passage::Untold) }
        }
        (Phase::ProxyConnect | Phase::ProxyAuth, _) => proxys(Passage::Failed(ProxyFault::Connect)),
        // Its rules are nobody's fault, and not to be got around by asking another one.
        (Phase::Tunnel, Some(ProxyReply::Http(..=499) | ProxyReply::Socks5(2))) => {
            nobodys(Passage::Untold)
        }
        // It cannot do what it is there for.
        (Phase::Tunnel, Some(ProxyReply::Socks5(7 | 8))) => {
            proxys(Passage::Failed(ProxyFault::Tunnel))
        }
        (Phase::Tunnel, None) if outcome.reason == Reason::Protocol => {
            proxys(Passage::Failed(ProxyFault::Tunnel))
        }
        (Phase::Tunnel, _) => eithers(),
        _ => outcome,
    }
}

/// An idle connection that was already dead: it ended before a byte of an answer came. A timeout is
/// not this case: the peer may be working on the request.
fn is_stale(cause: Cause, report: &Report) -> bool {
    report.reused && report.bytes_received == 0 && matches!(cause, Cause::Reset | Cause::Closed)
}
