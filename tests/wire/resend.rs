//! What may go out a second time (R1), and the stale idle connection (R2).
//!
//! Counted at the servers: `executed` is how many requests were read whole, all servers together.

use crate::support::*;
use crate::{Log, order, over, told};
use anyhost::{Body, Delivery, EventKind, Phase, Reason, Resend, Rewind, Status};
use std::io::{self, Cursor, Read, Seek, SeekFrom};

/// Every way to fail after the request has begun to leave, by where it happens.
fn faults() -> Vec<(&'static str, Reply)> {
    vec![
        ("reset after the head", Reply::resets().after_head()),
        ("closed after the head", Reply::closed().after_head()),
        ("half-closed after the head", Reply::closed().half_close().after_head()),
        ("reset after the request", Reply::resets()),
        ("closed after the request", Reply::closed()),
        ("half-closed after the request", Reply::closed().half_close()),
        ("reset in the head of the answer", Reply::raw("HTTP/1.1 200 O").reset()),
        ("closed in the head of the answer", Reply::raw("HTTP/1.1 200 OK\r\nX-").close()),
        ("half-closed in the head", Reply::raw("HTTP/1.1 200 OK\r\n").half_close()),
        ("no HTTP", Reply::raw("220 smtp.example ESMTP\r\n\r\n").close()),
        ("held", Reply::holds()),
        ("reset in the body of the answer", Reply::ok("0123456789").cut(4).reset()),
        ("closed in the body of the answer", Reply::ok("0123456789").cut(4)),
        ("half-closed in the body", Reply::ok("0123456789").cut(4).half_close()),
        ("closed in a chunk", Reply::ok("0123456789").chunked(8).cut(5)),
        ("held in the body", Reply::ok("0123456789").cut(4).hold()),
    ]
}

/// R1, D-3, F03, F05: the write that the fallback would repeat is never made.
#[test]
fn a_write_that_left_is_never_carried_out_twice() {
    let small = vec![b'x'; 10];
    let large = vec![b'x'; 8 << 20]; // more than sockets hold: a fault after the head is mid-body
    for (fault, reply) in faults() {
        let (p, f) = (Server::start(reply), Server::start(Reply::ok("f")));
        let client = over(&[&p, &f]).attempt_timeout(ms(150)).build().unwrap();
        let sizes =
            if fault.contains("after the head") { vec![&small, &large] } else { vec![&small] };
        for body in sizes {
            for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"] {
                let before = p.requests().len();
                let error = client.request(method, "/").body(body.clone()).send().unwrap_err();
                let of = format!("{method} of {} bytes, {fault}: {error:?}", body.len());
                assert_eq!(f.connections(), 0, "{of}");
                assert_eq!(p.wait_for_requests(before + 1, ms(2000)).len(), before + 1, "{of}");
                assert!(error.delivery() >= Delivery::Maybe, "{of}");
                let in_body = fault.contains("body") || fault.contains("chunk");
                assert_eq!(
                    error.status(),
                    if in_body { Status::Body } else { Status::AttemptsSpent },
                    "{of}"
                );
                assert_eq!(
                    error.delivery(),
                    if in_body { Delivery::Answered } else { Delivery::Maybe },
                    "{of}"
                );
            }
        }
    }
}

/// The same faults, and a GET is answered by the fallback.
#[test]
fn a_get_moves_on_after_every_fault() {
    for (fault, reply) in faults() {
        let (p, f) = (Server::start(reply), Server::start(Reply::ok("f")));
        let client = over(&[&p, &f]).attempt_timeout(ms(150)).hold_for(ms(0)).build().unwrap();
        let answer = client.get("/").send().unwrap_or_else(|e| panic!("{fault}: {e}"));
        assert_eq!(answer.text().unwrap(), "f", "{fault}");
        assert_eq!((p.count("GET"), f.count("GET")), (1, 1), "{fault}");
        assert_eq!(order(answer.attempts(), &[&p, &f]), [0, 1], "{fault}");
        if fault.contains("body") || fault.contains("chunk") {
            continue; // There is no body in the answer to a HEAD.
        }
        let answer = client.head("/").send().unwrap_or_else(|e| panic!("{fault}: {e}"));
        assert_eq!((answer.status(), f.count("HEAD")), (200, 1), "{fault}");
    }
}

/// R1: a body that cannot be produced again is not sent again, whatever `resend` says.
#[test]
fn a_one_shot_body_makes_one_attempt() {
    let once = || Body::reader(Cursor::new(b"abc".to_vec()), Some(3));
    let chunked = || Body::reader(Cursor::new(b"abc".to_vec()), None);
    type Make = fn() -> Body;
    for make in [once as Make, chunked as Make] {
        for reply in [Reply::resets(), Reply::closed(), Reply::raw("HTTP/1.1").close()] {
            let (p, f) = (Server::start(reply), Server::start(Reply::ok("f")));
            let client = over(&[&p, &f]).resend(Resend::Any).build().unwrap();
            let error = client.post("/").body(make()).send().unwrap_err();
            assert_eq!(error.status(), Status::NotReplayable);
            assert_eq!(error.delivery(), Delivery::Maybe);
            assert_eq!((p.executed(), f.connections()), (1, 0));
        }
        // 521 would move any method on; here it is the answer (R11).
        let (p, f) = (Server::start(Reply::status(521)), Server::start(Reply::ok("f")));
        let answer = over(&[&p, &f]).build().unwrap().post("/").body(make()).send().unwrap();
        assert_eq!((answer.status(), f.connections()), (521, 0));
        // With one endpoint it is not the body that forbids another attempt.
        let p = refusing_address();
        let error = over(&[&p]).build().unwrap().post("/").body(make()).send().unwrap_err();
        assert_eq!(error.status(), Status::AttemptsSpent);
    }
}

/// Sending a spent reader again would send another request.
#[test]
fn a_request_whose_reader_is_spent_is_refused() {
    let p = Server::start(Reply::ok("p"));
    let client = over(&[&p]).build().unwrap();
    let mut request = anyhost::Request::new("POST", "/").unwrap();
    request.set_body(Body::reader(Cursor::new(b"abc".to_vec()), Some(3)));
    client.send(&mut request).unwrap();
    assert_eq!(client.send(&mut request).unwrap_err().status(), Status::State);
    assert_eq!(p.count("POST"), 1);
}

/// A source that begins where its first byte was read.
struct Positioned(Cursor<Vec<u8>>, u64);

impl Positioned {
    fn offset(bytes: &[u8], at: u64) -> Positioned {
        let mut cursor = Cursor::new(bytes.to_vec());
        cursor.set_position(at);
        Positioned(cursor, at)
    }
}

impl Read for Positioned {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Rewind for Positioned {
    fn rewind(&mut self) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(self.1)).map(|_| ())
    }
}

/// F09: both get "cdef", with a length and chunked.
#[test]
fn a_rewinding_body_is_sent_again_from_where_it_began() {
    for length in [Some(4), None] {
        let (p, f) = (Server::start(Reply::status(503)), Server::start(Reply::ok("f")));
        let client = over(&[&p, &f]).resend(Resend::Idempotent).build().unwrap();
        let body = Body::rewinding(Positioned::offset(b"abcdef", 2), length);
        client.put("/").body(body).send().unwrap();
        for server in [&p, &f] {
            let got = server.requests();
            assert_eq!((got.len(), got[0].text()), (1, "cdef".to_owned()));
            let framing = if length.is_some() { "Content-Length" } else { "Transfer-Encoding" };
            assert!(got[0].header(framing).is_some(), "{:?}", got[0].headers);
        }
    }
}

/// A body half read when the first endpoint broke is whole at the second.
#[test]
fn a_body_that_broke_off_midway_is_sent_again_whole() {
    let bytes: Vec<u8> = (0..4_000_000u32).map(|n| (n % 253) as u8).collect();
    let length = bytes.len() as u64;
    let bodies = [
        Body::from(bytes.clone()),
        Body::rewinding(Positioned::offset(&bytes, 0), Some(length)),
        Body::rewinding(Positioned::offset(&bytes, 0), None),
    ];
    for body in bodies {
        let (p, f) = (Server::start(Reply::resets().after_head()), Server::start(Reply::ok("f")));
        let client = over(&[&p, &f]).resend(Resend::Any).build().unwrap();
        client.post("/").body(body).send().unwrap();
        assert!(f.requests()[0].body == bytes, "another body arrived");
        assert_eq!(f.count("POST"), 1);
    }
}

/// A source that cannot go back after all ends the call, and the fallback gets no half request.
#[test]
fn a_body_that_does_not_rewind_is_an_error() {
    struct Stuck(&'static [u8]);
    impl Read for Stuck {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            self.0.read(bytes)
        }
    }
    impl Rewind for Stuck {
        fn rewind(&mut self) -> io::Result<()> {
            Err(io::Error::other("stuck"))
        }
    }
    let (p, f) = (Server::start(Reply::closed()), Server::start(Reply::ok("f")));
    let client = over(&[&p, &f]).resend(Resend::Any).build().unwrap();
    let error = client.post("/").body(Body::rewinding(Stuck(b"abc"), Some(3))).send().unwrap_err();
    assert_eq!((error.status(), error.delivery()), (Status::BodySource, Delivery::Maybe));
    assert_eq!(f.connections(), 0);
}

/// R1: `resend` widens or closes which methods, per client and per request.
#[test]
fn resend_says_which_methods_go_out_again() {
    let rows = [
        (Resend::Never, &[][..]),
        (Resend::Safe, &["GET", "HEAD"]),
        (Resend::Idempotent, &["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]),
        (Resend::Any, &["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "POST", "PATCH", "X"]),
    ];
    for (resend, movers) in rows {
        let (p, f) = (Server::start(Reply::closed()), Server::start(Reply::ok("f")));
        let of_client = over(&[&p, &f]).resend(resend).hold_for(ms(0)).build().unwrap();
        let of_request = over(&[&p, &f]).hold_for(ms(0)).build().unwrap();
        for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "POST", "PATCH", "X"] {
            let before = (p.count(method), f.count(method));
            let first = of_client.request(method, "/").send();
            let second = of_request.request(method, "/").resend(resend).send();
            let moves = movers.contains(&method);
            assert_eq!((first.is_ok(), second.is_ok()), (moves, moves), "{method} {resend:?}");
            let more = (p.count(method) - before.0, f.count(method) - before.1);
            assert_eq!(more, (2, 2 * usize::from(moves)), "{method} {resend:?}");
        }
    }
}

/// `resend` widens resending after answers too: those of `resend_statuses`, and no others.
#[test]
fn resend_any_moves_a_post_on_after_resend_statuses_only() {
    for (status, moves) in [
        (502, true),
        (503, true),
        (520, true),
        (526, true),
        (500, false),
        (524, false),
        (429, false),
    ] {
        let (p, f) = (Server::start(Reply::status(status)), Server::start(Reply::ok("f")));
        let client = over(&[&p, &f]).build().unwrap();
        let answer = client.post("/").resend(Resend::Any).send().unwrap();
        assert_eq!(answer.status(), if moves { 200 } else { status });
        assert_eq!(f.count("POST"), usize::from(moves), "after {status}");
    }
    // `never` closes a GET, and not what certainly reached no server.
    let (p, f) = (Server::start(Reply::status(503)), Server::start(Reply::ok("f")));
    let client = over(&[&p, &f]).resend(Resend::Never).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().status(), 503);
    let p = refusing_address();
    let client = over(&[&p, &f]).resend(Resend::Never).build().unwrap();
    assert_eq!(client.post("/").send().unwrap().status(), 200);
}

/// R1: the proxy in front said that the request went no further.
#[test]
fn what_was_not_processed_moves_every_method_on() {
    for status in [521, 522, 523] {
        let (p, f) = (Server::start(Reply::status(status)), Server::start(Reply::ok("f")));
        let client = over(&[&p, &f]).resend(Resend::Never).build().unwrap();
        let answer = client.post("/").body("abc").send().unwrap();
        assert_eq!(
            told(answer.attempts())[0],
            (Reason::Status5xx, Phase::Body, Delivery::NotProcessed)
        );
        assert_eq!(f.requests()[0].text(), "abc");
    }
}

/// A server whose idle connection dies under the second request, after reading it.
fn dies_once(dying: Reply) -> Server {
    Server::start(Script::each([Reply::ok("1"), dying, Reply::ok("3")]))
}

/// R2: replayed once, on a fresh connection to the same endpoint, at no cost.
#[test]
fn a_get_on_a_stale_connection_is_replayed_at_the_same_endpoint() {
    for dying in [Reply::closed(), Reply::resets(), Reply::closed().half_close()] {
        let (p, f) = (dies_once(dying), Server::start(Reply::ok("f")));
        let log = Log::default();
        let client = over(&[&p, &f]).max_attempts(1).on_event(log.recorder()).build().unwrap();
        client.get("/1").send().unwrap();

        let answer = client.get("/2").send().unwrap();

        assert_eq!(answer.text().unwrap(), "3");
        assert_eq!(
            told(answer.attempts()),
            [
                (Reason::StaleConnection, Phase::Head, Delivery::Maybe),
                (Reason::None, Phase::Body, Delivery::Answered)
            ]
        );
        let flags = |a: &anyhost::Attempt| (a.is_replay(), a.reused_connection());
        assert_eq!(
            answer.attempts().iter().map(flags).collect::<Vec<_>>(),
            [(false, true), (true, false)]
        );
        let places: Vec<_> = p.requests().iter().map(|r| (r.connection, r.index)).collect();
        assert_eq!(places, [(0, 0), (0, 1), (1, 0)]);
        assert_eq!(f.connections(), 0);
        assert_eq!((log.count(EventKind::Failover), log.count(EventKind::HoldSet)), (0, 0));
    }
}

/// R2: fresh means dialled. Another idle connection may be as dead as the first.
#[test]
fn a_replay_leaves_other_idle_connections_alone() {
    let both_there = Event::new();
    let first = || Reply::ok("1").after(&both_there);
    let p = Server::start(Script::each([first(), first(), Reply::closed(), Reply::ok("3")]));
    let client = over(&[&p]).build().unwrap();
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| client.get("/1").send().unwrap());
        }
        p.wait_for_requests(2, ms(5000));
        both_there.open();
    });
    assert_eq!(client.get("/2").send().unwrap().text().unwrap(), "3");
    let got = p.requests();
    assert!(got[2].connection < 2, "not on an idle connection");
    assert_eq!((got[3].connection, got[3].index), (2, 0));
}

/// R2: the body too, byte for byte, where `resend` lets a request with a body repeat.
#[test]
fn a_replay_sends_the_same_body_again() {
    let bodies: [fn() -> Body; 3] = [
        || Body::from("cdef"),
        || Body::rewinding(Positioned::offset(b"abcdef", 2), Some(4)),
        || Body::rewinding(Positioned::offset(b"abcdef", 2), None),
    ];
    for make in bodies {
        let p = dies_once(Reply::closed());
        let client = over(&[&p]).resend(Resend::Idempotent).build().unwrap();
        client.get("/1").send().unwrap();
        client.put("/2").body(make()).send().unwrap();
        let texts: Vec<_> = p.requests()[1..].iter().map(|r| r.text()).collect();
        assert_eq!(texts, ["cdef", "cdef"]);
    }
    // R1: a body that cannot be produced again is not, for a GET either.
    let p = dies_once(Reply::closed());
    let client = over(&[&p]).build().unwrap();
    client.get("/1").send().unwrap();
    let error = client.get("/2").body(Body::reader(&b"cdef"[..], Some(4))).send().unwrap_err();
    assert_eq!((error.status(), error.delivery()), (Status::NotReplayable, Delivery::Maybe));
    assert_eq!(p.requests().len(), 2);
}

/// R2: the replay has what is left of its attempt's time, no more.
#[test]
fn a_replay_shares_the_limits_of_its_attempt() {
    let dying = Reply::closed().after(ms(250));
    let p = Server::start(Script::each([Reply::ok("1"), dying, Reply::holds()]));
    let client = over(&[&p]).attempt_timeout(ms(400)).build().unwrap();
    client.get("/1").send().unwrap();
    let (error, took) = timed(|| client.get("/2").send().unwrap_err());
    within(ms(400), took, ms(200));
    assert_eq!(
        told(error.attempts()),
        [
            (Reason::StaleConnection, Phase::Head, Delivery::Maybe),
            (Reason::Timeout, Phase::Head, Delivery::Maybe)
        ]
    );
}

/// A hold changes who comes first, and nothing about what may be sent twice.
#[test]
fn a_held_fallback_that_takes_a_post_and_dies_ends_the_call() {
    let p = Server::start(Script::each([Reply::status(503), Reply::ok("p")]));
    let f = Server::start(Script::each([Reply::ok("f").last(), Reply::resets()]));
    let client = over(&[&p, &f]).build().unwrap();
    client.get("/").send().unwrap();
    let error = client.post("/").body("x").send().unwrap_err();
    assert_eq!(order(error.attempts(), &[&p, &f]), [1]);
    assert_eq!((error.delivery(), p.count("POST"), f.count("POST")), (Delivery::Maybe, 0, 1));
}

/// R2: once. A replay that fails as well is a failure like any other.
#[test]
fn a_replay_that_fails_moves_on() {
    let p = Server::start(Script::each([Reply::ok("1"), Reply::closed(), Reply::closed()]));
    let f = Server::start(Reply::ok("f"));
    let log = Log::default();
    // Stale and replay are one attempt, so a second one is left.
    let client = over(&[&p, &f]).max_attempts(2).on_event(log.recorder()).build().unwrap();
    client.get("/1").send().unwrap();

    let answer = client.get("/2").send().unwrap();

    assert_eq!(answer.text().unwrap(), "f");
    assert_eq!(order(answer.attempts(), &[&p, &f]), [0, 0, 1]);
    assert_eq!((p.requests().len(), f.requests().len()), (3, 1));
    assert_eq!((log.count(EventKind::Failover), log.count(EventKind::HoldSet)), (1, 1));
}

/// R2 is for requests that `resend` lets repeat, whatever the method.
#[test]
fn a_post_is_replayed_only_where_resend_permits() {
    for (resend, replayed) in [(Resend::Safe, false), (Resend::Any, true)] {
        let (p, f) = (dies_once(Reply::closed()), Server::start(Reply::ok("f")));
        let client = over(&[&p, &f]).build().unwrap();
        client.get("/1").send().unwrap();
        let result = client.post("/2").body("abc").resend(resend).send();
        assert_eq!(result.is_ok(), replayed, "{resend:?}");
        assert_eq!((p.count("POST"), f.connections()), (1 + usize::from(replayed), 0));
    }
    let (p, f) = (dies_once(Reply::closed()), Server::start(Reply::ok("f")));
    let client = over(&[&p, &f]).resend(Resend::Never).build().unwrap();
    client.get("/1").send().unwrap();
    let error = client.get("/2").send().unwrap_err();
    assert_eq!((error.reason(), error.delivery()), (Reason::StaleConnection, Delivery::Maybe));
    assert_eq!((p.count("GET"), f.connections()), (2, 0));
}

/// R2: a timeout is not this case. The peer may be at work.
#[test]
fn a_timeout_on_an_idle_connection_is_not_replayed() {
    let (p, f) = (dies_once(Reply::holds()), Server::start(Reply::ok("f")));
    let client = over(&[&p, &f]).attempt_timeout(ms(200)).build().unwrap();
    client.get("/1").send().unwrap();
    let answer = client.get("/2").send().unwrap();
    assert_eq!(answer.text().unwrap(), "f");
    assert!(answer.attempts()[0].reused_connection());
    assert_eq!(answer.attempts()[0].reason(), Reason::Timeout);
    assert_eq!(order(answer.attempts(), &[&p, &f]), [0, 1]);
}

/// R2: nor is an answer that began and broke off.
#[test]
fn an_answer_that_began_on_an_idle_connection_is_not_replayed() {
    for dying in [Reply::raw("HTTP/1.1 2").close(), Reply::raw("H").reset()] {
        let (p, f) = (dies_once(dying), Server::start(Reply::ok("f")));
        let client = over(&[&p, &f]).build().unwrap();
        client.get("/1").send().unwrap();
        let answer = client.get("/2").send().unwrap();
        assert_eq!(answer.text().unwrap(), "f");
        assert_eq!(order(answer.attempts(), &[&p, &f]), [0, 1]);
    }
}

/// What has ended or spoken out of turn is not used again: a POST goes over a fresh connection.
#[test]
fn an_idle_connection_known_to_be_dead_is_not_used() {
    let ok = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1";
    let timed_out = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n";
    type Make = fn(Reply) -> Reply;
    let ways: [(Make, Option<&[u8]>); 4] = [
        (Reply::close, None),
        (Reply::half_close, None),
        (Reply::reset, None),
        (Reply::hold, Some(timed_out)), // F54
    ];
    for (end, said) in ways {
        // Until the client has read its answer, or a reset could overtake it.
        let (go, done) = (Event::new(), Event::new());
        let bytes = [ok, said.unwrap_or(b"")].concat();
        let dying = end(Reply::raw(bytes).pause_at(ok.len(), &go).tell(&done));
        let p = Server::start(Script::each([dying, Reply::ok("2")]));
        let f = Server::start(Reply::ok("f"));
        let client = over(&[&p, &f]).build().unwrap();
        client.get("/1").send().unwrap();
        go.open();
        done.wait(ms(5000));

        let answer = client.post("/2").body("abc").send().unwrap();

        assert_eq!(answer.text().unwrap(), "2");
        assert_eq!(answer.attempts().len(), 1);
        assert!(!answer.attempts()[0].reused_connection());
        let places: Vec<_> = p.requests().iter().map(|r| (r.connection, r.index)).collect();
        assert_eq!(places, [(0, 0), (1, 0)]);
    }
}
