//! F162 to F168: what is wrong is told when a client is built.

use crate::network::{A, attempts, on, secs};
use crate::support::{Reply as Served, Server};
use anyhost::testing::{Reply, ScriptedTransport};
use anyhost::{Client, Endpoint, Status};

/// A file from Windows ends its lines with a carriage return. A list is trimmed, as seed 000 does; one
/// URL by itself is what it is, and refused.
#[test]
fn f166_a_line_end_after_a_url() {
    let server = Server::start(Served::echo());
    for end in ["\r", "\n", "\r\n", " \t\r\n"] {
        let url = format!("{}{end}", server.url());
        let client = Client::new(&url).unwrap();
        assert_eq!(client.get("/p").send().unwrap().text().unwrap(), "GET /p 0", "{url:?}");
        assert_eq!(client.snapshot().members()[0].url(), server.url());
        let client = Client::builder().set("base_urls", &url).build().unwrap();
        assert_eq!(client.get("/p").send().unwrap().text().unwrap(), "GET /p 0", "{url:?}");
        assert_eq!(Endpoint::new(&url).unwrap_err().status(), Status::Url, "{url:?}");
    }
    for inside in ["http://a\r.example", "http://a.example/x\ny", "http://a.example\r\n/x"] {
        assert_eq!(Client::new(inside).unwrap_err().status(), Status::Url, "{inside:?}");
    }
    for (option, text) in [("deadline", "3s\r\n"), ("breaker", "on\r\n"), ("max_attempts", "2\r\n")]
    {
        Client::builder().base_urls(A).set(option, text).build().unwrap();
    }
}

#[test]
fn f168_an_empty_list_is_told_at_build() {
    for list in ["", " ", ",", " , ,\t"] {
        let error = Client::new(list).unwrap_err();
        assert_eq!(
            (error.status(), error.option()),
            (Status::Config, Some("base_urls")),
            "{list:?}"
        );
        let error = Client::builder().set("base_urls", list).build().unwrap_err();
        assert_eq!(error.status(), Status::Config, "{list:?}");
    }
    assert_eq!(Client::builder().build().unwrap_err().status(), Status::Config);
    assert_eq!(Endpoint::new("").unwrap_err().status(), Status::Url);

    let network = ScriptedTransport::new().on(A, [Reply::ok("a")]);
    let client = on(&network, &[A]).build().unwrap();
    assert_eq!(client.update([]).unwrap_err().status(), Status::Config);
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "a", "the list stays");
}

/// Ruling R3: one endpoint forwards only. Nothing that happened keeps a request from it.
#[test]
fn f168_one_url_is_a_plain_client() {
    let network = ScriptedTransport::new().on(
        A,
        [
            Reply::status(503),
            Reply::status(429).retry_after(secs(3600)),
            Reply::refused(),
            Reply::resets_after_sending(),
            Reply::status(500),
            Reply::ok("a"),
        ],
    );
    let client = on(&network, &[A]).build().unwrap();
    let statuses = [(); 6].map(|()| {
        client
            .get("/")
            .send()
            .map_or_else(|error| error.status().code(), |answer| answer.status().into())
    });
    let spent = Status::AttemptsSpent.code();
    assert_eq!(statuses, [503, 429, spent, spent, 500, 200]);
    assert_eq!(attempts(&network, [A]), [6], "one attempt each");
}
