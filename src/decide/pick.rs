//! Which endpoint comes next.
//!
//! The lowest priority that has a candidate, and among equals by weight (ruling R5); the order begins
//! at the endpoint held (R3). An endpoint tried in this call is a candidate again only when all
//! others were tried as often, and one whose name does not exist is none a second time: asking again
//! at once cannot change that. Proxies are picked by the same rules. An endpoint that cools without a breaker comes behind the others (R10).
//!
//! An endpoint that may be probed is tried first by the first request that may be sent twice (R7):
//! if it has not recovered, that request goes on elsewhere. It overtakes neither a hold nor a better
//! priority that has a candidate. Where nothing else is left, any request may be the probe.
//!
//! Flow: plan → **pick** → attempt. Asking changes nothing; [`Pool::turn`] comes first.

use super::endpoint::Endpoint;
use super::mutant::planted;
use super::pool::Pool;
use std::time::Instant;

/// What became of one endpoint in this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// Which one.
    pub endpoint: Endpoint,
    /// Attempts made there, replays not counted.
    pub attempts: u32,
    /// An attempt failed and the endpoint was blamed.
    pub failed: bool,
    /// Asking again at once cannot change it: its name does not exist, or no proxy leads there.
    pub hopeless: bool,
}

/// The endpoint to try next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pick {
    /// Its place in the pool.
    pub place: usize,
    /// Attempts already made there in this call.
    pub attempts: u32,
    /// It is the one request that decides whether the endpoint has recovered.
    pub probe: bool,
    /// After an attempt there, no candidate would be left.
    pub last: bool,
}

/// What a pick is made for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// What was tried in this call.
    pub tried: &'a [Tried],
    /// Most attempts at one endpoint.
    pub attempts_per_endpoint: u32,
    /// The request may go out again if the probe fails.
    pub may_probe: bool,
}

/// Picks by the random number `chance`. `out` is scratch space, so that nothing is allocated.
pub fn pick(
    pool: &Pool,
    wanted: &Wanted<'_>,
    now: Instant,
    chance: u64,
    out: &mut Vec<usize>,
) -> Option<Pick> {
    let at_rest =
        wanted.tried.is_empty() && pool.hold.endpoint(now).is_none() && pool.probes().is_empty();
    if at_rest && wanted.attempts_per_endpoint > 0 {
        // What nearly all picks are. The rules below come to the same.
        if let Some(place) = pool.eligible().draw(chance) {
            let last = left_after(pool, wanted, place) == 0;
            return Some(Pick { place, attempts: 0, probe: false, last });
        }
    }
    for round in 0..wanted.attempts_per_endpoint {
        out.clear();
        let done = |tried: &&Tried| {
            (tried.attempts > round && !planted!(TriedNotLeftOut)) || tried.hopeless
        };
        let places = wanted.tried.iter().filter(done);
        out.extend(places.filter_map(|tried| pool.place(tried.endpoint.id)));
        if let Some((place, probe)) = in_round(pool, wanted.may_probe, now, chance, out) {
            let last = left_after(pool, wanted, place) == 0;
            return Some(Pick { place, attempts: round, probe, last });
        }
        if wanted.tried.is_empty() {
            // Nothing was left out: further rounds find no more than this one.
            break;
        }
    }
    None
}

/// Picks this one or none: the endpoint that an absolute URL stands for.
pub(super) fn pick_at(pool: &Pool, wanted: &Wanted<'_>, place: usize) -> Option<Pick> {
    let id = pool.members()[place].endpoint.id;
    let tried = wanted.tried.iter().find(|tried| tried.endpoint.id == id);
    let attempts = tried.map_or(0, |tried| tried.attempts);
    let spent = attempts >= wanted.attempts_per_endpoint || tried.is_some_and(|t| t.hopeless);
    if spent || !pool.is_candidate(place) {
        return None;
    }
    let probe = pool.probes().contains(&(pool.members()[place].endpoint.priority, place));
    let last = attempts + 1 >= wanted.attempts_per_endpoint;
    Some(Pick { place, attempts, probe, last })
}

/// A place that is not `out`, and whether it would be probed.
fn in_round(
    pool: &Pool,
    may_probe: bool,
    now: Instant,
    chance: u64,
    out: &[usize],
) -> Option<(usize, bool)> {
    let held = pool.hold.endpoint(now).and_then(|id| pool.place(id));
    let priority = |place: usize| pool.members()[place].endpoint.priority;
    let from = held.map_or(0, priority);
    let held = held.filter(|place| pool.is_eligible(*place) && !out.contains(place));

    let eligible = pool.eligible();
    let first = held
        .or_else(|| eligible.draw_from(from, out, chance))
        .or_else(|| eligible.draw_from(0, out, chance));
    let waiting = pool.probes().iter().find(|(_, place)| !out.contains(place));
    match (first, waiting) {
        (Some(_), Some(&(better, place)))
            if may_probe
                && !planted!(ProbeNotFirst)
                && held.is_none()
                && first.is_none_or(|first| better <= priority(first)) =>
        {
            Some((place, true))
        }
        (Some(first), _) => Some((first, false)),
        (None, waiting) => {
            let behind = pool.behind();
            behind
                .draw_from(from, out, chance)
                .or_else(|| behind.draw_from(0, out, chance))
                .map(|place| (place, false))
                .or(waiting.map(|&(_, place)| (place, true)))
        }
    }
}

/// How many candidates would be left after an attempt at `place`.
fn left_after(pool: &Pool, wanted: &Wanted<'_>, place: usize) -> usize {
    let most = wanted.attempts_per_endpoint;
    if wanted.tried.is_empty() {
        return pool.candidates().saturating_sub(usize::from(most == 1));
    }
    let spent = |tried: &&Tried| {
        let here = pool.place(tried.endpoint.id).filter(|here| pool.is_candidate(*here));
        here.is_some_and(|here| {
            let attempts = tried.attempts + u32::from(here == place);
            attempts >= most || tried.hopeless
        })
    };
    let fresh = !wanted.tried.iter().any(|tried| pool.place(tried.endpoint.id) == Some(place));
    let spent = wanted.tried.iter().filter(spent).count() + usize::from(fresh && most == 1);
    pool.candidates().saturating_sub(spent)
}
