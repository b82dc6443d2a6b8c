//! Retry-After without a breaker: ruling R10, by a whole client in virtual time. How its text is read
//! has its vectors in `retry_after.rs`; what it does to a circuit, in `circuit.rs`.
//!
//! | vector | said | now | ruling |
//! |---|---|---|---|
//! | A-B6 | a 429 lowers the weight for good | it lowers it, and the endpoint comes behind the others for as long as it asked | R10 |

use crate::network::{A, B, Log, attempts, on, received, secs};
use anyhost::testing::{Reply, ScriptedTransport};
use anyhost::{Client, EventKind, Reason, State, Status};
use std::time::Duration;

/// What the examples of RFC 9110 call now, which is where a manual clock begins.
const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

fn busy(status: u16, retry_after: &str) -> Reply {
    Reply::status(status).header("Retry-After", retry_after)
}

/// State of A, and for how long.
fn state(client: &Client) -> (State, Duration) {
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    (a.state(), a.cooling())
}

#[test]
fn r10_a_429_is_returned_and_its_endpoint_put_behind() {
    let network =
        ScriptedTransport::new().on(A, [busy(429, "120"), Reply::ok("a")]).on(B, [Reply::ok("b")]);
    let log = Log::default();
    let kinds = &[EventKind::StateChanged, EventKind::HoldSet, EventKind::Failover];
    let client = log.of(on(&network, &[A, B]), kinds).build().unwrap();
    let answer = client.get("/").send().unwrap();
    assert_eq!((answer.status(), answer.retry_after()), (429, Some(secs(120))), "R10: returned");
    assert_eq!(attempts(&network, [A, B]), [1, 0], "R10: not moved on from");
    assert_eq!(state(&client), (State::Cooling, secs(120)), "R10");
    assert_eq!(client.get("/").send().unwrap().endpoint(), B, "R10: the others first");
    network.clock().advance(secs(119));
    assert_eq!(client.post("/").send().unwrap().endpoint(), B, "R10: any method");
    network.clock().advance(secs(1));
    assert_eq!(client.post("/").send().unwrap().endpoint(), A, "R10: no hold, and no probe");
    let told = ["eligible -> cooling (rate_limited)", "cooling -> eligible (rate_limited)"];
    assert_eq!(log.take(), told.map(|step| format!("{A}: {step}")), "R10");
}

#[test]
fn r10_a_503_moves_on_by_r1() {
    let network = ScriptedTransport::new().on(A, [busy(503, "60")]).on(B, [Reply::ok("b")]);
    let client = on(&network, &[A, B]).set("hold_for", "0").build().unwrap();
    assert_eq!(client.get("/").send().unwrap().endpoint(), B, "R10: GET");
    assert_eq!(state(&client), (State::Cooling, secs(60)), "R10");
    client.get("/").send().unwrap();
    assert_eq!(attempts(&network, [A, B]), [1, 2], "R10: not asked again");
    network.clock().advance(secs(60));
    assert_eq!(client.post("/").send().unwrap().status(), 503, "R10: POST has it returned");
    assert_eq!(received(&network, [A, B]), [2, 2], "R1");
}

#[test]
fn r10_behind_the_others_is_not_out() {
    let network =
        ScriptedTransport::new().on(A, [busy(429, "60"), Reply::ok("a")]).on(B, [Reply::refused()]);
    let client = on(&network, &[A, B]).build().unwrap();
    client.get("/").send().unwrap();
    let answer = client.get("/").send().unwrap();
    assert_eq!(answer.endpoint(), A, "R10: where the others fail");
    assert_eq!(answer.attempts()[0].endpoint(), B, "R10");

    let network = ScriptedTransport::new().on(A, [busy(429, "60"), Reply::ok("a")]);
    let client = on(&network, &[A]).build().unwrap();
    client.get("/").send().unwrap();
    assert_eq!(client.get("/").send().unwrap().status(), 200, "R8: one URL forwards");
    client.disable(A, "off").unwrap();
    assert_eq!(client.get("/").send().unwrap_err().status(), Status::NoEndpoint, "R8");
}

#[test]
fn r10_seconds_and_dates() {
    let reply = |date: Option<&str>, after: &str| {
        let reply = busy(503, after);
        match date {
            Some(date) => reply.header("Date", date),
            None => reply,
        }
    };
    let forms = [
        "Sun, 06 Nov 1994 08:51:37 GMT",
        "Sunday, 06-Nov-94 08:51:37 GMT",
        "Sun Nov  6 08:51:37 1994",
    ];
    let mut cases = vec![
        (None, "120", Some(secs(120))),
        (None, "86400", Some(secs(3600))),
        (None, "0", None),
        (None, "-5", None),
        (None, "abc", None),
        (Some(DATE), "Sun, 06 Nov 1994 08:49:36 GMT", None),
        (Some(DATE), "Mon, 07 Nov 1994 08:49:37 GMT", Some(secs(3600))),
    ];
    for form in forms {
        cases.push((Some(DATE), form, Some(secs(120))));
        cases.push((None, form, Some(secs(120))));
    }
    for (date, after, wait) in cases {
        let network = ScriptedTransport::new().on(A, [reply(date, after)]);
        let client = on(&network, &[A]).build().unwrap();
        if date.is_some() {
            // A wall clock that is wrong does not matter where the answer has a date of its own.
            network.clock().set_unix_seconds(2_000_000_000);
        }
        client.get("/").send().unwrap();
        let expected = match wait {
            Some(wait) => (State::Cooling, wait),
            None => (State::Eligible, Duration::ZERO),
        };
        assert_eq!(state(&client), expected, "R10: {after}, date {date:?}");
    }
}

#[test]
fn r10_the_wall_clock_decides_nothing_afterwards() {
    let network = ScriptedTransport::new().on(A, [busy(429, "Sun, 06 Nov 1994 08:51:37 GMT")]);
    let client = on(&network, &[A]).build().unwrap();
    client.get("/").send().unwrap();
    network.clock().set_unix_seconds(0);
    assert_eq!(state(&client), (State::Cooling, secs(120)), "P-11");
    network.clock().set_unix_seconds(4_000_000_000);
    assert_eq!(state(&client), (State::Cooling, secs(120)), "P-11");
    network.clock().advance(secs(120));
    assert_eq!(state(&client).0, State::Eligible, "R17");
}

#[test]
fn r10_only_429_and_503_are_asked() {
    for status in [200, 301, 404, 500, 502, 504] {
        let network = ScriptedTransport::new().on(A, [busy(status, "60")]);
        let client = on(&network, &[A]).build().unwrap();
        let answer = client.get("/").send().unwrap();
        assert_eq!((answer.retry_after(), state(&client).0), (None, State::Eligible), "{status}");
    }
}

#[test]
fn r10_a_wait_is_not_shortened() {
    let network = ScriptedTransport::new().on(A, [busy(429, "100"), busy(429, "10")]);
    let client = on(&network, &[A]).build().unwrap();
    client.get("/").send().unwrap();
    let answer = client.get("/").send().unwrap();
    assert_eq!(state(&client), (State::Cooling, secs(100)), "R10");
    assert_eq!(answer.retry_after(), Some(secs(100)), "R10: the larger is shown");
}

#[test]
fn r10_can_be_switched_off() {
    let network = ScriptedTransport::new().on(A, [busy(429, "60")]).on(B, [Reply::ok("b")]);
    let client = on(&network, &[A, B]).honor_retry_after(false).build().unwrap();
    for _ in 0..3 {
        let answer = client.get("/").send().unwrap();
        assert_eq!((answer.endpoint(), answer.retry_after()), (A, Some(secs(60))));
    }
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.state(), a.reason()), (State::Eligible, Reason::RateLimited));
}

#[test]
fn r10_the_wait_shown_is_that_of_the_answer_returned() {
    let network = ScriptedTransport::new()
        .on(A, [busy(503, "9")])
        .on(B, [busy(503, "70").body("half").breaks_off()]);
    let client = on(&network, &[A, B]).build().unwrap();
    let answer = client.get("/").send().unwrap();
    assert_eq!((answer.endpoint(), answer.retry_after()), (A, Some(secs(9))), "R10, R11");
}
