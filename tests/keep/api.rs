//! What a Rust program can name, one item a line, in `api.txt`: a change of it is seen in a review.
//!
//! The C contract has its own list, `include/symbols.txt`. `ANYHOST_BLESS=1 cargo test --test keep api`
//! writes this one anew.

use crate::examples::handed_out;
use crate::{read, root, scratch, switch};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const LIST: &str = "tests/keep/api.txt";

/// The modules that are public for tests and benches of the crate alone, and hidden from its pages; and
/// the pages of the manual, which are modules as well.
const HIDDEN: [&str; 5] = ["client", "decide", "manual", "sys", "transport"];

/// Whether a line tells of an item of such a module, and not of one that is shown.
fn is_hidden(line: &str) -> bool {
    let path = line.split_once("anyhost::").map_or("", |(_, path)| path);
    HIDDEN.contains(&word(path))
}

/// The name that a text begins with.
fn word(text: &str) -> &str {
    text.split(|c: char| c != '_' && !c.is_alphanumeric()).next().unwrap_or_default()
}

/// Where a program finds what the layers define: `client::Client` is `Client`, and `sys::Alarm` is
/// `inject::Alarm`. At the root, where it is there too.
fn places(library: &str) -> BTreeMap<String, String> {
    let mut places = BTreeMap::new();
    for part in library.split("\npub mod ") {
        let name = word(part);
        // Of a module in a file of its own, what follows is of the root again.
        let here = part[name.len()..].starts_with(" {");
        let module = if here { format!("{name}::") } else { String::new() };
        for (folder, name) in handed_out(part) {
            let layer = folder.trim_start_matches("src/");
            places.entry(format!("{layer}::{name}")).or_insert(format!("{module}{name}"));
        }
    }
    places
}

/// A line with each name as a program knows it. The listing tells of some by the path that is hidden.
fn shown(line: &str, places: &BTreeMap<String, String>) -> String {
    let mut parts = line.split("anyhost::");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let layer = word(part);
        let name = word(part[layer.len()..].trim_start_matches("::"));
        let place = places.get(&format!("{layer}::{name}"));
        let rest = place.map(|_| &part[layer.len() + "::".len() + name.len()..]);
        shown += "anyhost::";
        shown += place.map_or("", String::as_str);
        shown += rest.unwrap_or(part);
    }
    shown
}

/// What rustdoc knows of the crate, as JSON. An unstable output: asked of the stable rustdoc by a script,
/// since a variable in cargo's environment would have it build its dependencies once more.
fn documented() -> PathBuf {
    let script = scratch("api").join("rustdoc");
    std::fs::write(&script, "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n")
        .expect("writable");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
    let made = Command::new("chmod").arg("+x").arg(&script).status();
    assert!(made.is_ok_and(|made| made.success()), "{}", script.display());
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).env("RUSTDOC", &script).arg("rustdoc");
    cargo.args(["--lib", "--all-features", "--quiet", "--target-dir"]).arg(target).arg("--");
    cargo.args(["-Zunstable-options", "--output-format=json", "--document-hidden-items"]);
    let output = cargo.output().expect("cargo runs this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    target.join("doc/anyhost.json")
}

/// The list as it should be. `None`: this rustdoc writes JSON of another form than is read here.
fn listed() -> Option<String> {
    let api = public_api::Builder::from_rustdoc_json(documented())
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()
        .ok()?;
    let lines: BTreeSet<String> = api.items().map(|item| item.to_string()).collect();
    let places = places(&read("src/lib.rs"));
    let lines: BTreeSet<String> = lines.iter().map(|line| shown(line, &places)).collect();
    Some(lines.into_iter().filter(|line| !is_hidden(line)).map(|line| line + "\n").collect())
}

/// Takes half a minute where the dependencies were not checked before, so that a plain run leaves it out.
#[test]
fn the_api_of_rust_is_the_committed_one() {
    let bless = switch("ANYHOST_BLESS");
    if !cfg!(unix) || !(bless || switch("ANYHOST_FULL")) {
        return println!("SKIPPED the Rust API: ANYHOST_FULL=1 compares it");
    }
    let Some(fresh) = listed() else {
        return println!("SKIPPED the Rust API: this rustdoc writes it in another form");
    };
    assert!(fresh.lines().count() > 500, "{fresh}");
    if bless {
        std::fs::write(root().join(LIST), &fresh).expect("the tree is writable");
    }
    let committed = read(LIST);
    assert!(committed.contains("pub fn anyhost::Client::get("), "read past");
    let of = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (old, new) = (of(&committed), of(&fresh));
    assert!(
        committed == fresh,
        "{LIST} lacks {:#?} and has {:#?}; `ANYHOST_BLESS=1 cargo test --test keep api` writes it anew",
        new.difference(&old).collect::<Vec<_>>(),
        old.difference(&new).collect::<Vec<_>>()
    );
}

#[test]
fn the_api_is_what_is_shown() {
    assert!(is_hidden("pub fn anyhost::client::run::go()"));
    assert!(is_hidden("impl core::fmt::Debug for anyhost::sys::Alarm"));
    assert!(!is_hidden("pub fn anyhost::Client::get(&self) -> anyhost::client::Gone"));
    assert!(!is_hidden("pub mod anyhost::system"));
    let library = "pub mod client;\n\npub use client::{Attempt, Client};\npub use decide::Phase;\n\npub mod inject {\n    \
                   pub use crate::decide::Phase;\n    pub use crate::transport::{Attempt, Wake};\n}\n";
    let places = places(library);
    for (raw, known) in [
        (
            "anyhost::client::Client::set(anyhost::decide::Phase)",
            "anyhost::Client::set(anyhost::Phase)",
        ),
        ("<anyhost::client::Attempt>", "<anyhost::Attempt>"),
        ("(anyhost::transport::Attempt<'_>)", "(anyhost::inject::Attempt<'_>)"),
        ("anyhost::inject::Wake::wake()", "anyhost::inject::Wake::wake()"),
    ] {
        assert_eq!(shown(raw, &places), known);
    }
    assert!(is_hidden(&shown("pub fn anyhost::client::Gone::get()", &places)));
}
