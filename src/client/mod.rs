//! The public Rust API, and the loop that makes a call.

mod attempt;
mod base_url;
mod body;
mod breaker;
mod builder;
mod call_headers;
mod call_setters;
mod callbacks;
mod cancel;
#[cfg(feature = "config")]
mod config;
mod endpoint;
mod env_options;
mod environment;
mod error;
mod event;
mod exchange;
mod explain;
mod foreign;
mod headers;
mod json;
mod log;
mod no_proxy;
mod options;
mod origins;
mod preset;
mod progress;
mod prometheus;
mod proxy;
mod proxy_roster;
mod proxy_settings;
mod publish;
mod redirect;
mod request;
mod response;
mod roster;
mod run;
mod settings;
mod shared;
mod snapshot;
mod snapshot_text;
mod status;
mod stream;
mod update;
mod wait;

pub use attempt::Attempt;
pub use base_url::split_base_urls;
pub use body::{Body, Rewind};
pub use breaker::{Breaker, CircuitOpen};
pub use builder::ClientBuilder;
pub use cancel::Cancel;
pub use endpoint::Endpoint;
pub use error::{Error, Refusal, Result};
pub use event::{Event, EventKind};
pub use options::{OptionSpec, options};
pub use prometheus::prometheus;
pub use proxy::Proxy;
pub use request::{Request, RequestBuilder};
pub use response::Response;
pub use settings::{Selection, TlsRoots};
pub use snapshot::{Member, Snapshot, Transition};
pub use status::Status;
pub use stream::{BodyReader, Stream};
#[cfg(feature = "capi")]
pub(crate) use wait::whole_ms;

use crate::decide::{self, EndpointId};
use publish::Publisher;
use shared::Shared;
use std::fmt;
use std::sync::Arc;

/// A client of one service that lives under one or more base URLs.
///
/// One call goes to whichever endpoint can answer. With the defaults they are tried in order: a GET
/// or HEAD moves on after any failure, every other request only when it certainly reached no server
/// (seed 000, ruling R1).
///
/// A clone is the same client: clones share endpoints, idle connections and what was learned about
/// them. Threads may use one at the same time.
///
/// ```
/// let client = anyhost::Client::new("https://api.example.com/v1, https://fallback.example.com/v1")?;
/// let for_another_thread = client.clone();
/// std::thread::spawn(move || assert_eq!(for_another_thread.snapshot().members().len(), 2));
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
}

impl Client {
    /// A client of these base URLs, a comma-separated list in the order to be tried, with every
    /// setting at its default.
    ///
    /// ```
    /// let client = anyhost::Client::new("https://api.example.com, https://fallback.example.com")?;
    /// assert_eq!(client.snapshot().members()[0].label(), "https://api.example.com");
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`ClientBuilder::build`].
    pub fn new(base_urls: &str) -> Result<Self> {
        Client::builder().base_urls(base_urls).build()
    }

    /// A builder for everything that can be set.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let client = anyhost::Client::builder()
    ///     .base_urls("https://api.example.com, https://fallback.example.com")
    ///     .deadline(Duration::from_secs(10))
    ///     .build()?;
    /// # assert_eq!(client.snapshot().members().len(), 2);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn builder() -> ClientBuilder {
        ClientBuilder::new()
    }

    /// A GET request for this path; see [`Request::new`]. It moves on to the next endpoint after a
    /// network error, and after the answers of [`resend_statuses`](RequestBuilder::resend_statuses).
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let a = "https://a.example";
    /// let network = ScriptedTransport::new().on(a, [Reply::ok("up")]);
    /// # let client = anyhost::Client::builder().base_urls(a).transport(network.clone()).build()?;
    /// assert_eq!(client.get("/v1/status").send()?.text()?, "up");
    /// assert_eq!(network.attempts()[0].url, "https://a.example/v1/status");
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn get(&self, path: &str) -> RequestBuilder<'_> {
        self.request("GET", path)
    }

    /// A HEAD request for this path; see [`Request::new`]. It moves on as a GET does, and its answer has no body.
    ///
    /// Example: [`Client::request`].
    pub fn head(&self, path: &str) -> RequestBuilder<'_> {
        self.request("HEAD", path)
    }

    /// A POST request for this path; see [`Request::new`]. It moves on to the next endpoint only where it
    /// certainly was not sent, or [`resend`](RequestBuilder::resend) says that it may be repeated.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let (a, b) = ("https://a.example", "https://b.example");
    /// let network =
    ///     ScriptedTransport::new().on(a, [Reply::refused(), Reply::times_out()]).on(b, [Reply::ok("made")]);
    /// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
    /// # let builder = builder.hold_for(std::time::Duration::ZERO);
    /// # let client = builder.transport(network.clone()).clock(network.clock()).build()?;
    /// assert_eq!(client.post("/orders").body("{}").send()?.endpoint(), b); // a was not reached
    /// let error = client.post("/orders").body("{}").send().unwrap_err();
    /// assert_eq!(error.delivery(), anyhost::Delivery::Maybe); // a may have it now: b is not asked
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn post(&self, path: &str) -> RequestBuilder<'_> {
        self.request("POST", path)
    }

    /// A PUT request for this path; see [`Request::new`]. It moves on as a POST does.
    ///
    /// Example: [`Client::request`].
    pub fn put(&self, path: &str) -> RequestBuilder<'_> {
        self.request("PUT", path)
    }

    /// A PATCH request for this path; see [`Request::new`]. It moves on as a POST does.
    ///
    /// Example: [`Client::request`].
    pub fn patch(&self, path: &str) -> RequestBuilder<'_> {
        self.request("PATCH", path)
    }

    /// A DELETE request for this path; see [`Request::new`]. It moves on as a POST does.
    ///
    /// Example: [`Client::request`].
    pub fn delete(&self, path: &str) -> RequestBuilder<'_> {
        self.request("DELETE", path)
    }

    /// A request of any method for this path; see [`Request::new`]. Methods are case-sensitive (RFC 9110
    /// section 9.1). One that is none is told by [`send`](RequestBuilder::send).
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let a = "https://a.example";
    /// # let network = ScriptedTransport::new().on(a, [Reply::status(204)]);
    /// # let client = anyhost::Client::builder().base_urls(a).transport(network.clone()).build()?;
    /// client.head("/notes/7").send()?;
    /// client.put("/notes/7").body("buy milk").send()?;
    /// client.patch("/notes/7").body("and bread").send()?;
    /// client.delete("/notes/7").send()?;
    /// client.request("OPTIONS", "/notes/7").send()?;
    /// let methods: Vec<String> = network.attempts().iter().map(|it| it.method.to_string()).collect();
    /// assert_eq!(methods, ["HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn request(&self, method: &str, path: &str) -> RequestBuilder<'_> {
        RequestBuilder::new(self, method, path)
    }

    /// Sends a request that stands by itself, and reads the whole answer; see [`RequestBuilder::send`].
    ///
    /// Example: [`Request`].
    ///
    /// # Errors
    ///
    /// As [`RequestBuilder::send`]; [`Status::State`] where the body is a reader that an earlier call
    /// has read.
    pub fn send(&self, request: &mut Request) -> Result<Response> {
        run::run(&self.shared, request, None)
    }

    /// Sends a request that stands by itself, and hands its answer out when the head is there; see
    /// [`RequestBuilder::stream`].
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let a = "https://a.example";
    /// let network = ScriptedTransport::new().on(a, [Reply::ok("a long story")]);
    /// # let client = anyhost::Client::builder().base_urls(a).transport(network.clone()).build()?;
    /// let mut request = anyhost::Request::new("GET", "/story")?;
    /// let stream = client.stream(&mut request)?;
    /// assert_eq!(std::io::read_to_string(stream)?, "a long story");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`send`](Client::send).
    pub fn stream(&self, request: &mut Request) -> Result<Stream> {
        run::stream(&self.shared, request)
    }

    /// Sends a request of the caller's own to one endpoint, or through one proxy, once, whatever its state:
    /// a health check. A good answer is as good as a probe and closes the circuit; a failure counts as
    /// one. What is disabled stays disabled.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// use anyhost::{BreakerSettings, Request, State};
    /// # use std::time::Duration;
    /// # let (a, b) = ("https://a.example", "https://b.example");
    /// let network = ScriptedTransport::new()
    ///     .on(a, [Reply::refused(), Reply::ok("fine")])
    ///     .on(b, [Reply::ok("")]);
    /// let settings = BreakerSettings::new(1, Duration::from_secs(60), Duration::from_secs(60), false)?;
    /// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}")).breaker(settings);
    /// # let client = builder.transport(network.clone()).clock(network.clock()).build()?;
    /// client.get("/").send()?; // a is refused: its circuit opens for a minute
    /// let mut ping = Request::new("GET", "/health")?;
    /// assert_eq!(client.health_check(a, &mut ping)?.text()?, "fine");
    /// assert_eq!(client.snapshot().find(a).unwrap().state(), State::Eligible);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::NotFound`] where no member has this label or URL; those of a call.
    pub fn health_check(&self, key: &str, request: &mut Request) -> Result<Response> {
        let id = self.shared.state.lock().find(key).ok_or_else(|| unknown(key))?;
        run::run(&self.shared, request, Some(id))
    }

    /// Ends the client, for all its clones: every call under way ends with [`Status::ShutDown`], as if
    /// it had been [cancelled](Cancel), and so does every later one at once. Idle connections are
    /// closed. It waits for nobody, and there is no way back.
    ///
    /// ```
    /// let client = anyhost::Client::new("https://a.example")?;
    /// let clone = client.clone();
    /// client.shutdown();
    /// assert_eq!(clone.get("/").send().unwrap_err().status(), anyhost::Status::ShutDown);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn shutdown(&self) {
        self.shared.shutdown.trigger();
        self.shared.transport.drop_idle();
    }

    /// Closes the idle connections to all endpoints, because the network has changed or the program
    /// is about to sleep. Connections in use are closed when their answer is complete.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let a = "https://a.example";
    /// let network = ScriptedTransport::new().on(a, [Reply::ok("")]);
    /// # let client = anyhost::Client::builder().base_urls(a).transport(network.clone()).build()?;
    /// client.get("/").send()?;
    /// client.drop_idle(); // the laptop goes to sleep
    /// assert_eq!(client.get("/").send()?.status(), 200); // over a connection of its own
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn drop_idle(&self) {
        self.shared.transport.drop_idle();
    }

    /// The endpoints and the proxies as they are now. It takes the lock of the client for as long as it
    /// copies them, and asks nothing of the network.
    ///
    /// Example: [`Snapshot`].
    pub fn snapshot(&self) -> Snapshot {
        snapshot::snapshot(&self.shared)
    }

    /// Takes an endpoint, or a proxy, out of service until it is [enabled](Client::enable) again, for the
    /// reason given, which texts and snapshots show. `key` is its label, or its URL as it was given. Attempts
    /// under way there go on.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let (a, b) = ("https://a.example", "https://b.example");
    /// # let network = ScriptedTransport::new().on(a, [Reply::ok("")]).on(b, [Reply::ok("")]);
    /// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
    /// # let client = builder.transport(network.clone()).clock(network.clock()).build()?;
    /// client.disable("https://a.example", "moved to another rack")?;
    /// assert_eq!(client.get("/").send()?.endpoint(), "https://b.example");
    /// assert_eq!(client.snapshot().find(a).unwrap().detail(), "moved to another rack");
    ///
    /// client.enable("https://a.example")?;
    /// assert_eq!(client.get("/").send()?.endpoint(), "https://a.example");
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::NotFound`] where no member has this label or URL.
    pub fn disable(&self, key: &str, why: &str) -> Result<()> {
        let now = self.shared.clock.now();
        self.change(key, |state, id, events| state.pool.disable(id, why, now, events))
    }

    /// Puts an endpoint, or a proxy, back into service. The first request to a proxy, and with a breaker to
    /// an endpoint, is a probe.
    ///
    /// Example: [`Client::disable`].
    ///
    /// # Errors
    ///
    /// [`Status::NotFound`] where no member has this label or URL.
    pub fn enable(&self, key: &str) -> Result<()> {
        let now = self.shared.clock.now();
        self.change(key, |state, id, events| state.pool.enable(id, now, events))
    }

    /// Sets the live and the maximum weight of an endpoint, or of a proxy; 0 = `weight_max`.
    ///
    /// ```
    /// let client = anyhost::Client::builder()
    ///     .base_urls("https://old.example, https://new.example")
    ///     .selection(anyhost::Selection::Weighted)
    ///     .build()?;
    /// client.set_weight("https://new.example", 50)?; // about one call in twenty for now
    /// let snapshot = client.snapshot();
    /// assert_eq!(snapshot.find("https://new.example").unwrap().max_weight(), 50);
    ///
    /// let error = client.set_weight("https://new.example", 1001).unwrap_err();
    /// assert_eq!(error.status(), anyhost::Status::Range);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::NotFound`]; [`Status::Range`] for a weight outside `weight_min` to `weight_max`.
    pub fn set_weight(&self, key: &str, weight: u32) -> Result<()> {
        let given = (weight > 0).then_some(weight);
        let weight =
            roster::weight(given, "member", &base_url::redacted(key), &self.shared.client)?;
        self.change(key, |state, id, events| state.pool.set_weight(id, weight, events))
    }

    fn change(
        &self,
        key: &str,
        change: impl FnOnce(&mut shared::State, EndpointId, &mut Vec<decide::Event>) -> bool,
    ) -> Result<()> {
        let mut events = Vec::new();
        let changed = {
            let state = &mut *self.shared.state.lock();
            state.find(key).is_some_and(|id| change(state, id, &mut events))
        };
        Publisher::outside(&self.shared).publish(&mut events, &[]);
        if changed { Ok(()) } else { Err(unknown(key)) }
    }
}

fn unknown(key: &str) -> Error {
    let why = format!("there is no member `{}`", base_url::redacted(key).escape_debug());
    Error::of_option(Status::NotFound, "key", why)
}

/// Shows the endpoints and the proxies, without user info.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bases, proxies): (Vec<_>, Vec<_>) = {
            let state = self.shared.state.lock();
            let proxies = state.proxies.values().map(|proxy| proxy.shown()).collect();
            (state.members.values().map(|member| member.base.clone()).collect(), proxies)
        };
        let mut shown = f.debug_struct("Client");
        shown.field("endpoints", &bases);
        if !proxies.is_empty() {
            shown.field("proxies", &proxies);
        }
        if !self.shared.client.tls_verify {
            shown.field("tls_verify", &false);
        }
        shown.finish()
    }
}
