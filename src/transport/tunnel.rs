//! Asks a proxy for a way to the target, over a connection to it that is there already.
//!
//! Each reason to fail keeps its own name: what a proxy answers is a [`ProxyReply`], and silence, a
//! hang-up and garbage are what they are everywhere. No byte of the request is in here, and none of
//! these bytes count as sent or received: whatever ends here leaves the request unsent (ruling R1).
//!
//! Flow: `connector` has a `line` to the proxy → **tunnel** → `session` with the target. Not here: the
//! bytes themselves (`http_connect`, `socks`), whose fault a refusal is (`decide`).

use super::current::Progress;
use super::deadline::Deadline;
use super::failure::Failure;
use super::http_connect::{self, Answer, Said};
use super::line::Carrier;
use super::proxy_url::Credentials;
use super::socks::{self, Place, Words};
use super::{ProxyScheme, ProxyUrl};
use crate::decide::{Cause, Phase, ProxyReply};

/// A conversation with a proxy.
pub(super) struct Tunnel<'a, C> {
    pub(super) line: &'a mut C,
    pub(super) progress: &'a Progress,
    pub(super) deadline: Deadline,
    /// Largest head of an HTTP proxy's answer.
    pub(super) max_head: usize,
}

impl<C: Carrier> Tunnel<'_, C> {
    /// Asks for a way to `place`. After success the line leads there.
    pub(super) fn open(mut self, proxy: &ProxyUrl, place: &Place) -> Result<(), Failure> {
        let credentials = proxy.credentials();
        match proxy.scheme() {
            ProxyScheme::Http | ProxyScheme::Https => self.connect(&authority(place), credentials),
            ProxyScheme::Socks4 | ProxyScheme::Socks4a => self.socks4(place, credentials),
            ProxyScheme::Socks5 | ProxyScheme::Socks5h => self.socks5(place, credentials),
        }
    }

    fn connect(
        &mut self,
        authority: &str,
        credentials: Option<&Credentials>,
    ) -> Result<(), Failure> {
        self.progress.reach(Phase::Tunnel);
        self.write(&http_connect::head(authority, credentials))?;
        let mut answer = Answer::new(self.max_head);
        let mut piece = [0; 1024];
        loop {
            let n = self.line.read(&mut piece, self.deadline)?;
            if n == 0 {
                return Err(hung_up());
            }
            match answer.take(&piece[..n]) {
                Said::Nothing => {}
                Said::Tunnel(end) if end == n => return Ok(()),
                // The target speaks when it is spoken to. These bytes are the proxy's own, and would be
                // taken for the target's.
                Said::Tunnel(_) => {
                    return Err(garbage("the proxy sent more than the head of an answer"));
                }
                Said::Refused(status) => {
                    return Err(self.progress.refused(ProxyReply::Http(status)));
                }
                Said::Garbage => return Err(garbage("the proxy's answer is not HTTP/1.1")),
                Said::TooLarge => {
                    return Err(garbage("the head of the proxy's answer is too large"));
                }
            }
        }
    }

    fn socks4(&mut self, place: &Place, credentials: Option<&Credentials>) -> Result<(), Failure> {
        self.progress.reach(Phase::Tunnel);
        let request = socks::request4(place, credentials).map_err(cannot_ask)?;
        self.write(&request)?;
        let start = self.read()?;
        self.heed(socks::answer4(start))?;
        self.read::<{ socks::REST4 }>().map(drop)
    }

    fn socks5(&mut self, place: &Place, credentials: Option<&Credentials>) -> Result<(), Failure> {
        self.progress.reach(Phase::ProxyAuth);
        let request = socks::request5(place).map_err(cannot_ask)?;
        self.write(&socks::greeting5(credentials))?;
        let chosen = self.read()?;
        let wanted = self.heed(socks::chosen5(chosen, credentials.is_some()))?;
        if let Some(credentials) = credentials.filter(|_| wanted) {
            self.write(&socks::credentials5(credentials))?;
            let accepted = self.read()?;
            self.heed(Ok(socks::accepted5(accepted)))?;
        }

        self.progress.reach(Phase::Tunnel);
        self.write(&request)?;
        let start = self.read()?;
        self.heed(socks::answer5(start))?;
        let next = self.read()?;
        let mut rest = vec![0; socks::rest5(next).map_err(garbage)?];
        self.fill(&mut rest)
    }

    /// Goes on only where the proxy lets us.
    fn heed<T>(&self, answer: Result<Result<T, ProxyReply>, Words>) -> Result<T, Failure> {
        answer.map_err(garbage)?.map_err(|reply| self.progress.refused(reply))
    }

    fn write(&mut self, mut data: &[u8]) -> Result<(), Failure> {
        // A stalled write is tried again: the socket looks at the deadline each time.
        while !data.is_empty() {
            let taken = self.line.write(data, self.deadline)?.unwrap_or(0);
            data = &data[taken..];
        }
        while !self.line.flush(self.deadline)? {}
        Ok(())
    }

    fn read<const N: usize>(&mut self) -> Result<[u8; N], Failure> {
        let mut bytes = [0; N];
        self.fill(&mut bytes).map(|()| bytes)
    }

    fn fill(&mut self, mut buf: &mut [u8]) -> Result<(), Failure> {
        while !buf.is_empty() {
            match self.line.read(buf, self.deadline)? {
                0 => return Err(hung_up()),
                n => buf = &mut buf[n..],
            }
        }
        Ok(())
    }
}

/// `host:port`, an IPv6 address in brackets (F69).
fn authority(place: &Place) -> String {
    match place {
        Place::Name(name, port) => format!("{name}:{port}"),
        Place::Address(peer) => peer.to_string(),
    }
}

fn hung_up() -> Failure {
    Failure { detail: "the proxy closed the connection".into(), ..Failure::closed() }
}

fn garbage(words: Words) -> Failure {
    Failure::new(Cause::Protocol, words)
}

/// What this kind of proxy has no words for cannot be reached through it.
fn cannot_ask(words: Words) -> Failure {
    Failure::new(Cause::Unreachable, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::Limit;

    /// A proxy by script: what it says in pieces of one size, and then the end of the stream.
    struct Script {
        says: Vec<u8>,
        piece: usize,
        heard: Vec<u8>,
    }

    impl Carrier for Script {
        fn read(&mut self, buf: &mut [u8], _: Deadline) -> Result<usize, Failure> {
            let n = self.piece.min(buf.len()).min(self.says.len());
            buf[..n].copy_from_slice(&self.says[..n]);
            self.says.drain(..n);
            Ok(n)
        }

        fn write(&mut self, data: &[u8], _: Deadline) -> Result<Option<usize>, Failure> {
            let n = self.piece.min(data.len());
            self.heard.extend(&data[..n]);
            Ok(Some(n))
        }

        fn read_now(&mut self, _: &mut [u8]) -> Result<Option<usize>, Failure> {
            Ok(None)
        }

        fn flush(&mut self, _: Deadline) -> Result<bool, Failure> {
            Ok(true)
        }

        fn is_flushed(&self) -> bool {
            true
        }
    }

    /// What a conversation comes to: how it ended, in which phase, what the proxy heard, what it has
    /// said that nobody read.
    struct Came {
        to: Result<(), Cause>,
        phase: Phase,
        reply: Option<ProxyReply>,
        heard: Vec<u8>,
        unread: Vec<u8>,
    }

    fn talk(proxy: &str, place: &Place, says: &[u8], piece: usize) -> Came {
        let progress = Progress::unbounded();
        let mut line = Script { says: says.to_vec(), piece, heard: Vec::new() };
        let deadline = Deadline::new(None, Limit::Connect);
        let tunnel = Tunnel { line: &mut line, progress: &progress, deadline, max_head: 1000 };
        let to = tunnel.open(&ProxyUrl::parse(proxy).unwrap(), place).map_err(|f| f.cause);
        let report = progress.report();
        assert!(!report.asked_to_send && report.bytes_sent == 0, "no byte of the request");
        let (phase, reply) = (report.phase, report.proxy_reply);
        Came { to, phase, reply, heard: line.heard, unread: line.says }
    }

    fn name() -> Place {
        Place::Name("a.test".to_owned(), 443)
    }

    fn address() -> Place {
        Place::Address("10.1.2.3:443".parse().unwrap())
    }

    const CONNECT: &[u8] = b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n";
    const GRANTED4: &[u8] = b"\0\x5a\x01\x02\x03\x04\x05\x06";
    const GRANTED5: &[u8] = b"\x05\0\x05\0\0\x01\x7f\0\0\x01\x04\x38";

    /// Every conversation that works, to the byte in both directions, in pieces of every size; the bytes
    /// after it are the target's and stay where they are.
    #[test]
    fn each_handshake_is_exact_to_the_byte() {
        let cases: [(&str, Place, &[u8], &[u8]); 8] = [
            ("http://p", name(), b"HTTP/1.1 200 OK\r\n\r\n", CONNECT),
            ("socks4://p", address(), GRANTED4, b"\x04\x01\x01\xbb\x0a\x01\x02\x03\0"),
            ("socks4a://me@p", name(), GRANTED4, b"\x04\x01\x01\xbb\0\0\0\x01me\0a.test\0"),
            (
                "socks5://p",
                address(),
                GRANTED5,
                b"\x05\x01\0\x05\x01\0\x01\x0a\x01\x02\x03\x01\xbb",
            ),
            ("socks5h://p", name(), GRANTED5, b"\x05\x01\0\x05\x01\0\x03\x06a.test\x01\xbb"),
            // The proxy answers with a name, and with an IPv6 address.
            (
                "socks5h://p",
                name(),
                b"\x05\0\x05\0\0\x03\x03abc\x01\xbb",
                b"\x05\x01\0\x05\x01\0\x03\x06a.test\x01\xbb",
            ),
            (
                "socks5h://p",
                name(),
                b"\x05\0\x05\0\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x01\xbb",
                b"\x05\x01\0\x05\x01\0\x03\x06a.test\x01\xbb",
            ),
            (
                "socks5h://u:pw@p",
                name(),
                b"\x05\x02\x01\0\x05\0\0\x01\x7f\0\0\x01\x04\x38",
                b"\x05\x02\0\x02\x01\x01u\x02pw\x05\x01\0\x03\x06a.test\x01\xbb",
            ),
        ];
        for (proxy, place, says, hears) in cases {
            for piece in 1..=says.len() {
                let came = talk(proxy, &place, says, piece);
                assert_eq!((came.to, came.phase), (Ok(()), Phase::Tunnel), "{proxy} {piece}");
                assert_eq!(came.heard, hears, "{proxy} {piece}");
                if !proxy.starts_with("http") {
                    let came = talk(proxy, &place, &[says, b"more"].concat(), piece);
                    assert_eq!((came.to, &*came.unread), (Ok(()), &b"more"[..]), "{proxy}");
                }
            }
            // Cut anywhere, it is a hang-up, and never a tunnel.
            for cut in 0..says.len() {
                let came = talk(proxy, &place, &says[..cut], 3);
                assert_eq!(came.to, Err(Cause::Closed), "{proxy} cut at {cut}");
            }
        }
    }

    #[test]
    fn each_refusal_keeps_its_number_and_its_phase() {
        use ProxyReply::*;
        let cases: [(&str, &[u8], Phase, ProxyReply); 12] = [
            ("http://p", b"HTTP/1.1 407 P\r\n", Phase::ProxyAuth, Http(407)),
            ("http://p", b"HTTP/1.1 403 F\r\n\r\nbody", Phase::Tunnel, Http(403)),
            ("http://p", b"HTTP/1.1 502 B\r\n", Phase::Tunnel, Http(502)),
            ("http://p", b"HTTP/1.1 302 F\r\n", Phase::Tunnel, Http(302)),
            ("socks4a://p", b"\0\x5b", Phase::Tunnel, Socks4(91)),
            ("socks4a://p", b"\0\x5d", Phase::ProxyAuth, Socks4(93)),
            ("socks5h://p", b"\x05\xff", Phase::ProxyAuth, Socks5NoMethod),
            ("socks5h://u:p@p", b"\x05\x02\x01\x01", Phase::ProxyAuth, Socks5Credentials(1)),
            ("socks5h://p", b"\x05\0\x05\x01", Phase::Tunnel, Socks5(1)),
            ("socks5h://p", b"\x05\0\x05\x02\0\x01\0\0\0\0\0\0", Phase::Tunnel, Socks5(2)),
            ("socks5h://p", b"\x05\0\x05\x05", Phase::Tunnel, Socks5(5)),
            ("socks5h://p", b"\x05\0\x05\x63", Phase::Tunnel, Socks5(99)),
        ];
        for (proxy, says, phase, reply) in cases {
            let came = talk(proxy, &name(), says, 64);
            assert_eq!(came.to, Err(Cause::ProxyRefused), "{proxy} {reply}");
            assert_eq!((came.phase, came.reply), (phase, Some(reply)), "{proxy}");
        }
    }

    #[test]
    fn garbage_is_garbage() {
        for (proxy, says, phase) in [
            ("http://p", &b"\x05\0"[..], Phase::Tunnel),
            ("http://p", b"HTTP/1.1 200 OK\r\n\r\nhello", Phase::Tunnel),
            ("socks4a://p", b"HTTP/1.1 400", Phase::Tunnel),
            ("socks5h://p", b"HTTP/1.1 400", Phase::ProxyAuth),
            ("socks5h://p", b"\x05\x02", Phase::ProxyAuth),
            ("socks5h://p", b"\x05\0HT", Phase::Tunnel),
            ("socks5h://p", b"\x05\0\x05\0\0\x09\0", Phase::Tunnel),
        ] {
            let came = talk(proxy, &name(), says, 64);
            assert_eq!((came.to, came.phase), (Err(Cause::Protocol), phase), "{proxy} {says:?}");
        }
    }

    #[test]
    fn what_cannot_be_asked_is_not_asked() {
        let came = talk("socks4://p", &Place::Address("[::1]:443".parse().unwrap()), b"", 1);
        assert_eq!((came.to, came.heard.len()), (Err(Cause::Unreachable), 0));
    }

    /// F69: the line and the Host of a CONNECT to an IPv6 address.
    #[test]
    fn an_ipv6_address_is_in_brackets() {
        let place = Place::Address("[::1]:443".parse().unwrap());
        let came = talk("http://p", &place, b"HTTP/1.1 200 OK\r\n\r\n", 64);
        assert_eq!(came.heard, b"CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n");
    }
}
