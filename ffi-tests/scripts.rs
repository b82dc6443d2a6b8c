//! The examples in other languages, as their users run them.

use crate::programs::echo;
use crate::support::*;
use crate::toolbox::{library_folder, root, run, skip};
use std::path::PathBuf;
use std::process::Command;

/// The shared library, as scripts are told of it.
fn library() -> PathBuf {
    library_folder().join("libanyhost.so")
}

/// Runs one of the examples, which all do the same and print the same. What a callback raises never
/// gets into the library: the call goes on, and the error is raised when it has come back.
fn says_the_same(program: &str, file: &str) {
    let (refusing, server) = (refusing_address(), Server::start(echo()));
    let file = root().join("examples").join(file);
    let script = |arguments: &[&str]| {
        let mut command = Command::new(program);
        command.arg(&file).args(arguments).env("ANYHOST_LIBRARY", library());
        run(&file.display().to_string(), &mut command)
    };
    let ended = script(&[&format!("{refusing},{server}"), "/v1"]);
    let expected = format!(
        "anyhost {}\n\
         GET /v1: 200 from {server}\n\
         x-method: GET\n\
         set-cookie: a=1\n\
         set-cookie: b=2\n\
         x-bytes: grün\n\
         content-length: 8\n\
         GET /v1 \n\
         events: attempt_started attempt_ended failover attempt_started attempt_ended hold_set call_ended\n\
         error: ATTEMPTS_SPENT, refused at connect, not_sent\n\
         raised by a callback: planted, and the answer was 200\n",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(ended.succeeded(), expected, "{}", ended.complained());
    assert_eq!(ended.complained(), "");
    assert_eq!(server.count("GET"), 2, "one for each client that may reach it");
    assert_eq!(script(&[]).code(), Some(2));
}

/// Whether a program has what a script asks it for; if not, the test is skipped.
fn has(program: &str, arguments: &[&str], what: &str) -> bool {
    let there = Command::new(program).args(arguments).output().is_ok_and(|it| it.status.success());
    if !there {
        skip(&format!("the example for {program}"), &format!("{what} is not installed"));
    }
    there
}

#[test]
fn luajit() {
    if has("luajit", &["-v"], "luajit") {
        says_the_same("luajit", "luajit/quickstart.lua");
    }
}

#[test]
fn ruby() {
    if has("ruby", &["-r", "fiddle", "-e", ""], "ruby with fiddle") {
        says_the_same("ruby", "ruby/quickstart.rb");
    }
}

#[test]
fn perl() {
    if has("perl", &["-MFFI::Platypus", "-e", "1"], "FFI::Platypus") {
        says_the_same("perl", "perl/quickstart.pl");
    }
}

#[test]
fn node() {
    // Where it is found is for NODE_PATH to say, as for every script.
    if has("node", &["-e", "require('koffi')"], "koffi") {
        says_the_same("node", "node/quickstart.js");
    }
}
