//! The record of one attempt, as the caller sees it on answers and errors.

use crate::decide::{Delivery, Outcome, Phase, Reason, Report};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One attempt of a call: where it went, how far it got, and what that means.
///
/// ```
/// use anyhost::testing::{Reply, ScriptedTransport};
/// use anyhost::{Delivery, Phase, Reason};
/// use std::time::Duration;
///
/// let (a, b, ms) = ("https://a.example", "https://b.example", Duration::from_millis(1));
/// let network = ScriptedTransport::new()
///     .on(a, [Reply::refused().takes(3 * ms)])
///     .on(b, [Reply::status(503).retry_after(1000 * ms).takes(20 * ms)]);
/// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
/// # let client = builder.transport(network.clone()).clock(network.clock()).build()?;
/// let answer = client.get("/v1/status").send()?;
///
/// let first = &answer.attempts()[0];
/// assert_eq!(first.to_string(), "1. https://a.example: refused while connecting (not sent), 3 ms");
/// assert_eq!((first.number(), first.endpoint(), first.proxy()), (1, a, None));
/// assert_eq!((first.phase(), first.reason()), (Phase::Connect, Reason::Refused));
/// assert_eq!((first.delivery(), first.bytes_sent()), (Delivery::NotSent, 0));
/// assert_eq!((first.http_status(), first.message()), (None, ""));
///
/// let second = &answer.attempts()[1];
/// assert_eq!((second.http_status(), second.delivery()), (Some(503), Delivery::Answered));
/// assert_eq!((second.started(), second.elapsed()), (3 * ms, 20 * ms));
/// assert_eq!(second.retry_after(), Some(1000 * ms));
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Attempt {
    pub(crate) number: u32,
    pub(crate) endpoint: Arc<str>,
    pub(crate) proxy: Option<Arc<str>>,
    pub(crate) phase: Phase,
    pub(crate) reason: Reason,
    pub(crate) delivery: Delivery,
    pub(crate) status: Option<u16>,
    pub(crate) replay: bool,
    pub(crate) hop: bool,
    pub(crate) reused: bool,
    pub(crate) os_error: i32,
    pub(crate) started: Duration,
    pub(crate) elapsed: Duration,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) message: Cow<'static, str>,
}

impl Attempt {
    #[expect(clippy::too_many_arguments, reason = "a record of as many facts")]
    pub(crate) fn new(
        number: u32,
        endpoint: Arc<str>,
        proxy: Option<Arc<str>>,
        replay: bool,
        report: &Report,
        outcome: &Outcome,
        started: Duration,
        elapsed: Duration,
    ) -> Self {
        Attempt {
            number,
            endpoint,
            proxy,
            phase: report.phase,
            reason: outcome.reason,
            delivery: outcome.delivery,
            status: report.status,
            replay,
            hop: false,
            reused: report.reused,
            os_error: report.os_error,
            started,
            elapsed,
            bytes_sent: report.bytes_sent,
            bytes_received: report.bytes_received,
            retry_after: report.retry_after,
            message: report.detail.clone(),
        }
    }

    /// Its streamed body broke off after it was over.
    pub(crate) fn broke_off(&mut self, report: &Report, outcome: &Outcome) {
        self.reason = outcome.reason;
        self.os_error = report.os_error;
        self.message = report.detail.clone();
    }

    /// Its place in the call, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The label of the endpoint; of a hop to another origin, that origin.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The label of the proxy it went through; `None` where it went straight to the endpoint.
    pub fn proxy(&self) -> Option<&str> {
        self.proxy.as_deref()
    }

    /// How far it got.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Why it failed; [`Reason::None`] where it did not.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Whether the request reached a server in this attempt.
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// The status of the answer, once its head had arrived.
    pub fn http_status(&self) -> Option<u16> {
        self.status
    }

    /// It is the replay, on a fresh connection, of the attempt before it, which met a stale one. A
    /// replay shares that attempt's limits and counts against none (ruling R2).
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let a = "https://a.example";
    /// let network = ScriptedTransport::new().on(a, [Reply::stale_connection(), Reply::ok("")]);
    /// # let client = anyhost::Client::builder().base_urls(a).transport(network.clone()).build()?;
    /// let answer = client.get("/").max_attempts(1).send()?;
    /// let replays: Vec<bool> = answer.attempts().iter().map(|it| it.is_replay()).collect();
    /// assert_eq!(replays, [false, true]);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn is_replay(&self) -> bool {
        self.replay
    }

    /// It asked for what a redirect points to: outside the choice of endpoints, and counted in no limit
    /// of attempts (ruling R14).
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let a = "https://a.example";
    /// let network = ScriptedTransport::new()
    ///     .on("https://a.example/old", [Reply::status(301).header("Location", "/new")])
    ///     .on("https://a.example/new", [Reply::ok("moved")]);
    /// # let client = anyhost::Client::builder().base_urls(a).transport(network.clone()).build()?;
    /// let answer = client.get("/old").send()?;
    /// assert!(!answer.attempts()[0].is_hop() && answer.attempts()[1].is_hop());
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn is_hop(&self) -> bool {
        self.hop
    }

    /// It went over a connection kept alive from an earlier exchange
    /// ([`idle_timeout`](crate::ClientBuilder::idle_timeout)).
    ///
    /// ```
    /// # use std::io::{BufRead, BufReader, Write};
    /// # let server = std::net::TcpListener::bind("127.0.0.1:0")?;
    /// # let client = anyhost::Client::new(&format!("http://{}", server.local_addr()?))?;
    /// # std::thread::spawn(move || {
    /// #     let mut peer = BufReader::new(server.accept().unwrap().0);
    /// #     for _ in 0..2 {
    /// #         while peer.read_line(&mut String::new()).is_ok_and(|read| read > 2) {}
    /// #         peer.get_mut().write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    /// #     }
    /// # });
    /// let first = client.get("/").send()?;
    /// let second = client.get("/").send()?;
    /// assert!(!first.attempts()[0].reused_connection());
    /// assert!(second.attempts()[0].reused_connection());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reused_connection(&self) -> bool {
        self.reused
    }

    /// The operating system's error number (`errno`, or that of Winsock); 0 where there was none.
    ///
    /// ```
    /// let client = anyhost::Client::new("http://127.0.0.1:1")?; // nobody listens there
    /// let error = client.get("/").send().unwrap_err();
    /// assert_eq!(error.attempts()[0].reason(), anyhost::Reason::Refused);
    /// assert_ne!(error.attempts()[0].os_error(), 0); // 111 on Linux: ECONNREFUSED
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn os_error(&self) -> i32 {
        self.os_error
    }

    /// When it began, from the start of the call.
    pub fn started(&self) -> Duration {
        self.started
    }

    /// How long it took, to the last byte of the answer; of a stream, to the end of its head.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// How long to stay away from the endpoint: the longer of what its 429 or 503 asked and what its
    /// circuit advises; or from the proxy, where that is to blame.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Takes in what the circuit of the endpoint, or of the proxy, advises.
    pub(crate) fn wait(&mut self, advice: Duration) {
        if !advice.is_zero() {
            self.retry_after = self.retry_after.max(Some(advice));
        }
    }

    /// HTTP bytes sent, head and body, before encryption. Those of a TLS handshake and of a proxy are none.
    pub fn bytes_sent(&self) -> u64 {
        self.bytes_sent
    }

    /// HTTP bytes received, head and body, after decryption and before decoding.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let a = "https://a.example";
    /// let network = ScriptedTransport::new().on(a, [Reply::ok("hello")]);
    /// # let client = anyhost::Client::builder().base_urls(a).transport(network.clone()).build()?;
    /// let answer = client.get("/").send()?;
    /// assert!(answer.attempts()[0].bytes_received() >= 5);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn bytes_received(&self) -> u64 {
        self.bytes_received
    }

    /// A few words on what broke; empty where nothing did. Never shows a path, a query or a secret.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// One line: place, endpoint, what happened, what is certain of the delivery, milliseconds.
impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}. {}", self.number, self.endpoint)?;
        if let Some(proxy) = &self.proxy {
            write!(f, " through {proxy}")?;
        }
        write!(f, ": ")?;
        match (self.reason, self.status) {
            (
                Reason::None | Reason::Status5xx | Reason::RateLimited | Reason::BadAnswer,
                Some(status),
            ) => {
                write!(f, "{status}")?;
            }
            (reason, _) => {
                write!(f, "{} {}", reason.words(), self.phase.words())?;
            }
        }
        write!(f, " ({}), {} ms", self.delivery.words(), self.elapsed.as_millis())
    }
}
