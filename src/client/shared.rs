//! What all clones of a client share, behind one lock.

use super::base_url::BaseUrl;
use super::call_headers::CallHeaders;
use super::callbacks::Callbacks;
use super::foreign::Foreign;
use super::origins::Origins;
use super::settings::{CallSettings, ClientSettings};
use crate::decide::{EndpointId, Pool, Reach};
use crate::sys::{Clock, Rng};
use crate::transport::{self, Interrupt, ProxyUrl, Transport};
use http::HeaderMap;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The inside of a client.
pub(crate) struct Shared {
    /// Headers of every request.
    pub(crate) headers: HeaderMap,
    /// Those of a call whose request has none of its own.
    pub(crate) usual_headers: CallHeaders,
    pub(crate) client: ClientSettings,
    pub(crate) call: CallSettings,
    /// It has no endpoints of its own: every request carries an absolute URL (ruling R16).
    pub(crate) roams: bool,
    /// Held for decisions only: never across I/O, a wait or the caller's code.
    pub(crate) state: Mutex<State>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) transport: Box<dyn Transport>,
    pub(crate) callbacks: Callbacks,
    pub(crate) calls: Calls,
    /// Ends every call, now and later.
    pub(crate) shutdown: Arc<Interrupt>,
    pub(crate) forks: Forks,
}

/// What decisions read and change.
pub(crate) struct State {
    pub(crate) pool: Pool,
    pub(crate) rng: Rng,
    /// The endpoints of the pool, as the network sees them.
    pub(crate) members: BTreeMap<EndpointId, Arc<Member>>,
    /// The number of each endpoint that the pool knows or remembers, by its identity.
    pub(crate) ids: BTreeMap<String, EndpointId>,
    pub(crate) next_id: u64,
    /// Keys of origins beside those of the endpoints.
    pub(crate) foreign: Foreign,
    /// The proxies of the pool, as the network sees them.
    pub(crate) proxies: BTreeMap<EndpointId, Arc<ProxyMember>>,
    /// Of a client without endpoints: the origins that it was asked for.
    pub(crate) origins: Origins,
}

/// An endpoint, as the network sees it.
pub(crate) struct Member {
    pub(crate) base: BaseUrl,
    pub(crate) label: Arc<str>,
    /// Headers of requests to this endpoint alone.
    pub(crate) headers: HeaderMap,
    /// The name its certificate is for, where that is not the host.
    pub(crate) server_name: Option<String>,
    /// Its scheme, and whether `no_proxy` names it.
    pub(crate) reach: Reach,
}

/// A proxy, as the network sees it.
pub(crate) struct ProxyMember {
    pub(crate) given: String,
    /// `None`: straight to the endpoint.
    pub(crate) url: Option<ProxyUrl>,
    pub(crate) label: Arc<str>,
}

impl ProxyMember {
    /// Its URL, without user info.
    pub(crate) fn shown(&self) -> String {
        self.url.as_ref().map_or_else(|| self.given.clone(), ProxyUrl::to_string)
    }

    /// What an attempt says it went through.
    pub(crate) fn label_of_attempt(&self) -> Option<Arc<str>> {
        self.url.is_some().then(|| self.label.clone())
    }
}

impl State {
    /// The member of this label, or at this URL as it was given.
    pub(crate) fn find(&self, key: &str) -> Option<EndpointId> {
        let labels = self.members.iter().map(|(id, member)| (id, &*member.label));
        let mut labels = labels.chain(self.proxies.iter().map(|(id, proxy)| (id, &*proxy.label)));
        let given = self.members.iter().map(|(id, member)| (id, member.base.given()));
        let mut given = given.chain(self.proxies.iter().map(|(id, proxy)| (id, &*proxy.given)));
        let found = labels.find(|of| of.1 == key).or_else(|| given.find(|of| of.1 == key));
        found.map(|(id, _)| *id)
    }
}

/// Notices that the process is a child of the one it was made in.
pub(crate) struct Forks(AtomicU32);

impl Forks {
    pub(crate) fn new() -> Self {
        Forks(AtomicU32::new(transport::forks()))
    }

    /// Whether the process was forked since it was asked last. In each child one thread is told so.
    pub(crate) fn noticed(&self) -> bool {
        let forks = transport::forks();
        self.0.load(Ordering::Relaxed) != forks && self.0.swap(forks, Ordering::Relaxed) != forks
    }
}

/// Numbers calls, from 1.
#[derive(Default)]
pub(crate) struct Calls(AtomicU64);

impl Calls {
    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}
