//! What becomes of one attempt at a scripted server, as it is written down.

use crate::decide::{Cause, Phase, ProxyReply};
use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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
    pub(super) end: End,
    pub(super) connects_after: Duration,
    pub(super) takes: Duration,
    pub(super) meanwhile: Option<Arc<dyn Fn() + Send + Sync>>,
}

#[derive(Clone)]
pub(super) enum End {
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
pub(super) struct Written {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Complete {
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
    /// Example: [`ScriptedTransport::on_proxy`](super::ScriptedTransport::on_proxy).
    pub fn passes() -> Self {
        Reply::new(End::Passes)
    }

    /// Of a proxy: says no in this way, to our credentials or to the target.
    ///
    /// An http target asked for through a proxy that speaks HTTP has no tunnel that could be refused:
    /// there 407 comes after the request was sent, and any other status is an answer like the target's.
    ///
    /// Example: [`ScriptedTransport::on_proxy`](super::ScriptedTransport::on_proxy).
    pub fn proxy_answers(answer: ProxyReply) -> Self {
        Reply::new(End::Refused(answer))
    }

    /// Of a proxy: takes the connection, and is silent when it is asked for the target.
    ///
    /// Example: [`ScriptedTransport::on_proxy`](super::ScriptedTransport::on_proxy).
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
    pub(super) fn at_proxy(mut self) -> Self {
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
