//! R14 on sockets: which redirects are followed, with which method, body and headers, and that no secret
//! reaches an origin that is none of the client's: canaries are looked for in every byte it received.

use crate::support::*;
use crate::{Log, over, told};
use anyhost::{Body, Client, Delivery, Endpoint, Phase, Reason, Request, Status};
use std::io::Cursor;

fn to(status: u16, location: &str) -> Reply {
    Reply::status(status).header("Location", location)
}

/// A server that redirects every request to this URL.
fn redirects(status: u16, location: &str) -> Server {
    Server::start(to(status, location))
}

/// Everything that arrived at a server.
fn bytes(server: &Server) -> String {
    let requests = server.requests();
    let all: Vec<u8> = requests.into_iter().flat_map(|r| [r.head, r.body].concat()).collect();
    String::from_utf8_lossy(&all).into_owned()
}

/// The values that only endpoints may see.
const SECRETS: [&str; 11] = [
    "canary-authorization",
    "canary-cookie",
    "canary-proxy",
    "canary-x-api-key",
    "canary-api-key",
    "canary-token",
    "canary-marked",
    "canary-option",
    "canary-anew",
    "canary-host",
    "canary-endpoint",
];

/// A client with every kind of secret that can be set on it.
fn with_secrets(urls: &[String]) -> anyhost::ClientBuilder {
    urls.iter()
        .fold(Client::builder(), |builder, url| {
            let base = url.replacen("://", "://user:canary-endpoint@", 1);
            let endpoint = Endpoint::new(&base).unwrap();
            builder.endpoint(
                endpoint
                    .secret_header("X-Endpoint", "canary-endpoint")
                    .unwrap()
                    .header("X-Plain-Endpoint", "canary-endpoint")
                    .unwrap(),
            )
        })
        .secret_header("X-Marked", "canary-marked")
        .header("X-Api-Key", "canary-x-api-key")
        .secret_header("X-Anew", "canary-marked")
        .set("secret_headers", "x-option")
        .header("X-Plain", "plain")
}

/// A request with every kind of secret that can be set on it.
fn secret_request(method: &str, path: &str) -> Request {
    let mut request = Request::new(method, path).unwrap();
    for (name, value) in [
        ("Authorization", "Bearer canary-authorization"),
        ("Cookie", "sid=canary-cookie"),
        ("Proxy-Authorization", "Basic canary-proxy"),
        ("Api-Key", "canary-api-key"),
        ("X-Auth-Token", "canary-token"),
        ("X-Option", "canary-option"),
        // Marked where the client sets it, and set anew here without a mark.
        ("X-Anew", "canary-anew"),
        ("X-Endpoint", "canary-anew"),
        ("Host", "canary-host.example"),
        ("X-Mine", "mine"),
    ] {
        request.set_header(name, value).unwrap();
    }
    request
}

/// R15, F88, F90: another port is another origin, and so is another spelling of the host.
#[test]
fn secrets_do_not_leave_the_endpoints() {
    let foreign = Server::start(Reply::ok("from afar"));
    for url in [foreign.url(), format!("http://localhost:{}", foreign.port())] {
        for (status, method) in
            [(301, "GET"), (302, "POST"), (303, "PUT"), (307, "POST"), (308, "PATCH")]
        {
            let a = redirects(status, &format!("{url}/t?q=1"));
            let client = with_secrets(&[a.url()]).build().unwrap();
            let mut request = secret_request(method, "/x?canary-query");
            request.set_body("data");
            let answer = client.send(&mut request).unwrap();
            assert_eq!((answer.text().unwrap(), answer.endpoint()), ("from afar", url.as_str()));
            assert_eq!(answer.url(), format!("{url}/t"), "no query");

            let (asked, seen) = (bytes(&a), bytes(&foreign));
            for secret in SECRETS.iter().filter(|secret| **secret != "canary-endpoint") {
                let own = *secret == "canary-marked" || asked.contains(secret);
                assert!(own, "{secret} goes to the endpoint: {asked}");
            }
            assert!(asked.contains("canary-endpoint"), "what an endpoint adds goes to it: {asked}");
            for secret in SECRETS.into_iter().chain(["canary", "dXNlcjp", "user"]) {
                let seen = seen.replace("user-agent", "");
                assert!(!seen.contains(secret), "{status}: {secret} in {seen}");
            }
            let at = foreign.requests().pop().unwrap();
            assert_eq!(at.target, "/t?q=1");
            assert_eq!(at.headers_of("Host"), [url.trim_start_matches("http://")]);
            assert_eq!((at.header("X-Plain"), at.header("X-Mine")), (Some("plain"), Some("mine")));
        }
    }
    assert_eq!(foreign.requests().len(), 10);
}

/// R14, R15: an endpoint of the client is at home, and gets its own headers.
#[test]
fn secrets_go_to_endpoints_and_each_gets_its_own() {
    let b = Server::start(Reply::ok("b"));
    let a = redirects(302, &format!("{}/t", b.url()));
    let endpoint = |url: String, name: &str| {
        let base = url.replacen("://", &format!("://{name}:pw@"), 1);
        Endpoint::new(&base).unwrap().label(name).secret_header("X-Own", name).unwrap()
    };
    let client = Client::builder()
        .endpoint(endpoint(a.url(), "a"))
        .endpoint(endpoint(format!("{}/v1", b.url()), "b"))
        .header("X-Api-Key", "key")
        .build()
        .unwrap();
    let answer = client.get("/x").header("Cookie", "sid=1").header("Host", "h").send().unwrap();
    assert_eq!((answer.endpoint(), answer.url()), ("b", format!("{}/t", b.url()).as_str()));
    for (server, name, basic) in [(&a, "a", "Basic YTpwdw=="), (&b, "b", "Basic Yjpwdw==")] {
        let at = &server.requests()[0];
        assert_eq!(at.headers_of("Authorization"), [basic]);
        assert_eq!((at.headers_of("X-Own"), at.headers_of("Host")), (vec![name], vec!["h"]));
        assert_eq!((at.header("Cookie"), at.header("X-Api-Key")), (Some("sid=1"), Some("key")));
    }
    let hops: Vec<_> = answer.attempts().iter().map(|at| (at.endpoint(), at.is_hop())).collect();
    assert_eq!(hops, [("a", false), ("b", true)]);
    assert_eq!(told(answer.attempts())[0], (Reason::None, Phase::Body, Delivery::Answered));

    // The request's own header is above the endpoint's there too.
    client.get("/x").header("X-Own", "mine").send().unwrap();
    assert_eq!(b.requests()[1].headers_of("X-Own"), ["mine"]);
}

/// R15: whom a foreign origin sends back comes as a stranger.
#[test]
fn the_way_back_carries_no_secret() {
    let a = Server::start(Script::always(Reply::ok("welcome")).on(
        "/x",
        Reply::made(|request| {
            let port = request.header("X-Mine").unwrap().to_owned();
            to(307, &format!("http://127.0.0.1:{port}/away"))
        }),
    ));
    let foreign = redirects(307, &format!("{}/back", a.url()));
    let client = with_secrets(&[a.url()]).build().unwrap();
    let mut request = secret_request("POST", "/x");
    request.set_header("X-Mine", foreign.port().to_string()).unwrap();
    request.set_body("data");
    let answer = client.send(&mut request).unwrap();
    assert_eq!((answer.text().unwrap(), answer.endpoint()), ("welcome", a.url().as_str()));
    let back = &a.requests()[1];
    assert_eq!((back.target.as_str(), back.text().as_str()), ("/back", "data"));
    let head = String::from_utf8_lossy(&back.head).into_owned();
    assert!(!head.contains("canary") && !bytes(&foreign).contains("canary"), "{head}");
    assert_eq!(back.header("Host"), Some(a.addr.to_string().as_str()));
}

/// R14, F92, RFC 9110 §15.4: the method, the body, and the headers that are about the body.
#[test]
fn method_and_body_follow_the_status() {
    for (status, method, then, body) in [
        (301, "POST", "GET", false),
        (302, "POST", "GET", false),
        (303, "POST", "GET", false),
        (303, "PUT", "GET", false),
        (303, "DELETE", "GET", false),
        (303, "HEAD", "HEAD", false),
        (301, "PUT", "PUT", true),
        (302, "PATCH", "PATCH", true),
        (307, "POST", "POST", true),
        (308, "POST", "POST", true),
        (307, "PURGE", "PURGE", true),
        (308, "DELETE", "DELETE", true),
        (302, "HEAD", "HEAD", true),
        (307, "GET", "GET", true),
    ] {
        let a = Server::start(Script::always(Reply::ok("")).on("/form", to(status, "/page")));
        let client = over(&[&a]).build().unwrap();
        let request = client
            .request(method, "/form")
            .header("Content-Type", "text/plain")
            .header("Content-Encoding", "identity")
            .header("Content-Language", "la")
            .header("X-Kept", "1");
        let answer = request.body("carmen").send().unwrap();
        assert_eq!(answer.status(), 200, "{status} {method}");
        let hop = &a.requests()[1];
        let name = format!("{status} after {method}: {:?}", hop.headers);
        assert_eq!((hop.method.as_str(), hop.target.as_str()), (then, "/page"), "{name}");
        assert_eq!(hop.text(), if body { "carmen" } else { "" }, "{name}");
        let about =
            hop.headers.iter().filter(|(n, _)| n.to_ascii_lowercase().starts_with("content-"));
        assert_eq!(about.count(), if body { 4 } else { 0 }, "{name}");
        assert_eq!((hop.header("X-Kept"), hop.header("Transfer-Encoding")), (Some("1"), None));
    }
}

/// R14: what was read once cannot be sent along; what rewinds can.
#[test]
fn a_body_that_cannot_be_produced_again_hands_out_the_redirect() {
    let a = Server::start(
        Script::always(Reply::ok("")).on("/keep", to(307, "/page")).on("/see", to(303, "/page")),
    );
    let client = over(&[&a]).build().unwrap();
    let once = || Body::reader(Cursor::new("data"), Some(4));
    let kept = client.post("/keep").body(once()).send().unwrap();
    assert_eq!((kept.status(), kept.header("Location")), (307, Some("/page")));
    let seen = client.post("/see").body(once()).send().unwrap();
    assert_eq!((seen.status(), seen.attempts().len()), (200, 2));
    assert_eq!(
        a.requests().iter().map(|r| &*r.target).collect::<Vec<_>>(),
        ["/keep", "/see", "/page"]
    );
}

/// R14: an answer that points nowhere is an answer, and so is any redirect with `redirects=0`.
#[test]
fn what_is_not_followed_is_handed_out() {
    let b = Server::start(Reply::ok("b"));
    for status in [300, 304, 305, 306, 399] {
        let a = redirects(status, &b.url());
        let answer = over(&[&a]).build().unwrap().get("/").send().unwrap();
        assert_eq!((answer.status(), answer.attempts().len()), (status, 1));
    }
    for status in [301, 302, 303, 307, 308] {
        let bare = Server::start(Reply::status(status));
        let empty = redirects(status, "");
        for server in [&bare, &empty] {
            let answer = over(&[server]).build().unwrap().get("/").send().unwrap();
            assert_eq!((answer.status(), server.requests().len()), (status, 1));
        }
        let a = redirects(status, &b.url());
        let client = over(&[&a]).build().unwrap();
        let answer = client.get("/").redirects(0).send().unwrap();
        assert_eq!((answer.status(), answer.header("Location")), (status, Some(b.url().as_str())));
        assert_eq!(client.get("/").set("redirects", "0").send().unwrap().status(), status);
        assert_eq!(
            over(&[&a]).redirects(0).build().unwrap().get("/").send().unwrap().status(),
            status
        );
        // A health check is one attempt.
        let mut check = Request::new("GET", "/").unwrap();
        assert_eq!(client.health_check(&a.url(), &mut check).unwrap().status(), status);
    }
    assert!(b.requests().is_empty());
}

/// R14: what leads to where none may go, in words, with the attempts and without a query.
#[test]
fn what_may_not_be_followed_is_an_error() {
    let ca = Authority::new();
    let plain = Server::start(Reply::ok(""));
    let secure = |location: &str| Server::tls(&ca.server(), to(302, location));
    let refused = |server: &Server, says: &str| {
        let client = over(&[server]).add_root_pem(ca.pem()).build().unwrap();
        let error = client.get("/x?geheim").send().unwrap_err();
        assert_eq!(error.status(), Status::Redirects, "{error}");
        assert_eq!((error.attempts().len(), error.http_status()), (1, Some(302)));
        assert_eq!(error.delivery(), Delivery::Answered);
        let text = format!("{error} {error:?}");
        assert!(text.contains(says) && text.contains(&server.url()), "{text}");
        assert!(!text.contains("geheim"), "{text}");
        assert_eq!(server.requests().len(), 1);
    };
    let downgrade = format!("http://u:geheim@127.0.0.1:{}/p?geheim", plain.port());
    refused(&secure(&downgrade), &format!("from https to http (to {})", plain.url()));
    refused(&redirects(302, "ftp://u:geheim@h/?geheim"), "neither https nor http (to ftp:)");
    refused(&redirects(302, "javascript:geheim"), "neither https nor http (to javascript:)");
    refused(&redirects(302, "http://[geheim"), "no URL");
    refused(&redirects(302, "/x?geheim"), "leads back to what was asked before");
    // The opt-in to http endpoints is none to being sent there.
    let both = secure(&plain.url());
    let mixed = over(&[&both, &plain]).allow_mixed_schemes(true).add_root_pem(ca.pem());
    let error = mixed.build().unwrap().get("/").send().unwrap_err();
    assert_eq!(error.status(), Status::Redirects);
    assert!(plain.requests().is_empty());

    // The other way is a step up.
    let up = Server::tls(&ca.server(), Reply::ok("secure"));
    let client = over(&[&redirects(301, &up.url())]).add_root_pem(ca.pem()).build().unwrap();
    assert_eq!(client.get("/").send().unwrap_err().reason(), Reason::Refused, "its server ended");
    let a = redirects(301, &up.url());
    let client = over(&[&a]).add_root_pem(ca.pem()).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "secure");
}

/// R14: ten and no more; a circle is seen when it closes.
#[test]
fn hops_are_counted() {
    let next = |request: &crate::support::Request| {
        let n: u32 =
            request.target.trim_start_matches('/').split('?').next().unwrap().parse().unwrap();
        if n == 0 { Reply::ok("there") } else { to(302, &format!("/{}?geheim", n - 1)) }
    };
    let a = Server::start(Reply::made(next));
    let client = over(&[&a]).max_attempts(1).build().unwrap();
    let answer = client.get("/10").send().unwrap();
    assert_eq!((answer.text().unwrap(), answer.attempts().len()), ("there", 11));
    assert_eq!(a.connections(), 1, "each hop finds the connection of the one before");
    let error = client.get("/11").send().unwrap_err();
    assert_eq!((error.status(), error.attempts().len()), (Status::Redirects, 11));
    let text = format!("{error} {error:?}");
    assert!(
        text.contains("after the 10 that may be followed") && !text.contains("geheim"),
        "{text}"
    );
    assert_eq!(a.requests().len(), 22);
    assert_eq!(client.get("/2").redirects(2).send().unwrap().status(), 200);
    assert_eq!(client.get("/2").redirects(1).send().unwrap_err().status(), Status::Redirects);

    let b = Server::start(Reply::made(|request| match request.target.as_str() {
        "/1" => to(302, "/2"),
        _ => to(302, "/1"),
    }));
    let error = over(&[&b]).build().unwrap().get("/1").send().unwrap_err();
    assert_eq!((error.status(), b.requests().len()), (Status::Redirects, 2));
}

/// R14: a target counts neither for nor against an endpoint, also where it is one.
#[test]
fn a_target_is_nobodys_fault() {
    let gone = refusing_address();
    let b = Server::start(Reply::status(500));
    for target in [gone.url(), b.url()] {
        let a = redirects(302, &format!("{target}/t?geheim"));
        let log = Log::default();
        let client = over(&[&a, &b])
            .set("breaker", "on")
            .set("breaker_threshold", "1")
            .on_event(log.recorder())
            .build()
            .unwrap();
        let ended = client.get("/").send();
        if target == gone.url() {
            let error = ended.unwrap_err();
            assert_eq!((error.status(), error.reason()), (Status::AttemptsSpent, Reason::Refused));
            assert_eq!(error.attempts()[1].endpoint(), gone.url());
            assert_eq!(error.attempts()[1].delivery(), Delivery::NotSent);
            assert!(!format!("{error} {error:?}").contains("geheim"));
        } else {
            assert_eq!(ended.unwrap().status(), 500, "b's answer, and no failover from it");
        }
        let snapshot = client.snapshot();
        let counts = |url: &str| {
            let member = snapshot.find(url).unwrap();
            (member.attempts(), member.successes(), member.failures())
        };
        assert_eq!((counts(&a.url()), counts(&b.url())), ((1, 1, 0), (0, 0, 0)));
        assert_eq!(log.count(anyhost::EventKind::StateChanged), 0, "{:?}", log.texts());
        assert_eq!(log.count(anyhost::EventKind::AttemptEnded), 2);
        assert!(log.texts().iter().all(|text| !text.contains("geheim")));
    }
    assert_eq!(b.requests().len(), 1);
}

/// R1, R14: a write that is sent on may have been received, and nobody sends it once more.
#[test]
fn a_write_that_breaks_off_at_the_target_is_maybe() {
    let b = Server::start(Reply::resets());
    let a = redirects(307, &b.url());
    let client = over(&[&a, &b]).build().unwrap();
    let error = client.post("/").body("{}").send().unwrap_err();
    assert_eq!(error.status(), Status::AttemptsSpent);
    assert_eq!(
        told(error.attempts()),
        [
            (Reason::None, Phase::Body, Delivery::Answered),
            (Reason::Reset, Phase::Head, Delivery::Maybe),
        ]
    );
    assert_eq!((a.count("POST"), b.count("POST")), (1, 1));
}

/// R2: a hop on a connection that has died goes out once more where it may, and no write does.
#[test]
fn a_stale_connection_is_replayed_within_a_hop() {
    for (method, ends) in [("GET", true), ("POST", false)] {
        let b = Server::start(Script::each([
            Reply::ok("first"),
            Reply::raw("").close(),
            Reply::ok("again"),
        ]));
        let a = redirects(307, &b.url());
        let client = over(&[&a]).build().unwrap();
        client.request(method, "/").send().unwrap();
        let ended = client.request(method, "/").send();
        let sent = b.count(method);
        match ended {
            Ok(answer) => {
                let replays: Vec<_> =
                    answer.attempts().iter().map(|at| (at.is_hop(), at.is_replay())).collect();
                assert_eq!(replays, [(false, false), (true, false), (true, true)]);
                assert_eq!((answer.text().unwrap(), sent, ends), ("again", 3, true));
            }
            Err(error) => {
                assert_eq!(error.attempts()[1].delivery(), Delivery::Maybe);
                assert_eq!((error.reason(), sent, ends), (Reason::StaleConnection, 2, false));
            }
        }
    }
}

/// R3, R9, R14: a hop has an attempt limit of its own, and the deadline binds all of it.
#[test]
fn a_hop_ends_on_time() {
    let silent = silent();
    let a = redirects(302, &silent.url());
    let client = over(&[&a]).attempt_timeout(ms(150)).build().unwrap();
    let (error, took) = timed(|| client.get("/").send().unwrap_err());
    within(ms(150), took, ms(300));
    assert_eq!((error.status(), error.reason()), (Status::AttemptsSpent, Reason::Timeout));

    let client = over(&[&a]).deadline(ms(150)).build().unwrap();
    let (error, took) = timed(|| client.get("/").send().unwrap_err());
    within(ms(150), took, ms(300));
    assert_eq!((error.status(), error.reason()), (Status::Deadline, Reason::Deadline));
}
