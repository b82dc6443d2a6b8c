//! F14 to F23: when the next host is asked, and when none is.

use crate::network::{A, B, Later, attempts, ms, on, received, secs};
use crate::support::{Blackhole, Reply as Served, Server, timed, within};
use crate::wire::over;
use anyhost::testing::{Reply, ScriptedTransport};
use anyhost::{ClientBuilder, Delivery, State, Status, WhenNoneEligible};

#[test]
fn f14_a_503_moves_on_and_marks_once() {
    let faults = [
        Reply::status(502),
        Reply::status(503),
        Reply::status(504),
        Reply::refused(),
        Reply::unreachable(),
        Reply::no_such_name(),
        Reply::bad_certificate(),
        Reply::connect_times_out(),
        Reply::times_out(),
        Reply::resets_after_sending(),
        Reply::closes_after_sending(),
        Reply::not_http(),
        Reply::ok("half").breaks_off(),
    ];
    for fault in faults {
        let network = ScriptedTransport::new().on(A, [fault.clone()]).on(B, [Reply::ok("b")]);
        let client = on(&network, &[A, B]).set("breaker", "on").build().unwrap();
        assert_eq!(client.get("/").send().unwrap().text().unwrap(), "b", "{fault:?}");
        assert_eq!(attempts(&network, [A, B]), [1, 1], "{fault:?}");
        let snapshot = client.snapshot();
        let failures = [A, B].map(|label| snapshot.find(label).unwrap().failures());
        assert_eq!(failures, [1, 0], "{fault:?}");
    }
}

#[test]
fn f16_a_host_that_swallows_syns_does_not_take_the_deadline() {
    let (a, b) = (Blackhole::new(), Server::start(Served::ok("b")));
    // Without a deadline nothing else bounds the wait for a connection.
    for deadline in [Some(secs(1)), None] {
        for method in ["GET", "POST"] {
            let client = over(&[a.url(), b.url()]).connect_timeout(ms(250)).build().unwrap();
            let request = client.request(method, "/").body("{}").deadline(deadline);
            let (answer, took) = timed(|| request.send().unwrap());
            assert_eq!((answer.text().unwrap(), answer.endpoint()), ("b", b.url().as_str()));
            assert_eq!(answer.attempts()[0].delivery(), Delivery::NotSent, "{method}");
            within(ms(250), took, ms(450));
        }
    }
    assert_eq!((b.count("GET"), b.count("POST")), (2, 2));
}

#[test]
fn f18_what_is_missing_everywhere_is_asked_once_each() {
    for (statuses, at_b) in [(None, 0), (Some("404"), 1)] {
        let network =
            ScriptedTransport::new().on(A, [Reply::status(404)]).on(B, [Reply::status(404)]);
        let builder = on(&network, &[A, B]);
        let client = match statuses {
            Some(statuses) => builder.set("resend_statuses", statuses),
            None => builder,
        };
        let client = client.build().unwrap();
        assert_eq!(client.get("/").send().unwrap().status(), 404);
        assert_eq!(received(&network, [A, B]), [1, at_b], "{statuses:?}");
        let snapshot = client.snapshot();
        assert!(snapshot.members().iter().all(|of| of.failures() == 0), "404 is no host's fault");
    }
}

/// A circuit stays open for a minute after five failures.
fn minute(builder: ClientBuilder) -> ClientBuilder {
    builder
        .set("breaker", "on")
        .set("breaker_base_delay", "60s")
        .set("breaker_max_delay", "60s")
        .set("breaker_jitter", "off")
}

#[test]
fn f20_back_after_everything_was_down_fail_fast() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]).on(B, [Reply::refused()]);
    let client = minute(on(&network, &[A, B])).build().unwrap();
    for call in 1..=10 {
        let error = client.get("/").send().unwrap_err();
        let status = if call <= 5 { Status::AttemptsSpent } else { Status::NoEndpoint };
        assert_eq!(error.status(), status, "call {call}");
    }
    assert_eq!(attempts(&network, [A, B]), [5, 5]);
    network.now_on(A, [Reply::ok("a")]);
    network.clock().advance(secs(59));
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.retry_after()), (Status::NoEndpoint, Some(secs(1))), "R8");
    network.clock().advance(secs(1));
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "a");
}

#[test]
fn f20_back_after_everything_was_down_try_nearest() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]).on(B, [Reply::refused()]);
    let nearest = on(&network, &[A, B]).when_none_eligible(WhenNoneEligible::TryNearest);
    let client = minute(nearest).build().unwrap();
    for _ in 0..10 {
        assert_eq!(client.get("/").send().unwrap_err().status(), Status::AttemptsSpent);
    }
    let [at_a, at_b] = attempts(&network, [A, B]);
    assert_eq!(at_a + at_b, 5 * 2 + 5, "one a call, once both are open");

    // They are up: the next call finds out, and while it does, no other one tries.
    let later = Later::default();
    let other = later.clone();
    let up = Reply::ok("up").meanwhile(move || {
        let error = other.get().get("/").send().unwrap_err();
        assert_eq!(error.status(), Status::NoEndpoint, "R8: one call at a time");
        assert_eq!(error.attempts().len(), 0);
        assert!(error.refused().iter().any(|refusal| refusal.state == State::Probing));
    });
    later.set(&client);
    // So that the wait of the one not tried ends first.
    network.clock().advance(secs(1));
    network.now_on(A, [up.clone()]);
    network.now_on(B, [up]);
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "up", "no minute has passed");
    assert_eq!(received(&network, [A, B]).iter().sum::<usize>(), 1);
}

#[test]
fn f20_without_a_breaker_nobody_is_refused() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]).on(B, [Reply::refused()]);
    let client = on(&network, &[A, B]).build().unwrap();
    for _ in 0..10 {
        client.get("/").send().unwrap_err();
    }
    assert_eq!(attempts(&network, [A, B]), [10, 10], "R8");
    network.now_on(A, [Reply::ok("a")]);
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "a");
}

fn with_a_bad_page() -> ScriptedTransport {
    [A, B].iter().fold(ScriptedTransport::new(), |network, base| {
        network
            .on(&format!("{base}/bad"), [Reply::status(500).body("bad")])
            .on(&format!("{base}/missing"), [Reply::status(404)])
            .on(&format!("{base}/good"), [Reply::ok("good")])
    })
}

#[test]
fn f23_a_broken_page_does_not_take_the_good_ones_with_it() {
    // As it is by default, and with a breaker that counts what a gateway says and not what an
    // application does.
    for breaker in [false, true] {
        let network = with_a_bad_page();
        let mut builder = on(&network, &[A, B]);
        if breaker {
            builder = builder.set("breaker", "on").set("failure_statuses", "429,502-504");
        }
        let client = builder.build().unwrap();
        for _ in 0..20 {
            assert_eq!(client.get("/bad").send().unwrap().status(), 500);
            assert_eq!(client.get("/missing").send().unwrap().status(), 404);
        }
        assert_eq!(received(&network, [A, B]), [40, 0], "no failover");
        let answer = client.get("/good").send().unwrap();
        assert_eq!((answer.text().unwrap(), answer.endpoint()), ("good", A));
    }
}

/// The row wants no 500 to open a circuit; ruling R6 counts every 5xx, as seed 001 does, once there is
/// a breaker, which there is not by default.
#[test]
fn f23_r6_with_a_breaker_a_500_counts() {
    let network = with_a_bad_page();
    let client = on(&network, &[A, B]).set("breaker", "on").build().unwrap();
    let ended: Vec<_> = (0..20).map(|_| client.get("/bad").send().is_ok()).collect();
    assert_eq!(received(&network, [A, B]), [5, 5], "R6: each opens at its fifth");
    assert_eq!(ended.iter().filter(|answered| **answered).count(), 10);
    assert_eq!(client.get("/good").send().unwrap_err().status(), Status::NoEndpoint);

    let network = with_a_bad_page();
    let client = on(&network, &[A, B]).set("breaker", "on").build().unwrap();
    for _ in 0..20 {
        client.get("/missing").send().unwrap();
    }
    assert_eq!(client.get("/good").send().unwrap().endpoint(), A, "404 never counts");
    assert_eq!(attempts(&network, [A, B]), [21, 0]);
}
