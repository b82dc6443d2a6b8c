//! What names were last found to stand for, and how long that may be used.
//!
//! The system's own resolver keeps answers for as long as their owner allows; this memory is for what
//! that one cannot do. Within [`FRESH`] an answer is used without asking: a burst of dials is one
//! lookup. After that the resolver is asked, and the old answer serves only where it fails, for no
//! longer than [`STALE`] (the idea of RFC 8767): a resolver that is down takes no endpoint down with
//! it. A name that certainly does not exist is forgotten, and no failure is ever remembered.
//!
//! Pure: time is an argument. Not here: asking (`lookup`), trying addresses (`dial`).

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How long an answer is used without asking again.
///
/// Names that are moved in a failover are given 30 to 60 s by their owners, and this comes on top of
/// what the resolver keeps itself; 10 s hide little of a move and a whole burst of dials. curl, which
/// cannot see those times either, keeps an answer for 60 s. Where no address of an answer lets us
/// connect, the answer is not used again unasked (see [`Known::doubt`]).
const FRESH: Duration = Duration::from_secs(10);

/// How long after it was found an answer may stand in for a lookup that fails: longer than most
/// outages of a resolver, and short enough that addresses have seldom found a new owner.
const STALE: Duration = Duration::from_secs(3600);

/// Most names remembered. The one found longest ago makes room.
const MAX_NAMES: usize = 256;

/// Most addresses kept of an answer. A dial that starts one every 250 ms gets no further.
const MAX_ADDRESSES: usize = 32;

/// A name, and the port that its addresses were asked for with.
pub(super) type Key = (String, u16);

/// Answers by name.
#[derive(Default)]
pub(super) struct Known {
    names: HashMap<Key, Entry>,
}

struct Entry {
    peers: Vec<SocketAddr>,
    found: Instant,
    doubted: bool,
}

impl Known {
    /// The addresses that may be used without asking.
    pub(super) fn fresh(&self, key: &Key, now: Instant) -> Option<Vec<SocketAddr>> {
        self.within(FRESH, key, now).filter(|entry| !entry.doubted).map(|e| e.peers.clone())
    }

    /// The addresses that may be used where asking has failed.
    pub(super) fn stale(&self, key: &Key, now: Instant) -> Option<Vec<SocketAddr>> {
        self.within(STALE, key, now).map(|entry| entry.peers.clone())
    }

    fn within(&self, time: Duration, key: &Key, now: Instant) -> Option<&Entry> {
        self.names.get(key).filter(|entry| now.saturating_duration_since(entry.found) < time)
    }

    /// A lookup found these addresses, at least one.
    pub(super) fn learn(&mut self, key: &Key, mut peers: Vec<SocketAddr>, now: Instant) {
        peers.truncate(MAX_ADDRESSES);
        if self.names.len() >= MAX_NAMES && !self.names.contains_key(key) {
            let oldest = self.names.iter().min_by_key(|(_, entry)| entry.found);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.names.remove(&oldest);
            }
        }
        self.names.insert(key.clone(), Entry { peers, found: now, doubted: false });
    }

    /// The name does not exist any more.
    pub(super) fn forget(&mut self, key: &Key) {
        self.names.remove(key);
    }

    /// No connection came about with any of its addresses: the name may have moved, so the next dial
    /// asks.
    pub(super) fn doubt(&mut self, key: &Key) {
        if let Some(entry) = self.names.get_mut(key) {
            entry.doubted = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys;

    const TICK: Duration = Duration::from_nanos(1);

    fn key(name: &str) -> Key {
        (name.to_owned(), 80)
    }

    fn peers(last: u8) -> Vec<SocketAddr> {
        vec![SocketAddr::from(([127, 0, 0, last], 80))]
    }

    #[test]
    fn an_answer_is_fresh_then_a_stand_in_then_nothing() {
        let (mut known, began, a) = (Known::default(), sys::now(), key("a.test"));
        known.learn(&a, peers(1), began);
        for (age, fresh, stale) in [
            (Duration::ZERO, true, true),
            (FRESH - TICK, true, true),
            (FRESH, false, true),
            (STALE - TICK, false, true),
            (STALE, false, false),
        ] {
            let now = began + age;
            assert_eq!(known.fresh(&a, now).is_some(), fresh, "{age:?}");
            assert_eq!(known.stale(&a, now), stale.then(|| peers(1)), "{age:?}");
        }
        assert_eq!(known.fresh(&("a.test".to_owned(), 81), began), None, "another port");
    }

    #[test]
    fn a_doubted_answer_stands_in_until_a_new_one_comes() {
        let (mut known, now, a) = (Known::default(), sys::now(), key("a.test"));
        known.learn(&a, peers(1), now);
        known.doubt(&a);
        assert_eq!((known.fresh(&a, now), known.stale(&a, now)), (None, Some(peers(1))));
        known.learn(&a, peers(2), now);
        assert_eq!(known.fresh(&a, now), Some(peers(2)));
        known.forget(&a);
        assert_eq!(known.stale(&a, now), None);
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_goes() {
        let (mut known, began) = (Known::default(), sys::now());
        for n in 0..=MAX_NAMES {
            let now = began + Duration::from_millis(n as u64);
            known.learn(&key(&n.to_string()), peers(1).repeat(1000), now);
            // Found anew: no longer the oldest, and no reason for another to go.
            known.learn(&key("0"), peers(1), now);
        }
        assert_eq!(known.names.len(), MAX_NAMES);
        let now = began + Duration::from_secs(1);
        assert!(known.fresh(&key("1"), now).is_none());
        assert!(known.fresh(&key("0"), now).is_some());
        assert_eq!(known.fresh(&key("2"), now).unwrap().len(), MAX_ADDRESSES);
    }
}
