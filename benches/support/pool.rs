//! Pools of any size, as the decisions see them, and calls on them in which nothing is sent.

use anyhost::decide::{
    Backoff, BreakerSettings, Call, Ending, Endpoint, EndpointId, Entry, Event, Phase, Plan, Pool,
    PoolSettings, Reach, Report, StatusSet, Step, Timeout, Verdict, Weight, WhenNoneEligible,
};
use std::time::{Duration, Instant};

/// A pool of endpoints of one priority, of weights from 1 to 1000, with a breaker.
pub fn pool(endpoints: u64, now: Instant) -> Pool {
    filled(endpoints, Some(BreakerSettings::default()), now)
}

/// The same without one.
pub fn without_breaker(endpoints: u64, now: Instant) -> Pool {
    filled(endpoints, None, now)
}

fn filled(endpoints: u64, breaker: Option<BreakerSettings>, now: Instant) -> Pool {
    let entry = |number: u64| Entry {
        endpoint: Endpoint { id: EndpointId(number), priority: 0 },
        weight: Weight::default().with_max(1 + (number * 7919 % 1000) as u32).expect("from 1 on"),
        keep_maximum: false,
        origin: number.to_string().into(),
        reach: Reach::default(),
    };
    let settings = PoolSettings { breaker, weighted: true, ..PoolSettings::default() };
    Pool::new((0..endpoints).map(entry).collect(), settings, now)
}

/// What a plan borrows.
pub struct Rules {
    resend: StatusSet,
    failures: StatusSet,
    timeout: Timeout,
    backoff: Backoff,
}

impl Rules {
    /// The defaults of a client.
    pub fn new() -> Self {
        Rules {
            resend: "502-504,520-523,525-526".parse().expect("statuses"),
            failures: "429,5xx".parse().expect("statuses"),
            timeout: Timeout::default(),
            backoff: Backoff::new(Duration::from_millis(50), Duration::from_secs(1), true)
                .expect("a backoff"),
        }
    }

    /// The plan of a GET with a deadline.
    pub fn plan(&self, now: Instant) -> Plan<'_> {
        Plan {
            deadline: Some(now + Duration::from_secs(30)),
            max_attempts: None,
            attempts_per_endpoint: 1,
            repeatable: true,
            replayable: true,
            resend_statuses: &self.resend,
            failure_statuses: &self.failures,
            connect_timeout: Some(Duration::from_secs(5)),
            connect_timeout_last: None,
            attempt_timeout: &self.timeout,
            stall_timeout: Some(Duration::from_secs(30)),
            streamed: false,
            backoff: self.backoff,
            hold_for: Duration::from_secs(300),
            when_none_eligible: WhenNoneEligible::TryNearest,
            at: None,
            only: None,
            through: None,
        }
    }
}

/// The report of a good answer.
pub fn good() -> Report {
    Report {
        phase: Phase::Body,
        ending: Ending::Answered,
        status: Some(200),
        asked_to_send: true,
        ..Report::new()
    }
}

/// All that is decided in a call whose first attempt is answered.
pub fn decide(pool: &mut Pool, rules: &Rules, now: Instant, chance: u64, events: &mut Vec<Event>) {
    let mut call = Call::new(rules.plan(now), now);
    let report = good();
    while let Step::Attempt(ticket) = call.step(pool, now, [chance; 3], events) {
        let ticket = call.limit(ticket);
        let outcome = call.judge(&ticket, &report, Verdict::Default);
        call.settle(pool, &ticket, &report, &outcome, Default::default(), now, chance, events);
    }
    events.clear();
}

/// Evenly drawn numbers: SplitMix64.
pub struct Chance(pub u64);

impl Chance {
    /// The next one.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
