//! F123 to F129: where a body ends (F121 is beside the retries). F125: what ends before its request did.

use crate::support::{Event, Reply, Server, ms, timed};
use crate::wire::over;
use anyhost::{Delivery, Reason, Status};
use std::io::Read;

/// Ruling R13: an orderly end of the connection ends such a body, and nothing else does.
#[test]
fn f123_a_reset_is_not_the_end_of_a_body() {
    let until_close = || Reply::ok("12345").until_close();
    let a = Server::start(until_close().pause_at(5, ms(50)).reset());
    let client = over(&[a.url()]).build().unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::Body, Reason::Truncated));
    let mut got = Vec::new();
    client.get("/").stream().unwrap().read_to_end(&mut got).unwrap_err();
    assert_eq!((got.as_slice(), a.executed()), (&b"12345"[..], 2));
    let b = Server::start(until_close());
    assert_eq!(over(&[b.url()]).build().unwrap().get("/").send().unwrap().text().unwrap(), "12345");
}

#[test]
fn f125_a_big_upload_turned_down_early() {
    let early = || Reply::status(413).body("too large").after_head();
    for (what, reply, certain) in
        [("closes", early().close(), false), ("stops reading", early().hold(), true)]
    {
        for method in ["PUT", "POST"] {
            let (a, b) = (Server::start(reply.clone()), Server::start(Reply::ok("b")));
            let client = over(&[a.url(), b.url()]).set("breaker", "on").build().unwrap();
            let upload = client.request(method, "/").body(vec![b'x'; 16 << 20]);
            let (ended, took) = timed(|| upload.send());
            assert!(took < ms(2000), "{what}: {took:?}");
            match ended {
                Ok(answer) => {
                    assert_eq!((answer.status(), answer.text().unwrap()), (413, "too large"))
                }
                // A reset may overtake the answer that it follows.
                Err(error) => assert!(!certain && error.delivery() >= Delivery::Maybe, "{error:?}"),
            }
            assert_eq!((a.connections(), b.connections()), (1, 0), "{what}: {method}");
            // It is no dead host: the next request may go there.
            let allowed = client.get("/").send();
            assert_eq!(a.connections(), 2, "{what}: {allowed:?}");
        }
    }
}

#[test]
fn f127_an_answer_of_http_1_0_ends_with_its_connection() {
    let a = Server::start(Reply::raw("HTTP/1.0 200 OK\r\n\r\n12345").close());
    let client = over(&[a.url()]).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "12345");
    let mut text = String::new();
    client.get("/").stream().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), a.connections()), ("12345", 2));
}

#[test]
fn f129_chunks_come_in_pieces() {
    let raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
               5;x=\"y\"\r\nhello\r\n6\r\n, both\r\n0\r\nX-Trailer: z\r\n\r\n";
    let a = Server::start(Reply::raw(raw).drip(1, ms(1)));
    let client = over(&[a.url()]).build().unwrap();
    let answer = client.get("/").send().unwrap();
    assert_eq!(answer.text().unwrap(), "hello, both");
    assert_eq!(answer.header("x-trailer"), None, "trailers are read and ignored");

    // The size; the data; and the rest only when the data was seen.
    let seen = Event::new();
    let chunks = Reply::ok("hello").chunked(5).pause_at(3, ms(50)).pause_at(8, &seen);
    let a = Server::start(chunks);
    let mut stream = over(&[a.url()]).build().unwrap().get("/").stream().unwrap();
    let mut hello = [0; 5];
    stream.read_exact(&mut hello).unwrap();
    seen.open();
    assert_eq!((&hello, stream.read(&mut [0; 5]).unwrap()), (b"hello", 0));
}
