//! What a simulated client is set to and what happens to it, as plain data.

use super::server::Behaviour;
use super::{Chance, ms, secs};
use crate::decide::{
    Backoff, BreakerSettings, BudgetSettings, Kind, PoolSettings, StatusSet, Timeout,
    WeightStrategy,
};
use std::time::Duration;

/// A client and its surroundings.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) seed: u64,
    pub(super) settings: Settings,
    pub(super) nodes: Vec<Node>,
    pub(super) calls: Vec<Arrival>,
    pub(super) operations: Vec<(Duration, Operation)>,
}

/// The numbers behind the settings: the oracle calculates with them, the client with what is built
/// from them.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) breaker: Option<Breaker>,
    /// Percent per good call, and tokens per second.
    pub(super) budget: Option<(u64, u64)>,
    pub(super) try_nearest: bool,
    pub(super) deadline: Option<Duration>,
    pub(super) max_attempts: Option<u32>,
    pub(super) attempts_per_endpoint: u32,
    pub(super) connect_timeout: Duration,
    pub(super) attempt_timeout: Duration,
    pub(super) backoff: (Duration, Duration),
    pub(super) hold_for: Duration,
    /// One in so many attempts ends in a panic that gives the ticket back.
    pub(super) abandon_one_in: Option<u64>,
    /// After one in so many attempts the caller's code gives an advice.
    pub(super) advise_one_in: Option<u64>,
    /// All attempts are noticed a little late to be over, and one in so many steps comes much later.
    pub(super) late_one_in: Option<u64>,
    /// One in so many attempts is never heard of again.
    pub(super) lose_one_in: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Breaker {
    pub(super) threshold: u32,
    pub(super) base: Duration,
    pub(super) max: Duration,
    pub(super) jitter: bool,
}

/// An endpoint.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) priority: u32,
    pub(super) min_weight: u32,
    pub(super) max_weight: u32,
    /// Which origin it is on.
    pub(super) origin: usize,
    pub(super) script: Vec<(Duration, Behaviour)>,
    pub(super) stale_one_in: u64,
}

/// A call that somebody makes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) at: Duration,
    pub(super) repeatable: bool,
    pub(super) replayable: bool,
    /// It is the caller's own health check of this node.
    pub(super) check: Option<usize>,
}

/// What an operator does.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    Disable(usize),
    Enable(usize),
    /// These nodes and no other.
    Replace(Vec<usize>),
}

/// As by default: seed 000.
pub(super) const RESEND: StatusSet = StatusSet::of(&[(502, 504), (520, 523), (525, 526)]);
pub(super) const FAILURE: StatusSet = StatusSet::of(&[(500, 599), (429, 429)]);

impl Settings {
    /// The defaults of a client, without the accidents.
    pub(super) fn plain() -> Self {
        Settings {
            breaker: None,
            budget: None,
            try_nearest: false,
            deadline: None,
            max_attempts: None,
            attempts_per_endpoint: 1,
            connect_timeout: secs(2),
            attempt_timeout: secs(5),
            backoff: (ms(50), secs(1)),
            hold_for: secs(300),
            advise_one_in: None,
            abandon_one_in: None,
            late_one_in: None,
            lose_one_in: None,
        }
    }

    /// The preset `resilient`.
    pub(super) fn resilient() -> Self {
        Settings {
            breaker: Some(Breaker { threshold: 3, base: ms(250), max: secs(20), jitter: true }),
            budget: Some((20, 1)),
            try_nearest: true,
            deadline: Some(secs(30)),
            ..Settings::plain()
        }
    }

    pub(super) fn pool(&self) -> PoolSettings {
        PoolSettings {
            kind: Kind::Endpoint,
            faults: Default::default(),
            breaker: self.breaker.map(|b| {
                BreakerSettings::new(b.threshold, b.base, b.max, b.jitter).expect("in bounds")
            }),
            strategy: WeightStrategy::agoda(),
            weighted: false,
            honor_retry_after: true,
            budget: self.budget.and_then(|(percent, per_second)| {
                let share = (percent > 0).then(|| format!("{percent}%"));
                let floor = (per_second > 0).then(|| format!("{per_second}/s"));
                let parts: Vec<_> = share.into_iter().chain(floor).collect();
                BudgetSettings::parse(&parts.join("+")).expect("in bounds")
            }),
        }
    }

    pub(super) fn timeout(&self) -> Timeout {
        Timeout::fixed(self.attempt_timeout).expect("above 0")
    }

    pub(super) fn backoff(&self) -> Backoff {
        Backoff::new(self.backoff.0, self.backoff.1, true).expect("in bounds")
    }
}

impl Node {
    /// Of full weight, healthy except for what the script says, and never stale.
    pub(super) fn new(origin: usize, priority: u32, script: &[(Duration, Behaviour)]) -> Self {
        let script = script.to_vec();
        Node { priority, min_weight: 1, max_weight: 1000, origin, script, stale_one_in: u64::MAX }
    }
}

impl Scenario {
    /// Any client, any trouble: half a minute with up to 90 calls.
    pub(super) fn random(seed: u64) -> Self {
        let mut chance = Chance(seed);
        let chance = &mut chance;
        let nodes = nodes(chance);
        let length = secs(8 + chance.below(25));
        let calls = 20 + chance.below(70);
        // Half of the worlds see crowds, in which calls overlap.
        let crowds: Vec<Duration> = match chance.below(2) {
            0 => vec![],
            _ => (0..6).map(|_| chance.between(Duration::ZERO, length)).collect(),
        };
        let checks = chance.one_in(3);
        let calls = (0..calls).map(|_| {
            let at = match crowds.get(chance.below(8) as usize) {
                Some(crowd) => chance.between(*crowd, *crowd + ms(300)),
                None => chance.between(Duration::ZERO, length),
            };
            let node = chance.below(nodes.len() as u64) as usize;
            let check = (checks && chance.one_in(8)).then_some(node);
            let repeatable = check.is_some() || chance.below(10) < 7;
            let replayable = check.is_some() || !chance.one_in(10);
            Arrival { at, repeatable, replayable, check }
        });
        let mut calls: Vec<Arrival> = calls.collect();
        if chance.one_in(8) {
            // The machine sleeps for a night in the middle of it.
            for call in &mut calls {
                call.at += if call.at > length / 2 { secs(8 * 60 * 60) } else { Duration::ZERO };
            }
        }
        let operations = if chance.one_in(2) { operations(chance, &nodes, length) } else { vec![] };
        Scenario { seed, settings: settings(chance), nodes, calls, operations }
    }

    /// Calls that may all be repeated, at even distances.
    pub(super) fn steady(
        seed: u64,
        settings: Settings,
        nodes: Vec<Node>,
        per_second: u64,
        length: Duration,
    ) -> Self {
        let calls = (0..per_second * length.as_secs()).map(|i| Arrival {
            at: Duration::from_nanos(i * 1_000_000_000 / per_second),
            repeatable: true,
            replayable: true,
            check: None,
        });
        Scenario { seed, settings, nodes, calls: calls.collect(), operations: Vec::new() }
    }
}

fn nodes(chance: &mut Chance) -> Vec<Node> {
    let count = 1 + chance.below(6) as usize;
    let order = chance.below(3);
    (0..count)
        .map(|i| {
            let mut script: Vec<_> = (0..chance.below(8))
                .map(|_| (chance.between(Duration::ZERO, secs(25)), behaviour(chance)))
                .collect();
            script.sort_by_key(|(from, _)| *from);
            if let (Some(first), true) = (script.first_mut(), chance.one_in(2)) {
                first.0 = Duration::ZERO;
            }
            let max_weight = if chance.one_in(4) { 1 + chance.below(1000) as u32 } else { 1000 };
            Node {
                priority: [0, i as u32, i as u32 / 2][order as usize],
                min_weight: if chance.one_in(4) { (max_weight / 20).max(1) } else { 1 },
                max_weight,
                // Now and then two base URLs on one origin.
                origin: if i > 0 && chance.one_in(5) { i - 1 } else { i },
                script,
                stale_one_in: if chance.one_in(3) { 6 } else { u64::MAX },
            }
        })
        .collect()
}

fn behaviour(chance: &mut Chance) -> Behaviour {
    let statuses = [200, 404, 500, 502, 503, 504, 520, 521, 522, 523, 524, 600];
    match chance.below(14) {
        0 => Behaviour::Nameless,
        1 | 2 => Behaviour::Refusing,
        3 => Behaviour::Blackhole,
        4 => Behaviour::Silent,
        5 => Behaviour::Slow(chance.between(ms(100), secs(4))),
        6 => Behaviour::FailsOneIn(2 + chance.below(4)),
        7 | 8 => Behaviour::Status(statuses[chance.below(statuses.len() as u64) as usize]),
        9 => Behaviour::RateLimiting(ms(500 * (1 + chance.below(10)))),
        10 => Behaviour::Resetting,
        11 => Behaviour::BrokenBody,
        _ => Behaviour::Healthy,
    }
}

fn settings(chance: &mut Chance) -> Settings {
    let base = ms(50 + chance.below(450));
    let breaker = Breaker {
        threshold: 1 + chance.below(5) as u32,
        base,
        max: base * (1 + chance.below(12) as u32),
        jitter: chance.one_in(2),
    };
    let connect_timeout = ms(200 + chance.below(800));
    Settings {
        breaker: (chance.below(10) < 7).then_some(breaker),
        budget: chance.one_in(2).then(|| (1 + chance.below(40), chance.below(2))),
        try_nearest: chance.one_in(2),
        deadline: (chance.below(4) > 0).then(|| ms(300 + chance.below(20) * chance.below(400))),
        max_attempts: chance.one_in(2).then(|| 1 + chance.below(5) as u32),
        attempts_per_endpoint: 1 + chance.below(3) as u32,
        connect_timeout,
        attempt_timeout: connect_timeout + ms(100 + chance.below(2000)),
        backoff: (ms(10 + chance.below(90)), ms(100 + chance.below(900))),
        hold_for: ms(500 + chance.below(6000)),
        advise_one_in: chance.one_in(3).then_some(4),
        late_one_in: chance.one_in(2).then_some(6),
        abandon_one_in: chance.one_in(3).then_some(25),
        lose_one_in: chance.one_in(3).then_some(60),
    }
}

fn operations(chance: &mut Chance, nodes: &[Node], length: Duration) -> Vec<(Duration, Operation)> {
    let count = nodes.len() as u64;
    (0..1 + chance.below(8))
        .map(|_| {
            let at = chance.between(Duration::ZERO, length);
            let node = chance.below(count) as usize;
            let operation = match chance.below(4) {
                0 => Operation::Disable(node),
                1 => Operation::Enable(node),
                _ => {
                    let mut list: Vec<usize> =
                        (0..nodes.len()).filter(|_| chance.below(3) > 0).collect();
                    if list.is_empty() {
                        list.push(node);
                    }
                    Operation::Replace(list)
                }
            };
            (at, operation)
        })
        .collect()
}
