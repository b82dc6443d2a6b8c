//! What people copy first: the C, C++ and Python of README.md, and the examples, run as they stand.
//!
//! The base URLs of the page are replaced by a host that refuses and one that answers. Nothing else is
//! changed, and nothing is added.

use crate::programs::echo;
use crate::support::*;
use crate::toolbox::{
    Build, compile_file, installed, library_folder, read, root, run, scratch, skip,
};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The block of README.md in this language; there is one.
pub fn block(language: &str) -> String {
    let page = read("README.md");
    let blocks: Vec<&str> = page
        .split(&format!("```{language}\n"))
        .skip(1)
        .filter_map(|rest| rest.split_once("```").map(|(block, _)| block))
        .collect();
    assert_eq!(blocks.len(), 1, "README.md has one block in {language}");
    blocks[0].to_owned()
}

/// The same with other base URLs.
pub fn at(block: &str, first: &Refusing, second: &Server) -> String {
    let replaced = block
        .replace("https://api.example.com", &first.url())
        .replace("https://fallback.example.com", &second.url());
    assert_eq!(replaced.matches("http://127.0.0.1").count(), 2, "{replaced}");
    assert!(!replaced.contains("example.com"), "{replaced}");
    replaced
}

/// Python with the package of the tree, and what is installed for tests alone. The files beside it stay
/// as they are.
fn bare_python() -> Command {
    let mut command = Command::new("python3");
    let folders = [root().join("packaging/python/src"), root().join("target/tqdm")];
    command.arg("-B").env("PYTHONPATH", std::env::join_paths(folders).expect("no colon in it"));
    command
}

/// A Python program that finds the package and the library.
fn python(file: &Path, arguments: &[&str]) -> Command {
    let mut command = bare_python();
    command.arg(file).args(arguments);
    command.env("ANYHOST_LIBRARY", library_folder().join("libanyhost.so"));
    command
}

#[test]
fn the_c_of_the_readme_runs() {
    let (refusing, server) = (refusing_address(), Server::start(Reply::ok("all is well")));
    let file = scratch().join("readme.c");
    std::fs::write(&file, at(&block("c"), &refusing, &server)).expect("the folder is writable");
    let ended = compile_file(&file, Build::Shared).run::<&str>(&[]);
    assert_eq!(ended.succeeded(), "200 all is well\n");
    assert_eq!(server.requests()[0].target, "/v1/status");
}

#[test]
fn the_cplusplus_of_the_readme_runs() {
    if !installed("the C++ of the README", "c++") {
        return;
    }
    let (refusing, server) = (refusing_address(), Server::start(Reply::ok("all is well")));
    let file = scratch().join("readme.cc");
    std::fs::write(&file, at(&block("cpp"), &refusing, &server)).expect("the folder is writable");
    let ended = compile_file(&file, Build::Shared).run::<&str>(&[]);
    assert_eq!(ended.succeeded(), "200 all is well\n");
}

#[test]
fn the_python_of_the_readme_runs() {
    if !installed("the Python of the README", "python3") {
        return;
    }
    let (refusing, server) = (refusing_address(), Server::start(Reply::ok("all is well")));
    let file = scratch().join("readme.py");
    std::fs::write(&file, at(&block("python"), &refusing, &server))
        .expect("the folder is writable");
    let said = run("readme.py", &mut python(&file, &[])).succeeded();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "200 all is well");
    let first = format!("1. {refusing}: refused at connect (not_sent), ");
    assert!(lines[1].starts_with(&first), "{said}");
    assert!(lines[2].starts_with(&format!("2. {server}: 200 (answered), ")), "{said}");
    assert_eq!(lines.len(), 3, "{said}");
}

#[test]
fn the_python_of_the_manual_runs() {
    if !installed("the Python of the manual", "python3") {
        return;
    }
    let page = read("src/manual/howto/scripts.md");
    let blocks = page.split("```python\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let code: Vec<&str> = blocks.map(|(block, _)| block).collect();
    let (refusing, server) = (refusing_address(), Server::start(echo()));
    let folder = scratch().join("manual");
    std::fs::create_dir_all(&folder).expect("the folder is writable");
    std::fs::write(folder.join("report.csv"), "a,b\n").expect("the folder is writable");
    let file = folder.join("scripts.py");
    std::fs::write(&file, at(&code.join("\n"), &refusing, &server))
        .expect("the folder is writable");
    let said = run("scripts.py", python(&file, &[]).current_dir(&folder)).succeeded();
    assert!(said.starts_with("200 GET /v1/status \n"), "{said}");
    assert!(said.contains("b'GET /v1/export '\n") && said.ends_with("disabled\n"), "{said}");
    assert!(server.requests().iter().any(|it| it.body == b"a,b\n"));
}

/// A table whose rows are the attempts, and the answer under it.
fn is_a_table(said: &str, refusing: &Refusing, server: &Server) {
    let words: Vec<Vec<&str>> =
        said.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(said.lines().next(), Some(&*format!("GET /v1: 200 from {server}")), "{said}");
    let head = ["#", "endpoint", "phase", "reason", "delivery", "ms", "status"];
    assert_eq!(words[2], head, "{said}");
    assert_eq!(words[3][..5], ["1", &refusing.url(), "connect", "refused", "not_sent"], "{said}");
    assert_eq!(words[4][..5], ["2", &server.url(), "body", "none", "answered"], "{said}");
    assert_eq!(words[4][6], "200", "{said}");
    assert_eq!(said.lines().last(), Some("all is well"), "{said}");
}

#[test]
fn the_quickstarts_print_the_attempts() {
    let quickstart = root().join("examples/c/quickstart.c");
    let compiled = compile_file(&quickstart, Build::Sanitized);
    let (refusing, server) = (refusing_address(), Server::start(Reply::ok("all is well")));
    let urls = format!("{refusing},{server}");
    is_a_table(&compiled.run(&[&urls, "/v1"]).succeeded(), &refusing, &server);

    let failed = compiled.run(&[refusing.url()]);
    assert_eq!(failed.code(), Some(1));
    assert!(failed.said().starts_with("GET /: error: ATTEMPTS_SPENT: "), "{}", failed.said());
    assert_eq!(compiled.run::<&str>(&[]).code(), Some(2));

    if installed("quickstart.cpp", "c++") {
        let quickstart = root().join("examples/cpp/quickstart.cpp");
        let compiled = compile_file(&quickstart, Build::Sanitized);
        is_a_table(&compiled.run(&[&urls, "/v1"]).succeeded(), &refusing, &server);
        let failed = compiled.run(&[refusing.url()]);
        assert_eq!(failed.code(), Some(1));
        assert!(failed.said().starts_with("GET /: error: ATTEMPTS_SPENT: "), "{}", failed.said());
        assert_eq!(compiled.run::<&str>(&[]).code(), Some(2));
    }

    if !installed("quickstart.py", "python3") {
        return;
    }
    let file = root().join("examples/python/quickstart.py");
    let script = |arguments: &[&str]| run("quickstart.py", &mut python(&file, arguments));
    is_a_table(&script(&[&urls, "/v1"]).succeeded(), &refusing, &server);
    let failed = script(&[&refusing.url()]);
    assert_eq!(failed.code(), Some(1));
    assert!(failed.said().starts_with("GET /: error: ATTEMPTS_SPENT: "), "{}", failed.said());
    assert_eq!(script(&[]).code(), Some(2));
}

/// Sends a signal to a program of this test.
fn signal(child: &Child, signal: i32) {
    let id = i32::try_from(child.id()).expect("a process id");
    // SAFETY: it is a child that was not waited for, so the id is still its own.
    assert_eq!(unsafe { libc::kill(id, signal) }, 0);
}

#[test]
fn the_daemon_goes_on_when_a_host_is_gone_says_so_and_ends() {
    let (refusing, server) = (refusing_address(), Server::start(echo()));
    let settings = scratch().join("daemon.conf");
    let text = format!("# two hosts\nbase_urls = {refusing}, {server}\n\ndeadline=4s\n");
    std::fs::write(&settings, text).expect("the folder is writable");
    let compiled = compile_file(&root().join("examples/c/daemon.c"), Build::Sanitized);
    let mut command = compiled.command(&[settings.as_os_str(), "5".as_ref()]);
    // One that does not end when it is told to ends by itself.
    // SAFETY: alarm is safe between fork and exec, and stays set.
    unsafe {
        command.pre_exec(|| {
            libc::alarm(60);
            Ok(())
        })
    };
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut log = BufReader::new(child.stderr.take().expect("it is piped"));
    let posts = server.wait_for_requests(20, ms(30_000));
    assert!(posts.iter().all(|it| it.method == "POST" && it.body == b"up 1\n"));
    signal(&child, libc::SIGUSR1);
    let mut said = String::new();
    while !said.contains("\nmember ") {
        assert!(log.read_line(&mut said).expect("text") > 0, "it ended early: {said}");
    }
    signal(&child, libc::SIGTERM);
    log.read_to_string(&mut said).expect("text");
    assert!(child.wait().expect("it ends").success(), "{said}");
    let hosts = |url: String| url.replace("http://", "");
    let first = format!("{} not answering, using {}\n", hosts(refusing.url()), hosts(server.url()));
    assert!(said.starts_with(&first), "{said}");
    assert!(said.contains(&format!("\n{refusing}  eligible  ")), "{said}");
    assert!(said.contains("last failed: refused\n"), "{said}");

    std::fs::write(&settings, "base_urls = http://a.example\ndeadline = soon\n").expect("writable");
    let ended = compiled.run(&[settings.as_os_str(), "5".as_ref()]);
    assert_eq!(ended.code(), Some(1));
    let place = format!("{}:2: option `deadline`: ", settings.display());
    assert!(ended.complained().starts_with(&place), "{}", ended.complained());
}

/// Runs a program that downloads, from a host that breaks off and one that does not.
fn downloads(name: &str, start: &dyn Fn(&[&str]) -> Command) {
    let body: String = "0123456789abcdef".repeat(16 * 1024);
    let (refusing, server) = (refusing_address(), Server::start(Reply::ok(body.as_str())));
    let file = scratch().join(name);
    let target = file.to_str().expect("a path in UTF-8");
    let ended = run(name, &mut start(&[&format!("{refusing},{server}"), "/big", target]));
    assert_eq!(ended.succeeded(), format!("{} bytes from {server}\n", body.len()));
    assert_eq!(std::fs::read_to_string(&file).expect("it was written"), body);
    assert!(
        ended.complained().contains('#') || ended.complained().contains("256k"),
        "{}",
        ended.complained()
    );

    let cut = Server::start(Reply::ok(body.as_str()).cut(body.len() / 2));
    let ended = run(name, &mut start(&[&cut.url(), "/big", target]));
    assert_eq!(ended.code(), Some(1), "{}", ended.said());
    assert!(ended.complained().contains("BODY: "), "{}", ended.complained());
    assert_eq!(run(name, &mut start(&[])).code(), Some(2));
}

#[test]
fn the_downloads_have_a_bar_and_notice_half_a_body() {
    let compiled = compile_file(&root().join("examples/c/download.c"), Build::Sanitized);
    downloads("download-c", &|arguments| compiled.command(arguments));
    if !installed("download.py", "python3") {
        return;
    }
    let tqdm = bare_python().args(["-c", "import tqdm"]).output();
    if !tqdm.is_ok_and(|it| it.status.success()) {
        return skip("download.py", "tqdm is not installed");
    }
    let script = root().join("examples/python/download.py");
    downloads("download-python", &|arguments| python(&script, arguments));
}
