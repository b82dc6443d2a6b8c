//! Varnish: a cache that answers before a request is read, and when nobody is behind it.

use crate::program::{Folder, Program, find};
use crate::support::*;
use crate::{over, program};
use std::net::SocketAddr;
use std::process::Command;

/// Starts it before this address. `None` is a named skip.
fn varnish(test: &str, behind: SocketAddr) -> Option<(String, Program, Folder)> {
    let varnishd = find(test, "varnishd")?;
    let (folder, addr) = (Folder::new("varnish"), program::address());
    let vcl = format!(
        "vcl 4.1;
backend behind {{ .host = \"{}\"; .port = \"{}\"; .connect_timeout = 1s; }}
sub vcl_recv {{ if (req.url == \"/closed\") {{ return (synth(503, \"closed\")); }} }}",
        behind.ip(),
        behind.port()
    );
    let vcl = folder.write("test.vcl", vcl);
    let mut command = Command::new(varnishd);
    command.arg("-F").args(["-j", "none", "-T", "none", "-s", "malloc,16m", "-n"]);
    command.arg(folder.path().join("work")).arg("-a").arg(addr.to_string()).arg("-f").arg(vcl);
    let mut program = Program::start("varnish", &mut command, &folder);
    program.wait_for(addr);
    Some((format!("http://{addr}"), program, folder))
}

/// A 503 before the request's body is read reaches the caller of a POST, with the wait it asks for; it is
/// not sent again (R10, R13). A GET goes on to the next host.
#[test]
fn an_early_503() {
    let behind = Server::start(Reply::echo());
    let Some((p, _program, _folder)) = varnish("an_early_503", behind.addr) else { return };
    let f = Server::start(Reply::ok("f"));
    for size in [0, 1 << 10, 32 << 20] {
        let client = over(&[&p, &f]).build().unwrap();
        let answer = client.post("/closed").body(vec![b'x'; size]).send().unwrap();
        assert_eq!((answer.status(), answer.attempts().len()), (503, 1), "{size}");
        let wait = answer.retry_after().unwrap();
        assert!(wait > ms(4000) && wait <= ms(5000), "{size}: {wait:?}");
    }
    let answer = over(&[&p, &f]).build().unwrap().get("/closed").send().unwrap();
    assert_eq!((answer.text().unwrap(), f.count("POST")), ("f", 0));
    assert_eq!(behind.executed(), 0);
    // What it lets through comes back whole, on connections that are kept.
    let client = over(&[&p]).build().unwrap();
    for i in 0..10 {
        let answer = client.post(&format!("/{i}")).body("abc").send().unwrap();
        assert_eq!(answer.text().unwrap(), format!("POST /{i} 3"));
        assert_eq!(answer.attempts()[0].reused_connection(), i > 0);
    }
}

/// Nobody behind it: its own 503.
#[test]
fn no_backend() {
    let dead = refusing_address();
    let Some((p, _program, _folder)) = varnish("no_backend", dead.addr) else { return };
    let f = Server::start(Reply::ok("f"));
    let client = over(&[&p, &f]).build().unwrap();
    let answer = client.get("/").send().unwrap();
    assert_eq!((answer.text().unwrap(), answer.attempts()[0].http_status()), ("f", Some(503)));
    let answer = over(&[&p, &f]).build().unwrap().post("/").body("x").send().unwrap();
    assert_eq!((answer.status(), f.count("POST")), (503, 0));
}
