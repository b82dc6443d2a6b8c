//! A call ends when its caller says so, wherever it is blocked, and no other call does.
//!
//! Each blocking place gets a client of its own, whose second endpoint must hear nothing: what was
//! cancelled is not sent again, GET or not.

// Cancels are measured in real time against real sockets.
#![allow(clippy::disallowed_methods)]

use crate::support::*;
use crate::{over, told};
use anyhost::{
    Cancel, Client, ClientBuilder, Delivery, EventKind, Phase, Reason, Status, Timeout, TlsRoots,
};
use std::fmt::Display;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// From the trigger to the end of the call: in the middle of several, and at most on a busy machine.
const USUAL: Duration = ms(50);
const MOST: Duration = ms(150);

/// Somewhere a call blocks.
pub(super) struct Place {
    pub(super) name: &'static str,
    pub(super) client: Client,
    pub(super) body: Vec<u8>,
    pub(super) phase: Phase,
    pub(super) delivery: Delivery,
    /// It has to be reached over a connection that has served before.
    pub(super) reused: bool,
    /// Opened when everything has happened after which the call blocks here.
    reached: Event,
    /// The endpoint that would be next.
    pub(super) next: Arc<Server>,
    /// Alive for as long as the place is.
    _first: Vec<Server>,
    _hole: Option<Blackhole>,
}

/// Every place, with limits that are far away, or so near that each wait is made by `poll`.
pub(super) fn places(near: bool) -> Vec<Place> {
    let ca = Authority::new();
    let limit = if near { Timeout::fixed(ms(240)).unwrap() } else { Timeout::infinite() };
    let client = |first: &dyn Display, next: &Server| -> ClientBuilder {
        over(&[first, next])
            .allow_mixed_schemes(true)
            .tls_roots(TlsRoots::None)
            .add_root_pem(ca.pem())
            .connect_timeout(None)
            .stall_timeout(None)
            .attempt_timeout(limit.clone())
    };
    let cut = || Reply::ok("0123456789").cut(4).hold();
    let drip = || Reply::ok(vec![b'x'; 2000]).drip(1, ms(5));
    let endless = || Reply::ok("0123456789").until_close().cut(4).hold();
    let second = |e: &Event| Script::each([Reply::ok("first"), Reply::holds().tell(e)]);
    let deaf = || Reply::swallows_slowly(1024, ms(20));
    let plain = |script: Reply| Server::start(script);
    let slow = |script: Reply| Listen::on("127.0.0.1").receive_buffer(1024).start(script);
    let tls = |script: Reply| Server::tls(&ca.server(), script);
    let told = |server: &dyn Fn(&Event) -> Server| {
        let reached = Event::new();
        (server(&reached), reached)
    };
    let served = [
        ("no answer", told(&|e| plain(Reply::holds().tell(e))), Phase::Head),
        ("a dripping head", told(&|e| plain(drip().into_raw().tell_at(1, e))), Phase::Head),
        ("a body that stops", told(&|e| plain(cut().tell(e))), Phase::Body),
        ("a body that drips", told(&|e| plain(drip().tell_at(1, e))), Phase::Body),
        ("a body that ends with the connection", told(&|e| plain(endless().tell(e))), Phase::Body),
        ("no reading", told(&|e| slow(deaf().tell(e))), Phase::Send),
        ("no answer, again", told(&|e| Server::start(second(e))), Phase::Head),
        ("no handshake", told(&|e| tls(Reply::swallows().tell(e))), Phase::Tls),
        ("no answer by TLS", told(&|e| tls(Reply::holds().tell(e))), Phase::Head),
        ("a body that stops, by TLS", told(&|e| tls(cut().tell(e))), Phase::Body),
        (
            "no reading by TLS",
            told(&|e| tls(Reply::holds().after_handshake().tell(e))),
            Phase::Send,
        ),
        ("no answer by TLS, again", told(&|e| Server::tls(&ca.server(), second(e))), Phase::Head),
    ];
    let mut places: Vec<Place> = served
        .into_iter()
        .map(|(name, (server, reached), phase)| {
            let next = Arc::new(Server::start(Reply::ok("next")));
            Place {
                name,
                client: client(&server, &next).build().unwrap(),
                body: vec![0; if phase == Phase::Send { 16 << 20 } else { 0 }],
                phase,
                delivery: match phase {
                    Phase::Tls => Delivery::NotSent,
                    Phase::Body => Delivery::Answered,
                    _ => Delivery::Maybe,
                },
                reused: name.ends_with("again"),
                reached,
                next,
                _first: vec![server],
                _hole: None,
            }
        })
        .collect();
    for (name, phase) in [("a name", Phase::Resolve), ("a connect", Phase::Connect)] {
        let (hole, next) = (Blackhole::new(), Arc::new(Server::start(Reply::ok("next"))));
        let url = if phase == Phase::Resolve { "http://a.test".to_owned() } else { hole.url() };
        let reached = Event::new();
        let begun = reached.clone();
        if phase == Phase::Connect {
            reached.open();
        }
        let lookup = move |_: &str, _: u16| {
            begun.open();
            // Longer than the test; the thread ends with the process.
            pass(ms(20_000));
            Err(anyhost::inject::LookupError::NameUnknown)
        };
        places.push(Place {
            name,
            client: client(&url, &next).lookup(lookup).build().unwrap(),
            body: Vec::new(),
            phase,
            delivery: Delivery::NotSent,
            reused: false,
            reached,
            next,
            _first: Vec::new(),
            _hole: Some(hole),
        });
    }
    places
}

/// Long for any of these calls to get under way, on a busy machine too.
const PATIENCE: Duration = ms(20_000);

impl Place {
    /// Waits until that thread's call is blocked here.
    fn wait_for(&self, caller: Caller) {
        self.reached.wait(PATIENCE);
        let on = if self.phase == Phase::Resolve { Blocked::OnThread } else { Blocked::OnSocket };
        caller.wait_until(on, PATIENCE);
    }

    /// How long after the trigger the call ended.
    fn cancelled_after(&self) -> Duration {
        if self.reused {
            assert_eq!(self.client.get("/").send().unwrap().text().unwrap(), "first");
        }
        let (cancel, caller) = (Cancel::new(), Caller::this());
        thread::scope(|scope| {
            let triggered = scope.spawn(|| {
                self.wait_for(caller);
                let now = Instant::now();
                cancel.trigger();
                now
            });
            let call = self.client.put("/").body(self.body.clone());
            // A PUT that may be repeated: nothing but the cancel keeps it from the next endpoint.
            let call = call.resend(anyhost::Resend::Any).cancel(&cancel);
            let error = call.send().unwrap_err();
            let ended = Instant::now();
            let name = self.name;
            assert_eq!(error.status(), Status::Cancelled, "{name}: {error:?}");
            let expected = (Reason::Cancelled, self.phase, self.delivery);
            assert_eq!(told(error.attempts()), [expected], "{name}: {error:?}");
            assert_eq!(error.attempts()[0].reused_connection(), self.reused, "{name}");
            assert_eq!(self.next.connections(), 0, "{name}: not sent again");
            ended.saturating_duration_since(triggered.join().unwrap())
        })
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Every place, each on a thread of its own, three times.
#[track_caller]
fn everywhere(near: bool) {
    let rounds: Vec<Vec<(&str, Duration)>> = (0..3)
        .map(|_| {
            let places = places(near);
            thread::scope(|scope| {
                let cancelled =
                    |place| (scope.spawn(move || Place::cancelled_after(place)), place.name);
                let threads: Vec<_> = places.iter().map(cancelled).collect();
                threads.into_iter().map(|(took, name)| (name, took.join().unwrap())).collect()
            })
        })
        .collect();
    for place in 0..rounds[0].len() {
        let took: Vec<Duration> = rounds.iter().map(|round| round[place].1).collect();
        assert_at_once(rounds[0][place].0, &took);
    }
}

#[track_caller]
fn assert_at_once(name: &str, took: &[Duration]) {
    assert!(took.iter().all(|took| *took < MOST), "{name}: {took:?}");
    assert!(median(took.to_vec()) < USUAL, "{name}: {took:?}");
}

#[test]
fn every_blocking_place_is_left_at_once() {
    everywhere(false);
}

#[test]
fn and_so_it_is_close_to_a_limit() {
    everywhere(true);
}

#[test]
fn the_wait_between_attempts_is_left_at_once() {
    let p = refusing_address();
    let took = (0..3).map(|_| {
        let (cancel, caller, waits) = (Cancel::new(), Caller::this(), Event::new());
        let tell = waits.clone();
        let client = over(&[&p])
            .attempts_per_endpoint(2)
            .backoff_base(Duration::from_secs(600))
            .backoff_max(Duration::from_secs(600))
            .on_event(move |event| {
                if event.kind() == EventKind::Waiting {
                    tell.open();
                }
            })
            .seed(1)
            .build()
            .unwrap();
        thread::scope(|scope| {
            let triggered = scope.spawn(|| {
                waits.wait(PATIENCE);
                caller.wait_until(Blocked::OnThread, PATIENCE);
                let now = Instant::now();
                cancel.trigger();
                now
            });
            let error = client.get("/").cancel(&cancel).send().unwrap_err();
            let ended = Instant::now();
            assert_eq!(error.status(), Status::Cancelled, "{error:?}");
            // Its attempt failed by itself; the cancel cut none short.
            assert_eq!(
                told(error.attempts()),
                [(Reason::Refused, Phase::Connect, Delivery::NotSent)]
            );
            ended.saturating_duration_since(triggered.join().unwrap())
        })
    });
    assert_at_once("a wait", &took.collect::<Vec<_>>());
}

#[test]
fn one_handle_ends_all_its_calls_and_those_that_come_later() {
    let held = Server::start(Reply::holds());
    let other = Server::start(Reply::ok("other"));
    let (client, cancel) = (over(&[&held]).build().unwrap(), Cancel::new());
    thread::scope(|scope| {
        let calls: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| client.get("/").cancel(&cancel.clone()).send().unwrap_err()))
            .collect();
        held.wait_for_requests(8, ms(5000));
        assert!(!cancel.is_triggered());
        cancel.trigger();
        cancel.trigger();
        for call in calls {
            assert_eq!(call.join().unwrap().status(), Status::Cancelled);
        }
    });
    assert!(cancel.is_triggered());
    held.wait_for_open(0, ms(5000));
    let client = over(&[&other]).build().unwrap();
    let mut request = anyhost::Request::new("GET", "/").unwrap();
    request.set_cancel(&cancel);
    let error = client.send(&mut request).unwrap_err();
    assert_eq!((error.status(), error.attempts().len()), (Status::Cancelled, 0));
    assert_eq!((error.delivery(), other.connections()), (Delivery::NotSent, 0));
    // Without the handle everything goes on.
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "other");
}

/// R11: a complete answer is handed out, unless the call had moved on from it.
#[test]
fn a_cancel_that_comes_too_late_changes_nothing() {
    for (status, moves_on) in [(200, false), (404, false), (503, true)] {
        let (p, f) = (Server::start(Reply::status(status)), Server::start(Reply::ok("f")));
        let cancel = Cancel::new();
        let late = cancel.clone();
        let client = over(&[&p, &f]).judge(move |_| {
            late.trigger();
            anyhost::Verdict::Default
        });
        let ended = client.build().unwrap().get("/").cancel(&cancel).send();
        match ended {
            Ok(answer) => assert_eq!((answer.status(), moves_on), (status, false)),
            Err(error) => {
                assert_eq!((error.status(), moves_on), (Status::Cancelled, true));
                assert_eq!(error.http_status(), Some(503));
            }
        }
        assert_eq!(f.connections(), 0);
    }
}

/// The connection of a call that has its answer, but has not ended, may serve another call already. That
/// one is not hit.
#[test]
fn a_cancel_hits_no_connection_that_has_gone_on() {
    let gate = Event::new();
    let next = Reply::ok("next").after(&gate);
    let server = Server::start(Script::always(Reply::ok("first")).on("/next", next));
    let (cancel, client) = (Cancel::new(), Arc::new(OnceLock::<Client>::new()));
    let (second, seen) = (Mutex::new(None), server.url());
    let second = Arc::new(second);
    let (late, own, slot) = (cancel.clone(), client.clone(), second.clone());
    let arrived = Event::new();
    let (tell, open) = (arrived.clone(), gate.clone());
    let built = over(&[&seen]).judge(move |answer| {
        if answer.text().unwrap() == "first" && !late.is_triggered() {
            let client = own.get().unwrap().clone();
            let call = thread::spawn(move || client.get("/next").send());
            tell.wait(ms(5000));
            late.trigger();
            open.open();
            *slot.lock().unwrap() = Some(call.join().unwrap());
        }
        anyhost::Verdict::Default
    });
    client.set(built.build().unwrap()).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            server.wait_for_requests(2, ms(5000));
            arrived.open();
        });
        let first = client.get().unwrap().get("/").cancel(&cancel).send().unwrap();
        assert_eq!(first.text().unwrap(), "first");
    });
    let second = second.lock().unwrap().take().unwrap().unwrap();
    assert_eq!(second.text().unwrap(), "next");
    assert!(second.attempts()[0].reused_connection() && server.connections() == 1);
}

/// R11: an earlier answer does not stand in for a later attempt that was cancelled.
#[test]
fn a_cancel_of_a_later_attempt_ends_the_call() {
    let (p, held) = (Server::start(Reply::status(503)), Server::start(Reply::holds()));
    let client = over(&[&p, &held]).build().unwrap();
    let cancel = Cancel::new();
    thread::scope(|scope| {
        let call = scope.spawn(|| client.get("/").cancel(&cancel).send());
        held.wait_for_requests(1, ms(5000));
        cancel.trigger();
        let error = call.join().unwrap().unwrap_err();
        assert_eq!((error.status(), error.reason()), (Status::Cancelled, Reason::Cancelled));
        assert_eq!(error.attempts().len(), 2);
    });
}

/// A source that blocks is the caller's own code: it is waited for, and then nothing more is sent.
#[test]
fn nothing_is_sent_once_a_source_comes_back() {
    struct Cancels(Cancel);
    impl std::io::Read for Cancels {
        fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
            self.0.trigger();
            buf[..3].copy_from_slice(b"abc");
            Ok(3)
        }
    }
    let server = Server::start(Reply::ok("never"));
    let (client, cancel) = (over(&[&server]).build().unwrap(), Cancel::new());
    let body = anyhost::Body::reader(Cancels(cancel.clone()), Some(6));
    let error = client.post("/").body(body).cancel(&cancel).send().unwrap_err();
    assert_eq!((error.status(), error.delivery()), (Status::Cancelled, Delivery::Maybe));
    server.wait_for_open(0, ms(5000));
    assert_eq!(server.executed(), 0);
}

/// A generator that is good enough to mix up threads.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Thousands of calls over few connections while every call is cancelled: before it begins, at some
/// moment of it, just after it, or never. What was not cancelled never fails, whoever had its
/// connection before; what fails was cancelled.
fn late_cancels_hit_nobody(client: &Client, server: &Server, calls: u64) {
    const THREADS: u64 = 4;
    let (answered, cancelled) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for worker in 0..THREADS {
            let (answered, cancelled) = (&answered, &cancelled);
            scope.spawn(move || {
                // Capacity 0: the hand-over is where both threads start to run against each other.
                let (hand, handed) = sync_channel::<(Cancel, u64)>(0);
                let trigger = thread::spawn(move || {
                    for (cancel, spins) in handed {
                        for _ in 0..spins {
                            std::hint::spin_loop();
                        }
                        cancel.trigger();
                    }
                });
                let mut chance = 0x9E37_79B9_7F4A_7C15 ^ (worker + 1);
                for n in 0..calls {
                    let cancel = Cancel::new();
                    let kind = random(&mut chance) % 4;
                    if kind == 0 {
                        hand.send((cancel.clone(), random(&mut chance) % 20_000)).unwrap();
                    }
                    let path = format!("/{worker}/{n}");
                    let ended = client.get(&path).cancel(&cancel).send();
                    match ended {
                        Ok(answer) => {
                            assert_eq!(answer.text().unwrap(), format!("GET {path} 0"));
                            answered.fetch_add(1, SeqCst);
                        }
                        Err(error) => {
                            assert_eq!(kind, 0, "not cancelled: {error:?}");
                            assert_eq!(error.status(), Status::Cancelled, "{error:?}");
                            assert!(error.attempts().len() <= 1, "{error:?}");
                            cancelled.fetch_add(1, SeqCst);
                        }
                    }
                    if kind == 1 {
                        // The connection is idle, or the next call's already.
                        hand.send((cancel, random(&mut chance) % 20_000)).unwrap();
                    }
                }
                drop(hand);
                trigger.join().unwrap();
            });
        }
    });
    let (answered, cancelled) = (answered.into_inner(), cancelled.into_inner());
    assert_eq!(answered + cancelled, (THREADS * calls) as usize);
    assert!(cancelled > 0, "some were cancelled in time");
    // A cancelled connection is not used again, and the others are.
    let connections = server.connections();
    assert!(connections <= THREADS as usize + cancelled, "{connections}, {cancelled} cancelled");
}

#[test]
fn late_cancels_hit_no_other_call() {
    let server = Server::start(Reply::echo());
    late_cancels_hit_nobody(&over(&[&server]).build().unwrap(), &server, 1500);
}

#[test]
fn late_cancels_hit_no_other_call_over_tls() {
    let ca = Authority::new();
    let server = Server::tls(&ca.server(), Reply::echo());
    let client = over(&[&server]).tls_roots(TlsRoots::None).add_root_pem(ca.pem());
    late_cancels_hit_nobody(&client.build().unwrap(), &server, 500);
}

/// The client's end is the end of all its calls, and of those of its clones.
#[test]
fn shutdown_ends_every_call_everywhere() {
    let places = places(false);
    thread::scope(|scope| {
        let (tell, callers) = channel();
        let calls: Vec<_> = places
            .iter()
            .map(|place| {
                if place.reused {
                    place.client.get("/").send().unwrap();
                }
                let tell = tell.clone();
                scope.spawn(move || {
                    tell.send((place, Caller::this())).unwrap();
                    let call = place.client.put("/").body(place.body.clone());
                    (place, call.send().unwrap_err(), Instant::now())
                })
            })
            .collect();
        let blocked = catch_unwind(AssertUnwindSafe(|| {
            let callers = callers.iter().take(places.len());
            callers.for_each(|(place, caller)| place.wait_for(caller));
        }));
        let triggered = Instant::now();
        places.iter().for_each(|place| place.client.clone().shutdown());
        // Only now, or the calls would go on for ever.
        blocked.unwrap_or_else(|panic| resume_unwind(panic));
        for call in calls {
            let (place, error, ended) = call.join().unwrap();
            assert_eq!(error.status(), Status::ShutDown, "{}: {error:?}", place.name);
            let expected = (Reason::Cancelled, place.phase, place.delivery);
            assert_eq!(told(error.attempts()), [expected], "{}", place.name);
            let took = ended.saturating_duration_since(triggered);
            assert!(took < MOST, "{}: {took:?}", place.name);
        }
    });
    for place in &places {
        for _ in 0..2 {
            let error = place.client.clone().get("/").send().unwrap_err();
            assert_eq!((error.status(), error.attempts().len()), (Status::ShutDown, 0));
        }
        let error = place.client.get("/").cancel(&Cancel::new()).send().unwrap_err();
        assert_eq!(error.status(), Status::ShutDown);
        assert_eq!(place.next.connections(), 0, "{}", place.name);
    }
}

#[test]
fn shutdown_closes_idle_connections() {
    let server = Server::start(Reply::ok("x"));
    let client = over(&[&server]).build().unwrap();
    client.get("/").send().unwrap();
    assert_eq!(server.open_connections(), 1);
    client.clone().shutdown();
    server.wait_for_open(0, ms(5000));
}

/// R14, R21: a hop ends like any attempt, and so does the reading of a body that was handed out.
#[test]
fn a_hop_and_a_reader_end_too() {
    let silent = Server::start(Reply::holds());
    let there = format!("{}/there", silent.url());
    let p = Server::start(Script::each([
        Reply::status(302).header("Location", &there),
        Reply::ok("0123456789").pause_at(4, &Event::new()),
    ]));
    let client = over(&[&p]).attempt_timeout(Timeout::infinite()).build().unwrap();
    let (in_a_hop, in_a_body) = (Cancel::new(), Cancel::new());
    thread::scope(|threads| {
        threads.spawn(|| {
            silent.wait_for_requests(1, ms(5000));
            in_a_hop.trigger();
        });
        let error = client.get("/").cancel(&in_a_hop).send().unwrap_err();
        let hop = error.attempts().last().unwrap();
        assert_eq!((error.status(), hop.is_hop()), (Status::Cancelled, true));
        assert_eq!((hop.reason(), hop.delivery()), (Reason::Cancelled, Delivery::Maybe));
    });
    thread::scope(|threads| {
        let mut stream = client.get("/").cancel(&in_a_body).stream().unwrap();
        stream.read_exact(&mut [0; 4]).unwrap();
        let reading = threads.spawn(move || stream.read(&mut [0; 4]).unwrap_err());
        in_a_body.trigger();
        let error: anyhost::Error = reading.join().unwrap().downcast().unwrap();
        assert_eq!(error.status(), Status::Cancelled);
    });
}
