//! The caller's body source on its way to ureq: exactly as long as was said, or an error.
//!
//! ureq spins forever on a source that ends early and notices one that is too long only after the
//! head is sent. This reader hands out exactly `length` bytes, and looks for one byte more before
//! it lets go of the last ones, so that a request that is wrong is never complete on the wire. An
//! error of the source is told from an error of the network here, where the two can still be told.
//!
//! After an early answer the rest of the body goes nowhere, so the source is asked no more.

use super::current::Progress;
use super::failure::Failure;
use crate::decide::Cause;
use std::io::{self, ErrorKind, Read};

/// Reads a caller's source for ureq.
pub(super) struct Upload<'a> {
    source: &'a mut dyn Read,
    /// What is still to come, if the length is known.
    left: Option<u64>,
    progress: &'a Progress,
}

impl<'a> Upload<'a> {
    /// The body of `source`, of `length` bytes if that is known.
    pub(super) fn new(
        source: &'a mut dyn Read,
        length: Option<u64>,
        progress: &'a Progress,
    ) -> Result<Self, Failure> {
        let mut upload = Upload { source, left: length, progress };
        // ureq does not read a body of no bytes at all.
        if length == Some(0) {
            upload.expect_end()?;
        }
        Ok(upload)
    }

    fn pull(&mut self, buf: &mut [u8]) -> Result<usize, Failure> {
        loop {
            match self.source.read(buf) {
                Ok(n) => return Ok(n),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    let os_error = e.raw_os_error().unwrap_or(0);
                    let failure = Failure::new(Cause::BodySource, "the body source failed");
                    return Err(Failure { os_error, ..failure });
                }
            }
        }
    }

    fn expect_end(&mut self) -> Result<(), Failure> {
        match self.pull(&mut [0])? {
            0 => Ok(()),
            _ => Err(Failure::new(Cause::BodySource, "the body source is longer than was said")),
        }
    }

    fn next(&mut self, buf: &mut [u8]) -> Result<usize, Failure> {
        let Some(left) = self.left else {
            return if self.progress.answered_early() { Ok(0) } else { self.pull(buf) };
        };
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buf.len());
        if most == 0 {
            return Ok(0);
        }
        let n = if self.progress.answered_early() { most } else { self.pull(&mut buf[..most])? };
        if n == 0 {
            return Err(Failure::new(Cause::BodySource, "the body source ended early"));
        }
        self.left = Some(left - n as u64);
        if self.left == Some(0) && !self.progress.answered_early() {
            self.expect_end()?;
        }
        Ok(n)
    }
}

impl Read for Upload<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.progress.body_begins();
        self.next(buf).map_err(Failure::into_io)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress() -> Progress {
        Progress::unbounded()
    }

    /// Everything an upload hands out, in pieces of three, and how it ended.
    fn drain(source: &[u8], length: Option<u64>) -> (Vec<u8>, Result<(), Cause>) {
        let progress = progress();
        let mut source = source;
        let mut out = Vec::new();
        let mut upload = match Upload::new(&mut source, length, &progress) {
            Ok(upload) => upload,
            Err(e) => return (out, Err(e.cause)),
        };
        for _ in 0..100 {
            let mut piece = [0; 3];
            match upload.next(&mut piece) {
                Ok(0) => return (out, Ok(())),
                Ok(n) => out.extend_from_slice(&piece[..n]),
                Err(e) => return (out, Err(e.cause)),
            }
        }
        panic!("no end");
    }

    #[test]
    fn a_source_must_be_as_long_as_was_said() {
        let wrong = Err(Cause::BodySource);
        assert_eq!(drain(b"12345", Some(5)), (b"12345".to_vec(), Ok(())));
        assert_eq!(drain(b"12345", None), (b"12345".to_vec(), Ok(())));
        assert_eq!(drain(b"1234", Some(5)), (b"1234".to_vec(), wrong));
        // The last piece is held back: the request stays incomplete.
        assert_eq!(drain(b"123456", Some(5)), (b"123".to_vec(), wrong));
        assert_eq!(drain(b"", Some(0)), (vec![], Ok(())));
        assert_eq!(drain(b"1", Some(0)), (vec![], wrong));
    }

    #[test]
    fn a_failing_source_is_no_network_error() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(ErrorKind::ConnectionReset.into())
            }
        }
        let progress = progress();
        let mut source = Broken;
        let mut upload = Upload::new(&mut source, None, &progress).unwrap();
        assert_eq!(upload.next(&mut [0; 8]).unwrap_err().cause, Cause::BodySource);
    }

    #[test]
    fn after_an_early_answer_the_source_is_left_alone() {
        struct Never;
        impl Read for Never {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                panic!("asked")
            }
        }
        let progress = progress();
        progress.answer_early();
        let mut source = Never;
        let mut sized = Upload::new(&mut source, Some(20), &progress).unwrap();
        assert_eq!(sized.next(&mut [0; 16]).unwrap(), 16);
        assert_eq!(sized.next(&mut [0; 16]).unwrap(), 4);
        assert_eq!(sized.next(&mut [0; 16]).unwrap(), 0);
        let mut chunked = Upload::new(&mut source, None, &progress).unwrap();
        assert_eq!(chunked.next(&mut [0; 16]).unwrap(), 0);
    }
}
