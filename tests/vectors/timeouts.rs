//! Timeouts: H-1 to H-15 (seed 002) and X-1 to X-5 (the same across endpoints).
//!
//! The neighbouring rows are about other decisions. Where each of them went:
//!
//! | row | what it is about | where, by which ruling |
//! |---|---|---|
//! | H-20 | limit met while reading the body: a timeout | counted here, last test; the limit covers the body by R9; no partial answer is handed out (R11, R13) |
//! | H-21 | deadline during an attempt | `limits` names it as the deadline's doing, `call` ends with DEADLINE; the attempt is neutral (R9) |
//! | H-22 | deadline during a wait | `call`: ends at once if the wait would pass it; an answer already there is the result (R9, R11) |
//! | H-23 | POST, always 503: 6 attempts | differs: an answered POST is not sent again (R1); the 503 is the result, no error (R11) |
//! | H-24 | 404: one attempt, no error | `classify`: an answer is an answer (R4, R11) |
//! | H-25 | `Times(n)` | `call`: `max_attempts` counts attempts, so `Times(n)` is n + 1 (R11 for the retry predicate) |
//! | H-26 | ceilings of full jitter, 50 ms to 1 s | `retry`: `backoff_base`, `backoff_max` |
//! | H-27 | ceilings do not overflow | `retry` |
//! | H-28 | body shorter than Content-Length | transport: a truncation (R13) |
//! | H-29 | timeout, 503, reset, end, short body, then 204 | `call`, for a GET; the number of timeouts is counted here, last test |
//! | H-30 | 500 is not retried | `classify` (R1) |
//! | H-31 | a timeout that wraps a reset is a timeout | does not arise: causes are typed, nothing is unwrapped |
//! | H-32, H-33 | racing attempts | not built: a second copy in flight would break R1 |
//! | H-34 | cancel after a complete answer | differs: the answer is kept (R11) |

use anyhost::decide::{Cause, Ending, Execution, Limit, Phase, Report, Timeout, TimeoutPolicy};
use std::time::Duration;

/// How an attempt of a history ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Past {
    /// Its limit was met while waiting for the head of the answer.
    TimedOut,
    /// Its limit was met inside the body of the answer.
    TimedOutInBody,
    /// The connect limit was met.
    ConnectLimit,
    /// The attempt limit was met while connecting: nothing had been sent.
    TimedOutConnecting,
    /// It failed in another way, after sending.
    Failed,
    /// It brought a complete 503.
    Answered503,
}

use Past::*;

fn report(past: Past) -> Report {
    let (phase, ending) = match past {
        TimedOut => (Phase::Head, Ending::Failed(Cause::TimedOut(Limit::Attempt))),
        TimedOutInBody => (Phase::Body, Ending::Failed(Cause::TimedOut(Limit::Attempt))),
        ConnectLimit => (Phase::Connect, Ending::Failed(Cause::TimedOut(Limit::Connect))),
        TimedOutConnecting => (Phase::Connect, Ending::Failed(Cause::TimedOut(Limit::Attempt))),
        Failed => (Phase::Head, Ending::Failed(Cause::Reset)),
        Answered503 => (Phase::Body, Ending::Answered),
    };
    let mut report = Report::new();
    report.phase = phase;
    report.ending = ending;
    report.status = (phase == Phase::Body).then_some(503);
    report.asked_to_send = phase >= Phase::Send;
    report
}

fn after(history: &[Past]) -> Execution {
    let mut execution = Execution::default();
    history.iter().for_each(|past| execution.record(&report(*past)));
    execution
}

/// So many attempts timed out in all, and the last one did or did not.
fn counted(timeouts: u32, last_timed_out: bool) -> Execution {
    let mut execution = Execution::default();
    execution.attempt = 10;
    execution.ended = 9;
    execution.timeouts = timeouts;
    execution.last_timed_out = last_timed_out;
    execution
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn adaptive(usual: u64, after: &[u64]) -> Timeout {
    Timeout::adaptive(ms(usual), after.iter().copied().map(ms)).expect("no limit is zero")
}

#[test]
fn h_1_to_h_8_adaptive_by_history() {
    let timeout = adaptive(200, &[1_000, 10_000]);
    for (id, history, limit) in [
        ("H-1", &[][..], 200),
        ("H-2", &[TimedOut], 1_000),
        ("H-3", &[TimedOut, TimedOut], 10_000),
        ("H-4", &[TimedOut; 4], 10_000),
        ("H-5", &[TimedOut, Answered503], 200),
        ("H-6", &[TimedOut, Answered503, TimedOut], 10_000),
        ("H-7", &[Failed], 200),
        ("H-8", &[TimedOut, Failed, Failed, TimedOut, Failed], 200),
    ] {
        let got = timeout.attempt_timeout(&after(history));
        assert_eq!(got, Some(ms(limit)), "{id}: after {history:?}");
    }
}

#[test]
fn h_9_to_h_12_adaptive_by_count() {
    let timeout = adaptive(5, &[10, 100]);
    for (id, timeouts, last_timed_out, limit) in [
        ("H-9", 1, true, 10),
        ("H-10", 1, false, 5),
        ("H-11", 2, false, 5),
        ("H-12", 2, true, 100),
        ("H-12", 3, true, 100),
        ("H-12", u32::MAX, true, 100),
    ] {
        let got = timeout.attempt_timeout(&counted(timeouts, last_timed_out));
        assert_eq!(got, Some(ms(limit)), "{id}: {timeouts} timeouts, last {last_timed_out}");
    }
}

#[test]
fn h_13_adaptive_without_more_is_fixed() {
    assert_eq!(adaptive(700, &[]), Timeout::fixed(ms(700)).expect("not zero"));
    for history in [&[][..], &[TimedOut], &[TimedOut, Failed], &[TimedOut; 5]] {
        let got = adaptive(700, &[]).attempt_timeout(&after(history));
        assert_eq!(got, Some(ms(700)), "H-13: after {history:?}");
    }
}

#[test]
fn h_14_and_h_15_fixed_and_the_default() {
    let hours = Duration::from_secs(33 * 3600);
    let fixed = Timeout::fixed(hours).expect("not zero");
    for history in [&[][..], &[TimedOut], &[TimedOut, TimedOut]] {
        let got = fixed.attempt_timeout(&after(history));
        assert_eq!(got, Some(hours), "H-14: after {history:?}");
    }
    let got = Timeout::default().attempt_timeout(&counted(3, true));
    assert_eq!(got, Some(Duration::from_secs(5)), "H-15");
}

#[test]
fn infinite_sets_no_limit_after_any_history() {
    for history in [&[][..], &[TimedOut], &[TimedOut, Failed]] {
        assert_eq!(Timeout::infinite().attempt_timeout(&after(history)), None, "{history:?}");
    }
}

/// X-4 (a POST that timed out is not sent again) is no question of time: `classify`, ruling R1.
#[test]
fn x_1_to_x_5_only_timeouts_after_sending_began_step_up() {
    let timeout = adaptive(200, &[1_000, 10_000]);
    for (id, history, limit) in [
        ("X-1", &[ConnectLimit][..], 200),
        ("X-1, attempt limit met while connecting", &[TimedOutConnecting], 200),
        ("X-1, not counted later either", &[ConnectLimit, TimedOut], 1_000),
        ("X-1, counts as did not time out", &[TimedOut, ConnectLimit], 200),
        ("X-2", &[TimedOut], 1_000),
        ("X-3", &[TimedOut, Answered503], 200),
        ("X-5", &[Failed], 200),
        ("X-5, by the connect limit", &[ConnectLimit], 200),
    ] {
        let got = timeout.attempt_timeout(&after(history));
        assert_eq!(got, Some(ms(limit)), "{id}: after {history:?}");
    }
}

/// Every history of up to seven attempts, against the seed's sentence read literally.
#[test]
fn adaptive_equals_the_seed_on_every_history() {
    let limits = [200, 1_000, 10_000];
    let timeout = adaptive(limits[0], &limits[1..]);
    let kinds = [TimedOut, Failed, Answered503, ConnectLimit];
    let mut histories = vec![vec![]];
    let mut seen = 0;
    while let Some(history) = histories.pop() {
        let timeouts = history.iter().filter(|past| **past == TimedOut).count();
        let seed =
            if history.last() == Some(&TimedOut) { limits[timeouts.min(2)] } else { limits[0] };
        let execution = after(&history);
        assert_eq!(timeout.attempt_timeout(&execution), Some(ms(seed)), "after {history:?}");
        assert_eq!(execution.ended as usize, history.len());
        assert_eq!(execution.attempt, execution.ended + 1);
        seen += 1;
        if history.len() < 7 {
            histories.extend(kinds.map(|kind| [&history[..], &[kind]].concat()));
        }
    }
    assert_eq!(seen, (4_usize.pow(8) - 1) / 3);
}

#[test]
fn h_20_and_h_29_a_timeout_in_the_body_counts_and_other_ends_do_not() {
    let execution = after(&[TimedOutInBody]);
    assert_eq!((execution.ended, execution.timeouts), (1, 1), "H-20");
    let execution = after(&[TimedOut, Answered503, Failed, Failed, Failed]);
    assert_eq!((execution.ended, execution.timeouts), (5, 1), "H-29");
}
