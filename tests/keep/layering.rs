//! Which part of the library may name which, read from the sources.
//!
//! The table below is the architecture. The check is textual, so the code keeps to a form it can see:
//! another layer is named `crate::layer::…`, and `super::super` is not written at all.

use crate::source::{Path, paths, reads, tests_begin, tokens};
use crate::{files, none_of, read, root};

/// One folder of `src` and what it may name.
struct Layer {
    name: &'static str,
    /// Other layers.
    may: &'static [&'static str],
    /// May name what the crate root exports again. Kept from the layers below `client`, which could
    /// reach everything that way.
    root: bool,
    /// Holds `unsafe` code.
    unsafe_code: bool,
}

const LAYERS: [Layer; 5] = [
    Layer { name: "decide", may: &[], root: false, unsafe_code: false },
    Layer { name: "sys", may: &[], root: false, unsafe_code: false },
    Layer { name: "transport", may: &["decide", "sys"], root: false, unsafe_code: true },
    Layer { name: "client", may: &["decide", "sys", "transport"], root: true, unsafe_code: false },
    Layer { name: "ffi", may: &["client"], root: true, unsafe_code: true },
];

/// What `src` holds beside the layers.
const ROOT: [&str; 2] = ["lib.rs", "manual"];

/// Crates that only the transport knows: their releases are not ours.
const TRANSPORT_ONLY: [&str; 6] = [
    "ureq",
    "ureq_proto",
    "rustls",
    "rustls_native_certs",
    "rustls_platform_verifier",
    "webpki_roots",
];

/// What of `std` is no value: a decision made of these could not be repeated from its arguments.
const IMPURE: [&str; 7] = ["fs", "net", "thread", "env", "process", "io", "os"];

/// Unordered, so that iterating draws from a hidden source of chance.
const UNORDERED: [&str; 2] = ["HashMap", "HashSet"];

/// Everything in one source file (`file` is its path below `src`) that the table forbids.
fn check(file: &str, source: &str, dependencies: &[String]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut say = |line: usize, what: String| findings.push(format!("src/{file}:{line}: {what}"));

    let top = file.split('/').next().unwrap_or(file);
    let layer = LAYERS.iter().find(|layer| layer.name == top);
    if layer.is_none() && !ROOT.contains(&top) {
        say(1, format!("`{top}` is no layer: give it a row in the table or move it into one"));
    }

    let tokens = tokens(source);
    let whole_file_tests = file.ends_with("/tests.rs") || file.contains("/tests/");
    let code = if whole_file_tests { 0 } else { tests_begin(&tokens) };

    for path in paths(&tokens) {
        if path.starts_with(&["super", "super"]) {
            say(path.line, "`super::super`: write the path from `crate`".into());
        }
        if let Some(layer) = layer {
            if let Some(what) = beyond(layer, file, &path) {
                say(path.line, what);
            }
        }
    }
    for path in paths(&tokens[..code]) {
        if top != "transport" && TRANSPORT_ONLY.contains(&path.part(0)) {
            say(path.line, format!("`{}` belongs to `transport` alone", path.part(0)));
        }
        if top == "decide" {
            if let Some(what) = impure(&path, dependencies) {
                say(path.line, format!("{what}: `decide` works on values"));
            }
        }
    }
    for (i, token) in tokens[..code].iter().enumerate() {
        if token.text == "unsafe" && !layer.is_some_and(|layer| layer.unsafe_code) {
            say(
                token.line,
                "`unsafe` has its place in `ffi` and, for system calls, `transport`".into(),
            );
        }
        if top == "decide" && reads(&tokens, i, ". elapsed") {
            say(token.line, "`elapsed` reads the clock: take `now` as an argument".into());
        }
    }
    findings
}

/// Why a path may not be named in this layer, if it may not.
fn beyond(layer: &Layer, file: &str, path: &Path) -> Option<String> {
    let from_root = ["crate", "anyhost"].contains(&path.part(0));
    // In a layer's own file `super` is the crate's root.
    let top_file = file == format!("{}/mod.rs", layer.name) || file == format!("{}.rs", layer.name);
    let through_super = top_file && path.part(0) == "super";
    if !(from_root || through_super) || path.parts.len() < 2 {
        return None;
    }
    let named = path.part(1);
    let known = LAYERS.iter().any(|other| other.name == named);
    if known && named != layer.name && !layer.may.contains(&named) {
        return Some(format!("`{}` may not name `{named}`", layer.name));
    }
    if from_root && !known && !layer.root {
        return Some(format!(
            "`{}`: name a layer, not the root, from `{}`",
            path.parts.join("::"),
            layer.name
        ));
    }
    None
}

/// What is impure about a path, if anything.
fn impure(path: &Path, dependencies: &[String]) -> Option<String> {
    let whole = path.parts.join("::");
    let first = path.part(0);
    if path.parts.len() > 1 && dependencies.iter().any(|name| name == first) {
        return Some(format!("`{whole}` is another crate's"));
    }
    if ["std", "core", "alloc"].contains(&first) {
        let second = path.part(1);
        let shared = second == "sync" && path.part(2) != "Arc";
        if IMPURE.contains(&second) || second == "*" || second.is_empty() || shared {
            return Some(format!("`{whole}`"));
        }
    }
    if path.parts.iter().any(|part| UNORDERED.contains(&part.as_str())) {
        return Some(format!("`{whole}` has no order"));
    }
    if path.parts.iter().any(|part| part == "SystemTime")
        || path.parts.ends_with(&["Instant".into(), "now".into()])
    {
        return Some(format!("`{whole}` reads a clock"));
    }
    None
}

/// The crates of the manifest's `[dependencies]`, as the code names them.
fn dependencies() -> Vec<String> {
    // In the archive of the crate cargo has written the manifest anew, and ours beside it.
    let ours =
        ["Cargo.toml.orig", "Cargo.toml"].into_iter().find(|name| root().join(name).exists());
    let manifest = read(ours.expect("there is a manifest"));
    let section =
        manifest.split("\n[dependencies]\n").nth(1).expect("the manifest has dependencies");
    section
        .lines()
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| !name.starts_with('#'))
        .map(|(name, _)| name.trim().replace('-', "_"))
        .collect()
}

#[test]
fn every_file_names_only_what_its_layer_may() {
    let dependencies = dependencies();
    assert!(dependencies.iter().any(|name| name == "ureq"), "{dependencies:?}");
    let files = files("src", "rs");
    assert!(!files.is_empty());
    let mut findings = Vec::new();
    for file in files {
        let below =
            file.strip_prefix("src").expect("listed below src").to_str().expect("ASCII names");
        findings.extend(check(below, &read(&file), &dependencies));
    }
    none_of(&findings);
}

/// Plants one line in a file of a layer and returns whether it is found, on its line.
fn found(file: &str, planted: &str) -> bool {
    let source = format!("//! Why.\n\n{planted}\n");
    let findings = check(file, &source, &["url".to_owned(), "parking_lot".to_owned()]);
    let at = format!("src/{file}:3: ");
    assert!(findings.iter().all(|finding| finding.starts_with(&at)), "{findings:?}");
    !findings.is_empty()
}

#[test]
fn planted_violations_are_found() {
    for (file, planted) in [
        ("decide/pick.rs", "use crate::sys::Rng;"),
        ("decide/pick.rs", "use crate::{decide::Report, transport::Answer};"),
        ("decide/pick.rs", "fn f() { crate::client::run() }"),
        ("decide/pick.rs", "use crate::Client;"),
        ("decide/pick.rs", "use crate::*;"),
        ("decide/pick.rs", "use anyhost::client::Client;"),
        ("decide/mod.rs", "use super::sys::Rng;"),
        ("decide/pick.rs", "use super::super::sys;"),
        ("decide/pick.rs", "use url::Url;"),
        ("decide/pick.rs", "fn f(x: &url::Url) {}"),
        ("decide/pick.rs", "use std::{fmt, net::TcpStream};"),
        ("decide/pick.rs", "use std::sync::{Arc, Mutex};"),
        ("decide/pick.rs", "use std::sync::atomic::AtomicU64;"),
        ("decide/pick.rs", "use std as s;"),
        ("decide/pick.rs", "fn f() -> std::io::Result<()> { todo!() }"),
        ("decide/pick.rs", "use std::collections::HashMap;"),
        ("decide/pick.rs", "use parking_lot::Mutex;"),
        ("decide/pick.rs", "let now = Instant::now();"),
        ("decide/pick.rs", "let now = std::time::SystemTime::UNIX_EPOCH;"),
        ("decide/pick.rs", "let age = since.elapsed();"),
        ("decide/pick.rs", "unsafe { f() }"),
        ("sys/clock.rs", "use crate::decide::Report;"),
        ("sys/clock.rs", "use crate::Error;"),
        ("sys/clock.rs", "unsafe { f() }"),
        ("transport/agent.rs", "use crate::client::Error;"),
        ("transport/agent.rs", "use crate::ffi;"),
        ("transport/agent.rs", "use crate::Error;"),
        ("client/run.rs", "use crate::ffi::guard;"),
        ("client/run.rs", "use ureq::Agent;"),
        ("client/run.rs", "fn f(e: rustls::Error) {}"),
        ("client/run.rs", "unsafe { f() }"),
        ("ffi/client.rs", "use crate::transport::Answer;"),
        ("ffi/client.rs", "use crate::decide::Phase;"),
        ("ffi/client.rs", "use crate::sys::now;"),
        ("lib.rs", "pub use ureq::Agent;"),
        ("helpers/mod.rs", ""),
        ("decide/pick.rs", "#[cfg(test)] mod tests { use crate::sys::Rng; }"),
        ("decide/pick.rs", "#[cfg(test)] mod tests { use super::super::Report; }"),
    ] {
        if file == "helpers/mod.rs" {
            assert!(check(file, planted, &[])[0].contains("`helpers` is no layer"));
        } else {
            assert!(found(file, planted), "{file}: {planted}");
        }
    }
}

#[test]
fn what_the_table_allows_is_not_reported() {
    for (file, harmless) in [
        (
            "decide/pick.rs",
            "use crate::decide::Report; use std::{fmt, sync::Arc, time::{Duration, Instant}};",
        ),
        ("decide/pick.rs", "use super::report::Report; use std::collections::BTreeMap;"),
        (
            "decide/pick.rs",
            "/// Never `crate::sys::now()`; see std::net.\npub(crate) const TEXT: &str = \"ureq::Agent\";",
        ),
        (
            "decide/pick.rs",
            "#[cfg(test)] mod tests { use super::*; use std::collections::HashMap; }",
        ),
        ("decide/mod.rs", "mod report; pub use report::Report;"),
        ("sys/rng.rs", "use rand::Rng; use std::thread;"),
        (
            "transport/agent.rs",
            "use crate::{decide::Report, sys}; use ureq::Agent; fn f() { unsafe { g() } }",
        ),
        ("client/run.rs", "use crate::{decide, sys, transport, Error}; use parking_lot::Mutex;"),
        (
            "ffi/client.rs",
            "use crate::{Client, client::Error}; use super::guard; fn f() { unsafe { g() } }",
        ),
        ("lib.rs", "pub mod decide; pub use client::Client;"),
    ] {
        assert_eq!(
            check(file, harmless, &["url".to_owned()]),
            Vec::<String>::new(),
            "{file}: {harmless}"
        );
    }
}
