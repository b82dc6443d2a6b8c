//! The body of a request, and whether it can be produced again.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// What a request carries.
///
/// Bytes can be sent again to another endpoint, and so can a source that rewinds. A plain reader
/// can not: such a request makes one attempt, even where nothing of it was sent (ruling R1).
///
/// ```
/// use anyhost::Body;
///
/// let text = Body::from("a=1");
/// let shared = Body::bytes(std::sync::Arc::<[u8]>::from([1, 2, 3]));
/// let once = Body::reader(std::io::Cursor::new(vec![0; 8]), Some(8));
/// assert!(text.is_replayable() && shared.is_replayable() && Body::empty().is_replayable());
/// assert!(!once.is_replayable());
/// ```
pub struct Body(Kind);

enum Kind {
    Empty,
    Bytes(Box<dyn AsRef<[u8]> + Send>),
    Reader { source: Box<dyn Read + Send>, length: Option<u64>, spent: bool },
    Rewinding { source: Box<dyn Rewind>, length: Option<u64>, touched: bool },
}

/// A source of a body that can start over.
///
/// ```
/// use anyhost::{Body, Rewind};
/// use std::io::{self, Read};
///
/// /// A report that is made while it is sent, and can be made again.
/// struct Lines(u32);
///
/// impl Read for Lines {
///     fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
///         if self.0 == 3 {
///             return Ok(0);
///         }
///         self.0 += 1;
///         buf[..2].copy_from_slice(b"a\n");
///         Ok(2)
///     }
/// }
///
/// impl Rewind for Lines {
///     fn rewind(&mut self) -> io::Result<()> {
///         self.0 = 0;
///         Ok(())
///     }
/// }
///
/// # use anyhost::testing::{Reply, ScriptedTransport};
/// # let (a, b) = ("https://a.example", "https://b.example");
/// # let network = ScriptedTransport::new().on(a, [Reply::status(503)]).on(b, [Reply::status(204)]);
/// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
/// # let client = builder.transport(network.clone()).clock(network.clock()).build()?;
/// let report = Body::rewinding(Lines(0), Some(6));
/// client.put("/report").body(report).resend(anyhost::Resend::Any).send()?; // a has it, and fails
/// assert_eq!(network.received_at(b)[0].body, b"a\na\na\n");
/// # Ok::<(), anyhost::Error>(())
/// ```
pub trait Rewind: Read + Send {
    /// Goes back to where the body begins. That is where the first byte was read, which need not be
    /// the beginning of a file. Called before every attempt but the first.
    ///
    /// # Errors
    ///
    /// Ends the call with [`Status::BodySource`](crate::Status::BodySource).
    fn rewind(&mut self) -> io::Result<()>;
}

/// A part of a file.
struct Part {
    file: File,
    start: u64,
    length: u64,
    left: u64,
}

impl Read for Part {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = (&self.file).take(self.left).read(buf)?;
        self.left -= n as u64;
        Ok(n)
    }
}

impl Rewind for Part {
    fn rewind(&mut self) -> io::Result<()> {
        self.left = self.length;
        self.file.seek(SeekFrom::Start(self.start)).map(|_| ())
    }
}

/// What one attempt sends.
pub(crate) enum Source<'a> {
    Empty,
    Bytes(&'a [u8]),
    Reader { source: &'a mut dyn Read, length: Option<u64> },
}

impl Body {
    /// No body, which is the default. With POST, PUT and PATCH `Content-Length: 0` is sent (RFC 9110 section 8.6).
    pub fn empty() -> Self {
        Body(Kind::Empty)
    }

    /// Bytes that somebody owns: a `Vec`, an `Arc<[u8]>`, a memory map.
    pub fn bytes(owner: impl AsRef<[u8]> + Send + 'static) -> Self {
        Body(Kind::Bytes(Box::new(owner)))
    }

    /// What a reader gives, once. With a `length` exactly so many bytes are sent, and a reader that
    /// gives fewer or more is an error ([`Status::BodySource`](crate::Status::BodySource)); without
    /// one the body is sent in chunks until the reader ends.
    pub fn reader(source: impl Read + Send + 'static, length: Option<u64>) -> Self {
        Body(Kind::Reader { source: Box::new(source), length, spent: false })
    }

    /// What a source gives that can start over, so that the request may go to another endpoint. `length` in
    /// bytes as with a [`reader`](Body::reader).
    ///
    /// Example: [`Rewind`].
    pub fn rewinding(source: impl Rewind + 'static, length: Option<u64>) -> Self {
        Body(Kind::Rewinding { source: Box::new(source), length, touched: false })
    }

    /// A file from where it stands to its present end, so that the request may go to another endpoint:
    /// each attempt reads from the same place on. What is appended later is not sent; a file cut short
    /// is an error ([`Status::BodySource`](crate::Status::BodySource)).
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let (a, b) = ("https://a.example", "https://b.example");
    /// # let network = ScriptedTransport::new().on(a, [Reply::refused()]).on(b, [Reply::status(204)]);
    /// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
    /// # let client = builder.transport(network.clone()).clock(network.clock()).build()?;
    /// let file = std::fs::File::open("Cargo.toml")?;
    /// client.put("/manifests/7").body(anyhost::Body::file(file)?).send()?;
    /// assert_eq!(network.received_at(b)[0].body, std::fs::read("Cargo.toml")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where it does not say its place and its length, as a pipe: that is a
    /// [`reader`](Body::reader).
    pub fn file(mut file: File) -> io::Result<Self> {
        let start = file.stream_position()?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let length = metadata.len().saturating_sub(start);
        Ok(Body::rewinding(Part { file, start, length, left: length }, Some(length)))
    }

    /// Whether it can be produced again.
    pub fn is_replayable(&self) -> bool {
        !matches!(self.0, Kind::Reader { .. })
    }

    /// A reader that has been read already: nothing can be sent of it any more.
    pub(crate) fn is_spent(&self) -> bool {
        matches!(self.0, Kind::Reader { spent: true, .. })
    }

    /// The body from its beginning, for one attempt.
    pub(crate) fn source(&mut self) -> io::Result<Source<'_>> {
        Ok(match &mut self.0 {
            Kind::Empty => Source::Empty,
            Kind::Bytes(bytes) => Source::Bytes((**bytes).as_ref()),
            Kind::Reader { source, length, spent } => {
                *spent = true;
                Source::Reader { source, length: *length }
            }
            Kind::Rewinding { source, length, touched } => {
                if std::mem::replace(touched, true) {
                    source.rewind()?;
                }
                Source::Reader { source, length: *length }
            }
        })
    }
}

impl Default for Body {
    fn default() -> Self {
        Body::empty()
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Body::bytes(bytes)
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Body::bytes(text)
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Body::bytes(text)
    }
}

impl From<&'static [u8]> for Body {
    fn from(bytes: &'static [u8]) -> Self {
        Body::bytes(bytes)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Empty => f.write_str("Body(empty)"),
            Kind::Bytes(bytes) => write!(f, "Body({} bytes)", (**bytes).as_ref().len()),
            Kind::Reader { length, .. } => write!(f, "Body(one-shot reader, length {length:?})"),
            Kind::Rewinding { length, .. } => {
                write!(f, "Body(rewinding reader, length {length:?})")
            }
        }
    }
}
