//! A pool with a proxy of others in it: who is blamed for what it does, and that nobody else is.

use crate::proxies::{FORBIDDEN, Real, Users, dante, microsocks, squid, tinyproxy};
use crate::support::*;
use anyhost::{Client, Delivery, Phase, Reason, State};
use std::sync::LazyLock;

/// An https service, and one more proxy that is well.
struct Pool {
    authority: Authority,
    service: Server,
    well: Real,
}

impl Pool {
    fn new(test: &str) -> Option<Pool> {
        let well = microsocks(test, Users::Everybody)?;
        let authority = Authority::new();
        let service = Server::tls(&authority.server(), Reply::echo());
        Some(Pool { authority, service, well })
    }

    /// A client of this endpoint through `first` and the proxy that is well, whose first call draws
    /// `first`.
    fn client(&self, first: &str, endpoint: &str) -> Client {
        Client::builder()
            .base_urls(endpoint)
            .proxies(&format!("{first},{}", self.well.url()))
            .add_root_pem(self.authority.pem().as_bytes())
            .tls_roots(anyhost::TlsRoots::None)
            .connect_timeout(ms(400))
            .set("connect_timeout_last", "400ms")
            .seed(*DRAWS_THE_FIRST)
            .build()
            .unwrap()
    }

    fn endpoint(&self) -> String {
        format!("https://localhost:{}", self.service.port())
    }
}

/// A seed that draws the first of two proxies.
static DRAWS_THE_FIRST: LazyLock<u64> = LazyLock::new(|| {
    let (one, other) = (refusing_address(), refusing_address());
    let draws = |seed: &u64| {
        let client = Client::builder()
            .base_urls("http://service.test")
            .proxies(&format!("{},{}", one.url(), other.url()))
            .seed(*seed)
            .build()
            .unwrap();
        let error = client.get("/").send().unwrap_err();
        error.attempts()[0].proxy() == Some(&*one.url())
    };
    (0..100).find(draws).expect("one of a hundred")
});

/// The label of a proxy: its URL without user info.
fn label(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((_, place)) => format!("{}://{place}", url.split("://").next().unwrap()),
        None => url.to_owned(),
    }
}

/// State, reason, phase and failures of a member.
fn of(client: &Client, key: &str) -> (State, Reason, Phase, u64) {
    let snapshot = client.snapshot();
    let member = snapshot.find(key).unwrap_or_else(|| panic!("no member {key}"));
    (member.state(), member.reason(), member.phase(), member.failures())
}

/// Whatever it did last, nothing is held against it.
fn is_well(client: &Client, key: &str) {
    let (state, reason, _, failures) = of(client, key);
    assert_eq!((state, reason, failures), (State::Eligible, Reason::None, 0), "{key}");
}

/// One POST: the first proxy fails it in this way, the second carries it out, once.
fn moves_on(pool: &Pool, url: &str, expected: (State, Reason, Phase)) {
    let client = pool.client(url, &pool.endpoint());
    let before = pool.service.count("POST");
    let answer = client.post("/order").body("{}").send().unwrap();
    assert_eq!(answer.status(), 200);
    let told: Vec<_> = answer
        .attempts()
        .iter()
        .map(|a| (a.proxy(), a.reason(), a.phase(), a.delivery()))
        .collect();
    let (first, second) = (label(url), pool.well.url());
    let (state, reason, phase) = expected;
    assert_eq!(
        told,
        [
            (Some(&*first), reason, phase, Delivery::NotSent),
            (Some(&*second), Reason::None, Phase::Body, Delivery::Answered)
        ]
    );
    assert_eq!(pool.service.count("POST") - before, 1);
    assert_eq!(of(&client, &first), (state, reason, phase, 1));
    is_well(&client, &second);
    is_well(&client, &pool.endpoint());
}

/// R12: stopped, dead, and with credentials it does not take, each in its own way.
#[test]
fn a_proxy_that_fails_is_blamed_and_nobody_else() {
    let test = "a_proxy_that_fails_is_blamed_and_nobody_else";
    let Some(pool) = Pool::new(test) else { return };
    let programs = [
        squid(test, Users::Everybody, FORBIDDEN).map(|real| (real, Phase::Tunnel)),
        tinyproxy(test, Users::Everybody, FORBIDDEN).map(|real| (real, Phase::Tunnel)),
        dante(test, Users::Everybody, FORBIDDEN).map(|real| (real, Phase::ProxyAuth)),
        microsocks(test, Users::Everybody).map(|real| (real, Phase::ProxyAuth)),
    ];
    for (mut real, silent_in) in programs.into_iter().flatten() {
        real.freeze(true);
        moves_on(&pool, &real.url(), (State::Cooling, Reason::Timeout, silent_in));
        real.freeze(false);
        real.kill();
        moves_on(&pool, &real.url(), (State::Cooling, Reason::Refused, Phase::ProxyConnect));
    }
    let guarded = [
        squid(test, Users::Me, FORBIDDEN),
        tinyproxy(test, Users::Me, FORBIDDEN),
        microsocks(test, Users::Me),
        dante(test, Users::Me, FORBIDDEN),
    ];
    for real in guarded.into_iter().flatten() {
        for url in [real.url(), real.url_of("me", "falsch")] {
            moves_on(&pool, &url, (State::Disabled, Reason::Auth, Phase::ProxyAuth));
        }
    }
}

/// R12: what a policy forbids is nobody's fault, and is not tried by another way.
#[test]
fn a_policy_is_nobodys_fault() {
    let test = "a_policy_is_nobodys_fault";
    let Some(pool) = Pool::new(test) else { return };
    let forbidden = Listen::on(FORBIDDEN).start(Reply::ok("never"));
    let endpoint = format!("https://{}", forbidden.addr);
    let programs = [
        squid(test, Users::Everybody, FORBIDDEN),
        tinyproxy(test, Users::Everybody, FORBIDDEN),
        dante(test, Users::Everybody, FORBIDDEN),
    ];
    for real in programs.into_iter().flatten() {
        let client = pool.client(&real.url(), &endpoint);
        let error = client.post("/order").body("{}").send().unwrap_err();
        assert_eq!((error.reason(), error.phase()), (Reason::TunnelRefused, Phase::Tunnel));
        assert_eq!((error.delivery(), error.attempts().len()), (Delivery::NotSent, 1));
        for key in [real.url(), pool.well.url(), endpoint.clone()] {
            is_well(&client, &key);
        }
    }
    assert_eq!(forbidden.connections(), 0);
}

/// R12: a target that two proxies cannot reach is itself to blame; one that only the first cannot reach
/// is not.
#[test]
fn a_dead_target_is_found_out_by_a_second_proxy() {
    let test = "a_dead_target_is_found_out_by_a_second_proxy";
    let Some(pool) = Pool::new(test) else { return };
    let programs = [
        squid(test, Users::Everybody, FORBIDDEN),
        tinyproxy(test, Users::Everybody, FORBIDDEN),
        dante(test, Users::Everybody, FORBIDDEN),
    ];
    for real in programs.into_iter().flatten() {
        let dead = refusing_address();
        let endpoint = format!("https://{}", dead.addr);
        let client = pool.client(&real.url(), &endpoint);
        let error = client.post("/order").body("{}").send().unwrap_err();
        assert_eq!(error.delivery(), Delivery::NotSent);
        let through: Vec<_> = error.attempts().iter().map(|a| a.proxy().unwrap()).collect();
        assert_eq!(through, [real.url(), pool.well.url()]);
        for key in [real.url(), pool.well.url()] {
            assert_eq!(of(&client, &key).0, State::Eligible, "{key}");
        }
        let snapshot = client.snapshot();
        assert_eq!(snapshot.find(&endpoint).unwrap().failures(), 1, "{}", real.url());
    }
}
