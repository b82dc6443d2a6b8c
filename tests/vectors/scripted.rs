//! The scripted network itself: what each reply reports, and that limits hold in virtual time (R18).

use crate::network::{A, B, ms, on, secs};
use anyhost::inject::{
    Attempt, Cause, Clock as _, Ending, HeaderMap, Interrupt, Limit, Limits, Method, Outgoing,
    Phase, ProxyReply, ProxyUrl, Report, Transport as _,
};
use anyhost::testing::{ManualClock, Reply, ScriptedTransport};
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Nobody cancels here.
static NEVER: LazyLock<Arc<Interrupt>> = LazyLock::new(Arc::default);

/// One attempt at A under limits from now on, and what it took.
fn attempt<'a>(
    reply: Reply,
    limits: [Option<Duration>; 3],
    headers: &'a HeaderMap,
    body: Outgoing<'a>,
) -> (Report, Duration) {
    let network = ScriptedTransport::new().on(A, [reply]);
    let now = network.clock().now();
    let [connect, until, stall] = limits;
    let (mut report, answer) = network.attempt(Attempt {
        endpoint: 1,
        method: &Method::GET,
        url: "https://a.example/x",
        server_name: None,
        foreign: false,
        proxy: None,
        headers: headers.clone(),
        body,
        limits: Limits {
            connect_by: connect.map(|d| now + d),
            until: until.map(|d| now + d),
            body_until: until.map(|d| now + d),
            stall,
        },
        fresh: false,
        interrupt: &NEVER,
        meter: None,
    });
    assert_eq!(answer.is_some(), report.ending == Ending::Answered, "as the trait promises");
    if let Some(answer) = answer {
        answer.body.read_whole(100, &mut report);
    }
    assert_eq!(network.attempts()[0].sent, report.asked_to_send);
    (report, network.clock().elapsed())
}

/// R12: a proxy's script comes before the target's, and has phases of its own.
#[test]
fn a_proxy_replies_before_its_target() {
    let (auth, tunnel, http) = (Phase::ProxyAuth, Phase::Tunnel, ProxyReply::Http);
    let refused = Some(Cause::ProxyRefused);
    let connect = Some(Cause::TimedOut(Limit::Connect));
    for (url, reply, phase, cause, said, sent) in [
        ("https", Reply::refused(), Phase::ProxyConnect, Some(Cause::Refused), None, false),
        (
            "https",
            Reply::no_such_name(),
            Phase::ProxyConnect,
            Some(Cause::NameUnknown),
            None,
            false,
        ),
        ("https", Reply::connect_times_out(), Phase::ProxyConnect, connect, None, false),
        ("https", Reply::tunnel_times_out(), tunnel, connect, None, false),
        ("https", Reply::proxy_answers(http(407)), auth, refused, Some(http(407)), false),
        ("https", Reply::proxy_answers(http(502)), tunnel, refused, Some(http(502)), false),
        ("https", Reply::passes(), Phase::Body, None, None, true),
        ("http", Reply::proxy_answers(http(407)), auth, refused, Some(http(407)), true),
        ("http", Reply::proxy_answers(http(502)), Phase::Body, None, None, true),
        ("http", Reply::passes(), Phase::Body, None, None, true),
    ] {
        let case = format!("{url} {reply:?}");
        let (url, proxy) =
            (format!("{url}://t.example"), ProxyUrl::parse("http://p:3128").unwrap());
        let network = ScriptedTransport::new().on(&url, [Reply::ok("t")]);
        let network = network.on_proxy("http://u:w@p:3128", [reply]);
        let now = network.clock().now();
        let (report, answer) = network.attempt(Attempt {
            endpoint: 1,
            method: &Method::GET,
            url: &url,
            server_name: None,
            foreign: false,
            proxy: Some(&proxy),
            headers: HeaderMap::new(),
            body: Outgoing::Empty,
            limits: Limits { connect_by: Some(now + secs(1)), ..Limits::default() },
            fresh: false,
            interrupt: &NEVER,
            meter: None,
        });
        assert_eq!(
            (report.phase, report.proxy_reply, report.asked_to_send),
            (phase, said, sent),
            "{case}"
        );
        assert_eq!(report.ending, cause.map_or(Ending::Answered, Ending::Failed), "{case}");
        assert_eq!(answer.is_some(), cause.is_none(), "{case}");
        assert_eq!(network.attempts()[0].proxy.as_ref(), Some(&proxy), "{case}");
        assert_eq!(network.received_at(&url).len(), usize::from(sent), "{case}");
    }
}

#[test]
fn every_reply_reports_its_facts() {
    let timed_out = |limit| Ending::Failed(Cause::TimedOut(limit));
    let failed = Ending::Failed;
    let answer = || Reply::status(503).body("busy").takes(ms(30));
    let cases = [
        (Reply::refused(), Phase::Connect, failed(Cause::Refused), false, ms(0)),
        (Reply::refused().takes(ms(9)), Phase::Connect, failed(Cause::Refused), false, ms(9)),
        (Reply::unreachable(), Phase::Connect, failed(Cause::Unreachable), false, ms(0)),
        (Reply::no_such_name(), Phase::Resolve, failed(Cause::NameUnknown), false, ms(0)),
        (Reply::bad_certificate(), Phase::Tls, failed(Cause::Certificate), false, ms(0)),
        (Reply::connect_times_out(), Phase::Connect, timed_out(Limit::Connect), false, secs(2)),
        (
            Reply::refused().takes(secs(3)),
            Phase::Connect,
            timed_out(Limit::Connect),
            false,
            secs(2),
        ),
        (
            Reply::ok("").connects_after(secs(3)),
            Phase::Connect,
            timed_out(Limit::Connect),
            false,
            secs(2),
        ),
        (Reply::times_out(), Phase::Head, timed_out(Limit::Attempt), true, secs(5)),
        (Reply::resets_after_sending(), Phase::Head, failed(Cause::Reset), true, ms(0)),
        (
            Reply::closes_after_sending().takes(ms(3)),
            Phase::Head,
            failed(Cause::Closed),
            true,
            ms(3),
        ),
        (Reply::not_http(), Phase::Head, failed(Cause::Protocol), true, ms(0)),
        (Reply::stale_connection(), Phase::Head, failed(Cause::Closed), true, ms(0)),
        (answer(), Phase::Body, Ending::Answered, true, ms(30)),
        (answer().connects_after(secs(2)), Phase::Body, Ending::Answered, true, ms(2030)),
        (answer().takes(secs(5)), Phase::Body, Ending::Answered, true, secs(5)),
        (answer().takes(ms(5001)), Phase::Head, timed_out(Limit::Attempt), true, secs(5)),
        (answer().breaks_off(), Phase::Body, failed(Cause::Truncated), true, ms(30)),
        (answer().stalls(), Phase::Body, timed_out(Limit::Stall), true, ms(1030)),
        (answer().takes(ms(4500)).stalls(), Phase::Body, timed_out(Limit::Attempt), true, secs(5)),
        (Reply::ok(vec![0; 101]), Phase::Body, failed(Cause::TooLarge), true, ms(0)),
    ];
    for (reply, phase, ending, sent, took) in cases {
        let name = format!("{reply:?}");
        let limits = [Some(secs(2)), Some(secs(5)), Some(secs(1))];
        let (report, elapsed) = attempt(reply, limits, &HeaderMap::new(), Outgoing::Bytes(b"abc"));
        assert_eq!((report.phase, report.ending), (phase, ending), "{name}");
        assert_eq!((report.asked_to_send, elapsed), (sent, took), "{name}");
        assert_eq!(report.status.is_some(), phase == Phase::Body, "{name}");
        assert_eq!(report.bytes_received > 0, phase == Phase::Body, "{name}");
        assert_eq!(report.bytes_sent, if sent { 3 } else { 0 }, "{name}");
    }
}

#[test]
fn a_late_522_is_late_by_its_head() {
    let answer = Reply::status(522).connects_after(secs(7)).takes(secs(60));
    let (report, _) = attempt(answer, [None; 3], &HeaderMap::new(), Outgoing::Empty);
    assert_eq!(report.head_after, Some(secs(60)), "R1: from sending, not from dialling");
    for (takes, moves_on) in [(ms(59_999), true), (secs(60), false)] {
        let network = ScriptedTransport::new()
            .on(A, [Reply::status(522).takes(takes)])
            .on(B, [Reply::ok("b")]);
        let client = on(&network, &[A, B]).set("attempt_timeout", "off").build().unwrap();
        let answer = client.post("/").body("{}").send().unwrap();
        assert_eq!(answer.status() == 200, moves_on, "R1, D-B1: after {takes:?}");
    }
}

#[test]
fn a_body_source_that_fails_ends_the_attempt() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("planted"))
        }
    }
    let cases: [(&mut dyn Read, Option<u64>); 3] =
        [(&mut Broken, None), (&mut &b"ab"[..], Some(3)), (&mut &b"abcd"[..], Some(3))];
    for (source, length) in cases {
        let body = Outgoing::Reader { source, length };
        let (report, _) = attempt(Reply::ok(""), [None; 3], &HeaderMap::new(), body);
        assert_eq!(report.ending, Ending::Failed(Cause::BodySource), "{length:?}");
        assert_eq!(report.phase, Phase::Send);
    }
}

#[test]
fn requests_can_be_counted_and_read() {
    let orders = "https://a.example/v1/orders";
    let network = ScriptedTransport::new()
        .on("https://a.example/", [Reply::ok("root")])
        .on(orders, [Reply::ok("one"), Reply::ok("last")])
        .on(B, [Reply::refused()]);
    let client = on(&network, &["https://a.example/v1", B]).build().unwrap();
    let get = |path: &str| client.get(path).send().unwrap().text().unwrap().to_owned();
    assert_eq!(get("/orders?id=1"), "one", "the longest base counts");
    assert_eq!(get("/orders/7"), "last");
    assert_eq!(get("/orders"), "last", "the last reply repeats");
    assert_eq!(get("/ordersX"), "root", "a base ends at a segment");
    network.clock().advance(secs(9));
    client.post("/orders").header("X-Trace", "7").body("{}").send().unwrap();

    assert_eq!(network.attempts_at(A).len(), 5);
    assert_eq!(network.received_at(orders).len(), 4);
    let post = network.attempts().pop().unwrap();
    assert_eq!((post.method, post.url.as_str()), (Method::POST, orders));
    assert_eq!((post.body.as_slice(), post.at), (&b"{}"[..], secs(9)));
    assert_eq!(post.headers["x-trace"], "7");
    network.forget_attempts();
    assert!(network.attempts().is_empty());
    assert_eq!(get("/orders"), "last", "replies stay where they are");
}

#[test]
fn head_has_no_body() {
    let network = ScriptedTransport::new().on(A, [Reply::ok("body")]);
    let client = on(&network, &[A]).build().unwrap();
    assert_eq!(client.head("/").send().unwrap().bytes(), b"");
    assert_eq!(client.get("/").send().unwrap().bytes(), b"body");
}

#[test]
fn mistakes_of_the_test_are_told() {
    let told = |work: &dyn Fn()| {
        let payload = catch_unwind(AssertUnwindSafe(work)).expect_err("it panics");
        payload.downcast_ref::<String>().cloned().unwrap_or_else(|| {
            payload.downcast_ref::<&str>().expect("a panic has a text").to_string()
        })
    };
    let network = ScriptedTransport::new().on(A, [Reply::times_out()]);
    let client = on(&network, &[B, A]).set("attempt_timeout", "off").build().unwrap();
    let lost = told(&|| drop(client.get("/").send()));
    assert!(lost.contains("no script covers https://b.example/"), "{lost}");
    client.disable(B, "not there").unwrap();
    let endless = told(&|| drop(client.get("/").send()));
    assert!(endless.contains("give it a limit"), "{endless}");
    assert!(told(&|| drop(ScriptedTransport::new().on(A, []))).contains("without a reply"));
    assert!(told(&|| drop(Reply::status(99))).contains("99 is no status"));
    assert!(told(&|| drop(Reply::refused().body("x"))).contains("only an answer"));
}

#[test]
fn the_clock_never_goes_back() {
    let clock = ManualClock::new();
    let began = clock.now();
    clock.advance(secs(5));
    clock.sleep_until(began + secs(3));
    assert_eq!((clock.elapsed(), clock.sleeps()), (secs(5), vec![secs(0)]));
}

#[test]
fn a_breaker_of_its_own_takes_the_manual_clock() {
    let clock = ManualClock::new();
    let breaker: anyhost::Breaker<String> =
        anyhost::Breaker::default().clock(std::sync::Arc::new(clock.clone())).seed(1);
    let wait = (0..5).map(|_| breaker.record_failure("db")).last().unwrap();
    assert!(breaker.allow("db").is_err(), "B-2");
    clock.advance(wait);
    assert!(breaker.allow("db").is_ok(), "B-4");
}

#[test]
fn an_attempt_under_way_can_be_forgotten() {
    let network = ScriptedTransport::new();
    let forget = network.clone();
    let network = network
        .on(A, [Reply::status(503).meanwhile(move || forget.forget_attempts())])
        .on(B, [Reply::refused()]);
    let client = on(&network, &[A, B]).build().unwrap();
    client.get("/").send().unwrap();
    let seen = network.attempts();
    assert_eq!((seen.len(), seen[0].url.as_str()), (1, "https://b.example/"));
    assert!(!seen[0].sent, "of B's attempt, not of the one forgotten");
}
