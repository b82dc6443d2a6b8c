//! A cancelled call is held against nobody (X-22, P-14), and never sent again.

use crate::network::{A, B, attempts, on, secs, weight};
use anyhost::testing::{Reply, ScriptedTransport};
use anyhost::{
    Advice, Cancel, Delivery, Event, EventKind, Phase, Reason, Selection, State, Status,
};
use std::sync::{Arc, Mutex};

/// A handle that each call takes anew, and replies that trigger it while they are under way.
#[derive(Clone, Default)]
struct Current(Arc<Mutex<Cancel>>);

impl Current {
    fn renew(&self) -> Cancel {
        let cancel = Cancel::new();
        *self.0.lock().unwrap() = cancel.clone();
        cancel
    }

    fn cut_short(&self, reply: Reply) -> Reply {
        let current = self.clone();
        reply.meanwhile(move || current.0.lock().unwrap().trigger())
    }
}

/// wherever it comes, under every machine there is: circuit, weight, hold, budget.
#[test]
fn x22_cancelled_calls_say_nothing_of_the_endpoint() {
    let now = Current::default();
    for (reply, phase, delivery) in [
        (Reply::refused(), Phase::Connect, Delivery::NotSent),
        (Reply::ok("late").takes(secs(1)), Phase::Head, Delivery::Maybe),
        (Reply::resets_after_sending(), Phase::Head, Delivery::Maybe),
        (Reply::status(503), Phase::Head, Delivery::Maybe),
    ] {
        let reply = now.cut_short(reply);
        let network = ScriptedTransport::new().on(A, [reply]).on(B, [Reply::ok("b")]);
        for selection in [Selection::Ordered, Selection::Weighted] {
            let client = on(&network, &[A, B])
                .selection(selection)
                .set("breaker", "on")
                .set("breaker_threshold", "1")
                .retry_budget("20%+1/s")
                .resend(anyhost::Resend::Any)
                .retry(|_| Advice::Again)
                .build()
                .unwrap();
            client.disable(B, "so that A is drawn").unwrap();
            network.forget_attempts();
            for _ in 0..10 {
                let error = client.get("/").cancel(&now.renew()).send().unwrap_err();
                assert_eq!(
                    (error.status(), error.reason()),
                    (Status::Cancelled, Reason::Cancelled)
                );
                assert_eq!((error.phase(), error.delivery()), (phase, delivery), "X-22");
            }
            client.enable(B).unwrap();
            assert_eq!(attempts(&network, [A, B]), [10, 0], "never sent again");
            let snapshot = client.snapshot();
            let a = snapshot.find(A).unwrap();
            assert_eq!((a.state(), a.failures(), a.in_flight()), (State::Eligible, 0, 0), "X-22");
            assert_eq!((weight(&client, A).0, weight(&client, B).0), (1000, 1000), "X-22");
        }
    }
}

/// no failover, no hold; and a hold that is set stays.
#[test]
fn x22_a_hold_is_as_it_was() {
    let now = Current::default();
    let network = ScriptedTransport::new()
        .on(A, [now.cut_short(Reply::refused()), Reply::refused(), Reply::ok("a")])
        .on(B, [Reply::ok("b"), now.cut_short(Reply::refused()), Reply::ok("b")]);
    let kinds = Arc::new(Mutex::new(Vec::new()));
    let log = kinds.clone();
    let client = on(&network, &[A, B])
        .on_event(move |event: &Event<'_>| log.lock().unwrap().push(event.kind()))
        .build()
        .unwrap();
    client.get("/").cancel(&now.renew()).send().unwrap_err();
    assert!(!kinds.lock().unwrap().contains(&EventKind::HoldSet));
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "b");
    assert!(kinds.lock().unwrap().contains(&EventKind::HoldSet));
    client.get("/").cancel(&now.renew()).send().unwrap_err();
    assert_eq!(client.get("/").send().unwrap().endpoint(), B, "still preferred");
    assert!(!kinds.lock().unwrap().contains(&EventKind::HoldEnded));
}

/// P-14: a probe that was cancelled counts for nothing; the next may pass one window later.
#[test]
fn p14_a_cancelled_probe_costs_one_window() {
    let now = Current::default();
    let network = ScriptedTransport::new()
        .on(A, [Reply::refused(), now.cut_short(Reply::ok("late").takes(secs(1))), Reply::ok("a")]);
    let client = on(&network, &[A])
        .set("breaker", "on")
        .set("breaker_threshold", "1")
        .set("breaker_base_delay", "10s")
        .set("breaker_jitter", "off")
        .build()
        .unwrap();
    client.get("/").send().unwrap_err();
    network.clock().advance(secs(10));
    let error = client.get("/").cancel(&now.renew()).send().unwrap_err();
    assert_eq!(error.status(), Status::Cancelled);
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.state(), a.in_flight(), a.failures()), (State::Cooling, 0, 1), "P-14");
    assert_eq!(client.get("/").send().unwrap_err().status(), Status::NoEndpoint, "P-14");
    network.clock().advance(secs(10));
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "a", "P-14: one window later");
}

/// A call that is over before it began makes no attempt, waits for nothing, and takes no probe.
#[test]
fn one_cancelled_before_makes_no_attempt() {
    let network = ScriptedTransport::new().on(A, [Reply::ok("a")]);
    let client = on(&network, &[A]).build().unwrap();
    let cancel = Cancel::new();
    cancel.trigger();
    let error = client.get("/").cancel(&cancel).send().unwrap_err();
    assert_eq!((error.status(), error.delivery()), (Status::Cancelled, Delivery::NotSent));
    client.shutdown();
    assert_eq!(client.get("/").send().unwrap_err().status(), Status::ShutDown);
    assert!(network.attempts().is_empty());
}
