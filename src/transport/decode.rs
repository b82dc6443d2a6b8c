//! Undoes the content coding of an answer that we asked for: gzip, and br and zstd where the cargo
//! features of those names are on (RFC 9110 section 8.4).
//!
//! Ours and not ureq's, whose decoding fails on the empty bodies of HEAD and 204, and because the
//! rules for an end are ours: what ends too early is truncated, what goes on after the end is no such
//! coding, and neither is a whole body (ruling R13). `deflate` is not offered: servers disagree about
//! what it is.
//!
//! Decoders work in pieces of fixed size, so that memory is bounded by what the caller takes, however
//! much a few bytes unfold to.
//!
//! Flow: head → **decoded** → read whole, or handed on. Not here: whether to ask for a coding
//! (`client/run.rs`), and how large a body may be (`incoming`).

use super::Answer;
use super::failure::Failure;
use super::incoming::{AnswerBody, BodySource};
use crate::decide::Cause;
use flate2::bufread::MultiGzDecoder;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderValue};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::time::Instant;

#[cfg(feature = "brotli")]
mod brotli;
#[cfg(feature = "zstd")]
mod zstd;

/// How many coded bytes a decoder asks for at once.
const PIECE: usize = 16 << 10;

/// A body of more than this many bytes may be no more than [`MOST_FOLDED`] times what came in for it.
const UNCHECKED: u64 = 64 << 20;

/// Text is folded to a tenth, logs to a thirtieth. What is folded much further is all but empty, and a
/// few of its bytes fill a disk. (The 200 is that of Apache's `DeflateInflateRatioLimit`.)
const MOST_FOLDED: u64 = 200;

/// The codings that are undone, as a value of `Accept-Encoding`.
pub fn accept_encoding() -> HeaderValue {
    HeaderValue::from_static(match (cfg!(feature = "brotli"), cfg!(feature = "zstd")) {
        (false, false) => "gzip",
        (true, false) => "gzip, br",
        (false, true) => "gzip, zstd",
        (true, true) => "gzip, br, zstd",
    })
}

/// Undoes the coding of an answer's body, and takes the headers out that spoke of the coded one. An
/// answer in another coding, in several, or without a body stays as received, headers and all.
pub fn decode(answer: &mut Answer, head_only: bool) {
    let bodiless = head_only || matches!(answer.status, 100..=199 | 204 | 304);
    let Some(coding) = coding(&answer.headers).filter(|_| !bodiless) else { return };
    answer.headers.remove(CONTENT_ENCODING);
    answer.headers.remove(CONTENT_LENGTH);
    let coded = std::mem::take(&mut answer.body);
    let decoded = Decoded { decoder: Decoder::NotBegun(Some((coding, coded))), unfolded: 0 };
    answer.body = AnswerBody::reader(decoded, None);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Gzip,
    #[cfg(feature = "brotli")]
    Brotli,
    #[cfg(feature = "zstd")]
    Zstd,
}

/// The one coding of an answer, if it is one of ours.
fn coding(headers: &HeaderMap) -> Option<Coding> {
    // Asked of every answer, and answers have few headers: a walk costs less than looking it up.
    let mut lines = headers.iter().filter(|(name, _)| name.as_str() == "content-encoding");
    let (Some((_, value)), None) = (lines.next(), lines.next()) else { return None };
    let name = value.to_str().ok()?.trim();
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    // RFC 9110 section 8.4.1.3: the x- is of old, and means the same.
    if is("gzip") || is("x-gzip") {
        return Some(Coding::Gzip);
    }
    #[cfg(feature = "brotli")]
    if is("br") {
        return Some(Coding::Brotli);
    }
    #[cfg(feature = "zstd")]
    if is("zstd") {
        return Some(Coding::Zstd);
    }
    None
}

/// The coded body as the decoders want it.
type Coded = BufReader<AnswerBody>;

/// A body on its way through a decoder.
struct Decoded {
    decoder: Decoder,
    /// How many bytes it has given.
    unfolded: u64,
}

enum Decoder {
    /// Decoders read when they are made, and nobody may wait for a body before it is read.
    NotBegun(Option<(Coding, AnswerBody)>),
    /// No byte at all is an empty body, though it is no coding of one.
    Empty(AnswerBody),
    Gzip(Box<MultiGzDecoder<Coded>>),
    #[cfg(feature = "brotli")]
    Brotli(Box<brotli::Brotli>),
    #[cfg(feature = "zstd")]
    Zstd(Box<zstd::Zstd>),
}

impl Decoder {
    fn begin(coding: Coding, body: AnswerBody) -> io::Result<Decoder> {
        let mut coded = BufReader::with_capacity(PIECE, body);
        if coded.fill_buf()?.is_empty() {
            return Ok(Decoder::Empty(coded.into_inner()));
        }
        Ok(match coding {
            Coding::Gzip => Decoder::Gzip(Box::new(MultiGzDecoder::new(coded))),
            #[cfg(feature = "brotli")]
            Coding::Brotli => Decoder::Brotli(Box::new(brotli::Brotli::new(coded))),
            #[cfg(feature = "zstd")]
            Coding::Zstd => Decoder::Zstd(Box::new(zstd::Zstd::new(coded))),
        })
    }

    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Decoder::NotBegun(body) = self {
            let Some((coding, body)) = body.take() else { return Ok(0) };
            *self = Decoder::begin(coding, body)?;
        }
        match self {
            Decoder::NotBegun(_) | Decoder::Empty(_) => Ok(0),
            Decoder::Gzip(gzip) => gzip.read(buf),
            #[cfg(feature = "brotli")]
            Decoder::Brotli(brotli) => brotli.read(buf),
            #[cfg(feature = "zstd")]
            Decoder::Zstd(zstd) => zstd.read(buf),
        }
    }

    fn coded(&self) -> Option<&AnswerBody> {
        match self {
            Decoder::NotBegun(body) => body.as_ref().map(|(_, body)| body),
            Decoder::Empty(body) => Some(body),
            Decoder::Gzip(gzip) => Some(gzip.get_ref().get_ref()),
            #[cfg(feature = "brotli")]
            Decoder::Brotli(brotli) => Some(brotli.coded().get_ref()),
            #[cfg(feature = "zstd")]
            Decoder::Zstd(zstd) => Some(zstd.coded().get_ref()),
        }
    }
}

impl BodySource for Decoded {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Failure> {
        let count = self.decoder.read(buf).map_err(failure)?;
        self.unfolded += count as u64;
        let most = self.bytes_received().map(|coded| coded.saturating_mul(MOST_FOLDED));
        if self.unfolded > UNCHECKED && most.is_some_and(|most| self.unfolded > most) {
            return Err(Failure::new(Cause::TooLarge, "the body unfolds to more than is allowed"));
        }
        Ok(count)
    }

    fn bytes_received(&self) -> Option<u64> {
        self.decoder.coded().and_then(AnswerBody::bytes_received)
    }

    fn limit(&self, until: Instant) {
        if let Some(coded) = self.decoder.coded() {
            coded.limit(until);
        }
    }
}

/// What went wrong: the body beneath, or the coding.
fn failure(error: io::Error) -> Failure {
    let kind = error.kind();
    match error.downcast::<Failure>() {
        Ok(failure) => failure,
        Err(_) if kind == ErrorKind::UnexpectedEof => {
            Failure::new(Cause::Truncated, "the coded body ended before its end")
        }
        Err(_) => Failure::new(Cause::Protocol, "the body is not coded as its head says"),
    }
}
