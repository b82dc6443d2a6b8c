//! A peer that means harm: how much it may make us read, hold and do. The security page of the manual has
//! the list; `tests/matrix/mutated.rs` and `fuzz/` look for what is not on it.

use crate::support::*;
use crate::{over, told};
use anyhost::{Delivery, Phase, Reason, Status, Timeout};
use std::io::Write;

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n";

fn raw(parts: &[&str]) -> Reply {
    Reply::raw(parts.concat()).close()
}

/// A head of 64 KiB at most, and 128 fields: more is no HTTP of ours. A write is not sent again for it.
#[test]
fn heads_are_bounded() {
    let fields = |count: usize| (0..count).map(|i| format!("X-{i}: y\r\n")).collect::<String>();
    let long = format!("X: {}\r\n", "y".repeat(60 << 10));
    // One that makes a head of so many bytes, with its first line, the length and the empty line.
    let whole = |bytes: usize| format!("X: {}\r\n", "y".repeat(bytes - HEAD.len() - 7));
    let (good, bad) = (true, false);
    for (what, head, accepted) in [
        ("128 fields with the length", fields(127), good),
        ("129 fields", fields(128), bad),
        ("a field of 60 KiB", long.clone(), good),
        ("64 KiB", whole(64 << 10), good),
        ("a byte more", whole((64 << 10) + 1), bad),
        ("two of them", long.repeat(2), bad),
        ("fields without end", fields(100_000), bad),
    ] {
        let p = Server::start(raw(&[HEAD, &head, "\r\nok"]));
        let f = Server::start(Reply::ok("f"));
        let client = || over(&[&p, &f]).build().unwrap();
        let read = client().get("/").send().unwrap();
        assert_eq!(read.text().unwrap(), if accepted { "ok" } else { "f" }, "{what}");
        let written = client().post("/").body("x").send();
        match accepted {
            true => assert_eq!(written.unwrap().text().unwrap(), "ok", "{what}"),
            false => {
                let error = written.unwrap_err();
                let expected = [(Reason::Protocol, Phase::Head, Delivery::Maybe)];
                assert_eq!(told(error.attempts()), expected, "{what}: {error}");
            }
        }
        assert_eq!(f.count("POST"), 0, "{what}");
    }
}

/// What goes on for ever ends with the attempt: interim answers, a head in drops, chunks of nothing.
#[test]
fn what_never_ends_is_ended() {
    let interim = |connection: &mut Connection| {
        connection.read_request();
        while connection.write_all(b"HTTP/1.1 102 Processing\r\n\r\n").is_ok() {}
    };
    let extensions = |connection: &mut Connection| {
        connection.read_request();
        let _ = connection.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        while connection.write_all(&[b'0'; 4096]).is_ok() {}
    };
    let trailers = |connection: &mut Connection| {
        connection.read_request();
        let _ = connection.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n");
        while connection.write_all(b"X: y\r\n").is_ok() {}
    };
    for (what, script) in [
        ("interim answers", Script::by_hand(interim)),
        ("the length of a chunk", Script::by_hand(extensions)),
        ("trailers", Script::by_hand(trailers)),
        ("a head in drops", Reply::ok("x").into_raw().drip(1, ms(50)).into()),
    ] {
        let p = Server::start(script);
        let client = over(&[&p]).attempt_timeout(ms(500)).build().unwrap();
        let (error, took) = timed(|| client.get("/").send().unwrap_err());
        assert!(took <= ms(500) + ms(400), "{what}: {took:?}");
        assert!([Status::AttemptsSpent, Status::Body].contains(&error.status()), "{what}: {error}");
    }
}

/// A length is believed as far as memory goes only when the bytes are there.
#[test]
fn a_length_is_no_reason_to_take_memory() {
    let huge = "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nx";
    let p = Server::start(raw(&[huge]));
    let client = over(&[&p]).attempt_timeout(Timeout::infinite()).build().unwrap();
    assert_eq!(client.get("/").send().unwrap_err().status(), Status::TooLarge);
    let client = over(&[&p]).max_body(u64::MAX).attempt_timeout(ms(2000)).build().unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::Body, Reason::Truncated));
}

/// What two readers of an answer would read as two different answers is none (RFC 9112 section 6.3).
#[test]
fn ambiguous_lengths_are_refused_or_end_the_connection() {
    for head in [
        "Content-Length: 2\r\nContent-Length: 3\r\n",
        "Content-Length: 2, 3\r\n",
        "Content-Length: -2\r\n",
        "Content-Length: +2\r\n",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
    ] {
        let answer = format!("HTTP/1.1 200 OK\r\n{head}\r\n2\r\nok\r\n0\r\n\r\n");
        let p = Server::start(Script::each([Reply::raw(answer), Reply::ok("second")]));
        let client = over(&[&p]).attempt_timeout(ms(1000)).build().unwrap();
        let first = client.get("/").send();
        // Whatever became of it, its rest is never the beginning of the next answer.
        let second = client.get("/").send();
        let second = second.map(|answer| answer.text().unwrap().to_owned());
        assert_eq!(second.unwrap(), "second", "{head:?}: {first:?}");
        assert_eq!(p.connections(), 2, "{head:?}: {first:?}");
    }
}
