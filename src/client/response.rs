//! A complete answer.

use super::attempt::Attempt;
use super::error::{Error, Result};
use super::status::Status;
use http::HeaderMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The answer to a call: status, headers, the whole body, and every attempt that led to it.
///
/// An answer of any status is an answer: look at [`status`](Response::status), or ask for
/// `require_success`.
///
/// ```
/// use anyhost::testing::{Reply, ScriptedTransport};
///
/// let a = "https://a.example";
/// let reply = Reply::ok("hello").header("ETag", "\"7\"").header("Vary", "Accept");
/// let network = ScriptedTransport::new().on(a, [reply.header("Vary", "Cookie")]);
/// let client = anyhost::Client::builder().base_urls(a).transport(network).build()?;
/// let answer = client.get("/greeting?of=day").send()?;
///
/// assert!(answer.is_success());
/// assert_eq!((answer.status(), answer.text()?), (200, "hello"));
/// assert_eq!((answer.endpoint(), answer.url()), (a, "https://a.example/greeting"));
/// assert_eq!((answer.attempts().len(), answer.retry_after()), (1, None));
///
/// assert_eq!(answer.header("etag"), Some("\"7\""));
/// assert_eq!(answer.header_values("Vary").collect::<Vec<_>>(), [b"Accept", &b"Cookie"[..]]);
/// assert_eq!(answer.headers().map(|(name, _)| name).collect::<Vec<_>>(), ["etag", "vary", "vary"]);
///
/// assert_eq!(answer.bytes(), b"hello");
/// assert_eq!(answer.into_bytes(), b"hello");
/// # Ok::<(), anyhost::Error>(())
/// ```
pub struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// As it was asked for.
    pub(crate) asked: String,
    pub(crate) endpoint: Arc<str>,
    pub(crate) elapsed: Duration,
    pub(crate) attempts: Vec<Attempt>,
    /// Of a stream: the body is elsewhere.
    pub(crate) head_only: bool,
}

impl Response {
    /// The status code, 100 to 999.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The status is one of 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The first header of this name, in any case, where its value is text: visible ASCII, blanks and tabs.
    /// [`header_values`](Response::header_values) has what is none.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Every header: its name in lower case, and its value as bytes.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()))
    }

    /// Every value of the headers of this name, in any case, in the order received.
    pub fn header_values<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.headers.get_all(name).into_iter().map(http::HeaderValue::as_bytes)
    }

    /// The body, decoded where [`decompress`](crate::ClientBuilder::decompress) asked for a coding; empty where
    /// there is none. In a judge of a stream it is empty, too.
    pub fn bytes(&self) -> &[u8] {
        &self.body
    }

    /// The body, given away without a copy.
    pub fn into_bytes(self) -> Vec<u8> {
        self.body
    }

    /// The body as text, which it is if it is UTF-8.
    ///
    /// # Errors
    ///
    /// [`Status::Encoding`] where it is not. Other charsets are the caller's to decode.
    pub fn text(&self) -> Result<&str> {
        std::str::from_utf8(&self.body).map_err(|error| {
            Error::new(
                Status::Encoding,
                format!("the body is not UTF-8 from byte {} on", error.valid_up_to()),
            )
        })
    }

    /// The URL that answered, the last of all redirects, without user info and query.
    pub fn url(&self) -> &str {
        // Every call has one, and few ask for it.
        self.asked.split('?').next().unwrap_or_default()
    }

    /// The label of the endpoint that answered. Where a redirect has led to an origin of none, it is that
    /// origin, as `https://cdn.example`.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// How long the whole call took: every attempt, and the waits between them.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # use std::time::Duration;
    /// # let (a, b) = ("https://a.example", "https://b.example");
    /// let network = ScriptedTransport::new()
    ///     .on(a, [Reply::connect_times_out()])
    ///     .on(b, [Reply::ok("").takes(Duration::from_millis(40))]);
    /// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
    /// # let client = builder.transport(network.clone()).clock(network.clock()).build()?;
    /// let answer = client.get("/").send()?;
    /// assert_eq!(answer.elapsed(), Duration::from_millis(2000 + 40)); // `connect_timeout` is 2 s
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// How long to stay away from the endpoint that answered: the longer of what its 429 or 503 asked
    /// and what its circuit advises.
    pub fn retry_after(&self) -> Option<Duration> {
        // The last there of this status: another endpoint may have broken off with the same.
        let answered = |attempt: &&Attempt| {
            attempt.http_status() == Some(self.status) && attempt.endpoint() == &*self.endpoint
        };
        self.attempts.iter().rev().find(answered).and_then(Attempt::retry_after)
    }

    /// Every attempt of the call in order, replays included.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// Its body is elsewhere.
    #[cfg(feature = "capi")]
    pub(crate) fn is_head_only(&self) -> bool {
        self.head_only
    }

    /// Takes all of it out, and leaves nothing.
    #[cfg(feature = "capi")]
    pub(crate) fn take(&mut self) -> Response {
        let nothing = Response {
            status: 0,
            headers: HeaderMap::new(),
            body: Vec::new(),
            asked: String::new(),
            endpoint: Arc::default(),
            elapsed: Duration::ZERO,
            attempts: Vec::new(),
            head_only: false,
        };
        std::mem::replace(self, nothing)
    }

    /// Takes the body out.
    #[cfg(feature = "capi")]
    pub(crate) fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.body)
    }

    /// Puts the body back.
    #[cfg(feature = "capi")]
    pub(crate) fn put_bytes(&mut self, body: Vec<u8>) {
        self.body = body;
    }

    pub(crate) fn truncate_body(&mut self, most: usize) {
        self.body.truncate(most);
    }
}

/// Shows no header values and no body: either may hold secrets.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("url", &self.url())
            .field("endpoint", &self.endpoint)
            .field("headers", &self.headers.len())
            .field("body", &format_args!("{} bytes", self.body.len()))
            .field("head_only", &self.head_only)
            .field("attempts", &self.attempts)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_see_has_no_query() {
        for (asked, shown) in [
            ("https://b.example/x?token=1?2", "https://b.example/x"),
            ("https://b.example/", "https://b.example/"),
        ] {
            let answer = Response {
                status: 200,
                headers: HeaderMap::new(),
                body: Vec::new(),
                asked: asked.to_owned(),
                endpoint: Arc::default(),
                elapsed: Duration::ZERO,
                attempts: Vec::new(),
                head_only: false,
            };
            assert_eq!(answer.url(), shown);
            assert!(!format!("{answer:?}").contains("token"), "{answer:?}");
        }
    }
}
