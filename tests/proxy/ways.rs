//! Six kinds of proxy, http and https targets: what arrives where.

use super::*;
use std::collections::HashSet;

/// A plan, and the scheme of the URL that leads there.
fn every_way(target: SocketAddr, tls: &Arc<rustls::ServerConfig>) -> Vec<(&'static str, Proxy)> {
    let plan = |speaks| ProxyPlan::new(speaks, target);
    vec![
        ("http", plan(Speaks::Http).wants("me", "pw").start()),
        ("https", plan(Speaks::Http).wants("me", "pw").tls(tls).start()),
        ("socks4", plan(Speaks::Socks4).start()),
        ("socks4a", plan(Speaks::Socks4).start()),
        ("socks5", plan(Speaks::Socks5).wants("me", "pw").start()),
        ("socks5h", plan(Speaks::Socks5).wants("me", "pw").start()),
    ]
}

fn url(scheme: &str, proxy: &Proxy) -> ProxyUrl {
    proxy_at(&match scheme {
        "socks4" | "socks4a" => format!("{scheme}://me@{}", proxy.server.addr),
        _ => proxy.url_with_credentials(scheme),
    })
}

/// R12, R15, F76, F78: through each kind, to http and https, twice on one connection, the same request
/// arrives as it would without a proxy, and neither side learns what is meant for the other.
#[test]
fn every_kind_of_proxy_leads_to_both_kinds_of_target() {
    let authority = Authority::new();
    let tls = authority.server();
    let body = "x".repeat(100_000);
    for secure in [false, true] {
        let target = match secure {
            false => Server::start(Reply::echo()),
            true => Server::tls(&tls, Reply::echo()),
        };
        let scheme = if secure { "https" } else { "http" };
        for (kind, proxy) in every_way(target.addr, &tls) {
            let case = format!("{kind} to {scheme}");
            let (names, before) = (Names::default(), target.requests().len());
            let transport = trusting_with(&authority, names.clone());
            let way = url(kind, &proxy);
            let place = format!("localhost:{}", target.port());
            for turn in 0..2 {
                let (report, answer) =
                    post(&format!("{scheme}://{place}/a?b=c"), &way, body.as_bytes())
                        .header("authorization", "Bearer target-secret")
                        .header("cookie", "target-secret")
                        .on(&transport);
                let expected = "POST /a?b=c 100000".to_owned();
                assert_eq!(answer, Some((200, expected)), "{case}: {report:?}");
                assert_eq!((report.phase, report.reused), (Phase::Body, turn == 1), "{case}");
                assert!(report.asked_to_send && report.proxy_reply.is_none(), "{case}");
            }
            assert_eq!(proxy.server.connections(), 1, "{case}");

            for request in &target.requests()[before..] {
                assert_eq!(request.header("host"), Some(&*place), "{case}");
                assert_eq!(request.header("authorization"), Some("Bearer target-secret"), "{case}");
                assert_eq!(request.header("proxy-authorization"), None, "{case}");
            }
            let asked = proxy.asked();
            let heard = String::from_utf8_lossy(&asked[0].bytes).into_owned();
            let forwarded = !secure && kind.starts_with("http");
            let sees = match (kind, forwarded) {
                (_, true) => format!("http://{place}/a?b=c"),
                ("socks4" | "socks5", _) => format!("127.0.0.1:{}", target.port()),
                _ => place.clone(),
            };
            assert_eq!(asked[0].target, sees, "{case}");
            assert_eq!(heard.contains("target-secret"), forwarded, "{case}: {heard}");
            if secure && kind.starts_with("http") {
                // Nothing but this.
                let head = format!(
                    "CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\
                     Proxy-Authorization: Basic bWU6cHc=\r\n\r\n"
                );
                assert_eq!(heard, head, "{case}");
            }
            // F86: who looks the name up.
            let here = matches!(kind, "socks4" | "socks5");
            assert_eq!(names.asked(), if here { vec!["localhost"] } else { vec![] }, "{case}");
            let told = if here { 1 } else { 3 };
            assert_eq!(asked[0].kind, if kind.starts_with("http") { 0 } else { told }, "{case}");
        }
    }
}

/// RFC 9112 section 3.2.2: the whole target in the request line, for each request on the connection, of
/// whatever kind its body is.
#[test]
fn an_http_proxy_is_given_the_absolute_form() {
    let target = Server::start(Reply::echo());
    let proxy = ProxyPlan::new(Speaks::Http, target.addr).start();
    let transport = trusting(&Authority::new());
    let way = proxy_at(&proxy.url("http"));
    let url = format!("http://{}/p", target.addr);
    let (_, answer) = get(&url, &way).header("proxy-authorization", "mine").on(&transport);
    assert_eq!(answer, Some((200, "GET /p 0".to_owned())));
    let (report, answer) = get(&url, &way).on(&transport);
    assert_eq!((answer, report.reused), (Some((200, "GET /p 0".to_owned())), true));
    let heard = String::from_utf8(proxy.asked()[0].bytes.clone()).unwrap().to_lowercase();
    assert!(
        heard.starts_with(&format!("get {url} http/1.1\r\nhost: {}\r\n", target.addr)),
        "{heard}"
    );
    // Set by hand, it is meant for the proxy, which takes it off.
    assert!(heard.contains("proxy-authorization: mine\r\n"), "{heard}");

    // Through a tunnel the proxy does not see it, and it is for nobody else.
    let socks = ProxyPlan::new(Speaks::Socks5, target.addr).start();
    let way = proxy_at(&socks.url("socks5h"));
    get(&url, &way).header("proxy-authorization", "mine").on(&transport).1.unwrap();
    assert_eq!(target.requests()[2].header("proxy-authorization"), None);
}

/// R15: connections made with one set of credentials, or through one proxy, serve no other.
#[test]
fn connections_are_kept_apart_by_proxy_and_credentials() {
    let target = Server::start(Reply::echo());
    let transport = trusting(&Authority::new());
    let proxy = ProxyPlan::new(Speaks::Socks4, target.addr).start();
    let other = ProxyPlan::new(Speaks::Socks4, target.addr).start();
    let [one, two] =
        ["one", "two"].map(|user| proxy_at(&format!("socks4a://{user}@{}", proxy.server.addr)));
    let three = proxy_at(&other.url("socks4a"));
    let url = format!("http://{}/", target.addr);
    let mut reused = Vec::new();
    for way in [&one, &two, &three, &one, &two, &three] {
        reused.push(get(&url, way).on(&transport).0.reused);
    }
    assert_eq!(reused, [false, false, false, true, true, true]);

    transport.forget_proxy(&one);
    proxy.server.wait_for_open(1, ms(5000));
    assert!(!get(&url, &one).on(&transport).0.reused);
    assert!(get(&url, &two).on(&transport).0.reused, "another proxy's are untouched");
    transport.forget(1);
    proxy.server.wait_for_open(0, ms(5000));
    other.server.wait_for_open(0, ms(5000));
}

/// F69: an IPv6 target, by each kind that can say it; SOCKS4 cannot.
#[test]
fn an_ipv6_target_has_its_own_form_everywhere() {
    let authority = Authority::new();
    let target = Server::tls(&authority.server(), Reply::ok("six"));
    let transport = trusting(&authority);
    for (scheme, speaks, kind) in
        [("http", Speaks::Http, 0), ("socks5", Speaks::Socks5, 4), ("socks5h", Speaks::Socks5, 4)]
    {
        let proxy = ProxyPlan::new(speaks, target.addr).start();
        let (report, answer) =
            get("https://[::1]:4433/", &proxy_at(&proxy.url(scheme))).on(&transport);
        assert_eq!(answer, Some((200, "six".to_owned())), "{scheme}: {report:?}");
        let asked = proxy.asked().remove(0);
        assert_eq!((asked.target.as_str(), asked.kind), ("[::1]:4433", kind), "{scheme}");
    }
    let proxy = ProxyPlan::new(Speaks::Socks4, target.addr).start();
    let (report, _) = get("https://[::1]:4433/", &proxy_at(&proxy.url("socks4"))).on(&transport);
    assert_eq!(told(&report), (Cause::Unreachable, Phase::Tunnel, None, false));
}

/// A name with several addresses, looked up here: the proxy is asked for one after the other.
#[test]
fn every_address_of_a_target_is_asked_for() {
    let target = Server::start(Reply::ok("there"));
    for (scheme, speaks, expected) in [
        ("socks5", Speaks::Socks5, &["[::1]:81", "127.0.0.8:81", "127.0.0.9:81"][..]),
        ("socks4", Speaks::Socks4, &["127.0.0.8:81", "127.0.0.9:81"]),
    ] {
        let several = |host: &str, port| {
            assert_eq!(host, "several.test");
            let four = |last| SocketAddr::from(([127, 0, 0, last], port));
            Ok::<_, LookupError>(vec![format!("[::1]:{port}").parse().unwrap(), four(8), four(9)])
        };
        let transport = trusting_with(&Authority::new(), several);
        let plan = ProxyPlan::new(speaks, target.addr);
        let proxy = plan.clone().cannot_reach("[::1]:81").cannot_reach("127.0.0.8:81").start();
        let way = proxy_at(&proxy.url(scheme));
        let (report, answer) = get("http://several.test:81/", &way).on(&transport);
        assert_eq!(answer, Some((200, "there".to_owned())), "{report:?}");
        assert_eq!((report.phase, report.proxy_reply), (Phase::Body, None));
        let asked: Vec<String> = proxy.asked().into_iter().map(|asked| asked.target).collect();
        assert_eq!(asked, expected);

        // Where none can be reached the first is the one told of.
        let nowhere = expected.iter().fold(plan, |plan, place| plan.cannot_reach(place)).start();
        let (report, _) =
            get("http://several.test:81/", &proxy_at(&nowhere.url(scheme))).on(&transport);
        let code =
            if speaks == Speaks::Socks5 { ProxyReply::Socks5(4) } else { ProxyReply::Socks4(91) };
        assert_eq!(told(&report), (Cause::ProxyRefused, Phase::Tunnel, Some(code), false));
        assert_eq!(nowhere.asked().len(), expected.len());
    }
}

/// A certificate is checked on each of the two ways, and who failed is told apart. Ours is shown to
/// endpoints alone.
#[test]
fn tls_to_the_proxy_and_to_the_target_are_told_apart() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let transport = trusting(&ours);
    let good = Server::tls(&ours.server(), Reply::ok("hello"));
    let strange = Server::tls(&theirs.server(), Reply::ok("hello"));
    let through = |target: &Server, tls: &Authority| {
        ProxyPlan::new(Speaks::Http, target.addr).tls(&tls.server()).start()
    };
    let run = |target: &Server, proxy: &Proxy| {
        let url = format!("https://localhost:{}/", target.port());
        get(&url, &proxy_at(&proxy.url("https"))).on(&transport)
    };
    let proxy = through(&good, &ours);
    assert_eq!(run(&good, &proxy).1, Some((200, "hello".to_owned())));
    let report = run(&strange, &through(&strange, &ours)).0;
    assert_eq!(told(&report), (Cause::Certificate, Phase::Tls, None, false));
    let untrusted = through(&good, &theirs);
    let report = run(&good, &untrusted).0;
    assert_eq!(told(&report), (Cause::Certificate, Phase::ProxyConnect, None, false));
    assert_eq!(untrusted.asked(), []);
    assert_eq!(good.requests().len() + strange.requests().len(), 1);
}

/// One transport, many threads, two proxies and two kinds of target: every answer is that of its own
/// request.
#[test]
fn answers_do_not_get_mixed_up() {
    let authority = Authority::new();
    let tls = authority.server();
    let (plain, secure) = (Server::start(Reply::echo()), Server::tls(&tls, Reply::echo()));
    let ways = [
        (
            format!("http://{}", plain.addr),
            ProxyPlan::new(Speaks::Http, plain.addr).start(),
            "http",
        ),
        (
            format!("https://{}", secure.addr),
            ProxyPlan::new(Speaks::Http, secure.addr).tls(&tls).start(),
            "https",
        ),
        (
            format!("https://{}", secure.addr),
            ProxyPlan::new(Speaks::Socks5, secure.addr).start(),
            "socks5h",
        ),
    ];
    let transport = trusting(&authority);
    let seen = Mutex::new(HashSet::new());
    std::thread::scope(|threads| {
        for thread in 0..8 {
            let (ways, transport, seen) = (&ways, &transport, &seen);
            threads.spawn(move || {
                for turn in 0..12 {
                    let (base, proxy, scheme) = &ways[(thread + turn) % ways.len()];
                    let path = format!("/{thread}-{turn}");
                    let (report, answer) =
                        get(&format!("{base}{path}"), &proxy_at(&proxy.url(scheme))).on(transport);
                    let (_, text) = answer.unwrap_or_else(|| panic!("{report:?}"));
                    assert_eq!(text, format!("GET {path} 0"));
                    assert!(seen.lock().unwrap().insert(path));
                }
            });
        }
    });
    assert_eq!(plain.requests().len() + secure.requests().len(), 8 * 12);
}

/// R2: a way that has ended while idle is seen before it is used again, at whatever depth; a POST then
/// goes out on a fresh one.
#[test]
fn an_idle_way_that_has_ended_is_not_used_again() {
    let authority = Authority::new();
    let tls = authority.server();
    for secure in [false, true] {
        let bye = Event::new();
        let closing = Reply::ok("1").close().tell(&bye);
        let replies = || Script::each([closing.clone(), Reply::ok("2")]);
        let target = |script| match secure {
            false => Server::start(script),
            true => Server::tls(&tls, script),
        };
        for kind in ["http", "https", "socks5h"] {
            let target = target(replies());
            let ways = every_way(target.addr, &tls);
            let proxy = &ways.iter().find(|(scheme, _)| *scheme == kind).unwrap().1;
            let transport = trusting(&authority);
            let base = if secure { "https://localhost" } else { "http://localhost" };
            let target_url = format!("{base}:{}/", target.port());
            let way = url(kind, proxy);
            let (_, first) = post(&target_url, &way, b"order").on(&transport);
            assert_eq!(first, Some((200, "1".to_owned())), "{kind}");
            bye.wait(ms(5000));
            // The proxy passes the end on.
            proxy.server.wait_for_open(0, ms(5000));
            let (report, second) = post(&target_url, &way, b"order").on(&transport);
            assert_eq!((second, report.reused), (Some((200, "2".to_owned())), false), "{kind}");
            assert_eq!(target.count("POST"), 2, "{kind}");
        }
    }
}

/// R13: an answer that comes before the request is sent gets through every kind of way, and a reader
/// that stops ends at the limit of the attempt, also where one TLS session carries another.
#[test]
fn an_upload_that_meets_an_early_answer_or_no_reader_ends() {
    let authority = Authority::new();
    let tls = authority.server();
    let body = vec![b'x'; 24 << 20];
    for secure in [false, true] {
        let script = || {
            Script::from(Reply::holds().after_head())
                .on("/early", Reply::status(413).body("big").after_head().half_close())
        };
        let target = match secure {
            false => Server::start(script()),
            true => Server::tls(&tls, script()),
        };
        let base = if secure { "https" } else { "http" };
        for (kind, proxy) in every_way(target.addr, &tls) {
            let transport = trusting(&authority);
            let (case, way) = (format!("{kind} to {base}"), url(kind, &proxy));
            let place = format!("{base}://localhost:{}", target.port());
            let (report, answer) = post(&format!("{place}/early"), &way, &body).on(&transport);
            assert_eq!(answer, Some((413, "big".to_owned())), "{case}: {report:?}");

            let call = post(&place, &way, &body).until(ms(400)).connect(ms(400));
            let ((report, _), took) = timed(|| call.on(&transport));
            let limit = Cause::TimedOut(anyhost::inject::Limit::Attempt);
            assert_eq!(told(&report), (limit, Phase::Send, None, true), "{case}");
            within(ms(400), took, ms(150));
        }
    }
}

/// A proxy that wants credentials says so before it has read a large request; it hands nothing on.
#[test]
fn an_early_407_of_a_plain_request_is_heard() {
    let target = Server::start(Reply::ok("never"));
    let proxy = ProxyPlan::new(Speaks::Http, target.addr).wants("me", "geheim").start();
    let transport = trusting(&Authority::new());
    let body = vec![b'x'; 24 << 20];
    let url = format!("http://{}/", target.addr);
    let (report, answer) = post(&url, &proxy_at(&proxy.url("http")), &body).on(&transport);
    let expected = (Cause::ProxyRefused, Phase::ProxyAuth, Some(ProxyReply::Http(407)), true);
    assert_eq!((told(&report), answer), (expected, None), "{report:?}");
    assert_eq!(target.connections(), 0);
}
