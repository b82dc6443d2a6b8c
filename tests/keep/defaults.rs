//! The table of options in the manual says what the code does, and what a Rust program calls it.

use crate::read;
use std::collections::{BTreeMap, BTreeSet};

/// A row of the table: the default, whether a request may set it, the method, the bounds, and why.
struct Row<'a> {
    name: &'a str,
    default: &'a str,
    for_requests: bool,
    method: &'a str,
    bounds: &'a str,
    why: &'a str,
}

fn rows(page: &str) -> Vec<Row<'_>> {
    let row = |line| {
        let cells: Vec<&str> = str::split(line, '|').map(str::trim).collect();
        let [_, name, default, request, method, bounds, why, _] = cells[..] else {
            panic!("six cells: {line}")
        };
        let name = name.trim_matches('`');
        let method = if method.is_empty() { name } else { method.trim_matches('`') };
        let default = default.trim_matches('`');
        Row { name, default, for_requests: request == "yes", method, bounds, why }
    };
    page.lines().filter(|line| line.starts_with("| `")).map(row).collect()
}

#[test]
fn the_manual_lists_every_option_with_its_default() {
    let page = read("src/manual/defaults.md");
    let told: BTreeMap<&str, (&str, bool)> =
        rows(&page).iter().map(|row| (row.name, (row.default, row.for_requests))).collect();
    let coded: BTreeMap<&str, (&str, bool)> = anyhost::options()
        .iter()
        .map(|option| (option.name(), (option.default(), option.is_for_requests())))
        .collect();
    assert_eq!(told, coded);
    for row in rows(&page) {
        assert!(!row.bounds.is_empty(), "{} has no bounds", row.name);
        assert!(!row.why.is_empty(), "{} has no reason", row.name);
    }
}

/// The public methods that a file of the client has.
fn methods(files: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in files {
        let code = read(file);
        let names = code.split("pub fn ").skip(1).map(|rest| {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            rest[..end.unwrap_or(rest.len())].to_owned()
        });
        found.extend(names);
    }
    found
}

/// From C, Python and files every option is there by its name, which `ffi-tests/builder.c`,
/// `packaging/python/tests/test_calls.py` and `tests/wire/config.rs` see to.
#[test]
fn every_option_has_a_method_of_the_rust_builder() {
    let calls = methods(&["src/client/call_setters.rs"]);
    let clients = methods(&[
        "src/client/builder.rs",
        "src/client/builder/settings.rs",
        "src/client/proxy_settings.rs",
    ]);
    for row in rows(&read("src/manual/defaults.md")) {
        let methods = if row.for_requests { &calls } else { &clients };
        assert!(methods.contains(row.method), "{}: there is no method {}", row.name, row.method);
    }
}
