//! The transport over real loopback sockets: facts, limits, framing, truncation.

use anyhost::decide::{Cause, Ending, Limit, Limits, Phase, Report};
use anyhost::sys::{Clock, SystemClock, now};
use anyhost::transport::{
    AgentTransport, Answer, Attempt, LookupError, NameLookup, Outgoing, Roots, SystemLookup,
    TlsSettings, Transport, TransportConfig,
};
use http::{HeaderMap, Method};
use rustls::pki_types::PrivatePkcs8KeyDer;
use socket2::{Domain, SockRef, Socket, Type};
use std::io::{self, BufRead, BufReader, Cursor, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn pause(time: Duration) {
    SystemClock.sleep_until(now() + time);
}

// ---- servers ----

/// A server with a thread for each connection. Its listener goes with the test process.
#[derive(Clone)]
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<Request>>>,
}

/// Head and body as received.
type Request = (String, Vec<u8>);

impl Server {
    fn start(serve: impl Fn(TcpStream, usize, &Server) + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            requests: Arc::default(),
        };
        let (own, serve) = (server.clone(), Arc::new(serve));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let n = own.connections.fetch_add(1, SeqCst);
                let (own, serve) = (own.clone(), serve.clone());
                stream.set_nodelay(true).unwrap();
                thread::spawn(move || serve(stream, n, &own));
            }
        });
        server
    }

    /// Reads a request, then sends these bytes and closes.
    fn once(answer: impl Into<Vec<u8>>) -> Server {
        let answer = answer.into();
        Server::start(move |stream, _, server| {
            let mut stream = BufReader::new(stream);
            if server.read(&mut stream) {
                let _ = stream.get_mut().write_all(&answer);
            }
        })
    }

    /// Reads a request and notes it. False at the end of the connection.
    fn read<S: Read>(&self, stream: &mut BufReader<S>) -> bool {
        let Some(request) = read_request(stream) else { return false };
        self.requests.lock().unwrap().push(request);
        true
    }

    fn url(&self) -> String {
        format!("http://{}/p?q=1", self.address)
    }

    fn tls_url(&self) -> String {
        format!("https://localhost:{}/p?q=1", self.address.port())
    }

    fn connections(&self) -> usize {
        self.connections.load(SeqCst)
    }

    fn request(&self, n: usize) -> Request {
        self.requests.lock().unwrap()[n].clone()
    }
}

fn read_request<S: Read>(stream: &mut BufReader<S>) -> Option<Request> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).unwrap_or(0) == 0 {
            return None;
        }
    }
    let value =
        |name: &str| head.lines().find_map(|l| l.strip_prefix(name)).map(|v| v.trim().to_owned());
    let mut body = Vec::new();
    if let Some(length) = value("content-length:") {
        body.resize(length.parse().unwrap(), 0);
        stream.read_exact(&mut body).ok()?;
    } else if value("transfer-encoding:").is_some() {
        loop {
            let mut size = String::new();
            stream.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk).ok()?;
            body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                break;
            }
        }
    }
    Some((head, body))
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn echo<S: Read + Write>(stream: S, n: usize, server: &Server) {
    let mut stream = BufReader::new(stream);
    while let Some((head, body)) = read_request(&mut stream) {
        let body_too = !head.starts_with("HEAD ");
        server.requests.lock().unwrap().push((head, body));
        let answer = ok(&format!("connection {n}"));
        let end = if body_too { answer.len() } else { answer.find("\r\n\r\n").unwrap() + 4 };
        if stream.get_mut().write_all(&answer.as_bytes()[..end]).is_err() {
            return;
        }
    }
}

fn reset(stream: TcpStream) {
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
}

/// Accepts and reads, and says nothing.
fn silent() -> Server {
    Server::start(|mut stream, _, _| {
        let _ = io::copy(&mut stream, &mut io::sink());
    })
}

/// An address whose SYNs are dropped: the queue of a listener that does not accept is full.
struct Blackhole {
    address: SocketAddr,
    _held: Vec<Socket>,
}

fn blackhole() -> Blackhole {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut held = vec![listener];
    for _ in 0..10 {
        let filler = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let full = filler.connect_timeout(&address, ms(100)).is_err();
        held.push(filler);
        if full {
            return Blackhole { address: address.as_socket().unwrap(), _held: held };
        }
    }
    panic!("the queue of a listener does not fill up");
}

// ---- TLS ----

type TlsStream = rustls::StreamOwned<rustls::ServerConnection, TcpStream>;

struct Authority {
    pem: String,
    server: Arc<rustls::ServerConfig>,
}

fn authority_for(names: &[&str], expired: bool) -> Authority {
    authority_speaking(names, expired, rustls::ALL_VERSIONS)
}

fn authority_speaking(
    names: &[&str],
    expired: bool,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> Authority {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
    let mut root = CertificateParams::new(vec![]).unwrap();
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // Two roots of one name would be taken for each other until the signature does not fit.
    static ROOTS: AtomicUsize = AtomicUsize::new(0);
    let name = format!("root {}", ROOTS.fetch_add(1, SeqCst));
    root.distinguished_name.push(rcgen::DnType::CommonName, name);
    let root_key = KeyPair::generate().unwrap();
    let pem = root.self_signed(&root_key).unwrap().pem();
    let issuer = Issuer::new(root, root_key);
    let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
    let mut leaf = CertificateParams::new(names).unwrap();
    if expired {
        leaf.not_before = date_time_ymd(2001, 1, 1);
        leaf.not_after = date_time_ymd(2002, 1, 1);
    }
    let key = KeyPair::generate().unwrap();
    let certificate = leaf.signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .unwrap();
    Authority { pem, server: Arc::new(server) }
}

fn authority() -> Authority {
    authority_for(&["localhost", "127.0.0.1"], false)
}

impl Authority {
    fn start(&self, serve: impl Fn(TlsStream, usize, &Server) + Send + Sync + 'static) -> Server {
        let config = self.server.clone();
        Server::start(move |stream, n, server| {
            let tls = rustls::ServerConnection::new(config.clone()).unwrap();
            serve(TlsStream::new(tls, stream), n, server);
        })
    }

    fn client(&self) -> AgentTransport {
        AgentTransport::new(TransportConfig {
            tls: Some(TlsSettings {
                roots: Roots::Only(vec![self.pem.clone().into_bytes()]),
                ..TlsSettings::default()
            }),
            ..TransportConfig::default()
        })
    }
}

// ---- the client's side ----

fn plain() -> AgentTransport {
    AgentTransport::new(TransportConfig { tls: None, ..TransportConfig::default() })
}

struct Call<'a> {
    method: Method,
    url: String,
    headers: HeaderMap,
    body: Outgoing<'a>,
    connect: Option<Duration>,
    until: Duration,
    stall: Option<Duration>,
    fresh: bool,
    max_body: u64,
}

fn call(method: Method, url: &str) -> Call<'static> {
    Call {
        method,
        url: url.to_owned(),
        headers: HeaderMap::new(),
        body: Outgoing::Empty,
        connect: None,
        until: ms(10_000),
        stall: None,
        fresh: false,
        max_body: 64 << 20,
    }
}

fn get(url: &str) -> Call<'static> {
    call(Method::GET, url)
}

/// An answer read within its attempt, as `send` does.
struct Whole {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl<'a> Call<'a> {
    fn with<'b>(self, body: Outgoing<'b>) -> Call<'b>
    where
        'a: 'b,
    {
        Call { body, ..self }
    }

    fn on(self, transport: &AgentTransport) -> (Report, Option<Whole>) {
        let start = now();
        // A body borrowed for longer than this call has to be borrowed again.
        let body = match self.body {
            Outgoing::Empty => Outgoing::Empty,
            Outgoing::Bytes(bytes) => Outgoing::Bytes(bytes),
            Outgoing::Reader { source, length } => {
                Outgoing::Reader { source: &mut *source, length }
            }
        };
        let (mut report, answer) = transport.attempt(Attempt {
            endpoint: 1,
            method: &self.method,
            url: &self.url,
            server_name: None,
            foreign: false,
            proxy: None,
            headers: self.headers.clone(),
            body,
            limits: Limits {
                connect_by: self.connect.map(|d| start + d),
                until: Some(start + self.until),
                body_until: Some(start + self.until),
                stall: self.stall,
            },
            fresh: self.fresh,
            interrupt: &Default::default(),
            meter: None,
        });
        let answer = answer.and_then(|Answer { status, headers, body }| {
            let body = body.read_whole(self.max_body, &mut report)?;
            Some(Whole { status, headers, body })
        });
        (report, answer)
    }

    fn answer(self, transport: &AgentTransport) -> (Report, Whole) {
        let (report, answer) = self.on(transport);
        assert_eq!(report.ending, Ending::Answered, "{report:?}");
        (report, answer.unwrap())
    }

    fn failure(self, transport: &AgentTransport) -> (Report, Cause) {
        let (report, answer) = self.on(transport);
        assert!(answer.is_none());
        match report.ending {
            Ending::Failed(cause) => (report, cause),
            Ending::Answered => panic!("answered: {report:?}"),
        }
    }
}

/// The attempt fails by this limit after this time, within 20 ms. A busy machine can only be late,
/// so one of a few tries has to be in time.
fn holds(limit: Limit, time: Duration, phase: Phase, attempt: impl Fn() -> (Report, Cause)) {
    let mut took = Vec::new();
    for _ in 0..4 {
        let start: Instant = now();
        let (report, cause) = attempt();
        let after = now() - start;
        assert_eq!((cause, report.phase), (Cause::TimedOut(limit), phase), "{report:?}");
        assert!(after >= time, "{after:?} is before {time:?}");
        if after <= time + ms(20) {
            return;
        }
        took.push(after);
    }
    panic!("{time:?} took {took:?}");
}

// ---- keep-alive and facts ----

#[test]
fn connections_are_reused_and_facts_are_counted() {
    let authority = authority();
    for tls in [false, true] {
        let (transport, server) = match tls {
            false => (plain(), Server::start(echo)),
            true => (authority.client(), authority.start(echo)),
        };
        let url = if tls { server.tls_url() } else { server.url() };
        let (first, answer) = get(&url).answer(&transport);
        assert_eq!(answer.body, b"connection 0");
        assert_eq!(answer.status, 200);
        assert!(!first.reused && first.asked_to_send && first.head_after.is_some());
        assert_eq!((first.phase, first.status), (Phase::Body, Some(200)));
        let head = server.request(0).0.len() as u64;
        assert_eq!(first.bytes_sent, head, "HTTP bytes, not those of TLS");
        assert_eq!(first.bytes_received, ok("connection 0").len() as u64);

        let post = call(Method::POST, &url).with(Outgoing::Bytes(b"\0body\xff"));
        let (second, answer) = post.answer(&transport);
        assert!(second.reused);
        assert_eq!(answer.body, b"connection 0");
        let (head, body) = server.request(1);
        assert_eq!(body, b"\0body\xff");
        assert_eq!(second.bytes_sent, (head.len() + 6) as u64);

        let (fresh, answer) = Call { fresh: true, ..get(&url) }.answer(&transport);
        assert!(!fresh.reused);
        assert_eq!(answer.body, b"connection 1");

        transport.drop_idle();
        assert_eq!(get(&url).answer(&transport).1.body, b"connection 2");
        transport.forget(1);
        assert_eq!(get(&url).answer(&transport).1.body, b"connection 3");
    }
}

#[test]
fn both_versions_of_tls_are_spoken() {
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let authority = authority_speaking(&["localhost"], false, &[version]);
        let (transport, server) = (authority.client(), authority.start(echo));
        for reused in [false, true, true] {
            let (report, answer) = get(&server.tls_url()).answer(&transport);
            assert_eq!(
                (answer.body.as_slice(), report.reused),
                (b"connection 0".as_slice(), reused)
            );
        }
    }
}

/// A connection belongs to one process: a forked child dials its own.
#[cfg(unix)]
#[test]
fn a_forked_child_leaves_its_parents_connections_alone() {
    let (transport, server) = (plain(), Server::start(echo));
    get(&server.url()).answer(&transport);
    assert!(get(&server.url()).answer(&transport).0.reused);
    // SAFETY: the child makes one attempt at an IP address, takes no lock another thread may hold
    // (malloc is safe after fork here) and leaves by `_exit`; the alarm ends it in any case.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: as above.
        unsafe { libc::alarm(10) };
        let (report, answer) = get(&server.url()).on(&transport);
        let right = !report.reused && answer.is_some_and(|a| a.body == b"connection 1");
        // SAFETY: as above.
        unsafe { libc::_exit(i32::from(right)) };
    }
    let mut status = 0;
    // SAFETY: `child` is our child, and `status` is ours to write.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 1, "{status}");
    let (report, answer) = get(&server.url()).answer(&transport);
    assert_eq!((answer.body.as_slice(), report.reused), (b"connection 0".as_slice(), true));
}

#[test]
fn endpoints_do_not_share_connections() {
    let (transport, server) = (plain(), Server::start(echo));
    for endpoint in [1, 2, 1, 2] {
        let (report, _) = transport.attempt(Attempt {
            endpoint,
            method: &Method::GET,
            url: &server.url(),
            server_name: None,
            foreign: false,
            proxy: None,
            headers: HeaderMap::new(),
            body: Outgoing::Empty,
            limits: Limits { until: Some(now() + ms(5000)), ..Limits::default() },
            fresh: false,
            interrupt: &Default::default(),
            meter: None,
        });
        assert_eq!(report.ending, Ending::Answered);
    }
    assert_eq!(server.connections(), 2);
}

#[test]
fn sessions_resume_across_connections() {
    let authority = authority();
    let (told, kinds): (Sender<_>, Receiver<_>) = channel();
    let told = Mutex::new(told);
    let server = authority.start(move |stream, n, server| {
        let mut stream = BufReader::new(stream);
        if server.read(&mut stream) {
            let kind = stream.get_ref().conn.handshake_kind().unwrap();
            told.lock().unwrap().send(kind).unwrap();
            stream.get_mut().write_all(ok(&n.to_string()).as_bytes()).unwrap();
            let _ = server.read(&mut stream);
        }
    });
    let transport = authority.client();
    for _ in 0..2 {
        Call { fresh: true, ..get(&server.tls_url()) }.answer(&transport);
    }
    let kinds: Vec<_> = kinds.try_iter().collect();
    assert_eq!(kinds, [rustls::HandshakeKind::Full, rustls::HandshakeKind::Resumed]);
}

// ---- requests as sent ----

#[test]
fn heads_are_the_callers_with_framing_by_method() {
    let (transport, server) = (plain(), Server::start(echo));
    let sent = |call: Call<'_>| {
        call.answer(&transport);
        let (head, body) = server.requests.lock().unwrap().pop().unwrap();
        (head.trim_end().replace("\r\n", "|"), body)
    };
    let host = format!("host: {}", server.address);
    for method in ["GET", "HEAD", "DELETE", "OPTIONS", "PURGE"] {
        let (head, _) = sent(call(Method::from_bytes(method.as_bytes()).unwrap(), &server.url()));
        assert_eq!(head, format!("{method} /p?q=1 HTTP/1.1|{host}"));
    }
    for method in [Method::POST, Method::PUT, Method::PATCH] {
        let (head, _) = sent(call(method.clone(), &server.url()));
        assert!(head.contains("|content-length: 0"), "{head}");
        assert!(!head.contains("transfer-encoding"), "{head}");
    }
    for method in ["GET", "DELETE", "HEAD", "PROPFIND"] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let (head, body) = sent(call(method, &server.url()).with(Outgoing::Bytes(b"x")));
        assert!(head.contains("|content-length: 1") && body == b"x", "{head}");
    }
    let mut own = get(&server.url());
    own.headers.insert("host", "elsewhere.test".parse().unwrap());
    own.headers.insert("expect", "100-continue".parse().unwrap());
    own.headers.append("x-a", "1".parse().unwrap());
    own.headers.append("x-a", "2".parse().unwrap());
    assert_eq!(sent(own).0, "GET /p?q=1 HTTP/1.1|host: elsewhere.test|x-a: 1|x-a: 2");
    let mut long = get(&server.url());
    long.headers.insert("x-long", "v".repeat(30_000).parse().unwrap());
    assert!(sent(long).0.len() > 30_000);
    assert_eq!(server.connections(), 1);
}

#[test]
fn readers_are_sent_exactly() {
    let (transport, server) = (plain(), Server::start(echo));
    let big: Vec<u8> = (0..300_000u32).map(|n| n as u8).collect();
    for length in [Some(big.len() as u64), None] {
        let mut source = Cursor::new(&big);
        let body = Outgoing::Reader { source: &mut source, length };
        call(Method::PUT, &server.url()).with(body).answer(&transport);
        let (head, body) = server.requests.lock().unwrap().pop().unwrap();
        assert!(body == big, "{} bytes", body.len());
        assert_eq!(head.contains("transfer-encoding: chunked"), length.is_none());
    }
    let mut nothing = io::empty();
    let body = Outgoing::Reader { source: &mut nothing, length: None };
    call(Method::GET, &server.url()).with(body).answer(&transport);
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_source_of_the_wrong_length_is_the_callers_fault() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
    let (transport, server) = (plain(), Server::start(echo));
    let mut cases: Vec<(Box<dyn Read>, Option<u64>)> = vec![
        (Box::new(Cursor::new(b"123")), Some(4)),
        (Box::new(Cursor::new(b"12345")), Some(4)),
        (Box::new(Broken), Some(4)),
        (Box::new(Broken), None),
    ];
    for (source, length) in &mut cases {
        get(&server.url()).answer(&transport);
        let before = server.connections();
        let body = Outgoing::Reader { source, length: *length };
        let (report, cause) = call(Method::POST, &server.url()).with(body).failure(&transport);
        assert_eq!((cause, report.phase), (Cause::BodySource, Phase::Send), "{report:?}");
        let (report, _) = get(&server.url()).answer(&transport);
        assert!(!report.reused, "a half-sent request leaves no connection");
        assert_eq!(server.connections(), before + 1);
    }
    let mut source = Cursor::new(b"1");
    let body = Outgoing::Reader { source: &mut source, length: Some(0) };
    let (report, cause) = call(Method::POST, &server.url()).with(body).failure(&transport);
    assert_eq!((cause, report.asked_to_send), (Cause::BodySource, false));
    let posts = server.requests.lock().unwrap().iter().filter(|r| r.0.starts_with("POST")).count();
    assert_eq!(posts, 0, "no request of a wrong source is ever complete");
}

// ---- no connection ----

#[test]
fn a_refused_connection_sent_nothing() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{address}/secret?key=1");
    let (report, cause) = call(Method::POST, &url).with(Outgoing::Bytes(b"x")).failure(&plain());
    assert_eq!((cause, report.phase), (Cause::Refused, Phase::Connect));
    assert_eq!(report.os_error, 111);
    assert!(!report.asked_to_send && report.bytes_sent == 0);
    assert_eq!(report.detail, format!("{address} refused the connection"));
}

fn looking_up(lookup: impl NameLookup + 'static) -> AgentTransport {
    let lookup = Arc::new(lookup);
    AgentTransport::new(TransportConfig { tls: None, lookup, ..TransportConfig::default() })
}

#[test]
fn names_are_looked_up_only_to_dial() {
    let server = Server::start(echo);
    let (count, address) = (Arc::new(AtomicUsize::new(0)), server.address);
    let seen = count.clone();
    let transport = looking_up(move |host: &str, port: u16| {
        assert_eq!((host, port), ("svc.test", 8080));
        seen.fetch_add(1, SeqCst);
        Ok(vec![address])
    });
    for _ in 0..5 {
        get("http://svc.test:8080/").answer(&transport);
    }
    assert_eq!(count.load(SeqCst), 1);
    assert!(server.request(0).0.contains("host: svc.test:8080\r\n"));
}

#[test]
fn an_unknown_name_is_told_from_a_failed_lookup() {
    let unknown = looking_up(|_: &str, _: u16| Err(LookupError::NameUnknown));
    let (report, cause) = get("http://svc.test/").failure(&unknown);
    assert_eq!((cause, report.phase), (Cause::NameUnknown, Phase::Resolve));
    let failed =
        looking_up(|_: &str, _: u16| Err(LookupError::Failed { os_error: 5, detail: "no".into() }));
    let (report, cause) = get("http://svc.test/").failure(&failed);
    assert_eq!((cause, report.os_error), (Cause::NameLookup, 5));
    let none = looking_up(|_: &str, _: u16| Ok(vec![]));
    assert_eq!(get("http://svc.test/").failure(&none).1, Cause::NameLookup);
    let _ = SystemLookup;
}

#[test]
fn a_dead_address_leaves_time_for_a_living_one() {
    let (hole, server) = (blackhole(), Server::start(echo));
    let peers = vec![hole.address, server.address];
    let transport = looking_up(move |_: &str, _: u16| Ok(peers.clone()));
    Call { connect: Some(ms(400)), ..get("http://svc.test/") }.answer(&transport);
}

// ---- limits ----

#[test]
fn the_connect_limit_holds_everywhere() {
    let hole = blackhole();
    let url = format!("http://{}/", hole.address);
    let transport = plain();
    holds(Limit::Connect, ms(300), Phase::Connect, || {
        Call { connect: Some(ms(300)), ..get(&url) }.failure(&transport)
    });
    holds(Limit::Attempt, ms(150), Phase::Connect, || {
        Call { connect: Some(ms(300)), until: ms(150), ..get(&url) }.failure(&transport)
    });

    let (hold, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let stuck = looking_up(move |_: &str, _: u16| {
        let _ = gate.lock().unwrap().recv();
        Err(LookupError::NameUnknown)
    });
    holds(Limit::Connect, ms(100), Phase::Resolve, || {
        Call { connect: Some(ms(100)), ..get("http://svc.test/") }.failure(&stuck)
    });
    drop(hold);

    let secure = authority().client();
    let mute = silent();
    holds(Limit::Connect, ms(300), Phase::Tls, || {
        Call { connect: Some(ms(300)), ..get(&mute.tls_url()) }.failure(&secure)
    });
    // One byte of a record after another: each read succeeds, the handshake never ends.
    let drip = Server::start(|mut stream, _, _| {
        let _ = stream.write_all(&[22, 3, 3, 4, 0, 2, 0, 3, 0xfc, 3, 3]);
        while stream.write_all(&[7]).is_ok() {
            pause(ms(30));
        }
    });
    holds(Limit::Connect, ms(300), Phase::Tls, || {
        Call { connect: Some(ms(300)), ..get(&drip.tls_url()) }.failure(&secure)
    });
}

#[test]
fn the_attempt_limit_holds_everywhere() {
    let transport = plain();
    let mute = silent();
    for time in [ms(100), ms(350)] {
        holds(Limit::Attempt, time, Phase::Head, || {
            Call { until: time, ..get(&mute.url()) }.failure(&transport)
        });
    }
    let drip = |start: &'static str| {
        Server::start(move |stream, _, server| {
            let mut stream = BufReader::new(stream);
            server.read(&mut stream);
            let _ = stream.get_mut().write_all(start.as_bytes());
            while stream.get_mut().write_all(b"a").is_ok() {
                pause(ms(20));
            }
        })
    };
    let head = drip("HTTP/1.1 200 OK\r\nX: ");
    holds(Limit::Attempt, ms(300), Phase::Head, || {
        Call { until: ms(300), ..get(&head.url()) }.failure(&transport)
    });
    for start in ["HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"] {
        let body = drip(start);
        holds(Limit::Attempt, ms(300), Phase::Body, || {
            // A byte always comes in time, so this limit does not bind.
            let stall = Some(ms(250));
            Call { until: ms(300), stall, ..get(&body.url()) }.failure(&transport)
        });
    }
    let slow = Server::start(|mut stream, _, _| {
        let _ = SockRef::from(&stream).set_recv_buffer_size(2048);
        let mut few = [0; 512];
        while stream.read(&mut few).unwrap_or(0) > 0 {
            pause(ms(20));
        }
    });
    let big = vec![0; 32 << 20];
    holds(Limit::Attempt, ms(400), Phase::Send, || {
        let post = call(Method::POST, &slow.url()).with(Outgoing::Bytes(&big));
        Call { until: ms(400), ..post }.failure(&transport)
    });
}

#[test]
fn the_attempt_limit_holds_over_tls() {
    let authority = authority();
    let transport = authority.client();
    let head = authority.start(|stream, _, server| {
        let mut stream = BufReader::new(stream);
        server.read(&mut stream);
        let tls = stream.get_mut();
        let _ = tls.write_all(b"HTTP/1.1 200 OK\r\nX: ");
        while tls.write_all(b"a").is_ok() && tls.flush().is_ok() {
            pause(ms(20));
        }
    });
    holds(Limit::Attempt, ms(300), Phase::Head, || {
        Call { until: ms(300), ..get(&head.tls_url()) }.failure(&transport)
    });
    // Bytes of a record that never is complete: something always arrives, but no byte of HTTP.
    let record = authority.start(|stream, _, server| {
        let mut stream = BufReader::new(stream);
        server.read(&mut stream);
        let tls = stream.get_mut();
        tls.write_all(b"HTTP/1.1 200 OK\r\n\r\nabc").unwrap();
        tls.flush().unwrap();
        let _ = tls.sock.write_all(&[23, 3, 3, 0x40, 0]);
        while tls.sock.write_all(b"x").is_ok() {
            pause(ms(20));
        }
    });
    holds(Limit::Stall, ms(200), Phase::Body, || {
        Call { stall: Some(ms(200)), ..get(&record.tls_url()) }.failure(&transport)
    });
    let slow = authority.start(|mut stream, _, _| {
        let mut few = [0; 512];
        while stream.read(&mut few).unwrap_or(0) > 0 {
            pause(ms(20));
        }
    });
    let big = vec![0; 32 << 20];
    holds(Limit::Attempt, ms(600), Phase::Send, || {
        let post = call(Method::POST, &slow.tls_url()).with(Outgoing::Bytes(&big));
        Call { until: ms(600), ..post }.failure(&transport)
    });
}

#[test]
fn a_limit_already_passed_sends_nothing() {
    let (transport, server) = (plain(), Server::start(echo));
    get(&server.url()).answer(&transport);
    let late = Call { until: Duration::ZERO, ..get(&server.url()) };
    let (report, cause) = late.failure(&transport);
    assert_eq!(cause, Cause::TimedOut(Limit::Attempt));
    assert!(!report.asked_to_send);
    assert_eq!(server.requests.lock().unwrap().len(), 1);
    // The time to connect does not bind where nothing has to be connected.
    Call { connect: Some(Duration::ZERO), ..get(&server.url()) }.answer(&transport);
    let fresh = Call { connect: Some(Duration::ZERO), fresh: true, ..get(&server.url()) };
    assert_eq!(fresh.failure(&transport).1, Cause::TimedOut(Limit::Connect));
}

/// Signals interrupt whatever blocks, and fail nothing.
#[cfg(unix)]
#[test]
fn signals_fail_nothing() {
    use std::os::unix::thread::JoinHandleExt;
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: an action of zeroes with a handler is valid; the handler does nothing. No SA_RESTART:
    // system calls are to be interrupted.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()), 0);
    }
    let authority = authority();
    let server = authority.start(|stream, n, server| {
        pause(ms(150));
        let mut stream = BufReader::with_capacity(4096, stream);
        pause(ms(150));
        let request = read_request(&mut stream);
        assert_eq!(request.map(|r| r.1.len()), Some(8 << 20));
        let tls = stream.get_mut();
        tls.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na").unwrap();
        tls.flush().unwrap();
        pause(ms(300));
        tls.write_all(b"b").unwrap();
        tls.flush().unwrap();
        let _ = (n, server);
    });
    for until in [ms(10_000), ms(1_100)] {
        let (transport, url) = (authority.client(), server.tls_url());
        let calling = thread::spawn(move || {
            let body = vec![0; 8 << 20];
            let post = call(Method::POST, &url).with(Outgoing::Bytes(&body));
            let call = Call { until: until * 5, connect: Some(until), ..post };
            call.answer(&transport).1.body
        });
        while !calling.is_finished() {
            // SAFETY: the thread was not joined, so its handle is valid.
            unsafe { libc::pthread_kill(calling.as_pthread_t(), libc::SIGUSR1) };
            pause(ms(1));
        }
        assert_eq!(calling.join().unwrap(), b"ab");
    }
}

/// A body source that sends a request itself, on the same thread and the same transport.
#[test]
fn attempts_may_nest() {
    struct Nested<'a>(&'a AgentTransport, String, Option<Report>);
    impl Read for Nested<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            if self.2.is_some() {
                return Ok(0);
            }
            let (report, answer) = get(&self.1).answer(self.0);
            self.2 = Some(report);
            buf[..answer.body.len()].copy_from_slice(&answer.body);
            Ok(answer.body.len())
        }
    }
    let (transport, server) = (plain(), Server::start(echo));
    let mut source = Nested(&transport, server.url(), None);
    let body = Outgoing::Reader { source: &mut source, length: None };
    let (outer, _) = call(Method::POST, &server.url()).with(body).answer(&transport);
    let inner = source.2.unwrap();
    assert_eq!(inner.bytes_sent, server.request(0).0.len() as u64);
    let (head, body) = server.request(1);
    assert_eq!(body, b"connection 1");
    assert_eq!(outer.bytes_sent, (head.len() + "c\r\nconnection 1\r\n0\r\n\r\n".len()) as u64);
}

#[test]
fn many_threads_count_only_their_own_bytes() {
    let (transport, server) = (Arc::new(plain()), Server::start(echo));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (transport, url) = (transport.clone(), server.url());
            thread::spawn(move || {
                for size in 0..100 {
                    let body = vec![b'x'; size];
                    let post = call(Method::POST, &url).with(Outgoing::Bytes(&body));
                    let (report, answer) = post.answer(&transport);
                    let head = format!(
                        "POST /p?q=1 HTTP/1.1\r\ncontent-length: {size}\r\nhost: {}\r\n\r\n",
                        &url["http://".len()..url.find("/p?").unwrap()]
                    );
                    assert_eq!(report.bytes_sent, (head.len() + size) as u64);
                    let answer = ok(std::str::from_utf8(&answer.body).unwrap());
                    assert_eq!(report.bytes_received, answer.len() as u64);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert!(server.connections() <= 8, "{}", server.connections());
}

#[test]
fn the_stall_limit_binds_the_body_only() {
    let authority = authority();
    let late = |stream: &mut dyn Write| {
        // The head may take its time.
        pause(ms(200));
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").unwrap();
    };
    let plain_server = Server::start(move |stream, _, server| {
        let mut stream = BufReader::new(stream);
        server.read(&mut stream);
        late(stream.get_mut());
        server.read(&mut stream);
    });
    let tls_server = authority.start(move |stream, _, server| {
        let mut stream = BufReader::new(stream);
        server.read(&mut stream);
        late(stream.get_mut());
        server.read(&mut stream);
    });
    for (transport, url) in
        [(plain(), plain_server.url()), (authority.client(), tls_server.tls_url())]
    {
        let start = now();
        let (report, cause) = Call { stall: Some(ms(100)), ..get(&url) }.failure(&transport);
        assert_eq!((cause, report.phase), (Cause::TimedOut(Limit::Stall), Phase::Body));
        assert_eq!(report.status, Some(200));
        assert!(now() - start >= ms(300) && now() - start < ms(1000));
    }
}

// ---- the connection ends ----

#[test]
fn a_reset_after_the_request_was_read_is_seen_as_sent() {
    let server = Server::start(|stream, _, server| {
        let mut reader = BufReader::new(stream);
        server.read(&mut reader);
        reset(reader.into_inner());
    });
    let post = call(Method::POST, &server.url()).with(Outgoing::Bytes(b"x"));
    let (report, cause) = post.failure(&plain());
    assert_eq!((cause, report.phase), (Cause::Reset, Phase::Head));
    assert!(report.asked_to_send && !report.reused && report.bytes_received == 0);
    assert_eq!(report.os_error, 104);
}

#[test]
fn a_stale_connection_is_visible_over_tls() {
    let authority = authority();
    for (end, expected) in [(drop as fn(TcpStream), Cause::Closed), (reset, Cause::Reset)] {
        let server = authority.start(move |stream, n, server| {
            let mut reader = BufReader::new(stream);
            server.read(&mut reader);
            reader.get_mut().write_all(ok(&n.to_string()).as_bytes()).unwrap();
            reader.get_mut().flush().unwrap();
            server.read(&mut reader);
            end(reader.into_inner().sock);
        });
        let transport = authority.client();
        get(&server.tls_url()).answer(&transport);
        let post = call(Method::POST, &server.tls_url()).with(Outgoing::Bytes(b"x"));
        let (report, cause) = post.failure(&transport);
        assert_eq!(cause, expected);
        assert!(report.reused && report.asked_to_send);
        assert_eq!((report.bytes_received, report.phase), (0, Phase::Head));
    }
}

/// Answers one request; then reads the next one and ends the connection without a word.
fn stale(end: fn(TcpStream)) -> Server {
    Server::start(move |stream, n, server| {
        let mut reader = BufReader::new(stream);
        server.read(&mut reader);
        reader.get_mut().write_all(ok(&n.to_string()).as_bytes()).unwrap();
        server.read(&mut reader);
        end(reader.into_inner());
    })
}

#[test]
fn a_stale_connection_is_visible_in_the_report() {
    for (end, expected) in [(drop as fn(TcpStream), Cause::Closed), (reset, Cause::Reset)] {
        let (transport, server) = (plain(), stale(end));
        get(&server.url()).answer(&transport);
        let post = call(Method::POST, &server.url()).with(Outgoing::Bytes(b"x"));
        let (report, cause) = post.failure(&transport);
        assert_eq!(cause, expected);
        assert!(report.reused && report.asked_to_send);
        assert_eq!((report.bytes_received, report.phase), (0, Phase::Head));
    }
}

#[test]
fn an_idle_connection_already_closed_is_replaced() {
    let authority = authority();
    for tls in [false, true] {
        for method in [Method::GET, Method::POST] {
            let (told, closed) = channel();
            let told = Mutex::new(told);
            let (transport, server) = if tls {
                let server = authority.start(move |stream, n, server| {
                    let mut reader = BufReader::new(stream);
                    server.read(&mut reader);
                    let stream = reader.get_mut();
                    stream.write_all(ok(&n.to_string()).as_bytes()).unwrap();
                    // The socket stays open: only close_notify says that the session is over.
                    stream.conn.send_close_notify();
                    stream.flush().unwrap();
                    told.lock().unwrap().send(()).unwrap();
                    server.read(&mut reader);
                });
                (authority.client(), server)
            } else {
                let server = Server::start(move |stream, n, server| {
                    let mut reader = BufReader::new(stream);
                    server.read(&mut reader);
                    reader.get_mut().write_all(ok(&n.to_string()).as_bytes()).unwrap();
                    drop(reader);
                    told.lock().unwrap().send(()).unwrap();
                });
                (plain(), server)
            };
            let url = if tls { server.tls_url() } else { server.url() };
            assert_eq!(get(&url).answer(&transport).1.body, b"0");
            closed.recv_timeout(ms(5000)).unwrap();
            let (report, answer) = call(method.clone(), &url).answer(&transport);
            assert_eq!((answer.body.as_slice(), report.reused), (b"1".as_slice(), false));
        }
    }
}

#[test]
fn bytes_nobody_asked_for_never_answer_the_next_request() {
    let authority = authority();
    // Around 4 KiB one read of ciphertext ends within or between the two records. At 8 KiB the
    // buffer is full just when the answer is complete, and the rest stays inside of TLS.
    for size in (3900..4200).step_by(37).chain([8192]) {
        let server = authority.start(move |stream, n, server| {
            let mut reader = BufReader::new(stream);
            while server.read(&mut reader) {
                let stream = reader.get_mut();
                stream.conn.set_buffer_limit(None);
                let frame = "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n0:".len();
                let answer = ok(&format!("{n}:{}", "x".repeat(size - frame)));
                assert_eq!(answer.len(), size);
                stream.conn.writer().write_all(answer.as_bytes()).unwrap();
                stream.conn.writer().write_all(ok("evil").as_bytes()).unwrap();
                let mut records = Vec::new();
                while stream.conn.wants_write() {
                    stream.conn.write_tls(&mut records).unwrap();
                }
                if stream.sock.write_all(&records).is_err() {
                    return;
                }
            }
        });
        let transport = authority.client();
        for n in 0..3 {
            let (_, answer) = get(&server.tls_url()).answer(&transport);
            assert!(answer.body.starts_with(format!("{n}:").as_bytes()), "{size}");
        }
    }
}

// ---- truncation (R13) ----

#[test]
fn a_body_cut_short_is_an_error() {
    let short = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf";
    let chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n";
    let last = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0";
    for answer in [short, chunk, last] {
        let (report, cause) = get(&Server::once(answer).url()).failure(&plain());
        assert_eq!((cause, report.phase), (Cause::Truncated, Phase::Body), "{answer}");
        assert_eq!(report.status, Some(200));
    }
    let close_delimited = "HTTP/1.1 200 OK\r\n\r\nhalf";
    let (_, answer) = get(&Server::once(close_delimited).url()).answer(&plain());
    assert_eq!(answer.body, b"half");

    // A reset is no end. The rest is awaited only once "half" has been read from the socket.
    let server = Server::start(move |stream, _, server| {
        let mut reader = BufReader::new(stream);
        server.read(&mut reader);
        reader.get_mut().write_all(close_delimited.as_bytes()).unwrap();
        reset(reader.into_inner());
    });
    let (report, cause) = get(&server.url()).failure(&plain());
    assert!(matches!(cause, Cause::Truncated | Cause::Reset), "{report:?}");
    assert_eq!(report.os_error, 104);
}

#[test]
fn over_tls_only_close_notify_ends_a_close_delimited_body() {
    let authority = authority();
    for notify in [true, false] {
        let server = authority.start(move |stream, _, server| {
            let mut reader = BufReader::new(stream);
            server.read(&mut reader);
            let stream = reader.get_mut();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nwhole").unwrap();
            if notify {
                stream.conn.send_close_notify();
            }
            stream.flush().unwrap();
        });
        let transport = authority.client();
        if notify {
            assert_eq!(get(&server.tls_url()).answer(&transport).1.body, b"whole");
        } else {
            let (report, cause) = get(&server.tls_url()).failure(&transport);
            assert_eq!((cause, report.phase), (Cause::Truncated, Phase::Body));
        }
    }
}

#[test]
fn an_early_answer_reaches_the_caller() {
    const ANSWER: &[u8] = b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig";
    let big = vec![0; 16 << 20];
    let authority = authority();
    for tls in [false, true] {
        for (interim, hard) in [(false, false), (false, true), (true, false)] {
            let talk = move |stream: &mut dyn ReadWrite| {
                let mut some = [0; 1000];
                stream.read_exact(&mut some).unwrap();
                if interim {
                    stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
                    // The client must bear this answer for a while without giving up.
                    pause(ms(300));
                }
                stream.write_all(ANSWER).unwrap();
                stream.flush().unwrap();
            };
            // `hard` resets the connection; else the socket stays open and nothing more is read.
            let (done, gate) = channel::<()>();
            let gate = Mutex::new(gate);
            let (transport, server) = if tls {
                let server = authority.start(move |mut stream, n, server| {
                    if n > 0 {
                        return echo(stream, n, server);
                    }
                    talk(&mut stream);
                    if hard {
                        return reset(stream.sock);
                    }
                    let _ = gate.lock().unwrap().recv();
                });
                (authority.client(), server)
            } else {
                let server = Server::start(move |mut stream, n, server| {
                    if n > 0 {
                        return echo(stream, n, server);
                    }
                    talk(&mut stream);
                    if hard {
                        return reset(stream);
                    }
                    let _ = gate.lock().unwrap().recv();
                });
                (plain(), server)
            };
            let url = if tls { server.tls_url() } else { server.url() };
            let post = call(Method::POST, &url).with(Outgoing::Bytes(&big));
            let (report, answer) = post.answer(&transport);
            assert_eq!((answer.status, answer.body.as_slice()), (413, b"big".as_slice()));
            assert!(report.bytes_sent < big.len() as u64);
            let (report, _) = get(&url).answer(&transport);
            assert!(!report.reused, "the rest of the upload is still owed");
            drop(done);
        }
    }
}

#[test]
fn an_early_answer_that_is_none_is_the_peers_fault() {
    let (done, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let server = Server::start(move |mut stream, _, _| {
        stream.write_all(b"HTTP/1.1 abc\r\n\r\n").unwrap();
        let _ = gate.lock().unwrap().recv();
    });
    let big = vec![0; 16 << 20];
    let post = call(Method::POST, &server.url()).with(Outgoing::Bytes(&big));
    let (report, cause) = post.failure(&plain());
    assert_eq!((cause, report.phase), (Cause::Protocol, Phase::Head));
    drop(done);
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

#[test]
fn interim_answers_do_not_end_an_upload() {
    let server = Server::start(|stream, n, server| {
        // Interim answers first, then long silence, then everything is read after all.
        (&stream)
            .write_all(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 E\r\nX: y\r\n\r\n")
            .unwrap();
        pause(ms(600));
        echo(stream, n, server);
    });
    let big = vec![7; 64 << 20];
    let (report, answer) =
        call(Method::POST, &server.url()).with(Outgoing::Bytes(&big)).answer(&plain());
    assert_eq!(answer.body, b"connection 0");
    assert!(report.bytes_sent > big.len() as u64);
    assert!(server.request(0).1 == big);
}

// ---- answers ----

#[test]
fn answers_without_body_keep_the_connection() {
    let server = Server::start(|stream, _, server| {
        let mut reader = BufReader::new(stream);
        while let Some((head, _)) = read_request(&mut reader) {
            server.requests.lock().unwrap().push((head.clone(), vec![]));
            let answer = match head.split(' ').next().unwrap() {
                "HEAD" => "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n",
                "DELETE" => "HTTP/1.1 204 No Content\r\n\r\n",
                _ => "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
            };
            reader.get_mut().write_all(answer.as_bytes()).unwrap();
        }
    });
    let transport = plain();
    for (method, status) in [(Method::HEAD, 200), (Method::DELETE, 204), (Method::GET, 304)] {
        let (_, answer) = call(method.clone(), &server.url()).answer(&transport);
        assert_eq!((answer.status, answer.body.len()), (status, 0));
        if method == Method::HEAD {
            assert_eq!(answer.headers["content-encoding"], "gzip");
            assert_eq!(answer.headers["content-length"], "9");
        }
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn statuses_and_redirects_are_answers() {
    for status in ["301 Moved", "404 Not Found", "500 Oops", "503 Busy"] {
        let text = format!("HTTP/1.1 {status}\r\nLocation: /x\r\nContent-Length: 1\r\n\r\n!");
        let (report, answer) = get(&Server::once(text).url()).answer(&plain());
        assert!(status.starts_with(&answer.status.to_string()));
        assert_eq!((report.status, answer.body.as_slice()), (Some(answer.status), b"!".as_slice()));
    }
}

#[test]
fn a_body_may_be_as_large_as_allowed_and_no_larger() {
    let sized = ok("0123456789");
    let close = "HTTP/1.1 200 OK\r\n\r\n0123456789".to_owned();
    let lying = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n0".to_owned();
    for (answer, max, fits) in [
        (&sized, 10, true),
        (&sized, 9, false),
        (&close, 10, true),
        (&close, 9, false),
        (&lying, 10, false),
    ] {
        let call = Call { max_body: max, ..get(&Server::once(answer.as_str()).url()) };
        if fits {
            assert_eq!(call.answer(&plain()).1.body, b"0123456789");
        } else {
            let (report, cause) = call.failure(&plain());
            assert_eq!((cause, report.phase), (Cause::TooLarge, Phase::Body));
            assert_eq!(report.status, Some(200));
        }
    }
    let server = Server::start(|stream, n, server| {
        let mut reader = BufReader::new(stream);
        while server.read(&mut reader) {
            let _ = reader.get_mut().write_all(ok(&format!("{n:060000}")).as_bytes());
        }
    });
    let transport = plain();
    // More than what is here already: the rest of it would have to be waited for.
    Call { max_body: 9, ..get(&server.url()) }.failure(&transport);
    assert!(!get(&server.url()).answer(&transport).0.reused);
    assert!(get(&server.url()).answer(&transport).0.reused);
}

#[test]
fn large_bodies_arrive_whole() {
    let authority = authority();
    let body: Arc<Vec<u8>> = Arc::new((0..3_000_000u32).map(|n| (n / 7) as u8).collect());
    let respond = {
        let body = body.clone();
        move |stream: &mut dyn Write, chunked: bool| -> io::Result<()> {
            if !chunked {
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len())?;
                return stream.write_all(&body);
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            for chunk in body.chunks(77_777) {
                write!(stream, "{:x}\r\n", chunk.len())?;
                stream.write_all(chunk)?;
                stream.write_all(b"\r\n")?;
            }
            stream.write_all(b"0\r\n\r\n")
        }
    };
    let (plainly, secretly) = (respond.clone(), respond);
    let plain_server = Server::start(move |stream, _, server| {
        let mut reader = BufReader::new(stream);
        for chunked in [false, true] {
            server.read(&mut reader);
            plainly(reader.get_mut(), chunked).unwrap();
        }
    });
    let tls_server = authority.start(move |stream, _, server| {
        let mut reader = BufReader::new(stream);
        for chunked in [false, true] {
            server.read(&mut reader);
            secretly(reader.get_mut(), chunked).unwrap();
            reader.get_mut().flush().unwrap();
        }
    });
    for (transport, url) in
        [(plain(), plain_server.url()), (authority.client(), tls_server.tls_url())]
    {
        for reused in [false, true] {
            let (report, answer) = get(&url).answer(&transport);
            assert!(answer.body == *body, "{} bytes", answer.body.len());
            assert_eq!(report.reused, reused);
        }
    }
}

#[test]
fn a_head_may_be_64_kib_and_no_larger() {
    let head = |size: usize| {
        let frame = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: \r\n\r\n".len();
        format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: {}\r\n\r\n", "h".repeat(size - frame))
    };
    let (_, answer) = get(&Server::once(head(64 << 10)).url()).answer(&plain());
    assert!(answer.headers["x"].len() > 65_000);
    let (report, cause) = get(&Server::once(head((64 << 10) + 1)).url()).failure(&plain());
    assert_eq!((cause, report.phase), (Cause::Protocol, Phase::Head));
}

#[test]
fn what_is_not_http_is_a_protocol_error() {
    for answer in ["SSH-2.0-x\r\n", "HTTP/1.1 abc OK\r\n\r\n", "\r\n\r\n\r\n<html>"] {
        let (report, cause) = get(&Server::once(answer).url()).failure(&plain());
        assert_eq!((cause, report.phase), (Cause::Protocol, Phase::Head), "{answer:?} {report:?}");
    }
    let chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n";
    let (report, cause) = get(&Server::once(chunk).url()).failure(&plain());
    assert_eq!((cause, report.phase), (Cause::Protocol, Phase::Body));
    let (report, cause) = get(&Server::once("HTTP/1.1 200 OK\r\nX: y").url()).failure(&plain());
    assert_eq!((cause, report.phase), (Cause::Closed, Phase::Head));
    assert_eq!(report.bytes_received, 21);
}

// ---- TLS failures ----

#[test]
fn tls_failures_are_named_and_sent_nothing() {
    let good = authority();
    let other = authority_for(&["elsewhere.test"], false);
    let old = authority_for(&["localhost"], true);
    let serve = |authority: &Authority| authority.start(echo);
    let cases = [
        (other.client(), serve(&other), Cause::Certificate, "certificate not valid for this name"),
        (old.client(), serve(&old), Cause::Certificate, "certificate expired"),
        (other.client(), serve(&good), Cause::Certificate, "unknown issuer"),
        (
            good.client(),
            Server::start(|mut s, _, _| {
                let _ = s.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
                let _ = io::copy(&mut s, &mut io::sink());
            }),
            Cause::Tls,
            "not a TLS message",
        ),
        (
            good.client(),
            Server::start(|mut s, _, _| {
                // A fatal alert (handshake_failure), then an end with the client's bytes unread.
                s.read_exact(&mut [0]).unwrap();
                let _ = s.write_all(&[21, 3, 3, 0, 2, 2, 40]);
                reset(s);
            }),
            Cause::Tls,
            "handshake alert: HandshakeFailure",
        ),
        (
            good.client(),
            Server::start(|mut s, _, _| {
                let _ = s.read(&mut [0; 4096]);
            }),
            Cause::Closed,
            "the peer closed the connection",
        ),
        (
            good.client(),
            Server::start(|mut s, _, _| {
                let _ = s.read(&mut [0; 4096]);
                reset(s);
            }),
            Cause::Reset,
            "connection reset",
        ),
    ];
    for (transport, server, expected, words) in cases {
        let (report, cause) = get(&server.tls_url()).failure(&transport);
        assert!(cause == expected && report.detail.starts_with(words), "{}", report.detail);
        assert_eq!(report.phase, Phase::Tls);
        assert!(!report.asked_to_send && report.bytes_sent == 0 && report.bytes_received == 0);
    }
}

#[test]
fn ip_literals_work_as_tls_names() {
    let authority = authority();
    let server = authority.start(echo);
    let url = format!("https://127.0.0.1:{}/", server.address.port());
    get(&url).answer(&authority.client());
}

#[test]
fn https_without_tls_settings_is_local() {
    let (report, cause) = get("https://127.0.0.1:1/").failure(&plain());
    assert_eq!((cause, report.phase), (Cause::Local, Phase::None));
}
