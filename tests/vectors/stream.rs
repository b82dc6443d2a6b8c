//! Ruling R21 in virtual time: a stream is settled at its head, and a body that breaks off later is one
//! more failure.

use crate::network::{A, B, Log, ms, on, received, secs, weight};
use anyhost::testing::{Reply, ScriptedTransport};
use anyhost::{
    BodyReader, Client, Delivery, Endpoint, Error, EventKind, Phase, Reason, State, Status,
};
use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn half() -> Reply {
    Reply::ok("half of it").breaks_off()
}

fn stalling() -> Reply {
    Reply::ok("half of it").stalls()
}

fn open(client: &Client) -> BodyReader {
    client.get("/").stream().unwrap().into_reader()
}

/// Reads to the end, and says what that was.
fn broken(reader: &mut BodyReader) -> (ErrorKind, Error) {
    let mut bytes = Vec::new();
    let error = reader.read_to_end(&mut bytes).unwrap_err();
    assert_eq!(bytes, b"half ", "the half that came");
    (error.kind(), error.downcast().expect("an error of ours"))
}

fn state(client: &Client, label: &str) -> State {
    client.snapshot().find(label).unwrap().state()
}

/// A client of A alone, with a circuit that opens at `threshold` failures, for 30 s after the first.
fn with_breaker(network: &ScriptedTransport, threshold: u32) -> Client {
    let settings = [
        ("breaker", "on"),
        ("breaker_threshold", &threshold.to_string()),
        ("breaker_jitter", "off"),
    ];
    let builder = settings.iter().fold(on(network, &[A]), |b, (name, value)| b.set(name, value));
    builder.build().unwrap()
}

#[test]
fn a_broken_body_counts_once_for_its_endpoint() {
    let network = ScriptedTransport::new().on(A, [half()]);
    let client = with_breaker(&network, 2);
    let mut first = open(&client);
    let member = || client.snapshot().find(A).unwrap().clone();
    assert_eq!((member().in_flight(), member().successes()), (0, 1), "R21: settled at the head");
    let (kind, error) = broken(&mut first);
    assert_eq!((kind, error.status()), (ErrorKind::UnexpectedEof, Status::Body), "R21");
    assert_eq!(
        (error.reason(), error.phase(), error.delivery()),
        (Reason::Truncated, Phase::Body, Delivery::Answered),
        "R21"
    );
    for _ in 0..5 {
        let again = first.read(&mut [0; 9]).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::UnexpectedEof, "R13: never an end");
    }
    assert_eq!((member().failures(), member().attempts()), (1, 1), "R21: one more, once");
    assert_eq!((member().reason(), member().phase()), (Reason::Truncated, Phase::Body));
    assert_eq!(state(&client, A), State::Eligible, "below the threshold");
    // The head of the next is a success, which ends the row (R6); its body is the first failure again.
    broken(&mut open(&client));
    assert_eq!(state(&client, A), State::Eligible, "B-5: consecutive failures");
    // Two bodies that were open at once break one after the other: nothing came between.
    let (mut one, mut two) = (open(&client), open(&client));
    broken(&mut one);
    broken(&mut two);
    assert_eq!(state(&client, A), State::Cooling, "R21: two in a row");
}

#[test]
fn a_probe_is_settled_at_the_head_and_may_still_fail_by_its_body() {
    let network =
        ScriptedTransport::new().on(A, [Reply::status(500), half(), Reply::ok("good"), half()]);
    let client = with_breaker(&network, 1);
    client.get("/").send().unwrap();
    assert_eq!(state(&client, A), State::Cooling);
    network.clock().advance(secs(30));
    let mut probe = open(&client);
    assert_eq!(state(&client, A), State::Eligible, "R21: a probe's ticket is settled at the head");
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "good", "while its body is open");
    broken(&mut probe);
    assert_eq!(state(&client, A), State::Cooling, "R21: one more failure, by the same ticket");
    assert_eq!(client.get("/").stream().unwrap_err().status(), Status::NoEndpoint);
}

#[test]
fn a_body_of_an_older_generation_changes_nothing() {
    let network = ScriptedTransport::new().on(A, [half(), Reply::status(500), Reply::ok("good")]);
    let client = with_breaker(&network, 1);
    let mut old = open(&client);
    client.get("/").send().unwrap();
    network.clock().advance(secs(30));
    client.get("/").send().unwrap();
    assert_eq!(state(&client, A), State::Eligible, "a probe has closed it");
    assert_eq!(broken(&mut old).1.status(), Status::Body, "the caller is told all the same");
    assert_eq!(state(&client, A), State::Eligible, "R6: an outcome of an older generation");
}

#[test]
fn weights_follow_a_broken_body() {
    let network = ScriptedTransport::new().on(A, [half()]).on(B, [half()]);
    let log = Log::default();
    let builder =
        log.of(on(&network, &[A, B]).set("selection", "weighted"), &[EventKind::WeightChanged]);
    let client = builder.build().unwrap();
    let mut reader = open(&client);
    let tried = if received(&network, [A, B]) == [1, 0] { A } else { B };
    assert_eq!(weight(&client, tried), (1000, 1000), "R21: a success at its head");
    broken(&mut reader);
    assert_eq!(weight(&client, tried), (100, 1000), "R21, R4: divided by 10");
    assert_eq!(log.take().len(), 1, "and told");
    let _ = reader.read(&mut [0; 9]);
    assert_eq!(weight(&client, tried), (100, 1000), "once");
}

#[test]
fn what_is_the_callers_doing_is_nothing() {
    let network = ScriptedTransport::new().on(A, [half(), stalling(), stalling()]);
    let client = with_breaker(&network, 1);
    let mut dropped = open(&client);
    dropped.read_exact(&mut [0; 3]).unwrap();
    drop(dropped);
    assert_eq!(state(&client, A), State::Eligible, "R21: dropping the reader is nothing");

    let stream = client.get("/").deadline(secs(10)).stream().unwrap();
    let (kind, error) = broken(&mut stream.into_reader());
    assert_eq!((kind, error.status()), (ErrorKind::TimedOut, Status::Deadline), "R21: deadline");
    assert_eq!(error.reason(), Reason::Deadline);
    assert_eq!(network.clock().elapsed(), secs(10), "from the start of the call");
    assert_eq!(state(&client, A), State::Eligible, "R9: neutral");

    let (kind, error) = broken(&mut open(&client));
    assert_eq!((kind, error.reason()), (ErrorKind::TimedOut, Reason::Timeout), "a stall is not");
    assert_eq!(network.clock().elapsed(), secs(40), "stall_timeout: 30 s from the last byte");
    assert_eq!(state(&client, A), State::Cooling);
}

#[test]
fn limits_of_a_stream_are_those_of_its_head_and_of_the_call() {
    let network = ScriptedTransport::new().on(A, [stalling()]);
    let client = on(&network, &[A]).build().unwrap();
    client.get("/").stream().unwrap();
    client.get("/").deadline(secs(60)).stream().unwrap();
    client.get("/").deadline(secs(3)).stream().unwrap();
    let _ = client.get("/").send();
    let told: Vec<_> = network
        .attempts()
        .iter()
        .map(|seen| {
            let began = seen.limits.until.unwrap() - secs(5);
            (seen.limits.until.map(|at| at - began), seen.limits.body_until.map(|at| at - began))
        })
        .collect();
    let five = Some(secs(5));
    assert_eq!(told[0], (five, None), "R21: no deadline, no end");
    assert_eq!(told[1], (five, Some(secs(60))), "R21: the deadline binds until the reader ends");
    let seen = network.attempts()[2].limits;
    assert_eq!(seen.until, seen.body_until, "the deadline is the earlier one");
    assert_eq!(told[3], (five, five), "R9: in send the attempt limit covers the body");
}

/// A head is not what a limit for a whole answer may be learned from.
#[test]
fn only_whole_answers_teach_a_limit() {
    for streamed in [true, false] {
        let network = ScriptedTransport::new().on(A, [Reply::ok("quick").takes(ms(1))]);
        let client = on(&network, &[A]).set("attempt_timeout", "measured 250ms..5s");
        let client = client.build().unwrap();
        for _ in 0..100 {
            match streamed {
                true => drop(client.get("/").stream().unwrap()),
                false => drop(client.get("/").send().unwrap()),
            }
        }
        let limits: Vec<_> = network.attempts().iter().map(|seen| seen.limits.until).collect();
        let (first, last) = (limits[0].unwrap(), limits[99].unwrap());
        // Each began 1 ms after the one before; a limit learned is shorter by seconds.
        assert_eq!(last - first == ms(99), streamed, "streamed: {streamed}");
    }
}

#[test]
fn a_stream_moves_on_up_to_a_head_and_no_further() {
    let network = ScriptedTransport::new()
        .on(A, [Reply::refused(), Reply::status(503), Reply::resets_after_sending(), half()])
        .on(B, [Reply::ok("b")]);
    let client = on(&network, &[A, B]).hold_for(ms(0)).build().unwrap();
    for _ in 0..3 {
        let stream = client.get("/").stream().unwrap();
        assert_eq!((stream.status(), stream.endpoint(), stream.attempts().len()), (200, B, 2));
    }
    broken(&mut open(&client));
    assert_eq!(received(&network, [A, B]), [3, 3], "R1: not after the head");
}

/// R11: the last answer is the result, its body still to be read, also of an attempt that was not last.
#[test]
fn the_answer_there_was_is_handed_out_open() {
    let busy = Reply::status(503).body("half of it");
    for (reply, breaks) in [(busy.clone(), false), (busy.breaks_off(), true)] {
        let network = ScriptedTransport::new().on(A, [reply]).on(B, [Reply::refused()]);
        let client = on(&network, &[A, B]).build().unwrap();
        let stream = client.get("/").stream().unwrap();
        assert_eq!((stream.status(), stream.endpoint(), stream.attempts().len()), (503, A, 2));
        let mut reader = stream.into_reader();
        if breaks {
            let error = broken(&mut reader).1;
            assert_eq!((error.reason(), error.attempts().len()), (Reason::Truncated, 1), "A's");
            assert_eq!(client.snapshot().find(A).unwrap().failures(), 2, "R21: one more");
        } else {
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            assert_eq!(text, "half of it");
        }
    }
}

#[test]
fn the_judge_sees_the_head_only() {
    let asked = Arc::new(AtomicUsize::new(0));
    let network = ScriptedTransport::new().on(A, [Reply::ok("body").header("X-A", "a")]);
    let count = asked.clone();
    let judge = move |answer: &anyhost::Response| {
        count.fetch_add(1, Ordering::SeqCst);
        assert_eq!((answer.status(), answer.header("x-a")), (200, Some("a")));
        assert_eq!(answer.bytes(), b"", "R21");
        anyhost::Verdict::Default
    };
    let client = on(&network, &[A]).judge(judge).build().unwrap();
    let mut text = String::new();
    client.get("/").stream().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), asked.load(Ordering::SeqCst)), ("body", 1));
}

#[test]
fn a_body_of_an_endpoint_taken_out_changes_nothing() {
    let network = ScriptedTransport::new().on(A, [half()]).on(B, [Reply::ok("b")]);
    let client = on(&network, &[A, B]).build().unwrap();
    let mut reader = open(&client);
    client.update([Endpoint::new(B).unwrap()]).unwrap();
    assert_eq!(broken(&mut reader).1.status(), Status::Body, "R22");
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "b");
}

/// Codings are undone over any transport, since any hands out what it received.
#[test]
fn a_scripted_body_is_decoded() {
    let coded = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x02\x00\xfd\xff\x68\x69";
    let sum = 0xd8932aac_u32.to_le_bytes();
    let whole = [&coded[..], &sum, &2_u32.to_le_bytes()].concat();
    let reply = Reply::ok(whole).header("Content-Encoding", "gzip");
    let network = ScriptedTransport::new().on(A, [reply.clone(), reply.breaks_off()]);
    let client = on(&network, &[A]).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "hi");
    assert_eq!(network.attempts()[0].headers["accept-encoding"].to_str().unwrap()[..4], *"gzip");
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::Body, Reason::Truncated));
}
