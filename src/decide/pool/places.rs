//! Where in the list an endpoint stands, by its number.
//!
//! Every attempt asks, so it is not a tree, in which ten thousand endpoints are 14 comparisons in as many
//! corners of memory. Numbers are given in the order in which endpoints come, so that most often an
//! endpoint stands as far behind the first as its number does; after updates it is searched for by halves.

use crate::decide::endpoint::EndpointId;

/// Places by number.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    /// By number.
    sorted: Vec<(EndpointId, usize)>,
}

impl Places {
    /// Those of endpoints in the order of their places.
    pub(super) fn of(ids: impl Iterator<Item = EndpointId>) -> Self {
        let mut sorted: Vec<_> = ids.enumerate().map(|(place, id)| (id, place)).collect();
        sorted.sort_unstable();
        Places { sorted }
    }

    /// The place of an endpoint, if it is in the list.
    pub(super) fn get(&self, id: EndpointId) -> Option<usize> {
        let (first, _) = self.sorted.first()?;
        let guess = usize::try_from(id.0.checked_sub(first.0)?).unwrap_or(usize::MAX);
        match self.sorted.get(guess) {
            Some((there, place)) if *there == id => Some(*place),
            _ => {
                let found = self.sorted.binary_search_by_key(&id, |(id, _)| *id);
                found.ok().map(|at| self.sorted[at].1)
            }
        }
    }

    pub(super) fn contains(&self, id: EndpointId) -> bool {
        self.get(id).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_is_found_and_no_other() {
        for ids in [
            &[][..],
            &[0],
            &[7],
            &[u64::MAX],
            &[1, 2, 3, 4],
            // By priority, and with those between them taken out.
            &[9, 4, 5, 20, 6, 1 << 40],
            &[3, 1, 2],
        ] {
            let places = Places::of(ids.iter().copied().map(EndpointId));
            for (place, id) in ids.iter().enumerate() {
                assert_eq!(places.get(EndpointId(*id)), Some(place), "{id} of {ids:?}");
                for other in [id.wrapping_sub(1), id.wrapping_add(1)] {
                    assert_eq!(places.contains(EndpointId(other)), ids.contains(&other));
                }
            }
            assert_eq!(places.get(EndpointId(8)), None);
        }
    }
}
