//! https: which certificates are accepted, what a failed handshake means, and that a connection is
//! kept. Nothing of a request leaves before the peer has proved who it is.

use crate::support::*;
use crate::{order, over, told};
use anyhost::{ClientBuilder, Delivery, Phase, Reason, Status, TlsRoots};
use std::fmt::Display;
use std::io::Read;

fn trusting(ca: &Authority, servers: &[&dyn Display]) -> ClientBuilder {
    over(servers).tls_roots(TlsRoots::None).add_root_pem(ca.pem())
}

#[test]
fn a_good_certificate_is_accepted_by_name_and_by_address() {
    let ca = Authority::new();
    let p = Server::tls(&ca.server(), Reply::echo());
    let by_name = format!("https://localhost:{}", p.port());
    for url in [p.url(), by_name.clone()] {
        let client = trusting(&ca, &[&url]).build().unwrap();
        let answer = client.post("/x?y=1").body("abc").send().unwrap();
        assert_eq!(answer.text().unwrap(), "POST /x?y=1 3");
        let host = url.strip_prefix("https://").unwrap().to_owned();
        assert_eq!(p.requests().last().unwrap().header("Host"), Some(host.as_str()));
    }
    assert_eq!(p.requests()[1].server_name.as_deref(), Some("localhost"));
}

/// D-B6, F71: a certificate error is a failed handshake, with a reason of its own.
#[test]
fn a_bad_certificate_moves_a_post_on_and_says_why() {
    let (ca, other) = (Authority::new(), Authority::new());
    for (what, config, words) in [
        ("expired", ca.server_expired(), "expired"),
        ("wrong name", ca.server_named(&["other.example"]), "name"),
        ("wrong address", ca.server_named(&["127.0.0.2"]), "name"),
        ("unknown issuer", other.server(), "issuer"),
    ] {
        let p = Server::tls(&config, Reply::ok("p"));
        let f = Server::tls(&ca.server(), Reply::ok("f"));
        let answer = trusting(&ca, &[&p, &f]).build().unwrap().post("/").body("x").send().unwrap();
        assert_eq!(answer.text().unwrap(), "f", "{what}");
        assert_eq!(
            told(answer.attempts())[0],
            (Reason::TlsCert, Phase::Tls, Delivery::NotSent),
            "{what}"
        );
        assert!(
            answer.attempts()[0].message().contains(words),
            "{}",
            answer.attempts()[0].message()
        );

        let error = trusting(&ca, &[&p]).build().unwrap().get("/").send().unwrap_err();
        assert_eq!((error.status(), error.reason()), (Status::AttemptsSpent, Reason::TlsCert));
        assert!(error.to_string().contains(words), "{error}");
        // One handshake for each of the two calls: it is not tried again at once.
        assert_eq!((p.requests().len(), p.connections()), (0, 2), "{what}");
    }
}

/// F75: what speaks something else is told from what speaks badly, quickly.
#[test]
fn what_is_not_tls_moves_a_post_on() {
    let ca = Authority::new();
    let plain = Reply::raw("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").unread();
    let mut rows: Vec<(&str, Script, &[Reason], Phase)> = Vec::new();
    for (what, reply, reasons) in [
        ("plain HTTP", plain.hold(), &[Reason::Tls][..]),
        ("garbage", Reply::raw(vec![0xaa; 64]).unread().hold(), &[Reason::Tls]),
        // A peer that goes away in the handshake: how it went, or TLS, says the same.
        ("a FIN", Reply::closed().unread().half_close(), &[Reason::Tls, Reason::Eof]),
    ] {
        rows.push((what, Script::from(reply), reasons, Phase::Tls));
    }
    // A RST at once may overtake the news that there is a connection.
    rows.push(("a RST at once", Reply::resets().unread().into(), &[Reason::Reset], Phase::Connect));
    let after_hello = Script::by_hand(|client| {
        let _ = client.read(&mut [0; 16]);
        socket2::SockRef::from(client.socket()).set_linger(Some(ms(0))).unwrap();
    });
    let gone = &[Reason::Tls, Reason::Reset, Reason::Eof];
    rows.push(("a RST after the hello", after_hello, gone, Phase::Tls));
    for (what, script, reasons, earliest) in rows {
        let p = Server::start(script);
        let f = Server::tls(&ca.server(), Reply::ok("f"));
        let client = trusting(&ca, &[&format!("https://{}", p.addr), &f]).build().unwrap();
        let (answer, took) = timed(|| client.post("/").body("x").send().unwrap());
        assert!(took < ms(1000), "{what}: {took:?}");
        assert_eq!(answer.text().unwrap(), "f", "{what}");
        let first = &answer.attempts()[0];
        assert!(reasons.contains(&first.reason()), "{what}: {first:?}");
        assert_eq!(first.delivery(), Delivery::NotSent, "{what}");
        assert!((earliest..=Phase::Tls).contains(&first.phase()), "{what}: {first:?}");
    }
}

/// The other way round: https spoken to a port that is asked for http.
#[test]
fn plain_http_to_a_tls_port_is_a_protocol_error() {
    let ca = Authority::new();
    let p = Server::tls(&ca.server(), Reply::ok("p"));
    let f = Server::start(Reply::ok("f"));
    let client = over(&[&format!("http://{}", p.addr), &f]).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "f");
    assert_eq!(p.requests().len(), 0);
}

#[test]
fn a_tls_connection_is_kept_and_used_again() {
    let ca = Authority::new();
    let p = Server::tls(&ca.server(), Reply::ok("p"));
    let client = trusting(&ca, &[&p]).build().unwrap();
    for n in 0..4 {
        let answer = client.post("/").body("x").send().unwrap();
        assert_eq!(answer.attempts()[0].reused_connection(), n > 0);
    }
    assert_eq!((p.connections(), p.requests().len()), (1, 4));
}

/// R1, R2 hold inside TLS as well.
#[test]
fn over_tls_too_a_write_is_not_carried_out_twice() {
    let ca = Authority::new();
    for reply in [Reply::resets(), Reply::closed(), Reply::closed().without_goodbye()] {
        let p = Server::tls(&ca.server(), Script::each([reply.clone(), Reply::ok("1"), reply]));
        let f = Server::tls(&ca.server(), Reply::ok("f"));
        let client = trusting(&ca, &[&p, &f]).hold_for(ms(0)).build().unwrap();
        let error = client.post("/").body("x").send().unwrap_err();
        assert_eq!((error.delivery(), f.connections()), (Delivery::Maybe, 0));
        // The same on a connection that was idle; a GET is replayed once and then moves on.
        client.get("/").send().unwrap();
        let error = client.post("/").body("x").send().unwrap_err();
        assert_eq!(error.reason(), Reason::StaleConnection, "{error:?}");
        assert_eq!((error.delivery(), f.connections()), (Delivery::Maybe, 0));
        assert_eq!(order(client.get("/").send().unwrap().attempts(), &[&p, &f]), [0, 1]);
    }
}

/// An idle TLS connection whose end has arrived is not used: session tickets do not hide it.
#[test]
fn an_idle_tls_connection_known_to_be_dead_is_not_used() {
    let ca = Authority::new();
    let (go, done) = (Event::new(), Event::new());
    let dying = Reply::ok("1").idle(&go).close().tell(&done);
    let p = Server::tls(&ca.server(), Script::each([dying, Reply::ok("2")]));
    let client = trusting(&ca, &[&p]).build().unwrap();
    client.get("/").send().unwrap();
    go.open();
    done.wait(ms(5000));
    let answer = client.post("/").body("x").send().unwrap();
    assert_eq!((answer.text().unwrap(), answer.attempts().len()), ("2", 1));
}

#[test]
fn without_anything_to_trust_there_is_no_client() {
    let build = |pem: Option<&str>| {
        let builder = over(&[&"https://a.example"]).tls_roots(TlsRoots::None);
        match pem {
            Some(pem) => builder.add_root_pem(pem).build(),
            None => builder.build(),
        }
    };
    let not_one = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for pem in [None, Some("no certificate"), Some(not_one)] {
        assert_eq!(build(pem).unwrap_err().status(), Status::TlsMaterial, "{pem:?}");
    }
    assert!(build(Some(Authority::new().pem())).is_ok());
}
