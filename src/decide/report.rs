//! What happened in one attempt: facts, and no opinion on them.
//!
//! The transport fills a [`Report`] from its own counters and from error variants and errno, never
//! from error texts. What the facts mean (is it safe to send again, whose fault was it) is decided
//! in one place, `classify`, so a transport cannot get that wrong.
//!
//! Flow: attempt → **report** → classify.

use super::proxy_reply::ProxyReply;
use std::borrow::Cow;
use std::time::Duration;

/// How far an attempt got. Later phases compare greater.
///
/// The numbers are those of `ANYHOST_PHASE_*` in the C header.
///
/// ```
/// use anyhost::Phase;
///
/// // How far it got is comparable: whatever ended before this had no connection to send over.
/// assert!(Phase::Tls < Phase::Send);
/// assert_eq!((Phase::Head.name(), Phase::Head.code()), ("head", 8));
/// assert_eq!(Phase::Head.words(), "while waiting for the answer");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Phase {
    /// Nothing was begun.
    None = 0,
    /// Looking up the name of the endpoint. That of a proxy belongs to connecting to the proxy.
    Resolve = 1,
    /// Connecting to the proxy, the lookup of its name and its TLS handshake included.
    ProxyConnect = 2,
    /// Authenticating to the proxy; with SOCKS5 from the greeting on.
    ProxyAuth = 3,
    /// Asking the proxy for a tunnel to the endpoint: from the first byte of that request on.
    Tunnel = 4,
    /// Connecting to the endpoint by TCP.
    Connect = 5,
    /// The TLS handshake with the endpoint.
    Tls = 6,
    /// A connection was obtained; the request is being sent.
    Send = 7,
    /// The request was sent; the head of the answer has not arrived completely.
    Head = 8,
    /// The head of the answer is here; its body is being read, or is complete.
    Body = 9,
}

/// Which limit ran out.
///
/// Example: [`Execution::record`](crate::Execution::record).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// The time to obtain a connection.
    Connect,
    /// The time of the whole attempt.
    Attempt,
    /// The time without a byte of the answer's body.
    Stall,
}

/// Why an attempt ended without a complete answer.
///
/// Example: [`inject`](crate::inject).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The name does not exist (the resolver says so for certain).
    NameUnknown,
    /// The name could not be looked up: no resolver answered, or it failed.
    NameLookup,
    /// The peer refused the connection.
    Refused,
    /// No route to the peer, or the network is down.
    Unreachable,
    /// A limit ran out.
    TimedOut(Limit),
    /// The TLS handshake or a TLS record failed.
    Tls,
    /// The peer's certificate was not accepted.
    Certificate,
    /// The connection was reset (RST, or a write to a closed peer).
    Reset,
    /// The peer closed the connection before the head of the answer was complete.
    Closed,
    /// What the peer sent is not HTTP/1.1.
    Protocol,
    /// The body of the answer ended before its end (ruling R13).
    Truncated,
    /// The body of the answer is larger than the limit of the call.
    TooLarge,
    /// A proxy said no, by the [`proxy_reply`](Report::proxy_reply) of the report: to our credentials
    /// (phase [`ProxyAuth`](Phase::ProxyAuth)), or to connect us ([`Tunnel`](Phase::Tunnel)).
    ProxyRefused,
    /// The caller's own body source failed, ended early or delivered too much.
    BodySource,
    /// The caller cancelled the call, or shut the client down.
    Cancelled,
    /// Something on our side, before anything was asked of the network.
    Local,
}

/// How an attempt ended.
///
/// Example: [`inject`](crate::inject).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// A complete answer: head and whole body.
    Answered,
    /// No complete answer.
    Failed(Cause),
}

/// The facts of one attempt.
///
/// Example: [`inject`](crate::inject).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How far it got.
    pub phase: Phase,
    /// How it ended.
    pub ending: Ending,
    /// The status of the answer, once its head had arrived, whatever became of the body.
    pub status: Option<u16>,
    /// What the proxy said, where it refused. Never together with a [`status`](Report::status).
    pub proxy_reply: Option<ProxyReply>,
    /// The bytes of the request and the answer went through a tunnel of a proxy, who could not put in
    /// any of its own.
    pub tunnelled: bool,
    /// The transport was asked to transmit at least one byte of this request (ruling R1): from then
    /// on a server may have seen it.
    pub asked_to_send: bool,
    /// HTTP bytes handed to the connection.
    pub bytes_sent: u64,
    /// HTTP bytes received from the connection.
    pub bytes_received: u64,
    /// The connection was an idle one of an earlier exchange.
    pub reused: bool,
    /// From the first request byte to the complete head of the answer.
    pub head_after: Option<Duration>,
    /// The wait that the answer asked for, on 429 and 503 (ruling R10).
    pub retry_after: Option<Duration>,
    /// The operating system's error number, 0 where there was none.
    pub os_error: i32,
    /// A few words for people. Names hosts and addresses at most: no path, query or secret.
    pub detail: Cow<'static, str>,
}

impl Report {
    /// A report of an attempt that has not begun.
    pub fn new() -> Self {
        Report {
            phase: Phase::None,
            ending: Ending::Failed(Cause::Local),
            status: None,
            proxy_reply: None,
            tunnelled: false,
            asked_to_send: false,
            bytes_sent: 0,
            bytes_received: 0,
            reused: false,
            head_after: None,
            retry_after: None,
            os_error: 0,
            detail: Cow::Borrowed(""),
        }
    }
}

impl Default for Report {
    fn default() -> Self {
        Report::new()
    }
}
