//! Who may be picked, kept ready: the lists that a pick reads, and what keeps them true.
//!
//! A state changes by an outcome, by an operator and by time. [`Pool::turn`] catches up with the time;
//! the rest of the pool calls for a refresh of what it has changed. Nobody else writes the lists.

use super::Pool;
use crate::decide::circuit::CircuitState;
use crate::decide::classify::Reason;
use crate::decide::draw::WeightedDraw;
use crate::decide::event::Event;
use crate::decide::member::Standing;
use crate::decide::mutant::planted;
use crate::decide::state::State;
use std::collections::BTreeSet;
use std::time::Instant;

impl Pool {
    /// Catches up with the time: waits that are over, probes that are lost, a hold that has ended.
    ///
    /// Returns the instant that the lists tell of: `now`, or a later one, to go on with. Calls look at the
    /// clock before it is their turn here, so that one may come with an earlier instant than the one before
    /// it. Who may be picked at the later one could still be waiting at the earlier, and let nobody in.
    pub fn turn(&mut self, now: Instant, events: &mut Vec<Event>) -> Instant {
        let mut now = now.max(self.latest);
        if let Some(proxies) = &mut self.proxies {
            now = proxies.turn(now, events);
        }
        self.latest = now;
        self.hold.expire(now, events);
        while let Some(&(at, place)) = self.due.first() {
            if now < at {
                break;
            }
            self.due.pop_first();
            self.refresh(place, now, events);
        }
        self.eligible.settle();
        now
    }

    /// Those that may be picked, as of the last [`turn`](Pool::turn).
    pub fn eligible(&self) -> &WeightedDraw {
        &self.eligible
    }

    /// Those that may be picked when no other may.
    pub fn behind(&self) -> &WeightedDraw {
        &self.behind
    }

    /// Those that wait for a probe: priority and place.
    pub fn probes(&self) -> &BTreeSet<(u32, usize)> {
        &self.probes
    }

    /// How many could be picked at all.
    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// Whether this one may be picked before those that come behind.
    pub fn is_eligible(&self, place: usize) -> bool {
        self.members[place].standing == Standing::Eligible
    }

    /// Whether this one could be picked.
    pub fn is_candidate(&self, place: usize) -> bool {
        self.members[place].standing != Standing::Out
    }

    /// The member whose wait ends first, unless a probe is under way: whom `try_nearest` would try.
    pub fn nearest(&self) -> Option<usize> {
        if self.probing > 0 && !planted!(NearestNotAlone) {
            return None;
        }
        self.due.first().map(|&(_, place)| place)
    }

    /// Brings the states of all members of one origin up to date.
    pub(super) fn refresh_origin(&mut self, place: usize, now: Instant, events: &mut Vec<Event>) {
        let origin = self.members[place].origin;
        for i in 0..self.origins[origin].members.len() {
            let sibling = self.origins[origin].members[i];
            self.refresh(sibling, now, events);
        }
    }

    /// Brings the state of a member up to date, and with it the lists that picks read.
    pub(super) fn refresh(&mut self, place: usize, now: Instant, events: &mut Vec<Event>) {
        self.latest = self.latest.max(now);
        let member = &mut self.members[place];
        let circuit = self.origins[member.origin].circuit.state(now);
        let state = member.state(circuit, now);
        let due = member.due(circuit, now);
        if member.due_at != due {
            if let Some(old) = std::mem::replace(&mut member.due_at, due) {
                self.due.remove(&(old, place));
            }
            self.due.extend(due.map(|at| (at, place)));
        }
        if state == State::Cooling && member.record.reason == Reason::None {
            // Its origin was opened by another endpoint's failures.
            member.record.reason = Reason::CircuitOpen;
        }
        let Some(from) = member.record.turn(state, now) else { return };
        let standing = match (state, circuit) {
            (State::Eligible, _) => Standing::Eligible,
            (State::Cooling, CircuitState::Eligible) => Standing::Behind,
            (State::ProbeAllowed, _) => Standing::Probe,
            _ => Standing::Out,
        };
        let (reason, phase) = (member.record.reason, member.record.phase);
        let endpoint = member.endpoint;
        events.push(Event::StateChanged { endpoint: endpoint.id, from, to: state, reason, phase });
        self.probing -= usize::from(from == State::Probing);
        self.probing += usize::from(state == State::Probing);
        self.stand(place, standing);
    }

    pub(super) fn stand(&mut self, place: usize, standing: Standing) {
        let member = &mut self.members[place];
        let old = std::mem::replace(&mut member.standing, standing);
        let probe = (member.endpoint.priority, place);
        self.candidates -= usize::from(old != Standing::Out);
        self.candidates += usize::from(standing != Standing::Out);
        self.eligible.set_eligible(place, standing == Standing::Eligible);
        self.behind.set_eligible(place, standing == Standing::Behind);
        if standing == Standing::Probe {
            self.probes.insert(probe);
        } else {
            self.probes.remove(&probe);
        }
    }
}
