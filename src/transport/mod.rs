//! The only place that names ureq and rustls: one attempt goes out, a report and an answer come back.
//!
//! Nothing is decided here. A transport keeps the limits it is given, counts bytes, and says how far
//! it got and how it ended; whether to go on is `decide`'s business.
//!
//! ureq does HTTP/1.1 and keeps idle connections. All that touches the network is ours, because only
//! then can deadlines hold everywhere and the facts of a report be facts: `agent` finds the ureq
//! agent of an endpoint, `exchange` sends one message and reads the head of another, `incoming` is the
//! body after it (`decode` undoes its coding), `connector` dials (`lookup`,
//! `dial`, `tunnel` through a proxy, `session`), `wire` is the connection ureq sees (`socket`,
//! `buffers`), `current` the attempt they all write into, `interrupt` stops them, `meter` tells how far
//! they are, and `failure` names what went wrong.

mod agent;
mod buffers;
mod connector;
mod current;
mod deadline;
mod decode;
mod dial;
mod early;
mod exchange;
mod failure;
mod http_connect;
mod identity;
mod incoming;
mod interrupt;
mod keep_alive;
mod known;
mod line;
mod lookup;
mod meter;
mod number_hash;
mod origin;
mod platform;
mod proxy_url;
#[cfg(feature = "testing")]
mod scripted;
mod session;
mod socket;
mod socks;
mod tls;
mod tunnel;
mod unverified;
mod upload;
mod wire;

pub use agent::{AgentTransport, TransportConfig};
pub use decode::{accept_encoding, decode};
pub use failure::Failure;
pub use identity::Identity;
pub use incoming::{AnswerBody, BodySource};
pub use interrupt::{Interrupt, Wake};
pub use lookup::{LookupError, NameLookup, SystemLookup};
pub use meter::{Meter, Transferred, Watcher};
pub use proxy_url::{ProxyScheme, ProxyUrl};
#[cfg(feature = "testing")]
pub use scripted::{Reply, ScriptedTransport, Seen};
pub use tls::{Roots, TlsError, TlsSettings, is_server_name};

use crate::decide::{Limits, Report};
use http::{HeaderMap, Method};
use std::io::Read;
use std::sync::Arc;

/// One try at one endpoint.
///
/// Example: [`inject`](crate::inject).
pub struct Attempt<'a> {
    /// Which endpoint, or which other origin that a redirect led to: attempts with one key share idle
    /// connections, others never do.
    pub endpoint: u64,
    /// The method, an extension method included.
    pub method: &'a Method,
    /// The absolute URL: scheme, host, port, path and query as they go on the wire. No user info.
    pub url: &'a str,
    /// The name to ask a certificate for, and to verify it by, where it is not the host of the URL.
    pub server_name: Option<&'a str>,
    /// The peer is none of the client's endpoints (the target of a redirect), or one that such a peer
    /// has led back to: it is shown no client certificate (ruling R15).
    pub foreign: bool,
    /// The proxy to go through; `None` connects directly, and nothing else ever does. An https target is
    /// reached through a tunnel, an http target in absolute form where the proxy speaks HTTP. Attempts at
    /// one endpoint share idle connections only where they go through the same proxy with the same
    /// credentials.
    pub proxy: Option<&'a ProxyUrl>,
    /// Every header of the request, `Host` first (RFC 9110 section 7.2), and no framing headers
    /// (`Content-Length`, `Transfer-Encoding`): those follow from the body.
    pub headers: HeaderMap,
    /// The body to send.
    pub body: Outgoing<'a>,
    /// The instants it may not pass.
    pub limits: Limits,
    /// Leave idle connections alone and dial (ruling R2: the replay of a stale connection).
    pub fresh: bool,
    /// Triggered when nobody waits for the call any more. Whatever blocks ends then, with
    /// `Cause::Cancelled`, unless the answer is complete.
    pub interrupt: &'a Arc<Interrupt>,
    /// Whom to tell how far the attempt is while it blocks, where somebody watches. What is received
    /// the body counts by itself.
    pub meter: Option<&'a Arc<Meter>>,
}

/// A request's body for one attempt.
///
/// Example: [`inject::Meter`](crate::inject::Meter).
pub enum Outgoing<'a> {
    /// No body. No framing header is sent, but `Content-Length: 0` with POST, PUT and PATCH, of
    /// which servers expect a body (RFC 9110 section 8.6).
    Empty,
    /// These bytes (`Content-Length` is sent, also for none).
    Bytes(&'a [u8]),
    /// What the reader gives: exactly `length` bytes with `Content-Length`, or chunked until its end.
    Reader {
        /// Where the bytes come from.
        source: &'a mut dyn Read,
        /// How many there are, if known.
        length: Option<u64>,
    },
}

/// An answer whose head is there.
///
/// Example: [`inject`](crate::inject).
#[derive(Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The headers as received.
    pub headers: HeaderMap,
    /// The body: whole, or to be read from here on.
    pub body: AnswerBody,
}

/// Changes whenever this process turns out to be a child of the one that asked before.
pub(crate) fn forks() -> u32 {
    platform::forks()
}

/// Performs attempts.
///
/// One from the ground up is in [`inject`](crate::inject); this one stands before another:
///
/// ```
/// # use anyhost::testing::{Reply, ScriptedTransport};
/// use anyhost::inject::{Answer, Attempt, ProxyUrl, Report, Transport};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
///
/// /// Counts the bytes of what a transport hands out, and leaves all else to it.
/// struct Counting<T> {
///     inner: T,
///     known: Arc<AtomicUsize>,
/// }
///
/// impl<T: Transport> Transport for Counting<T> {
///     fn attempt(&self, attempt: Attempt<'_>) -> (Report, Option<Answer>) {
///         let (report, answer) = self.inner.attempt(attempt);
///         let length = answer.as_ref().and_then(|answer| answer.body.length()).unwrap_or(0);
///         self.known.fetch_add(length as usize, Relaxed);
///         (report, answer)
///     }
///     fn require_tls(&self) -> Result<(), String> {
///         self.inner.require_tls()
///     }
///     fn forget(&self, endpoint: u64) {
///         self.inner.forget(endpoint);
///     }
///     fn forget_proxy(&self, proxy: &ProxyUrl) {
///         self.inner.forget_proxy(proxy);
///     }
///     fn drop_idle(&self) {
///         self.inner.drop_idle();
///     }
/// }
///
/// # let network = ScriptedTransport::new().on("https://a.example", [Reply::ok("hello")]);
/// let known = Arc::new(AtomicUsize::new(0));
/// let client = anyhost::Client::builder()
///     .base_urls("https://a.example")
///     .transport(Counting { inner: network, known: known.clone() })
///     .build()?;
/// client.get("/").send()?;
/// assert_eq!(known.load(Relaxed), 5);
/// # Ok::<(), anyhost::Error>(())
/// ```
pub trait Transport: Send + Sync {
    /// Makes one attempt, blocking no longer than its limits allow, until the head of an answer is
    /// there. The answer is there exactly when the report's ending is `Answered`, and its phase is then
    /// `Body`.
    ///
    /// The body may be read by then, or come with the answer as a [`BodySource`]. Who asked reads it
    /// from there, within the attempt (`send`) or long after (`stream`): its bytes as received, content
    /// codings included, under `limits.body_until` and `limits.stall`.
    fn attempt(&self, attempt: Attempt<'_>) -> (Report, Option<Answer>);

    /// Says whether https can be spoken, before anything depends on it: asked where a client is built, and
    /// its lists are replaced, with an https endpoint or proxy.
    ///
    /// # Default
    ///
    /// It can.
    ///
    /// # Errors
    ///
    /// Why certificates cannot be verified; the caller gets it as
    /// [`Status::TlsMaterial`](crate::Status::TlsMaterial).
    fn require_tls(&self) -> Result<(), String> {
        Ok(())
    }

    /// An endpoint is in use no longer: its idle connections can go. It is the number that its attempts had
    /// in [`Attempt::endpoint`]. Keeps them by default, as the next two.
    fn forget(&self, _endpoint: u64) {}

    /// A proxy is in use no longer: the idle connections through it can go.
    fn forget_proxy(&self, _proxy: &ProxyUrl) {}

    /// Closes the idle connections of all endpoints.
    fn drop_idle(&self) {}
}
