//! Retry-After beside Date (ruling R10). The first line is `Date`, the others are values.

use anyhost::decide::retry_after;
use std::time::Duration;

pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.split('\n');
    let date = lines.next();
    let lines: Vec<&str> = lines.collect();
    for wall_clock in [0, 784_111_777, 1_800_000_000, u64::MAX] {
        let wait = retry_after(lines.iter().copied(), date, wall_clock);
        assert_ne!(wait, Some(Duration::ZERO));
        // The longest of the lines by themselves, and as the seconds say where it is seconds.
        let alone = |line: &&str| retry_after([*line], date, wall_clock);
        assert_eq!(wait, lines.iter().filter_map(alone).max());
        for line in &lines {
            if let Ok(seconds @ 1..) = line.parse::<u32>() {
                if !line.starts_with('+') {
                    assert_eq!(alone(line), Some(Duration::from_secs(seconds.into())));
                }
            }
        }
    }
}
