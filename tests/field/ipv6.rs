//! F67: IPv6 literals. (F69, the line of CONNECT, needs proxies.)

use crate::support::{Listen, Reply};
use crate::wire::over;

#[test]
fn f67_the_host_header_of_a_literal_has_brackets() {
    let a = Listen::on("::1").start(Reply::ok("a"));
    let client = over(&[format!("http://[::1]:{}", a.port())]).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().status(), 200);
    let host = format!("[::1]:{}", a.port());
    assert_eq!(a.requests()[0].header("Host"), Some(host.as_str()));
}
