//! F150 and F152: many threads on one client. (F148, a fork, is in `tests/fork.rs`, in a process of
//! its own.)

use crate::support::{Authority, Reply, Server, refusing_address};
use crate::wire::over;
use anyhost::{Endpoint, Selection, State, TlsRoots};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

#[test]
fn f150_no_connection_serves_two_at_once() {
    const THREADS: usize = 32;
    let ca = Authority::new();
    for tls in [false, true] {
        let calls = if tls { 30 } else { 60 };
        let server = match tls {
            false => Server::start(Reply::echo()),
            true => Server::tls(&ca.server(), Reply::echo()),
        };
        let client = over(&[server.url()])
            .tls_roots(TlsRoots::None)
            .add_root_pem(ca.pem())
            .max_idle_per_endpoint(THREADS as u32)
            .connect_timeout_last(crate::network::secs(60))
            .attempt_timeout(crate::network::secs(60))
            .build()
            .unwrap();
        thread::scope(|scope| {
            for worker in 0..THREADS {
                let client = &client;
                scope.spawn(move || {
                    for n in 0..calls {
                        let path = format!("/{worker}/{n}");
                        let answer = client.post(&path).body("abc").send().unwrap();
                        assert_eq!(answer.text().unwrap(), format!("POST {path} 3"));
                    }
                });
            }
        });
        assert_eq!(server.executed(), THREADS * calls, "each once");
        assert!(server.connections() <= THREADS, "one for each thread at most");
    }
}

/// A list is replaced as a whole: no call sees none, or half of one, and what stays in it keeps its
/// weight and its circuit.
#[test]
fn f152_a_list_replaced_under_load_fails_no_call() {
    const UPDATES: usize = 999;
    let (a, b, dead) =
        (Server::start(Reply::ok("a")), Server::start(Reply::ok("b")), refusing_address());
    let client = over(&[a.url(), b.url(), dead.url()])
        .selection(Selection::Weighted)
        .set("breaker", "on")
        .set("breaker_threshold", "1")
        .build()
        .unwrap();
    let learned = || {
        let snapshot = client.snapshot();
        let dead = snapshot.find(&dead.url()).unwrap();
        (dead.state(), dead.weight(), dead.failures())
    };
    let opened = (0..1000).any(|_| {
        client.get("/").send().unwrap();
        learned().0 == State::Cooling
    });
    assert!(opened && learned() == (State::Cooling, 100, 1), "{:?}", learned());

    let (over, (a, b, dead_url)) = (AtomicBool::new(false), (a.url(), b.url(), dead.url()));
    let answers: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    let mut answers = BTreeSet::new();
                    while !over.load(SeqCst) {
                        let answer = client.get("/").send().unwrap();
                        answers.insert(answer.text().unwrap().to_owned());
                    }
                    answers
                })
            })
            .collect();
        let lists: [&[&String]; 3] = [&[&a, &b, &dead_url], &[&dead_url, &b, &a], &[&a, &dead_url]];
        for update in 0..UPDATES {
            let list = lists[update % 3].iter().map(|url| Endpoint::new(url).unwrap());
            client.update(list).unwrap();
        }
        over.store(true, SeqCst);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answers.iter().any(|seen| seen.contains("a")), "{answers:?}");
    assert_eq!(client.snapshot().members().len(), 2, "the last list");
    assert_eq!(learned(), (State::Cooling, 100, 1), "as before the first update");
}
