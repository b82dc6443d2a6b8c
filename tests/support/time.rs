//! Measuring: short names for durations, and an assertion about them that can be read.

use std::time::{Duration, Instant};

/// `n` milliseconds.
pub const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Lets time pass, where the time itself is what is tested. To wait for something to happen there are
/// [`Event`](super::Event) and the servers' own waits.
pub fn pass(time: Duration) {
    std::thread::sleep(time);
}

/// What `f` returned, and how long it took.
pub fn timed<T>(f: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let value = f();
    (value, began.elapsed())
}

/// Asserts that something meant to take `expected` took it, or up to `slack` more.
///
/// Never less: what waits must not wake early. One millisecond is forgiven, because `poll` and its
/// kin count in whole ones.
#[track_caller]
pub fn within(expected: Duration, got: Duration, slack: Duration) {
    assert!(got + ms(1) >= expected, "took {got:?}, which is less than the expected {expected:?}");
    assert!(
        got <= expected + slack,
        "took {got:?}: expected {expected:?} and at most {slack:?} more"
    );
}
