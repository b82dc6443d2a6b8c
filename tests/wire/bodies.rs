//! Where a body ends, and how large it may be: truncation is an error (R13), and an early answer to
//! an upload reaches the caller.

use crate::support::*;
use crate::{order, over, told};
use anyhost::{Body, Delivery, Phase, Reason, Resend, Status, TlsRoots};
use std::io::{self, Read, Seek, SeekFrom};

/// F121, F123: every way to break off.
pub(crate) fn truncations() -> Vec<(&'static str, Reply)> {
    let ten = || Reply::ok("0123456789");
    vec![
        ("Content-Length, closed", ten().cut(5)),
        ("Content-Length, none of it", ten().cut(0)),
        ("Content-Length, reset", ten().cut(5).reset()),
        ("chunked, no last chunk", ten().chunked(5).cut(20)),
        ("chunked, inside a chunk", ten().chunked(5).cut(5)),
        ("chunked, inside a size line", ten().chunked(5).cut(11)),
        ("chunked, at the boundary of chunks", ten().chunked(5).cut(10)),
        ("chunked, inside the last chunk", ten().chunked(5).cut(21)),
        ("until close, reset", ten().until_close().pause_at(10, ms(20)).reset()),
        ("503, closed", Reply::status(503).body("0123456789").cut(5)),
    ]
}

#[test]
fn a_body_that_breaks_off_is_an_error() {
    for (what, reply) in truncations() {
        let p = Server::start(reply);
        let error = over(&[&p]).build().unwrap().get("/").send().unwrap_err();
        assert_eq!(error.status(), Status::Body, "{what}: {error:?}");
        let expected = [(Reason::Truncated, Phase::Body, Delivery::Answered)];
        assert_eq!(told(error.attempts()), expected, "{what}");
        assert!(error.http_status().is_some(), "{what}");
        assert_eq!(p.count("GET"), 1, "{what}");
    }
}

/// RFC 9112 §8: with the chunk of size zero the body is complete, though its last CRLF is missing.
/// The connection is not used again.
#[test]
fn a_body_is_complete_with_its_last_chunk() {
    let cut = Reply::ok("0123456789").chunked(5).cut(23);
    let p = Server::start(Script::each([cut, Reply::ok("2")]));
    let client = over(&[&p]).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "0123456789");
    assert_eq!(client.post("/").send().unwrap().text().unwrap(), "2");
}

#[test]
fn a_get_whose_answer_broke_off_moves_on_and_a_post_does_not() {
    for (what, reply) in truncations() {
        let (p, f) = (Server::start(reply), Server::start(Reply::ok("whole")));
        let client = over(&[&p, &f]).hold_for(ms(0)).build().unwrap();
        assert_eq!(client.get("/").send().unwrap().text().unwrap(), "whole", "{what}");
        let error = client.post("/").send().unwrap_err();
        assert_eq!(
            (error.status(), error.delivery()),
            (Status::Body, Delivery::Answered),
            "{what}"
        );
        assert_eq!(f.count("POST"), 0, "{what}");
    }
}

/// R13: over TLS only close_notify ends a body without framing.
#[test]
fn a_tls_body_without_close_notify_is_broken_off() {
    let ca = Authority::new();
    let until_close = || Reply::ok("0123456789").until_close();
    let f = Server::tls(&ca.server(), until_close());
    let p = Server::tls(&ca.server(), until_close().without_goodbye());
    let client = |urls: &[&dyn std::fmt::Display]| {
        over(urls).tls_roots(TlsRoots::None).add_root_pem(ca.pem()).build().unwrap()
    };
    assert_eq!(client(&[&f]).get("/").send().unwrap().text().unwrap(), "0123456789");
    let error = client(&[&p]).get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::Body, Reason::Truncated));
    let answer = client(&[&p, &f]).get("/").send().unwrap();
    assert_eq!(order(answer.attempts(), &[&p, &f]), [0, 1]);

    // With framing all of it is there, whatever comes of the connection.
    let framed = Server::tls(&ca.server(), Reply::ok("0123456789").close().without_goodbye());
    assert_eq!(client(&[&framed]).get("/").send().unwrap().bytes().len(), 10);
}

/// F127, F129, F112, F118, F131: odd, and complete.
#[test]
fn complete_answers_of_every_shape_are_read_whole() {
    let rows: Vec<(&str, Reply, u16, &str)> = vec![
        ("HTTP/1.0 until close", Reply::raw("HTTP/1.0 200 OK\r\n\r\n12345").close(), 200, "12345"),
        ("HTTP/1.1 until close", Reply::ok("12345").until_close(), 200, "12345"),
        ("until close, nothing", Reply::ok("").until_close(), 200, ""),
        ("chunks dripped", Reply::ok("0123456789").chunked(3).drip(1, ms(2)), 200, "0123456789"),
        ("body dripped", Reply::ok("0123456789").drip(1, ms(2)), 200, "0123456789"),
        ("head dripped", Reply::ok("0123").into_raw().drip(1, ms(1)), 200, "0123"),
        (
            "chunk extension and trailer, byte by byte",
            Reply::raw(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                 5;x=\"y\"\r\nhello\r\n0\r\nX-Trailer: z\r\n\r\n",
            )
            .drip(1, ms(1)),
            200,
            "hello",
        ),
        (
            "size, data and end of a chunk in three segments",
            Reply::ok("hello").chunked(5).pause_at(3, ms(50)).pause_at(8, ms(50)),
            200,
            "hello",
        ),
        ("204", Reply::status(204), 204, ""),
        ("304", Reply::status(304), 304, ""),
        ("interim answers", Reply::ok("x").interim(100).interim(103).interim(103), 200, "x"),
        (
            "a reason in Latin-1",
            Reply::raw(b"HTTP/1.1 200 D\xe9plac\xe9\r\nContent-Length: 1\r\n\r\nx".to_vec()),
            200,
            "x",
        ),
        ("a status of three nines", Reply::status(999).body("no"), 999, "no"),
    ];
    for (what, reply, status, body) in rows {
        let p = Server::start(reply);
        let client = over(&[&p]).build().unwrap();
        let answer = client.get("/").send().unwrap_or_else(|e| panic!("{what}: {e:?}"));
        assert_eq!((answer.status(), answer.text().unwrap()), (status, body), "{what}");
        assert_eq!(p.count("GET"), 1, "{what}");
    }
}

/// Whatever follows a complete answer on its connection is the answer to nothing.
#[test]
fn what_follows_an_answer_is_never_read_as_the_next_one() {
    let smuggled = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled";
    for (what, method, answer) in [
        ("a second answer", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1"),
        ("after chunks", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ("after 204", "GET", "HTTP/1.1 204 No\r\n\r\n"),
        ("after 304", "GET", "HTTP/1.1 304 No\r\nContent-Length: 4\r\n\r\n"),
        ("after a HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
    ] {
        let p = Server::start(Script::each([
            Reply::raw(format!("{answer}{smuggled}")),
            Reply::ok("2"),
            Reply::ok("3"),
        ]));
        let client = over(&[&p]).build().unwrap();
        client.request(method, "/").send().unwrap();
        let next = client.post("/").send().unwrap();
        assert_eq!((next.text().unwrap(), next.attempts().len()), ("2", 1), "{what}");
        assert_eq!(client.post("/").send().unwrap().text().unwrap(), "3", "{what}");
    }
}

/// Kept as long as both sides agree, and every answer goes to its own request (F150).
#[test]
fn connections_are_kept_unless_an_answer_ends_them() {
    let dripped = Reply::ok("12345").chunked(2).drip(1, ms(1));
    for (what, reply, connections) in [
        ("kept", Reply::ok("x"), 1),
        ("chunked, to the last byte", dripped, 1),
        ("Connection: close", Reply::ok("x").last(), 3),
        ("Connection: close, left open", Reply::ok("x").header("Connection", "close").hold(), 3),
        ("HTTP/1.0", Reply::raw("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx").hold(), 3),
        ("until close", Reply::ok("x").until_close(), 3),
    ] {
        let p = Server::start(reply);
        let client = over(&[&p]).build().unwrap();
        for _ in 0..3 {
            assert_eq!(client.post("/").send().unwrap().attempts().len(), 1, "{what}");
        }
        assert_eq!((p.connections(), p.count("POST")), (connections, 3), "{what}");
    }

    let p = Server::start(Reply::echo());
    let client = over(&[&p]).build().unwrap();
    std::thread::scope(|threads| {
        for thread in 0..16 {
            let client = &client;
            threads.spawn(move || {
                for n in 0..40 {
                    let answer = client.get(&format!("/{thread}/{n}")).send().unwrap();
                    assert_eq!(answer.text().unwrap(), format!("GET /{thread}/{n} 0"));
                }
            });
        }
    });
    assert_eq!(p.count("GET"), 640);
    assert!(p.connections() <= 16 + 640 / 4, "{} connections", p.connections());
}

/// F131: a HEAD has no body, whatever the fields announce, and the connection stays good.
#[test]
fn a_head_ends_with_its_fields() {
    let p = Server::start(
        Reply::ok(vec![b'x'; 25]).header("Content-Encoding", "gzip").header("X-A", "a"),
    );
    let client = over(&[&p]).build().unwrap();
    for _ in 0..2 {
        let (answer, took) = timed(|| client.head("/").send().unwrap());
        assert!(took < ms(1000), "waited for a body: {took:?}");
        assert_eq!((answer.status(), answer.bytes()), (200, &b""[..]));
        assert_eq!(answer.header("content-encoding"), Some("gzip"));
        assert_eq!(answer.header("content-length"), Some("25"));
    }
    assert_eq!((p.count("HEAD"), p.connections()), (2, 1));
}

/// F114: what is no status at all is no HTTP, and a POST does not move on for it.
#[test]
fn a_malformed_status_is_a_protocol_error() {
    for line in ["HTTP/1.1 20 X", "HTTP/1.1 1000 X", "HTTP/1.1 099 X", "HTTP/2 200", "junk"] {
        let p = Server::start(Reply::raw(format!("{line}\r\nContent-Length: 2\r\n\r\nno")));
        let f = Server::start(Reply::ok("f"));
        let client = over(&[&p, &f]).build().unwrap();
        let error = client.post("/").send().unwrap_err();
        assert_eq!(
            (error.reason(), error.delivery()),
            (Reason::Protocol, Delivery::Maybe),
            "{line}"
        );
        assert_eq!(f.connections(), 0, "{line}");
        assert_eq!(client.get("/").send().unwrap().text().unwrap(), "f", "{line}");
    }
}

/// Heads of a size that servers use are taken; one without end is no answer.
#[test]
fn a_head_may_be_large_and_not_endless() {
    let many = (0..100).fold(Reply::ok("x"), |reply, n| reply.header(&format!("X-{n}"), "y"));
    let long = Reply::ok("x").header("X-Long", &"y".repeat(32 << 10));
    for reply in [many, long] {
        let p = Server::start(reply);
        assert_eq!(over(&[&p]).build().unwrap().get("/").send().unwrap().text().unwrap(), "x");
    }
    let (p, f) = (
        Server::start(Reply::ok("x").header("X-Long", &"y".repeat(1 << 20))),
        Server::start(Reply::ok("f")),
    );
    let client = over(&[&p, &f]).build().unwrap();
    let error = client.post("/").send().unwrap_err();
    assert_eq!((error.reason(), error.delivery()), (Reason::Protocol, Delivery::Maybe));
    assert_eq!(f.connections(), 0);
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "f");
}

/// `max_body` is the caller's limit: nobody is blamed, and no other endpoint asked.
#[test]
fn a_body_larger_than_allowed_is_too_large_everywhere() {
    for framed in [
        Reply::ok(vec![b'x'; 1001]),
        Reply::ok(vec![b'x'; 1001]).chunked(100),
        Reply::ok(vec![b'x'; 1001]).until_close(),
    ] {
        let (p, f) = (Server::start(framed), Server::start(Reply::ok("f")));
        let client = over(&[&p, &f]).max_body(1000).build().unwrap();
        let error = client.get("/").send().unwrap_err();
        assert_eq!(error.status(), Status::TooLarge);
        assert_eq!((error.reason(), error.http_status()), (Reason::Local, Some(200)));
        assert_eq!(f.connections(), 0);
        assert_eq!(client.get("/").max_body(1001).send().unwrap().bytes().len(), 1001);
    }
}

/// F125: the server says 413 after the head, and closes, half-closes, or stops reading.
#[test]
fn an_early_answer_to_a_large_upload_reaches_the_caller() {
    let early = || Reply::status(413).body("too large").after_head();
    for (what, reply, needed) in [
        ("half-closes", early().half_close(), true),
        ("stops reading", early().hold(), true),
        // The kernel answers what it has not read with a reset, which may overtake the 413.
        ("closes", early().close(), false),
    ] {
        for method in ["POST", "PUT"] {
            for reader in [false, true] {
                let (p, f) = (Server::start(reply.clone()), Server::start(Reply::ok("f")));
                let client = over(&[&p, &f]).build().unwrap();
                let bytes = vec![b'x'; 16 << 20];
                let body = match reader {
                    false => Body::from(bytes),
                    true => Body::reader(io::repeat(b'x').take(16 << 20), None),
                };
                let (result, took) = timed(|| client.request(method, "/").body(body).send());
                assert!(took < ms(2000), "{what}: {took:?}");
                match result {
                    Ok(answer) => {
                        assert_eq!((answer.status(), answer.text().unwrap()), (413, "too large"));
                    }
                    Err(error) => {
                        assert!(!needed, "{what}: {error:?}");
                        assert!(error.delivery() >= Delivery::Maybe, "{what}");
                    }
                }
                assert_eq!(f.connections(), 0, "{what}");
                assert_eq!(p.executed(), 0, "{what}");
            }
        }
    }
}

/// A connection whose upload was given up carries no second request.
#[test]
fn after_an_early_answer_the_next_request_gets_its_own_connection() {
    let p = Server::start(
        Script::from(Reply::ok("2")).on("/big", Reply::status(413).after_head().half_close()),
    );
    let client = over(&[&p]).build().unwrap();
    assert_eq!(client.post("/big").body(vec![b'x'; 16 << 20]).send().unwrap().status(), 413);
    assert_eq!(client.post("/").body("abc").send().unwrap().text().unwrap(), "2");
    assert_eq!(p.requests().last().unwrap().text(), "abc");
    assert_eq!(p.connections(), 2);
}

/// Uploads arrive as they were given, whatever they are made of.
#[test]
fn bodies_arrive_byte_for_byte_with_their_framing() {
    let p = Server::start(Reply::ok(""));
    let client = over(&[&p]).build().unwrap();
    let bytes: Vec<u8> = (0..1_000_000u32).map(|n| (n % 251) as u8).collect();
    let of = |bytes: &[u8], length| Body::reader(io::Cursor::new(bytes.to_vec()), length);
    let rows: Vec<(Body, usize, Option<&str>, bool)> = vec![
        (Body::from(bytes.clone()), 1_000_000, Some("1000000"), false),
        (of(&bytes, Some(1_000_000)), 1_000_000, Some("1000000"), false),
        (of(&bytes, None), 1_000_000, None, true),
        (of(&[], None), 0, None, true),
        (of(&[], Some(0)), 0, Some("0"), false),
        (Body::from(""), 0, Some("0"), false),
        (Body::empty(), 0, Some("0"), false),
    ];
    for (n, (body, size, length, chunked)) in rows.into_iter().enumerate() {
        client.post("/").body(body).send().unwrap();
        let got = p.requests().pop().unwrap();
        assert!(got.body == bytes[..size], "row {n}: another body arrived");
        assert_eq!(got.header("Content-Length"), length, "row {n}");
        assert_eq!(got.header("Transfer-Encoding").is_some(), chunked, "row {n}");
    }
    client.get("/").send().unwrap();
    let got = p.requests().pop().unwrap();
    assert_eq!((got.header("Content-Length"), got.header("Transfer-Encoding")), (None, None));
    assert_eq!(p.connections(), 1);
}

/// F09: a file goes out from where it stands, at every endpoint; what is appended later is not sent, and
/// one cut short is the caller's fault.
#[test]
fn a_file_is_sent_from_where_it_stands_and_again_from_there() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("a body");
    let opened = || {
        std::fs::write(&path, "abcdef").unwrap();
        let mut file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        file.seek(SeekFrom::Start(2)).unwrap();
        file
    };
    let append = || std::fs::write(&path, "abcdefgh").unwrap();
    let (p, f) = (Server::start(Reply::status(503)), Server::start(Reply::ok("f")));
    let client = over(&[&p, &f]).resend(Resend::Idempotent).hold_for(ms(0)).build().unwrap();
    let body = Body::file(opened()).unwrap();
    assert!(body.is_replayable());
    append();
    assert_eq!(client.put("/").body(body).send().unwrap().text().unwrap(), "f");
    for server in [&p, &f] {
        let got = server.requests().pop().unwrap();
        assert_eq!((got.text().as_str(), got.header("Content-Length")), ("cdef", Some("4")));
    }

    let file = opened();
    let body = Body::file(file.try_clone().unwrap()).unwrap();
    file.set_len(4).unwrap();
    let error = client.put("/").body(body).send().unwrap_err();
    assert_eq!((error.status(), p.executed(), f.executed()), (Status::BodySource, 1, 1));
    #[cfg(unix)]
    assert!(Body::file(std::fs::File::open("/dev/null").unwrap()).is_err(), "it has no length");
}

/// A source that fails, or lies about its length, is the caller's fault: no other endpoint is asked,
/// and no server gets a request that looks whole.
#[test]
fn a_body_source_that_fails_ends_the_call() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    let rows: [fn() -> Body; 4] = [
        || Body::reader(io::Cursor::new(b"ab".to_vec()).chain(Broken), Some(10)),
        || Body::reader(io::Cursor::new(b"ab".to_vec()).chain(Broken), None),
        || Body::reader(io::Cursor::new(b"ab".to_vec()), Some(3)),
        || Body::reader(io::Cursor::new(b"abcd".to_vec()), Some(3)),
    ];
    for (n, make) in rows.into_iter().enumerate() {
        let (p, f) = (Server::start(Reply::ok("p")), Server::start(Reply::ok("f")));
        let client = over(&[&p, &f]).build().unwrap();
        let error = client.post("/").body(make()).send().unwrap_err();
        assert_eq!(error.status(), Status::BodySource, "row {n}: {error:?}");
        drop(client);
        // Accepted first: before that, no connection is open either.
        p.wait_for_connections(1, ms(5000));
        p.wait_for_open(0, ms(5000));
        assert_eq!((p.executed(), f.connections()), (0, 0), "row {n}");
    }
}
