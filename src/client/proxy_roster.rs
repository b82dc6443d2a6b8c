//! From a list of proxies to what the pool and the network need, when a client is built and when its
//! list is replaced (ruling R22).

use super::error::{Error, Result};
use super::proxy::Proxy;
use super::roster::weight;
use super::settings::ClientSettings;
use super::shared::{ProxyMember, State};
use super::status::Status;
use crate::decide::{self, Endpoint, EndpointId, Entry, Pool, PoolSettings, Reach, Weight};
use crate::transport::{ProxyScheme, ProxyUrl};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// A checked list, ready to be installed.
pub(crate) struct ProxyRoster(Vec<Listed>);

struct Listed {
    weight: Weight,
    keep_maximum: bool,
    /// What keeps its circuit: its address, and which of those at that address it is.
    origin: Arc<str>,
    reach: Reach,
    member: Arc<ProxyMember>,
}

impl ProxyRoster {
    /// Checks a list as a whole: that it names nobody twice. Proxies of one address that differ in their
    /// credentials are different ones.
    pub(crate) fn new(proxies: Vec<Proxy>, settings: &ClientSettings) -> Result<Self> {
        let mut listed: Vec<Listed> = Vec::with_capacity(proxies.len());
        let mut addresses: BTreeMap<String, u32> = BTreeMap::new();
        for proxy in proxies {
            let shown = proxy.shown();
            let same = |other: &Listed| other.member.url == proxy.url;
            if listed.iter().any(same) {
                let why = format!("option `proxies`: `{shown}` is listed twice");
                return Err(Error::of_option(Status::Duplicate, "proxies", why));
            }
            let nth = addresses.entry(shown.clone()).or_default();
            *nth += 1;
            let origin = if *nth == 1 { shown } else { format!("{shown} #{nth}") };
            let label: Arc<str> = proxy.label.as_deref().unwrap_or(&origin).into();
            if listed.iter().any(|other| other.member.label == label) {
                let why = format!("two proxies have the label `{label}`");
                return Err(Error::of_option(Status::Duplicate, "label", why));
            }
            listed.push(Listed {
                weight: weight(proxy.weight, "proxy", &label, settings)?,
                keep_maximum: proxy.weight.is_none(),
                origin: origin.into(),
                reach: Reach { direct: proxy.url.is_none(), scheme: proxy.only },
                member: Arc::new(ProxyMember { given: proxy.given, url: proxy.url, label }),
            });
        }
        Ok(ProxyRoster(listed))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The labels, which no endpoint may have as well.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|listed| &*listed.member.label)
    }

    /// Whether TLS is spoken to one of them.
    pub(crate) fn has_https(&self) -> bool {
        let https = |url: &ProxyUrl| url.scheme() == ProxyScheme::Https;
        self.0.iter().any(|listed| listed.member.url.as_ref().is_some_and(https))
    }

    /// Puts it in the place of the present list, and says whose connections are of no use any more. One
    /// that stays keeps its number, and with it what the pool knows about it; one that stays with other
    /// credentials may be asked again if it refused the old ones (P-7).
    pub(crate) fn install(
        self,
        state: &mut State,
        settings: PoolSettings,
        now: Instant,
        events: &mut Vec<decide::Event>,
    ) -> Vec<ProxyUrl> {
        let before = std::mem::take(&mut state.proxies);
        let ids = identify(&self.0, &before, &mut state.next_id);
        let mut entries = Vec::with_capacity(ids.len());
        for (listed, id) in self.0.into_iter().zip(ids) {
            entries.push(Entry {
                endpoint: Endpoint { id, priority: 0 },
                weight: listed.weight,
                keep_maximum: listed.keep_maximum,
                origin: listed.origin,
                reach: listed.reach,
            });
            state.proxies.insert(id, listed.member);
        }
        match &mut state.pool.proxies {
            Some(proxies) => proxies.replace(entries, now, events),
            none => *none = Some(Box::new(Pool::new(entries, settings, now))),
        }
        let mut gone = Vec::new();
        for (id, old) in before {
            let new = state.proxies.get(&id);
            if new.is_some_and(|new| new.url == old.url) {
                continue;
            }
            gone.extend(old.url.clone());
            if let (Some(_), Some(proxies)) = (new, &mut state.pool.proxies) {
                proxies.renew(id, now, events);
            }
        }
        gone
    }
}

/// The number of each: that of the same proxy before, or else of one at the same address, or a new one.
fn identify(
    listed: &[Listed],
    before: &BTreeMap<EndpointId, Arc<ProxyMember>>,
    next_id: &mut u64,
) -> Vec<EndpointId> {
    let mut ids: Vec<Option<EndpointId>> = vec![None; listed.len()];
    let address = |member: &ProxyMember| member.url.as_ref().map(ProxyUrl::to_string);
    for by_address in [false, true] {
        for place in 0..listed.len() {
            if ids[place].is_some() {
                continue;
            }
            let member = &listed[place].member;
            let same = |old: &ProxyMember| match by_address {
                true => address(old) == address(member),
                false => old.url == member.url,
            };
            let found = before.iter().find(|(id, old)| same(old) && !ids.contains(&Some(**id)));
            ids[place] = found.map(|(id, _)| *id);
        }
    }
    let new = || {
        *next_id += 1;
        EndpointId(*next_id)
    };
    let mut new = new;
    ids.into_iter().map(|id| id.unwrap_or_else(&mut new)).collect()
}

/// One label names one member.
pub(super) fn check_labels<'a>(
    endpoints: impl Iterator<Item = &'a str>,
    mut proxies: impl Iterator<Item = &'a str>,
) -> Result<()> {
    let endpoints: HashSet<&str> = endpoints.collect();
    match proxies.find(|label| endpoints.contains(label)) {
        Some(label) => {
            let why = format!("an endpoint and a proxy have the label `{label}`");
            Err(Error::of_option(Status::Duplicate, "label", why))
        }
        None => Ok(()),
    }
}
