//! A proxy that breaks off after every number of bytes, in both directions and in three ways.

use super::*;

/// What is known of the sizes of a conversation: the bytes of it in each direction.
struct Whole {
    read: usize,
    sent: usize,
    /// How far into what follows, the target's own conversation, and with which stride.
    behind: (usize, usize),
}

/// At each offset the report is checked against what the target saw.
///
/// While the conversation with the proxy goes on nothing of the request is out; whatever the offset, no
/// byte of a request is at the target of which the report says that none was sent, and no request was
/// carried out twice.
fn at_every_offset(scheme: &str, plan: &dyn Fn() -> ProxyPlan, target: &Server, whole: &Whole) {
    let transport = trusting(&AUTHORITY);
    let url = match target.url().starts_with("https") {
        true => format!("https://localhost:{}/order", target.port()),
        false => format!("{}/order", target.url()),
    };
    let (far, stride) = whole.behind;
    let tunnel = |conversation: usize| (1..=far).step_by(stride).map(move |n| conversation + n);
    let read = (0..=whole.read).chain(tunnel(whole.read)).map(At::Read);
    let sent = (0..=whole.sent).chain(tunnel(whole.sent)).map(At::Sent);
    let (mut unsent, mut maybe, mut led) = (0, 0, 0);
    for at in read.chain(sent) {
        for fault in [Fault::Fin, Fault::Reset, Fault::Stall] {
            let before = target.requests().len();
            let proxy = plan().breaks(at, fault).start();
            let way = proxy_url(scheme, &proxy);
            // A stall costs its limit: enough for loopback.
            let limit = if fault == Fault::Stall { ms(60) } else { ms(5000) };
            let call = post(&url, &way, b"{\"amount\": 1}").connect(limit).until(limit);
            let (report, answer) = call.on(&transport);
            let case = format!("{scheme} {at:?} {fault:?}: {report:?}");
            // The end of the proxy ends what it has under way at the target.
            led += proxy.finish();
            target.wait_for_connections(led, ms(5000));
            target.wait_for_open(0, ms(5000));
            let arrived = target.requests()[before..].to_vec();
            assert!(arrived.len() <= 1, "{case}: {arrived:?}");

            let within_conversation = match at {
                At::Read(n) => n <= whole.read && n < usize::MAX,
                At::Sent(n) => n < whole.sent,
            };
            if within_conversation {
                assert!(report.phase <= Phase::Tunnel && answer.is_none(), "{case}");
                assert!(!report.asked_to_send && report.bytes_sent == 0, "{case}");
            }
            if !report.asked_to_send {
                assert!(arrived.is_empty(), "{case}: {arrived:?}");
                unsent += 1;
            } else {
                maybe += 1;
            }
            assert_eq!(answer.is_some(), report.ending == Ending::Answered, "{case}");
        }
    }
    assert!(unsent > whole.read + whole.sent && maybe > 20, "{unsent} and {maybe}");
}

static AUTHORITY: std::sync::LazyLock<Authority> = std::sync::LazyLock::new(Authority::new);

fn proxy_url(scheme: &str, proxy: &Proxy) -> ProxyUrl {
    proxy_at(&proxy.url_with_credentials(scheme))
}

#[test]
fn a_connect_broken_off_at_every_byte() {
    let target = Server::tls(&AUTHORITY.server(), Reply::ok("done"));
    let place = format!("localhost:{}", target.port());
    let head = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n");
    let read = head.len() + "Proxy-Authorization: Basic bWU6cHc=\r\n\r\n".len();
    let whole = Whole { read, sent: "HTTP/1.1 200 OK\r\n\r\n".len(), behind: (2000, 67) };
    let plan = || ProxyPlan::new(Speaks::Http, target.addr).wants("me", "pw");
    at_every_offset("http", &plan, &target, &whole);
}

#[test]
fn a_socks5_conversation_broken_off_at_every_byte() {
    let target = Server::start(Reply::ok("done"));
    // Greeting, user and password, and a request for an IPv4 address.
    let whole = Whole { read: 4 + 7 + 10, sent: 2 + 2 + 10, behind: (240, 13) };
    let plan = || ProxyPlan::new(Speaks::Socks5, target.addr).wants("me", "pw");
    at_every_offset("socks5", &plan, &target, &whole);
}
