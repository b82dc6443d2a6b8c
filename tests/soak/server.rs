//! A server that fails at random, after it has read a request whole, and keeps counts alone.

use super::Chance;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What all servers have counted.
pub(crate) struct Counted {
    /// Requests of which the head was read.
    pub(crate) requests: AtomicUsize,
    /// By the number of the call: how often a write was read whole and not refused as unprocessed.
    writes: Vec<AtomicU8>,
}

impl Counted {
    pub(crate) fn new(calls: usize) -> Counted {
        let writes = (0..calls).map(|_| AtomicU8::new(0)).collect();
        Counted { requests: AtomicUsize::new(0), writes }
    }

    pub(crate) fn writes_carried_out_twice(&self) -> usize {
        self.writes.iter().filter(|times| times.load(SeqCst) > 1).count()
    }
}

pub(crate) struct Faulty {
    addr: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    counted: Arc<Counted>,
    ended: AtomicBool,
    /// How many connections are open.
    open: Mutex<usize>,
    closed: Condvar,
}

impl Faulty {
    pub(crate) fn start(seed: u64, counted: Arc<Counted>) -> Faulty {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let addr = listener.local_addr().expect("a bound address");
        let (ended, closed) = (AtomicBool::new(false), Condvar::new());
        let shared = Arc::new(Shared { counted, ended, open: Mutex::new(0), closed });
        let accepting = thread::spawn({
            let shared = shared.clone();
            move || {
                for (n, stream) in (0_u64..).zip(listener.incoming()) {
                    if shared.ended.load(SeqCst) {
                        return;
                    }
                    let Ok(stream) = stream else { continue };
                    *shared.open.lock().unwrap() += 1;
                    let shared = shared.clone();
                    thread::spawn(move || {
                        serve(&stream, &shared.counted, Chance(seed.wrapping_mul(7919) + n));
                        drop(stream);
                        *shared.open.lock().unwrap() -= 1;
                        shared.closed.notify_all();
                    });
                }
            }
        });
        Faulty { addr, shared, accepting: Some(accepting) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Waits until all connections are closed, and the threads they had are on their way out.
    pub(crate) fn wait_until_idle(&self) {
        let open = self.shared.open.lock().unwrap();
        let patience = Duration::from_secs(20);
        let idle = self.shared.closed.wait_timeout_while(open, patience, |open| *open > 0);
        assert_eq!(*idle.unwrap().0, 0, "connections that nobody closes");
        // What is left of a thread after its last word.
        thread::sleep(Duration::from_millis(50));
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.shared.ended.store(true, SeqCst);
        let _ = TcpStream::connect(self.addr);
        let _ = self.accepting.take().expect("dropped once").join();
    }
}

/// Serves one connection to its end.
fn serve(stream: &TcpStream, counted: &Counted, mut chance: Chance) {
    stream.set_nodelay(true).expect("TCP_NODELAY");
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        counted.requests.fetch_add(1, SeqCst);
        let fault = chance.below(40);
        let unprocessed = fault == 0;
        if request.write && request.whole && !unprocessed {
            counted.writes[request.id].fetch_add(1, SeqCst);
        }
        if !request.whole || !answer(stream, &request, fault, &mut chance) {
            return;
        }
    }
}

struct Request {
    id: usize,
    write: bool,
    head_only: bool,
    /// It came to its end.
    whole: bool,
}

/// Reads one request. `None`: the client ended before its head was complete.
fn read(reader: &mut BufReader<&TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?);
    let id = path.trim_start_matches('/').parse().expect("the number of a call");
    let (mut length, mut chunked) = (0, false);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        chunked |= line == "transfer-encoding: chunked";
    }
    let whole = match chunked {
        true => read_chunks(reader).is_some(),
        false => reader.read_exact(&mut vec![0; length]).is_ok(),
    };
    let write = method == "POST" || method == "PUT";
    Some(Request { id, write, head_only: method == "HEAD", whole })
}

fn read_chunks(reader: &mut BufReader<&TcpStream>) -> Option<()> {
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let size = usize::from_str_radix(line.trim_end(), 16).expect("a size");
        reader.read_exact(&mut vec![0; size + 2]).ok()?;
        if size == 0 {
            return Some(());
        }
    }
}

/// Answers, or fails. Whether the connection goes on.
fn answer(mut stream: &TcpStream, request: &Request, fault: usize, chance: &mut Chance) -> bool {
    let body = vec![b'y'; chance.below(5000)];
    let (status, extra, more) = match fault {
        0 => (521, "", true),
        1 => (503, "Retry-After: 1\r\n", true),
        2 => (503, "", true),
        3 => (429, "Retry-After: 1\r\n", true),
        4 => (500, "", true),
        5 => (404, "", true),
        // Closes, with no answer.
        6 => return false,
        // Resets.
        7 => {
            let socket = socket2::SockRef::from(stream);
            let _ = socket.set_linger(Some(Duration::ZERO));
            return false;
        }
        // Longer than an attempt may take, at times.
        8 if chance.once_in(5) => {
            thread::sleep(Duration::from_millis(400));
            return false;
        }
        9 => {
            thread::sleep(Duration::from_millis(chance.next() % 20));
            (200, "", true)
        }
        10 => (200, "Connection: close\r\n", false),
        _ => (200, "", true),
    };
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{extra}\r\n", body.len());
    let mut bytes = head.into_bytes();
    if !request.head_only {
        bytes.extend_from_slice(&body);
    }
    // The body breaks off.
    let short = fault == 11 && !request.head_only && !body.is_empty();
    if short {
        bytes.truncate(bytes.len() - body.len() / 2 - 1);
    }
    stream.write_all(&bytes).is_ok() && more && !short
}

pub(crate) struct Refusing {
    pub(crate) local_addr: SocketAddr,
    _socket: socket2::Socket,
}

/// An address that refuses for as long as this lives.
pub(crate) fn refusing() -> Refusing {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
    let socket = socket.expect("a socket");
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a free port");
    let local_addr = socket.local_addr().expect("bound").as_socket().expect("an IP address");
    Refusing { local_addr, _socket: socket }
}
