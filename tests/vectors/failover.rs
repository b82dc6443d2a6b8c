//! Ordered failover in virtual time: the hold of D-12 to D-19 with its five minutes, and the limits
//! of a call in instants (D-4, D-6, D-B7, R1 on a late 522).
//!
//! A call is driven as `client/run.rs` drives it, with reports that are written down instead of
//! sockets. The same vectors on sockets, with short times: `tests/wire/failover.rs`.

use anyhost::decide::{
    Advice, Backoff, Call, Cause, End, Ending, Endpoint, EndpointId, Entry, Event, Failure, Hold,
    Limit, Phase, Plan, Pool, PoolSettings, Reach, Report, StatusSet, Step, Ticket, Timeout,
    Verdict, Weight, WhenNoneEligible,
};
use std::time::{Duration, Instant};

const HOLD: Duration = Duration::from_secs(300);
const P: u64 = 0;
const F: u64 = 1;

/// What an endpoint does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    Refuses,
    /// Swallows connections until the limit.
    Swallows,
    /// Reads the request and resets.
    Resets,
    Answers(u16),
    /// The same, so many seconds after the request.
    AnswersAfter(u16, u64),
    /// Was connected to, and has closed the idle connection: before a byte of the request was
    /// handed to it, or after.
    DiedIdle {
        sent: bool,
    },
}

use Does::*;

/// A client of some endpoints in virtual time.
struct World {
    start: Instant,
    now: Instant,
    pool: Pool,
    does: Vec<Does>,
    events: Vec<Event>,
}

/// A call that is over: whom it asked, how long each attempt took, how it ended.
#[derive(Debug, PartialEq)]
struct Made {
    order: Vec<u64>,
    took: Vec<Duration>,
    end: End,
}

/// What a call is given.
struct Wants {
    repeatable: bool,
    replayable: bool,
    deadline: Option<Duration>,
}

const GET: Wants = Wants { repeatable: true, replayable: true, deadline: None };
const POST: Wants = Wants { repeatable: false, replayable: true, deadline: None };

impl World {
    fn new(does: &[Does]) -> World {
        let start = anyhost::sys::now();
        let entry = |n| Entry {
            endpoint: Endpoint { id: EndpointId(n), priority: n as u32 },
            weight: Weight::default(),
            keep_maximum: false,
            origin: n.to_string().into(),
            reach: Reach::default(),
        };
        let entries = (0..does.len() as u64).map(entry).collect();
        let pool = Pool::new(entries, PoolSettings::default(), start);
        World { start, now: start, pool, does: does.to_vec(), events: Vec::new() }
    }

    fn at(&mut self, millis: u64) -> &mut World {
        let now = self.start + Duration::from_millis(millis);
        assert!(now >= self.now, "time does not go back");
        self.now = now;
        self
    }

    /// From now on `endpoint` does this.
    fn then(&mut self, endpoint: u64, does: Does) -> &mut World {
        self.does[endpoint as usize] = does;
        self
    }

    fn call(&mut self, wants: &Wants) -> Made {
        let resend: StatusSet = "502-504,520-523,525-526".parse().unwrap();
        let failures: StatusSet = "429,5xx".parse().unwrap();
        let policy = Timeout::default();
        let mut call = Call::new(plan(wants, &resend, &failures, &policy, self.now), self.now);
        let (mut order, mut took) = (Vec::new(), Vec::new());
        loop {
            match call.step(&mut self.pool, self.now, [0; 3], &mut self.events) {
                Step::End(end) => return Made { order, took, end },
                Step::Wait(until) => self.now = until,
                Step::Attempt(ticket) => {
                    let ticket = call.limit(ticket);
                    let began = self.now;
                    let does = self.does[ticket.endpoint.0 as usize];
                    let report = attempt(does, ticket.limits(), &mut self.now);
                    let (now, pool) = (self.now, &mut self.pool);
                    settle(&mut call, pool, ticket, &report, now, &mut self.events);
                    order.push(ticket.endpoint.0);
                    took.push(now - began);
                }
            }
        }
    }

    fn order(&mut self, wants: &Wants) -> Vec<u64> {
        self.call(wants).order
    }

    fn held(&self) -> Option<u64> {
        self.pool.hold.endpoint(self.now).map(|id| id.0)
    }

    fn count(&self, is: fn(&Event) -> bool) -> usize {
        self.events.iter().filter(|event| is(event)).count()
    }

    fn holds_set(&self) -> usize {
        self.count(|event| matches!(event, Event::HoldSet { .. }))
    }

    fn holds_ended(&self) -> usize {
        self.count(|event| matches!(event, Event::HoldEnded { .. }))
    }

    fn failovers(&self) -> usize {
        self.count(|event| matches!(event, Event::Failover { .. }))
    }
}

fn plan<'a>(
    wants: &Wants,
    resend: &'a StatusSet,
    failures: &'a StatusSet,
    policy: &'a Timeout,
    now: Instant,
) -> Plan<'a> {
    Plan {
        deadline: wants.deadline.map(|deadline| now + deadline),
        max_attempts: None,
        attempts_per_endpoint: 1,
        repeatable: wants.repeatable,
        replayable: wants.replayable,
        resend_statuses: resend,
        failure_statuses: failures,
        connect_timeout: Some(Duration::from_secs(2)),
        connect_timeout_last: None,
        attempt_timeout: policy,
        stall_timeout: None,
        streamed: false,
        backoff: Backoff::new(Duration::from_millis(50), Duration::from_secs(1), true).unwrap(),
        hold_for: HOLD,
        when_none_eligible: WhenNoneEligible::FailFast,
        at: None,
        only: None,
        through: None,
    }
}

/// Judges and settles an attempt, as a caller without callbacks does.
fn settle(
    call: &mut Call<'_>,
    pool: &mut Pool,
    ticket: Ticket,
    report: &Report,
    now: Instant,
    events: &mut Vec<Event>,
) {
    let outcome = call.judge(&ticket, report, Verdict::Default);
    call.settle(pool, &ticket, report, &outcome, Advice::Default, now, 0, events);
}

/// The report of an attempt, and the time it took.
fn attempt(does: Does, limits: anyhost::decide::Limits, now: &mut Instant) -> Report {
    let mut report = Report::new();
    match does {
        Refuses => {
            report.phase = Phase::Connect;
            report.ending = Ending::Failed(Cause::Refused);
        }
        Swallows => {
            let (by, limit) = match (limits.connect_by, limits.until) {
                (Some(by), _) => (by, Limit::Connect),
                (None, Some(until)) => (until, Limit::Attempt),
                (None, None) => panic!("an attempt without an end"),
            };
            *now = by;
            report.phase = Phase::Connect;
            report.ending = Ending::Failed(Cause::TimedOut(limit));
        }
        Resets => {
            report.phase = Phase::Head;
            report.asked_to_send = true;
            report.ending = Ending::Failed(Cause::Reset);
        }
        DiedIdle { sent } => {
            report.phase = if sent { Phase::Head } else { Phase::Send };
            report.reused = true;
            report.asked_to_send = sent;
            report.ending = Ending::Failed(Cause::Closed);
        }
        Answers(status) => return answered(status, 0),
        AnswersAfter(status, seconds) => return answered(status, seconds),
    }
    report
}

fn answered(status: u16, seconds: u64) -> Report {
    let mut report = Report::new();
    report.phase = Phase::Body;
    report.asked_to_send = true;
    report.status = Some(status);
    report.head_after = Some(Duration::from_secs(seconds));
    report.ending = Ending::Answered;
    report
}

#[test]
fn d12_d13_the_hold_lasts_300_s_and_not_an_instant_longer() {
    let mut world = World::new(&[Refuses, Answers(200)]);
    assert_eq!(world.order(&GET), [P, F]);
    world.then(P, Answers(200));
    for (millis, order) in [(1_000, F), (299_900, F), (299_999, F), (300_000, P)] {
        assert_eq!(world.at(millis).order(&POST), [order], "at {millis} ms");
    }
    assert_eq!((world.holds_set(), world.holds_ended()), (1, 1));
}

#[test]
fn d14_a_held_one_that_fails_is_left_and_the_primary_ends_the_hold() {
    let mut world = World::new(&[Refuses, Answers(200)]);
    world.call(&GET);
    world.then(P, Answers(200)).then(F, Refuses);
    assert_eq!(world.at(1_000).order(&POST), [F, P]);
    assert_eq!((world.held(), world.holds_ended()), (None, 1));
    assert_eq!(world.order(&POST), [P]);

    // An answer that is not good from the better one ends it all the same: it answers.
    let mut world = World::new(&[Refuses, Answers(200)]);
    world.call(&GET);
    world.then(P, Answers(404)).then(F, Refuses);
    assert_eq!(world.order(&GET), [F, P]);
    assert_eq!(world.held(), None);

    // While nobody answers, the hold stays.
    let mut world = World::new(&[Refuses, Answers(200)]);
    world.call(&GET);
    world.then(F, Refuses);
    assert_eq!(world.order(&GET), [F, P]);
    assert_eq!((world.held(), world.holds_set()), (Some(F), 1));
}

#[test]
fn d15_success_does_not_extend_the_hold() {
    let mut world = World::new(&[Refuses, Answers(200)]);
    world.call(&GET);
    for second in 1..300 {
        assert_eq!(world.at(second * 1_000).order(&GET), [F], "at {second} s");
    }
    world.then(P, Answers(200));
    assert_eq!(world.at(300_000).order(&GET), [P]);
    assert_eq!(world.holds_set(), 1);
}

#[test]
fn d16_a_primary_still_dead_starts_a_new_hold_from_then() {
    let mut world = World::new(&[Refuses, Answers(200)]);
    world.call(&GET);
    assert_eq!(world.at(301_000).order(&GET), [P, F]);
    assert_eq!((world.holds_set(), world.held()), (2, Some(F)));
    assert_eq!(world.at(600_999).order(&GET), [F]);
    assert_eq!(world.at(601_000).order(&GET), [P, F]);
    assert_eq!(world.failovers(), 1, "one notice in the life of a client");
}

#[test]
fn d17_the_order_wraps_from_the_held_one() {
    let mut world = World::new(&[Refuses, Answers(200), Answers(200)]);
    assert_eq!(world.order(&GET), [0, 1]);
    world.then(1, Refuses).then(2, Refuses);
    assert_eq!(world.order(&GET), [1, 2, 0]);
    // The worst one answers: now that one is held, anew.
    world.then(2, Answers(200));
    assert_eq!(world.at(100_000).order(&GET), [1, 2]);
    assert_eq!((world.held(), world.holds_set()), (Some(2), 2));
    // The middle one is better than the one held, and worse than the first, which failed too.
    world.then(1, Answers(200)).then(2, Refuses);
    assert_eq!(world.at(200_000).order(&GET), [2, 0, 1]);
    assert_eq!(world.held(), Some(1));
}

#[test]
fn d18_no_hold_without_an_answer() {
    for (does, held) in [
        (Refuses, false),
        (Resets, false),
        (Answers(500), false),
        (Answers(503), false),
        (Answers(429), false),
        (Answers(999), false),
        (Answers(200), true),
        (Answers(302), true),
        (Answers(404), true),
    ] {
        let mut world = World::new(&[Refuses, does]);
        assert_eq!(world.order(&GET), [P, F]);
        assert_eq!(world.held().is_some(), held, "{does:?}");
        assert_eq!(world.holds_set(), usize::from(held), "{does:?}");
    }
}

/// The calls of fifty threads that all failed at P before any heard of the hold: here in the worst
/// order, one second apart.
#[test]
fn d19_later_failovers_do_not_push_the_hold_out() {
    let start = anyhost::sys::now();
    let fallback = Endpoint { id: EndpointId(F), priority: 1 };
    let (mut hold, mut events) = (Hold::default(), Vec::new());
    for second in 0..50 {
        let now = start + Duration::from_secs(second);
        hold.answered(fallback, true, HOLD, now, &mut events);
    }
    assert_eq!(events, [Event::HoldSet { endpoint: EndpointId(F), wait: HOLD }]);
    let end = start + HOLD;
    assert_eq!(hold.endpoint(end - Duration::from_nanos(1)), Some(EndpointId(F)));
    assert_eq!(hold.endpoint(end), None);
}

/// R3: a hold of no time is none, and one without end has none.
#[test]
fn a_hold_of_zero_is_none_and_one_for_ever_is_as_good() {
    let start = anyhost::sys::now();
    let fallback = Endpoint { id: EndpointId(F), priority: 1 };
    for hold_for in [Duration::ZERO, Duration::MAX] {
        let (mut hold, mut events) = (Hold::default(), Vec::new());
        hold.answered(fallback, true, hold_for, start, &mut events);
        assert_eq!((hold.endpoint(start), events), (None, vec![]), "{hold_for:?}");
    }
}

/// D-4, D-5, D-6, D-21, D-B7: who has a connect limit, and how long it is.
#[test]
fn the_connect_limit_spares_the_last_attempt_and_half_of_the_time() {
    let ms = Duration::from_millis;
    let within = |deadline| Wants { deadline: Some(ms(deadline)), ..POST };
    let one_shot = Wants { replayable: false, ..POST };
    for (wants, endpoints, took) in [
        (POST, 2, vec![2_000, 5_000]), // D-6: the attempt limit alone
        (GET, 3, vec![2_000, 2_000, 5_000]),
        (within(4_000), 2, vec![2_000, 2_000]),    // D-4, D-6
        (within(2_000), 2, vec![1_000, 1_000]),    // D-B7
        (within(3_000), 3, vec![1_500, 750, 750]), // R3: half of what is left each time
        (POST, 1, vec![5_000]),                    // D-21
        (one_shot, 2, vec![5_000]),                // R3: nothing could follow
    ] {
        let mut world = World::new(&vec![Swallows; endpoints]);
        let made = world.call(&wants);
        assert_eq!(made.took, took.into_iter().map(ms).collect::<Vec<_>>());
    }
}

/// D-2, D-3, D-11, R11: how a call ends.
#[test]
fn each_end_has_its_name() {
    let one_shot = Wants { replayable: false, ..POST };
    let within = Wants { deadline: Some(Duration::from_secs(3)), ..GET };
    let error = End::Error;
    for (wants, does, order, end) in [
        (&POST, [Refuses, Refuses], vec![P, F], error(Failure::AttemptsSpent)),
        (&POST, [Resets, Answers(200)], vec![P], error(Failure::AttemptsSpent)),
        (&GET, [Resets, Answers(200)], vec![P, F], End::Answer),
        (&GET, [Answers(503), Resets], vec![P, F], End::Answer),
        (&GET, [Resets, Resets], vec![P, F], error(Failure::AttemptsSpent)),
        (&one_shot, [Refuses, Answers(200)], vec![P], error(Failure::NotReplayable)),
        (&one_shot, [Answers(521), Answers(200)], vec![P], End::Answer),
        (&within, [Swallows, Swallows], vec![P, F], error(Failure::Deadline)),
        (&within, [Answers(503), Swallows], vec![P, F], End::Answer),
        (&POST, [Answers(521), Resets], vec![P, F], error(Failure::AttemptsSpent)),
        (&POST, [Answers(521), Refuses], vec![P, F], End::Answer),
    ] {
        let mut world = World::new(&does);
        let made = world.call(wants);
        assert_eq!((made.order, made.end), (order, end), "{does:?}");
    }
}

/// R1, D-B1: a 522 a minute after sending means that the origin did not acknowledge the request.
#[test]
fn a_late_522_is_an_answer_to_a_write() {
    for (seconds, moves) in [(0, true), (19, true), (59, true), (60, false), (90, false)] {
        let mut world = World::new(&[AnswersAfter(522, seconds), Answers(200)]);
        assert_eq!(world.order(&POST).len() == 2, moves, "after {seconds} s");
        // A GET moves on in any case.
        let mut world = World::new(&[AnswersAfter(522, seconds), Answers(200)]);
        assert_eq!(world.order(&GET), [P, F], "after {seconds} s");
    }
}

/// R2: a stale connection blames nobody. A write of which nothing was sent goes on, and that the
/// next one answers is no failover to be held.
#[test]
fn a_stale_connection_is_nobody_s_fault() {
    let mut world = World::new(&[DiedIdle { sent: false }, Answers(200)]);
    assert_eq!(world.order(&POST), [P, F]);
    assert_eq!((world.held(), world.holds_set()), (None, 0));

    let mut world = World::new(&[DiedIdle { sent: true }, Answers(200)]);
    let stopped = Made {
        order: vec![P],
        took: vec![Duration::ZERO],
        end: End::Error(Failure::AttemptsSpent),
    };
    assert_eq!(world.call(&POST), stopped);
    assert_eq!(world.held(), None);
}

/// R2: replayed once. What fails on a fresh connection too is a failure.
#[test]
fn a_stale_connection_is_replayed_once() {
    let now = anyhost::sys::now();
    let mut pool = World::new(&[Answers(200), Answers(200)]).pool;
    let (resend, failures) = ("503".parse().unwrap(), "5xx".parse().unwrap());
    let policy = Timeout::default();
    let mut call = Call::new(plan(&GET, &resend, &failures, &policy, now), now);
    let mut events = Vec::new();
    let mut tickets = Vec::new();
    // The transport here claims each time that the connection was an idle one.
    let died = attempt(DiedIdle { sent: true }, Default::default(), &mut now.clone());
    let mut later = now;
    for reused in [true, false, true, false] {
        let Step::Attempt(ticket) = call.step(&mut pool, later, [0; 3], &mut events) else {
            panic!("no attempt after {tickets:?}");
        };
        let ticket = call.limit(ticket);
        tickets.push((ticket.endpoint.0, ticket.fresh, ticket.limits()));
        later += Duration::from_millis(100);
        let report = Report { reused, ..died.clone() };
        settle(&mut call, &mut pool, ticket, &report, later, &mut events);
    }
    let places: Vec<_> = tickets.iter().map(|(id, fresh, _)| (*id, *fresh)).collect();
    assert_eq!(places, [(P, false), (P, true), (F, false), (F, true)]);
    assert_eq!(tickets[0].2, tickets[1].2, "a replay shares the limits of its attempt");
    assert_ne!(tickets[1].2, tickets[2].2);
    assert!(matches!(call.step(&mut pool, later, [0; 3], &mut events), Step::End(_)));
}
