//! Brotli (RFC 7932), by a decoder that says where the coding ends: what follows it is an error.

use super::Coded;
use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use std::io::{self, BufRead, ErrorKind};

type State = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

/// A body in brotli.
pub(super) struct Brotli {
    coded: Coded,
    state: State,
    ended: bool,
}

impl Brotli {
    pub(super) fn new(coded: Coded) -> Self {
        let alloc = StandardAlloc::default;
        // Strict: windows beyond the 16 MiB of the RFC are an extension, and a way to take memory.
        Brotli { coded, state: State::new_strict(alloc(), alloc(), alloc()), ended: false }
    }

    pub(super) fn coded(&self) -> &Coded {
        &self.coded
    }

    pub(super) fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while !self.ended {
            let input = self.coded.fill_buf()?;
            let at_end = input.is_empty();
            let (mut input_left, mut taken) = (input.len(), 0);
            let (mut room, mut made) = (buf.len(), 0);
            let result = BrotliDecompressStream(
                &mut input_left,
                &mut taken,
                input,
                &mut room,
                &mut made,
                buf,
                &mut 0,
                &mut self.state,
            );
            self.coded.consume(taken);
            match result {
                BrotliResult::ResultFailure => return Err(ErrorKind::InvalidData.into()),
                BrotliResult::ResultSuccess => self.ended = true,
                BrotliResult::NeedsMoreInput if at_end && made == 0 => {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {}
            }
            if made > 0 {
                return Ok(made);
            }
        }
        match self.coded.fill_buf()?.is_empty() {
            true => Ok(0),
            false => Err(ErrorKind::InvalidData.into()),
        }
    }
}
