//! Chance: one generator per client, seeded by the system or by a number (ruling R17).

use rand::{Rng as _, SeedableRng as _, TryRng as _, rngs::SysRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The client's random numbers. Not for secrets.
///
/// Xoshiro256++ because its sequence is fixed by its authors: the same `seed` gives the same
/// decisions in every release, which `rand` does not promise of its own small generators.
#[derive(Debug, Clone)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The generator of this seed.
    pub fn seeded(seed: u64) -> Self {
        Rng(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A generator seeded by the operating system. Where that has no randomness to give, the
    /// generator starts at 0: a client that draws predictably is better than none.
    pub fn random() -> Self {
        Rng::seeded(SysRng.try_next_u64().unwrap_or(0))
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}
