//! The retry budget: R20 and invariants 15, 17, 18 and 20.

use anyhost::decide::{Budget, BudgetError, BudgetSettings};
use anyhost::sys::{Rng, now};
use std::time::{Duration, Instant};

fn budget(text: &str, endpoints: usize, now: Instant) -> Budget {
    Budget::new(BudgetSettings::parse(text).unwrap().unwrap(), endpoints, now)
}

fn drain(budget: &mut Budget, now: Instant) -> u32 {
    (0..).take_while(|_| budget.withdraw(now)).count() as u32
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn texts() {
    let good = [
        "20%+1/s",
        " 20% + 1/s ",
        "20%",
        "1/s",
        "0.3%",
        "0.001%+0.001/s",
        "1000%+1000000/s",
        "1000.000%",
        "007%",
    ];
    for text in good {
        assert!(BudgetSettings::parse(text).unwrap().is_some(), "R20: {text}");
    }
    for text in ["off", " off "] {
        assert_eq!(BudgetSettings::parse(text), Ok(None), "R20: {text}");
    }
    let same = ["20%+1/s", "20.0%+1.000/s", " 20 %+1/s"].map(BudgetSettings::parse);
    assert_eq!(same[0], same[1]);
    assert_eq!(same[2], Err(BudgetError::Form), "a blank inside a part");

    let bad = [
        ("", BudgetError::Form),
        ("20", BudgetError::Form),
        ("on", BudgetError::Form),
        ("OFF", BudgetError::Form),
        ("%", BudgetError::Form),
        ("/s", BudgetError::Form),
        ("+", BudgetError::Form),
        ("20%+", BudgetError::Form),
        ("+1/s", BudgetError::Form),
        ("1/s+20%", BudgetError::Form),
        ("20%+1/s+1/s", BudgetError::Form),
        ("20%1/s", BudgetError::Form),
        ("-20%", BudgetError::Form),
        ("+20%", BudgetError::Form),
        ("1e1%", BudgetError::Form),
        (".5%", BudgetError::Form),
        ("5.%", BudgetError::Form),
        ("0.3333%", BudgetError::Form),
        ("1/m", BudgetError::Form),
        ("1/S", BudgetError::Form),
        ("\u{663}%", BudgetError::Form),
        ("0%", BudgetError::Share),
        ("0.000%+1/s", BudgetError::Share),
        ("1000.001%", BudgetError::Share),
        ("99999999999999999999999%", BudgetError::Share),
        ("20%+0/s", BudgetError::Floor),
        ("1000000.001/s", BudgetError::Floor),
    ];
    for (text, error) in bad {
        assert_eq!(BudgetSettings::parse(text), Err(error), "R20: {text:?}");
    }
}

#[test]
fn starts_full_with_10_tokens_and_10_more_per_4_endpoints() {
    let t0 = now();
    for (endpoints, tokens) in [(0, 10), (1, 12), (2, 15), (3, 17), (4, 20), (8, 30), (1000, 2510)]
    {
        let mut budget = budget("20%", endpoints, t0);
        assert_eq!(budget.tokens(t0), u64::from(tokens), "R20: {endpoints} endpoints");
        assert_eq!(drain(&mut budget, t0), tokens, "R20: {endpoints} endpoints");
        assert_eq!(budget.tokens(t0), 0);
    }
}

#[test]
fn good_calls_bring_their_share_up_to_the_cap() {
    let t0 = now();
    // Text, calls that together bring whole tokens, and how many. 0.3 % is not 1/333 (invariant 20).
    for (text, calls, tokens) in [("20%", 5, 1), ("0.3%", 1000, 3), ("30%", 10, 3), ("250%", 2, 5)]
    {
        let mut budget = budget(text, 0, t0);
        drain(&mut budget, t0);
        for _ in 0..calls - 1 {
            budget.deposit(t0);
        }
        assert!(budget.tokens(t0) < tokens, "R20: {text}, one call short");
        budget.deposit(t0);
        assert_eq!(budget.tokens(t0), tokens, "R20: {text}");
        assert_eq!(u64::from(drain(&mut budget, t0)), tokens, "R20: {text}");
        for _ in 0..10_000 {
            budget.deposit(t0);
        }
        assert_eq!(budget.tokens(t0), 10, "R20: {text} stops at the cap");
    }
}

#[test]
fn time_fills_half_the_cap_however_it_passes() {
    let t0 = now();
    let nano = Duration::from_nanos(1);
    let mut empty = budget("1/s", 0, t0);
    drain(&mut empty, t0);
    assert_eq!(empty.tokens(t0 + secs(1) - nano), 0, "R20");
    assert_eq!(empty.tokens(t0 + secs(1)), 1, "R20");
    assert_eq!(empty.tokens(t0 + secs(5)), 5, "invariant 18: cap/2 after cap/(2f) seconds");
    assert_eq!(empty.tokens(t0 + secs(1_000_000)), 5, "R20: half the cap");

    // 0.003/s needs 333.33 s for a token: asked in 333,333,333,333 + 1 ns, by way of refused tries.
    let mut slow = budget("0.003/s", 0, t0);
    drain(&mut slow, t0);
    let mut at = t0;
    for _ in 0..1000 {
        at += Duration::from_nanos(333_333_333);
        assert!(!slow.withdraw(at));
    }
    at += Duration::from_nanos(333);
    assert!(!slow.withdraw(at), "invariant 17: 1 ns short");
    assert!(slow.withdraw(at + nano), "R20: time asked for in steps loses nothing");

    // Above half, time neither adds nor takes; an instant before the last one changes nothing.
    let mut full = budget("1/s", 0, t0 + secs(9));
    assert!(full.withdraw(t0 + secs(9)));
    assert_eq!(full.tokens(t0 + secs(99)), 9, "R20");
    drain(&mut full, t0 + secs(9));
    assert_eq!(full.tokens(t0), 0);
    full.deposit(t0);
    assert_eq!(full.tokens(t0 + secs(10)), 1, "time that went back is not counted twice");
}

#[test]
fn r22_another_number_of_endpoints() {
    let t0 = now();
    let mut budget = budget("100%", 4, t0);
    budget.set_endpoints(0, t0);
    assert_eq!(budget.tokens(t0), 10, "tokens beyond the cap are lost");
    budget.set_endpoints(4, t0);
    assert_eq!(budget.tokens(t0), 10, "a higher cap brings none");
    for _ in 0..100 {
        budget.deposit(t0);
    }
    assert_eq!(budget.tokens(t0), 20);
}

/// Against a model that replays the whole history for each question, one nanosecond-exact event after
/// the other, in units of 1/(1000 * 100 * 10^9 * 4) token, which are not the ledger's.
#[test]
fn ledger_equals_a_replay_of_its_history() {
    const TOKEN: i128 = 1000 * 100 * 1_000_000_000 * 4;
    for seed in 0..40 {
        let mut rng = Rng::seeded(seed);
        let mut random = |below: u64| rng.next_u64() % below;
        let (share, floor, endpoints) = (1 + random(40_000), 1 + random(3_000), random(12));
        let text =
            format!("{}.{:03}%+{}.{:03}/s", share / 1000, share % 1000, floor / 1000, floor % 1000);
        let t0 = now();
        let mut at = t0;
        let mut budget = budget(&text, endpoints as usize, t0);
        let cap = TOKEN * (40 + 10 * i128::from(endpoints)) / 4;

        // What happened: the nanosecond, and what the ledger gained by it.
        let mut history: Vec<(i128, i128)> = Vec::new();
        let (mut granted, mut refused, mut good) = (0, 0, 0);
        for step in 0..300 {
            at += match random(4) {
                0 => Duration::ZERO,
                1 => Duration::from_nanos(random(1000)),
                2 => Duration::from_nanos(random(1_000_000_000)),
                _ => Duration::from_nanos(random(9_000_000_000)),
            };
            let nanos = (at - t0).as_nanos() as i128;
            let balance =
                history.iter().chain(&[(nanos, 0)]).fold((0, cap), |(then, had), event| {
                    let filled =
                        had + (event.0 - then) * i128::from(floor) * (TOKEN / 1_000_000_000_000);
                    (event.0, (had.max(filled.min(cap / 2)) + event.1).min(cap))
                });
            let case = format!("seed {seed}, {text}, step {step}");
            assert_eq!(i128::from(budget.tokens(at)), balance.1 / TOKEN, "{case}");
            if random(3) == 0 {
                budget.deposit(at);
                history.push((nanos, i128::from(share) * (TOKEN / 100_000)));
                good += 1;
            } else if random(3) > 0 {
                let enough = balance.1 >= TOKEN;
                assert_eq!(budget.withdraw(at), enough, "{case}");
                if enough {
                    history.push((nanos, -TOKEN));
                }
                (granted, refused) = (granted + i128::from(enough), refused + i128::from(!enough));
            }
            let income = good * i128::from(share) * (TOKEN / 100_000)
                + nanos * i128::from(floor) * (TOKEN / 1_000_000_000_000);
            assert!(granted * TOKEN <= cap + income, "invariant 15: {case}");
        }
        assert!(granted > 10, "{seed}: {granted} granted, {refused} refused");
    }
}
