//! F24 to F30: shares of the picks.

use crate::network::{A, B, C, on, secs, weight};
use crate::support::{Event, Reply as Served, Script, Server, refusing_address};
use crate::wire::{at_once, by_hand, next};
use anyhost::decide::WeightedDraw;
use anyhost::sys::Rng;
use anyhost::testing::{Reply, ScriptedTransport};
use anyhost::{Client, Endpoint, Request, Selection, State, Status, WeightError, WeightStrategy};

fn weighing(weights: &[(&str, u32)]) -> Vec<Endpoint> {
    weights.iter().map(|(url, weight)| Endpoint::new(url).unwrap().weight(*weight)).collect()
}

fn weighted(network: &ScriptedTransport, endpoints: Vec<Endpoint>) -> anyhost::Result<Client> {
    let builder = on(network, &[]).selection(Selection::Weighted);
    endpoints.into_iter().fold(builder, |builder, of| builder.endpoint(of)).build()
}

/// An error and no panic, when a client is built and when its list is replaced.
#[test]
fn f24_weights_of_zero_and_empty_lists_are_refused() {
    let network = ScriptedTransport::new().on(A, [Reply::ok("a")]);
    let client = weighted(&network, weighing(&[(A, 7)])).unwrap();
    let rows: [(&[(&str, u32)], Status); 4] = [
        (&[(A, 0), (B, 0)], Status::Range),
        (&[(A, 0)], Status::Range),
        (&[(A, 5), (B, 0)], Status::Range),
        (&[], Status::Config),
    ];
    for (weights, status) in rows {
        let at_build = weighted(&network, weighing(weights)).unwrap_err();
        let at_update = client.update(weighing(weights)).unwrap_err();
        assert_eq!([at_build.status(), at_update.status()], [status; 2], "{weights:?}");
        assert_eq!(weight(&client, A), (7, 7), "{weights:?}: the list stays");
    }
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "a");
    client.set_weight(A, 0).unwrap();
    assert_eq!(weight(&client, A), (1000, 1000), "0 says: the default");

    let mut draw = WeightedDraw::new();
    assert_eq!(draw.draw(u64::MAX), None);
    draw.push(0, 0);
    draw.push(0, 0);
    assert_eq!((draw.draw(0), draw.draw(u64::MAX), draw.total()), (None, None, 0));
}

/// In C a weight of 0 is the default, and what no weight can be is refused when it is said.
#[cfg(feature = "capi")]
#[test]
fn f24_zero_is_the_default_in_c() {
    use std::ffi::{c_char, c_void};
    unsafe extern "C" {
        fn anyhost_builder_new(out: *mut *mut c_void) -> i32;
        fn anyhost_builder_free(builder: *mut c_void);
        fn anyhost_builder_add_endpoint(
            builder: *mut c_void,
            url: *const c_char,
            weight: u32,
            priority: u32,
            label: *const c_char,
        ) -> i32;
    }
    let range = Status::Range.code();
    let mut builder = std::ptr::null_mut();
    // SAFETY: declared as in the header; the pointers live through each call, the text ends in NUL,
    // NULL is allowed as a label, and the builder is freed once.
    unsafe {
        assert_eq!(anyhost_builder_new(&mut builder), 0);
        let rows = [(0, 0), (1, 0), (1000, 0), (1001, range), (u32::MAX, range)];
        for (weight, status) in rows {
            let url = c"https://a.example".as_ptr();
            let got = anyhost_builder_add_endpoint(builder, url, weight, 0, std::ptr::null());
            assert_eq!(got, status, "{weight}");
        }
        anyhost_builder_free(builder);
    }
}

/// Within 1.5 points of nominal, and chi-square (two degrees of freedom) below its 99.9th percentile.
fn assert_shares(counts: [u64; 3], weights: [u32; 3]) {
    let draws: u64 = counts.iter().sum();
    let sum: u32 = weights.iter().sum();
    let mut chi_square = 0.0;
    for (count, weight) in counts.into_iter().zip(weights) {
        let nominal = f64::from(weight) / f64::from(sum);
        let (count, expected) = (count as f64, draws as f64 * nominal);
        chi_square += (count - expected).powi(2) / expected;
        assert!((count / draws as f64 - nominal).abs() < 0.015, "{counts:?} of {weights:?}");
    }
    assert!(chi_square < 13.82, "{counts:?} of {weights:?}: {chi_square}");
}

#[test]
fn f26_no_entry_has_more_than_its_share() {
    for weights in [[1, 1, 1], [1, 2, 7], [7, 2, 1]] {
        let (mut draw, mut rng, mut counts) = (WeightedDraw::new(), Rng::seeded(26), [0; 3]);
        for weight in weights {
            draw.push(0, weight);
        }
        for _ in 0..60_000 {
            counts[draw.draw(rng.next_u64()).unwrap()] += 1;
        }
        assert_shares(counts, weights);

        let network = ScriptedTransport::new().on("https:/", [Reply::ok("")]);
        let urls = [A, B, C];
        let builder = on(&network, &[])
            .selection(Selection::Weighted)
            .weight_strategy(WeightStrategy::none());
        let listed = urls.iter().zip(weights).map(|(url, weight)| (*url, weight));
        let client = weighing(&listed.collect::<Vec<_>>())
            .into_iter()
            .fold(builder, |builder, of| builder.endpoint(of))
            .build()
            .unwrap();
        let mut counts = [0; 3];
        for _ in 0..20_000 {
            let answer = client.get("/").send().unwrap();
            counts[urls.iter().position(|url| *url == answer.endpoint()).unwrap()] += 1;
            network.forget_attempts();
        }
        assert_shares(counts, weights);
    }
}

/// Ruling R7: one probe; then a tenth of the share, and after the next success all of it.
#[test]
fn f28_one_that_recovers_is_not_overrun() {
    let (a, b) = (refusing_address(), Server::start(Served::ok("b")));
    let (url_a, url_b) = (a.url(), b.url());
    let (builder, clock) = by_hand(&[url_a.clone(), url_b.clone()]);
    let client = builder
        .selection(Selection::Weighted)
        .set("breaker", "on")
        .set("breaker_threshold", "1")
        .set("breaker_base_delay", "10s")
        .set("breaker_jitter", "off")
        .build()
        .unwrap();
    let check = || client.health_check(&url_a, &mut Request::new("GET", "/").unwrap());
    check().unwrap_err();
    assert_eq!(client.snapshot().find(&url_a).unwrap().state(), State::Cooling);

    let slow = Event::new();
    let a = a.start(Script::each([Served::ok("a").after(&slow), Served::ok("a")]));
    clock.advance(secs(10));
    at_once(32, &client, &slow, |told| {
        a.wait_for_requests(1, secs(20));
        for _ in 0..31 {
            assert_eq!(next(told).unwrap().endpoint(), url_b, "while A is not known to work");
        }
        assert_eq!(a.executed(), 1, "one probe");
        slow.open();
        assert_eq!(next(told).unwrap().endpoint(), url_a);
    });
    assert_eq!(weight(&client, &url_a), (100, 1000), "R7: max / 10");
    check().unwrap();
    assert_eq!(weight(&client, &url_a), (1000, 1000), "R7: the next success");
    let before = a.executed();
    for _ in 0..1000 {
        client.get("/").send().unwrap();
    }
    let share = a.executed() - before;
    assert!((430..=570).contains(&share), "its share and no more: {share} of 1000");
}

/// Weights are whole numbers from 1 to 1000 here, so what the row feeds is refused where it is
/// written: as the text of an option, as a number out of range, as the factor of a strategy.
#[test]
fn f30_numbers_that_are_no_weights_are_refused() {
    let network = ScriptedTransport::new();
    let texts = ["-1", "NaN", "inf", "0", "1001", "1.5", "", "0x10", "18446744073709551615"];
    for option in ["weight_max", "weight_min"] {
        for text in texts {
            let error = on(&network, &[A]).set(option, text).build().unwrap_err();
            assert_eq!((error.status(), error.option()), (Status::Option, Some(option)), "{text}");
        }
        for text in ["1", " 1000 "] {
            // The least weight may be the most.
            on(&network, &[A]).set(option, text).build().unwrap();
        }
    }
    let above = on(&network, &[A]).set("weight_max", "10").set("weight_min", "11").build();
    assert_eq!(above.unwrap_err().status(), Status::Range);
    for weights in [[5, 1001], [5, u32::MAX], [u32::MAX, u32::MAX], [5, 0]] {
        let list = weighing(&[(A, weights[0]), (B, weights[1])]);
        let error = weighted(&network, list).unwrap_err();
        let bad = if weights[0] > 1000 { A } else { B };
        assert_eq!((error.status(), error.option()), (Status::Range, Some("weight")));
        assert!(error.to_string().contains(bad), "it says which: {error}");
    }
    for factor in [-1.0, 0.0, f64::NAN, f64::INFINITY] {
        let refused = WeightStrategy::exponential(factor);
        assert!(matches!(refused, Err(WeightError::BadFactor(_))), "{factor}");
    }
}

#[test]
fn f30_sums_do_not_overflow() {
    let mut draw = WeightedDraw::new();
    let members: Vec<_> = (0..1000).map(|_| draw.push(0, u32::MAX)).collect();
    assert_eq!(draw.total(), 1000 * u64::from(u32::MAX));
    assert_eq!((draw.draw(0), draw.draw(u64::MAX)), (Some(members[0]), Some(members[999])));
    assert_eq!(draw.draw(1 << 63), Some(members[500]));
}
