//! Whole calls over loopback, against bare ureq in the same run: the server is a process of its own.
//!
//! ```sh
//! cargo bench --bench calls
//! ```
//!
//! Compare rows of one run, never of two: on one machine the network's share of a call (the kernel,
//! the scheduler) is larger than everything else, and moves. `peers` compares with other clients.

#[path = "../tests/support/certs.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod certs;
#[path = "support/server.rs"]
mod server;

use anyhost::{Client, TlsRoots};
use divan::Bencher;
use server::Peer;
use std::sync::{Arc, OnceLock};
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

const BODY: &[u8] = &[b'x'; 1024];
const THREADS: [usize; 2] = [1, 8];

static PEER: OnceLock<Vec<String>> = OnceLock::new();

fn main() {
    if std::env::args().nth(1).is_some_and(|arg| arg == "serve") {
        return server::serve();
    }
    let peer = Peer::start();
    PEER.set(peer.arguments()).expect("it is set once");
    divan::main();
}

/// The server: over TLS or not.
fn base(tls: bool) -> &'static str {
    &PEER.get().expect("main has set it")[usize::from(tls)]
}

fn authority() -> Vec<u8> {
    std::fs::read(&PEER.get().expect("main has set it")[3]).expect("the server has written it")
}

fn anyhost(tls: bool) -> Client {
    Client::builder()
        .preset("resilient")
        .base_urls(base(tls))
        .tls_roots(TlsRoots::None)
        .add_root_pem(authority())
        .build()
        .expect("a client")
}

fn bare_ureq() -> Agent {
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let authority = Certificate::from_pem(&authority()).expect("a certificate").to_owned();
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&[authority]))
        .unversioned_rustls_crypto_provider(crypto)
        .build();
    let config = Agent::config_builder().proxy(None).tls_config(tls);
    config.max_idle_connections_per_host(8).build().into()
}

#[divan::bench(args = [false, true], threads = THREADS)]
fn get_anyhost(bencher: Bencher<'_, '_>, tls: bool) {
    let client = anyhost(tls);
    bencher.bench(|| client.get("/x").send().expect("an answer").into_bytes());
}

#[divan::bench(args = [false, true], threads = THREADS)]
fn get_ureq(bencher: Bencher<'_, '_>, tls: bool) {
    let (agent, url) = (bare_ureq(), format!("{}/x", base(tls)));
    bencher.bench(|| {
        let mut answer = agent.get(&url).call().expect("an answer");
        answer.body_mut().read_to_vec().expect("its body")
    });
}

#[divan::bench]
fn post_anyhost(bencher: Bencher<'_, '_>) {
    let client = anyhost(false);
    bencher.bench(|| client.post("/x").body(BODY).send().expect("an answer").into_bytes());
}

#[divan::bench]
fn post_ureq(bencher: Bencher<'_, '_>) {
    let (agent, url) = (bare_ureq(), format!("{}/x", base(false)));
    bencher.bench(|| {
        let mut answer = agent.post(&url).send(BODY).expect("an answer");
        answer.body_mut().read_to_vec().expect("its body")
    });
}
