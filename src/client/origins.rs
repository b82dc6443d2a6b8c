//! The origins that a client without endpoints has been asked for (ruling R16).
//!
//! With proxies alone a request carries an absolute URL, whose origin is that call's one endpoint. What is
//! learned of it (its circuit, what it asked to wait) is kept for those used last: who is asked for any
//! URL there is must not grow without bound.

use super::base_url::BaseUrl;
use super::shared::{Member, State};
use crate::decide::{self, Endpoint, EndpointId, Entry, Reach, Weight};
use http::HeaderMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// How many are kept.
const KEPT: usize = 1024;

/// When each was used.
#[derive(Default)]
pub(crate) struct Origins {
    used: u64,
    last_use: BTreeMap<EndpointId, u64>,
    by_use: BTreeMap<u64, EndpointId>,
}

impl Origins {
    fn touch(&mut self, id: EndpointId) {
        self.used += 1;
        if let Some(before) = self.last_use.insert(id, self.used) {
            self.by_use.remove(&before);
        }
        self.by_use.insert(self.used, id);
    }

    /// Takes out the one used longest ago, where there are too many.
    fn make_room(&mut self) -> Option<EndpointId> {
        if self.last_use.len() < KEPT {
            return None;
        }
        let (_, id) = self.by_use.pop_first()?;
        self.last_use.remove(&id);
        Some(id)
    }
}

/// The endpoint that stands for the origin of a URL, and the one that made room for it.
pub(crate) fn admit(
    state: &mut State,
    url: &BaseUrl,
    reach: Reach,
    now: Instant,
    events: &mut Vec<decide::Event>,
) -> (EndpointId, Option<EndpointId>) {
    if let Some(&id) = state.ids.get(url.origin()) {
        state.origins.touch(id);
        return (id, None);
    }
    let gone = state.origins.make_room();
    if let Some(gone) = gone {
        if let Some(member) = state.members.remove(&gone) {
            state.ids.remove(member.base.origin());
        }
    }
    state.next_id += 1;
    let id = EndpointId(state.next_id);
    state.ids.insert(url.origin().to_owned(), id);
    state.origins.touch(id);
    let member = Member {
        base: url.root(),
        label: url.origin().into(),
        headers: HeaderMap::new(),
        server_name: None,
        reach,
    };
    state.members.insert(id, Arc::new(member));
    let entries = state.members.iter().map(|(&id, member)| Entry {
        endpoint: Endpoint { id, priority: 0 },
        // Nothing is drawn among them.
        weight: Weight::new(1, 1, 1).expect("1 is a weight"),
        keep_maximum: true,
        origin: member.base.origin().into(),
        reach: member.reach,
    });
    state.pool.replace(entries.collect(), now, events);
    events.retain(|event| !matches!(event, decide::Event::PoolUpdated));
    (id, gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_used_longest_ago_makes_room() {
        let mut origins = Origins::default();
        for n in 0..KEPT as u64 {
            assert_eq!(origins.make_room(), None);
            origins.touch(EndpointId(n));
        }
        origins.touch(EndpointId(0));
        assert_eq!(origins.make_room(), Some(EndpointId(1)));
        origins.touch(EndpointId(9999));
        assert_eq!(origins.make_room(), Some(EndpointId(2)), "0 was used since");
        assert_eq!(origins.by_use.len(), origins.last_use.len());
    }
}
