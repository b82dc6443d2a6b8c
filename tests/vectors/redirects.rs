//! Redirects in virtual time (R14): the limits of a hop, what it changes of the pool (nothing), what
//! callbacks are asked, and under which keys the transport is used. What goes over the wire is in
//! `tests/wire/redirects.rs`.

use crate::network::{A, B, List, Log, ms, on, secs, weight};
use anyhost::inject::{Answer, Attempt, Report, Transport};
use anyhost::testing::{Reply, ScriptedTransport};
use anyhost::{
    Advice, Endpoint, EventKind, Execution, Reason, Selection, Status, StatusSet, Timeout,
    TimeoutPolicy, Verdict, WhenNoneEligible,
};
use std::time::Duration;

const FAR: &str = "https://far.example";

fn to(location: &str) -> Reply {
    Reply::status(302).header("Location", location)
}

/// R14, R3, R9: the limits of a last attempt, from its own start; the policy is asked for it.
#[test]
fn a_hop_has_limits_of_its_own() {
    struct Asked(List<u32>);
    impl TimeoutPolicy for Asked {
        fn attempt_timeout(&self, so_far: &Execution) -> Option<Duration> {
            self.0.push(so_far.attempt);
            Some(secs(5))
        }
    }
    let network = ScriptedTransport::new()
        .on(A, [to(FAR).takes(secs(3))])
        .on(FAR, [to("/2").takes(secs(4)), Reply::ok("far").takes(secs(5))]);
    let asked = List::new();
    let client = on(&network, &[A, B]).attempt_timeout(Asked(asked.clone())).build().unwrap();
    let answer = client.get("/").send().unwrap();
    assert_eq!((answer.text().unwrap(), answer.elapsed()), ("far", secs(12)));
    assert_eq!(asked.take(), [1, 2, 3], "with the execution so far");
    let start = network.attempts()[0].limits.until.unwrap() - secs(5);
    let limits: Vec<_> = network
        .attempts()
        .iter()
        .map(|at| [at.limits.connect_by, at.limits.until].map(|limit| limit.map(|at| at - start)))
        .collect();
    let hop = |until| [None, Some(secs(until))];
    assert_eq!(limits, [[Some(secs(2)), Some(secs(5))], hop(3 + 5), hop(7 + 5)]);

    network.now_on(A, [to(FAR).takes(secs(3))]);
    network.now_on(FAR, [Reply::ok("far").takes(secs(2))]);
    network.forget_attempts();
    client.get("/").connect_timeout_last(secs(1)).deadline(secs(6)).send().unwrap();
    let now = network.clock().elapsed() - secs(5);
    let hop = &network.attempts()[1];
    assert_eq!(hop.at - now, secs(3));
    let until = hop.limits.until.unwrap();
    assert_eq!(until - hop.limits.connect_by.unwrap(), secs(2), "1 s from 3 s on, 6 s at the most");
}

/// R14: the deadline ends it, and a hop for which no time is left is not begun.
#[test]
fn the_deadline_binds_hops() {
    let network = ScriptedTransport::new()
        .on(A, [to(FAR).takes(secs(2))])
        .on(FAR, [Reply::ok("far").takes(secs(2))]);
    let client = on(&network, &[A, B]).build().unwrap();
    for (deadline, reason, attempts) in
        [(secs(3), Some(Reason::Deadline), 2), (secs(2), Some(Reason::None), 1), (secs(4), None, 2)]
    {
        network.forget_attempts();
        let ended = client.get("/").deadline(deadline).send();
        assert_eq!(network.attempts().len(), attempts, "{deadline:?}");
        match ended {
            Ok(answer) => assert_eq!((answer.elapsed(), reason), (deadline, None)),
            Err(error) => {
                assert_eq!((error.status(), Some(error.reason())), (Status::Deadline, reason));
            }
        }
    }
}

/// R14: hops are outside `max_attempts`, the budget, weights, circuits, and waits; a failed one ends it.
#[test]
fn a_hop_changes_nothing_of_the_pool() {
    let ends = [
        Reply::refused(),
        Reply::times_out(),
        Reply::resets_after_sending(),
        Reply::ok("half").breaks_off(),
        Reply::status(503).retry_after(secs(60)),
        Reply::status(429),
        Reply::ok("good"),
    ];
    // Where the redirect leads: to an endpoint and to a stranger.
    for target in [B, FAR] {
        for end in &ends {
            let network = ScriptedTransport::new()
                .on(A, [to(target)])
                .on(B, [Reply::ok("b")])
                .on(target, [end.clone()]);
            let log = Log::default();
            let builder = on(&network, &[A, B])
                .selection(Selection::Weighted)
                .set("breaker", "on")
                .set("breaker_threshold", "1")
                .max_attempts(1);
            let kinds = &[EventKind::StateChanged, EventKind::WeightChanged, EventKind::Failover];
            let client = log.of(builder, kinds).build().unwrap();
            client.disable(B, "the draw is of A alone").unwrap();
            log.take();
            for call in 1..=3 {
                let ended = client.get("/").send();
                let name = format!("{end:?} at {target}, call {call}");
                assert_eq!(network.attempts_at(A).len(), call, "{name}");
                assert_eq!(network.attempts_at(target).len(), call, "{name}: no attempt follows");
                match ended {
                    Ok(answer) => {
                        let wait = (answer.status() == 503).then_some(secs(60));
                        assert_eq!(answer.retry_after(), wait, "{name}: shown, and not kept");
                    }
                    Err(error) => assert_ne!(error.status(), Status::Redirects, "{name}"),
                }
                assert_eq!((weight(&client, A), weight(&client, B)), ((1000, 1000), (1000, 1000)));
                let snapshot = client.snapshot();
                let (a, b) = (snapshot.find(A).unwrap(), snapshot.find(B).unwrap());
                assert_eq!((a.attempts(), a.successes()), (call as u64, call as u64), "{name}");
                assert_eq!((b.attempts(), b.successes(), b.failures()), (0, 0, 0), "{name}");
                assert_eq!((a.in_flight(), b.in_flight()), (0, 0), "{name}");
            }
            assert_eq!(log.take(), [""; 0]);
        }
    }
}

/// R3, R14: the redirect itself is a good answer of its endpoint, so a fallback that gives one is held.
#[test]
fn the_redirect_is_a_good_answer_of_its_endpoint() {
    let network = ScriptedTransport::new()
        .on(A, [Reply::refused()])
        .on(B, [to(FAR)])
        .on(FAR, [Reply::refused(), Reply::ok("far")]);
    let client = on(&network, &[A, B]).build().unwrap();
    assert_eq!(client.get("/").send().unwrap_err().reason(), Reason::Refused);
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "far");
    assert_eq!(network.attempts_at(A).len(), 1, "B is held");
}

/// R11, R14: the judge is asked of what the caller may get, and what it turns down is nobody's fault.
#[test]
fn the_judge_sees_the_end_of_the_way() {
    for (verdict, ends) in
        [(Verdict::Default, true), (Verdict::Fault, false), (Verdict::Caller, false)]
    {
        let network = ScriptedTransport::new()
            .on(A, [to("/2")])
            .on(&format!("{A}/2"), [to(FAR)])
            .on(FAR, [Reply::status(404)])
            .on(B, [Reply::ok("b")]);
        let (judged, advised) = (List::new(), List::new());
        let (judge, advice) = (judged.clone(), advised.clone());
        let client = on(&network, &[A, B])
            .judge(move |answer| {
                judge.push((
                    answer.status(),
                    answer.endpoint().to_owned(),
                    answer.attempts().len(),
                ));
                verdict
            })
            .retry(move |attempt| {
                advice.push(attempt.number());
                Advice::Again
            })
            .build()
            .unwrap();
        let ended = client.get("/").send();
        assert_eq!(judged.take(), [(404, FAR.to_owned(), 2)]);
        assert_eq!(advised.take(), [0; 0], "no attempt can follow");
        assert_eq!((ended.is_ok(), network.attempts_at(B).len()), (ends, 0), "{verdict:?}");
        if let Err(error) = ended {
            assert_eq!((error.status(), error.reason()), (Status::Rejected, Reason::Predicate));
            assert_eq!(error.answer().unwrap().status(), 404);
        }
        assert_eq!(client.snapshot().find(A).unwrap().failures(), 0);
        assert_eq!(client.get("/").redirects(0).send().is_ok(), ends);
        assert_eq!(judged.take()[0].0, 302, "handed out, it is judged");
    }
}

/// R19: what an answer must be is asked of the last one.
#[test]
fn success_is_asked_of_the_last_answer() {
    let network =
        ScriptedTransport::new().on(A, [to(FAR)]).on(FAR, [Reply::ok("far"), Reply::status(500)]);
    let client = on(&network, &[A])
        .require_success(true)
        .error_statuses("3xx".parse::<StatusSet>().unwrap())
        .build()
        .unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "far");
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.answer().unwrap().status()), (Status::Rejected, 500));
    assert_eq!(client.get("/").redirects(0).send().unwrap_err().status(), Status::Rejected);
}

/// R1, R14: a redirect that moves on is followed where it is the answer in the end.
#[test]
fn a_redirect_that_moves_on_is_followed_at_the_end() {
    let network = ScriptedTransport::new()
        .on(A, [to("/there?q")])
        .on(&format!("{A}/there"), [Reply::ok("a")])
        .on(B, [Reply::ok("b"), Reply::refused()]);
    let client = on(&network, &[A, B]).set("resend_statuses", "302").hold_for(secs(0));
    let client = client.build().unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "b");
    let answer = client.get("/").send().unwrap();
    let way: Vec<_> = answer.attempts().iter().map(|at| (at.endpoint(), at.is_hop())).collect();
    assert_eq!(way, [(A, false), (B, false), (A, true)]);
    assert_eq!((answer.text().unwrap(), answer.url()), ("a", "https://a.example/there"));
}

/// R15, F90: scheme, host and port make an origin, so a step up to https is a step outside too. Spelling
/// makes none.
#[test]
fn an_origin_is_scheme_host_and_port() {
    for (base, target, inside) in [
        ("http://a.example:8443", "https://a.example:8443/x", false),
        ("http://a.example", "https://a.example/x", false),
        ("https://a.example", "https://a.example:8443/x", false),
        ("https://a.example", "https://www.a.example/x", false),
        ("https://a.example", "https://a.example.far.example/x", false),
        ("https://a.example", "https://a.example@far.example/x", false),
        ("https://a.example", "https://far.example@a.example/x", true),
        ("https://a.example/v1", "HTTPS://A.EXAMPLE:443/x", true),
    ] {
        let network = ScriptedTransport::new().on(base, [to(target)]);
        for host in ["a.example:8443", "a.example", "www.a.example", "a.example.far.example"] {
            network.now_on(&format!("https://{host}/x"), [Reply::ok("")]);
        }
        network.now_on("https://far.example/x", [Reply::ok("")]);
        let client = on(&network, &[base]).header("X-Api-Key", "key").build().unwrap();
        client.get("/from").send().unwrap();
        let hop = network.attempts().pop().unwrap();
        assert_eq!(hop.headers.contains_key("x-api-key"), inside, "{base} to {target}");
        assert!(hop.url.ends_with(".example/x") || hop.url.ends_with(":8443/x"), "{}", hop.url);
    }
}

/// R22: an endpoint that has left the list by the time of the redirect is a stranger.
#[test]
fn an_endpoint_taken_out_is_outside() {
    let later = crate::network::Later::default();
    let update = later.clone();
    let network = ScriptedTransport::new()
        .on(
            A,
            [to(B).meanwhile(move || {
                update.get().update([Endpoint::new(A).unwrap()]).unwrap();
            })],
        )
        .on(B, [Reply::ok("b")]);
    let client = on(&network, &[A, B]).header("X-Api-Key", "key").build().unwrap();
    later.set(&client);
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "b");
    assert!(network.received_at(A)[0].headers.contains_key("x-api-key"));
    assert!(!network.received_at(B)[0].headers.contains_key("x-api-key"));
}

/// Of endpoints with one origin the one below whose base the target is, then the one that redirected.
#[test]
fn the_longest_base_says_whose_headers_go_along() {
    let base = |path: &str| format!("{A}{path}");
    for (from, location, at) in [
        (B, base("/v1/x"), "v1"),
        (B, base("/v2/x"), "v2"),
        (B, base("/v2/deep/x"), "deep"),
        (B, base("/v20"), "v1"),
        ("v2", "/other".to_owned(), "v2"),
        ("deep", base("/v1"), "v1"),
    ] {
        let network = ScriptedTransport::new().on(A, [Reply::ok("")]).on(B, [to(&location)]);
        let bases = [("v1", base("/v1")), ("v2", base("/v2")), ("deep", base("/v2/deep"))];
        for (name, url) in &bases {
            let first = if *name == from { to(&location) } else { Reply::ok("") };
            network.now_on(url, [first, Reply::ok("")]);
        }
        let list = bases.iter().map(|(name, url)| {
            let endpoint = Endpoint::new(url).unwrap().label(*name);
            endpoint.secret_header("X-Own", name).unwrap().priority(u32::from(*name != from))
        });
        let client = list
            .fold(on(&network, &[B]), |builder, endpoint| builder.endpoint(endpoint))
            .when_none_eligible(WhenNoneEligible::FailFast)
            .build()
            .unwrap();
        let answer = client.get("/ask").send().unwrap();
        assert_eq!(answer.endpoint(), at, "{from} to {location}");
        let hop = network.attempts().pop().unwrap();
        assert_eq!(hop.headers["x-own"], at, "{from} to {location}");
    }
}

/// A scripted network that tells which keys it is used with.
struct Keys {
    network: ScriptedTransport,
    used: List<(String, u64)>,
    forgotten: List<u64>,
}

impl Transport for Keys {
    fn attempt(&self, attempt: Attempt<'_>) -> (Report, Option<Answer>) {
        let host = attempt.url.split('/').nth(2).unwrap().to_owned();
        self.used.push((host, attempt.endpoint));
        self.network.attempt(attempt)
    }

    fn forget(&self, endpoint: u64) {
        self.forgotten.push(endpoint);
    }
}

/// No two origins share idle connections, and a server that invents origins does not fill the memory.
#[test]
fn each_origin_has_a_key_and_few_are_kept() {
    let network = ScriptedTransport::new().on(B, [Reply::ok("b")]);
    let (used, forgotten) = (List::new(), List::new());
    let keys = Keys { network: network.clone(), used: used.clone(), forgotten: forgotten.clone() };
    let client = on(&network, &[A, B]).transport(keys).redirects(1).build().unwrap();
    let hop = |host: &str| {
        network.now_on(A, [to(&format!("https://{host}/x"))]);
        network.now_on(&format!("https://{host}"), [Reply::ok("")]);
        client.get("/").send().unwrap();
        let used = used.take();
        assert_eq!((used[0].0.as_str(), used[1].0.as_str()), ("a.example", host));
        assert_ne!(used[0].1, used[1].1);
        used[1].1
    };
    let b = hop("b.example");
    let first: Vec<u64> = (0..16).map(|n| hop(&format!("far{n}.example"))).collect();
    assert!(!first.contains(&b));
    assert_eq!(hop("far0.example"), first[0], "kept");
    assert_eq!(forgotten.take(), [0; 0]);
    hop("far16.example");
    assert_eq!(forgotten.take(), [first[1]], "the one used longest ago");
    let mut all: Vec<u64> = first.clone();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 16);
    assert_eq!(hop("b.example"), b, "an endpoint keeps its own");
}

/// R9: the policy sees the attempts before a hop, and after a good one an adaptive limit is as usual.
#[test]
fn an_adaptive_limit_goes_by_the_attempt_before() {
    let network = ScriptedTransport::new()
        .on(A, [Reply::times_out()])
        .on(B, [to(FAR).takes(ms(700))])
        .on(FAR, [Reply::times_out()]);
    let client = on(&network, &[A, B])
        .attempt_timeout(Timeout::adaptive(ms(200), [secs(1)]))
        .build()
        .unwrap();
    let error = client.get("/").send().unwrap_err();
    let took: Vec<_> = error.attempts().iter().map(|attempt| attempt.elapsed()).collect();
    assert_eq!(took, [ms(200), ms(700), ms(200)]);
    assert_eq!(error.attempts()[1].reason(), Reason::None);
}
