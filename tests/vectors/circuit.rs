//! The circuit breaker of a client, states and probes: seeds.md 2.2 (B-14 on), 7.3, and rulings R6 to
//! R8, R10, R19.
//!
//! | vector | said | now | ruling |
//! |---|---|---|---|
//! | B-16 | the error has an inner error | the error lists its attempts, with reason and phase | c-api |
//! | B-25 | cancelled calls open the circuit | a cancel, the caller's deadline and local errors are neutral | R6 |
//! | B-26 | a body that breaks is a success | it is a failure, phase body | R6, R13 |
//! | B-29 | Retry-After is ignored | it opens the circuit for as long, below the threshold too | R10 |

use crate::network::{A, B, C, Later, Log, attempts, ms, on, received, secs, weight};
use anyhost::testing::{Reply, ScriptedTransport};
use anyhost::{
    Body, Client, ClientBuilder, Endpoint, EventKind, Phase, Reason, Request, Selection, State,
    Status, WhenNoneEligible,
};
use std::io;
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// A breaker that opens at the first failure, for 10 s, then 20 s and so on up to a minute.
fn strict(builder: ClientBuilder) -> ClientBuilder {
    builder
        .set("breaker", "on")
        .set("breaker_threshold", "1")
        .set("breaker_base_delay", "10s")
        .set("breaker_max_delay", "1m")
        .set("breaker_jitter", "off")
}

fn state(client: &Client, label: &str) -> State {
    client.snapshot().find(label).expect("it is listed").state()
}

fn cooling(client: &Client, label: &str) -> Duration {
    client.snapshot().find(label).expect("it is listed").cooling()
}

fn check(client: &Client, label: &str) -> anyhost::Result<anyhost::Response> {
    client.health_check(label, &mut Request::new("GET", "/health").unwrap())
}

#[test]
fn b_14_five_503_and_no_sixth() {
    let network = ScriptedTransport::new().on(A, [Reply::status(503)]);
    let client = on(&network, &[A]).preset("breaker").build().unwrap();
    for n in 1..=5 {
        let error = client.get("/").send().unwrap_err();
        assert_eq!((error.status(), error.http_status()), (Status::Rejected, Some(503)), "{n}");
    }
    let error = client.get("/").send().unwrap_err();
    assert_eq!(received(&network, [A]), [5], "B-14: the server saw 5");
    assert_eq!((error.status(), error.http_status()), (Status::NoEndpoint, None), "B-14");
    let wait = error.retry_after().expect("B-14: a wait");
    assert!(wait >= secs(480) && wait < secs(960), "R6: the first window, {wait:?}");
}

#[test]
fn b_15_a_success_resets_the_count() {
    let bad = || [(); 4].map(|()| Reply::status(503));
    let replies = bad().into_iter().chain([Reply::ok("")]).chain(bad()).chain([Reply::ok("")]);
    let network = ScriptedTransport::new().on(A, replies);
    let client = on(&network, &[A]).preset("breaker").build().unwrap();
    let ends: Vec<_> = (0..10).map(|_| client.get("/").send().is_ok()).collect();
    assert_eq!(ends.iter().filter(|good| **good).count(), 2, "B-15");
    assert_eq!((state(&client, A), received(&network, [A])), (State::Eligible, [10]), "B-15");
}

#[test]
fn b_16_a_refused_connection() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]);
    let client = on(&network, &[A]).preset("breaker").build().unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.http_status()), (Status::AttemptsSpent, None), "B-16");
    assert_eq!((error.reason(), error.phase()), (Reason::Refused, Phase::Connect), "B-16");
    let wait = error.retry_after().expect("B-16: a wait");
    assert!(wait >= secs(30) && wait < secs(60), "B-16: below the threshold too, {wait:?}");
}

#[test]
fn b_17_which_statuses_are_errors() {
    for status in [500, 503, 429] {
        let network = ScriptedTransport::new().on(A, [Reply::status(status)]);
        let client = on(&network, &[A]).preset("breaker").build().unwrap();
        let error = client.get("/").send().unwrap_err();
        assert_eq!(error.http_status(), Some(status), "B-17");
        assert!(error.retry_after().is_some_and(|wait| wait >= secs(30)), "B-17: {status}");
        assert_eq!(error.retry_after(), error.answer().unwrap().retry_after(), "R10: {status}");
    }
    for status in [499, 200, 404, 403] {
        let network = ScriptedTransport::new().on(A, [Reply::status(status)]);
        let client = on(&network, &[A]).preset("breaker").build().unwrap();
        let answer = client.get("/").send().unwrap();
        assert_eq!((answer.status(), answer.retry_after()), (status, None), "B-17");
    }
    // A status that the caller calls a failure is an answer, and a failure like the others.
    let network = ScriptedTransport::new().on(A, [Reply::status(404)]);
    let client = on(&network, &[A]).preset("breaker").set("failure_statuses", "404").build();
    let answer = client.unwrap().get("/").send();
    let wait = answer.map_or_else(|error| error.retry_after(), |answer| answer.retry_after());
    assert!(wait.is_some_and(|wait| wait >= secs(30)), "R10: {wait:?}");
}

#[test]
fn b_25_what_the_caller_causes_is_neutral() {
    let network = ScriptedTransport::new().on(A, [Reply::ok("late").takes(secs(2))]);
    let client = strict(on(&network, &[A]).selection(Selection::Weighted)).build().unwrap();
    for _ in 0..5 {
        let error = client.get("/").deadline(secs(1)).send().unwrap_err();
        assert_eq!((error.status(), error.reason()), (Status::Deadline, Reason::Deadline));
        let error = client.get("/").max_body(3).send().unwrap_err();
        assert_eq!(error.status(), Status::TooLarge);
        let broken = Body::reader(io::Cursor::new(b"abc"), Some(4));
        let error = client.post("/").body(broken).send().unwrap_err();
        assert_eq!(error.status(), Status::BodySource);
        assert_eq!(client.post("/").deadline(ms(1)).send().unwrap_err().status(), Status::Deadline);
    }
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.state(), a.failures(), a.weight()), (State::Eligible, 0, 1000), "B-25, X-22");
    assert_eq!(a.attempts(), 20);

    // A connect limit that the deadline has shortened is no proof either (ruling R9).
    let network =
        ScriptedTransport::new().on(A, [Reply::connect_times_out()]).on(B, [Reply::ok("")]);
    let client = strict(on(&network, &[A, B])).build().unwrap();
    assert_eq!(client.get("/").deadline(secs(1)).send().unwrap().endpoint(), B);
    assert_eq!(network.clock().elapsed(), ms(500), "R3: half of what is left");
    assert_eq!(state(&client, A), State::Eligible, "R9");
    network.clock().advance(secs(300));
    assert_eq!(client.get("/").send().unwrap().endpoint(), B);
    assert_eq!(state(&client, A), State::Cooling, "the whole of connect_timeout is one");
}

#[test]
fn b_26_a_body_that_breaks_is_a_failure() {
    let network = ScriptedTransport::new().on(A, [Reply::ok("half").breaks_off()]);
    let client = strict(on(&network, &[A])).build().unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::Body, Reason::Truncated), "B-26");
    assert_eq!((error.phase(), error.http_status()), (Phase::Body, Some(200)), "B-26");
    assert_eq!(state(&client, A), State::Cooling, "B-26");
}

#[test]
fn b_29_r10_retry_after_opens_the_circuit_below_the_threshold() {
    // Threshold 5, backoff 30 s without jitter: (what is asked, the wait).
    for (asked, wait) in [(secs(120), secs(120)), (secs(10), secs(30)), (secs(86_400), secs(3600))]
    {
        for status in [503, 429] {
            let network = ScriptedTransport::new()
                .on(A, [Reply::status(status).retry_after(asked), Reply::ok("")]);
            let client =
                on(&network, &[A]).preset("breaker").set("breaker_jitter", "off").build().unwrap();
            let error = client.get("/").send().unwrap_err();
            assert_eq!(error.retry_after(), Some(asked.max(wait)), "R10: the larger is shown");
            assert_eq!(cooling(&client, A), wait, "B-29, R10: {status} asks for {asked:?}");
            let error = client.get("/").send().unwrap_err();
            assert_eq!((error.status(), error.retry_after()), (Status::NoEndpoint, Some(wait)));
            network.clock().advance(wait);
            assert_eq!(state(&client, A), State::ProbeAllowed, "R10: with a breaker, a probe");
            client.get("/").send().unwrap();
            assert_eq!(state(&client, A), State::Eligible);
        }
    }
    let network = ScriptedTransport::new().on(A, [Reply::status(503).header("Retry-After", "abc")]);
    let client = on(&network, &[A]).preset("breaker").build().unwrap();
    client.get("/").send().unwrap_err();
    assert_eq!(state(&client, A), State::Eligible, "seeds.md 7.6: malformed is absent");
    let network = ScriptedTransport::new().on(A, [Reply::status(503).retry_after(secs(120))]);
    let client = on(&network, &[A]).preset("breaker").honor_retry_after(false).build().unwrap();
    client.get("/").send().unwrap_err();
    assert_eq!(state(&client, A), State::Eligible, "B-29: as the seed, where it is not honoured");
}

#[test]
fn r6_generations_keep_late_outcomes_out() {
    // A's first request is still under way when five others open the circuit; then it succeeds.
    let later = Later::default();
    let others = later.clone();
    let slow = Reply::ok("late").meanwhile(move || {
        for _ in 0..5 {
            others.get().get("/").send().unwrap_err();
        }
    });
    let network = ScriptedTransport::new().on(A, [slow, Reply::refused()]);
    let client = on(&network, &[A]).set("breaker", "on").build().unwrap();
    later.set(&client);
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "late");
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.state(), a.failures_in_a_row()), (State::Cooling, 5), "R6, B-24: it stays open");
    assert_eq!((a.attempts(), a.in_flight()), (6, 0), "R6: listed all the same");
}

#[test]
fn x_16_two_bases_of_one_origin_share_a_circuit() {
    let (v1, v2) = ("https://a.example/v1", "https://a.example/v2");
    let network = ScriptedTransport::new().on(v1, [Reply::refused()]).on(v2, [Reply::ok("")]);
    let client = strict(on(&network, &[v1, v2]).selection(Selection::Weighted)).build().unwrap();
    check(&client, v1).unwrap_err();
    assert_eq!([state(&client, v1), state(&client, v2)], [State::Cooling; 2], "X-16");
    assert_eq!(client.snapshot().find(v2).unwrap().reason(), Reason::CircuitOpen, "X-16");
    assert_eq!([weight(&client, v1).0, weight(&client, v2).0], [100, 1000], "X-16: own weights");
}

#[test]
fn x_17_x_18_the_weight_of_one_that_recovers() {
    let network =
        ScriptedTransport::new().on(A, [Reply::refused(), Reply::ok("a")]).on(B, [Reply::ok("b")]);
    let client = strict(on(&network, &[A, B]).selection(Selection::Weighted)).build().unwrap();
    check(&client, A).unwrap_err();
    assert_eq!(weight(&client, A).0, 100, "X-17");
    for _ in 0..20 {
        assert_eq!(client.get("/").send().unwrap().endpoint(), B, "X-17: all traffic to B");
    }
    network.clock().advance(secs(10));
    assert_eq!(client.post("/").send().unwrap().endpoint(), B, "R7: a POST probes nothing");
    let answer = client.get("/").send().unwrap();
    assert_eq!(answer.endpoint(), A, "R7: the first safe request is the probe");
    assert_eq!(weight(&client, A).0, 100, "X-18: max / 10");
    check(&client, A).unwrap();
    assert_eq!(weight(&client, A).0, 1000, "X-18: the next success");
}

#[test]
fn r7_the_life_of_an_endpoint_is_told() {
    let network = ScriptedTransport::new()
        .on(A, [Reply::refused(), Reply::status(503), Reply::ok("a")])
        .on(B, [Reply::ok("b")]);
    let log = Log::default();
    let builder = log.of(on(&network, &[A, B]), &[EventKind::StateChanged]);
    let client = strict(builder).set("hold_for", "0").build().unwrap();
    let told = |log: &Log| log.take().join("; ").replace(&format!("{A}: "), "");
    client.get("/").send().unwrap();
    assert_eq!(told(&log), "eligible -> cooling (refused)", "R7");
    network.clock().advance(secs(10));
    client.get("/").send().unwrap();
    let probe = "cooling -> probe_allowed (refused); probe_allowed -> probing (refused)";
    assert_eq!(told(&log), format!("{probe}; probing -> cooling (status_5xx)"), "R7");
    assert_eq!(cooling(&client, A), secs(20), "P-5: the pause grows");
    network.clock().advance(secs(20));
    assert_eq!(state(&client, A), State::ProbeAllowed);
    assert_eq!(client.get("/").send().unwrap().endpoint(), A);
    let probe = probe.replace("refused", "status_5xx");
    assert_eq!(told(&log), format!("{probe}; probing -> eligible (none)"), "R7");

    network.clock().advance(secs(7));
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.state(), a.since(), a.reason()), (State::Eligible, secs(7), Reason::None), "R7");
    assert_eq!(a.counts(), [(Reason::Refused, 1), (Reason::Status5xx, 1)], "R7: by reason");
    assert_eq!((a.attempts(), a.successes(), a.failures()), (3, 1, 2), "R7");
    let path: Vec<_> = a.transitions().iter().map(|t| (t.ago, t.to, t.reason)).collect();
    assert_eq!(path[0], (secs(37), State::Cooling, Reason::Refused), "R7");
    assert_eq!(path[3], (secs(27), State::Cooling, Reason::Status5xx), "R7");
    assert_eq!(path[6], (secs(7), State::Eligible, Reason::None), "R7");
    assert_eq!(path.len(), 7, "R7");
}

#[test]
fn r7_the_last_16_transitions_are_kept() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]);
    let client = strict(on(&network, &[A])).build().unwrap();
    for _ in 0..10 {
        client.get("/").send().unwrap_err();
        network.clock().advance(secs(60));
    }
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    // 1 to open, 9 times probe_allowed, probing, cooling, and probe_allowed at the end: 29 in all.
    assert_eq!(a.transitions().len(), 16, "R7");
    assert_eq!(a.state(), State::ProbeAllowed);
    let agos: Vec<_> = a.transitions().iter().map(|t| t.ago).collect();
    assert!(agos.is_sorted_by(|a, b| a >= b), "R7: oldest first, {agos:?}");
    assert_eq!((agos[0], agos[15]), (secs(300), secs(0)), "R7: the last 16");
    assert_eq!(a.failures(), 10, "R7: the record is never dropped");
}

#[test]
fn r7_disable_enable_health_check() {
    let network = ScriptedTransport::new().on(A, [Reply::ok("a")]).on(B, [Reply::ok("b")]);
    let log = Log::default();
    let client = strict(log.of(on(&network, &[A, B]), &[EventKind::StateChanged])).build().unwrap();
    client.disable(A, "maintenance").unwrap();
    network.clock().advance(secs(3));
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.state(), a.reason()), (State::Disabled, Reason::Operator), "R7");
    assert_eq!((a.detail(), a.since(), a.cooling()), ("maintenance", secs(3), secs(0)), "R7");
    assert_eq!(client.get("/").send().unwrap().endpoint(), B, "R7");
    assert_eq!(check(&client, A).unwrap().text().unwrap(), "a", "a health check gets there");
    assert_eq!(state(&client, A), State::Disabled, "R7, P-13: and changes nothing");
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.reason(), a.detail()), (Reason::Operator, "maintenance"), "R7: told why");
    network.clock().advance(secs(1_000_000));
    assert_eq!(state(&client, A), State::Disabled, "P-7: time never revives it");
    log.take();
    client.enable(A).unwrap();
    assert_eq!(state(&client, A), State::ProbeAllowed, "R7");
    assert_eq!(client.post("/").send().unwrap().endpoint(), B, "R7: the probe is a safe request");
    assert_eq!(client.get("/").send().unwrap().endpoint(), A, "R7: and tries it first");
    let steps = ["disabled -> probe_allowed", "probe_allowed -> probing", "probing -> eligible"];
    let told = log.take();
    assert_eq!(told.len(), 3, "R7: {told:?}");
    for (line, step) in told.iter().zip(steps) {
        assert!(line.contains(step), "R7: {line}");
    }
    let unknown = client.enable("https://nobody.example").unwrap_err();
    assert_eq!(unknown.status(), Status::NotFound);
    assert_eq!(check(&client, "nobody").unwrap_err().status(), Status::NotFound);
}

#[test]
fn r7_without_a_breaker_enabled_is_eligible() {
    let network = ScriptedTransport::new().on(A, [Reply::ok("a")]);
    let client = on(&network, &[A]).build().unwrap();
    client.disable(A, "gone").unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.retry_after()), (Status::NoEndpoint, None), "R8");
    let refused = &error.refused()[0];
    assert_eq!((refused.state, refused.reason), (State::Disabled, Reason::Operator), "R8");
    client.enable(A).unwrap();
    assert_eq!(state(&client, A), State::Eligible, "R7");
    assert_eq!(client.get("/").send().unwrap().endpoint(), A);
}

#[test]
fn r7_a_health_check_is_as_good_as_a_probe() {
    let network = ScriptedTransport::new().on(A, [Reply::refused(), Reply::ok("a")]);
    let client = strict(on(&network, &[A])).build().unwrap();
    client.get("/").send().unwrap_err();
    assert_eq!(state(&client, A), State::Cooling);
    check(&client, A).unwrap();
    assert_eq!(state(&client, A), State::Eligible, "it closes the circuit before its time");
    assert_eq!(network.attempts()[1].url, format!("{A}/health"));
    network.now_on(A, [Reply::status(503)]);
    assert_eq!(check(&client, A).unwrap().status(), 503);
    assert_eq!(state(&client, A), State::Cooling, "a failure counts as one");
}

#[test]
fn p_13_a_late_success_does_not_enable() {
    let later = Later::default();
    let disable = later.clone();
    let probe = Reply::ok("a").meanwhile(move || {
        let client = disable.get();
        assert_eq!(state(client, A), State::Probing);
        assert_eq!(client.snapshot().find(A).unwrap().in_flight(), 1, "R7");
        client.disable(A, "enough").unwrap();
    });
    let network = ScriptedTransport::new().on(A, [Reply::refused(), probe]);
    let client = strict(on(&network, &[A])).build().unwrap();
    later.set(&client);
    client.get("/").send().unwrap_err();
    network.clock().advance(secs(10));
    client.get("/").send().unwrap();
    assert_eq!(state(&client, A), State::Disabled, "P-13");
}

/// One probe per window, however many ask for it.
#[test]
fn x_19_one_goes_to_the_recovering_endpoint() {
    let later = Later::default();
    let others = later.clone();
    let probe = Reply::ok("a").meanwhile(move || {
        for _ in 0..63 {
            assert_eq!(others.get().get("/").send().unwrap().endpoint(), B, "X-19");
        }
    });
    let network = ScriptedTransport::new().on(A, [Reply::refused(), probe]).on(B, [Reply::ok("b")]);
    let client = strict(on(&network, &[A, B]).selection(Selection::Weighted)).build().unwrap();
    later.set(&client);
    check(&client, A).unwrap_err();
    network.clock().advance(secs(10));
    assert_eq!(client.get("/").send().unwrap().endpoint(), A, "X-19");
    assert_eq!(received(&network, [A, B]), [1, 63], "X-19");
    assert!(network.attempts_at(A)[1].limits.connect_by.is_some(), "R7: under the connect limit");
}

#[test]
fn x_12_a_hold_goes_before_a_probe() {
    let network =
        ScriptedTransport::new().on(A, [Reply::refused(), Reply::ok("a")]).on(B, [Reply::ok("b")]);
    let client = strict(on(&network, &[A, B])).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().endpoint(), B);
    network.clock().advance(secs(200));
    assert_eq!(state(&client, A), State::ProbeAllowed);
    assert_eq!(client.get("/").send().unwrap().endpoint(), B, "X-12: the hold");
    network.clock().advance(secs(100));
    assert_eq!(client.post("/").send().unwrap().endpoint(), B, "X-12: POST");
    assert_eq!(client.get("/").send().unwrap().endpoint(), A, "X-12: GET probes A first");
}

#[test]
fn r7_a_failed_probe_goes_on_elsewhere() {
    let network = ScriptedTransport::new()
        .on(A, [Reply::refused(), Reply::connect_times_out()])
        .on(B, [Reply::ok("b")]);
    let client = strict(on(&network, &[A, B])).set("hold_for", "0").build().unwrap();
    client.get("/").send().unwrap();
    network.clock().advance(secs(10));
    let answer = client.get("/").send().unwrap();
    assert_eq!((answer.endpoint(), answer.attempts().len()), (B, 2), "R7");
    assert_eq!(answer.elapsed(), secs(2), "R7: at the price of the connect limit");
}

#[test]
fn r8_fail_fast_says_how_long_and_why() {
    let network = ScriptedTransport::new()
        .on(A, [Reply::refused()])
        .on(B, [Reply::status(503)])
        .on(C, [Reply::ok("c")]);
    let client = strict(on(&network, &[A, B, C])).build().unwrap();
    check(&client, A).unwrap_err();
    network.clock().advance(secs(3));
    check(&client, B).unwrap();
    client.disable(C, "maintenance").unwrap();
    network.forget_attempts();
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.retry_after()), (Status::NoEndpoint, Some(secs(7))), "R8");
    let whys: Vec<_> = error
        .refused()
        .iter()
        .map(|refusal| (&*refusal.label, refusal.state, refusal.reason, refusal.wait))
        .collect();
    let expected = [
        (A, State::Cooling, Reason::Refused, secs(7)),
        (B, State::Cooling, Reason::Status5xx, secs(10)),
        (C, State::Disabled, Reason::Operator, secs(0)),
    ];
    assert_eq!(whys, expected, "R8, P-15, X-15");
    assert!(network.attempts().is_empty() && error.attempts().is_empty(), "R8: at once");
    for part in [A, "refused", "7000 ms", B, "10000 ms", C] {
        assert!(error.to_string().contains(part), "R8: {part} in {error}");
    }
}

#[test]
fn r8_try_nearest_lets_one_through_at_a_time() {
    let later = Later::default();
    let others = later.clone();
    let probe = Reply::ok("a").meanwhile(move || {
        for _ in 0..8 {
            let error = others.get().get("/").send().unwrap_err();
            assert_eq!(error.status(), Status::NoEndpoint, "R8: one at a time");
        }
    });
    let network = ScriptedTransport::new()
        .on(A, [Reply::refused(), probe, Reply::ok("a")])
        .on(B, [Reply::refused()]);
    let client = strict(on(&network, &[B, A]))
        .when_none_eligible(WhenNoneEligible::TryNearest)
        .build()
        .unwrap();
    later.set(&client);
    check(&client, A).unwrap_err();
    network.clock().advance(secs(3));
    check(&client, B).unwrap_err();
    let answer = client.post("/").send().unwrap();
    assert_eq!(answer.endpoint(), A, "R8: the one due first, before its time");
    assert_eq!(attempts(&network, [A, B]), [2, 1], "R8");
    let limits = network.attempts_at(A)[1].limits;
    assert!(limits.connect_by.is_some(), "R20: under the connect limit");
    assert_eq!(state(&client, A), State::Eligible, "R8: it has recovered");
    assert_eq!(client.get("/").send().unwrap().endpoint(), A);
}

#[test]
fn r8_try_nearest_that_fails_waits_for_longer() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]).on(B, [Reply::refused()]);
    let client = strict(on(&network, &[A, B]))
        .when_none_eligible(WhenNoneEligible::TryNearest)
        .build()
        .unwrap();
    client.get("/").send().unwrap_err();
    network.clock().advance(secs(1));
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.attempts().len()), (Status::AttemptsSpent, 1), "R8: one try");
    assert_eq!(attempts(&network, [A, B]), [2, 1], "R8");
    assert_eq!(cooling(&client, A), secs(20), "R8: a failure like any probe's");
    client.get("/").send().unwrap_err();
    assert_eq!(attempts(&network, [A, B]), [2, 2], "R8: now B is due first");
}

#[test]
fn r8_without_a_breaker_nobody_is_refused() {
    for what in ["fail_fast", "try_nearest"] {
        let network = ScriptedTransport::new().on(A, [Reply::refused()]);
        let client = on(&network, &[A]).set("when_none_eligible", what).build().unwrap();
        for _ in 0..50 {
            let error = client.get("/").send().unwrap_err();
            assert_eq!(error.reason(), Reason::Refused, "R8: {what}");
        }
        assert_eq!(attempts(&network, [A]), [50], "R8: {what}");
    }
}

#[test]
fn r19_an_error_keeps_what_the_answer_said() {
    let body = vec![b'x'; 70 * 1024];
    let reply = Reply::status(503).header("X-Trace", "7").retry_after(secs(9)).body(body.clone());
    let network = ScriptedTransport::new().on(A, [reply]);
    let client = on(&network, &[A]).set("error_statuses", "5xx,429").build().unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.http_status()), (Status::Rejected, Some(503)), "R19");
    assert_eq!(error.retry_after(), Some(secs(9)), "R19: the wait");
    let answer = error.answer().unwrap();
    assert_eq!((answer.status(), answer.header("X-Trace")), (503, Some("7")), "R19");
    assert_eq!(answer.bytes(), &body[..64 * 1024], "R19: up to 64 KiB");
    let answer = client.get("/").set("error_statuses", "off").send().unwrap();
    assert_eq!((answer.status(), answer.bytes().len()), (503, body.len()), "R19: off by default");
}

#[test]
fn r19_moves_on_before_it_is_an_error() {
    let network = ScriptedTransport::new().on(A, [Reply::status(503)]).on(B, [Reply::ok("b")]);
    let client = on(&network, &[A, B]).set("error_statuses", "5xx").build().unwrap();
    assert_eq!(client.get("/").send().unwrap().endpoint(), B, "R19, seeds.md 7.1");
    network.clock().advance(secs(300));
    let error = client.post("/").send().unwrap_err();
    assert_eq!((error.status(), received(&network, [A, B])), (Status::Rejected, [2, 1]), "R19");
}

#[test]
fn x_15_the_only_candidate_is_the_last() {
    let network = ScriptedTransport::new()
        .on(A, [Reply::ok("a").connects_after(secs(3))])
        .on(B, [Reply::refused()]);
    let client = strict(on(&network, &[A, B])).build().unwrap();
    check(&client, B).unwrap_err();
    let answer = client.get("/").send().unwrap();
    assert_eq!((answer.endpoint(), answer.elapsed()), (A, secs(3)), "X-15: no 2 s limit");
    assert_eq!(network.attempts_at(A)[0].limits.connect_by, None, "X-15");
}

#[test]
fn endpoints_of_one_client_may_have_circuits_of_their_own_ports() {
    let other = "https://a.example:8443";
    let network = ScriptedTransport::new().on(A, [Reply::refused()]).on(other, [Reply::ok("")]);
    let client =
        strict(on(&network, &[A]).endpoint(Endpoint::new(other).unwrap())).build().unwrap();
    client.get("/").send().unwrap();
    assert_eq!(
        [state(&client, A), state(&client, other)],
        [State::Cooling, State::Eligible],
        "B-B3"
    );
}

/// 20 requests under way when the server dies: the circuit opens at the fifth, for the wait of five.
#[test]
fn x_20_requests_under_way_count_until_the_circuit_opens() {
    const THREADS: usize = 20;
    let barrier = Arc::new(Barrier::new(THREADS));
    let together = Reply::resets_after_sending().meanwhile(move || {
        barrier.wait();
    });
    let network = ScriptedTransport::new().on(A, [together]);
    let client = on(&network, &[A]).set("breaker", "on").build().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| client.get("/").send().unwrap_err());
        }
    });
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.failures_in_a_row(), a.attempts(), a.in_flight()), (5, 20, 0), "X-20, B-23");
    assert!(a.cooling() >= secs(480) && a.cooling() < secs(960), "X-20: {:?}", a.cooling());
}
