//! F88 to F100 and F112: redirects, and secrets on their way.

use crate::network::secs;
use crate::support::{Authority, Reply, Script, Server, refusing_address, timed};
use crate::wire::over;
use anyhost::{Client, Request, Status};
use std::sync::{Arc, Mutex};

fn to(status: u16, location: &str) -> Reply {
    Reply::status(status).header("Location", location)
}

#[test]
fn f88_no_credentials_go_to_another_origin() {
    let b = Server::start(Reply::ok("ok"));
    let a = Server::start(to(302, &format!("http://localhost:{}/t", b.port())));
    let client = over(&[a.url()]).build().unwrap();
    let names = ["Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key"];
    let request = names.iter().fold(client.get("/"), |r, name| r.header(name, "canary"));
    assert_eq!(request.send().unwrap().text().unwrap(), "ok");
    let (at_a, at_b) = (a.requests().remove(0), b.requests().remove(0));
    for name in names {
        assert_eq!((at_a.header(name), at_b.header(name)), (Some("canary"), None), "{name}");
    }
    assert!(!String::from_utf8_lossy(&at_b.head).contains("canary"));
}

/// The request goes on without credentials to another port, and not at all from https to http.
#[test]
fn f90_an_origin_is_scheme_host_and_port() {
    let ca = Authority::new();
    let b = Server::start(Reply::ok("ok"));
    let a = Server::start(to(302, &b.url()));
    let client = over(&[a.url()]).build().unwrap();
    client.get("/").header("Authorization", "canary").send().unwrap();
    assert_eq!(b.requests()[0].header("Authorization"), None);

    let location = format!("http://localhost:{}", b.port());
    let t = Server::tls(&ca.server(), to(302, &location));
    let client = over(&[format!("https://localhost:{}", t.port())]);
    let client = client.add_root_pem(ca.pem()).build().unwrap();
    let error = client.get("/").header("Authorization", "canary").send().unwrap_err();
    assert_eq!((error.status(), b.requests().len()), (Status::Redirects, 1));
    assert!(error.to_string().contains(&format!("from https to http (to {location})")), "{error}");
}

#[test]
fn f92_a_get_after_a_post_has_no_content() {
    for status in [303, 302, 301] {
        let a = Server::start(Script::always(Reply::ok("")).on("/form", to(status, "/t")));
        let client = over(&[a.url()]).build().unwrap();
        client.post("/form").header("Content-Type", "text/plain").body("text").send().unwrap();
        let get = &a.requests()[1];
        assert_eq!(
            (get.method.as_str(), get.target.as_str(), get.text().as_str()),
            ("GET", "/t", "")
        );
        let content = |name: &str| name.to_ascii_lowercase().starts_with("content-");
        assert!(!get.headers.iter().any(|(name, _)| content(name)), "{status}: {:?}", get.headers);
        assert_eq!(get.header("Transfer-Encoding"), None);
    }
}

#[test]
fn f94_location_is_resolved_against_the_url_asked() {
    let b = Server::start(Reply::ok("b"));
    for (location, target) in
        [("/x", "/x"), ("x", "/dir/x"), ("?q", "/dir/page?q"), ("./", "/dir/")]
    {
        let a = Server::start(
            Script::always(Reply::ok("a")).on("/dir/page", [to(302, location), Reply::ok("a")]),
        );
        let client = over(&[a.url()]).build().unwrap();
        let request = client.get("/dir/page").header("Authorization", "canary");
        assert_eq!(request.send().unwrap().text().unwrap(), "a", "{location}");
        let at = &a.requests()[1];
        assert_eq!((at.target.as_str(), at.header("Authorization")), (target, Some("canary")));
    }
    // It looks like a path, and names a host.
    let a = Server::start(to(302, &format!("//{}/x", b.addr)));
    let client = over(&[a.url()]).build().unwrap();
    client.get("/").header("Authorization", "canary").send().unwrap();
    let at = &b.requests()[0];
    assert_eq!((at.target.as_str(), at.header("Authorization")), ("/x", None));

    for reply in [to(302, ""), Reply::status(302)] {
        let a = Server::start(reply);
        let answer = over(&[a.url()]).build().unwrap().get("/").send().unwrap();
        assert_eq!((answer.status(), a.requests().len()), (302, 1));
    }
}

#[test]
fn f96_a_hop_has_let_go_of_the_connection_before() {
    let page = |n: u32| to(302, &format!("/{n}")).body(vec![b'x'; 1 << 20]);
    let a = Server::start(
        Script::always(Reply::ok("there")).on("/0", page(1)).on("/1", page(2)).on("/2", page(3)),
    );
    let client = over(&[a.url()]).max_idle_per_endpoint(1).build().unwrap();
    let (answer, took) = timed(|| client.get("/0").send().unwrap());
    assert_eq!(answer.text().unwrap(), "there");
    assert!(took < secs(2), "{took:?}");
    assert_eq!((a.requests().len(), a.connections()), (4, 1));
    // The body of a redirect is bounded as any.
    let error = client.get("/0").max_body(1000).send().unwrap_err();
    assert_eq!(error.status(), Status::TooLarge);
}

#[test]
fn f98_no_text_shows_the_password_of_a_url() {
    let b = Server::start(Reply::status(500));
    let refused = refusing_address();
    let servers = [
        Server::start(Reply::status(500)),
        Server::start(to(302, &b.url().replacen("://", "://user:S%40CRET@", 1))),
        Server::start(to(302, "http://user:S%40CRET@[")),
        Server::start(to(302, "ftp://user:S%40CRET@h/")),
        Server::start(to(302, &refusing_address().url().replacen("://", "://user:S%40CRET@", 1))),
    ];
    for url in servers.iter().map(Server::url).chain([refused.url()]) {
        let base = url.replacen("://", "://user:S%40CRET@", 1);
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let events = log.clone();
        let client = Client::builder()
            .base_urls(&base)
            .on_event(move |event| events.lock().unwrap().push(format!("{event} {event:?}")))
            .build()
            .unwrap();
        let mut texts = vec![format!("{client:?}")];
        for require in ["on", "off"] {
            let mut request = Request::new("GET", "/").unwrap();
            request.set("require_success", require).unwrap();
            texts.push(match client.send(&mut request) {
                Ok(answer) => format!("{answer:?} {} {}", answer.url(), answer.endpoint()),
                Err(error) => format!("{error} {error:?} {:?}", error.answer()),
            });
        }
        texts.extend(log.lock().unwrap().iter().cloned());
        for text in &texts {
            for secret in ["S%40CRET", "S@CRET", "dXNlcjpTQENSRVQ", "user:"] {
                assert!(!text.contains(secret), "{url}: {secret} in {text}");
            }
        }
    }
    // Neither what the endpoint has nor what the server made up.
    let at_b = &b.requests()[0];
    assert_eq!(at_b.header("Authorization"), None, "{:?}", at_b.headers);
}

#[test]
fn f100_no_cookie_is_kept() {
    let b = Server::start(Reply::ok("b"));
    let a = Server::start(Script::each([
        to(302, "/next").header("Set-Cookie", "sid=1"),
        to(302, &b.url()).header("Set-Cookie", "sid=2; Domain=127.0.0.1"),
        Reply::status(503),
    ]));
    let client = over(&[a.url(), b.url()]).build().unwrap();
    client.get("/").send().unwrap();
    client.get("/").send().unwrap();
    let all: Vec<_> = a.requests().into_iter().chain(b.requests()).collect();
    assert_eq!(all.len(), 5);
    assert!(all.iter().all(|request| request.header("Cookie").is_none()), "{all:?}");
}

#[test]
fn f112_a_reason_phrase_is_no_matter() {
    let odd = b"HTTP/1.1 302 D\xe9plac\xe9\r\nLocation: /t\r\nContent-Length: 0\r\n\r\n";
    let a = Server::start(Script::always(Reply::ok("there")).on("/", Reply::raw(odd.to_vec())));
    let client = over(&[a.url()]).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "there");
    assert_eq!(a.requests()[1].target, "/t");
}
