//! The endpoints and the proxies of a client as they are at one moment (seed 004, ruling R7).

use super::error::Refusal;
use super::publish::Publisher;
use super::shared::Shared;
use crate::decide::{self, Kind, Phase, Reason, State};
use std::fmt;
use std::time::{Duration, Instant};

/// What a client knows of its endpoints and of its proxies, at one moment.
///
/// ```
/// let client = anyhost::Client::new("https://a.example, https://b.example")?;
/// let snapshot = client.snapshot();
/// for member in snapshot.members() {
///     println!("{} {} {}", member.label(), member.state().name(), member.weight());
/// }
/// assert_eq!(snapshot.find("https://b.example").unwrap().priority(), 1);
/// assert_eq!(snapshot.to_string().lines().count(), 3); // a table with a heading
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Snapshot {
    members: Vec<Member>,
}

impl Snapshot {
    /// The endpoints by priority, then the proxies as listed.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The member of this label, or at this URL as it was given; `None` where there is none.
    pub fn find(&self, key: &str) -> Option<&Member> {
        let by_label = self.members.iter().find(|member| member.label == key);
        by_label.or_else(|| self.members.iter().find(|member| member.given.0 == key))
    }
}

/// A URL as it was given, which may hold user info: compared, and never shown.
#[derive(Clone)]
struct Given(String);

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

/// An endpoint or a proxy at one moment. Times are durations, since a monotonic instant means nothing elsewhere.
///
/// ```
/// use anyhost::testing::{Reply, ScriptedTransport};
/// use anyhost::{Client, Kind, Phase, Reason, State};
/// use std::time::Duration;
///
/// let (a, b) = ("https://a.example", "https://b.example");
/// let busy = Reply::status(503).retry_after(Duration::from_secs(30));
/// let network = ScriptedTransport::new().on(a, [busy]).on(b, [Reply::ok("well")]);
/// let client = Client::builder()
///     .base_urls(&format!("{a}, {b}"))
///     .transport(network.clone())
///     .clock(network.clock())
///     .build()?;
/// client.get("/").send()?;
/// network.clock().advance(Duration::from_secs(10));
/// let snapshot = client.snapshot();
/// let first = snapshot.find(a).unwrap();
///
/// assert_eq!((first.kind(), first.label(), first.url()), (Kind::Endpoint, a, a));
/// assert_eq!((first.state(), first.cooling()), (State::Cooling, Duration::from_secs(20)));
/// assert_eq!((first.reason(), first.phase()), (Reason::Status5xx, Phase::Body));
/// assert_eq!((first.since(), first.out_for()), (Duration::from_secs(10), Duration::from_secs(10)));
/// assert_eq!((first.attempts(), first.successes(), first.failures()), (1, 0, 1));
/// assert_eq!((first.failures_in_a_row(), first.counts()), (1, &[(Reason::Status5xx, 1)][..]));
/// assert_eq!((first.priority(), first.weight(), first.max_weight()), (0, 1000, 1000));
/// assert_eq!((first.in_flight(), first.latency(), first.detail()), (0, None, ""));
/// assert_eq!(first.transitions()[0].to, State::Cooling);
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Member {
    kind: Kind,
    label: String,
    url: String,
    given: Given,
    state: State,
    reason: Reason,
    phase: Phase,
    detail: String,
    priority: u32,
    weight: u32,
    max_weight: u32,
    failures_in_a_row: u32,
    in_flight: u32,
    cooling: Duration,
    /// How long it goes before those of a better priority; for the table.
    pub(super) held: Duration,
    since: Duration,
    out_for: Duration,
    attempts: u64,
    successes: u64,
    failures: u64,
    latency: Option<Duration>,
    counts: Vec<(Reason, u64)>,
    transitions: Vec<Transition>,
}

/// A change of state in the past.
///
/// ```
/// use anyhost::{Client, Reason, State};
///
/// let client = Client::new("https://a.example")?;
/// client.disable("https://a.example", "its disk is full")?;
/// let snapshot = client.snapshot();
/// let change = snapshot.members()[0].transitions()[0];
/// assert_eq!((change.from, change.to), (State::Eligible, State::Disabled));
/// assert_eq!(change.reason, Reason::Operator);
/// println!("{change}"); // 0 ms ago: eligible -> disabled (operator)
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// How long ago.
    pub ago: Duration,
    /// From which state.
    pub from: State,
    /// To which.
    pub to: State,
    /// Why.
    pub reason: Reason,
    /// How far the attempt behind it had got.
    pub phase: Phase,
}

impl Member {
    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its label, which is a key of [`Client::disable`](crate::Client::disable) and its neighbours.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Its base URL, or the proxy's, without user info.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What it may be used for now.
    pub fn state(&self) -> State {
        self.state
    }

    /// Why it is in this state; of an eligible one, why the last attempt failed.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// How far that attempt had got.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// That in words: the operator's, or what broke; empty where there is nothing to say. No path, query or
    /// secret, unless the operator wrote one.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Its priority: lower numbers are tried first. 0 of every proxy.
    pub fn priority(&self) -> u32 {
        self.priority
    }

    /// Its weight now, up to [`max_weight`](Member::max_weight). That of an endpoint follows outcomes only
    /// where the selection is [`Weighted`](crate::Selection::Weighted), that of a proxy always.
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// The most its weight can become, and where it began.
    pub fn max_weight(&self) -> u32 {
        self.max_weight
    }

    /// Failures since the last good answer: what the threshold of a
    /// [`breaker`](crate::ClientBuilder::breaker) is compared with, though endpoints with one origin share
    /// one circuit.
    pub fn failures_in_a_row(&self) -> u32 {
        self.failures_in_a_row
    }

    /// Attempts under way. A body that is streamed is none: its attempt was over with the head.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// How long it will be left alone; zero where it is not, or where it takes more than time.
    pub fn cooling(&self) -> Duration {
        self.cooling
    }

    /// How long it has been in this state.
    pub fn since(&self) -> Duration {
        self.since
    }

    /// How long it has not been eligible, probes that failed meanwhile included; zero where it is.
    pub fn out_for(&self) -> Duration {
        self.out_for
    }

    /// Attempts ended, since it was listed. Those that nobody is to blame for are in neither of the next two.
    pub fn attempts(&self) -> u64 {
        self.attempts
    }

    /// Those with a good answer: one that is none of
    /// [`failure_statuses`](crate::ClientBuilder::failure_statuses), or as the judge says.
    pub fn successes(&self) -> u64 {
        self.successes
    }

    /// Those blamed on it. A streamed body that breaks off is one more, whatever its head was.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// What 99 of 100 of the last 256 good answers took at most, where a measured
    /// [`attempt_timeout`](crate::ClientBuilder::attempt_timeout) asks for it; `None` before the 20th.
    pub fn latency(&self) -> Option<Duration> {
        self.latency
    }

    /// Failed attempts by reason, those that occurred, by number of the reason. Those that it is not blamed for
    /// are among them, as what the caller cancelled.
    pub fn counts(&self) -> &[(Reason, u64)] {
        &self.counts
    }

    /// The last 16 changes of state, oldest first.
    pub fn transitions(&self) -> &[Transition] {
        &self.transitions
    }
}

/// A member as the network sees it.
struct Seen<'a> {
    kind: Kind,
    label: &'a str,
    /// As it may be shown.
    url: String,
    given: &'a str,
}

/// Takes a snapshot.
pub(crate) fn snapshot(client: &Shared) -> Snapshot {
    let now = client.clock.now();
    let mut events = Vec::new();
    let members = {
        let state = &mut *client.state.lock();
        let now = state.pool.turn(now, &mut events);
        let members = state.pool.members().iter().enumerate().filter_map(|(place, member)| {
            let seen = state.members.get(&member.endpoint.id)?;
            let wait = state.pool.wait(place, now);
            let seen = Seen {
                kind: Kind::Endpoint,
                label: &seen.label,
                url: seen.base.to_string(),
                given: seen.base.given(),
            };
            let held = state.pool.hold.left(member.endpoint.id, now);
            Some(Member { held, ..Member::of(seen, member, wait, now) })
        });
        let proxies = state.pool.proxies.iter().flat_map(|pool| {
            pool.members().iter().enumerate().map(move |(place, member)| (pool, place, member))
        });
        let proxies = proxies.filter_map(|(pool, place, member)| {
            let seen = state.proxies.get(&member.endpoint.id)?;
            let seen = Seen {
                kind: Kind::Proxy,
                label: &seen.label,
                url: seen.shown(),
                given: &seen.given,
            };
            Some(Member::of(seen, member, pool.wait(place, now), now))
        });
        members.chain(proxies).collect()
    };
    Publisher::outside(client).publish(&mut events, &[]);
    Snapshot { members }
}

/// Why nobody may be tried now, and how long that will be.
pub(crate) fn refusals(client: &Shared) -> (Vec<Refusal>, Option<Duration>) {
    let members = snapshot(client).members;
    let wait = soonest(&members);
    let refusal = |member: Member| Refusal {
        kind: member.kind,
        label: member.label,
        state: member.state,
        reason: member.reason,
        wait: member.cooling,
    };
    let refused = members.into_iter().filter(|member| member.state != State::Eligible);
    (refused.map(refusal).collect(), wait)
}

/// How long it is until a call finds an endpoint, and where there are proxies one of them too; `None` where
/// that takes more than time.
fn soonest(members: &[Member]) -> Option<Duration> {
    let of = |kind| members.iter().filter(move |member| member.kind == kind);
    let kinds = [Kind::Endpoint, Kind::Proxy].into_iter().filter(|kind| of(*kind).next().is_some());
    let waits = kinds.map(|kind| {
        of(kind).filter(|member| member.state != State::Disabled).map(|member| member.cooling).min()
    });
    waits.collect::<Option<Vec<_>>>()?.into_iter().max().filter(|wait| !wait.is_zero())
}

impl Member {
    fn of(seen: Seen<'_>, member: &decide::Member, wait: Duration, now: Instant) -> Self {
        let record = &member.record;
        let ago = |at: Instant| now.saturating_duration_since(at);
        Member {
            kind: seen.kind,
            label: seen.label.to_owned(),
            url: seen.url,
            given: Given(seen.given.to_owned()),
            state: record.state,
            reason: record.reason,
            phase: record.phase,
            detail: record.detail.clone(),
            priority: member.endpoint.priority,
            weight: member.weight.value(),
            max_weight: member.weight.max(),
            failures_in_a_row: record.failures_in_a_row,
            in_flight: member.in_flight,
            cooling: wait,
            held: Duration::ZERO,
            since: ago(record.since),
            out_for: match record.state {
                State::Eligible => Duration::ZERO,
                _ => ago(record.eligible),
            },
            attempts: record.attempts,
            successes: record.successes,
            failures: record.failures,
            latency: member.latency.p99(),
            counts: Reason::ALL
                .iter()
                .copied()
                .zip(record.counts)
                .filter(|(_, n)| *n > 0)
                .collect(),
            transitions: record
                .transitions()
                .map(|t| Transition {
                    ago: ago(t.at),
                    from: t.from,
                    to: t.to,
                    reason: t.reason,
                    phase: t.phase,
                })
                .collect(),
        }
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use crate::testing::{Reply, ScriptedTransport};
    use crate::{Client, Status};
    use std::time::Duration;

    /// An endpoint that cools and a proxy that does not, is out, or waits for its probe.
    #[test]
    fn a_call_that_finds_nobody_waits_for_an_endpoint_and_a_way() {
        let a = "http://a.example";
        let network =
            ScriptedTransport::new().on(a, [Reply::status(503).header("Retry-After", "30")]);
        let client = Client::builder()
            .base_urls(a)
            .proxies("http://p.example:3128")
            .set("breaker", "on")
            .set("breaker_base_delay", "1s")
            .set("when_none_eligible", "fail_fast")
            .transport(network.clone())
            .clock(network.clock())
            .build()
            .unwrap();
        let _ = client.get("/").send();
        let wait = || {
            let error = client.get("/").send().unwrap_err();
            assert_eq!(error.status(), Status::NoEndpoint, "{error}");
            error.retry_after()
        };
        network.clock().advance(Duration::from_secs(10));
        assert_eq!(wait(), Some(Duration::from_secs(20)));
        client.disable("http://p.example:3128", "for a test").unwrap();
        assert_eq!(wait(), None, "an operator has to help first");
        client.enable("http://p.example:3128").unwrap();
        assert_eq!(wait(), Some(Duration::from_secs(20)));
    }
}
