//! The pool of proxies: P-1 to P-15 of seed 004 and X-24, by whole clients in virtual time, and ruling R12
//! as a table.

use crate::network::secs;
use crate::ways::{A, AUTH, B, P, Q, R, Says, TUNNEL_502, Ways, member, through};
use anyhost::decide::{Blame, Health, Outcome, Passage, Rules, StatusSet, Then, Verdict, classify};
use anyhost::inject::{Cause, Ending, Limit, Phase, ProxyReply, Report};
use anyhost::testing::ManualClock;
use anyhost::{
    Client, Delivery, Endpoint, Kind, Proxy, ProxyFault, Reason, Request, State, Status,
    WhenNoneEligible,
};
use std::thread;
use std::time::Duration;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn world() -> (Ways, ManualClock) {
    (Ways::default(), ManualClock::new())
}

/// State, what is left of the wait, reason and phase.
fn standing(client: &Client, label: &str) -> (State, Duration, Reason, Phase) {
    let member = member(client, label);
    (member.state(), member.cooling(), member.reason(), member.phase())
}

/// A client of A through P alone, whose first attempt was refused at t = 0.
fn refused_at_0() -> (Ways, ManualClock, Client) {
    let (ways, clock) = world();
    let client = through(&ways, &clock, &[A], &[P]).build().unwrap();
    ways.set(P, Says::Refused);
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::AttemptsSpent, Reason::Refused));
    assert_eq!(ways.asked(), [P]);
    (ways, clock, client)
}

#[test]
fn p_1_and_p_2_a_proxy_that_refuses_cools_and_stays_on_the_list() {
    let (ways, clock, client) = refused_at_0();
    let cooling = (State::Cooling, secs(10), Reason::Refused, Phase::ProxyConnect);
    assert_eq!(standing(&client, P), cooling, "P-1");
    assert_eq!(client.snapshot().members().len(), 2, "P-1: nothing is removed");
    assert_eq!(member(&client, A).state(), State::Eligible, "P-1: the endpoint is not blamed");
    assert_eq!((member(&client, A).attempts(), member(&client, A).failures()), (0, 0), "P-1");

    clock.advance(ms(9_999));
    let error = client.get("/").send().unwrap_err();
    assert_eq!(error.status(), Status::NoEndpoint, "P-2");
    assert_eq!(error.retry_after(), Some(ms(1)), "P-2");
    assert!(ways.asked().is_empty(), "P-2");
    clock.advance(ms(1));
    ways.set(P, Says::Status(200));
    client.get("/").send().unwrap();
    assert_eq!(ways.asked(), [P], "P-3: at 10 s, not after");
}

#[test]
fn p_3_of_32_that_ask_at_the_end_of_the_wait_exactly_one_gets_through() {
    for others in [&[][..], &[Q]] {
        let (ways, clock) = world();
        let proxies = [&[P], others].concat();
        let client = through(&ways, &clock, &[A], &proxies).build().unwrap();
        ways.set(P, Says::Refused);
        while member(&client, P).state() == State::Eligible {
            let _ = client.get("/").send();
        }
        clock.advance(secs(10));
        ways.asked();
        ways.set(P, Says::Gated);
        let ends: Vec<_> = thread::scope(|scope| {
            let calls: Vec<_> = (0..32).map(|_| scope.spawn(|| client.get("/").send())).collect();
            // The other 31 are through before the probe is decided.
            let most = if others.is_empty() { 1 } else { 32 };
            ways.wait_for(most);
            if others.is_empty() {
                while calls.iter().filter(|call| call.is_finished()).count() < 31 {
                    thread::yield_now();
                }
            }
            ways.open();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        let asked = ways.asked();
        assert_eq!(asked.iter().filter(|proxy| *proxy == P).count(), 1, "P-3: {asked:?}");
        let failed: Vec<_> = ends.iter().filter_map(|end| end.as_ref().err()).collect();
        assert_eq!(failed.len(), if others.is_empty() { 31 } else { 0 }, "P-3");
        for error in failed {
            assert_eq!(error.status(), Status::NoEndpoint, "P-3: {error}");
            assert_eq!(error.refused()[0].state, State::Probing, "P-3: {error}");
            assert_eq!(error.refused()[0].kind, Kind::Proxy, "P-3");
            assert!(error.retry_after().is_some(), "P-3: {error}");
        }
    }
}

#[test]
fn p_4_a_probe_that_brings_an_answer_ends_it_and_the_history_stays() {
    let (ways, clock, client) = refused_at_0();
    clock.advance(secs(10));
    ways.set(P, Says::Status(200));
    client.get("/").send().unwrap();
    let proxy = member(&client, P);
    assert_eq!((proxy.state(), proxy.failures_in_a_row()), (State::Eligible, 0), "P-4");
    let went: Vec<_> = proxy.transitions().iter().map(|t| (t.from, t.to, t.reason)).collect();
    let refused = Reason::Refused;
    assert_eq!(
        went,
        [
            (State::Eligible, State::Cooling, refused),
            (State::Cooling, State::ProbeAllowed, refused),
            (State::ProbeAllowed, State::Probing, refused),
            (State::Probing, State::Eligible, Reason::None),
        ],
        "P-4"
    );
    assert_eq!(proxy.counts(), [(Reason::Refused, 1)], "P-4: the count stays");
    // A first failure again: the count in a row is 0.
    ways.set(P, Says::Refused);
    client.get("/").send().unwrap_err();
    assert_eq!(member(&client, P).cooling(), secs(10), "P-4");
}

#[test]
fn p_5_a_probe_that_fails_doubles_the_wait_up_to_the_maximum() {
    let (ways, clock) = world();
    let client = through(&ways, &clock, &[A], &[P]).set("proxy_max_delay", "1m").build().unwrap();
    ways.set(P, Says::Refused);
    for wait in [10, 20, 40, 60, 60] {
        client.get("/").send().unwrap_err();
        assert_eq!(member(&client, P).cooling(), secs(wait), "P-5");
        clock.advance(secs(wait));
    }
    // Whatever it fails at: there is one count while it is open.
    ways.set(P, Says::SlowBody);
    client.get("/").send().unwrap_err();
    assert_eq!(member(&client, P).cooling(), secs(60), "P-5");
}

#[test]
fn p_6_a_target_that_is_silent_behind_a_probe_decides_nothing() {
    let (ways, clock, client) = refused_at_0();
    clock.advance(secs(10));
    ways.set(P, Says::TargetSilent);
    client.get("/").send().unwrap_err();
    let proxy = member(&client, P);
    assert_eq!(
        (proxy.state(), proxy.cooling()),
        (State::Cooling, secs(10)),
        "P-6: one more window"
    );
    assert_eq!((proxy.failures(), proxy.successes()), (1, 0), "P-6: no success, no growth");
    assert_eq!(member(&client, A).failures(), 1, "P-6: the endpoint takes it");
    clock.advance(secs(10));
    assert_eq!(member(&client, P).state(), State::ProbeAllowed, "P-6");
}

#[test]
fn p_7_refused_credentials_disable_until_somebody_acts() {
    for reply in [
        ProxyReply::Http(407),
        ProxyReply::Socks5NoMethod,
        ProxyReply::Socks5Credentials(1),
        ProxyReply::Socks4(93),
    ] {
        let (ways, clock) = world();
        let proxies = ["http://u:old@p"];
        let client = through(&ways, &clock, &[A], &proxies).build().unwrap();
        ways.set(P, Says::Reply(reply));
        let error = client.post("/").body("x").send().unwrap_err();
        assert_eq!((error.reason(), error.phase()), (Reason::Auth, Phase::ProxyAuth), "P-7");
        assert_eq!(error.delivery(), Delivery::NotSent, "P-7");
        let disabled = (State::Disabled, Duration::ZERO, Reason::Auth, Phase::ProxyAuth);
        assert_eq!(standing(&client, P), disabled, "P-7");
        clock.advance(secs(1_000_000));
        assert_eq!(client.get("/").send().unwrap_err().status(), Status::NoEndpoint, "P-7: time");
        assert_eq!(ways.asked(), [P], "P-7: it is not asked again");

        client.update_proxies([Proxy::new("http://u:old@p").unwrap()]).unwrap();
        assert_eq!(member(&client, P).state(), State::Disabled, "P-7: the same credentials");
        client.update_proxies([Proxy::new("http://u:new@p").unwrap()]).unwrap();
        assert_eq!(member(&client, P).state(), State::ProbeAllowed, "P-7: new credentials");
        client.get("/").send().unwrap_err();
        assert_eq!(member(&client, P).state(), State::Disabled, "P-7");
        client.enable(P).unwrap();
        assert_eq!(member(&client, P).state(), State::ProbeAllowed, "P-7: enable");
        ways.set(P, Says::Status(200));
        client.get("/").send().unwrap();
        assert_eq!(member(&client, P).state(), State::Eligible, "P-7");
        assert_eq!(member(&client, A).failures(), 0, "P-7: the endpoint is not blamed");
    }
}

#[test]
fn p_8_a_status_of_the_target_is_not_the_proxys() {
    for status in [200, 404, 407, 429, 500, 502, 503, 504, 600] {
        let (ways, clock) = world();
        let client = through(&ways, &clock, &[A], &[P]).build().unwrap();
        ways.set(P, Says::Status(status));
        assert_eq!(client.get("/").send().unwrap().status(), status, "P-8");
        let proxy = member(&client, P);
        assert_eq!((proxy.state(), proxy.failures()), (State::Eligible, 0), "P-8: {status}");
        assert!(proxy.counts().is_empty(), "P-8: {status}");
        let bad = u64::from(status == 429 || status >= 500);
        assert_eq!(member(&client, A).failures(), bad, "P-8: {status}");
    }
}

#[test]
fn p_9_and_p_10_kinds_of_failure_are_counted_apart() {
    let (ways, clock) = world();
    let client = through(&ways, &clock, &[A], &[P]).set("proxy_threshold", "3").build().unwrap();
    let fails = |says, in_a_row: u32| {
        ways.set(P, says);
        client.get("/").send().unwrap_err();
        let proxy = member(&client, P);
        assert_eq!(proxy.failures_in_a_row(), in_a_row, "P-10");
        proxy
    };
    let proxy = fails(Says::SlowBody, 1);
    assert_eq!(proxy.state(), State::Eligible, "P-9");
    assert_eq!(proxy.counts(), [(Reason::Timeout, 1)], "P-9");
    for (n, says) in [Says::Refused, Says::SlowBody, Says::Refused].into_iter().enumerate() {
        assert_eq!(fails(says, n as u32 + 2).state(), State::Eligible, "P-10");
    }
    // The third of its kind.
    let proxy = fails(Says::SlowBody, 5);
    assert_eq!((proxy.state(), proxy.cooling()), (State::Cooling, secs(40)), "10 s x 2^(3-1)");
    assert_eq!((proxy.reason(), proxy.phase()), (Reason::Timeout, Phase::Body));
    assert_eq!(proxy.counts(), [(Reason::Refused, 2), (Reason::Timeout, 3)], "P-10");
}

#[test]
fn p_11_and_p_12_the_wall_clock_does_not_matter_and_waits_are_durations() {
    let (_, clock, client) = refused_at_0();
    for seconds in [0, 4_000_000_000] {
        clock.set_unix_seconds(seconds);
        assert_eq!(member(&client, P).cooling(), secs(10), "P-11");
    }
    clock.advance(ms(2_500));
    let proxy = member(&client, P);
    assert_eq!((proxy.cooling(), proxy.since()), (ms(7_500), ms(2_500)), "P-12");
    assert_eq!(proxy.transitions()[0].ago, ms(2_500), "P-12");
}

#[test]
fn p_13_what_an_operator_disables_stays_so() {
    let (ways, clock, client) = refused_at_0();
    client.disable(P, "moved away").unwrap();
    assert_eq!(standing(&client, P).0, State::Disabled, "P-13: while it cools");
    client.enable(P).unwrap();
    clock.advance(secs(10));
    ways.asked();
    ways.set(P, Says::Gated);
    thread::scope(|scope| {
        let probe = scope.spawn(|| client.get("/").send());
        ways.wait_for(1);
        assert_eq!(member(&client, P).state(), State::Probing);
        client.disable(P, "moved away").unwrap();
        ways.open();
        probe.join().unwrap().unwrap();
    });
    let proxy = member(&client, P);
    assert_eq!((proxy.state(), proxy.reason()), (State::Disabled, Reason::Operator), "P-13");
    assert_eq!(proxy.detail(), "moved away", "P-13: whatever the probe says");
    assert_eq!(client.get("/").send().unwrap_err().status(), Status::NoEndpoint, "P-13");
}

#[test]
fn p_14_a_permit_that_is_dropped_counts_nothing() {
    let (ways, clock, client) = refused_at_0();
    clock.advance(secs(10));
    ways.set(P, Says::Panics);
    let call = std::panic::AssertUnwindSafe(|| client.get("/").send());
    assert!(std::panic::catch_unwind(call).is_err());
    let proxy = member(&client, P);
    assert_eq!((proxy.state(), proxy.cooling()), (State::Cooling, secs(10)), "P-14: one window");
    assert_eq!((proxy.failures(), proxy.in_flight()), (1, 0), "P-14");
    clock.advance(secs(10));
    ways.set(P, Says::Status(200));
    client.get("/").send().unwrap();
    assert_eq!(member(&client, P).state(), State::Eligible, "P-14");
}

#[test]
fn p_15_when_all_cool_the_error_names_the_smallest_wait_and_the_reasons() {
    let (ways, clock) = world();
    let client = through(&ways, &clock, &[A], &[P, Q]).build().unwrap();
    ways.set(P, Says::Refused).set(Q, Says::SilentAt(Phase::ProxyConnect));
    client.get("/").send().unwrap_err();
    assert_eq!(ways.asked().len(), 2);
    clock.advance(secs(3));
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.retry_after()), (Status::NoEndpoint, Some(secs(7))), "P-15");
    let mut refused: Vec<_> =
        error.refused().iter().map(|r| (&*r.label, r.kind, r.state, r.reason, r.wait)).collect();
    refused.sort_by_key(|of| of.0);
    let of = |label, reason| (label, Kind::Proxy, State::Cooling, reason, secs(7));
    assert_eq!(refused, [of(P, Reason::Refused), of(Q, Reason::Timeout)], "P-15");
    assert!(error.to_string().contains("proxy http://p:80 is cooling (refused, 7000 ms left)"));
    assert!(ways.asked().is_empty(), "R12: never direct unless direct is listed");
}

#[test]
fn x_24_a_proxy_that_refuses_uses_up_itself_and_not_the_endpoint() {
    for threshold in ["1", "100"] {
        let (ways, clock) = world();
        let client = through(&ways, &clock, &[A, B], &[P, Q]).set("proxy_threshold", threshold);
        let client = client.max_attempts(2).build().unwrap();
        ways.set(P, Says::Refused);
        for _ in 0..20 {
            let answer = client.post("/").body("x").send().unwrap();
            assert_eq!(answer.endpoint(), A, "X-24: another proxy, the same endpoint");
            let attempts = answer.attempts();
            assert_eq!(attempts.last().unwrap().proxy(), Some(Q), "X-24");
            assert!(attempts.iter().rev().skip(1).all(|tried| tried.proxy() == Some(P)), "X-24");
        }
        let a = member(&client, A);
        assert_eq!((a.failures(), a.successes(), a.in_flight()), (0, 20, 0), "X-24: untouched");
    }
}

#[test]
fn max_attempts_counts_what_a_proxy_used_up() {
    let (ways, clock) = world();
    let client = through(&ways, &clock, &[A], &[P, Q, R]).max_attempts(2).build().unwrap();
    ways.set(P, Says::Refused).set(Q, Says::Refused).set(R, Says::Refused);
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.attempts().len()), (Status::AttemptsSpent, 2));
}

/// R12: what could be either's is settled by another proxy.
#[test]
fn r12_a_suspect_cools_when_another_proxy_gets_through() {
    let silent = Says::SilentAt(Phase::Tunnel);
    let socks = Says::Reply(ProxyReply::Socks5(4));
    for says in [TUNNEL_502, silent, socks, Says::HangsUp] {
        for through_q in [Says::Status(200), Says::Status(503), Says::BadCertificate] {
            let (ways, clock) = world();
            let client = through(&ways, &clock, &[A], &[P, Q]).build().unwrap();
            ways.set(P, says).set(Q, through_q);
            let mut drawn = 0;
            while drawn == 0 {
                let _ = client.get("/").send();
                drawn = ways.asked().iter().filter(|proxy| *proxy == P).count();
            }
            let of = format!("R12: {says:?}, then {through_q:?}");
            let p = member(&client, P);
            assert_eq!((p.state(), p.phase()), (State::Cooling, Phase::Tunnel), "{of}");
            assert_eq!(member(&client, Q).state(), State::Eligible, "{of}");
            assert_eq!(member(&client, Q).failures(), 0, "{of}");
            assert_eq!(p.in_flight() + member(&client, Q).in_flight(), 0, "{of}");
        }
    }
}

#[test]
fn r12_two_proxies_that_fail_alike_blame_the_endpoint() {
    let (ways, clock) = world();
    let client = through(&ways, &clock, &[A, B], &[P, Q, R]).build().unwrap();
    for proxy in [P, Q, R] {
        ways.set(&format!("{proxy}>a.example"), TUNNEL_502);
    }
    let answer = client.post("/").body("x").send().unwrap();
    assert_eq!(answer.endpoint(), B, "R12: not sent, so a POST goes on");
    assert_eq!(answer.attempts().len(), 3, "R12: two proxies are enough");
    assert_eq!((member(&client, A).failures(), member(&client, B).failures()), (1, 0), "R12");
    for proxy in [P, Q, R] {
        let proxy = member(&client, proxy);
        assert_eq!((proxy.state(), proxy.failures()), (State::Eligible, 0), "R12");
        assert_eq!(proxy.in_flight(), 0, "R12");
    }
}

#[test]
fn r12_with_no_other_proxy_nobody_is_blamed() {
    let (ways, clock) = world();
    let client = through(&ways, &clock, &[A], &[P]).build().unwrap();
    ways.set(P, TUNNEL_502);
    for _ in 0..5 {
        let error = client.get("/").send().unwrap_err();
        assert_eq!((error.reason(), error.phase()), (Reason::Unreachable, Phase::Tunnel), "R12");
        assert_eq!(error.delivery(), Delivery::NotSent, "R12");
    }
    for label in [A, P] {
        let member = member(&client, label);
        assert_eq!((member.state(), member.failures()), (State::Eligible, 0), "R12: {label}");
        assert_eq!(member.in_flight(), 0, "R12: {label}");
    }
}

#[test]
fn r12_what_a_policy_refuses_is_nobodys_fault_and_not_got_around() {
    for reply in [ProxyReply::Http(403), ProxyReply::Http(451), ProxyReply::Socks5(2)] {
        let (ways, clock) = world();
        let client = through(&ways, &clock, &[A], &[P, Q]).build().unwrap();
        ways.set(P, Says::Reply(reply)).set(Q, Says::Reply(reply));
        let error = client.get("/").send().unwrap_err();
        assert_eq!((error.reason(), error.phase()), (Reason::TunnelRefused, Phase::Tunnel), "R12");
        assert_eq!(error.delivery(), Delivery::NotSent, "R12");
        assert_eq!(error.attempts().len(), 1, "R12: no other proxy is asked");
        assert_eq!(ways.asked().len(), 1, "R12: nor the endpoint");
        for label in [A, P, Q] {
            assert_eq!(member(&client, label).failures(), 0, "R12: {label}");
            assert_eq!(member(&client, label).state(), State::Eligible, "R12: {label}");
        }
    }
}

#[test]
fn r12_another_endpoint_may_be_had_where_a_policy_refuses_one() {
    let (ways, clock) = world();
    let client = through(&ways, &clock, &[A, B], &[P]).build().unwrap();
    ways.set(&format!("{P}>a.example"), Says::Reply(ProxyReply::Http(403)));
    let answer = client.post("/").body("x").send().unwrap();
    assert_eq!((answer.endpoint(), answer.attempts().len()), (B, 2), "R1: it was not sent");
}

#[test]
fn r12_direct_is_a_way_only_where_it_is_listed() {
    let (ways, clock) = world();
    let client = through(&ways, &clock, &[A], &[P, "direct"]).build().unwrap();
    ways.set(P, Says::Refused);
    for _ in 0..5 {
        let answer = client.get("/").send().unwrap();
        assert_eq!(answer.attempts().last().unwrap().proxy(), None, "R12");
    }
    // What fails on the direct way is the endpoint's, and no way at all cannot cool.
    ways.set("direct", Says::Refused);
    assert_eq!(client.get("/").send().unwrap_err().phase(), Phase::Connect, "R12");
    ways.set("direct", Says::SlowBody);
    for _ in 0..5 {
        client.get("/").send().unwrap_err();
    }
    assert_eq!(member(&client, "direct").state(), State::Eligible, "R12");
    assert_eq!(member(&client, A).failures(), 6, "R12");
}

#[test]
fn a_407_to_a_request_in_absolute_form_was_not_handed_on() {
    let (ways, clock) = world();
    let to = "http://a.example";
    let client = through(&ways, &clock, &[to], &[P, Q]).build().unwrap();
    ways.set(P, AUTH);
    let mut drawn = false;
    while !drawn {
        let answer = client.post("/").body("x").send().unwrap();
        drawn = answer.attempts().len() == 2;
        if drawn {
            assert_eq!(answer.attempts()[0].delivery(), Delivery::NotProcessed);
            assert_eq!(answer.attempts()[0].reason(), Reason::Auth);
        }
    }
    assert_eq!(member(&client, P).state(), State::Disabled);
    assert_eq!(member(&client, to).failures(), 0);
}

#[test]
fn a_gateway_status_without_a_tunnel_says_nothing_of_a_proxy() {
    let (ways, clock) = world();
    let client = through(&ways, &clock, &["http://a.example"], &[P]).build().unwrap();
    ways.set(P, Says::Refused);
    client.get("/").send().unwrap_err();
    clock.advance(secs(10));
    ways.set(P, Says::Status(504));
    client.get("/").send().unwrap();
    assert_eq!(standing(&client, P).0, State::Cooling, "it may be the proxy's own");
    clock.advance(secs(10));
    ways.set(P, Says::Status(404));
    client.get("/").send().unwrap();
    assert_eq!(standing(&client, P).0, State::Eligible, "this one came from behind it");
}

#[test]
fn r8_try_nearest_lets_one_call_at_a_time_through_to_a_proxy() {
    let (ways, clock) = world();
    let client = through(&ways, &clock, &[A], &[P, Q])
        .when_none_eligible(WhenNoneEligible::TryNearest)
        .build()
        .unwrap();
    ways.set(P, Says::Refused).set(Q, Says::Refused);
    client.get("/").send().unwrap_err();
    ways.asked();
    ways.set(P, Says::Gated).set(Q, Says::Gated);
    thread::scope(|scope| {
        let first = scope.spawn(|| client.post("/").body("x").send());
        ways.wait_for(1);
        let error = client.get("/").send().unwrap_err();
        assert_eq!(error.status(), Status::NoEndpoint, "R8: one at a time");
        ways.open();
        first.join().unwrap().unwrap();
    });
    assert_eq!(ways.asked().len(), 1, "R8");
}

#[test]
fn r7_a_call_that_may_be_repeated_tries_the_recovering_proxy_first() {
    let (ways, clock) = world();
    let client = through(&ways, &clock, &[A], &[P, Q]).build().unwrap();
    ways.set(P, Says::Refused);
    while member(&client, P).state() == State::Eligible {
        client.get("/").send().unwrap();
    }
    clock.advance(secs(10));
    ways.asked();
    client.post("/").body("x").send().unwrap();
    assert_eq!(
        ways.asked(),
        [Q],
        "R7: not with what may not be sent twice, where another is there"
    );
    let answer = client.get("/").send().unwrap();
    assert_eq!(ways.asked(), [P, Q], "R7: the probe fails, and the same call goes on");
    assert_eq!(answer.attempts().len(), 2);
    assert_eq!(member(&client, P).cooling(), secs(20));
}

#[test]
fn proxies_are_drawn_by_weight_in_every_mode() {
    for selection in ["ordered", "weighted"] {
        let (ways, clock) = world();
        let client = Client::builder()
            .base_urls(A)
            .set("selection", selection)
            .proxy(Proxy::new(P).unwrap().weight(900))
            .proxy(Proxy::new(Q).unwrap().weight(100))
            .seed(1)
            .transport(ways.clone())
            .clock(clock)
            .build()
            .unwrap();
        for _ in 0..2000 {
            client.get("/").send().unwrap();
        }
        let q = ways.asked().iter().filter(|proxy| *proxy == Q).count();
        // 200 expected, with a deviation of 13.
        assert!((140..260).contains(&q), "{selection}: {q} of 2000");
    }
}

#[test]
fn a_health_check_goes_through_one_proxy_only() {
    let (ways, clock) = world();
    let client = through(&ways, &clock, &[A], &[P, Q]).build().unwrap();
    ways.set(P, Says::Refused);
    let mut request = Request::new("GET", "/health").unwrap();
    for n in 0..5 {
        client.health_check(P, &mut request).unwrap_err();
        assert_eq!(ways.asked(), [P], "{n}: whatever its state");
    }
    assert_eq!(member(&client, P).state(), State::Cooling);
    ways.set(P, Says::Status(200));
    client.health_check(P, &mut request).unwrap();
    assert_eq!(member(&client, P).state(), State::Eligible, "a good answer is as good as a probe");
    assert_eq!(client.health_check("nobody", &mut request).unwrap_err().status(), Status::NotFound);
}

#[test]
fn r22_a_kind_that_an_update_does_not_name_stays() {
    let (ways, clock, client) = refused_at_0();
    client.update([Endpoint::new(B).unwrap()]).unwrap();
    assert_eq!(standing(&client, P).0, State::Cooling, "R22: proxies stay");
    client.update_proxies([Proxy::new(Q).unwrap(), Proxy::new(P).unwrap()]).unwrap();
    assert_eq!(standing(&client, P).0, State::Cooling, "R22: one that stays keeps its state");
    assert_eq!(client.get("/").send().unwrap().endpoint(), B, "R22: endpoints stay");
    assert_eq!(ways.asked(), [Q]);
    let error = client.update_proxies([]).unwrap_err();
    assert_eq!(error.status(), Status::Config, "R12: never direct by leaving out");
    let twice = [Proxy::new(Q).unwrap(), Proxy::new("http://q/").unwrap()];
    assert_eq!(client.update_proxies(twice).unwrap_err().status(), Status::Duplicate);
    assert_eq!(client.snapshot().members().len(), 3, "R22: a mistake changes nothing");
    clock.advance(secs(10));
    client.update_proxies([Proxy::new(Q).unwrap()]).unwrap();
    assert!(client.snapshot().find(P).is_none());
    client.get("/").send().unwrap();
    assert_eq!(ways.asked(), [Q]);
}

#[test]
fn two_sets_of_credentials_at_one_address_are_two_proxies() {
    let (ways, clock) = world();
    let client =
        through(&ways, &clock, &[A], &["http://one:x@p", "http://two:x@p"]).build().unwrap();
    let labels: Vec<_> =
        client.snapshot().members().iter().skip(1).map(|m| m.label().to_owned()).collect();
    assert_eq!(labels, ["http://p:80", "http://p:80 #2"]);
    client.get("/").send().unwrap();
    assert_eq!(ways.asked(), [P]);
}

/// R16: with proxies alone an absolute URL is that call's one endpoint.
#[test]
fn r16_a_client_with_proxies_alone_takes_absolute_urls() {
    let (ways, clock) = world();
    let client = Client::builder()
        .proxies(P)
        .preset("breaker")
        .error_statuses(StatusSet::EMPTY)
        .transport(ways.clone())
        .clock(clock)
        .build()
        .unwrap();
    let answer = client.get("https://a.example/x?q=1").send().unwrap();
    assert_eq!((answer.endpoint(), answer.url()), (A, "https://a.example/x"));
    assert_eq!(ways.seen(), [(P.to_owned(), "https://a.example/x?q=1".to_owned())]);
    client.get("HTTPS://A.example:443").send().unwrap();
    assert_eq!(ways.seen()[0].1, "https://a.example/", "R16: its origin is its key");
    assert_eq!(member(&client, A).attempts(), 2, "R16");

    let error = client.get("/x").send().unwrap_err();
    assert_eq!(error.status(), Status::Argument, "{error}");
    ways.set(P, Says::Status(500));
    for _ in 0..5 {
        client.get("https://b.example/").send().unwrap();
    }
    let error = client.get("https://b.example/").send().unwrap_err();
    assert_eq!(error.status(), Status::NoEndpoint, "R16: state is kept by origin");
    ways.set(P, Says::Status(200));
    client.get("https://a.example/").send().unwrap();
    assert_eq!(member(&client, P).failures(), 0, "R12");

    // The 1,024 used last: B is the oldest but one by then.
    for n in 0..1023 {
        client.get(&format!("https://{n}.example/")).send().unwrap();
    }
    let snapshot = client.snapshot();
    assert_eq!(snapshot.members().len(), 1024 + 1, "R16: bounded, and the proxy");
    assert!(snapshot.find(B).is_none() && snapshot.find(A).is_some(), "R16");

    let (ways, clock) = world();
    let client = through(&ways, &clock, &[A], &[P]).build().unwrap();
    let error = client.get("https://b.example/").send().unwrap_err();
    assert_eq!((error.status(), error.option()), (Status::Argument, Some("path")));
}

/// R12 as a table: phase and cause, and whose fault it is.
#[test]
fn r12_blame_by_phase_and_cause() {
    use Blame::{Endpoint as E, Nobody as N, Proxy as X};
    use Passage::{Either, Failed, Through, Unauthorized, Untold};
    use ProxyFault::{Body, Connect, Tunnel};
    let refuses = Cause::ProxyRefused;
    let late = Cause::TimedOut(Limit::Connect);
    let reply = |reply| (Phase::Tunnel, refuses, Some(reply));
    let told = |phase, cause| (phase, cause, None);
    let rows = [
        (told(Phase::ProxyConnect, Cause::NameUnknown), X, Failed(Connect), Reason::Dns),
        (told(Phase::ProxyConnect, Cause::NameLookup), X, Failed(Connect), Reason::Dns),
        (told(Phase::ProxyConnect, Cause::Refused), X, Failed(Connect), Reason::Refused),
        (told(Phase::ProxyConnect, Cause::Unreachable), X, Failed(Connect), Reason::Unreachable),
        (told(Phase::ProxyConnect, Cause::Tls), X, Failed(Connect), Reason::Tls),
        (told(Phase::ProxyConnect, Cause::Certificate), X, Failed(Connect), Reason::TlsCert),
        (told(Phase::ProxyConnect, late), X, Failed(Connect), Reason::Timeout),
        (told(Phase::ProxyAuth, late), X, Failed(Connect), Reason::Timeout),
        (told(Phase::ProxyAuth, Cause::Closed), X, Failed(Connect), Reason::Eof),
        ((Phase::ProxyAuth, refuses, Some(ProxyReply::Http(407))), X, Unauthorized, Reason::Auth),
        (reply(ProxyReply::Socks4(92)), X, Unauthorized, Reason::Auth),
        (reply(ProxyReply::Http(403)), N, Untold, Reason::TunnelRefused),
        (reply(ProxyReply::Http(405)), N, Untold, Reason::TunnelRefused),
        (reply(ProxyReply::Http(451)), N, Untold, Reason::TunnelRefused),
        (reply(ProxyReply::Http(302)), N, Untold, Reason::TunnelRefused),
        (reply(ProxyReply::Socks5(2)), N, Untold, Reason::TunnelRefused),
        (reply(ProxyReply::Http(500)), N, Either, Reason::Unreachable),
        (reply(ProxyReply::Http(502)), N, Either, Reason::Unreachable),
        (reply(ProxyReply::Http(504)), N, Either, Reason::Unreachable),
        (reply(ProxyReply::Socks5(1)), N, Either, Reason::Unreachable),
        (reply(ProxyReply::Socks5(3)), N, Either, Reason::Unreachable),
        (reply(ProxyReply::Socks5(4)), N, Either, Reason::Unreachable),
        (reply(ProxyReply::Socks5(5)), N, Either, Reason::Refused),
        (reply(ProxyReply::Socks5(6)), N, Either, Reason::Unreachable),
        (reply(ProxyReply::Socks4(91)), N, Either, Reason::Unreachable),
        (told(Phase::Tunnel, late), N, Either, Reason::Timeout),
        (told(Phase::Tunnel, Cause::Closed), N, Either, Reason::Eof),
        (told(Phase::Tunnel, Cause::Reset), N, Either, Reason::Reset),
        (told(Phase::Tunnel, Cause::Protocol), X, Failed(Tunnel), Reason::Protocol),
        (reply(ProxyReply::Socks5(7)), X, Failed(Tunnel), Reason::TunnelRefused),
        (reply(ProxyReply::Socks5(8)), X, Failed(Tunnel), Reason::TunnelRefused),
        (told(Phase::Resolve, Cause::NameUnknown), E, Untold, Reason::Dns),
        (told(Phase::Tls, Cause::Certificate), E, Through, Reason::TlsCert),
        (told(Phase::Head, Cause::Reset), E, Through, Reason::Reset),
        (told(Phase::Body, Cause::Truncated), E, Failed(Body), Reason::Truncated),
        (told(Phase::Body, Cause::TimedOut(Limit::Stall)), E, Failed(Body), Reason::Timeout),
    ];
    for ((phase, cause, proxy_reply), blame, passage, reason) in rows {
        let sent = phase >= Phase::Send;
        let report = Report {
            phase,
            ending: Ending::Failed(cause),
            proxy_reply,
            asked_to_send: sent,
            tunnelled: true,
            ..Report::new()
        };
        let outcome = judged(&report, false);
        let of = format!("R12: {phase:?} {cause:?} {proxy_reply:?}");
        assert_eq!(
            (outcome.blame, outcome.passage, outcome.reason),
            (blame, passage, reason),
            "{of}"
        );
        let health = if blame == N { Health::Neutral } else { Health::Bad };
        assert_eq!(outcome.health, health, "{of}");
        if !sent {
            assert_eq!((outcome.delivery, outcome.then), (Delivery::NotSent, Then::MoveOn), "{of}");
        }
        // With a suspect what could be either's is the endpoint's, and the rest as before.
        let second = judged(&report, true);
        match passage {
            Either => assert_eq!((second.blame, second.health), (E, Health::Bad), "{of}"),
            _ => assert_eq!(second, outcome, "{of}"),
        }
    }
}

fn judged(report: &Report, suspected: bool) -> Outcome {
    let rules = Rules {
        repeatable: true,
        resend_statuses: &StatusSet::EMPTY,
        failure_statuses: &StatusSet::EMPTY,
        connect_cut: false,
        attempt_cut: false,
        streamed: false,
        suspected,
        verdict: Verdict::Default,
    };
    classify(report, &rules)
}
