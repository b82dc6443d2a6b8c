//! F114, F118, F120: statuses out of the ordinary, and answers before the answer.

use crate::network::ms;
use crate::support::{Reply, Server, timed};
use crate::wire::over;
use anyhost::{Delivery, Reason};

/// RFC 9110 section 15: what is no status of three digits breaks the protocol; from 600 on a number
/// is handed out as it is, and treated as a server's fault that nobody knows (5xx).
#[test]
fn f114_a_status_beyond_599() {
    let raw = |status: &str| {
        let head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: 2");
        Reply::raw(format!("{head}\r\n\r\nno")).close()
    };
    for (number, reason) in
        [(599, Reason::Status5xx), (600, Reason::BadAnswer), (999, Reason::BadAnswer)]
    {
        let (a, b) = (Server::start(raw(&number.to_string())), Server::start(Reply::ok("b")));
        let client = over(&[a.url(), b.url()]).set("breaker", "on").build().unwrap();
        for method in ["GET", "POST"] {
            let answer = client.request(method, "/").send().unwrap();
            assert_eq!((answer.status(), answer.text().unwrap()), (number, "no"), "{method}");
            let attempt = &answer.attempts()[0];
            assert_eq!((attempt.reason(), attempt.delivery()), (reason, Delivery::Answered));
        }
        assert_eq!((a.requests().len(), b.connections()), (2, 0), "{number}: an answer");
        assert_eq!(client.snapshot().members()[0].failures(), 2, "{number}");
    }
    for malformed in ["099", "000", "1000", "20", "2 0", "-20", "abc", ""] {
        let (a, b) = (Server::start(raw(malformed)), Server::start(Reply::ok("b")));
        let client = over(&[a.url(), b.url()]).build().unwrap();
        let error = client.post("/").body("x").send().unwrap_err();
        assert_eq!(
            (error.reason(), error.delivery()),
            (Reason::Protocol, Delivery::Maybe),
            "{malformed}"
        );
        assert_eq!((a.executed(), b.connections()), (1, 0), "{malformed}: sent once");
        assert_eq!(client.get("/").send().unwrap().text().unwrap(), "b", "{malformed}");
    }
}

#[test]
fn f118_answers_before_the_answer_are_skipped() {
    let reply = || Reply::ok("ok").interim(100).interim(103).interim(103);
    let server = Server::start(reply());
    let client = over(&[server.url()]).build().unwrap();
    for (method, body) in [("GET", ""), ("POST", "body"), ("HEAD", "")] {
        let answer = client.request(method, "/").body(body).send().unwrap();
        assert_eq!(answer.status(), 200, "{method}");
        assert_eq!(server.requests().last().unwrap().text(), body);
    }
    assert_eq!(server.connections(), 1, "and its connection is as good as any");
}

/// `Expect` is never sent, whoever sets it: so nobody can turn it down, and nothing waits for what
/// may not come. A 417 all the same is an answer.
#[test]
fn f120_nothing_is_expected() {
    let strict = || {
        Reply::made(|request| match request.header("Expect") {
            Some(_) => Reply::status(417),
            None => Reply::ok(request.text()),
        })
    };
    let (plain, interim, none) = (strict(), strict().interim(100), Reply::status(417));
    for (reply, status) in [(plain, 200), (interim, 200), (none, 417)] {
        let server = Server::start(reply);
        let client = over(&[server.url()]).build().unwrap();
        let put = client.put("/").header("Expect", "100-continue").body("body");
        let (answer, took) = timed(|| put.send().unwrap());
        assert_eq!(answer.status(), status);
        let request = &server.requests()[0];
        assert_eq!((request.header("Expect"), request.text().as_str()), (None, "body"));
        assert!(took < ms(900), "{took:?}: curl waits for a second");
    }
    // Silence until the body is there.
    let server = Server::start(Reply::ok("late").after(ms(50)));
    let client = over(&[server.url()]).build().unwrap();
    let put = client.put("/").header("Expect", "100-continue").body("body");
    let (answer, took) = timed(|| put.send().unwrap());
    assert_eq!(answer.text().unwrap(), "late");
    assert!(took < ms(900), "{took:?}");
}
