//! What each of them says, and what is told of it: the right phase, number and delivery, and a POST at
//! most once at the target.

use crate::proxies::{FORBIDDEN, Real, Users, dante, microsocks, squid, stunnel, tinyproxy};
use crate::support::*;
use crate::through::*;
use anyhost::inject::{Cause, Ending, Limit, Phase, ProxyReply, Transport as _};
use anyhost::transport::AgentTransport;

/// A target that answers, one that the policies refuse, and one that is dead.
struct Targets {
    authority: Authority,
    plain: Server,
    secure: Server,
    forbidden: Server,
    dead: Refusing,
}

impl Targets {
    fn new() -> Targets {
        let authority = Authority::new();
        let tls = authority.server();
        Targets {
            plain: Server::start(Reply::echo()),
            secure: Server::tls(&tls, Reply::echo()),
            forbidden: Listen::on(FORBIDDEN).start(Reply::echo()),
            dead: refusing_address(),
            authority,
        }
    }

    fn transport(&self) -> AgentTransport {
        trusting_with(&self.authority, anyhost::inject::SystemLookup)
    }

    fn executed(&self) -> usize {
        self.plain.executed() + self.secure.executed()
    }
}

/// An http and an https target, GET and POST, three times each.
fn leads_to_both(targets: &Targets, proxy: &Real, url: &str) {
    let transport = targets.transport();
    let before = targets.executed();
    let way = proxy_at(url);
    for turn in 0..3 {
        for base in [targets.plain.url(), format!("https://localhost:{}", targets.secure.port())] {
            let body = "x".repeat(50_000 * turn);
            let (report, answer) = post(&format!("{base}/a?b=c"), &way, body.as_bytes())
                .header("authorization", "Bearer target-secret")
                .on(&transport);
            let expected = format!("POST /a?b=c {}", body.len());
            assert_eq!(answer, Some((200, expected)), "{url} {base} {report:?}");
            assert_eq!((report.phase, report.proxy_reply), (Phase::Body, None));
            // tinyproxy closes after each plain request and does not say so, and behind stunnel that takes
            // a moment: whether a connection was used again is another test's.
            transport.drop_idle();
            let (report, answer) = get(&format!("{base}/a"), &way).on(&transport);
            assert_eq!(answer, Some((200, "GET /a 0".to_owned())), "{url} {base} {report:?}");
            transport.drop_idle();
        }
    }
    assert_eq!(targets.executed() - before, 12, "each arrived once: {}", proxy.url());
    for request in targets.plain.requests().iter().chain(&targets.secure.requests()) {
        assert_eq!(request.header("proxy-authorization"), None);
    }
}

/// A tunnel to that target is refused with this, and no byte of the request was sent.
fn is_refused(targets: &Targets, url: &str, target: &str, phase: Phase, replies: &[ProxyReply]) {
    let (report, answer) = post(target, &proxy_at(url), b"order").on(&targets.transport());
    let case = format!("{url} to {target}: {report:?}");
    assert_eq!((report.ending, answer), (Ending::Failed(Cause::ProxyRefused), None), "{case}");
    assert_eq!((report.phase, report.asked_to_send), (phase, false), "{case}");
    assert!(report.proxy_reply.is_some_and(|reply| replies.contains(&reply)), "{case}");
}

/// Stopped, it takes connections and says nothing; dead, it refuses them.
fn stops_and_dies(targets: &Targets, proxy: Real, url: &str, silent_in: Phase) {
    let transport = targets.transport();
    let way = proxy_at(url);
    let target = format!("https://localhost:{}/", targets.secure.port());
    let before = targets.executed();
    proxy.freeze(true);
    let ((report, _), took) =
        timed(|| post(&target, &way, b"order").connect(ms(400)).on(&transport));
    proxy.freeze(false);
    let limit = Cause::TimedOut(Limit::Connect);
    assert_eq!(told(&report), (limit, silent_in, None, false), "{url} {report:?}");
    within(ms(400), took, ms(150));

    drop(proxy);
    let (report, _) = post(&target, &way, b"order").on(&transport);
    assert_eq!(told(&report), (Cause::Refused, Phase::ProxyConnect, None, false), "{url}");
    assert_eq!(targets.executed(), before);
}

/// Plain targets have no tunnel: what an HTTP proxy says of one that is dead is its answer, with the
/// proxy's own page.
fn answers_for_a_dead_plain_target(targets: &Targets, url: &str, status: u16) {
    // Without a body: some close with a reset where they have not read one, and take their answer back.
    let (report, answer) = get(&targets.dead.url(), &proxy_at(url)).on(&targets.transport());
    assert_eq!(answer.map(|(status, _)| status), Some(status), "{report:?}");
    assert_eq!((report.proxy_reply, report.asked_to_send), (None, true));
}

#[test]
fn squid_is_understood() {
    let targets = Targets::new();
    let Some(proxy) = squid("squid_is_understood", Users::Everybody, FORBIDDEN) else { return };
    let url = proxy.url();
    leads_to_both(&targets, &proxy, &url);
    let policy = format!("https://{}/", targets.forbidden.addr);
    is_refused(&targets, &url, &policy, Phase::Tunnel, &[ProxyReply::Http(403)]);
    let dead = format!("https://{}/", targets.dead.addr);
    is_refused(&targets, &url, &dead, Phase::Tunnel, &[ProxyReply::Http(503)]);
    answers_for_a_dead_plain_target(&targets, &url, 503);
    stops_and_dies(&targets, proxy, &url, Phase::Tunnel);
    assert_eq!(targets.forbidden.connections(), 0);
}

#[test]
fn squid_with_users_is_understood() {
    let targets = Targets::new();
    let Some(proxy) = squid("squid_with_users_is_understood", Users::Me, FORBIDDEN) else { return };
    leads_to_both(&targets, &proxy, &proxy.url_of("me", "geheim"));
    let before = targets.executed();
    let secure = format!("https://localhost:{}/", targets.secure.port());
    for url in [proxy.url(), proxy.url_of("me", "falsch"), proxy.url_of("you", "geheim")] {
        is_refused(&targets, &url, &secure, Phase::ProxyAuth, &[ProxyReply::Http(407)]);
        // To a plain target the proxy has the request, and keeps it.
        let (report, answer) =
            post(&targets.plain.url(), &proxy_at(&url), b"order").on(&targets.transport());
        let expected = (Cause::ProxyRefused, Phase::ProxyAuth, Some(ProxyReply::Http(407)), true);
        assert_eq!((told(&report), answer), (expected, None), "{url}");
    }
    assert_eq!(targets.executed(), before);
}

#[test]
fn tinyproxy_is_understood() {
    let targets = Targets::new();
    let Some(proxy) = tinyproxy("tinyproxy_is_understood", Users::Everybody, FORBIDDEN) else {
        return;
    };
    let url = proxy.url();
    leads_to_both(&targets, &proxy, &url);
    let policy = format!("https://{}/", targets.forbidden.addr);
    is_refused(&targets, &url, &policy, Phase::Tunnel, &[ProxyReply::Http(403)]);
    let dead = format!("https://{}/", targets.dead.addr);
    is_refused(&targets, &url, &dead, Phase::Tunnel, &[ProxyReply::Http(500)]);
    answers_for_a_dead_plain_target(&targets, &url, 500);
    stops_and_dies(&targets, proxy, &url, Phase::Tunnel);
    assert_eq!(targets.forbidden.connections(), 0);
}

/// tinyproxy says 407 where credentials are missing, and 401 where they are wrong.
#[test]
fn tinyproxy_with_users_is_understood() {
    let targets = Targets::new();
    let name = "tinyproxy_with_users_is_understood";
    let Some(proxy) = tinyproxy(name, Users::Me, FORBIDDEN) else { return };
    leads_to_both(&targets, &proxy, &proxy.url_of("me", "geheim"));
    let secure = format!("https://localhost:{}/", targets.secure.port());
    is_refused(&targets, &proxy.url(), &secure, Phase::ProxyAuth, &[ProxyReply::Http(407)]);
    let wrong = proxy.url_of("me", "falsch");
    is_refused(&targets, &wrong, &secure, Phase::ProxyAuth, &[ProxyReply::Http(401)]);
}

#[test]
fn microsocks_is_understood() {
    let targets = Targets::new();
    let Some(proxy) = microsocks("microsocks_is_understood", Users::Everybody) else { return };
    for scheme in ["socks5", "socks5h"] {
        let url = format!("{scheme}://{}", proxy.addr);
        leads_to_both(&targets, &proxy, &url);
        for scheme in ["http", "https"] {
            let dead = format!("{scheme}://{}/", targets.dead.addr);
            is_refused(&targets, &url, &dead, Phase::Tunnel, &[ProxyReply::Socks5(5)]);
        }
        let no_such_name = "https://does-not-exist.invalid/";
        if scheme == "socks5h" {
            let codes = [1, 3, 4].map(ProxyReply::Socks5);
            is_refused(&targets, &url, no_such_name, Phase::Tunnel, &codes);
        }
    }
    let url = proxy.url();
    stops_and_dies(&targets, proxy, &url, Phase::ProxyAuth);
}

#[test]
fn microsocks_with_users_is_understood() {
    let targets = Targets::new();
    let Some(proxy) = microsocks("microsocks_with_users_is_understood", Users::Me) else { return };
    leads_to_both(&targets, &proxy, &proxy.url_of("me", "geheim"));
    let before = targets.executed();
    let plain = targets.plain.url();
    let none = [ProxyReply::Socks5NoMethod];
    is_refused(&targets, &proxy.url(), &plain, Phase::ProxyAuth, &none);
    let wrong = [1, 2].map(ProxyReply::Socks5Credentials);
    is_refused(&targets, &proxy.url_of("me", "falsch"), &plain, Phase::ProxyAuth, &wrong);
    assert_eq!(targets.executed(), before);
}

#[test]
fn dante_is_understood() {
    let targets = Targets::new();
    let Some(proxy) = dante("dante_is_understood", Users::Everybody, FORBIDDEN) else { return };
    for scheme in ["socks4", "socks5", "socks5h"] {
        let url = format!("{scheme}://{}", proxy.addr);
        leads_to_both(&targets, &proxy, &url);
        let (policy, dead) = match scheme.starts_with("socks5") {
            true => (ProxyReply::Socks5(2), ProxyReply::Socks5(5)),
            false => (ProxyReply::Socks4(91), ProxyReply::Socks4(91)),
        };
        let forbidden = format!("https://{}/", targets.forbidden.addr);
        is_refused(&targets, &url, &forbidden, Phase::Tunnel, &[policy]);
        is_refused(&targets, &url, &targets.dead.url(), Phase::Tunnel, &[dead]);
    }
    let url = proxy.url();
    stops_and_dies(&targets, proxy, &url, Phase::ProxyAuth);
    assert_eq!(targets.forbidden.connections(), 0);
}

#[test]
fn dante_with_users_is_understood() {
    let targets = Targets::new();
    let Some(proxy) = dante("dante_with_users_is_understood", Users::Me, FORBIDDEN) else { return };
    let plain = targets.plain.url();
    is_refused(&targets, &proxy.url(), &plain, Phase::ProxyAuth, &[ProxyReply::Socks5NoMethod]);
    let wrong = [1, 255].map(ProxyReply::Socks5Credentials);
    let nobody = proxy.url_of("no-such-user", "falsch");
    is_refused(&targets, &nobody, &plain, Phase::ProxyAuth, &wrong);
    assert_eq!(targets.executed(), 0);
}

#[test]
fn a_proxy_behind_stunnel_is_understood() {
    let targets = Targets::new();
    let test = "a_proxy_behind_stunnel_is_understood";
    let Some(behind) = tinyproxy(test, Users::Me, FORBIDDEN) else { return };
    let Some(proxy) = stunnel(test, &targets.authority, behind) else { return };
    let url = proxy.url_of("me", "geheim");
    leads_to_both(&targets, &proxy, &url);
    let policy = format!("https://{}/", targets.forbidden.addr);
    is_refused(&targets, &url, &policy, Phase::Tunnel, &[ProxyReply::Http(403)]);
    let secure = format!("https://localhost:{}/", targets.secure.port());
    is_refused(&targets, &proxy.url(), &secure, Phase::ProxyAuth, &[ProxyReply::Http(407)]);

    // Whom we do not trust, and who speaks no TLS, hears nothing from us.
    let transport = trusting(&Authority::new());
    let (report, _) = get(&secure, &proxy_at(&url)).on(&transport);
    assert_eq!(told(&report), (Cause::Certificate, Phase::ProxyConnect, None, false));
    stops_and_dies(&targets, proxy, &url, Phase::ProxyConnect);
}
