//! F52 to F60: connections that are used again.

use crate::network::{ms, secs};
use crate::support::{Reply, Script, Server, pass, timed};
use crate::wire::over;
use anyhost::{Phase, Status, StatusSet};

/// The server closes as the next request is on its way: some meet the close, and are replayed (R2).
/// The pauses lie around the server's patience, in small steps and not the row's 50 ms.
#[test]
fn f52_reuse_meets_the_servers_close() {
    const CALLS: usize = 500;
    let server = Server::start(Reply::ok("here").idle(ms(3)).close());
    let client = over(&[server.url()]).set("breaker", "on").build().unwrap();
    let mut replays = 0;
    for call in 0..CALLS {
        let answer = client.get("/").send().unwrap();
        assert_eq!(answer.text().unwrap(), "here", "call {call}");
        replays += answer.attempts().len() - 1;
        assert!(answer.attempts().iter().skip(1).all(|attempt| attempt.is_replay()), "call {call}");
        // From 2.4 to 3.6 ms.
        pass(ms(2) + ms(1) * (call % 13) as u32 / 10 + ms(4) / 10);
    }
    let snapshot = client.snapshot();
    assert_eq!(snapshot.members()[0].failures(), 0, "{replays} replays, held against nobody");
}

/// The row wants a 408 on a reused connection tried again. By R1 an answer is an answer, and 408 is not
/// among those that move on: a preset or `resend_statuses` adds it. What a POST gets is the row's.
#[test]
fn f54_408_for_a_connection_too_old_is_an_answer() {
    let aged = || {
        Server::start(Script::each([Reply::ok("first"), Reply::status(408).last(), Reply::ok("x")]))
    };
    for method in ["GET", "POST"] {
        let server = aged();
        let client = over(&[server.url()]).build().unwrap();
        client.get("/").send().unwrap();
        let answer = client.request(method, "/").send().unwrap();
        assert_eq!((answer.status(), answer.attempts().len()), (408, 1), "{method}");
        assert!(answer.attempts()[0].reused_connection(), "{method}");
        assert_eq!(client.request(method, "/").send().unwrap().status(), 200, "{method}");
        assert_eq!(server.connections(), 2, "what said that it closes is not used again");
    }
    let (server, b) = (aged(), Server::start(Reply::ok("b")));
    let timeouts: StatusSet = "408".parse().unwrap();
    let client = over(&[server.url(), b.url()]).resend_statuses(timeouts).build().unwrap();
    client.get("/").send().unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "b");
}

/// An answer that is not read to its end leaves nothing behind on a connection.
#[test]
fn f56_what_was_not_read_is_nobody_elses_answer() {
    let big = Reply::ok(vec![b'x'; 1 << 20]);
    let server = Server::start(Script::always(Reply::ok("ok")).on("/big", big));
    let client = over(&[server.url()]).build().unwrap();
    for round in 1..4 {
        let error = client.get("/big").max_body(1000).send().unwrap_err();
        assert_eq!((error.status(), error.phase()), (Status::TooLarge, Phase::Body));
        let answer = client.get("/small").send().unwrap();
        assert_eq!(answer.text().unwrap(), "ok");
        assert!(!answer.attempts()[0].reused_connection(), "round {round}");
    }
}

#[test]
fn f58_http_1_0_with_a_length_needs_no_close() {
    let old = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi";
    let server = Server::start(Reply::raw(old).hold());
    let client = over(&[server.url()]).attempt_timeout(secs(20)).build().unwrap();
    let (answer, took) = timed(|| client.get("/").send().unwrap());
    assert_eq!(answer.text().unwrap(), "hi");
    assert!(took < secs(1), "{took:?}");
}

#[test]
fn f60_an_idle_connection_ages() {
    let server = Server::start(Reply::ok("x"));
    let client = over(&[server.url()]).idle_timeout(ms(100)).build().unwrap();
    client.get("/").send().unwrap();
    pass(ms(150));
    client.get("/").send().unwrap();
    assert_eq!(server.connections(), 2);
}
