//! The rulings, checked from outside.
//!
//! The oracle keeps its own books from what it can see: which tickets were given out, what the servers
//! did, what was reported, which random numbers were drawn. It calculates waits, weights and tokens by
//! itself, and reads of the pool only what a user could see in a snapshot. A circuit's own opinion of
//! itself proves nothing: a planted bug that lets many probes in had it on its side.

use super::scenario::{Arrival, Node, Scenario, Settings};
use super::server::Exchange;
use crate::decide::{
    Advice, Cause, Delivery, End, Ending, EndpointId, Failure, Limit, Limits, Pool, Report, Ticket,
};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A rule that can be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    /// R1: what may not be sent twice is executed at most once, over all servers.
    OneExecution,
    /// R1: an attempt reported as not sent was seen by no server.
    NotSentMeansUnseen,
    /// No call makes more attempts than it may, in all, at one endpoint, or of a body that is gone.
    AttemptsBounded,
    /// R2: a replay is one more, fresh, at the same endpoint, and only after a stale connection.
    OneReplay,
    /// No attempt begins after the deadline, or may go on beyond it.
    Deadline,
    /// R6, R8: no attempt where the circuit is open, but for the probe when its wait is over.
    CircuitOpen,
    /// R6, R8: one probe at a time.
    OneProbe,
    /// R7, R22: no attempt at an endpoint that is disabled, or not in the list.
    OutOfService,
    /// R20: paid repeats stay within the ledger over any stretch of time.
    Ledger,
    /// R3, R5, R7: hold before priority, probes first where they may be.
    Order,
    /// R5: an endpoint is tried again only when all others were tried as often.
    TriedAsOften,
    /// R4: weights as seed 003 has them.
    Weights,
    /// Attempts under way are those whose tickets are out.
    InFlight,
    /// R11: the last answer is returned where there was one.
    LastAnswer,
    /// A call does not give up while something may be tried.
    GaveUp,
    /// Every call ends.
    CallEnds,
}

impl Rule {
    pub(super) const ALL: &'static [Rule] = &[
        Rule::OneExecution,
        Rule::NotSentMeansUnseen,
        Rule::AttemptsBounded,
        Rule::OneReplay,
        Rule::Deadline,
        Rule::CircuitOpen,
        Rule::OneProbe,
        Rule::OutOfService,
        Rule::Ledger,
        Rule::Order,
        Rule::TriedAsOften,
        Rule::Weights,
        Rule::InFlight,
        Rule::LastAnswer,
        Rule::GaveUp,
        Rule::CallEnds,
    ];
}

/// A rule, broken.
#[derive(Debug, Clone)]
pub(super) struct Violation {
    pub(super) rule: Rule,
    pub(super) what: String,
}

pub(super) struct Oracle<'a> {
    settings: &'a Settings,
    nodes: &'a [Node],
    born: Instant,
    listed: BTreeMap<EndpointId, usize>,
    members: BTreeMap<EndpointId, Member>,
    circuits: BTreeMap<usize, Circuit>,
    calls: BTreeMap<usize, Called>,
    hold: Option<Held>,
    ledger: Ledger,
    /// Calls whose attempt has ended and that have not said yet what they do next.
    undecided: usize,
    violation: Option<Violation>,
}

#[derive(Debug)]
struct Member {
    node: usize,
    weight: u32,
    disabled: bool,
    cooling_until: Option<Instant>,
    out: u32,
}

#[derive(Debug, Default)]
struct Circuit {
    open: bool,
    probing: bool,
    failures: u32,
    epoch: u64,
    retry_at: Option<Instant>,
    /// The probe may run until then, a base delay included to notice its end.
    probe_until: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    id: EndpointId,
    priority: u32,
    until: Instant,
}

/// A call as seen from outside.
#[derive(Debug)]
struct Called {
    arrival: Arrival,
    deadline: Option<Instant>,
    made: u32,
    replayed: bool,
    tries: BTreeMap<EndpointId, Tries>,
    flight: Option<Flight>,
    last: Option<Last>,
    answered: bool,
    /// Its last attempt has ended, and it has not said yet what it does next.
    undecided: bool,
    /// What it waits for before its next step.
    waits: Option<Instant>,
    /// Something could be tried when its last attempt had ended.
    could_go_on: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tries {
    count: u32,
    failed: bool,
    nameless: bool,
    /// It was in the list when an attempt there ended: one taken out before is in nobody's order.
    noted: bool,
}

#[derive(Debug, Clone, Copy)]
struct Flight {
    id: EndpointId,
    origin: usize,
    began: Instant,
    limits: Limits,
    epoch: u64,
}

#[derive(Debug, Clone, Copy)]
struct Last {
    id: EndpointId,
    stale: bool,
    sent: bool,
    answered: bool,
    may_go_on: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Eligible,
    /// It cools without a breaker.
    Behind,
    /// Its circuit is open, and the wait is over.
    Probe,
    Out,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Good,
    Bad,
    Neutral,
}

impl<'a> Oracle<'a> {
    pub(super) fn new(scenario: &'a Scenario, born: Instant) -> Self {
        Oracle {
            settings: &scenario.settings,
            nodes: &scenario.nodes,
            born,
            listed: BTreeMap::new(),
            members: BTreeMap::new(),
            circuits: BTreeMap::new(),
            calls: BTreeMap::new(),
            hold: None,
            ledger: Ledger::default(),
            undecided: 0,
            violation: None,
        }
    }

    pub(super) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    fn expect(&mut self, holds: bool, rule: Rule, what: impl FnOnce() -> String) {
        if !holds && self.violation.is_none() {
            self.violation = Some(Violation { rule, what: what() });
        }
    }

    // What happens in the world.

    pub(super) fn listed(&mut self, listed: &BTreeMap<EndpointId, usize>, now: Instant) {
        for (&id, &node) in listed {
            let weight = self.nodes[node].max_weight;
            let stays = self.listed.contains_key(&id);
            let fresh = Member { node, weight, disabled: false, cooling_until: None, out: 0 };
            let member = self.members.entry(id).or_insert(fresh);
            if !stays {
                member.weight = weight;
            }
        }
        self.listed = listed.clone();
        let in_use: Vec<usize> = listed.values().map(|node| self.nodes[*node].origin).collect();
        let max = self.settings.breaker.map_or(Duration::ZERO, |breaker| breaker.max);
        self.circuits.retain(|origin, circuit| {
            in_use.contains(origin) || circuit.retry_at.is_some_and(|at| now <= at + max)
        });
        if self.hold.is_some_and(|held| !self.listed.contains_key(&held.id)) {
            self.hold = None;
        }
        self.ledger.cap = self.ledger.cap.max(cap(listed.len()));
    }

    pub(super) fn disabled(&mut self, id: EndpointId) {
        if let Some(member) = self.members.get_mut(&id) {
            member.disabled = true;
        }
    }

    pub(super) fn enabled(&mut self, id: EndpointId) {
        let Some(member) = self.members.get_mut(&id).filter(|member| member.disabled) else {
            return;
        };
        member.disabled = false;
        member.cooling_until = None;
        if self.settings.breaker.is_some() {
            let circuit = self.circuits.entry(self.nodes[member.node].origin).or_default();
            circuit.open = true;
            circuit.probing = false;
            circuit.epoch += 1;
            circuit.retry_at = None;
        }
    }

    pub(super) fn began(&mut self, call: usize, arrival: Arrival, now: Instant) {
        let called = Called {
            arrival,
            deadline: self.settings.deadline.map(|deadline| now + deadline),
            made: 0,
            replayed: false,
            tries: BTreeMap::new(),
            flight: None,
            last: None,
            answered: false,
            undecided: false,
            waits: None,
            could_go_on: true,
        };
        self.calls.insert(call, called);
    }

    /// A call waits before it returns to an endpoint.
    pub(super) fn waits(&mut self, call: usize, until: Instant) {
        let Some(called) = self.calls.get_mut(&call) else { return };
        self.undecided -= usize::from(std::mem::take(&mut called.undecided));
        let again = called.waits.replace(until).is_some();
        let late = called.deadline.is_some_and(|deadline| until >= deadline);
        self.expect(!late, Rule::Deadline, || format!("call {call} waits beyond its deadline"));
        self.expect(!again, Rule::CallEnds, || format!("call {call} waits twice in a row"));
    }

    /// A ticket was given out.
    pub(super) fn attempt(&mut self, call: usize, ticket: &Ticket, now: Instant, chance: u64) {
        let Some(called) = self.calls.remove(&call) else { return };
        let called = self.ticket(call, called, ticket, now, chance);
        self.calls.insert(call, called);
    }

    fn ticket(
        &mut self,
        call: usize,
        mut called: Called,
        ticket: &Ticket,
        now: Instant,
        chance: u64,
    ) -> Called {
        let id = ticket.endpoint;
        let at = now - self.born;
        let of = || format!("call {call} at {at:?}, endpoint {}", id.0);
        self.undecided -= usize::from(std::mem::take(&mut called.undecided));
        called.waits = None;
        if ticket.fresh {
            let after_stale = called.last.is_some_and(|last| last.stale && last.id == id);
            let once = !std::mem::replace(&mut called.replayed, true);
            let may = called.arrival.repeatable && called.arrival.replayable;
            self.expect(after_stale && once && may, Rule::OneReplay, of);
            let listed = self.listed.contains_key(&id);
            self.expect(listed, Rule::OutOfService, of);
            return called;
        }
        self.replay_dropped(&mut called);
        let check = called.arrival.check;
        let in_service = match check {
            // A health check may go where nobody else may.
            Some(_) => self.listed.get(&id).map(|node| (*node, self.nodes[*node].origin)),
            None => self.in_service(id),
        };
        let in_service = in_service.filter(|(node, _)| check.is_none_or(|check| check == *node));
        let Some((_, origin)) = in_service else {
            self.expect(false, Rule::OutOfService, of);
            return called;
        };

        let late = called.deadline.is_some_and(|deadline| now >= deadline);
        let long = called
            .deadline
            .is_some_and(|deadline| ticket.limits().until.is_none_or(|until| until > deadline));
        self.expect(!late && !long, Rule::Deadline, of);

        let tries = called.tries.get(&id).copied().unwrap_or_default();
        let most = self.settings.max_attempts.unwrap_or(u32::MAX);
        let bounded = called.made < most
            && tries.count < self.settings.attempts_per_endpoint
            && (called.arrival.replayable || called.made == 0);
        self.expect(bounded, Rule::AttemptsBounded, of);

        if check.is_none() {
            let candidates = self.candidates(&called, now);
            let early = self.check_circuit(&called, ticket, origin, &candidates, now, &of);
            if !early {
                self.check_order(&called, id, tries.count, &candidates, now, &of);
            }
            self.pay(&called, tries, early, now, &of);
        }

        let settings = self.settings;
        let circuit = self.circuits.entry(origin).or_default();
        if circuit.open {
            // A check that finds a probe under way is one more beside it.
            if !(circuit.probing && circuit.keeps_out(now)) {
                circuit.probing = true;
                circuit.probe_until = None;
                circuit.epoch += 1;
                circuit.wait(settings, None, now, chance);
            }
            let base = settings.breaker.map_or(Duration::ZERO, |breaker| breaker.base);
            let noticed = ticket.limits().until.map(|until| until + base);
            circuit.probe_until = circuit.probe_until.max(noticed);
        }
        let epoch = circuit.epoch;
        called.made += 1;
        called.replayed = false;
        called.tries.entry(id).or_default().count += 1;
        called.flight = Some(Flight { id, origin, began: now, limits: ticket.limits(), epoch });
        self.members.entry(id).and_modify(|member| member.out += 1);
        called
    }

    /// How often all servers together have executed the request of a call.
    pub(super) fn executed(&mut self, call: usize, times: usize) {
        let Some(called) = self.calls.get(&call) else { return };
        let may = called.arrival.repeatable || times <= 1;
        self.expect(may, Rule::OneExecution, || format!("call {call} was executed {times} times"));
    }

    /// An attempt was settled.
    pub(super) fn settled(
        &mut self,
        call: usize,
        exchange: &Exchange,
        delivery: Delivery,
        advice: Advice,
        now: Instant,
        chance: u64,
    ) {
        let Some(mut called) = self.calls.remove(&call) else { return };
        let Some(flight) = called.flight else { return };
        self.undecided += 1;
        called.undecided = true;
        let report = &exchange.report;
        let unseen = delivery != Delivery::NotSent || !exchange.arrived;
        self.expect(unseen, Rule::NotSentMeansUnseen, || format!("call {call}: {report:?}"));

        let answered = report.ending == Ending::Answered;
        let stale = is_stale(report);
        let repeatable = called.arrival.repeatable;
        let goes_on = match advice {
            Advice::Stop => false,
            // R11: what the deadline cut short ends the call, whatever the advice.
            Advice::Again if repeatable => may_go_on(report, repeatable) || answered,
            _ => may_go_on(report, repeatable),
        };
        called.answered |= answered;
        called.last = Some(Last {
            id: flight.id,
            stale,
            sent: report.asked_to_send,
            answered,
            may_go_on: goes_on,
        });
        let listed = self.listed.contains_key(&flight.id);
        let blamed = self.is_blamed(report, &flight, called.deadline);
        let tries = called.tries.entry(flight.id).or_default();
        tries.noted |= listed;
        let may_repeat = called.arrival.repeatable && called.arrival.replayable;
        if stale && may_repeat && advice != Advice::Stop {
            // The replay tells what becomes of it.
            self.calls.insert(call, called);
            return;
        }
        let health = self.health(report, &flight, called.deadline);
        let tries = called.tries.entry(flight.id).or_default();
        tries.failed |= tries.noted && blamed;
        tries.nameless |= report.ending == Ending::Failed(Cause::NameUnknown);
        called.flight = None;
        self.take_back(&flight, health, report.retry_after, now, chance);
        if answered && health != Health::Bad {
            self.hold_after(&called, flight.id, now);
        }
        if answered && called.made == 1 && !goes_on {
            self.ledger.deposit(self.settings);
        }
        called.could_go_on =
            self.candidates(&called, now).iter().any(|(_, standing)| *standing != Standing::Out);
        self.calls.insert(call, called);
    }

    /// A ticket was taken back, and its call is over.
    pub(super) fn abandoned(&mut self, call: usize) {
        let Some(flight) = self.calls.remove(&call).and_then(|called| called.flight) else {
            return;
        };
        if let Some(member) = self.members.get_mut(&flight.id) {
            member.out -= 1;
        }
        if self.listed.contains_key(&flight.id) {
            self.circuits.entry(flight.origin).or_default().release(&flight);
        }
    }

    /// A ticket will never be settled, and its call is over.
    pub(super) fn lost(&mut self, call: usize) {
        self.calls.remove(&call);
    }

    pub(super) fn ended(&mut self, call: usize, end: End, now: Instant) {
        let Some(mut called) = self.calls.remove(&call) else { return };
        self.undecided -= usize::from(std::mem::take(&mut called.undecided));
        self.replay_dropped(&mut called);
        let undecided = called
            .last
            .is_some_and(|last| !last.answered && last.sent && !called.arrival.repeatable);
        let expected = called.answered && !undecided;
        self.expect((end == End::Answer) == expected, Rule::LastAnswer, || {
            format!("call {call} ended in {end:?}: {called:?}")
        });
        let gave_up = matches!(end, End::Error(Failure::NoEndpoint | Failure::AttemptsSpent));
        let on = called.last.is_none_or(|last| last.may_go_on)
            && called.could_go_on
            && (called.arrival.replayable || called.made == 0)
            && self.settings.max_attempts.is_none_or(|most| called.made < most)
            && called.deadline.is_none_or(|deadline| now < deadline)
            && called.arrival.check.is_none();
        if gave_up && on {
            let mut candidates = self.candidates(&called, now);
            candidates.retain(|(_, standing)| *standing != Standing::Out);
            let at = now - self.born;
            self.expect(candidates.is_empty(), Rule::GaveUp, || {
                format!("call {call} ended in {end:?} at {at:?} with {candidates:?}")
            });
        }
    }

    /// R22: the endpoint was taken out of the list before the replay, which then does not happen.
    fn replay_dropped(&mut self, called: &mut Called) {
        if let Some(flight) = called.flight.take() {
            self.members.entry(flight.id).and_modify(|member| member.out -= 1);
        }
    }

    /// Compares the books with what a snapshot shows.
    pub(super) fn check(&mut self, pool: &Pool, now: Instant) -> Option<&Violation> {
        for member in pool.members() {
            let id = member.endpoint.id;
            let Some(own) = self.members.get(&id) else { continue };
            let (weight, out) = (own.weight, own.out);
            let at = now - self.born;
            let shown = (member.weight.value(), member.in_flight);
            self.expect(shown.0 == weight, Rule::Weights, || {
                format!("at {at:?} endpoint {} weighs {}, not {weight}", id.0, shown.0)
            });
            // What is to be replayed is still under way, and only its next step tells.
            self.expect(shown.1 == out || self.undecided > 0, Rule::InFlight, || {
                format!("at {at:?} endpoint {} has {} under way, not {out}", id.0, shown.1)
            });
        }
        self.violation.as_ref()
    }

    /// Nothing more will happen.
    pub(super) fn check_over(&mut self, running: usize) {
        self.expect(running == 0, Rule::CallEnds, || format!("{running} calls did not end"));
    }

    // What the rulings say.

    fn in_service(&self, id: EndpointId) -> Option<(usize, usize)> {
        let node = *self.listed.get(&id)?;
        let member = self.members.get(&id).filter(|member| !member.disabled)?;
        debug_assert_eq!(member.node, node);
        Some((node, self.nodes[node].origin))
    }

    fn standing(&self, id: EndpointId, now: Instant) -> Standing {
        let Some((_, origin)) = self.in_service(id) else { return Standing::Out };
        match self.circuits.get(&origin) {
            Some(circuit) if circuit.open => {
                if circuit.keeps_out(now) {
                    Standing::Out
                } else {
                    Standing::Probe
                }
            }
            _ if self.members[&id].cooling_until.is_some_and(|until| now < until) => {
                Standing::Behind
            }
            _ => Standing::Eligible,
        }
    }

    fn priority(&self, id: EndpointId) -> u32 {
        self.listed.get(&id).map_or(u32::MAX, |node| self.nodes[*node].priority)
    }

    /// What a call has left, and how that stands.
    fn candidates(&self, called: &Called, now: Instant) -> Vec<(EndpointId, Standing)> {
        let spent = |id: &EndpointId| {
            let most = self.settings.attempts_per_endpoint;
            called.tries.get(id).is_some_and(|tries| tries.count >= most || tries.nameless)
        };
        let left = self.listed.keys().copied().filter(|id| !spent(id));
        left.map(|id| (id, self.standing(id, now))).collect()
    }

    /// Whether an attempt comes before its wait is over, which only the last resort may.
    fn check_circuit(
        &mut self,
        called: &Called,
        ticket: &Ticket,
        origin: usize,
        candidates: &[(EndpointId, Standing)],
        now: Instant,
        of: &impl Fn() -> String,
    ) -> bool {
        let running = |circuit: &Circuit| circuit.keeps_out(now);
        let (open, probing, early) =
            self.circuits.get(&origin).map_or((false, false, false), |circuit| {
                (circuit.open, circuit.probing && running(circuit), running(circuit))
            });
        self.expect(open == ticket.is_probe(), Rule::CircuitOpen, of);
        self.expect(!(open && probing), Rule::OneProbe, of);
        if !open || !early {
            return false;
        }
        let nothing = candidates.iter().all(|(_, standing)| *standing == Standing::Out);
        let may = self.settings.try_nearest && called.made == 0 && nothing;
        self.expect(may, Rule::CircuitOpen, of);
        let in_service: Vec<usize> = self
            .listed
            .keys()
            .filter_map(|id| self.in_service(*id))
            .map(|(_, origin)| origin)
            .collect();
        let others = in_service
            .iter()
            .filter_map(|origin| self.circuits.get(origin))
            .any(|circuit| circuit.probing && running(circuit));
        self.expect(!others, Rule::OneProbe, of);
        true
    }

    fn check_order(
        &mut self,
        called: &Called,
        id: EndpointId,
        count: u32,
        candidates: &[(EndpointId, Standing)],
        now: Instant,
        of: &impl Fn() -> String,
    ) {
        let tries = |id: EndpointId| called.tries.get(&id).map_or(0, |tries| tries.count);
        let fewer = candidates
            .iter()
            .any(|(other, standing)| *standing != Standing::Out && tries(*other) < count);
        self.expect(!fewer, Rule::TriedAsOften, of);

        let held = self.hold.filter(|held| now < held.until);
        let rank = |id: EndpointId| {
            let priority = self.priority(id);
            (held.is_some_and(|held| priority < held.priority), priority)
        };
        let of_standing = |wanted: Standing| {
            let round = candidates.iter().filter(move |(other, _)| tries(*other) <= count);
            round.filter(move |(_, standing)| *standing == wanted).map(|(other, _)| *other)
        };
        let first = of_standing(Standing::Eligible).map(rank).min();
        let behind = of_standing(Standing::Behind).map(rank).min();
        let held = held.map(|held| held.id);
        let held = held.filter(|held| of_standing(Standing::Eligible).any(|id| id == *held));
        let may_probe = called.arrival.repeatable && called.arrival.replayable && held.is_none();
        // The best that waits for a probe, if this call may be it.
        let probe = of_standing(Standing::Probe).map(|id| self.priority(id)).min();
        let due = probe.filter(|probe| may_probe && first.is_none_or(|first| *probe <= first.1));
        let right = match self.standing(id, now) {
            Standing::Eligible => match held {
                Some(held) => id == held,
                None => Some(rank(id)) == first && due.is_none(),
            },
            Standing::Behind => first.is_none() && Some(rank(id)) == behind,
            Standing::Probe => {
                Some(self.priority(id)) == probe && (first.is_none() || due.is_some())
            }
            Standing::Out => true,
        };
        let told = || {
            format!(
                "{}: held {:?}, first {first:?}, due {due:?}, of {candidates:?}",
                of(),
                self.hold
            )
        };
        let told = (!right).then(told);
        self.expect(right, Rule::Order, || told.unwrap_or_default());
    }

    fn pay(
        &mut self,
        called: &Called,
        tries: Tries,
        early: bool,
        now: Instant,
        of: &impl Fn() -> String,
    ) {
        let again = called.last.is_some_and(|last| last.sent);
        if self.settings.budget.is_none() || !(again || early || tries.count > 0) {
            return;
        }
        let within = self.ledger.pay(self.settings, now - self.born);
        self.expect(within, Rule::Ledger, of);
    }

    fn health(&self, report: &Report, flight: &Flight, deadline: Option<Instant>) -> Health {
        match (report.ending, report.status) {
            (Ending::Answered, Some(429 | 500..)) => Health::Bad,
            (Ending::Answered, _) => Health::Good,
            _ if !self.is_blamed(report, flight, deadline) => Health::Neutral,
            // Less than its due is no proof that it is down.
            (Ending::Failed(Cause::TimedOut(Limit::Connect)), _)
                if flight.limits.connect_by
                    != Some(flight.began + self.settings.connect_timeout) =>
            {
                Health::Neutral
            }
            _ => Health::Bad,
        }
    }

    /// Whether an end is the endpoint's fault.
    fn is_blamed(&self, report: &Report, flight: &Flight, deadline: Option<Instant>) -> bool {
        let due = flight.began + self.settings.attempt_timeout;
        match (report.ending, report.status) {
            (Ending::Answered, status) => matches!(status, Some(429 | 500..)),
            _ if is_stale(report) => false,
            (Ending::Failed(Cause::TimedOut(Limit::Attempt)), _) => {
                deadline.is_none_or(|deadline| deadline >= due)
            }
            _ => true,
        }
    }

    /// Books an outcome.
    fn take_back(
        &mut self,
        flight: &Flight,
        health: Health,
        asked: Option<Duration>,
        now: Instant,
        chance: u64,
    ) {
        let weighted = self.weighted();
        let Some(member) = self.members.get_mut(&flight.id) else { return };
        member.out -= 1;
        if !self.listed.contains_key(&flight.id) {
            return;
        }
        let circuit = self.circuits.entry(flight.origin).or_default();
        let was_open = circuit.open;
        if self.settings.breaker.is_some() {
            if circuit.epoch != flight.epoch {
                return;
            }
            match health {
                Health::Good => {
                    *circuit = Circuit { epoch: circuit.epoch, ..Circuit::default() };
                }
                Health::Bad => circuit.fail(self.settings, asked, now, chance),
                Health::Neutral => circuit.release(flight),
            }
        } else if let Some(asked) = asked {
            member.cooling_until = member.cooling_until.max(Some(now + asked));
        }
        if weighted {
            let (min, max) =
                (self.nodes[member.node].min_weight, self.nodes[member.node].max_weight);
            member.weight = match health {
                Health::Good if was_open => tenth(max).max(min),
                Health::Good => (member.weight + 1000).min(max),
                Health::Bad => tenth(member.weight).max(min),
                Health::Neutral => member.weight,
            };
        }
    }

    /// Whether endpoints share a priority.
    fn weighted(&self) -> bool {
        let mut priorities: Vec<u32> = self.listed.keys().map(|id| self.priority(*id)).collect();
        priorities.sort_unstable();
        priorities.windows(2).any(|pair| pair[0] == pair[1])
    }

    fn hold_after(&mut self, called: &Called, id: EndpointId, now: Instant) {
        if !self.listed.contains_key(&id) {
            return;
        }
        let priority = self.priority(id);
        let better_failed = called.tries.iter().any(|(other, tries)| {
            tries.failed && self.nodes[self.members[other].node].priority < priority
        });
        self.hold = self.hold.filter(|held| now < held.until && priority >= held.priority);
        if better_failed && self.hold.is_none_or(|held| held.id != id) {
            self.hold = Some(Held { id, priority, until: now + self.settings.hold_for });
        }
    }
}

impl Circuit {
    /// Whether its wait, or its probe, is not over.
    fn keeps_out(&self, now: Instant) -> bool {
        let probe_until = self.probe_until.filter(|_| self.probing);
        self.retry_at.max(probe_until).is_some_and(|at| now < at)
    }

    fn fail(&mut self, settings: &Settings, asked: Option<Duration>, now: Instant, chance: u64) {
        self.failures += 1;
        self.wait(settings, asked, now, chance);
        let threshold = settings.breaker.map_or(u32::MAX, |breaker| breaker.threshold);
        if self.open || self.failures >= threshold || asked.is_some() {
            self.open = true;
            self.probing = false;
            self.epoch += 1;
        }
    }

    fn release(&mut self, flight: &Flight) {
        if self.epoch == flight.epoch && self.probing {
            self.probing = false;
            self.epoch += 1;
        }
    }

    /// R6: base * 2^(n-1), up to as much again by chance, what the server asked for if that is more,
    /// and never beyond the maximum.
    fn wait(&mut self, settings: &Settings, asked: Option<Duration>, now: Instant, chance: u64) {
        let Some(breaker) = settings.breaker else { return };
        let doublings = self.failures.saturating_sub(1).min(40);
        let max = breaker.max.as_nanos();
        let mut wait = (breaker.base.as_nanos() << doublings).min(max);
        if breaker.jitter {
            wait += (wait * u128::from(chance)) >> 64;
        }
        let wait = wait.max(asked.map_or(0, |asked| asked.as_nanos())).min(max);
        let until = now + Duration::from_nanos(wait as u64);
        self.retry_at = self.retry_at.max(Some(until));
    }
}

/// R20, in units of 10^-12 token: paid repeats less what came in, whose rise over any stretch of time
/// may not pass the cap.
#[derive(Debug, Default)]
struct Ledger {
    cap: i128,
    paid: i128,
    brought: i128,
    least: i128,
}

const TOKEN: i128 = 1_000_000_000_000;

fn cap(endpoints: usize) -> i128 {
    10 * TOKEN + 10 * TOKEN * endpoints as i128 / 4
}

impl Ledger {
    fn deposit(&mut self, settings: &Settings) {
        let percent = settings.budget.map_or(0, |(percent, _)| percent);
        self.brought += i128::from(percent) * TOKEN / 100;
    }

    fn pay(&mut self, settings: &Settings, since: Duration) -> bool {
        let per_second = settings.budget.map_or(0, |(_, per_second)| per_second);
        let by_time = since.as_nanos() as i128 * i128::from(per_second) * TOKEN / 1_000_000_000;
        let level = self.paid - self.brought - by_time;
        self.least = self.least.min(level);
        self.paid += TOKEN;
        level + TOKEN - self.least <= self.cap
    }
}

/// R2: an idle connection that ended before a byte of an answer.
fn is_stale(report: &Report) -> bool {
    report.reused
        && report.bytes_received == 0
        && matches!(report.ending, Ending::Failed(Cause::Reset | Cause::Closed))
}

/// R1, for what servers in this world say.
fn may_go_on(report: &Report, repeatable: bool) -> bool {
    match (report.ending, report.status) {
        (Ending::Answered, Some(521..=523)) => true,
        (Ending::Answered, Some(502..=504 | 520 | 525 | 526)) => repeatable,
        (Ending::Answered, _) => false,
        _ => repeatable || !report.asked_to_send,
    }
}

/// Rounded to the nearest whole number, halves to the even one.
fn tenth(weight: u32) -> u32 {
    let (quotient, rest) = (weight / 10, weight % 10);
    match rest {
        0..=4 => quotient,
        5 => quotient + quotient % 2,
        _ => quotient + 1,
    }
}
