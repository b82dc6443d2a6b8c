//! F169 and F171: clocks that jump, and machines that slept.

use crate::network::{A, B, attempts, ms, on, received, secs};
use crate::support::{Reply as Served, Script, Server};
use crate::wire::over;
use anyhost::testing::{Reply, ScriptedTransport};
use anyhost::{Delivery, Reason, State, Status};

const HOUR: u64 = 3600;

#[test]
fn f169_a_wall_clock_that_jumps_changes_nothing() {
    // Sun, 29 Nov 2026 12:00:00 GMT.
    let noon = 1_795_953_600;
    let run = |wall: u64| {
        let network = ScriptedTransport::new();
        let clock = network.clock();
        clock.set_unix_seconds(noon);
        let jump = {
            let clock = clock.clone();
            move || clock.set_unix_seconds(wall)
        };
        let busy = || Reply::status(503).takes(ms(70)).meanwhile(jump.clone());
        // A date beside a Date is a duration, whatever our own clock says.
        let dated = busy()
            .header("Date", "Sun, 29 Nov 2026 12:00:00 GMT")
            .header("Retry-After", "Sun, 29 Nov 2026 12:02:00 GMT");
        let network =
            network.on(A, [busy(), dated, busy()]).on(B, [busy(), busy().retry_after(secs(30))]);
        let client = on(&network, &[A, B])
            .attempts_per_endpoint(3)
            .deadline(secs(20))
            .set("breaker", "on")
            .set("attempt_timeout", "measured 100ms..5s")
            .build()
            .unwrap();
        let answer = client.get("/").send().unwrap();
        let snapshot = client.snapshot();
        let members = [A, B].map(|label| {
            let member = snapshot.find(label).unwrap();
            (member.state(), member.cooling(), member.failures())
        });
        let started: Vec<_> = network.attempts().iter().map(|seen| seen.at).collect();
        (answer.status(), answer.elapsed(), started, clock.sleeps(), members)
    };
    let still = run(noon);
    assert!(still.2.len() >= 4, "{still:?}");
    assert!(still.4.iter().all(|(state, ..)| *state == State::Cooling), "{still:?}");
    assert_eq!(run(noon - HOUR), still);
    assert_eq!(run(noon + HOUR), still);
}

/// One that a sleep left silent: no FIN, no RST. Ruling R2 replays no timeout, so a GET gets its
/// second attempt from `attempts_per_endpoint` or from the next host, and a write gets none.
#[test]
fn f171_a_connection_that_fell_silent_costs_one_attempt() {
    let silent =
        || Server::start(Script::each([Served::ok("1"), Served::holds(), Served::ok("3")]));
    let a = silent();
    let client = over(&[a.url()]).build().unwrap();
    client.get("/").send().unwrap();
    let answer = client.get("/").attempt_timeout(ms(400)).attempts_per_endpoint(2).send().unwrap();
    assert_eq!(answer.text().unwrap(), "3");
    let seen: Vec<_> =
        answer.attempts().iter().map(|of| (of.reason(), of.reused_connection())).collect();
    assert_eq!(seen, [(Reason::Timeout, true), (Reason::None, false)]);
    let on: Vec<_> = a.requests().iter().map(|request| request.connection).collect();
    assert_eq!(on, [0, 0, 1], "a fresh connection");

    let (a, b) = (silent(), Server::start(Served::ok("b")));
    let client = over(&[a.url(), b.url()]).build().unwrap();
    client.get("/").send().unwrap();
    let error = client.post("/").body("{}").attempt_timeout(ms(400)).send().unwrap_err();
    assert_eq!((error.reason(), error.delivery()), (Reason::Timeout, Delivery::Maybe));
    assert_eq!((a.wait_for_requests(2, secs(20)).len(), b.connections()), (2, 0));

    let (a, b) = (silent(), Server::start(Served::ok("b")));
    let client = over(&[a.url(), b.url()]).build().unwrap();
    client.get("/").send().unwrap();
    let answer = client.get("/").attempt_timeout(ms(400)).send().unwrap();
    assert_eq!((answer.text().unwrap(), answer.attempts().len()), ("b", 2));
    assert_eq!((a.executed(), b.executed()), (2, 1));
}

#[test]
fn f171_eight_hours_in_mid_call_mark_nobody() {
    // (the reply, the deadline, the end, failures of A): by R9 only a limit of its own counts.
    let rows = [
        (Reply::times_out(), Some(secs(4)), Status::Deadline, 0),
        (Reply::times_out(), Some(secs(30)), Status::Deadline, 1),
        (Reply::resets_after_sending(), Some(secs(30)), Status::Deadline, 1),
        (Reply::connect_times_out(), Some(secs(3)), Status::Deadline, 0),
    ];
    for (reply, deadline, status, failures) in rows {
        let of = format!("{reply:?}, {deadline:?}");
        let network = ScriptedTransport::new();
        let clock = network.clock();
        let sleeper = clock.clone();
        let network = network
            .on(A, [reply.meanwhile(move || sleeper.advance(secs(8 * HOUR)))])
            .on(B, [Reply::ok("b")]);
        let client = on(&network, &[A, B]).set("breaker", "on").deadline(deadline).build().unwrap();
        let error = client.get("/").send().unwrap_err();
        assert_eq!(error.status(), status, "{of}");
        assert_eq!(attempts(&network, [A, B]), [1, 0], "{of}");
        let snapshot = client.snapshot();
        let marks = [A, B].map(|label| {
            let member = snapshot.find(label).unwrap();
            (member.state(), member.failures())
        });
        assert_eq!(marks, [(State::Eligible, failures), (State::Eligible, 0)], "{of}");
        network.now_on(A, [Reply::ok("a")]);
        assert_eq!(client.get("/").send().unwrap().text().unwrap(), "a", "{of}: awake again");
    }

    // Without a deadline the call goes on where it was, with the whole limit of an attempt.
    let network = ScriptedTransport::new();
    let sleeper = network.clock();
    let reset = Reply::resets_after_sending();
    let network = network
        .on(A, [reset.meanwhile(move || sleeper.advance(secs(8 * HOUR)))])
        .on(B, [Reply::ok("b").takes(secs(4))]);
    let client = on(&network, &[A, B]).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "b");
    assert_eq!(received(&network, [A, B]), [1, 1]);
}
