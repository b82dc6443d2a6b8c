//! The transport of production: one ureq agent for each endpoint and the proxy on the way to it.
//!
//! One agent each, because ureq's pool takes time quadratic in the connections it holds, and
//! because dropping an agent is then a way to drop a route's idle connections. Routes share none, not
//! even plain http to several endpoints through one proxy, which HTTP would allow: what an endpoint or
//! a proxy has left behind is gone with it, and never met by another. Agents cost a
//! microsecond and are made when first asked for. All of them share the names being looked up and
//! the TLS configuration, so sessions resume across endpoints.
//!
//! Flow: attempt → agent of its endpoint → `exchange` → report. The map's lock is held to find an
//! agent, never while it works.

use super::connector::{Dialler, NoResolver, Shared};
use super::current::Progress;
use super::exchange::{exchange, sizes};
use super::failure::Failure;
use super::lookup::{NameLookup, Names, SystemLookup};
use super::number_hash::NumberHash;
use super::origin::Origin;
use super::tls::{TlsSettings, server_name};
use super::{Answer, Attempt, ProxyUrl, Transport};
use crate::decide::{Cause, Ending, Report};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;

/// How a transport connects and what it keeps.
#[derive(Clone)]
pub struct TransportConfig {
    /// Whom to trust over TLS. `None`: https is refused. Default: the system's roots.
    pub tls: Option<TlsSettings>,
    /// Finds the addresses of names. Default: the system's resolver.
    pub lookup: Arc<dyn NameLookup>,
    /// An idle connection older than this is closed instead of used. Default: 15 s, shorter than
    /// what common servers and load balancers allow.
    pub idle_timeout: Duration,
    /// Most idle connections kept for one endpoint, and through each proxy. Default: 8.
    pub max_idle_per_endpoint: usize,
    /// Largest head of an answer, in bytes. Default: 64 KiB.
    pub max_head: usize,
}

impl Default for TransportConfig {
    fn default() -> Self {
        TransportConfig {
            tls: Some(TlsSettings::default()),
            lookup: Arc::new(SystemLookup),
            idle_timeout: Duration::from_secs(15),
            max_idle_per_endpoint: 8,
            max_head: 64 << 10,
        }
    }
}

impl fmt::Debug for TransportConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportConfig")
            .field("tls", &self.tls.is_some())
            .field("idle_timeout", &self.idle_timeout)
            .field("max_idle_per_endpoint", &self.max_idle_per_endpoint)
            .field("max_head", &self.max_head)
            .finish_non_exhaustive()
    }
}

/// Makes attempts over real sockets.
pub struct AgentTransport {
    config: ureq::config::Config,
    shared: Arc<Shared>,
    routes: RwLock<Routes>,
}

/// By endpoint: directly, or through one proxy each.
type Routes = HashMap<u64, Vec<Arc<Known>>, NumberHash>;

/// What the attempts at an endpoint go through, by one route.
struct Known {
    agent: Agent,
    origin: Origin,
    /// Its connections were verified by this name, so they serve no other.
    server_name: Option<String>,
    proxy: Option<ProxyUrl>,
}

impl fmt::Debug for AgentTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentTransport").field("endpoints", &self.routes.read().len()).finish()
    }
}

impl AgentTransport {
    /// A transport without any connection yet.
    pub fn new(config: TransportConfig) -> Self {
        let names = Names::new(config.lookup.clone());
        let shared = Arc::new(Shared::new(names, config.tls.clone(), config.max_head));
        AgentTransport { config: ureq_config(&config), shared, routes: RwLock::default() }
    }

    fn known(&self, attempt: &Attempt<'_>) -> Result<Arc<Known>, Failure> {
        let serves = |known: &&Arc<Known>| {
            known.proxy.as_ref() == attempt.proxy
                && known.server_name.as_deref() == attempt.server_name
        };
        let find = |routes: &Routes| {
            routes.get(&attempt.endpoint).and_then(|routes| routes.iter().find(serves).cloned())
        };
        if let Some(known) = find(&self.routes.read()) {
            return Ok(known);
        }
        let name = match attempt.server_name.map(server_name) {
            Some(None) => return Err(Failure::local("no name for a certificate")),
            Some(name) => name,
            None => None,
        };
        let origin = Origin::of(attempt.url)?;
        let mut routes = self.routes.write();
        if let Some(known) = find(&routes) {
            return Ok(known);
        }
        let (shared, proxy) = (self.shared.clone(), attempt.proxy.cloned());
        let dialler =
            Dialler { shared, server_name: name, foreign: attempt.foreign, proxy: proxy.clone() };
        let known = Arc::new(Known {
            agent: Agent::with_parts(self.config.clone(), dialler, NoResolver),
            origin,
            server_name: attempt.server_name.map(str::to_owned),
            proxy,
        });
        let endpoint = routes.entry(attempt.endpoint).or_default();
        let place = endpoint.iter().position(|other| other.proxy == known.proxy);
        let replaced = match place {
            Some(place) => Some(std::mem::replace(&mut endpoint[place], known.clone())),
            None => {
                endpoint.push(known.clone());
                None
            }
        };
        // Closing its idle connections is I/O.
        drop(routes);
        drop(replaced);
        Ok(known)
    }

    /// Forgets the routes that are none of `kept`.
    fn keep(&self, kept: impl Fn(u64, Option<&ProxyUrl>) -> bool) {
        let mut gone = Vec::new();
        self.routes.write().retain(|endpoint, routes| {
            let (keep, drop): (Vec<_>, Vec<_>) = std::mem::take(routes)
                .into_iter()
                .partition(|known| kept(*endpoint, known.proxy.as_ref()));
            gone.extend(drop);
            *routes = keep;
            !routes.is_empty()
        });
        // Closing sockets is I/O; the lock is free again by now.
        drop(gone);
    }
}

impl Transport for AgentTransport {
    fn attempt(&self, attempt: Attempt<'_>) -> (Report, Option<Answer>) {
        let (endpoint, proxy) = (attempt.endpoint, attempt.proxy);
        let progress = Arc::new(Progress::new(
            attempt.limits,
            attempt.fresh,
            sizes(&attempt),
            attempt.interrupt.clone(),
            attempt.meter.cloned(),
        ));
        let result = self.known(&attempt).and_then(|known| {
            progress.run(|| exchange(&known.agent, &known.origin, attempt, &progress))
        });
        let facts = progress.report();
        match result {
            Ok(answer) => (Report { ending: Ending::Answered, ..facts }, Some(answer)),
            Err(failure) => {
                // Whatever else went wrong meanwhile, most likely because of it.
                let cancelled = progress.interrupt().is_triggered();
                let failure = if cancelled { Failure::cancelled() } else { failure };
                // A path that went silent has silenced the other connections too: after a sleep of
                // the machine each of them would cost a call its limit.
                if facts.reused && matches!(failure.cause, Cause::TimedOut(_)) {
                    let route = (endpoint, proxy);
                    self.keep(|other, through| (other, through) != route);
                }
                let ending = Ending::Failed(failure.cause);
                let (os_error, detail) = (failure.os_error, failure.detail);
                (Report { ending, os_error, detail, ..facts }, None)
            }
        }
    }

    fn require_tls(&self) -> Result<(), String> {
        self.shared.tls(false).map(|_| ()).map_err(|error| error.0)
    }

    /// Idle connections are closed, those in use when their exchange ends. Another attempt at the
    /// endpoint starts anew.
    fn forget(&self, endpoint: u64) {
        let gone = self.routes.write().remove(&endpoint);
        // Closing sockets is I/O; the lock is free again by now.
        drop(gone);
    }

    fn forget_proxy(&self, proxy: &ProxyUrl) {
        self.keep(|_, through| through != Some(proxy));
    }

    /// Connections in use are closed when their exchange ends.
    fn drop_idle(&self) {
        let gone = std::mem::take(&mut *self.routes.write());
        drop(gone);
    }
}

/// ureq with everything off that it would decide by itself: proxies from the environment,
/// redirects, statuses as errors, headers of its own, and timeouts (which cost a thread each).
fn ureq_config(config: &TransportConfig) -> ureq::config::Config {
    // By its age alone a connection would be closed when the next one is wanted, and not before.
    let most = if config.idle_timeout.is_zero() { 0 } else { config.max_idle_per_endpoint };
    Agent::config_builder()
        .proxy(None)
        .max_redirects(0)
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .user_agent("")
        .accept("")
        .accept_encoding("")
        .max_response_header_size(config.max_head)
        .max_idle_connections(most)
        .max_idle_connections_per_host(most)
        .max_idle_age(config.idle_timeout)
        .build()
}
