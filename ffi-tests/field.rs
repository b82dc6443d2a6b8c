//! What people who call C libraries like this one reported, by number; see the manual's page on the field.

use crate::support::*;
use crate::toolbox::everywhere;

/// A library's write to a peer that is gone ends the program that uses it.
#[test]
fn f154_no_signal_for_a_peer_that_went_away() {
    let authority = Authority::new();
    everywhere("sigpipe.c", |program| {
        let plain = Server::start(Reply::resets().after_head());
        let tls = Server::tls(&authority.server(), Reply::resets().after_head());
        program.run(&[&plain.url(), &tls.url(), authority.pem()]).passed();
        assert_eq!((plain.count("POST"), tls.count("POST")), (3, 3));
    });
}

/// What `field.c` asks for.
fn reported() -> Script {
    let field = b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nok";
    Script::from(Reply::made(|request| Reply::ok(request.body.clone())))
        .on("/field", Reply::raw(field))
        .on("/slow", Reply::ok(vec![b'x'; 1 << 20]).drip(1024, ms(2)))
}

/// A text with NUL in it: bodies have a length, and what HTTP forbids is an error at either end.
#[test]
fn f156_nul_ends_nothing() {
    everywhere("field.c", |program| {
        let (first, second) = (Server::start(reported()), Server::start(reported()));
        program.run(&[first.url(), second.url()]).passed();
        assert_eq!(first.count("POST"), 1);
        let bodies: Vec<_> = first.requests().iter().map(|request| request.body.clone()).collect();
        assert_eq!(bodies[0], b"\0a\0b\0");
    });
}

/// The caller sees the first piece only, or reads on behind its end.
#[test]
fn f158_pieces_of_any_size_make_the_whole() {
    everywhere("body.c", |program| {
        let mebibyte: Vec<u8> = (0..1 << 20).map(|i: u32| (i % 251) as u8).collect();
        let script = Script::from(Reply::ok(mebibyte.clone()).close())
            .on("/chunks", Reply::ok(mebibyte).chunked(1000))
            .on("/empty", Reply::ok(""));
        program.run(&[Server::start(script).url()]).passed();
    });
}

/// A callback that gives up ends the call and its connection: no resend, no other host, no open circuit.
#[test]
fn f160_a_callback_says_go_on_end_or_no() {
    everywhere("field.c", |program| {
        let (first, second) = (Server::start(reported()), Server::start(reported()));
        program.run(&[first.url(), second.url()]).passed();
        let asked = |target: &str| {
            let requests = first.requests();
            requests.iter().filter(|r| r.target == target).map(|r| r.complete).collect::<Vec<_>>()
        };
        assert_eq!(asked("/slow"), [true], "asked for once");
        assert!(!asked("/refused").contains(&true), "half a body is no request");
        assert_eq!(second.connections(), 0, "nobody else was asked");
        first.wait_for_open(0, ms(5000));
    });
}
