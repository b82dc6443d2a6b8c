//! The list of endpoints and their weights: seeds.md 1.2 (A-L, A-E) and rulings R4, R22.
//!
//! | vector | said | now | ruling |
//! |---|---|---|---|
//! | A-L1, A-L2 | duplicates are one source | they are an error when the client is built | R16 |
//! | A-L3 | duplicates in an update are one source | they are an error, and the list stays | R16, R22 |
//! | A-L4 | a source that stays keeps its old maximum | the maximum is the new one, where the update names one | R22 |
//! | A-L6 | an update with the same set tells nothing | no weight and no state changes; that the list was replaced is told | C contract, events |
//! | A-L8 | a source that comes back has lost its history | the same, unless it was cooling: then it cools on | seeds.md 7.3 |
//! | A-L9 | `/1` and `/1/` are two sources | they are one, and an error | R16 |

use crate::network::{A, B, C, Later, List, Log, attempts, ms, on, received, secs, weight};
use anyhost::inject::{Answer, Attempt, Report, Transport};
use anyhost::testing::{Reply, ScriptedTransport};
use anyhost::{Client, Endpoint, EventKind, Reason, Selection, State, Status};
use std::sync::{Arc, Barrier};

const CHANGES: &[EventKind] = &[
    EventKind::WeightChanged,
    EventKind::AllAtMinimum,
    EventKind::StateChanged,
    EventKind::PoolUpdated,
];

const REPLACED: &str = "a list of members was replaced";

fn endpoints<const N: usize>(urls: [&str; N]) -> [Endpoint; N] {
    urls.map(|url| Endpoint::new(url).unwrap())
}

fn labels(client: &Client) -> Vec<String> {
    client.snapshot().members().iter().map(|member| member.label().to_owned()).collect()
}

#[test]
fn a_l1_a_l2_a_l9_duplicates_are_refused_at_build() {
    let network = ScriptedTransport::new();
    let slash = ["http://t/1", "http://t/1/"];
    for (vector, list) in [("A-L1", [A, A].as_slice()), ("A-L2", &[A, A, B]), ("A-L9", &slash)] {
        let error = on(&network, list).build().unwrap_err();
        assert_eq!(error.status(), Status::Duplicate, "{vector}, R16");
    }
}

#[test]
fn a_l3_a_mistake_in_an_update_changes_nothing() {
    let network = ScriptedTransport::new().on(A, [Reply::ok("a")]).on(B, [Reply::ok("b")]);
    let log = Log::default();
    let client = log.of(on(&network, &[A, B]), CHANGES).build().unwrap();
    let labelled = |url, label: &str| Endpoint::new(url).unwrap().label(label);
    let heavy = Endpoint::new(C).unwrap().weight(1001);
    let cases: [(&str, Vec<Endpoint>, Status); 5] = [
        ("A-L3", endpoints([C, C]).into(), Status::Duplicate),
        ("one label twice", vec![labelled(A, "x"), labelled(C, "x")], Status::Duplicate),
        ("no endpoint", Vec::new(), Status::Config),
        ("http beside https", endpoints([A, "http://c.example"]).into(), Status::Downgrade),
        ("a weight above weight_max", vec![heavy], Status::Range),
    ];
    for (case, list, status) in cases {
        assert_eq!(client.update(list).unwrap_err().status(), status, "R22: {case}");
        assert_eq!(labels(&client), [A, B], "R22: {case}");
    }
    assert_eq!(log.take(), [""; 0], "R22: nothing to tell");
    client.update(endpoints([C])).unwrap();
    assert_eq!((labels(&client), log.take()), (vec![C.to_owned()], vec![REPLACED.to_owned()]));
}

/// remove 10/100, keep 10/100, unchanged 555/555; then add 50/100, keep 20/100, unchanged.
#[test]
fn a_l4_those_that_stay_keep_their_live_weight() {
    let [remove, keep, unchanged, add] =
        ["https://remove", "https://keep", "https://unchanged", "https://add"];
    let network = [remove, keep]
        .iter()
        .fold(ScriptedTransport::new(), |network, url| network.on(url, [Reply::refused()]))
        .on(unchanged, [Reply::ok("")]);
    let of = |url, weight: u32| Endpoint::new(url).unwrap().weight(weight);
    let client = on(&network, &[])
        .selection(Selection::Weighted)
        .endpoint(of(remove, 100))
        .endpoint(of(keep, 100))
        .endpoint(of(unchanged, 555))
        .build()
        .unwrap();
    for label in [remove, keep] {
        client.health_check(label, &mut anyhost::Request::new("GET", "/").unwrap()).unwrap_err();
        assert_eq!(weight(&client, label), (10, 100));
    }
    let list = || [of(add, 50), of(keep, 20), Endpoint::new(unchanged).unwrap()];
    client.update(list()).unwrap();
    assert_eq!(weight(&client, add), (50, 50), "A-L4");
    assert_eq!(weight(&client, keep), (10, 20), "A-L4, R22: the live weight, the new maximum");
    assert_eq!(weight(&client, unchanged), (555, 555), "A-L4");
    assert!(client.snapshot().find(remove).is_none(), "A-L4");

    client.update([of(unchanged, 100), of(keep, 5)]).unwrap();
    assert_eq!(weight(&client, unchanged), (100, 100), "R22: cut to the new maximum");
    assert_eq!(weight(&client, keep), (5, 5), "R22");
}

#[test]
fn a_l5_a_l6_updates_of_defaults() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]).on(B, [Reply::ok("")]);
    let log = Log::default();
    let client =
        log.of(on(&network, &[A]).selection(Selection::Weighted), CHANGES).build().unwrap();
    client.get("/").send().unwrap_err();
    assert_eq!(weight(&client, A), (100, 1000), "A-L5");
    client.update(endpoints([A, B, C])).unwrap();
    let weights = [A, B, C].map(|label| weight(&client, label));
    assert_eq!(weights, [(100, 1000), (1000, 1000), (1000, 1000)], "A-L5");
    log.take();
    client.update(endpoints([A, B, C])).unwrap();
    assert_eq!([A, B, C].map(|label| weight(&client, label)), weights, "A-L6");
    assert_eq!(log.take(), [REPLACED], "A-L6: nothing else");
}

#[test]
fn a_l7_an_outcome_of_one_taken_out_changes_nothing() {
    let later = Later::default();
    let take_out = later.clone();
    let network = ScriptedTransport::new().on(B, [Reply::ok("b")]).on(
        A,
        [Reply::refused().meanwhile(move || take_out.get().update(endpoints([B])).unwrap())],
    );
    let log = Log::default();
    let weighted = on(&network, &[A, B]).selection(Selection::Weighted);
    let client = log.of(weighted, CHANGES).build().unwrap();
    later.set(&client);
    client.disable(B, "A goes first").unwrap();
    log.take();
    client.get("/").send().unwrap_err();
    assert_eq!(log.take(), [REPLACED], "A-L7, X-21: no event of A's failure");
    assert_eq!(labels(&client), [B], "A-L7");
}

#[test]
fn a_l8_one_that_comes_back_is_new() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]).on(B, [Reply::ok("b")]);
    let client = on(&network, &[A]).selection(Selection::Weighted).build().unwrap();
    client.get("/").send().unwrap_err();
    client.update(endpoints([B])).unwrap();
    client.update(endpoints([B, A])).unwrap();
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.weight(), a.failures(), a.attempts()), (1000, 0, 0), "A-L8");
}

#[test]
fn r22_one_that_cooled_cools_on_when_it_comes_back() {
    let network = ScriptedTransport::new()
        .on(A, [Reply::status(429).retry_after(secs(60))])
        .on(B, [Reply::ok("b")]);
    let client = on(&network, &[A, B]).selection(Selection::Weighted).build().unwrap();
    client.set_weight(B, 1).unwrap();
    while attempts(&network, [A]) == [0] {
        client.get("/").send().unwrap();
    }
    client.update(endpoints([B])).unwrap();
    network.clock().advance(secs(20));
    client.update(endpoints([A, B])).unwrap();
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.state(), a.cooling()), (State::Cooling, secs(40)), "R22: a tombstone");
    assert_eq!(a.weight(), 1000, "R22: with the weight of a new one");
    assert_eq!(client.get("/").send().unwrap().endpoint(), B, "R10");

    client.update(endpoints([B])).unwrap();
    network.clock().advance(secs(40));
    client.update(endpoints([A, B])).unwrap();
    let snapshot = client.snapshot();
    assert_eq!(snapshot.find(A).unwrap().state(), State::Eligible, "R22: it was over meanwhile");
}

#[test]
fn r22_a_circuit_outlives_its_endpoint() {
    let network = ScriptedTransport::new().on(A, [Reply::refused()]).on(B, [Reply::ok("b")]);
    let client = on(&network, &[A, B])
        .set("breaker", "on")
        .set("breaker_threshold", "1")
        .set("breaker_base_delay", "10s")
        .set("breaker_jitter", "off")
        .build()
        .unwrap();
    client.get("/").send().unwrap();
    client.update(endpoints([B])).unwrap();
    network.clock().advance(secs(4));
    client.update(endpoints([A, B])).unwrap();
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.state(), a.cooling()), (State::Cooling, secs(6)), "R22");
    assert_eq!(a.reason(), Reason::CircuitOpen, "R22: its own history is gone");
    client.get("/").send().unwrap();
    assert_eq!(attempts(&network, [A]), [1], "R22");
}

#[test]
fn r22_a_running_call_starts_nothing_on_one_taken_out() {
    for first in [Reply::refused(), Reply::stale_connection()] {
        let later = Later::default();
        let update = later.clone();
        let first = first.meanwhile(move || update.get().update(endpoints([C])).unwrap());
        let network =
            ScriptedTransport::new().on(A, [first]).on(B, [Reply::ok("b")]).on(C, [Reply::ok("c")]);
        let client = on(&network, &[A, B]).build().unwrap();
        later.set(&client);
        let answer = client.get("/").send().unwrap();
        assert_eq!(answer.text().unwrap(), "c", "R22: it goes on with the new list");
        assert_eq!(attempts(&network, [A, B, C]), [1, 0, 1], "R22");
    }
}

#[test]
fn r22_priority_and_label_are_the_new_ones() {
    let network = ScriptedTransport::new().on(A, [Reply::ok("a")]).on(B, [Reply::ok("b")]);
    let client = on(&network, &[A, B]).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().endpoint(), A);
    let [a, b] = endpoints([A, B]);
    client.update([a.label("second").priority(7), b.label("first").priority(3)]).unwrap();
    assert_eq!(labels(&client), ["first", "second"], "R22: by priority");
    assert_eq!(client.get("/").send().unwrap().endpoint(), "first", "R22");
    let snapshot = client.snapshot();
    let second = snapshot.find("second").unwrap();
    assert_eq!((second.priority(), second.attempts()), (7, 1), "R22: its record stays");
    assert_eq!(client.disable(A, "by its URL as given").map_err(|e| e.status()), Ok(()));
    let unknown = client.disable("https://a.example:443", "").unwrap_err();
    assert_eq!(unknown.status(), Status::NotFound);
}

#[test]
fn r22_a_disabled_one_that_stays_stays_disabled() {
    let network = ScriptedTransport::new().on(B, [Reply::ok("b")]);
    let client = on(&network, &[A, B]).build().unwrap();
    client.disable(A, "maintenance").unwrap();
    client.update(endpoints([A, B, C])).unwrap();
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.state(), a.detail()), (State::Disabled, "maintenance"), "R22");
    assert_eq!(client.get("/").send().unwrap().endpoint(), B);
}

#[test]
fn a_e1_to_a_e3_weights_tell_what_changes() {
    let network = ScriptedTransport::new().on(A, [Reply::ok("")]).on(B, [Reply::refused()]);
    let log = Log::default();
    let kinds = &[EventKind::WeightChanged, EventKind::AllAtMinimum];
    let weighted = on(&network, &[A, B]).selection(Selection::Weighted).max_attempts(1);
    let client = log.of(weighted, kinds).build().unwrap();
    let check = |label: &str| {
        let _ = client.health_check(label, &mut anyhost::Request::new("GET", "/").unwrap());
    };
    check(A);
    assert_eq!(log.take(), [""; 0], "A-E1");
    for (from, to) in [(1000, 100), (100, 10), (10, 1)] {
        check(B);
        assert_eq!(log.take(), [format!("{B}: weight {from} -> {to}")], "A-E2: exactly one");
    }
    check(B);
    assert_eq!(log.take(), [""; 0], "A-W4, A-E3: it cannot go lower");
    network.now_on(A, [Reply::refused()]);
    (0..2).for_each(|_| check(A));
    log.take();
    check(A);
    let all = "all endpoints are at their least weight";
    assert_eq!(log.take(), [&format!("{A}: weight 10 -> 1"), all], "A-E2, A-S5");
    check(A);
    check(B);
    assert_eq!(log.take(), [""; 0], "A-E3");
}

/// k failures under way at one time, from 1000: max(1, 1000 / 10^k).
#[test]
fn r4_concurrent_failures_all_count() {
    for (threads, left) in [(1, 100), (2, 10), (3, 1), (8, 1)] {
        let barrier = Arc::new(Barrier::new(threads));
        let together = Reply::resets_after_sending().takes(ms(5)).meanwhile(move || {
            barrier.wait();
        });
        let network = ScriptedTransport::new().on(A, [together]);
        let client = on(&network, &[A]).selection(Selection::Weighted).build().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| client.post("/").body("{}").send().unwrap_err());
            }
        });
        assert_eq!(weight(&client, A), (left, 1000), "R4, A-B10: {threads} at once");
        let snapshot = client.snapshot();
        let a = snapshot.find(A).unwrap();
        assert_eq!((a.failures(), a.in_flight()), (threads as u64, 0), "R4");
        assert_eq!(received(&network, [A]), [threads], "R1: each POST arrived once");
        assert_eq!(network.clock().elapsed(), ms(5), "they took their time together");
    }
}

#[test]
fn r4_404_is_a_good_answer() {
    let network = ScriptedTransport::new().on(A, [Reply::status(404)]);
    let client = on(&network, &[A]).preset("agoda").set("breaker", "on").build().unwrap();
    for _ in 0..100 {
        client.get("/").send().unwrap_err();
    }
    let snapshot = client.snapshot();
    let a = snapshot.find(A).unwrap();
    assert_eq!((a.state(), a.weight(), a.failures()), (State::Eligible, 1000, 0), "X-23, A-B6");
}

#[test]
fn set_weight_sets_the_live_weight_and_its_most() {
    let network = ScriptedTransport::new().on(A, [Reply::refused(), Reply::ok("")]);
    let log = Log::default();
    let weighted = on(&network, &[A]).selection(Selection::Weighted);
    let client = log.of(weighted, &[EventKind::WeightChanged]).build().unwrap();
    client.set_weight(A, 500).unwrap();
    assert_eq!(weight(&client, A), (500, 500));
    client.get("/").send().unwrap_err();
    client.get("/").send().unwrap();
    assert_eq!(weight(&client, A), (500, 500), "its most is what was set");
    client.set_weight(A, 0).unwrap();
    assert_eq!(weight(&client, A), (1000, 1000), "0 = weight_max");
    let moves = ["1000 -> 500", "500 -> 50", "50 -> 500", "500 -> 1000"];
    assert_eq!(log.take(), moves.map(|of| format!("{A}: weight {of}")));
    assert_eq!(client.set_weight(A, 1001).unwrap_err().status(), Status::Range);
    assert_eq!(client.set_weight(B, 1).unwrap_err().status(), Status::NotFound);
    assert_eq!(weight(&client, A), (1000, 1000), "a mistake changes nothing");
}

/// A network whose connections come into being while the list is replaced.
struct Replaced {
    network: ScriptedTransport,
    replace: Box<dyn Fn() + Send + Sync>,
    told: List<&'static str>,
}

impl Transport for Replaced {
    fn attempt(&self, attempt: Attempt<'_>) -> (Report, Option<Answer>) {
        (self.replace)();
        self.told.push("used");
        self.network.attempt(attempt)
    }

    fn forget(&self, _endpoint: u64) {
        self.told.push("forgotten");
    }
}

#[test]
fn what_is_taken_out_leaves_no_connection_behind() {
    let network = ScriptedTransport::new().on(A, [Reply::ok("a")]).on(B, [Reply::ok("b")]);
    let (later, told) = (Later::default(), List::new());
    let of_it = later.clone();
    let replace = Box::new(move || of_it.get().update(endpoints([B])).unwrap());
    let transport = Replaced { network: network.clone(), replace, told: told.clone() };
    let client = on(&network, &[A, B]).transport(transport).build().unwrap();
    later.set(&client);
    assert_eq!(client.get("/").send().unwrap().endpoint(), A);
    assert_eq!(told.take(), ["forgotten", "used", "forgotten"], "R22: also of what began before");
    assert_eq!(client.get("/").send().unwrap().endpoint(), B);
    assert_eq!(told.take(), ["used"], "what is in the list stays");
}
