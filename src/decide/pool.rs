//! The endpoints of a client with their live state, and its proxies, which are a pool of the same make
//! inside theirs. Stores and delegates: what a state means for a request is decided in `pick`, what
//! an outcome means in `classify`, `circuit` and `weight`.
//!
//! Who may be picked is kept ready, so that a pick costs O(log n): one weighted draw over those that
//! are eligible, one over those that cool without a breaker and only come behind the others (ruling
//! R10), and a list of those that wait for a probe (`pool/lists.rs`). States change with time as well:
//! [`Pool::turn`] catches up with it, and has to be called before a pick. Replacing the list of
//! endpoints is `pool/replace.rs`.

mod lists;
mod places;
mod replace;

use super::budget::{Budget, BudgetSettings};
use super::circuit::{BreakerSettings, Change, Circuit, Ticket as CircuitTicket};
use super::classify::{Health, Outcome, Passage, ProxyFault, Reason};
use super::draw::WeightedDraw;
use super::endpoint::{Endpoint, EndpointId, Kind, Reach};
use super::event::Event;
use super::hold::Hold;
use super::member::Member;
use super::mutant::planted;
use super::report::{Phase, Report};
use super::state::State;
use super::weight::{Weight, WeightStrategy};
use places::Places;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a pool is told once, when the client is built.
#[derive(Debug, Clone, Copy)]
pub struct PoolSettings {
    /// What its members are.
    pub kind: Kind,
    /// A circuit for each origin; `None`: no endpoint is ever refused for its failures.
    pub breaker: Option<BreakerSettings>,
    /// Of proxies: by what settings each kind of failure is counted, by its place in
    /// [`ProxyFault::ALL`]; `None`: by those of the breaker.
    pub faults: [Option<BreakerSettings>; ProxyFault::ALL.len()],
    /// How weights follow outcomes, where endpoints share a priority.
    pub strategy: WeightStrategy,
    /// Weights follow outcomes also while no priority is shared: a weighted list of one, to which
    /// others may be added.
    pub weighted: bool,
    /// Whether a server's Retry-After is obeyed.
    pub honor_retry_after: bool,
    /// What repeats may cost; `None`: nothing but the attempts of each call bounds them.
    pub budget: Option<BudgetSettings>,
}

impl Default for PoolSettings {
    fn default() -> Self {
        PoolSettings {
            kind: Kind::Endpoint,
            breaker: None,
            faults: [None; ProxyFault::ALL.len()],
            strategy: WeightStrategy::agoda(),
            weighted: false,
            honor_retry_after: true,
            budget: None,
        }
    }
}

/// A member to be put into a pool.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Which one, and its priority.
    pub endpoint: Endpoint,
    /// Its weight at the start, and the bounds of it.
    pub weight: Weight,
    /// One that stays keeps the maximum it has: the update names none (ruling R22).
    pub keep_maximum: bool,
    /// Scheme, host and port: what shares a circuit.
    pub origin: Arc<str>,
    /// By what way it is reached, or what it leads to.
    pub reach: Reach,
}

impl Entry {
    /// The weight of an endpoint that stays: the live one, under the new maximum.
    fn weight_of_kept(&self, live: Weight) -> Weight {
        if self.keep_maximum {
            return live;
        }
        live.with_max(self.weight.max()).unwrap_or(self.weight)
    }
}

/// A circuit, and the endpoints it guards: all of one scheme, host and port.
#[derive(Debug, Clone)]
struct Origin {
    circuit: Circuit,
    members: Vec<usize>,
}

/// All endpoints of one client and what has become of them.
#[derive(Debug, Clone)]
pub struct Pool {
    settings: PoolSettings,
    /// By priority, ties as listed. A place in it is good until the list is replaced.
    members: Vec<Member>,
    places: Places,
    /// Endpoints taken out while they cooled, in case they come back before that is over.
    gone: BTreeMap<EndpointId, Member>,
    origins: Vec<Origin>,
    origin_places: BTreeMap<Arc<str>, usize>,
    eligible: WeightedDraw,
    behind: WeightedDraw,
    /// Priority and place of those that wait for a probe.
    probes: BTreeSet<(u32, usize)>,
    /// When whose state changes by itself.
    due: BTreeSet<(Instant, usize)>,
    /// The latest instant of which the lists tell.
    latest: Instant,
    /// Members that could be picked at all.
    candidates: usize,
    /// Members with a probe under way.
    probing: usize,
    /// Members at their least weight.
    at_minimum: usize,
    /// Weights matter.
    weighted: bool,
    /// Which of them the order starts at.
    pub hold: Hold,
    /// The one failover event of this client has been given.
    pub failover_told: bool,
    /// What repeats may cost, if that is bounded.
    pub budget: Option<Budget>,
    /// The ways to the endpoints; `None`: straight to each.
    pub proxies: Option<Box<Pool>>,
}

impl Pool {
    /// A pool of these endpoints, all of them new.
    pub fn new(entries: Vec<Entry>, settings: PoolSettings, now: Instant) -> Self {
        let mut pool = Pool {
            settings,
            members: Vec::new(),
            places: Places::default(),
            gone: BTreeMap::new(),
            origins: Vec::new(),
            origin_places: BTreeMap::new(),
            eligible: WeightedDraw::new(),
            behind: WeightedDraw::new(),
            probes: BTreeSet::new(),
            due: BTreeSet::new(),
            latest: now,
            candidates: 0,
            probing: 0,
            at_minimum: 0,
            weighted: false,
            hold: Hold::default(),
            failover_told: false,
            budget: settings.budget.map(|budget| Budget::new(budget, entries.len(), now)),
            proxies: None,
        };
        pool.replace(entries, now, &mut Vec::new());
        pool
    }

    /// Lets an attempt in. `early`: before the wait is over (`try_nearest` of ruling R8).
    ///
    /// `None` where the circuit lets nobody in; a pick of the same instant never meets that.
    pub fn enter(
        &mut self,
        place: usize,
        early: bool,
        now: Instant,
        chance: u64,
        events: &mut Vec<Event>,
    ) -> Option<CircuitTicket> {
        let circuit = &mut self.origins[self.members[place].origin].circuit;
        let ticket =
            if early { circuit.enter_early(now, chance) } else { circuit.enter(now, chance) };
        let ticket = ticket.ok()?;
        self.members[place].in_flight += 1;
        if ticket.is_probe() {
            self.refresh_origin(place, now, events);
        }
        Some(ticket)
    }

    /// Tells how long the attempt of a probe may take.
    pub fn let_run(
        &mut self,
        id: EndpointId,
        probe: CircuitTicket,
        until: Instant,
        now: Instant,
        events: &mut Vec<Event>,
    ) {
        let Some(place) = self.places.get(id) else { return };
        self.origins[self.members[place].origin].circuit.let_run(probe, until);
        self.refresh_origin(place, now, events);
    }

    /// Lets a health check in, whatever the state: it is the caller who asks, and what comes of it is
    /// as good as any probe.
    pub fn enter_check(
        &mut self,
        place: usize,
        now: Instant,
        chance: u64,
        events: &mut Vec<Event>,
    ) -> CircuitTicket {
        if let Some(ticket) = self.enter(place, true, now, chance, events) {
            return ticket;
        }
        self.members[place].in_flight += 1;
        self.origins[self.members[place].origin].circuit.current_ticket()
    }

    /// Records what became of an attempt that [`enter`](Pool::enter) let in.
    #[expect(clippy::too_many_arguments, reason = "the whole end of an attempt, as values")]
    pub fn record(
        &mut self,
        id: EndpointId,
        ticket: CircuitTicket,
        report: &Report,
        outcome: &Outcome,
        now: Instant,
        chance: u64,
        events: &mut Vec<Event>,
    ) {
        let Some(place) = self.leave(id) else { return };
        self.members[place].record.attempts += 1;
        self.take_in(place, ticket, report, outcome, now, chance, events);
    }

    /// Records what became later of an attempt that is recorded already, by the same ticket.
    #[expect(clippy::too_many_arguments, reason = "the whole end of an attempt, as values")]
    pub fn record_more(
        &mut self,
        id: EndpointId,
        ticket: CircuitTicket,
        report: &Report,
        outcome: &Outcome,
        now: Instant,
        chance: u64,
        events: &mut Vec<Event>,
    ) {
        let Some(place) = self.place(id) else { return };
        self.take_in(place, ticket, report, outcome, now, chance, events);
    }

    #[expect(clippy::too_many_arguments, reason = "the whole end of an attempt, as values")]
    fn take_in(
        &mut self,
        place: usize,
        ticket: CircuitTicket,
        report: &Report,
        outcome: &Outcome,
        now: Instant,
        chance: u64,
        events: &mut Vec<Event>,
    ) {
        let member = &mut self.members[place];
        if outcome.reason != Reason::None {
            member.record.counts[outcome.reason.code() as usize] += 1;
        }
        let asked = report.retry_after.filter(|_| self.settings.honor_retry_after);
        let change = self.settle_circuit(place, ticket, outcome, asked, now, chance);
        if change == Change::Stale {
            return;
        }
        self.remember(place, report, outcome);
        if let Some(asked) = asked {
            if self.settings.breaker.is_none() {
                self.cool(place, asked, now);
            }
            if outcome.health == Health::Good {
                // It will be left alone, and this is why.
                self.members[place].record.reason = outcome.reason;
            }
        }
        if outcome.passage == Passage::Unauthorized && !planted!(AuthNotLasting) {
            self.members[place].disabled = true;
        }
        self.follow(place, change, outcome, events);
        self.refresh_origin(place, now, events);
    }

    /// Takes back an attempt of which nothing became.
    pub fn abandon(
        &mut self,
        id: EndpointId,
        ticket: CircuitTicket,
        now: Instant,
        events: &mut Vec<Event>,
    ) {
        if planted!(SettleLost) {
            return;
        }
        let Some(place) = self.leave(id) else { return };
        self.origins[self.members[place].origin].circuit.release(ticket);
        self.refresh_origin(place, now, events);
    }

    /// Ends an attempt of which others will tell what to make: its ticket stays out, for
    /// [`record_more`](Pool::record_more) or [`release`](Pool::release).
    pub fn suspend(&mut self, id: EndpointId) {
        if let Some(place) = self.leave(id) {
            self.members[place].record.attempts += 1;
        }
    }

    /// Takes back the ticket of an attempt that has ended already.
    pub fn release(
        &mut self,
        id: EndpointId,
        ticket: CircuitTicket,
        now: Instant,
        events: &mut Vec<Event>,
    ) {
        let Some(place) = self.place(id) else { return };
        let _ = self.origins[self.members[place].origin].circuit.release(ticket);
        self.refresh_origin(place, now, events);
    }

    /// An answer that began well, by this ticket, is whole.
    pub fn vouch(&mut self, id: EndpointId, ticket: CircuitTicket) {
        if let Some(place) = self.place(id) {
            self.origins[self.members[place].origin].circuit.succeed(ticket);
        }
    }

    /// Takes a member out of service, with the operator's words.
    pub fn disable(
        &mut self,
        id: EndpointId,
        why: &str,
        now: Instant,
        events: &mut Vec<Event>,
    ) -> bool {
        let Some(place) = self.places.get(id) else {
            return self.proxies.as_mut().is_some_and(|p| p.disable(id, why, now, events));
        };
        let member = &mut self.members[place];
        member.disabled = true;
        member.record.reason = Reason::Operator;
        member.record.phase = Phase::None;
        member.record.detail = why.to_owned();
        self.refresh(place, now, events);
        true
    }

    /// Puts a member back into service: with a breaker, its first request is a probe.
    pub fn enable(&mut self, id: EndpointId, now: Instant, events: &mut Vec<Event>) -> bool {
        let Some(place) = self.places.get(id) else {
            return self.proxies.as_mut().is_some_and(|p| p.enable(id, now, events));
        };
        let member = &mut self.members[place];
        if std::mem::replace(&mut member.disabled, false) {
            member.cooling_until = None;
            if self.settings.breaker.is_some() {
                self.origins[member.origin].circuit.require_probe();
            }
            self.refresh_origin(place, now, events);
        }
        true
    }

    /// A member refused our credentials, and there are others now: its first request is a probe (P-7).
    pub fn renew(&mut self, id: EndpointId, now: Instant, events: &mut Vec<Event>) {
        if self.place(id).is_some_and(|place| self.members[place].record.reason == Reason::Auth) {
            self.enable(id, now, events);
        }
    }

    /// Sets the live and the maximum weight.
    pub fn set_weight(&mut self, id: EndpointId, weight: Weight, events: &mut Vec<Event>) -> bool {
        let Some(place) = self.places.get(id) else {
            return self.proxies.as_mut().is_some_and(|p| p.set_weight(id, weight, events));
        };
        self.weigh(place, weight, events);
        true
    }

    /// The members by priority.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Whether an endpoint is listed that needs no proxy.
    pub fn has_direct(&self) -> bool {
        self.members.iter().any(|member| member.reach.direct)
    }

    /// The place of a member.
    pub fn place(&self, id: EndpointId) -> Option<usize> {
        self.places.get(id)
    }

    /// The state of a member at `now`.
    pub fn state(&self, place: usize, now: Instant) -> State {
        let member = &self.members[place];
        member.state(self.origins[member.origin].circuit.state(now), now)
    }

    /// How long a member is kept away from.
    pub fn wait(&self, place: usize, now: Instant) -> Duration {
        let member = &self.members[place];
        member.wait(self.origins[member.origin].circuit.state(now), now)
    }

    /// What the circuit of a member advises to wait, also below its threshold. Nothing of a disabled one: it
    /// takes more than time.
    pub fn advice(&self, id: EndpointId, now: Instant) -> Duration {
        match self.places.get(id) {
            Some(place) if self.state(place, now) == State::Disabled => Duration::ZERO,
            Some(place) if self.settings.breaker.is_some() => {
                self.origins[self.members[place].origin].circuit.wait(now)
            }
            Some(place) => self.wait(place, now),
            None => self.proxies.as_ref().map_or(Duration::ZERO, |p| p.advice(id, now)),
        }
    }

    /// The circuit settings, if there is a breaker.
    pub fn breaker(&self) -> Option<BreakerSettings> {
        self.settings.breaker
    }

    /// What an endpoint's good answers took.
    pub fn latency_mut(&mut self, id: EndpointId) -> Option<&mut super::latency::Latency> {
        let place = self.place(id)?;
        Some(&mut self.members[place].latency)
    }

    /// Counts an attempt as ended, and says at which place. One taken out of the list has none, and
    /// what ends there changes nothing; only its count is kept right, in case it comes back.
    fn leave(&mut self, id: EndpointId) -> Option<usize> {
        let place = self.place(id);
        let member = match place {
            Some(place) => Some(&mut self.members[place]),
            None => self.gone.get_mut(&id),
        };
        if let Some(member) = member {
            member.in_flight = member.in_flight.saturating_sub(1);
        }
        place
    }

    fn settle_circuit(
        &mut self,
        place: usize,
        ticket: CircuitTicket,
        outcome: &Outcome,
        asked: Option<Duration>,
        now: Instant,
        chance: u64,
    ) -> Change {
        let Some(breaker) = self.settings.breaker else { return Change::Kept };
        let circuit = &mut self.origins[self.members[place].origin].circuit;
        if let (Health::Bad, Passage::Failed(fault)) = (outcome.health, outcome.passage) {
            let settings = self.settings.faults[fault as usize].unwrap_or(breaker);
            return circuit.fail_at(fault, settings, ticket, asked, now, chance);
        }
        match (outcome.health, asked) {
            // What an answer asks for binds, also one that counts against nobody (ruling R10).
            (Health::Bad, _) | (Health::Good, Some(_)) => circuit.fail(ticket, asked, now, chance),
            (Health::Good, None) if outcome.passage == Passage::Begun => {
                circuit.succeed_but(ticket, Some(ProxyFault::Body))
            }
            (Health::Good, None) => circuit.succeed(ticket),
            (Health::Neutral, _) => circuit.release(ticket),
        }
    }

    fn remember(&mut self, place: usize, report: &Report, outcome: &Outcome) {
        let disabled = self.members[place].disabled;
        let record = &mut self.members[place].record;
        match outcome.health {
            Health::Good => {
                record.successes += 1;
                record.failures_in_a_row = 0;
            }
            Health::Bad => {
                record.failures += 1;
                record.failures_in_a_row = record.failures_in_a_row.saturating_add(1);
            }
            Health::Neutral => return,
        }
        // What is disabled is so for the operator's reason, whatever ends meanwhile.
        if disabled {
            return;
        }
        let good = outcome.health == Health::Good;
        record.reason = if good { Reason::None } else { outcome.reason };
        record.phase = report.phase;
        record.detail.clear();
        if !good {
            record.detail.push_str(&report.detail);
        }
    }

    fn cool(&mut self, place: usize, asked: Duration, now: Instant) {
        let until = now + asked.min(LONGEST_COOLING);
        let member = &mut self.members[place];
        member.cooling_until = member.cooling_until.max(Some(until));
    }

    /// Moves the weight after the outcome. The success that closes a circuit is the probe's, or that of
    /// a health check beside it: whichever comes second is an ordinary one.
    fn follow(&mut self, place: usize, change: Change, outcome: &Outcome, events: &mut Vec<Event>) {
        if !self.weighted {
            return;
        }
        let weight = self.members[place].weight;
        let moved = match outcome.health {
            Health::Good if change == Change::Closed => weight.after_probe(),
            Health::Good => self.settings.strategy.after(weight, true),
            Health::Bad => self.settings.strategy.after(weight, false),
            Health::Neutral => return,
        };
        self.weigh(place, moved, events);
    }

    fn weigh(&mut self, place: usize, weight: Weight, events: &mut Vec<Event>) {
        let member = &mut self.members[place];
        let old = std::mem::replace(&mut member.weight, weight);
        if old.value() == weight.value() {
            return;
        }
        self.eligible.set(place, weight.value());
        self.behind.set(place, weight.value());
        let endpoint = member.endpoint.id;
        events.push(Event::WeightChanged { endpoint, old: old.value(), new: weight.value() });
        self.at_minimum -= usize::from(old.is_at_min());
        self.at_minimum += usize::from(weight.is_at_min());
        let endpoints = self.settings.kind == Kind::Endpoint;
        if endpoints && weight.is_at_min() && self.at_minimum == self.members.len() {
            events.push(Event::AllAtMinimum);
        }
    }
}

/// Without a breaker's own maximum, a server can ask to be left alone for an hour at most (R10).
const LONGEST_COOLING: Duration = Duration::from_secs(60 * 60);
