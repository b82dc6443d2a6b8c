//! The only place that names ureq and rustls: one attempt goes out, a report and an answer come back.
//!
//! Nothing is decided here. A transport keeps the limits it is given, counts bytes, and says how far
//! it got and how it ended; whether to go on is `decide`'s business.

use crate::decide::{Limits, Report};
use http::{HeaderMap, Method};
use std::io::Read;

/// One try at one endpoint.
pub struct Attempt<'a> {
    /// Which endpoint: attempts with one key share idle connections, others never do.
    pub endpoint: u64,
    /// The method, an extension method included.
    pub method: &'a Method,
    /// The absolute URL: scheme, host, port, path and query as they go on the wire. No user info.
    pub url: &'a str,
    /// Every header of the request. `Host` only where the caller set it by hand, and no framing
    /// headers (`Content-Length`, `Transfer-Encoding`): those follow from the body.
    pub headers: &'a HeaderMap,
    /// The body to send.
    pub body: Outgoing<'a>,
    /// The instants it may not pass.
    pub limits: Limits,
    /// Leave idle connections alone and dial (ruling R2: the replay of a stale connection).
    pub fresh: bool,
    /// The answer's body may not be longer than this.
    pub max_body: u64,
}

/// A request's body for one attempt.
pub enum Outgoing<'a> {
    /// No body: no framing header is sent.
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

/// A complete answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The headers as received.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Vec<u8>,
}

/// Performs attempts.
pub trait Transport: Send + Sync {
    /// Makes one attempt, blocking no longer than its limits allow. The answer is there exactly when
    /// the report's ending is `Answered`.
    fn attempt(&self, attempt: Attempt<'_>) -> (Report, Option<Answer>);
}
