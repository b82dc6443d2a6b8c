//! What people are told to type is there, and every link of the pages leads somewhere.
//!
//! The Rust examples of the pages are compiled as doc tests, not here.

use crate::{files, none_of, read, root};
use std::path::{Path, PathBuf};

/// The commands a visitor tries first.
const COMMANDS: [&str; 2] = ["cargo run --example quickstart", "cargo test"];

/// A page's lines, each with whether it is inside a fenced block.
fn lines(page: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut fence: Option<&str> = None;
    page.lines().map(move |line| {
        let text = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| text.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => return (line, fence.is_some()),
        }
        // A fence belongs to neither side.
        ("", false)
    })
}

/// Whether a fenced block of the page has this command on a line of its own.
fn offers(page: &str, command: &str) -> bool {
    lines(page).any(|(line, fenced)| {
        let line = line.trim().trim_start_matches("$ ");
        fenced && line.split(" #").next().is_some_and(|typed| typed.trim() == command)
    })
}

/// The targets of a page's links, with their lines: `[text](target)` and `[name]: target`.
fn links(page: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, (line, fenced)) in lines(page).enumerate() {
        if fenced {
            continue;
        }
        // Code spans hold no links.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
        for (i, _) in prose.match_indices("](") {
            let target = prose[i + 2..].split([')', ' ']).next().unwrap_or_default();
            found.push((number + 1, target.to_owned()));
        }
        if prose.starts_with('[') {
            if let Some((_, target)) = prose.split_once("]: ") {
                found.push((number + 1, target.split(' ').next().unwrap_or_default().to_owned()));
            }
        }
    }
    found
}

/// The links of a page in this folder that lead to no file.
fn broken(name: &str, folder: &Path, page: &str) -> Vec<String> {
    links(page)
        .into_iter()
        .filter(|(_, target)| {
            let elsewhere = target.contains("://") || target.starts_with("mailto:");
            // `crate::Client` is rustdoc's to follow, `#part` the reader's.
            let inside = target.contains("::") || target.starts_with('#');
            let file = target.split('#').next().unwrap_or_default();
            !elsewhere && !inside && (file.is_empty() || !folder.join(file).exists())
        })
        .map(|(line, target)| format!("{name}:{line}: `{target}` leads nowhere"))
        .collect()
}

#[test]
fn the_first_commands_are_offered() {
    let page = read("README.md");
    for command in COMMANDS {
        assert!(offers(&page, command), "README.md has no block with `{command}`");
    }
    assert!(root().join("examples/quickstart.rs").exists(), "the example README.md names is there");
}

#[test]
fn every_link_leads_somewhere() {
    let mut pages = vec![PathBuf::from("README.md"), PathBuf::from("CHANGELOG.md")];
    pages.extend(files("src/manual", "md"));
    let mut findings = Vec::new();
    for page in pages {
        let folder = root().join(&page);
        let folder = folder.parent().expect("a page is in a folder");
        findings.extend(broken(&page.display().to_string(), folder, &read(&page)));
    }
    none_of(&findings);
}

#[test]
fn planted_mistakes_are_found() {
    let page = "`cargo test`\n\n```sh\n$ cargo run --example quickstart   # two servers\ncargo testing\n```\ncargo test\n";
    assert!(offers(page, "cargo run --example quickstart"));
    assert!(!offers(page, "cargo test"), "neither in prose nor as part of another command");

    let page = "[a](Cargo.toml), [b](https://example.org), [c](gone.md#part) and `[d](no.md)`\n\
                ```\n[e](no.md)\n```\n[f]: missing.md\n[g](#part) [h](crate::Client) ![i](src)\n[j]()\n";
    let findings = broken("page.md", root(), page);
    assert_eq!(
        findings,
        [
            "page.md:1: `gone.md#part` leads nowhere".to_owned(),
            "page.md:5: `missing.md` leads nowhere".to_owned(),
            "page.md:7: `` leads nowhere".to_owned(),
        ]
    );
}
