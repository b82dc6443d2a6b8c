//! Seed 001, vectors B-*: the keyed breaker, the circuit of an endpoint and the backoff.
//!
//! Not here, and where they are decided:
//!
//! | vector | of | what became of it |
//! |---|---|---|
//! | B-8 | backoff(1000) | within the seed's range, at its lower end: the maximum is kept (R6, B-B1) |
//! | B-14, B-16, B-17 | errors of the round-tripper | R11: an answer is returned; R19 makes it an error |
//! | B-18 | request filter, extra failures | R11: `judge` |
//! | B-19 | jitter of -5 s and 0 | no such durations: a `Duration` is not negative, base 0 is refused |
//! | B-21 | keys `h` and `h:443` | R6: the key is scheme, lower-case host and port |
//! | B-23, B-24 | late outcomes | kept by the keyed breaker; for tickets R6 replaces them (X-20) |
//! | B-25 | cancelled requests open it | R6: neutral (X-22) |
//! | B-26 | judged at the headers | R21: a body that breaks later is one more failure |
//! | B-27, B-28 | threshold 0, base 0 | refused (B-B10) |
//! | B-29 | Retry-After ignored | R10: honoured |

use anyhost::decide::{Backoff, BreakerSettings, Change, Circuit, CircuitState, CircuitTicket};
use anyhost::sys::{Clock, Rng, now};
use anyhost::{Breaker, CircuitOpen};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

const NANO: Duration = Duration::from_nanos(1);
const HOUR: Duration = Duration::from_secs(3600);

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn settings(threshold: u32, base: u64, max: u64, jitter: bool) -> BreakerSettings {
    BreakerSettings::new(threshold, secs(base), secs(max), jitter).unwrap()
}

struct ManualClock(Mutex<Instant>);

impl ManualClock {
    fn new() -> Arc<Self> {
        Arc::new(ManualClock(Mutex::new(now())))
    }

    fn pass(&self, time: Duration) {
        *self.0.lock().unwrap() += time;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }

    fn sleep_until(&self, _: Instant) {
        unreachable!("a breaker does not sleep");
    }

    fn unix_seconds(&self) -> u64 {
        0
    }
}

/// One step of a script for a single key.
#[derive(Debug, Clone, Copy)]
enum Do {
    /// A failure; the seconds, from and to inclusive, that its wait lies in.
    Fail(u64, u64),
    Succeed,
    Allowed,
    Refused,
    /// Refused for exactly the wait that the last failure returned.
    RefusedForThat,
    RefusedFor(u64),
    /// Time passes, in seconds.
    Pass(u64),
    /// The wait that the last failure returned passes.
    PassThat,
    /// That wait less 1 ns passes.
    PassAlmostThat,
    PassNano,
}

#[test]
fn keyed_breaker() {
    use Do::*;
    let defaults = BreakerSettings::default;
    let plain = || settings(5, 30, 3600, false);
    let to_open = [Fail(30, 60), Fail(60, 120), Fail(120, 240), Fail(240, 480)];
    let twenty_at_once =
        [vec![Fail(0, 3600); 7], vec![Fail(3600, 3600); 13], vec![RefusedFor(3600)]].concat();
    let four = vec![Fail(1, 3600); 4];

    let rows: Vec<(&str, BreakerSettings, Vec<Do>)> = vec![
        ("B-1", defaults(), to_open.iter().flat_map(|fail| [*fail, Allowed]).collect()),
        ("B-2", defaults(), [&to_open[..], &[Fail(480, 960), RefusedForThat]].concat()),
        (
            "B-3",
            defaults(),
            [&to_open[..], &[Fail(480, 960), PassThat, PassNano, Allowed, Refused]].concat(),
        ),
        (
            "B-4",
            defaults(),
            [&to_open[..], &[Fail(480, 960), PassAlmostThat, Refused, PassNano, Allowed]].concat(),
        ),
        (
            "B-5",
            defaults(),
            [&to_open[..], &[Fail(480, 960), PassThat, Allowed, Fail(960, 1920), RefusedForThat]]
                .concat(),
        ),
        (
            "B-6",
            defaults(),
            [
                &to_open[..],
                &[Fail(480, 960), PassThat, Allowed, Fail(960, 1920), Succeed, Allowed],
                // The counter is gone: the arithmetic begins anew.
                &[Fail(30, 60), Allowed],
            ]
            .concat(),
        ),
        ("B-7", settings(1, 1, 2, true), vec![Fail(1, 2), Refused, Fail(2, 4), Refused]),
        (
            "B-9",
            settings(3, 1, 60, true),
            vec![Fail(1, 2), Fail(2, 4), Fail(4, 8), Refused, Succeed, Allowed],
        ),
        (
            "B-10",
            settings(3, 1, 60, false),
            [1, 2, 4, 8, 16, 32, 60, 60, 60].map(|wait| Fail(wait, wait)).to_vec(),
        ),
        // A lost probe: the next may pass one window of the same count later, not before.
        (
            "B-11, B-12",
            plain(),
            [
                vec![Fail(30, 480); 5],
                vec![Pass(480), Allowed, RefusedFor(480), Pass(479), RefusedFor(1), Pass(1)],
                vec![Allowed, RefusedFor(480)],
            ]
            .concat(),
        ),
        (
            "B-13",
            plain(),
            [vec![Fail(30, 480); 5], vec![Pass(480), Allowed, Fail(960, 960), RefusedFor(960)]]
                .concat(),
        ),
        ("B-15", defaults(), [four.clone(), vec![Succeed], four, vec![Allowed]].concat()),
        (
            "B-22",
            plain(),
            [
                vec![Fail(30, 120); 3],
                vec![Pass(7 * 24 * 3600)],
                vec![Fail(240, 240), Allowed, Fail(480, 480), Refused],
            ]
            .concat(),
        ),
        ("B-23", plain(), twenty_at_once),
        ("B-24", plain(), [vec![Fail(30, 480); 5], vec![Refused, Succeed, Allowed]].concat()),
    ];

    for (vector, settings, script) in rows {
        let clock = ManualClock::new();
        let breaker = Breaker::<String>::new(settings).clock(clock.clone()).seed(1);
        let mut last = Duration::ZERO;
        for (step, what) in script.iter().enumerate() {
            let at = format!("{vector}, step {step}: {what:?}");
            let refused_for =
                |wait| assert_eq!(breaker.allow("h"), Err(CircuitOpen { wait }), "{at}");
            match *what {
                Fail(from, to) => {
                    last = breaker.record_failure("h");
                    assert!((secs(from)..=secs(to)).contains(&last), "{at}, but {last:?}");
                    assert!(last <= settings.backoff().max(), "{at}, but {last:?}");
                }
                Succeed => breaker.record_success("h"),
                Allowed => assert_eq!(breaker.allow("h"), Ok(()), "{at}"),
                Refused => assert!(breaker.allow("h").unwrap_err().wait > Duration::ZERO, "{at}"),
                RefusedForThat => refused_for(last),
                RefusedFor(wait) => refused_for(secs(wait)),
                Pass(time) => clock.pass(secs(time)),
                PassThat => clock.pass(last),
                PassAlmostThat => clock.pass(last - NANO),
                PassNano => clock.pass(NANO),
            }
        }
    }
}

#[test]
fn b3_one_probe_among_32_threads() {
    let clock = ManualClock::new();
    let breaker = Breaker::<(&str, u16)>::new(settings(1, 30, 60, false)).clock(clock.clone());
    let key = ("db.example", 5432);
    breaker.record_failure(&key);
    for window in 0..20 {
        clock.pass(secs(30));
        let (start, allowed) = (Barrier::new(32), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..32 {
                scope.spawn(|| {
                    start.wait();
                    if breaker.allow(&key).is_ok() {
                        allowed.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(allowed.into_inner(), 1, "B-3, P-3, X-19: window {window}");
    }
}

/// How many keys a breaker says it holds.
fn keys(breaker: &Breaker<u32>) -> usize {
    let shown = format!("{breaker:?}");
    shown.split("keys: ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap()
}

#[test]
fn quiet_keys_are_dropped() {
    let clock = ManualClock::new();
    let breaker = Breaker::<u32>::new(settings(1, 10, 100, false)).clock(clock.clone());
    let mut most = 0;
    for key in 0..20_000u32 {
        breaker.record_failure(&key);
        if let Some(earlier) = key.checked_sub(5) {
            let wait = breaker.record_failure(&earlier);
            assert_eq!(wait, secs(20), "B-B9: key {earlier} is not quiet, and was not forgotten");
        }
        most = most.max(keys(&breaker));
        clock.pass(secs(1));
    }
    assert_eq!(most, 1024, "B-B9: some 130 keys at a time are not quiet");
}

#[test]
fn many_failing_keys_are_kept_and_cleaned_when_their_number_doubled() {
    let clock = ManualClock::new();
    let breaker = Breaker::<u32>::new(settings(2, 10, 100, false)).clock(clock.clone());
    for key in 0..3000 {
        breaker.record_failure(&key);
    }
    assert_eq!(keys(&breaker), 3000, "B-B9: none is quiet");
    clock.pass(secs(110) + NANO);
    for key in 3000..4096 {
        breaker.record_failure(&key);
    }
    assert_eq!(keys(&breaker), 4096, "B-22: quiet keys stay until the table has doubled");
    breaker.record_failure(&4096);
    assert_eq!(keys(&breaker), 1097, "B-B9: the 3000 quiet ones are gone");
}

#[test]
fn backoff_before_jitter() {
    type Row = (&'static str, Backoff, &'static [(u32, u64)]);
    let rows: [Row; 3] = [
        (
            "B-2, the table at the defaults",
            settings(5, 30, 3600, false).backoff(),
            &[
                (0, 30),
                (1, 30),
                (2, 60),
                (3, 120),
                (4, 240),
                (5, 480),
                (6, 960),
                (7, 1920),
                (8, 3600),
                (9, 3600),
                (1000, 3600),
                (u32::MAX, 3600),
            ],
        ),
        (
            "B-10",
            settings(3, 1, 60, false).backoff(),
            &[(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (7, 60), (8, 60), (9, 60)],
        ),
        ("base = max", settings(1, 7, 7, false).backoff(), &[(0, 7), (1, 7), (2, 7)]),
    ];
    for (vector, backoff, expected) in rows {
        for &(failures, seconds) in expected {
            assert_eq!(
                backoff.after(failures, u64::MAX),
                secs(seconds),
                "{vector}: n = {failures}"
            );
        }
    }
    let widest = Backoff::new(NANO, Backoff::LONGEST, true).unwrap();
    assert_eq!(widest.after(u32::MAX, u64::MAX), Backoff::LONGEST);
    assert_eq!(widest.after(55, 0), Duration::from_nanos(1 << 54), "doubled 54 times");
    assert_eq!(widest.after(56, 0), Backoff::LONGEST, "doubled 55 times is cut");
}

#[test]
fn jitter_stays_within_its_range_and_the_maximum() {
    let defaults = BreakerSettings::default().backoff();
    let minute = settings(1, 60, 3600, true).backoff();
    let rows = [
        ("B-8", defaults, 1, 30, 60),
        ("B-8", defaults, 3, 120, 240),
        ("B-8, B-B1", defaults, 1000, 3600, 3600),
        ("B-B1", defaults, 7, 1920, 3600),
        ("B-20", minute, 1, 60, 120),
    ];
    for (vector, backoff, failures, from, to) in rows {
        let (from, to) = (secs(from), secs(to));
        let mut rng = Rng::seeded(20);
        let draws: Vec<_> = (0..1000)
            .map(|_| rng.next_u64())
            .map(|random| backoff.after(failures, random))
            .collect();
        assert!(draws.iter().all(|wait| (from..=to).contains(wait)), "{vector}");

        // Both ends exactly; the upper one is only reached by being cut to the maximum.
        assert_eq!(backoff.after(failures, 0), from, "{vector}");
        let top = if to == HOUR { to } else { to - NANO };
        assert_eq!(backoff.after(failures, u64::MAX), top, "{vector}");

        // Spread over the range, not merely inside it: each quarter gets its share where none is cut.
        if to == from * 2 {
            for quarter in 0..4 {
                let (low, high) = (from + from / 4 * quarter, from + from / 4 * (quarter + 1));
                let count = draws.iter().filter(|wait| (low..high).contains(wait)).count();
                assert!((200..300).contains(&count), "{vector}: {count} in quarter {quarter}");
            }
        }
    }
}

#[test]
fn h26_full_jitter() {
    let ms = Duration::from_millis;
    let backoff = Backoff::new(ms(50), ms(1000), false).unwrap();
    for (returns, ceiling) in (0..).zip([50, 100, 200, 400, 800, 1000, 1000]) {
        let vector = format!("H-26: attempt {returns}");
        assert_eq!(backoff.full_jitter(returns, 0), Duration::ZERO, "{vector}");
        assert_eq!(backoff.full_jitter(returns, 1 << 63), ms(ceiling) / 2, "{vector}");
        assert_eq!(backoff.full_jitter(returns, u64::MAX), ms(ceiling) - NANO, "{vector}");
    }
    assert_eq!(backoff.full_jitter(u32::MAX, 1 << 63), ms(500), "H-26: any attempt");
}

#[test]
fn useless_settings_are_refused() {
    let (zero, day) = (Duration::ZERO, secs(24 * 3600));
    let rows = [
        ("B-27", 0, secs(30), HOUR, "the failure threshold must be at least 1"),
        ("B-28", 5, zero, HOUR, "the base delay must be longer than 0"),
        ("B-28", 5, zero, zero, "the base delay must be longer than 0"),
        (
            "B-B10",
            5,
            HOUR + NANO,
            HOUR,
            "the base delay (3600.000000001s) is longer than the maximum delay (3600s)",
        ),
        (
            "B-B10",
            5,
            NANO,
            day * 365 + NANO,
            "the maximum delay (31536000.000000001s) is longer than 365 days",
        ),
    ];
    for (vector, threshold, base, max, text) in rows {
        let refused = BreakerSettings::new(threshold, base, max, true).unwrap_err();
        assert_eq!(refused.to_string(), text, "{vector}");
    }
    assert!(BreakerSettings::new(1, NANO, NANO, true).is_ok());
    assert!(BreakerSettings::new(u32::MAX, NANO, day * 365, true).is_ok());

    let defaults = BreakerSettings::default();
    assert_eq!(Ok(defaults), BreakerSettings::new(5, secs(30), HOUR, true), "R6");
}

/// 7.6: the wait is the longer of backoff and Retry-After, at most the maximum, and opens a circuit
/// below its threshold. A wait of 0 or none leaves it closed.
#[test]
fn retry_after_opens_below_the_threshold() {
    let rows = [
        ("120", Some(secs(120)), 120, true),
        ("10", Some(secs(10)), 30, true),
        ("86400", Some(secs(86_400)), 3600, true),
        ("beyond any clock", Some(Duration::MAX), 3600, true),
        ("ignored", None, 30, false),
        ("0", Some(Duration::ZERO), 30, false),
    ];
    for (value, asked, wait, opens) in rows {
        let vector = format!("B-29, R10, 7.6: {value}");
        let t0 = now();
        let mut circuit = Circuit::new(settings(5, 30, 3600, false));
        let ticket = circuit.enter(t0, 0).unwrap();
        let change = circuit.fail(ticket, asked, t0, 0);
        assert_eq!(change, if opens { Change::Opened } else { Change::Kept }, "{vector}");
        assert_eq!(circuit.wait(t0), secs(wait), "{vector}");
        assert_eq!(circuit.failures(), 1, "{vector}");
        let state = if opens {
            CircuitState::Cooling { until: t0 + secs(wait) }
        } else {
            CircuitState::Eligible
        };
        assert_eq!(circuit.state(t0), state, "{vector}");
    }
}

/// A circuit that opened at `t0` with `n` failures.
fn opened(settings: BreakerSettings, n: u32, t0: Instant) -> Circuit {
    let mut circuit = Circuit::new(settings);
    for _ in 0..n {
        let ticket = circuit.enter(t0, 0).unwrap();
        circuit.fail(ticket, None, t0, 0);
    }
    circuit
}

#[test]
fn a_probe_judges_the_recovery() {
    let t0 = now();
    let fresh = || opened(settings(1, 10, 100, false), 1, t0);
    let until = t0 + secs(10);
    assert_eq!(fresh().state(t0), CircuitState::Cooling { until }, "P-1");
    assert_eq!(fresh().enter(until - NANO, 0), Err(NANO), "P-2");
    assert_eq!(fresh().state(until), CircuitState::ProbeAllowed, "B-4, P-3");

    let probed = |at: Instant| {
        let mut circuit = fresh();
        let probe = circuit.enter(at, 0).unwrap();
        assert!(probe.is_probe());
        assert_eq!(circuit.enter(at, 0), Err(secs(10)), "P-3: one probe");
        (circuit, probe)
    };

    let (mut circuit, probe) = probed(until);
    assert_eq!(circuit.succeed(probe), Change::Closed, "P-4");
    assert_eq!((circuit.failures(), circuit.wait(until)), (0, Duration::ZERO), "P-4");
    assert!(!circuit.enter(until, 0).unwrap().is_probe(), "P-4");
    // Its streamed body breaks later: one more failure, on the ticket that closed the circuit.
    assert_eq!(circuit.fail(probe, None, until, 0), Change::Opened, "R21, B-26");

    let (mut circuit, mut probe) = probed(until);
    let mut at = until;
    for (k, wait) in [(2, 20), (3, 40), (4, 80), (5, 100), (6, 100)] {
        assert_eq!(circuit.fail(probe, None, at, 0), Change::Opened, "P-5: failure {k}");
        assert_eq!((circuit.failures(), circuit.wait(at)), (k, secs(wait)), "P-5, B-13");
        at += secs(wait);
        probe = circuit.enter(at, 0).unwrap();
    }

    // Inconclusive, or dropped: the window that began with the probe runs on, nothing grows.
    let (mut circuit, probe) = probed(until);
    assert_eq!(circuit.release(probe), Change::Kept, "P-6, P-14");
    assert_eq!(circuit.failures(), 1, "P-6, P-14");
    assert_eq!(circuit.enter(until + secs(10) - NANO, 0), Err(NANO), "P-6, P-14");
    assert!(circuit.enter(until + secs(10), 0).unwrap().is_probe(), "P-6, P-14");

    // Lost: its outcome counts as long as no other probe has started, and not after that.
    let (mut circuit, lost) = probed(until);
    assert_eq!(circuit.succeed(lost), Change::Closed, "B-11");
    let (mut circuit, lost) = probed(until);
    let second = circuit.enter(until + secs(10), 0).unwrap();
    assert_eq!(circuit.succeed(lost), Change::Stale, "B-11");
    assert_eq!(circuit.fail(lost, None, until + secs(11), 0), Change::Stale, "B-11");
    assert_eq!(circuit.fail(second, None, until + secs(11), 0), Change::Opened, "B-11");
    assert_eq!(circuit.failures(), 2, "B-11");
}

#[test]
fn r8_an_early_probe() {
    let t0 = now();
    let mut circuit = Circuit::new(settings(5, 10, 3600, false));
    let ticket = circuit.enter_early(t0, 0).unwrap();
    assert!(!ticket.is_probe(), "nothing to try early in a closed circuit");
    circuit.fail(ticket, Some(secs(600)), t0, 0);

    let early = circuit.enter_early(t0 + secs(1), 0).unwrap();
    assert!(early.is_probe());
    assert_eq!(circuit.enter_early(t0 + secs(2), 0), Err(secs(598)), "one call at a time");
    circuit.release(early);
    assert_eq!(circuit.enter(t0 + secs(2), 0), Err(secs(598)), "the wait asked for runs on");

    let early = circuit.enter_early(t0 + secs(2), 0).unwrap();
    assert_eq!(circuit.fail(early, None, t0 + secs(3), 0), Change::Opened);
    assert_eq!(circuit.wait(t0 + secs(3)), secs(597), "a short backoff does not shorten it");

    let early = circuit.enter_early(t0 + secs(3), 0).unwrap();
    assert_eq!(circuit.succeed(early), Change::Closed);
}

#[test]
fn r7_what_is_enabled_again_starts_with_a_probe() {
    let t0 = now();
    for failures in [0, 1, 5] {
        let mut circuit = opened(settings(5, 10, 3600, false), failures, t0);
        let before = circuit.current_ticket();
        circuit.require_probe();
        assert_eq!(circuit.state(t0), CircuitState::ProbeAllowed, "R7: {failures} failures");
        assert_eq!(circuit.succeed(before), Change::Stale, "P-13: {failures} failures");
        let probe = circuit.enter(t0, 0).unwrap();
        assert!(probe.is_probe() && circuit.enter(t0, 0).is_err(), "R7: {failures} failures");
        assert_eq!(circuit.fail(probe, None, t0, 0), Change::Opened, "R7: {failures} failures");
    }
}

#[test]
fn x20_requests_in_flight_count_once() {
    let t0 = now();
    let mut circuit = Circuit::new(BreakerSettings::default());
    let in_flight: Vec<CircuitTicket> = (0..20).map(|_| circuit.enter(t0, 0).unwrap()).collect();
    let changes: Vec<Change> =
        in_flight.iter().map(|ticket| circuit.fail(*ticket, None, t0, 1 << 63)).collect();
    let expected = [vec![Change::Kept; 4], vec![Change::Opened], vec![Change::Stale; 15]].concat();
    assert_eq!(changes, expected, "X-20");
    assert_eq!((circuit.failures(), circuit.wait(t0)), (5, secs(720)), "X-20: half of 480-960 s");

    // One that began before the opening succeeds after it (B-24 with tickets).
    assert_eq!(circuit.succeed(in_flight[0]), Change::Stale, "B-B4");
    assert!(matches!(circuit.state(t0), CircuitState::Cooling { .. }), "B-B4");
}

#[test]
fn x22_neutral_outcomes_change_nothing() {
    let t0 = now();
    let mut circuit = opened(settings(5, 30, 3600, false), 4, t0);
    for _ in 0..10 {
        let ticket = circuit.enter(t0, 0).unwrap();
        assert_eq!(circuit.release(ticket), Change::Kept, "X-22, B-25");
    }
    assert_eq!((circuit.failures(), circuit.state(t0)), (4, CircuitState::Eligible), "X-22");
}

/// Random schedules against a model that knows nothing of generations: it numbers the tickets itself
/// and remembers which may still count.
#[test]
fn circuit_keeps_its_rules_on_any_schedule() {
    for seed in 0..60 {
        let mut rng = Rng::seeded(seed);
        let threshold = 1 + (rng.next_u64() % 4) as u32;
        let mut circuit = Circuit::new(settings(threshold, 10, 100, false));
        let mut at = now();
        let backoff = |n: u32| secs(100.min(10 << n.saturating_sub(1).min(10)));

        // The model: failures in a row, the end of the wait if open, and the tickets out, each with
        // the epoch it was given in. An epoch ends when the circuit opens or a probe starts.
        let (mut failures, mut open_until, mut epoch) = (0, None::<Instant>, 0);
        let mut probing = false;
        let mut out: VecDeque<(CircuitTicket, u32)> = VecDeque::new();
        let (mut probes, mut stale, mut closed) = (0, 0, 0);

        for step in 0..4000 {
            let at_step = format!("seed {seed}, step {step}");
            at += Duration::from_millis(rng.next_u64() % 4000);
            if out.is_empty() || rng.next_u64() % 2 == 0 {
                let got = circuit.enter(at, rng.next_u64());
                match open_until {
                    None => {
                        assert!(!got.unwrap().is_probe(), "{at_step}: closed");
                    }
                    Some(until) if at < until => {
                        assert_eq!(got, Err(until - at), "{at_step}: one probe per window");
                    }
                    Some(_) => {
                        assert!(got.unwrap().is_probe(), "{at_step}: never stuck");
                        (epoch, probing, probes) = (epoch + 1, true, probes + 1);
                        open_until = Some(at + backoff(failures));
                    }
                }
                out.extend(got.ok().map(|ticket| (ticket, epoch)));
                continue;
            }
            // Settle one of those out, or lose it for good.
            let (ticket, given) = out.remove((rng.next_u64() % out.len() as u64) as usize).unwrap();
            let counts = given == epoch;
            let change = match rng.next_u64() % 10 {
                0 => continue,
                1..=2 => {
                    if counts && probing {
                        (epoch, probing) = (epoch + 1, false);
                    }
                    circuit.release(ticket)
                }
                3..=4 => {
                    if counts {
                        closed += u32::from(open_until.is_some());
                        (failures, open_until, probing) = (0, None, false);
                    }
                    circuit.succeed(ticket)
                }
                _ => {
                    if counts {
                        failures += 1;
                        if probing || failures >= threshold {
                            (epoch, probing) = (epoch + 1, false);
                            open_until = Some(at + backoff(failures));
                        }
                    }
                    circuit.fail(ticket, None, at, rng.next_u64())
                }
            };
            stale += u32::from(!counts);
            assert_eq!(change == Change::Stale, !counts, "{at_step}: {ticket:?}");
            assert_eq!(circuit.failures(), failures, "{at_step}");
            assert!(circuit.wait(at) <= secs(100), "{at_step}: the maximum");
            let eligible = circuit.state(at) == CircuitState::Eligible;
            assert_eq!(eligible, open_until.is_none(), "{at_step}");
        }
        assert!(probes > 20 && stale > 0 && closed > 5, "{seed}: {probes} {stale} {closed}");
    }
}
