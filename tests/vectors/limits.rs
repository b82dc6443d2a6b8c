//! What bounds a call: rulings R3 and R9 and the table of seeds.md 7.7, by a whole client in
//! virtual time.

use crate::network::{A, B, C, attempts, ms, on, received, secs};
use anyhost::testing::{Reply, ScriptedTransport, Seen};
use anyhost::{Body, Client, Phase, Reason, Request, Status, Timeout};
use std::io;
use std::time::{Duration, Instant};

/// A limit as a duration from the start of its attempt.
fn from_start(
    network: &ScriptedTransport,
    seen: &Seen,
    limit: Option<Instant>,
) -> Option<Duration> {
    let now = anyhost::inject::Clock::now(&network.clock());
    let began = now - network.clock().elapsed() + seen.at;
    limit.map(|limit| limit - began)
}

fn untils(network: &ScriptedTransport) -> Vec<Option<Duration>> {
    let attempts = network.attempts();
    attempts.iter().map(|seen| from_start(network, seen, seen.limits.until)).collect()
}

fn connects(network: &ScriptedTransport) -> Vec<Option<Duration>> {
    let attempts = network.attempts();
    attempts.iter().map(|seen| from_start(network, seen, seen.limits.connect_by)).collect()
}

#[test]
fn r9_no_limit_is_0() {
    const LIMITS: [&str; 5] =
        ["deadline", "attempt_timeout", "connect_timeout", "connect_timeout_last", "stall_timeout"];
    let client = Client::builder().base_urls(A).build().unwrap();
    for option in LIMITS {
        for text in ["0", "0ms", "0s"] {
            let error = Client::builder().base_urls(A).set(option, text).build().unwrap_err();
            assert_eq!((error.status(), error.option()), (Status::Option, Some(option)), "R9");
            let error = Request::new("GET", "/").unwrap().set(option, text).unwrap_err();
            assert_eq!((error.status(), error.option()), (Status::Option, Some(option)), "R9");
        }
        Client::builder().base_urls(A).set(option, "off").build().unwrap();

        let builder = Client::builder().base_urls(A);
        let request = client.get("/");
        let zero = Duration::ZERO;
        let (builder, request) = match option {
            "deadline" => (builder.deadline(zero), request.deadline(zero)),
            "attempt_timeout" => (builder.attempt_timeout(zero), request.attempt_timeout(zero)),
            "connect_timeout" => (builder.connect_timeout(zero), request.connect_timeout(zero)),
            "stall_timeout" => (builder.stall_timeout(zero), request.stall_timeout(zero)),
            _ => (builder.connect_timeout_last(zero), request.connect_timeout_last(zero)),
        };
        let error = builder.build().unwrap_err();
        assert_eq!((error.status(), error.option()), (Status::Option, Some(option)), "R9");
        let error = request.send().unwrap_err();
        assert_eq!((error.status(), error.option()), (Status::Option, Some(option)), "R9");
        assert!(error.attempts().is_empty());
    }
    for text in ["adaptive 0,1s", "200ms,0", "measured 0..5s"] {
        let error = Client::builder().base_urls(A).set("attempt_timeout", text).build();
        assert_eq!(error.unwrap_err().option(), Some("attempt_timeout"), "R9: {text}");
    }
}

#[test]
fn r3_connect_limit_on_every_attempt_but_the_last() {
    let network = ScriptedTransport::new()
        .on(A, [Reply::connect_times_out()])
        .on(B, [Reply::connect_times_out()])
        .on(C, [Reply::ok("c").connects_after(secs(4))]);
    let client = on(&network, &[A, B, C]).build().unwrap();
    let answer = client.post("/").body("{}").send().unwrap();
    assert_eq!((answer.endpoint(), answer.elapsed()), (C, secs(8)), "D-4, D-6: 2 s, 2 s, 4 s");
    assert_eq!(connects(&network), [Some(secs(2)), Some(secs(2)), None], "R3");
    assert_eq!(untils(&network), [Some(secs(5)); 3], "R3: the attempt limit binds on all");

    // Nothing can follow: one attempt left, one endpoint, or a body that is sent but once.
    network.forget_attempts();
    let once = Body::reader(io::empty(), Some(0));
    let _ = client.post("/").body(once).send();
    let _ = client.get("/").max_attempts(1).send();
    client.update([anyhost::Endpoint::new(C).unwrap()]).unwrap();
    let _ = client.get("/").send();
    assert_eq!(connects(&network), [None; 3], "R3, D-21");
}

#[test]
fn r3_half_of_what_is_left() {
    let network = ScriptedTransport::new()
        .on(A, [Reply::connect_times_out()])
        .on(B, [Reply::connect_times_out()])
        .on(C, [Reply::connect_times_out()]);
    let client = on(&network, &[A, B, C]).deadline(secs(2)).build().unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!(connects(&network), [Some(secs(1)), Some(ms(500)), None], "D-B7");
    assert_eq!(untils(&network), [Some(secs(2)), Some(secs(1)), Some(ms(500))], "R9");
    assert_eq!(network.clock().elapsed(), secs(2), "R9: not a moment longer");
    assert_eq!((error.status(), error.reason()), (Status::Deadline, Reason::Deadline), "R9");
}

#[test]
fn r9_the_deadline_bounds_waits_too() {
    let network = ScriptedTransport::new().on(A, [Reply::refused().takes(ms(40))]);
    let hour = secs(60 * 60);
    let client = on(&network, &[A])
        .attempts_per_endpoint(100)
        .backoff_base(hour)
        .backoff_max(hour)
        .deadline(ms(100))
        .build()
        .unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!(error.status(), Status::Deadline, "H-22: the wait would pass it");
    assert_eq!(attempts(&network, [A]), [1], "R9");
    assert_eq!(network.clock().elapsed(), ms(40), "R9: and is not begun");
}

#[test]
fn r9_the_attempt_limit_covers_the_body() {
    let network =
        ScriptedTransport::new().on(A, [Reply::ok("slow").stalls()]).on(B, [Reply::ok("b")]);
    let client = on(&network, &[A, B]).attempt_timeout(secs(3)).build().unwrap();
    let answer = client.get("/").send().unwrap();
    let first = &answer.attempts()[0];
    assert_eq!((first.reason(), first.phase()), (Reason::Timeout, Phase::Body), "H-20");
    assert_eq!((first.elapsed(), first.http_status()), (secs(3), Some(200)), "H-20");
    let client = on(&network, &[A]).stall_timeout(secs(1)).build().unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.attempts()[0].elapsed()), (Status::Body, secs(1)));
}

#[test]
fn x_1_to_x_4_adaptive_across_endpoints() {
    let made = |method: &str, a: &[Reply], b: Reply| {
        let network = ScriptedTransport::new().on(A, a.to_vec()).on(B, [b]);
        let client = on(&network, &[A, B])
            .attempt_timeout(Timeout::adaptive(ms(200), [secs(1), secs(10)]))
            .attempts_per_endpoint(2)
            .build()
            .unwrap();
        let _ = client.request(method, "/").send();
        untils(&network).into_iter().flatten().collect::<Vec<_>>()
    };
    let (ok, slow) = (Reply::ok("ok"), Reply::times_out());
    let got = made("GET", &[Reply::connect_times_out()], ok.clone());
    assert_eq!(got, [ms(200), ms(200)], "X-1");
    let got = made("GET", std::slice::from_ref(&slow), ok.clone());
    assert_eq!(got, [ms(200), secs(1)], "X-2");
    let got = made("GET", &[slow.clone(), ok.clone()], Reply::status(503));
    assert_eq!(got, [ms(200), secs(1), ms(200)], "X-3");
    assert_eq!(made("POST", &[slow], ok), [ms(200)], "X-4");
}

#[test]
fn h_6_the_second_timeout_in_total() {
    let network = ScriptedTransport::new()
        .on(A, [Reply::times_out(), Reply::status(503), Reply::times_out(), Reply::ok("")]);
    let client = on(&network, &[A])
        .set("attempt_timeout", "200ms,1s,10s")
        .attempts_per_endpoint(4)
        .build()
        .unwrap();
    client.get("/").send().unwrap();
    let expected = [ms(200), secs(1), ms(200), secs(10)].map(Some);
    assert_eq!(untils(&network), expected, "H-1, H-2, H-5, H-6");
}

#[test]
fn r9_a_policy_that_panics_leaves_the_client_whole() {
    struct Planted;
    impl anyhost::TimeoutPolicy for Planted {
        fn attempt_timeout(&self, _: &anyhost::Execution) -> Option<Duration> {
            panic!("planted in the policy")
        }
    }
    let network = ScriptedTransport::new().on(A, [Reply::ok("a")]);
    let client = on(&network, &[A]).build().unwrap();
    let call = || client.get("/").attempt_timeout(Planted).send();
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err());
    assert_eq!(client.snapshot().find(A).unwrap().in_flight(), 0);
    assert_eq!(client.get("/").send().unwrap().status(), 200);
    assert_eq!(received(&network, [A]), [1]);
}

#[test]
fn h_14_infinite_has_no_limit() {
    let network = ScriptedTransport::new().on(A, [Reply::ok("at last").takes(secs(100_000))]);
    let client = on(&network, &[A]).set("attempt_timeout", "off").build().unwrap();
    assert_eq!(client.get("/").send().unwrap().elapsed(), secs(100_000));
    assert_eq!(untils(&network), [None]);
}
