//! F61 to F65: names, and the addresses they stand for.

use crate::support::{Event, Listen, Reply, Server, ms, timed};
use crate::wire::over;
use anyhost::inject::LookupError;
use anyhost::{BreakerSettings, Client, Reason, Request, State};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

#[test]
fn f61_the_second_address_of_a_name_is_tried_too() {
    let a = Server::start(Reply::ok("a"));
    // Loopback as well, and nobody listens there.
    let peers = vec![SocketAddr::from(([127, 0, 0, 2], a.port())), a.addr];
    let client = over(&["http://svc.example".to_owned()])
        .lookup(move |_: &str, _: u16| Ok(peers.clone()))
        .breaker(BreakerSettings::default())
        .idle_timeout(ms(0))
        .build()
        .unwrap();
    for method in ["GET", "POST"] {
        let answer = client.request(method, "/").body("{}").send().unwrap();
        assert_eq!((answer.status(), answer.attempts().len()), (200, 1), "{method}");
    }
    assert_eq!((a.count("GET"), a.count("POST")), (1, 1));
    let snapshot = client.snapshot();
    let host = &snapshot.members()[0];
    assert_eq!((host.state(), host.failures()), (State::Eligible, 0), "an address is no host");
}

#[test]
fn f63_lookups_that_hang_hold_nobody_and_do_not_pile_up() {
    const NAMES: usize = 12;
    let up = Server::start(Reply::ok("up"));
    let (gate, running, most) =
        (Event::new(), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (opens, seen, peer) = (gate.clone(), most.clone(), up.addr);
    let client = (0..NAMES)
        .fold(Client::builder(), |builder, n| builder.base_urls(&format!("http://{n}.example")))
        .lookup(move |_: &str, _: u16| {
            seen.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
            opens.wait(ms(60_000));
            running.fetch_sub(1, SeqCst);
            Ok(vec![peer])
        })
        .deadline(ms(300))
        .build()
        .unwrap();
    let check = |n: usize| {
        let mut request = Request::new("GET", "/").unwrap();
        client.health_check(&format!("http://{n}.example"), &mut request)
    };
    let took = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for first in 0..8 {
            let (check, all) = (&check, &took);
            scope.spawn(move || {
                for n in (first..100).step_by(8) {
                    let (error, took) = timed(|| check(n % NAMES).unwrap_err());
                    let reason = error.reason();
                    assert!([Reason::Deadline, Reason::Timeout, Reason::Dns].contains(&reason));
                    all.lock().unwrap().push(took);
                }
            });
        }
    });
    let mut took = took.into_inner().unwrap();
    took.sort();
    // The row's 400 ms are for all of them; a machine that has no time for a thread is not our delay.
    assert!(took.len() == 100 && took[89] <= ms(400) && took[99] <= ms(1000), "{took:?}");
    assert_eq!(most.load(SeqCst), 8, "never more");
    gate.open();
    // That it took too long was no answer: the name is there.
    assert_eq!(check(0).unwrap().text().unwrap(), "up");
}

#[test]
fn f65_a_name_that_does_not_resolve_yet_is_used_once_it_does() {
    let (a, b) = (Listen::on("127.0.0.2").start(Reply::ok("a")), Server::start(Reply::ok("b")));
    let (resolves, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (there, counted, peer) = (resolves.clone(), asked.clone(), a.addr);
    let client = over(&["http://nope.invalid".to_owned(), b.url()])
        .lookup(move |_: &str, _: u16| {
            counted.fetch_add(1, SeqCst);
            match there.load(SeqCst) {
                true => Ok(vec![peer]),
                false => Err(LookupError::NameUnknown),
            }
        })
        .hold_for(ms(0))
        .build()
        .unwrap();
    assert_eq!(asked.load(SeqCst), 0, "building a client asks nobody");
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "b");
    resolves.store(true, SeqCst);
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "a", "with the next call");
    assert_eq!((a.connections(), b.connections(), asked.load(SeqCst)), (1, 1, 2));
}
