//! The body of an answer, as C reads it: there from the beginning, or still to come.
//!
//! C gets bytes with one 0 byte beyond their end, and may ask for them again, so what was read to the end
//! is kept.

use super::client::Soundness;
use super::text;
use crate::{BodyReader, Error, Result, Status};
use std::io::Read;

/// A body.
pub(super) struct Body {
    /// What has been read and is kept; with the 0 byte beyond it once all is there.
    kept: Vec<u8>,
    /// How much of that was handed out piece by piece.
    given: usize,
    rest: Rest,
}

/// What is not there yet.
enum Rest {
    /// Nothing is missing.
    Nothing,
    /// The head is all that is shown of the answer.
    Elsewhere,
    /// It can be read.
    ToCome {
        reader: Box<BodyReader>,
        client: Soundness,
        /// Bytes were handed out that are not kept.
        passed: bool,
    },
}

impl Body {
    /// One that is all there.
    pub(super) fn whole(bytes: Vec<u8>) -> Self {
        Body { kept: text::nul_ended(bytes), given: 0, rest: Rest::Nothing }
    }

    /// One that nobody may see.
    pub(super) fn elsewhere() -> Self {
        Body { kept: Vec::new(), given: 0, rest: Rest::Elsewhere }
    }

    /// One that is read as it comes.
    pub(super) fn to_come(reader: BodyReader, client: Soundness) -> Self {
        let rest = Rest::ToCome { reader: Box::new(reader), client, passed: false };
        Body { kept: Vec::new(), given: 0, rest }
    }

    /// The whole of it, without the 0 byte that follows.
    pub(super) fn all(&mut self) -> Result<&[u8]> {
        match &mut self.rest {
            Rest::Nothing => {}
            Rest::Elsewhere => {
                return Err(Error::new(Status::State, "of a streamed answer the head is judged"));
            }
            Rest::ToCome { passed: true, .. } => {
                return Err(Error::new(Status::State, "a part of the body was read already"));
            }
            Rest::ToCome { reader, client, .. } => {
                client.watch(|| reader.read_rest(&mut self.kept))?;
                self.kept = text::nul_ended(std::mem::take(&mut self.kept));
                self.rest = Rest::Nothing;
            }
        }
        Ok(&self.kept[..self.kept.len() - 1])
    }

    /// Up to the length of `buf` of the next bytes; 0 at the end.
    pub(super) fn next(&mut self, buf: &mut [u8]) -> Result<usize> {
        let end = match &self.rest {
            Rest::Nothing => self.kept.len() - 1,
            Rest::Elsewhere | Rest::ToCome { .. } => self.kept.len(),
        };
        if self.given < end || buf.is_empty() {
            let n = buf.len().min(end - self.given);
            buf[..n].copy_from_slice(&self.kept[self.given..self.given + n]);
            self.given += n;
            return Ok(n);
        }
        match &mut self.rest {
            Rest::Nothing => Ok(0),
            Rest::Elsewhere => Err(Error::new(Status::State, "the body is not to be seen")),
            Rest::ToCome { reader, client, passed } => {
                let n = client.watch(|| reader.read(buf).map_err(ours))?;
                *passed |= n > 0;
                Ok(n)
            }
        }
    }

    /// The bytes of one that is all there, given back.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        if matches!(self.rest, Rest::Nothing) {
            self.kept.pop();
        }
        self.kept
    }
}

/// The error inside that of a reader.
fn ours(error: std::io::Error) -> Error {
    error.downcast().unwrap_or_else(|error| Error::new(Status::Internal, error.to_string()))
}
