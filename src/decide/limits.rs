//! The instants an attempt may not pass.
//!
//! Joins what was set (the policy's answer, the connect timeouts, the stall timeout) with what is
//! left of the call's deadline. A *timeout* is a duration that somebody chose; a *limit* is what
//! applies in the end. Limits are instants, so that nothing that blocks can stretch them.
//!
//! While another endpoint could still be tried, obtaining a connection may use up no more than half
//! of the time left (ruling R3): an endpoint that swallows connection attempts in silence must not
//! take the rest of the call with it. On the last attempt there is nothing to save time for.
//!
//! Whether the deadline is what made a limit that tight is told as well, because running into it is
//! then no evidence against the endpoint (ruling R9).
//!
//! Flow: pick → `timeout` → **limits** → attempt.
//!
//! Not here: whether time is left for an attempt at all, and which attempt is the last (`call`).

use std::time::{Duration, Instant};

/// What bounds one attempt. Instants are absolute, so that nothing that blocks can stretch them.
///
/// ```
/// use anyhost::inject::{Clock, Limits};
/// # use anyhost::testing::{Reply, ScriptedTransport};
/// # use std::time::Duration;
/// # let (a, b) = ("https://a.example", "https://b.example");
/// # let network = ScriptedTransport::new().on(a, [Reply::status(204)]).on(b, [Reply::status(204)]);
/// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
/// # let client = builder.transport(network.clone()).clock(network.clock()).build()?;
/// let began = network.clock().now();
/// client.get("/").deadline(Duration::from_secs(3)).send()?;
/// let Limits { connect_by, until, body_until, stall } = network.attempts()[0].limits;
/// assert_eq!(connect_by, Some(began + Duration::from_millis(1500))); // half of what is left
/// assert_eq!((until, body_until), (Some(began + Duration::from_secs(3)), until));
/// assert_eq!(stall, Some(Duration::from_secs(30)));
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// A connection must be obtained by then: name lookup, TCP and TLS together.
    pub connect_by: Option<Instant>,
    /// The head of the answer must be there by then.
    pub until: Option<Instant>,
    /// The whole body must be there by then: the same instant where it is read within the attempt, the
    /// deadline of the call where it is streamed (ruling R21).
    pub body_until: Option<Instant>,
    /// Longest wait for the next byte of the answer's body.
    pub stall: Option<Duration>,
}

/// The durations set for one attempt. `None` is no limit; none of them is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timeouts {
    /// What the [`TimeoutPolicy`](super::TimeoutPolicy) answered, for the whole attempt.
    pub attempt: Option<Duration>,
    /// To obtain a connection where another attempt could follow (`connect_timeout`).
    pub connect: Option<Duration>,
    /// The same on the last attempt (`connect_timeout_last`).
    pub connect_last: Option<Duration>,
    /// For the next byte of a body (`stall_timeout`).
    pub stall: Option<Duration>,
}

/// The limits of one attempt, and whether the deadline is what made them that tight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AttemptLimits {
    /// What the transport keeps.
    pub limits: Limits,
    /// Without the deadline, connecting could have gone on beyond `limits.connect_by`.
    pub connect_cut_by_deadline: bool,
    /// Without the deadline, the attempt could have gone on beyond `limits.until`.
    pub until_cut_by_deadline: bool,
}

/// The limits of an attempt that starts `now`.
///
/// * The attempt ends by its own timeout and by the deadline.
/// * A connection must be there by the connect timeout and by the end of the attempt, and, unless
///   this is the `last` attempt, by half of the time left until the deadline. That half also binds
///   where the connect timeout is off: else the first endpoint that swallows connection attempts
///   would use up the call.
///
/// A timeout too long to be an instant is none. The deadline should lie after `now`: else no attempt
/// starts, and here its limits have passed already.
pub fn limits(
    now: Instant,
    deadline: Option<Instant>,
    timeouts: Timeouts,
    last: bool,
) -> AttemptLimits {
    let from_now = |timeout: Option<Duration>| timeout.and_then(|t| now.checked_add(t));
    let own_until = from_now(timeouts.attempt);
    let own_connect = from_now(if last { timeouts.connect_last } else { timeouts.connect });

    let until = earlier(own_until, deadline);
    let half = if last { None } else { deadline.map(|deadline| halfway(now, deadline)) };
    let connect_by = earlier(own_connect, half).map(|at| until.map_or(at, |until| at.min(until)));

    AttemptLimits {
        limits: Limits { connect_by, until, body_until: until, stall: timeouts.stall },
        connect_cut_by_deadline: is_earlier(connect_by, earlier(own_connect, own_until)),
        until_cut_by_deadline: is_earlier(until, own_until),
    }
}

/// The earlier of two limits; none counts as never.
fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}

/// Strictly earlier; none counts as never.
fn is_earlier(a: Option<Instant>, b: Option<Instant>) -> bool {
    a.is_some_and(|a| b.is_none_or(|b| a < b))
}

/// Rounded up, so that it lies after `now` whenever the deadline does.
fn halfway(now: Instant, deadline: Instant) -> Instant {
    deadline - deadline.saturating_duration_since(now) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "any instant will do, and std gives no other")]
    fn now() -> Instant {
        Instant::now()
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn limits_by_table() {
        struct Row {
            name: &'static str,
            // Milliseconds; 0 is off.
            deadline: u64,
            attempt: u64,
            connect: u64,
            connect_last: u64,
            last: bool,
            // Expected: milliseconds, 0 is none, and whether the deadline did it.
            connect_by: (u64, bool),
            until: (u64, bool),
        }
        #[rustfmt::skip]
        let rows = [
            Row { name: "defaults", deadline: 0, attempt: 5000, connect: 2000, connect_last: 0, last: false, connect_by: (2000, false), until: (5000, false) },
            Row { name: "defaults, last", deadline: 0, attempt: 5000, connect: 2000, connect_last: 0, last: true, connect_by: (0, false), until: (5000, false) },
            Row { name: "deadline 4 s: half of it equals the connect timeout", deadline: 4000, attempt: 5000, connect: 2000, connect_last: 0, last: false, connect_by: (2000, false), until: (4000, true) },
            Row { name: "deadline 3 s", deadline: 3000, attempt: 5000, connect: 2000, connect_last: 0, last: false, connect_by: (1500, true), until: (3000, true) },
            Row { name: "deadline 3 s, last", deadline: 3000, attempt: 5000, connect: 2000, connect_last: 0, last: true, connect_by: (0, false), until: (3000, true) },
            Row { name: "attempt 1 s", deadline: 0, attempt: 1000, connect: 2000, connect_last: 0, last: false, connect_by: (1000, false), until: (1000, false) },
            Row { name: "attempt 1 s, deadline 3 s", deadline: 3000, attempt: 1000, connect: 2000, connect_last: 0, last: false, connect_by: (1000, false), until: (1000, false) },
            Row { name: "attempt as long as the deadline", deadline: 5000, attempt: 5000, connect: 2000, connect_last: 0, last: false, connect_by: (2000, false), until: (5000, false) },
            Row { name: "infinite attempt", deadline: 0, attempt: 0, connect: 2000, connect_last: 0, last: false, connect_by: (2000, false), until: (0, false) },
            Row { name: "infinite attempt, last", deadline: 0, attempt: 0, connect: 2000, connect_last: 0, last: true, connect_by: (0, false), until: (0, false) },
            Row { name: "infinite attempt, deadline", deadline: 9000, attempt: 0, connect: 2000, connect_last: 0, last: false, connect_by: (2000, false), until: (9000, true) },
            Row { name: "connect off", deadline: 0, attempt: 5000, connect: 0, connect_last: 0, last: false, connect_by: (0, false), until: (5000, false) },
            Row { name: "connect off, deadline: half still binds", deadline: 6000, attempt: 5000, connect: 0, connect_last: 0, last: false, connect_by: (3000, true), until: (5000, false) },
            Row { name: "connect_timeout_last", deadline: 0, attempt: 5000, connect: 2000, connect_last: 3000, last: true, connect_by: (3000, false), until: (5000, false) },
            Row { name: "connect_timeout_last, short attempt", deadline: 0, attempt: 1000, connect: 2000, connect_last: 3000, last: true, connect_by: (1000, false), until: (1000, false) },
            Row { name: "connect_timeout_last, whole deadline", deadline: 2000, attempt: 5000, connect: 2000, connect_last: 3000, last: true, connect_by: (2000, true), until: (2000, true) },
            Row { name: "connect_timeout_last is not for the others", deadline: 0, attempt: 5000, connect: 2000, connect_last: 1000, last: false, connect_by: (2000, false), until: (5000, false) },
            Row { name: "nothing set", deadline: 0, attempt: 0, connect: 0, connect_last: 0, last: false, connect_by: (0, false), until: (0, false) },
        ];
        let now = now();
        let set = |millis| (millis > 0).then(|| ms(millis));
        for row in rows {
            let timeouts = Timeouts {
                attempt: set(row.attempt),
                connect: set(row.connect),
                connect_last: set(row.connect_last),
                stall: Some(ms(30_000)),
            };
            let deadline = set(row.deadline).map(|left| now + left);
            let expected = AttemptLimits {
                limits: Limits {
                    connect_by: set(row.connect_by.0).map(|d| now + d),
                    until: set(row.until.0).map(|d| now + d),
                    body_until: set(row.until.0).map(|d| now + d),
                    stall: Some(ms(30_000)),
                },
                connect_cut_by_deadline: row.connect_by.1,
                until_cut_by_deadline: row.until.1,
            };
            assert_eq!(limits(now, deadline, timeouts, row.last), expected, "{}", row.name);
        }
    }

    /// Every combination of short, equal, long, absurd and absent values.
    #[test]
    fn limits_lie_between_now_and_the_deadline_and_follow_it() {
        let now = now();
        let values =
            [None, Some(Duration::from_nanos(1)), Some(ms(1)), Some(ms(2)), Some(Duration::MAX)];
        let lefts = [1, 2, 3, 1_000_000, 1_000_001, 5_000_000_000].map(Duration::from_nanos);
        let mut combinations = 0;
        for attempt in values {
            for connect in values {
                for connect_last in values {
                    for last in [false, true] {
                        let timeouts = Timeouts { attempt, connect, connect_last, stall: None };
                        let free = limits(now, None, timeouts, last);
                        assert!(!free.connect_cut_by_deadline && !free.until_cut_by_deadline);
                        let mut shorter = None::<AttemptLimits>;
                        for left in lefts {
                            let deadline = now + left;
                            let got = limits(now, Some(deadline), timeouts, last);
                            let (connect_by, until) = (got.limits.connect_by, got.limits.until);
                            let of = format!("{timeouts:?}, last {last}, left {left:?}: {got:?}");

                            assert!(until.is_some_and(|u| now < u && u <= deadline), "{of}");
                            assert!(connect_by.is_none_or(|c| now < c && Some(c) <= until), "{of}");
                            assert!(last || connect_by.is_some(), "{of}");
                            let after_half = |c: Instant| (c - now) > left - left / 2;
                            assert!(last || !connect_by.is_some_and(after_half), "{of}");

                            assert_eq!(
                                got.until_cut_by_deadline,
                                until != free.limits.until,
                                "{of}"
                            );
                            if let Some(shorter) = shorter {
                                assert!(shorter.limits.until <= until, "more time left, {of}");
                                assert!(shorter.limits.connect_by <= connect_by, "{of}");
                            }
                            shorter = Some(got);
                            combinations += 1;
                        }
                    }
                }
            }
        }
        assert_eq!(combinations, 5 * 5 * 5 * 2 * 6);
    }

    #[test]
    fn a_deadline_that_has_passed_leaves_no_time_and_does_not_panic() {
        let now = now() + ms(10);
        let timeouts =
            Timeouts { attempt: Some(ms(5)), connect: Some(ms(5)), ..Timeouts::default() };
        let got = limits(now, Some(now - ms(10)), timeouts, false);
        assert_eq!(got.limits.until, Some(now - ms(10)));
        assert_eq!(got.limits.connect_by, Some(now - ms(10)));
        assert!(got.connect_cut_by_deadline && got.until_cut_by_deadline);
    }
}
