//! From settings to a client: everything is checked here, once, and no call fails for it later.

mod settings;

use super::Client;
use super::attempt::Attempt;
use super::base_url::{BaseUrl, split_base_urls};
use super::call_headers::CallHeaders;
use super::call_setters::call_setters;
use super::callbacks::Callbacks;
use super::endpoint::Endpoint;
use super::environment::Environment;
use super::error::{Error, Result};
use super::event::Event;
use super::headers;
use super::log;
use super::options::{self, Applied};
use super::preset;
use super::proxy::Proxy;
use super::proxy_roster::{ProxyRoster, check_labels};
use super::proxy_settings::{from_environment, proxy_pool_settings};
use super::response::Response;
use super::roster::Roster;
use super::settings::{CallSettings, ClientSettings, Selection, TlsRoots};
use super::shared::{Calls, Forks, Shared};
use super::status::Status;
use crate::decide::{
    Advice, Backoff, BreakerSettings, Kind, PoolSettings, ProxyFault, Verdict, WeightStrategy,
};
use crate::sys::{Clock, Rng, SystemClock};
use crate::transport::{
    AgentTransport, Identity, NameLookup, Roots, TlsSettings, Transport, TransportConfig,
};
use http::HeaderMap;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// Makes a [`Client`].
///
/// A mistake is remembered and told by [`build`](ClientBuilder::build), the first one of several, so
/// methods can be chained without a question mark at each.
///
/// ```
/// use std::time::Duration;
///
/// let client = anyhost::Client::builder()
///     .base_urls("https://api.example.com/v1, https://fallback.example.com/v1")
///     .header("Accept", "application/json")
///     .deadline(Duration::from_secs(4))
///     .on_event(|event| eprintln!("{event}"))
///     .build()?;
/// # Ok::<(), anyhost::Error>(())
/// ```
#[must_use = "a builder does nothing until it builds"]
pub struct ClientBuilder {
    endpoints: Vec<Endpoint>,
    proxies: Vec<Proxy>,
    headers: HeaderMap,
    roots_pem: Vec<Vec<u8>>,
    identity: Option<Identity>,
    client: ClientSettings,
    call: CallSettings,
    callbacks: Callbacks,
    transport: Option<Box<dyn Transport>>,
    lookup: Option<Arc<dyn NameLookup>>,
    clock: Option<Arc<dyn Clock>>,
    mistake: Option<Error>,
}

impl ClientBuilder {
    pub(crate) fn new() -> Self {
        ClientBuilder {
            endpoints: Vec::new(),
            proxies: Vec::new(),
            headers: HeaderMap::new(),
            roots_pem: Vec::new(),
            identity: None,
            client: ClientSettings::default(),
            call: CallSettings::default(),
            callbacks: Callbacks::default(),
            transport: None,
            lookup: None,
            clock: None,
            mistake: None,
        }
    }

    /// Adds endpoints, in this order: a comma-separated list; see
    /// [`split_base_urls`]. Option `base_urls`.
    ///
    /// # Errors
    ///
    /// [`Status::Url`] for an entry that is no base URL; see [`Endpoint::new`].
    pub fn base_urls(self, list: &str) -> Self {
        self.with(|builder| builder.add_base_urls(list))
    }

    /// Adds an endpoint, behind those added before: [`base_urls`](ClientBuilder::base_urls) for one that has
    /// more than a URL.
    ///
    /// ```
    /// use anyhost::{Client, Endpoint};
    ///
    /// let client = Client::builder()
    ///     .base_urls("https://a.example")
    ///     .endpoint(Endpoint::new("https://b.example")?.label("spare"))
    ///     .build()?;
    /// assert_eq!(client.snapshot().members()[1].label(), "spare");
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn endpoint(mut self, endpoint: Endpoint) -> Self {
        self.add_endpoint(endpoint);
        self
    }

    /// Adds a proxy. With at least one, every request goes through one of them, drawn by weight.
    ///
    /// A client that has proxies and no endpoints takes absolute URLs: the origin of each is that call's
    /// one endpoint, and what is learned of it is kept for the 1,024 used last (ruling R16).
    ///
    /// ```
    /// use anyhost::{Client, Proxy};
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let network = ScriptedTransport::new().on("https://a.example", [Reply::ok("hello")]);
    ///
    /// let client = Client::builder()
    ///     .proxy(Proxy::new("http://proxy.example:3128")?.label("office"))
    /// #     .transport(network.clone())
    ///     .build()?;
    /// let answer = client.get("https://a.example/status").send()?;
    /// assert_eq!(answer.attempts()[0].proxy(), Some("office"));
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn proxy(mut self, proxy: Proxy) -> Self {
        self.add_proxy(proxy);
        self
    }

    /// Adds proxies: a comma-separated list of URLs, in which the word `direct` stands for going straight
    /// to the endpoint; see [`Proxy`]. Option `proxies`.
    ///
    /// ```
    /// let client = anyhost::Client::builder()
    ///     .base_urls("https://api.example.com")
    ///     .proxies("http://proxy.example:3128, socks5h://user:secret@far.example, direct")
    ///     .build()?;
    /// let snapshot = client.snapshot();
    /// let ways: Vec<&str> = snapshot.members()[1..].iter().map(|it| it.label()).collect();
    /// assert_eq!(ways, ["http://proxy.example:3128", "socks5h://far.example:1080", "direct"]);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// None: every request goes straight to its endpoint.
    ///
    /// # Errors
    ///
    /// [`Status::Url`] for an entry that is no proxy.
    pub fn proxies(self, list: &str) -> Self {
        self.with(|builder| builder.add_proxies(list))
    }

    /// Hosts that are reached straight, without a proxy, with the meaning that curl gives to `NO_PROXY`: names
    /// with all below them, addresses, networks as `10.0.0.0/8`, each with a port where it is meant, `*`; at
    /// commas or blanks. What it names goes straight and never through a proxy. Option `no_proxy`.
    ///
    /// An entry that is none is told in the log, and matches nothing.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let (near, far) = ("http://api.internal", "http://api.example.com");
    /// # let network = ScriptedTransport::new().on(near, [Reply::ok("")]).on(far, [Reply::ok("")]);
    /// let client = anyhost::Client::builder()
    ///     .proxies("http://proxy.example:3128")
    ///     .no_proxy("internal, 10.0.0.0/8")
    /// #     .transport(network.clone())
    ///     .build()?;
    /// let proxy_of = |url| Ok(client.get(url).send()?.attempts()[0].proxy().map(str::to_owned));
    /// assert_eq!(proxy_of("http://api.internal")?, None);
    /// assert!(proxy_of("http://api.example.com")?.is_some());
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// None.
    pub fn no_proxy(self, list: &str) -> Self {
        self.set("no_proxy", list)
    }

    /// Whether the environment is asked for proxies where none are listed, with the meaning that curl gives
    /// to its variables: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, of which all but the
    /// first may be written in capitals. A target whose scheme has no variable is reached straight. A
    /// [`no_proxy`](ClientBuilder::no_proxy) of the client's own takes the place of the variable. Option
    /// `proxy_from_env`.
    ///
    /// ```
    /// let client = anyhost::Client::builder()
    ///     .base_urls("https://api.example.com")
    ///     .proxies("http://proxy.example:3128") // listed, so that no variable is asked
    ///     .proxy_from_env(true)
    ///     .build()?;
    /// assert_eq!(client.snapshot().members()[1].label(), "http://proxy.example:3128");
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// Off: a library that looks into the environment by itself sends requests where nobody expects.
    ///
    /// # Errors
    ///
    /// [`Status::Url`] from [`build`](ClientBuilder::build) where a variable names no proxy.
    pub fn proxy_from_env(mut self, ask: bool) -> Self {
        self.client.proxy_from_env = ask;
        self
    }

    /// When a proxy that failed in this way is left alone, and for how long. Options `proxy_threshold`,
    /// `proxy_threshold_body`, `proxy_base_delay`, `proxy_max_delay` set the same for all ways at once.
    ///
    /// No number fits every service (seed 004): a proxy beside the program may be asked again after a
    /// second, one that is paid by the request after minutes.
    ///
    /// # Default
    ///
    /// After 1 failure to be reached or to lead on, and after 3 bodies in a row that stalled or broke
    /// off, for 30 s, which doubles with each further failure up to 1 h, without jitter. Each kind of
    /// failure is counted by itself, and a whole answer from behind the proxy ends all counts.
    ///
    /// ```
    /// use anyhost::{BreakerSettings, ProxyFault};
    /// use std::time::Duration;
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let (a, near) = ("https://a.example", "http://near.example:3128");
    /// # let network = ScriptedTransport::new().on(a, [Reply::ok("")]).on_proxy(near, [Reply::refused()]);
    /// # let builder = anyhost::Client::builder().base_urls(a).proxies(near);
    /// # let builder = builder.transport(network.clone()).clock(network.clock());
    ///
    /// // Refused connections cool it for 5 s, each time, and not longer from time to time.
    /// let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
    /// let steady = BreakerSettings::new(1, 5 * second, minute, false)?.with_growth(1);
    /// let client = builder.proxy_cooldown(ProxyFault::Connect, steady).build()?;
    /// for _ in 0..3 {
    ///     assert!(client.get("/").send().is_err());
    ///     assert_eq!(client.snapshot().find("http://near.example:3128").unwrap().cooling(), 5 * second);
    ///     network.clock().advance(5 * second);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn proxy_cooldown(mut self, fault: ProxyFault, settings: BreakerSettings) -> Self {
        self.client.proxy_cooldowns[fault as usize] = Some(settings);
        self
    }

    /// A header that every request carries, to whichever endpoint, and a request's own header of
    /// that name takes the place of.
    ///
    /// # Default
    ///
    /// None but what HTTP asks for, `User-Agent` ([`user_agent`](ClientBuilder::user_agent)) and, where
    /// [`decompress`](ClientBuilder::decompress) is on, `Accept-Encoding`.
    ///
    /// # Errors
    ///
    /// [`Status::Argument`] for what no header can be.
    pub fn header(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.with(|builder| builder.add_header(name, value.as_ref(), false))
    }

    /// The same for a value that no text may ever show, and that no redirect takes to a foreign origin.
    /// Authorization, Cookie, Proxy-Authorization, X-Api-Key, Api-Key and X-Auth-Token are secrets anyway
    /// (ruling R15); the option `secret_headers` names more.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let a = "https://a.example";
    /// let network = ScriptedTransport::new().on(a, [Reply::ok("")]);
    /// # let builder = anyhost::Client::builder().base_urls(a).transport(network.clone()).clock(network.clock());
    /// let client = builder.secret_header("X-Session", "5ac1").build()?;
    /// client.get("/").send()?;
    /// let sent = &network.attempts()[0].headers["x-session"];
    /// assert!(sent == "5ac1" && sent.is_sensitive()); // shown as `Sensitive` in a text
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::Argument`] for what no header can be.
    pub fn secret_header(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.with(|builder| builder.add_header(name, value.as_ref(), true))
    }

    /// Certificates to trust beside those of [`tls_roots`](ClientBuilder::tls_roots), as PEM.
    ///
    /// ```
    /// use anyhost::{Client, Status, TlsRoots};
    ///
    /// let only_ours = |pem: &str| {
    ///     Client::builder()
    ///         .base_urls("https://api.internal")
    ///         .tls_roots(TlsRoots::None)
    ///         .add_root_pem(pem) // of a file as a rule: std::fs::read("ca.pem")?
    ///         .build()
    /// };
    /// assert_eq!(only_ours("no certificate").unwrap_err().status(), Status::TlsMaterial);
    /// ```
    ///
    /// # Default
    ///
    /// None.
    ///
    /// # Errors
    ///
    /// [`Status::TlsMaterial`] from [`build`](ClientBuilder::build) for what holds no certificate, where an
    /// endpoint or a proxy is https.
    pub fn add_root_pem(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.trust(pem.into());
        self
    }

    /// Whose certificates are trusted. Option `tls_roots`.
    ///
    /// ```
    /// use anyhost::{Client, Status, TlsRoots};
    ///
    /// // None are trusted, and none are added: nobody could be verified.
    /// let built = Client::builder().base_urls("https://a.example").tls_roots(TlsRoots::None).build();
    /// assert_eq!(built.unwrap_err().status(), Status::TlsMaterial);
    /// ```
    ///
    /// # Default
    ///
    /// [`TlsRoots::System`]: what the operator trusts, and as it is kept up to date. The variables
    /// `SSL_CERT_FILE` and `SSL_CERT_DIR` name others, where the system has them.
    ///
    /// # Errors
    ///
    /// [`Status::TlsMaterial`] from [`build`](ClientBuilder::build) for [`TlsRoots::None`] without a
    /// [root of your own](ClientBuilder::add_root_pem), where an endpoint or a proxy is https.
    pub fn tls_roots(mut self, roots: TlsRoots) -> Self {
        self.client.tls_roots = roots;
        self
    }

    /// Whether certificates are verified. Option `tls_verify`.
    ///
    /// **With `false`, TLS protects from nobody.** Any certificate of any server is taken: whoever
    /// sits between can read every request and answer, secrets included, and change them. It is for
    /// a test server on this machine. For a server with a certificate of its own making use
    /// [`add_root_pem`](ClientBuilder::add_root_pem); for one that is reached under another name,
    /// [`Endpoint::server_name`]. The `Debug` text of the builder and of the client says that it is
    /// off.
    ///
    /// ```
    /// let client = anyhost::Client::builder()
    ///     .base_urls("https://127.0.0.1:8443") // a test server, its certificate made a minute ago
    ///     .tls_verify(false)
    ///     .build()?;
    /// assert!(format!("{client:?}").contains("tls_verify: false"));
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// `true`.
    pub fn tls_verify(mut self, verify: bool) -> Self {
        self.client.tls_verify = verify;
        self
    }

    /// A certificate to show to servers that ask for one, as PEM: `cert` with the client's own first
    /// and then those that lead from it to a root; `key` with its private key, not encrypted. It is
    /// shown to every endpoint that asks (ruling R15).
    ///
    /// A server that does not accept it refuses the attempt with
    /// [`Reason::Tls`](crate::Reason::Tls). In TLS 1.3 that refusal comes when the request may have
    /// been sent, so that a write does not go on to the next endpoint.
    ///
    /// ```
    /// use anyhost::{Client, Status};
    ///
    /// let (cert, key) = ("of files as a rule", "std::fs::read(\"client.key\")?");
    /// let built = Client::builder().base_urls("https://a.example").client_cert_pem(cert, key).build();
    /// assert_eq!(built.unwrap_err().status(), Status::TlsMaterial);
    /// ```
    ///
    /// # Default
    ///
    /// None: a server that insists on one refuses.
    ///
    /// # Errors
    ///
    /// [`Status::TlsMaterial`] from [`build`](ClientBuilder::build) where one cannot be read, or the
    /// key is not that of the certificate.
    pub fn client_cert_pem(self, cert: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Self {
        self.with(|builder| builder.identify(cert.as_ref(), key.as_ref()))
    }

    /// Tells every [`Event`], on the thread whose call caused it and never under a lock: it may use the
    /// client. What it takes is time of the call. A panic in it changes nothing.
    ///
    /// Example: [`Event`].
    ///
    /// # Default
    ///
    /// None; the crate `log` gets the same, under the target `anyhost` and those below it.
    pub fn on_event(mut self, observer: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        self.callbacks.on_event = Some(Box::new(observer));
        self
    }

    /// Asks this judge about every complete answer, before it counts: whether it is good, whatever
    /// its status; the endpoint's fault, to be had elsewhere; or the caller's own. It runs on the
    /// thread of the call, never under a lock, and sees the answer with the attempts before it. Of an
    /// answer that is streamed it sees the head, and no body (ruling R21).
    ///
    /// # Default
    ///
    /// None: [`failure_statuses`](ClientBuilder::failure_statuses) and
    /// [`resend_statuses`](ClientBuilder::resend_statuses) decide (ruling R11).
    ///
    /// ```
    /// use anyhost::{Client, Verdict};
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let (a, b) = ("https://a.example", "https://b.example");
    ///
    /// // A service that answers 200 with an error in its head.
    /// let network = ScriptedTransport::new()
    ///     .on(a, [Reply::ok("").header("X-Error-Code", "17")])
    ///     .on(b, [Reply::ok("data")]);
    /// let client = Client::builder()
    ///     .base_urls("https://a.example, https://b.example")
    ///     .judge(|answer| match answer.header("X-Error-Code") {
    ///         None | Some("0") => Verdict::Default,
    ///         Some(_) => Verdict::Fault,
    ///     })
    /// #     .transport(network.clone())
    /// #     .clock(network.clock())
    ///     .build()?;
    /// assert_eq!(client.get("/").send()?.text()?, "data");
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn judge(mut self, judge: impl Fn(&Response) -> Verdict + Send + Sync + 'static) -> Self {
        self.callbacks.judge = Some(Box::new(move |answer| judge(answer)));
        self
    }

    /// Asks for advice after every attempt that was not good. [`Advice::Again`] moves on where the
    /// client would stop, but only with a request that may go out again
    /// ([`resend`](ClientBuilder::resend)), and within attempts, candidates and deadline (ruling R11).
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// use anyhost::Advice;
    /// # let (a, b) = ("https://a.example", "https://b.example");
    /// let network = ScriptedTransport::new().on(a, [Reply::status(500)]).on(b, [Reply::ok("well")]);
    /// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
    /// # let builder = builder.transport(network.clone()).clock(network.clock());
    /// // This service answers 500 while it starts, and its GETs may be had elsewhere then.
    /// let client = builder
    ///     .retry(|attempt| match attempt.http_status() {
    ///         Some(500) => Advice::Again,
    ///         _ => Advice::Default,
    ///     })
    ///     .build()?;
    /// assert_eq!(client.get("/").send()?.endpoint(), b);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// None: the client decides (ruling R1).
    pub fn retry(mut self, retry: impl Fn(&Attempt) -> Advice + Send + Sync + 'static) -> Self {
        self.callbacks.retry = Some(Box::new(retry));
        self
    }

    /// Makes attempts in the place of the network; see [`inject`](crate::inject). The feature `testing`
    /// has a scripted one, for tests of programs that use this crate (ruling R18). The settings of
    /// connections (`tls_roots`, `idle_timeout` and the like) are then nobody's.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// let network = ScriptedTransport::new().on("https://a.example", [Reply::ok("scripted")]);
    /// let client = anyhost::Client::builder()
    ///     .base_urls("https://a.example")
    ///     .transport(network.clone()) // the clone that is kept tells what was sent
    ///     .clock(network.clock())
    ///     .build()?;
    /// assert_eq!(client.get("/").send()?.text()?, "scripted");
    /// assert_eq!(network.received_at("https://a.example").len(), 1);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// HTTP/1.1 over sockets of the system.
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Some(Box::new(transport));
        self
    }

    /// Reads the time and waits, in the place of the machine's clock (ruling R18). The feature
    /// `testing` has one that is moved by hand.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # use std::time::Duration;
    /// # let network = ScriptedTransport::new().on("https://a.example", [Reply::times_out()]);
    /// let client = anyhost::Client::builder()
    ///     .base_urls("https://a.example")
    ///     .transport(network.clone())
    ///     .clock(network.clock())
    ///     .build()?;
    /// assert!(client.get("/").send().is_err());
    /// assert_eq!(network.clock().elapsed(), Duration::from_secs(5)); // of its time, none of ours
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// The machine's monotonic clock, [`inject::SystemClock`](crate::inject::SystemClock).
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Looks names up in the place of the system's resolver: a fixed table, or a registry of services.
    /// It is asked to make a connection, at most every 10 s for a name that works. Where the names of
    /// targets are the proxy's to look up it is not asked for them.
    ///
    /// Example: [`inject::NameLookup`](crate::inject::NameLookup).
    ///
    /// # Default
    ///
    /// [`inject::SystemLookup`](crate::inject::SystemLookup): `getaddrinfo`.
    pub fn lookup(mut self, lookup: impl NameLookup + 'static) -> Self {
        self.lookup = Some(Arc::new(lookup));
        self
    }

    /// Sets an option by name, as text; see [`options`](crate::options). Durations read `250ms`, `5s`, `5m`,
    /// `1h` or a number of milliseconds, sizes `64k` or `16m`, flags `on` and `off`; `off` is no limit. The
    /// empty text of `base_urls` adds nothing.
    ///
    /// ```
    /// let client = anyhost::Client::builder()
    ///     .set("base_urls", "https://a.example, https://b.example")
    ///     .set("attempt_timeout", "200ms,1s,10s")
    ///     .build()?;
    /// assert_eq!(client.snapshot().members().len(), 2);
    ///
    /// let error = anyhost::Client::builder().set("deadline", "soon").build().unwrap_err();
    /// assert_eq!((error.status(), error.option()), (anyhost::Status::Option, Some("deadline")));
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::Option`] for a name or a value that there is not.
    pub fn set(self, option: &str, value: &str) -> Self {
        self.with(|builder| builder.set_option(option, value))
    }

    call_setters!();

    /// Makes the client.
    ///
    /// # Errors
    ///
    /// The first mistake made before; [`Status::Config`] without an endpoint and without a proxy;
    /// [`Status::Duplicate`] for two members that are one after normalising, or one label twice;
    /// [`Status::Downgrade`] for https beside http; [`Status::Range`] for a weight outside `weight_min` to
    /// `weight_max`; [`Status::TlsMaterial`] where there is nothing to verify a certificate with.
    pub fn build(mut self) -> Result<Client> {
        if let Some(mistake) = self.mistake {
            return Err(mistake);
        }
        check_backoff(&self.call)?;
        let settings = pool_settings(&self.client)?;
        let proxy_settings = proxy_pool_settings(&self.client)?;
        if self.client.proxy_from_env && self.proxies.is_empty() {
            self.proxies = from_environment(&Environment::of_process(), &mut self.client)?;
        }
        for entry in self.client.no_proxy.ignored() {
            log::ignored("no_proxy", entry);
        }
        let proxies = ProxyRoster::new(self.proxies, &self.client)?;
        let roams = self.endpoints.is_empty() && !proxies.is_empty();
        let roster = match roams {
            true => Roster::none(),
            false => Roster::new(self.endpoints, &self.client)?,
        };
        check_labels(roster.labels(), proxies.labels())?;
        let clock: Arc<dyn Clock> = self.clock.unwrap_or_else(|| Arc::new(SystemClock));
        let transport = match self.transport {
            Some(transport) => transport,
            None => transport(&self.client, self.roots_pem, self.identity, self.lookup),
        };
        if roster.has_https() || proxies.has_https() {
            require_tls(&*transport)?;
        }

        if !self.client.tls_verify {
            log::unverified();
        }

        let now = clock.now();
        let rng = self.client.seed.map_or_else(Rng::random, Rng::seeded);
        let mut state = roster.into_state(settings, rng, now);
        if !proxies.is_empty() {
            proxies.install(&mut state, proxy_settings, now, &mut Vec::new());
        }

        let mut headers = self.headers;
        for (name, value) in &mut headers {
            if self.client.secret_headers.iter().any(|secret| secret == name.as_str()) {
                value.set_sensitive(true);
            }
        }
        Ok(Client {
            shared: Arc::new(Shared {
                usual_headers: CallHeaders::new(&headers, &self.call, &HeaderMap::new()),
                headers,
                client: self.client,
                call: self.call,
                roams,
                state: Mutex::new(state),
                clock,
                transport,
                callbacks: self.callbacks,
                calls: Calls::default(),
                shutdown: Arc::default(),
                forks: Forks::new(),
            }),
        })
    }

    pub(crate) fn set_option(&mut self, option: &str, value: &str) -> Result<()> {
        match options::set_client(&mut self.client, &mut self.call, option, value)? {
            Applied::Done => Ok(()),
            Applied::BaseUrls => self.add_base_urls(value),
            Applied::Proxies => self.add_proxies(value),
        }
    }

    pub(crate) fn set_preset(&mut self, name: &str) -> Result<()> {
        preset::apply(&mut self.client, &mut self.call, name)
    }

    /// Sets an option back to its default.
    #[cfg(feature = "capi")]
    pub(crate) fn unset_option(&mut self, option: &str) -> Result<()> {
        self.set_option(option, options::default_of(option)?)
    }

    pub(crate) fn add_endpoint(&mut self, endpoint: Endpoint) {
        self.endpoints.push(endpoint);
    }

    pub(crate) fn add_proxy(&mut self, proxy: Proxy) {
        self.proxies.push(proxy);
    }

    /// The endpoint of this label, or of this base URL as it was given.
    #[cfg(feature = "capi")]
    pub(crate) fn find_endpoint(&mut self, key: &str) -> Result<&mut Endpoint> {
        Endpoint::find_in(&mut self.endpoints, key)
    }

    pub(crate) fn trust(&mut self, pem: Vec<u8>) {
        self.roots_pem.push(pem);
    }

    pub(crate) fn identify(&mut self, cert: &[u8], key: &[u8]) -> Result<()> {
        let identity = Identity::from_pem(cert, key).map_err(|why| {
            Error::of_option(
                Status::TlsMaterial,
                "client_cert",
                format!("client certificate: {why}"),
            )
        })?;
        self.identity = Some(identity);
        Ok(())
    }

    #[cfg(feature = "capi")]
    pub(crate) fn callbacks(&mut self) -> &mut Callbacks {
        &mut self.callbacks
    }

    /// Keeps a mistake for [`build`](ClientBuilder::build), if it is the first.
    pub(crate) fn remember(&mut self, mistake: Error) {
        self.mistake.get_or_insert(mistake);
    }

    fn add_base_urls(&mut self, list: &str) -> Result<()> {
        for entry in split_base_urls(list) {
            let base = BaseUrl::parse(entry).map_err(|why| {
                Error::of_option(Status::Url, "base_urls", format!("option `base_urls`: {why}"))
            })?;
            self.endpoints.push(Endpoint::of(base));
        }
        Ok(())
    }

    fn add_proxies(&mut self, list: &str) -> Result<()> {
        for entry in split_base_urls(list) {
            self.proxies.push(Proxy::new(entry)?);
        }
        Ok(())
    }

    pub(crate) fn add_header(&mut self, name: &str, value: &[u8], secret: bool) -> Result<()> {
        let (name, value) = headers::parse(name.as_bytes(), value, secret)?;
        self.headers.append(name, value);
        Ok(())
    }

    fn change(
        self,
        option: &'static str,
        change: impl Fn(&mut CallSettings) -> Result<(), String>,
    ) -> Self {
        self.with(|builder| change(&mut builder.call).map_err(|why| options::invalid(option, why)))
    }

    pub(super) fn with(mut self, f: impl FnOnce(&mut Self) -> Result<()>) -> Self {
        if let Err(mistake) = f(&mut self) {
            self.remember(mistake);
        }
        self
    }
}

/// What was set one by one has to go together.
pub(super) fn check_backoff(call: &CallSettings) -> Result<Backoff> {
    Backoff::new(call.backoff_base, call.backoff_max, true).map_err(|why| {
        let why = format!("options `backoff_base` and `backoff_max`: {why}");
        Error::of_option(Status::Config, "backoff_base", why)
    })
}

pub(super) fn pool_settings(client: &ClientSettings) -> Result<PoolSettings> {
    let breaker = BreakerSettings::new(
        client.breaker_threshold,
        client.breaker_base_delay,
        client.breaker_max_delay,
        client.breaker_jitter,
    )
    .map_err(|why| {
        Error::of_option(Status::Config, "breaker", format!("option `breaker`: {why}"))
    })?;
    let strategy = match client.weight_strategy {
        Some(strategy) => strategy,
        None => WeightStrategy::add_or_divide(client.weight_increment, client.weight_divisor)
            .map_err(|why| {
                let why = format!("option `weight_divisor`: {why}");
                Error::of_option(Status::Config, "weight_divisor", why)
            })?,
    };
    Ok(PoolSettings {
        kind: Kind::Endpoint,
        faults: [None; ProxyFault::ALL.len()],
        breaker: client.breaker.then_some(breaker),
        strategy,
        weighted: client.selection == Selection::Weighted,
        honor_retry_after: client.honor_retry_after,
        budget: client.retry_budget,
    })
}

fn transport(
    settings: &ClientSettings,
    roots_pem: Vec<Vec<u8>>,
    identity: Option<Identity>,
    lookup: Option<Arc<dyn NameLookup>>,
) -> Box<dyn Transport> {
    let mut config = TransportConfig {
        tls: Some(TlsSettings {
            roots: match settings.tls_roots {
                TlsRoots::System => Roots::System,
                TlsRoots::Bundled => Roots::Bundled,
                TlsRoots::None => Roots::Only(Vec::new()),
            },
            extra_roots_pem: roots_pem,
            identity,
            unverified: !settings.tls_verify,
        }),
        idle_timeout: settings.idle_timeout,
        max_idle_per_endpoint: settings.max_idle_per_endpoint as usize,
        ..TransportConfig::default()
    };
    if let Some(lookup) = lookup {
        config.lookup = lookup;
    }
    Box::new(AgentTransport::new(config))
}

/// Finds out now, and not in the first call, whether certificates can be verified.
pub(super) fn require_tls(transport: &dyn Transport) -> Result<()> {
    transport.require_tls().map_err(|why| Error::of_option(Status::TlsMaterial, "tls_roots", why))
}

/// Shows no header values.
impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("endpoints", &self.endpoints)
            .field("proxies", &self.proxies)
            .field("client_cert", &self.identity.is_some())
            .field("client", &self.client)
            .field("call", &self.call)
            .field("mistake", &self.mistake)
            .finish_non_exhaustive()
    }
}
