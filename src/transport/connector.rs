//! Makes a connection to an endpoint: name, TCP, TLS, all before one deadline.
//!
//! ureq would look the name up for every request, before it looks for an idle connection; here it
//! finds a resolver that does nothing, and the name is looked up only by a dial.
//!
//! Flow: ureq found no idle connection → **connector** → `lookup`, `dial`, `session` → `wire`.

use super::current::Progress;
use super::dial::dial;
use super::failure::Failure;
use super::lookup::{Names, bare};
use super::session::Session;
use super::socket::Socket;
use super::tls::{TlsError, TlsSettings, client_config, server_name};
use super::wire::Wire;
use crate::decide::Phase;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::fmt;
use std::sync::{Arc, OnceLock};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{ConnectionDetails, Connector, NextTimeout};

/// What all endpoints of a transport dial with.
pub(super) struct Shared {
    pub(super) names: Names,
    tls: Option<TlsSettings>,
    /// Made when https is first asked for: reading a system's roots takes longer than most calls.
    config: OnceLock<Result<Arc<ClientConfig>, TlsError>>,
    /// The same without our certificate.
    anonymous: OnceLock<Result<Arc<ClientConfig>, TlsError>>,
}

impl Shared {
    pub(super) fn new(names: Names, tls: Option<TlsSettings>) -> Self {
        Shared { names, tls, config: OnceLock::new(), anonymous: OnceLock::new() }
    }

    /// What TLS connections are made with; to a foreign peer without saying who we are.
    pub(super) fn tls(&self, foreign: bool) -> Result<Arc<ClientConfig>, TlsError> {
        let Some(settings) = &self.tls else {
            return Err(TlsError("https without TLS settings".to_owned()));
        };
        let anonymous = || client_config(&TlsSettings { identity: None, ..settings.clone() });
        match (&settings.identity, foreign) {
            (Some(_), true) => self.anonymous.get_or_init(anonymous).clone(),
            _ => self.config.get_or_init(|| client_config(settings)).clone(),
        }
    }
}

/// Dials one endpoint.
pub(super) struct Dialler {
    pub(super) shared: Arc<Shared>,
    /// The name to ask a certificate for, where it is not the host of the URL.
    pub(super) server_name: Option<ServerName<'static>>,
    /// It is none of the client's endpoints.
    pub(super) foreign: bool,
}

impl fmt::Debug for Dialler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dialler")
    }
}

impl Dialler {
    fn connection(&self, url: &Uri) -> Result<Wire, Failure> {
        let progress = Progress::current().ok_or_else(|| Failure::local("no attempt"))?;
        let deadline = progress.to_connect();
        let host = bare(url.host().ok_or_else(|| Failure::local("a URL without host"))?);
        let secure = url.scheme_str() == Some("https");
        let port = url.port_u16().unwrap_or(if secure { 443 } else { 80 });
        // Everything that can fail without the network fails before it is asked.
        let tls = if secure { Some((self.config()?, self.name(host)?)) } else { None };

        progress.reach(Phase::Resolve);
        let interrupt = progress.interrupt();
        let meter = progress.meter().map(|meter| &**meter);
        let peers = self.shared.names.find(host, port, deadline, interrupt, meter)?;

        progress.reach(Phase::Connect);
        let stream = dial(&peers, deadline, interrupt, meter)
            .inspect_err(|_| self.shared.names.doubt(host, port))?;
        let mut socket = Socket::new(stream).map_err(|e| Failure::of_system(&e))?;
        socket.serve(interrupt, progress.meter())?;

        let session = match tls {
            None => None,
            Some((config, name)) => {
                progress.reach(Phase::Tls);
                Some(Session::handshake(config, name, &mut socket, deadline)?)
            }
        };
        Ok(Wire::new(socket, session, progress.sizes()))
    }

    fn config(&self) -> Result<Arc<ClientConfig>, Failure> {
        self.shared.tls(self.foreign).map_err(|error| Failure::local(error.0))
    }

    fn name(&self, host: &str) -> Result<ServerName<'static>, Failure> {
        match &self.server_name {
            Some(name) => Ok(name.clone()),
            None => server_name(host)
                .ok_or_else(|| Failure::local("the host is no name for a certificate")),
        }
    }
}

impl Connector<()> for Dialler {
    type Out = Wire;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<Wire>, ureq::Error> {
        self.connection(details.uri).map(Some).map_err(Failure::into_ureq)
    }
}

/// Resolves nothing: see the module.
#[derive(Debug)]
pub(super) struct NoResolver;

impl Resolver for NoResolver {
    fn resolve(
        &self,
        _: &Uri,
        _: &Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        Ok(self.empty())
    }
}
