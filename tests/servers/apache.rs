//! Apache with CGI programs: answers of unknown length, slow ones, ranges.

use crate::program::{Folder, Program, find, is_root};
use crate::support::*;
use crate::{over, program, told};
use anyhost::{Delivery, Phase, Reason};
use std::fmt;
use std::fs;
use std::io::Read;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

const MODULES: &str = "/usr/lib/apache2/modules";

struct Apache {
    addr: SocketAddr,
    folder: Folder,
    _program: Program,
}

/// Counts itself in a file, takes its time, and writes in two goes.
const SLOW: &str = r#"#!/bin/sh
cat > /dev/null
echo "$REQUEST_METHOD $QUERY_STRING" >> "$(dirname "$0")/../ran/log"
printf 'Content-Type: text/plain\r\n\r\nfirst\n'
sleep "$QUERY_STRING"
printf 'second\n'
"#;

/// The same, and says nothing before it has taken its time.
const LATE: &str = r#"#!/bin/sh
cat > /dev/null
echo "$REQUEST_METHOD $QUERY_STRING" >> "$(dirname "$0")/../ran/log"
sleep "$QUERY_STRING"
printf 'Content-Type: text/plain\r\n\r\nlate\n'
"#;

/// Says what it was given.
const ECHO: &str = r#"#!/bin/sh
printf 'Status: 201 Made\r\nContent-Type: text/plain\r\nX-Length: %s\r\n\r\n' "$CONTENT_LENGTH"
cat
"#;

impl Apache {
    fn start(test: &str) -> Option<Apache> {
        let apache = find(test, "apache2")?;
        let (folder, addr) = (Folder::new("apache"), program::address());
        for (name, text) in [("slow", SLOW), ("late", LATE), ("echo", ECHO)] {
            let path = folder.write(&format!("cgi/{name}"), text);
            fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("a mode");
        }
        folder.write("page/digits", "0123456789".repeat(1000));
        // Written by whoever Apache becomes.
        folder.write("ran/log", "");
        fs::set_permissions(folder.path().join("ran/log"), PermissionsExt::from_mode(0o666))
            .expect("a mode");
        let user = if is_root() { "User nobody\nGroup nogroup" } else { "" };
        let config = format!(
            "ServerRoot {root}
ServerName {addr}
Listen {addr}
PidFile {root}/pid
DefaultRuntimeDir {root}
{user}
LoadModule mpm_event_module {MODULES}/mod_mpm_event.so
LoadModule authz_core_module {MODULES}/mod_authz_core.so
LoadModule alias_module {MODULES}/mod_alias.so
LoadModule env_module {MODULES}/mod_env.so
LoadModule cgid_module {MODULES}/mod_cgid.so
ScriptSock {root}/cgisock
ScriptAlias /cgi/ {root}/cgi/
DocumentRoot {root}/page
ErrorLog {root}/error.log
KeepAlive On
",
            root = folder.path().display()
        );
        folder.write("apache.conf", config);
        let mut command = Command::new(apache);
        command.arg("-DFOREGROUND").arg("-f").arg(folder.path().join("apache.conf"));
        let mut program = Program::start("apache", &mut command, &folder);
        program.wait_for(addr);
        Some(Apache { addr, folder, _program: program })
    }

    /// Which requests its programs were started for.
    fn ran(&self) -> Vec<String> {
        self.folder.read("ran/log").lines().map(str::to_owned).collect()
    }
}

impl fmt::Display for Apache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.addr)
    }
}

/// A program's output is chunked, and comes as it is written; what is posted reaches it.
#[test]
fn chunked_answers() {
    let Some(p) = Apache::start("chunked_answers") else { return };
    let client = over(&[&p]).build().unwrap();
    let answer = client.get("/cgi/slow?0").send().unwrap();
    assert_eq!(answer.text().unwrap(), "first\nsecond\n");
    assert_eq!(answer.header("Transfer-Encoding"), Some("chunked"));
    let stream = client.get("/cgi/slow?1").stream().unwrap();
    let (mut reader, mut first) = (stream.into_reader(), [0; 6]);
    let ((), took) = timed(|| reader.read_exact(&mut first).unwrap());
    assert!(&first == b"first\n" && took < ms(900), "{took:?}");
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "second\n");
    for body in [vec![], vec![b'x'; 100_000]] {
        let answer = client.post("/cgi/echo").body(body.clone()).send().unwrap();
        assert_eq!((answer.status(), answer.bytes()), (201, &body[..]));
        assert_eq!(answer.header("X-Length"), Some(&*body.len().to_string()));
    }
    // Chunked, since nobody knows how long it will be.
    let reader = anyhost::Body::reader(std::io::Cursor::new(vec![b'y'; 5000]), None);
    let answer = client.post("/cgi/echo").body(reader).send().unwrap();
    assert_eq!(answer.bytes(), [b'y'; 5000]);
}

/// RFC 9110 section 14: a part, the end, and a part that is not there.
#[test]
fn ranges() {
    let Some(p) = Apache::start("ranges") else { return };
    let client = over(&[&p]).build().unwrap();
    for (range, status, content, body) in [
        ("bytes=2-5", 206, "bytes 2-5/10000", "2345"),
        ("bytes=-3", 206, "bytes 9997-9999/10000", "789"),
        ("bytes=9998-", 206, "bytes 9998-9999/10000", "89"),
    ] {
        let answer = client.get("/digits").header("Range", range).send().unwrap();
        let got = (answer.status(), answer.header("Content-Range"), answer.text().unwrap());
        assert_eq!(got, (status, Some(content), body));
    }
    let answer = client.get("/digits").header("Range", "bytes=20000-").send().unwrap();
    assert_eq!((answer.status(), answer.attempts().len()), (416, 1));
}

/// A program slower than an attempt may be: a GET goes on to the next host, and with a POST it has run
/// once and runs no second time (R1).
#[test]
fn slow_programs() {
    let Some(p) = Apache::start("slow_programs") else { return };
    let f = Server::start(Reply::ok("f"));
    for (path, phase) in [("/cgi/late?2", Phase::Head), ("/cgi/slow?2", Phase::Body)] {
        let client = || over(&[&p, &f]).attempt_timeout(ms(700)).build().unwrap();
        let answer = client().get(path).send().unwrap();
        assert_eq!(answer.text().unwrap(), "f");
        let (reason, got, _) = told(answer.attempts())[0];
        assert_eq!((reason, got), (Reason::Timeout, phase));
        let error = client().post(path).body("x").send().unwrap_err();
        assert_eq!((error.reason(), error.phase()), (Reason::Timeout, phase));
        assert!(error.delivery() >= Delivery::Maybe);
    }
    assert_eq!(p.ran(), ["GET 2", "POST 2", "GET 2", "POST 2"]);
    assert_eq!((f.count("GET"), f.count("POST")), (2, 0));
}
