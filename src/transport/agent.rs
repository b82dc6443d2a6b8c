//! The transport of production: one ureq agent for each endpoint.
//!
//! One agent each, because ureq's pool takes time quadratic in the connections it holds, and
//! because dropping an agent is then a way to drop an endpoint's idle connections. Agents cost a
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
use super::tls::{TlsSettings, server_name};
use super::{Answer, Attempt, Transport};
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
    /// Most idle connections kept for one endpoint. Default: 8.
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
    agents: RwLock<HashMap<u64, Arc<Known>>>,
}

/// What an endpoint's attempts go through.
struct Known {
    agent: Agent,
    /// Its connections were verified by this name, so they serve no other.
    server_name: Option<String>,
}

impl fmt::Debug for AgentTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentTransport").field("endpoints", &self.agents.read().len()).finish()
    }
}

impl AgentTransport {
    /// A transport without any connection yet.
    pub fn new(config: TransportConfig) -> Self {
        let shared = Arc::new(Shared::new(Names::new(config.lookup.clone()), config.tls.clone()));
        AgentTransport { config: ureq_config(&config), shared, agents: RwLock::default() }
    }

    fn known(&self, attempt: &Attempt<'_>) -> Result<Arc<Known>, Failure> {
        if attempt.proxy.is_some() {
            return Err(Failure::local("no way through proxies yet"));
        }
        let serves = |known: &&Arc<Known>| known.server_name.as_deref() == attempt.server_name;
        if let Some(known) = self.agents.read().get(&attempt.endpoint).filter(serves) {
            return Ok(known.clone());
        }
        let name = match attempt.server_name.map(server_name) {
            Some(None) => return Err(Failure::local("no name for a certificate")),
            Some(name) => name,
            None => None,
        };
        let mut agents = self.agents.write();
        if let Some(known) = agents.get(&attempt.endpoint).filter(serves) {
            return Ok(known.clone());
        }
        let (shared, foreign) = (self.shared.clone(), attempt.foreign);
        let dialler = Dialler { shared, server_name: name, foreign };
        let known = Arc::new(Known {
            agent: Agent::with_parts(self.config.clone(), dialler, NoResolver),
            server_name: attempt.server_name.map(str::to_owned),
        });
        let replaced = agents.insert(attempt.endpoint, known.clone());
        // Closing its idle connections is I/O.
        drop(agents);
        drop(replaced);
        Ok(known)
    }
}

impl Transport for AgentTransport {
    fn attempt(&self, attempt: Attempt<'_>) -> (Report, Option<Answer>) {
        let endpoint = attempt.endpoint;
        let progress = Progress::new(attempt.limits, attempt.fresh, sizes(&attempt));
        let progress =
            progress.interrupted_by(attempt.interrupt.clone()).metered_by(attempt.meter.cloned());
        let progress = Arc::new(progress);
        let result = self
            .known(&attempt)
            .and_then(|known| progress.run(|| exchange(&known.agent, attempt, &progress)));
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
                    self.forget(endpoint);
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
        let gone = self.agents.write().remove(&endpoint);
        // Closing sockets is I/O; the lock is free again by now.
        drop(gone);
    }

    /// Connections in use are closed when their exchange ends.
    fn drop_idle(&self) {
        let gone = std::mem::take(&mut *self.agents.write());
        drop(gone);
    }
}

/// ureq with everything off that it would decide by itself: proxies from the environment,
/// redirects, statuses as errors, headers of its own, and timeouts (which cost a thread each).
fn ureq_config(config: &TransportConfig) -> ureq::config::Config {
    Agent::config_builder()
        .proxy(None)
        .max_redirects(0)
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .user_agent("")
        .accept("")
        .accept_encoding("")
        .max_response_header_size(config.max_head)
        .max_idle_connections(config.max_idle_per_endpoint)
        .max_idle_connections_per_host(config.max_idle_per_endpoint)
        .max_idle_age(config.idle_timeout)
        .build()
}
