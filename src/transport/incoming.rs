//! The body of an answer on its way in.
//!
//! A transport hands out an answer when its head is there, with the body either whole or still to be
//! read. The caller of the transport reads it within the attempt (`send`) or hands it on (`stream`):
//! one way for both, so that limits, truncation and decoding cannot differ between them.
//!
//! An error is kept: whoever reads on after it gets it again, and never an end that would make half a
//! body look whole. Not here: what an error means for the endpoint (`decide`), decoding (`decode`).

use super::failure::Failure;
use super::meter::Meter;
use crate::decide::{Cause, Ending, Report};
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Instant;

/// Most bytes of a body's memory that are taken on the word of a `Content-Length`.
const TRUSTED_LENGTH: u64 = 64 << 10;

/// Where the bytes of a body come from.
///
/// Dropped before its end, it leaves nothing behind that another exchange could read.
///
/// ```
/// use anyhost::inject::{AnswerBody, BodySource, Cause, Failure};
/// use std::time::Instant;
///
/// /// A body that comes in single bytes, and breaks off.
/// struct Drops(u64);
///
/// impl BodySource for Drops {
///     fn read(&mut self, buf: &mut [u8]) -> Result<usize, Failure> {
///         if self.0 == 2 {
///             return Err(Failure::new(Cause::Truncated, "the tap ran dry"));
///         }
///         self.0 += 1;
///         buf[0] = b'.';
///         Ok(1)
///     }
///
///     fn bytes_received(&self) -> Option<u64> {
///         Some(self.0)
///     }
///
///     fn limit(&self, _until: Instant) {} // nothing here waits
/// }
///
/// let mut body = AnswerBody::reader(Drops(0), Some(5));
/// assert_eq!(body.length(), Some(5));
/// let mut buf = [0; 16];
/// assert_eq!((body.pull(&mut buf), body.pull(&mut buf)), (Ok(1), Ok(1)));
/// assert_eq!(body.pull(&mut buf).unwrap_err().cause, Cause::Truncated);
/// ```
pub trait BodySource: Send {
    /// Reads some bytes into `buf`, which has room for one at least; 0 is the end of a complete body.
    ///
    /// # Errors
    ///
    /// Why no more will come; what breaks off is an error (ruling R13). It is not read again.
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Failure>;

    /// HTTP bytes received so far in this attempt, the head included; `None` where they are not
    /// counted.
    fn bytes_received(&self) -> Option<u64> {
        None
    }

    /// From now on the body must be over at this time, or earlier if the limits of the attempt say so.
    /// Said once at most. What cannot wait has nothing to do.
    fn limit(&self, until: Instant) {
        let _ = until;
    }
}

/// The body of an answer, whole or still to be read.
///
/// ```
/// use anyhost::inject::AnswerBody;
/// use std::io::Read;
///
/// let mut text = String::new();
/// AnswerBody::from(b"hello".to_vec()).read_to_string(&mut text)?;
/// assert_eq!(text, "hello");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct AnswerBody {
    state: State,
    length: Option<u64>,
    received: Option<u64>,
    meter: Option<Arc<Meter>>,
}

enum State {
    Whole { bytes: Vec<u8>, read: usize },
    Source(Box<dyn BodySource>),
    Ended,
    Failed(Failure),
}

impl AnswerBody {
    /// A body still to be read, of `length` bytes where the head says so. One that is there already is made
    /// [`from`](From::from) its bytes.
    ///
    /// Example: [`inject::BodySource`](crate::inject::BodySource).
    pub fn reader(source: impl BodySource + 'static, length: Option<u64>) -> Self {
        AnswerBody { state: State::Source(Box::new(source)), length, received: None, meter: None }
    }

    /// The same, counted by the meter of its attempt as it is read. The client does it with what a transport
    /// hands out.
    ///
    /// ```
    /// use anyhost::inject::AnswerBody;
    ///
    /// let body = AnswerBody::from(b"hello".to_vec()).metered_by(None); // nobody watches the call
    /// assert_eq!(std::io::read_to_string(body)?, "hello");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn metered_by(mut self, meter: Option<&Arc<Meter>>) -> Self {
        if let Some(meter) = meter {
            meter.expect(self.length);
            self.meter = Some(meter.clone());
        }
        self
    }

    /// How many bytes it has, where that is known before they are read.
    ///
    /// Example: [`inject::BodySource`](crate::inject::BodySource).
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// Must be over at this time, or earlier if the limits of the attempt say so. To be said once.
    ///
    /// ```
    /// use anyhost::inject::{AnswerBody, BodySource, Failure};
    /// use std::sync::mpsc::{Sender, channel};
    /// use std::time::Instant;
    ///
    /// struct Told(Sender<Instant>);
    ///
    /// impl BodySource for Told {
    ///     fn read(&mut self, _: &mut [u8]) -> Result<usize, Failure> {
    ///         Ok(0)
    ///     }
    ///     fn limit(&self, until: Instant) {
    ///         self.0.send(until).unwrap();
    ///     }
    /// }
    ///
    /// let ((tell, told), now) = (channel(), Instant::now());
    /// AnswerBody::reader(Told(tell), None).limit(now);
    /// assert_eq!(told.recv(), Ok(now)); // the source is what keeps it
    /// ```
    pub fn limit(&self, until: Instant) {
        if let State::Source(source) = &self.state {
            source.limit(until);
        }
    }

    /// Reads some bytes; 0 is the end. An error comes again with every further read.
    ///
    /// # Errors
    ///
    /// What the source says.
    ///
    /// Example: [`inject::BodySource`](crate::inject::BodySource).
    pub fn pull(&mut self, buf: &mut [u8]) -> Result<usize, Failure> {
        if buf.is_empty() {
            return Ok(0);
        }
        let read = self.pull_uncounted(buf);
        self.count(*read.as_ref().unwrap_or(&0), matches!(read, Ok(0)));
        read
    }

    /// Counts bytes handed out, and tells of them if it is time, or if they were the last.
    fn count(&self, bytes: usize, end: bool) {
        let Some(meter) = &self.meter else { return };
        meter.add_received(bytes);
        if end {
            meter.complete();
        } else {
            meter.tick();
        }
    }

    fn pull_uncounted(&mut self, buf: &mut [u8]) -> Result<usize, Failure> {
        let source = match &mut self.state {
            State::Whole { bytes, read } => {
                let n = buf.len().min(bytes.len() - *read);
                buf[..n].copy_from_slice(&bytes[*read..*read + n]);
                *read += n;
                return Ok(n);
            }
            State::Source(source) => source,
            State::Ended => return Ok(0),
            State::Failed(failure) => return Err(failure.clone()),
        };
        let read = source.read(buf);
        self.received = source.bytes_received();
        match &read {
            Ok(0) => self.state = State::Ended,
            Ok(_) => {}
            // Letting go of the source closes its connection.
            Err(failure) => self.state = State::Failed(failure.clone()),
        }
        read
    }

    /// Reads all of it within its attempt, and brings the attempt's report up to date: a body that
    /// breaks off, or is longer than `max` bytes, is how the attempt ended.
    ///
    /// ```
    /// use anyhost::inject::{AnswerBody, Cause, Ending, Report};
    ///
    /// let mut report = Report { ending: Ending::Answered, ..Report::new() };
    /// let body = || AnswerBody::from(b"hello".to_vec());
    /// assert_eq!(body().read_whole(5, &mut report), Some(b"hello".to_vec()));
    /// assert_eq!(body().read_whole(4, &mut report), None);
    /// assert_eq!(report.ending, Ending::Failed(Cause::TooLarge));
    /// ```
    pub fn read_whole(mut self, max: u64, report: &mut Report) -> Option<Vec<u8>> {
        let read = self.whole(max);
        report.bytes_received = self.bytes_received().unwrap_or(report.bytes_received);
        match read {
            Ok(bytes) => Some(bytes),
            Err(failure) => {
                report.ending = Ending::Failed(failure.cause);
                report.os_error = failure.os_error;
                report.detail = failure.detail;
                None
            }
        }
    }

    /// The bytes of HTTP that it took, if they are counted.
    pub(super) fn bytes_received(&self) -> Option<u64> {
        self.received
    }

    fn whole(&mut self, max: u64) -> Result<Vec<u8>, Failure> {
        let too_large = || Failure::new(Cause::TooLarge, "the body is larger than allowed");
        if self.length.is_some_and(|length| length > max) {
            return Err(too_large());
        }
        if let State::Whole { bytes, read: 0 } = &mut self.state {
            let bytes = std::mem::take(bytes);
            self.count(bytes.len(), true);
            return Ok(bytes);
        }
        // Room for one byte beyond it: C wants a 0 there, and nothing is moved for it then.
        let start = self.length.map_or(0, |length| length.min(TRUSTED_LENGTH) + 1);
        let mut bytes = Vec::with_capacity(usize::try_from(start).unwrap_or(0));
        // One byte more than allowed tells a body that is too large from one that just fits. Reading on
        // to the end, and not only to the last byte, is what gives the connection back.
        let mut most = self.take(max.saturating_add(1));
        most.read_to_end(&mut bytes).map_err(Failure::of_body)?;
        if bytes.len() as u64 > max { Err(too_large()) } else { Ok(bytes) }
    }
}

/// Errors are [`Failure`]s within.
impl Read for AnswerBody {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.pull(buf).map_err(io::Error::other)
    }
}

impl From<Vec<u8>> for AnswerBody {
    fn from(bytes: Vec<u8>) -> Self {
        let length = Some(bytes.len() as u64);
        AnswerBody { state: State::Whole { bytes, read: 0 }, length, received: None, meter: None }
    }
}

/// An empty one.
impl Default for AnswerBody {
    fn default() -> Self {
        AnswerBody::from(Vec::new())
    }
}

/// Shows no byte of it.
impl fmt::Debug for AnswerBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Whole { .. } => "whole",
            State::Source(_) => "open",
            State::Ended => "ended",
            State::Failed(_) => "failed",
        };
        f.debug_struct("AnswerBody")
            .field("state", &state)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three bytes, then what is planted.
    struct Three(u64, Result<usize, Failure>);

    impl BodySource for Three {
        fn read(&mut self, buf: &mut [u8]) -> Result<usize, Failure> {
            if self.0 == 3 {
                // A source that has failed would be at its end.
                return std::mem::replace(&mut self.1, Ok(0));
            }
            self.0 += 1;
            buf[0] = b'x';
            Ok(1)
        }

        fn bytes_received(&self) -> Option<u64> {
            Some(100 + self.0)
        }
    }

    fn body(end: Result<usize, Failure>) -> AnswerBody {
        AnswerBody::reader(Three(0, end), None)
    }

    #[test]
    fn an_error_stays_an_error() {
        let failure = Failure::new(Cause::Truncated, "planted");
        let mut body = body(Err(failure.clone()));
        let mut bytes = Vec::new();
        for _ in 0..3 {
            let error = body.read_to_end(&mut bytes).unwrap_err();
            assert_eq!(Failure::of_body(error), failure);
            assert_eq!(bytes, b"xxx");
        }
    }

    /// What a body that is too large costs is what is allowed, and not what it has.
    #[test]
    fn a_body_is_read_no_further_than_it_may_be_long() {
        struct Endless(usize);
        impl BodySource for Endless {
            fn read(&mut self, buf: &mut [u8]) -> Result<usize, Failure> {
                self.0 += buf.len();
                assert!(self.0 <= 2000, "{} bytes of 1000", self.0);
                Ok(buf.len())
            }
        }
        let mut report = Report { ending: Ending::Answered, ..Report::new() };
        let body = AnswerBody::reader(Endless(0), None);
        assert_eq!(body.read_whole(1000, &mut report), None);
        assert_eq!(report.ending, Ending::Failed(Cause::TooLarge));
    }

    #[test]
    fn reading_whole_ends_the_attempt() {
        let broken = Failure::new(Cause::Reset, "planted");
        let cases = [
            (body(Ok(0)), 3, Some(b"xxx".to_vec()), Ending::Answered, 103),
            (body(Ok(0)), 2, None, Ending::Failed(Cause::TooLarge), 103),
            (body(Err(broken)), 9, None, Ending::Failed(Cause::Reset), 103),
            (
                AnswerBody::reader(Three(0, Ok(0)), Some(9)),
                8,
                None,
                Ending::Failed(Cause::TooLarge),
                7,
            ),
            (AnswerBody::from(b"abc".to_vec()), 3, Some(b"abc".to_vec()), Ending::Answered, 7),
            (AnswerBody::from(b"abc".to_vec()), 2, None, Ending::Failed(Cause::TooLarge), 7),
        ];
        for (body, max, expected, ending, received) in cases {
            let shown = format!("{body:?}, {max}");
            let mut report =
                Report { ending: Ending::Answered, bytes_received: 7, ..Report::new() };
            assert_eq!(body.read_whole(max, &mut report), expected, "{shown}");
            assert_eq!((report.ending, report.bytes_received), (ending, received), "{shown}");
        }
    }
}
