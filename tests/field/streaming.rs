//! F138, F140: bodies that are read as they come.

use crate::support::{Reply, Script, Server, ms, timed};
use crate::wire::over;
use anyhost::State;
use std::io::{ErrorKind, Read};

#[test]
fn f138_a_connection_that_drops_in_mid_body() {
    let body: Vec<u8> = (0..1000_u32).map(|n| n as u8).collect();
    let broken = || Reply::ok(body.clone()).cut(500).reset();
    let a = Server::start(Script::each([broken(), Reply::ok(body.clone())]));
    let client = over(&[a.url()]).attempts_per_endpoint(2).build().unwrap();
    let whole = client.get("/").send().unwrap();
    assert_eq!((whole.bytes(), a.executed()), (&body[..], 2), "the part is thrown away");

    let a = Server::start(Script::each([broken(), Reply::ok(body.clone())]));
    let client = over(&[a.url()]).attempts_per_endpoint(2).build().unwrap();
    let mut got = Vec::new();
    let error = client.get("/").stream().unwrap().read_to_end(&mut got).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    // A reset may take with it what the reader has not fetched yet.
    assert!(body[..500].starts_with(&got), "{} bytes", got.len());
    assert_eq!(a.executed(), 1, "no silent second start");
}

#[test]
fn f140_unread_answers_block_nothing() {
    let script = Script::always(Reply::ok(vec![b'x'; 1 << 20]))
        .on("/small", Reply::ok("small"))
        .on("/503", [Reply::status(503)]);
    let a = Server::start(script);
    let settings = [("breaker", "on"), ("breaker_threshold", "1"), ("breaker_base_delay", "1ms")];
    let client = settings.iter().fold(over(&[a.url()]), |b, (name, value)| b.set(name, value));
    let client = client.set("when_none_eligible", "try_nearest").build().unwrap();
    let unread = client.get("/1").stream().unwrap();
    let (answer, took) = timed(|| client.get("/small").send().unwrap());
    assert!(answer.text().unwrap() == "small" && took < ms(1000), "{took:?}");

    // A hundred that nobody reads, every other one of them a probe.
    for n in 0..100 {
        if n % 2 == 0 {
            client.get("/503").send().unwrap();
        }
        drop(client.get("/big").stream().unwrap());
        let snapshot = client.snapshot();
        let member = snapshot.find(&a.url()).unwrap();
        assert_eq!((member.state(), member.in_flight()), (State::Eligible, 0), "after {n}");
    }
    assert_eq!(client.get("/small").send().unwrap().text().unwrap(), "small");
    let mut rest = Vec::new();
    unread.into_reader().read_to_end(&mut rest).unwrap();
    assert_eq!(rest.len(), 1 << 20);
}
