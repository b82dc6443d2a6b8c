//! Every place that blocks ends at its limit (R9): a table of how late.
//!
//! The machine wakes late too. How late, a plain wait of the same length tells in the same run, beside
//! the calls; the median may be late by that much and 20 ms.

use crate::line::Line;
use crate::support::{Authority, Blackhole, Event, Reply, Server, ms, silent, slow_reader};
use crate::{alone, say};
use anyhost::inject::LookupError;
use anyhost::{Client, ClientBuilder, Phase, Reason, TlsRoots};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Barrier, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const LIMIT: Duration = ms(300);
const RUNS: usize = 20;
/// How late the median may be, and any.
const LATE: Duration = ms(20);
const EVER: Duration = ms(100);
/// Plain waits beside each batch of calls.
const BESIDE: usize = 5;

/// A place that blocks: its name, a client that will block there, the size of the body to send.
struct Place {
    name: &'static str,
    phase: Phase,
    client: Box<dyn Fn() -> ClientBuilder + Sync>,
    body: usize,
}

#[test]
fn every_wait_ends_at_its_limit() {
    let _alone = alone();
    let ca = Authority::new();
    let (hole, never, release) = (Blackhole::new(), silent(), Event::new());
    let body = vec![b'x'; 1000];
    let head = Server::start(Reply::holds());
    let dripped_head = Server::start(Reply::ok(body.clone()).into_raw().drip(1, ms(20)));
    let dripped_body = Server::start(Reply::ok(body).drip(1, ms(20)));
    let reader = slow_reader(2048);
    let handshakes = dripped_handshakes(&ca);
    let tls = |addr: SocketAddr| {
        let root = ca.pem().to_owned();
        move || {
            over(&format!("https://{addr}")).tls_roots(TlsRoots::None).add_root_pem(root.as_str())
        }
    };
    let plain = |addr: SocketAddr| move || over(&format!("http://{addr}"));
    let lookup = {
        let release = release.clone();
        move || {
            let release = release.clone();
            over("http://name.test").lookup(move |_: &str, _: u16| {
                release.wait(ms(60_000));
                Err(LookupError::NameUnknown)
            })
        }
    };
    let place = |name, phase, client, body| Place { name, phase, client, body };
    let places = [
        place("a lookup that hangs", Phase::Resolve, Box::new(lookup) as Box<_>, 0),
        place("a SYN without an answer", Phase::Connect, Box::new(plain(hole.addr)), 0),
        place("silence instead of TLS", Phase::Tls, Box::new(tls(never.addr)), 0),
        place("a dripped handshake", Phase::Tls, Box::new(tls(handshakes)), 0),
        place("a reader that crawls", Phase::Send, Box::new(plain(reader.addr)), 8 << 20),
        place("a head that does not come", Phase::Head, Box::new(plain(head.addr)), 0),
        place("a dripped head", Phase::Head, Box::new(plain(dripped_head.addr)), 0),
        place("a dripped body", Phase::Body, Box::new(plain(dripped_body.addr)), 0),
    ];

    say(&format!("limits of {LIMIT:?}, {RUNS} runs each, late by:      median      worst"));
    let tell = |name: &str, late: &[Duration]| {
        let (median, worst) = (late[late.len() / 2], late[late.len() - 1]);
        say(&format!("  {name:44}{:8.1} ms{:8.1} ms", millis(median), millis(worst)));
        (median, worst)
    };
    let mut plain_waits: Vec<Duration> = Vec::new();
    let mut wrong = Vec::new();
    for place in &places {
        let (late, machine) = measure(place);
        let (median, worst) = tell(place.name, &late);
        let (usual, worst_wait) = (machine[machine.len() / 2], machine[machine.len() - 1]);
        if median > LATE + usual || worst > EVER + worst_wait {
            wrong.push(format!("{}: {late:?}, and plain waits: {machine:?}", place.name));
        }
        plain_waits.extend(machine);
    }
    plain_waits.sort();
    tell("plain waits beside them", &plain_waits);
    release.open();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// How late the calls of a place ended, and how late plain waits beside them, both sorted.
fn measure(place: &Place) -> (Vec<Duration>, Vec<Duration>) {
    // Copying megabytes is work: not many at a time.
    let together = if place.body > 0 { 2 } else { RUNS };
    let (mut late, mut machine) = (Vec::new(), Vec::new());
    for _ in 0..RUNS / together {
        let start = &Barrier::new(together + BESIDE);
        thread::scope(|threads| {
            let blocked = || {
                let client = (place.client)().build().expect("a client");
                let body = vec![0; place.body];
                start.wait();
                call(&client, body, place)
            };
            let plain = || {
                start.wait();
                oversleep()
            };
            let calls: Vec<_> = (0..together).map(|_| threads.spawn(blocked)).collect();
            let waits: Vec<_> = (0..BESIDE).map(|_| threads.spawn(plain)).collect();
            late.extend(calls.into_iter().map(|call| call.join().expect("a call")));
            machine.extend(waits.into_iter().map(|wait| wait.join().expect("a wait")));
        });
    }
    late.sort();
    machine.sort();
    (late, machine)
}

fn call(client: &Client, body: Vec<u8>, place: &Place) -> Duration {
    let began = Instant::now();
    let error = client.put("/").body(body).send().expect_err("an answer from nobody");
    let took = began.elapsed();
    assert_eq!((error.reason(), error.phase()), (Reason::Timeout, place.phase), "{error:?}");
    assert!(took >= LIMIT, "{}: over after {took:?}, before its limit", place.name);
    took - LIMIT
}

fn oversleep() -> Duration {
    let (lock, never) = (Mutex::new(()), Condvar::new());
    let began = Instant::now();
    let mut guard = lock.lock().unwrap();
    while let Some(left) = LIMIT.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
        guard = never.wait_timeout(guard, left).unwrap().0;
    }
    began.elapsed() - LIMIT
}

fn over(url: &str) -> ClientBuilder {
    Client::builder().base_urls(url).attempt_timeout(LIMIT)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// A server whose part in the handshake comes byte by byte, for as long as the test process lives.
fn dripped_handshakes(ca: &Authority) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let (addr, config) = (listener.local_addr().expect("an address"), ca.server());
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let config = config.clone();
            thread::spawn(move || {
                Line::new(socket, Some(&config)).drip_handshake(ms(10));
            });
        }
    });
    addr
}
