//! One test for each program: the servers it meets, and what they must have seen.

use crate::support::*;
use crate::toolbox::{
    Build, STATIC_LIBRARIES, compile, everywhere, installed, run, scratch, skip, twice,
};
use std::process::Command;

/// Answers with what arrived, so that a program sees whether its request came through.
pub fn echo() -> Reply {
    Reply::made(|request| {
        Reply::ok(format!("{} {} {}", request.method, request.target, request.text()))
            .header("X-Method", &request.method)
            .header("Set-Cookie", "a=1")
            .header("Set-Cookie", "b=2")
            .header("X-Bytes", "grün")
    })
}

/// Method and target of every request.
fn seen(server: &Server) -> Vec<String> {
    server.requests().iter().map(|r| format!("{} {}", r.method, r.target)).collect()
}

#[test]
fn smoke() {
    everywhere("smoke.c", |program| {
        let (refusing, server) = (refusing_address(), Server::start(echo()));
        program.run(&[refusing.url(), server.url()]).passed();
        let methods = [
            "GET /status?q=1",
            "HEAD /head",
            "POST /post",
            "PUT /put",
            "PATCH /patch",
            "DELETE /delete",
        ];
        assert_eq!(seen(&server), methods);
        let requests = server.requests();
        assert_eq!(requests[2].body, b"one\0two");
        assert_eq!(requests[2].header("Content-Type"), Some("text/plain"));
        assert_eq!(requests[4].header("Content-Type"), None);
        assert_eq!(server.connections(), 1, "one connection served all");
    });
}

/// What `stream.c` reads.
fn streamed() -> Script {
    let mebibyte: Vec<u8> = (0..1 << 20).map(|i: u32| (i % 251) as u8).collect();
    Script::from(Reply::status(404))
        .on("/length", Reply::ok(mebibyte.clone()))
        .on("/close", Reply::ok(mebibyte.clone()).until_close())
        .on("/chunks", Reply::ok(mebibyte).chunked(1000))
        .on("/empty", Reply::ok(""))
        .on("/cut", Reply::ok([0, 1, 2, 3, 4, 5]).cut(4))
        .on("/endless", Reply::ok([0, 1, 2, 3, 4, 5]).cut(2).hold())
        .on("/copy", Reply::made(|request| Reply::ok(request.body.len().to_string())))
}

#[test]
fn stream() {
    twice("stream.c", |program| {
        program.run(&[Server::start(streamed()).url()]).passed();
    });
}

#[test]
fn members() {
    twice("members.c", |program| {
        let (refusing, second, third) =
            (refusing_address(), Server::start(echo()), Server::start(echo()));
        let first = refusing.url().replace("http://", "http://user:pw@");
        program.run(&[first, second.url(), third.url()]).passed();
        assert_eq!(seen(&second), ["GET /seen", "GET /back", "HEAD /health"]);
        assert_eq!(seen(&third), ["GET /new", "GET /same", "GET /dropped"]);
        let requests = third.requests();
        assert_eq!(requests[0].header("X-Of"), Some("third"));
        assert!(requests[1].connection != requests[2].connection, "the idle one was dropped");
    });
}

#[test]
fn proxies() {
    twice("proxies.c", |program| {
        let (refusing, proxy) = (refusing_address(), Server::start(echo()));
        let bad = refusing.url().replace("http://", "http://u:geheim@");
        program.run(&[bad, proxy.url()]).passed();
        let seen = seen(&proxy);
        assert_eq!(seen.last().map(String::as_str), Some("GET http://service.test/last"));
        assert!(!seen.contains(&"GET http://service.test/never".to_owned()));
    });
}

#[test]
fn builder() {
    let authority = Authority::new();
    everywhere("builder.c", |program| {
        let plain = Server::start(echo());
        let tls = Server::tls(&authority.server(), echo());
        program.run(&[&plain.url(), &tls.url(), authority.pem()]).passed();
        assert_eq!(seen(&plain), ["GET /built"]);
        let request = &plain.requests()[0];
        let got = ["User-Agent", "X-All", "X-One", "X-Both"].map(|name| request.header(name));
        assert_eq!(got, [Some("builder.c"), Some("all"), Some("one"), Some("endpoint")]);
        assert_eq!(seen(&tls), ["GET /tls"], "without the certificate nothing was asked");
    });
}

#[test]
fn request() {
    everywhere("request.c", |program| {
        let (first, second) = (Server::start(Reply::status(503)), Server::start(echo()));
        program.run(&[first.url(), second.url()]).passed();

        let requests = second.requests();
        let at = |path: &str| {
            let found: Vec<_> = requests.iter().filter(|r| r.target == path).collect();
            (found.iter().map(|r| r.text()).collect::<Vec<_>>(), found)
        };
        let (_, headers) = at("/headers");
        assert_eq!(headers.len(), 1);
        assert_eq!(headers[0].headers_of("X-Replaced"), ["new"]);
        assert_eq!(headers[0].headers_of("X-Twice"), ["1", "2"]);
        assert_eq!(headers[0].header("X-Empty"), Some(""));
        for name in ["X-Removed", "X-Bad", "X-Smuggled", "Content-Length"] {
            assert_eq!(headers[0].header(name), None, "{name}");
        }
        let line = b"x-bytes: \xe4\xff\r\n";
        let head = headers[0].head.to_ascii_lowercase();
        assert!(head.windows(line.len()).any(|part| part == line), "{head:?}");

        assert_eq!(at("/copied").0, ["copied", "copied", ""]);
        assert_eq!(at("/borrowed").0, ["borrowed"]);
        assert_eq!(at("/once").0, ["0123456789"]);
        let (chunks, request) = at("/chunks");
        assert_eq!(chunks, ["0123456789"]);
        assert_eq!(request[0].header("Transfer-Encoding"), Some("chunked"));
        assert_eq!(at("/again").0, ["0123456789", "0123456789"]);
        let again: Vec<_> = first.requests().iter().map(Request::text).collect();
        assert_eq!(again, ["0123456789"; 3], "one moved on, two did not");
    });
}

/// What `errors.c` asks for, each path a way to fail.
fn failing() -> Script {
    Script::from(Reply::ok("hello"))
        .on("/reset", Reply::resets())
        .on("/slow", Reply::holds())
        .on("/cut", Reply::ok("0123456789").cut(4))
        .on("/large", Reply::ok("0123456789+"))
        .on("/missing", Reply::status(404).body("no such"))
        .on(
            "/around",
            Reply::made(|request| {
                // A path that was not asked before, or it would be a loop.
                let once_more = format!("{}?{}", request.target, request.target.len());
                Reply::status(302).header("Location", &once_more)
            }),
        )
        .on("/503", Reply::status(503).header("Retry-After", "7"))
}

#[test]
fn errors() {
    everywhere("errors.c", |program| {
        let (refusing, server) = (refusing_address(), Server::start(failing()));
        program.run(&[server.url(), refusing.url()]).passed();
        let requests = server.requests();
        let whole = requests.iter().filter(|r| r.method == "POST" && r.complete);
        let whole: Vec<_> = whole.map(|r| r.target.as_str()).collect();
        assert_eq!(whole, ["/reset"], "a body that refused is no request");
    });
}

#[test]
fn ownership() {
    everywhere("ownership.c", |program| {
        let server = Server::start(Script::from(echo()).on("/resets", Reply::resets()));
        program.run(&[server.url()]).passed();
        assert_eq!(seen(&server).len(), 6);
    });
}

#[test]
fn events() {
    everywhere("events.c", |program| {
        let (refusing, server) = (refusing_address(), Server::start(echo()));
        program.run(&[refusing.url(), server.url()]).passed();
        assert_eq!(server.count("GET"), 5, "none of them from inside a callback");
        assert_eq!(seen(&server).iter().filter(|line| line.contains("/other")).count(), 1);
    });
}

#[test]
fn breaker() {
    twice("breaker.c", |program| {
        program.run::<&str>(&[]).passed();
    });
}

#[test]
fn verdicts() {
    let of = |path: u16| Reply::status(path).body("body").header("X-Here", "yes").chunked(2);
    twice("verdicts.c", |program| {
        let script =
            Script::from(of(404)).on("/200", of(200)).on("/500", of(500)).on("/503", of(503));
        let (first, second) = (Server::start(script), Server::start(of(200)));
        program.run(&[format!("{first},{second}")]).passed();
        assert_eq!(first.count("POST"), 4);
        assert_eq!(second.count("POST"), 0, "what a callback says never sends a write twice");
        assert_eq!(second.count("GET"), 6);
    });
}

#[test]
fn progress() {
    twice("progress.c", |program| {
        let script = Script::from(Reply::status(404))
            .on("/late", Reply::ok("late").after(ms(1500)))
            .on("/head", Reply::holds())
            .on("/body", Reply::ok("0123456789").cut(4).hold())
            .on("/drip", Reply::ok("0123456789").drip(1, ms(20)));
        let (server, mute) = (Server::start(script), silent());
        let said = program.run(&[server.url(), mute.url().replace("http:", "https:")]).passed();
        println!("{said}");
        assert_eq!(server.requests().iter().filter(|it| it.target == "/nested").count(), 0);
    });
}

#[test]
fn threads() {
    everywhere("threads.c", |program| {
        let server = Server::start(echo());
        let attempts = program.run(&[server.url()]).passed();
        assert_eq!(server.executed(), 400);
        assert_eq!(attempts, "400\n");
    });
}

#[test]
fn post_once() {
    everywhere("post_once.c", |program| {
        let first = Server::start(Reply::resets());
        let second = Server::start(Reply::ok("hello"));
        program.run(&[first.url(), second.url()]).passed();
        assert_eq!((first.count("POST"), second.count("POST")), (1, 0));
        assert_eq!((first.count("GET"), second.count("GET")), (1, 1));
    });
}

#[test]
fn cplusplus() {
    everywhere("smoke.cc", |program| {
        let (refusing, server) = (refusing_address(), Server::start(echo()));
        program.run(&[refusing.url(), server.url()]).passed();
        assert_eq!(seen(&server), ["GET /c++", "PUT /c++"]);
    });
}

/// SIGABRT, which a shell shows as 134.
const ABORTED: Option<i32> = Some(6);

#[test]
fn an_exception_that_leaves_a_callback_ends_the_process() {
    everywhere("throw.cc", |program| {
        let server = Server::start(echo());
        let ended = program.run(&[server.url()]);
        assert_eq!(
            (ended.said().as_str(), ended.signal()),
            ("", ABORTED),
            "{}",
            ended.complained()
        );
        let message = "anyhost: an exception left a callback, which has to catch it; aborting\n";
        assert!(ended.complained().contains(message), "{}", ended.complained());
    });
}

#[test]
fn the_sanitizers_find_planted_mistakes() {
    let program = compile("planted.c", Build::Sanitized);
    assert!(program.contains("__asan_init"));
    let leak = program.run(&["leak"]);
    assert_eq!(leak.code(), Some(23), "{}", leak.complained());
    assert!(leak.complained().contains("LeakSanitizer: detected memory leaks"));
    let read = program.run(&["read"]);
    assert!(read.complained().contains("heap-use-after-free"), "{}", read.complained());
}

const VALGRIND: [&str; 6] = [
    "valgrind",
    "--quiet",
    "--error-exitcode=99",
    "--leak-check=full",
    "--show-leak-kinds=definite,indirect,possible",
    "--errors-for-leak-kinds=definite,indirect,possible",
];

#[test]
fn valgrind() {
    let tried = Command::new("valgrind").args(["--quiet", "true"]).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        return skip("valgrind", "it is not installed, or lacks the symbols of the loader");
    }
    let planted = compile("planted.c", Build::Shared).run_under(&VALGRIND, &["leak"]);
    assert_eq!(planted.code(), Some(99), "it finds what is planted: {}", planted.complained());

    let (refusing, server) = (refusing_address(), Server::start(echo()));
    // Under valgrind on a busy machine even a refusal may take longer than the default limit to connect.
    compile("smoke.c", Build::Shared)
        .run_under(&VALGRIND, &[&refusing.url(), &server.url(), "patient"])
        .passed();
    let server = Server::start(failing());
    compile("errors.c", Build::Shared)
        .run_under(&VALGRIND, &[&server.url(), &refusing.url()])
        .passed();
    let server = Server::start(Script::from(echo()).on("/resets", Reply::resets()));
    compile("ownership.c", Build::Shared).run_under(&VALGRIND, &[&server.url()]).passed();
    let (second, third) = (Server::start(echo()), Server::start(echo()));
    let first = refusing.url().replace("http://", "http://user:pw@");
    compile("members.c", Build::Shared)
        .run_under(&VALGRIND, &[&first, &second.url(), &third.url()])
        .passed();
    let server = Server::start(streamed());
    compile("stream.c", Build::Shared).run_under(&VALGRIND, &[&server.url()]).passed();
}

#[test]
fn the_documented_list_is_what_a_static_library_needs() {
    if !cfg!(target_os = "linux") || !installed("static list", "rustc") {
        return;
    }
    // Of an empty library: ours adds nothing, or no program of these tests would link.
    let empty = scratch().join("empty.rs");
    std::fs::write(&empty, "").expect("the folder is writable");
    let mut rustc = Command::new("rustc");
    rustc.args(["--crate-type", "staticlib", "--print", "native-static-libs", "-o"]);
    let ended = run("rustc", rustc.arg(scratch().join("empty.a")).arg(&empty));
    ended.succeeded();
    let line = format!("native-static-libs: {STATIC_LIBRARIES}\n");
    assert!(ended.complained().contains(&line), "{}", ended.complained());
}
