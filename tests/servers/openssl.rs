//! `openssl s_server`: another implementation of TLS than ours at the other end.

use crate::program::{self, Folder, Program, find};
use crate::support::*;
use anyhost::{Client, Delivery, Phase, Reason, Status, TlsRoots};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::Command;
use std::thread;

struct OpenSsl {
    addr: SocketAddr,
    program: Program,
    _folder: Folder,
}

impl OpenSsl {
    /// With this certificate and key, and these arguments. `None` is a named skip.
    fn start(test: &str, pem: (String, String), arguments: &[&str]) -> Option<OpenSsl> {
        let openssl = find(test, "openssl")?;
        let (folder, addr) = (Folder::new("openssl"), program::address());
        folder.write("cert.pem", pem.0);
        folder.write("key.pem", pem.1);
        folder.write("page", vec![b'p'; 100_000]);
        let mut command = Command::new(openssl);
        command.current_dir(folder.path()).args(["s_server", "-accept", &addr.to_string()]);
        command.args(["-cert", "cert.pem", "-key", "key.pem"]).args(arguments);
        let mut program = Program::start("openssl", &mut command, &folder);
        // One that serves by hand takes one connection at a time, so that none is spent on a look.
        program.wait_until("it listens", |program| program.told().contains("ACCEPT"));
        Some(OpenSsl { addr, program, _folder: folder })
    }

    fn url(&self) -> String {
        format!("https://localhost:{}", self.addr.port())
    }

    /// Writes to its client.
    fn say(&mut self, text: &str) {
        let written = self.program.stdin().write_all(text.as_bytes());
        written.and_then(|()| self.program.stdin().flush()).expect("it reads");
    }

    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        self.program.wait_until(text, |program| program.told().contains(text));
    }
}

/// A client of these that trusts this authority, and finds them at their address.
fn trusting(ca: &Authority, servers: &[&OpenSsl]) -> Client {
    let addresses: Vec<SocketAddr> = servers.iter().map(|server| server.addr).collect();
    let client = servers.iter().fold(Client::builder(), |client, s| client.base_urls(&s.url()));
    client
        .tls_roots(TlsRoots::None)
        .add_root_pem(ca.pem())
        .lookup(move |_: &str, port: u16| {
            Ok(addresses.iter().copied().filter(|addr| addr.port() == port).collect())
        })
        .build()
        .unwrap()
}

/// Both versions; a body that ends with the connection ends with the goodbye of TLS (R13).
#[test]
fn both_versions() {
    let ca = Authority::new();
    for version in ["-tls1_2", "-tls1_3"] {
        let arguments = ["-WWW", version];
        let Some(p) = OpenSsl::start("both_versions", ca.server_pem(&[]), &arguments) else {
            return;
        };
        let client = trusting(&ca, &[&p]);
        for _ in 0..2 {
            let answer = client.get("/page").send().unwrap();
            assert_eq!(answer.bytes(), vec![b'p'; 100_000], "{version}");
        }
    }
    // Nothing older is spoken.
    let arguments = ["-WWW", "-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0"];
    let p = OpenSsl::start("both_versions", ca.server_pem(&[]), &arguments).unwrap();
    let error = trusting(&ca, &[&p]).get("/page").send().unwrap_err();
    assert_eq!((error.reason(), error.delivery()), (Reason::Tls, Delivery::NotSent), "{error}");
}

/// Certificates that are not to be accepted: the reason says so, nothing was sent, a POST moves on.
#[test]
fn bad_certificates() {
    let (ca, other) = (Authority::new(), Authority::new());
    let name = "bad_certificates";
    let rows = [
        ("expired", ca.expired_pem()),
        ("wrong name", ca.server_pem_for(&["other.example"])),
        ("unknown issuer", other.server_pem(&[])),
    ];
    for (what, pem) in rows {
        let Some(p) = OpenSsl::start(name, pem, &["-www"]) else { return };
        let f = OpenSsl::start(name, ca.server_pem(&[]), &["-WWW"]).unwrap();
        let error = trusting(&ca, &[&p]).post("/").body("x").send().unwrap_err();
        let got = (error.reason(), error.phase(), error.delivery());
        assert_eq!(got, (Reason::TlsCert, Phase::Tls, Delivery::NotSent), "{what}: {error}");
        let answer = trusting(&ca, &[&p, &f]).get("/page").send().unwrap();
        assert_eq!((answer.bytes().len(), answer.attempts().len()), (100_000, 2), "{what}");
    }
}

/// It is killed in the middle of an answer without an announced end: over TLS that is no end (R13).
#[test]
fn truncation() {
    let (ca, name) = (Authority::new(), "truncation");
    for version in ["-tls1_2", "-tls1_3"] {
        let Some(mut p) = OpenSsl::start(name, ca.server_pem(&[]), &["-crlf", version]) else {
            return;
        };
        let client = trusting(&ca, &[&p]);
        let (head, killed) = (Event::new(), Event::new());
        let call = thread::spawn({
            let (head, killed) = (head.clone(), killed.clone());
            move || {
                let mut reader = client.get("/x").stream().unwrap().into_reader();
                let mut half = [0; 12];
                reader.read_exact(&mut half).unwrap();
                head.open();
                killed.wait(ms(5000));
                let mut rest = Vec::new();
                (half, reader.read_to_end(&mut rest).unwrap_err())
            }
        });
        p.wait_for("GET /x HTTP/1.1");
        p.say("HTTP/1.1 200 OK\n\nhalf of it\n");
        head.wait(ms(5000));
        p.program.signal(libc::SIGKILL);
        killed.open();
        let (half, error) = call.join().unwrap();
        assert_eq!(&half, b"half of it\r\n");
        let error: anyhost::Error = error.downcast().unwrap();
        assert_eq!((error.status(), error.reason()), (Status::Body, Reason::Truncated), "{error}");
    }
}

/// TLS 1.3: keys change in the middle of an answer, and it arrives whole.
#[test]
fn key_update() {
    let ca = Authority::new();
    let arguments = ["-crlf", "-tls1_3"];
    let Some(mut p) = OpenSsl::start("key_update", ca.server_pem(&[]), &arguments) else { return };
    let client = trusting(&ca, &[&p]);
    let call = thread::spawn(move || {
        let first = client.post("/one").body("1").send().unwrap().text().unwrap().to_owned();
        let second = client.post("/two").body("2").send().unwrap();
        (first, second.text().unwrap().to_owned(), second.attempts()[0].reused_connection())
    });
    p.wait_for("POST /one HTTP/1.1");
    p.say("HTTP/1.1 200 OK\nContent-Length: 15\n\nbefore\n");
    // `K` changes its own keys and asks the client to change its; `k` its own alone.
    for order in ["K\n", "k\n"] {
        pass(ms(200));
        p.say(order);
        pass(ms(200));
    }
    p.say("after\n");
    p.wait_for("POST /two HTTP/1.1");
    p.say("HTTP/1.1 200 OK\nContent-Length: 3\n\n2\n");
    let (first, second, reused) = call.join().unwrap();
    assert_eq!((first.as_str(), second.trim()), ("before\r\nafter\r\n", "2"));
    assert!(reused, "the keys of the request's direction changed on the connection in use");
}
