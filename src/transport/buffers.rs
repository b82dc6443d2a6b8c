//! A connection's buffers: small while it idles, larger only while a body needs it.
//!
//! ureq's own are 256 KiB zeroed for every connection. These start with a page or two, go to 64 KiB
//! when a read fills them or a body is sent, and are given back when the connection becomes
//! idle. 64 KiB is below the size from which malloc maps and unmaps memory on each use.
//!
//! Invariant: `at <= end <= input.len()`; `input[at..end]` has arrived and was not taken.

use ureq::unversioned::transport::Buffers;

const SMALL_INPUT: usize = 8 << 10;
const SMALL_OUTPUT: usize = 2 << 10;
const LARGE: usize = 64 << 10;
/// ureq reads a chunk of a body of unknown length into the free input; this is its size.
const CHUNK: usize = 10 << 10;

/// How large a request is, as far as its output buffer is concerned.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sizes {
    /// The head, at most. ureq cannot split a header line, and a head in one piece is one write.
    pub(super) head: usize,
    /// The body, if that is known.
    pub(super) body: Option<u64>,
    /// The body is in memory: nothing will keep head and body apart.
    pub(super) at_hand: bool,
}

/// Input and output of one connection.
#[derive(Debug, Default)]
pub(super) struct Growing {
    input: Vec<u8>,
    at: usize,
    end: usize,
    /// The last read filled the buffer: there is probably more where it came from.
    filled: bool,
    /// Looking at the input again can lead further. ureq's contract: not after it took nothing.
    progress: bool,
    output: Vec<u8>,
    /// The first bytes of the output, which wait for those that follow.
    held: usize,
    request: Sizes,
}

impl Growing {
    /// Says what the output must have room for.
    pub(super) fn expect(&mut self, request: Sizes) {
        self.request = request;
        self.held = 0;
    }

    /// Keeps the head of a request back, to go out with the body in one write. `false` if there is
    /// no body to wait for, or the head was kept already.
    pub(super) fn hold(&mut self, amount: usize) -> bool {
        let waits = self.request.at_hand && self.request.body != Some(0);
        // Once for each request.
        self.request.at_hand = false;
        if waits {
            self.held = amount;
        }
        waits
    }

    /// How much is to be sent, now that `amount` more bytes are in the output.
    pub(super) fn release(&mut self, amount: usize) -> usize {
        std::mem::take(&mut self.held) + amount
    }

    /// Puts `origin` in front of the target in the request line, which begins the `amount` bytes just
    /// written. Gives their new number.
    pub(super) fn name_origin(&mut self, amount: usize, origin: &str) -> usize {
        let Some(method) = self.output[..amount].iter().position(|b| *b == b' ') else {
            return amount;
        };
        let (target, longer) = (method + 1, amount + origin.len());
        grow(&mut self.output, longer);
        self.output.copy_within(target..amount, target + origin.len());
        self.output[target..target + origin.len()].copy_from_slice(origin.as_bytes());
        longer
    }

    /// The first bytes of the output, to be sent.
    pub(super) fn written(&self, amount: usize) -> &[u8] {
        &self.output[..amount]
    }

    /// Gives large buffers back.
    pub(super) fn shrink(&mut self) {
        if self.at == self.end && self.input.len() > SMALL_INPUT {
            self.input = Vec::new();
            (self.at, self.end) = (0, 0);
        }
        if self.output.len() > SMALL_INPUT {
            self.output = Vec::new();
        }
        self.filled = false;
    }

    /// Says that bytes appended without ureq's asking are worth a look.
    pub(super) fn offer_input(&mut self) {
        self.progress = true;
    }
}

impl Buffers for Growing {
    fn output(&mut self) -> &mut [u8] {
        grow(&mut self.output, self.held + self.request.head.max(SMALL_OUTPUT));
        &mut self.output[self.held..]
    }

    fn input(&self) -> &[u8] {
        &self.input[self.at..self.end]
    }

    fn input_append_buf(&mut self) -> &mut [u8] {
        if self.at > 0 {
            self.input.copy_within(self.at..self.end, 0);
            self.end -= self.at;
            self.at = 0;
        }
        if self.input.is_empty() {
            self.input.resize(SMALL_INPUT, 0);
        } else if self.filled && self.input.len() < LARGE {
            self.input.resize(LARGE, 0);
        } else if self.end == self.input.len() {
            self.input.resize(self.end * 2, 0);
        }
        self.filled = false;
        &mut self.input[self.end..]
    }

    fn input_appended(&mut self, amount: usize) {
        self.end += amount;
        self.filled = self.end == self.input.len();
    }

    fn input_consume(&mut self, amount: usize) {
        self.progress = amount > 0;
        self.at += amount;
        if self.at == self.end {
            (self.at, self.end) = (0, 0);
        }
    }

    fn tmp_and_output(&mut self) -> (&mut [u8], &mut [u8]) {
        match self.request.body {
            // ureq reads a body of known length straight into the output.
            Some(n) => {
                let n = usize::try_from(n).unwrap_or(LARGE);
                grow(&mut self.output, self.held + n.clamp(SMALL_OUTPUT, LARGE));
            }
            None => {
                grow(&mut self.output, self.held + LARGE);
                grow(&mut self.input, self.end + CHUNK);
            }
        }
        (&mut self.input[self.end..], &mut self.output[self.held..])
    }

    fn can_use_input(&self) -> bool {
        self.progress && self.at < self.end
    }
}

fn grow(buffer: &mut Vec<u8>, size: usize) {
    if buffer.len() < size {
        buffer.resize(size, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append(b: &mut Growing, n: usize, byte: u8) {
        b.input_append_buf()[..n].fill(byte);
        b.input_appended(n);
    }

    #[test]
    fn a_full_read_makes_the_next_one_large() {
        let mut b = Growing::default();
        append(&mut b, SMALL_INPUT, 1);
        assert_eq!(b.input_append_buf().len(), LARGE - SMALL_INPUT);
        append(&mut b, LARGE - SMALL_INPUT, 2);
        // A head of 64 KiB and its first byte too many both fit.
        assert!(!b.input_append_buf().is_empty());
        assert_eq!(b.input().len(), LARGE);
        assert_eq!((b.input()[0], b.input()[LARGE - 1]), (1, 2));
    }

    #[test]
    fn what_was_not_taken_stays() {
        let mut b = Growing::default();
        append(&mut b, 10, 1);
        append(&mut b, 10, 2);
        b.input_consume(15);
        append(&mut b, 10, 3);
        assert_eq!(b.input(), [[2; 5].as_slice(), &[3; 10]].concat());
        let (tmp, _) = b.tmp_and_output();
        tmp.fill(9);
        assert_eq!(b.input()[0], 2);
    }

    #[test]
    fn input_is_looked_at_again_only_after_progress() {
        let mut b = Growing::default();
        append(&mut b, 10, 1);
        assert!(!b.can_use_input());
        b.input_consume(1);
        assert!(b.can_use_input());
        b.input_consume(0);
        assert!(!b.can_use_input());
        b.offer_input();
        assert!(b.can_use_input());
        b.input_consume(9);
        assert!(!b.can_use_input());
    }

    #[test]
    fn idle_connections_hold_little() {
        let mut b = Growing::default();
        append(&mut b, SMALL_INPUT, 1);
        append(&mut b, LARGE - SMALL_INPUT, 1);
        b.tmp_and_output();
        b.input_consume(LARGE);
        b.shrink();
        assert!(b.input.capacity() + b.output.capacity() <= SMALL_INPUT + SMALL_OUTPUT);
    }

    #[test]
    fn a_long_head_fits_the_output() {
        let mut b = Growing::default();
        b.expect(Sizes { head: 100_000, ..Sizes::default() });
        assert_eq!(b.output().len(), 100_000);
    }

    #[test]
    fn a_head_waits_for_a_body_at_hand() {
        let mut b = Growing::default();
        for _ in 0..2 {
            b.expect(Sizes { head: 100, body: Some(3), at_hand: true });
            b.output()[..4].copy_from_slice(b"head");
            assert!(b.hold(4));
            b.tmp_and_output().1[..3].copy_from_slice(b"bod");
            assert!(!b.hold(3));
            assert_eq!(b.release(3), 7);
            assert_eq!(b.written(7), b"headbod");
            b.tmp_and_output().1[..1].copy_from_slice(b"y");
            assert_eq!((b.release(1), b.written(1)), (1, b"y".as_slice()));
        }
        b.expect(Sizes { head: 100, body: Some(0), at_hand: true });
        b.output();
        assert!(!b.hold(4));
    }

    #[test]
    fn a_request_line_names_its_origin() {
        let mut b = Growing::default();
        b.output()[..11].copy_from_slice(b"GET / HTTP/");
        assert_eq!(b.name_origin(11, "http://a.test:81"), 27);
        assert_eq!(b.written(27), b"GET http://a.test:81/ HTTP/");
        // In a buffer that has no room left.
        let size = b.output().len();
        b.output().fill(b'x');
        b.output()[..4].copy_from_slice(b"PUT ");
        assert_eq!(b.name_origin(size, "http://a"), size + 8);
        assert_eq!(&b.written(size + 8)[..13], b"PUT http://ax");
    }

    #[test]
    fn a_small_body_needs_no_large_buffer() {
        let size = |body| {
            let mut b = Growing::default();
            b.expect(Sizes { head: 100, body, at_hand: false });
            b.tmp_and_output().1.len()
        };
        assert_eq!(size(Some(10)), SMALL_OUTPUT);
        assert_eq!(size(Some(10_000)), 10_000);
        assert_eq!(size(Some(u64::MAX)), LARGE);
        assert_eq!(size(None), LARGE);
    }
}
