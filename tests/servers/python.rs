//! Python's own `http.server`, HTTP/1.0 and 1.1.

use crate::over;
use crate::program::{self, Folder, Program, find};
use crate::support::*;
use std::net::SocketAddr;
use std::process::Command;

/// Serves a folder. `None` is a named skip.
fn python(test: &str, protocol: &str) -> Option<(String, SocketAddr, Program, Folder)> {
    let python = find(test, "python3")?;
    let (folder, addr) = (Folder::new("python"), program::address());
    folder.write("page/index.html", "index");
    folder.write("page/big", vec![b'b'; 3 << 20]);
    folder.write("page/below/index.html", "below");
    folder.write("page/empty", "");
    let mut command = Command::new(python);
    command.args(["-u", "-m", "http.server", "--protocol", protocol]);
    command.args(["--bind", &addr.ip().to_string(), "--directory"]).arg(folder.path().join("page"));
    command.arg(addr.port().to_string());
    let mut program = Program::start("python", &mut command, &folder);
    program.wait_for(addr);
    Some((format!("http://{addr}"), addr, program, folder))
}

/// A walk: files, HEAD, a redirect it writes itself, what is not there, what it cannot do.
#[test]
fn a_walk() {
    for protocol in ["HTTP/1.0", "HTTP/1.1"] {
        let Some((url, addr, program, _folder)) = python("a_walk", protocol) else { return };
        let client = over(&[&url]).build().unwrap();
        assert_eq!(client.get("/").send().unwrap().text().unwrap(), "index");
        assert_eq!(client.get("/big").send().unwrap().bytes(), vec![b'b'; 3 << 20]);
        let head = client.head("/big").send().unwrap();
        assert_eq!((head.bytes().len(), head.header("Content-Length")), (0, Some("3145728")));
        assert_eq!(client.get("/empty").send().unwrap().bytes(), b"");
        let below = client.get("/below?q=1").send().unwrap();
        assert_eq!((below.text().unwrap(), below.attempts().len()), ("below", 2));
        assert_eq!(below.url(), format!("http://{addr}/below/"));
        assert_eq!(client.get("/none").send().unwrap().status(), 404);
        // It has no POST, and says so without reading the body.
        let posted = client.post("/").body(vec![0; 1000]).send().unwrap();
        assert_eq!((posted.status(), posted.attempts().len()), (501, 1));
        let again = client.get("/").send().unwrap();
        assert_eq!(again.text().unwrap(), "index");
        let log = program.told();
        assert_eq!(log.matches("\"POST / HTTP/1.1\" 501").count(), 1, "{log}");
        assert_eq!(log.matches("\"GET /below?q=1 HTTP/1.1\" 301").count(), 1, "{log}");
        assert!(again.elapsed() < ms(5000));
    }
}
