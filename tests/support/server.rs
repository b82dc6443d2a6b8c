//! Listens, hands every connection to a thread of its own, counts, and ends cleanly.
//!
//! Ending: a flag that every wait looks at, a connection to itself that wakes `accept`, a shutdown
//! of every socket that wakes every read and write, then `join`. Nothing outlives the [`Server`].

use std::any::Any;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustls::ServerConfig;
use socket2::{Domain, Socket, Type};

use super::connection::{self, Connection};
use super::event::{Event, ring, wait_until};
use super::exchange;
use super::reply::Reply;
use super::request::Request;
use super::script::Script;
use super::time::ms;

/// A running server on loopback. Dropping it ends it; see [`Server::finish`].
pub struct Server {
    pub addr: SocketAddr,
    tls: bool,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<Vec<JoinHandle<()>>>>,
}

/// How a server listens: `Listen::on("::1").tls(&config).start(script)`.
pub struct Listen {
    ip: IpAddr,
    tls: Option<Arc<ServerConfig>>,
    receive_buffer: Option<usize>,
}

/// Takes everything and never says a word: for a handshake that does not progress.
pub fn silent() -> Server {
    Server::start(Reply::swallows())
}

/// Takes `bytes` bytes every 20 ms, with a receive buffer as small: for an upload that crawls.
pub fn slow_reader(bytes: usize) -> Server {
    Listen::default().receive_buffer(bytes).start(Reply::swallows_slowly(bytes, ms(20)))
}

impl Listen {
    pub fn on(ip: &str) -> Listen {
        Listen { ip: ip.parse().expect("an IP address"), tls: None, receive_buffer: None }
    }

    pub fn tls(mut self, config: &Arc<ServerConfig>) -> Listen {
        self.tls = Some(config.clone());
        self
    }

    /// SO_RCVBUF, so that a client that sends more than about this much has to wait. The kernel
    /// doubles it and has a least size of its own.
    pub fn receive_buffer(mut self, bytes: usize) -> Listen {
        self.receive_buffer = Some(bytes);
        self
    }

    pub fn start(self, script: impl Into<Script>) -> Server {
        let addr = SocketAddr::new(self.ip, 0);
        let socket = Socket::new(Domain::for_address(addr), Type::STREAM, None).expect("a socket");
        if let Some(bytes) = self.receive_buffer {
            socket.set_recv_buffer_size(bytes).expect("SO_RCVBUF");
        }
        socket.bind(&addr.into()).expect("a loopback address");
        Server::listen(socket, self.tls, script.into())
    }
}

impl Default for Listen {
    /// Plain HTTP on 127.0.0.1.
    fn default() -> Listen {
        Listen { ip: Ipv4Addr::LOCALHOST.into(), tls: None, receive_buffer: None }
    }
}

impl Server {
    /// Plain HTTP on a free port of 127.0.0.1. A single [`Reply`] is a script too.
    pub fn start(script: impl Into<Script>) -> Server {
        Listen::default().start(script)
    }

    /// The same through TLS.
    pub fn tls(config: &Arc<ServerConfig>, script: impl Into<Script>) -> Server {
        Listen::default().tls(config).start(script)
    }

    /// From a bound socket.
    pub(super) fn listen(socket: Socket, tls: Option<Arc<ServerConfig>>, script: Script) -> Server {
        socket.listen(1024).expect("listen");
        let listener = TcpListener::from(socket);
        let addr = listener.local_addr().expect("a bound address");
        let shared = Arc::new(Shared {
            ended: Event::new(),
            script: Mutex::new(script),
            requests: Mutex::default(),
            sockets: Mutex::default(),
            swallowed: AtomicUsize::new(0),
            panic: Mutex::default(),
        });
        let accepting = spawn(addr, {
            let (shared, tls) = (shared.clone(), tls.clone());
            move || accept(listener, tls, shared)
        });
        Server { addr, tls: tls.is_some(), shared, accepting: Some(accepting) }
    }

    /// `http://127.0.0.1:port`, or https.
    pub fn url(&self) -> String {
        format!("http{}://{}", if self.tls { "s" } else { "" }, self.addr)
    }

    pub fn port(&self) -> u16 {
        self.addr.port()
    }

    /// Every request so far: recorded when read as far as its reply wanted, or when it broke off.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests().clone()
    }

    /// How many requests with this method, complete or not.
    pub fn count(&self, method: &str) -> usize {
        self.shared.requests().iter().filter(|r| r.method == method).count()
    }

    /// How many requests were read whole: those a real server would have carried out.
    pub fn executed(&self) -> usize {
        self.shared.requests().iter().filter(|r| r.complete).count()
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> usize {
        self.shared.sockets().len()
    }

    /// How many connections the server has not closed yet. It notices a client that ended unless
    /// it is busy, or was told to hold without reading.
    pub fn open_connections(&self) -> usize {
        self.shared.sockets().iter().filter(|socket| socket.strong_count() > 0).count()
    }

    /// How many bytes were read and thrown away.
    pub fn swallowed(&self) -> usize {
        self.shared.swallowed.load(SeqCst)
    }

    /// Waits until at least `n` requests are recorded, and returns all there are.
    #[track_caller]
    pub fn wait_for_requests(&self, n: usize, within: Duration) -> Vec<Request> {
        self.wait_for("requests", |s| s.shared.requests().len(), |count| count >= n, n, within);
        self.requests()
    }

    /// Waits until at least `n` connections were accepted.
    #[track_caller]
    pub fn wait_for_connections(&self, n: usize, within: Duration) {
        self.wait_for("connections", Server::connections, |count| count >= n, n, within);
    }

    /// Waits until no more than `n` connections are open.
    #[track_caller]
    pub fn wait_for_open(&self, n: usize, within: Duration) {
        self.wait_for("open connections", Server::open_connections, |open| open <= n, n, within);
    }

    /// Waits until at least `n` bytes were swallowed.
    #[track_caller]
    pub fn wait_for_swallowed(&self, n: usize, within: Duration) {
        self.wait_for("swallowed bytes", Server::swallowed, |count| count >= n, n, within);
    }

    #[track_caller]
    fn wait_for(
        &self,
        what: &str,
        count: impl Fn(&Server) -> usize,
        enough: impl Fn(usize) -> bool,
        wanted: usize,
        within: Duration,
    ) {
        let over = || enough(count(self)) || self.shared.panicked();
        let in_time = wait_until(over, Some(within));
        let got = count(self);
        let why = if self.shared.panicked() { " and a thread of it panicked" } else { "" };
        assert!(
            in_time && enough(got),
            "{self} has {got} {what}, not {wanted} within {within:?}{why}"
        );
    }

    /// Ends the server: stops accepting, closes every connection, joins every thread, and passes
    /// on the panic of a thread to the caller. Dropping does the same.
    pub fn finish(self) {}
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ended.open();
        let wake = TcpStream::connect_timeout(&self.addr, ms(1000));
        // Refused or reset: a client that came just now has woken it already, and it listens no more.
        let awake = |e: &std::io::Error| {
            use std::io::ErrorKind::{ConnectionRefused, ConnectionReset};
            matches!(e.kind(), ConnectionRefused | ConnectionReset)
        };
        if let Some(e) = wake.as_ref().err().filter(|e| !awake(e)) {
            // Its thread would accept for ever, and a test that hangs tells nothing.
            if !thread::panicking() {
                panic!("no way to wake the server at {}: {e}", self.addr);
            }
            return;
        }
        let accepting = self.accepting.take().expect("dropped once").join();
        drop(wake);
        for socket in self.shared.sockets().iter().filter_map(Weak::upgrade) {
            let _ = socket.shutdown(Shutdown::Both);
        }
        for thread in accepting.expect("the accepting thread") {
            thread.join().expect("a thread that catches its panics");
        }
        // A second panic while one is under way would abort the process and hide the first.
        let panic = self.shared.panic.lock().unwrap().take();
        if let Some(panic) = panic.filter(|_| !thread::panicking()) {
            resume_unwind(panic);
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url())
    }
}

/// What the threads of a server have in common.
pub(super) struct Shared {
    /// Opened when the server ends.
    pub(super) ended: Event,
    script: Mutex<Script>,
    requests: Mutex<Vec<Request>>,
    /// One for each accepted connection; dead once it is closed.
    sockets: Mutex<Vec<Weak<TcpStream>>>,
    swallowed: AtomicUsize,
    /// The first panic of a connection's thread.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Shared {
    /// Runs what a connection's thread does, and keeps its panic for the test.
    fn run(&self, serve: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(serve)) {
            self.panic.lock().unwrap().get_or_insert(panic);
        }
        ring(); // The connection is closed now.
    }

    fn panicked(&self) -> bool {
        self.panic.lock().unwrap().is_some()
    }

    pub(super) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    pub(super) fn record(&self, request: &Request) {
        self.requests().push(request.clone());
        ring();
    }

    pub(super) fn swallow(&self, bytes: usize) {
        self.swallowed.fetch_add(bytes, SeqCst);
        ring();
    }

    pub(super) fn wait_for_end(&self) {
        wait_until(|| self.ended.is_open(), None);
    }

    fn requests(&self) -> MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap()
    }

    fn sockets(&self) -> MutexGuard<'_, Vec<Weak<TcpStream>>> {
        self.sockets.lock().unwrap()
    }
}

/// Accepts until the server ends; returns the threads of the connections.
fn accept(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    shared: Arc<Shared>,
) -> Vec<JoinHandle<()>> {
    let addr = listener.local_addr().expect("a bound address");
    let mut threads = Vec::new();
    loop {
        let accepted = listener.accept();
        if shared.ended.is_open() {
            return threads;
        }
        // A client may be gone before it is accepted; that is no connection.
        let Ok((socket, _)) = accepted else { continue };
        // Two writes are two segments: a cut or a pause lies where the script put it.
        socket.set_nodelay(true).expect("TCP_NODELAY");
        let socket = connection::Socket(Arc::new(socket));
        let number = {
            let mut sockets = shared.sockets();
            sockets.push(Arc::downgrade(&socket.0));
            sockets.len() - 1
        };
        ring();
        let opening = shared.script().take_unread();
        let connection = Connection::new(number, socket, tls.clone(), shared.clone());
        let shared = shared.clone();
        threads.retain(|thread: &JoinHandle<()>| !thread.is_finished());
        threads.push(spawn(addr, move || shared.run(|| exchange::serve(connection, opening))));
    }
}

/// A thread that a debugger shows with the port of its server.
fn spawn<T: Send + 'static>(
    addr: SocketAddr,
    run: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let name = format!("server {}", addr.port());
    thread::Builder::new().name(name).spawn(run).expect("a thread")
}
