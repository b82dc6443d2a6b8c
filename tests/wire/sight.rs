//! What a person sees of a client: an error told at length, lines of the log, a snapshot as a table
//! and as a page for Prometheus. None of it shows a secret, a path or a query (R15).

use crate::over;
use crate::support::*;
use anyhost::{Client, ClientBuilder, Endpoint, Status, prometheus};
use log::{Level, LevelFilter, Metadata, Record};
use std::cell::RefCell;
use std::sync::Once;

/// Digits before ` ms` become `N`: how long it took is no matter here.
fn timeless(text: &str) -> String {
    let mut parts = text.split(" ms");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.truncate(out.trim_end_matches(|c: char| c.is_ascii_digit()).len());
        out.push_str("N ms");
        out.push_str(part);
    }
    out
}

#[test]
fn an_error_tells_what_was_tried_what_is_certain_and_what_to_do() {
    let (down, resets) = (refusing_address(), Server::start(Reply::resets()));
    let client = over(&[&down.url(), &resets]).build().unwrap();
    let error = client.post("/orders?token=secret").body("{}").send().unwrap_err();
    let (a, b) = (down.url(), resets.url());
    let host = a.replace("http://", "");
    let [refused, reset] = [0, 1].map(|n: usize| error.attempts()[n].os_error());
    assert_eq!(
        timeless(&error.explain()),
        format!(
            "ATTEMPTS_SPENT: no further attempt is left or allowed\n\
             tried:\n  \
             1. {a}: refused while connecting (not sent), N ms\n     \
             {host} refused the connection, system error {refused}\n  \
             2. {b}: reset while waiting for the answer (may have been received), N ms\n     \
             connection reset, system error {reset}\n\
             certain: a server may have received the request\n\
             to do: ask the service whether it was carried out before you repeat it; or let it tell \
             repeats apart (Idempotency-Key) and set resend=any; see the logs of that host\n"
        )
    );
}

thread_local! {
    static LINES: RefCell<Vec<(String, Level, String)>> = const { RefCell::new(Vec::new()) };
}

/// Keeps what each thread writes apart: other tests write too.
struct ByThread;

impl log::Log for ByThread {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("anyhost")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let line = (record.target().to_owned(), record.level(), record.args().to_string());
            LINES.with_borrow_mut(|lines| lines.push(line));
        }
    }

    fn flush(&self) {}
}

/// The lines that `work` has written on this thread.
fn lines_of(work: impl FnOnce()) -> Vec<(String, Level, String)> {
    static SET: Once = Once::new();
    SET.call_once(|| {
        log::set_logger(&ByThread).expect("the only logger of these tests");
        log::set_max_level(LevelFilter::Trace);
    });
    LINES.take();
    work();
    LINES.take()
}

#[test]
fn a_client_that_verifies_nothing_says_so() {
    let build = |verify| {
        let builder = Client::builder().base_urls("https://a.example").tls_verify(verify);
        builder.tls_roots(anyhost::TlsRoots::Bundled).build().unwrap();
    };
    let warning = "tls_verify is off: certificates are not verified".to_owned();
    assert_eq!(lines_of(|| build(false)), [("anyhost::pool".to_owned(), Level::Warn, warning)]);
    assert!(lines_of(|| build(true)).is_empty());
}

#[test]
fn the_log_has_a_line_for_what_happens() {
    let (down, well) = (refusing_address(), Server::start(Reply::ok("well")));
    let with_secrets = down.url().replace("http://", "http://user:password@");
    let client = over(&[&with_secrets, &well]).build().unwrap();
    let lines = lines_of(|| {
        client.get("/path?token=secret").header("Authorization", "Bearer hush").send().unwrap();
        client.disable(&well.url(), "maintenance").unwrap();
    });
    let (a, b) = (down.url(), well.url());
    let (a_host, b_host) = (a.replace("http://", ""), b.replace("http://", ""));
    let call = |level, text: String| ("anyhost::call".to_owned(), level, text);
    let pool = |level, text: String| ("anyhost::pool".to_owned(), level, text);
    let told: Vec<_> =
        lines.into_iter().map(|(t, level, text)| (t, level, timeless(&text))).collect();
    let n = told[0].2.split_whitespace().nth(1).expect("the number of the call").to_owned();
    assert_eq!(
        told,
        [
            call(Level::Trace, format!("call {n} attempt_started at {a}")),
            call(
                Level::Debug,
                format!(
                    "call {n} attempt_ended: 1. {a}: refused while connecting (not sent), N ms"
                )
            ),
            pool(Level::Warn, format!("{a_host} not answering, using {b_host}")),
            call(Level::Trace, format!("call {n} attempt_started at {b}")),
            call(Level::Trace, format!("call {n} attempt_ended: 2. {b}: 200 (answered), N ms")),
            pool(Level::Info, format!("{b} is preferred for 300 s")),
            call(Level::Debug, format!("call {n} call_ended: 2. {b}: 200 (answered), N ms")),
            pool(Level::Warn, format!("{b}: eligible -> disabled (operator)")),
        ]
    );
}

#[test]
fn a_snapshot_is_a_table_and_a_page_for_prometheus() {
    let (down, well) = (refusing_address(), Server::start(Reply::ok("well")));
    let client = Client::builder()
        .endpoint(Endpoint::new(&down.url()).unwrap().label("first"))
        .endpoint(Endpoint::new(&well.url()).unwrap().label("a \"second\""))
        .build()
        .unwrap();
    for _ in 0..3 {
        client.get("/").send().unwrap();
    }
    // Which of them is in use is what a person asks first; without a breaker no state says it.
    let table = client.snapshot().to_string();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[1].ends_with("  last failed: refused"), "{table}");
    let preferred = lines[2].split_once("preferred for ").expect("it says so").1;
    assert!(preferred == "5 min 0 s" || preferred.starts_with("4 min 5"), "{table}");

    client.disable("first", "its disk is full").unwrap();
    let snapshot = client.snapshot();
    // How long the second has been eligible differs from run to run, and so does the width of that column.
    let table = snapshot.to_string();
    let words: Vec<Vec<&str>> =
        table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0].join(" "), "member state for weight attempts failed running wait why");
    assert_eq!((words[1][..2].join(" "), words[1][3]), ("first disabled".to_owned(), "ms"));
    assert_eq!(words[1][4..].join(" "), "1000/1000 1 1 0 - its disk is full");
    assert_eq!(words[2][..3].join(" "), "a \"second\" eligible");
    assert!(words[2][5..].join(" ").starts_with("1000/1000 3 0 0 - preferred for "), "{table}");
    let weights: Vec<_> =
        table.lines().map(|line| line.find("weight").or(line.find("1000/"))).collect();
    assert!(weights[0].is_some() && weights.iter().all(|place| *place == weights[0]), "{table}");
    let page = prometheus([("a\\b", &snapshot)]);
    for line in [
        r#"anyhost_member_state{client="a\\b",kind="endpoint",member="first",state="disabled"} 1"#,
        r#"anyhost_member_state{client="a\\b",kind="endpoint",member="first",state="eligible"} 0"#,
        r#"anyhost_member_failures_total{client="a\\b",kind="endpoint",member="first",reason="refused"} 1"#,
        r#"anyhost_member_attempts_total{client="a\\b",kind="endpoint",member="a \"second\""} 3"#,
        "# TYPE anyhost_member_attempts_total counter",
    ] {
        assert!(page.lines().any(|it| it == line), "no line {line} in\n{page}");
    }
    // Each family is told once, with all its members behind it.
    let helps: Vec<&str> = page.lines().filter(|line| line.starts_with("# HELP")).collect();
    assert_eq!(helps.len(), 9);
    assert!(page.ends_with('\n'));
}

/// Who reads of one attempt asks why there was no other.
#[test]
fn an_error_says_who_was_not_tried() {
    let (down, well) = (refusing_address(), Server::start(Reply::ok("well")));
    let client = Client::new(&format!("{},{}", down.url(), well.url())).unwrap();
    client.disable(&well.url(), "its disk is full").unwrap();
    let error = client.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.attempts().len()), (Status::AttemptsSpent, 1));
    let not_tried = format!("\nnot tried:\n  {} is disabled: by an operator\n", well.url());
    assert!(error.explain().contains(&not_tried), "{}", error.explain());
    assert!(!error.explain().contains(&format!("{} is", down.url())), "{}", error.explain());
    assert_eq!(error.retry_after(), None);

    // Nothing has failed there since, and the table does not say so.
    client.enable(&well.url()).unwrap();
    assert!(client.snapshot().to_string().ends_with("  enabled\n"), "{}", client.snapshot());
    assert_eq!(client.get("/").send().unwrap().endpoint(), well.url());
    // Of many it would be a list that nobody reads, made for every call of an outage.
    let many = (0..32).map(|n| Endpoint::new(&format!("http://127.0.0.1:1/{n}")).unwrap());
    let many = many.fold(over(&[&down]), ClientBuilder::endpoint).build().unwrap();
    many.disable("http://127.0.0.1:1/7", "its disk is full").unwrap();
    let error = many.get("/").send().unwrap_err();
    assert_eq!((error.status(), error.refused().len()), (Status::AttemptsSpent, 0));

    // With all of them tried there is nobody to tell of.
    drop(well);
    let error = client.get("/").send().unwrap_err();
    assert!(error.refused().is_empty() && !error.explain().contains("not tried"), "{error:?}");
}

/// A `main` that returns the error prints its Debug, and so does a panic of `unwrap`.
#[test]
fn what_main_prints_is_the_explanation() {
    let down = refusing_address();
    let client = Client::new(&down.url()).unwrap();
    let error = client.post("/orders?key=geheim").body("x").send().unwrap_err();
    let printed = format!("{error:?}");
    assert_eq!(printed, error.explain().trim_end());
    assert!(printed.contains("\ncertain: no server received the request\n"), "{printed}");
    let fields = format!("{error:#?}");
    assert!(fields.starts_with("Error {\n") && fields.contains("os_error: "), "{fields}");
    assert!(!printed.contains("geheim") && !fields.contains("geheim"), "{fields}");
}
