//! A network made of words: what each server replies is written down, and time is virtual (R18).
//!
//! It is a transport like any other: it keeps the limits it is given and reports facts, so what a
//! client makes of a refused connection or of a 503 is decided by the same code as over sockets.
//! Every attempt is listed with what would have arrived at the server, so that a test can count there
//! what must not happen twice, and not ask the client.
//!
//! Not here: connections. None is kept, and a body is there at once or breaks off half-way; how bytes
//! arrive is tested against real sockets.

use super::interrupt::Interrupt;
use super::meter::{self, Meter};
use super::{Answer, AnswerBody, Attempt, BodySource, Failure, Outgoing, ProxyUrl, Transport};
use crate::decide::{Cause, Ending, Limit, Limits, Phase, ProxyReply, Report};
use crate::sys::{Clock as _, ManualClock};
use http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Method, StatusCode};
use parking_lot::Mutex;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Servers by script, in the place of the network. Feature `testing`.
///
/// Each base URL has a list of replies. One attempt takes one reply, and the last one repeats. Time
/// is that of [`clock`](ScriptedTransport::clock), which the client is to use as well: a reply that
/// takes 30 ms moves it on by 30 ms, and one that takes longer than the attempt may, to the limit.
///
/// A clone is the same network: give one to the client and keep the other.
///
/// ```
/// use anyhost::testing::{Reply, ScriptedTransport};
/// use std::time::Duration;
///
/// let network = ScriptedTransport::new()
///     .on("https://a.example", [Reply::refused()])
///     .on("https://b.example", [Reply::ok("hello").takes(Duration::from_millis(30))]);
/// let client = anyhost::Client::builder()
///     .base_urls("https://a.example, https://b.example")
///     .transport(network.clone())
///     .clock(network.clock())
///     .build()?;
///
/// let answer = client.post("/v1/orders").body("{}").send()?;
/// assert_eq!(answer.text()?, "hello");
/// assert_eq!(answer.elapsed(), Duration::from_millis(30));
///
/// let received = network.received_at("https://b.example");
/// assert_eq!(received.len(), 1);
/// assert_eq!((received[0].method.as_str(), received[0].body.as_slice()), ("POST", &b"{}"[..]));
/// # Ok::<(), anyhost::Error>(())
/// ```
///
/// # Panics
///
/// An attempt panics where no script covers its URL, and where nothing would ever end it: a mistake of
/// the test that should not look like one of the network.
#[derive(Clone, Default)]
pub struct ScriptedTransport {
    clock: ManualClock,
    network: Arc<Mutex<Network>>,
}

#[derive(Default)]
struct Network {
    servers: Vec<Server>,
    /// `base` is the proxy, without its credentials.
    proxies: Vec<Server>,
    attempts: Vec<Seen>,
    /// How many attempts before those were forgotten: one under way must not write into another's.
    forgotten: usize,
}

impl Network {
    /// Enters what became of an attempt, unless it is forgotten.
    fn complete(&mut self, number: usize, sent: bool, body: Vec<u8>) {
        let place = number.checked_sub(self.forgotten);
        if let Some(seen) = place.and_then(|place| self.attempts.get_mut(place)) {
            (seen.sent, seen.body) = (sent, body);
        }
    }
}

struct Server {
    base: String,
    replies: Vec<Reply>,
    taken: usize,
}

impl Server {
    /// In the place of what was there.
    fn settle(all: &mut Vec<Server>, base: String, replies: impl IntoIterator<Item = Reply>) {
        let replies: Vec<Reply> = replies.into_iter().collect();
        assert!(!replies.is_empty(), "a script for {base} without a reply");
        all.retain(|server| server.base != base);
        all.push(Server { base, replies, taken: 0 });
    }

    fn take(&mut self) -> Reply {
        let reply = self.replies[self.taken.min(self.replies.len() - 1)].clone();
        self.taken += 1;
        reply
    }
}

/// One attempt, as the network saw it.
///
/// ```
/// use anyhost::testing::{Reply, ScriptedTransport, Seen};
/// use std::time::Duration;
///
/// # let (a, b) = ("https://a.example", "https://b.example");
/// let network = ScriptedTransport::new()
///     .on(a, [Reply::refused().takes(Duration::from_millis(5))])
///     .on(b, [Reply::status(204)]);
/// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
/// # let client = builder.transport(network.clone()).clock(network.clock()).build()?;
/// client.put("/notes/7?draft=1").body("buy milk").send()?;
///
/// let [first, second]: [Seen; 2] = network.attempts().try_into().unwrap();
/// assert!(!first.sent && first.body.is_empty());
/// assert!(second.sent && !second.fresh && second.proxy.is_none());
/// assert_eq!((second.method.as_str(), second.body.as_slice()), ("PUT", &b"buy milk"[..]));
/// assert_eq!(second.url, "https://b.example/notes/7?draft=1");
/// assert_eq!(second.at, Duration::from_millis(5));
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Seen {
    /// The method.
    pub method: Method,
    /// The absolute URL.
    pub url: String,
    /// The proxy it went through, if any.
    pub proxy: Option<ProxyUrl>,
    /// Every header of the request but those of HTTP's framing.
    pub headers: HeaderMap,
    /// The body that arrived; empty where nothing was sent.
    pub body: Vec<u8>,
    /// Something of the request was sent: a server may have acted on it.
    pub sent: bool,
    /// It asked for a fresh connection: it is the replay after a stale one.
    pub fresh: bool,
    /// The limits it was under.
    pub limits: Limits,
    /// When it began, by [`ManualClock::elapsed`].
    pub at: Duration,
}

impl ScriptedTransport {
    /// A network without servers, on a clock of its own.
    pub fn new() -> Self {
        ScriptedTransport::default()
    }

    /// A server at this base URL, which gives these replies in turn and repeats the last. Of several
    /// base URLs that fit a request the longest counts, so one path can have a script of its own.
    ///
    /// # Panics
    ///
    /// Where there is no reply.
    #[must_use]
    pub fn on(self, base_url: &str, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.now_on(base_url, replies);
        self
    }

    /// From now on: the same for a network in use, in the place of what it was to reply.
    ///
    /// Example: [`testing`](crate::testing).
    ///
    /// # Panics
    ///
    /// Where there is no reply.
    pub fn now_on(&self, base_url: &str, replies: impl IntoIterator<Item = Reply>) {
        let base = base_url.trim_end_matches('/').to_owned();
        Server::settle(&mut self.network.lock().servers, base, replies);
    }

    /// A proxy with this URL, which does this in turn and repeats the last. A reply is taken by each
    /// attempt that goes through it, whatever the target; after [`Reply::passes`] it is the target that
    /// replies, after any other it is not asked. Proxies without a script let everything pass.
    ///
    /// ```
    /// use anyhost::inject::ProxyReply;
    /// use anyhost::testing::{Reply, ScriptedTransport};
    ///
    /// let network = ScriptedTransport::new()
    ///     .on("https://a.example", [Reply::ok("hello")])
    ///     .on_proxy("http://one.example:3128", [Reply::proxy_answers(ProxyReply::Http(407))])
    ///     .on_proxy("http://two.example:3128", [Reply::tunnel_times_out(), Reply::passes()]);
    /// # let builder = anyhost::Client::builder().base_urls("https://a.example").seed(1);
    /// # let builder = builder.set("proxy_base_delay", "1ms").transport(network.clone());
    /// let client = builder
    ///     .proxies("http://one.example:3128, http://two.example:3128")
    ///     .clock(network.clock())
    ///     .build()?;
    /// let _ = client.get("/").send(); // neither of them leads on
    /// network.clock().advance(std::time::Duration::from_secs(1));
    /// let answer = client.get("/").send()?;
    /// assert_eq!(answer.attempts()[0].proxy(), Some("http://two.example:3128"));
    ///
    /// network.now_on_proxy("http://two.example:3128", [Reply::proxy_answers(ProxyReply::Http(403))]);
    /// let error = client.get("/").send().unwrap_err();
    /// assert_eq!(error.reason(), anyhost::Reason::TunnelRefused);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Where there is no reply, and where the URL is none of a proxy.
    #[must_use]
    pub fn on_proxy(self, url: &str, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.now_on_proxy(url, replies);
        self
    }

    /// From now on: the same for a network in use.
    ///
    /// Example: [`ScriptedTransport::on_proxy`].
    ///
    /// # Panics
    ///
    /// Where there is no reply, and where the URL is none of a proxy.
    pub fn now_on_proxy(&self, url: &str, replies: impl IntoIterator<Item = Reply>) {
        let proxy = ProxyUrl::parse(url).unwrap_or_else(|why| panic!("{why}"));
        Server::settle(&mut self.network.lock().proxies, proxy.to_string(), replies);
    }

    /// The clock of this network, for the client to use as well.
    pub fn clock(&self) -> ManualClock {
        self.clock.clone()
    }

    /// Every attempt so far, in the order in which they began.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let (a, b) = ("https://a.example", "https://b.example");
    /// let network = ScriptedTransport::new().on(a, [Reply::refused()]).on(b, [Reply::ok("")]);
    /// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
    /// # let client = builder.transport(network.clone()).clock(network.clock()).build()?;
    /// client.get("/").send()?;
    /// let urls: Vec<String> = network.attempts().iter().map(|it| it.url.clone()).collect();
    /// assert_eq!(urls, ["https://a.example/", "https://b.example/"]);
    /// assert_eq!((network.attempts_at(a).len(), network.received_at(a).len()), (1, 0));
    ///
    /// network.forget_attempts();
    /// assert!(network.attempts().is_empty());
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn attempts(&self) -> Vec<Seen> {
        self.network.lock().attempts.clone()
    }

    /// The attempts at this base URL, those included that came to no connection.
    ///
    /// Example: [`ScriptedTransport::attempts`].
    pub fn attempts_at(&self, base_url: &str) -> Vec<Seen> {
        self.seen(base_url, |_| true)
    }

    /// The requests that arrived at this base URL, whole or in part.
    pub fn received_at(&self, base_url: &str) -> Vec<Seen> {
        self.seen(base_url, |seen| seen.sent)
    }

    /// Forgets the attempts so far. Replies stay where they are.
    ///
    /// Example: [`ScriptedTransport::attempts`].
    pub fn forget_attempts(&self) {
        let network = &mut *self.network.lock();
        network.forgotten += network.attempts.len();
        network.attempts.clear();
    }

    fn seen(&self, base_url: &str, wanted: impl Fn(&Seen) -> bool) -> Vec<Seen> {
        let base = base_url.trim_end_matches('/');
        let network = self.network.lock();
        let there =
            network.attempts.iter().filter(|seen| is_below(&seen.url, base) && wanted(seen));
        there.cloned().collect()
    }

    /// Lists the attempt, and gives its number and its reply.
    fn take(&self, attempt: &Attempt<'_>, began: Duration) -> (usize, Reply) {
        let network = &mut *self.network.lock();
        let servers = network.servers.iter_mut().filter(|s| is_below(attempt.url, &s.base));
        let Some(server) = servers.max_by_key(|server| server.base.len()) else {
            panic!("no script covers {}: give it one with `on`", attempt.url);
        };
        let base = attempt.proxy.map(ProxyUrl::to_string);
        let proxy = network.proxies.iter_mut().find(|proxy| Some(&proxy.base) == base.as_ref());
        let reply = match proxy.map(Server::take).map(Reply::at_proxy) {
            None => server.take(),
            Some(Reply { end: End::Passes, connects_after, .. }) => {
                let reply = server.take();
                Reply { connects_after: connects_after + reply.connects_after, ..reply }
            }
            Some(reply) => reply,
        };
        network.attempts.push(Seen {
            method: attempt.method.clone(),
            url: attempt.url.to_owned(),
            proxy: attempt.proxy.cloned(),
            headers: attempt.headers.clone(),
            body: Vec::new(),
            sent: false,
            fresh: attempt.fresh,
            limits: attempt.limits,
            at: began,
        });
        (network.forgotten + network.attempts.len() - 1, reply)
    }
}

/// Whether a URL is this base, or continues it with a path or a query.
fn is_below(url: &str, base: &str) -> bool {
    url.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}

impl Transport for ScriptedTransport {
    fn attempt(&self, attempt: Attempt<'_>) -> (Report, Option<Answer>) {
        let (number, reply) = self.take(&attempt, self.clock.elapsed());
        let mut play = Play {
            clock: &self.clock,
            now: self.clock.now(),
            limits: attempt.limits,
            interrupt: attempt.interrupt,
            meter: attempt.meter,
            report: Report::new(),
            sent: Vec::new(),
        };
        // What goes through no tunnel has been sent when the proxy says no.
        let forwarded = attempt.proxy.is_some_and(|proxy| proxy.scheme().is_http())
            && attempt.url.starts_with("http:");
        let head_only = attempt.method == Method::HEAD;
        let ended = match reply.end {
            End::Refused(answer) => play.refuse(answer, &reply, attempt.body, forwarded),
            _ => play.all(&reply, attempt.body, head_only),
        };
        self.network.lock().complete(number, play.report.asked_to_send, play.sent);
        let (ending, answer) = match ended {
            Ok(answer) => (Ending::Answered, Some(answer)),
            Err(cause) => (Ending::Failed(cause), None),
        };
        (Report { ending, ..play.report }, answer)
    }
}

/// Shows the base URLs.
impl fmt::Debug for ScriptedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = self.network.lock();
        let bases: Vec<&str> = network.servers.iter().map(|server| &*server.base).collect();
        f.debug_struct("ScriptedTransport").field("servers", &bases).finish_non_exhaustive()
    }
}

/// What becomes of one attempt.
///
/// ```
/// use anyhost::testing::Reply;
/// use std::time::Duration;
///
/// let second = Duration::from_secs(1);
/// let busy = Reply::status(503).header("Server", "nginx").retry_after(120 * second).body("later");
/// let slow = Reply::ok("at last").connects_after(second).takes(2 * second);
/// ```
///
/// What a POST comes to:
///
/// ```
/// use anyhost::testing::{Reply, ScriptedTransport};
/// use anyhost::{Delivery, Reason};
///
/// for (reply, reason, delivery) in [
///     (Reply::refused(), Reason::Refused, Delivery::NotSent),
///     (Reply::unreachable(), Reason::Unreachable, Delivery::NotSent),
///     (Reply::no_such_name(), Reason::Dns, Delivery::NotSent),
///     (Reply::bad_certificate(), Reason::TlsCert, Delivery::NotSent),
///     (Reply::connect_times_out(), Reason::Timeout, Delivery::NotSent),
///     (Reply::times_out(), Reason::Timeout, Delivery::Maybe),
///     (Reply::resets_after_sending(), Reason::Reset, Delivery::Maybe),
///     (Reply::closes_after_sending(), Reason::Eof, Delivery::Maybe),
///     (Reply::not_http(), Reason::Protocol, Delivery::Maybe),
///     (Reply::ok("half of it").breaks_off(), Reason::Truncated, Delivery::Answered),
///     (Reply::ok("half of it").stalls(), Reason::Timeout, Delivery::Answered),
/// ] {
///     let network = ScriptedTransport::new().on("https://a.example", [reply]);
/// #   let builder = anyhost::Client::builder().base_urls("https://a.example");
/// #   let client = builder.transport(network.clone()).clock(network.clock()).build()?;
///     let error = client.post("/orders").body("{}").send().unwrap_err();
///     assert_eq!((error.reason(), error.delivery()), (reason, delivery));
/// }
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Clone)]
pub struct Reply {
    end: End,
    connects_after: Duration,
    takes: Duration,
    meanwhile: Option<Arc<dyn Fn() + Send + Sync>>,
}

#[derive(Clone)]
enum End {
    /// Before anything was sent; `None` never.
    NoConnection(Phase, Option<Cause>),
    /// Of a proxy.
    Refused(ProxyReply),
    /// Through a proxy.
    Passes,
    /// After the request was sent; `None` never.
    NoAnswer(Option<Cause>),
    /// An idle connection that was already dead.
    Stale,
    Answer(Written, Complete),
}

/// An answer as it is written down.
#[derive(Clone)]
struct Written {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq)]
enum Complete {
    Yes,
    BreaksOff,
    Stalls,
}

impl Reply {
    /// An answer of this status, with no header and no body.
    ///
    /// # Panics
    ///
    /// For a status outside 100 to 999.
    pub fn status(status: u16) -> Self {
        assert!(StatusCode::from_u16(status).is_ok(), "{status} is no status");
        let answer = Written { status, headers: HeaderMap::new(), body: Vec::new() };
        Reply::new(End::Answer(answer, Complete::Yes))
    }

    /// 200 with this body.
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Reply::status(200).body(body)
    }

    /// The connection is refused: nothing was sent.
    pub fn refused() -> Self {
        Reply::no_connection(Phase::Connect, Cause::Refused)
    }

    /// There is no route: nothing was sent.
    pub fn unreachable() -> Self {
        Reply::no_connection(Phase::Connect, Cause::Unreachable)
    }

    /// The name does not exist: nothing was sent, and a second look-up would say the same.
    pub fn no_such_name() -> Self {
        Reply::no_connection(Phase::Resolve, Cause::NameUnknown)
    }

    /// The certificate is not accepted: nothing was sent.
    pub fn bad_certificate() -> Self {
        Reply::no_connection(Phase::Tls, Cause::Certificate)
    }

    /// The connection is never made: the attempt ends at its connect limit, nothing was sent.
    pub fn connect_times_out() -> Self {
        Reply::new(End::NoConnection(Phase::Connect, None))
    }

    /// The request is sent and no answer comes: the attempt ends at its limit.
    pub fn times_out() -> Self {
        Reply::new(End::NoAnswer(None))
    }

    /// The request is sent, then the connection is reset. Nobody knows what the server did.
    pub fn resets_after_sending() -> Self {
        Reply::new(End::NoAnswer(Some(Cause::Reset)))
    }

    /// The request is sent, then the connection is closed. Nobody knows what the server did.
    pub fn closes_after_sending() -> Self {
        Reply::new(End::NoAnswer(Some(Cause::Closed)))
    }

    /// What comes back is not HTTP.
    pub fn not_http() -> Self {
        Reply::new(End::NoAnswer(Some(Cause::Protocol)))
    }

    /// The request goes out on an idle connection that has died; the replay on a fresh one, where
    /// there is one, takes the next reply (ruling R2).
    ///
    /// Example: [`Attempt::is_replay`](crate::Attempt::is_replay).
    pub fn stale_connection() -> Self {
        Reply::new(End::Stale)
    }

    /// Of a proxy: lets the attempt through to its target, whose reply it then is.
    ///
    /// Example: [`ScriptedTransport::on_proxy`].
    pub fn passes() -> Self {
        Reply::new(End::Passes)
    }

    /// Of a proxy: says no in this way, to our credentials or to the target.
    ///
    /// An http target asked for through a proxy that speaks HTTP has no tunnel that could be refused:
    /// there 407 comes after the request was sent, and any other status is an answer like the target's.
    ///
    /// Example: [`ScriptedTransport::on_proxy`].
    pub fn proxy_answers(answer: ProxyReply) -> Self {
        Reply::new(End::Refused(answer))
    }

    /// Of a proxy: takes the connection, and is silent when it is asked for the target.
    ///
    /// Example: [`ScriptedTransport::on_proxy`].
    pub fn tunnel_times_out() -> Self {
        Reply::new(End::NoConnection(Phase::Tunnel, None))
    }

    /// Adds a header to an answer.
    ///
    /// # Panics
    ///
    /// For what no header can be, and where there is no answer.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("the name of a header");
        let value = HeaderValue::from_str(value).expect("the value of a header");
        self.change(|answer, _| {
            answer.headers.append(name, value);
        })
    }

    /// The body of an answer. Not sent with HEAD.
    ///
    /// # Panics
    ///
    /// Where there is no answer.
    #[must_use]
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        self.change(|answer, _| answer.body = body.into())
    }

    /// The header `Retry-After` of an answer, in whole seconds. Dates go by
    /// [`header`](Reply::header).
    ///
    /// # Panics
    ///
    /// Where there is no answer.
    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Self {
        self.header(RETRY_AFTER.as_str(), &wait.as_secs().to_string())
    }

    /// The body breaks off half-way.
    ///
    /// # Panics
    ///
    /// Where there is no answer.
    #[must_use]
    pub fn breaks_off(self) -> Self {
        self.change(|_, complete| *complete = Complete::BreaksOff)
    }

    /// The body stops coming half-way: it ends at its stall limit, or at that of the attempt, or, where
    /// it is streamed, of the call.
    ///
    /// # Panics
    ///
    /// Where there is no answer.
    #[must_use]
    pub fn stalls(self) -> Self {
        self.change(|_, complete| *complete = Complete::Stalls)
    }

    /// How long it takes, from the first byte sent to the end; of a connection that fails, until it
    /// does.
    ///
    /// # Default
    ///
    /// No time.
    #[must_use]
    pub fn takes(mut self, time: Duration) -> Self {
        self.takes = time;
        self
    }

    /// How long it takes before that to have a connection.
    ///
    /// # Default
    ///
    /// No time.
    #[must_use]
    pub fn connects_after(mut self, time: Duration) -> Self {
        self.connects_after = time;
        self
    }

    /// Runs `what` while the attempt is under way, after its request was sent if it is: to change
    /// something just then, or to hold several attempts there at once.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// use anyhost::{Cancel, Status};
    /// # let a = "https://a.example";
    ///
    /// let cancel = Cancel::new();
    /// let impatient = cancel.clone();
    /// let reply = Reply::times_out().meanwhile(move || impatient.trigger());
    /// let network = ScriptedTransport::new().on(a, [reply]);
    /// # let builder = anyhost::Client::builder().base_urls(a).transport(network.clone());
    /// # let client = builder.clock(network.clock()).build()?;
    /// assert_eq!(client.get("/").cancel(&cancel).send().unwrap_err().status(), Status::Cancelled);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    #[must_use]
    pub fn meanwhile(mut self, what: impl Fn() + Send + Sync + 'static) -> Self {
        self.meanwhile = Some(Arc::new(what));
        self
    }

    fn new(end: End) -> Self {
        let (connects_after, takes) = (Duration::ZERO, Duration::ZERO);
        Reply { end, connects_after, takes, meanwhile: None }
    }

    /// As a proxy does it: what is about connecting is about connecting to it.
    fn at_proxy(mut self) -> Self {
        if let End::NoConnection(phase, _) = &mut self.end {
            if matches!(phase, Phase::Resolve | Phase::Connect | Phase::Tls) {
                *phase = Phase::ProxyConnect;
            }
        }
        self
    }

    fn no_connection(phase: Phase, cause: Cause) -> Self {
        Reply::new(End::NoConnection(phase, Some(cause)))
    }

    fn change(mut self, change: impl FnOnce(&mut Written, &mut Complete)) -> Self {
        match &mut self.end {
            End::Answer(answer, complete) => change(answer, complete),
            _ => panic!("only an answer has headers and a body"),
        }
        self
    }
}

/// Shows no body.
impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = match &self.end {
            End::NoConnection(_, cause) => format!("no connection ({cause:?})"),
            End::NoAnswer(cause) => format!("no answer ({cause:?})"),
            End::Refused(answer) => format!("the proxy {answer}"),
            End::Passes => "passes".to_owned(),
            End::Stale => "stale connection".to_owned(),
            End::Answer(answer, _) => answer.status.to_string(),
        };
        f.debug_struct("Reply")
            .field("end", &end)
            .field("takes", &self.takes)
            .finish_non_exhaustive()
    }
}

/// One attempt on its way through its reply.
struct Play<'a> {
    clock: &'a ManualClock,
    /// The time of this attempt. Its own, so that attempts under way together take their time
    /// together, however their threads take turns.
    now: Instant,
    limits: Limits,
    interrupt: &'a Arc<Interrupt>,
    meter: Option<&'a Arc<Meter>>,
    report: Report,
    sent: Vec<u8>,
}

impl Play<'_> {
    fn all(&mut self, reply: &Reply, body: Outgoing<'_>, head_only: bool) -> Result<Answer, Cause> {
        let meanwhile = || reply.meanwhile.iter().for_each(|run| run());
        if let End::NoConnection(phase, cause) = reply.end {
            self.report.phase = phase;
            meanwhile();
            self.wait(cause.map(|_| reply.takes), self.to_connect())?;
            return Err(cause.unwrap_or(Cause::Local));
        }
        self.report.phase = Phase::Connect;
        self.wait(Some(reply.connects_after), self.to_connect())?;
        self.send(body)?;
        meanwhile();
        let began = self.now;
        match &reply.end {
            End::NoConnection(..) | End::Refused(_) => unreachable!("dealt with above"),
            End::Passes => panic!("only a proxy lets pass"),
            End::Stale => {
                self.report.reused = true;
                self.wait(Some(reply.takes), self.to_end())?;
                Err(Cause::Closed)
            }
            End::NoAnswer(cause) => {
                self.wait(cause.map(|_| reply.takes), self.to_end())?;
                Err(cause.unwrap_or(Cause::Local))
            }
            End::Answer(answer, complete) => {
                self.wait(Some(reply.takes), self.to_end())?;
                self.report.head_after = Some(self.now.saturating_duration_since(began));
                Ok(self.answer(answer, *complete, head_only))
            }
        }
    }

    /// A proxy says no.
    fn refuse(
        &mut self,
        answer: ProxyReply,
        reply: &Reply,
        body: Outgoing<'_>,
        forwarded: bool,
    ) -> Result<Answer, Cause> {
        let meanwhile = || reply.meanwhile.iter().for_each(|run| run());
        self.report.phase = Phase::ProxyConnect;
        self.wait(Some(reply.connects_after), self.to_connect())?;
        if forwarded {
            self.send(body)?;
        } else {
            self.report.phase = Phase::Tunnel;
        }
        meanwhile();
        let limit = if forwarded { self.to_end() } else { self.to_connect() };
        self.wait(Some(reply.takes), limit)?;
        match answer {
            ProxyReply::Http(status) if forwarded && !answer.is_about_credentials() => {
                let written = Written { status, headers: HeaderMap::new(), body: Vec::new() };
                Ok(self.answer(&written, Complete::Yes, false))
            }
            _ => {
                self.report.proxy_reply = Some(answer);
                if answer.is_about_credentials() {
                    self.report.phase = Phase::ProxyAuth;
                }
                Err(Cause::ProxyRefused)
            }
        }
    }

    fn send(&mut self, body: Outgoing<'_>) -> Result<(), Cause> {
        self.report.phase = Phase::Send;
        self.report.asked_to_send = true;
        match body {
            Outgoing::Empty => {}
            Outgoing::Bytes(bytes) => self.sent.extend_from_slice(bytes),
            Outgoing::Reader { source, length } => {
                let read = source.read_to_end(&mut self.sent);
                if read.is_err() || length.is_some_and(|length| length != self.sent.len() as u64) {
                    return Err(Cause::BodySource);
                }
            }
        }
        self.report.bytes_sent = self.sent.len() as u64;
        if let Some(meter) = self.meter {
            meter.sent(self.report.bytes_sent);
        }
        self.report.phase = Phase::Head;
        Ok(())
    }

    fn answer(&mut self, answer: &Written, complete: Complete, head_only: bool) -> Answer {
        let Written { status, headers, body } = answer.clone();
        self.report.phase = Phase::Body;
        self.report.status = Some(status);
        // A head of any length at least: an answer began to arrive.
        self.report.bytes_received = 1;
        let body = match complete {
            _ if head_only => AnswerBody::default(),
            Complete::Yes => {
                self.report.bytes_received += body.len() as u64;
                AnswerBody::from(body)
            }
            Complete::BreaksOff | Complete::Stalls => {
                let length = body.len();
                let rest = Unfinished {
                    half: body[..length / 2].to_vec(),
                    read: 0,
                    stalls: complete == Complete::Stalls,
                    clock: self.clock.clone(),
                    now: self.now,
                    limits: self.limits,
                    interrupt: self.interrupt.clone(),
                    meter: self.meter.cloned(),
                    cut: Cell::new(None),
                };
                AnswerBody::reader(rest, Some(length as u64))
            }
        };
        Answer { status, headers, body }
    }

    /// Lets time pass: `time`, or without end, but no further than the limit.
    fn wait(
        &mut self,
        time: Option<Duration>,
        limit: (Option<Instant>, Limit),
    ) -> Result<(), Cause> {
        let meter = self.meter.map(|meter| &**meter);
        pass(self.clock, &mut self.now, time, limit, self.interrupt, meter)
    }

    fn to_connect(&self) -> (Option<Instant>, Limit) {
        earlier((self.limits.connect_by, Limit::Connect), self.to_end())
    }

    fn to_end(&self) -> (Option<Instant>, Limit) {
        (self.limits.until, Limit::Attempt)
    }
}

/// A body that does not come to its end.
struct Unfinished {
    half: Vec<u8>,
    read: usize,
    stalls: bool,
    clock: ManualClock,
    now: Instant,
    limits: Limits,
    interrupt: Arc<Interrupt>,
    meter: Option<Arc<Meter>>,
    /// When it must be over, said after the head was there.
    cut: Cell<Option<Instant>>,
}

impl BodySource for Unfinished {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Failure> {
        let n = buf.len().min(self.half.len() - self.read);
        if n > 0 {
            buf[..n].copy_from_slice(&self.half[self.read..self.read + n]);
            self.read += n;
            return Ok(n);
        }
        if !self.stalls {
            return Err(Failure::new(Cause::Truncated, "the body breaks off, by its script"));
        }
        // A streamed body may be read much later than its head came.
        self.now = self.now.max(self.clock.now());
        let stall = self.limits.stall.and_then(|stall| self.now.checked_add(stall));
        let until = [self.limits.body_until, self.cut.get()].into_iter().flatten().min();
        let limit = earlier((stall, Limit::Stall), (until, Limit::Attempt));
        let meter = self.meter.as_deref();
        let waited = pass(&self.clock, &mut self.now, None, limit, &self.interrupt, meter);
        let cause = waited.expect_err("waiting without end ends at a limit");
        Err(Failure::new(cause, "the body stalls, by its script"))
    }

    fn bytes_received(&self) -> Option<u64> {
        Some(1 + self.read as u64)
    }

    fn limit(&self, until: Instant) {
        self.cut.set(Some(until));
    }
}

/// Lets time pass from `now` on: `time`, or without end, but no further than the limit, and none at all
/// when the call is over. Who watches it is told in between.
fn pass(
    clock: &ManualClock,
    now: &mut Instant,
    time: Option<Duration>,
    limit: (Option<Instant>, Limit),
    interrupt: &Interrupt,
    meter: Option<&Meter>,
) -> Result<(), Cause> {
    let until = time.and_then(|time| now.checked_add(time));
    let (stop, limit) = limit;
    let (at, ended) = match (until, stop) {
        (Some(until), None) => (until, Ok(())),
        (Some(until), Some(stop)) if until <= stop => (until, Ok(())),
        (_, Some(stop)) => (stop, Err(Cause::TimedOut(limit))),
        (None, None) => panic!("nothing would ever end this attempt: give it a limit"),
    };
    while !interrupt.is_triggered() {
        let step = now.checked_add(meter::due_in(meter)).map_or(at, |due| due.min(at));
        clock.reach(step);
        *now = step;
        if let Some(meter) = meter {
            meter.tick();
        }
        if step == at {
            return ended;
        }
    }
    Err(Cause::Cancelled)
}

/// The earlier of two limits; of equal ones the first.
fn earlier(a: (Option<Instant>, Limit), b: (Option<Instant>, Limit)) -> (Option<Instant>, Limit) {
    match (a.0, b.0) {
        (Some(first), Some(second)) if second < first => b,
        (None, Some(_)) => b,
        _ => a,
    }
}
