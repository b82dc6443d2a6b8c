//! From a list of endpoints to what the pool and the network need, when a client is built and when
//! its list is replaced (rulings R16, R22).

use super::base_url::BaseUrl;
use super::endpoint::Endpoint;
use super::error::{Error, Result};
use super::foreign::Foreign;
use super::origins::Origins;
use super::settings::{ClientSettings, Selection};
use super::shared::{Member, State};
use super::status::Status;
use crate::decide::{self, EndpointId, Entry, Pool, PoolSettings, Weight};
use crate::sys::Rng;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// A checked list, ready to be installed.
pub(crate) struct Roster(Vec<Listed>);

struct Listed {
    priority: u32,
    weight: Weight,
    keep_maximum: bool,
    member: Arc<Member>,
}

impl Roster {
    /// Checks a list as a whole: that it is not empty, names nobody twice, and mixes no schemes.
    pub(crate) fn new(endpoints: Vec<Endpoint>, settings: &ClientSettings) -> Result<Self> {
        check(&endpoints, settings.allow_mixed_schemes)?;
        let labels = labels(&endpoints)?;
        let mut listed = Vec::with_capacity(endpoints.len());
        for (place, (endpoint, label)) in endpoints.into_iter().zip(labels).enumerate() {
            let by_place = match settings.selection {
                Selection::Ordered => place as u32,
                Selection::Weighted => 0,
            };
            listed.push(Listed {
                priority: endpoint.priority.unwrap_or(by_place),
                weight: weight(endpoint.weight, "endpoint", &label, settings)?,
                keep_maximum: endpoint.weight.is_none(),
                member: Arc::new(Member {
                    reach: settings.reach(&endpoint.base),
                    base: endpoint.base,
                    label,
                    headers: endpoint.headers,
                    server_name: endpoint.server_name,
                }),
            });
        }
        Ok(Roster(listed))
    }

    /// Of a client that is asked for absolute URLs.
    pub(crate) fn none() -> Self {
        Roster(Vec::new())
    }

    /// The labels, which no proxy may have as well.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|listed| &*listed.member.label)
    }

    pub(crate) fn has_https(&self) -> bool {
        self.0.iter().any(|listed| listed.member.base.is_https())
    }

    /// The entries of a pool, and the members by number. An endpoint that is known by its identity
    /// keeps its number, and with it what the pool knows about it.
    pub(crate) fn into_entries(
        self,
        known: impl Fn(&str) -> Option<EndpointId>,
        next_id: &mut u64,
    ) -> (Vec<Entry>, Vec<(EndpointId, Arc<Member>)>) {
        self.0
            .into_iter()
            .map(|listed| {
                let id = known(listed.member.base.identity()).unwrap_or_else(|| {
                    *next_id += 1;
                    EndpointId(*next_id)
                });
                let entry = Entry {
                    endpoint: decide::Endpoint { id, priority: listed.priority },
                    weight: listed.weight,
                    keep_maximum: listed.keep_maximum,
                    origin: listed.member.base.origin().into(),
                    reach: listed.member.reach,
                };
                (entry, (id, listed.member))
            })
            .unzip()
    }

    /// What a new client begins with.
    pub(crate) fn into_state(self, settings: PoolSettings, rng: Rng, now: Instant) -> State {
        let mut next_id = 0;
        let (entries, members) = self.into_entries(|_| None, &mut next_id);
        let mut state = State {
            pool: Pool::new(entries, settings, now),
            rng,
            ids: BTreeMap::new(),
            members: BTreeMap::new(),
            next_id,
            foreign: Foreign::default(),
            proxies: BTreeMap::new(),
            origins: Origins::default(),
        };
        know(&mut state, members);
        state
    }

    /// Puts it in the place of the present list.
    pub(crate) fn install(self, state: &mut State, now: Instant, events: &mut Vec<decide::Event>) {
        let ids = std::mem::take(&mut state.ids);
        let (entries, members) =
            self.into_entries(|identity| ids.get(identity).copied(), &mut state.next_id);
        state.pool.replace(entries, now, events);
        state.ids = ids;
        know(state, members);
        state.ids.retain(|_, id| state.pool.remembers(*id));
    }
}

/// Takes these for the members.
fn know(state: &mut State, members: Vec<(EndpointId, Arc<Member>)>) {
    // One by one: to collect a tree sorts first, which is much code.
    state.members.clear();
    for (id, member) in members {
        state.ids.insert(member.base.identity().to_owned(), id);
        state.members.insert(id, member);
    }
}

/// The weight of a member at the start, which is also its most. `kind` and `of` are what an error calls it.
pub(crate) fn weight(
    given: Option<u32>,
    kind: &str,
    of: &str,
    settings: &ClientSettings,
) -> Result<Weight> {
    let fail = |why: String| {
        let why = format!("{kind} `{}`: {why}", of.escape_debug());
        Err(Error::of_option(Status::Range, "weight", why))
    };
    let most = given.unwrap_or(settings.weight_max);
    if most > settings.weight_max {
        return fail(format!("weight {most} is above weight_max, {}", settings.weight_max));
    }
    Weight::new(most, settings.weight_min, most).or_else(|why| fail(why.to_string()))
}

fn check(endpoints: &[Endpoint], mixed: bool) -> Result<()> {
    let fail = |status, why: String| {
        Err(Error::of_option(status, "base_urls", format!("option `base_urls`: {why}")))
    };
    let Some(first) = endpoints.first() else {
        return fail(Status::Config, "there is no endpoint; give at least one base URL".to_owned());
    };
    let mut seen: HashMap<&str, &BaseUrl> = HashMap::new();
    for endpoint in endpoints {
        let base = &endpoint.base;
        if let Some(other) = seen.insert(base.identity(), base) {
            return fail(Status::Duplicate, format!("`{other}` and `{base}` are one endpoint"));
        }
        if !mixed && base.is_https() != first.base.is_https() {
            return fail(
                Status::Downgrade,
                format!(
                    "https and http are mixed in `{}` and `{base}`; set allow_mixed_schemes if a \
                     request may go unencrypted",
                    first.base
                ),
            );
        }
    }
    Ok(())
}

/// The labels given, and for the rest the origin: with its path where that alone tells them apart.
pub(crate) fn labels(endpoints: &[Endpoint]) -> Result<Vec<Arc<str>>> {
    let mut origins: HashMap<&str, u32> = HashMap::new();
    for endpoint in endpoints {
        *origins.entry(endpoint.base.origin()).or_default() += 1;
    }
    let labels: Vec<Arc<str>> = endpoints
        .iter()
        .map(|endpoint| match &endpoint.label {
            Some(label) => label.as_str().into(),
            None if origins[endpoint.base.origin()] > 1 => endpoint.base.to_string().into(),
            None => endpoint.base.origin().into(),
        })
        .collect();
    let mut seen = HashSet::new();
    for label in &labels {
        if !seen.insert(&**label) {
            let why = format!("two endpoints have the label `{label}`");
            return Err(Error::of_option(Status::Duplicate, "label", why));
        }
    }
    Ok(labels)
}
