//! Whole clients in virtual time.
//!
//! A [`world`] runs many overlapping calls against scripted [`server`]s, through `Call` and `Pool` just
//! as `client/run.rs` does, but with a clock that jumps from event to event and chance from a seed.
//! After every event an [`oracle`] checks the rulings. It looks at the servers and at the tickets that
//! were given out, keeps its own books, and never asks the code under test what it believes.
//!
//! Compiled into the library's own tests, so that the bugs of `decide/mutant.rs` can be switched on:
//! for each rule there is a planted bug that breaks it, and a test that the oracle says so.

mod cases;
mod liveness;
mod mutants;
mod oracle;
mod proxies;
mod scenario;
mod server;
mod vectors;
mod world;

use std::time::{Duration, Instant};

/// SplitMix64: all a simulation needs, and the same on every platform.
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
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn between(&mut self, from: Duration, to: Duration) -> Duration {
        from + Duration::from_micros(self.below(1 + (to - from).as_micros() as u64))
    }
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Where virtual time begins.
#[expect(clippy::disallowed_methods, reason = "any instant will do, and std gives no other")]
fn beginning() -> Instant {
    Instant::now()
}
