//! Answers handed out at their head (R21): what binds the body, what becomes of one that breaks off, and
//! that no reader, read or not, spoils another exchange.

use crate::bodies::truncations;
use crate::support::*;
use crate::{over, told};
use anyhost::{Body, BodyReader, Client, Delivery, Error, Phase, Reason, State, Status, TlsRoots};
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::thread;

/// All of a body, or what there was of it and the error.
fn drain(mut body: impl Read) -> Result<Vec<u8>, (Vec<u8>, io::Error)> {
    let mut bytes = Vec::new();
    match body.read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err((bytes, error)),
    }
}

/// What is within an error of a reader.
fn ours(error: io::Error) -> Error {
    error.downcast().expect("an error of ours")
}

/// The same client, whose circuit opens at the first failure.
fn brittle(servers: &[&dyn std::fmt::Display]) -> Client {
    over(servers).set("breaker", "on").set("breaker_threshold", "1").build().unwrap()
}

fn big() -> Reply {
    Reply::ok(vec![b'x'; 1 << 20])
}

#[test]
fn a_stream_is_there_with_its_head() {
    let rest = Event::new();
    let p = Server::start(Reply::ok("0123456789").header("X-A", "a").pause_at(4, &rest));
    let client = over(&[&p]).build().unwrap();
    let mut stream = client.get("/big?q").stream().unwrap();
    assert_eq!((stream.status(), stream.is_success()), (200, true));
    assert_eq!((stream.header("x-a"), stream.content_length()), (Some("a"), Some(10)));
    assert_eq!(stream.header_values("X-A").count(), 1);
    assert!(stream.headers().any(|(name, value)| (name, value) == ("x-a", b"a")));
    assert_eq!((stream.endpoint(), stream.url()), (&*p.url(), &*format!("{p}/big")));
    assert_eq!(told(stream.attempts()), [(Reason::None, Phase::Body, Delivery::Answered)]);
    assert!(stream.elapsed() > ms(0) && stream.retry_after().is_none());

    let mut four = [0; 4];
    stream.read_exact(&mut four).unwrap();
    assert_eq!(&four, b"0123");
    rest.open();
    assert_eq!(drain(stream.into_reader()).unwrap(), b"456789");
    // Read to its end, it has given its connection back.
    client.get("/").send().unwrap();
    assert_eq!((p.connections(), p.count("GET")), (1, 2));
}

/// F138: what was handed out is not asked for again, from here or from elsewhere.
#[test]
fn a_body_that_breaks_off_is_an_error_and_stays_one() {
    for (what, reply) in truncations() {
        if what.starts_with("503") {
            continue;
        }
        let (p, f) = (Server::start(reply), Server::start(Reply::ok("whole")));
        let client = over(&[&p, &f]).build().unwrap();
        let mut reader = client.get("/").stream().unwrap().into_reader();
        let (bytes, error) = drain(&mut reader).unwrap_err();
        assert!(b"0123456789".starts_with(&bytes), "{what}: {bytes:?}");
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{what}");
        let error = ours(error);
        assert_eq!(error.status(), Status::Body, "{what}: {error}");
        let expected = [(Reason::Truncated, Phase::Body, Delivery::Answered)];
        assert_eq!(told(error.attempts()), expected, "{what}");
        for _ in 0..3 {
            let again = reader.read(&mut [0; 8]).unwrap_err();
            assert_eq!(again.kind(), ErrorKind::UnexpectedEof, "{what}");
            assert_eq!(ours(again).reason(), Reason::Truncated, "{what}");
        }
        assert_eq!((p.count("GET"), f.connections()), (1, 0), "{what}");
        let snapshot = client.snapshot();
        let member = snapshot.find(&p.url()).unwrap();
        assert_eq!((member.failures(), member.reason()), (1, Reason::Truncated), "{what}");
    }
}

/// R13, R21: over TLS only close_notify ends a body without framing.
#[test]
fn a_tls_stream_without_close_notify_is_broken_off() {
    let ca = Authority::new();
    for (goodbye, reply) in [
        (true, Reply::ok("0123456789").until_close()),
        (false, Reply::ok("0123456789").until_close().without_goodbye()),
    ] {
        let p = Server::tls(&ca.server(), reply);
        let client = over(&[&p]).tls_roots(TlsRoots::None).add_root_pem(ca.pem()).build().unwrap();
        let read = drain(client.get("/").stream().unwrap());
        assert_eq!(read.is_ok(), goodbye);
        let bytes = read.unwrap_or_else(|(bytes, _)| bytes);
        assert_eq!(bytes, b"0123456789");
    }
}

#[test]
fn a_body_that_breaks_off_is_one_more_failure() {
    let p = Server::start(Script::each([Reply::ok("0123456789").cut(5), Reply::ok("good")]));
    let client = brittle(&[&p]);
    let mut reader = client.get("/").stream().unwrap().into_reader();
    let state = || client.snapshot().find(&p.url()).unwrap().state();
    assert_eq!(state(), State::Eligible, "settled at the head, and well");
    drain(&mut reader).unwrap_err();
    assert_eq!(state(), State::Cooling);
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), p.count("GET")), (Status::NoEndpoint, 1));
}

#[test]
fn a_reader_dropped_is_nothing() {
    let p = Server::start(Script::each([big(), big(), Reply::ok("good")]));
    let client = brittle(&[&p]);
    drop(client.get("/").stream().unwrap());
    let mut half = client.get("/").stream().unwrap();
    half.read_exact(&mut [0; 1000]).unwrap();
    drop(half);
    let snapshot = client.snapshot();
    let member = snapshot.find(&p.url()).unwrap();
    assert_eq!((member.state(), member.failures(), member.in_flight()), (State::Eligible, 0, 0));
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "good");
    // Each of them was the end of its connection.
    assert_eq!(p.connections(), 3);
    p.wait_for_open(1, ms(5000));
}

/// What of a small body is here already is read for the sake of the connection, and nothing is waited
/// for.
#[test]
fn an_unread_body_that_is_here_costs_no_connection() {
    let p = Server::start(Script::each([
        Reply::ok("small").into_raw(),
        Reply::ok("stalls").pause_at(3, &Event::new()),
        Reply::ok("good"),
    ]));
    let client = over(&[&p]).build().unwrap();
    drop(client.get("/").stream().unwrap());
    let stalled = client.get("/").stream().unwrap();
    assert_eq!(p.connections(), 1);
    let ((), took) = timed(|| drop(stalled));
    assert!(took < ms(1000), "waited for a body that nobody wants: {took:?}");
    assert_eq!(client.post("/").send().unwrap().text().unwrap(), "good");
    assert_eq!(p.connections(), 2);
}

/// F140: an unread body blocks nobody, neither kept nor dropped.
#[test]
fn unread_bodies_are_in_nobodys_way() {
    let script = || Script::always(big()).on("/small", Reply::echo());
    let p = Server::start(script());
    let client = over(&[&p]).build().unwrap();
    let kept = client.get("/big").stream().unwrap();
    for _ in 0..20 {
        drop(client.get("/big").stream().unwrap());
        assert_eq!(client.get("/small").send().unwrap().text().unwrap(), "GET /small 0");
    }
    assert_eq!(drain(kept).unwrap().len(), 1 << 20);
}

#[test]
fn the_attempt_limit_ends_at_the_head() {
    let (p, f) = (
        Server::start(Reply::ok("0123456789").drip(1, ms(60))),
        Server::start(Reply::ok("late").after(ms(3000))),
    );
    let client = over(&[&p]).attempt_timeout(ms(250)).build().unwrap();
    let stream = client.get("/").stream().unwrap();
    let (bytes, took) = timed(|| drain(stream).unwrap());
    assert_eq!(bytes, b"0123456789");
    assert!(took > ms(250), "the body has to take longer than the limit, and took {took:?}");

    let late = over(&[&f]).attempt_timeout(ms(250)).build().unwrap();
    let (error, took) = timed(|| late.get("/").stream().unwrap_err());
    assert_eq!((error.reason(), error.phase()), (Reason::Timeout, Phase::Head));
    assert!(took < ms(2000), "{took:?}");
}

#[test]
fn the_deadline_binds_to_the_end_of_the_body_and_blames_nobody() {
    let p =
        Server::start(Script::each([Reply::ok("0123456789").drip(1, ms(100)), Reply::ok("good")]));
    let client = brittle(&[&p]);
    let stream = client.get("/").deadline(ms(350)).stream().unwrap();
    let (result, took) = timed(|| drain(stream));
    let (bytes, error) = result.unwrap_err();
    assert!(b"0123456789".starts_with(&bytes) && bytes.len() < 10);
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    let error = ours(error);
    assert_eq!((error.status(), error.reason()), (Status::Deadline, Reason::Deadline));
    assert!(took < ms(900), "{took:?}");
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "good");
}

#[test]
fn the_stall_timeout_binds_from_byte_to_byte() {
    let slow = Reply::ok("0123456789").drip(1, ms(60));
    let p = Server::start(Script::each([slow, Reply::ok("0123456789").pause_at(5, &Event::new())]));
    let client = over(&[&p]).stall_timeout(ms(300)).set("attempt_timeout", "off").build().unwrap();
    assert_eq!(drain(client.get("/").stream().unwrap()).unwrap(), b"0123456789");
    let stream = client.get("/").stream().unwrap();
    let (result, took) = timed(|| drain(stream));
    let (bytes, error) = result.unwrap_err();
    assert_eq!((bytes.as_slice(), error.kind()), (&b"01234"[..], ErrorKind::TimedOut));
    let error = ours(error);
    assert_eq!((error.status(), error.reason()), (Status::Body, Reason::Timeout));
    assert!(took >= ms(300) && took < ms(1500), "{took:?}");
    assert_eq!(client.snapshot().find(&p.url()).unwrap().failures(), 1);
}

#[test]
fn max_body_does_not_apply() {
    let p = Server::start(big());
    let client = over(&[&p]).max_body(10).build().unwrap();
    assert_eq!(drain(client.get("/").stream().unwrap()).unwrap().len(), 1 << 20);
    assert_eq!(client.get("/").send().unwrap_err().status(), Status::TooLarge);
}

#[test]
fn statuses_move_on_as_in_send_and_the_last_answer_is_the_result() {
    let busy = || Reply::status(503).body(vec![b'b'; 1 << 20]);
    let p = Arc::new(Server::start(busy()));
    let open_meanwhile = p.clone();
    let f = Server::start(Reply::made(move |_| {
        Reply::ok(format!("{} open", open_meanwhile.open_connections()))
    }));
    let client = over(&[&*p, &f]).hold_for(ms(0)).build().unwrap();
    let stream = client.get("/").stream().unwrap();
    let expected = [
        (Reason::Status5xx, Phase::Body, Delivery::Answered),
        (Reason::None, Phase::Body, Delivery::Answered),
    ];
    assert_eq!(told(stream.attempts()), expected);
    // R21: an answer moved on from stays open until the next head, and no longer.
    assert_eq!(drain(stream).unwrap(), b"1 open");
    p.wait_for_open(0, ms(5000));
    assert_eq!(client.post("/").stream().unwrap().status(), 503);

    // R11: nobody else has an answer, so the one there was is the result, its body unread.
    let lonely = over(&[&*p, &refusing_address().url()]).build().unwrap();
    let stream = lonely.get("/").stream().unwrap();
    assert_eq!((stream.status(), stream.attempts().len()), (503, 2));
    assert_eq!(drain(stream).unwrap().len(), 1 << 20);
}

#[test]
fn an_answer_turned_down_keeps_the_beginning_of_its_body() {
    let p = Server::start(Reply::status(404).body(vec![b'x'; 1 << 20]));
    let client = over(&[&p]).build().unwrap();
    let error = client.get("/").require_success(true).stream().unwrap_err();
    let answer = error.answer().expect("it is kept");
    assert_eq!((error.status(), answer.status()), (Status::Rejected, 404));
    assert_eq!(answer.bytes().len(), 64 << 10);
    let error = client.get("/").set("error_statuses", "404").stream().unwrap_err();
    assert_eq!((error.status(), error.http_status()), (Status::Rejected, Some(404)));
}

/// An error's body that drips must not hold a call that has no deadline.
#[test]
fn an_answer_turned_down_is_not_waited_for() {
    let p = Server::start(Reply::status(404).body(vec![b'x'; 1000]).drip(1, ms(50)));
    let client = over(&[&p]).attempt_timeout(ms(400)).build().unwrap();
    let (error, took) = timed(|| client.get("/").require_success(true).stream().unwrap_err());
    let kept = error.answer().unwrap().bytes().len();
    assert!(kept > 0 && kept < 1000 && took < ms(3000), "{kept} bytes in {took:?}");
}

/// Nor one that says no more: neither `stall_timeout` nor a deadline is asked for, the attempt's own
/// time is the limit. And what nobody asked for is no failure of its endpoint.
#[test]
fn an_answer_turned_down_is_not_waited_for_where_it_stalls() {
    for coding in ["identity", "gzip"] {
        let never = Event::new();
        let reply = Reply::status(404).header("Content-Encoding", coding).body(vec![b'x'; 1000]);
        let p = Server::start(reply.pause_at(0, &never));
        let client =
            over(&[&p]).attempt_timeout(ms(400)).set("stall_timeout", "off").build().unwrap();
        let (error, took) = timed(|| client.get("/").require_success(true).stream().unwrap_err());
        assert_eq!((error.status(), error.http_status()), (Status::Rejected, Some(404)));
        assert!(took < ms(3000), "{took:?}");
        let snapshot = client.snapshot();
        assert_eq!(snapshot.find(&p.url()).unwrap().failures(), 0, "{coding}");
        never.open();
    }
}

#[test]
fn a_reader_goes_to_another_thread_and_outlives_its_client() {
    fn is_send<T: Send>(it: T) -> T {
        it
    }
    let rest = Event::new();
    let p = Server::start(Script::each([
        Reply::ok("0123456789").pause_at(4, &rest),
        Reply::ok("0123456789").cut(4),
    ]));
    let client = over(&[&p]).build().unwrap();
    let reader: BodyReader = is_send(client.get("/").stream().unwrap()).into_reader();
    let broken = client.get("/").stream().unwrap().into_reader();
    drop(client);
    let reading = thread::spawn(move || drain(reader));
    rest.open();
    assert_eq!(reading.join().unwrap().unwrap(), b"0123456789");
    let (bytes, error) = drain(broken).unwrap_err();
    assert_eq!((bytes.as_slice(), ours(error).status()), (&b"0123"[..], Status::Body));
}

#[test]
fn what_has_no_body_is_at_its_end() {
    let p = Server::start(
        Script::always(Reply::ok("x").header("Content-Encoding", "gzip"))
            .on("/204", Reply::status(204))
            .on("/304", Reply::status(304)),
    );
    let client = over(&[&p]).build().unwrap();
    assert_eq!(drain(client.head("/").stream().unwrap()).unwrap(), b"");
    assert_eq!(drain(client.get("/204").stream().unwrap()).unwrap(), b"");
    assert_eq!(drain(client.get("/304").stream().unwrap()).unwrap(), b"");
    assert_eq!((p.connections(), p.requests().len()), (1, 3));
}

/// F129: a chunk is there when its data is, and waits for nothing that follows.
#[test]
fn each_chunk_is_there_with_its_data() {
    let rest = Event::new();
    // The size, CRLF and data of the first chunk; not the CRLF after it.
    let p = Server::start(Reply::ok("helloworld").chunked(5).pause_at(8, &rest));
    let client = over(&[&p]).build().unwrap();
    let mut stream = client.get("/").stream().unwrap();
    let mut hello = [0; 5];
    stream.read_exact(&mut hello).unwrap();
    assert_eq!((&hello, stream.content_length()), (b"hello", None));
    rest.open();
    assert_eq!(drain(stream).unwrap(), b"world");
}

/// A request whose body is itself a stream: one exchange within another.
#[test]
fn a_stream_can_be_the_body_of_a_request() {
    let p = Server::start(Script::always(big()).on("/copy", Reply::echo()));
    let client = over(&[&p]).build().unwrap();
    let body = client.get("/big").stream().unwrap().into_reader();
    let answer = client.put("/copy").body(Body::reader(body, None)).send().unwrap();
    assert_eq!(answer.text().unwrap(), "PUT /copy 1048576");
}

/// R14, R21: a redirect is followed at its head, whatever body it has; the reader is of the last answer.
#[test]
fn a_stream_follows_redirects_at_their_heads() {
    let f = Server::start(Reply::ok("there"));
    let there = format!("{}/there", f.url());
    let p = Server::start(
        Reply::status(302).header("Location", &there).body("elsewhere").cut(3).hold(),
    );
    let mut stream = over(&[&p]).build().unwrap().get("/here").stream().unwrap();
    assert_eq!((stream.status(), stream.attempts().len()), (200, 2));
    assert!(stream.attempts()[1].is_hop());
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), f.requests()[0].target.as_str()), ("there", "/there"));
}
