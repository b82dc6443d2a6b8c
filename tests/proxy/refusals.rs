//! Each way in which a proxy says no, or says nothing: the phase, the number, and not a byte sent.

use super::*;
use std::thread;

/// A target that nothing may reach.
fn untouched() -> Server {
    Server::start(Reply::ok("never"))
}

/// R12, F80: each refusal of a tunnel.
#[test]
fn a_refused_tunnel_keeps_its_number_and_sends_nothing() {
    let target = untouched();
    let transport = trusting(&Authority::new());
    let http = |status: &str| format!("HTTP/1.1 {status}\r\n\r\n").into_bytes();
    let (auth, tunnel) = (Phase::ProxyAuth, Phase::Tunnel);
    use ProxyReply::*;
    for (speaks, url, says, phase, reply) in [
        (Speaks::Http, "http", http("407 x\r\nContent-Length: 849"), auth, Http(407)),
        (Speaks::Http, "http", http("403 Forbidden"), tunnel, Http(403)),
        (Speaks::Http, "http", http("451 x"), tunnel, Http(451)),
        (Speaks::Http, "http", http("302 x\r\nLocation: http://x/"), tunnel, Http(302)),
        (Speaks::Http, "http", http("502 Bad"), tunnel, Http(502)),
        (Speaks::Http, "http", http("100 Continue\r\n\r\nHTTP/1.1 504 x"), tunnel, Http(504)),
        (Speaks::Socks4, "socks4a", vec![0, 91, 0, 0, 0, 0, 0, 0], tunnel, Socks4(91)),
        (Speaks::Socks4, "socks4a", vec![0, 93, 0, 0, 0, 0, 0, 0], auth, Socks4(93)),
        (Speaks::Socks5, "socks5h", vec![5, 2, 0, 1, 0, 0, 0, 0, 0, 0], tunnel, Socks5(2)),
        (Speaks::Socks5, "socks5h", vec![5, 5, 0, 1, 0, 0, 0, 0, 0, 0], tunnel, Socks5(5)),
    ] {
        let proxy = ProxyPlan::new(speaks, target.addr).answers(says).start();
        let way = proxy_at(&proxy.url(url));
        let (report, answer) = post("https://a.test/", &way, b"order").on(&transport);
        assert_eq!(told(&report), (Cause::ProxyRefused, phase, Some(reply), false), "{report:?}");
        assert_eq!((answer, report.status, report.bytes_sent), (None, None, 0));
    }
    assert_eq!(target.connections(), 0);
}

/// P-7: credentials that are wrong, and credentials that are missing.
#[test]
fn credentials_refused() {
    let target = untouched();
    let transport = trusting(&Authority::new());
    use ProxyReply::*;
    for (speaks, scheme, missing, wrong) in [
        (Speaks::Http, "http", Http(407), Http(407)),
        (Speaks::Socks5, "socks5", Socks5NoMethod, Socks5Credentials(1)),
    ] {
        let proxy = ProxyPlan::new(speaks, target.addr).wants("me", "geheim").start();
        for (user_info, reply) in [("", missing), ("me:falsch@", wrong)] {
            let way = proxy_at(&format!("{scheme}://{user_info}{}", proxy.server.addr));
            let (report, _) = get("https://localhost/", &way).on(&transport);
            assert_eq!(told(&report), (Cause::ProxyRefused, Phase::ProxyAuth, Some(reply), false));
            assert!(!format!("{report:?}").contains("falsch"));
        }
        let way = proxy_at(&proxy.url_with_credentials(scheme));
        let (report, _) = get("https://localhost/", &way).connect(ms(2000)).on(&transport);
        assert!(report.phase > Phase::Tunnel, "{report:?}");
    }
    assert_eq!(target.requests().iter().filter(|request| request.complete).count(), 0);
}

/// R12: of a plain request handed on, 407 is the proxy's and any other status the target's. The request
/// has been sent, and the report says so.
#[test]
fn only_407_of_a_plain_request_is_the_proxys() {
    let target = untouched();
    let transport = trusting(&Authority::new());
    let proxy = ProxyPlan::new(Speaks::Http, target.addr).wants("me", "geheim").start();
    let url = format!("http://{}/", target.addr);
    for _ in 0..2 {
        let way = proxy_at(&proxy.url("http"));
        let (report, answer) = post(&url, &way, b"order").on(&transport);
        let expected = (Cause::ProxyRefused, Phase::ProxyAuth, Some(ProxyReply::Http(407)), true);
        assert_eq!((told(&report), answer, report.status), (expected, None, None));
    }
    assert_eq!((target.connections(), proxy.server.connections()), (0, 2));

    for status in [200, 401, 403, 429, 502, 503] {
        let said = format!("HTTP/1.1 {status} x\r\nContent-Length: 4\r\n\r\nbody");
        let proxy = ProxyPlan::new(Speaks::Http, target.addr).answers(said).start();
        let (report, answer) = post(&url, &proxy_at(&proxy.url("http")), b"order").on(&transport);
        assert_eq!(answer, Some((status, "body".to_owned())));
        assert_eq!((report.proxy_reply, report.phase), (None, Phase::Body));
    }
    // Through a tunnel 407 is as much the target's as anything.
    let odd = Server::start(Reply::status(407));
    let socks = ProxyPlan::new(Speaks::Socks5, odd.addr).start();
    let (report, answer) = get(&odd.url(), &proxy_at(&socks.url("socks5"))).on(&transport);
    assert_eq!((answer.map(|(status, _)| status), report.proxy_reply), (Some(407), None));
}

/// What is no answer at all.
#[test]
fn garbage_hang_ups_and_bytes_too_many() {
    let target = untouched();
    let transport = trusting(&Authority::new());
    let large = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(70_000));
    for (speaks, scheme, says, cause) in [
        (Speaks::Http, "http", &b"SSH-2.0-OpenSSH_9.2\r\n"[..], Cause::Protocol),
        (Speaks::Http, "http", b"HTTP/1.1 200 OK\r\n\r\n\x15\x03\x03", Cause::Protocol),
        (Speaks::Http, "http", large.as_bytes(), Cause::Protocol),
        (Speaks::Socks5, "socks5h", b"HTTP/1.1 400 Bad\r\n", Cause::Protocol),
        (Speaks::Socks4, "socks4a", b"HTTP/1.1 400 Bad\r\n", Cause::Protocol),
    ] {
        let proxy = ProxyPlan::new(speaks, target.addr).answers(says).start();
        let (report, _) = get("https://a.test/", &proxy_at(&proxy.url(scheme))).on(&transport);
        assert_eq!(told(&report), (cause, Phase::Tunnel, None, false), "{scheme} {report:?}");
    }
    // A proxy of another kind than was said.
    let http = ProxyPlan::new(Speaks::Http, target.addr).start();
    let (report, _) =
        get("https://a.test/", &proxy_at(&http.url("https"))).connect(ms(2000)).on(&transport);
    assert_eq!((report.phase, report.asked_to_send), (Phase::ProxyConnect, false), "{report:?}");
    assert!(target.requests().is_empty());
}

/// Nobody there, and no such name: of the proxy, not of the target.
#[test]
fn a_proxy_that_is_not_there() {
    let transport = trusting_with(&Authority::new(), |_: &str, _| Err(LookupError::NameUnknown));
    let gone = refusing_address();
    for scheme in ["http", "https", "socks4", "socks4a", "socks5", "socks5h"] {
        let way = proxy_at(&format!("{scheme}://{}", gone.addr));
        for url in ["http://127.0.0.1:9/", "https://127.0.0.1:9/"] {
            let (report, _) = get(url, &way).on(&transport);
            let expected = (Cause::Refused, Phase::ProxyConnect, None, false);
            assert_eq!(told(&report), expected, "{scheme} {url}");
        }
        let way = proxy_at(&format!("{scheme}://gone.test"));
        let (report, _) = get("https://127.0.0.1:9/", &way).on(&transport);
        let expected = (Cause::NameUnknown, Phase::ProxyConnect, None, false);
        assert_eq!(told(&report), expected, "{scheme}");
    }
    // The name of the target, where it is looked up here, is the target's.
    let (report, _) =
        get("http://gone.test/", &proxy_at(&format!("socks5://{}", gone.addr))).on(&transport);
    assert_eq!(told(&report), (Cause::NameUnknown, Phase::Resolve, None, false));
}

/// Silence in each place, and a drip: the connect limit binds all of it, once. Cancelled, it ends at once.
#[test]
fn silence_ends_at_the_connect_limit_or_when_nobody_waits_any_more() {
    let authority = Authority::new();
    let transport = trusting(&authority);
    let target = untouched();
    let never = silent();
    let plan = |speaks| ProxyPlan::new(speaks, target.addr);
    let stall = |speaks, at| plan(speaks).breaks(at, Fault::Stall).start();
    let hole = Blackhole::new();
    // "HTTP/1.1 200 OK" and no line end; SOCKS5 after the method, and after user and password.
    let cases = [
        (format!("http://{}", hole.addr), None, Phase::ProxyConnect),
        (format!("https://{}", never.addr), None, Phase::ProxyConnect),
        (format!("http://{}", never.addr), None, Phase::Tunnel),
        (format!("socks4a://{}", never.addr), None, Phase::Tunnel),
        (format!("socks5h://{}", never.addr), None, Phase::ProxyAuth),
        (String::new(), Some((stall(Speaks::Http, At::Sent(15)), "http")), Phase::Tunnel),
        (String::new(), Some((stall(Speaks::Socks4, At::Sent(7)), "socks4a")), Phase::Tunnel),
        (String::new(), Some((stall(Speaks::Socks5, At::Sent(1)), "socks5h")), Phase::ProxyAuth),
        (String::new(), Some((stall(Speaks::Socks5, At::Sent(2)), "socks5h")), Phase::Tunnel),
        (String::new(), Some((stall(Speaks::Socks5, At::Sent(11)), "socks5h")), Phase::Tunnel),
        (String::new(), Some((plan(Speaks::Http).drips(ms(100)).start(), "http")), Phase::Tunnel),
    ];
    for (url, scripted, phase) in &cases {
        let url = match scripted {
            Some((proxy, scheme)) => proxy.url(scheme),
            None => url.clone(),
        };
        let way = proxy_at(&url);
        let call = post("https://a.test/", &way, b"order");
        let ((report, _), took) = timed(|| call.clone().connect(ms(300)).on(&transport));
        let limit = Cause::TimedOut(anyhost::inject::Limit::Connect);
        assert_eq!(told(&report), (limit, *phase, None, false), "{url}");
        within(ms(300), took, ms(100));

        let interrupt = call.interrupt.clone();
        let canceller = thread::spawn(move || {
            pass(ms(150));
            interrupt.trigger();
        });
        let ((report, _), took) = timed(|| call.on(&transport));
        canceller.join().unwrap();
        assert_eq!(told(&report), (Cause::Cancelled, *phase, None, false), "{url}");
        within(ms(150), took, ms(50));
    }
    assert!(target.requests().is_empty());
}
