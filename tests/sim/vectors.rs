//! The vectors: what the seeds come to when they are one client, call by call.
//!
//! X-24 speaks of proxies, which are no members of this pool. The draw alone is in
//! `tests/vectors/weights.rs`, the circuit alone in `tests/vectors/breaker.rs`.

use super::scenario::{Breaker, FAILURE, RESEND, Settings};
use super::{beginning, ms, secs};
use crate::decide::{
    Advice, Call, Cause, End, Ending, Endpoint, EndpointId, Entry, Event, Failure, Limit, Phase,
    Plan, Pool, Reach, Report, State, Step, Ticket, Timeout, Verdict, Weight, WhenNoneEligible,
};
use std::time::{Duration, Instant};

const A: u64 = 1;
const B: u64 = 2;
const C: u64 = 3;

static NO_LIMIT: Timeout = Timeout::infinite();

/// A pool, the time, and what was told.
struct Desk {
    settings: Settings,
    pool: Pool,
    born: Instant,
    now: Instant,
    /// Where the next draw falls.
    draw: u64,
    events: Vec<Event>,
}

/// An endpoint: number, priority, weight, origin.
type Row = (u64, u32, u32, &'static str);

impl Desk {
    fn new(settings: Settings, rows: &[Row]) -> Self {
        let now = beginning();
        let pool = Pool::new(rows.iter().map(entry).collect(), settings.pool(), now);
        Desk { settings, pool, born: now, now, draw: 0, events: Vec::new() }
    }

    fn at(&mut self, since: Duration) {
        self.now = self.born + since;
        self.pool.turn(self.now, &mut self.events);
    }

    fn call(&self, repeatable: bool, replayable: bool) -> Call<'static> {
        self.call_to(repeatable, replayable, None)
    }

    /// A call, or a health check of `only`.
    fn call_to(
        &self,
        repeatable: bool,
        replayable: bool,
        only: Option<EndpointId>,
    ) -> Call<'static> {
        let plan = Plan {
            deadline: self.settings.deadline.map(|deadline| self.now + deadline),
            max_attempts: None,
            attempts_per_endpoint: 1,
            repeatable,
            replayable,
            resend_statuses: &RESEND,
            failure_statuses: &FAILURE,
            connect_timeout: Some(self.settings.connect_timeout),
            connect_timeout_last: None,
            attempt_timeout: &NO_LIMIT,
            stall_timeout: None,
            streamed: false,
            backoff: self.settings.backoff(),
            hold_for: self.settings.hold_for,
            when_none_eligible: WhenNoneEligible::FailFast,
            at: None,
            only,
            through: None,
        };
        Call::new(plan, self.now)
    }

    fn step(&mut self, call: &mut Call<'_>) -> Step {
        call.step(&mut self.pool, self.now, [self.draw, 0, self.draw], &mut self.events)
    }

    /// The next attempt, which there has to be.
    fn ticket(&mut self, call: &mut Call<'_>) -> Ticket {
        match self.step(call) {
            Step::Attempt(ticket) => self.begin(call, ticket),
            other => panic!("an attempt, not {other:?}"),
        }
    }

    fn begin(&mut self, call: &Call<'_>, ticket: Ticket) -> Ticket {
        let ticket = call.limit(ticket);
        Call::begin(&mut self.pool, &ticket, self.now, &mut self.events);
        ticket
    }

    fn settle(&mut self, call: &mut Call<'_>, ticket: Ticket, report: &Report) {
        let outcome = call.judge(&ticket, report, Verdict::Default);
        let (now, advice) = (self.now, Advice::Default);
        call.settle(&mut self.pool, &ticket, report, &outcome, advice, now, 0, &mut self.events);
    }

    /// A whole call in no time: where it went, and how it ended.
    fn make(&mut self, mut call: Call<'_>, server: impl Fn(u64) -> Report) -> (Vec<u64>, End) {
        let mut went = Vec::new();
        loop {
            match self.step(&mut call) {
                Step::Attempt(ticket) => {
                    let ticket = self.begin(&call, ticket);
                    went.push(ticket.endpoint.0);
                    self.settle(&mut call, ticket, &server(ticket.endpoint.0));
                }
                Step::End(end) => return (went, end),
                Step::Wait(until) => panic!("a wait until {until:?}"),
            }
        }
    }

    fn get(&mut self, server: impl Fn(u64) -> Report) -> Vec<u64> {
        self.make(self.call(true, true), server).0
    }

    fn post(&mut self, server: impl Fn(u64) -> Report) -> Vec<u64> {
        self.make(self.call(false, true), server).0
    }

    fn list(&mut self, rows: &[Row]) {
        let entries = rows.iter().map(entry).collect();
        self.pool.replace(entries, self.now, &mut self.events);
    }

    fn place(&self, id: u64) -> usize {
        self.pool.place(EndpointId(id)).expect("it is in the list")
    }

    fn weight(&self, id: u64) -> u32 {
        self.pool.members()[self.place(id)].weight.value()
    }

    fn state(&self, id: u64) -> State {
        self.pool.state(self.place(id), self.now)
    }

    fn wait(&self, id: u64) -> Duration {
        self.pool.wait(self.place(id), self.now)
    }
}

fn entry(&(id, priority, weight, origin): &Row) -> Entry {
    Entry {
        endpoint: Endpoint { id: EndpointId(id), priority },
        weight: Weight::new(weight, 1, weight).expect("above 0"),
        keep_maximum: false,
        origin: origin.into(),
        reach: Reach::default(),
    }
}

/// A breaker without chance.
fn breaker(threshold: u32, base: Duration) -> Settings {
    let breaker = Breaker { threshold, base, max: secs(3600), jitter: false };
    Settings { breaker: Some(breaker), ..Settings::plain() }
}

/// The defaults of seed 001.
fn seed_001() -> Settings {
    let breaker = Breaker { threshold: 5, base: secs(30), max: secs(3600), jitter: true };
    Settings { breaker: Some(breaker), ..Settings::plain() }
}

fn refused() -> Report {
    let ending = Ending::Failed(Cause::Refused);
    Report { phase: Phase::Connect, ending, ..Report::new() }
}

fn answered(status: u16) -> Report {
    Report {
        phase: Phase::Body,
        ending: Ending::Answered,
        status: Some(status),
        asked_to_send: true,
        bytes_received: 100,
        ..Report::new()
    }
}

fn all_well(_: u64) -> Report {
    answered(200)
}

/// All are well but this one, which refuses.
fn down(id: u64) -> impl Fn(u64) -> Report {
    move |at| if at == id { refused() } else { answered(200) }
}

const ORDERED: [Row; 2] = [(A, 0, 1000, "a"), (B, 1, 1000, "b")];
const EQUALS: [Row; 2] = [(A, 0, 1000, "a"), (B, 0, 1000, "b")];

#[test]
fn x_10_the_fallback_is_held_for_five_minutes() {
    let mut desk = Desk::new(Settings::plain(), &ORDERED);
    assert_eq!(desk.get(down(A)), [A, B]);
    for at in [ms(1), secs(100), secs(300) - Duration::from_nanos(1)] {
        desk.at(at);
        assert_eq!(desk.get(all_well), [B], "at {at:?}");
    }
    desk.at(secs(300));
    assert_eq!(desk.get(all_well), [A]);
}

#[test]
fn x_11_skipping_what_cools_sets_no_hold() {
    let mut desk = Desk::new(breaker(1, secs(480)), &ORDERED);
    assert_eq!(desk.get(down(A)), [A, B]);
    desk.at(secs(300));
    desk.events.clear();
    assert_eq!(desk.get(all_well), [B]);
    assert!(!desk.events.iter().any(|event| matches!(event, Event::HoldSet { .. })));
    desk.at(secs(480));
    assert_eq!(desk.get(all_well), [A], "the probe");
    assert_eq!(desk.post(all_well), [A], "as soon as it succeeded");
}

#[test]
fn x_12_a_probe_overtakes_no_hold() {
    let mut desk = Desk::new(breaker(1, secs(200)), &ORDERED);
    assert_eq!(desk.get(down(A)), [A, B]);
    desk.at(secs(200));
    assert_eq!(desk.state(A), State::ProbeAllowed);
    assert_eq!(desk.get(all_well), [B]);
    desk.at(secs(300));
    assert_eq!(desk.post(all_well), [B]);
    assert_eq!(desk.get(all_well), [A]);
}

#[test]
fn x_13_weights_share_and_a_priority_waits_for_the_one_before() {
    let rows = [(A, 0, 1000, "a"), (B, 0, 10, "b"), (C, 1, 1000, "c")];
    for number in 0..1010_u128 {
        let mut desk = Desk::new(Settings::plain(), &rows);
        // The middle of the stretch of this number.
        desk.draw = (((2 * number + 1) << 63) / 1010) as u64;
        let drawn = if number < 1000 { A } else { B };
        assert_eq!(desk.get(all_well), [drawn], "{number}");
    }
    let mut desk = Desk::new(Settings::plain(), &rows);
    assert_eq!(desk.get(|at| if at == C { answered(200) } else { refused() }), [A, B, C], "tried");
    let mut desk = Desk::new(breaker(1, secs(10)), &rows);
    desk.pool.disable(EndpointId(A), "", desk.now, &mut desk.events);
    assert_eq!(desk.get(|at| if at == C { answered(200) } else { refused() }), [B, C], "A out");
    assert_eq!(desk.post(all_well), [C], "both out");
}

#[test]
fn x_14_a_body_for_once_goes_to_who_is_eligible_and_nowhere_else() {
    let mut desk = Desk::new(breaker(1, secs(10)), &EQUALS);
    assert_eq!(desk.get(down(A)), [A, B]);
    let once = |desk: &Desk| desk.call(false, false);
    let call = once(&desk);
    assert_eq!(desk.make(call, all_well), (vec![B], End::Answer));
    let call = once(&desk);
    let (went, end) = desk.make(call, |_| refused());
    assert_eq!(went, [B]);
    assert_ne!(end, End::Answer);
}

#[test]
fn x_15_the_last_candidate_has_no_connect_limit() {
    let rows = [(A, 0, 1000, "a"), (B, 1, 1000, "b"), (C, 2, 1000, "c")];
    let mut desk = Desk::new(breaker(1, secs(7)), &rows);
    desk.pool.disable(EndpointId(C), "at the dentist", desk.now, &mut desk.events);
    // A health check opens the circuit of B and nothing else.
    let check = desk.call_to(true, true, Some(EndpointId(B)));
    assert_eq!(desk.make(check, |_| refused()).0, [B]);

    let mut call = desk.call(true, true);
    let ticket = desk.ticket(&mut call);
    assert_eq!((ticket.endpoint.0, ticket.limits().connect_by), (A, None));
    assert_eq!(
        (desk.state(B), desk.wait(B), desk.state(C)),
        (State::Cooling, secs(7), State::Disabled)
    );
    desk.settle(&mut call, ticket, &refused());
    assert!(matches!(desk.step(&mut call), Step::End(End::Error(Failure::AttemptsSpent))));

    let mut desk = Desk::new(Settings::plain(), &rows);
    let mut call = desk.call(true, true);
    let ticket = desk.ticket(&mut call);
    assert_eq!(ticket.limits().connect_by, Some(desk.now + secs(2)), "others could follow");
}

#[test]
fn x_16_one_origin_shares_a_circuit_and_not_the_weights() {
    let rows = [(A, 0, 1000, "one"), (B, 0, 1000, "one"), (C, 0, 1000, "other")];
    let mut desk = Desk::new(breaker(2, secs(10)), &rows);
    assert_eq!(desk.get(|at| if at == C { answered(200) } else { refused() }), [A, B, C]);
    assert_eq!((desk.weight(A), desk.weight(B)), (100, 100));
    assert_eq!((desk.state(A), desk.state(B)), (State::Cooling, State::Cooling));
    desk.at(secs(20));
    assert_eq!(desk.get(all_well), [A]);
    assert_eq!((desk.state(A), desk.state(B)), (State::Eligible, State::Eligible));
    assert_eq!((desk.weight(A), desk.weight(B)), (100, 100), "of a thousand, after the probe");
    desk.get(all_well);
    assert_eq!((desk.weight(A), desk.weight(B)), (1000, 100));
}

#[test]
fn x_17_a_server_that_answers_503_is_left_alone() {
    let mut desk = Desk::new(seed_001(), &EQUALS);
    let busy = |at| answered(if at == A { 503 } else { 200 });
    let mut path = vec![desk.weight(A)];
    for _ in 0..5 {
        assert_eq!(desk.get(busy), [A, B]);
        path.push(desk.weight(A));
    }
    assert_eq!(path, [1000, 100, 10, 1, 1, 1]);
    // Chance 0: no jitter, so 480 s, the least.
    assert_eq!((desk.state(A), desk.wait(A)), (State::Cooling, secs(480)));
    for at in [0, 100, 479] {
        desk.at(secs(at));
        assert_eq!(desk.get(busy), [B], "at {at} s");
    }
}

#[test]
fn x_18_a_tenth_after_the_probe_and_all_after_the_next_success() {
    let mut desk = Desk::new(breaker(1, secs(10)), &EQUALS);
    assert_eq!(desk.get(down(A)), [A, B]);
    desk.at(secs(10));
    assert_eq!(desk.get(all_well), [A]);
    assert_eq!(desk.weight(A), 100);
    assert_eq!(desk.get(all_well), [A]);
    assert_eq!(desk.weight(A), 1000);
}

#[test]
fn x_19_of_many_at_once_one_is_the_probe() {
    let mut desk = Desk::new(breaker(1, secs(10)), &EQUALS);
    assert_eq!(desk.get(down(A)), [A, B]);
    desk.at(secs(10));
    let mut calls: Vec<_> = (0..64).map(|_| desk.call(true, true)).collect();
    let went: Vec<u64> = calls.iter_mut().map(|call| desk.ticket(call).endpoint.0).collect();
    assert_eq!(went.iter().filter(|at| **at == A).count(), 1);
    assert_eq!(went.iter().filter(|at| **at == B).count(), 63);
}

#[test]
fn x_20_twenty_failures_at_once_count_as_five() {
    let mut desk = Desk::new(seed_001(), &[(A, 0, 1000, "a")]);
    let mut calls: Vec<_> = (0..20).map(|_| desk.call(true, true)).collect();
    let tickets: Vec<Ticket> = calls.iter_mut().map(|call| desk.ticket(call)).collect();
    let reset = Report {
        phase: Phase::Head,
        ending: Ending::Failed(Cause::Reset),
        asked_to_send: true,
        ..Report::new()
    };
    for (call, ticket) in calls.iter_mut().zip(tickets) {
        desk.settle(call, ticket, &reset);
    }
    assert_eq!((desk.state(A), desk.wait(A)), (State::Cooling, secs(480)));
    assert_eq!(desk.pool.members()[0].record.failures, 5);
}

#[test]
fn x_21_who_was_taken_out_changes_nothing_any_more() {
    let mut desk = Desk::new(breaker(1, secs(10)), &EQUALS);
    let mut call = desk.call(true, true);
    let ticket = desk.ticket(&mut call);
    assert_eq!(ticket.endpoint.0, A);
    desk.list(&EQUALS[1..]);
    desk.settle(&mut call, ticket, &refused());
    assert_eq!((desk.state(B), desk.weight(B)), (State::Eligible, 1000));
    assert_eq!(desk.ticket(&mut call).endpoint.0, B, "the call goes on");

    // Back again it is new, and nobody has failed there.
    desk.list(&[(C, 0, 1000, "a"), EQUALS[1]]);
    assert_eq!((desk.state(C), desk.weight(C)), (State::Eligible, 1000));
}

/// What gives a ticket back, what the call's own deadline cuts short, and what the caller cancels.
#[test]
fn x_22_ten_cancelled_calls_say_nothing_of_the_endpoint() {
    let settings = Settings { deadline: Some(secs(1)), ..breaker(1, secs(10)) };
    let mut desk = Desk::new(settings, &EQUALS);
    let cut = Report {
        phase: Phase::Head,
        ending: Ending::Failed(Cause::TimedOut(Limit::Attempt)),
        asked_to_send: true,
        ..Report::new()
    };
    for _ in 0..10 {
        let mut call = desk.call(true, true);
        let ticket = desk.ticket(&mut call);
        Call::abandon(&mut desk.pool, ticket, desk.now, &mut desk.events);
        let mut call = desk.call(true, true);
        let ticket = desk.ticket(&mut call);
        desk.now += secs(1);
        desk.settle(&mut call, ticket, &cut);
        assert!(matches!(desk.step(&mut call), Step::End(End::Error(Failure::Deadline))));
        let mut call = desk.call(true, true);
        let ticket = desk.ticket(&mut call);
        desk.settle(
            &mut call,
            ticket,
            &Report { ending: Ending::Failed(Cause::Cancelled), ..cut.clone() },
        );
        assert!(matches!(desk.step(&mut call), Step::End(End::Error(Failure::Cancelled))));
    }
    for id in [A, B] {
        assert_eq!((desk.state(id), desk.weight(id)), (State::Eligible, 1000));
        assert_eq!(desk.pool.members()[desk.place(id)].in_flight, 0);
    }
}

/// A call that nobody waits for starts nothing, gives back what it holds, and hands no earlier answer
/// out (R11).
#[test]
fn a_cancelled_call_ends_at_its_next_step() {
    let stale = Report {
        phase: Phase::Head,
        ending: Ending::Failed(Cause::Closed),
        asked_to_send: true,
        reused: true,
        ..Report::new()
    };
    for report in [None, Some(stale), Some(answered(503))] {
        let mut desk = Desk::new(breaker(1, secs(10)), &EQUALS);
        let mut call = desk.call(true, true);
        if let Some(report) = &report {
            let ticket = desk.ticket(&mut call);
            desk.settle(&mut call, ticket, report);
        }
        call.cancel();
        for _ in 0..2 {
            assert!(matches!(desk.step(&mut call), Step::End(End::Error(Failure::Cancelled))));
        }
        assert!(desk.pool.members().iter().all(|member| member.in_flight == 0), "{report:?}");
    }
    // One that has ended stays as it ended.
    let mut desk = Desk::new(breaker(1, secs(10)), &EQUALS);
    let mut call = desk.call(true, true);
    let ticket = desk.ticket(&mut call);
    desk.settle(&mut call, ticket, &answered(200));
    call.cancel();
    assert!(matches!(desk.step(&mut call), Step::End(End::Answer)));
}

#[test]
fn x_23_a_hundred_times_404_is_good_health() {
    let mut desk = Desk::new(breaker(1, secs(10)), &EQUALS);
    for _ in 0..100 {
        assert_eq!(desk.get(|_| answered(404)), [A]);
    }
    assert_eq!((desk.state(A), desk.weight(A)), (State::Eligible, 1000));
    assert_eq!(desk.pool.members()[0].record.failures, 0);
}

/// R22: what stays in the list keeps its circuit, however long nothing was heard of it, and however
/// often the list is replaced by itself.
#[test]
fn a_new_list_closes_no_circuit() {
    let mut desk = Desk::new(breaker(1, secs(10)), &EQUALS);
    assert_eq!(desk.get(down(A)), [A, B]);
    // An hour, the longest wait, beyond the end of the wait.
    desk.at(secs(10 + 3600 + 1));
    assert_eq!(desk.state(A), State::ProbeAllowed);
    for _ in 0..2 {
        desk.list(&EQUALS);
        assert_eq!((desk.state(A), desk.weight(A)), (State::ProbeAllowed, 100));
    }
}

/// R22, R6: a ticket given out before the list was replaced is as good after it.
#[test]
fn a_new_list_makes_no_ticket_stale() {
    let mut desk = Desk::new(breaker(1, secs(10)), &EQUALS);
    assert_eq!(desk.get(down(A)), [A, B]);
    desk.at(secs(10));
    assert_eq!(desk.get(all_well), [A], "the circuit closes, in its second generation");
    let mut call = desk.call(true, true);
    let ticket = desk.ticket(&mut call);
    desk.list(&EQUALS);
    desk.settle(&mut call, ticket, &refused());
    assert_eq!((ticket.endpoint.0, desk.state(A)), (A, State::Cooling));
}

/// R22: what is taken out while it cools and put back has no more under way than there is.
#[test]
fn who_comes_back_has_nothing_under_way() {
    let mut desk = Desk::new(Settings::plain(), &EQUALS);
    let mut call = desk.call(true, true);
    let ticket = desk.ticket(&mut call);
    desk.get(|_| Report { retry_after: Some(secs(60)), ..answered(429) });
    assert_eq!((ticket.endpoint.0, desk.state(A)), (A, State::Cooling));
    desk.list(&EQUALS[1..]);
    desk.settle(&mut call, ticket, &answered(200));
    desk.list(&EQUALS);
    assert_eq!((desk.state(A), desk.pool.members()[desk.place(A)].in_flight), (State::Cooling, 0));
}

/// R2, R22: a replay at an endpoint that was taken out in the meantime does not end the call.
#[test]
fn a_replay_goes_elsewhere_when_its_endpoint_is_gone() {
    let mut desk = Desk::new(Settings::plain(), &ORDERED);
    let mut call = desk.call(true, true);
    let ticket = desk.ticket(&mut call);
    let stale = Report {
        phase: Phase::Send,
        ending: Ending::Failed(Cause::Reset),
        asked_to_send: true,
        reused: true,
        ..Report::new()
    };
    desk.settle(&mut call, ticket, &stale);
    desk.list(&ORDERED[1..]);
    let next = desk.ticket(&mut call);
    assert_eq!((next.endpoint.0, next.fresh), (B, false));
}

/// R7: of a probe and a health check beside it only one brings the endpoint back.
#[test]
fn the_second_of_two_good_answers_is_an_ordinary_one() {
    let mut desk = Desk::new(breaker(1, secs(10)), &EQUALS);
    assert_eq!(desk.get(down(A)), [A, B]);
    desk.at(secs(10));
    let mut probe = desk.call(true, true);
    let mut check = desk.call_to(true, true, Some(EndpointId(A)));
    let tickets = (desk.ticket(&mut probe), desk.ticket(&mut check));
    assert_eq!((tickets.0.endpoint.0, tickets.1.endpoint.0), (A, A));
    desk.settle(&mut check, tickets.1, &answered(200));
    assert_eq!(desk.weight(A), 100);
    desk.settle(&mut probe, tickets.0, &answered(200));
    assert_eq!(desk.weight(A), 1000);
}

/// Calls look at the clock before it is their turn at the pool, and meet there what later ones have left:
/// here the end of a wait, which by the late one's own clock would let nobody in.
#[test]
fn a_call_that_comes_late_goes_on_at_the_instant_of_the_pool() {
    let mut desk = Desk::new(breaker(1, secs(30)), &[(A, 0, 1000, "a")]);
    assert_eq!(desk.get(|_| refused()), [A]);
    desk.at(secs(30));
    let mut late = desk.call(true, true);
    desk.now -= ms(1);
    let ticket = desk.ticket(&mut late);
    assert_eq!((ticket.endpoint.0, ticket.is_probe()), (A, true));
}
