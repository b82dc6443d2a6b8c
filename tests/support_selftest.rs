//! The test server does what its scripts say: each behaviour seen by a bare socket or bare rustls.
//!
//! Everything the wire tests conclude stands on this, so no HTTP client is used here.

mod support;

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use support::*;

/// Long enough for a loaded machine; only a failing test waits for it.
const PATIENCE: Duration = ms(5000);
const GET: &[u8] = b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
const POST: &[u8] = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
const POST_HEAD: &[u8] = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";

fn dial(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.addr).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn send(server: &Server, bytes: &[u8]) -> TcpStream {
    let mut stream = dial(server);
    stream.write_all(bytes).unwrap();
    stream
}

/// What came before the end, and how it ended: FIN is `Ok`.
fn rest(mut stream: impl Read) -> (String, io::Result<()>) {
    let mut bytes = Vec::new();
    let end = stream.read_to_end(&mut bytes);
    (String::from_utf8(bytes).unwrap(), end.map(drop))
}

fn read(stream: &mut impl Read, n: usize) -> String {
    let mut bytes = vec![0; n];
    stream.read_exact(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn assert_fin(stream: impl Read, before: &str) {
    let (got, end) = rest(stream);
    assert_eq!(got, before);
    end.expect("a FIN");
}

fn assert_rst(stream: impl Read, before: &str) {
    let (got, end) = rest(stream);
    assert_eq!(got, before);
    assert_eq!(end.expect_err("a RST").kind(), ErrorKind::ConnectionReset);
}

/// Nothing to read yet, and no end: what had been sent has arrived, loopback is that quick.
fn assert_silent(stream: &TcpStream) {
    stream.set_nonblocking(true).unwrap();
    let got = (&*stream).read(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    assert_eq!(got.expect_err("silence").kind(), ErrorKind::WouldBlock);
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn answers_and_keeps_the_connection_alive() {
    let server = Server::start(Reply::ok("ok"));
    let mut stream = send(&server, GET);
    assert_eq!(read(&mut stream, OK.len()), OK);
    stream.write_all(POST).unwrap();
    assert_eq!(read(&mut stream, OK.len()), OK);
    assert_silent(&stream);
    assert_eq!((server.connections(), server.executed()), (1, 2));
    assert_eq!((server.count("GET"), server.count("POST"), server.count("PUT")), (1, 1, 0));
}

#[test]
fn records_what_arrived() {
    let server = Server::start(Reply::ok("ok"));
    let head = b"PUT /p?q HTTP/1.1\r\nb: 1\r\nA: 2\r\nTransfer-Encoding: chunked\r\nb:3\r\n\r\n";
    let mut stream = send(&server, GET);
    stream
        .write_all(&[&head[..], b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n"].concat())
        .unwrap();
    let put = server.wait_for_requests(2, PATIENCE).remove(1);
    assert_eq!((put.connection, put.index), (0, 1));
    assert_eq!((put.method.as_str(), put.target.as_str()), ("PUT", "/p?q"));
    assert_eq!(put.headers[1], ("A".into(), "2".into()));
    assert_eq!((put.header("B"), put.headers_of("b")), (Some("1"), vec!["1", "3"]));
    assert_eq!((put.text().as_str(), put.complete), ("abcde", true));
    assert_eq!(put.head, head);
}

#[test]
fn records_what_broke_off() {
    let server = Server::start(Reply::ok("ok"));
    drop(send(&server, b"POST /head HTTP/1.1\r\nHo"));
    drop(send(&server, b"POST /body HTTP/1.1\r\nContent-Length: 5\r\n\r\nhel"));
    let mut got = server.wait_for_requests(2, PATIENCE);
    got.sort_by_key(|r| r.connection);
    assert_eq!((got[0].target.as_str(), got[0].complete), ("/head", false));
    assert_eq!((got[1].text().as_str(), got[1].complete), ("hel", false));
    assert_eq!((server.count("POST"), server.executed()), (2, 0));
}

#[test]
fn framings() {
    let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
    let server = Server::start(Reply::ok("abc").chunked(2).close());
    assert_fin(send(&server, GET), chunked);
    let server = Server::start(Reply::ok("abc").until_close());
    assert_fin(send(&server, GET), "HTTP/1.1 200 OK\r\n\r\nabc");
    let server = Server::start(Reply::ok("abc").header("X", "1").last());
    let head = "HTTP/1.1 200 OK\r\nX: 1\r\nConnection: close\r\nContent-Length: 3\r\n\r\n";
    assert_fin(send(&server, b"HEAD / HTTP/1.1\r\n\r\n"), head);
    let server = Server::start(Reply::status(204).close());
    assert_fin(send(&server, GET), "HTTP/1.1 204 Scripted\r\n\r\n");
    let server = Server::start(Reply::raw("no\0HTTP").close());
    assert_fin(send(&server, GET), "no\0HTTP");
}

#[test]
fn replies_come_in_order_and_by_path() {
    let script = Script::each([Reply::ok("1").close(), Reply::ok("2").close()])
        .on("/p", [Reply::raw("p1").close(), Reply::raw("p2").close()]);
    let server = Server::start(script);
    let ask = |target: &str| {
        let (answer, end) =
            rest(send(&server, format!("GET {target} HTTP/1.1\r\n\r\n").as_bytes()));
        end.unwrap();
        answer.chars().last().unwrap()
    };
    let got = ["/", "/p?q", "/x", "/p", "/p", "/y"].map(ask);
    assert_eq!(got, ['1', '1', '2', '2', '2', '2']);
}

#[test]
fn a_made_reply_ends_as_either_part_says() {
    let told = Event::new();
    let inner = Reply::ok("ok").close().tell(&told);
    for (reply, last) in [
        (Reply::echo().close(), "\r\n\r\nPOST /x 5"),
        (Reply::echo().cut(4), "\r\n\r\nPOST"),
        (Reply::made(move |_| inner.clone()).cut(1), "\r\n\r\no"),
    ] {
        let (got, end) = rest(send(&Server::start(reply), POST));
        end.expect("a FIN");
        assert!(got.ends_with(last), "{got:?}");
    }
    assert!(told.is_open());
}

#[test]
fn a_request_that_asks_to_close_is_the_last() {
    let server = Server::start(Reply::ok("ok"));
    assert_fin(send(&server, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"), OK);
}

#[test]
fn a_reset_is_a_rst_at_each_place() {
    let reset = Event::new();
    let resets = || Reply::resets().tell(&reset);
    for (reply, sends, before) in [
        (resets().unread(), &b""[..], ""),
        (resets().after_head(), POST_HEAD, ""),
        (resets(), POST, ""),
        (Reply::ok("abc").cut(1).reset(), GET, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na"),
        (Reply::ok("abc").into_raw().cut(4).reset(), GET, "HTTP"),
    ] {
        assert_rst(send(&Server::start(reply), sends), before);
    }
    assert!(reset.is_open());
}

#[test]
fn a_close_is_a_fin_at_each_place() {
    for (reply, sends, before) in [
        (Reply::closed().unread(), &b""[..], ""),
        (Reply::closed().after_head(), POST_HEAD, ""),
        (Reply::closed(), POST, ""),
        (Reply::ok("abc").cut(1), GET, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na"),
        (Reply::ok("abc").into_raw().cut(4), GET, "HTTP"),
    ] {
        assert_fin(send(&Server::start(reply), sends), before);
    }
}

#[test]
fn a_reply_that_reads_nothing_is_due_on_accept() {
    let server = Server::start(Script::each([
        Reply::resets().unread(),
        Reply::ok("ok"),
        Reply::raw("hi").unread(),
        Reply::ok("ok"),
    ]));
    assert_rst(dial(&server), "");
    let mut stream = send(&server, GET);
    assert_eq!(read(&mut stream, OK.len()), OK);
    let mut greeted = dial(&server);
    assert_eq!(read(&mut greeted, 2), "hi");
    greeted.write_all(GET).unwrap();
    assert_eq!(read(&mut greeted, OK.len()), OK);
    assert_eq!((server.connections(), server.executed()), (3, 2));
}

#[test]
fn a_greeting_that_repeats_is_sent_once_per_request() {
    let server = Server::start(Reply::raw("hi").unread());
    let mut stream = dial(&server);
    assert_eq!(read(&mut stream, 2), "hi");
    stream.write_all(GET).unwrap();
    assert_eq!(read(&mut stream, 2), "hi");
    assert_silent(&stream);
}

#[test]
fn an_idle_connection_is_closed_and_the_test_is_told() {
    let (go, closed) = (Event::new(), Event::new());
    let server = Server::start(Reply::ok("ok").idle(&go).close().tell(&closed));
    let mut stream = send(&server, GET);
    assert_eq!(read(&mut stream, OK.len()), OK);
    assert_silent(&stream);
    assert!(!closed.is_open());
    go.open();
    closed.wait(PATIENCE);
    stream.set_nonblocking(true).unwrap();
    assert_eq!(stream.read(&mut [0]).expect("the FIN is there already"), 0);
    // Closed in both directions, as by any server: what comes now is refused by a RST.
    stream.set_nonblocking(false).unwrap();
    stream.write_all(GET).unwrap();
    assert!(stream.write_all(GET).is_err());
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_half_close_reads_on() {
    let server = Server::start(Reply::ok("ok").after_head().half_close());
    let mut stream = send(&server, POST_HEAD);
    assert_fin(&stream, OK);
    stream.write_all(b"hello").unwrap();
    server.wait_for_swallowed(5, PATIENCE);
    assert!(!server.requests()[0].complete);
    drop(stream);
    server.wait_for_open(0, PATIENCE);
}

#[test]
fn an_early_answer_does_not_wait_for_the_body() {
    let server = Server::start(Reply::ok("ok").after_head());
    let mut stream = send(&server, POST_HEAD);
    assert_eq!(read(&mut stream, OK.len()), OK);
    assert_eq!((server.count("POST"), server.executed()), (1, 0));
    stream.write_all(b"hello").unwrap();
    stream.write_all(GET).unwrap();
    assert_eq!(read(&mut stream, OK.len()), OK);
}

#[test]
fn an_interim_response_comes_before_the_body() {
    let server = Server::start(Reply::ok("ok").interim(100));
    let mut stream = send(&server, POST_HEAD);
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    assert_eq!(read(&mut stream, interim.len()), interim);
    assert_silent(&stream);
    stream.write_all(b"hello").unwrap();
    assert_eq!(read(&mut stream, OK.len()), OK);
    assert_eq!(server.executed(), 1);
}

#[test]
fn pauses_wait_for_the_test_or_for_a_time() {
    let (before, head, middle) = (Event::new(), Event::new(), Event::new());
    let reply = Reply::ok("ok").after(&before).pause_at(0, &head).pause_at(1, &middle);
    let server = Server::start(reply.idle(ms(50)).close());
    let mut stream = send(&server, GET);
    server.wait_for_requests(1, PATIENCE);
    assert_silent(&stream);
    before.open();
    assert_eq!(read(&mut stream, OK.len() - 2), OK[..OK.len() - 2]);
    assert_silent(&stream);
    head.open();
    assert_eq!(read(&mut stream, 1), "o");
    assert_silent(&stream);
    middle.open();
    assert_eq!(read(&mut stream, 1), "k");
    let ((), took) = timed(|| assert_fin(&stream, ""));
    within(ms(45), took, ms(500));
}

#[test]
fn a_drip_takes_its_time() {
    let server = Server::start(Reply::raw("abcde").drip(2, ms(30)).close());
    let mut stream = send(&server, GET);
    assert_eq!(read(&mut stream, 2), "ab");
    assert_silent(&stream);
    let ((), took) = timed(|| assert_fin(stream, "cde"));
    within(ms(55), took, ms(500));
}

#[test]
fn who_holds_stays_until_the_server_is_dropped() {
    for reply in [Reply::holds(), Reply::holds().unread(), Reply::ok("ok").cut(0).hold()] {
        let server = Server::start(reply);
        let stream = dial(&server);
        server.wait_for_connections(1, PATIENCE);
        assert_silent(&stream);
        assert_eq!(server.open_connections(), 1);
        server.finish();
        assert_fin(stream, "");
    }
}

#[test]
fn who_holds_after_the_whole_request_notices_the_client_leave() {
    let held = Event::new();
    let server = Server::start(Reply::ok("ok").cut(1).hold().tell(&held));
    let mut stream = send(&server, GET);
    assert_eq!(read(&mut stream, OK.len() - 1), OK[..OK.len() - 1]);
    held.wait(PATIENCE);
    assert_eq!(server.open_connections(), 1);
    drop(stream);
    server.wait_for_open(0, PATIENCE);
}

/// Writes until the socket takes no more, and says how much it took.
fn fill(stream: &TcpStream) -> usize {
    stream.set_nonblocking(true).unwrap();
    let (chunk, mut sent) = ([0; 4096], 0);
    while let Ok(n) = (&*stream).write(&chunk) {
        sent += n;
        assert!(sent < 64 << 20, "the peer reads");
    }
    sent
}

#[test]
fn who_never_reads_lets_the_buffers_fill() {
    let wide = Server::start(Reply::holds().unread());
    let narrow = Listen::default().receive_buffer(4096).start(Reply::holds().unread());
    let took = [&narrow, &wide].map(|server| fill(&dial(server)));
    assert!(took[0] < took[1], "{took:?}: a small receive buffer takes less");
    assert_eq!((narrow.swallowed(), narrow.requests().len()), (0, 0));
}

#[test]
fn a_silent_peer_reads_everything_and_says_nothing() {
    let server = silent();
    let mut stream = send(&server, &[0x16; 1 << 20]);
    server.wait_for_swallowed(1 << 20, PATIENCE);
    assert_silent(&stream);
    stream.write_all(GET).unwrap();
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_slow_reader_crawls_and_goes_on() {
    let server = slow_reader(2048);
    let stream = dial(&server);
    let sent = fill(&stream);
    let early = server.swallowed();
    assert!(early < sent, "it took all {sent} bytes at once");
    let ((), took) = timed(|| server.wait_for_swallowed(early + 3 * 2048, PATIENCE));
    within(ms(35), took, PATIENCE);
}

#[test]
fn listens_where_it_is_told() {
    let second = Listen::on("127.0.0.2").start(Reply::ok("ok").close());
    assert_fin(send(&second, GET), OK);
    let sixth = Listen::on("::1").start(Reply::ok("ok").close());
    assert_eq!(sixth.url(), format!("http://[::1]:{}", sixth.port()));
    assert_fin(send(&sixth, GET), OK);
}

#[test]
fn by_hand_speaks_anything() {
    let server = Server::start(Script::by_hand(|connection| {
        let mut greeting = [0; 3];
        connection.read_exact(&mut greeting).unwrap();
        connection.write_all(&[5, 0]).unwrap();
        let request = connection.read_request().unwrap();
        connection.write_all(request.target.as_bytes()).unwrap();
    }));
    assert_fin(send(&server, &[&[5, 1, 0], GET].concat()), "\u{5}\0/x");
    assert_eq!(server.count("GET"), 1);
}

#[test]
fn by_hand_can_be_a_proxy() {
    let authority = Authority::new();
    let origin = Server::tls(&authority.server(), Script::each([Reply::ok("ok"), Reply::holds()]));
    let to = origin.addr;
    let proxy = Server::start(Script::by_hand(move |client| {
        client.read_request();
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        client.relay(to).unwrap();
    }));
    let mut stream = send(&proxy, format!("CONNECT {to} HTTP/1.1\r\n\r\n").as_bytes());
    assert_eq!(read(&mut stream, 19), "HTTP/1.1 200 OK\r\n\r\n");
    let mut tls = handshake(stream, authority.client(), "localhost").unwrap();
    tls.write_all(GET).unwrap();
    assert_eq!(read(&mut tls, OK.len()), OK);
    tls.write_all(GET).unwrap();
    origin.wait_for_requests(2, PATIENCE);
    assert_eq!((proxy.count("CONNECT"), proxy.requests().len()), (1, 1));
    // The origin holds, the client waits: the end of the proxy ends both sides.
    proxy.finish();
    origin.wait_for_open(0, PATIENCE);
    assert_eq!(rest(tls).1.expect_err("cut").kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn a_connection_that_ends_wakes_who_waits() {
    let server = Server::start(Reply::ok("ok").idle(ms(50)).close());
    let _stream = send(&server, GET);
    server.wait_for_requests(1, PATIENCE);
    let ((), took) = timed(|| server.wait_for_open(0, PATIENCE));
    assert!(took < PATIENCE, "looked again only when the time was over");
}

#[test]
fn a_panic_in_a_script_fails_its_owner() {
    let panics = || Server::start(Reply::made(|_| panic!("planted")));
    let message = |end: std::thread::Result<()>| {
        let panic = end.expect_err("the panic is passed on");
        panic.downcast_ref::<&str>().map(|s| s.to_string()).or(panic.downcast_ref().cloned())
    };
    let server = panics();
    assert_fin(send(&server, GET), "");
    let end = catch_unwind(AssertUnwindSafe(|| drop(server)));
    assert_eq!(message(end).as_deref(), Some("planted"));

    // Who waits for that server is not left waiting; and a test that panics already is not aborted.
    let server = panics();
    let _stream = send(&server, GET);
    let waiting = || drop((server.wait_for_requests(2, PATIENCE * 2), &server));
    let (end, took) = timed(|| catch_unwind(AssertUnwindSafe(waiting)));
    assert!(message(end).unwrap().contains("a thread of it panicked"));
    assert!(took < PATIENCE);
    let owned = || {
        let _owned = server;
        panic!("the test's own");
    };
    let end = catch_unwind(AssertUnwindSafe(owned));
    assert_eq!(message(end).as_deref(), Some("the test's own"));
}

#[test]
fn a_request_that_is_not_http_fails_the_owner() {
    for bad in [
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "GET /a b HTTP/1.1\r\n\r\n",
        "GET / HTTP/2\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    ] {
        let server = Server::start(Reply::ok("ok"));
        assert_fin(send(&server, bad.as_bytes()), "");
        assert!(catch_unwind(AssertUnwindSafe(|| drop(server))).is_err(), "{bad:?} passed");
    }
}

#[test]
fn dropping_ends_every_thread_whatever_it_does() {
    let never = Event::new();
    let held = Arc::new(()); // Every thread of the server has a part in its script, and so in this.
    let keep = held.clone();
    let big = vec![b'x'; 64 << 20];
    let server = Server::start(
        Script::always(Reply::made(move |_| Reply::ok(format!("{keep:?}"))))
            .on("/hold", Reply::holds())
            .on("/deaf", Reply::holds().after_head())
            .on("/gate", Reply::ok("").after(&never))
            .on("/time", Reply::ok("").after(ms(3_600_000)))
            .on("/drip", Reply::ok("ab").drip(1, ms(3_600_000)))
            .on("/full", Reply::ok(big)),
    );
    let paths = ["/", "/hold", "/deaf", "/gate", "/time", "/drip", "/full"];
    let request = |path| format!("GET {path} HTTP/1.1\r\n\r\n").into_bytes();
    let mut streams: Vec<_> = paths.map(|path| send(&server, &request(path))).into();
    streams.push(send(&server, b"GET / HT"));
    streams.push(send(&server, POST_HEAD));
    server.wait_for_requests(paths.len(), PATIENCE);
    server.wait_for_connections(paths.len() + 2, PATIENCE);
    let addr = server.addr;
    let ((), took) = timed(|| server.finish());
    assert_eq!(Arc::strong_count(&held), 1, "a thread is left");
    assert!(took < PATIENCE);
    let again = TcpStream::connect(addr).expect_err("nobody listens");
    assert_eq!(again.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_refusing_address_refuses_until_it_serves() {
    let refusing = refusing_address();
    for _ in 0..3 {
        let refused = TcpStream::connect(refusing.addr).expect_err("refused");
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    }
    let addr = refusing.addr;
    let server = refusing.start(Reply::ok("ok").close());
    assert_eq!(server.addr, addr);
    assert_fin(send(&server, GET), OK);
}

#[test]
fn a_blackhole_swallows() {
    let hole = Blackhole::new();
    for patience in [ms(20), ms(200), ms(1500)] {
        let (end, took) = timed(|| TcpStream::connect_timeout(&hole.addr, patience));
        assert_eq!(end.expect_err("swallowed").kind(), ErrorKind::TimedOut);
        within(patience, took, ms(500));
    }
}

type Tls = StreamOwned<ClientConnection, TcpStream>;

/// A stream whose handshake is done, or why it failed.
fn dial_tls(server: &Server, config: Arc<ClientConfig>, name: &str) -> io::Result<Tls> {
    handshake(dial(server), config, name)
}

fn handshake(stream: TcpStream, config: Arc<ClientConfig>, name: &str) -> io::Result<Tls> {
    let name = ServerName::try_from(name.to_string()).unwrap();
    let mut tls = StreamOwned::new(ClientConnection::new(config, name).unwrap(), stream);
    tls.conn.complete_io(&mut tls.sock)?;
    Ok(tls)
}

#[test]
fn tls_serves_every_good_name() {
    let authority = Authority::new();
    let server = Server::tls(&authority.server(), Reply::ok("ok").close());
    assert!(server.url().starts_with("https://127.0.0.1:"));
    for name in ["localhost", "127.0.0.1", "::1"] {
        let mut tls = dial_tls(&server, authority.client(), name).unwrap();
        tls.write_all(POST).unwrap();
        assert_fin(tls, OK);
    }
    let names: Vec<_> = server.requests().into_iter().map(|r| r.server_name).collect();
    assert_eq!(names, [Some("localhost".to_string()), None, None]);
    assert!(authority.pem().starts_with("-----BEGIN CERTIFICATE-----"));
}

#[test]
fn bad_certificates_are_bad_for_the_stated_reason() {
    let (authority, other) = (Authority::new(), Authority::new());
    for (config, reason) in [
        (authority.server_expired(), "Expired"),
        (authority.server_named(&["other.test", "127.0.0.9"]), "NotValidForName"),
        (other.server(), "UnknownIssuer"),
    ] {
        let server = Server::tls(&config, Reply::ok("ok"));
        let error = dial_tls(&server, authority.client(), "localhost").expect_err(reason);
        assert!(format!("{error:?}").contains(reason), "{reason}: {error:?}");
        server.wait_for_open(0, PATIENCE);
        assert_eq!(server.requests().len(), 0);
    }
    let server = Server::tls(&authority.server_named(&["other.test"]), Reply::ok("ok"));
    dial_tls(&server, authority.client(), "other.test").unwrap();
}

#[test]
fn tls_ends_with_or_without_goodbye() {
    let authority = Authority::new();
    let end = |reply: Reply| {
        let server = Server::tls(&authority.server(), reply);
        let mut tls = dial_tls(&server, authority.client(), "localhost").unwrap();
        tls.write_all(GET).unwrap();
        rest(tls).1.map_err(|e| e.kind())
    };
    assert_eq!(end(Reply::ok("ok").close()), Ok(()));
    assert_eq!(end(Reply::ok("ok").close().without_goodbye()), Err(ErrorKind::UnexpectedEof));
    assert_eq!(end(Reply::ok("ok").cut(1).reset()), Err(ErrorKind::ConnectionReset));
}

#[test]
fn tls_can_fail_before_and_after_the_handshake() {
    let authority = Authority::new();
    let server = Server::tls(&authority.server(), Reply::resets().unread());
    let reset = dial_tls(&server, authority.client(), "localhost").expect_err("a RST");
    assert!(matches!(reset.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe));
    let server = Server::tls(&authority.server(), Reply::resets().after_handshake());
    assert_rst(dial_tls(&server, authority.client(), "localhost").unwrap(), "");
    let server = Server::tls(&authority.server(), Reply::closed().after_handshake());
    assert_fin(dial_tls(&server, authority.client(), "localhost").unwrap(), "");
}
