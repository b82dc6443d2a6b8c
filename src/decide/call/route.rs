//! The way to an endpoint: which proxy a call goes through, and what its end says of that proxy.
//!
//! A route is endpoint × proxy. The endpoint is picked first, then a proxy by the same rules, never one
//! twice for the same endpoint in a call. One that led nowhere is used up and the endpoint is not: its
//! ticket stays out while the next proxy is tried. Nothing goes straight to an endpoint while there
//! are proxies, unless `direct` is one of them or the endpoint needs none (ruling R12).
//!
//! Where a failure may be the proxy's or the endpoint's, the proxy is a suspect until the call knows
//! more. Another proxy gets through to the same endpoint: the suspect failed. Another one fails in the
//! same way: the endpoint did. No other is left: nobody did.

use super::{Call, State, Then, Ticket};
use crate::decide::circuit::Ticket as CircuitTicket;
use crate::decide::classify::{Blame, Health, Outcome, Passage, ProxyFault};
use crate::decide::endpoint::{Endpoint, EndpointId, Reach};
use crate::decide::event::Event;
use crate::decide::mutant::planted;
use crate::decide::pick::{Tried, Wanted, pick};
use crate::decide::plan::WhenNoneEligible;
use crate::decide::pool::Pool;
use crate::decide::report::Report;
use std::collections::BTreeMap;
use std::time::Instant;

/// The proxy an attempt goes through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Via {
    pub(super) proxy: EndpointId,
    pub(super) circuit: CircuitTicket,
    /// It is none: straight to the endpoint.
    direct: bool,
}

/// How an endpoint can be reached now.
#[derive(Debug, Clone, Copy)]
pub(super) enum Route {
    Straight,
    Proxy {
        place: usize,
        /// Its wait is not over.
        early: bool,
        /// No other could follow.
        last: bool,
    },
}

/// What a call has learned of the proxies it went through.
#[derive(Default)]
pub(super) struct Routes {
    /// Those that led nowhere, by where they were to lead.
    used: BTreeMap<EndpointId, Vec<Tried>>,
    suspects: Vec<Suspect>,
}

struct Suspect {
    to: EndpointId,
    via: Via,
    report: Report,
    outcome: Outcome,
}

impl Route {
    pub(super) fn is_early(&self) -> bool {
        matches!(self, Route::Proxy { early: true, .. })
    }

    pub(super) fn is_last(&self) -> bool {
        !matches!(self, Route::Proxy { last: false, .. })
    }
}

impl Via {
    pub(super) fn let_run(
        &self,
        proxies: &mut Pool,
        until: Instant,
        now: Instant,
        events: &mut Vec<Event>,
    ) {
        if self.circuit.is_probe() {
            proxies.let_run(self.proxy, self.circuit, until, now, events);
        }
    }

    /// Takes in what became later of an attempt that is recorded already.
    pub(super) fn record_more(
        &self,
        proxies: &mut Pool,
        report: &Report,
        outcome: &Outcome,
        now: Instant,
        chance: u64,
        events: &mut Vec<Event>,
    ) {
        let outcome = self.judged(outcome);
        if outcome.health == Health::Bad {
            proxies.record_more(self.proxy, self.circuit, report, &outcome, now, chance, events);
        }
    }

    /// What an outcome means for this proxy. No way at all cannot fail.
    fn judged(&self, outcome: &Outcome) -> Outcome {
        let fails = matches!(outcome.passage, Passage::Failed(_) | Passage::Unauthorized);
        let passage = match outcome.passage {
            _ if self.direct && fails => Passage::Untold,
            Passage::Either if planted!(SuspectCooled) => Passage::Failed(ProxyFault::Tunnel),
            passage => passage,
        };
        Outcome { passage, ..*outcome }.at_proxy()
    }
}

impl Routes {
    /// Whether a proxy is suspected for not having led there.
    pub(super) fn suspects(&self, to: EndpointId) -> bool {
        self.suspects.iter().any(|suspect| suspect.to == to)
    }

    /// Proxies that are not for such a target are used up from the start.
    fn leave_out(&mut self, to: EndpointId, reach: Reach, proxies: &Pool) {
        if self.used.contains_key(&to) {
            return;
        }
        let others = proxies.members().iter().filter(|proxy| !proxy.reach.leads_to(reach));
        let out: Vec<Tried> = others.map(|proxy| used_up(proxy.endpoint.id)).collect();
        if !out.is_empty() {
            self.used.insert(to, out);
        }
    }

    /// Lets the suspects go: nobody will tell.
    pub(super) fn clear(&mut self, pool: &mut Pool, now: Instant, events: &mut Vec<Event>) {
        let Some(proxies) = &mut pool.proxies else { return };
        for Suspect { via, .. } in self.suspects.drain(..) {
            proxies.release(via.proxy, via.circuit, now, events);
        }
    }

    /// Another proxy got through, so the suspects did fail.
    fn convict(
        &mut self,
        to: EndpointId,
        proxies: &mut Pool,
        now: Instant,
        chance: u64,
        events: &mut Vec<Event>,
    ) {
        let all = std::mem::take(&mut self.suspects);
        let (theirs, others) = all.into_iter().partition(|suspect| suspect.to == to);
        self.suspects = others;
        let theirs: Vec<Suspect> = theirs;
        for Suspect { via, report, outcome, .. } in theirs {
            let passage = Passage::Failed(ProxyFault::Tunnel);
            let outcome = Outcome { passage, ..outcome };
            via.record_more(proxies, &report, &outcome, now, chance, events);
        }
    }
}

/// A proxy that is not asked again for the same endpoint.
fn used_up(proxy: EndpointId) -> Tried {
    let endpoint = Endpoint { id: proxy, priority: 0 };
    Tried { endpoint, attempts: 1, failed: true, hopeless: true }
}

impl Call<'_> {
    /// The way to the endpoint at this place.
    pub(super) fn route(
        &mut self,
        pool: &Pool,
        place: usize,
        now: Instant,
        chance: u64,
    ) -> Option<Route> {
        let member = &pool.members()[place];
        self.route_to(pool, member.endpoint.id, member.reach, now, chance)
    }

    /// The way to an endpoint, or to where a hop leads.
    pub(super) fn route_to(
        &mut self,
        pool: &Pool,
        to: EndpointId,
        reach: Reach,
        now: Instant,
        chance: u64,
    ) -> Option<Route> {
        let Some(proxies) = &pool.proxies else { return Some(Route::Straight) };
        if reach.direct {
            return Some(Route::Straight);
        }
        self.routes.leave_out(to, reach, proxies);
        if let Some(id) = self.plan.through {
            let place = proxies.place(id)?;
            return Some(Route::Proxy { place, early: true, last: true });
        }
        let used = self.routes.used.get(&to).map_or(&[][..], |used| used);
        let wanted = Wanted {
            tried: used,
            attempts_per_endpoint: 1,
            may_probe: self.plan.repeatable && self.plan.replayable,
        };
        if let Some(pick) = pick(proxies, &wanted, now, chance, &mut self.scratch) {
            return Some(Route::Proxy { place: pick.place, early: false, last: pick.last });
        }
        if planted!(RouteStraight) {
            return Some(Route::Straight);
        }
        let nearest =
            self.made == 0 && self.plan.when_none_eligible == WhenNoneEligible::TryNearest;
        let place = proxies.nearest().filter(|_| nearest)?;
        let place = Some(place).filter(|p| proxies.members()[*p].reach.leads_to(reach))?;
        Some(Route::Proxy { place, early: true, last: true })
    }

    /// Puts an attempt on its way; `None` where the proxy lets nobody in.
    pub(super) fn set_out(
        &self,
        pool: &mut Pool,
        ticket: Ticket,
        route: Route,
        now: Instant,
        chance: u64,
        events: &mut Vec<Event>,
    ) -> Option<Ticket> {
        let via = self.take(pool, route, now, chance, events)?;
        let nothing_left = ticket.only_one_left && route.is_last();
        let last = nothing_left || self.attempts_left() == Some(1) || !self.plan.replayable;
        let ticket = Ticket { via, began: now, limits: None, ..ticket };
        // A probe is under the connect limit even where nothing could follow it (R7, R20).
        Some(Ticket { last: last && !ticket.is_probe(), ..ticket })
    }

    /// Enters the proxy of a route.
    pub(super) fn take(
        &self,
        pool: &mut Pool,
        route: Route,
        now: Instant,
        chance: u64,
        events: &mut Vec<Event>,
    ) -> Option<Option<Via>> {
        let (Route::Proxy { place, early, .. }, Some(proxies)) = (route, &mut pool.proxies) else {
            return Some(None);
        };
        let circuit = match self.plan.through {
            Some(_) => proxies.enter_check(place, now, chance, events),
            None => proxies.enter(place, early, now, chance, events)?,
        };
        let member = &proxies.members()[place];
        Some(Some(Via { proxy: member.endpoint.id, circuit, direct: member.reach.direct }))
    }

    /// The attempt that takes another way to the endpoint of the last one, where there is one.
    pub(super) fn reroute(
        &mut self,
        pool: &mut Pool,
        now: Instant,
        chance: [u64; 3],
        events: &mut Vec<Event>,
    ) -> Option<Ticket> {
        let State::Rerouting(ticket) = self.state else { return None };
        let place = pool.place(ticket.endpoint);
        let route = place.and_then(|place| self.route(pool, place, now, chance[2]));
        let again =
            route.and_then(|route| self.set_out(pool, ticket, route, now, chance[1], events));
        match again {
            Some(_) => self.state = State::Picking,
            None => {
                self.give_up_route(pool, now, events);
                if let Some(place) = place {
                    self.rule_out(pool.members()[place].endpoint);
                }
            }
        }
        again
    }

    /// Goes on after an attempt that did not reach its endpoint.
    pub(super) fn lost(
        &mut self,
        pool: &mut Pool,
        ticket: Ticket,
        report: &Report,
        outcome: &Outcome,
        now: Instant,
        events: &mut Vec<Event>,
    ) {
        let now = pool.turn(now, events);
        let alone = self.plan.only.is_some() || self.plan.through.is_some();
        let place = pool.place(ticket.endpoint).filter(|_| !alone);
        let again = outcome.then == Then::MoveOn
            && !planted!(RouteGivenUp)
            && self.plan.replayable
            && self.attempts_left() != Some(0)
            && place.is_some_and(|place| self.route(pool, place, now, 0).is_some());
        self.state = State::Rerouting(Ticket { via: None, ..ticket });
        if again {
            return;
        }
        // Nobody's fault for all this call can know, and another endpoint may still be had.
        self.give_up_route(pool, now, events);
        if let (true, Some(place)) = (self.plan.replayable, place) {
            self.rule_out(pool.members()[place].endpoint);
        }
        self.state = self.next(pool, report, outcome, now);
    }

    /// Gives back what a search for another way holds, if one is under way.
    pub(super) fn give_up_route(&mut self, pool: &mut Pool, now: Instant, events: &mut Vec<Event>) {
        if let State::Rerouting(ticket) = self.state {
            pool.abandon(ticket.endpoint, ticket.circuit, now, events);
            self.state = State::Picking;
        }
        self.routes.clear(pool, now, events);
    }

    /// Leaves an endpoint out of this call: no way leads there.
    pub(super) fn rule_out(&mut self, endpoint: Endpoint) {
        match self.tried.iter_mut().find(|tried| tried.endpoint.id == endpoint.id) {
            Some(tried) => tried.hopeless = true,
            None => {
                let tried = Tried { endpoint, attempts: 0, failed: false, hopeless: true };
                self.tried.push(tried);
            }
        }
    }

    /// Takes in what an attempt says of the proxy it went through, and of those tried before.
    #[expect(clippy::too_many_arguments, reason = "the whole end of an attempt, as values")]
    pub(super) fn settle_route(
        &mut self,
        pool: &mut Pool,
        to: EndpointId,
        via: Option<Via>,
        report: &Report,
        outcome: &Outcome,
        now: Instant,
        chance: u64,
        events: &mut Vec<Event>,
    ) {
        let (Some(via), Some(proxies)) = (via, &mut pool.proxies) else { return };
        if outcome.passage == Passage::Either && !planted!(SuspectCooled) {
            proxies.suspend(via.proxy);
            let (report, outcome) = (report.clone(), *outcome);
            self.routes.suspects.push(Suspect { to, via, report, outcome });
        } else {
            let judged = via.judged(outcome);
            proxies.record(via.proxy, via.circuit, report, &judged, now, chance, events);
        }
        if outcome.lost_its_way() && !planted!(ProxyNotUsedUp) {
            self.routes.used.entry(to).or_default().push(used_up(via.proxy));
        }
        match outcome.passage {
            Passage::Works
            | Passage::Begun
            | Passage::Through
            | Passage::Failed(ProxyFault::Body) => {
                self.routes.convict(to, proxies, now, chance, events);
            }
            _ if outcome.blame == Blame::Endpoint => self.routes.clear(pool, now, events),
            _ => {}
        }
    }
}
