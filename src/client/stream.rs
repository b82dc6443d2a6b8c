//! An answer handed out at its head, and its body, read whenever the caller likes.
//!
//! The attempt is over and settled when the head is there (ruling R21): what the status means is known
//! then, and a reader that is kept for an hour must not hold a probe's place for an hour. A body that
//! breaks off later is told to the pool as one more failure of its endpoint, once; a reader dropped is
//! nothing, since only the caller knows why.
//!
//! The reader knows the client no longer than the client lives: whoever keeps a body keeps no client.
//!
//! Not here: limits and truncation (`transport`), which answers are handed out (`run`).

use super::attempt::Attempt;
use super::cancel::Interruptible;
use super::error::{Error, KEPT_BODY, Result};
use super::publish::Publisher;
use super::response::Response;
use super::shared::Shared;
use super::status::Status;
use crate::decide::{Call, Cause, Ending, Outcome, Phase, Reason, Report, Ticket};
use crate::transport::{AnswerBody, Failure};
use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// An answer of a call, as its loop keeps it.
pub(crate) struct Answered {
    /// Complete, or in a stream all but the body.
    pub(crate) response: Response,
    /// In a stream the body. Boxed, so that a complete answer is not the larger for it.
    pub(crate) body: Option<Box<BodyReader>>,
}

impl Answered {
    /// Completes it after the whole call.
    pub(crate) fn complete(&mut self, elapsed: Duration, attempts: Vec<Attempt>) {
        if let Some(body) = &mut self.body {
            let mine = body.place.1;
            body.attempts = attempts.iter().take_while(|a| a.number() <= mine).cloned().collect();
        }
        self.response.elapsed = elapsed;
        self.response.attempts = attempts;
    }

    /// The error it is where it is turned down, with the beginning of its body.
    pub(crate) fn rejected(mut self) -> Error {
        if let Some(body) = &mut self.body {
            self.response.body = body.first(KEPT_BODY);
        }
        Error::rejected(self.response)
    }
}

/// The answer to a call whose body is still to be read: what
/// [`RequestBuilder::stream`](crate::RequestBuilder::stream) gives.
///
/// It is a [`Read`]er of the body, and so is what [`into_reader`](Stream::into_reader) leaves of it.
///
/// ```
/// use anyhost::testing::{Reply, ScriptedTransport};
///
/// let a = "https://a.example";
/// let dump = Reply::ok("a dump").header("ETag", "\"7\"").header("Vary", "Accept");
/// let network = ScriptedTransport::new().on(a, [dump]);
/// let client = anyhost::Client::builder().base_urls(a).transport(network).build()?;
/// let stream = client.get("/dumps/latest?part=1").stream()?;
///
/// assert!(stream.is_success());
/// assert_eq!((stream.status(), stream.endpoint()), (200, a));
/// assert_eq!((stream.url(), stream.content_length()), ("https://a.example/dumps/latest", Some(6)));
/// assert_eq!((stream.header("etag"), stream.headers().count()), (Some("\"7\""), 2));
/// assert_eq!(stream.header_values("Vary").next(), Some(&b"Accept"[..]));
/// assert_eq!((stream.attempts().len(), stream.retry_after()), (1, None));
/// println!("the head took {:?}", stream.elapsed());
///
/// let mut out = Vec::new(); // a file as a rule
/// std::io::copy(&mut stream.into_reader(), &mut out)?;
/// assert_eq!(out, b"a dump");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Stream {
    /// All but the body.
    head: Response,
    reader: BodyReader,
}

impl Stream {
    pub(crate) fn new(head: Response, reader: BodyReader) -> Self {
        Stream { head, reader }
    }

    /// The status code, 100 to 999.
    pub fn status(&self) -> u16 {
        self.head.status()
    }

    /// The status is one of 200 to 299.
    pub fn is_success(&self) -> bool {
        self.head.is_success()
    }

    /// The first header of this name, in any case, where its value is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    /// Every header: its name in lower case, and its value as bytes.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.head.headers()
    }

    /// Every value of the headers of this name, in any case, in the order received.
    pub fn header_values<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.head.header_values(name)
    }

    /// How many bytes the body has, where the head says so and they are not decoded; `None` of one that is
    /// chunked, or ends with its connection.
    pub fn content_length(&self) -> Option<u64> {
        self.reader.body.length()
    }

    /// The URL that answered, without user info and query.
    pub fn url(&self) -> &str {
        self.head.url()
    }

    /// The label of the endpoint that answered.
    pub fn endpoint(&self) -> &str {
        self.head.endpoint()
    }

    /// How long the call took until the head was there.
    pub fn elapsed(&self) -> Duration {
        self.head.elapsed()
    }

    /// How long to stay away from the endpoint that answered; see [`Response::retry_after`].
    pub fn retry_after(&self) -> Option<Duration> {
        self.head.retry_after()
    }

    /// Every attempt of the call in order, replays included.
    pub fn attempts(&self) -> &[Attempt] {
        self.head.attempts()
    }

    /// The body, given away. It may go to another thread, and outlives the client.
    pub fn into_reader(self) -> BodyReader {
        self.reader
    }

    /// All but the body, and the body.
    #[cfg(feature = "capi")]
    pub(crate) fn into_parts(self) -> (Response, BodyReader) {
        (self.head, self.reader)
    }
}

impl Read for Stream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buf)
    }
}

/// Shows no header values and no body: either may hold secrets.
impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("head", &self.head).finish_non_exhaustive()
    }
}

/// The body of a [`Stream`].
///
/// It ends only where the body does: one that breaks off is an error
/// ([`UnexpectedEof`](ErrorKind::UnexpectedEof)), and so is one that stalls for longer than
/// `stall_timeout` or is not over at the `deadline` of the call ([`TimedOut`](ErrorKind::TimedOut)), or
/// that is not in the coding its head says ([`InvalidData`](ErrorKind::InvalidData)). Where the connection was
/// reset it is [`ConnectionReset`](ErrorKind::ConnectionReset), and where the call was cancelled, the client
/// shut down, or the body unfolds to too much, [`Other`](ErrorKind::Other). Every read after an error is the
/// same error. Within each is an [`Error`](crate::Error), which lists the attempts:
///
/// ```
/// use anyhost::testing::{Reply, ScriptedTransport};
/// use std::io::{ErrorKind, Read};
///
/// let network = ScriptedTransport::new().on("https://a.example", [Reply::ok("half").breaks_off()]);
/// let client = anyhost::Client::builder()
///     .base_urls("https://a.example")
///     .transport(network.clone())
///     .clock(network.clock())
///     .build()?;
/// let mut reader = client.get("/").stream()?.into_reader();
///
/// let mut text = String::new();
/// let error = reader.read_to_string(&mut text).unwrap_err();
/// assert_eq!((text.as_str(), error.kind()), ("ha", ErrorKind::UnexpectedEof));
/// let error: anyhost::Error = error.downcast().expect("it is one of ours");
/// assert_eq!(error.status(), anyhost::Status::Body);
/// # Ok::<(), anyhost::Error>(())
/// ```
///
/// A reader dropped before the end closes its connection, and counts for and against nobody.
pub struct BodyReader {
    body: AnswerBody,
    /// Whom to tell of a body that breaks off, as long as it lives.
    client: Weak<Shared>,
    /// Ends a read when nobody wants it any more (ruling R21).
    call: Interruptible,
    /// None of a hop, which the pool hears nothing of.
    ticket: Option<Ticket>,
    /// When the attempt would have been over, were it not for the body.
    until: Option<Instant>,
    /// The number of the call, and of the attempt in it.
    place: (u64, u32),
    /// The attempts of the call up to the one that this is the body of.
    attempts: Vec<Attempt>,
    /// How much of it has been read.
    read: u64,
    /// The option `max_body` of the call.
    max_body: u64,
    /// What it ended in, once it has failed.
    failed: Option<Status>,
}

impl BodyReader {
    pub(crate) fn new(
        client: &Arc<Shared>,
        call: Interruptible,
        place: (u64, u32),
        ticket: Option<Ticket>,
        until: Option<Instant>,
        max_body: u64,
        body: AnswerBody,
    ) -> Self {
        BodyReader {
            body,
            client: Arc::downgrade(client),
            call,
            ticket,
            until,
            place,
            attempts: Vec::new(),
            read: 0,
            max_body,
            failed: None,
        }
    }

    /// Reads the rest of the body to the end of `into`, which may then hold no more than `max_body`
    /// bytes. What came before a failure is there, and the reader stands behind it.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let a = "https://a.example";
    /// let network = ScriptedTransport::new().on(a, [Reply::ok("eleven byte")]);
    /// # let client = anyhost::Client::builder().base_urls(a).transport(network.clone()).build()?;
    /// let mut bytes = Vec::new();
    /// client.get("/").max_body(11).stream()?.into_reader().read_rest(&mut bytes)?;
    /// assert_eq!(bytes, b"eleven byte");
    ///
    /// let mut reader = client.get("/").max_body(10).stream()?.into_reader();
    /// let error = reader.read_rest(&mut Vec::new()).unwrap_err();
    /// assert_eq!(error.status(), anyhost::Status::TooLarge);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::TooLarge`] for a body that is longer, at once where the head says so; else those of a
    /// read.
    pub fn read_rest(&mut self, into: &mut Vec<u8>) -> Result<()> {
        let room = self.max_body.checked_sub(into.len() as u64);
        let rest = self.body.length().map(|length| length.saturating_sub(self.read));
        let Some(room) = room.filter(|room| rest.is_none_or(|rest| rest <= *room)) else {
            return Err(self.too_large());
        };
        // One byte more than allowed tells a body that is too large from one that just fits.
        match self.by_ref().take(room.saturating_add(1)).read_to_end(into) {
            Ok(read) if read as u64 > room => Err(self.too_large()),
            Ok(_) => Ok(()),
            Err(error) => Err(error
                .downcast()
                .unwrap_or_else(|error| Error::new(Status::Internal, error.to_string()))),
        }
    }

    /// The caller's limit is nothing that the pool hears of, and the body can be read on.
    fn too_large(&self) -> Error {
        let report = Report {
            phase: Phase::Body,
            ending: Ending::Failed(Cause::TooLarge),
            asked_to_send: true,
            bytes_received: 1,
            detail: "the body is larger than allowed".into(),
            ..Report::new()
        };
        let mut attempts = self.attempts.clone();
        if let Some(attempt) = attempts.last_mut() {
            attempt.broke_off(&report, &Call::judge_body(&report));
        }
        Error::of_call(Status::TooLarge, attempts)
    }

    /// The first bytes, at most `most`: as many as are there within the time of the attempt. Nobody
    /// asked for them, so what happens meanwhile is told to nobody.
    fn first(&mut self, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; most];
        let mut read = 0;
        if let Some(until) = self.until {
            self.body.limit(until);
        }
        while read < most {
            let now = self.client.upgrade().map(|client| client.clock.now());
            if self.until.is_some_and(|until| now.is_none_or(|now| now >= until)) {
                break;
            }
            match self.body.pull(&mut bytes[read..]) {
                Ok(n) if n > 0 => read += n,
                _ => break,
            }
        }
        bytes.truncate(read);
        bytes
    }

    /// What the call has come to. The first time the pool is told, and the attempt's record.
    fn status_of(&mut self, failure: Failure) -> Status {
        if let Some(status) = self.failed {
            return status;
        }
        let report = Report {
            phase: Phase::Body,
            ending: Ending::Failed(failure.cause),
            status: self.attempts.last().and_then(Attempt::http_status),
            asked_to_send: true,
            bytes_received: 1,
            os_error: failure.os_error,
            detail: failure.detail,
            ..Report::new()
        };
        let outcome = Call::judge_body(&report);
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.broke_off(&report, &outcome);
        }
        self.tell(&report, &outcome);
        let status = match outcome.reason {
            _ if report.ending == Ending::Failed(Cause::TooLarge) => Status::TooLarge,
            Reason::Deadline => Status::Deadline,
            Reason::Cancelled => self.call.status(),
            _ => Status::Body,
        };
        *self.failed.insert(status)
    }

    /// The proxy it came through has handed it over to the end.
    fn tell_whole(&mut self) {
        let through = self.ticket.take().filter(|ticket| ticket.proxy().is_some());
        if let (Some(client), Some(ticket)) = (self.client.upgrade(), through) {
            Call::settle_whole_body(&mut client.state.lock().pool, ticket);
        }
    }

    fn tell(&self, report: &Report, outcome: &Outcome) {
        let (Some(client), Some(ticket)) = (self.client.upgrade(), self.ticket) else { return };
        let now = client.clock.now();
        let mut events = Vec::new();
        {
            let state = &mut *client.state.lock();
            let chance = state.rng.next_u64();
            Call::settle_body(&mut state.pool, ticket, report, outcome, now, chance, &mut events);
        }
        Publisher::of_call(&client, self.place.0).publish(&mut events, &self.attempts);
    }
}

impl Read for BodyReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.body.pull(buf).map_err(|failure| {
            let kind = kind_of(failure.cause);
            let status = self.status_of(failure);
            io::Error::new(kind, Error::of_call(status, self.attempts.clone()))
        })?;
        self.read += read as u64;
        if read == 0 && !buf.is_empty() {
            self.tell_whole();
        }
        Ok(read)
    }
}

/// Shows no byte of it.
impl fmt::Debug for BodyReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyReader").field("body", &self.body).finish_non_exhaustive()
    }
}

fn kind_of(cause: Cause) -> ErrorKind {
    match cause {
        Cause::Truncated | Cause::Closed => ErrorKind::UnexpectedEof,
        Cause::Reset => ErrorKind::ConnectionReset,
        Cause::TimedOut(_) => ErrorKind::TimedOut,
        Cause::Protocol => ErrorKind::InvalidData,
        _ => ErrorKind::Other,
    }
}
