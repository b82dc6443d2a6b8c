//! nginx.

use crate::program::{Folder, Program, find, is_root};
use crate::support::*;
use crate::{Going, over, program, told};
use anyhost::{Delivery, Phase, Reason, Status, TlsRoots};
use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

/// An nginx with one server, whose log has a line for each request that it answered.
pub(crate) struct Nginx {
    pub(crate) addr: SocketAddr,
    pub(crate) program: Program,
    folder: Folder,
    scheme: &'static str,
}

/// What is in a line of the log.
pub(crate) struct Logged {
    pub(crate) connection: String,
    pub(crate) request: String,
    pub(crate) status: u16,
}

impl Nginx {
    /// With these directives in its `http` and its `server` block. `None` is a named skip.
    pub(crate) fn start(test: &str, http: &str, server: &str) -> Option<Nginx> {
        Nginx::start_with(test, http, server, "", &[])
    }

    fn start_with(
        test: &str,
        http: &str,
        server: &str,
        listen: &'static str,
        files: &[(&str, &[u8])],
    ) -> Option<Nginx> {
        find(test, "nginx")?;
        let (folder, addr) = (Folder::new("nginx"), program::address());
        for (name, content) in files {
            folder.write(name, content);
        }
        let scheme = if listen == "ssl" { "https" } else { "http" };
        let user = if is_root() { "user root;" } else { "" };
        let config = format!(
            "daemon off; pid nginx.pid; error_log stderr notice; worker_processes 1; {user}
             events {{ worker_connections 512; }}
             http {{
                 log_format line '$connection $status $request_method $request_uri';
                 access_log access.log line;
                 client_body_temp_path tmp1; proxy_temp_path tmp2; fastcgi_temp_path tmp3;
                 uwsgi_temp_path tmp4; scgi_temp_path tmp5; root .;
                 {http}
                 server {{ listen {addr} {listen}; {server} }}
             }}"
        );
        folder.write("nginx.conf", config);
        let program = Nginx::launch(&folder);
        let mut nginx = Nginx { addr, program, folder, scheme };
        nginx.program.wait_for(addr);
        Some(nginx)
    }

    fn launch(folder: &Folder) -> Program {
        let nginx = find("nginx", "nginx").expect("found before");
        let mut command = Command::new(nginx);
        command.current_dir(folder.path()).arg("-p").arg(folder.path());
        command.args(["-c", "nginx.conf", "-e", "stderr"]);
        Program::start("nginx", &mut command, folder)
    }

    /// Lets it finish what it is doing, its log too.
    pub(crate) fn end(&mut self) {
        self.program.signal(libc::SIGQUIT);
        self.program.wait_for_end();
    }

    pub(crate) fn restart(&mut self) {
        self.end();
        self.program = Nginx::launch(&self.folder);
        self.program.wait_for(self.addr);
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> Vec<Logged> {
        let logged = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let mut word = || words.next().expect("a word of the log").to_owned();
            let (connection, status) = (word(), word());
            Logged { connection, status: status.parse().expect("a status"), request: word() }
        };
        self.folder.read("access.log").lines().map(logged).collect()
    }

    /// Waits until it has logged so many requests, and returns them.
    #[track_caller]
    fn wait_for_log(&mut self, count: usize) -> Vec<Logged> {
        let folder = self.folder.path().join("access.log");
        let lines = |_: &mut Program| {
            std::fs::read_to_string(&folder).is_ok_and(|log| log.lines().count() >= count)
        };
        self.program.wait_until(&format!("{count} requests are logged"), lines);
        self.log()
    }

    /// How often each request was logged.
    pub(crate) fn times(&self) -> HashMap<String, usize> {
        let mut times = HashMap::new();
        self.log().into_iter().for_each(|line| *times.entry(line.request).or_default() += 1);
        times
    }
}

impl fmt::Display for Nginx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.addr)
    }
}

/// It says `Connection: close` with its third answer, and no request goes out after that.
#[test]
fn connections_that_end_after_three_requests() {
    let name = "connections_that_end_after_three_requests";
    let Some(mut nginx) =
        Nginx::start(name, "keepalive_requests 3;", "location / { return 200 ok; }")
    else {
        return;
    };
    let client = over(&[&nginx]).build().unwrap();
    for i in 0..20 {
        let answer = client.request(["GET", "POST"][i % 2], &format!("/{i}")).send().unwrap();
        assert_eq!((answer.text().unwrap(), answer.attempts().len()), ("ok", 1));
        assert_eq!(answer.attempts()[0].reused_connection(), i % 3 != 0, "{i}");
    }
    let log = nginx.wait_for_log(20);
    let mut connections: Vec<&str> = log.iter().map(|line| line.connection.as_str()).collect();
    connections.dedup();
    assert_eq!((log.len(), connections.len()), (20, 7));
}

/// It closes what has been idle for a second, without a word: that is seen before a POST goes out on it
/// (F01), and the connection is not used up to that time where it says so (`Keep-Alive: timeout=1`).
#[test]
fn idle_connections_that_it_has_closed() {
    let name = "idle_connections_that_it_has_closed";
    for keep_alive in ["1s", "1s 1s"] {
        let http = format!("keepalive_timeout {keep_alive};");
        let Some(mut nginx) = Nginx::start(name, &http, "location / { return 200 ok; }") else {
            return;
        };
        let client = over(&[&nginx]).build().unwrap();
        client.post("/1").send().unwrap();
        pass(ms(2200));
        let answer = client.post("/2").send().unwrap();
        let tried = answer.attempts();
        assert_eq!((tried.len(), tried[0].reused_connection()), (1, false), "{keep_alive}");
        assert_eq!(nginx.wait_for_log(2).len(), 2);
    }
}

/// R1, R10: which of its answers move a request on, and how long it asks to be left alone.
#[test]
fn its_statuses_and_retry_after() {
    let statuses = [502, 503, 504, 429, 500];
    let locations = statuses.map(|status| {
        format!(
            "location = /{status} {{ default_type text/plain; add_header Retry-After 7 always;
             return {status} \"no\"; }}"
        )
    });
    let Some(p) = Nginx::start("its_statuses_and_retry_after", "", &locations.join("\n")) else {
        return;
    };
    for status in statuses {
        for method in ["GET", "POST"] {
            let f = Server::start(Reply::ok("f"));
            let client = over(&[&p, &f]).build().unwrap();
            let answer = client.request(method, &format!("/{status}")).send().unwrap();
            let moves = method == "GET" && ![429, 500].contains(&status);
            let what = format!("{method} {status}");
            assert_eq!(answer.status(), if moves { 200 } else { status }, "{what}");
            assert_eq!(f.executed(), usize::from(moves), "{what}");
            let first = &answer.attempts()[0];
            assert_eq!((first.http_status(), first.delivery()), (Some(status), Delivery::Answered));
            let wait = [503, 429].contains(&status).then_some(ms(7000));
            assert_eq!(first.retry_after().map(round), wait, "{what}");
            // R10: it is left alone, and goes behind the other one.
            let next = client.get("/500").send().unwrap();
            assert_eq!(next.endpoint() == f.url(), wait.is_some() || moves, "{what}");
        }
    }
}

/// To whole seconds.
fn round(wait: std::time::Duration) -> std::time::Duration {
    ms((wait.as_millis() as u64).div_ceil(1000) * 1000)
}

/// A gateway's own 502 and 504: behind it nobody listens, or nobody answers.
#[test]
fn a_gateway_without_a_service_behind_it() {
    let name = "a_gateway_without_a_service_behind_it";
    let (dead, held) = (refusing_address(), Server::start(Reply::holds()));
    let server = format!(
        "proxy_read_timeout 1s; location /dead {{ proxy_pass {dead}; }}
         location /held {{ proxy_pass {held}; }}"
    );
    let Some(p) = Nginx::start(name, "", &server) else { return };
    let f = Server::start(Reply::ok("f"));
    for (path, status) in [("/dead", 502), ("/held", 504)] {
        let client = over(&[&p, &f]).build().unwrap();
        let answer = client.post(path).body("x").send().unwrap();
        assert_eq!((answer.status(), answer.attempts().len()), (status, 1));
        let answer = client.get(path).send().unwrap();
        assert_eq!(answer.text().unwrap(), "f");
        assert_eq!(answer.attempts()[0].http_status(), Some(status));
    }
    assert_eq!((held.count("POST"), f.count("POST"), f.count("GET")), (1, 0, 2));
}

/// What is coded arrives as it was, and HEAD, 304 and a range beside it.
#[test]
fn gzip_and_ranges() {
    let text: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    let http = "gzip on; gzip_types *; gzip_min_length 1; types { } default_type text/plain;";
    let files: [(&str, &[u8]); 1] = [("page", text.as_bytes())];
    let Some(p) = Nginx::start_with("gzip_and_ranges", http, "", "", &files) else { return };
    let client = over(&[&p]).build().unwrap();
    let answer = client.get("/page").send().unwrap();
    assert_eq!(answer.text().unwrap(), text);
    assert!(answer.attempts()[0].bytes_received() < text.len() as u64 / 2, "it was coded");
    let plain = client.get("/page").set("decompress", "off").send().unwrap();
    assert_eq!((plain.text().unwrap(), plain.header("Content-Encoding")), (&*text, None));
    let tag = plain.header("ETag").unwrap();
    assert_eq!(client.get("/page").header("If-None-Match", tag).send().unwrap().status(), 304);
    assert_eq!(client.head("/page").send().unwrap().bytes(), b"");
    let part = client.get("/page").header("Range", "bytes=5-9").set("decompress", "off");
    let part = part.send().unwrap();
    assert_eq!((part.status(), part.bytes()), (206, &text.as_bytes()[5..10]));
    let mut streamed = String::new();
    let stream = client.get("/page").stream().unwrap();
    stream.into_reader().read_to_string(&mut streamed).unwrap();
    assert_eq!(streamed, text);
    // All of it on one connection: nothing was left unread on it.
    let log = p.log();
    assert!(log.iter().all(|line| line.connection == log[0].connection));
}

/// It insists on a certificate: with ours it serves, without one or with a stranger's it says 400.
#[test]
fn client_certificates() {
    let (ca, other) = (Authority::new(), Authority::new());
    let (certificate, key) = ca.server_pem(&[]);
    for protocol in ["TLSv1.2", "TLSv1.3"] {
        let files: [(&str, &[u8]); 3] = [
            ("cert.pem", certificate.as_bytes()),
            ("key.pem", key.as_bytes()),
            ("ca.pem", ca.pem().as_bytes()),
        ];
        let server = format!(
            "ssl_certificate cert.pem; ssl_certificate_key key.pem; ssl_protocols {protocol};
             ssl_client_certificate ca.pem; ssl_verify_client on;
             location / {{ return 200 \"$ssl_protocol $ssl_client_s_dn\"; }}"
        );
        let Some(mut p) = Nginx::start_with("client_certificates", "", &server, "ssl", &files)
        else {
            return;
        };
        let url = format!("https://localhost:{}", p.addr.port());
        let trusting = || {
            let addr = p.addr;
            let client = over(&[&url]).tls_roots(TlsRoots::None).add_root_pem(ca.pem());
            client.lookup(move |_: &str, _: u16| Ok(vec![addr]))
        };
        let (certificate, key) = ca.client_pem();
        let client = trusting().client_cert_pem(certificate, key).build().unwrap();
        for reused in [false, true] {
            let answer = client.post("/x").body("x").send().unwrap();
            assert_eq!(answer.text().unwrap(), format!("{protocol} CN=anyhost test server"));
            assert_eq!(answer.attempts()[0].reused_connection(), reused);
        }
        let (certificate, key) = other.client_pem();
        let strange = trusting().client_cert_pem(certificate, key).build().unwrap();
        for client in [trusting().build().unwrap(), strange] {
            let answer = client.get("/x").send().unwrap();
            assert_eq!(answer.status(), 400, "{protocol}");
        }
        p.wait_for_log(4);
    }
}

/// A reload under load: no call fails, and nothing is carried out twice.
#[test]
fn a_graceful_reload_under_load() {
    let name = "a_graceful_reload_under_load";
    let Some(mut p) = Nginx::start(name, "", "location / { return 200 ok; }") else { return };
    let client = over(&[&p]).build().unwrap();
    let (going, failed) = (Going::default(), AtomicUsize::new(0));
    let mut sent = Vec::new();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let (client, going, failed) = (&client, &going, &failed);
                scope.spawn(move || {
                    let mut sent = Vec::new();
                    for i in 0.. {
                        if !going.on() {
                            break;
                        }
                        let (method, path) = (["GET", "POST"][i % 2], format!("/{thread}/{i}"));
                        match client.request(method, &path).send() {
                            Ok(answer) => assert_eq!(answer.status(), 200),
                            // It closes idle connections, and a POST may be on its way on one.
                            Err(error) => {
                                assert_eq!(method, "POST", "{error}");
                                assert_eq!(error.delivery(), Delivery::Maybe, "{error}");
                                failed.fetch_add(1, SeqCst);
                            }
                        }
                        sent.push(format!("{method} {path}"));
                    }
                    sent
                })
            })
            .collect();
        let stop = going.until_dropped();
        for _ in 0..3 {
            let before = p.program.children();
            p.program.signal(libc::SIGHUP);
            let replaced = |program: &mut Program| {
                let now = program.children();
                !now.is_empty() && now.iter().all(|worker| !before.contains(worker))
            };
            p.program.wait_until("the workers are new ones", replaced);
        }
        drop(stop);
        sent.extend(threads.into_iter().flat_map(|thread| thread.join().unwrap()));
    });
    let failed = failed.into_inner();
    p.wait_for_log(sent.len() - failed);
    let times = p.times();
    assert!(times.values().all(|times| *times == 1), "nothing twice: {times:?}");
    let unseen = sent.iter().filter(|request| !times.contains_key(*request)).count();
    assert!(unseen <= failed, "{unseen} answered and not logged, {failed} failed");
    assert!(sent.len() > 50 && failed * 50 < sent.len(), "{failed} of {} failed", sent.len());
}

/// The worker is killed in the middle of an answer: a GET goes on to the next host, a POST does not, and
/// half an answer is never a whole one (R13).
#[test]
fn a_worker_killed_in_the_middle_of_an_answer() {
    let name = "a_worker_killed_in_the_middle_of_an_answer";
    for (method, chunked) in [("GET", false), ("GET", true), ("POST", false), ("POST", true)] {
        let half = Event::new();
        let mut reply = Reply::ok(vec![b'x'; 1 << 20]).pause_at(1 << 19, &half).tell(&half);
        if chunked {
            reply = reply.chunked(8192);
        }
        let behind = Server::start(reply);
        let server = format!("location / {{ proxy_buffering off; proxy_pass {behind}; }}");
        let Some(mut p) = Nginx::start(name, "", &server) else { return };
        let f = Server::start(Reply::ok("f"));
        let (p_url, f_url) = (p.to_string(), f.url());
        let call = thread::spawn(move || {
            over(&[&p_url, &f_url]).build().unwrap().request(method, "/").send()
        });
        behind.wait_for_requests(1, ms(5000));
        let workers = p.program.children();
        // Half of the body has gone into the worker, and most of it out to the client.
        let written = || {
            let io = std::fs::read_to_string(format!("/proc/{}/io", workers[0]));
            let io = io.unwrap_or_default();
            let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
            line.and_then(|count| count.parse::<u64>().ok()).unwrap_or(0)
        };
        p.program.wait_until("it has begun to answer", |_| written() > 1 << 16);
        for worker in &workers {
            // SAFETY: a child of our child, which runs.
            unsafe { libc::kill(*worker as i32, libc::SIGKILL) };
        }
        let result = call.join().unwrap();
        half.open();
        let expected = |reason| [Reason::Truncated, Reason::Reset].contains(&reason);
        match method {
            "GET" => {
                let answer = result.unwrap();
                assert_eq!(answer.text().unwrap(), "f");
                let (reason, phase, delivery) = told(answer.attempts())[0];
                assert!(expected(reason), "{reason:?}");
                assert_eq!((phase, delivery), (Phase::Body, Delivery::Answered));
            }
            _ => {
                let error = result.unwrap_err();
                assert_eq!((error.status(), error.delivery()), (Status::Body, Delivery::Answered));
                assert!(expected(error.reason()), "{error}");
                assert_eq!(f.connections(), 0);
            }
        }
        assert_eq!(behind.executed(), 1);
        // nginx has a new worker by then, and the client is none the worse.
        let before = &workers;
        p.program.wait_until("there is a new worker", |program| {
            program.children().iter().any(|worker| !before.contains(worker))
        });
        assert_eq!(over(&[&p]).build().unwrap().get("/").send().unwrap().status(), 200);
    }
}
