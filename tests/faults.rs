//! Kinds of fault, ways to choose, methods: what became of the calls, as the table of the manual has it.
//!
//! Three endpoints, the first of which has one fault for good; four threads make calls, and the servers
//! count what they have read whole. The table is printed; `src/manual/faults.md` has that of a long run:
//!
//! ```text
//! ANYHOST_FAULTS=400 cargo test --test faults -- --nocapture
//! ```

mod support;

use anyhost::{Client, ClientBuilder, Error, Reason, TlsRoots};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use support::*;

const THREADS: usize = 4;
const MODES: [&str; 3] = ["ordered", "weighted", "resilient"];
const METHODS: [&str; 2] = ["GET", "POST"];
/// Short, so that a fault that takes its time can be had many times.
const LIMIT: Duration = ms(60);

/// What the first endpoint does.
enum First {
    Serves(Server),
    Refuses(Refusing),
    #[cfg(target_os = "linux")]
    Swallows(Blackhole),
    Unknown,
}

impl First {
    fn url(&self) -> String {
        match self {
            First::Serves(server) => server.url(),
            First::Refuses(refusing) => refusing.url(),
            #[cfg(target_os = "linux")]
            First::Swallows(hole) => hole.url(),
            First::Unknown => "http://gone.test".to_owned(),
        }
    }

    fn requests(&self) -> Vec<support::Request> {
        match self {
            First::Serves(server) => server.requests(),
            _ => Vec::new(),
        }
    }
}

/// A kind of fault, what makes it, and the cause that is told.
type Kind = (&'static str, Box<dyn Fn(&Authority) -> First>, &'static [Reason], Acted);

/// Whether the first endpoint may have acted on a request when it fails.
#[derive(Clone, Copy, PartialEq)]
enum Acted {
    /// It has not, and that is certain: a POST goes on.
    No,
    /// It may have: a POST ends there.
    Maybe,
    /// It answered: a POST ends there with that answer.
    Answered,
}

fn kinds() -> Vec<Kind> {
    let serves = |reply: fn() -> Reply| move |_: &Authority| First::Serves(Server::start(reply()));
    let mut kinds: Vec<Kind> = vec![
        ("name unknown", Box::new(|_| First::Unknown), &[Reason::Dns], Acted::No),
        (
            "connection refused",
            Box::new(|_| First::Refuses(refusing_address())),
            &[Reason::Refused],
            Acted::No,
        ),
        (
            "certificate for another name",
            Box::new(|ca| {
                First::Serves(Server::tls(&ca.server_named(&["other.example"]), Reply::echo()))
            }),
            &[Reason::TlsCert],
            Acted::No,
        ),
        (
            "reset after the request",
            Box::new(serves(Reply::resets)),
            &[Reason::Reset],
            Acted::Maybe,
        ),
        ("closed after the request", Box::new(serves(Reply::closed)), &[Reason::Eof], Acted::Maybe),
        ("no answer", Box::new(serves(Reply::holds)), &[Reason::Timeout], Acted::Maybe),
        (
            "an answer that is no HTTP",
            Box::new(serves(|| Reply::raw("SSH-2.0-x\r\n").close())),
            &[Reason::Protocol],
            Acted::Maybe,
        ),
        (
            "a body that breaks off",
            Box::new(serves(|| Reply::ok("0123456789").cut(4))),
            &[Reason::Truncated],
            Acted::Maybe,
        ),
        ("503", Box::new(serves(|| Reply::status(503))), &[Reason::Status5xx], Acted::Answered),
        (
            "503, Retry-After: 60",
            Box::new(serves(|| Reply::status(503).header("Retry-After", "60"))),
            &[Reason::Status5xx],
            Acted::Answered,
        ),
        ("521", Box::new(serves(|| Reply::status(521))), &[Reason::Status5xx], Acted::No),
    ];
    #[cfg(target_os = "linux")]
    kinds.insert(
        2,
        (
            "SYN swallowed",
            Box::new(|_| First::Swallows(Blackhole::new())),
            &[Reason::Timeout],
            Acted::No,
        ),
    );
    kinds
}

fn builder(mode: &str) -> ClientBuilder {
    match mode {
        "resilient" => Client::builder().preset("resilient").set("breaker_base_delay", "20ms"),
        mode => Client::builder().set("selection", mode),
    }
}

/// What became of the calls of one cell.
#[derive(Default)]
struct Row {
    answered: usize,
    /// Answers of 500 and above.
    faulty: usize,
    errors: BTreeMap<&'static str, usize>,
    failed_attempts: usize,
    twice: usize,
}

/// Makes the calls of one cell and counts at the servers.
fn cell(kind: &Kind, mode: &str, method: &str, calls: usize) -> Row {
    let (name, first, reasons, acted) = kind;
    let ca = Authority::new();
    let first = first(&ca);
    let tls = first.url().starts_with("https");
    let other = || match tls {
        true => Server::tls(&ca.server(), Reply::echo()),
        false => Server::start(Reply::echo()),
    };
    let (b, c) = (other(), other());
    let client = builder(mode)
        .base_urls(&format!("{},{b},{c}", first.url()))
        .tls_roots(TlsRoots::None)
        .add_root_pem(ca.pem())
        .attempt_timeout(if acted == &Acted::Maybe { LIMIT * 5 } else { ms(5000) })
        .connect_timeout(if *name == "SYN swallowed" { LIMIT } else { ms(2000) })
        // No hold: each call meets the fault, where the mode lets it.
        .hold_for(Duration::ZERO)
        .lookup(|_: &str, _: u16| Err(anyhost::inject::LookupError::NameUnknown))
        .seed(1)
        .build()
        .unwrap();
    let (next, row) = (AtomicUsize::new(0), Mutex::new(Row::default()));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, SeqCst);
                    if i >= calls {
                        return;
                    }
                    let result = client.request(method, &format!("/{i}")).send();
                    let mut row = row.lock().unwrap();
                    let attempts = match &result {
                        Ok(answer) => answer.attempts(),
                        Err(error) => error.attempts(),
                    };
                    for attempt in attempts.iter().filter(|a| a.reason() != Reason::None) {
                        // A stale connection is replayed, and tells nothing of the fault.
                        let known = reasons.contains(&attempt.reason())
                            || attempt.reason() == Reason::StaleConnection;
                        assert!(known, "{name}: {attempt:?}");
                        row.failed_attempts += 1;
                    }
                    match &result {
                        Ok(answer) if answer.status() < 500 => row.answered += 1,
                        Ok(_) => row.faulty += 1,
                        Err(error) => *row.errors.entry(reason(error)).or_default() += 1,
                    }
                }
            });
        }
    });
    let mut row = row.into_inner().unwrap();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    // Who says 521 has not acted on it.
    let acting = if *acted == Acted::No { Vec::new() } else { first.requests() };
    for request in [acting, b.requests(), c.requests()].concat() {
        let counts = request.complete && request.method == "POST";
        *times.entry(request.target).or_default() += usize::from(counts);
    }
    row.twice = times.values().filter(|times| **times > 1).count();
    row
}

fn reason(error: &Error) -> &'static str {
    error.reason().name()
}

#[test]
fn faults_modes_and_methods() {
    #[allow(
        clippy::disallowed_methods,
        reason = "a switch of the tests, never read by the library"
    )]
    let calls = std::env::var("ANYHOST_FAULTS").map_or(12, |text| text.parse().expect("how many"));
    let mut table = String::from(
        "| fault of the first endpoint | mode | method | calls | answered | 5xx | errors | failed attempts | twice |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for kind in &kinds() {
        let (name, _, _, acted) = kind;
        for mode in MODES {
            for method in METHODS {
                let row = cell(kind, mode, method, calls);
                let errors: Vec<String> =
                    row.errors.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
                let Row { answered, faulty, failed_attempts, twice, .. } = row;
                let what = format!("{name}, {mode}, {method}");
                assert_eq!(twice, 0, "{what}");
                // A GET is always answered, and so is a POST that was certainly not acted on.
                if method == "GET" || *acted == Acted::No {
                    assert_eq!((answered, faulty), (calls, 0), "{what}: {errors:?}");
                }
                match acted {
                    Acted::Answered => assert_eq!(errors, [""; 0], "{what}"),
                    _ => assert_eq!(faulty, 0, "{what}"),
                }
                // R10: who has been asked to wait asks no more; each thread may have been on its way.
                if name.contains("Retry-After") {
                    assert!(failed_attempts <= THREADS, "{what}: {failed_attempts}");
                }
                let errors = errors.join(", ");
                writeln!(
                    table,
                    "| {name} | {mode} | {method} | {calls} | {answered} | {faulty} | {errors} | \
                     {failed_attempts} | {twice} |"
                )
                .unwrap();
            }
        }
    }
    println!("{table}");
    // The page has a row for each, whatever its numbers.
    let page = include_str!("../src/manual/faults.md");
    for row in table.lines() {
        let named = row.match_indices('|').nth(3).map_or(row, |(at, _)| &row[..=at]);
        assert!(page.contains(named), "the manual has no row {named}");
    }
}
