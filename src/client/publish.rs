//! Tells the observer what happens in a call, outside the lock.

use super::attempt::Attempt;
use super::event::{Event, EventKind};
use super::shared::{Member, Shared};
use crate::decide::{self, EndpointId};
use std::sync::Arc;
use std::time::Duration;

/// The observer of a client, on behalf of one call; or nobody, at no cost.
pub(crate) struct Publisher<'a> {
    client: &'a Shared,
    call: u64,
}

impl<'a> Publisher<'a> {
    /// For a new call.
    pub(crate) fn new(client: &'a Shared) -> Self {
        Publisher { client, call: client.calls.next() }
    }

    /// For what follows from a call that is over.
    pub(crate) fn of_call(client: &'a Shared, call: u64) -> Self {
        Publisher { client, call }
    }

    /// The number of the call.
    pub(crate) fn call(&self) -> u64 {
        self.call
    }

    /// For what happens in no call.
    pub(crate) fn outside(client: &'a Shared) -> Self {
        Publisher { client, call: 0 }
    }

    pub(crate) fn fork_noticed(&self) {
        self.tell(self.event(EventKind::ForkNoticed));
    }

    pub(crate) fn attempt_started(&self, label: &str, proxy: Option<&str>) {
        self.tell_if_observed(EventKind::AttemptStarted, |event| Event {
            endpoint: Some(label),
            proxy,
            ..event
        });
    }

    pub(crate) fn attempt_ended(&self, attempt: &Attempt) {
        self.tell_if_observed(EventKind::AttemptEnded, |event| Event {
            endpoint: Some(attempt.endpoint()),
            proxy: attempt.proxy(),
            attempt: Some(attempt),
            reason: attempt.reason(),
            phase: attempt.phase(),
            ..event
        });
    }

    pub(crate) fn call_ended(&self, last: Option<&Attempt>, elapsed: Duration) {
        self.tell_if_observed(EventKind::CallEnded, |event| Event {
            endpoint: last.map(Attempt::endpoint),
            proxy: last.and_then(Attempt::proxy),
            attempt: last,
            wait: elapsed,
            ..event
        });
    }

    /// Tells what the decisions have brought about, and empties the list.
    pub(crate) fn publish(&self, events: &mut Vec<decide::Event>, attempts: &[Attempt]) {
        if !self.client.callbacks.observed() {
            events.clear();
            return;
        }
        for event in std::mem::take(events) {
            self.publish_one(event, attempts);
        }
    }

    fn publish_one(&self, event: decide::Event, attempts: &[Attempt]) {
        match event {
            decide::Event::HoldSet { endpoint, wait } => {
                self.tell_of(endpoint, Event { wait, ..self.event(EventKind::HoldSet) });
            }
            decide::Event::HoldEnded { endpoint } => {
                self.tell_of(endpoint, self.event(EventKind::HoldEnded));
            }
            decide::Event::Waiting { wait } => {
                self.tell(Event { wait, ..self.event(EventKind::Waiting) });
            }
            decide::Event::StateChanged { endpoint, from, to, reason, phase } => {
                let states = Some((from, to));
                let event = self.event(EventKind::StateChanged);
                self.tell_of(endpoint, Event { states, reason, phase, ..event });
            }
            decide::Event::WeightChanged { endpoint, old, new } => {
                let weights = (old, new);
                self.tell_of(endpoint, Event { weights, ..self.event(EventKind::WeightChanged) });
            }
            decide::Event::AllAtMinimum => self.tell(self.event(EventKind::AllAtMinimum)),
            decide::Event::PoolUpdated => self.tell(self.event(EventKind::PoolUpdated)),
            decide::Event::Failover { from, to, failed } => {
                let (Some(from), Some(to)) = (self.member(from), self.member(to)) else { return };
                // This one names hosts and nothing else, whatever the labels say (seed 000).
                let left = from.base.authority().into();
                let failed = Attempt { endpoint: left, ..attempts[failed].clone() };
                self.tell(Event {
                    endpoint: Some(to.base.authority()),
                    attempt: Some(&failed),
                    reason: failed.reason(),
                    phase: failed.phase(),
                    ..self.event(EventKind::Failover)
                });
            }
        }
    }

    fn tell_of(&self, endpoint: EndpointId, event: Event<'_>) {
        // One taken out of the list in the meantime has no name any more.
        let member = self.member(endpoint);
        let proxy = self.client.state.lock().proxies.get(&endpoint).cloned();
        self.tell(Event {
            endpoint: member.as_deref().map(|member| &*member.label),
            proxy: proxy.as_deref().map(|proxy| &*proxy.label),
            ..event
        });
    }

    fn member(&self, id: EndpointId) -> Option<Arc<Member>> {
        self.client.state.lock().members.get(&id).cloned()
    }

    fn event(&self, kind: EventKind) -> Event<'static> {
        Event::new(kind, self.call)
    }

    /// Tells what is the same in every call; where nobody listens it is not even put together.
    fn tell_if_observed<'e>(&self, kind: EventKind, complete: impl FnOnce(Event<'e>) -> Event<'e>) {
        if self.client.callbacks.observed() {
            self.tell(complete(Event::new(kind, self.call)));
        }
    }

    fn tell(&self, event: Event<'_>) {
        self.client.callbacks.tell(&event);
    }
}
