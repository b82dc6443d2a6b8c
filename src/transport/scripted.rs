//! A network made of words: what each server replies is written down, and time is virtual (R18).
//!
//! It is a transport like any other: it keeps the limits it is given and reports facts, so what a
//! client makes of a refused connection or of a 503 is decided by the same code as over sockets.
//! Every attempt is listed with what would have arrived at the server, so that a test can count there
//! what must not happen twice, and not ask the client.
//!
//! Not here: connections. None is kept, and a body is there at once or breaks off half-way; how bytes
//! arrive is tested against real sockets.

mod play;
mod reply;

pub use reply::Reply;

use super::{Answer, Attempt, ProxyUrl, Transport};
use crate::decide::{Ending, Limits, Report};
use crate::sys::{Clock as _, ManualClock};
use http::{HeaderMap, Method};
use parking_lot::Mutex;
use play::Play;
use reply::End;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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
