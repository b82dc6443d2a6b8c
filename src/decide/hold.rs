//! The hold: after a failover the fallback stays preferred for a while (ruling R3, seed 000).
//!
//! Without it every call would first pay for the dead primary again. A hold is set by an answer, not
//! by a failure (an endpoint that has not answered is no better than the one left), it is not
//! prolonged by success (else the primary would never be tried again), and an answer from a better
//! endpoint ends it.
//!
//! Flow: `pick` asks [`Hold::endpoint`]; `call` tells it of answers. Not here: the order itself.

use super::endpoint::{Endpoint, EndpointId};
use super::event::Event;
use super::mutant::planted;
use std::time::{Duration, Instant};

/// Which endpoint the order starts at, and until when.
#[derive(Debug, Clone, Default)]
pub struct Hold {
    held: Option<Held>,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    endpoint: Endpoint,
    until: Instant,
}

impl Hold {
    /// The endpoint held at `now`. The end itself is no longer held (D-13: `now < until`).
    pub fn endpoint(&self, now: Instant) -> Option<EndpointId> {
        self.held.filter(|held| now < held.until).map(|held| held.endpoint.id)
    }

    /// How long an endpoint will be held; zero for one that is not.
    pub fn left(&self, endpoint: EndpointId, now: Instant) -> Duration {
        let held = self.held.filter(|held| held.endpoint.id == endpoint);
        held.map_or(Duration::ZERO, |held| held.until.saturating_duration_since(now))
    }

    /// Forgets a hold that has run out.
    pub fn expire(&mut self, now: Instant, events: &mut Vec<Event>) {
        if self.held.is_some_and(|held| now >= held.until) {
            self.end(events);
        }
    }

    /// Forgets a hold on an endpoint that is not to be kept.
    pub fn retain(&mut self, keep: impl FnOnce(EndpointId) -> bool, events: &mut Vec<Event>) {
        if self.held.is_some_and(|held| !keep(held.endpoint.id)) {
            self.end(events);
        }
    }

    /// An endpoint gave an answer that is not blamed on it. `better_failed`: in the same call an
    /// endpoint of a better priority had failed before.
    pub fn answered(
        &mut self,
        endpoint: Endpoint,
        better_failed: bool,
        hold_for: Duration,
        now: Instant,
        events: &mut Vec<Event>,
    ) {
        self.expire(now, events);
        match self.held {
            Some(held) if endpoint.priority < held.endpoint.priority => self.end(events),
            Some(held) if held.endpoint.id == endpoint.id => {
                if planted!(SuccessProlongsHold) {
                    self.held = Some(Held { endpoint, until: now + hold_for });
                }
                return;
            }
            _ => {}
        }
        // An instant too far to be told is as good as never: no clock gets there. A hold of no time
        // is none, and none is told.
        let begins = better_failed && !hold_for.is_zero();
        if let (true, Some(until)) = (begins, now.checked_add(hold_for)) {
            self.held = Some(Held { endpoint, until });
            events.push(Event::HoldSet { endpoint: endpoint.id, wait: hold_for });
        }
    }

    fn end(&mut self, events: &mut Vec<Event>) {
        if let Some(held) = self.held.take() {
            events.push(Event::HoldEnded { endpoint: held.endpoint.id });
        }
    }
}
