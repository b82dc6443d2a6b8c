//! Names and addresses: when a name is looked up, what stands in for a lookup that fails, and how
//! several addresses are tried within one attempt (RFC 8305).

use crate::support::*;
use crate::{over, told};
use anyhost::inject::{LookupError, NameLookup};
use anyhost::{ClientBuilder, Delivery, Phase, Reason};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// More than a busy machine adds to a wait.
const SLACK: Duration = ms(150);

/// The connection attempt delay.
const DELAY: Duration = ms(250);

type Found = Result<Vec<SocketAddr>, LookupError>;

/// Gives these answers, one after the other and the last one for ever, and counts how often.
#[derive(Clone)]
struct Told {
    answers: Arc<Mutex<Vec<Found>>>,
    asked: Arc<AtomicUsize>,
}

impl Told {
    fn new(answers: impl IntoIterator<Item = Found>) -> Told {
        let answers: Vec<Found> = answers.into_iter().collect();
        Told { answers: Arc::new(Mutex::new(answers)), asked: Arc::default() }
    }

    fn asked(&self) -> usize {
        self.asked.load(SeqCst)
    }
}

impl NameLookup for Told {
    fn look_up(&self, _: &str, _: u16) -> Found {
        self.asked.fetch_add(1, SeqCst);
        let mut answers = self.answers.lock().unwrap();
        if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() }
    }
}

fn failed() -> Found {
    Err(LookupError::Failed { os_error: 0, detail: "no answer".into() })
}

/// A client of one name that stands for whatever the lookup says, port and all.
fn named(lookup: impl NameLookup + 'static) -> ClientBuilder {
    over(&[&"http://svc.example"]).lookup(lookup)
}

fn standing_for(peers: &[SocketAddr]) -> ClientBuilder {
    named(Told::new([Ok(peers.to_vec())]))
}

/// Loopback in another spelling, which nobody listens on: refuses at once.
fn refusing(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 2], port))
}

// ---- several addresses ----

/// F61: another address of the same host is no failover, and a write may go there.
#[test]
fn an_address_that_refuses_is_passed_over_at_once() {
    let p = Server::start(Reply::ok("p"));
    let client = standing_for(&[refusing(p.port()), p.addr]).build().unwrap();
    let (answer, took) = timed(|| client.post("/").body("x").send().unwrap());
    assert!(took < SLACK, "{took:?}");
    assert_eq!(told(answer.attempts()), [(Reason::None, Phase::Body, Delivery::Answered)]);
    assert_eq!((p.connections(), p.executed()), (1, 1));
}

/// Invariant 64: what leads nowhere costs the delay, and not the connect limit; both families.
#[test]
fn an_address_that_is_silent_costs_a_quarter_of_a_second() {
    let hole = Blackhole::new();
    let (v4, v6) = (Server::start(Reply::ok("p")), Listen::on("::1").start(Reply::ok("p")));
    for (peers, expected) in [
        (vec![hole.addr, v4.addr], DELAY),
        (vec![hole.addr, v6.addr], DELAY),
        // By turns: the other family comes second, wherever it was listed.
        (vec![hole.addr, hole.addr, hole.addr, v6.addr], DELAY),
        (vec![hole.addr, hole.addr, v4.addr], DELAY * 2),
        // The second one refuses, so the third one is started with it.
        (vec![hole.addr, refusing(v4.port()), v4.addr], DELAY),
        (vec![v4.addr, hole.addr], ms(0)),
    ] {
        let client = standing_for(&peers).build().unwrap();
        let (answer, took) = timed(|| client.post("/").body("x").send().unwrap());
        within(expected, took, SLACK);
        assert_eq!(answer.attempts().len(), 1, "{peers:?}");
    }
    assert_eq!((v4.connections(), v6.connections()), (4, 2), "one each, for the winner");
}

/// R3: the connect limit is one for all addresses, however many are under way.
#[test]
fn all_addresses_together_have_one_limit() {
    let holes = [Blackhole::new(), Blackhole::new(), Blackhole::new()];
    let peers = [&[refusing(9)][..], &holes.each_ref().map(|hole| hole.addr)].concat();
    let client = standing_for(&peers).connect_timeout_last(ms(400)).build().unwrap();
    let (error, took) = timed(|| client.get("/").send().unwrap_err());
    within(ms(400), took, SLACK);
    assert_eq!(told(error.attempts()), [(Reason::Timeout, Phase::Connect, Delivery::NotSent)]);
    let said = format!("{} did not answer; 3 addresses tried", holes[0].addr);
    assert!(error.attempts()[0].message().contains(&said), "{}", error.attempts()[0].message());

    // So has the deadline of the call.
    let client = standing_for(&peers).deadline(ms(300)).build().unwrap();
    let (error, took) = timed(|| client.get("/").send().unwrap_err());
    within(ms(300), took, SLACK);
    assert_eq!(error.delivery(), Delivery::NotSent);
}

/// The host is blamed when all addresses failed, with the words of the first.
#[test]
fn when_all_addresses_fail_the_first_is_told_of() {
    let (a, b) = (refusing_address(), refusing_address());
    let client = standing_for(&[a.addr, b.addr, refusing(9)]).build().unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!(told(error.attempts()), [(Reason::Refused, Phase::Connect, Delivery::NotSent)]);
    let said = format!("{} refused the connection; 3 addresses tried", a.addr);
    assert!(error.attempts()[0].message().contains(&said), "{}", error.attempts()[0].message());
}

/// A handshake that goes wrong is the host's fault, not its address's: the same name would be asked
/// for elsewhere, and the certificate is the same.
#[test]
fn tls_is_for_the_winner_only() {
    let ca = Authority::new();
    let p = Server::tls(&ca.server_named(&["other.example"]), Reply::ok("p"));
    let q = Server::tls(&ca.server_named(&["svc.example"]), Reply::ok("q"));
    let client = over(&[&"https://svc.example"])
        .lookup(Told::new([Ok(vec![p.addr, q.addr])]))
        .tls_roots(anyhost::TlsRoots::None)
        .add_root_pem(ca.pem())
        .build()
        .unwrap();
    assert_eq!(client.get("/").send().unwrap_err().reason(), Reason::TlsCert);
    assert_eq!((p.connections(), q.connections()), (1, 0));
}

// ---- when a name is looked up ----

/// A dial asks, an idle connection does not; and a burst of dials is one lookup.
#[test]
fn an_answer_is_used_for_a_while() {
    let p = Server::start(Reply::ok("p"));
    for (keep, connections) in [(ms(15_000), 1), (ms(0), 5)] {
        let before = p.connections();
        let lookup = Told::new([Ok(vec![p.addr]), failed()]);
        let client = named(lookup.clone()).idle_timeout(keep).build().unwrap();
        for _ in 0..5 {
            client.get("/").send().unwrap();
        }
        assert_eq!((p.connections() - before, lookup.asked()), (connections, 1));
    }
}

/// A name that moved is found by the next dial: an answer that led nowhere is not used again unasked.
#[test]
fn after_a_failure_to_connect_the_name_is_looked_up_anew() {
    let p = Server::start(Reply::ok("p"));
    let lookup = Told::new([Ok(vec![refusing(p.port())]), Ok(vec![p.addr])]);
    let client = named(lookup.clone()).build().unwrap();
    assert_eq!(client.get("/").send().unwrap_err().reason(), Reason::Refused);
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "p");
    assert_eq!(lookup.asked(), 2);
}

/// Invariant 65: a failed lookup or an empty answer keeps the last good addresses; a certain "no"
/// does not.
#[test]
fn the_last_good_addresses_stand_in_for_a_failed_lookup() {
    for (what, second, serves) in [
        ("failed", failed(), true),
        ("empty", Ok(Vec::new()), true),
        ("unknown", Err(LookupError::NameUnknown), false),
    ] {
        let down = refusing_address();
        let client = named(Told::new([Ok(vec![down.addr]), second])).build().unwrap();
        assert_eq!(client.get("/").send().unwrap_err().reason(), Reason::Refused, "{what}");
        let up = down.start(Reply::ok("up"));
        let ended = client.get("/").send();
        match serves {
            true => assert_eq!(ended.unwrap().text().unwrap(), "up", "{what}"),
            false => assert_eq!(ended.unwrap_err().reason(), Reason::Dns, "{what}"),
        }
        assert_eq!(up.connections(), usize::from(serves), "{what}");
    }
    // With nothing remembered there is nothing to stand in.
    for nothing in [failed(), Ok(Vec::new())] {
        let error = named(Told::new([nothing])).build().unwrap().get("/").send().unwrap_err();
        assert_eq!(
            told(error.attempts()),
            [(Reason::Dns, Phase::Resolve, Delivery::NotSent)],
            "{error:?}"
        );
    }
}

/// A resolver that hangs is a failed one: not for long, where old addresses are at hand.
#[test]
fn a_resolver_that_hangs_does_not_take_its_hosts_down() {
    let (down, gate) = (refusing_address(), Event::new());
    let (asked, opens, addr) = (AtomicUsize::new(0), gate.clone(), down.addr);
    let lookup = move |_: &str, _: u16| {
        if asked.fetch_add(1, SeqCst) > 0 {
            opens.wait(ms(20_000));
        }
        Ok(vec![addr])
    };
    let client = named(lookup).idle_timeout(ms(0)).build().unwrap();
    assert_eq!(client.get("/").send().unwrap_err().reason(), Reason::Refused);
    let _up = down.start(Reply::ok("up"));
    let (answer, took) = timed(|| client.get("/").send().unwrap());
    within(ms(500), took, SLACK);
    assert_eq!(answer.attempts().len(), 1);
    // The same lookup is still under way: nobody waits for it a second time.
    let (_, took) = timed(|| client.get("/").send().unwrap());
    assert!(took < SLACK, "{took:?}");
    gate.open();
}

/// Those that lost the race are closed, and not left to connect some time later.
#[cfg(target_os = "linux")]
#[test]
fn the_losers_are_closed() {
    let (hole, p) = (Blackhole::new(), Server::start(Reply::ok("p")));
    // The kernel's table of sockets: remote address in column 3, state in column 4, 02 = SYN sent.
    let to_hole = format!(":{:04X} 02 ", hole.addr.port());
    let connecting = || std::fs::read_to_string("/proc/net/tcp").unwrap().matches(&to_hole).count();
    let hold = standing_for(&[hole.addr]).connect_timeout_last(ms(500)).build().unwrap();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| hold.get("/").send().unwrap_err());
        while connecting() == 0 {
            assert!(!waits.is_finished(), "a connection in the making was never seen");
            std::thread::yield_now();
        }
    });
    standing_for(&[hole.addr, p.addr]).build().unwrap().get("/").send().unwrap();
    assert_eq!(connecting(), 0);
}
