//! A blocking HTTP client for a service that lives under more than one host.
//!
//! One call goes to whichever host can answer, and a write is never sent twice.
//!
//! ```no_run
//! use anyhost::Client;
//!
//! let client = Client::new("https://api.example.com, https://fallback.example.com")?;
//! let answer = client.get("/v1/status").send()?;
//! println!("{} from {}: {}", answer.status(), answer.endpoint(), answer.text()?);
//! # Ok::<(), anyhost::Error>(())
//! ```
//!
//! # A call
//!
//! A [`Client`] has endpoints: base URLs in the order to be tried. A call makes attempts, one after the
//! other, until one brings an answer the caller should have, or nothing more may be tried:
//!
//! ```text
//! request → plan → pick → attempt → classify → record → next
//! ```
//!
//! * **Moving on.** A GET or HEAD moves on to the next endpoint after any network error and after
//!   502, 503, 504, 520 to 523, 525 and 526. Every other request moves on only when it certainly was
//!   not sent, or when a proxy before the service says that it did not hand it on (521, 523, an early
//!   522). [`Resend`] widens or closes that.
//! * **Limits.** Each attempt ends after 5 s ([`attempt_timeout`](ClientBuilder::attempt_timeout)); all but
//!   the last must have a connection within 2 s ([`connect_timeout`](ClientBuilder::connect_timeout)); a
//!   [`deadline`](ClientBuilder::deadline) bounds the whole call.
//! * **The hold.** After a failover the fallback stays preferred for 5 minutes
//!   ([`hold_for`](ClientBuilder::hold_for)); then the first endpoint is tried first again.
//! * **Redirects.** Up to 10 are followed ([`redirects`](ClientBuilder::redirects)). Secret headers go to the
//!   origins of the endpoints only, and where a redirect leads says nothing about an endpoint.
//! * **The end.** [`Response`] and [`Error`] list every [`Attempt`]: where it went, how far it got, why it
//!   failed, and what is certain of its [`Delivery`].
//!
//! # A write that must not happen twice
//!
//! ```no_run
//! use anyhost::{Client, Delivery};
//! # let client = Client::new("https://a.example, https://b.example")?;
//!
//! match client.post("/v1/orders").header("Content-Type", "application/json").body("{}").send() {
//!     Ok(answer) => println!("{}", answer.status()),
//!     Err(error) if error.delivery() <= Delivery::NotProcessed => println!("not received: {error}"),
//!     Err(error) => println!("it may have been received: ask before you repeat it: {error}"),
//! }
//! # Ok::<(), anyhost::Error>(())
//! ```
//!
//! # A body too large to keep
//!
//! ```no_run
//! # let client = anyhost::Client::new("https://a.example, https://b.example")?;
//! let stream = client.get("/dumps/latest").require_success(true).stream()?;
//! let mut file = std::fs::File::create("latest")?;
//! std::io::copy(&mut stream.into_reader(), &mut file)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Stream`] is there with the head of its answer; what breaks off after that is an error of its
//! [reader](BodyReader).
//!
//! # Features
//!
//! `capi` (on by default) exports the C functions of `include/anyhost.h`. It costs a Rust program
//! nothing but the names; a Rust `cdylib` that must not export them switches it off.
//!
//! `brotli` and `zstd` add those content codings to gzip, where
//! [`decompress`](ClientBuilder::decompress) is on: decoders in Rust, off by default because few
//! services offer them to programs and all offer gzip.
//!
//! `config` makes a client from a file or text in TOML or JSON: `ClientBuilder::config`.
//!
//! `testing` adds the module `testing`: a scripted network and a clock to be moved by hand, to test
//! your own code against endpoints that fail, without sockets and without waiting.
//!
//! The [`manual`] has the architecture, the words, the reasons behind the defaults, and how to test.

#[doc(hidden)]
pub mod client;
#[doc(hidden)]
pub mod decide;
#[cfg(feature = "capi")]
#[allow(unreachable_pub, reason = "C reaches it")]
mod ffi;
pub mod manual;
#[doc(hidden)]
pub mod sys;
#[doc(hidden)]
pub mod transport;

pub use client::{
    Attempt, Body, BodyReader, Breaker, Cancel, CircuitOpen, Client, ClientBuilder, Endpoint,
    Error, Event, EventKind, Member, OptionSpec, Proxy, Refusal, Request, RequestBuilder, Response,
    Result, Rewind, Selection, Snapshot, Status, Stream, TlsRoots, Transition, options, prometheus,
    split_base_urls,
};
pub use decide::{
    Advice, Backoff, BackoffError, BreakerSettings, BreakerSettingsError, Delivery, Execution,
    IntoTimeoutPolicy, InvalidStatusSet, InvalidValue, Kind, Phase, ProxyFault, Reason, Resend,
    State, StatusSet, Timeout, TimeoutPolicy, Verdict, Weight, WeightError, WeightStrategy,
    WhenNoneEligible,
};
pub use transport::Transferred;

/// What a client stands on, to be put in its place: a transport, a clock, a resolver (ruling R18).
///
/// [`ClientBuilder::transport`] takes whatever makes one attempt: it gets an [`Attempt`](inject::Attempt)
/// and gives back a [`Report`](inject::Report) of facts, with the [`Answer`](inject::Answer) where there
/// is one. What the facts mean, and what comes next, stays with the client. For tests the
/// feature `testing` has a transport ready.
///
/// ```
/// use anyhost::inject::{Answer, AnswerBody, Attempt, Cause, Ending, HeaderMap, Phase, Report, Transport};
///
/// /// A network with one good host.
/// struct OneGood;
///
/// impl Transport for OneGood {
///     fn attempt(&self, attempt: Attempt<'_>) -> (Report, Option<Answer>) {
///         if !attempt.url.starts_with("https://b.example/") {
///             let ending = Ending::Failed(Cause::Refused);
///             return (Report { phase: Phase::Connect, ending, ..Report::new() }, None);
///         }
///         let report = Report {
///             phase: Phase::Body,
///             ending: Ending::Answered,
///             status: Some(204),
///             asked_to_send: true,
///             ..Report::new()
///         };
///         (report, Some(Answer { status: 204, headers: HeaderMap::new(), body: AnswerBody::default() }))
///     }
/// }
///
/// let client = anyhost::Client::builder()
///     .base_urls("https://a.example, https://b.example")
///     .transport(OneGood)
///     .build()?;
/// assert_eq!(client.get("/").send()?.endpoint(), "https://b.example");
/// # Ok::<(), anyhost::Error>(())
/// ```
pub mod inject {
    pub use crate::decide::{Cause, Ending, Limit, Limits, Phase, ProxyReply, Report};
    pub use crate::sys::{Alarm, Clock, SystemClock};
    pub use crate::transport::{
        Answer, AnswerBody, Attempt, BodySource, Failure, Interrupt, LookupError, Meter,
        NameLookup, Outgoing, ProxyScheme, ProxyUrl, SystemLookup, Transport, Wake,
    };
    pub use http::{HeaderMap, HeaderName, HeaderValue, Method};
}

/// A scripted network and a clock to be moved by hand: for tests of code that uses a client, against
/// endpoints that fail, without sockets and without waiting (ruling R18). Feature `testing`:
///
/// ```toml
/// [dev-dependencies]
/// anyhost = { version = "0.1", features = ["testing"] }
/// ```
///
/// ```
/// use anyhost::testing::{Reply, ScriptedTransport};
/// use anyhost::{Client, Delivery};
/// use std::time::Duration;
///
/// let (a, b) = ("https://a.example", "https://b.example");
/// let network = ScriptedTransport::new()
///     .on(a, [Reply::resets_after_sending(), Reply::refused()])
///     .on(b, [Reply::ok("from b")]);
/// let client = Client::builder()
///     .base_urls(&format!("{a}, {b}"))
///     .transport(network.clone())
///     .clock(network.clock())
///     .build()?;
///
/// // The order may have arrived: it is not sent a second time, and the error says why.
/// let error = client.post("/orders").body("{}").send().unwrap_err();
/// assert_eq!(error.delivery(), Delivery::Maybe);
/// assert_eq!(network.received_at(a).len(), 1);
/// assert!(network.attempts_at(b).is_empty());
///
/// // Here nothing was sent, so it goes on; b is preferred from then on, for 5 minutes.
/// assert_eq!(client.post("/orders").body("{}").send()?.text()?, "from b");
/// assert_eq!(client.get("/").send()?.attempts().len(), 1);
/// network.now_on(a, [Reply::ok("a is back")]);
/// network.clock().advance(Duration::from_secs(300));
/// assert_eq!(client.get("/").send()?.text()?, "a is back");
/// # Ok::<(), anyhost::Error>(())
/// ```
#[cfg(feature = "testing")]
pub mod testing {
    pub use crate::sys::ManualClock;
    pub use crate::transport::{Reply, ScriptedTransport, Seen};
}

#[cfg(test)]
#[path = "../tests/sim/mod.rs"]
mod sim;

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
