//! Replacing the list of endpoints, and building what is looked up by place (ruling R22).

use super::places::Places;
use super::{Entry, Origin, Pool};
use crate::decide::circuit::Circuit;
use crate::decide::draw::WeightedDraw;
use crate::decide::endpoint::EndpointId;
use crate::decide::event::Event;
use crate::decide::member::{Member, Standing};
use crate::decide::state::State;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

impl Pool {
    /// Replaces the list (ruling R22). Endpoints that stay keep their live weight and state, under
    /// the new priority and maximum. What cools outlives its endpoint: one taken out and put back
    /// in the meantime cools on, with the weight of a new one; with a circuit breaker also with a new
    /// record.
    pub fn replace(&mut self, mut entries: Vec<Entry>, now: Instant, events: &mut Vec<Event>) {
        entries.sort_by_key(|entry| entry.endpoint.priority);
        let mut old: BTreeMap<EndpointId, Member> = std::mem::take(&mut self.gone);
        old.extend(self.members.drain(..).map(|member| (member.endpoint.id, member)));
        self.forget_quiet_circuits(&entries, now);
        for entry in entries {
            let origin = self.origin_of(&entry.origin);
            let returns = !self.places.contains(entry.endpoint.id);
            let member = match old.remove(&entry.endpoint.id) {
                Some(kept) => Member {
                    endpoint: entry.endpoint,
                    reach: entry.reach,
                    weight: if returns { entry.weight } else { entry.weight_of_kept(kept.weight) },
                    origin,
                    ..kept
                },
                None => Member {
                    reach: entry.reach,
                    ..Member::new(entry.endpoint, entry.weight, origin, now)
                },
            };
            self.members.push(member);
        }
        old.retain(|_, member| member.cooling_until.is_some_and(|until| now < until));
        self.gone = old;
        if let Some(budget) = &mut self.budget {
            budget.set_endpoints(self.members.len(), now);
        }
        self.index(now, events);
        events.push(Event::PoolUpdated);
    }

    /// Whether an endpoint taken out is still remembered, for what it has to wait.
    pub fn remembers(&self, id: EndpointId) -> bool {
        self.gone.contains_key(&id) || self.places.contains(id)
    }

    /// Builds everything that is looked up by place anew.
    pub(super) fn index(&mut self, now: Instant, events: &mut Vec<Event>) {
        self.places = Places::of(self.members.iter().map(|member| member.endpoint.id));
        self.probes.clear();
        self.due.clear();
        (self.eligible, self.behind) = (WeightedDraw::new(), WeightedDraw::new());
        (self.candidates, self.probing, self.at_minimum) = (self.members.len(), 0, 0);
        self.weighted = self.settings.weighted;
        let mut last = None;
        for (place, member) in self.members.iter_mut().enumerate() {
            let priority = member.endpoint.priority;
            self.weighted |= last.replace(priority) == Some(priority);
            self.origins[member.origin].members.push(place);
            self.eligible.push(priority, member.weight.value());
            self.behind.push(priority, member.weight.value());
            self.behind.set_eligible(place, false);
            self.at_minimum += usize::from(member.weight.is_at_min());
            self.probing += usize::from(member.record.state == State::Probing);
            member.due_at = None;
        }
        for place in 0..self.members.len() {
            let standing = std::mem::replace(&mut self.members[place].standing, Standing::Eligible);
            self.stand(place, standing);
            self.refresh(place, now, events);
        }
        self.eligible.lay_out();
        self.hold.retain(|id| self.places.contains(id), events);
    }

    /// The place of the circuit of this origin, which is made if there is none.
    pub(super) fn origin_of(&mut self, name: &Arc<str>) -> usize {
        let next = self.origins.len();
        let place = *self.origin_places.entry(name.clone()).or_insert(next);
        if place == next {
            let settings = self.settings.breaker.unwrap_or_default();
            self.origins.push(Origin { circuit: Circuit::new(settings), members: Vec::new() });
        }
        place
    }

    /// Keeps the circuits of those that stay, and those that have something to remember; the places of
    /// all change. A circuit that stays is the same one: requests under way hold its tickets, and it may
    /// be waiting for its probe however quiet it is.
    pub(super) fn forget_quiet_circuits(&mut self, entries: &[Entry], now: Instant) {
        // One by one: to collect a tree sorts first, which is much code.
        let mut stays = BTreeSet::new();
        stays.extend(entries.iter().map(|entry| &*entry.origin));
        let mut old: Vec<Option<Circuit>> =
            std::mem::take(&mut self.origins).into_iter().map(|o| Some(o.circuit)).collect();
        self.origin_places.retain(|name, place| {
            let worth_keeping =
                |circuit: &Circuit| stays.contains(&**name) || !circuit.is_quiet(now);
            let Some(circuit) = old[*place].take().filter(worth_keeping) else {
                return false;
            };
            *place = self.origins.len();
            self.origins.push(Origin { circuit, members: Vec::new() });
            true
        });
    }
}
