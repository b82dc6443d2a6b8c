//! F01 to F13: what may go out a second time.

use crate::network::{A, B, ms, on, received, secs};
use crate::support::{Reply, Script, Server, refusing_address};
use crate::wire::over;
use anyhost::testing::{self, ScriptedTransport};
use anyhost::{Body, Delivery, Reason, Resend, Rewind, Status, Timeout};
use std::io::{self, Cursor, Read};

#[test]
fn f01_a_post_on_an_idle_connection_that_closes_is_not_sent_again() {
    let a = Server::start(Script::each([Reply::ok("ok"), Reply::closed(), Reply::ok("ok")]));
    let b = Server::start(Reply::ok("b"));
    let client = over(&[a.url(), b.url()]).build().unwrap();
    client.get("/1").send().unwrap();
    let error = client.post("/2").body("{}").send().unwrap_err();
    assert_eq!((error.delivery(), error.reason()), (Delivery::Maybe, Reason::StaleConnection));
    assert_eq!(error.status(), Status::AttemptsSpent);
    let seen: Vec<_> = a.requests().iter().map(|r| (r.connection, r.target.clone())).collect();
    assert_eq!(seen, [(0, "/1".to_owned()), (0, "/2".to_owned())], "two, on one connection");
    assert_eq!((a.connections(), b.connections()), (1, 0));
}

/// Ruling R1: GET and HEAD by default, the idempotent ones when asked for, unknown ones never.
#[test]
fn f03_closed_after_reading_is_not_unsent() {
    let rows = [
        ("GET", [1, 1, 1]),
        ("HEAD", [1, 1, 1]),
        ("PUT", [0, 1, 1]),
        ("DELETE", [0, 1, 1]),
        ("OPTIONS", [0, 1, 1]),
        ("POST", [0, 0, 1]),
        ("PATCH", [0, 0, 1]),
        ("PURGE", [0, 0, 1]),
    ];
    for (method, at_b) in rows {
        for (resend, at_b) in [Resend::Safe, Resend::Idempotent, Resend::Any].iter().zip(at_b) {
            let (a, b) = (Server::start(Reply::closed()), Server::start(Reply::ok("")));
            let client = over(&[a.url(), b.url()]).resend(*resend).build().unwrap();
            let ended = client.request(method, "/").send();
            let of = format!("{method}, {resend:?}");
            assert_eq!((a.executed(), b.executed()), (1, at_b), "{of}");
            assert_eq!(ended.is_ok(), at_b == 1, "{of}");
            if let Err(error) = ended {
                assert_eq!((error.delivery(), error.reason()), (Delivery::Maybe, Reason::Eof));
            }
        }
    }
    let a = Server::start(Reply::closed());
    let client = over(&[a.url()]).build().unwrap();
    let error = client.request("CONNECT", "/").send().unwrap_err();
    assert_eq!((error.status(), a.connections()), (Status::Argument, 0), "CONNECT is a proxy's");
}

#[test]
fn f05_a_timeout_after_sending_is_not_unsent() {
    for (method, at_b) in [("POST", 0), ("GET", 1)] {
        let (a, b) = (Server::start(Reply::holds()), Server::start(Reply::ok("b")));
        let client = over(&[a.url(), b.url()]).build().unwrap();
        // The limit of the first attempt; the second is not what is measured.
        let limit = Timeout::adaptive(ms(300), [secs(20)]);
        let ended = client.request(method, "/").attempt_timeout(limit).send();
        assert_eq!((a.wait_for_requests(1, secs(10)).len(), b.executed()), (1, at_b), "{method}");
        match ended {
            Ok(answer) => assert_eq!(answer.text().unwrap(), "b"),
            Err(error) => {
                assert_eq!((error.reason(), error.delivery()), (Reason::Timeout, Delivery::Maybe));
            }
        }
    }
}

#[test]
fn f07_the_body_is_whole_after_a_failover() {
    let bytes: Vec<u8> = (0..65_536u32).map(|i| ((i * 31) >> 3) as u8).collect();
    let (a, b) = (refusing_address(), Server::start(Reply::ok("")));
    let client = over(&[a.url(), b.url()]).build().unwrap();
    client.post("/").body(bytes.clone()).send().unwrap();
    let requests = b.requests();
    assert_eq!((requests.len(), requests[0].header("Content-Length")), (1, Some("65536")));
    assert!(requests[0].body == bytes, "byte for byte");
}

/// A file that was opened and read to somewhere before it became a body.
struct Opened {
    file: Cursor<&'static [u8]>,
    start: u64,
    seekable: bool,
}

impl Opened {
    fn at(start: u64, seekable: bool) -> Opened {
        let mut file = Cursor::new(&b"abcdef"[..]);
        file.set_position(start);
        Opened { file, start, seekable }
    }
}

impl Read for Opened {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.file.read(into)
    }
}

impl Rewind for Opened {
    fn rewind(&mut self) -> io::Result<()> {
        self.file.set_position(self.start);
        if self.seekable { Ok(()) } else { Err(io::Error::other("a pipe")) }
    }
}

#[test]
fn f09_a_body_starts_again_where_it_started() {
    for length in [Some(4), None] {
        let (a, b) = (Server::start(Reply::status(503)), Server::start(Reply::ok("")));
        let client = over(&[a.url(), b.url()]).resend(Resend::Idempotent).build().unwrap();
        let body = Body::rewinding(Opened::at(2, true), length);
        assert_eq!(client.put("/").body(body).send().unwrap().status(), 200);
        assert_eq!([&a, &b].map(|at| at.requests()[0].text()), ["cdef", "cdef"], "{length:?}");
        assert_eq!((a.executed(), b.executed()), (1, 1));
    }
}

/// What cannot go back is not sent again, and the answer that there was is the result (ruling R11).
#[test]
fn f09_a_body_that_does_not_start_again_is_sent_once() {
    let bodies = [
        Body::rewinding(Opened::at(2, false), Some(4)),
        Body::reader(Opened::at(2, true), Some(4)),
        Body::reader(Opened::at(2, true), None),
    ];
    for body in bodies {
        let (a, b) = (Server::start(Reply::status(503)), Server::start(Reply::ok("")));
        let client = over(&[a.url(), b.url()]).resend(Resend::Any).build().unwrap();
        assert_eq!(client.put("/").body(body).send().unwrap().status(), 503, "R11");
        assert_eq!((a.requests()[0].text(), b.connections()), ("cdef".to_owned(), 0));
    }
}

#[test]
fn f11_the_body_of_a_503_reaches_the_caller() {
    let xml = "<Error><Code>SlowDown</Code></Error>\r\n\0\n";
    let reply = || Reply::status(503).header("Content-Type", "application/xml").body(xml);
    let (a, b) = (Server::start(reply()), Server::start(Reply::ok("")));
    for bases in [vec![a.url()], vec![a.url(), b.url()]] {
        let client = over(&bases).max_attempts(1).build().unwrap();
        let answer = client.get("/").send().unwrap();
        assert_eq!((answer.status(), answer.text().unwrap()), (503, xml));
        assert_eq!(answer.header("content-type"), Some("application/xml"));
        let error = client.get("/").set("error_statuses", "5xx").send().unwrap_err();
        assert_eq!(error.answer().unwrap().text().unwrap(), xml, "R19: as an error too");
    }
    assert_eq!((a.executed(), b.executed()), (4, 0));
}

/// Ruling R1 divides 522 in two: one that comes within 60 s made no connection to the origin, and
/// moves on; a later one says that the origin did not acknowledge a request that it was sent. The row
/// would let no write move on after 522, and after 521 and 523 only where asked.
#[test]
fn f13_cloudflare_statuses() {
    let rows = [
        // Status, seconds until it comes, whether POST and GET go on to B, delivery at A.
        (520, 0, 0, 1, Delivery::Answered),
        (521, 0, 1, 1, Delivery::NotProcessed),
        (522, 0, 1, 1, Delivery::NotProcessed),
        (522, 59, 1, 1, Delivery::NotProcessed),
        (522, 60, 0, 1, Delivery::Answered),
        (522, 90, 0, 1, Delivery::Answered),
        (523, 0, 1, 1, Delivery::NotProcessed),
        (524, 0, 0, 0, Delivery::Answered),
        (524, 90, 0, 0, Delivery::Answered),
        (525, 0, 0, 1, Delivery::Answered),
        (526, 0, 0, 1, Delivery::Answered),
        (527, 0, 0, 0, Delivery::Answered),
    ];
    for (status, after, post_at_b, get_at_b, delivery) in rows {
        for (method, at_b) in [("POST", post_at_b), ("GET", get_at_b)] {
            let network = ScriptedTransport::new()
                .on(A, [testing::Reply::status(status).takes(secs(after))])
                .on(B, [testing::Reply::ok("")]);
            let client =
                on(&network, &[A, B]).attempt_timeout(Timeout::infinite()).build().unwrap();
            let answer = client.request(method, "/").body("{}").send().unwrap();
            let of = format!("{method}, {status} after {after} s");
            assert_eq!(received(&network, [A, B]), [1, at_b], "{of}");
            assert_eq!(answer.status(), if at_b == 1 { 200 } else { status }, "{of}");
            assert_eq!(answer.attempts()[0].delivery(), delivery, "{of}");
        }
    }
}

/// Ruling R13: what broke off is an error, and its part is handed to nobody.
#[test]
fn f121_a_body_shorter_than_its_length_is_incomplete() {
    for status in [200, 502] {
        let cut = || Reply::status(status).body("1234567890").cut(5);
        // One host: an error by default, and the whole answer where it may be asked once more.
        let a = Server::start(Script::each([cut(), cut(), Reply::ok("whole")]));
        let client = over(&[a.url()]).build().unwrap();
        let error = client.get("/").send().unwrap_err();
        assert_eq!((error.status(), error.reason()), (Status::Body, Reason::Truncated), "{status}");
        assert_eq!(error.http_status(), Some(status));
        assert!(error.answer().is_none(), "no part of it");
        let a_now = client.snapshot();
        let a_now = a_now.find(&a.url()).unwrap();
        assert_eq!((a_now.failures(), a_now.successes()), (1, 0), "a failure, whatever its status");
        let answer = client.get("/").attempts_per_endpoint(2).send().unwrap();
        assert_eq!((answer.text().unwrap(), a.executed()), ("whole", 3), "{status}");

        let (a, b) = (Server::start(cut()), Server::start(Reply::ok("b")));
        let client = over(&[a.url(), b.url()]).build().unwrap();
        let error = client.post("/").body("{}").send().unwrap_err();
        assert_eq!((error.delivery(), b.executed()), (Delivery::Answered, 0), "{status}: POST");
        assert_eq!(client.get("/").send().unwrap().text().unwrap(), "b", "{status}: GET");
        assert_eq!((a.executed(), b.executed()), (2, 1), "{status}");
    }
}
