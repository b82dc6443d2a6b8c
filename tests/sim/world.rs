//! Virtual time, an ordered queue of events, and many calls at once.
//!
//! Drives `Call` and `Pool` as `client/run.rs` does: step, attempt, judge, settle, step again. Between a
//! call's end of attempt and its next step other calls get their turn, as they do when the lock is
//! released.

use super::oracle::{Oracle, Violation};
use super::scenario::{FAILURE, Operation, RESEND, Scenario};
use super::server::{Exchange, Server};
use super::{Chance, beginning, ms};
use crate::decide::{
    Advice, Call, End, Endpoint, EndpointId, Entry, Event, Health, Plan, Pool, Reach, Step, Ticket,
    Timeout, Verdict, Weight, WhenNoneEligible,
};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What became of a scenario.
pub(super) struct Run {
    /// Of every decision, in order.
    pub(super) digest: u64,
    /// The first rule that was broken.
    pub(super) violation: Option<Violation>,
    /// When, and at which node.
    pub(super) attempts: Vec<(Duration, usize)>,
    /// When each call began and ended, and whether it brought an answer below 500.
    pub(super) calls: Vec<Made>,
}

/// A call that is over.
pub(super) struct Made {
    pub(super) began: Duration,
    pub(super) ended: Duration,
    pub(super) good: bool,
}

/// The number of a node that the pool does not know.
const NOBODY: EndpointId = EndpointId(u64::MAX);

/// Runs a scenario until nothing is left to happen, or a rule is broken.
pub(super) fn run(scenario: &Scenario) -> Run {
    let timeout = scenario.settings.timeout();
    let mut world = World::new(scenario, &timeout);
    while let Some(((now, _), happening)) = world.queue.pop_first() {
        world.now = now;
        world.turn(happening);
        if world.oracle.check(&world.pool, now).is_some() {
            break;
        }
    }
    world.oracle.check_over(world.calls.len());
    Run {
        digest: world.digest,
        violation: world.oracle.violation().cloned(),
        attempts: world.attempts,
        calls: world.made,
    }
}

struct World<'a> {
    scenario: &'a Scenario,
    timeout: &'a Timeout,
    born: Instant,
    now: Instant,
    queue: BTreeMap<(Instant, u64), Happening>,
    queued: u64,
    /// What the client draws from, what the servers draw from, and what befalls attempts.
    chance: Chance,
    luck: Chance,
    accidents: Chance,
    pool: Pool,
    servers: Vec<Server>,
    /// The nodes listed, by their number in the pool.
    listed: BTreeMap<EndpointId, usize>,
    /// Numbers of nodes that the pool knows or remembers.
    ids: BTreeMap<usize, EndpointId>,
    next_id: u64,
    calls: BTreeMap<usize, Running<'a>>,
    oracle: Oracle<'a>,
    events: Vec<Event>,
    digest: u64,
    attempts: Vec<(Duration, usize)>,
    made: Vec<Made>,
}

enum Happening {
    Arrive(usize),
    Step(usize),
    Settle(usize),
    Operate(usize),
}

struct Running<'a> {
    call: Call<'a>,
    began: Instant,
    flight: Option<(Ticket, Exchange)>,
    status: Option<u16>,
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario, timeout: &'a Timeout) -> Self {
        let born = beginning();
        let nodes = &scenario.nodes;
        let server = |node: &super::scenario::Node| {
            Server::new(born, node.script.clone(), node.stale_one_in)
        };
        let mut world = World {
            scenario,
            timeout,
            born,
            now: born,
            queue: BTreeMap::new(),
            queued: 0,
            chance: Chance(scenario.seed ^ 1),
            luck: Chance(scenario.seed ^ 2),
            accidents: Chance(scenario.seed ^ 3),
            pool: Pool::new(Vec::new(), scenario.settings.pool(), born),
            servers: nodes.iter().map(server).collect(),
            listed: BTreeMap::new(),
            ids: BTreeMap::new(),
            next_id: 0,
            calls: BTreeMap::new(),
            oracle: Oracle::new(scenario, born),
            events: Vec::new(),
            digest: 0xcbf2_9ce4_8422_2325,
            attempts: Vec::new(),
            made: Vec::new(),
        };
        let all: Vec<usize> = (0..nodes.len()).collect();
        let entries = world.list(&all);
        world.pool = Pool::new(entries, scenario.settings.pool(), born);
        for (i, arrival) in scenario.calls.iter().enumerate() {
            world.at(born + arrival.at, Happening::Arrive(i));
        }
        for (i, (at, _)) in scenario.operations.iter().enumerate() {
            world.at(born + *at, Happening::Operate(i));
        }
        world
    }

    fn at(&mut self, at: Instant, happening: Happening) {
        self.queued += 1;
        self.queue.insert((at, self.queued), happening);
    }

    fn turn(&mut self, happening: Happening) {
        match happening {
            Happening::Arrive(call) => self.arrive(call),
            Happening::Step(call) => self.step(call),
            Happening::Settle(call) => self.settle(call),
            Happening::Operate(i) => self.operate(&self.scenario.operations[i].1),
        }
        self.events.clear();
    }

    fn arrive(&mut self, call: usize) {
        let settings = &self.scenario.settings;
        let arrival = self.scenario.calls[call];
        let plan = Plan {
            deadline: settings.deadline.map(|deadline| self.now + deadline),
            max_attempts: settings.max_attempts,
            attempts_per_endpoint: settings.attempts_per_endpoint,
            repeatable: arrival.repeatable,
            replayable: arrival.replayable,
            resend_statuses: &RESEND,
            failure_statuses: &FAILURE,
            connect_timeout: Some(settings.connect_timeout),
            connect_timeout_last: None,
            attempt_timeout: self.timeout,
            stall_timeout: None,
            streamed: false,
            backoff: settings.backoff(),
            hold_for: settings.hold_for,
            when_none_eligible: if settings.try_nearest {
                WhenNoneEligible::TryNearest
            } else {
                WhenNoneEligible::FailFast
            },
            at: None,
            only: arrival.check.map(|node| self.ids.get(&node).copied().unwrap_or(NOBODY)),
            through: None,
        };
        let running = Running {
            call: Call::new(plan, self.now),
            began: self.now,
            flight: None,
            status: None,
        };
        self.calls.insert(call, running);
        self.oracle.began(call, arrival, self.now);
        self.step(call);
    }

    fn step(&mut self, call: usize) {
        let chance = std::array::from_fn(|_| self.chance.next());
        let Some(running) = self.calls.get_mut(&call) else { return };
        match running.call.step(&mut self.pool, self.now, chance, &mut self.events) {
            Step::Attempt(ticket) => {
                let ticket = running.call.limit(ticket);
                Call::begin(&mut self.pool, &ticket, self.now, &mut self.events);
                self.attempt(call, ticket, chance[1]);
            }
            Step::Wait(until) => {
                self.note(&[1, call as u64, self.since(until).as_nanos() as u64]);
                self.oracle.waits(call, until);
                let awake = until + self.lag();
                self.at(awake, Happening::Step(call));
            }
            Step::End(end) => self.end(call, end),
        }
    }

    fn attempt(&mut self, call: usize, ticket: Ticket, chance: u64) {
        self.oracle.attempt(call, &ticket, self.now, chance);
        let Some(&node) = self.listed.get(&ticket.endpoint) else { return };
        let flags = u64::from(ticket.fresh) * 2 + u64::from(ticket.is_probe());
        self.note(&[2, call as u64, node as u64, flags]);
        self.attempts.push((self.since(self.now), node));
        let exchange = self.servers[node].exchange(
            call,
            ticket.fresh,
            self.now,
            ticket.limits(),
            &mut self.luck,
        );
        let executions = self.servers.iter().map(|server| server.executions(call)).sum();
        self.oracle.executed(call, executions);
        let noticed = exchange.ends + self.overshoot();
        self.at(noticed, Happening::Settle(call));
        if let Some(running) = self.calls.get_mut(&call) {
            running.flight = Some((ticket, exchange));
        }
    }

    fn settle(&mut self, call: usize) {
        let Some(running) = self.calls.get_mut(&call) else { return };
        let Some((ticket, exchange)) = running.flight.take() else { return };
        let settings = &self.scenario.settings;
        if settings.abandon_one_in.is_some_and(|n| self.accidents.one_in(n)) {
            Call::abandon(&mut self.pool, ticket, self.now, &mut self.events);
            self.oracle.abandoned(call);
            self.calls.remove(&call);
            return;
        }
        if settings.lose_one_in.is_some_and(|n| self.accidents.one_in(n)) {
            self.oracle.lost(call);
            self.calls.remove(&call);
            return;
        }
        let report = &exchange.report;
        let outcome = running.call.judge(&ticket, report, Verdict::Default);
        let advice = match settings.advise_one_in {
            Some(n) if outcome.health != Health::Good && self.accidents.one_in(n) => {
                [Advice::Again, Advice::Stop][self.accidents.below(2) as usize]
            }
            _ => Advice::Default,
        };
        let chance = self.chance.next();
        running.status = report.status.or(running.status);
        running.call.settle(
            &mut self.pool,
            &ticket,
            report,
            &outcome,
            advice,
            self.now,
            chance,
            &mut self.events,
        );
        self.oracle.settled(call, &exchange, outcome.delivery, advice, self.now, chance);
        self.note(&[3, call as u64, outcome.reason as u64, outcome.delivery as u64]);
        let next = self.now + self.lag();
        self.at(next, Happening::Step(call));
    }

    /// What it takes until somebody notices that an attempt is over.
    fn overshoot(&mut self) -> Duration {
        match self.scenario.settings.late_one_in {
            Some(_) => self.accidents.between(Duration::ZERO, ms(3)),
            None => Duration::ZERO,
        }
    }

    /// What the caller's code and the scheduler take, now and then; a suspended process takes longer.
    fn lag(&mut self) -> Duration {
        match self.scenario.settings.late_one_in {
            Some(n) if self.accidents.one_in(n) => {
                let most = if self.accidents.one_in(4) { ms(2000) } else { ms(50) };
                self.accidents.between(Duration::ZERO, most)
            }
            _ => Duration::ZERO,
        }
    }

    fn end(&mut self, call: usize, end: End) {
        self.oracle.ended(call, end, self.now);
        let Some(running) = self.calls.remove(&call) else { return };
        let answered = end == End::Answer;
        self.note(&[4, call as u64, u64::from(answered)]);
        self.made.push(Made {
            began: self.since(running.began),
            ended: self.since(self.now),
            good: answered && running.status.is_some_and(|status| status < 500),
        });
    }

    fn operate(&mut self, operation: &Operation) {
        match operation {
            Operation::Disable(node) => {
                let Some(&id) = self.ids.get(node) else { return };
                if self.pool.disable(id, "", self.now, &mut self.events) {
                    self.oracle.disabled(id);
                }
            }
            Operation::Enable(node) => {
                let Some(&id) = self.ids.get(node) else { return };
                if self.pool.enable(id, self.now, &mut self.events) {
                    self.oracle.enabled(id);
                }
            }
            Operation::Replace(nodes) => {
                let entries = self.list(nodes);
                self.pool.replace(entries, self.now, &mut self.events);
                self.ids.retain(|_, id| self.pool.remembers(*id));
            }
        }
    }

    /// Makes these the nodes listed, under the numbers that the pool still remembers.
    fn list(&mut self, nodes: &[usize]) -> Vec<Entry> {
        self.listed.clear();
        let mut entries = Vec::new();
        for &node in nodes {
            let next = EndpointId(self.next_id + 1);
            let id = *self.ids.entry(node).or_insert(next);
            self.next_id += u64::from(id == next);
            self.listed.insert(id, node);
            let described = &self.scenario.nodes[node];
            let (min, max) = (described.min_weight, described.max_weight);
            entries.push(Entry {
                endpoint: Endpoint { id, priority: described.priority },
                weight: Weight::new(max, min, max).expect("1 to 1000"),
                keep_maximum: false,
                origin: described.origin.to_string().into(),
                reach: Reach::default(),
            });
        }
        self.oracle.listed(&self.listed, self.now);
        entries
    }

    fn since(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.born)
    }

    /// FNV-1a over the words, with the time.
    fn note(&mut self, words: &[u64]) {
        let now = self.since(self.now).as_nanos() as u64;
        for word in words.iter().copied().chain([now]) {
            for byte in word.to_le_bytes() {
                self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            }
        }
    }
}
