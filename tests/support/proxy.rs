//! A proxy by script: it speaks HTTP or SOCKS properly, and breaks off where it is told to.
//!
//! Where it breaks off is counted in bytes of the whole connection, so that a test can walk over every
//! offset: those before the tunnel are the proxy's conversation, those behind it the target's. What the
//! target saw is counted at the target.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::ServerConfig;

use super::connection::Connection;
use super::script::Script;
use super::server::{Listen, Server};
use super::time::ms;

/// What a proxy speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    Http,
    Socks4,
    Socks5,
}

/// How a proxy breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Fin,
    Reset,
    /// It does not say another word.
    Stall,
}

/// After how many bytes of the connection, by direction, it breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// Bytes read from the client.
    Read(usize),
    /// Bytes sent to the client.
    Sent(usize),
}

/// How a proxy behaves.
#[derive(Clone)]
pub struct ProxyPlan {
    speaks: Speaks,
    leads_to: SocketAddr,
    tls: Option<Arc<ServerConfig>>,
    credentials: Option<(Vec<u8>, Vec<u8>)>,
    answer: Option<Vec<u8>>,
    refuses: Vec<String>,
    breaks: Option<(At, Fault)>,
    drip: Option<Duration>,
}

/// What a client asked a proxy for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// `host:port`; of an HTTP proxy that hands on, the request's target.
    pub target: String,
    /// SOCKS: how the host was told: 1 IPv4, 3 name, 4 IPv6; 0 for HTTP.
    pub kind: u8,
    /// Every byte of the request for it: a CONNECT's or a request's head, or SOCKS messages.
    pub bytes: Vec<u8>,
}

/// A running proxy. The server's counters are those of its connections.
pub struct Proxy {
    pub server: Server,
    plan: ProxyPlan,
    asked: Arc<Mutex<Vec<Asked>>>,
    led: Arc<AtomicUsize>,
}

impl ProxyPlan {
    /// It connects everybody to this address, whatever they ask for: names need not exist.
    pub fn new(speaks: Speaks, leads_to: SocketAddr) -> ProxyPlan {
        ProxyPlan {
            speaks,
            leads_to,
            tls: None,
            credentials: None,
            answer: None,
            refuses: Vec::new(),
            breaks: None,
            drip: None,
        }
    }

    /// It is spoken to over TLS.
    pub fn tls(mut self, config: &Arc<ServerConfig>) -> ProxyPlan {
        self.tls = Some(config.clone());
        self
    }

    /// It wants these credentials: the value behind `Basic`, or user name and password.
    pub fn wants(mut self, user: &str, password: &str) -> ProxyPlan {
        self.credentials = Some((user.into(), password.into()));
        self
    }

    /// What it says once it knows what is wanted, before it closes.
    pub fn answers(mut self, bytes: impl Into<Vec<u8>>) -> ProxyPlan {
        self.answer = Some(bytes.into());
        self
    }

    /// It does not connect to this `host:port`: SOCKS5 code 4, SOCKS4 code 91, HTTP 502.
    pub fn cannot_reach(mut self, target: &str) -> ProxyPlan {
        self.refuses.push(target.to_owned());
        self
    }

    /// It breaks off there.
    pub fn breaks(mut self, at: At, fault: Fault) -> ProxyPlan {
        self.breaks = Some((at, fault));
        self
    }

    /// It sends one byte at a time, so far apart, until the tunnel stands.
    pub fn drips(mut self, every: Duration) -> ProxyPlan {
        self.drip = Some(every);
        self
    }

    pub fn start(self) -> Proxy {
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let led: Arc<AtomicUsize> = Arc::default();
        let (plan, log, count) = (self.clone(), asked.clone(), led.clone());
        let script = Script::by_hand(move |client| {
            let mut talk =
                Talk { plan: &plan, client, led: &count, read: 0, sent: 0, heard: Vec::new() };
            if talk.all(&log).is_err() {
                talk.end();
            }
        });
        let listen = match &self.tls {
            Some(config) => Listen::default().tls(config),
            None => Listen::default(),
        };
        Proxy { server: listen.start(script), plan: self, asked, led }
    }
}

impl Proxy {
    /// `scheme://127.0.0.1:port`.
    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}", self.server.addr)
    }

    /// With user info that it accepts.
    pub fn url_with_credentials(&self, scheme: &str) -> String {
        let (user, password) = self.plan.credentials.clone().expect("credentials");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        format!("{scheme}://{}:{}@{}", text(user), text(password), self.server.addr)
    }

    /// Ends it, and says how many connections it has made to its target.
    pub fn finish(self) -> usize {
        self.server.finish();
        self.led.load(SeqCst)
    }

    /// What it was asked for so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// One connection of a client.
struct Talk<'a> {
    plan: &'a ProxyPlan,
    client: &'a mut Connection,
    led: &'a AtomicUsize,
    read: usize,
    sent: usize,
    heard: Vec<u8>,
}

/// The connection is over.
struct Over;

impl From<io::Error> for Over {
    fn from(_: io::Error) -> Over {
        Over
    }
}

impl Talk<'_> {
    fn all(&mut self, log: &Mutex<Vec<Asked>>) -> Result<(), Over> {
        match self.plan.speaks {
            Speaks::Http => self.http(log),
            Speaks::Socks4 => self.socks4(log),
            Speaks::Socks5 => self.socks5(log),
        }
    }

    fn http(&mut self, log: &Mutex<Vec<Asked>>) -> Result<(), Over> {
        use base64::Engine as _;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.byte()?);
        }
        let text = String::from_utf8(head.clone()).expect("a head of text");
        let mut first = text.split(' ');
        let (method, target) = (first.next().unwrap_or(""), first.next().unwrap_or(""));
        log.lock().unwrap().push(Asked { target: target.into(), kind: 0, bytes: head.clone() });
        if let Some((user, password)) = &self.plan.credentials {
            let pair = [&user[..], b":", password].concat();
            let wanted = base64::prelude::BASE64_STANDARD.encode(pair);
            let wanted = format!("proxy-authorization: basic {}\r\n", wanted.to_lowercase());
            if !text.to_lowercase().contains(&wanted) {
                self.say(
                    b"HTTP/1.1 407 Proxy Authentication Required\r\n\
                      Proxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 6\r\n\r\nsecret",
                )?;
                return Err(Over);
            }
        }
        if method == "CONNECT" {
            if self.plan.refuses.iter().any(|refused| refused == target) {
                self.say(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")?;
                return Err(Over);
            }
            self.grant(b"HTTP/1.1 200 OK\r\n\r\n")?;
            return self.relay(None);
        }
        if let Some(answer) = &self.plan.answer {
            self.say(&answer.clone())?;
            return Err(Over);
        }
        self.relay(Some(head))
    }

    fn socks4(&mut self, log: &Mutex<Vec<Asked>>) -> Result<(), Over> {
        let [version, command, p1, p2, a, b, c, d] = self.bytes()?;
        assert_eq!((version, command), (4, 1), "SOCKS4, connect");
        self.text()?;
        let (host, kind) = match [a, b, c] {
            [0, 0, 0] => (self.text()?, 3),
            _ => (Ipv4Addr::new(a, b, c, d).to_string(), 1),
        };
        let target = format!("{host}:{}", u16::from_be_bytes([p1, p2]));
        let refused = self.plan.refuses.contains(&target);
        log.lock().unwrap().push(Asked { target, kind, bytes: self.heard.clone() });
        if refused {
            self.say(&[0, 91, 0, 0, 0, 0, 0, 0])?;
            return Err(Over);
        }
        self.grant(&[0, 90, 0, 0, 0, 0, 0, 0])?;
        self.relay(None)
    }

    fn socks5(&mut self, log: &Mutex<Vec<Asked>>) -> Result<(), Over> {
        let [version, count] = self.bytes()?;
        assert_eq!(version, 5, "SOCKS5");
        let mut offered = vec![0; usize::from(count)];
        self.fill(&mut offered)?;
        match &self.plan.credentials {
            None => self.say(&[5, 0])?,
            Some(_) if !offered.contains(&2) => {
                self.say(&[5, 0xFF])?;
                return Err(Over);
            }
            Some((user, password)) => {
                self.say(&[5, 2])?;
                let [_] = self.bytes()?;
                let (own_user, own_password) = (self.counted()?, self.counted()?);
                let right = (&own_user, &own_password) == (user, password);
                self.say(&[1, u8::from(!right)])?;
                if !right {
                    return Err(Over);
                }
            }
        }
        let [_, command, _, kind] = self.bytes()?;
        assert_eq!(command, 1, "connect");
        let host = match kind {
            1 => Ipv4Addr::from(self.bytes::<4>()?).to_string(),
            4 => format!("[{}]", Ipv6Addr::from(self.bytes::<16>()?)),
            3 => String::from_utf8(self.counted()?).expect("a name of text"),
            _ => panic!("an address of kind {kind}"),
        };
        let target = format!("{host}:{}", u16::from_be_bytes(self.bytes()?));
        let refused = self.plan.refuses.contains(&target);
        log.lock().unwrap().push(Asked { target, kind, bytes: self.heard.clone() });
        if refused {
            self.say(&[5, 4, 0, 1, 0, 0, 0, 0, 0, 0])?;
            return Err(Over);
        }
        self.grant(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80])?;
        self.relay(None)
    }

    /// Says this, or what is planned instead, and ends then.
    fn grant(&mut self, granted: &[u8]) -> Result<(), Over> {
        match &self.plan.answer {
            None => self.say(granted),
            Some(answer) => self.say(answer).and(Err(Over)),
        }
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Over> {
        let mut bytes = [0; N];
        self.fill(&mut bytes).map(|()| bytes)
    }

    fn byte(&mut self) -> Result<u8, Over> {
        self.bytes().map(|[byte]| byte)
    }

    /// Up to a zero byte.
    fn text(&mut self) -> Result<String, Over> {
        let mut text = Vec::new();
        loop {
            match self.byte()? {
                0 => return Ok(String::from_utf8(text).expect("text")),
                byte => text.push(byte),
            }
        }
    }

    /// A length, and so many bytes.
    fn counted(&mut self) -> Result<Vec<u8>, Over> {
        let length = self.byte()?;
        let mut bytes = vec![0; usize::from(length)];
        self.fill(&mut bytes).map(|()| bytes)
    }

    fn fill(&mut self, buf: &mut [u8]) -> Result<(), Over> {
        for byte in buf {
            if self.plan.breaks_at(At::Read(self.read)) {
                return Err(Over);
            }
            self.client.read_exact(std::slice::from_mut(byte))?;
            self.read += 1;
            self.heard.push(*byte);
        }
        // The last byte wanted is reached without another read.
        if self.plan.breaks_at(At::Read(self.read)) { Err(Over) } else { Ok(()) }
    }

    fn say(&mut self, bytes: &[u8]) -> Result<(), Over> {
        let room = match self.plan.breaks {
            Some((At::Sent(n), _)) => n.saturating_sub(self.sent),
            _ => usize::MAX,
        };
        let now = &bytes[..bytes.len().min(room)];
        let size = if self.plan.drip.is_some() { 1 } else { now.len().max(1) };
        for piece in now.chunks(size) {
            self.client.write_all(piece)?;
            self.client.flush()?;
            if let Some(every) = self.plan.drip {
                if !super::Pause::For(every).wait(&self.client.shared.ended) {
                    return Err(Over);
                }
            }
        }
        self.sent += now.len();
        if self.plan.breaks_at(At::Sent(self.sent)) { Err(Over) } else { Ok(()) }
    }

    /// Between the client and the target, until one of them ends or it is time to break off. With the
    /// head of a request it hands requests on: this one and those that follow an answer.
    fn relay(&mut self, head: Option<Vec<u8>>) -> Result<(), Over> {
        let target = TcpStream::connect(self.plan.leads_to)?;
        self.led.fetch_add(1, SeqCst);
        target.set_nodelay(true)?;
        let forwards = head.is_some();
        (&target).write_all(&head.map_or(Vec::new(), |head| in_origin_form(&head)))?;
        let mut answered = false;
        // One thread for both directions, because TLS is one object and breaking off one act.
        self.client.socket().set_read_timeout(Some(ms(1)))?;
        target.set_read_timeout(Some(ms(1)))?;
        let mut buf = vec![0; 16 << 10];
        loop {
            let room = match self.plan.breaks {
                Some((At::Read(n), _)) => n.saturating_sub(self.read).min(buf.len()),
                _ => buf.len(),
            };
            match self.client.read(&mut buf[..room]) {
                Ok(0) => return Ok(()),
                Ok(n) => {
                    self.read += n;
                    match forwards && std::mem::take(&mut answered) && begins(&buf[..n]) {
                        // The client sends a head, or a small request, in one piece.
                        true => (&target).write_all(&in_origin_form(&buf[..n]))?,
                        false => (&target).write_all(&buf[..n])?,
                    }
                    if self.plan.breaks_at(At::Read(self.read)) {
                        // What was handed on arrives: the target gets an end and no reset.
                        let _ = target.shutdown(Shutdown::Write);
                        return Err(Over);
                    }
                }
                Err(e) if is_later(&e) => {}
                Err(_) => return Ok(()),
            }
            match (&target).read(&mut buf) {
                Ok(0) => return Ok(()),
                Ok(n) => {
                    answered = true;
                    self.say(&buf[..n])?;
                }
                Err(e) if is_later(&e) => {}
                Err(_) => return Ok(()),
            }
            if self.client.shared.ended.is_open() {
                return Ok(());
            }
        }
    }

    /// Breaks off as planned, or ends in order.
    fn end(&mut self) {
        match self.plan.breaks {
            Some((_, Fault::Reset)) => self.client.reset_at_end(),
            Some((_, Fault::Stall)) => self.client.shared.wait_for_end(),
            Some((_, Fault::Fin)) | None => {}
        }
    }
}

impl ProxyPlan {
    fn breaks_at(&self, at: At) -> bool {
        self.breaks.is_some_and(|(planned, _)| planned == at)
    }
}

fn is_later(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Whether these bytes begin a request, and do not go on with a body.
fn begins(bytes: &[u8]) -> bool {
    bytes.iter().take(16).copied().skip_while(|b| *b != b' ').take(8).eq(*b" http://")
}

/// A request as its target wants it: the path alone in its first line, and without what is for the proxy.
fn in_origin_form(request: &[u8]) -> Vec<u8> {
    let end = request.windows(4).position(|w| w == b"\r\n\r\n").expect("a whole head") + 4;
    let head = std::str::from_utf8(&request[..end]).expect("a head of text");
    let (line, rest) = head.split_once("\r\n").expect("a request line");
    let (method, target) = line.split_once(' ').expect("a request line");
    let path =
        target.strip_prefix("http://").expect("the absolute form").find('/').expect("a path");
    let mut onward = format!("{method} {}\r\n", &target["http://".len() + path..]);
    for line in rest.split_inclusive("\r\n") {
        if !line.to_lowercase().starts_with("proxy-authorization:") {
            onward.push_str(line);
        }
    }
    [onward.as_bytes(), &request[end..]].concat()
}
