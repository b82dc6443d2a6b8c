//! The origins outside the endpoints to which redirects have led lately.
//!
//! The transport keeps idle connections by key, and a service that sends its downloads to another host
//! sends all of them there: without a key for that host each would pay for a connection and a TLS
//! handshake anew. The list is short, because any server can invent origins; whoever is pushed
//! out loses its idle connections and nothing else. One key for all would be simpler, and a trap: a
//! transport of the caller's own may take one key for one peer.

use crate::decide::EndpointId;
use std::collections::VecDeque;

/// How many are kept.
const KEPT: usize = 16;

/// Keys for the transport, of the origins used last. The one used last stands last.
#[derive(Default)]
pub(crate) struct Foreign(VecDeque<(String, EndpointId)>);

impl Foreign {
    /// The key of an origin, and the key that is in use no longer.
    pub(crate) fn key(
        &mut self,
        origin: &str,
        next_id: &mut u64,
    ) -> (EndpointId, Option<EndpointId>) {
        let known = self.0.iter().position(|(name, _)| name == origin);
        let entry = known.and_then(|place| self.0.remove(place)).unwrap_or_else(|| {
            *next_id += 1;
            (origin.to_owned(), EndpointId(*next_id))
        });
        let id = entry.1;
        self.0.push_back(entry);
        let gone = if self.0.len() > KEPT { self.0.pop_front() } else { None };
        (id, gone.map(|(_, id)| id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_used_longest_ago_makes_room() {
        let (mut foreign, mut next) = (Foreign::default(), 7);
        let mut key = |n: u64| foreign.key(&format!("https://{n}.example"), &mut next);
        for n in 1..=16 {
            assert_eq!(key(n), (EndpointId(7 + n), None));
        }
        assert_eq!(key(1), (EndpointId(8), None), "the same as before");
        assert_eq!(key(17), (EndpointId(24), Some(EndpointId(9))), "2 was used longest ago");
        assert_eq!(key(2), (EndpointId(25), Some(EndpointId(10))), "and comes back as a new one");
    }
}
