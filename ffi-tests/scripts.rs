//! The Python package, and the examples in other languages, as their users run them.

use crate::programs::echo;
use crate::prototypes::functions;
use crate::support::*;
use crate::toolbox::{installed, library_folder, read, root, run, scratch, skip};
use std::collections::BTreeSet;
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

/// A folder with what the wheel holds.
fn unpacked_wheel() -> PathBuf {
    let folder = scratch().join("wheel");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    let mut build = Command::new("python3");
    build.arg("-B").arg(root().join("packaging/python/backend.py")).arg(&folder);
    build.env("ANYHOST_LIBRARY", library());
    let name = run("backend.py", &mut build).succeeded();
    let name = name.trim_end();
    let version = env!("CARGO_PKG_VERSION");
    assert!(name.starts_with(&format!("anyhost-{version}-py3-none-")), "{name}");
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        // A wheel of any platform would be installed where its library cannot be loaded.
        assert!(
            name.contains("-manylinux_2_")
                && name.ends_with(&format!("_{}.whl", std::env::consts::ARCH)),
            "{name}"
        );
    }
    let unpacked = folder.join("unpacked");
    let mut unpack = Command::new("python3");
    unpack.args(["-m", "zipfile", "-e"]).arg(folder.join(name)).arg(&unpacked);
    run("zipfile", &mut unpack).succeeded();
    unpacked
}

#[test]
fn the_python_package_keeps_its_promises() {
    if !installed("the tests of the Python package", "python3") {
        return;
    }
    // As it is installed: with the library inside, and none to be found elsewhere.
    let package = unpacked_wheel();
    let mut command = Command::new("python3");
    command.args(["-B", "-W", "error", "-X", "faulthandler", "-m", "unittest", "discover", "-t"]);
    command.args([".", "-s", "tests"]).current_dir(root().join("packaging/python"));
    command.env("PYTHONPATH", package).env_remove("ANYHOST_LIBRARY");
    let ended = run("unittest", &mut command);
    ended.succeeded();
    assert!(ended.complained().ends_with("\nOK\n"), "{}", ended.complained());
    println!("{}", ended.complained());
}

#[test]
fn the_python_package_is_well_typed() {
    if !installed("the types of the Python package", "mypy") {
        return;
    }
    let mut command = Command::new("mypy");
    command
        .arg("--cache-dir")
        .arg(scratch().join("mypy"))
        .current_dir(root().join("packaging/python"));
    run("mypy", &mut command).succeeded();
}

/// What Python has no need of: it makes every call from a request, adds headers with their lengths, lends its
/// bytes, counts its own references, and has its own names of numbers.
const UNUSED_IN_PYTHON: [&str; 22] = [
    "anyhost_open",
    "anyhost_get",
    "anyhost_head",
    "anyhost_delete",
    "anyhost_post",
    "anyhost_put",
    "anyhost_patch",
    "anyhost_version_number",
    "anyhost_status_name",
    "anyhost_state_name",
    "anyhost_phase_name",
    "anyhost_reason_name",
    "anyhost_delivery_name",
    "anyhost_event_name",
    "anyhost_client_ref",
    "anyhost_cancel_ref",
    "anyhost_request_set_header",
    "anyhost_request_add_header",
    "anyhost_request_set_body",
    "anyhost_response_header",
    "anyhost_error_status",
    "anyhost_cancel_is_triggered",
];

/// The functions that the code of the package names as `.anyhost_...`.
fn used_in_python() -> BTreeSet<String> {
    let folder = root().join("packaging/python/src/anyhost");
    let mut used = BTreeSet::new();
    for file in std::fs::read_dir(folder).expect("the package is there") {
        let path = file.expect("it can be listed").path();
        if path.extension().is_some_and(|it| it == "py") {
            let code = std::fs::read_to_string(path).expect("it can be read");
            let names = code.split(".anyhost_").skip(1).map(|rest| {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                format!("anyhost_{}", &rest[..end.unwrap_or(rest.len())])
            });
            used.extend(names);
        }
    }
    used
}

#[test]
fn the_python_package_uses_every_function_and_no_other() {
    let (used, header) = (used_in_python(), functions(&read("include/anyhost.h")));
    let there: BTreeSet<String> = header.into_iter().map(|it| it.name).collect();
    let unused = |name: &&String| !UNUSED_IN_PYTHON.contains(&name.as_str());
    let unreachable: Vec<_> = there.difference(&used).filter(unused).collect();
    assert!(unreachable.is_empty(), "Python cannot reach {unreachable:?}");
    let invented: Vec<_> = used.difference(&there).collect();
    assert!(invented.is_empty(), "the header does not have {invented:?}");
    let idle: Vec<_> = UNUSED_IN_PYTHON.iter().filter(|name| used.contains(**name)).collect();
    assert!(idle.is_empty(), "{idle:?} is used");
}
