//! F71 to F75: certificates, the end of a body, and TLS spoken to who does not.

use crate::support::{Authority, Reply, Server, ms, timed};
use crate::wire::over;
use anyhost::{ClientBuilder, Delivery, Phase, Reason, Status, TlsRoots};

fn trusting(ca: &Authority, bases: &[String]) -> ClientBuilder {
    over(bases).tls_roots(TlsRoots::None).add_root_pem(ca.pem())
}

#[test]
fn f71_a_certificate_that_is_not_trusted_is_asked_for_once() {
    let (ca, other) = (Authority::new(), Authority::new());
    let a = Server::tls(&other.server(), Reply::ok("a"));
    let b = Server::tls(&ca.server(), Reply::ok("b"));
    let alone = trusting(&ca, &[a.url()]).attempts_per_endpoint(1).build().unwrap();
    let error = alone.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.reason()), (Status::AttemptsSpent, Reason::TlsCert));
    assert_eq!((error.attempts().len(), a.connections(), a.requests().len()), (1, 1, 0));

    let both = trusting(&ca, &[a.url(), b.url()]).build().unwrap();
    let answer = both.post("/").body("{}").send().unwrap();
    assert_eq!((answer.text().unwrap(), answer.attempts().len()), ("b", 2));
    let first = &answer.attempts()[0];
    assert_eq!((first.reason(), first.delivery()), (Reason::TlsCert, Delivery::NotSent));
    assert!(first.message().contains("unknown issuer"), "{}", first.message());
}

#[test]
fn f73_without_the_goodbye_of_tls_a_body_of_unknown_length_is_incomplete() {
    let ca = Authority::new();
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n12345";
    for (goodbye, whole) in [(false, false), (true, true)] {
        let reply = Reply::raw(head).close();
        let reply = if goodbye { reply } else { reply.without_goodbye() };
        let a = Server::tls(&ca.server(), reply);
        let ended = trusting(&ca, &[a.url()]).build().unwrap().get("/").send();
        match whole {
            true => assert_eq!(ended.unwrap().text().unwrap(), "12345"),
            false => {
                let error = ended.unwrap_err();
                assert_eq!((error.status(), error.reason()), (Status::Body, Reason::Truncated));
            }
        }
    }
}

#[test]
fn f75_tls_to_a_port_that_speaks_http_fails_quickly() {
    let ca = Authority::new();
    let plain = Reply::raw("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").unread();
    let a = Server::start(plain.hold());
    let b = Server::tls(&ca.server(), Reply::ok("b"));
    let https = format!("https://{}", a.addr);
    let alone = trusting(&ca, std::slice::from_ref(&https)).build().unwrap();
    let (error, took) = timed(|| alone.get("/").send().unwrap_err());
    assert!(took < ms(1000), "{took:?}");
    assert_eq!((error.reason(), error.phase()), (Reason::Tls, Phase::Tls));
    assert_eq!(a.connections(), 1, "not tried again at the same host");

    let both = trusting(&ca, &[https, b.url()]).build().unwrap();
    assert_eq!(both.post("/").body("{}").send().unwrap().text().unwrap(), "b");
}
