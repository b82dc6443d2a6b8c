//! Three proxies of others, killed and started again one after the other while a client works.

use crate::program::say;
use crate::proxies::{FORBIDDEN, Users, microsocks, squid, tinyproxy};
use crate::support::*;
use anyhost::{Client, Delivery, State};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Instant;

const THREADS: usize = 6;

/// No GET fails while one proxy is well, no POST is carried out twice, and each proxy is back at its share
/// when it is back.
#[test]
fn proxies_killed_and_started_again_under_load() {
    let test = "proxies_killed_and_started_again_under_load";
    let (Some(a), Some(b), Some(c)) = (
        squid(test, Users::Everybody, FORBIDDEN),
        tinyproxy(test, Users::Everybody, FORBIDDEN),
        microsocks(test, Users::Everybody),
    ) else {
        return;
    };
    let mut proxies = [a, b, c];
    let urls: Vec<String> = proxies.iter().map(|proxy| proxy.url()).collect();
    // Two endpoints: what breaks off behind a tunnel is the endpoint's as far as anybody can tell.
    let authority = Authority::new();
    let tls = authority.server();
    let services = [Server::tls(&tls, Reply::echo()), Server::tls(&tls, Reply::echo())];
    let endpoints: Vec<String> =
        services.iter().map(|service| format!("https://localhost:{}", service.port())).collect();
    let client = Client::builder()
        .base_urls(&endpoints.join(","))
        .selection(anyhost::Selection::Weighted)
        .attempts_per_endpoint(3)
        .proxies(&urls.join(","))
        .set("proxy_base_delay", "200ms")
        .set("proxy_max_delay", "400ms")
        .add_root_pem(authority.pem().as_bytes())
        .tls_roots(anyhost::TlsRoots::None)
        .build()
        .unwrap();

    let (over, next) = (AtomicBool::new(false), AtomicUsize::new(0));
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while !over.load(SeqCst) {
                    let i = next.fetch_add(1, SeqCst);
                    let method = ["GET", "POST"][i % 2];
                    if let Err(error) = client.request(method, &format!("/{i}")).send() {
                        failed.lock().unwrap().push((i, method, error));
                    }
                    pass(ms(2));
                }
            });
        }
        // Also where something below fails, or the threads would go on for ever.
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, SeqCst);
            }
        }
        let _stop = Stop(&over);
        for place in 0..proxies.len() {
            pass(ms(300));
            proxies[place].kill();
            pass(ms(300));
            proxies[place].restart();
            let state = || client.snapshot().find(&urls[place]).unwrap().state();
            let began = Instant::now();
            // Calls of the threads are its probes, and nobody tells when one has succeeded.
            while state() != State::Eligible {
                assert!(began.elapsed() < ms(20_000), "{} does not come back", urls[place]);
                pass(ms(10));
            }
        }
    });
    let made = next.into_inner();
    let failed = failed.into_inner().unwrap();
    let mut times: HashMap<String, usize> = HashMap::new();
    for request in services.iter().flat_map(|service| service.requests()) {
        if request.complete {
            *times.entry(format!("{} {}", request.method, request.target)).or_default() += 1;
        }
    }
    let twice: Vec<_> =
        times.iter().filter(|(what, times)| what.starts_with("POST") && **times > 1).collect();
    let gets: Vec<_> = failed.iter().filter(|(_, method, _)| *method == "GET").collect();
    say(&format!(
        "proxies killed and started again: {made} calls, {} GET and {} POST failed, {} POST twice",
        gets.len(),
        failed.len() - gets.len(),
        twice.len()
    ));
    let explained: Vec<_> = gets.iter().map(|(i, _, e)| format!("{i}: {}", e.explain())).collect();
    assert!(gets.is_empty(), "{}", explained.join("\n"));
    assert!(twice.is_empty(), "{twice:?}");
    for (i, _, error) in &failed {
        assert_eq!(error.delivery(), Delivery::Maybe, "POST {i}: {error}");
    }

    // Back at their share: a third each, give or take.
    let before = client.snapshot();
    let calls = 600;
    for _ in 0..calls {
        client.get("/share").send().unwrap();
    }
    let after = client.snapshot();
    for url in &urls {
        let made = after.find(url).unwrap().attempts() - before.find(url).unwrap().attempts();
        assert!((calls / 6..calls / 2).contains(&made), "{url}: {made} of {calls}");
    }
}
