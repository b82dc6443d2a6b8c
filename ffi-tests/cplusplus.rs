//! `include/anyhost.hpp`: in every standard it is for, by both compilers, with exceptions and without.

use crate::programs::echo;
use crate::prototypes::functions;
use crate::support::*;
use crate::toolbox::{Build, Program, compile_by, everywhere, installed, read, root};
use std::path::PathBuf;

const STANDARDS: [&str; 4] = ["-std=c++11", "-std=c++14", "-std=c++17", "-std=c++20"];

/// What a header must not make its users' compilers say, beyond what all programs here are held to.
const STRICT: [&str; 6] = [
    "-Wshadow",
    "-Wold-style-cast",
    "-Wconversion",
    "-Wsign-conversion",
    "-Wundef",
    "-Wextra-semi",
];

fn source(name: &str) -> PathBuf {
    root().join("ffi-tests").join(name)
}

/// The servers that `hpp.cc` meets: one refuses, one echoes, one answers 503.
fn passes(program: &Program) {
    let script = Script::from(echo())
        .on("/missing", Reply::status(404).body("no such"))
        .on("/held", Reply::holds());
    let (refusing, server) = (refusing_address(), Server::start(script));
    let unwell = Server::start(Reply::status(503));
    program.run(&[refusing.url(), server.url(), unwell.url()]).passed();

    let count = |server: &Server, path: &str| {
        server.requests().iter().filter(|it| it.target == path).count()
    };
    // The first call moved on. Of the three behind it two threw, and neither tried anything else.
    assert_eq!((count(&unwell, "/callbacks"), count(&server, "/callbacks")), (1, 4));
    for path in ["/judged", "/stopped"] {
        assert_eq!((count(&unwell, path), count(&server, path)), (1, 0), "{path}");
    }
    for path in ["/cancelled", "/late"] {
        assert_eq!(count(&server, path), 0, "{path}");
    }
    let requests = server.requests();
    let put = requests.iter().find(|it| it.target == "/request").expect("it came");
    assert_eq!(put.header("X-Name"), None);
    assert_eq!(requests.iter().filter(|it| it.target == "/request" && it.complete).count(), 5);
    let state = requests.iter().find(|it| it.target == "/state").expect("it came");
    assert_eq!((state.header("X-All"), state.header("X-Secret")), (Some("all"), Some("hidden")));
    let new = requests.iter().find(|it| it.target == "/new").expect("it came");
    assert_eq!(new.header("X-One"), Some("1"));
}

#[test]
fn anyhost_hpp_has_every_function() {
    let layer = read("include/anyhost.hpp");
    let lacking: Vec<String> = functions(&read("include/anyhost.h"))
        .into_iter()
        .map(|function| function.name)
        // An Error knows its status, and headers are added with their lengths.
        .filter(|it| !["anyhost_error_status", "anyhost_request_add_header"].contains(&&**it))
        .filter(|it| {
            !layer.match_indices(it).any(|(i, _)| {
                let next = layer[i + it.len()..].chars().next();
                !next.is_some_and(|c| c.is_ascii_lowercase() || c == '_')
            })
        })
        .collect();
    assert_eq!(lacking, Vec::<String>::new());
}

#[test]
fn anyhost_hpp() {
    everywhere("hpp.cc", passes);
}

#[test]
fn anyhost_hpp_in_every_standard() {
    for compiler in ["g++", "clang++"] {
        if !installed("anyhost.hpp", compiler) {
            continue;
        }
        for standard in STANDARDS {
            passes(&compile_by(compiler, &[standard], &source("hpp.cc"), Build::Shared));
            let strict = [&[standard], &STRICT[..]].concat();
            let quickstart = root().join("examples/cpp/quickstart.cpp");
            compile_by(compiler, &strict, &quickstart, Build::Shared);
        }
        for standard in [STANDARDS[0], STANDARDS[3]] {
            let codes = [standard, "-fno-exceptions", "-fno-rtti"];
            let codes = compile_by(compiler, &codes, &source("hpp_codes.cc"), Build::Shared);
            let (refusing, server) = (refusing_address(), Server::start(echo()));
            codes.run(&[refusing.url(), server.url()]).passed();
        }
    }
}
