//! A server with one fault at one byte, which counts what it read.
//!
//! It has the fault on every connection, so that whoever comes back finds it again; only the exchange
//! that makes a connection a reused one is spared. It lives for one call, at an address that no other
//! cell of the matrix has: nothing of theirs can reach it.

use crate::line::{Line, Shaken};
use rustls::ServerConfig;
use socket2::{Domain, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Where the fault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// Nobody listens.
    Dial,
    /// That many bytes of the server's part in the TLS handshake were sent.
    Handshake(usize),
    /// The connection is there, and no byte of the request was waited for.
    Idle,
    /// That many bytes of the request were read. 0: they have arrived and lie unread.
    Read(usize),
    /// The request was read, and that many bytes of the answer were sent.
    Sent(usize),
    /// The same, counted in the ciphertext of the answer: its head and its body are a record each.
    Sealed(usize),
}

/// What happens there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A FIN; the connection stays open and unread.
    Fin,
    /// The same after the goodbye of TLS.
    Goodbye,
    /// The process is gone: a FIN, and a RST where the kernel makes one of unread bytes.
    Close,
    /// A RST.
    Reset,
    /// Nothing more is read or sent.
    Stall,
}

/// What a server answers with.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Head and body as they are sent.
    pub bytes: Vec<u8>,
    /// How many of these are the head.
    pub head: usize,
    /// The body without its framing.
    pub body: Vec<u8>,
}

/// What a server saw of the request on one connection.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// How many bytes, below TLS not counted.
    pub bytes: usize,
    /// All of it: a real server would have carried it out.
    pub whole: bool,
}

/// All that a server can say after a call.
#[derive(Debug, Default)]
pub struct Account {
    /// One for each connection on which a request was waited for.
    pub seen: Vec<Seen>,
    /// How often the fault happened.
    pub struck: usize,
    /// How many bytes its part in a TLS handshake had.
    pub shaken: usize,
    /// How many bytes of the answer were sent whole, without those of TLS.
    pub answered: usize,
    warm_ups: usize,
    armed: bool,
    over: bool,
}

impl Account {
    /// On how many connections a byte of the request was read.
    pub fn begun(&self) -> usize {
        self.seen.iter().filter(|seen| seen.bytes > 0).count()
    }

    /// How many requests were read whole.
    pub fn executed(&self) -> usize {
        self.seen.iter().filter(|seen| seen.whole).count()
    }
}

/// A running server.
pub struct Origin {
    pub addr: SocketAddr,
    shared: Arc<Shared>,
    /// Bound and not listening, if the fault is that nobody listens.
    _bound: Option<Socket>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    fault: Option<(Point, Fault)>,
    answer: Answer,
    tls: Option<Arc<ServerConfig>>,
    account: Mutex<Account>,
    changed: Condvar,
}

/// What the certificates of all servers name, and what a client has to expect.
pub const NAME: &str = "origin.test";

/// Where servers listen. Below the ports that systems give to clients: the matrix makes connections so
/// fast that neither side may have to wait for the other's ports to come free.
const PORTS: std::ops::Range<u16> = 18_080..18_180;

/// Answers the exchange that makes a connection a reused one.
const WARM: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwarm";

/// Longest wait for the other side of a test.
const PATIENCE: Duration = Duration::from_secs(20);

impl Origin {
    /// A server that has `fault`, or none. It answers `warm_ups` exchanges well before.
    pub fn start(
        fault: Option<(Point, Fault)>,
        answer: Answer,
        tls: Option<Arc<ServerConfig>>,
        warm_ups: usize,
    ) -> Origin {
        let (socket, addr) = bound();
        let account = Mutex::new(Account { warm_ups, ..Account::default() });
        let shared = Arc::new(Shared { fault, answer, tls, account, changed: Condvar::new() });
        if let Some((Point::Dial, _)) = fault {
            return Origin { addr, shared, _bound: Some(socket), accepting: None };
        }
        socket.listen(64).expect("listen");
        let own = shared.clone();
        let accepting = thread::spawn(move || accept(&own, &TcpListener::from(socket)));
        Origin { addr, shared, _bound: None, accepting: Some(accepting) }
    }

    /// The connections that were warmed up may meet the fault now.
    pub fn arm(&self) {
        self.shared.change(|account| account.armed = true);
    }

    /// Waits until the fault has happened.
    pub fn wait_for_fault(&self) {
        assert!(self.shared.wait(|account| account.struck > 0), "the fault did not happen");
    }

    /// Ends the server, whose clients are gone, and returns what it saw.
    pub fn end(mut self) -> Account {
        self.shared.change(|account| account.over = true);
        if let Some(accepting) = self.accepting.take() {
            wake(self.addr).expect("a way to wake the server");
            accepting.join().expect("a server that does not panic");
        }
        std::mem::take(&mut *self.shared.account.lock().unwrap())
    }
}

impl Drop for Origin {
    /// After a panic of the test: lets the threads go.
    fn drop(&mut self) {
        self.shared.change(|account| account.over = true);
        let _ = wake(self.addr);
    }
}

/// A socket at an address that nobody else has: 127.0.0.0/8 is large.
fn bound() -> (Socket, SocketAddr) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Two runs at a time start far from each other.
    let start = std::process::id().wrapping_mul(40_503);
    for port in PORTS {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.set_reuse_address(true).expect("SO_REUSEADDR");
        let place = start.wrapping_add(NEXT.fetch_add(1, SeqCst));
        // Three digits each, so that a request for any of them has the same length.
        let part = |n: u32| (100 + n % 156) as u8;
        let ip = Ipv4Addr::new(127, part(place / 156 / 156), part(place / 156), part(place));
        let addr = SocketAddr::from((ip, port));
        if socket.bind(&addr.into()).is_ok() {
            return (socket, addr);
        }
    }
    panic!("no free port for a server among {PORTS:?}");
}

/// Ends the wait of the thread that accepts there, unless it has ended by itself.
fn wake(addr: SocketAddr) -> io::Result<()> {
    match TcpStream::connect(addr) {
        Ok(socket) => socket2::SockRef::from(&socket).set_linger(Some(Duration::ZERO)),
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => Ok(()),
        Err(e) => Err(e),
    }
}

fn accept(shared: &Shared, listener: &TcpListener) {
    thread::scope(|threads| {
        loop {
            let accepted = listener.accept();
            if shared.account.lock().unwrap().over {
                return;
            }
            let Ok((socket, _)) = accepted else { continue };
            threads.spawn(move || shared.serve(Line::new(socket, shared.tls.as_ref())));
        }
    });
}

impl Shared {
    fn serve(&self, mut line: Line) {
        let cut = match self.fault {
            Some((Point::Handshake(bytes), _)) => Some(bytes),
            _ => None,
        };
        match line.shake_hands(cut) {
            Shaken::Done => {}
            Shaken::Gone => return,
            Shaken::Cut => return self.strike(line),
        }
        self.change(|account| account.shaken = line.shaken);
        if self.takes_warm_up() {
            if !read_request(&mut line, usize::MAX).whole || !line.send(WARM) {
                return;
            }
            self.wait(|account| account.armed || account.over);
        }
        match self.fault {
            None | Some((Point::Dial | Point::Handshake(_), _)) => {
                while self.exchange(&mut line) {}
            }
            Some((Point::Idle, _)) => self.strike(line),
            Some((Point::Read(bytes), _)) => {
                if line.has_arrived() {
                    let seen = self.read(&mut line, bytes);
                    if seen.bytes >= bytes {
                        self.strike(line);
                    }
                }
            }
            Some((Point::Sent(bytes), _)) => {
                if self.read(&mut line, usize::MAX).whole {
                    let bytes = bytes.min(self.answer.bytes.len());
                    line.send(&self.answer.bytes[..bytes]);
                    self.answered(bytes);
                    self.strike(line);
                }
            }
            Some((Point::Sealed(bytes), _)) => {
                if self.read(&mut line, usize::MAX).whole {
                    let (head, body) = self.answer.bytes.split_at(self.answer.head);
                    let records = [line.seal(head), line.seal(body)];
                    let whole = match bytes {
                        n if n >= records.concat().len() => self.answer.bytes.len(),
                        n if n >= records[0].len() => head.len(),
                        _ => 0,
                    };
                    let sealed = records.concat();
                    line.send_sealed(&sealed[..bytes.min(sealed.len())]);
                    self.answered(whole);
                    self.strike(line);
                }
            }
        }
    }

    /// One exchange without a fault. False: the client went away.
    fn exchange(&self, line: &mut Line) -> bool {
        if !self.read(line, usize::MAX).whole {
            return false;
        }
        self.answered(self.answer.bytes.len());
        line.send(&self.answer.bytes)
    }

    /// Reads the request, or its first `most` bytes, and writes it into the account.
    fn read(&self, line: &mut Line, most: usize) -> Seen {
        let seen = read_request(line, most);
        self.change(|account| account.seen.push(seen));
        seen
    }

    fn answered(&self, bytes: usize) {
        self.change(|account| account.answered = account.answered.max(bytes));
    }

    fn takes_warm_up(&self) -> bool {
        let mut account = self.account.lock().unwrap();
        let due = account.warm_ups > 0;
        account.warm_ups -= usize::from(due);
        due
    }

    fn strike(&self, mut line: Line) {
        let (_, fault) = self.fault.expect("only a fault strikes");
        let mut kept = None;
        match fault {
            Fault::Fin => {
                line.fin();
                kept = Some(line);
            }
            Fault::Goodbye => {
                line.say_goodbye();
                line.fin();
                kept = Some(line);
            }
            Fault::Close => line.close(),
            Fault::Reset => line.reset(),
            Fault::Stall => kept = Some(line),
        }
        self.change(|account| account.struck += 1);
        if kept.is_some() {
            self.wait(|account| account.over);
        }
    }

    fn change(&self, change: impl FnOnce(&mut Account)) {
        change(&mut self.account.lock().unwrap());
        self.changed.notify_all();
    }

    /// False: it did not come about in time.
    fn wait(&self, done: impl Fn(&Account) -> bool) -> bool {
        let account = self.account.lock().unwrap();
        let waited = self.changed.wait_timeout_while(account, PATIENCE, |account| !done(account));
        done(&waited.unwrap().0)
    }
}

/// Reads the request, or its first `most` bytes.
fn read_request(line: &mut Line, most: usize) -> Seen {
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    let mut body = None;
    loop {
        body = body.or_else(|| Body::after(&bytes));
        let whole = body.as_ref().is_some_and(|body| body.is_whole(&bytes));
        let size = piece.len().min(most - bytes.len());
        match if whole || size == 0 { 0 } else { line.read(&mut piece[..size]) } {
            0 => return Seen { bytes: bytes.len(), whole },
            n => bytes.extend_from_slice(&piece[..n]),
        }
    }
}

/// Where the body of a request begins and how it ends. The client sends no second request before the
/// answer to the first.
enum Body {
    Chunked(usize),
    Length(usize, usize),
}

impl Body {
    /// What the head announces, once it is there.
    fn after(bytes: &[u8]) -> Option<Body> {
        let start = bytes.windows(4).position(|end| end == b"\r\n\r\n")? + 4;
        let head = String::from_utf8_lossy(&bytes[..start]).to_ascii_lowercase();
        if head.contains("transfer-encoding: chunked") {
            return Some(Body::Chunked(start));
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |n| n.parse().expect("a decimal Content-Length"));
        Some(Body::Length(start, length))
    }

    fn is_whole(&self, bytes: &[u8]) -> bool {
        match *self {
            Body::Chunked(start) => {
                let body = &bytes[start..];
                body == b"0\r\n\r\n" || body.ends_with(b"\r\n0\r\n\r\n")
            }
            Body::Length(start, length) => bytes.len() >= start + length,
        }
    }
}
