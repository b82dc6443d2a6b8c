//! Parts of a call in nanoseconds: the decisions at 1 to 10,000 endpoints, on one thread and on
//! eight; what is done to a client from outside; what is done to a request before it is sent.
//!
//! ```sh
//! cargo bench --bench micro            # everything, some two minutes
//! cargo bench --bench micro -- pick    # what has this in its name
//! ```
//!
//! Times are of one machine on one day. What may not grow is counted in `counts`, without a clock.

#[path = "support/instant.rs"]
mod instant;
#[path = "support/pool.rs"]
mod pool;

use anyhost::decide::{
    EndpointId, Outcome, Pool, Report, Rules as Judged, StatusSet, Verdict, Wanted, Weight,
    classify, pick as decide_pick,
};
use anyhost::{Client, Endpoint, Request};
use divan::{Bencher, black_box};
use pool::Chance;
use std::cell::Cell;
use std::sync::Mutex;
use std::time::Instant;

const SIZES: [u64; 6] = [1, 2, 10, 100, 1_000, 10_000];
const THREADS: [usize; 2] = [1, 8];

fn main() {
    divan::main();
}

/// The next number of this thread.
fn chance() -> u64 {
    thread_local!(static STATE: Cell<u64> = const { Cell::new(1) });
    STATE.with(|state| {
        let mut chance = Chance(state.get());
        let number = chance.next();
        state.set(chance.0);
        number
    })
}

fn filled(endpoints: u64) -> (Pool, Instant) {
    let now = anyhost::sys::now();
    (pool::pool(endpoints, now), now)
}

/// Which endpoint comes next.
#[divan::bench(args = SIZES, threads = THREADS)]
fn pick(bencher: Bencher<'_, '_>, endpoints: u64) {
    let (pool, now) = filled(endpoints);
    let wanted = Wanted { tried: &[], attempts_per_endpoint: 1, may_probe: true };
    bencher.bench(|| decide_pick(&pool, &wanted, now, chance(), &mut Vec::new()));
}

/// The same while weights move: one has changed, and the row is not laid out again yet.
#[divan::bench(args = SIZES)]
fn pick_after_a_change(bencher: Bencher<'_, '_>, endpoints: u64) {
    let (mut pool, now) = filled(endpoints);
    let weight = Weight::default().with_max(500).expect("from 1 on");
    pool.set_weight(EndpointId(endpoints / 2), weight, &mut Vec::new());
    let wanted = Wanted { tried: &[], attempts_per_endpoint: 1, may_probe: true };
    bencher.bench(|| decide_pick(&pool, &wanted, now, chance(), &mut Vec::new()));
}

/// With every second endpoint out.
#[divan::bench(args = SIZES)]
fn pick_half_down(bencher: Bencher<'_, '_>, endpoints: u64) {
    let (mut pool, now) = filled(endpoints);
    for number in (1..endpoints).step_by(2) {
        pool.disable(EndpointId(number), "a bench", now, &mut Vec::new());
    }
    let wanted = Wanted { tried: &[], attempts_per_endpoint: 1, may_probe: true };
    bencher.bench(|| decide_pick(&pool, &wanted, now, chance(), &mut Vec::new()));
}

/// All that a good call decides, under one lock, as in a client.
#[divan::bench(args = SIZES, threads = THREADS)]
fn decisions(bencher: Bencher<'_, '_>, endpoints: u64) {
    let (pool, now) = filled(endpoints);
    let (pool, rules) = (Mutex::new(pool), pool::Rules::new());
    bencher.bench(|| {
        let pool = &mut *pool.lock().expect("no bench panics");
        pool::decide(pool, &rules, now, chance(), &mut Vec::new());
    });
}

/// A whole call, over a network that answers at once.
#[divan::bench(args = SIZES, threads = THREADS)]
fn call_without_network(bencher: Bencher<'_, '_>, endpoints: u64) {
    let client = instant::client(endpoints as usize);
    bencher.bench(|| client.get("/x").send().expect("an answer"));
}

/// An attempt let in and its good end taken in.
#[divan::bench(args = SIZES)]
fn record(bencher: Bencher<'_, '_>, endpoints: u64) {
    let (mut pool, now) = filled(endpoints);
    let (report, outcome) = judged();
    bencher.bench_local(|| {
        let place = (chance() % endpoints) as usize;
        let id = pool.members()[place].endpoint.id;
        let ticket = pool.enter(place, false, now, chance(), &mut Vec::new()).expect("it is good");
        pool.record(id, ticket, &report, &outcome, now, chance(), &mut Vec::new());
    });
}

/// A weight moved.
#[divan::bench(args = SIZES)]
fn change_of_weight(bencher: Bencher<'_, '_>, endpoints: u64) {
    let (mut pool, _) = filled(endpoints);
    bencher.bench_local(|| {
        let id = EndpointId(chance() % endpoints);
        let weight = Weight::default().with_max(1 + (chance() % 1000) as u32).expect("from 1 on");
        pool.set_weight(id, weight, &mut Vec::new())
    });
}

/// An endpoint taken out of service and put back.
#[divan::bench(args = SIZES)]
fn change_of_health(bencher: Bencher<'_, '_>, endpoints: u64) {
    let now = anyhost::sys::now();
    let mut pool = pool::without_breaker(endpoints, now);
    bencher.bench_local(|| {
        let id = EndpointId(chance() % endpoints);
        pool.disable(id, "", now, &mut Vec::new());
        pool.enable(id, now, &mut Vec::new())
    });
}

fn rules() -> (StatusSet, StatusSet) {
    ("502-504".parse().expect("statuses"), "429,5xx".parse().expect("statuses"))
}

fn judged() -> (Report, Outcome) {
    let (resend_statuses, failure_statuses) = &rules();
    let report = pool::good();
    let outcome = classify(
        &report,
        &Judged {
            streamed: false,
            suspected: false,
            repeatable: true,
            resend_statuses,
            failure_statuses,
            connect_cut: false,
            attempt_cut: false,
            verdict: Verdict::Default,
        },
    );
    (report, outcome)
}

/// What an attempt's report means.
#[divan::bench(name = "classify")]
fn classify_report(bencher: Bencher<'_, '_>) {
    let (resend_statuses, failure_statuses) = &rules();
    let report = pool::good();
    let rules = Judged {
        streamed: false,
        suspected: false,
        repeatable: true,
        resend_statuses,
        failure_statuses,
        connect_cut: false,
        attempt_cut: false,
        verdict: Verdict::Default,
    };
    bencher.bench(|| classify(black_box(&report), black_box(&rules)));
}

/// The bounds of a call.
#[divan::bench]
fn plan(bencher: Bencher<'_, '_>) {
    let (rules, now) = (pool::Rules::new(), anyhost::sys::now());
    bencher.bench(|| {
        black_box(rules.plan(black_box(now)));
    });
}

/// The state of all endpoints, copied out.
#[divan::bench(args = SIZES)]
fn snapshot(bencher: Bencher<'_, '_>, endpoints: u64) {
    let client = instant::client(endpoints as usize);
    bencher.bench(|| client.snapshot());
}

/// The list of endpoints replaced by one that says the same.
#[divan::bench(args = SIZES)]
fn update(bencher: Bencher<'_, '_>, endpoints: u64) {
    let client: Client = instant::client(endpoints as usize);
    let list: Vec<Endpoint> = instant::endpoints(endpoints as usize).collect();
    bencher.with_inputs(|| list.clone()).bench_values(|list| client.update(list).expect("a list"));
}

/// A base URL taken apart.
#[divan::bench]
fn endpoint_parsed() -> Endpoint {
    Endpoint::new(black_box("https://api.example.com:8443/v1")).expect("a base URL")
}

/// A path and a method checked.
#[divan::bench]
fn request_made() -> Request {
    Request::new(black_box("GET"), black_box("/v1/orders/17?fields=id,state")).expect("a request")
}

/// Three headers checked and set.
#[divan::bench]
fn headers_set() -> Request {
    let mut request = Request::new("GET", "/").expect("a request");
    for (name, value) in [
        ("Accept", "application/json"),
        ("Authorization", "Bearer 0123456789abcdef0123456789abcdef"),
        ("X-Request-Id", "9d2c5f10-6d2a-4d3b-9c6e-1c7f6a3f5e21"),
    ] {
        request.set_header(black_box(name), black_box(value)).expect("a header");
    }
    request
}
