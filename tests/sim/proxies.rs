//! Proxies in virtual time: overlapping calls through scripted proxies to scripted servers.
//!
//! As in the rest of the simulation the books are kept by what can be seen from outside: which tickets were
//! given out, what each proxy and each server did, and what an operator reads in a snapshot. The truth
//! about a failure is the script's, and not what the client makes of it.

use super::scenario::{FAILURE, RESEND, Settings};
use super::{Chance, beginning, ms, secs};
use crate::decide::mutant::{Mutant, switch};
use crate::decide::{
    Advice, BreakerSettings, Call, Cause, End, Ending, Endpoint, EndpointId, Entry, Event, Kind,
    Limit, Phase, Plan, Pool, PoolSettings, ProxyReply, Reach, Report, State, Step, Ticket,
    Timeout, Verdict, Weight, WhenNoneEligible,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// A rule that can be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Seed 004: nothing goes through a proxy that cools.
    Cooling,
    /// Seed 004: one request at a time through a proxy whose wait is over, until that one is decided.
    OneProbe,
    /// R12: never straight to an endpoint.
    NeverStraight,
    /// P-7: nothing goes through a proxy that refused our credentials.
    OutOfService,
    /// R12: within a call no proxy is asked twice for the same endpoint.
    UsedUp,
    /// R1: what may not be sent twice is executed at most once.
    OneExecution,
    /// R12: a proxy that was well all the time is never blamed, whatever the servers do.
    WellProxy,
    /// R12: an endpoint that was well all the time is not blamed for one bad proxy.
    WellEndpoint,
    /// A call that may be repeated does not fail while one proxy and one endpoint are well.
    GaveUp,
    /// Attempts under way are those whose tickets are out.
    InFlight,
}

/// What a proxy does from an instant on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Proxying {
    Well,
    Refusing,
    /// Takes the connection and says nothing to CONNECT.
    Silent,
    /// Answers CONNECT with 502, whatever the target is.
    NoUplink,
    /// Does not know us.
    Unauthorized,
    /// Lets the body of an answer break off.
    Breaking,
}

/// What a server does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Serving {
    Well,
    /// No proxy can reach it: 502 to CONNECT.
    Unreachable,
    /// Answers this, having executed the request.
    Status(u16),
    /// Executes the request or not, and resets.
    Resetting,
}

type Script<T> = Vec<(Duration, T)>;

struct Plot {
    proxies: Vec<Script<Proxying>>,
    servers: Vec<Script<Serving>>,
    /// When, and whether it may be repeated.
    calls: Vec<(Duration, bool)>,
    base: Duration,
    max: Duration,
    abandon_one_in: u64,
}

impl Plot {
    fn random(seed: u64) -> Self {
        let mut chance = Chance(seed ^ 0x9c0c);
        let length = secs(20);
        let script = |chance: &mut Chance| -> Vec<(Duration, u64)> {
            if chance.one_in(3) {
                return vec![];
            }
            let mut points: Vec<_> = (0..1 + chance.below(5))
                .map(|_| (chance.between(Duration::ZERO, length), chance.next()))
                .collect();
            points.sort_unstable();
            points
        };
        let proxies = (0..1 + chance.below(4)).map(|_| {
            let points = script(&mut chance).into_iter();
            let proxying = |n: u64| match n % 9 {
                0 | 1 => Proxying::Refusing,
                2 => Proxying::Silent,
                3 => Proxying::NoUplink,
                4 if n % 4 == 0 => Proxying::Unauthorized,
                5 => Proxying::Breaking,
                _ => Proxying::Well,
            };
            points.map(|(at, n)| (at, proxying(n))).collect()
        });
        let proxies = proxies.collect();
        let servers = (0..1 + chance.below(3)).map(|_| {
            let points = script(&mut chance).into_iter();
            let serving = |n: u64| match n % 7 {
                0 | 1 => Serving::Unreachable,
                2 => Serving::Status([500, 502, 503, 504, 404, 407][(n / 7 % 6) as usize]),
                3 => Serving::Resetting,
                _ => Serving::Well,
            };
            let mut script: Script<Serving> = points.map(|(at, n)| (at, serving(n))).collect();
            // One that comes back between two looks at it makes a liar of the proxy that looked first,
            // and nobody could know.
            if let Some(gone) = script.iter().position(|(_, s)| *s == Serving::Unreachable) {
                script.truncate(gone + 1);
            }
            script
        });
        let servers = servers.collect();
        let crowds: Vec<Duration> =
            (0..8).map(|_| chance.between(Duration::ZERO, length)).collect();
        let calls = (0..30 + chance.below(90)).map(|_| {
            let at = match chance.below(3) {
                0 => chance.between(Duration::ZERO, length),
                n => {
                    let crowd = crowds[(chance.below(4) + 4 * (n - 1)) as usize];
                    chance.between(crowd, crowd + ms(200))
                }
            };
            (at, chance.below(10) < 7)
        });
        let calls = calls.collect();
        let base = ms(200 + chance.below(800));
        let abandon_one_in = if chance.one_in(3) { 20 } else { u64::MAX };
        Plot { proxies, servers, calls, base, max: base * 8, abandon_one_in }
    }
}

/// What stands at `at` in a script.
fn now_of<T: Copy>(script: &Script<T>, at: Duration, otherwise: T) -> T {
    let begun = script.iter().rev().find(|(from, _)| *from <= at);
    begun.map_or(otherwise, |(_, what)| *what)
}

/// The books on one proxy.
#[derive(Default)]
struct Book {
    epoch: u64,
    open: bool,
    failures: u32,
    until: Option<Instant>,
    /// The probe that is out, and when it counts as lost.
    probe: Option<(usize, Instant)>,
    disabled: bool,
    out: i64,
}

struct Flight {
    ticket: Ticket,
    report: Report,
    proxy: usize,
    server: usize,
    epoch: u64,
}

struct Running<'a> {
    call: Call<'a>,
    repeatable: bool,
    flight: Option<Flight>,
    asked: BTreeSet<(usize, usize)>,
    /// Proxies that answered CONNECT with nothing useful, by server: suspects.
    suspects: Vec<(usize, usize, u64)>,
}

enum Happening {
    Arrive(usize),
    Settle(usize),
    Step(usize),
}

struct World<'a> {
    plot: &'a Plot,
    born: Instant,
    now: Instant,
    queue: BTreeMap<(Instant, u64), Happening>,
    queued: u64,
    chance: Chance,
    luck: Chance,
    pool: Pool,
    books: Vec<Book>,
    calls: BTreeMap<usize, Running<'a>>,
    executions: BTreeMap<usize, u32>,
    events: Vec<Event>,
    broken: Option<(Rule, String)>,
    probes: usize,
    good: usize,
}

static ATTEMPT: Timeout = Timeout::infinite();
const FIRST_PROXY: u64 = 100;

fn entry(id: u64) -> Entry {
    Entry {
        endpoint: Endpoint { id: EndpointId(id), priority: 0 },
        weight: Weight::new(1000, 1, 1000).expect("1 to 1000"),
        keep_maximum: false,
        origin: id.to_string().into(),
        reach: Reach::default(),
    }
}

/// Runs a plot to its end, or until a rule is broken: the rule, and how often something was probed and
/// went well.
fn run(seed: u64) -> (Option<(Rule, String)>, usize, usize) {
    let plot = Plot::random(seed);
    let born = beginning();
    let breaker = BreakerSettings::new(1, plot.base, plot.max, false).expect("in bounds");
    let settings = PoolSettings {
        kind: Kind::Proxy,
        breaker: Some(breaker),
        weighted: true,
        honor_retry_after: false,
        ..PoolSettings::default()
    };
    let count = |n: usize, first: u64| (0..n as u64).map(|n| entry(first + n)).collect();
    let mut pool = Pool::new(count(plot.servers.len(), 0), PoolSettings::default(), born);
    let proxies = Pool::new(count(plot.proxies.len(), FIRST_PROXY), settings, born);
    pool.proxies = Some(Box::new(proxies));
    let mut world = World {
        plot: &plot,
        born,
        now: born,
        queue: BTreeMap::new(),
        queued: 0,
        chance: Chance(seed ^ 1),
        luck: Chance(seed ^ 2),
        pool,
        books: plot.proxies.iter().map(|_| Book::default()).collect(),
        calls: BTreeMap::new(),
        executions: BTreeMap::new(),
        events: Vec::new(),
        broken: None,
        probes: 0,
        good: 0,
    };
    for (n, (at, _)) in plot.calls.iter().enumerate() {
        world.at(born + *at, Happening::Arrive(n));
    }
    while let Some(((now, _), happening)) = world.queue.pop_first() {
        world.now = now;
        match happening {
            Happening::Arrive(n) => world.arrive(n),
            Happening::Settle(n) => world.settle(n),
            Happening::Step(n) => world.step(n),
        }
        world.events.clear();
        world.check_members();
        if world.broken.is_some() {
            break;
        }
    }
    (world.broken, world.probes, world.good)
}

impl World<'_> {
    fn at(&mut self, at: Instant, happening: Happening) {
        self.queued += 1;
        self.queue.insert((at, self.queued), happening);
    }

    fn breaks(&mut self, rule: Rule, what: String) {
        self.broken.get_or_insert((rule, what));
    }

    fn since(&self) -> Duration {
        self.now - self.born
    }

    fn arrive(&mut self, n: usize) {
        let settings = Settings::plain();
        let repeatable = self.plot.calls[n].1;
        let plan = Plan {
            deadline: None,
            max_attempts: None,
            attempts_per_endpoint: 1,
            repeatable,
            replayable: true,
            resend_statuses: &RESEND,
            failure_statuses: &FAILURE,
            connect_timeout: Some(ms(300)),
            connect_timeout_last: Some(ms(300)),
            attempt_timeout: &ATTEMPT,
            stall_timeout: None,
            streamed: false,
            backoff: settings.backoff(),
            hold_for: Duration::ZERO,
            when_none_eligible: WhenNoneEligible::FailFast,
            at: None,
            only: None,
            through: None,
        };
        let running = Running {
            call: Call::new(plan, self.now),
            repeatable,
            flight: None,
            asked: BTreeSet::new(),
            suspects: Vec::new(),
        };
        self.calls.insert(n, running);
        self.step(n);
    }

    fn step(&mut self, n: usize) {
        let chance = std::array::from_fn(|_| self.chance.next());
        let Some(running) = self.calls.get_mut(&n) else { return };
        match running.call.step(&mut self.pool, self.now, chance, &mut self.events) {
            Step::Attempt(ticket) => {
                let ticket = running.call.limit(ticket);
                Call::begin(&mut self.pool, &ticket, self.now, &mut self.events);
                self.attempt(n, ticket);
            }
            Step::Wait(until) => self.at(until, Happening::Step(n)),
            Step::End(end) => self.end(n, end),
        }
    }

    fn attempt(&mut self, n: usize, ticket: Ticket) {
        let server = ticket.endpoint.0 as usize;
        let Some(proxy) = ticket.proxy().map(|id| (id.0 - FIRST_PROXY) as usize) else {
            return self.breaks(Rule::NeverStraight, format!("call {n} went straight"));
        };
        self.enter(n, proxy);
        let running = self.calls.get_mut(&n).expect("it is running");
        if !running.asked.insert((server, proxy)) {
            self.breaks(Rule::UsedUp, format!("call {n} asked {proxy} twice for {server}"));
        }
        let (takes, report) = self.exchange(n, proxy, server, &ticket);
        let epoch = self.books[proxy].epoch;
        let running = self.calls.get_mut(&n).expect("it is running");
        running.flight = Some(Flight { ticket, report, proxy, server, epoch });
        self.at(self.now + takes, Happening::Settle(n));
    }

    /// Writes down who goes through which proxy.
    fn enter(&mut self, n: usize, proxy: usize) {
        let (now, base, max) = (self.now, self.plot.base, self.plot.max);
        let book = &mut self.books[proxy];
        book.out += 1;
        if book.disabled {
            return self.breaks(Rule::OutOfService, format!("{proxy} does not know us"));
        }
        if !book.open {
            return;
        }
        if let Some((other, _)) = book.probe.filter(|(_, lost)| now < *lost) {
            return self.breaks(Rule::OneProbe, format!("{n} beside {other} through {proxy}"));
        }
        if book.until.is_some_and(|until| now < until) {
            return self.breaks(Rule::Cooling, format!("{proxy} cools, and {n} goes through it"));
        }
        book.epoch += 1;
        let window = (base * 2u32.pow(book.failures.saturating_sub(1).min(8))).min(max);
        book.until = Some(now + window);
        book.probe = Some((n, now + window));
        self.probes += 1;
    }

    /// What happens, and how long it takes.
    fn exchange(
        &mut self,
        n: usize,
        proxy: usize,
        server: usize,
        ticket: &Ticket,
    ) -> (Duration, Report) {
        let fails = |phase, cause| Report { phase, ending: Ending::Failed(cause), ..Report::new() };
        let refuses = |phase, status| Report {
            proxy_reply: Some(ProxyReply::Http(status)),
            ..fails(phase, Cause::ProxyRefused)
        };
        let quick = self.luck.between(ms(1), ms(120));
        let at = self.since();
        let serving = now_of(&self.plot.servers[server], at, Serving::Well);
        match now_of(&self.plot.proxies[proxy], at, Proxying::Well) {
            Proxying::Refusing => return (ms(1), fails(Phase::ProxyConnect, Cause::Refused)),
            Proxying::Unauthorized => return (ms(2), refuses(Phase::ProxyAuth, 407)),
            Proxying::NoUplink => return (ms(5), refuses(Phase::Tunnel, 502)),
            Proxying::Silent => {
                let by = ticket.limits().connect_by.unwrap_or(self.now + ms(300));
                let late = Cause::TimedOut(Limit::Connect);
                return (by.saturating_duration_since(self.now), fails(Phase::Tunnel, late));
            }
            Proxying::Well | Proxying::Breaking if serving == Serving::Unreachable => {
                return (quick, refuses(Phase::Tunnel, 502));
            }
            Proxying::Breaking => {
                self.execute(n);
                let broken = fails(Phase::Body, Cause::Truncated);
                let sent = Report { status: Some(200), asked_to_send: true, ..broken };
                return (quick, Report { tunnelled: true, bytes_received: 9, ..sent });
            }
            Proxying::Well => {}
        }
        let sent = Report { asked_to_send: true, tunnelled: true, bytes_sent: 9, ..Report::new() };
        let status = match serving {
            Serving::Resetting => {
                if self.luck.one_in(2) {
                    self.execute(n);
                }
                let ending = Ending::Failed(Cause::Reset);
                return (quick, Report { phase: Phase::Head, ending, ..sent });
            }
            Serving::Status(status) => status,
            _ => 200,
        };
        self.execute(n);
        let (phase, ending) = (Phase::Body, Ending::Answered);
        (quick, Report { phase, ending, status: Some(status), bytes_received: 9, ..sent })
    }

    fn execute(&mut self, n: usize) {
        let executions = self.executions.entry(n).or_default();
        *executions += 1;
        let repeatable = self.calls.get(&n).is_some_and(|running| running.repeatable);
        if *executions > 1 && !repeatable {
            self.breaks(Rule::OneExecution, format!("call {n} was executed twice"));
        }
    }

    fn settle(&mut self, n: usize) {
        let Some(running) = self.calls.get_mut(&n) else { return };
        let Some(flight) = running.flight.take() else { return };
        self.books[flight.proxy].out -= 1;
        let Flight { ticket, report, proxy, .. } = &flight;
        if self.luck.one_in(self.plot.abandon_one_in) {
            Call::abandon(&mut self.pool, *ticket, self.now, &mut self.events);
            self.undecided(*proxy, flight.epoch);
            // Its suspects are lost with it: their window ends by itself.
            self.calls.remove(&n);
            return;
        }
        let outcome = running.call.judge(ticket, report, Verdict::Default);
        let chance = self.chance.next();
        running.call.settle(
            &mut self.pool,
            ticket,
            report,
            &outcome,
            Advice::Default,
            self.now,
            chance,
            &mut self.events,
        );
        self.write_down(n, &flight);
        self.at(self.now, Happening::Step(n));
    }

    /// Writes down what the attempt says of its proxy, by R12 and the facts alone.
    fn write_down(&mut self, n: usize, flight: &Flight) {
        let Flight { report, proxy, server, epoch, .. } = flight;
        match (report.phase, report.ending) {
            (Phase::ProxyConnect, _) | (Phase::Body, Ending::Failed(_)) => {
                self.fails(*proxy, *epoch);
            }
            (Phase::ProxyAuth, _) => {
                self.fails(*proxy, *epoch);
                self.books[*proxy].disabled = true;
            }
            (_, Ending::Answered) => self.works(*proxy, *epoch),
            (Phase::Tunnel, _) => {
                let running = self.calls.get_mut(&n).expect("it is running");
                running.suspects.push((*server, *proxy, *epoch));
                return;
            }
            _ => self.undecided(*proxy, *epoch),
        }
        // It got through to the server, or says nothing of it.
        if report.phase >= Phase::Tls {
            let running = self.calls.get_mut(&n).expect("it is running");
            for (to, suspect, epoch) in std::mem::take(&mut running.suspects) {
                match to == *server {
                    true => self.fails(suspect, epoch),
                    false => self.undecided(suspect, epoch),
                }
            }
        }
    }

    fn fails(&mut self, proxy: usize, epoch: u64) {
        let (now, base, max) = (self.now, self.plot.base, self.plot.max);
        let book = &mut self.books[proxy];
        if book.epoch != epoch {
            return;
        }
        book.failures += 1;
        let wait = (base * 2u32.pow((book.failures - 1).min(8))).min(max);
        book.until = book.until.max(Some(now + wait));
        (book.open, book.probe) = (true, None);
        book.epoch += 1;
    }

    fn works(&mut self, proxy: usize, epoch: u64) {
        let book = &mut self.books[proxy];
        if book.epoch == epoch {
            (book.open, book.probe, book.failures, book.until) = (false, None, 0, None);
        }
    }

    fn undecided(&mut self, proxy: usize, epoch: u64) {
        let book = &mut self.books[proxy];
        if book.epoch == epoch && book.open {
            book.probe = None;
            book.epoch += 1;
        }
    }

    fn end(&mut self, n: usize, end: End) {
        let Some(running) = self.calls.remove(&n) else { return };
        for (_, suspect, epoch) in running.suspects {
            self.undecided(suspect, epoch);
        }
        self.good += usize::from(end == End::Answer);
        // Two proxies that fail alike speak against an endpoint, and so does a body that breaks off.
        let well = self.plot.proxies.iter().any(Vec::is_empty)
            && self.plot.servers.iter().any(Vec::is_empty)
            && self.ways_that(&[Proxying::Silent, Proxying::NoUplink]) < 2
            && self.ways_that(&[Proxying::Breaking]) == 0;
        if well && running.repeatable && end != End::Answer {
            self.breaks(Rule::GaveUp, format!("call {n} ended in {end:?}"));
        }
    }

    /// How many proxies do one of these at some time.
    fn ways_that(&self, does: &[Proxying]) -> usize {
        let doing = |script: &&Script<Proxying>| script.iter().any(|(_, what)| does.contains(what));
        self.plot.proxies.iter().filter(doing).count()
    }

    /// What an operator would read.
    fn check_members(&mut self) {
        let Some(proxies) = &self.pool.proxies else { return };
        let mut found = Vec::new();
        for (n, member) in proxies.members().iter().enumerate() {
            let book = &self.books[n];
            if i64::from(member.in_flight) != book.out {
                found.push((Rule::InFlight, format!("proxy {n}: {}", member.in_flight)));
            }
            let well = self.plot.proxies[n].is_empty();
            if well && (member.record.failures > 0 || member.record.state != State::Eligible) {
                found.push((Rule::WellProxy, format!("proxy {n}: {:?}", member.record)));
            }
        }
        let sure = self.ways_that(&[Proxying::Silent, Proxying::NoUplink]) < 2
            && self.ways_that(&[Proxying::Breaking]) == 0;
        for (n, member) in self.pool.members().iter().enumerate() {
            let well = self.plot.servers[n].is_empty();
            if well && sure && member.record.failures > 0 {
                found.push((Rule::WellEndpoint, format!("endpoint {n}: {:?}", member.record)));
            }
        }
        for (rule, what) in found {
            self.breaks(rule, what);
        }
    }
}

const PLANTED: &[(Mutant, Rule)] = &[
    (Mutant::WaitSkipped, Rule::Cooling),
    (Mutant::ProbeShared, Rule::OneProbe),
    (Mutant::RouteStraight, Rule::NeverStraight),
    (Mutant::AuthNotLasting, Rule::OutOfService),
    (Mutant::ProxyNotUsedUp, Rule::UsedUp),
    (Mutant::ResetMovesOn, Rule::OneExecution),
    (Mutant::SuspectCooled, Rule::WellProxy),
    (Mutant::EitherIsEndpoint, Rule::WellEndpoint),
    (Mutant::RouteGivenUp, Rule::GaveUp),
    (Mutant::SettleLost, Rule::InFlight),
];

#[test]
fn no_rule_of_proxies_is_broken_under_any_seed() {
    let (mut probes, mut good) = (0, 0);
    for seed in super::cases::seeds() {
        let (broken, probed, went_well) = run(seed);
        assert!(broken.is_none(), "seed {seed}: {broken:?}");
        probes += probed;
        good += went_well;
    }
    assert!(probes > 0 && good > probes, "{probes} probes, {good} good calls");
}

#[test]
fn each_planted_bug_breaks_its_rule_of_proxies() {
    for &(mutant, rule) in PLANTED {
        switch(Some(mutant));
        let said: Vec<_> = (0..300).filter_map(|seed| Some(run(seed).0?.0)).collect();
        switch(None);
        assert!(said.contains(&rule), "{mutant:?} hides from {rule:?}: {said:?}");
    }
}
