//! Seed 003: weight arithmetic (A-W), shares of a draw (A-S), when a change is one (A-E); and what
//! the joined client adds to them (X-13, X-18, ruling R4).

use anyhost::decide::{Weight, WeightStrategy, WeightedDraw};

fn weight(value: u32, max: u32) -> Weight {
    Weight::new(value, 1, max).expect("a valid weight")
}

fn divide_by(divisor: u32) -> WeightStrategy {
    WeightStrategy::add_or_divide(1000, divisor).expect("a valid divisor")
}

fn exponential(factor: f64) -> WeightStrategy {
    WeightStrategy::exponential(factor).expect("a valid factor")
}

const GOOD: bool = true;
const BAD: bool = false;

/// Vector, strategy, value, maximum, results, value after each of them.
type Row<'a> = (&'a str, WeightStrategy, u32, u32, &'a [bool], &'a [u32]);

#[test]
fn weights_follow_results() {
    let agoda = WeightStrategy::agoda();
    let by_100 = divide_by(100);
    let fixed_10 = WeightStrategy::fixed_delta(10);
    let fixed_11 = WeightStrategy::fixed_delta(11);
    let none = WeightStrategy::none();
    let split = WeightStrategy::split(WeightStrategy::fixed_delta(7), exponential(2.0));
    #[rustfmt::skip]
    let rows: &[Row] = &[
        ("A-W1",  agoda,            1000, 1000, &[BAD; 4],    &[100, 10, 1, 1]),
        ("A-W2",  by_100,           1000, 1000, &[BAD; 3],    &[10, 1, 1]),
        ("A-W3",  agoda,            100,  1000, &[GOOD],      &[1000]),
        ("A-W3",  agoda,            10,   1000, &[GOOD],      &[1000]),
        ("A-W3",  agoda,            1,    1000, &[GOOD],      &[1000]),
        ("A-W3",  by_100,           10,   1000, &[GOOD],      &[1000]),
        ("A-W3",  by_100,           1,    1000, &[GOOD],      &[1000]),
        ("A-W4",  agoda,            1,    1000, &[BAD],       &[1]),
        ("A-W4",  by_100,           1,    1000, &[BAD],       &[1]),
        ("A-W5",  exponential(1.5), 50,   100,  &[GOOD],      &[75]),
        ("A-W6",  exponential(2.0), 50,   100,  &[BAD],       &[25]),
        ("A-W7",  fixed_10,         50,   100,  &[GOOD],      &[60]),
        ("A-W7",  fixed_10,         50,   100,  &[BAD],       &[40]),
        ("A-W9",  fixed_11,         90,   100,  &[GOOD],      &[100]),
        ("A-W10", fixed_10,         2,    100,  &[BAD],       &[1]),
        ("A-W11", none,             50,   100,  &[GOOD, BAD], &[50, 50]),
        ("A-W12", split,            50,   100,  &[GOOD],      &[57]),
        ("A-W12", split,            50,   100,  &[BAD],       &[25]),
        ("A-W13", agoda,            5,    1000, &[BAD],       &[1]),
        ("A-W13", agoda,            15,   1000, &[BAD],       &[2]),
        ("A-W13", agoda,            25,   1000, &[BAD],       &[2]),
        ("A-W13", agoda,            35,   1000, &[BAD],       &[4]),
        ("A-W13", agoda,            45,   1000, &[BAD],       &[4]),
        ("A-W13", agoda,            55,   1000, &[BAD],       &[6]),
        ("A-W14", by_100,           150,  1000, &[BAD],       &[2]),
        ("A-W14", by_100,           250,  1000, &[BAD],       &[2]),
    ];
    for &(vector, strategy, value, max, results, expected) in rows {
        let mut now = weight(value, max);
        for (&success, &after) in results.iter().zip(expected) {
            let before = now;
            now = strategy.after(before, success);
            assert_eq!(now, weight(after, max), "{vector}: {before:?}, success {success}");
        }
    }
}

#[test]
fn a_delta_stops_at_the_bounds_and_leaves_the_original_alone() {
    for (vector, value, delta, after) in
        [("A-W8", 50, 20, 70), ("A-W9", 90, 11, 100), ("A-W10", 2, -2, 1)]
    {
        let original = weight(value, 100);
        assert_eq!(original.moved_by(delta), weight(after, 100), "{vector}");
        assert_eq!((original.value(), original.max()), (value, 100), "{vector}: the original");
    }
}

#[test]
fn failures_from_the_start_divide_exactly() {
    let mut now = Weight::default();
    assert_eq!((now.value(), now.min(), now.max()), (1000, 1, 1000), "A-W1: the start");
    for k in 1..=9 {
        now = WeightStrategy::agoda().after(now, BAD);
        assert_eq!(now.value(), (1000 / 10_u32.pow(k)).max(1), "R4: {k} failures");
    }
}

#[test]
fn only_a_value_that_moved_is_a_change() {
    let agoda = WeightStrategy::agoda();
    let full = Weight::default();
    assert_eq!(agoda.after(full, GOOD), full, "A-E1: a success at the maximum");

    let mut pool = [full, weight(1, 1000)];
    let mut all_at_min = Vec::new();
    for _ in 0..3 {
        let before = pool[0];
        pool[0] = agoda.after(before, BAD);
        assert_ne!(pool[0], before, "A-E2: a change");
        all_at_min.push(pool.iter().all(|weight| weight.is_at_min()));
    }
    assert_eq!(all_at_min, [false, false, true], "A-E2: all at the minimum, with the last change");

    for at_min in pool {
        assert_eq!(agoda.after(at_min, BAD), at_min, "A-E3: a failure at the minimum");
    }
}

#[test]
fn a_probe_restores_a_tenth_and_the_next_success_all() {
    let agoda = WeightStrategy::agoda();
    let probed = weight(1, 1000).after_probe();
    assert_eq!(probed.value(), 100, "X-18: after the probe");
    assert_eq!(agoda.after(probed, GOOD).value(), 1000, "X-18: after the next success");
    assert_eq!(weight(1, 4).after_probe().value(), 1, "R7: never below the minimum");
}

fn members(weights: &[u32]) -> WeightedDraw {
    let mut draw = WeightedDraw::new();
    for &weight in weights {
        draw.push(0, weight);
    }
    draw
}

/// The smallest random number that falls on the point `r` of `[0, sum)`.
fn random_for(r: u64, sum: u64) -> u64 {
    u64::try_from((u128::from(r) << 64).div_ceil(u128::from(sum))).expect("r is below sum")
}

/// Which member each point `r` of `[0, sum)` names, as runs `(member, first r, last r)`.
fn runs(draw: &WeightedDraw, tried: &[usize], sum: u64) -> Vec<(usize, u64, u64)> {
    let mut runs: Vec<(usize, u64, u64)> = Vec::new();
    for r in 0..sum {
        let member = draw.draw_excluding(tried, random_for(r, sum)).expect("a candidate");
        match runs.last_mut() {
            Some((last, _, to)) if *last == member => *to = r,
            _ => runs.push((member, r, r)),
        }
    }
    runs
}

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

#[test]
fn every_point_of_a_draw_names_its_member() {
    let agoda = WeightStrategy::agoda();
    let once = agoda.after(Weight::default(), BAD);
    let twice = agoda.after(once, BAD);
    let thrice = agoda.after(twice, BAD);
    let once_by_100 = divide_by(100).after(Weight::default(), BAD);
    let once_by_20 = WeightStrategy::fixed_delta(20).after(weight(100, 100), BAD);
    for (vector, a, b, percent) in [
        ("A-S1", Weight::default().value(), 1000, 50.0),
        ("A-S2", once.value(), 1000, 9.0909),
        ("A-S3", twice.value(), 1000, 0.990099),
        ("A-S3", once_by_100.value(), 1000, 0.990099),
        ("A-S4", thrice.value(), 1000, 0.0999),
        ("A-S5", 1, 1, 50.0),
        ("A-S6", once_by_20.value(), 100, 44.4),
    ] {
        let draw = members(&[a, b]);
        let (a, sum) = (u64::from(a), draw.total());
        assert_eq!(sum, a + u64::from(b), "{vector}: the sum");
        assert_eq!(runs(&draw, &[], sum), [(A, 0, a - 1), (B, a, sum - 1)], "{vector}: the points");
        let share = 100.0 * a as f64 / sum as f64;
        assert!((share - percent).abs() < 0.05, "{vector}: A has {share} %");
    }
    let even = members(&[1000, 1000]);
    assert_eq!(runs(&even, &[], 2000), [(A, 0, 999), (B, 1000, 1999)], "A-S1");
    let low = members(&[10, 1000]);
    assert_eq!(low.draw(random_for(9, 1010)), Some(A), "A-S3: r = 9");
    assert_eq!(low.draw(random_for(10, 1010)), Some(B), "A-S3: r = 10");
}

#[test]
fn a_call_does_not_draw_the_dead_endpoint_twice() {
    for (divisor, all_three) in [(10, 4.5e-4), (100, 4.9e-6)] {
        let strategy = divide_by(divisor);
        let mut dead = Weight::default();
        let mut draw = members(&[1000, 1000]);
        let mut chance = 1.0;
        for _attempt in 0..3 {
            let sum = draw.total();
            let of_a = (0..sum).filter(|&r| draw.draw(random_for(r, sum)) == Some(A)).count();
            chance *= of_a as f64 / sum as f64;
            assert_eq!(runs(&draw, &[A], 1000), [(B, 0, 999)], "R4: A is tried, weight {dead:?}");
            dead = strategy.after(dead, BAD);
            draw.set(A, dead.value());
        }
        let off = (chance / all_three - 1.0).abs();
        assert!(off < 0.02, "A-S7: {chance} where the seed's library would have {all_three}");
    }
}

#[test]
fn one_endpoint_is_drawn_again_once_all_are_tried() {
    let alone = members(&[1]);
    for random in [0, 1 << 63, u64::MAX] {
        assert_eq!(alone.draw(random), Some(A), "A-S8: the first attempt");
        assert_eq!(alone.draw_excluding(&[A], random), None, "A-S8: all are tried");
        assert_eq!(alone.draw_excluding(&[], random), Some(A), "A-S8: a fresh round");
    }
}

#[test]
fn a_worse_priority_waits_until_the_better_one_has_no_candidate() {
    let mut draw = members(&[1000, 10]);
    draw.push(1, 500);
    assert_eq!(runs(&draw, &[], 1010), [(A, 0, 999), (B, 1000, 1009)], "X-13: none tried");
    assert_eq!(runs(&draw, &[A], 10), [(B, 0, 9)], "X-13: A tried");
    assert_eq!(runs(&draw, &[B], 1000), [(A, 0, 999)], "X-13: B tried");
    assert_eq!(runs(&draw, &[B, A], 500), [(C, 0, 499)], "X-13: both tried");
    draw.set_eligible(A, false);
    assert_eq!(runs(&draw, &[], 10), [(B, 0, 9)], "X-13: A out");
    assert_eq!(runs(&draw, &[B], 500), [(C, 0, 499)], "X-13: A out, B tried");
    draw.set_eligible(B, false);
    assert_eq!(runs(&draw, &[], 500), [(C, 0, 499)], "X-13: both out");
    assert_eq!(draw.draw_excluding(&[C], 0), None, "X-13: and C tried");
}
