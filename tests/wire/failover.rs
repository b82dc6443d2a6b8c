//! Which outcome moves a call on to the next endpoint, and where the next call starts: the vectors
//! D-1 to D-21 of seed 000, each on sockets. The 300 s of D-12 to D-16 pass in virtual time in
//! `tests/vectors/failover.rs`; here the same holds are short.

use crate::support::*;
use crate::{Log, order, over, told};
use anyhost::{Body, Delivery, EventKind, Phase, Reason, Status, TlsRoots};
use std::time::Duration;

/// More than a busy machine adds to a wait.
const SLACK: Duration = ms(300);

/// A connect limit far above what loopback takes and far below what a test may take.
const CONNECT: Duration = ms(200);

const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"];

#[test]
fn d01_a_refused_post_goes_to_the_fallback_whole() {
    let (p, f) = (refusing_address(), Server::start(Reply::ok("f")));
    let client = over(&[&p, &f]).build().unwrap();
    let body: Vec<u8> = (0..65536u32).map(|n| (n * 31 % 251) as u8).collect(); // F07: 64 KiB

    let answer = client.post("/orders").body(body.clone()).send().unwrap();

    assert_eq!((answer.status(), answer.text().unwrap()), (200, "f"));
    assert_eq!(
        told(answer.attempts()),
        [
            (Reason::Refused, Phase::Connect, Delivery::NotSent),
            (Reason::None, Phase::Body, Delivery::Answered)
        ]
    );
    let got = f.requests();
    assert_eq!((got.len(), got[0].method.as_str()), (1, "POST"));
    assert!(got[0].body == body, "the body is another one");
    assert_eq!(got[0].header("Content-Length"), Some("65536"));
}

#[test]
fn d02_a_refused_post_with_a_one_shot_body_is_an_error() {
    let (p, f) = (refusing_address(), Server::start(Reply::ok("f")));
    let client = over(&[&p, &f]).build().unwrap();

    let error = client.post("/").body(Body::reader(&b"abc"[..], Some(3))).send().unwrap_err();

    assert_eq!(error.status(), Status::NotReplayable);
    assert_eq!((error.reason(), error.delivery()), (Reason::Refused, Delivery::NotSent));
    assert_eq!(f.connections(), 0);
}

#[test]
fn d03_a_reset_after_reading_ends_a_post_and_moves_a_get_on() {
    let (p, f) = (Server::start(Reply::resets()), Server::start(Reply::ok("f")));
    let client = over(&[&p, &f]).hold_for(ms(0)).build().unwrap();

    let error = client.post("/").body("x").send().unwrap_err();
    assert_eq!(error.status(), Status::AttemptsSpent);
    assert_eq!(told(error.attempts()), [(Reason::Reset, Phase::Head, Delivery::Maybe)]);
    assert_eq!((p.executed(), f.connections()), (1, 0));

    let answer = client.get("/").send().unwrap();
    assert_eq!(answer.text().unwrap(), "f");
    assert_eq!((p.count("GET"), f.count("GET")), (1, 1));
}

/// The defaults of seed 000, in real time.
#[test]
fn d04_the_fallback_is_tried_after_two_seconds() {
    let (p, f) = (Blackhole::new(), Server::start(Reply::ok("f")));
    let client = over(&[&p.url(), &f]).deadline(ms(4000)).build().unwrap();

    let (answer, took) = timed(|| client.post("/").body("x").send().unwrap());

    within(ms(2000), took, SLACK);
    assert_eq!(answer.text().unwrap(), "f");
    assert_eq!(told(answer.attempts())[0], (Reason::Timeout, Phase::Connect, Delivery::NotSent));
    assert_eq!(f.count("POST"), 1);
}

/// F16 too: well under the call's second, also for a POST.
#[test]
fn d04_every_method_leaves_an_endpoint_that_swallows_connections() {
    let (p, f) = (Blackhole::new(), Server::start(Reply::ok("f")));
    let client = over(&[&p.url(), &f]).hold_for(ms(0)).connect_timeout(ms(100)).build().unwrap();
    for method in METHODS {
        let (answer, took) = timed(|| client.request(method, "/").send().unwrap());
        within(ms(100), took, SLACK);
        assert_eq!(answer.attempts().len(), 2, "{method}");
        assert_eq!(f.count(method), 1, "{method}");
    }
}

#[test]
fn d05_a_peer_that_never_speaks_tls_was_sent_nothing() {
    let ca = Authority::new();
    let (p, f) = (silent(), Server::tls(&ca.server(), Reply::ok("f")));
    let client = over(&[&format!("https://{}", p.addr), &f])
        .tls_roots(TlsRoots::None)
        .add_root_pem(ca.pem())
        .connect_timeout(CONNECT)
        .build()
        .unwrap();

    let (answer, took) = timed(|| client.post("/").body("x").send().unwrap());

    within(CONNECT, took, SLACK);
    assert_eq!(told(answer.attempts())[0], (Reason::Timeout, Phase::Tls, Delivery::NotSent));
    assert_eq!((answer.text().unwrap(), f.count("POST")), ("f", 1));
}

#[test]
fn d06_the_last_attempt_has_no_connect_limit() {
    let (p, f) = (refusing_address(), Blackhole::new());
    let client = over(&[&p, &f.url()]).connect_timeout(ms(100)).build().unwrap();

    let (error, took) = timed(|| client.get("/").deadline(ms(600)).send().unwrap_err());
    within(ms(600), took, SLACK);
    assert_eq!(error.status(), Status::Deadline);
    assert_eq!(
        told(error.attempts()),
        [
            (Reason::Refused, Phase::Connect, Delivery::NotSent),
            (Reason::Deadline, Phase::Connect, Delivery::NotSent)
        ]
    );

    // R3: the limit of the attempt still binds it.
    let (error, took) = timed(|| client.get("/").attempt_timeout(ms(400)).send().unwrap_err());
    within(ms(400), took, SLACK);
    assert_eq!((error.status(), error.reason()), (Status::AttemptsSpent, Reason::Timeout));
}

/// What the server says in the path.
fn says_its_path() -> Reply {
    Reply::made(|request| {
        let status = request.target[1..].parse().expect("a status as path");
        Reply::status(status).body("p")
    })
}

/// D-7 to D-10, F13, F14, F18, F114 as one table: who moves on after which status.
#[test]
fn d07_to_d10_each_status_moves_on_whom_it_should() {
    let (p, f) = (Server::start(says_its_path()), Server::start(Reply::ok("f")));
    let client = over(&[&p, &f]).hold_for(ms(0)).build().unwrap();

    const NOBODY: &[&str] = &[];
    let safe = &METHODS[..2];
    let all = &METHODS[..];
    let stays = [
        200, 201, 202, 203, 204, 205, 206, 226, 300, 301, 302, 303, 304, 305, 307, 308, 400, 401,
        402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 421,
        422, 423, 424, 425, 426, 428, 429, 431, 451, 499, 500, 501, 505, 506, 507, 508, 510, 511,
        519, 524, 527, 528, 529, 530, 599, 600, 999,
    ];
    let table = stays.map(|status| (status, NOBODY)).into_iter().chain([
        (502, safe),
        (503, safe),
        (504, safe),
        (520, safe),
        (521, all),
        (522, all), // at once, so no connection was made (R1)
        (523, all),
        (525, safe),
        (526, safe),
    ]);
    for (status, movers) in table {
        for method in METHODS {
            let (p_before, f_before) = (p.requests().len(), f.requests().len());
            let answer = client.request(method, &format!("/{status}")).send().unwrap();
            let to_f = f.requests().len() - f_before;
            let moves = movers.contains(&method);
            assert_eq!(to_f, usize::from(moves), "{method} after {status}");
            assert_eq!(p.requests().len() - p_before, 1, "{method} after {status}");
            assert_eq!(answer.status(), if moves { 200 } else { status }, "{method} {status}");
        }
    }
}

#[test]
fn d11_when_both_fail_the_last_answer_is_the_result() {
    let (p, f) = (Server::start(Reply::status(503)), Server::start(Reply::status(502).body("f")));
    let client = over(&[&p, &f]).build().unwrap();
    let answer = client.get("/").send().unwrap();
    assert_eq!((answer.status(), answer.text().unwrap()), (502, "f"));

    let (p, f) = (refusing_address(), Server::start(Reply::resets()));
    let error = over(&[&p, &f]).build().unwrap().get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::AttemptsSpent, Reason::Reset));
}

#[test]
fn d12_after_a_failover_the_fallback_comes_first() {
    let p = Server::start(Script::each([Reply::status(503), Reply::ok("p")]));
    let f = Server::start(Reply::ok("f"));
    let log = Log::default();
    let client = over(&[&p, &f]).on_event(log.recorder()).build().unwrap();

    for _ in 0..3 {
        assert_eq!(client.get("/").send().unwrap().text().unwrap(), "f");
    }
    assert_eq!((p.count("GET"), f.count("GET")), (1, 3));
    // A POST follows the same preference.
    client.post("/").send().unwrap();
    assert_eq!((p.count("POST"), f.count("POST")), (0, 1));
    assert_eq!(log.count(EventKind::HoldSet), 1);
}

/// R3: `hold_for` 0 is no hold, and none is told.
#[test]
fn d12_a_hold_of_zero_is_none() {
    let p = Server::start(Script::each([Reply::status(503), Reply::ok("p")]));
    let f = Server::start(Reply::ok("f"));
    let log = Log::default();
    let client = over(&[&p, &f]).hold_for(ms(0)).on_event(log.recorder()).build().unwrap();

    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "f");
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "p");
    assert_eq!((log.count(EventKind::HoldSet), log.count(EventKind::HoldEnded)), (0, 0));
    assert_eq!(log.count(EventKind::Failover), 1);
}

#[test]
fn d13_when_the_hold_is_over_the_primary_comes_first() {
    let p = Server::start(Script::each([Reply::status(503), Reply::ok("p")]));
    let f = Server::start(Script::from(Reply::ok("f")).on("/slow", Reply::ok("f").after(ms(350))));
    let log = Log::default();
    let client = over(&[&p, &f]).hold_for(ms(300)).on_event(log.recorder()).build().unwrap();

    client.get("/").send().unwrap();
    // Begins within the hold, ends after it.
    assert_eq!(client.get("/slow").send().unwrap().text().unwrap(), "f");
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "p");
    assert_eq!((log.count(EventKind::HoldSet), log.count(EventKind::HoldEnded)), (1, 1));
}

#[test]
fn d14_when_the_held_one_fails_the_order_wraps_and_the_primary_ends_the_hold() {
    let p = Server::start(Script::each([Reply::status(503), Reply::ok("p")]));
    let f = Server::start(Script::each([Reply::ok("f"), Reply::status(503), Reply::ok("f")]));
    let log = Log::default();
    let client = over(&[&p, &f]).on_event(log.recorder()).build().unwrap();

    client.get("/1").send().unwrap();
    let wrapped = client.get("/2").send().unwrap();
    assert_eq!(wrapped.text().unwrap(), "p");
    assert_eq!(order(wrapped.attempts(), &[&p, &f]), [1, 0]);
    assert_eq!((log.count(EventKind::HoldSet), log.count(EventKind::HoldEnded)), (1, 1));

    assert_eq!(order(client.get("/3").send().unwrap().attempts(), &[&p, &f]), [0]);
    assert_eq!(log.count(EventKind::Failover), 1, "one notice in the life of a client");
}

#[test]
fn d15_success_does_not_prolong_the_hold() {
    let p = Server::start(Script::each([Reply::status(503), Reply::ok("p")]));
    let f = Server::start(Reply::ok("f").after(ms(100)));
    let client = over(&[&p, &f]).hold_for(ms(350)).build().unwrap();

    client.get("/").send().unwrap();
    // Each call begins well within 350 ms of the one before it; together they take 600 ms.
    let back = (0..6).any(|_| client.get("/").send().unwrap().text().unwrap() == "p");
    assert!(back, "the primary was never tried again");
    assert!(f.count("GET") >= 2, "there was no hold at all");
}

#[test]
fn d16_when_the_primary_is_still_down_a_new_hold_begins() {
    let p = Server::start(Reply::status(503));
    let f = Server::start(Script::from(Reply::ok("f")).on("/slow", Reply::ok("f").after(ms(850))));
    let log = Log::default();
    let client = over(&[&p, &f]).hold_for(ms(800)).on_event(log.recorder()).build().unwrap();

    client.get("/1").send().unwrap();
    client.get("/slow").send().unwrap();
    assert_eq!((p.count("GET"), log.count(EventKind::HoldSet)), (1, 1));
    assert_eq!(order(client.get("/3").send().unwrap().attempts(), &[&p, &f]), [0, 1]);
    assert_eq!(log.count(EventKind::HoldSet), 2);
    assert_eq!(order(client.get("/4").send().unwrap().attempts(), &[&p, &f]), [1]);
}

#[test]
fn d17_the_order_starts_at_the_held_one_and_wraps() {
    let a = Server::start(Script::each([Reply::status(503), Reply::ok("a")]));
    let b = Server::start(Script::each([Reply::ok("b"), Reply::status(503)]));
    let c = Server::start(Reply::status(503));
    let client = over(&[&a, &b, &c]).build().unwrap();

    assert_eq!(order(client.get("/").send().unwrap().attempts(), &[&a, &b, &c]), [0, 1]);
    assert_eq!(order(client.get("/").send().unwrap().attempts(), &[&a, &b, &c]), [1, 2, 0]);
}

#[test]
fn d18_only_an_answer_not_blamed_on_the_fallback_sets_a_hold() {
    for (reply, hold) in [
        (Reply::resets(), false),
        (Reply::status(503), false),
        (Reply::status(500), false),
        (Reply::status(429), false),
        (Reply::status(404), true), // an answer is an answer
        (Reply::status(302), true),
        (Reply::ok("f"), true),
    ] {
        let p = Server::start(Reply::status(503));
        let f = Server::start(reply);
        let log = Log::default();
        let client = over(&[&p, &f]).on_event(log.recorder()).build().unwrap();
        // R11 makes even the reset an answer here: P's.
        let first = client.get("/").send().unwrap();
        assert_eq!(order(first.attempts(), &[&p, &f]), [0, 1]);
        client.get("/").send().unwrap();
        let status = first.attempts()[1].http_status();
        assert_eq!(p.count("GET"), if hold { 1 } else { 2 }, "after {status:?}");
        assert_eq!(log.count(EventKind::HoldSet), usize::from(hold), "after {status:?}");
    }
}

#[test]
fn d19_fifty_threads_that_fail_over_together_set_one_hold_and_tell_it_once() {
    let all_there = Event::new();
    let p = Server::start(Reply::status(503).after(&all_there));
    let f = Server::start(Reply::ok("f"));
    let log = Log::default();
    let client =
        over(&[&p, &f]).attempt_timeout(ms(20_000)).on_event(log.recorder()).build().unwrap();

    std::thread::scope(|threads| {
        for _ in 0..50 {
            threads.spawn(|| assert_eq!(client.get("/").send().unwrap().text().unwrap(), "f"));
        }
        p.wait_for_requests(50, ms(15_000));
        all_there.open();
    });

    assert_eq!((p.count("GET"), f.count("GET")), (50, 50));
    assert_eq!((log.count(EventKind::HoldSet), log.count(EventKind::Failover)), (1, 1));
    client.get("/").send().unwrap();
    assert_eq!((p.count("GET"), f.count("GET")), (50, 51));
}

/// F01: the idle connection took the whole request before it closed.
#[test]
fn d20_a_post_that_a_dying_idle_connection_took_is_not_moved_on() {
    let p = Server::start(Script::each([Reply::ok("p"), Reply::closed(), Reply::ok("p")]));
    let f = Server::start(Reply::ok("f"));
    let client = over(&[&p, &f]).build().unwrap();

    client.get("/1").send().unwrap();
    let error = client.post("/2").body("x").send().unwrap_err();

    assert_eq!(error.status(), Status::AttemptsSpent);
    assert_eq!(told(error.attempts()), [(Reason::StaleConnection, Phase::Head, Delivery::Maybe)]);
    assert!(error.attempts()[0].reused_connection());
    let got = p.requests();
    assert_eq!(got.len(), 2);
    assert_eq!((got[1].connection, got[1].index), (0, 1), "not on the idle connection");
    assert_eq!(f.connections(), 0);
}

#[test]
fn d21_one_endpoint_forwards_only() {
    let log = Log::default();
    let p = refusing_address();
    let client = over(&[&p]).on_event(log.recorder()).build().unwrap();
    for method in METHODS {
        let error = client.request(method, "/").send().unwrap_err();
        assert_eq!(error.status(), Status::AttemptsSpent, "{method}");
        assert_eq!(told(error.attempts()), [(Reason::Refused, Phase::Connect, Delivery::NotSent)]);
    }
    assert_eq!((log.count(EventKind::Failover), log.count(EventKind::HoldSet)), (0, 0));

    // Nor has its one attempt a connect limit.
    let p = Blackhole::new();
    let client = over(&[&p.url()]).connect_timeout(ms(100)).attempt_timeout(ms(400)).build();
    let (error, took) = timed(|| client.unwrap().get("/").send().unwrap_err());
    within(ms(400), took, SLACK);
    assert_eq!(error.reason(), Reason::Timeout);
}

/// Seed 000, `Notice`: the first failover of a client, hosts only.
#[test]
fn the_failover_event_names_both_hosts_and_nothing_else() {
    let p = Server::start(Reply::status(503));
    let f = Server::start(Reply::ok("f"));
    let log = Log::default();
    let base = |server: &Server| format!("http://u:canary@{}/canary/", server.addr);
    let client = over(&[&base(&p), &base(&f)]).hold_for(ms(0)).on_event(log.recorder()).build();
    let client = client.unwrap();
    client.get("/canary?canary").send().unwrap();
    client.get("/canary?canary").send().unwrap();

    assert_eq!(log.count(EventKind::Failover), 1);
    let line = format!("{} not answering, using {} ", p.addr, f.addr);
    assert!(log.texts().iter().any(|text| text.starts_with(&line)), "{:#?}", log.texts());
    assert!(!log.texts().concat().contains("canary"), "{:#?}", log.texts());
}

/// Each attempt begins and ends once, each call ends once, and the failover stands between two.
#[test]
fn what_the_observer_is_told_is_what_happened() {
    let p = Server::start(Reply::status(503));
    let f = Server::start(Reply::ok("f"));
    let log = Log::default();
    let client = over(&[&p, &f]).hold_for(ms(0)).on_event(log.recorder()).build().unwrap();
    client.get("/").send().unwrap();
    use EventKind::*;
    let started_and_ended = [AttemptStarted, AttemptEnded];
    let expected = [&started_and_ended[..], &[Failover], &started_and_ended, &[CallEnded]].concat();
    assert_eq!(log.kinds(), expected);
    client.post("/").send().unwrap();
    assert_eq!(log.kinds()[6..], [AttemptStarted, AttemptEnded, CallEnded]);
}

/// R11: a callback that panics changes nothing.
#[test]
fn an_observer_that_panics_changes_nothing() {
    let (p, f) = (Server::start(Reply::status(503)), Server::start(Reply::ok("f")));
    let client = over(&[&p, &f]).on_event(|_| panic!("an observer of this test")).build().unwrap();
    let answer = client.get("/").send().unwrap();
    assert_eq!((answer.text().unwrap(), answer.attempts().len()), ("f", 2));
    assert_eq!(client.post("/").send().unwrap().text().unwrap(), "f");
}
