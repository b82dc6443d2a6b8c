//! Which endpoint comes next, presets, budget and chance: rulings R1, R5, R17, R20 and the table of
//! presets, by a whole client in virtual time.

use crate::network::{A, B, C, List, Log, attempts, ms, on, received, secs, weight};
use anyhost::testing::{Reply, ScriptedTransport};
use anyhost::{
    Client, Delivery, Endpoint, EventKind, Reason, Selection, State, Status, WhenNoneEligible,
};
use std::sync::{Arc, Barrier};
use std::time::Duration;

fn endpoint(url: &str, weight: u32, priority: u32) -> Endpoint {
    Endpoint::new(url).unwrap().weight(weight).priority(priority)
}

fn order(answered: &[anyhost::Attempt]) -> Vec<&str> {
    answered.iter().map(|attempt| attempt.endpoint()).collect()
}

#[test]
fn x_13_weights_inside_a_priority() {
    let network = [A, B, C]
        .iter()
        .fold(ScriptedTransport::new(), |network, url| network.on(url, [Reply::ok("")]));
    let client = on(&network, &[])
        .endpoint(endpoint(A, 1000, 0))
        .endpoint(endpoint(B, 10, 0))
        .endpoint(endpoint(C, 1000, 1))
        .build()
        .unwrap();
    const CALLS: usize = 10_000;
    for _ in 0..CALLS {
        client.get("/").send().unwrap();
    }
    let [_, at_b, at_c] = received(&network, [A, B, C]);
    // 99 expected, standard deviation 10: five of them either way, and the seed is fixed.
    assert!((49..=149).contains(&at_b), "X-13, A-S3: {at_b} of {CALLS}");
    assert_eq!(at_c, 0, "X-13: C only if both are out or tried");

    network.now_on(A, [Reply::refused()]);
    network.now_on(B, [Reply::refused()]);
    let answer = client.get("/").send().unwrap();
    assert_eq!(order(answer.attempts())[2], C, "X-13, R5: tried both");
    for label in [A, B] {
        client.disable(label, "out").unwrap();
    }
    assert_eq!(order(client.get("/").send().unwrap().attempts()), [C], "X-13, R5: both out");
}

#[test]
fn r5_a_tried_endpoint_waits_for_all_others() {
    let urls = [A, B, C];
    let network = urls
        .iter()
        .fold(ScriptedTransport::new(), |network, url| network.on(url, [Reply::refused()]));
    for seed in 0..50 {
        let client = on(&network, &[])
            .seed(seed)
            .endpoint(endpoint(A, 1000, 0))
            .endpoint(endpoint(B, 1, 0))
            .endpoint(endpoint(C, 1, 1))
            .attempts_per_endpoint(3)
            .build()
            .unwrap();
        let error = client.get("/").send().unwrap_err();
        let order = order(error.attempts());
        assert_eq!(order.len(), 9, "R5");
        for round in order.chunks(3) {
            let mut round = round.to_vec();
            assert_eq!(round[2], C, "R5: the worse priority after both others, seed {seed}");
            round.sort_unstable();
            assert_eq!(round, urls, "R5, A-B17: each once, seed {seed}");
        }
    }
}

#[test]
fn r17_the_same_seed_gives_the_same_decisions() {
    let run = |seed: u64| {
        let network = ScriptedTransport::new()
            .on(A, [Reply::ok(""), Reply::refused(), Reply::status(503)])
            .on(B, [Reply::refused(), Reply::ok("")])
            .on(C, [Reply::ok(""), Reply::times_out(), Reply::ok("").takes(ms(7))]);
        let client = on(&network, &[A, B, C]).seed(seed).preset("resilient");
        let client = client.attempts_per_endpoint(3).build().unwrap();
        for _ in 0..50 {
            let _ = client.get("/").send();
            network.clock().advance(ms(100));
        }
        let seen: Vec<_> = network.attempts().into_iter().map(|s| (s.url, s.at, s.sent)).collect();
        (seen, network.clock().sleeps())
    };
    assert_eq!(run(7), run(7), "R17");
    assert_ne!(run(7), run(8), "R17: and the seed matters");
}

#[test]
fn preset_default_and_datatug() {
    for preset in ["default", "datatug"] {
        let network = ScriptedTransport::new().on(A, [Reply::status(503)]).on(B, [Reply::ok("b")]);
        let client = on(&network, &[A, B]).preset(preset).build().unwrap();
        assert_eq!(client.post("/").send().unwrap().status(), 503, "{preset}: D-7");
        let answer = client.get("/").send().unwrap();
        assert_eq!(order(answer.attempts()), [A, B], "{preset}: in order, one attempt each");
        assert_eq!(order(client.get("/").send().unwrap().attempts()), [B], "{preset}: the hold");
        network.clock().advance(secs(300));
        network.now_on(A, [Reply::status(404)]);
        assert_eq!(client.get("/").send().unwrap().status(), 404, "{preset}: any status");
    }
}

#[test]
fn preset_agoda() {
    let network = ScriptedTransport::new().on(A, [Reply::status(500)]);
    let client = on(&network, &[A]).preset("agoda").build().unwrap();
    let error = client.post("/").body("{}").send().unwrap_err();
    assert_eq!((error.status(), error.http_status()), (Status::Rejected, Some(500)));
    assert_eq!(received(&network, [A]), [3], "3 attempts, any method, every 5xx");
    assert_eq!(weight(&client, A), (1, 1000), "weighted");
    network.now_on(A, [Reply::status(404)]);
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), received(&network, [A])), (Status::Rejected, [4]), "only success");
    let error = client.get("/").require_success(false).send();
    assert_eq!(error.unwrap().status(), 404, "a request may set what the preset did");
}

#[test]
fn preset_breaker() {
    let network = ScriptedTransport::new().on(A, [Reply::status(501)]).on(B, [Reply::ok("b")]);
    let client = on(&network, &[A, B]).preset("breaker").build().unwrap();
    for _ in 0..5 {
        assert_eq!(client.get("/").send().unwrap_err().http_status(), Some(501));
    }
    let snapshot = client.snapshot();
    assert_eq!(snapshot.find(A).unwrap().state(), State::Cooling);
    assert_eq!(client.get("/").send().unwrap().endpoint(), B, "and ordered as ever");
}

#[test]
fn preset_resilient() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]).on(B, [Reply::ok("b")]);
    let client =
        on(&network, &[A, B]).preset("resilient").set("attempt_timeout", "off").build().unwrap();
    let began = network.clock().elapsed();
    for _ in 0..10_000 {
        client.post("/").send().unwrap();
        if client.snapshot().find(A).unwrap().state() == State::Cooling {
            break;
        }
    }
    assert_eq!(attempts(&network, [A]), [3], "three failures open the circuit");
    let seen = &network.attempts_at(A)[0];
    let until = seen.limits.until.expect("a deadline");
    let now = anyhost::inject::Clock::now(&network.clock());
    assert_eq!(until - now, secs(30), "deadline 30s");
    assert_eq!(network.clock().elapsed(), began, "nothing took time");
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.state(), a.weight()), (State::Cooling, 1), "weighted, breaker");
    assert!(a.cooling() >= secs(1) && a.cooling() < secs(2), "250 ms, doubled twice, jitter");

    client.disable(B, "away").unwrap();
    network.now_on(A, [Reply::ok("a")]);
    assert_eq!(client.post("/").send().unwrap().endpoint(), A, "try_nearest");
    network.now_on(A, [Reply::refused()]);
    for _ in 0..40 {
        let _ = client.get("/").send();
    }
    let tries = attempts(&network, [A])[0];
    assert!(tries < 30, "retry_budget: {tries} attempts, and no more");
    let wait = client.snapshot().find(A).unwrap().cooling();
    assert_eq!(wait, secs(20), "breaker_max_delay 20s");
}

#[test]
fn presets_are_told_by_name() {
    let network = ScriptedTransport::new().on(A, [Reply::status(404)]);
    let client = on(&network, &[A]).preset("agoda").set("require_success", "off").build().unwrap();
    assert_eq!(client.get("/").send().unwrap().status(), 404, "what is set after it wins");
    let error = on(&network, &[A]).preset("Agoda").build().unwrap_err();
    assert_eq!((error.status(), error.option()), (Status::Option, Some("preset")));
}

/// Two endpoints, so at most 10 * (1 + 2/4) = 15 tokens.
fn on_budget(network: &ScriptedTransport, budget: &str) -> Client {
    on(network, &[A, B]).set("hold_for", "0").retry_budget(budget).build().unwrap()
}

#[test]
fn r20_a_resend_costs_a_token() {
    let network = ScriptedTransport::new().on(A, [Reply::status(503)]).on(B, [Reply::ok("b")]);
    let client = on_budget(&network, "10%");
    for n in 1..=15 {
        assert_eq!(client.get("/").send().unwrap().endpoint(), B, "R20: token {n}");
    }
    let answer = client.get("/").send().unwrap();
    assert_eq!((answer.status(), answer.endpoint()), (503, A), "R20, R11: the answer there was");

    network.now_on(A, [Reply::resets_after_sending()]);
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::BudgetSpent, Reason::Reset), "R20");
    assert_eq!(error.delivery(), Delivery::Maybe);
    network.now_on(A, [Reply::refused()]);
    for _ in 0..50 {
        assert_eq!(client.get("/").send().unwrap().endpoint(), B, "R20: not_sent costs 0");
    }

    network.now_on(A, [Reply::ok("a")]);
    for _ in 0..10 {
        client.get("/").send().unwrap();
    }
    network.now_on(A, [Reply::status(503)]);
    let ends: Vec<_> = (0..2).map(|_| client.get("/").send().unwrap().status()).collect();
    assert_eq!(ends, [200, 503], "R20: ten calls at their first attempt bring one token");
}

#[test]
fn r20_tokens_come_with_time_up_to_half_the_cap() {
    for (pause, tokens) in [(secs(3), 3), (secs(1000), 7)] {
        let network = ScriptedTransport::new().on(A, [Reply::status(503)]).on(B, [Reply::ok("b")]);
        let client = on_budget(&network, "1/s");
        while client.get("/").send().unwrap().status() == 200 {}
        network.clock().advance(pause);
        let mut moved = 0;
        while client.get("/").send().unwrap().status() == 200 {
            moved += 1;
        }
        assert_eq!(moved, tokens, "R20: after {pause:?}");
    }
}

#[test]
fn r20_a_return_costs_a_token_whatever_happened() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]);
    let client =
        on(&network, &[A]).attempts_per_endpoint(2).retry_budget("0.001%").build().unwrap();
    // One endpoint: 12.5 tokens.
    let made: Vec<_> =
        (0..14).map(|_| client.get("/").send().unwrap_err().attempts().len()).collect();
    assert_eq!(made, [[2; 12].as_slice(), &[1, 1]].concat(), "R20");
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::BudgetSpent, Reason::Refused), "R20");
}

#[test]
fn r20_try_nearest_pays_and_then_fails_fast() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]);
    let client = on(&network, &[A])
        .set("breaker", "on")
        .set("breaker_threshold", "1")
        .when_none_eligible(WhenNoneEligible::TryNearest)
        .retry_budget("0.001%")
        .build()
        .unwrap();
    client.get("/").send().unwrap_err();
    let ends: Vec<_> = (0..14).map(|_| client.get("/").send().unwrap_err().status()).collect();
    let tried = [Status::AttemptsSpent; 12];
    assert_eq!(ends, [tried.as_slice(), &[Status::NoEndpoint; 2]].concat(), "R20");
    assert_eq!(attempts(&network, [A]), [13], "R20");
}

#[test]
fn a_health_check_costs_nothing() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]);
    let client = on(&network, &[A])
        .set("breaker", "on")
        .set("breaker_threshold", "1")
        .retry_budget("0.001%")
        .build()
        .unwrap();
    for n in 1..=30 {
        let mut request = anyhost::Request::new("GET", "/").unwrap();
        let error = client.health_check(A, &mut request).unwrap_err();
        assert_eq!((error.status(), attempts(&network, [A])), (Status::AttemptsSpent, [n]));
    }
}

/// An explicit priority wins over what `selection` would give.
#[test]
fn selection_gives_priorities_only_where_there_are_none() {
    let network = ScriptedTransport::new().on(A, [Reply::ok("a")]).on(B, [Reply::ok("b")]);
    for selection in [Selection::Ordered, Selection::Weighted] {
        let client = on(&network, &[])
            .selection(selection)
            .endpoint(Endpoint::new(A).unwrap().priority(9))
            .endpoint(Endpoint::new(B).unwrap().priority(2))
            .build()
            .unwrap();
        for _ in 0..20 {
            assert_eq!(client.get("/").send().unwrap().endpoint(), B, "{selection:?}");
        }
    }
    assert_eq!(network.clock().elapsed(), Duration::ZERO);
}

#[test]
fn events_of_a_call_come_in_order() {
    use EventKind::*;
    let network = ScriptedTransport::new()
        .on(A, [Reply::refused().takes(ms(3))])
        .on(B, [Reply::status(503), Reply::ok("b").takes(ms(4))]);
    let told = List::new();
    let tell = told.clone();
    let client = on(&network, &[A, B])
        .attempts_per_endpoint(2)
        .on_event(move |event| {
            let endpoint = event.endpoint().map(str::to_owned);
            tell.push((event.call_id(), event.kind(), endpoint, event.wait()));
        })
        .build()
        .unwrap();
    client.get("/").send().unwrap();
    let waits = network.clock().sleeps();
    let told = told.take();
    let kinds: Vec<_> = told.iter().map(|of| of.1).collect();
    let expected = [
        [AttemptStarted, AttemptEnded, Failover].as_slice(),
        &[AttemptStarted, AttemptEnded, Waiting],
        &[AttemptStarted, AttemptEnded, Waiting],
        &[AttemptStarted, AttemptEnded, HoldSet, CallEnded],
    ];
    assert_eq!(kinds, expected.concat());
    assert!(told.iter().all(|of| of.0 == 1), "the first call of its client");
    assert_eq!(told[2].2.as_deref(), Some("b.example"), "R3: the failover names hosts only");
    assert_eq!([told[5].3, told[8].3], waits.as_slice(), "each wait is told before it");
    assert_eq!((told[11].2.as_deref(), told[11].3), (Some(B), secs(300)), "R3: the hold");
    let all = ms(3) * 2 + ms(4) + waits.iter().sum::<Duration>();
    assert_eq!(told[12].3, all, "how long the call took");
    client.get("/").send().unwrap();
}

#[test]
fn d_19_threads_that_fail_over_together() {
    const THREADS: usize = 8;
    let barrier = Arc::new(Barrier::new(THREADS));
    let together = Reply::refused().meanwhile(move || {
        barrier.wait();
    });
    let network = ScriptedTransport::new().on(A, [together]).on(B, [Reply::ok("b")]);
    let log = Log::default();
    let kinds = &[EventKind::Failover, EventKind::HoldSet, EventKind::HoldEnded];
    let client = log.of(on(&network, &[A, B]), kinds).build().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| assert_eq!(client.post("/").send().unwrap().endpoint(), B));
        }
    });
    let mut told = log.take();
    told.sort();
    let notice = "a.example not answering, using b.example".to_owned();
    assert_eq!(told, [notice, format!("{B} is preferred for 300 s")], "D-19: one each");
    assert_eq!((attempts(&network, [A]), received(&network, [B])), ([THREADS], [THREADS]), "R1");
}
