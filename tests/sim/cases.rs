//! Thousands of random clients, and what must hold for each.

use super::scenario::Scenario;
use super::world::run;

/// How many seeds each run tries; `ANYHOST_SIM_SEEDS` sets another number.
const SEEDS: u64 = 4000;

#[expect(clippy::disallowed_methods, reason = "to repeat or extend a run by hand")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The seeds of this run: one by `ANYHOST_SIM_SEED`, or the first so many.
pub(super) fn seeds() -> std::ops::Range<u64> {
    match number("ANYHOST_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("ANYHOST_SIM_SEEDS").unwrap_or(SEEDS),
    }
}

#[test]
fn no_rule_is_broken_under_any_seed() {
    let (mut attempts, mut good) = (0, 0);
    for seed in seeds() {
        let run = run(&Scenario::random(seed));
        if let Some(violation) = run.violation {
            panic!(
                "seed {seed} breaks {:?}: {}\nrepeat it with ANYHOST_SIM_SEED={seed} cargo test --lib sim::cases",
                violation.rule, violation.what
            );
        }
        attempts += run.attempts.len();
        good += run.calls.iter().filter(|call| call.good).count();
    }
    // A world in which nothing is tried breaks no rule either.
    assert!(good > 0 && attempts > good, "{good} good calls in {attempts} attempts");
}

/// R17.
#[test]
fn a_seed_decides_everything() {
    let digest = |seed| run(&Scenario::random(seed)).digest;
    let mut digests: Vec<u64> = (0..40).map(digest).collect();
    assert_eq!(digests, (0..40).map(digest).collect::<Vec<_>>());
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 40, "two seeds led to the same decisions");
}
