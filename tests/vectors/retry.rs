//! The attempts of one call: seeds.md 1.2 (A-R, A-S8) and ruling R11, by a whole client in virtual time.
//!
//! | vector | said | now | ruling |
//! |---|---|---|---|
//! | A-R1 | a success moves the weight up | at its most it has nowhere to go, and no event is told | A-E1 |
//! | A-R2, A-R3 | the error goes to the predicate first, then counts | the predicate is asked before the attempt counts, so that it sees what no other call has changed | R11 |
//! | A-R5 | 408 lowers the weight | it is an answer like any other below 500 but 429: weight and circuit stay | R4, R6 |
//! | A-R8 | maxRetry 0 is one attempt | `max_attempts` 0 is `attempts_per_endpoint` for each endpoint | C contract, options |
//! | A-R9 | a timeout is not retried | it is, where the request may go out again | A-B1, R1 |
//! | A-R11 | the error event | `attempt_ended` | A-B3 |

use crate::network::{A, B, List, Log, attempts, ms, on, received, secs, weight};
use anyhost::inject::{self, Answer, Report, Transport};
use anyhost::testing::{Reply, ScriptedTransport};
use anyhost::{Advice, Body, Delivery, EventKind, Phase, Reason, Resend, State, Status, Verdict};
use std::io;

const WEIGHTS: &[EventKind] = &[EventKind::WeightChanged];

#[test]
fn a_r1_success_at_once_asks_nobody() {
    let network = ScriptedTransport::new().on(A, [Reply::ok("3")]);
    let (asked, log) = (List::new(), Log::default());
    let ask = asked.clone();
    let client = log
        .of(on(&network, &[A]).preset("agoda"), WEIGHTS)
        .retry(move |attempt| {
            ask.push(attempt.number());
            Advice::Again
        })
        .build()
        .unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "3");
    assert_eq!(received(&network, [A]), [1], "A-R1");
    assert!(asked.take().is_empty(), "A-R1: the predicate is never asked");
    assert_eq!(log.take(), [""; 0], "A-E1: at its most already");
}

#[test]
fn a_r2_two_failures_then_success() {
    let network =
        ScriptedTransport::new().on(A, [Reply::refused(), Reply::refused(), Reply::ok("3")]);
    let (asked, log) = (List::new(), Log::default());
    let ask = asked.clone();
    let client = log
        .of(on(&network, &[A]).preset("agoda").attempts_per_endpoint(10).max_attempts(10), WEIGHTS)
        .retry(move |attempt| {
            ask.push(attempt.number());
            Advice::Again
        })
        .build()
        .unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "3");
    assert_eq!(asked.take(), [1, 2], "A-R2");
    let moves = ["1000 -> 100", "100 -> 10", "10 -> 1000"];
    assert_eq!(log.take(), moves.map(|of| format!("{A}: weight {of}")), "A-R2: down, down, up");
}

#[test]
fn a_r3_a_predicate_that_gives_up_after_three() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]);
    let (asked, log) = (List::new(), Log::default());
    let ask = asked.clone();
    let client = log
        .of(on(&network, &[A]).preset("agoda").attempts_per_endpoint(10).max_attempts(10), WEIGHTS)
        .retry(move |attempt| {
            ask.push(attempt.number());
            if attempt.number() < 3 { Advice::Again } else { Advice::Stop }
        })
        .build()
        .unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!(attempts(&network, [A]), [3], "A-R3");
    assert_eq!(asked.take(), [1, 2, 3], "A-R3");
    assert_eq!((error.status(), error.reason()), (Status::AttemptsSpent, Reason::Refused), "A-R3");
    let moves = ["1000 -> 100", "100 -> 10", "10 -> 1"];
    assert_eq!(log.take(), moves.map(|of| format!("{A}: weight {of}")), "A-R3: down, three times");
}

#[test]
fn a_r4_a_predicate_that_says_no() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]).on(B, [Reply::ok("")]);
    let (asked, log) = (List::new(), Log::default());
    let ask = asked.clone();
    let client = log
        .of(on(&network, &[A]).preset("agoda"), WEIGHTS)
        .retry(move |attempt| {
            ask.push(attempt.number());
            Advice::Stop
        })
        .build()
        .unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!(attempts(&network, [A]), [1], "A-R4");
    assert_eq!(asked.take(), [1], "A-R4");
    assert_eq!(error.reason(), Reason::Refused, "A-R4");
    assert_eq!(log.take(), [format!("{A}: weight 1000 -> 100")], "A-R4");
}

#[test]
fn a_r5_transient_statuses_of_a_post() {
    let network = ScriptedTransport::new()
        .on(A, [Reply::status(408).body("slow")])
        .on(B, [Reply::status(408).body("slow")]);
    let client = on(&network, &[A, B]).preset("agoda").build().unwrap();
    let error = client.post("/").body("{}").send().unwrap_err();
    let [at_a, at_b] = received(&network, [A, B]);
    assert_eq!(at_a + at_b, 3, "A-R5");
    assert!(at_a > 0 && at_b > 0, "A-B17: the other host comes before the same one again");
    assert_eq!((error.status(), error.http_status()), (Status::Rejected, Some(408)), "A-R5");
    assert_eq!(error.answer().unwrap().text().unwrap(), "slow");
    assert_eq!([weight(&client, A).0, weight(&client, B).0], [1000, 1000], "R4: an answer");
}

#[test]
fn a_r6_network_errors_of_a_post() {
    let network = ScriptedTransport::new().on(A, [Reply::resets_after_sending()]);
    let client = on(&network, &[A]).preset("agoda").build().unwrap();
    let error = client.post("/").body("{}").send().unwrap_err();
    assert_eq!(error.attempts().len(), 3, "A-R6");
    assert_eq!((error.status(), error.reason()), (Status::AttemptsSpent, Reason::Reset), "A-R6");
    assert_eq!(error.delivery(), Delivery::Maybe);
    assert_eq!(received(&network, [A]), [3], "the preset sends any method again");
}

#[test]
fn a_r7_the_last_of_three_503_is_kept() {
    let bodies = ["one", "two", "three"];
    let network = ScriptedTransport::new().on(A, bodies.map(|of| Reply::status(503).body(of)));
    let client = on(&network, &[&format!("{A}/api/")]).preset("agoda").build().unwrap();
    let error = client.get("users?id=1").send().unwrap_err();
    let reasons: Vec<_> = error.attempts().iter().map(|attempt| attempt.reason()).collect();
    assert_eq!(reasons, [Reason::Status5xx; 3], "A-R7");
    let answer = error.answer().expect("A-R7: the body of the last is kept");
    assert_eq!((answer.status(), answer.text().unwrap()), (503, "three"), "A-R7");
    assert_eq!(answer.url(), format!("{A}/api/users"), "A-R7, R15: the URL without its query");
    assert_eq!(network.attempts()[2].url, format!("{A}/api/users?id=1"));
}

#[test]
fn a_r8_one_attempt_is_always_made() {
    for (most, made) in [(1, 1), (0, 3)] {
        let network = ScriptedTransport::new().on(A, [Reply::refused()]);
        let client = on(&network, &[A]).preset("agoda").max_attempts(most).build().unwrap();
        client.get("/").send().unwrap_err();
        assert_eq!(attempts(&network, [A]), [made], "A-R8: max_attempts {most}");
    }
}

#[test]
fn a_r9_a_timeout_is_a_reason_of_its_own() {
    let network = ScriptedTransport::new().on(A, [Reply::ok("late").takes(ms(300))]);
    let client = on(&network, &[A]).attempt_timeout(ms(100)).build().unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::AttemptsSpent, Reason::Timeout), "A-R9");
    assert_eq!((error.phase(), error.attempts()[0].elapsed()), (Phase::Head, ms(100)), "A-R9");
    assert_eq!(network.clock().elapsed(), ms(100));

    network.forget_attempts();
    let client = on(&network, &[A]).preset("agoda").attempt_timeout(ms(100)).build().unwrap();
    client.get("/").send().unwrap_err();
    assert_eq!(received(&network, [A]), [3], "A-B1: a timeout is transient");
}

#[test]
fn a_r10_in_time() {
    for limit in ["300ms", "off"] {
        let network = ScriptedTransport::new().on(A, [Reply::ok("yes").takes(ms(100))]);
        let client = on(&network, &[A]).set("attempt_timeout", limit).build().unwrap();
        let answer = client.get("/").send().unwrap();
        assert_eq!((answer.text().unwrap(), answer.elapsed()), ("yes", ms(100)), "A-R10: {limit}");
    }
}

#[test]
fn a_r11_an_event_for_every_failed_attempt() {
    let network = ScriptedTransport::new().on(A, [Reply::no_such_name()]);
    let network = network.on(B, [Reply::unreachable()]);
    let seen = List::new();
    let see = seen.clone();
    let client = on(&network, &[A, B])
        .preset("agoda")
        .on_event(move |event| {
            if event.kind() == EventKind::AttemptEnded {
                let attempt = event.attempt().unwrap();
                see.push((attempt.number(), attempt.endpoint().to_owned(), event.reason()));
            }
        })
        .build()
        .unwrap();
    client.get("/").send().unwrap_err();
    let seen = seen.take();
    assert_eq!(seen.iter().map(|of| of.0).collect::<Vec<_>>(), [1, 2, 3], "A-R11, A-B3");
    assert_eq!(attempts(&network, [A, B]), [1, 2], "no second look-up of a name that is none");
    for (_, endpoint, reason) in seen {
        let expected = if endpoint == A { Reason::Dns } else { Reason::Unreachable };
        assert_eq!(reason, expected, "A-B3: {endpoint}");
    }
}

#[test]
fn a_s8_one_url_takes_every_retry() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]);
    let client = on(&network, &[A]).attempts_per_endpoint(4).build().unwrap();
    client.get("/").send().unwrap_err();
    assert_eq!(attempts(&network, [A]), [4], "A-S8");
    let sleeps = network.clock().sleeps();
    assert_eq!(sleeps.len(), 3, "H-26: a wait before each return");
    for (wait, ceiling) in sleeps.iter().zip([ms(50), ms(100), ms(200)]) {
        assert!(*wait < ceiling, "H-26: {wait:?} is below {ceiling:?}");
    }
}

/// The last complete answer is the result, also when the deadline or the body ended the call.
#[test]
fn r11_the_last_answer_is_the_result() {
    let busy = || Reply::status(503).header("X-From", "a").body("busy");
    let cases = [
        ("an error after it", Reply::refused(), Delivery::NotSent),
        ("a timeout at the deadline", Reply::times_out(), Delivery::Maybe),
        ("a broken body", Reply::ok("half").breaks_off(), Delivery::Answered),
    ];
    for (case, second, delivery) in cases {
        let network = ScriptedTransport::new().on(A, [busy()]).on(B, [second]);
        let client = on(&network, &[A, B]).deadline(secs(3)).build().unwrap();
        let answer = client.get("/").send().unwrap();
        assert_eq!((answer.status(), answer.header("x-from")), (503, Some("a")), "R11: {case}");
        assert_eq!(answer.text().unwrap(), "busy", "R11: {case}");
        assert_eq!(answer.attempts().len(), 2, "R11: {case}");
        assert_eq!(answer.attempts()[1].delivery(), delivery, "R11: {case}");
    }
}

#[test]
fn r11_a_body_that_cannot_be_sent_again_ends_with_the_answer() {
    let network = ScriptedTransport::new().on(A, [Reply::status(521)]).on(B, [Reply::ok("")]);
    let client = on(&network, &[A, B]).build().unwrap();
    let once = || Body::reader(io::Cursor::new(b"once"), None);
    let answer = client.post("/").body(once()).send().unwrap();
    assert_eq!(answer.status(), 521, "R11");
    assert_eq!(received(&network, [A, B]), [1, 0], "R11");
    assert_eq!(network.attempts()[0].body, b"once");

    network.now_on(A, [Reply::refused()]);
    let error = client.post("/").body(once()).send().unwrap_err();
    assert_eq!(error.status(), Status::NotReplayable, "R1: nothing was sent, but it is one-shot");
    assert_eq!(attempts(&network, [B]), [0], "R1");
}

#[test]
fn r11_again_moves_on_where_the_client_would_stop() {
    let again = |network: &ScriptedTransport| {
        on(network, &[A, B]).retry(|_| Advice::Again).build().unwrap()
    };
    let network = ScriptedTransport::new().on(A, [Reply::status(500)]).on(B, [Reply::ok("b")]);
    let client = again(&network);
    assert_eq!(client.get("/").send().unwrap().status(), 200, "R11: 500 moves on with AGAIN");
    assert_eq!(received(&network, [A, B]), [1, 1]);

    // Resend safety: a POST that may have arrived stays where it is, whatever the advice.
    for reply in [Reply::status(500), Reply::status(503), Reply::status(524)] {
        let network = ScriptedTransport::new().on(A, [reply]).on(B, [Reply::ok("b")]);
        let answer = again(&network).post("/").body("{}").send().unwrap();
        assert_eq!(received(&network, [A, B]), [1, 0], "R11, R1: {answer:?}");
    }
    for reply in [
        Reply::resets_after_sending(),
        Reply::closes_after_sending(),
        Reply::not_http(),
        Reply::times_out(),
        Reply::stale_connection(),
        Reply::ok("half").breaks_off(),
        Reply::ok("half").stalls(),
    ] {
        let network = ScriptedTransport::new().on(A, [reply.clone()]).on(B, [Reply::ok("b")]);
        again(&network).post("/").body("{}").send().unwrap_err();
        assert_eq!(received(&network, [A, B]), [1, 0], "R11, R1: {reply:?}");
    }

    // It allows nothing beyond attempts, and nothing that is the caller's own.
    let network = ScriptedTransport::new().on(A, [Reply::status(500)]).on(B, [Reply::ok("b")]);
    let answer = again(&network).get("/").max_attempts(1).send().unwrap();
    assert_eq!(answer.status(), 500, "R11: max_attempts");
    let network = ScriptedTransport::new().on(A, [Reply::times_out()]).on(B, [Reply::ok("b")]);
    let error = again(&network).get("/").deadline(secs(1)).send().unwrap_err();
    assert_eq!((error.status(), received(&network, [B])), (Status::Deadline, [0]), "R11: deadline");
    let network = ScriptedTransport::new().on(A, [Reply::ok("too long")]).on(B, [Reply::ok("b")]);
    let error = again(&network).get("/").max_body(3).send().unwrap_err();
    assert_eq!((error.status(), received(&network, [B])), (Status::TooLarge, [0]), "R11: max_body");
}

/// A network whose every connection is stale, however fresh it was asked to be.
struct Stale(ScriptedTransport);

impl Transport for Stale {
    fn attempt(&self, attempt: inject::Attempt<'_>) -> (Report, Option<Answer>) {
        let (report, answer) = self.0.attempt(attempt);
        (Report { reused: true, ..report }, answer)
    }
}

#[test]
fn r2_one_replay_over_a_transport_that_has_idle_connections_only() {
    let network = ScriptedTransport::new()
        .on(A, [Reply::stale_connection(), Reply::stale_connection(), Reply::ok("third")])
        .on(B, [Reply::ok("b")]);
    let client = on(&network, &[A, B]).transport(Stale(network.clone())).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "b", "R2: once, then the next");
    assert_eq!(attempts(&network, [A, B]), [2, 1], "R2");
}

#[test]
fn r11_stop_ends_the_call() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]).on(B, [Reply::ok("b")]);
    let client = on(&network, &[A, B]).retry(|_| Advice::Stop).build().unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::AttemptsSpent, Reason::Refused), "R11");
    network.now_on(A, [Reply::status(503)]);
    assert_eq!(client.get("/").send().unwrap().status(), 503, "R11: the answer there was");
    network.now_on(A, [Reply::ok("half").breaks_off()]);
    assert_eq!(client.get("/").send().unwrap_err().status(), Status::Body, "R13: no answer");
    network.now_on(A, [Reply::ok("half").stalls()]);
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::Body, Reason::Timeout), "R13: no answer");
    network.now_on(A, [Reply::stale_connection(), Reply::ok("fresh")]);
    client.get("/").send().unwrap_err();
    assert_eq!(attempts(&network, [A, B]), [5, 0], "R11: no replay either");
}

#[test]
fn r11_the_judge_accepts() {
    let network = ScriptedTransport::new().on(A, [Reply::status(503).body("fine")]);
    let client = on(&network, &[A, B])
        .set("breaker", "on")
        .judge(|answer| {
            assert_eq!(answer.text().unwrap(), "fine");
            Verdict::Accept
        })
        .build()
        .unwrap();
    for _ in 0..6 {
        assert_eq!(client.get("/").send().unwrap().status(), 503, "R11: ACCEPT");
    }
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.state(), a.successes(), a.failures()), (State::Eligible, 6, 0), "R11: ACCEPT");
}

#[test]
fn r11_the_judge_finds_fault() {
    let fault = |network: &ScriptedTransport| {
        on(network, &[A, B])
            .judge(|answer| match answer.header("X-Error") {
                Some(_) => Verdict::Fault,
                None => Verdict::Default,
            })
            .build()
            .unwrap()
    };
    let bad = || Reply::ok("wrong").header("X-Error", "7");
    let network = ScriptedTransport::new().on(A, [bad()]).on(B, [Reply::ok("right")]);
    let client = fault(&network);
    let answer = client.get("/").send().unwrap();
    assert_eq!(answer.text().unwrap(), "right", "R11: FAULT moves on");
    assert_eq!(answer.attempts()[0].reason(), Reason::Predicate);
    assert_eq!(client.snapshot().find(A).unwrap().failures(), 1, "R11: the endpoint is blamed");

    let error = fault(&ScriptedTransport::new().on(A, [bad()]).on(B, [bad()]));
    let error = error.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::Rejected, Reason::Predicate), "R11");
    assert_eq!(error.answer().unwrap().text().unwrap(), "wrong", "R11: the answer is kept");

    let network = ScriptedTransport::new().on(A, [bad()]).on(B, [Reply::ok("right")]);
    let error = fault(&network).post("/").body("{}").send().unwrap_err();
    assert_eq!(error.status(), Status::Rejected, "R11: FAULT is no leave to send a POST again");
    assert_eq!(received(&network, [A, B]), [1, 0], "R11");
    let network = ScriptedTransport::new()
        .on(A, [Reply::status(521).header("X-Error", "7")])
        .on(B, [Reply::ok("right")]);
    let answer = fault(&network).post("/").body("{}").send().unwrap();
    assert_eq!(answer.text().unwrap(), "right", "R1: no server behind the proxy had the POST");
}

#[test]
fn r11_the_judge_blames_the_caller() {
    let network = ScriptedTransport::new().on(A, [Reply::status(503)]).on(B, [Reply::ok("b")]);
    let client = on(&network, &[A, B])
        .selection(anyhost::Selection::Weighted)
        .judge(|answer| match answer.status() {
            503 => Verdict::Caller,
            _ => Verdict::Default,
        })
        .build()
        .unwrap();
    client.disable(B, "to be sure of A").unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.http_status()), (Status::Rejected, Some(503)), "R11: CALLER");
    assert_eq!(attempts(&network, [A, B]), [1, 0], "R11: another would say the same");
    assert_eq!(weight(&client, A).0, 1000, "R11: nobody is blamed");
}

#[test]
fn r11_the_judge_sees_the_attempts_before() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]).on(B, [Reply::ok("b")]);
    let seen = List::new();
    let see = seen.clone();
    let client = on(&network, &[A, B])
        .judge(move |answer| {
            see.push((answer.endpoint().to_owned(), answer.attempts().len()));
            Verdict::Default
        })
        .build()
        .unwrap();
    client.get("/").send().unwrap();
    assert_eq!(seen.take(), [(B.to_owned(), 1)], "R11");
}

#[test]
fn r11_a_callback_that_panics_changes_nothing() {
    let calm = |builder: anyhost::ClientBuilder| builder;
    let judge = |builder: anyhost::ClientBuilder| builder.judge(|_| panic!("planted in judge"));
    let retry = |builder: anyhost::ClientBuilder| builder.retry(|_| panic!("planted in retry"));
    let event = |builder: anyhost::ClientBuilder| builder.on_event(|_| panic!("planted in event"));
    let callbacks: [fn(anyhost::ClientBuilder) -> anyhost::ClientBuilder; 4] =
        [calm, judge, retry, event];
    let mut runs = Vec::new();
    for callback in callbacks {
        let network = ScriptedTransport::new()
            .on(A, [Reply::refused(), Reply::status(503), Reply::resets_after_sending()])
            .on(B, [Reply::ok("b")]);
        let client = callback(on(&network, &[A, B]).set("hold_for", "0")).build().unwrap();
        let mut ends = Vec::new();
        for method in ["GET", "GET", "POST", "GET"] {
            let end = client.request(method, "/").send();
            ends.push(end.map(|answer| answer.status()).map_err(|error| error.to_string()));
        }
        let snapshot = client.snapshot();
        let members = snapshot.members().iter();
        let kept: Vec<_> =
            members.map(|m| (m.in_flight(), m.attempts(), m.failures(), m.weight())).collect();
        runs.push((ends, kept, received(&network, [A, B])));
    }
    let calm = runs.remove(0);
    assert_eq!(calm.2, [3, 3], "R11: POST arrived once");
    for run in runs {
        assert_eq!(run, calm, "R11");
    }
}

/// A transport is not a callback: its panic is the program's. But the client stays whole.
#[test]
fn a_panic_on_the_way_gives_the_ticket_back() {
    let panics = || Reply::refused().meanwhile(|| panic!("planted in the transport"));
    let network = ScriptedTransport::new().on(A, [Reply::refused(), panics(), Reply::ok("a")]);
    let client = on(&network, &[A])
        .set("breaker", "on")
        .set("breaker_threshold", "1")
        .set("breaker_base_delay", "10s")
        .set("breaker_jitter", "off")
        .build()
        .unwrap();
    client.get("/").send().unwrap_err();
    network.clock().advance(secs(10));
    let panicked =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| client.get("/").send()));
    assert!(panicked.is_err());
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.state(), a.in_flight(), a.failures()), (State::Cooling, 0, 1), "P-14");
    assert_eq!(client.get("/").send().unwrap_err().status(), Status::NoEndpoint, "P-14");
    network.clock().advance(secs(10));
    assert_eq!(client.get("/").send().unwrap().status(), 200, "P-14: one window later");
}

#[test]
fn r1_resend_any_sends_a_post_again() {
    let network =
        ScriptedTransport::new().on(A, [Reply::resets_after_sending()]).on(B, [Reply::ok("b")]);
    let client = on(&network, &[A, B]).build().unwrap();
    let request = || client.post("/").body("{}");
    request().send().unwrap_err();
    assert_eq!(received(&network, [A, B]), [1, 0], "R1");
    assert_eq!(request().resend(Resend::Any).send().unwrap().status(), 200, "R1");
    assert_eq!(received(&network, [A, B]), [2, 1], "R1");

    let network =
        ScriptedTransport::new().on(A, [Reply::closes_after_sending()]).on(B, [Reply::ok("")]);
    let client = on(&network, &[A, B]).build().unwrap();
    let error = client.get("/").resend(Resend::Never).send().unwrap_err();
    assert_eq!((error.reason(), received(&network, [B])), (Reason::Eof, [0]), "R1: never");
}

#[test]
fn r2_a_stale_connection_is_replayed_once() {
    let network = ScriptedTransport::new()
        .on(A, [Reply::stale_connection(), Reply::ok("fresh").takes(ms(9))]);
    let client = on(&network, &[A, B]).build().unwrap();
    let answer = client.get("/").max_attempts(1).send().unwrap();
    assert_eq!(answer.text().unwrap(), "fresh", "R2");
    let replays: Vec<_> = answer.attempts().iter().map(|attempt| attempt.is_replay()).collect();
    assert_eq!(replays, [false, true], "R2: it costs no attempt");
    let seen = network.attempts();
    assert!(!seen[0].fresh && seen[1].fresh, "R2");
    assert_eq!(seen[0].limits, seen[1].limits, "R2: it shares the limits");
    assert_eq!(client.snapshot().find(A).unwrap().failures(), 0, "R2: it blames nobody");
}
