//! Proxies on real sockets: the probe that is alone, and what a stream says of its proxy.

use crate::support::{Event, Reply, Script, Server, ms, refusing_address};
use anyhost::testing::ManualClock;
use anyhost::{Client, ClientBuilder, Phase, Reason, State};
use std::io::Read;
use std::thread;
use std::time::Duration;

/// What stands for the service: no name is looked up and nothing listens there, as each proxy answers for it.
const SERVICE: &str = "http://service.test";

fn through(clock: &ManualClock, proxies: &[&str]) -> ClientBuilder {
    Client::builder()
        .base_urls(SERVICE)
        .proxies(&proxies.join(","))
        .set("proxy_base_delay", "10s")
        .attempt_timeout(Duration::from_secs(60))
        .clock(clock.clone())
}

fn state(client: &Client, label: &str) -> State {
    client.snapshot().find(label).expect("it is listed").state()
}

/// Seed 004, P-3: the end of a wait does not let a crowd through.
#[test]
fn of_64_threads_one_goes_through_a_proxy_whose_window_just_ended() {
    let gate = Event::new();
    let p = refusing_address();
    let q = Server::start(Reply::ok("through q"));
    let clock = ManualClock::new();
    let (p_url, q_url) = (p.url(), q.url());
    let client = through(&clock, &[&p_url, &q_url]).build().unwrap();
    while state(&client, &p_url) == State::Eligible {
        client.get("/").send().unwrap();
    }
    let before = q.requests().len();

    let p = p.start(Reply::ok("through p").after(&gate));
    clock.advance(Duration::from_secs(10));
    let answers: Vec<_> = thread::scope(|scope| {
        let calls: Vec<_> = (0..64)
            .map(|n| {
                let client = &client;
                scope.spawn(move || match n % 2 {
                    0 => client.get(&format!("/{n}")).send(),
                    _ => client.post(&format!("/{n}")).body("x").send(),
                })
            })
            .collect();
        p.wait_for_requests(1, ms(10_000));
        q.wait_for_requests(before + 63, ms(10_000));
        assert_eq!(p.connections(), 1, "until that one is decided");
        assert_eq!(state(&client, &p_url), State::Probing);
        gate.open();
        calls.into_iter().map(|call| call.join().unwrap().unwrap()).collect()
    });
    assert_eq!(answers.iter().filter(|answer| answer.text().unwrap() == "through p").count(), 1);
    assert_eq!(p.requests().len(), 1);
    assert_eq!(p.requests()[0].method, "GET", "a POST is no probe where another proxy is well");
    assert_eq!(state(&client, &p_url), State::Eligible);
    for n in (1..64).step_by(2) {
        let target = format!("{SERVICE}/{n}");
        let there = [&p, &q].map(|proxy| {
            proxy.requests().iter().filter(|request| request.target == target).count()
        });
        assert_eq!(there.iter().sum::<usize>(), 1, "POST {n}");
    }
}

/// R21, R12: the ticket of a stream is settled at its head; the bodies are counted by themselves.
#[test]
fn bodies_that_break_off_in_streams_cool_a_proxy_at_the_third_in_a_row() {
    let broken = || Reply::ok("0123456789").cut(4);
    let p = Server::start(Script::each([
        broken(),
        broken(),
        Reply::ok("whole"),
        broken(),
        broken(),
        broken(),
    ]));
    let clock = ManualClock::new();
    let client = through(&clock, &[&p.url()]).build().unwrap();
    let read = || {
        let mut text = String::new();
        client.get("/").stream().unwrap().into_reader().read_to_string(&mut text).map(|_| text)
    };
    for (n, whole) in [false, false, true, false, false].into_iter().enumerate() {
        assert_eq!(read().is_ok(), whole, "{n}");
        assert_eq!(state(&client, &p.url()), State::Eligible, "{n}: a whole body ends the count");
    }
    read().unwrap_err();
    let snapshot = client.snapshot();
    let proxy = snapshot.find(&p.url()).unwrap();
    assert_eq!((proxy.state(), proxy.phase()), (State::Cooling, Phase::Body));
    assert_eq!(proxy.reason(), Reason::Truncated);
    assert_eq!(proxy.cooling(), Duration::from_secs(40), "10 s x 2^(3-1)");
}

/// R14: a hop goes through a proxy of the pool, and to another one where that fails.
#[test]
fn a_redirect_is_followed_through_the_pool() {
    let p = refusing_address();
    let (p_url, clock) = (p.url(), ManualClock::new());
    let redirect = Reply::status(302).header("Location", "http://elsewhere.test/there");
    let q = Server::start(Script::each([redirect, Reply::ok("there")]));
    let client = through(&clock, &[&q.url(), &p_url]).set("proxy_threshold", "100");
    let client = client.seed(3).build().unwrap();
    let answer = client.get("/").send().unwrap();
    assert_eq!(answer.text().unwrap(), "there");
    assert!(answer.attempts().iter().filter(|hop| hop.is_hop()).count() >= 1);
    assert!(answer.attempts().iter().all(|attempt| attempt.proxy().is_some()));
    let targets: Vec<_> = q.requests().iter().map(|request| request.target.clone()).collect();
    assert_eq!(targets, [format!("{SERVICE}/"), "http://elsewhere.test/there".to_owned()]);
}
