//! The CONNECT of HTTP (RFC 9110 section 9.3.6): its head, and what an answer to it says.
//!
//! The head names the target and who we are to the proxy, and nothing of the request that is to follow:
//! a proxy sees it in clear. Of the answer only the status counts. Once it is 2xx the tunnel begins
//! right behind the head, whatever a `Content-Length` there says.

use super::proxy_url::Credentials;

/// What begins every answer of HTTP/1.
const VERSION: &[u8] = b"HTTP/1.";

/// Asks for a tunnel to `authority`, which names a port.
pub(super) fn head(authority: &str, credentials: Option<&Credentials>) -> Vec<u8> {
    let mut head = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
    if let Some(credentials) = credentials {
        head.push_str(&format!("Proxy-Authorization: {}\r\n", credentials.basic()));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// What an answer comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// More has to come.
    Nothing,
    /// 2xx: the tunnel begins with what follows these bytes of the last piece.
    Tunnel(usize),
    /// Another status. What follows it is of no interest.
    Refused(u16),
    /// It is no answer of HTTP/1.
    Garbage,
    /// Its head is larger than allowed.
    TooLarge,
}

/// An answer on its way in, taken in pieces of any size. Interim answers (1xx) before it are passed
/// over; they count for its size.
pub(super) struct Answer {
    /// Bytes that may still come.
    left: usize,
    /// The status line so far, and after that what the line begins with.
    line: Vec<u8>,
    /// Of the head that is being read.
    status: Option<u16>,
}

impl Answer {
    /// An answer with a head of `max` bytes at most.
    pub(super) fn new(max: usize) -> Self {
        Answer { left: max, line: Vec::new(), status: None }
    }

    /// Takes the next piece.
    pub(super) fn take(&mut self, piece: &[u8]) -> Said {
        for (at, byte) in piece.iter().enumerate() {
            if self.left == 0 {
                return Said::TooLarge;
            }
            self.left -= 1;
            if *byte != b'\n' {
                // Of a header line nothing is wanted but whether it is empty.
                if self.status.is_none() || self.line.len() < 2 {
                    self.line.push(*byte);
                }
                let checked = self.line.len().min(VERSION.len());
                if self.status.is_none() && self.line[..checked] != VERSION[..checked] {
                    return Said::Garbage;
                }
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            match self.status {
                None => match status(line) {
                    // After 101 nothing would follow that means anything here.
                    Some(status @ (100 | 102..=299)) => self.status = Some(status),
                    Some(101) | None => return Said::Garbage,
                    Some(status) => return Said::Refused(status),
                },
                Some(_) if !line.is_empty() => {}
                Some(100..=199) => self.status = None,
                Some(_) => return Said::Tunnel(at + 1),
            }
        }
        Said::Nothing
    }
}

/// The status of `HTTP/1.1 200 Whatever`.
fn status(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(VERSION)?;
    let (minor, rest) = rest.split_first()?;
    let (blank, rest) = rest.split_first()?;
    let (digits, rest) = rest.split_at_checked(3)?;
    let ends = rest.first().is_none_or(|b| *b == b' ');
    let first = matches!(digits[0], b'1'..=b'9');
    if !minor.is_ascii_digit() || *blank != b' ' || !ends || !first {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::ProxyUrl;

    /// F78: the proxy learns the target and who we are to it.
    #[test]
    fn a_head_holds_the_target_and_our_credentials_and_no_more() {
        assert_eq!(
            head("a.test:443", None),
            b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n"
        );
        let proxy = ProxyUrl::parse("http://Aladdin:open%20sesame@p").unwrap();
        assert_eq!(
            head("[::1]:443", proxy.credentials()),
            b"CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\
              Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n"
        );
    }

    /// What an answer comes to, and after how many of its bytes that is known.
    fn said(text: &str, max: usize, piece: usize) -> (Said, usize) {
        let mut answer = Answer::new(max);
        let mut taken = 0;
        for piece in text.as_bytes().chunks(piece) {
            match answer.take(piece) {
                Said::Nothing => taken += piece.len(),
                Said::Tunnel(n) => return (Said::Tunnel(0), taken + n),
                said => return (said, taken + piece.len()),
            }
        }
        (Said::Nothing, taken)
    }

    #[test]
    fn an_answer_is_read_to_the_byte_however_it_is_cut() {
        let tunnel = Said::Tunnel(0);
        for (text, expected, known_after) in [
            ("HTTP/1.1 200 OK\r\n\r\n", tunnel, 19),
            ("HTTP/1.0 200 Connection established\r\n\r\nrest", tunnel, 39),
            ("HTTP/1.1 200\r\nContent-Length: 5\r\nX: y\r\n\r\nhello", tunnel, 41),
            ("HTTP/1.1 299 x\n\nrest", tunnel, 16),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 E\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
                tunnel,
                71,
            ),
            ("HTTP/1.1 200 OK\r\n\r", Said::Nothing, 18),
            ("HTTP/1.1 100 Continue\r\n\r\n", Said::Nothing, 25),
            ("HTTP/1.1 407 Proxy", Said::Nothing, 18),
            ("", Said::Nothing, 0),
            ("HTTP/1.1 407 Proxy\r\n", Said::Refused(407), 20),
            ("HTTP/1.1 302 Moved\r\nLocation: http://x/\r\n", Said::Refused(302), 20),
            ("HTTP/1.1 999 ?\r\n", Said::Refused(999), 16),
            ("HTTP/1.1 101 Switching\r\n", Said::Garbage, 24),
            ("HTTP/1.1 2000 OK\r\n", Said::Garbage, 18),
            ("HTTP/1.1 099 OK\r\n", Said::Garbage, 17),
            ("HTTP/1.1 20\r\n", Said::Garbage, 13),
            ("HTTP/1.1\r\n", Said::Garbage, 10),
            ("HTTP/2 200\r\n", Said::Garbage, 6),
            ("SSH-2.0-OpenSSH\r\n", Said::Garbage, 1),
            ("\r\n", Said::Garbage, 1),
        ] {
            assert_eq!(said(text, 1000, 1), (expected, known_after), "{text:?}");
            for piece in 2..=text.len() {
                assert_eq!(said(text, 1000, piece).0, expected, "{text:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn a_head_has_a_largest_size_interim_answers_included() {
        let ok = "HTTP/1.1 200 OK\r\n\r\n";
        assert_eq!(said(ok, ok.len(), 1).0, Said::Tunnel(0));
        assert_eq!(said(ok, ok.len() - 1, 1).0, Said::TooLarge);
        let interim = "HTTP/1.1 100 Continue\r\n\r\n";
        assert_eq!(said(&[interim, ok].concat(), 30, 7).0, Said::TooLarge);
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(2000));
        assert_eq!(said(&endless, 1000, 100).0, Said::TooLarge);
    }
}
