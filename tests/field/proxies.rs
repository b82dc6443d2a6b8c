//! F69 to F86, F162 to F166: proxies, what they hear, and who is left out.

use crate::support::{Authority, ProxyPlan, Reply, Server, Speaks, ms, refusing_address};
use anyhost::inject::{LookupError, NameLookup};
use anyhost::{Client, ClientBuilder, Proxy, Reason, State, Status, TlsRoots};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

fn through(base: &str, proxies: &[String]) -> ClientBuilder {
    Client::builder().base_urls(base).proxies(&proxies.join(",")).seed(1)
}

fn trusting(ca: &Authority, base: &str, proxies: &[String]) -> ClientBuilder {
    through(base, proxies).tls_roots(TlsRoots::None).add_root_pem(ca.pem())
}

fn state(client: &Client, label: &str) -> State {
    client.snapshot().find(label).expect("it is listed").state()
}

#[test]
fn f69_an_ipv6_target_has_its_brackets_in_connect() {
    let p = Server::start(Reply::status(502));
    let client = trusting(&Authority::new(), "https://[::1]", &[p.url()]).build().unwrap();
    client.get("/").send().unwrap_err();
    let asked = &p.requests()[0];
    assert_eq!((&*asked.method, &*asked.target), ("CONNECT", "[::1]:443"));
    assert_eq!(asked.header("Host"), Some("[::1]:443"), "RFC 9112 section 3.2.3");
}

#[test]
fn f76_plain_http_is_asked_for_in_absolute_form() {
    let a = Server::start(Reply::ok("a"));
    let p = ProxyPlan::new(Speaks::Http, a.addr).start();
    let client = through("http://service.test:8080/v1", &[p.url("http")]).build().unwrap();
    assert_eq!(client.get("/x").send().unwrap().text().unwrap(), "a");
    let asked = p.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].target, "http://service.test:8080/v1/x", "RFC 9112 section 3.2.2");
    assert!(asked[0].bytes.starts_with(b"GET "), "no CONNECT");
}

#[test]
fn f78_the_proxys_secrets_stay_with_it_and_the_services_pass_it_by() {
    let ca = Authority::new();
    let t = Server::tls(&ca.server(), Reply::ok("t"));
    let p = ProxyPlan::new(Speaks::Http, t.addr).wants("me", "geheim").start();
    let client = trusting(&ca, &t.url(), &[p.url_with_credentials("http")]).build().unwrap();
    let answer = client
        .get("/")
        .header("Authorization", "Bearer CANARY-1")
        .header("Cookie", "s=CANARY-2")
        .header("X-Api-Key", "CANARY-3")
        .send()
        .unwrap();
    assert_eq!(answer.status(), 200);
    let connect = String::from_utf8(p.asked()[0].bytes.clone()).unwrap().to_lowercase();
    assert!(connect.starts_with("connect ") && connect.contains("proxy-authorization: basic "));
    assert!(!connect.contains("canary"), "{connect}");
    let head = String::from_utf8(t.requests()[0].head.clone()).unwrap().to_lowercase();
    assert_eq!(head.matches("canary").count(), 3, "{head}");
    assert!(!head.contains("proxy-authorization"), "{head}");
}

#[test]
fn f80_refused_credentials_disable_one_proxy_and_the_next_is_asked() {
    let ca = Authority::new();
    for method in ["GET", "POST"] {
        let t = Server::tls(&ca.server(), Reply::ok("t"));
        let p1 = ProxyPlan::new(Speaks::Http, t.addr).wants("me", "right").start();
        let p2 = ProxyPlan::new(Speaks::Http, t.addr).start();
        let wrong = format!("http://me:wrong@{}", p1.server.addr);
        let client = trusting(&ca, &t.url(), &[wrong, p2.url("http")]).build().unwrap();
        for _ in 0..20 {
            let answer = client.request(method, "/").send().unwrap();
            assert_eq!(answer.status(), 200);
        }
        assert_eq!(p1.asked().len(), 1, "{method}: never the same proxy twice");
        let snapshot = client.snapshot();
        let disabled = snapshot.find(&p1.url("http")).unwrap();
        assert_eq!((disabled.state(), disabled.reason()), (State::Disabled, Reason::Auth));
        assert_eq!(snapshot.find(&t.url()).unwrap().failures(), 0, "{method}: not the target's");
        assert_eq!(t.count(method), 20, "{method}: each exactly once");
    }
}

#[test]
fn f82_a_proxy_that_is_silent_cools_after_its_first_timeout() {
    let ca = Authority::new();
    let t = Server::tls(&ca.server(), Reply::ok("t"));
    let p1 = crate::support::silent();
    let p2 = ProxyPlan::new(Speaks::Http, t.addr).start();
    let client = trusting(&ca, &t.url(), &[p1.url(), p2.url("http")])
        .connect_timeout(ms(150))
        .build()
        .unwrap();
    while state(&client, &p1.url()) == State::Eligible {
        client.get("/").send().unwrap();
    }
    let connections = p1.connections();
    assert_eq!(connections, 1, "it was asked once");
    for _ in 0..5 {
        client.get("/").send().unwrap();
    }
    assert_eq!(p1.connections(), 1, "until the cooldown ends");
    // As at the end of the cooldown: the next request is the probe.
    client.disable(&p1.url(), "").unwrap();
    client.enable(&p1.url()).unwrap();
    for _ in 0..5 {
        client.get("/").send().unwrap();
    }
    assert_eq!(p1.connections(), 2, "then one request");
    assert_eq!(state(&client, &p1.url()), State::Cooling);
}

#[test]
fn f84_with_all_proxies_cooling_nothing_goes_straight() {
    let a = Server::start(Reply::ok("a"));
    let (p1, p2) = (refusing_address(), refusing_address());
    let client = through(&a.url(), &[p1.url(), p2.url()]).build().unwrap();
    let first = client.get("/").send().unwrap_err();
    assert_eq!((first.attempts().len(), first.reason()), (2, Reason::Refused));
    let error = client.get("/").send().unwrap_err();
    assert_eq!(error.status(), Status::NoEndpoint);
    assert!(error.retry_after().is_some_and(|wait| wait > ms(29_000)), "{error}");
    assert_eq!(error.refused().len(), 2, "{error}");
    assert_eq!(a.connections(), 0, "it would show where we are");
}

/// Looks up nothing, and counts how often it is asked to.
struct Counting(Arc<AtomicUsize>);

impl NameLookup for Counting {
    fn look_up(&self, _: &str, port: u16) -> Result<Vec<SocketAddr>, LookupError> {
        self.0.fetch_add(1, SeqCst);
        Ok(vec![SocketAddr::from(([127, 0, 0, 9], port))])
    }
}

#[test]
fn f86_socks5h_has_the_proxy_look_names_up_and_socks5_does_it_here() {
    let a = Server::start(Reply::ok("a"));
    for (scheme, kind, target, lookups) in
        [("socks5h", 3, "service.test:80", 0), ("socks5", 1, "127.0.0.9:80", 1)]
    {
        let p = ProxyPlan::new(Speaks::Socks5, a.addr).start();
        let asked = Arc::new(AtomicUsize::new(0));
        let client = through("http://service.test", &[p.url(scheme)])
            .lookup(Counting(asked.clone()))
            .build()
            .unwrap();
        assert_eq!(client.get("/").send().unwrap().text().unwrap(), "a");
        let wanted = &p.asked()[0];
        assert_eq!((wanted.kind, &*wanted.target), (kind, target), "{scheme}: RFC 1928 section 4");
        assert_eq!(asked.load(SeqCst), lookups, "{scheme}");
    }
}

#[test]
fn f162_odd_parts_of_no_proxy_do_no_harm() {
    for list in [":1", ",", " ", "[", "::1", "*:80", ":1,[,,*:x"] {
        let p = Server::start(Reply::ok("p"));
        let client = through("http://service.test", &[p.url()]).no_proxy(list).build().unwrap();
        let straight = list == "*:80";
        if !straight {
            assert_eq!(client.get("/").send().unwrap().text().unwrap(), "p", "{list:?}");
        }
    }
    let a = Server::start(Reply::ok("a"));
    let p = Server::start(Reply::ok("p"));
    let client = through(&a.url(), &[p.url()]).no_proxy("*").build().unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "a");
    assert_eq!(p.connections(), 0);
}

#[test]
fn f164_blanks_and_networks_in_no_proxy_count() {
    let list = "localhost, 10.0.0.0/8 ,127.0.0.0/8,fd00::/8,.corp,::1";
    let a = Server::start(Reply::ok("a"));
    let p = Server::start(Reply::ok("p"));
    let client = through(&a.url(), &[p.url()]).no_proxy(list).build().unwrap();
    let answer = client.get("/").send().unwrap();
    assert_eq!((answer.text().unwrap(), answer.attempts()[0].proxy()), ("a", None));
    for base in ["http://corp.example", "http://11.0.0.1", "http://[fe80::1]"] {
        let client = through(base, &[p.url()]).no_proxy(list).build().unwrap();
        let answer = client.get("/").send().unwrap();
        assert_eq!(answer.attempts()[0].proxy(), Some(&*p.url()), "{base}");
    }
    // A whole URL is looked at one by one.
    let client = Client::builder().proxies(&p.url()).no_proxy(list).build().unwrap();
    assert_eq!(client.get(&a.url()).send().unwrap().text().unwrap(), "a");
    assert_eq!(client.get("http://service.test/").send().unwrap().text().unwrap(), "p");
}

#[test]
fn f166_a_line_end_after_a_proxy_is_no_part_of_it() {
    let p = Server::start(Reply::ok("p"));
    let given = format!("{}\r\n", p.url());
    let client =
        Client::builder().base_urls("http://service.test").proxies(&given).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "p");
    assert!(Proxy::new(&given).is_ok() && Proxy::new("http://a\r\nb").is_err());
}
