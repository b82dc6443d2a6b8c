//! Networks that lose, delay, cut, forget and swallow, in namespaces of their own: nothing here touches
//! the network of the machine.
//!
//! A client in one namespace, two hosts in two others; between the client and the first host a router or
//! a cable that a test breaks. The second host is always well. What must hold is R3 and R9 in seconds:
//! time to the first success is at most the sum of the limits of the attempts that failed, and a write
//! that may have arrived is not sent again, counted at the hosts.
//!
//! It takes root and `ip`, and for some tests nft, TUN devices or connection tracking in the kernel. Where the
//! machine does not have them the test is a named skip.
#![cfg(target_os = "linux")]
// Tests measure real time against real sockets; the ban protects the library's injected clock.
#![allow(clippy::disallowed_methods)]

mod lab;
#[path = "../support/mod.rs"]
mod support;
mod tunnel;

use anyhost::{Attempt, Client, ClientBuilder, Delivery, Phase, Reason, Status};
use lab::{Host, Lab};
use std::time::Duration;
use support::*;

/// More than a busy machine adds to a wait.
const SLACK: Duration = ms(400);
const CONNECT: Duration = ms(400);
const ATTEMPT: Duration = ms(800);

/// A client of these hosts, under limits short enough to be waited for.
fn over(hosts: &[&Host]) -> ClientBuilder {
    let urls = hosts.iter().fold(Client::builder(), |client, host| client.base_urls(&host.url()));
    urls.connect_timeout(CONNECT).attempt_timeout(ATTEMPT)
}

fn told(attempts: &[Attempt]) -> Vec<(Reason, Phase, Delivery)> {
    attempts.iter().map(|a| (a.reason(), a.phase(), a.delivery())).collect()
}

const SWALLOWED: (Reason, Phase, Delivery) = (Reason::Timeout, Phase::Head, Delivery::Maybe);

/// The path to `p` swallows what is sent on a connection: a GET is answered by `f` after one attempt's
/// limit, a POST ends with "maybe" and reaches nobody else.
fn swallows(client: impl Fn() -> Client, p: &Host, f: &Host) {
    let (read, written) = (f.executed(), p.executed());
    let client_of_get = client();
    let (answer, took) = timed(|| client_of_get.get("/").send().unwrap());
    within(ATTEMPT, took, SLACK);
    assert_eq!((answer.text().unwrap(), told(answer.attempts())[0]), ("f", SWALLOWED));
    let client_of_post = client();
    let (error, took) = timed(|| client_of_post.post("/").body("x").send().unwrap_err());
    within(ATTEMPT, took, SLACK);
    assert_eq!((error.status(), error.delivery()), (Status::AttemptsSpent, Delivery::Maybe));
    assert_eq!((f.executed(), p.executed()), (read + 1, written));
}

/// The host's end of the cable is out, before a connection and with one idle.
#[test]
fn a_cut_cable() {
    let Some(lab) = Lab::new("a_cut_cable") else { return };
    lab.run(|lab| {
        let (p, f) = (lab.host("p", Reply::ok("p")), lab.host("f", Reply::ok("f")));
        let idle = || {
            let client = over(&[&p, &f]).build().unwrap();
            assert_eq!(client.get("/").send().unwrap().text().unwrap(), "p");
            client
        };
        let (first, second) = (idle(), idle());
        lab.ip_in("p", "link set eth0 down");
        // Nothing was sent, so a POST goes on as a GET does; both within the time to connect.
        for method in ["GET", "POST"] {
            let client = over(&[&p, &f]).build().unwrap();
            let (answer, took) = timed(|| client.request(method, "/").send().unwrap());
            assert!(took <= CONNECT + SLACK, "{took:?}");
            let (reason, phase, delivery) = told(answer.attempts())[0];
            assert!([Reason::Timeout, Reason::Unreachable].contains(&reason), "{reason:?}");
            assert_eq!((phase, delivery), (Phase::Connect, Delivery::NotSent));
            assert_eq!(answer.text().unwrap(), "f");
        }
        let clients = std::cell::RefCell::new(vec![first, second]);
        swallows(|| clients.borrow_mut().pop().unwrap(), &p, &f);
        // The cable is back, and the next call finds the way again.
        lab.ip_in("p", "link set eth0 up");
        let client = over(&[&p]).connect_timeout_last(ms(5000)).attempt_timeout(ms(5000));
        assert_eq!(client.build().unwrap().get("/").send().unwrap().text().unwrap(), "p");
    });
}

/// Connections come about and nothing else arrives: after the handshake, packets with content are lost.
#[test]
fn a_blackhole_after_connect() {
    let Some(lab) = Lab::new("a_blackhole_after_connect") else { return };
    lab.run(|lab| {
        let (p, f) = (lab.host("p", Reply::ok("p")), lab.host("f", Reply::ok("f")));
        if !lab.nft_in("p", "input", "meta length > 100 drop") {
            return lab.skip("nft does not drop by length");
        }
        swallows(|| over(&[&p, &f]).build().unwrap(), &p, &f);
        // Half of the time left to connect is the most that a deadline grants; here connecting is quick.
        let client = over(&[&p, &f]).deadline(ms(1500)).build().unwrap();
        let (answer, took) = timed(|| client.get("/").send().unwrap());
        within(ATTEMPT, took, SLACK);
        assert_eq!(answer.text().unwrap(), "f");
    });
}

/// Every third packet to and from the first host is lost: every GET is answered, within the limit of one
/// attempt, and no POST is carried out twice.
#[test]
fn loss() {
    let Some(lab) = Lab::new("loss") else { return };
    lab.run(|lab| {
        let (p, f) = (lab.host("p", Reply::ok("p")), lab.host("f", Reply::ok("f")));
        for (way, link) in [("input", "iifname eth0"), ("output", "oifname eth0")] {
            if !lab.nft_in("p", way, &format!("{link} numgen random mod 100 < 30 drop")) {
                return lab.skip("nft does not drop at random");
            }
        }
        let client = over(&[&p, &f]).hold_for(Duration::ZERO).build().unwrap();
        let (mut maybe, mut moved) = (0, 0);
        for i in 0..20 {
            let (answer, took) = timed(|| client.get(&format!("/{i}")).send().unwrap());
            assert!(took <= ATTEMPT + SLACK, "{took:?}");
            moved += usize::from(answer.attempts().len() > 1);
            match client.post(&format!("/{i}")).body("x").send() {
                Ok(answer) => assert_eq!(answer.status(), 200),
                Err(error) => {
                    assert_eq!(
                        (error.reason(), error.delivery()),
                        (Reason::Timeout, Delivery::Maybe)
                    );
                    maybe += 1;
                }
            }
        }
        for i in 0..20 {
            let times = p.times("POST", &format!("/{i}")) + f.times("POST", &format!("/{i}"));
            assert!(times <= 1, "POST /{i} was carried out {times} times");
        }
        lab.say(&format!("of 20 GETs {moved} moved on, of 20 POSTs {maybe} may have arrived"));
    });
}

/// A host that is 300 ms away: too far for 200 ms to connect, near enough for more.
#[test]
fn delay() {
    let Some(lab) = Lab::new("delay") else { return };
    lab.run(|lab| {
        let (delay, limit) = (ms(300), ms(200));
        let Some(p) = lab.host_far_away("p", delay, Reply::ok("p")) else {
            return lab.skip("there are no TUN devices");
        };
        let f = lab.host("f", Reply::ok("f"));
        for method in ["GET", "POST"] {
            let client = over(&[&p, &f]).connect_timeout(limit).build().unwrap();
            let (answer, took) = timed(|| client.request(method, "/").send().unwrap());
            within(limit, took, SLACK);
            let late = (Reason::Timeout, Phase::Connect, Delivery::NotSent);
            assert_eq!((answer.text().unwrap(), told(answer.attempts())[0]), ("f", late));
        }
        // Two ways back: that of the handshake and that of the answer.
        let client = over(&[&p, &f]).connect_timeout(ms(2000)).attempt_timeout(ms(4000));
        let client = client.build().unwrap();
        let (answer, took) = timed(|| client.post("/").body("x").send().unwrap());
        within(2 * delay, took, SLACK);
        assert_eq!((answer.text().unwrap(), p.executed()), ("p", 1));
        // One on a connection that is there.
        let (answer, took) = timed(|| client.get("/again").send().unwrap());
        within(delay, took, SLACK);
        assert!(answer.attempts()[0].reused_connection());
        // It connects in time and answers too late: a write may have arrived, and has.
        let client = over(&[&p, &f]).attempt_timeout(ms(500)).build().unwrap();
        let (error, took) = timed(|| client.post("/late").body("x").send().unwrap_err());
        within(ms(500), took, SLACK);
        assert_eq!(told(error.attempts()), [SWALLOWED]);
        assert_eq!((p.times("POST", "/late"), f.times("POST", "/late")), (1, 0));
    });
}

/// A router that translates addresses and forgets connections after a second of silence: what goes out
/// on one that it has forgotten is lost. Not to keep idle connections that long is the cure.
#[test]
fn a_nat_that_forgets() {
    let Some(lab) = Lab::new("a_nat_that_forgets") else { return };
    lab.run(|lab| {
        let (p, f) = (lab.host_behind_router("p", Reply::ok("p")), lab.host("f", Reply::ok("f")));
        let forgets = lab.nft_in("router", "forward", "ct state invalid drop")
            && lab.nft_nat_in("router", "oifname eth1 masquerade")
            && lab.set_in("router", "net/netfilter/nf_conntrack_tcp_loose", "0")
            && lab.set_in("router", "net/netfilter/nf_conntrack_tcp_timeout_established", "1");
        if !forgets {
            return lab.skip("the kernel does not track connections");
        }
        let idle = |client: ClientBuilder| {
            let client = client.build().unwrap();
            assert_eq!(client.get("/").send().unwrap().text().unwrap(), "p");
            client
        };
        let clients = std::cell::RefCell::new(vec![idle(over(&[&p, &f])), idle(over(&[&p, &f]))]);
        let cured = idle(over(&[&p, &f]).idle_timeout(ms(500)));
        pass(ms(2500));
        let answer = cured.post("/").body("x").send().unwrap();
        assert_eq!((answer.text().unwrap(), answer.attempts().len()), ("p", 1));
        swallows(|| clients.borrow_mut().pop().unwrap(), &p, &f);
    });
}

/// A link on the way that takes smaller packets than both ends, and whose word of it is lost: what is
/// small arrives, what is large does not.
#[test]
fn an_mtu_blackhole() {
    let Some(lab) = Lab::new("an_mtu_blackhole") else { return };
    lab.run(|lab| {
        let (p, f) = (lab.host_behind_router("p", Reply::echo()), lab.host("f", Reply::ok("f")));
        lab.ip_in("router", "link set eth1 mtu 900");
        if !lab.nft_in("router", "output", "meta l4proto icmp drop") {
            return lab.skip("nft does not drop");
        }
        let client = || over(&[&p, &f]).build().unwrap();
        assert_eq!(
            client().post("/small").body("x").send().unwrap().text().unwrap(),
            "POST /small 1"
        );
        let large = "x".repeat(4000);
        let asking = client();
        let (answer, took) = timed(|| asking.get("/").header("X-Large", &large).send().unwrap());
        within(ATTEMPT, took, SLACK);
        assert_eq!((answer.text().unwrap(), told(answer.attempts())[0]), ("f", SWALLOWED));
        let asking = client();
        let (error, took) = timed(|| asking.post("/large").body(large).send().unwrap_err());
        within(ATTEMPT, took, SLACK);
        assert_eq!(error.delivery(), Delivery::Maybe);
        assert_eq!((p.times("POST", "/large"), f.times("POST", "/large")), (0, 0));
    });
}
