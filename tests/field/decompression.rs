//! F131 to F137: bodies in gzip.

use crate::support::{Reply, Server, ms, timed};
use crate::wire::over;
use anyhost::{Reason, State, Status};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn coded(bytes: impl Into<Vec<u8>>) -> Reply {
    Reply::ok(bytes).header("Content-Encoding", "gzip")
}

#[test]
fn f131_the_answer_to_a_head_speaks_of_a_body_that_is_not_there() {
    let a = Server::start(coded(vec![b'x'; 25]));
    let client = over(&[a.url()]).build().unwrap();
    for _ in 0..2 {
        let (answer, took) = timed(|| client.head("/").send().unwrap());
        assert!(took < ms(1000), "{took:?}");
        assert_eq!((answer.status(), answer.bytes()), (200, &b""[..]));
        assert_eq!(answer.header("content-encoding"), Some("gzip"));
        assert_eq!(answer.header("content-length"), Some("25"));
    }
    assert_eq!((a.connections(), a.count("HEAD")), (1, 2), "its connection is as good as before");
}

#[test]
fn f133_every_member_is_decoded() {
    let twice = [gzip(b"hello"), gzip(b"hello")].concat();
    let a = Server::start(coded(twice));
    assert_eq!(
        over(&[a.url()]).build().unwrap().get("/").send().unwrap().text().unwrap(),
        "hellohello"
    );
}

#[test]
fn f135_a_tiny_answer_does_not_inflate_without_limit() {
    let bomb = gzip(&vec![0; 10 << 20]);
    assert!(bomb.len() < 16 << 10, "{} bytes", bomb.len());
    let (a, b) = (Server::start(coded(bomb)), Server::start(Reply::ok("b")));
    let client = over(&[a.url(), b.url()]).max_body(1 << 20).build().unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.http_status()), (Status::TooLarge, Some(200)));
    assert_eq!((a.executed(), b.connections()), (1, 0), "the limit is the caller's: no other host");
    assert_eq!(client.snapshot().find(&a.url()).unwrap().failures(), 0, "and nobody's fault");
}

/// Ruling R13, against the report in one thing: what is not in the coding its head says is as broken as
/// what breaks off, and may be had elsewhere. It takes a row of them to open a circuit.
#[test]
fn f137_what_is_not_gzip_is_an_error_of_that_answer() {
    let (a, b) = (Server::start(coded("hello, plain")), Server::start(Reply::ok("b")));
    let client = over(&[a.url()]).set("breaker", "on").build().unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::Body, Reason::Protocol));
    assert_eq!(error.http_status(), Some(200), "the status is known");
    assert_eq!(client.snapshot().find(&a.url()).unwrap().state(), State::Eligible);
    let raw = client.get("/").decompress(false).send().unwrap();
    assert_eq!(raw.text().unwrap(), "hello, plain", "decoding can be switched off");
    let both = over(&[a.url(), b.url()]).build().unwrap();
    assert_eq!(both.get("/").send().unwrap().text().unwrap(), "b");
}
