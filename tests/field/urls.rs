//! F102 to F110 and F116: what a base and a path make together, and what never leaves.

use crate::network::{A, B, received};
use crate::support::{Reply as Served, Server};
use crate::wire::over;
use anyhost::testing::{Reply, ScriptedTransport};
use anyhost::{Client, Request, State, Status, split_base_urls};

/// The target that arrives of a path below a base.
fn target(server: &Server, base: &str, path: &str) -> String {
    let client = over(&[format!("{}{base}", server.url())]).build().unwrap();
    client.get(path).send().unwrap_or_else(|error| panic!("{base} {path}: {error}"));
    server.requests().pop().expect("a request").target
}

#[test]
fn f102_a_path_is_appended_and_not_resolved() {
    let server = Server::start(Served::ok(""));
    for base in ["/api/v1", "/api/v1/"] {
        for path in ["/x?y=1", "x?y=1"] {
            assert_eq!(target(&server, base, path), "/api/v1/x?y=1", "{base} {path}");
        }
        assert_eq!(target(&server, base, ""), "/api/v1", "{base}");
    }
}

#[test]
fn f104_a_colon_makes_no_scheme() {
    let server = Server::start(Served::ok(""));
    for (path, below) in [
        ("/sub:path", "/b/sub:path"),
        ("sub:path", "/b/sub:path"),
        ("urn:a:b", "/b/urn:a:b"),
        ("//host:1/x", "/b//host:1/x"),
    ] {
        assert_eq!(target(&server, "/b", path), below);
    }
    // What is a URL as a whole has no base, and no client with endpoints asks for it (R16).
    let client = over(&[server.url()]).build().unwrap();
    let elsewhere = Server::start(Served::ok(""));
    let _ = client.get(&elsewhere.url()).send();
    assert_eq!(elsewhere.connections(), 0);
}

/// RFC 3986 sections 2.4 and 6.2.2: whether two spellings are one is the server's business.
#[test]
fn f106_a_path_is_sent_byte_for_byte() {
    let server = Server::start(Served::ok(""));
    for path in ["/a%2Fb/%2e/c%20d?q=%2B+1", "/a%2fb", "/x/../y/./z", "/%", "/a//b?c=%zz&d=//"] {
        assert_eq!(target(&server, "", path), path);
        assert_eq!(target(&server, "/v1", path), format!("/v1{path}"));
    }
}

#[test]
fn f108_a_list_is_split_and_each_entry_checked() {
    for (list, entries) in [
        ("http://a:1/, http://b:2/ ,", vec!["http://a:1/", "http://b:2/"]),
        (",,", vec![]),
        ("", vec![]),
        ("a:1,b:2", vec!["a:1", "b:2"]),
        ("[http://a]", vec!["[http://a]"]),
    ] {
        assert_eq!(split_base_urls(list), entries);
    }
    for (list, named) in [
        ("a:1,b:2", "a:1"),
        ("http://a,b:2", "b:2"),
        ("[http://a]", "[http://a]"),
        ("[http://a,http://b]", "[http://a"),
    ] {
        let error = Client::new(list).unwrap_err();
        assert_eq!(error.status(), Status::Url, "{list}");
        assert!(error.to_string().contains(&format!("`{named}`")), "{list}: {error}");
    }
    let client = Client::new("http://a:1/, http://b:2/ ,").unwrap();
    let urls: Vec<String> = client.snapshot().members().iter().map(|m| m.url().into()).collect();
    assert_eq!(urls, ["http://a:1", "http://b:2"]);
}

/// The same endpoint twice would have twice its share; which of two weights was meant nobody knows.
#[test]
fn f110_a_slash_at_the_end_makes_no_other_endpoint() {
    for list in ["http://h/,http://h", "http://h,HTTP://H:80", "http://h/a,http://h/a/"] {
        assert_eq!(Client::new(list).unwrap_err().status(), Status::Duplicate, "{list}");
    }
    let server = Server::start(Served::ok(""));
    assert_eq!(target(&server, "/", "/x"), "/x");
    assert_eq!(target(&server, "/a//", "/x"), "/a/x");
}

/// RFC 9110 section 5.5. It is the caller's mistake, so no host hears of it or is blamed for it.
#[test]
fn f116_what_would_forge_a_request_never_leaves() {
    let network = ScriptedTransport::new().on(A, [Reply::ok("a")]).on(B, [Reply::ok("b")]);
    let client = crate::network::on(&network, &[A, B]).set("breaker", "on").build().unwrap();
    let refused = [
        client.get("/").header("X-A", "a\r\nX: b").send(),
        client.get("/").header("X-A", "a\nX: b").send(),
        client.get("/").header("X-A", "a\0b").send(),
        client.get("/").header("a b", "c").send(),
        client.get("/").header("a\r\nX", "c").send(),
        client.get("/x HTTP/1.1\r\nY: z").send(),
        client.get("/x\n").send(),
        client.request("GET /", "/").send(),
        client.request("GET\r\nX: b", "/").send(),
    ];
    for (place, result) in refused.into_iter().enumerate() {
        let error = result.unwrap_err();
        assert_eq!((error.status(), error.attempts().len()), (Status::Argument, 0), "{place}");
    }
    assert_eq!(Request::new("GET", "/\r\n").unwrap_err().status(), Status::Argument);
    assert_eq!(received(&network, [A, B]), [0, 0]);
    for member in client.snapshot().members() {
        assert_eq!((member.state(), member.failures()), (State::Eligible, 0));
    }
}
