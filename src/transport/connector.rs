//! Makes a connection to an endpoint: name, TCP, TLS, all before one deadline. Or to a proxy in the same
//! way, which is then asked for the way to the endpoint.
//!
//! ureq would look the name up for every request, before it looks for an idle connection; here it
//! finds a resolver that does nothing, and the name is looked up only by a dial.
//!
//! Flow: ureq found no idle connection → **connector** → `lookup`, `dial`, `tunnel`, `session` → `wire`.

use super::current::Progress;
use super::dial::dial;
use super::failure::Failure;
use super::line::Line;
use super::lookup::{Names, bare, literal};
use super::session::Session;
use super::socket::Socket;
use super::socks::Place;
use super::tls::{TlsError, TlsSettings, client_config, server_name};
use super::tunnel::Tunnel;
use super::wire::Wire;
use super::{ProxyScheme, ProxyUrl};
use crate::decide::{Cause, Phase, ProxyReply};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{ConnectionDetails, Connector, NextTimeout};

/// What all endpoints of a transport dial with.
pub(super) struct Shared {
    pub(super) names: Names,
    /// Largest head of an answer, a proxy's own included.
    max_head: usize,
    tls: Option<TlsSettings>,
    /// Made when https is first asked for: reading a system's roots takes longer than most calls.
    config: OnceLock<Result<Arc<ClientConfig>, TlsError>>,
    /// The same without our certificate.
    anonymous: OnceLock<Result<Arc<ClientConfig>, TlsError>>,
}

impl Shared {
    pub(super) fn new(names: Names, tls: Option<TlsSettings>, max_head: usize) -> Self {
        Shared { names, max_head, tls, config: OnceLock::new(), anonymous: OnceLock::new() }
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

/// Dials one endpoint, directly or through one proxy.
pub(super) struct Dialler {
    pub(super) shared: Arc<Shared>,
    /// The name to ask a certificate for, where it is not the host of the URL.
    pub(super) server_name: Option<ServerName<'static>>,
    /// It is none of the client's endpoints.
    pub(super) foreign: bool,
    pub(super) proxy: Option<ProxyUrl>,
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

        let target = Target { host, port };
        let mut line = match &self.proxy {
            None => self.direct(target, &progress)?,
            Some(proxy) if proxy.scheme().is_http() && !secure => {
                let line = self.to_proxy(proxy, &progress)?;
                let authority = url.authority().map_or(host, |authority| authority.as_str());
                let origin = format!("http://{authority}");
                return Ok(Wire::to_forward(line, &origin, progress.sizes()));
            }
            Some(proxy) => self.through(proxy, target, &progress)?,
        };
        let session = match tls {
            None => None,
            Some((config, name)) => {
                progress.reach(Phase::Tls);
                Some(Session::handshake(config, name, &mut line, deadline)?)
            }
        };
        Ok(Wire::new(line, session, progress.sizes()))
    }

    fn direct(&self, target: Target<'_>, progress: &Progress) -> Result<Line, Failure> {
        progress.reach(Phase::Resolve);
        let peers = self.addresses(target, progress)?;
        progress.reach(Phase::Connect);
        Ok(Line::new(self.socket(&peers, target, progress)?, None))
    }

    /// A connection to the proxy. All of it is one phase, since all of it is about the proxy.
    fn to_proxy(&self, proxy: &ProxyUrl, progress: &Progress) -> Result<Line, Failure> {
        progress.reach(Phase::ProxyConnect);
        let place = Target { host: proxy.host(), port: proxy.port() };
        // The certificate that we have is for endpoints, so a proxy is shown none.
        let tls = match proxy.scheme() {
            ProxyScheme::Https => Some((self.shared.tls(true), server_name(place.host))),
            _ => None,
        };
        let peers = self.addresses(place, progress)?;
        let mut socket = self.socket(&peers, place, progress)?;
        let session = match tls {
            None => None,
            Some((config, name)) => {
                let config = config.map_err(|error| Failure::local(error.0))?;
                let name = name.ok_or_else(no_name)?;
                let deadline = progress.to_connect();
                Some(Session::handshake(config, name, &mut socket, deadline)?)
            }
        };
        Ok(Line::new(socket, session))
    }

    /// A way to the target through the proxy. Where the target was looked up here, its addresses are
    /// asked for one after the other, each on a connection of its own, and the first refusal is the one
    /// told of, as with addresses that are dialled.
    fn through(
        &self,
        proxy: &ProxyUrl,
        target: Target<'_>,
        progress: &Progress,
    ) -> Result<Line, Failure> {
        let mut first = None;
        for place in self.places(proxy, target, progress)? {
            let opened = self.to_proxy(proxy, progress).and_then(|mut line| {
                let deadline = progress.to_connect();
                let max_head = self.shared.max_head;
                Tunnel { line: &mut line, progress, deadline, max_head }.open(proxy, &place)?;
                Ok(line)
            });
            let failure = match opened {
                Ok(line) => {
                    progress.accepted();
                    return Ok(line);
                }
                Err(failure) => failure,
            };
            let another = is_of_the_address(&failure, progress);
            if !another || progress.interrupt().is_triggered() {
                return Err(first.unwrap_or(failure));
            }
            first.get_or_insert(failure);
        }
        Err(first.unwrap_or_else(|| Failure::new(Cause::NameLookup, "the name has no address")))
    }

    /// What to ask the proxy for.
    fn places(
        &self,
        proxy: &ProxyUrl,
        target: Target<'_>,
        progress: &Progress,
    ) -> Result<Vec<Place>, Failure> {
        let Target { host, port } = target;
        let here = matches!(proxy.scheme(), ProxyScheme::Socks4 | ProxyScheme::Socks5);
        if !here && literal(host).is_none() {
            return Ok(vec![Place::Name(host.to_owned(), port)]);
        }
        progress.reach(Phase::Resolve);
        let mut peers = self.addresses(target, progress)?;
        if proxy.scheme() == ProxyScheme::Socks4 && peers.iter().any(SocketAddr::is_ipv4) {
            peers.retain(SocketAddr::is_ipv4);
        }
        Ok(peers.into_iter().map(Place::Address).collect())
    }

    fn addresses(
        &self,
        target: Target<'_>,
        progress: &Progress,
    ) -> Result<Vec<SocketAddr>, Failure> {
        let Target { host, port } = target;
        let meter = progress.meter().map(|meter| &**meter);
        self.shared.names.find(host, port, progress.to_connect(), progress.interrupt(), meter)
    }

    fn socket(
        &self,
        peers: &[SocketAddr],
        target: Target<'_>,
        progress: &Progress,
    ) -> Result<Socket, Failure> {
        let meter = progress.meter().map(|meter| &**meter);
        let stream = dial(peers, progress.to_connect(), progress.interrupt(), meter)
            .inspect_err(|_| self.shared.names.doubt(target.host, target.port))?;
        let mut socket = Socket::new(stream).map_err(|e| Failure::of_system(&e))?;
        socket.serve(progress.interrupt(), progress.meter())?;
        Ok(socket)
    }

    fn config(&self) -> Result<Arc<ClientConfig>, Failure> {
        self.shared.tls(self.foreign).map_err(|error| Failure::local(error.0))
    }

    fn name(&self, host: &str) -> Result<ServerName<'static>, Failure> {
        match &self.server_name {
            Some(name) => Ok(name.clone()),
            None => server_name(host).ok_or_else(no_name),
        }
    }
}

/// Where a connection leads: a host without brackets, and a port.
#[derive(Clone, Copy)]
struct Target<'a> {
    host: &'a str,
    port: u16,
}

fn no_name() -> Failure {
    Failure::local("the host is no name for a certificate")
}

/// Whether a proxy could not reach that one address of the target, so that another may do.
fn is_of_the_address(failure: &Failure, progress: &Progress) -> bool {
    use ProxyReply::{Socks4, Socks5};
    let reply = progress.report().proxy_reply;
    failure.cause == Cause::ProxyRefused
        && matches!(reply, Some(Socks5(1 | 3..=6 | 8) | Socks4(91)))
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
