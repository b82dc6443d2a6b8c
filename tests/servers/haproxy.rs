//! HAProxy: a balancer that drains, turns away in three ways, and stops softly.

use crate::program::{Folder, Program, find};
use crate::support::*;
use crate::{Going, over, program, told};
use anyhost::{Delivery, Phase, Reason, Status};
use std::fmt;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::thread;

struct Haproxy {
    addr: SocketAddr,
    program: Program,
    folder: Folder,
}

impl Haproxy {
    /// With these rules for its front, before two servers of ours. `None` is a named skip.
    fn start(test: &str, rules: &str, servers: &[&Server]) -> Option<Haproxy> {
        let haproxy = find(test, "haproxy")?;
        let (folder, addr) = (Folder::new("haproxy"), program::address());
        let listed: String = servers
            .iter()
            .enumerate()
            .map(|(i, server)| format!("    server s{i} {}\n", server.addr))
            .collect();
        let config = format!(
            "global
    stats socket {folder}/socket level admin
    hard-stop-after 5s
defaults
    mode http
    retries 0
    timeout connect 2s
    timeout client 10s
    timeout server 10s
    timeout tarpit 600ms
frontend front
    bind {addr}
{rules}
    default_backend back
backend back
    balance roundrobin
{listed}",
            folder = folder.path().display()
        );
        folder.write("haproxy.cfg", config);
        let mut command = Command::new(haproxy);
        command.args(["-db", "-f"]).arg(folder.path().join("haproxy.cfg"));
        let mut program = Program::start("haproxy", &mut command, &folder);
        program.wait_for(addr);
        // It gets its name a moment later.
        let socket = folder.path().join("socket");
        program.wait_until("it takes orders", |_| socket.exists());
        Some(Haproxy { addr, program, folder })
    }

    /// What an operator types.
    fn order(&self, what: &str) -> String {
        let mut socket =
            UnixStream::connect(self.folder.path().join("socket")).expect("its socket");
        socket.write_all(format!("{what}\n").as_bytes()).expect("it listens");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).expect("it answers");
        answer
    }
}

impl fmt::Display for Haproxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.addr)
    }
}

/// One server behind it drains and comes back, then the other: no call fails, and each arrives once.
#[test]
fn a_backend_that_drains() {
    let (a, b) = (Server::start(Reply::echo()), Server::start(Reply::echo()));
    let Some(p) = Haproxy::start("a_backend_that_drains", "", &[&a, &b]) else { return };
    let client = over(&[&p]).build().unwrap();
    let going = Going::default();
    let made: usize = thread::scope(|scope| {
        let calls = |thread: usize| {
            let (client, going) = (&client, &going);
            scope.spawn(move || {
                let mut made = 0;
                while going.on() {
                    let answer =
                        client.post(&format!("/{thread}/{made}")).body("x").send().unwrap();
                    assert_eq!((answer.status(), answer.attempts().len()), (200, 1));
                    made += 1;
                }
                made
            })
        };
        let threads = [calls(0), calls(1)];
        let stop = going.until_dropped();
        for (drained, other) in [("s0", &b), ("s1", &a)] {
            assert_eq!(p.order(&format!("set server back/{drained} state drain")).trim(), "");
            // Drained: all goes to the other one, for as long as a few calls take.
            let before = other.executed();
            other.wait_for_requests(before + 30, ms(5000));
            assert_eq!(p.order(&format!("set server back/{drained} state ready")).trim(), "");
        }
        drop(stop);
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(a.executed() + b.executed(), made);
}

/// Nobody left behind it: its own 503, which a GET leaves and a POST returns.
#[test]
fn no_backend_left() {
    let (a, f) = (Server::start(Reply::ok("a")), Server::start(Reply::ok("f")));
    let Some(p) = Haproxy::start("no_backend_left", "", &[&a]) else { return };
    p.order("set server back/s0 state maint");
    for (method, status) in [("POST", 503), ("GET", 200)] {
        let client = over(&[&p, &f]).build().unwrap();
        let answer = client.request(method, "/").send().unwrap();
        assert_eq!(answer.status(), status);
        assert_eq!(answer.attempts()[0].http_status(), Some(503));
    }
    assert_eq!((a.executed(), f.executed()), (0, 1));
}

/// `tarpit` answers late, `reject` closes, `silent-drop` says nothing ever again. A GET moves on from each
/// within the limits, a POST ends with what is certain (R1, R9).
#[test]
fn three_ways_to_be_turned_away() {
    let rules = "    http-request tarpit deny_status 503 if { path /tarpit }
    http-request reject if { path /reject }
    http-request silent-drop if { path /drop }";
    let a = Server::start(Reply::ok("a"));
    let Some(p) = Haproxy::start("three_ways_to_be_turned_away", rules, &[&a]) else { return };
    let limit = ms(1200);
    // Whether the peer of a silent drop gets a reset depends on what the machine lets HAProxy do.
    let rows: [(&str, Option<u16>, &[Reason], u64); 3] = [
        ("/tarpit", Some(503), &[Reason::Status5xx], 600),
        ("/reject", None, &[Reason::Eof, Reason::Reset], 0),
        ("/drop", None, &[Reason::Timeout, Reason::Eof, Reason::Reset], 0),
    ];
    for (path, status, reasons, least) in rows {
        let f = Server::start(Reply::ok("f"));
        let client = || over(&[&p, &f]).attempt_timeout(limit).build().unwrap();
        let (answer, took) = timed(|| client().get(path).send().unwrap());
        assert_eq!(answer.text().unwrap(), "f", "{path}");
        let first = &answer.attempts()[0];
        assert_eq!(first.http_status(), status, "{path}");
        assert!(reasons.contains(&first.reason()), "{path}: {}", first.message());
        within(ms(least), took, limit + ms(500));

        let posted = client().post(path).body("x").send();
        match status {
            Some(status) => assert_eq!(posted.unwrap().status(), status),
            None => {
                let error = posted.unwrap_err();
                assert_eq!(error.status(), Status::AttemptsSpent, "{path}");
                assert_eq!((error.phase(), error.delivery()), (Phase::Head, Delivery::Maybe));
            }
        }
        assert_eq!((f.count("GET"), f.count("POST")), (1, 0), "{path}");
    }
    assert_eq!(a.executed(), 0);
    // A tarpit that lasts longer than an attempt may.
    let f = Server::start(Reply::ok("f"));
    let client = over(&[&p, &f]).attempt_timeout(ms(200)).build().unwrap();
    let answer = client.get("/tarpit").send().unwrap();
    let expected = (Reason::Timeout, Phase::Head, Delivery::Maybe);
    assert_eq!((answer.text().unwrap(), told(answer.attempts())[0]), ("f", expected));
}

/// A soft stop: it finishes what it has, and accepts no more. What comes next goes to the other host, a
/// POST too, since it is certain that nothing was sent.
#[test]
fn a_soft_stop() {
    let go = Event::new();
    let (a, f) = (
        Server::start(Script::always(Reply::ok("a")).on("/slow", Reply::ok("slow").after(&go))),
        Server::start(Reply::ok("f")),
    );
    let Some(mut p) = Haproxy::start("a_soft_stop", "", &[&a]) else { return };
    let client = over(&[&p, &f]).build().unwrap();
    assert_eq!(client.post("/").send().unwrap().text().unwrap(), "a");
    let slow = thread::spawn({
        let client = client.clone();
        move || client.post("/slow").send().unwrap().text().unwrap().to_owned()
    });
    a.wait_for_requests(2, ms(5000));
    p.program.signal(libc::SIGUSR1);
    let addr = p.addr;
    p.program.wait_until("it accepts no more", |_| std::net::TcpStream::connect(addr).is_err());
    let answer = client.post("/").body("x").send().unwrap();
    assert_eq!(answer.text().unwrap(), "f");
    assert_eq!(answer.attempts()[0].delivery(), Delivery::NotSent);
    go.open();
    assert_eq!(slow.join().unwrap(), "slow");
    p.program.wait_for_end();
    assert_eq!((a.executed(), f.executed()), (2, 1));
}
