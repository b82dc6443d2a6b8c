//! https: which certificates are accepted, what a failed handshake means, and that a connection is
//! kept. Nothing of a request leaves before the peer has proved who it is.

use crate::support::*;
use crate::{order, over, told};
use anyhost::{Client, ClientBuilder, Delivery, Endpoint, Phase, Reason, Status, TlsRoots};
use rustls::HandshakeKind;
use rustls::version::{TLS12, TLS13};
use std::fmt::Display;
use std::io::{Read, Write};
use std::process::Command;
use std::sync::{Arc, Mutex};

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
        ("expired", ca.server_expired(), "certificate expired "),
        ("too early", ca.server_of_the_future(), "certificate not valid yet, by this clock for"),
        (
            "wrong name",
            ca.server_named(&["other.example"]),
            "it is for other.example, not 127.0.0.1",
        ),
        ("wrong address", ca.server_named(&["127.0.0.2"]), "it is for 127.0.0.2, not 127.0.0.1"),
        ("unknown issuer", other.server(), "unknown issuer: no root that is trusted"),
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

// ---- names ----

/// R15: host and TLS name are those of the endpoint in use.
#[test]
fn a_server_name_takes_the_place_of_the_urls_host() {
    let ca = Authority::new();
    let p = Server::tls(&ca.server_named(&["api.example"]), Reply::ok("p"));
    let endpoint = |name: &str| {
        let endpoint = Endpoint::new(&p.url()).unwrap().server_name(name).unwrap();
        Client::builder().endpoint(endpoint).tls_roots(TlsRoots::None).add_root_pem(ca.pem())
    };
    let answer = endpoint("api.example").build().unwrap().get("/").send().unwrap();
    assert_eq!(answer.text().unwrap(), "p");
    let seen = &p.requests()[0];
    assert_eq!(seen.server_name.as_deref(), Some("api.example"), "told to the server");
    assert_eq!(seen.header("Host"), Some(p.addr.to_string().as_str()), "Host stays");

    // It is what is verified, and not one more name that would do.
    let other = endpoint("other.example").build().unwrap().get("/").send().unwrap_err();
    assert_eq!(other.reason(), Reason::TlsCert);
    let plain = trusting(&ca, &[&p]).build().unwrap().get("/").send().unwrap_err();
    assert_eq!(plain.reason(), Reason::TlsCert);
    for name in ["", "a b", "https://api.example", "api.example:443"] {
        let error = Endpoint::new(&p.url()).unwrap().server_name(name).unwrap_err();
        assert_eq!(error.status(), Status::Argument, "{name}");
    }
}

/// An idle connection was verified by the name of its time: a new name needs a new one.
#[test]
fn a_new_server_name_takes_no_idle_connection_of_the_old_one() {
    let ca = Authority::new();
    let p = Server::tls(&ca.server_named(&["one.example", "two.example"]), Reply::ok("p"));
    let named = |name: &str| Endpoint::new(&p.url()).unwrap().server_name(name).unwrap();
    let client = Client::builder()
        .endpoint(named("one.example"))
        .tls_roots(TlsRoots::None)
        .add_root_pem(ca.pem())
        .build()
        .unwrap();
    for (name, connections) in [
        ("one.example", 1),
        ("one.example", 1),
        ("two.example", 2),
        ("two.example", 2),
        ("three.example", 3),
    ] {
        client.update([named(name)]).unwrap();
        let ended = client.get("/").send();
        assert_eq!(ended.is_ok(), name != "three.example", "{name}");
        assert_eq!(p.connections(), connections, "{name}");
    }
}

// ---- client certificates ----

#[test]
fn a_client_certificate_is_shown_to_who_asks() {
    let (ca, clients) = (Authority::new(), Authority::new());
    let (cert, key) = clients.client_pem();
    for version in [&TLS12, &TLS13] {
        let p = Server::tls(&ca.server_for(&clients, version), Reply::echo());
        let client = trusting(&ca, &[&p]).client_cert_pem(&cert, &key).build().unwrap();
        let answer = client.post("/").body("abc").send().unwrap();
        assert_eq!(answer.text().unwrap(), "POST / 3");
    }
    let nobody_asks = Server::tls(&ca.server(), Reply::ok("p"));
    let client = trusting(&ca, &[&nobody_asks]).client_cert_pem(&cert, &key).build().unwrap();
    assert!(client.get("/").send().is_ok());
}

/// R15: who we are is for the endpoints, and not for whom one of them points at.
#[test]
fn a_client_certificate_does_not_follow_a_redirect_to_elsewhere() {
    let (ca, clients) = (Authority::new(), Authority::new());
    let (cert, key) = clients.client_pem();
    let asks = refusing(ca.server_for(&clients, &TLS12));
    let there = format!("https://{}/there", asks.addr);
    let p = Server::tls(&ca.server(), Reply::status(302).header("Location", &there));
    let client = trusting(&ca, &[&p]).client_cert_pem(&cert, &key).build().unwrap();
    let error = client.get("/").send().unwrap_err();
    let hop = error.attempts().last().unwrap();
    assert!(hop.is_hop() && hop.phase() == Phase::Tls, "{error:?}");
    assert!(hop.message().contains("the server wants a client certificate"), "{}", hop.message());
}

/// R15: whom a foreign origin sends back comes as a stranger, and not over a connection that knows us.
#[test]
fn a_client_certificate_does_not_come_back_from_elsewhere() {
    let (ca, clients) = (Authority::new(), Authority::new());
    let (cert, key) = clients.client_pem();
    let p = Server::tls(
        &ca.server_for(&clients, &TLS12),
        Reply::made(|request| match request.header("X-Elsewhere") {
            Some(url) if request.target == "/away" => Reply::status(302).header("Location", url),
            _ => Reply::ok("to a friend"),
        }),
    );
    let back = format!("https://{}/back", p.addr);
    let elsewhere = Server::tls(&ca.server(), Reply::status(302).header("Location", &back));
    let client = trusting(&ca, &[&p]).client_cert_pem(&cert, &key).build().unwrap();
    assert_eq!(client.get("/back").send().unwrap().text().unwrap(), "to a friend");
    let there = format!("https://{}/there", elsewhere.addr);
    let error = client.get("/away").header("X-Elsewhere", &there).send().unwrap_err();
    let hop = error.attempts().last().unwrap();
    assert!(hop.is_hop() && hop.phase() == Phase::Tls, "{error:?}");
    assert_eq!((elsewhere.requests().len(), p.requests().len()), (1, 2));
}

/// A server that makes the handshake, says why it refuses, and reads on until the client ends: so no
/// reset can overtake the alert.
fn refusing(config: Arc<rustls::ServerConfig>) -> Server {
    Server::start(Script::by_hand(move |client| {
        let mut tls = rustls::ServerConnection::new(config.clone()).unwrap();
        let mut socket = client.socket();
        let refused = loop {
            if tls.wants_write() {
                tls.write_tls(&mut socket).unwrap();
            } else if tls.read_tls(&mut socket).unwrap() == 0 {
                break false;
            } else if tls.process_new_packets().is_err() {
                break true;
            }
        };
        assert!(refused, "the client went away before it was refused");
        while tls.wants_write() {
            tls.write_tls(&mut socket).unwrap();
        }
        socket.flush().unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = std::io::copy(&mut socket, &mut std::io::sink());
    }))
}

/// In TLS 1.2 the refusal is part of the handshake. In TLS 1.3 the client is done before the server
/// has read its certificate (RFC 8446 section 4.4.2.4), and the request may be on its way: R1.
#[test]
fn a_refused_client_certificate_is_told_and_never_called_unsent_too_late() {
    let (ca, clients, others) = (Authority::new(), Authority::new(), Authority::new());
    let foreign = others.client_pem();
    for (version, phase, delivery, moves_on) in [
        (&TLS12, Phase::Tls, Delivery::NotSent, true),
        (&TLS13, Phase::Head, Delivery::Maybe, false),
    ] {
        for (pair, words) in [
            (None, "the server wants a client certificate"),
            (Some(&foreign), "the server does not accept the client certificate"),
        ] {
            let p = refusing(ca.server_for(&clients, version));
            let f = Server::tls(&ca.server(), Reply::ok("f"));
            let mut builder = trusting(&ca, &[&format!("https://{}", p.addr), &f]);
            if let Some((cert, key)) = pair {
                builder = builder.client_cert_pem(cert, key);
            }
            let client = builder.hold_for(ms(0)).build().unwrap();
            for large in [false, true] {
                let body = vec![b'x'; if large { 8 << 20 } else { 1 }];
                let ended = client.post("/").body(body).send();
                let attempts = match &ended {
                    Ok(answer) => answer.attempts(),
                    Err(error) => error.attempts(),
                };
                let first = &attempts[0];
                assert_eq!(first.reason(), Reason::Tls, "{first:?}");
                assert_eq!(first.delivery(), delivery, "{first:?}");
                assert!(first.phase() == phase || large, "{first:?}");
                assert!(first.message().contains(words), "{}", first.message());
                assert_eq!((ended.is_ok(), attempts.len() == 2), (moves_on, moves_on));
            }
            // What may go out twice is had elsewhere.
            assert_eq!(client.get("/").send().unwrap().text().unwrap(), "f");
        }
    }
}

#[test]
fn a_client_certificate_that_cannot_serve_is_found_at_build() {
    let ca = Authority::new();
    let ((cert, key), (_, other)) = (ca.client_pem(), ca.client_pem());
    // Of plain http as well: what is given is meant.
    for url in ["https://a.example", "http://a.example"] {
        for (cert, key) in [(&*cert, &*other), ("", &key), (&cert, ""), (&key, &cert)] {
            let builder = over(&[&url]).tls_roots(TlsRoots::None).add_root_pem(ca.pem());
            let error = builder.client_cert_pem(cert, key).build().unwrap_err();
            assert_eq!(error.status(), Status::TlsMaterial, "{error}");
            assert!(!format!("{error} {error:?}").contains("PRIVATE"), "{error:?}");
        }
    }
    let builder = over(&[&"https://a.example"]).client_cert_pem(&cert, &key);
    assert!(!format!("{builder:?}").contains("PRIVATE"));
}

// ---- trust ----

/// Off is off, loudly: the two texts that a person debugging would look at say so.
#[test]
fn verification_can_be_switched_off_and_shows() {
    let (ca, other) = (Authority::new(), Authority::new());
    for config in [ca.server_expired(), ca.server_named(&["other.example"]), other.server()] {
        let p = Server::tls(&config, Reply::ok("p"));
        let verifying = trusting(&ca, &[&p]).set("tls_verify", "on");
        assert!(!format!("{:?}", verifying.build().unwrap()).contains("tls_verify"));
        for builder in
            [trusting(&ca, &[&p]).tls_verify(false), over(&[&p]).set("tls_verify", "off")]
        {
            assert!(format!("{builder:?}").contains("tls_verify: false"));
            let client = builder.build().unwrap();
            assert!(format!("{client:?}").contains("tls_verify: false"));
            assert_eq!(client.get("/").send().unwrap().text().unwrap(), "p");
        }
        // Of one client only.
        let error = trusting(&ca, &[&p]).build().unwrap().get("/").send().unwrap_err();
        assert_eq!(error.reason(), Reason::TlsCert);
    }
}

/// The list that is built in knows no authority made here, and is enough to build a client.
#[test]
fn the_bundled_roots_stand_in_for_a_system_without_any() {
    let ca = Authority::new();
    let p = Server::tls(&ca.server(), Reply::ok("p"));
    let bundled = || over(&[&p]).set("tls_roots", "bundled");
    let error = bundled().build().unwrap().get("/").send().unwrap_err();
    assert_eq!(error.reason(), Reason::TlsCert);
    assert!(error.to_string().contains("unknown issuer"), "{error}");
    let client = bundled().add_root_pem(ca.pem()).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "p");
    let by_method = over(&[&p]).tls_roots(TlsRoots::Bundled).add_root_pem("no certificate");
    assert_eq!(by_method.build().unwrap_err().status(), Status::TlsMaterial);
}

/// What the system trusts is in files, which `SSL_CERT_FILE` and `SSL_CERT_DIR` can name: for a process as a
/// whole, so this test runs itself once more for each.
#[cfg(target_os = "linux")]
#[test]
#[allow(clippy::disallowed_methods, reason = "how this test tells that it is the other process")]
fn the_roots_of_the_system_are_those_in_its_files() {
    const SERVER: &str = "ANYHOST_TEST_SERVER";
    if let Ok(server) = std::env::var(SERVER) {
        match over(&[&server]).tls_roots(TlsRoots::System).build() {
            Ok(client) => println!("said: {:?}", client.get("/").send().map(|it| it.status())),
            Err(error) => println!("said: {:?} {error}", error.status()),
        }
        return;
    }
    let (ca, other) = (Authority::new(), Authority::new());
    let p = Server::tls(&ca.server(), Reply::ok("p"));
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("roots");
    let nothing = folder.join("nothing");
    std::fs::create_dir_all(&nothing).unwrap();
    for (name, pem, words) in [
        ("ours.pem", ca.pem(), "Ok(200)"),
        ("anothers.pem", other.pem(), "unknown issuer"),
        ("nobodys.pem", "", "said: TlsMaterial no usable roots"),
    ] {
        let file = folder.join(name);
        std::fs::write(&file, pem).unwrap();
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args([
            "--exact",
            "tls::the_roots_of_the_system_are_those_in_its_files",
            "--nocapture",
        ]);
        let output = again
            .env(SERVER, p.url())
            .env("SSL_CERT_FILE", file)
            .env("SSL_CERT_DIR", &nothing)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && said.contains(words), "{name}: {said}");
    }
}

/// One configuration for all endpoints: the second one of a server resumes what the first began, and
/// so does the health check of a third.
#[test]
fn sessions_resume_across_endpoints() {
    let ca = Authority::new();
    let kinds = Arc::new(Mutex::new(Vec::new()));
    let (seen, config) = (kinds.clone(), ca.server());
    let p = Server::start(Script::by_hand(move |client| {
        let tls = rustls::ServerConnection::new(config.clone()).unwrap();
        let mut tls = rustls::StreamOwned::new(tls, client.socket());
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            if tls.read(&mut byte).unwrap_or(0) == 0 {
                return;
            }
            head.push(byte[0]);
        }
        seen.lock().unwrap().push(tls.conn.handshake_kind().unwrap());
        tls.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\np").unwrap();
        // Until the client ends, so that its tickets are not lost to a reset.
        let _ = tls.read(&mut byte);
    }));
    let base = format!("https://localhost:{}", p.port());
    let urls = ["a", "b", "c"].map(|path| format!("{base}/{path}"));
    let client = trusting(&ca, &[&urls[0], &urls[1], &urls[2]]).build().unwrap();
    for url in &urls {
        let mut request = anyhost::Request::new("GET", "/").unwrap();
        client.health_check(url, &mut request).unwrap();
    }
    assert_eq!(p.connections(), 3, "endpoints do not share connections");
    let kinds = kinds.lock().unwrap().clone();
    assert_eq!(kinds, [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Resumed]);
}
