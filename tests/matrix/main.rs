//! What the transport must show: every fault at every byte, every limit on time, every answer survived.
//!
//! The matrix is the proof behind "never sends a write twice": for each way to send a request, each
//! byte of the exchange and each way to fail there, the servers count. Nothing is asked of the client
//! that a server can say. What holds in every cell is in `cell.rs`.
//!
//! | file | what it proves |
//! |---|---|
//! | `single.rs` | one fault at every byte; the second endpoint is well |
//! | `pair.rs` | a fault at each of two endpoints, sampled |
//! | `deadlines.rs` | every place that blocks ends at its limit, within milliseconds |
//! | `mutated.rs` | answers that are nearly HTTP: no panic, no hang, no memory on their word |
//! | `cell.rs` | one call, and what must be true of it |
//! | `origin.rs`, `line.rs` | a server with one fault at one byte |
//! | `memory.rs` | what a thread allocates |
//!
//! Each test prints its size. A plain `cargo test` runs a part that a seed chooses; `ANYHOST_FULL=1`,
//! which `.ci/run` sets, runs everything. `ANYHOST_SEED` repeats a part. The long run of mutated answers
//! takes minutes: `ANYHOST_MUTATED=6000000 cargo test --release --test matrix mutated`.

// Tests measure real time against real sockets; the ban protects the library's injected clock.
#![allow(clippy::disallowed_methods)]

#[path = "../support/mod.rs"]
mod support;

mod cell;
mod deadlines;
mod line;
mod memory;
mod mutated;
mod origin;
mod pair;
mod single;

use cell::{Below, Cell, Message};
use rustls::ServerConfig;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use support::Authority;

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

    /// Below `bound`, which is not 0.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Whether everything is to be run.
fn full() -> bool {
    std::env::var("ANYHOST_FULL").is_ok_and(|value| value == "1")
}

/// Another part each time, unless it is to be the same one again.
fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    match std::env::var("ANYHOST_SEED") {
        Ok(text) => text.parse().expect("ANYHOST_SEED is a number"),
        Err(_) => now.subsec_nanos().into(),
    }
}

/// Prints past the harness, which shows only what a failed test has printed.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// These tests measure time or fill the machine: one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What all cells have in common.
struct Ground {
    server: Arc<ServerConfig>,
    server_tls12: Arc<ServerConfig>,
    /// What a client has to trust, as PEM.
    root: String,
    /// The limit of an attempt that a stall ends.
    stall: Duration,
    /// The sizes of the messages over each protocol.
    sizes: [OnceLock<(usize, usize)>; 12],
}

impl Ground {
    fn new() -> Ground {
        let ca = Authority::new();
        let (server, server_tls12) =
            (ca.server_named(&[origin::NAME]), ca.server_tls12(&[origin::NAME]));
        let stall = Duration::from_millis(100);
        Ground { server, server_tls12, root: ca.pem().to_owned(), stall, sizes: Default::default() }
    }

    /// How many bytes this message has, and the server's part in a TLS handshake without tickets.
    fn sizes(&self, message: Message, below: Below) -> (usize, usize) {
        let place = message as usize * 3 + below as usize;
        *self.sizes[place].get_or_init(|| Cell::sizes(self, message, below))
    }
}

/// Runs all cells on threads, prints `name`, how many, and how long it took, and fails with the first
/// of the violations.
fn sweep(name: &str, ground: &Ground, cells: &[Cell]) {
    let began = Instant::now();
    // Those that stall only wait, so many can at a time; but not beside those that work, whose noise
    // would reach their short limits.
    let (waiting, working): (Vec<&Cell>, Vec<&Cell>) = cells.iter().partition(|c| c.stalls());
    let mut found = check(ground, &working, 4);
    found.extend(check(ground, &waiting, 24));
    let (count, bad) = (cells.len(), found.len());
    say(&format!("{name}: {count} cells, {bad} violations, {} s", began.elapsed().as_secs()));
    found.truncate(20);
    assert!(found.is_empty(), "{bad} violations in {count} cells:\n{}", found.join("\n"));
}

fn check(ground: &Ground, cells: &[&Cell], threads: usize) -> Vec<String> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, SeqCst)) {
                    let violations = cell.check(ground);
                    found.lock().unwrap().extend(violations);
                }
            });
        }
    });
    found.into_inner().unwrap()
}
