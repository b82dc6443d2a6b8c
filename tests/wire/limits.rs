//! Every limit binds, and none binds early: R3 (connecting), R9 (attempt, deadline), the waits, and
//! the policies across endpoints.
//!
//! Early is measured to the millisecond; late with room for a busy machine.

use crate::support::*;
use crate::{Log, order, over, told};
use anyhost::{Delivery, EventKind, Phase, Reason, Resend, Status, Timeout};
use std::time::Duration;

/// More than a busy machine adds to a wait.
const SLACK: Duration = ms(250);

/// R9: the deadline bounds attempts, waits and body together (F41, F51).
#[test]
fn the_deadline_bounds_the_whole_call() {
    let ca = Authority::new();
    let hole = Blackhole::new();
    let rows: [(&str, Server, Phase); 5] = [
        ("no answer", Server::start(Reply::holds()), Phase::Head),
        ("a dripping head", Server::start(Reply::ok("x").into_raw().drip(1, ms(20))), Phase::Head),
        ("a dripping body", Server::start(Reply::ok(vec![b'x'; 100]).drip(1, ms(20))), Phase::Body),
        ("no TLS", Server::tls(&ca.server(), Reply::swallows()), Phase::Tls),
        ("no reading", slow_reader(1024), Phase::Send),
    ];
    for (what, server, phase) in rows {
        let client = over(&[&server])
            .tls_roots(anyhost::TlsRoots::None)
            .add_root_pem(ca.pem())
            .attempt_timeout(Timeout::infinite())
            .deadline(ms(300))
            .build()
            .unwrap();
        let body = vec![0; if phase == Phase::Send { 16 << 20 } else { 0 }];
        let (error, took) = timed(|| client.put("/").body(body).send().unwrap_err());
        within(ms(300), took, SLACK);
        assert_eq!(error.status(), Status::Deadline, "{what}: {error:?}");
        assert_eq!((error.reason(), error.phase()), (Reason::Deadline, phase), "{what}: {error:?}");
    }
    let client = over(&[&hole.url()]).deadline(ms(300)).build().unwrap();
    let (error, took) = timed(|| client.get("/").send().unwrap_err());
    within(ms(300), took, SLACK);
    assert_eq!((error.status(), error.phase()), (Status::Deadline, Phase::Connect));
    assert_eq!(error.delivery(), Delivery::NotSent);
}

/// F41: "300 ms" over three hosts is not 900 ms when the call may take 500.
#[test]
fn the_deadline_cuts_the_attempt_that_crosses_it() {
    let held = || Server::start(Reply::holds());
    let (a, b, c) = (held(), held(), held());
    let client = over(&[&a, &b, &c]).attempt_timeout(ms(300)).deadline(ms(500)).build().unwrap();
    let (error, took) = timed(|| client.get("/").send().unwrap_err());
    within(ms(500), took, SLACK);
    assert_eq!(error.status(), Status::Deadline);
    assert_eq!(
        told(error.attempts()),
        [
            (Reason::Timeout, Phase::Head, Delivery::Maybe),
            (Reason::Deadline, Phase::Head, Delivery::Maybe)
        ]
    );
    assert_eq!(c.connections(), 0);
}

/// R9: the limit of an attempt covers its body, and is the attempt's own.
#[test]
fn the_attempt_limit_covers_the_body_and_starts_anew() {
    for reply in [Reply::holds(), Reply::ok(vec![b'x'; 100]).drip(1, ms(20))] {
        let (a, b) = (Server::start(reply.clone()), Server::start(reply));
        let client = over(&[&a, &b]).attempt_timeout(ms(250)).build().unwrap();
        let (error, took) = timed(|| client.get("/").send().unwrap_err());
        within(ms(500), took, SLACK);
        assert_eq!(error.reason(), Reason::Timeout);
        for attempt in error.attempts() {
            within(ms(250), attempt.elapsed(), SLACK);
        }
        within(ms(250), error.attempts()[1].started(), SLACK);
    }
}

/// F45: a handshake done by the kernel is a connection; what was written may be read one day.
#[test]
fn a_listener_that_never_accepts_is_met_by_the_attempt_limit() {
    let (held, f) = (Server::start(Reply::holds().unread()), Server::start(Reply::ok("f")));
    let client = over(&[&held, &f]).attempt_timeout(ms(250)).build().unwrap();
    let (error, took) = timed(|| client.post("/").body("x").send().unwrap_err());
    within(ms(250), took, SLACK);
    assert_eq!(told(error.attempts()), [(Reason::Timeout, Phase::Head, Delivery::Maybe)]);
    assert_eq!(f.connections(), 0);
}

/// R3: min(connect timeout, attempt limit, half of the deadline left).
#[test]
fn connecting_takes_no_more_than_its_share() {
    for (connect, attempt, deadline, expected) in [
        (Some(ms(200)), 5000, None, 200),
        (Some(ms(2000)), 250, None, 250),
        (Some(ms(2000)), 5000, Some(ms(600)), 300),
        (None, 5000, Some(ms(600)), 300),
    ] {
        let (p, f) = (Blackhole::new(), Server::start(Reply::ok("f")));
        let client = over(&[&p.url(), &f])
            .connect_timeout(connect)
            .attempt_timeout(ms(attempt))
            .deadline(deadline)
            .build()
            .unwrap();
        let (answer, took) = timed(|| client.post("/").send().unwrap());
        within(ms(expected), took, SLACK);
        assert_eq!(answer.text().unwrap(), "f");
        assert_eq!(
            told(answer.attempts())[0],
            (Reason::Timeout, Phase::Connect, Delivery::NotSent)
        );
    }
}

/// R3: the connect limit is over once there is a connection.
#[test]
fn the_connect_limit_does_not_bind_the_answer() {
    let slow = Server::start(Reply::ok("slow").after(ms(300)));
    let f = Server::start(Reply::ok("f"));
    let client = over(&[&slow, &f]).connect_timeout(ms(100)).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "slow");
}

/// R3: an attempt is the last also where `max_attempts` or a one-shot body says so.
#[test]
fn the_last_attempt_has_only_its_own_connect_limit() {
    use anyhost::Body;
    let (p, f) = (Blackhole::new(), Server::start(Reply::ok("f")));
    let client = over(&[&p.url(), &f]).connect_timeout(ms(100)).attempt_timeout(ms(350)).build();
    let client = client.unwrap();
    let one_shot = || Body::reader(&b"x"[..], None);
    let (error, took) = timed(|| client.post("/").body(one_shot()).send().unwrap_err());
    within(ms(350), took, SLACK);
    assert_eq!(error.status(), Status::NotReplayable);
    let (error, took) = timed(|| client.post("/").max_attempts(1).send().unwrap_err());
    within(ms(350), took, SLACK);
    assert_eq!(error.status(), Status::AttemptsSpent);
    let limited = client.post("/").max_attempts(1).connect_timeout_last(ms(200));
    let (_, took) = timed(|| limited.send().unwrap_err());
    within(ms(200), took, ms(140));
    assert_eq!(f.connections(), 0);
}

/// A body that stands still is given up; one that crawls is not (F43).
#[test]
fn the_stall_limit_is_for_silence_inside_a_body() {
    let stalled = Server::start(Reply::ok("0123456789").cut(4).hold());
    let crawling = Server::start(Reply::ok("0123456789").drip(1, ms(60)));
    let late = Server::start(Reply::ok("late").after(ms(400)));
    let client = |server: &Server| over(&[server]).stall_timeout(ms(250)).build().unwrap();

    let (error, took) = timed(|| client(&stalled).get("/").send().unwrap_err());
    within(ms(250), took, SLACK);
    assert_eq!((error.status(), error.phase()), (Status::Body, Phase::Body));
    assert_eq!((error.reason(), error.http_status()), (Reason::Timeout, Some(200)));

    let (answer, took) = timed(|| client(&crawling).get("/").send().unwrap());
    assert_eq!(answer.text().unwrap(), "0123456789");
    assert!(took > ms(500), "{took:?}");
    assert_eq!(client(&late).get("/").send().unwrap().text().unwrap(), "late");
}

/// R5: an endpoint tried comes again when all others were tried; a wait is told.
#[test]
fn with_more_attempts_per_endpoint_the_call_comes_back() {
    let a = Server::start(Script::each([Reply::status(503), Reply::status(503), Reply::ok("a")]));
    let b = Server::start(Reply::status(503));
    let log = Log::default();
    let client = over(&[&a, &b])
        .attempts_per_endpoint(3)
        .backoff_base(ms(2))
        .on_event(log.recorder())
        .build()
        .unwrap();
    let answer = client.get("/").send().unwrap();
    assert_eq!(answer.text().unwrap(), "a");
    assert_eq!(order(answer.attempts(), &[&a, &b]), [0, 1, 0, 1, 0]);
    assert_eq!(log.count(EventKind::Waiting), 3);

    // Six attempts, and no seventh.
    let (a, b) = (Server::start(Reply::status(503)), Server::start(Reply::status(503)));
    let client = over(&[&a, &b]).attempts_per_endpoint(3).backoff_base(ms(2)).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().attempts().len(), 6);
    assert_eq!((a.count("GET"), b.count("GET")), (3, 3));
    let answer = client.get("/").max_attempts(4).send().unwrap();
    assert_eq!(answer.attempts().len(), 4);
}

/// The wait before coming back is drawn below a ceiling that doubles up to its maximum.
#[test]
fn waits_stay_below_their_ceilings_and_are_repeatable_by_seed() {
    let refusing = refusing_address();
    let waits = |seed| {
        let log = Log::default();
        let client = over(&[&refusing])
            .attempts_per_endpoint(5)
            .backoff_base(ms(20))
            .backoff_max(ms(50))
            .seed(seed)
            .on_event(log.recorder())
            .build()
            .unwrap();
        let error = client.post("/").send().unwrap_err();
        assert_eq!(error.attempts().len(), 5);
        let told = log.texts().into_iter().filter(|text| text.contains(" waits for "));
        let number = |text: String| {
            let rest = text.split(" waits for ").nth(1).unwrap().to_owned();
            rest.split(' ').next().unwrap().parse::<u64>().unwrap()
        };
        told.map(number).collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    for seed in 0..8 {
        let waited = waits(seed);
        assert_eq!(waited.len(), 4);
        for (wait, ceiling) in waited.iter().zip([20, 40, 50, 50]) {
            assert!(*wait <= ceiling, "seed {seed}: {waited:?}");
        }
        all.push(waited);
    }
    assert_eq!(waits(3), all[3]);
    all.sort();
    all.dedup();
    assert!(all.len() > 1, "every seed waits alike");
}

/// R9: a wait that would cross the deadline is not begun.
#[test]
fn a_wait_that_would_cross_the_deadline_ends_the_call_at_once() {
    let refusing = refusing_address();
    let client = over(&[&refusing])
        .attempts_per_endpoint(2)
        .backoff_base(ms(30_000))
        .backoff_max(ms(30_000))
        .deadline(ms(2000))
        .seed(1)
        .build()
        .unwrap();
    let (error, took) = timed(|| client.get("/").send().unwrap_err());
    assert!(took < ms(1000), "{took:?}");
    assert_eq!(error.status(), Status::Deadline);
    assert_eq!((error.reason(), error.attempts().len()), (Reason::Refused, 1));
}

fn adaptive() -> Timeout {
    Timeout::adaptive(ms(150), [ms(400), ms(3000)]).unwrap()
}

/// that P cannot be reached says nothing about how long F needs.
#[test]
fn x1_a_connect_limit_does_not_step_the_attempt_limit_up() {
    let (p, f) = (Blackhole::new(), Server::start(Reply::holds()));
    let client = over(&[&p.url(), &f]).connect_timeout(ms(100)).attempt_timeout(adaptive()).build();
    let error = client.unwrap().get("/").send().unwrap_err();
    within(ms(100), error.attempts()[0].elapsed(), SLACK);
    within(ms(150), error.attempts()[1].elapsed(), ms(240));
}

/// a timeout after sending does, until an attempt ends in another way.
#[test]
fn x2_a_response_timeout_steps_the_attempt_limit_up() {
    let (p, f) = (Server::start(Reply::holds()), Server::start(Reply::holds()));
    let client = over(&[&p, &f]).attempt_timeout(adaptive()).build().unwrap();
    let error = client.get("/").send().unwrap_err();
    within(ms(150), error.attempts()[0].elapsed(), ms(240));
    within(ms(400), error.attempts()[1].elapsed(), SLACK);

    let f = Server::start(Reply::status(503));
    let client = over(&[&p, &f]).attempt_timeout(adaptive()).attempts_per_endpoint(2);
    let client = client.max_attempts(3).backoff_base(ms(1)).build().unwrap();
    let answer = client.get("/").send().unwrap();
    assert_eq!(order(answer.attempts(), &[&p, &f]), [0, 1, 0]);
    within(ms(150), answer.attempts()[2].elapsed(), ms(240));
}

/// nothing is stepped up for a POST: it is not sent again.
#[test]
fn x4_a_post_that_timed_out_is_not_sent_again() {
    let (p, f) = (Server::start(Reply::holds()), Server::start(Reply::ok("f")));
    let client = over(&[&p, &f]).attempt_timeout(adaptive()).build().unwrap();
    let error = client.post("/").send().unwrap_err();
    assert_eq!((error.delivery(), f.connections()), (Delivery::Maybe, 0));
    // F05 with the permission of the caller.
    assert_eq!(client.post("/").resend(Resend::Any).send().unwrap().text().unwrap(), "f");
}
