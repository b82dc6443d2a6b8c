//! F31 to F39: circuits.

use crate::network::{A, B, attempts, ms, on, received, secs};
use crate::support::{Event, Reply as Served, Script, Server};
use crate::wire::{at_once, by_hand, next, over};
use anyhost::testing::{Reply, ScriptedTransport};
use anyhost::{Client, ClientBuilder, Phase, Reason, Request, State, Status};

fn without_jitter(builder: ClientBuilder) -> ClientBuilder {
    builder.set("breaker", "on").set("breaker_jitter", "off").set("hold_for", "0")
}

fn state(client: &Client, label: &str) -> State {
    client.snapshot().find(label).unwrap().state()
}

/// Five resets, then an answer that waits for `slow`, then one at once.
fn down_then_slow(slow: &Event) -> Server {
    let mut replies = vec![Served::resets(); 5];
    replies.extend([Served::ok("a").after(slow), Served::ok("a")]);
    Server::start(Script::each(replies))
}

#[test]
fn f31_after_the_pause_one_request_goes_through() {
    let slow = Event::new();
    let (a, b) = (down_then_slow(&slow), Server::start(Served::ok("b")));
    let (builder, clock) = by_hand(&[a.url(), b.url()]);
    let client = without_jitter(builder).build().unwrap();
    for _ in 0..6 {
        assert_eq!(client.get("/").send().unwrap().text().unwrap(), "b");
    }
    assert_eq!((a.executed(), state(&client, &a.url())), (5, State::Cooling));

    clock.advance(secs(480));
    at_once(32, &client, &slow, |told| {
        a.wait_for_requests(6, secs(20));
        for _ in 0..31 {
            assert_eq!(next(told).unwrap().text().unwrap(), "b", "the others go elsewhere");
        }
        assert_eq!(a.executed(), 6, "exactly one, until it is decided");
        slow.open();
        assert_eq!(next(told).unwrap().text().unwrap(), "a");
    });
    assert_eq!(state(&client, &a.url()), State::Eligible);
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "a");
}

#[test]
fn f31_with_one_host_the_others_are_told_the_wait() {
    let slow = Event::new();
    let a = down_then_slow(&slow);
    let (builder, clock) = by_hand(&[a.url()]);
    let client = without_jitter(builder).build().unwrap();
    for _ in 0..5 {
        client.get("/").send().unwrap_err();
    }
    clock.advance(secs(480));
    at_once(32, &client, &slow, |told| {
        a.wait_for_requests(6, secs(20));
        for _ in 0..31 {
            let error = next(told).unwrap_err();
            assert_eq!((error.status(), error.attempts().len()), (Status::NoEndpoint, 0));
            assert_eq!(error.refused()[0].state, State::Probing);
            assert_eq!(error.retry_after(), Some(secs(480)), "R6: a lost probe costs one window");
        }
        slow.open();
        assert_eq!(next(told).unwrap().text().unwrap(), "a");
    });
    assert_eq!((a.executed(), state(&client, &a.url())), (6, State::Eligible));
}

/// Ruling R9: what the caller's deadline cuts short is neutral, also while still connecting, where the
/// row would count it. Less time than the host was due is no proof that it is down.
#[test]
fn f33_callers_that_give_up_early_are_not_failures() {
    for reply in [Reply::ok("late").takes(ms(200)), Reply::ok("late").connects_after(ms(200))] {
        let network = ScriptedTransport::new().on(A, [reply]);
        let client = without_jitter(on(&network, &[A])).attempt_timeout(secs(2)).build().unwrap();
        for _ in 0..10 {
            let error = client.get("/").deadline(ms(50)).send().unwrap_err();
            assert_eq!((error.status(), error.reason()), (Status::Deadline, Reason::Deadline));
        }
        let snapshot = client.snapshot();
        let a = snapshot.find(A).unwrap();
        assert_eq!((a.state(), a.failures(), a.attempts()), (State::Eligible, 0, 10));
        assert_eq!(client.get("/").send().unwrap().text().unwrap(), "late");
        assert_eq!(network.clock().elapsed(), ms(10 * 50 + 200));
    }

    // The limit of the attempt counts, and so does the connect limit where it is its own.
    for reply in [Reply::ok("late").takes(ms(200)), Reply::connect_times_out()] {
        let network = ScriptedTransport::new().on(A, [reply]);
        let client = without_jitter(on(&network, &[A])).attempt_timeout(ms(50)).build().unwrap();
        for _ in 0..5 {
            let error = client.get("/").deadline(secs(2)).send().unwrap_err();
            assert_eq!((error.status(), error.reason()), (Status::AttemptsSpent, Reason::Timeout));
        }
        assert_eq!(state(&client, A), State::Cooling);
    }
}

/// The slot of a probe that gave up is free again: by ruling R6 when its window is over.
#[test]
fn f33_a_probe_that_gives_up_says_nothing() {
    let network = ScriptedTransport::new()
        .on(A, [Reply::refused(), Reply::ok("late").takes(ms(200)), Reply::ok("a")]);
    let client = without_jitter(on(&network, &[A]))
        .set("breaker_threshold", "1")
        .set("breaker_base_delay", "10s")
        .build()
        .unwrap();
    client.get("/").send().unwrap_err();
    network.clock().advance(secs(10));
    assert_eq!(client.get("/").deadline(ms(50)).send().unwrap_err().status(), Status::Deadline);
    let snapshot = client.snapshot();
    assert_eq!(snapshot.find(A).unwrap().failures(), 1, "no verdict");
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.retry_after()), (Status::NoEndpoint, Some(ms(9950))));
    network.clock().advance(ms(9950));
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "a");
}

/// Ruling R6, as seed 001: an answer that is no failure ends the row of failures, in both states. The
/// row suggests that a 404 leave the count of a closed circuit alone.
#[test]
fn f35_r6_a_404_closes() {
    let script = [503, 503, 404, 503, 503, 503, 503, 503];
    let network = ScriptedTransport::new().on(A, script.map(Reply::status));
    let client = without_jitter(on(&network, &[A])).build().unwrap();
    let states = script.map(|status| {
        assert_eq!(client.get("/").send().unwrap().status(), status);
        state(&client, A)
    });
    let open = [[State::Eligible; 7].as_slice(), &[State::Cooling]].concat();
    assert_eq!(states.as_slice(), open, "R6: five in a row, after the 404");

    network.clock().advance(secs(480));
    network.now_on(A, [Reply::status(404)]);
    assert_eq!(client.get("/").send().unwrap().status(), 404);
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.state(), a.failures_in_a_row()), (State::Eligible, 0), "the server is there");
}

#[test]
fn f37_a_circuit_is_of_scheme_host_and_port() {
    let network = ScriptedTransport::new();
    let error = on(&network, &["http://h", "http://H:80/"]).build().unwrap_err();
    assert_eq!(error.status(), Status::Duplicate, "R16: two spellings of one");

    let bases = ["http://h", "https://h", "http://h:8080/a", "http://h:8080/b"];
    // Which of them cool after a failure of the first, the second, and so on.
    let cooling = [
        [true, false, false, false],
        [false, true, false, false],
        [false, false, true, true],
        [false, false, true, true],
    ];
    for (failing, cooling) in bases.iter().zip(cooling) {
        let network = bases
            .iter()
            .fold(ScriptedTransport::new(), |network, base| network.on(base, [Reply::ok("")]))
            .on(failing, [Reply::refused()]);
        let client = without_jitter(on(&network, &bases))
            .set("breaker_threshold", "1")
            .allow_mixed_schemes(true)
            .build()
            .unwrap();
        let labels: Vec<_> =
            client.snapshot().members().iter().map(|member| member.label().to_owned()).collect();
        assert_eq!(labels, bases);
        client.health_check(failing, &mut Request::new("GET", "/").unwrap()).unwrap_err();
        let states = bases.map(|base| state(&client, base) == State::Cooling);
        assert_eq!(states, cooling, "{failing} failed");
    }
}

#[test]
fn f39_one_slow_page_does_not_take_every_host_down() {
    let hosts = [(); 3]
        .map(|()| Server::start(Script::always(Served::ok("fast")).on("/slow", Served::holds())));
    let bases = hosts.each_ref().map(Server::url);
    let client = over(&bases).set("breaker", "on").build().unwrap();
    let error = client.get("/slow").attempt_timeout(ms(300)).send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::AttemptsSpent, Reason::Timeout));
    assert_eq!((error.phase(), error.attempts().len()), (Phase::Head, 3));
    let answer = client.get("/fast").send().unwrap();
    assert_eq!((answer.text().unwrap(), answer.attempts().len()), ("fast", 1), "at once");
    for host in &hosts {
        let slow = host.wait_for_requests(1, secs(20));
        assert_eq!(slow.iter().filter(|r| r.target == "/slow").count(), 1, "{host}");
        assert_eq!(state(&client, &host.url()), State::Eligible, "{host}");
    }
}

/// The same in virtual time, to the millisecond.
#[test]
fn f39_a_timeout_counts_once() {
    let network = ScriptedTransport::new()
        .on(A, [Reply::times_out(), Reply::ok("a")])
        .on(B, [Reply::times_out(), Reply::ok("b")]);
    let client = without_jitter(on(&network, &[A, B])).attempt_timeout(ms(100)).build().unwrap();
    client.get("/slow").send().unwrap_err();
    assert_eq!(network.clock().elapsed(), ms(200));
    assert_eq!((attempts(&network, [A, B]), received(&network, [A, B])), ([1, 1], [1, 1]));
    assert_eq!([A, B].map(|of| client.snapshot().find(of).unwrap().failures()), [1, 1]);
    assert_eq!(client.get("/fast").send().unwrap().text().unwrap(), "a");
}
