//! What all clones of a client share, behind one lock.

use super::base_url::BaseUrl;
use super::call_headers::CallHeaders;
use super::callbacks::Callbacks;
use super::foreign::Foreign;
use super::settings::{CallSettings, ClientSettings};
use crate::decide::{EndpointId, Pool};
use crate::sys::{Clock, Rng};
use crate::transport::{self, Interrupt, Transport};
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
}

/// An endpoint, as the network sees it.
pub(crate) struct Member {
    pub(crate) base: BaseUrl,
    pub(crate) label: Arc<str>,
    /// Headers of requests to this endpoint alone.
    pub(crate) headers: HeaderMap,
    /// The name its certificate is for, where that is not the host.
    pub(crate) server_name: Option<String>,
}

impl State {
    /// The endpoint of this label, or at this URL as it was given.
    pub(crate) fn find(&self, key: &str) -> Option<EndpointId> {
        let by_label = self.members.iter().find(|(_, member)| &*member.label == key);
        let found =
            by_label.or_else(|| self.members.iter().find(|(_, member)| member.base.given() == key));
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
