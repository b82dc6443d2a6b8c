//! What the calls of a client share, under threads in thousands of orders: shuttle runs each test again
//! and again and decides every time who goes next. A failure prints the schedule that repeats it.
//!
//! The client is the real one. Its one lock is never held while an attempt is made or an observer is
//! told, so these are the places where the order of threads can matter, and the transport and the observer
//! of these tests give way there.

use anyhost::inject::{
    Answer, AnswerBody, Attempt, Cause, Ending, HeaderMap, Phase, Report, Transport,
};
use anyhost::testing::ManualClock;
use anyhost::{Client, ClientBuilder, Endpoint, EventKind, Selection, State, Status};
use shuttle::thread;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const A: &str = "http://a.example";
const B: &str = "http://b.example";

/// Random orders, and those in which few threads are ever overtaken (PCT): 200 of each, or as many as
/// `ANYHOST_SCHEDULES` says.
#[allow(clippy::disallowed_methods, reason = "a switch of the tests, never read by the library")]
fn explore(test: impl Fn() + Send + Sync + Copy + 'static) {
    let orders =
        std::env::var("ANYHOST_SCHEDULES").map_or(200, |text| text.parse().expect("how many"));
    shuttle::check_random(test, orders);
    shuttle::check_pct(test, orders, 3);
}

/// What an endpoint does.
#[derive(Clone, Copy, PartialEq)]
enum Does {
    Answers(u16),
    Refuses,
    /// The caller's own code panics in the middle of an attempt.
    Panics,
}

#[derive(Default)]
struct Seen {
    does: HashMap<String, Does>,
    /// Attempts under way, and the most there were at a time.
    under_way: HashMap<String, (usize, usize)>,
    attempts: HashMap<String, usize>,
}

/// Gives way to other threads in every attempt.
#[derive(Clone, Default)]
struct Network(Arc<Mutex<Seen>>);

impl Network {
    fn set(&self, base: &str, does: Does) {
        self.0.lock().unwrap().does.insert(base.to_owned(), does);
    }

    /// From now on.
    fn forget(&self) {
        let mut seen = self.0.lock().unwrap();
        seen.under_way.clear();
        seen.attempts.clear();
    }

    fn attempts(&self, base: &str) -> usize {
        self.0.lock().unwrap().attempts.get(base).copied().unwrap_or(0)
    }

    fn most_at_a_time(&self, base: &str) -> usize {
        self.0.lock().unwrap().under_way.get(base).map_or(0, |(_, most)| *most)
    }
}

impl Transport for Network {
    fn attempt(&self, attempt: Attempt<'_>) -> (Report, Option<Answer>) {
        let base = attempt.url.trim_end_matches('/').to_owned();
        let does = {
            let mut seen = self.0.lock().unwrap();
            *seen.attempts.entry(base.clone()).or_default() += 1;
            let (now, most) = seen.under_way.entry(base.clone()).or_default();
            *now += 1;
            *most = (*now).max(*most);
            seen.does.get(&base).copied().unwrap_or(Does::Answers(200))
        };
        thread::yield_now();
        self.0.lock().unwrap().under_way.entry(base).or_default().0 -= 1;
        match does {
            Does::Panics => panic!("planted"),
            Does::Refuses => {
                let ending = Ending::Failed(Cause::Refused);
                (Report { phase: Phase::Connect, ending, ..Report::new() }, None)
            }
            Does::Answers(status) => {
                let report = Report {
                    phase: Phase::Body,
                    ending: Ending::Answered,
                    status: Some(status),
                    asked_to_send: true,
                    ..Report::new()
                };
                let body = AnswerBody::default();
                (report, Some(Answer { status, headers: HeaderMap::new(), body }))
            }
        }
    }
}

fn over(bases: &[&str], network: &Network, clock: &ManualClock) -> ClientBuilder {
    Client::builder()
        .base_urls(&bases.join(","))
        .transport(network.clone())
        .clock(clock.clone())
        .seed(1)
        .on_event(|_| thread::yield_now())
}

/// So many threads, each with its work, to their ends.
fn threads(count: usize, work: impl Fn(usize) + Clone + Send + 'static) {
    let started: Vec<_> = (0..count)
        .map(|i| {
            let work = work.clone();
            thread::spawn(move || work(i))
        })
        .collect();
    started.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Nothing is under way, so nothing may be counted as such: a lost ticket would stay.
fn nothing_is_left(client: &Client) {
    for member in client.snapshot().members() {
        assert_eq!(member.in_flight(), 0, "{member:?}");
        assert_ne!(member.state(), State::Probing, "{member:?}");
    }
}

/// A client whose first endpoint has failed, with its wait over.
fn due_for_a_probe(network: &Network, clock: &ManualClock) -> Client {
    let client = over(&[A, B], network, clock)
        .set("breaker", "on")
        .set("breaker_threshold", "1")
        .set("breaker_jitter", "off")
        .hold_for(Duration::ZERO)
        .build()
        .unwrap();
    network.set(A, Does::Refuses);
    assert_eq!(client.get("/").send().unwrap().endpoint(), B);
    clock.advance(Duration::from_secs(3600));
    network.forget();
    client
}

/// R7: while a circuit is due for a probe, one request makes it and the others go elsewhere.
#[test]
fn exactly_one_probe() {
    explore(|| {
        let (network, clock) = (Network::default(), ManualClock::new());
        let client = due_for_a_probe(&network, &clock);
        let calls = client.clone();
        threads(3, move |_| assert_eq!(calls.get("/").send().unwrap().endpoint(), B));
        assert_eq!(network.attempts(A), 1, "it failed, and the next is due later");
        nothing_is_left(&client);

        // The probe succeeds: before it ends nobody else goes there, and then all may.
        clock.advance(Duration::from_secs(7200));
        network.set(A, Does::Answers(200));
        network.forget();
        let (probes, calls) = (Arc::new(Mutex::new(0)), client.clone());
        let count = probes.clone();
        threads(3, move |_| {
            let answer = calls.get("/").send().unwrap();
            *count.lock().unwrap() += usize::from(answer.endpoint() == A);
        });
        assert!(*probes.lock().unwrap() >= 1);
        assert_eq!(client.snapshot().find(A).unwrap().state(), State::Eligible);
        nothing_is_left(&client);
    });
}

/// A probe that is lost in a panic of the caller's own code is given back, and so is every other ticket.
#[test]
fn no_lost_ticket() {
    explore(|| {
        let (network, clock) = (Network::default(), ManualClock::new());
        let client = due_for_a_probe(&network, &clock);
        network.set(A, Does::Panics);
        let calls = client.clone();
        threads(3, move |_| {
            let call = || calls.get("/").send().map(|answer| answer.endpoint().to_owned());
            // shuttle's own panics are for it.
            match catch_unwind(AssertUnwindSafe(call)) {
                Ok(result) => assert_eq!(result.unwrap(), B),
                Err(panic) => assert_eq!(panic.downcast_ref(), Some(&"planted")),
            }
        });
        nothing_is_left(&client);
        clock.advance(Duration::from_secs(7200));
        network.set(A, Does::Answers(200));
        assert_eq!(client.get("/").send().unwrap().endpoint(), A);
    });
}

/// R4: k failures at once from 1000 are k divisions by 10, and k successes bring it all back.
#[test]
fn no_lost_weight() {
    explore(|| {
        for (k, weight) in [(1, 100), (2, 10), (3, 1)] {
            let (network, clock) = (Network::default(), ManualClock::new());
            let client = over(&[A], &network, &clock).selection(Selection::Weighted).build();
            let client = client.unwrap();
            network.set(A, Does::Refuses);
            let calls = client.clone();
            threads(k, move |_| {
                let error = calls.get("/").send().unwrap_err();
                assert_eq!(error.status(), Status::AttemptsSpent);
            });
            let member = client.snapshot().find(A).unwrap().clone();
            assert_eq!((member.weight(), member.failures()), (weight, k as u64));
            network.set(A, Does::Answers(200));
            let calls = client.clone();
            threads(2, move |_| assert_eq!(calls.get("/").send().unwrap().status(), 200));
            assert_eq!(client.snapshot().find(A).unwrap().weight(), 1000);
            nothing_is_left(&client);
        }
    });
}

/// R8: where no circuit is closed, `try_nearest` lets one call at a time through.
#[test]
fn one_at_a_time_to_the_nearest() {
    explore(|| {
        let (network, clock) = (Network::default(), ManualClock::new());
        let client = over(&[A], &network, &clock)
            .set("breaker", "on")
            .set("breaker_threshold", "1")
            .set("when_none_eligible", "try_nearest")
            .build()
            .unwrap();
        network.set(A, Does::Refuses);
        client.get("/").send().unwrap_err();
        network.forget();
        let calls = client.clone();
        threads(3, move |_| {
            calls.get("/").send().unwrap_err();
        });
        assert!(network.attempts(A) >= 1);
        assert_eq!(network.most_at_a_time(A), 1);
        nothing_is_left(&client);
    });
}

/// R22: a list replaced while calls run: what stays keeps its weight, and what went is asked no more.
#[test]
fn a_list_replaced_under_calls() {
    explore(|| {
        let (network, clock) = (Network::default(), ManualClock::new());
        let client = over(&[A, B], &network, &clock)
            .selection(Selection::Weighted)
            .attempts_per_endpoint(2)
            .on_event(|event| {
                if event.kind() != EventKind::WeightChanged {
                    thread::yield_now();
                }
            })
            .build()
            .unwrap();
        network.set(B, Does::Refuses);
        let calls = client.clone();
        threads(3, move |i| match i {
            0 => {
                calls.update([Endpoint::new(B).unwrap()]).unwrap();
                calls.update([Endpoint::new(A).unwrap(), Endpoint::new(B).unwrap()]).unwrap();
                calls.update([Endpoint::new(B).unwrap()]).unwrap();
            }
            _ => drop(calls.get("/").send()),
        });
        nothing_is_left(&client);
        let snapshot = client.snapshot();
        assert_eq!(snapshot.members().len(), 1);
        // As many divisions by 10 as there were failures.
        let b = &snapshot.members()[0];
        let expected = (0..b.failures()).fold(1000, |weight, _| (weight / 10).max(1));
        assert_eq!(b.weight(), expected, "{b:?}");
        network.forget();
        client.get("/").send().unwrap_err();
        assert_eq!(network.attempts(A), 0);
    });
}
