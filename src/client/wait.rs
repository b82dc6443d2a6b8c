//! A wait as people and programs get it.

use std::time::Duration;

/// In whole milliseconds: 0 where there is no wait, and never 0 where there is one, so that who waits so
/// long does not come too early.
pub(crate) fn whole_ms(wait: Duration) -> u64 {
    u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_millisecond_is_a_wait() {
        let ms = |nanos| whole_ms(Duration::from_nanos(nanos));
        assert_eq!([0, 1, 1_000_000, 1_000_001].map(ms), [0, 1, 1, 2]);
        assert_eq!(whole_ms(Duration::MAX), u64::MAX);
    }
}
