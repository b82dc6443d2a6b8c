//! One call as a state machine: what to do next, and what an attempt's end leads to.
//!
//! [`Call::step`] says what to do now (make an attempt, wait, end); [`Call::settle`] takes the report
//! of an attempt back. Both are values in, values out: the loop in `client/run.rs` drives them with
//! sockets and the real clock, a simulation drives them in virtual time, and nothing else does.
//!
//! What is safe is decided before this (`classify`); here it is joined with what is left: a body
//! that can be produced again, attempts, candidates, budget, time. Where the client has proxies each
//! attempt goes through one of them, which is `call/route.rs`; the hops that follow a redirect are
//! `call/hop.rs`.

mod hop;
mod route;

pub use hop::HopTicket;
use route::{Route, Routes, Via};

use super::circuit::Ticket as CircuitTicket;
use super::classify::{
    Advice, Blame, Delivery, Health, Outcome, Reason, Rules, Then, Verdict, advised, classify,
};
use super::endpoint::EndpointId;
use super::event::Event;
use super::limits::{AttemptLimits, Limits, Timeouts, limits};
use super::mutant::planted;
use super::pick::{Pick, Tried, Wanted, pick, pick_at};
use super::plan::{Plan, WhenNoneEligible};
use super::pool::Pool;
use super::redirect::Refused;
use super::report::{Cause, Ending, Limit, Report};
use super::state::State::Cooling;
use super::status_set::StatusSet;
use super::timeout::Execution;
use std::time::{Duration, Instant};

/// One call in progress.
pub struct Call<'a> {
    plan: Plan<'a>,
    started: Instant,
    /// What the timeout policy is told of the call so far.
    execution: Execution,
    /// The timeout policy looks at what answers took.
    uses_latency: bool,
    tried: Vec<Tried>,
    /// The proxies that led nowhere.
    routes: Routes,
    /// Attempts settled so far, replays included: the next report's place in the list.
    settled: usize,
    /// Attempts made, replays not counted.
    made: u32,
    /// The last complete answer.
    answer: Option<End>,
    /// What made the call move on: the attempt's place, what it would end in, and whether a server may
    /// have received it.
    left: Option<Left>,
    /// The wait before the pick at hand is over.
    waited: bool,
    /// Nobody waits for it any more.
    cancelled: bool,
    state: State,
    scratch: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Left {
    attempt: usize,
    failure: Failure,
    delivery: Delivery,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Picking,
    Replaying(Ticket),
    /// Another way to the same endpoint is looked for, whose ticket stays out.
    Rerouting(Ticket),
    Ended(End),
}

/// What to do now.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// Make this attempt, then settle it.
    Attempt(Ticket),
    /// Do nothing until then.
    Wait(Instant),
    /// It is over.
    End(End),
}

/// Permission for one attempt.
#[derive(Debug, Clone, Copy)]
#[must_use = "an attempt is settled exactly once"]
pub struct Ticket {
    /// Where to.
    pub endpoint: EndpointId,
    via: Option<Via>,
    /// Not on an idle connection: this is the replay after a stale one (ruling R2).
    pub fresh: bool,
    began: Instant,
    /// No other endpoint could follow.
    only_one_left: bool,
    last: bool,
    latency: Option<Duration>,
    limits: Option<AttemptLimits>,
    circuit: CircuitTicket,
}

impl Ticket {
    /// What bounds the attempt, once [`Call::limit`] has said so.
    pub fn limits(&self) -> Limits {
        self.limits.unwrap_or_default().limits
    }

    /// Through which proxy; `None` where the client has none, or asks none for this endpoint.
    pub fn proxy(&self) -> Option<EndpointId> {
        self.via.map(|via| via.proxy)
    }

    /// It decides whether the endpoint, or the proxy, has recovered.
    pub fn is_probe(&self) -> bool {
        self.circuit.is_probe() || self.via.is_some_and(|via| via.circuit.is_probe())
    }
}

/// How a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With the last complete answer (ruling R11).
    Answer,
    /// With that answer turned down by the caller's judge.
    Rejected,
    /// Without one.
    Error(Failure),
}

/// Why a call ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Nothing may be tried now.
    NoEndpoint,
    /// No further attempt is left or allowed.
    AttemptsSpent,
    /// The deadline passed, or would pass during the next wait.
    Deadline,
    /// The retry budget is empty.
    BudgetSpent,
    /// Only the body, which cannot be produced again, forbade another attempt.
    NotReplayable,
    /// The answer's body broke off or stalled.
    Body,
    /// The answer's body is larger than allowed.
    TooLarge,
    /// The caller's body source failed.
    BodySource,
    /// A redirect may not be followed.
    Redirect(Refused),
    /// The caller cancelled the call, or shut the client down.
    Cancelled,
}

impl<'a> Call<'a> {
    /// A call that begins at `now`.
    pub fn new(plan: Plan<'a>, now: Instant) -> Self {
        Call {
            uses_latency: plan.attempt_timeout.uses_latency(),
            plan,
            started: now,
            execution: Execution::default(),
            tried: Vec::new(),
            routes: Routes::default(),
            settled: 0,
            made: 0,
            answer: None,
            left: None,
            waited: false,
            cancelled: false,
            state: State::Picking,
            scratch: Vec::new(),
        }
    }

    /// Nobody waits for it any more: unless it has ended, its next step ends it. An earlier answer
    /// is not handed out in its place, because this call had moved on from it.
    pub fn cancel(&mut self) {
        self.cancelled = true;
    }

    /// How it has ended, if it has: what the next step would say, for which nothing is looked at.
    pub fn ended(&self) -> Option<End> {
        match self.state {
            State::Ended(end) => Some(end),
            State::Picking | State::Replaying(_) | State::Rerouting(_) => None,
        }
    }

    /// What to do at `now`. `chance` holds fresh random numbers: for the draw of an endpoint, for waits,
    /// for the draw of a proxy.
    pub fn step(
        &mut self,
        pool: &mut Pool,
        now: Instant,
        chance: [u64; 3],
        events: &mut Vec<Event>,
    ) -> Step {
        match self.state {
            State::Ended(end) => return Step::End(end),
            State::Replaying(ticket) if !self.cancelled && is_listed(pool, &ticket) => {
                return Step::Attempt(ticket);
            }
            // Cancelled, or taken out of the list in the meantime: then the call goes on without it
            // (ruling R22).
            State::Replaying(ticket) => {
                Call::abandon(pool, ticket, now, events);
                self.state = State::Picking;
            }
            State::Picking | State::Rerouting(_) => {}
        }
        if self.cancelled {
            self.give_up_route(pool, now, events);
            let end = End::Error(Failure::Cancelled);
            self.state = State::Ended(end);
            return Step::End(end);
        }
        if self.plan.deadline.is_some_and(|deadline| now >= deadline) && !planted!(DeadlineIgnored)
        {
            return self.end(pool, Failure::Deadline, now, events);
        }
        let now = pool.turn(now, events);
        if let Some(ticket) = self.reroute(pool, now, chance, events) {
            return Step::Attempt(ticket);
        }
        let Some((pick, early, route)) = self.choose(pool, now, chance) else {
            let left = self.left.map_or(Failure::NoEndpoint, |left| left.failure);
            return self.end(pool, left, now, events);
        };
        if pick.attempts > 0 && !self.waited {
            let wait = self.plan.backoff.full_jitter(pick.attempts - 1, chance[1]);
            let until = now + wait;
            if self.plan.deadline.is_some_and(|deadline| until >= deadline) {
                return self.end(pool, Failure::Deadline, now, events);
            }
            self.waited = !planted!(WaitsForever);
            events.push(Event::Waiting { wait });
            return Step::Wait(until);
        }
        self.waited = false;
        let early_at_all = early || route.is_early();
        if !self.pay(pool, &pick, early_at_all, now) {
            let failure = if early_at_all { Failure::NoEndpoint } else { Failure::BudgetSpent };
            return self.end(pool, failure, now, events);
        }
        let Some(circuit) = self.enter(pool, &pick, early, now, chance[1], events) else {
            return self.end(pool, Failure::NoEndpoint, now, events);
        };
        self.tell_failover(pool, &pick, events);
        let member = &pool.members()[pick.place];
        let latency = if self.uses_latency { member.latency.p99() } else { None };
        let ticket = Ticket {
            endpoint: member.endpoint.id,
            via: None,
            fresh: false,
            began: now,
            only_one_left: pick.last,
            last: false,
            latency,
            limits: None,
            circuit,
        };
        match self.set_out(pool, ticket, route, now, chance[1], events) {
            Some(ticket) => Step::Attempt(ticket),
            None => {
                Call::abandon(pool, ticket, now, events);
                self.end(pool, Failure::NoEndpoint, now, events)
            }
        }
    }

    /// Gives a ticket its limits. Apart from [`step`](Call::step), because the timeout policy may be
    /// the caller's own code, which runs under no lock.
    pub fn limit(&self, ticket: Ticket) -> Ticket {
        if ticket.limits.is_some() {
            // A replay shares those of the attempt it repeats.
            return ticket;
        }
        let limits = self.limits_from(ticket.began, ticket.last, ticket.latency);
        Ticket { limits: Some(limits), ..ticket }
    }

    fn limits_from(&self, began: Instant, last: bool, latency: Option<Duration>) -> AttemptLimits {
        let mut execution = self.execution;
        execution.since_start = began.saturating_duration_since(self.started);
        execution.latency = latency;
        let timeouts = Timeouts {
            attempt: self.plan.attempt_timeout.attempt_timeout(&execution),
            connect: self.plan.connect_timeout,
            connect_last: self.plan.connect_timeout_last,
            stall: self.plan.stall_timeout,
        };
        let mut limits = limits(began, self.plan.deadline, timeouts, last);
        if self.plan.streamed {
            limits.limits.body_until = self.plan.deadline;
        }
        limits
    }

    /// Tells the pool how long a probe may take, which is not lost before that.
    pub fn begin(pool: &mut Pool, ticket: &Ticket, now: Instant, events: &mut Vec<Event>) {
        let Some(until) = ticket.limits().until else { return };
        if ticket.circuit.is_probe() {
            pool.let_run(ticket.endpoint, ticket.circuit, until, now, events);
        }
        if let (Some(via), Some(proxies)) = (ticket.via, &mut pool.proxies) {
            via.let_run(proxies, until, now, events);
        }
    }

    /// Judges an attempt. Changes nothing: the caller's callbacks see the outcome before it counts.
    pub fn judge(&self, ticket: &Ticket, report: &Report, verdict: Verdict) -> Outcome {
        let limits = ticket.limits.unwrap_or_default();
        classify(report, &self.rules(ticket.endpoint, limits, self.plan.repeatable, verdict))
    }

    fn rules(
        &self,
        to: EndpointId,
        limits: AttemptLimits,
        repeatable: bool,
        verdict: Verdict,
    ) -> Rules<'_> {
        Rules {
            suspected: self.routes.suspects(to) || planted!(EitherIsEndpoint),
            streamed: self.plan.streamed,
            repeatable,
            resend_statuses: self.plan.resend_statuses,
            failure_statuses: self.plan.failure_statuses,
            connect_cut: limits.connect_cut_by_deadline,
            attempt_cut: limits.until_cut_by_deadline,
            verdict,
        }
    }

    /// Takes the report of the attempt that `ticket` permitted, with its outcome.
    #[expect(clippy::too_many_arguments, reason = "the whole end of an attempt, as values")]
    pub fn settle(
        &mut self,
        pool: &mut Pool,
        ticket: &Ticket,
        report: &Report,
        outcome: &Outcome,
        advice: Advice,
        now: Instant,
        chance: u64,
        events: &mut Vec<Event>,
    ) {
        let outcome = advised(outcome, advice, self.plan.repeatable);
        let attempt = self.settled;
        self.settled += 1;
        self.note(pool, ticket, report, &outcome);
        self.execution.record(report);
        self.left =
            Some(Left { attempt, failure: last_failure(report), delivery: outcome.delivery });
        if outcome.then == Then::Replay && self.plan.replayable {
            // The same attempt once more: what it comes to, the replay will tell.
            self.state = State::Replaying(Ticket { fresh: !planted!(ReplayNotFresh), ..*ticket });
            return;
        }
        self.settle_route(pool, ticket.endpoint, ticket.via, report, &outcome, now, chance, events);
        if outcome.lost_its_way() {
            self.lost(pool, *ticket, report, &outcome, now, events);
            return;
        }
        self.routes.clear(pool, now, events);
        let outcome = &outcome.at_endpoint();
        self.measure(pool, ticket, report, outcome, now);
        pool.record(ticket.endpoint, ticket.circuit, report, outcome, now, chance, events);
        let now = pool.turn(now, events);
        if report.ending == Ending::Answered {
            let rejected = outcome.reason == Reason::Predicate;
            self.answer = Some(if rejected { End::Rejected } else { End::Answer });
            self.tell_hold(pool, ticket.endpoint, outcome, now, events);
        }
        if self.made == 1 && outcome.then == Then::Deliver {
            if let Some(budget) = &mut pool.budget {
                budget.deposit(now);
            }
        }
        self.state = self.next(pool, report, outcome, now);
    }

    /// What follows an attempt that is recorded.
    fn next(&mut self, pool: &Pool, report: &Report, outcome: &Outcome, now: Instant) -> State {
        match outcome.then {
            Then::Deliver => State::Ended(self.answer.unwrap_or(End::Answer)),
            Then::Stop => State::Ended(self.stopped(report, outcome)),
            Then::Replay => State::Ended(self.ending(Failure::NotReplayable, outcome)),
            Then::MoveOn => match self.pick(pool, now, 0) {
                Some(_) if self.plan.replayable => State::Picking,
                Some(_) => State::Ended(self.ending(Failure::NotReplayable, outcome)),
                None => State::Ended(self.ending(last_failure(report), outcome)),
            },
        }
    }

    /// Takes in that the body of a streamed answer came whole: the proxy has handed it over.
    pub fn settle_whole_body(pool: &mut Pool, ticket: Ticket) {
        if let (Some(via), Some(proxies)) = (ticket.via, &mut pool.proxies) {
            proxies.vouch(via.proxy, via.circuit);
        }
    }

    /// Judges the end of a streamed body that broke off (ruling R21).
    pub fn judge_body(report: &Report) -> Outcome {
        const NONE: &StatusSet = &StatusSet::EMPTY;
        let rules = Rules {
            repeatable: false,
            resend_statuses: NONE,
            failure_statuses: NONE,
            connect_cut: false,
            suspected: false,
            streamed: true,
            // The only limit of the whole body is the deadline of the call.
            attempt_cut: true,
            verdict: Verdict::Default,
        };
        classify(report, &rules)
    }

    /// Takes in that the body of a streamed answer broke off, after the ticket of its attempt was
    /// settled at the head: one more failure of its endpoint, where it is the endpoint's (ruling R21).
    pub fn settle_body(
        pool: &mut Pool,
        ticket: Ticket,
        report: &Report,
        outcome: &Outcome,
        now: Instant,
        chance: u64,
        events: &mut Vec<Event>,
    ) {
        if outcome.health == Health::Bad {
            let (endpoint, circuit) = (ticket.endpoint, ticket.circuit);
            if let (Some(via), Some(proxies)) = (ticket.via, &mut pool.proxies) {
                via.record_more(proxies, report, outcome, now, chance, events);
            }
            let outcome = &outcome.at_endpoint();
            pool.record_more(endpoint, circuit, report, outcome, now, chance, events);
            pool.turn(now, events);
        }
    }

    /// Takes back a ticket of which nothing became: a panic on the way.
    pub fn abandon(pool: &mut Pool, ticket: Ticket, now: Instant, events: &mut Vec<Event>) {
        pool.abandon(ticket.endpoint, ticket.circuit, now, events);
        if let (Some(via), Some(proxies)) = (ticket.via, &mut pool.proxies) {
            proxies.abandon(via.proxy, via.circuit, now, events);
        }
    }

    /// The next endpoint, whether its wait is not over yet, and the way to it.
    fn choose(
        &mut self,
        pool: &Pool,
        now: Instant,
        chance: [u64; 3],
    ) -> Option<(Pick, bool, Route)> {
        loop {
            let (pick, early) = self.choose_endpoint(pool, now, chance[0])?;
            if let Some(route) = self.route(pool, pick.place, now, chance[2]) {
                return Some((pick, early, route));
            }
            // No proxy leads there now; one that needs none may be left.
            if self.plan.only.is_some() || early || !pool.has_direct() {
                return None;
            }
            self.rule_out(pool.members()[pick.place].endpoint);
        }
    }

    fn choose_endpoint(&mut self, pool: &Pool, now: Instant, chance: u64) -> Option<(Pick, bool)> {
        if let Some(id) = self.plan.only {
            let place = pool.place(id).filter(|_| self.made == 0)?;
            return Some((Pick { place, attempts: 0, probe: true, last: true }, true));
        }
        if let Some(pick) = self.pick(pool, now, chance) {
            return Some((pick, false));
        }
        let nearest =
            self.made == 0 && self.plan.when_none_eligible == WhenNoneEligible::TryNearest;
        let place = match self.plan.at {
            Some(id) => pool.place(id).filter(|place| pool.state(*place, now) == Cooling),
            None => pool.nearest(),
        };
        let place = place.filter(|_| nearest)?;
        Some((Pick { place, attempts: 0, probe: true, last: true }, true))
    }

    fn pick(&mut self, pool: &Pool, now: Instant, chance: u64) -> Option<Pick> {
        let once = self.plan.through.is_some() && self.made > 0;
        if self.attempts_left() == Some(0) || self.plan.only.is_some() || once {
            return None;
        }
        let wanted = Wanted {
            tried: &self.tried,
            attempts_per_endpoint: self.plan.attempts_per_endpoint,
            may_probe: self.plan.repeatable && self.plan.replayable,
        };
        if let Some(id) = self.plan.at {
            return pick_at(pool, &wanted, pool.place(id)?);
        }
        pick(pool, &wanted, now, chance, &mut self.scratch)
    }

    /// Pays for an attempt that adds load, where there is a budget (ruling R20).
    fn pay(&self, pool: &mut Pool, pick: &Pick, early: bool, now: Instant) -> bool {
        let again = self.left.is_some_and(|left| left.delivery > Delivery::NotSent);
        let check = self.plan.only.is_some();
        match &mut pool.budget {
            _ if planted!(BudgetUnpaid) => true,
            Some(budget) if !check && (again || early || pick.attempts > 0) => budget.withdraw(now),
            _ => true,
        }
    }

    fn enter(
        &self,
        pool: &mut Pool,
        pick: &Pick,
        early: bool,
        now: Instant,
        chance: u64,
        events: &mut Vec<Event>,
    ) -> Option<CircuitTicket> {
        if self.plan.only.is_some() {
            return Some(pool.enter_check(pick.place, now, chance, events));
        }
        pool.enter(pick.place, early, now, chance, events)
    }

    /// Lets a policy that draws its limits from experience learn what this attempt took.
    fn measure(
        &self,
        pool: &mut Pool,
        ticket: &Ticket,
        report: &Report,
        outcome: &Outcome,
        now: Instant,
    ) {
        if !self.uses_latency {
            return;
        }
        let took = now.saturating_duration_since(ticket.began);
        let Some(latency) = pool.latency_mut(ticket.endpoint) else { return };
        match report.ending {
            // A head alone would teach limits that are too short for a whole answer.
            Ending::Answered if outcome.health == Health::Good && !self.plan.streamed => {
                latency.record_answer(took);
            }
            // Only that it takes at least so long is known, and only where the limit was its own.
            Ending::Failed(Cause::TimedOut(Limit::Attempt))
                if report.asked_to_send && outcome.reason == Reason::Timeout =>
            {
                latency.record_timeout(took);
            }
            _ => {}
        }
    }

    fn attempts_left(&self) -> Option<u32> {
        self.plan.max_attempts.map(|max| max.saturating_sub(self.made))
    }

    /// Remembers where the call has been.
    fn note(&mut self, pool: &Pool, ticket: &Ticket, report: &Report, outcome: &Outcome) {
        // A replay shares the attempt it repeats.
        let replay = ticket.fresh && !planted!(ReplayCounts);
        self.made += u32::from(!replay);
        if outcome.then == Then::Deliver {
            // The call ends here, and nothing is picked any more.
            return;
        }
        let known = self.tried.iter().position(|tried| tried.endpoint.id == ticket.endpoint);
        let mut tried = match (known, pool.place(ticket.endpoint)) {
            (Some(known), _) => self.tried.remove(known),
            (None, Some(place)) => {
                let endpoint = pool.members()[place].endpoint;
                Tried { endpoint, attempts: 0, failed: false, hopeless: false }
            }
            // Taken out of the list in the meantime: it will not be picked again.
            (None, None) => return,
        };
        // A way that leads nowhere uses up a proxy, and not the endpoint.
        tried.attempts += u32::from(!replay && !outcome.lost_its_way());
        tried.failed |= outcome.blame == Blame::Endpoint;
        tried.hopeless |=
            outcome.blame == Blame::Endpoint && report.ending == Ending::Failed(Cause::NameUnknown);
        // Nobody's fault, and not to be got around by asking another proxy.
        tried.hopeless |= outcome.reason == Reason::TunnelRefused && outcome.blame == Blame::Nobody;
        // The one tried last stands last: a failover is told by comparing with it.
        self.tried.push(tried);
    }

    fn tell_failover(&self, pool: &mut Pool, pick: &Pick, events: &mut Vec<Event>) {
        let (Some(left), Some(from), false) = (self.left, self.tried.last(), pool.failover_told)
        else {
            return;
        };
        let (from, to) = (from.endpoint.id, pool.members()[pick.place].endpoint.id);
        if from != to {
            pool.failover_told = true;
            events.push(Event::Failover { from, to, failed: left.attempt });
        }
    }

    fn tell_hold(
        &self,
        pool: &mut Pool,
        endpoint: EndpointId,
        outcome: &Outcome,
        now: Instant,
        events: &mut Vec<Event>,
    ) {
        if outcome.blame == Blame::Endpoint {
            return;
        }
        let Some(place) = pool.place(endpoint) else { return };
        let endpoint = pool.members()[place].endpoint;
        let better_failed = self
            .tried
            .iter()
            .any(|tried| tried.failed && tried.endpoint.priority < endpoint.priority);
        pool.hold.answered(endpoint, better_failed, self.plan.hold_for, now, events);
    }

    fn stopped(&self, report: &Report, outcome: &Outcome) -> End {
        match report.ending {
            Ending::Answered => self.answer.unwrap_or(End::Answer),
            Ending::Failed(Cause::Cancelled) => End::Error(Failure::Cancelled),
            Ending::Failed(Cause::TooLarge) => End::Error(Failure::TooLarge),
            Ending::Failed(Cause::BodySource) => self.ending(Failure::BodySource, outcome),
            _ if outcome.reason == Reason::Deadline => self.ending(Failure::Deadline, outcome),
            _ => self.ending(last_failure(report), outcome),
        }
    }

    /// The end of a call whose last attempt had this outcome. An earlier answer is the better end
    /// (ruling R11), unless the last attempt may have done what the caller must not do twice: then
    /// that is the truth to tell.
    fn ending(&self, failure: Failure, outcome: &Outcome) -> End {
        let undecided = outcome.then != Then::MoveOn
            && outcome.delivery >= Delivery::Maybe
            && !self.plan.repeatable;
        match self.answer {
            Some(answer) if !undecided && !planted!(AnswerForgotten) => answer,
            _ => End::Error(failure),
        }
    }

    fn end(
        &mut self,
        pool: &mut Pool,
        failure: Failure,
        now: Instant,
        events: &mut Vec<Event>,
    ) -> Step {
        self.give_up_route(pool, now, events);
        // Between attempts nothing is undecided: what may have been done twice has stopped the call.
        let end = self.answer.unwrap_or(End::Error(failure));
        self.state = State::Ended(end);
        Step::End(end)
    }
}

/// Whether what a ticket is for is still in the list.
fn is_listed(pool: &Pool, ticket: &Ticket) -> bool {
    let proxies = pool.proxies.as_ref();
    let way = ticket.via.is_none_or(|via| proxies.is_some_and(|p| p.place(via.proxy).is_some()));
    way && pool.place(ticket.endpoint).is_some()
}

/// What to call the end of a call after which nothing is left to try.
fn last_failure(report: &Report) -> Failure {
    if report.status.is_some() && report.ending != Ending::Answered {
        Failure::Body
    } else {
        Failure::AttemptsSpent
    }
}
