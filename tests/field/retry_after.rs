//! F142 to F146: what a server asks to wait.

use crate::network::{A, B, ms, on, received, secs};
use anyhost::testing::{Reply, ScriptedTransport};
use anyhost::{Client, ClientBuilder, Reason, State, Status};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

fn cooling(client: &Client, label: &str) -> (State, Duration) {
    let snapshot = client.snapshot();
    let member = snapshot.find(label).unwrap();
    (member.state(), member.cooling())
}

#[test]
fn f142_nobody_sleeps_for_an_hour() {
    let network = ScriptedTransport::new().on(A, [Reply::status(503).retry_after(secs(3600))]);
    let builder = on(&network, &[A]).deadline(secs(1)).backoff_max(ms(200));
    let client = builder.build().unwrap();
    let answer = client.get("/").send().unwrap();
    assert_eq!((answer.status(), answer.retry_after()), (503, Some(secs(3600))));
    assert_eq!((network.clock().elapsed(), network.clock().sleeps().len()), (ms(0), 0), "at once");

    // With attempts left it waits by its own backoff, and not by the server's wish.
    let answer = client.get("/").attempts_per_endpoint(4).send().unwrap();
    assert_eq!((answer.status(), answer.retry_after()), (503, Some(secs(3600))));
    assert_eq!(received(&network, [A]), [5]);
    let sleeps = network.clock().sleeps();
    assert!(sleeps.len() == 3 && sleeps.iter().all(|wait| *wait < ms(200)), "{sleeps:?}");
}

/// Of several lines the longest that is valid counts; the row would take none.
#[test]
fn f144_what_is_no_wait_is_none() {
    // (the values of the header, the wait in seconds)
    let rows: [(&[&str], u64); 12] = [
        (&["Wed, 21 Oct 2015 07:28:00 GMT"], 0),
        (&["-5"], 0),
        (&["1.5"], 0),
        (&[""], 0),
        (&["120, 60"], 0),
        (&["soon"], 0),
        (&["0"], 0),
        (&["soon", "-5"], 0),
        (&["60", "120"], 120),
        (&["soon", "60"], 60),
        (&["120"], 120),
        (&["Wed, 21 Oct 2026 07:30:00 GMT"], 120),
    ];
    for (values, asked) in rows {
        let busy = values
            .iter()
            .fold(Reply::status(503), |reply, value| reply.header("Retry-After", value));
        let network = ScriptedTransport::new().on(A, [busy, Reply::ok("")]);
        // Wed, 21 Oct 2026 07:28:00 GMT.
        network.clock().set_unix_seconds(1_792_567_680);
        let client = on(&network, &[A]).build().unwrap();
        let asked_wait = (asked > 0).then(|| secs(asked));
        let answer = client.get("/").send().unwrap();
        assert_eq!((answer.status(), answer.retry_after()), (503, asked_wait), "{values:?}");
        let expected = if asked > 0 { State::Cooling } else { State::Eligible };
        assert_eq!(cooling(&client, A), (expected, secs(asked)), "{values:?}");
        assert_eq!(client.get("/").send().unwrap().status(), 200, "R8: one URL forwards");

        let network = ScriptedTransport::new().on(
            A,
            [
                values.iter().fold(Reply::status(503), |reply, v| reply.header("Retry-After", v)),
                Reply::ok(""),
            ],
        );
        let client = on(&network, &[A]).attempts_per_endpoint(2).build().unwrap();
        assert_eq!(client.get("/").send().unwrap().status(), 200);
        let sleeps = network.clock().sleeps();
        assert!(sleeps.len() == 1 && sleeps[0] < ms(50), "its own backoff: {sleeps:?}");
    }
}

fn limited(asked: Duration) -> ScriptedTransport {
    ScriptedTransport::new()
        .on(A, [Reply::status(429).retry_after(asked), Reply::ok("a")])
        .on(B, [Reply::ok("b")])
}

/// Three threads at once, when A has asked for a second.
fn three_at_once(client: &Client) -> Vec<String> {
    let start = Barrier::new(3);
    let get = || {
        start.wait();
        client.get("/").send().unwrap().text().unwrap().to_owned()
    };
    thread::scope(|scope| {
        let threads = [(); 3].map(|()| scope.spawn(get));
        threads.map(|thread| thread.join().unwrap()).to_vec()
    })
}

/// The row moves a GET on after a 429; by ruling R10 the 429 is the answer, and later calls try the
/// others first. `resend_statuses` has the row's way.
#[test]
fn f146_r10_a_429_is_the_answer_and_binds_later_calls() {
    for method in ["GET", "POST"] {
        let network = limited(secs(1));
        let client = on(&network, &[A, B]).build().unwrap();
        let answer = client.request(method, "/").send().unwrap();
        assert_eq!((answer.status(), answer.retry_after()), (429, Some(secs(1))), "{method}");
        assert_eq!(three_at_once(&client), ["b"; 3], "{method}: nobody asks A");
        network.clock().advance(ms(999));
        assert_eq!(client.get("/").send().unwrap().text().unwrap(), "b");
        assert_eq!(received(&network, [A, B]), [1, 4], "{method}");
        network.clock().advance(ms(1));
        assert_eq!(client.get("/").send().unwrap().text().unwrap(), "a", "{method}: it is over");
    }
}

#[test]
fn f146_where_a_429_moves_on() {
    let network = limited(secs(1));
    let builder = on(&network, &[A, B]).set("resend_statuses", "429,502-504");
    let client = builder.set("hold_for", "0").build().unwrap();
    assert_eq!(client.post("/").send().unwrap().status(), 429, "a write gets its 429 back");
    assert_eq!(received(&network, [A, B]), [1, 0]);

    network.now_on(A, [Reply::status(429).retry_after(secs(1)), Reply::ok("a")]);
    network.clock().advance(secs(1));
    network.forget_attempts();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "b");
    for _ in 0..2 {
        network.clock().advance(ms(100));
        assert_eq!(client.get("/").send().unwrap().text().unwrap(), "b");
    }
    assert_eq!(received(&network, [A, B]), [1, 3]);
    network.clock().advance(ms(800));
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "a");
}

/// The row wants no 429 to open a circuit. By ruling R6 it counts as one failure, as in seed 001, and
/// by R10 one that asks for a wait opens the circuit for it; `failure_statuses` takes it out.
#[test]
fn f146_r6_a_429_and_a_breaker() {
    let breaker = |network: &ScriptedTransport| -> ClientBuilder {
        on(network, &[A]).set("breaker", "on").set("breaker_jitter", "off")
    };
    let network = ScriptedTransport::new().on(A, [Reply::status(429)]);
    let client = breaker(&network).build().unwrap();
    let states = [(); 5].map(|()| {
        assert_eq!(client.get("/").send().unwrap().status(), 429);
        cooling(&client, A).0
    });
    assert_eq!(states[..4], [State::Eligible; 4], "R6: one alone opens nothing");
    assert_eq!(states[4], State::Cooling, "R6: five do");

    let network = limited(secs(600));
    let client = breaker(&network).build().unwrap();
    client.get("/").send().unwrap();
    assert_eq!(cooling(&client, A), (State::Cooling, secs(600)), "R10");

    // Not counted: never open, and what it asks for is kept all the same (R10).
    let network = ScriptedTransport::new().on(A, [Reply::status(429)]);
    let client = breaker(&network).set("failure_statuses", "5xx").build().unwrap();
    for _ in 0..10 {
        assert_eq!(client.get("/").send().unwrap().status(), 429);
    }
    network.now_on(A, [Reply::status(429).retry_after(secs(600))]);
    client.get("/").send().unwrap();
    assert_eq!(cooling(&client, A), (State::Cooling, secs(600)), "R10");
    assert_eq!(client.snapshot().find(A).unwrap().reason(), Reason::RateLimited);
    assert_eq!(client.get("/").send().unwrap_err().status(), Status::NoEndpoint);
}
