//! Zstandard (RFC 8878), with the window of at most 8 MiB that RFC 9659 allows over HTTP: a window is
//! memory that a few bytes of a head ask for. A body may have several frames, and frames to be skipped.
//!
//! Bytes are handed out when they leave the window, or when their frame is complete.

use super::Coded;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, ErrorKind, Read};

/// RFC 9659 section 2.
const LARGEST_WINDOW: u64 = 8 << 20;
const MAGIC: u32 = 0xfd2f_b528;

/// A body in zstd.
pub(super) struct Zstd {
    coded: Coded,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl Zstd {
    pub(super) fn new(coded: Coded) -> Self {
        Zstd { coded, decoder: FrameDecoder::new(), in_frame: false }
    }

    pub(super) fn coded(&self) -> &Coded {
        &self.coded
    }

    pub(super) fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.in_frame {
                while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                    self.decode_some()?;
                }
                let n = self.decoder.read(buf)?;
                if n > 0 {
                    return Ok(n);
                }
                self.check()?;
                self.in_frame = false;
            }
            if self.coded.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.in_frame = self.begin_frame()?;
        }
    }

    fn decode_some(&mut self) -> io::Result<()> {
        let decoded =
            self.decoder.decode_blocks(&mut self.coded, BlockDecodingStrategy::UptoBlocks(1));
        if decoded.is_ok() {
            return Ok(());
        }
        // The decoder buries what the body beneath said; asked again, that says it again.
        match self.coded.fill_buf()?.is_empty() {
            true => Err(ErrorKind::UnexpectedEof.into()),
            false => Err(ErrorKind::InvalidData.into()),
        }
    }

    /// Reads the head of a frame. False for one to be skipped, which is.
    fn begin_frame(&mut self) -> io::Result<bool> {
        let mut head = vec![0; 4];
        self.coded.read_exact(&mut head)?;
        let magic = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        if magic & !0xf == 0x184d_2a50 {
            let mut length = [0; 4];
            self.coded.read_exact(&mut length)?;
            let length = u64::from(u32::from_le_bytes(length));
            let skipped = io::copy(&mut (&mut self.coded).take(length), &mut io::sink())?;
            return if skipped == length {
                Ok(false)
            } else {
                Err(ErrorKind::UnexpectedEof.into())
            };
        }
        if magic != MAGIC {
            return Err(ErrorKind::InvalidData.into());
        }
        self.more_of(&mut head, 1)?;
        let descriptor = head[4];
        let single = descriptor & 0x20 != 0;
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let size = [usize::from(single), 2, 4, 8][usize::from(descriptor >> 6)];
        self.more_of(&mut head, usize::from(!single) + dictionary + size)?;
        let window = match single {
            true => head[head.len() - size..].iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)),
            false => {
                let base = 1_u64 << (10 + (head[5] >> 3));
                base + base / 8 * u64::from(head[5] & 7)
            }
        };
        let begun = window <= LARGEST_WINDOW && self.decoder.reset(head.as_slice()).is_ok();
        if begun { Ok(true) } else { Err(ErrorKind::InvalidData.into()) }
    }

    fn more_of(&mut self, head: &mut Vec<u8>, bytes: usize) -> io::Result<()> {
        let from = head.len();
        head.resize(from + bytes, 0);
        self.coded.read_exact(&mut head[from..])
    }

    /// The checksum of a frame that has one.
    fn check(&self) -> io::Result<()> {
        let told = self.decoder.get_checksum_from_data();
        match told.is_none() || told == self.decoder.get_calculated_checksum() {
            true => Ok(()),
            false => Err(ErrorKind::InvalidData.into()),
        }
    }
}
