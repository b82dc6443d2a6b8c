//! The rows, and what each does: one thing, as often as it is told.

#[path = "../support/instant.rs"]
mod instant;
#[path = "../support/pool.rs"]
#[allow(dead_code, reason = "other benches use more of it")]
mod pool;

use anyhost::decide::{Limits, Wanted, pick};
use anyhost::inject::{
    Attempt, HeaderMap, HeaderValue, Interrupt, Method, Outgoing, Transport as _,
};
use anyhost::transport::{AgentTransport, TransportConfig};
use anyhost::{Client, Selection, TlsRoots};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// One case through one subject, and how many calls its short run makes. A long run makes four times
/// as many.
pub struct Row {
    pub case: &'static str,
    pub subject: &'static str,
    pub calls: u64,
}

/// What a post carries.
const BODY: &[u8] = &[b'x'; 1024];

const fn row(case: &'static str, subject: &'static str, calls: u64) -> Row {
    Row { case, subject, calls }
}

pub const ROWS: &[Row] = &[
    row("get", "bare ureq", 100),
    row("get", "transport", 100),
    row("get", "anyhost", 100),
    row("get", "C", 100),
    row("get, TLS", "bare ureq", 100),
    row("get, TLS", "anyhost", 100),
    row("get, TLS", "C", 100),
    row("post", "bare ureq", 100),
    row("post", "anyhost", 100),
    row("post", "C", 100),
    row("failover", "bare ureq", 100),
    row("failover", "anyhost", 100),
    row("failover", "C", 100),
    row("layer, 2 endpoints", "anyhost", 500),
    row("layer, 10000 endpoints", "anyhost", 500),
    row("decisions, 2 endpoints", "anyhost", 1000),
    row("decisions, 10000 endpoints", "anyhost", 1000),
    row("pick, 2 endpoints", "anyhost", 2000),
    row("pick, 10000 endpoints", "anyhost", 2000),
];

/// Where the servers are.
struct Peer<'a> {
    plain: &'a str,
    secure: &'a str,
    refusing: &'a str,
    authority: Vec<u8>,
}

/// `CASE SUBJECT CALLS PLAIN TLS REFUSING AUTHORITY`
pub fn run(args: &[String]) {
    let [case, subject, calls, plain, secure, refusing, authority] = args else {
        panic!("{args:?}");
    };
    let calls: u64 = calls.parse().expect("a number of calls");
    let authority = std::fs::read(authority).expect("the server has written it");
    let peer = Peer { plain, secure, refusing, authority };
    match (case.as_str(), subject.as_str()) {
        ("pick, 2 endpoints", _) => picks(2, calls),
        ("pick, 10000 endpoints", _) => picks(10_000, calls),
        ("decisions, 2 endpoints", _) => decisions(2, calls),
        ("decisions, 10000 endpoints", _) => decisions(10_000, calls),
        ("layer, 2 endpoints", _) => layer(2, calls),
        ("layer, 10000 endpoints", _) => layer(10_000, calls),
        (_, "anyhost") => through_anyhost(case, &peer, calls),
        (_, "transport") => through_transport(&peer, calls),
        (_, "bare ureq") => through_ureq(case, &peer, calls),
        _ => panic!("no row {case}, {subject}"),
    }
}

fn through_anyhost(case: &str, peer: &Peer<'_>, calls: u64) {
    let builder =
        Client::builder().tls_roots(TlsRoots::None).add_root_pem(peer.authority.as_slice());
    let builder = match case {
        // In order, and without a hold, so that every call meets the refusal.
        "failover" => builder
            .base_urls(peer.refusing)
            .base_urls(peer.plain)
            .selection(Selection::Ordered)
            .hold_for(Duration::ZERO)
            .deadline(Duration::from_secs(30)),
        "get, TLS" => builder.preset("resilient").base_urls(peer.secure),
        _ => builder.preset("resilient").base_urls(peer.plain),
    };
    let client = builder.build().expect("a client");
    for _ in 0..calls {
        let answer = match case {
            "post" => client.post("/x").body(BODY).send(),
            _ => client.get("/x").send(),
        };
        assert_eq!(answer.expect("an answer").into_bytes().len(), 1024);
    }
}

/// What a client goes through, and nothing above it: the same request, sent by hand. What
/// `through_anyhost` takes beyond this is what a call costs for being more than one attempt.
fn through_transport(peer: &Peer<'_>, calls: u64) {
    let transport = AgentTransport::new(TransportConfig { tls: None, ..Default::default() });
    let url = format!("{}/x", peer.plain);
    let host = peer.plain.trim_start_matches("http://");
    let mut headers = HeaderMap::new();
    headers.insert("host", host.parse().expect("a value"));
    headers.insert("user-agent", HeaderValue::from_static("anyhost"));
    headers.insert("accept", HeaderValue::from_static("*/*"));
    headers.insert("accept-encoding", HeaderValue::from_static("gzip"));
    let interrupt = Arc::new(Interrupt::new());
    for _ in 0..calls {
        let until = Some(anyhost::sys::now() + Duration::from_secs(30));
        let limits = Limits { connect_by: until, until, body_until: until, ..Limits::default() };
        let (mut report, answer) = transport.attempt(Attempt {
            endpoint: 0,
            method: &Method::GET,
            url: &url,
            server_name: None,
            foreign: false,
            proxy: None,
            headers: headers.clone(),
            body: Outgoing::Empty,
            limits,
            fresh: false,
            interrupt: &interrupt,
            meter: None,
        });
        let bytes = answer.expect("an answer").body.read_whole(u64::MAX, &mut report);
        assert_eq!(bytes.expect("its body").len(), 1024);
    }
}

fn through_ureq(case: &str, peer: &Peer<'_>, calls: u64) {
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let authority = Certificate::from_pem(&peer.authority).expect("a certificate").to_owned();
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&[authority]))
        .unversioned_rustls_crypto_provider(crypto)
        .build();
    let agent: Agent = Agent::config_builder().proxy(None).tls_config(tls).build().into();
    let base = if case == "get, TLS" { peer.secure } else { peer.plain };
    let (url, refusing) = (format!("{base}/x"), format!("{}/x", peer.refusing));
    for _ in 0..calls {
        let answer = match case {
            "post" => agent.post(&url).send(BODY),
            "failover" => agent.get(&refusing).call().or_else(|_| agent.get(&url).call()),
            _ => agent.get(&url).call(),
        };
        let bytes = answer.expect("an answer").body_mut().read_to_vec().expect("its body");
        assert_eq!(bytes.len(), 1024);
    }
}

/// A whole call, over a network that answers at once.
fn layer(endpoints: usize, calls: u64) {
    let client = instant::client(endpoints);
    for _ in 0..calls {
        black_box(client.get("/x").send().expect("an answer"));
    }
}

/// All that a call decides.
fn decisions(endpoints: u64, calls: u64) {
    let now = anyhost::sys::now();
    let (mut pool, rules) = (pool::pool(endpoints, now), pool::Rules::new());
    let (mut chance, mut events) = (pool::Chance(1), Vec::new());
    for _ in 0..calls {
        pool::decide(&mut pool, &rules, now, chance.next(), &mut events);
    }
}

fn picks(endpoints: u64, calls: u64) {
    let now = anyhost::sys::now();
    let pool = pool::pool(endpoints, now);
    let (mut chance, mut out) = (pool::Chance(1), Vec::new());
    let wanted = Wanted { tried: &[], attempts_per_endpoint: 1, may_probe: true };
    for _ in 0..calls {
        black_box(pick(&pool, &wanted, now, chance.next(), &mut out));
    }
}
