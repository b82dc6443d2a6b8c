//! One client for a long time: eight threads, four endpoints and two proxies that fail at random, calls
//! that are cancelled, lists that change. In the end the accounts must agree, and nothing may have grown.
//!
//! What is counted, and where: calls by the threads that make them, attempts by the client's observer and
//! in the lists of answers and errors, requests by the servers, which keep nothing but counts. Four equal
//! rounds; after each the process is measured at rest.
//!
//! A plain `cargo test` makes 6,000 calls. The long run makes 200,000 or more:
//!
//! ```text
//! ANYHOST_SOAK=200000 cargo test --release --test soak
//! ```
//!
//! It prints its seed, and `ANYHOST_SEED` repeats the choices (what threads make of them differs).
#![cfg(target_os = "linux")]
// Tests measure real time against real sockets; the ban protects the library's injected clock.
#![allow(clippy::disallowed_methods)]

mod measure;
mod proxy;
mod server;

use anyhost::{
    Attempt, Body, Cancel, Client, Delivery, Endpoint, EventKind, Reason, Selection, Status,
};
use measure::Measured;
use proxy::Proxy;
use server::{Counted, Faulty};
use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const THREADS: usize = 8;
const ROUNDS: usize = 4;
const ENDPOINTS: usize = 4;

/// SplitMix64: the same on every platform.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// True once in `n`.
    fn once_in(&mut self, n: u64) -> bool {
        self.next() % n == 0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

/// What the threads found.
#[derive(Default)]
struct Accounts {
    calls: usize,
    answers: usize,
    errors: BTreeMap<&'static str, usize>,
    /// Attempts of which something was sent, by the lists that answers and errors bring.
    sent: usize,
    attempts: usize,
    /// Of them those that went by a proxy.
    proxied: usize,
    reasons: BTreeMap<&'static str, usize>,
}

impl Accounts {
    fn list(&mut self, attempts: &[Attempt]) {
        self.attempts += attempts.len();
        for attempt in attempts {
            self.sent += usize::from(attempt.bytes_sent() > 0);
            self.proxied += usize::from(attempt.proxy().is_some());
            if attempt.reason() != Reason::None {
                *self.reasons.entry(attempt.reason().name()).or_default() += 1;
            }
            // What was given to a connection is never called "not sent". (A write that took nothing is
            // "maybe" as well, R1.)
            let not_sent = attempt.delivery() == Delivery::NotSent;
            assert!(attempt.bytes_sent() == 0 || !not_sent, "{attempt:?}");
        }
    }

    fn add(&mut self, other: Accounts) {
        self.calls += other.calls;
        self.answers += other.answers;
        self.attempts += other.attempts;
        self.sent += other.sent;
        self.proxied += other.proxied;
        other.errors.into_iter().for_each(|(name, n)| *self.errors.entry(name).or_default() += n);
        other.reasons.into_iter().for_each(|(name, n)| *self.reasons.entry(name).or_default() += n);
    }
}

struct Soak {
    client: Client,
    servers: Vec<Faulty>,
    /// An address where nobody listens, in some of the lists.
    refusing: String,
    counted: Arc<Counted>,
    next: AtomicUsize,
    cancels: Mutex<mpsc::Sender<Cancel>>,
}

impl Soak {
    /// Makes calls until `last` have been made, and accounts for them.
    fn calls(&self, last: usize, mut chance: Chance) -> Accounts {
        let mut found = Accounts::default();
        let cancels = self.cancels.lock().unwrap().clone();
        loop {
            let id = self.next.fetch_add(1, SeqCst);
            if id >= last {
                return found;
            }
            let method = ["GET", "POST", "HEAD", "PUT"][chance.below(4)];
            let mut request = self.client.request(method, &format!("/{id}"));
            if method == "POST" || method == "PUT" {
                let bytes = vec![b'x'; chance.below(3000)];
                request = match chance.once_in(8) {
                    // Sent once, whatever happens.
                    true => request.body(Body::reader(Cursor::new(bytes), None)),
                    false => request.body(bytes),
                };
            }
            if chance.once_in(20) {
                let cancel = Cancel::new();
                request = request.cancel(&cancel);
                cancels.send(cancel).expect("there is a thread that cancels");
            }
            found.calls += 1;
            let result = match chance.once_in(10) {
                true => request.stream().map(|stream| {
                    found.list(stream.attempts());
                    // Read to its end, or dropped in the middle.
                    let most = if chance.once_in(2) { 100 } else { u64::MAX };
                    let _ =
                        std::io::copy(&mut stream.into_reader().take(most), &mut std::io::sink());
                }),
                false => request.send().map(|answer| found.list(answer.attempts())),
            };
            match result {
                Ok(()) => found.answers += 1,
                Err(error) => {
                    assert_ne!(error.status(), Status::Internal, "{error}");
                    *found.errors.entry(error.status().name()).or_default() += 1;
                    found.list(error.attempts());
                }
            }
        }
    }

    /// Replaces the list, and looks at it, until it is enough.
    fn change_lists(&self, enough: &AtomicBool, mut chance: Chance) -> usize {
        let mut changes = 0;
        while !enough.load(SeqCst) {
            let mut urls: Vec<String> = self.servers.iter().map(Faulty::url).collect();
            for _ in 0..chance.below(ENDPOINTS) {
                let gone = chance.below(urls.len());
                urls.remove(gone);
            }
            if chance.once_in(3) {
                urls.push(self.refusing.clone());
            }
            let listed = urls.len();
            self.client.update(urls.iter().map(|url| Endpoint::new(url).expect("a URL"))).unwrap();
            let snapshot = self.client.snapshot();
            let proxies = snapshot.members().len() - listed;
            assert_eq!(proxies, 3, "two and the direct way");
            for member in snapshot.members() {
                assert!((1..=1000).contains(&member.weight()), "{member:?}");
                assert!(member.in_flight() as usize <= THREADS, "{member:?}");
                // One attempt may be both: a stream whose body breaks after a good head (R21).
                let most = member.successes().max(member.failures());
                assert!(most <= member.attempts(), "{member:?}");
            }
            changes += 1;
            thread::sleep(Duration::from_millis(20));
        }
        self.client.update(self.servers.iter().map(|s| Endpoint::new(&s.url()).unwrap())).unwrap();
        changes
    }
}

#[test]
fn the_accounts_agree_and_nothing_grows() {
    let calls = number("ANYHOST_SOAK").unwrap_or(6_000) as usize;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let seed = number("ANYHOST_SEED").unwrap_or(now.subsec_nanos().into());
    let counted = Arc::new(Counted::new(calls));
    let servers: Vec<Faulty> =
        (0..ENDPOINTS).map(|i| Faulty::start(seed + i as u64, counted.clone())).collect();
    // Bound and not listened on, so that nobody else can get it meanwhile.
    let refusing = server::refusing();
    let proxies = [Proxy::start(seed ^ 2), Proxy::start(seed ^ 3)];
    let ended = Arc::new(AtomicUsize::new(0));
    let attempts_ended = Arc::new(AtomicUsize::new(0));
    let (count, count_attempts) = (ended.clone(), attempts_ended.clone());
    let client = servers
        .iter()
        .fold(Client::builder(), |builder, server| builder.base_urls(&server.url()))
        .proxies(&proxies.each_ref().map(Proxy::url).join(","))
        .proxies("direct")
        .set("proxy_base_delay", "2ms")
        .set("proxy_max_delay", "5ms")
        .selection(Selection::Weighted)
        .attempts_per_endpoint(2)
        .backoff_base(Duration::from_millis(1))
        .backoff_max(Duration::from_millis(5))
        .attempt_timeout(Duration::from_millis(250))
        .deadline(Duration::from_secs(3))
        .seed(seed)
        .on_event(move |event| {
            count.fetch_add(usize::from(event.kind() == EventKind::CallEnded), SeqCst);
            let ended = event.kind() == EventKind::AttemptEnded;
            count_attempts.fetch_add(usize::from(ended), SeqCst);
        })
        .build()
        .unwrap();
    let (cancels, to_cancel) = mpsc::channel::<Cancel>();
    let soak = Soak {
        client,
        servers,
        refusing: format!("http://{}", refusing.local_addr),
        counted,
        next: AtomicUsize::new(0),
        cancels: Mutex::new(cancels),
    };
    let canceller = thread::spawn(move || {
        let mut chance = Chance(seed ^ 1);
        for cancel in to_cancel {
            thread::sleep(Duration::from_micros(chance.next() % 2000));
            cancel.trigger();
        }
    });

    let mut found = Accounts::default();
    let (mut measured, mut changes) = (Vec::new(), 0);
    for round in 1..=ROUNDS {
        let last = calls * round / ROUNDS;
        let enough = AtomicBool::new(false);
        let chance = |n: usize| Chance(seed.wrapping_mul(31) + (round * 100 + n) as u64);
        thread::scope(|scope| {
            let soak = &soak;
            let threads: Vec<_> =
                (0..THREADS).map(|n| scope.spawn(move || soak.calls(last, chance(n)))).collect();
            let changing = scope.spawn(|| soak.change_lists(&enough, chance(99)));
            let ends: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            enough.store(true, SeqCst);
            changes += changing.join().unwrap();
            ends.into_iter().for_each(|end| found.add(end.expect("a thread of calls")));
        });
        // One call too many is claimed by each thread, and not made.
        soak.next.store(last, SeqCst);
        soak.client.drop_idle();
        soak.servers.iter().for_each(Faulty::wait_until_idle);
        proxies.iter().for_each(Proxy::wait_until_idle);
        measured.push(Measured::now());
    }
    drop(std::mem::replace(&mut *soak.cancels.lock().unwrap(), mpsc::channel().0));
    canceller.join().unwrap();

    let errors: usize = found.errors.values().sum();
    let read = soak.counted.requests.load(SeqCst);
    let line = format!(
        "soak, seed {seed}: {} calls = {} answers + {errors} errors {:?}; {} attempts, {} by proxies, {} sent, {read} read \
         by servers; reasons {:?}; {changes} lists; measured {measured:?}",
        found.calls,
        found.answers,
        found.errors,
        found.attempts,
        found.proxied,
        found.sent,
        found.reasons
    );
    let _ = writeln!(std::io::stderr().lock(), "{line}");

    assert_eq!(found.calls, calls);
    assert_eq!(found.calls, found.answers + errors, "every call ends");
    assert_eq!(ended.load(SeqCst), calls, "every end is told");
    assert_eq!(attempts_ended.load(SeqCst), found.attempts, "every attempt is told and listed");
    assert_eq!(read, found.sent, "attempts sent are requests read");
    assert!(found.proxied * 10 > found.attempts, "the proxies are in use");
    // No breaker keeps an endpoint away, and the direct way is always open.
    assert_eq!(found.errors.get(Status::NoEndpoint.name()), None, "somebody could be tried");
    assert_eq!(soak.counted.writes_carried_out_twice(), 0, "no write twice");
    for member in soak.client.snapshot().members() {
        assert_eq!(member.in_flight(), 0, "{member:?}");
    }
    let (first, last) = (&measured[0], &measured[ROUNDS - 1]);
    assert_eq!(first.threads, last.threads, "threads");
    assert_eq!(first.files, last.files, "open files");
    assert!(last.resident * 10 <= first.resident * 11, "memory: {first:?} {last:?}");
}
