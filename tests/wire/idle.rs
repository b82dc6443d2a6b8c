//! Idle connections: which are used again, for how long, and when they are dropped. (By which
//! process: `tests/fork.rs`.)
//!
//! A connection that is used again where it should not be costs a write its certainty; one that is
//! opened where an idle one was good costs only time.

use crate::over;
use crate::support::*;
use anyhost::{Client, Phase, Reason, Timeout, TlsRoots};
use std::thread;

/// Makes `n` calls at once, so that there are as many idle connections afterwards.
fn open(client: &Client, server: &Server, gate: &Event, n: usize) {
    thread::scope(|scope| {
        for _ in 0..n {
            scope.spawn(|| assert_eq!(client.get("/gate").send().unwrap().status(), 200));
        }
        server.wait_for_requests(n, ms(5000));
        gate.open();
    });
    assert_eq!(server.open_connections(), n);
}

/// Answers `/gate` once the gate is open, everything else at once.
fn gated(otherwise: Script) -> (Server, Event) {
    let gate = Event::new();
    (Server::start(otherwise.on("/gate", Reply::ok("through").after(&gate))), gate)
}

#[test]
fn idle_connections_are_dropped_when_told() {
    let (server, gate) = gated(Reply::ok("x").into());
    let client = over(&[&server]).build().unwrap();
    open(&client, &server, &gate, 3);
    client.clone().drop_idle();
    server.wait_for_open(0, ms(5000));
    assert!(!client.get("/").send().unwrap().attempts()[0].reused_connection());
    assert!(client.get("/").send().unwrap().attempts()[0].reused_connection());
    assert_eq!(server.connections(), 4);
}

#[test]
fn one_in_use_is_left_alone() {
    let (server, gate) = gated(Reply::ok("x").into());
    let client = over(&[&server]).build().unwrap();
    thread::scope(|scope| {
        let call = scope.spawn(|| client.get("/gate").send().unwrap());
        server.wait_for_requests(1, ms(5000));
        client.drop_idle();
        gate.open();
        assert_eq!(call.join().unwrap().text().unwrap(), "through");
    });
    // It belonged to what was dropped, and is closed now that it is free.
    server.wait_for_open(0, ms(5000));
}

/// F60: age and number have limits.
#[test]
fn idle_connections_are_few_and_young() {
    let (server, gate) = gated(Reply::ok("x").into());
    let client = over(&[&server]).max_idle_per_endpoint(2).build().unwrap();
    thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| client.get("/gate").send().unwrap());
        }
        server.wait_for_requests(5, ms(5000));
        gate.open();
    });
    server.wait_for_open(2, ms(5000));
    assert_eq!(server.open_connections(), 2);

    for (idle_timeout, connections) in [(ms(100), 2), (ms(5000), 1), (ms(0), 2)] {
        let server = Server::start(Reply::ok("x"));
        let client = over(&[&server]).idle_timeout(idle_timeout).build().unwrap();
        client.get("/").send().unwrap();
        pass(ms(150));
        client.get("/").send().unwrap();
        assert_eq!(server.connections(), connections, "{idle_timeout:?}");
        if idle_timeout.is_zero() {
            // Not kept also means closed at once, and not when the next request comes.
            server.wait_for_open(0, ms(5000));
        }
    }
}

/// A server that says when it will close is believed, with a second to spare, so that a write does not
/// meet the close. Answers with and without a body: ureq lets go of the connection at different times.
#[test]
fn a_server_that_says_how_long_is_believed() {
    let rows = [("timeout=1", 3), ("timeout=0", 3), ("timeout=2, max=9", 2), ("timeout=60", 1)];
    thread::scope(|scope| {
        for (body, (field, connections)) in ["", "x"].into_iter().flat_map(|b| rows.map(|r| (b, r)))
        {
            scope.spawn(move || {
                let server = Server::start(Reply::ok(body).header("Keep-Alive", field));
                let client = over(&[&server]).build().unwrap();
                client.post("/").send().unwrap();
                client.post("/").send().unwrap();
                pass(ms(1100));
                client.post("/").send().unwrap();
                assert_eq!(server.connections(), connections, "{field}, {body:?}");
            });
        }
    });
}

/// The liveness check: a connection that ended, or on which something came that nobody asked for, is
/// not used again, by a POST either.
#[test]
fn a_dead_connection_is_seen_before_it_is_used() {
    let ca = Authority::new();
    for tls in [false, true] {
        for (what, reply) in [
            ("closed", Reply::ok("x").close()),
            ("reset", Reply::ok("x").reset()),
            ("chatty", Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK")),
        ] {
            let told = Event::new();
            let script = Script::each([reply.tell(&told), Reply::ok("second")]);
            let server = match tls {
                false => Server::start(script),
                true => Server::tls(&ca.server(), script),
            };
            let client = over(&[&server]).tls_roots(TlsRoots::None).add_root_pem(ca.pem());
            let client = client.build().unwrap();
            client.post("/").send().unwrap();
            told.wait(ms(5000));
            if what == "reset" && tls {
                // The reset may overtake nothing here, but let it arrive.
                server.wait_for_open(0, ms(5000));
            }
            let answer = client.post("/").send().unwrap();
            let attempt = &answer.attempts()[0];
            assert_eq!(answer.text().unwrap(), "second", "{what}, {tls}");
            assert_eq!((attempt.reused_connection(), answer.attempts().len()), (false, 1));
        }
    }
}

/// F171: one connection that has gone silent says that the path has, and the others with it. None of
/// them costs a call its limit any more.
#[test]
fn after_a_timeout_on_an_idle_connection_all_are_dropped() {
    let (server, gate) = gated(Script::each([Reply::holds(), Reply::ok("fresh")]));
    let limit = Timeout::fixed(ms(200)).unwrap();
    let client = over(&[&server]).attempts_per_endpoint(2).build().unwrap();
    open(&client, &server, &gate, 3);
    let answer = client.get("/").attempt_timeout(limit).send().unwrap();
    assert_eq!(answer.text().unwrap(), "fresh");
    let [first, second] = answer.attempts() else { panic!("{answer:?}") };
    assert_eq!((first.reason(), first.phase()), (Reason::Timeout, Phase::Head));
    assert!(first.reused_connection() && !second.reused_connection());
    server.wait_for_open(1, ms(5000));
}

/// A timeout on a fresh connection says nothing about the idle ones.
#[test]
fn a_slow_page_drops_no_other_connection() {
    let server = Server::start(Script::always(Reply::ok("x")).on("/slow", Reply::holds()));
    let client = over(&[&server]).build().unwrap();
    let limit = Timeout::fixed(ms(300)).unwrap();
    let reused = || client.get("/").send().unwrap().attempts()[0].reused_connection();
    thread::scope(|scope| {
        let slow = scope.spawn(|| client.get("/slow").attempt_timeout(limit).send().unwrap_err());
        server.wait_for_requests(1, ms(5000));
        assert!(!reused());
        let error = slow.join().unwrap();
        assert_eq!((error.reason(), error.phase()), (Reason::Timeout, Phase::Head));
        assert!(!error.attempts()[0].reused_connection());
    });
    assert!(reused());
}
