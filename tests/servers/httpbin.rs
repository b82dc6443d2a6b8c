//! httpbin under gunicorn: it answers with what it was sent, so that the service's own word is checked.
//!
//! It comes from PyPI, pinned by hashes; `.ci/run` puts it where [`installed`] looks:
//! `pip3 install --no-deps --require-hashes --only-binary :all: --target target/httpbin -r .ci/httpbin.txt`.

use crate::program::{self, Folder, Program, find};
use crate::support::*;
use crate::{over, told};
use anyhost::{Body, Client, Delivery, Phase, Reason, Response, Status};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

struct Httpbin {
    url: String,
    program: Program,
    _folder: Folder,
}

impl fmt::Display for Httpbin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// Where the packages are.
fn installed(test: &str) -> Option<PathBuf> {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/httpbin");
    if packages.join("httpbin").is_dir() {
        return Some(packages);
    }
    program::skip(test, "httpbin is not in target/httpbin");
    assert!(!program::required(), "{test} may not be skipped here: there is no httpbin");
    None
}

impl Httpbin {
    /// `None` is a named skip.
    fn start(test: &str) -> Option<Httpbin> {
        let (python, packages) = (find(test, "python3")?, installed(test)?);
        let (folder, addr) = (Folder::new("httpbin"), program::address());
        let mut command = Command::new(python);
        command.env("PYTHONPATH", packages).current_dir(folder.path());
        command.args(["-m", "gunicorn", "--no-control-socket", "--access-logfile", "-"]);
        command.args(["-k", "gthread", "--threads", "8", "--keep-alive", "30"]);
        command.args(["--bind", &addr.to_string(), "httpbin:app"]);
        let mut program = Program::start("httpbin", &mut command, &folder);
        program.wait_for(addr);
        Some(Httpbin { url: format!("http://{addr}"), program, _folder: folder })
    }

    fn client(&self) -> Client {
        over(&[self]).attempt_timeout(ms(20_000)).build().unwrap()
    }

    /// How many requests its log has that begin so.
    #[track_caller]
    fn wait_for_logged(&mut self, request: &str, times: usize) {
        let request = format!("\"{request}");
        let logged = |program: &Program| program.told().matches(&request).count();
        self.program.wait_until(&format!("{times} times {request}"), |it| logged(it) >= times);
        assert_eq!(logged(&self.program), times, "{request}");
    }
}

/// Its JSON without blanks, which are none of the values' here.
fn json(answer: &Response) -> String {
    answer.text().unwrap().split_whitespace().collect()
}

#[track_caller]
fn says(answer: &Response, part: &str) {
    assert_eq!(answer.status(), 200);
    assert!(json(answer).contains(part), "{part} is not in {}", answer.text().unwrap());
}

/// Every method arrives as such, with its query, its fields and its body.
#[test]
fn methods() {
    let Some(p) = Httpbin::start("methods") else { return };
    let client = p.client();
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
        let asked = client.request(method, "/anything/a%20b?x=1&x=2&y=%26").header("X-One", "eins");
        let answer = if method == "GET" { asked } else { asked.body("carmen") }.send().unwrap();
        says(&answer, &format!("\"method\":\"{method}\""));
        says(&answer, "\"args\":{\"x\":[\"1\",\"2\"],\"y\":\"&\"}");
        says(&answer, "\"X-One\":\"eins\"");
        if method != "GET" {
            says(&answer, "\"data\":\"carmen\"");
            says(&answer, "\"Content-Length\":\"6\"");
        }
        says(&answer, "/anything/a");
    }
    let form = client
        .post("/post")
        .body("a=1&b=2")
        .header("Content-Type", "application/x-www-form-urlencoded");
    says(&form.send().unwrap(), "\"form\":{\"a\":\"1\",\"b\":\"2\"}");
    let head = client.head("/anything").send().unwrap();
    assert_eq!((head.status(), head.bytes().len()), (200, 0));
    let options = client.request("OPTIONS", "/anything").send().unwrap();
    assert!(options.header("Allow").unwrap().contains("PATCH"));
    // All of it on one connection, which an empty HEAD and an early 405 leave usable.
    let refused = client.post("/get").body("x").send().unwrap();
    assert_eq!((refused.status(), refused.attempts()[0].reused_connection()), (405, true));
}

/// R14: which method and body a hop has, how many there may be, and where they may lead.
#[test]
fn redirects() {
    let Some(mut p) = Httpbin::start("redirects") else { return };
    let client = p.client();
    for kind in ["redirect", "relative-redirect", "absolute-redirect"] {
        let answer = client.get(&format!("/{kind}/3")).send().unwrap();
        assert_eq!(answer.attempts().len(), 4, "{kind}");
        assert_eq!(answer.url(), format!("{p}/get"));
        says(&answer, "\"args\":{}");
        let error = client.get(&format!("/{kind}/4")).redirects(3).send().unwrap_err();
        assert_eq!(error.status(), Status::Redirects, "{kind}: {error}");
        assert_eq!(client.get(&format!("/{kind}/1")).redirects(0).send().unwrap().status(), 302);
    }
    assert_eq!(client.get("/redirect/10").send().unwrap().status(), 200);
    assert_eq!(client.get("/redirect/11").send().unwrap_err().status(), Status::Redirects);
    for (status, then) in [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")] {
        let path = format!("/redirect-to?url=/anything/{status}&status_code={status}");
        let answer = client.post(&path).body("carmen").send().unwrap();
        says(&answer, &format!("\"method\":\"{then}\""));
        says(&answer, if then == "POST" { "\"data\":\"carmen\"" } else { "\"data\":\"\"" });
        p.wait_for_logged(&format!("POST {path} "), 1);
        p.wait_for_logged(&format!("{then} /anything/{status} "), 1);
    }
}

/// R15: secrets stay with the endpoints. A second endpoint gets them, a stranger does not.
#[test]
fn secrets_across_hosts() {
    let Some(p) = Httpbin::start("secrets_across_hosts") else { return };
    let Some(other) = Httpbin::start("secrets_across_hosts") else { return };
    let stranger = Server::start(Reply::ok("stranger"));
    let ask = |client: &Client, to: &str| {
        let path = format!("/redirect-to?url={to}/anything&status_code=307");
        let call =
            client.get(&path).header("Authorization", "Bearer geheim").header("X-Plain", "1");
        call.header("Cookie", "sid=geheim").send().unwrap()
    };
    let answer = ask(&p.client(), &stranger.url());
    assert_eq!(answer.text().unwrap(), "stranger");
    let seen = &stranger.requests()[0];
    assert_eq!((seen.header("Authorization"), seen.header("Cookie")), (None, None));
    assert_eq!(seen.header("X-Plain"), Some("1"));
    let both = over(&[&p, &other]).attempt_timeout(ms(20_000)).build().unwrap();
    says(&ask(&both, &other.url), "\"Authorization\":\"Bearergeheim\"");
}

/// What a server sets is not sent back; what the caller sets is.
#[test]
fn no_cookies() {
    let Some(p) = Httpbin::start("no_cookies") else { return };
    let client = p.client();
    let set = client.get("/cookies/set?sid=1").redirects(0).send().unwrap();
    assert!(set.header("Set-Cookie").unwrap().starts_with("sid=1"));
    says(&client.get("/cookies/set?sid=1").send().unwrap(), "{\"cookies\":{}}");
    says(&client.get("/cookies").send().unwrap(), "{\"cookies\":{}}");
    let own = client.get("/cookies").header("Cookie", "own=2").send().unwrap();
    says(&own, "{\"cookies\":{\"own\":\"2\"}}");
}

/// The codings that are offered are undone, the others handed out as they came.
#[test]
fn encodings() {
    let Some(p) = Httpbin::start("encodings") else { return };
    let client = p.client();
    let mut offered = vec!["gzip"];
    offered.extend(cfg!(feature = "brotli").then_some("br"));
    offered.extend(cfg!(feature = "zstd").then_some("zstd"));
    let accepts = json(&client.get("/headers").send().unwrap());
    for coding in ["gzip", "br", "zstd", "deflate"] {
        let value = accepts.split("\"Accept-Encoding\":\"").nth(1).unwrap().split('"').next();
        let told = value.unwrap().split(',').any(|it| it.split(';').next() == Some(coding));
        assert_eq!(told, offered.contains(&coding), "{coding} in {accepts}");
    }
    let rows = [
        ("/gzip", "gzip", "gzipped"),
        ("/brotli", "br", "brotli"),
        ("/deflate", "deflate", "deflated"),
    ];
    for (path, coding, word) in rows {
        let answer = client.get(path).send().unwrap();
        match offered.contains(&coding) {
            true => {
                says(&answer, &format!("\"{word}\":true"));
                assert_eq!(answer.header("Content-Encoding"), None, "{coding}");
            }
            false => assert_eq!(answer.header("Content-Encoding"), Some(coding)),
        }
        let raw = client.get(path).decompress(false).send().unwrap();
        assert_eq!(raw.header("Content-Encoding"), Some(coding));
    }
    let text = client.get("/encoding/utf8").send().unwrap();
    assert!(text.text().unwrap().contains("∮ E⋅da = Q"));
}

/// Chunks of unknown number, streamed and whole, and large bodies both ways.
#[test]
fn bodies() {
    let Some(p) = Httpbin::start("bodies") else { return };
    let client = p.client();
    let lines = client.get("/stream/50").send().unwrap();
    assert_eq!(lines.text().unwrap().lines().count(), 50);
    assert!(lines.text().unwrap().lines().last().unwrap().contains("\"id\": 49"));
    let whole = client.get("/stream-bytes/102400?seed=7&chunk_size=1000").send().unwrap();
    let mut streamed = Vec::new();
    let stream = client.get("/stream-bytes/102400?seed=7&chunk_size=1000").stream().unwrap();
    stream.into_reader().read_to_end(&mut streamed).unwrap();
    assert_eq!((whole.bytes().len(), whole.bytes()), (102_400, streamed.as_slice()));
    let mut left = client.get("/stream-bytes/102400?seed=8").stream().unwrap().into_reader();
    left.read_exact(&mut [0; 100]).unwrap();
    drop(left);
    let part = client.get("/range/2048").header("Range", "bytes=10-19").send().unwrap();
    assert_eq!((part.status(), part.text().unwrap()), (206, "klmnopqrst"));
    let png = client.get("/image/png").send().unwrap();
    assert!(png.bytes().starts_with(b"\x89PNG") && png.bytes().ends_with(b"IEND\xaeB`\x82"));

    // What it was sent comes back inside JSON, whole.
    let large = "0123456789abcdef".repeat(4 << 16);
    let answer = client.post("/post").body(large.clone()).send().unwrap();
    says(&answer, &format!("\"data\":\"{large}\""));
    says(&answer, "\"Content-Length\":\"4194304\"");
    let source = Body::reader(std::io::Cursor::new(large.clone().into_bytes()), None);
    let answer = client.put("/put").body(source).send().unwrap();
    says(&answer, &format!("\"data\":\"{large}\""));
    says(&answer, "\"Transfer-Encoding\":\"chunked\"");
    let error = client.get("/bytes/2000").max_body(1000).send().unwrap_err();
    assert_eq!(error.status(), Status::TooLarge);
}

/// R9: it takes its time, and the limits do not wait for it. R1: a write ends there.
#[test]
fn delays() {
    let Some(mut p) = Httpbin::start("delays") else { return };
    let f = Server::start(Reply::ok("f"));
    let limit = ms(500);
    let client = || over(&[&p, &f]).attempt_timeout(limit).build().unwrap();
    let (first, second, third) = (client(), client(), client());
    let (answer, took) = timed(|| first.get("/delay/3").send().unwrap());
    within(limit, took, ms(1500));
    assert_eq!((answer.text().unwrap(), told(answer.attempts())[0].0), ("f", Reason::Timeout));
    let (error, took) = timed(|| second.post("/delay/3").body("x").send().unwrap_err());
    within(limit, took, ms(1500));
    assert_eq!(told(error.attempts()), [(Reason::Timeout, Phase::Head, Delivery::Maybe)]);
    assert_eq!(f.count("POST"), 0);
    // A body that takes longer than the limit is cut as well, or had from elsewhere.
    let drips = "/drip?duration=3&numbytes=6&delay=0";
    let (answer, took) = timed(|| third.get(drips).send().unwrap());
    within(limit, took, ms(1500));
    assert_eq!((answer.text().unwrap(), answer.attempts()[0].phase()), ("f", Phase::Body));
    // With time enough it is waited for.
    let patient = over(&[&p, &f]).attempt_timeout(ms(20_000)).build().unwrap();
    let (answer, took) = timed(|| patient.get("/delay/1").send().unwrap());
    assert!(took >= ms(999) && answer.attempts().len() == 1, "{took:?}");
    assert_eq!(patient.get(drips).send().unwrap().text().unwrap(), "******");
    p.wait_for_logged("POST /delay/3 ", 1);
}

/// User info of a URL is Basic authentication, a token is the caller's field, and a 401 an answer.
#[test]
fn authentication() {
    let Some(p) = Httpbin::start("authentication") else { return };
    let with = |user: &str| {
        let url = p.url.replace("http://", &format!("http://{user}@"));
        over(&[&url]).attempt_timeout(ms(20_000)).build().unwrap()
    };
    let known = with("user:p%40ss");
    says(&known.get("/basic-auth/user/p@ss").send().unwrap(), "\"authenticated\":true");
    says(&known.get("/hidden-basic-auth/user/p@ss").send().unwrap(), "\"user\":\"user\"");
    let refused = with("user:wrong").get("/basic-auth/user/p@ss").send().unwrap();
    assert_eq!((refused.status(), refused.attempts().len()), (401, 1));
    let client = p.client();
    assert_eq!(client.get("/bearer").send().unwrap().status(), 401);
    let token = client.get("/bearer").header("Authorization", "Bearer t0ken").send().unwrap();
    says(&token, "\"token\":\"t0ken\"");
    let digest = client.get("/digest-auth/auth/user/passwd").send().unwrap();
    assert_eq!(digest.status(), 401);
    assert!(digest.header("WWW-Authenticate").unwrap().starts_with("Digest "));
}

/// R1: every status is an answer, and which of them a GET moves on from; no write is asked for again.
#[test]
fn statuses() {
    let Some(mut p) = Httpbin::start("statuses") else { return };
    let moves_on = [502, 503, 504, 520, 521, 522, 523, 525, 526];
    let for_writes = [521, 522, 523];
    let statuses =
        [200, 201, 202, 204, 226, 304, 400, 401, 404, 406, 409, 410, 412, 418, 422, 428, 429]
            .into_iter()
            .chain([451, 500, 501, 505, 507, 524, 530])
            .chain(moves_on);
    for status in statuses {
        for (method, moving) in [("GET", moves_on.as_slice()), ("POST", for_writes.as_slice())] {
            let f = Server::start(Reply::ok("f"));
            let client = over(&[&p, &f]).attempt_timeout(ms(20_000)).build().unwrap();
            let path = format!("/status/{status}?{method}");
            let answer = client.request(method, &path).send().unwrap();
            let expected = if moving.contains(&status) { (200, 2, 1) } else { (status, 1, 0) };
            let got = (answer.status(), answer.attempts().len(), f.executed());
            assert_eq!(got, expected, "{method} {status}");
            p.wait_for_logged(&format!("{method} {path} "), 1);
        }
    }
    let client = p.client();
    assert_eq!(client.get("/cache").header("If-None-Match", "x").send().unwrap().status(), 304);
    let fields = client.get("/response-headers?X-A=1&X-A=2").send().unwrap();
    assert_eq!(fields.header("X-A"), Some("1"));
}
