//! What has to happen in the end: nothing fails that need not, what recovers is used again, and an
//! outage stays as cheap as the ledger says (under the preset `resilient`).

use super::scenario::{Breaker, Node, Scenario, Settings};
use super::server::Behaviour::{Blackhole, Healthy, Refusing, Silent, Slow};
use super::world::{Run, run};
use super::{ms, secs};
use std::time::Duration;

/// Trouble begins then, and lasts for this long.
const BEGINS: Duration = Duration::from_secs(5);
const LASTS: Duration = Duration::from_secs(60);
const RECOVERED: Duration = Duration::from_secs(65);

/// Runs a scenario in which no rule may be broken.
fn ran(scenario: &Scenario) -> Run {
    let run = run(scenario);
    assert!(run.violation.is_none(), "seed {}: {:?}", scenario.seed, run.violation);
    run
}

fn four_endpoints(scripts: [&[(Duration, super::server::Behaviour)]; 4]) -> Vec<Node> {
    scripts.iter().enumerate().map(|(i, script)| Node::new(i, 0, script)).collect()
}

/// Whether the one at fault refuses connections or swallows them.
///
/// The threshold of the preset is 3 for this: weights fall to a thousandth after 3 failures (R4), so
/// with the breaker's own 5 an endpoint of a quiet client is hardly ever drawn for its last 2
/// failures. No circuit opens, no probe brings it back, and 1 call in 3001 finds out that it is well.
#[test]
fn one_endpoint_of_four_down_fails_no_call_and_comes_back() {
    for (down, per_second) in [(Refusing, 20), (Refusing, 200), (Blackhole, 20), (Blackhole, 200)] {
        for seed in 0..4 {
            let script = [(BEGINS, down), (RECOVERED, Healthy)];
            let nodes = four_endpoints([&script, &[], &[], &[]]);
            let settings = Settings::resilient();
            let threshold = settings.breaker.expect("it has one").threshold;
            let length = RECOVERED + secs(60);
            let run = ran(&Scenario::steady(seed, settings, nodes, per_second, length));
            let of = format!("{down:?}, {per_second}/s, seed {seed}");

            let failed = run.calls.iter().filter(|call| !call.good).count();
            assert_eq!(failed, 0, "{of}: of {} calls", run.calls.len());
            // 3.5 item 48: one dead endpoint costs a call one connect limit at most.
            let slowest = run.calls.iter().map(|call| call.ended - call.began).max();
            assert!(slowest < Some(ms(2200)), "{of}: {slowest:?}");
            // 3.4 item 38: failing fast draws no more load than opens the circuit, and then probes.
            let met =
                |(at, node): &&(Duration, usize)| *node == 0 && BEGINS <= *at && *at < RECOVERED;
            let met = run.attempts.iter().filter(met).count();
            let bound = threshold as usize + 3 + 10;
            assert!(down != Refusing || met <= bound, "{of}: {met} attempts, at most {bound}");
            let late = run.attempts.iter().filter(|(at, _)| *at >= RECOVERED + secs(30));
            let nodes: Vec<usize> = late.map(|(_, node)| *node).collect();
            let back = nodes.iter().filter(|node| **node == 0).count();
            // 80 % of a fair fourth.
            assert!(back * 5 >= nodes.len(), "{of}: {back} of {} after 30 s", nodes.len());
        }
    }
}

/// 3.3 item 23: a probe that times out is noticed a moment after its limit. Among many callers one would
/// by then be the next probe and make that failure a stale one: no wait would ever grow.
#[test]
fn a_probe_that_times_out_counts_among_many_callers() {
    let nodes = vec![Node::new(0, 0, &[(secs(1), Silent)]), Node::new(1, 0, &[])];
    let short = Breaker { threshold: 1, base: ms(50), max: secs(20), jitter: false };
    let settings = Settings {
        breaker: Some(short),
        attempt_timeout: ms(300),
        connect_timeout: ms(200),
        // Noticed late, always, and never later than that.
        late_one_in: Some(u64::MAX),
        ..Settings::plain()
    };
    let run = ran(&Scenario::steady(1, settings, nodes, 1000, secs(30)));
    let silent = |at: Duration| at >= secs(2);
    let probes = run.attempts.iter().filter(|(at, node)| silent(*at) && *node == 0).count();
    // 50 ms doubled up to 20 s is 9 windows.
    assert!((1..=9).contains(&probes), "{probes} probes");
}

/// 3.2 item 16: threshold and flight before the circuits open, the ledger, and the probes.
#[test]
fn an_outage_costs_what_the_ledger_says_whatever_the_rate() {
    for per_second in [20, 200, 2000] {
        let script = [(BEGINS, Refusing), (RECOVERED, Healthy)];
        let nodes = four_endpoints([&script, &script, &script, &script]);
        let length = RECOVERED + secs(5);
        let settings = Settings::resilient();
        let run = ran(&Scenario::steady(7, settings, nodes, per_second, length));
        let down = |at: Duration| BEGINS <= at && at < RECOVERED;

        // Attempts that had begun when the first failures came back: a refusal takes up to 4 ms.
        let in_flight = per_second * 4 / 1000 + 1;
        let opening = 4 * (5 + in_flight);
        // 250 ms doubled up to 20 s is 7 windows, and then one each 20 s.
        let probes = 4 * (7 + LASTS.as_secs() / 20 + 1);
        let ledger = 20 + LASTS.as_secs();
        let bound = opening + probes + ledger;
        let attempts = run.attempts.iter().filter(|(at, _)| down(*at)).count() as u64;
        assert!(attempts <= bound, "{per_second}/s: {attempts} attempts, at most {bound}");
        assert!(attempts >= 20, "{per_second}/s: {attempts} attempts: was it an outage?");

        let good = |call: &&super::world::Made| call.good && call.ended >= RECOVERED;
        let first = run.calls.iter().filter(good).map(|call| call.ended).min();
        assert!(
            first.is_some_and(|first| first <= RECOVERED + secs(2)),
            "{per_second}/s: first success at {first:?}"
        );
        // Who is let down is let down at once.
        let slowest =
            run.calls.iter().filter(|call| !call.good).map(|call| call.ended - call.began);
        assert!(slowest.max() < Some(ms(100)), "{per_second}/s");
    }
}

/// 3.3 item 23: a probe is not lost while its own limits let it run. Were it, an endpoint that needs
/// longer for an answer than the first window lasts would be probed for ever.
#[test]
fn a_probe_slower_than_its_window_still_closes_the_circuit() {
    let dies = [(secs(5), Refusing), (secs(6), Slow(ms(600)))];
    let nodes = vec![Node::new(0, 0, &dies), Node::new(1, 0, &[])];
    let short = Breaker { threshold: 1, base: ms(50), max: ms(400), jitter: true };
    let settings = Settings { breaker: Some(short), ..Settings::plain() };
    let run = ran(&Scenario::steady(1, settings, nodes, 20, secs(30)));
    let late = run.attempts.iter().filter(|(at, _)| *at >= secs(10));
    let (back, all) =
        late.fold((0, 0), |(back, all), (_, node)| (back + usize::from(*node == 0), all + 1));
    assert!(back * 2 * 10 >= all * 8, "{back} of {all}");
}
