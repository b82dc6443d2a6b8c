//! What arrives of URLs and headers (R16, R15), what no text ever shows, and what is refused before
//! anything is sent.

use crate::support::*;
use crate::{Log, over};
use anyhost::{Body, Client, Endpoint, Error, Request, Status};

/// R16, F102, F104, F106, D-P2, D-P3, D-P5: what is appended arrives as it was written.
#[test]
fn targets_arrive_byte_for_byte_below_the_base() {
    let p = Server::start(Reply::ok(""));
    for (base, path, target) in [
        ("", "", "/"),
        ("/", "", "/"),
        ("", "?q=1", "/?q=1"),
        ("/api/v1", "/x?y=1", "/api/v1/x?y=1"),
        ("/api/v1/", "/x?y=1", "/api/v1/x?y=1"),
        ("/api/v1", "x?y=1", "/api/v1/x?y=1"),
        ("/api/v1/", "x?y=1", "/api/v1/x?y=1"),
        ("/api/v1", "", "/api/v1"),
        ("/api/v1/", "", "/api/v1"),
        ("/api/v1//", "?q", "/api/v1?q"),
        ("/b", "/sub:path", "/b/sub:path"),
        ("/b", "sub:path", "/b/sub:path"),
        ("", "urn:a:b", "/urn:a:b"),
        ("", "/a%2Fb/%2e/c%20d?q=%2B+1", "/a%2Fb/%2e/c%20d?q=%2B+1"),
        ("", "/a%2fb", "/a%2fb"),
        ("/v0", "/a/../b/./c", "/v0/a/../b/./c"),
        ("/v0", "//x//y/", "/v0//x//y/"),
        ("/v0", "/x%2Fy?z=%20", "/v0/x%2Fy?z=%20"),
        ("", "/a?b?c&d=e;f='g'", "/a?b?c&d=e;f='g'"),
        ("", "/~a!$&'()*+,;=:@-._", "/~a!$&'()*+,;=:@-._"),
        ("", "/a?", "/a?"),
        ("/V0", "/X", "/V0/X"),
        ("", "/{id}|[x]^\"", "/{id}|[x]^\""),
    ] {
        let client = over(&[&format!("{}{base}", p.url())]).build().unwrap();
        let answer = client.get(path).send().unwrap_or_else(|e| panic!("{base} {path}: {e:?}"));
        assert_eq!(p.requests().last().unwrap().target, target, "{base:?} + {path:?}");
        let shown = format!("{}{}", p.url(), target.split('?').next().unwrap());
        assert_eq!(answer.url(), shown, "{base:?} + {path:?}");
    }
}

/// D-P1, D-P2, D-P3, D-P8: below the base of whichever endpoint gets the request.
#[test]
fn a_failover_puts_the_path_below_the_base_of_the_other() {
    for (p_base, f_base, path, at_p, at_f) in [
        ("/v0/", "/v0/", "/x/y?q=1", "/v0/x/y?q=1", "/v0/x/y?q=1"),
        ("/v0", "/api/", "/x", "/v0/x", "/api/x"),
        ("/v0", "", "", "/v0", "/"),
        ("/v0", "/v0", "/x%2Fy?z=%20", "/v0/x%2Fy?z=%20", "/v0/x%2Fy?z=%20"),
    ] {
        let (p, f) = (Server::start(Reply::status(503)), Server::start(Reply::ok("")));
        let urls = (format!("{}{p_base}", p.url()), format!("{}{f_base}", f.url()));
        let client = over(&[&urls.0, &urls.1]).build().unwrap();
        client.get(path).send().unwrap();
        let (at, then) = (&p.requests()[0], &f.requests()[0]);
        assert_eq!((at.target.as_str(), then.target.as_str()), (at_p, at_f));
        assert_eq!(at.header("Host"), Some(p.addr.to_string().as_str()));
        assert_eq!(then.header("Host"), Some(f.addr.to_string().as_str()));
    }
}

/// F67, D-P8: IPv6 keeps its brackets; a Host set by hand is kept.
#[test]
fn host_follows_the_endpoint_unless_set_by_hand() {
    let six = Listen::on("::1").start(Reply::ok(""));
    let client = over(&[&six]).build().unwrap();
    client.get("/").send().unwrap();
    assert_eq!(six.requests()[0].header("Host"), Some(format!("[::1]:{}", six.port()).as_str()));

    let (p, f) = (Server::start(Reply::status(503)), Server::start(Reply::ok("")));
    let client = over(&[&p, &f]).build().unwrap();
    client.get("/").header("Host", "virtual.example").send().unwrap();
    for server in [&p, &f] {
        assert_eq!(server.requests()[0].headers_of("Host"), ["virtual.example"]);
    }
    let by_name = over(&[&format!("http://localhost:{}", f.port())]).build().unwrap();
    by_name.get("/").send().unwrap();
    let host = format!("localhost:{}", f.port());
    assert_eq!(f.requests()[1].headers_of("Host"), [host.as_str()]);
    // RFC 9110 section 7.2: before all others, also where they are laid over one another.
    by_name.get("/").header("Accept", "text/plain").header("X-A", "1").send().unwrap();
    for server in [&p, &f] {
        for request in server.requests() {
            assert_eq!(request.headers[0].0.to_ascii_lowercase(), "host");
        }
    }
}

/// R15: the client's go to every endpoint, an endpoint's stay with it, the request's override.
#[test]
fn headers_go_where_they_belong() {
    let (p, f) = (Server::start(Reply::status(503)), Server::start(Reply::ok("")));
    let user_info = format!("http://user:S%40CRET@{}", p.addr);
    let client = Client::builder()
        .header("X-Client", "c")
        .header("X-Shared", "client")
        .header("Authorization", "Bearer of-client")
        .endpoint(
            Endpoint::new(&user_info)
                .unwrap()
                .header("X-Shared", "endpoint")
                .unwrap()
                .header("X-Only-P", "p")
                .unwrap(),
        )
        .endpoint(Endpoint::new(&f.url()).unwrap())
        .hold_for(ms(0))
        .build()
        .unwrap();

    client.get("/").send().unwrap();
    let (at_p, at_f) = (p.requests().remove(0), f.requests().remove(0));
    assert_eq!(at_p.headers_of("Authorization"), ["Basic dXNlcjpTQENSRVQ="]); // user:S@CRET
    assert_eq!(at_p.headers_of("X-Shared"), ["endpoint"]);
    assert_eq!((at_p.header("X-Client"), at_p.header("X-Only-P")), (Some("c"), Some("p")));
    assert_eq!(at_f.headers_of("Authorization"), ["Bearer of-client"]);
    assert_eq!(at_f.headers_of("X-Shared"), ["client"]);
    assert_eq!((at_f.header("X-Client"), at_f.header("X-Only-P")), (Some("c"), None));

    client
        .get("/")
        .header("X-Shared", "request")
        .header("Authorization", "Bearer of-request")
        .add_header("X-Two", "1")
        .add_header("X-Two", "2")
        .send()
        .unwrap();
    for at in [p.requests().remove(1), f.requests().remove(1)] {
        assert_eq!(at.headers_of("X-Shared"), ["request"]);
        assert_eq!(at.headers_of("Authorization"), ["Bearer of-request"]);
        assert_eq!(at.headers_of("X-Two"), ["1", "2"]);
        assert_eq!(at.headers_of("X-Client"), ["c"]);
    }
}

/// What is sent unasked, and nothing more; each can be replaced.
#[test]
fn default_headers_are_few_and_can_be_replaced() {
    let p = Server::start(Reply::ok(""));
    let client = over(&[&p]).build().unwrap();
    client.get("/").send().unwrap();
    let mut names: Vec<_> =
        p.requests()[0].headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    names.sort();
    assert_eq!(names, ["accept", "accept-encoding", "host", "user-agent"]);
    let agent = format!("anyhost/{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(p.requests()[0].headers_of("User-Agent"), [agent.as_str()]);

    client.get("/").header("User-Agent", "mine").header("Accept", "text/plain").send().unwrap();
    assert_eq!(p.requests()[1].headers_of("User-Agent"), ["mine"]);
    assert_eq!(p.requests()[1].headers_of("Accept"), ["text/plain"]);
    client.get("/").user_agent("theirs").send().unwrap();
    assert_eq!(p.requests()[2].headers_of("User-Agent"), ["theirs"]);
}

/// Header values are bytes; answers give them back as bytes.
#[test]
fn header_values_are_bytes_both_ways() {
    let p = Server::start(Reply::raw(
        b"HTTP/1.1 200 OK\r\nX-Latin: caf\xe9\r\nX-Two: a\r\nx-two: b\r\nContent-Length: 0\r\n\r\n"
            .to_vec(),
    ));
    let client = over(&[&p]).build().unwrap();
    let answer = client.get("/").header("X-Latin", b"caf\xe9").send().unwrap();
    let head = p.requests().remove(0).head;
    assert!(head.windows(6).any(|window| window == b" caf\xe9\r"), "{head:?}");
    assert_eq!(answer.header_values("X-LATIN").collect::<Vec<_>>(), [&b"caf\xe9"[..]]);
    assert_eq!(answer.header("x-latin"), None, "it is no text");
    assert_eq!(answer.header_values("X-Two").collect::<Vec<_>>(), [b"a", b"b"]);
}

/// R15, F98: neither as written nor decoded nor encoded.
const CANARIES: [&str; 9] = [
    "S%40CRET",
    "S@CRET",
    "dXNlcjpTQENSRVQ",
    "canary-query",
    "canary-token",
    "canary-key",
    "canary-marked",
    "canary-option",
    "canary-body",
];

fn with_secrets(urls: &[String], log: &Log) -> anyhost::ClientBuilder {
    let base = |url: &String| url.replacen("://", "://user:S%40CRET@", 1);
    urls.iter()
        .fold(Client::builder(), |builder, url| {
            let endpoint = Endpoint::new(&base(url)).unwrap();
            builder.endpoint(endpoint.secret_header("X-Endpoint", "canary-marked").unwrap())
        })
        .header("X-Api-Key", "canary-key")
        .secret_header("X-Mine", "canary-marked")
        .header("X-Opt", "canary-option")
        .set("secret_headers", "x-opt")
        .attempt_timeout(ms(150))
        .on_event(log.recorder())
}

#[test]
fn no_text_shows_a_secret() {
    let ca = Authority::new();
    let ends: Vec<(&str, Server)> = vec![
        ("answered", Server::start(Reply::ok("canary-body"))),
        ("a bad status", Server::start(Reply::status(500).body("canary-body"))),
        ("a redirect", Server::start(Reply::status(302).header("Location", "/?canary-query"))),
        ("reset", Server::start(Reply::resets())),
        ("held", Server::start(Reply::holds())),
        ("no HTTP", Server::start(Reply::raw("canary-body canary-body\r\n\r\n").close())),
        ("cut", Server::start(Reply::ok("canary-body").cut(4))),
        ("a bad certificate", Server::tls(&ca.server(), Reply::ok(""))),
    ];
    let refused = refusing_address();
    let mut texts = Vec::new();
    let log = Log::default();
    for url in ends.iter().map(|(_, server)| server.url()).chain([refused.url()]) {
        let other =
            if url.starts_with("https") { "https://127.0.0.1:1" } else { "http://127.0.0.1:1" };
        for urls in [vec![url.clone()], vec![url.clone(), other.to_owned()]] {
            let builder = with_secrets(&urls, &log);
            texts.push(format!("{builder:?}"));
            let client = builder.build().unwrap();
            texts.push(format!("{client:?} {client:#?}"));
            for require in [false, true] {
                let mut request = Request::new("GET", "/x?token=canary-query").unwrap();
                request.set_header("Authorization", "Bearer canary-token").unwrap();
                request.set_header("Cookie", "sid=canary-token").unwrap();
                request.set_body("canary-body");
                request.set("require_success", if require { "on" } else { "off" }).unwrap();
                texts.push(format!("{request:?}"));
                match client.send(&mut request) {
                    Ok(answer) => {
                        texts.push(format!("{answer:?} {} {}", answer.url(), answer.endpoint()));
                        answer.attempts().iter().for_each(|a| texts.push(format!("{a} {a:?}")));
                    }
                    Err(error) => {
                        texts.push(format!("{error} {error:?} {:?}", error.answer()));
                        error.attempts().iter().for_each(|a| texts.push(format!("{a} {a:?}")));
                    }
                }
            }
        }
    }
    texts.extend(log.texts());
    assert!(texts.len() > 100, "only {} texts", texts.len());
    for text in &texts {
        for canary in CANARIES {
            assert!(!text.contains(canary), "{canary} in {text}");
        }
    }
}

/// What is refused at build, with its status, the option, and the value without its secrets.
#[test]
fn a_list_that_cannot_be_is_refused() {
    let build = |list: &str| Client::new(list).unwrap_err();
    for (list, status, says) in [
        ("", Status::Config, "base URL"),
        (" , ", Status::Config, "base URL"),
        ("a.example", Status::Url, "`a.example`"),
        ("a:1", Status::Url, "`a:1`"),
        ("[http://a]", Status::Url, "`[http://a]`"),
        ("ftp://u:S@a.example", Status::Url, "a.example"),
        ("http://a.example, gopher://u:geheim@b.example", Status::Url, "b.example"),
        ("http://", Status::Url, "`http://`"),
        ("http://a.example:99999", Status::Url, "a.example:99999"),
        ("http://u:geheim@a.example:x", Status::Url, "a.example:x"),
        ("http://a.example/?k=geheim", Status::Url, "query"),
        ("http://u:geheim@a.example/?k=geheim", Status::Url, "a.example"),
        ("http://a.example/#geheim", Status::Url, "fragment"),
        ("http://a.example/b c", Status::Url, "a.example"),
        ("http://h, http://h", Status::Duplicate, "`http://h`"),
        ("http://h,HTTP://H:80/", Status::Duplicate, "`http://h`"),
        ("http://h/a,http://h/a/", Status::Duplicate, "`http://h/a`"),
        ("http://u:geheim@h,http://h", Status::Duplicate, "`http://h`"),
        ("https://h,http://h2", Status::Downgrade, "`http://h2`"),
        ("http://u:geheim@h,https://h2", Status::Downgrade, "`https://h2`"),
    ] {
        let error = build(list);
        assert_eq!(error.status(), status, "{list}: {error}");
        assert_eq!(error.option(), Some("base_urls"), "{list}");
        assert!(error.to_string().contains(says), "{list}: {error}");
        let text = format!("{error} {error:?}");
        assert!(!text.contains("geheim") && !text.contains("u:S"), "{text}");
        assert!(error.attempts().is_empty(), "{list}");
    }
    // F37, X-16: neither ports nor paths nor schemes that differ are duplicates.
    for list in ["http://h,http://h:8080", "http://h/a,http://h/b", "http://h/a,http://h/A"] {
        assert!(Client::new(list).is_ok(), "{list}");
    }
    assert!(over(&[&"https://h", &"http://h"]).allow_mixed_schemes(true).build().is_ok());
}

/// F116: what would forge a request is refused before connecting, and shows no secret.
#[test]
fn input_that_no_request_can_carry_never_leaves() {
    let p = Server::start(Reply::ok(""));
    let client = over(&[&p]).build().unwrap();
    type Try = fn(&Client, &str) -> Result<anyhost::Response, Error>;
    let as_path: Try = |c, text| c.get(text).send();
    let as_method: Try = |c, text| c.request(text, "/").send();
    let as_name: Try = |c, text| c.get("/").header(text, "geheim").send();
    let as_value: Try = |c, text| c.get("/").header("X-Api-Key", text).send();
    let rows: [(Try, &str, &[&str]); 4] = [
        (
            as_path,
            "path",
            &[
                "/a b",
                "/x HTTP/1.1\r\nY: z",
                "/a\n",
                "/a\r",
                "/a\0",
                "/a\tb",
                "/\u{e9}",
                "/a#f",
                "/<",
                "/>",
                "/`",
                "/\u{7f}",
                "/?a b",
                "/?\r\n",
            ],
        ),
        (
            as_method,
            "method",
            &["", "GET /", "GE T", "GET\r\n", "GET\0", "G\u{e9}T", "CONNECT", "G:T"],
        ),
        (
            as_name,
            "header",
            &[
                "",
                "a b",
                "a\r\nX",
                "a\n",
                "a\0",
                "a:",
                "\u{e9}",
                "Content-Length",
                "Connection",
                "Transfer-Encoding",
            ],
        ),
        (
            as_value,
            "header",
            &["geheim\r\nX: b", "geheim\n", "geheim\r", "geheim\0", "geheim\u{7f}"],
        ),
    ];
    for (attempt, option, inputs) in rows {
        for input in inputs {
            let error = attempt(&client, input).unwrap_err();
            assert_eq!(error.status(), Status::Argument, "{option} {input:?}: {error}");
            assert_eq!(error.option(), Some(option), "{input:?}: {error}");
            assert!(!format!("{error} {error:?}").contains("geheim"), "{error}");
            let text = error.to_string();
            assert!(!text.contains(['\r', '\n', '\0']), "a log line can be forged: {text:?}");
        }
    }
    assert_eq!(p.connections(), 0);
    // At the builders as well.
    let error = over(&[&p]).header("X-A", "geheim\r\n").build().unwrap_err();
    assert_eq!((error.status(), error.option()), (Status::Argument, Some("header")));
    assert!(Endpoint::new(&p.url()).unwrap().header("a b", "").is_err());
}

/// The first mistake of a chain is the one told, and names option and value.
#[test]
fn an_option_that_cannot_be_is_refused() {
    for (option, value) in [
        ("deadline", "0"),
        ("connect_timeout", "0"),
        ("attempt_timeout", "0"),
        ("stall_timeout", "0s"),
        ("attempts_per_endpoint", "0"),
        ("resend", "maybe"),
        ("no_such_option", "1"),
    ] {
        let error = over(&[&"http://h"]).set(option, value).set("nor_this", "1").build();
        let error = error.unwrap_err();
        assert_eq!((error.status(), error.option()), (Status::Option, Some(option)), "{error}");
        assert!(error.to_string().contains(option), "{error}");
    }
    let p = Server::start(Reply::ok(""));
    let client = over(&[&p]).build().unwrap();
    let error = client.get("/").deadline(ms(0)).send().unwrap_err();
    assert_eq!((error.status(), error.option()), (Status::Option, Some("deadline")));
    let error = client.get("/").set("hold_for", "1s").send().unwrap_err();
    assert_eq!((error.status(), error.option()), (Status::Option, Some("hold_for")));
    let body = Body::from("x");
    client.post("/").body(body).send().unwrap();
    assert_eq!(p.connections(), 1);
}
