//! Content codings (RFC 9110 section 8.4): what is asked for, what is undone, and what is an error.

use crate::support::*;
use crate::{order, over, told};
use anyhost::{Delivery, Endpoint, Phase, Reason, State, Status};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{ErrorKind, Read, Write};

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn coded(coding: &str, bytes: impl Into<Vec<u8>>) -> Reply {
    Reply::ok(bytes).header("Content-Encoding", coding)
}

/// What a build of these features asks for.
fn asked_for() -> &'static str {
    match (cfg!(feature = "brotli"), cfg!(feature = "zstd")) {
        (false, false) => "gzip",
        (true, false) => "gzip, br",
        (false, true) => "gzip, zstd",
        (true, true) => "gzip, br, zstd",
    }
}

#[test]
fn codings_are_asked_for_unless_the_caller_speaks_of_them() {
    let p = Server::start(coded("gzip", gzip(b"hello")));
    let raw = gzip(b"hello");
    let client = over(&[&p]).build().unwrap();
    let by_hand = over(&[&p]).header("Accept-Encoding", "gzip").build().unwrap();
    let endpoint = Endpoint::new(&p.url()).unwrap().header("Accept-Encoding", "gzip");
    let of_endpoint = anyhost::Client::builder().endpoint(endpoint.unwrap()).build().unwrap();
    let off = over(&[&p]).decompress(false).build().unwrap();
    let hello: &[u8] = b"hello";
    for (what, request, asked, body) in [
        ("default", client.get("/"), Some(asked_for()), hello),
        ("a POST", client.post("/"), Some(asked_for()), hello),
        ("off, for the request", client.get("/").decompress(false), None, &raw[..]),
        ("off, by name", client.get("/").set("decompress", "off"), None, &raw[..]),
        ("off, for the client", off.get("/"), None, &raw[..]),
        ("on again", off.get("/").decompress(true), Some(asked_for()), hello),
        (
            "by hand",
            client.get("/").header("Accept-Encoding", "gzip;q=0.5"),
            Some("gzip;q=0.5"),
            &raw[..],
        ),
        ("by hand, for the client", by_hand.get("/"), Some("gzip"), &raw[..]),
        ("by hand, for the endpoint", of_endpoint.get("/"), Some("gzip"), &raw[..]),
        ("a range", client.get("/").header("Range", "bytes=0-9"), None, &raw[..]),
    ] {
        let answer = request.send().unwrap();
        assert_eq!(answer.bytes(), body, "{what}");
        let decoded = body == hello;
        assert_eq!(answer.header("Content-Encoding"), (!decoded).then_some("gzip"), "{what}");
        assert_eq!(answer.header("Content-Length").is_none(), decoded, "{what}");
        let requests = p.requests();
        let sent = requests.last().unwrap().headers_of("Accept-Encoding");
        assert_eq!(sent, Vec::from_iter(asked), "{what}");
    }
}

/// F131, F133 and the like: complete answers, however they are coded and framed.
#[test]
fn complete_bodies_of_every_shape_are_decoded() {
    let twice = [gzip(b"hello"), gzip(b"hello")].concat();
    let text = "text, over and over. ".repeat(5000);
    let long = gzip(text.as_bytes());
    let rows: Vec<(&str, Reply, &str)> = vec![
        ("one member", coded("gzip", gzip(b"hello")), "hello"),
        ("F133: two members", coded("gzip", twice.clone()), "hellohello"),
        ("members byte by byte", coded("gzip", twice).drip(1, ms(1)), "hellohello"),
        ("x-gzip", coded("x-gzip", gzip(b"hello")), "hello"),
        ("upper case", coded(" GZIP ", gzip(b"hello")), "hello"),
        ("chunked", coded("gzip", long.clone()).chunked(7), &text),
        ("until close", coded("gzip", long).until_close(), &text),
        ("nothing, coded", coded("gzip", gzip(b"")), ""),
        ("nothing at all", coded("gzip", ""), ""),
        ("nothing at all, chunked", coded("gzip", "").chunked(1), ""),
        ("204", Reply::status(204).header("Content-Encoding", "gzip"), ""),
        ("304", Reply::status(304).header("Content-Encoding", "gzip"), ""),
        ("identity", coded("identity", "hello"), "hello"),
        ("not coded", Reply::ok("hello"), "hello"),
    ];
    for (what, reply, body) in rows {
        let p = Server::start(reply);
        let client = over(&[&p]).build().unwrap();
        let answer = client.get("/").send().unwrap_or_else(|e| panic!("{what}: {e:?}"));
        assert_eq!(answer.text().unwrap(), body, "{what}");
        let mut streamed = String::new();
        client.get("/").stream().unwrap().read_to_string(&mut streamed).unwrap();
        assert_eq!(streamed, body, "{what}");
        if what != "until close" {
            assert_eq!(p.connections(), 1, "{what}: read to its end, it gives its connection back");
        }
    }
}

#[test]
fn what_was_not_asked_for_is_handed_out_as_received() {
    for coding in ["deflate", "compress", "gzip, gzip", "aes128gcm", "gzip;x"] {
        let p = Server::start(coded(coding, "as it is"));
        let answer = over(&[&p]).build().unwrap().get("/").send().unwrap();
        assert_eq!(answer.text().unwrap(), "as it is", "{coding}");
        assert_eq!(answer.header("Content-Encoding"), Some(coding));
        assert_eq!(answer.header("Content-Length"), Some("8"), "{coding}");
    }
}

/// R13, F137: a coding that is none is no whole body. The status is known, a GET may be had elsewhere.
#[test]
fn a_body_that_is_not_what_its_head_says_is_an_error() {
    let good = gzip(b"hello, hello, hello");
    let with = |tail: &[u8]| [&good[..], tail].concat();
    let mut wrong_sum = good.clone();
    let sum = good.len() - 8;
    wrong_sum[sum] ^= 1;
    let rows = [
        ("F137: plain", b"hello, in plain text".to_vec(), Reason::Protocol),
        ("wrong sum", wrong_sum, Reason::Protocol),
        ("junk after it", with(b"and some more of no coding"), Reason::Protocol),
        ("a byte after it", with(b"x"), Reason::Truncated),
        ("a zero after it", with(&[0; 20]), Reason::Protocol),
        ("half of it", good[..good.len() / 2].to_vec(), Reason::Truncated),
        ("all but its last byte", good[..good.len() - 1].to_vec(), Reason::Truncated),
        ("half a head", good[..5].to_vec(), Reason::Truncated),
        ("half of a second one", with(&good[..12]), Reason::Truncated),
    ];
    for (what, bytes, reason) in rows {
        let (p, f) = (Server::start(coded("gzip", bytes)), Server::start(Reply::ok("f")));
        let client = over(&[&p, &f]).hold_for(ms(0)).set("breaker", "on").build().unwrap();
        let error = client.post("/").send().unwrap_err();
        assert_eq!((error.status(), error.http_status()), (Status::Body, Some(200)), "{what}");
        let expected = [(reason, Phase::Body, Delivery::Answered)];
        assert_eq!(told(error.attempts()), expected, "{what}: {error}");
        assert_eq!(f.connections(), 0, "{what}");
        let answer = client.get("/").send().unwrap();
        assert_eq!(order(answer.attempts(), &[&p, &f]), [0, 1], "{what}");
        // One broken page of an endpoint is no reason to leave it (R6: 5 in a row are).
        let state = client.snapshot().find(&p.url()).unwrap().state();
        assert_eq!(state, State::Eligible, "{what}");

        let mut stream = client.get("/").stream().unwrap();
        let mut bytes = Vec::new();
        for _ in 0..3 {
            let error = stream.read_to_end(&mut bytes).unwrap_err();
            let kind = match reason {
                Reason::Truncated => ErrorKind::UnexpectedEof,
                _ => ErrorKind::InvalidData,
            };
            assert_eq!(error.kind(), kind, "{what}");
        }
    }
}

/// What broke beneath a coding is what is told: here the connection, in time, and the limit.
#[test]
fn what_breaks_beneath_a_coding_keeps_its_name() {
    let text = "text, over and over. ".repeat(5000);
    let cut = Server::start(coded("gzip", gzip(text.as_bytes())).cut(100));
    let error = over(&[&cut]).build().unwrap().get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::Body, Reason::Truncated));
    assert!(error.to_string().contains("Content-Length") || !error.to_string().contains("coded"));
    let stalls = Server::start(coded("gzip", gzip(text.as_bytes())).pause_at(100, &Event::new()));
    let client = over(&[&stalls]).stall_timeout(ms(200)).build().unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::Body, Reason::Timeout));
}

/// F135: the limit is one of decoded bytes, and is kept while decoding.
#[test]
fn max_body_counts_decoded_bytes() {
    let bomb = gzip(&vec![0; 10 << 20]);
    assert!(bomb.len() < 16 << 10);
    let bomb = bomb.repeat(50);
    let (p, f) = (Server::start(coded("gzip", bomb)), Server::start(Reply::ok("f")));
    let client = over(&[&p, &f]).max_body(1 << 20).build().unwrap();
    let (error, took) = timed(|| client.get("/").send().unwrap_err());
    assert_eq!((error.status(), error.reason()), (Status::TooLarge, Reason::Local));
    assert_eq!(f.connections(), 0);
    assert!(took < ms(5000), "decoded beyond the limit: {took:?}");

    // Of a short text the coding is the longer one.
    let short = Server::start(coded("gzip", gzip(b"hello")));
    let client = over(&[&short]).max_body(5).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "hello");
    assert_eq!(client.get("/").max_body(4).send().unwrap_err().status(), Status::TooLarge);
}

#[test]
fn a_coded_stream_gives_what_is_there() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(b"first").unwrap();
    encoder.flush().unwrap();
    let so_far = encoder.get_ref().len();
    encoder.write_all(b"second").unwrap();
    let rest = Event::new();
    let p = Server::start(coded("gzip", encoder.finish().unwrap()).pause_at(so_far, &rest));
    let client = over(&[&p]).build().unwrap();
    let mut stream = client.get("/").stream().unwrap();
    assert_eq!(stream.content_length(), None);
    let mut first = [0; 5];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"first");
    rest.open();
    let mut second = String::new();
    stream.read_to_string(&mut second).unwrap();
    assert_eq!(second, "second");
}

#[cfg(feature = "brotli")]
#[test]
fn brotli_is_decoded() {
    // One uncompressed block (RFC 7932 section 9.2), and an empty last one.
    let hello = b"\x40\x00\x10hello\x03";
    let p = Server::start(coded("br", hello.to_vec()));
    assert_eq!(over(&[&p]).build().unwrap().get("/").send().unwrap().text().unwrap(), "hello");
    for (bytes, reason) in [
        (&hello[..6], Reason::Truncated),
        (&hello[..8], Reason::Truncated),
        (b"\x40\x00\x10hello\x03x", Reason::Protocol),
        (b"hello, in plain text", Reason::Protocol),
    ] {
        let p = Server::start(coded("br", bytes.to_vec()));
        let error = over(&[&p]).build().unwrap().get("/").send().unwrap_err();
        assert_eq!((error.status(), error.reason()), (Status::Body, reason), "{bytes:?}");
    }
}

#[cfg(feature = "zstd")]
#[test]
fn zstd_is_decoded() {
    // One raw block (RFC 8878 section 3.1.1.2), a frame to be skipped, and the same again.
    let hello = b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello";
    let skipped = b"\x50\x2a\x4d\x18\x03\x00\x00\x00any";
    let body = [&hello[..], skipped, hello].concat();
    let p = Server::start(coded("zstd", body.clone()).drip(1, ms(1)));
    let answer = over(&[&p]).build().unwrap().get("/").send().unwrap();
    assert_eq!(answer.text().unwrap(), "hellohello");
    for (bytes, reason) in [
        (&body[..3], Reason::Truncated),
        (&body[..12], Reason::Truncated),
        (&body[..24], Reason::Truncated),
        (b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hellomore", Reason::Protocol),
        // A window of 16 MiB.
        (b"\x28\xb5\x2f\xfd\x00\x70\x29\x00\x00hello", Reason::Protocol),
        (b"hello, in plain text", Reason::Protocol),
    ] {
        let p = Server::start(coded("zstd", bytes.to_vec()));
        let error = over(&[&p]).build().unwrap().get("/").send().unwrap_err();
        assert_eq!((error.status(), error.reason()), (Status::Body, reason), "{bytes:?}");
    }
}

/// A few bytes that unfold to a disk full: `send` is bounded by `max_body`, and a stream by what its bytes
/// may unfold to. Nobody is blamed, and who wants it may have it as it is.
#[test]
fn a_bomb_is_not_unfolded() {
    // 70 MiB of zeros, as 70 members.
    let bomb = gzip(&vec![0; 1 << 20]).repeat(70);
    let p = Server::start(coded("gzip", bomb.clone()));
    let client = over(&[&p]).attempt_timeout(ms(60_000)).build().unwrap();
    let error = client.get("/").max_body(1 << 20).send().unwrap_err();
    assert_eq!(error.status(), Status::TooLarge);
    let mut reader = client.get("/").stream().unwrap().into_reader();
    let (mut read, mut piece) = (0, vec![0; 64 << 10]);
    let error = loop {
        match reader.read(&mut piece) {
            Ok(0) => panic!("{read} bytes of a bomb"),
            Ok(count) => read += count,
            Err(error) => break error,
        }
    };
    assert!(read > 63 << 20 && read <= 64 << 20, "{read}");
    let error: anyhost::Error = error.downcast().unwrap();
    assert_eq!(error.status(), Status::TooLarge, "{error}");
    assert_eq!(client.snapshot().members()[0].state(), State::Eligible);
    assert_eq!(client.snapshot().members()[0].failures(), 0);
    assert_eq!(client.get("/").decompress(false).send().unwrap().bytes(), bomb);
}
