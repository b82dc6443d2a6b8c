//! What arrived: one request, as the server read it.
//!
//! Read by the letter of RFC 9112: a complete head that breaks it panics, and so fails the test,
//! since it was our client who wrote it. A request that merely stops is recorded as incomplete.

use std::io::{BufRead, Read};
use std::time::Instant;

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which connection of the server it came on; the first is 0.
    pub connection: usize,
    /// Which request on that connection; the first is 0.
    pub index: usize,
    pub method: String,
    /// As it was sent: `/path?query`, `http://...` at a proxy, `host:port` with CONNECT.
    pub target: String,
    /// In the order and spelling of arrival.
    pub headers: Vec<(String, String)>,
    /// The head byte by byte, with the blank line.
    pub head: Vec<u8>,
    /// Without chunk framing; as much as was read.
    pub body: Vec<u8>,
    /// Whether all of it was read before the reply began. A server executes only such a request.
    pub complete: bool,
    /// The name the client asked for in the TLS handshake.
    pub server_name: Option<String>,
    /// When the head had arrived.
    pub at: Instant,
}

impl Request {
    /// The first field of that name, in any spelling.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers_of(name).first().copied()
    }

    /// All fields of that name, in order.
    pub fn headers_of(&self, name: &str) -> Vec<&str> {
        let same = self.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        same.map(|(_, value)| value.as_str()).collect()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Reads up to the blank line. `None`: the client ended before it began.
    /// `complete` then says whether the blank line was reached.
    pub(super) fn read_head(from: &mut impl BufRead) -> Option<Request> {
        let mut head = Vec::new();
        let mut complete = false;
        while !complete {
            let start = head.len();
            match from.read_until(b'\n', &mut head) {
                Ok(n) if n > 0 => complete = head[start..] == *b"\r\n",
                _ if head.is_empty() => return None,
                _ => break,
            }
        }
        let text = String::from_utf8_lossy(&head).into_owned();
        let mut lines = text.split("\r\n");
        let mut words = lines.next().unwrap_or("").split(' ').map(str::to_string);
        let (method, target, version) = (words.next(), words.next(), words.next());
        let headers: Vec<_> = lines.filter(|l| !l.is_empty()).map(field).collect();
        if complete {
            let version = version.as_deref();
            assert!(
                matches!(version, Some("HTTP/1.1" | "HTTP/1.0")) && words.next().is_none(),
                "not a request line: {text:?}"
            );
            assert!(headers.iter().all(Option::is_some), "not a header field: {text:?}");
            assert!(!text.replace("\r\n", "").contains(['\r', '\n']), "bare CR or LF: {text:?}");
        }
        Some(Request {
            connection: 0,
            index: 0,
            method: method.unwrap_or_default(),
            target: target.unwrap_or_default(),
            headers: headers.into_iter().flatten().collect(),
            head,
            body: Vec::new(),
            complete,
            server_name: None,
            at: Instant::now(),
        })
    }

    /// Whether more than the head was announced.
    pub(super) fn has_body(&self) -> bool {
        self.header("Transfer-Encoding").is_some()
            || self.header("Content-Length").is_some_and(|n| n != "0")
    }

    /// Reads the announced body, as far as it comes, and updates `complete`.
    pub(super) fn read_body(&mut self, from: &mut impl BufRead) {
        let coding = self.header("Transfer-Encoding").map(str::to_ascii_lowercase);
        let lengths = self.headers_of("Content-Length");
        assert!(
            lengths.len() + usize::from(coding.is_some()) < 2,
            "more than one framing: {:?}",
            self.headers
        );
        let length = lengths.first().map(|n| n.parse::<u64>().expect("a decimal Content-Length"));
        self.complete = match (coding.as_deref(), length) {
            (None, None) => true,
            (None, Some(length)) => read_exactly(from, length, &mut self.body),
            (Some("chunked"), _) => read_chunks(from, &mut self.body).is_some(),
            (Some(other), _) => panic!("unknown transfer coding {other:?}"),
        };
    }
}

fn field(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    let is_token = !name.is_empty() && !name.contains(|c: char| c <= ' ');
    is_token.then(|| (name.to_string(), value.trim_matches([' ', '\t']).to_string()))
}

fn read_exactly(from: &mut impl BufRead, length: u64, body: &mut Vec<u8>) -> bool {
    matches!(from.take(length).read_to_end(body), Ok(n) if n as u64 == length)
}

/// `None`: it stopped before the last chunk and its blank line.
fn read_chunks(from: &mut impl BufRead, body: &mut Vec<u8>) -> Option<()> {
    loop {
        let size = read_line(from)?;
        let digits = size.split(';').next().unwrap_or("");
        let size = u64::from_str_radix(digits, 16).expect("a hexadecimal chunk size");
        if size == 0 {
            while !read_line(from)?.is_empty() {} // trailer fields
            return Some(());
        }
        if !read_exactly(from, size, body) {
            return None;
        }
        assert_eq!(read_line(from)?, "", "a chunk longer than its size");
    }
}

/// One line without its CRLF. `None`: it did not come whole.
fn read_line(from: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    from.read_line(&mut line).ok()?;
    line.strip_suffix("\r\n").map(str::to_string)
}
