//! Decides what wait a `Retry-After` header asks for (RFC 9110, section 10.2.3; R10).
//!
//! A date is compared with the `Date` of the same answer where it has one, so that a clock that is
//! wrong on either side does not change the wait; without it, with the wall clock at receipt. Either
//! way the result is a duration, to be turned into an instant of the monotonic clock at once: a wall
//! clock that jumps later changes nothing.
//!
//! Flow: `record` reads it from the head of a 429 or 503 and hands it to `circuit` or to the cooling
//! of the endpoint.
//!
//! Not here: on which statuses it counts (`classify`), its maximum (`circuit`, which cuts it to the
//! maximum delay), the form of dates (`http_date`).

use crate::decide::http_date;
use std::time::Duration;

/// The wait that the `Retry-After` lines of one answer ask for. Not capped: cut it to the maximum
/// delay before adding it to an instant.
///
/// `lines` are the values of the header as received, `date` that of `Date`, `wall_clock` the seconds
/// since 1970 when the head of the answer came in. Of several valid lines the longest wait counts.
///
/// `None` where no line asks for a wait: none is there or valid, the date is past, or the wait is 0.
/// So `Retry-After: 0` does not make a circuit open below its threshold.
///
/// ```
/// use anyhost::decide::retry_after;
/// use std::time::Duration;
///
/// let two_minutes = Some(Duration::from_secs(120));
/// assert_eq!(retry_after(["120"], None, 0), two_minutes);
///
/// let (then, now) = ("Sun, 06 Nov 1994 08:51:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT");
/// assert_eq!(retry_after([then], Some(now), 0), two_minutes);
/// assert_eq!(retry_after(["-1"], None, 0), None);
/// ```
pub fn retry_after<'a>(
    lines: impl IntoIterator<Item = &'a str>,
    date: Option<&str>,
    wall_clock: u64,
) -> Option<Duration> {
    // A wall clock beyond the last date with a year of four digits is cut to it.
    let wall_clock = i64::try_from(wall_clock).map_or(END_OF_9999, |now| now.min(END_OF_9999));
    let now =
        date.and_then(|date| http_date::seconds(trim(date), wall_clock)).unwrap_or(wall_clock);
    let longest = lines.into_iter().filter_map(|line| seconds_from(now, trim(line))).max()?;
    (longest > 0).then(|| Duration::from_secs(longest))
}

/// Seconds to wait by one line. More seconds than fit are as many as fit.
fn seconds_from(now: i64, line: &str) -> Option<u64> {
    if !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(line.parse().unwrap_or(u64::MAX));
    }
    u64::try_from(http_date::seconds(line, now)? - now).ok()
}

/// Without the blanks and tabs that HTTP allows around a value.
fn trim(value: &str) -> &str {
    value.trim_matches([' ', '\t'])
}

/// Fri, 31 Dec 9999 23:59:59 GMT.
const END_OF_9999: i64 = 253_402_300_799;
