//! What the pages name is there: files, tests, switches of the environment, examples.

use crate::{files, none_of, read, root};
use std::path::PathBuf;

/// The folders that a page may name a file of.
const FOLDERS: [&str; 8] =
    ["tests/", "ffi-tests/", "src/", "examples/", "include/", "packaging/", "benches/", "fuzz/"];

/// Those of tests, whose names may follow.
const TESTS: [&str; 3] = ["tests/", "ffi-tests/", "src/"];

/// README.md and the manual.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![PathBuf::from("README.md")];
    pages.extend(files("src/manual", "md"));
    pages
}

/// The words in backticks of a line.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The paragraphs of a page, each on one line; a row of a table speaks for itself. No code.
fn paragraphs(page: &str) -> Vec<String> {
    let prose: String = page.split("\n```").step_by(2).collect::<Vec<_>>().join("\n\n");
    let mut found = Vec::new();
    for paragraph in prose.split("\n\n") {
        let lines = paragraph.lines().map(str::trim);
        match paragraph.starts_with('|') {
            true => found.extend(lines.map(str::to_owned)),
            false => found.push(lines.collect::<Vec<_>>().join(" ")),
        }
    }
    found
}

/// The code of a file, or of all files below a folder. None if there is neither.
fn code(name: &str) -> Option<String> {
    let path = root().join(name);
    let folder = name.split('/').next().expect("it begins somewhere");
    if !root().join(folder).is_dir() {
        // The archive of the crate leaves it out.
        return Some(String::new());
    }
    if path.is_dir() {
        return Some(files(name, "rs").iter().map(read).collect());
    }
    path.is_file().then(|| std::fs::read_to_string(path).unwrap_or_default())
}

/// What of the page names a file or a test that there is not. A file stands before the names of its tests.
fn missing(page: &str, code: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut findings = Vec::new();
    for line in paragraphs(page) {
        let mut file: Option<(&str, String)> = None;
        for word in quoted(&line) {
            if FOLDERS.iter().any(|folder| word.starts_with(folder)) && !word.contains([' ', '*']) {
                match code(word) {
                    Some(text) if TESTS.iter().any(|folder| word.starts_with(folder)) => {
                        file = Some((word, text));
                    }
                    Some(_) => {}
                    None => findings.push(format!("there is no {word}")),
                }
                continue;
            }
            let named = word.matches('_').count() > 1 || word.ends_with("urls");
            let is_test = named
                && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
            let Some((name, text)) = file.as_ref().filter(|_| is_test) else { continue };
            if !text.contains(&format!("fn {word}(")) {
                findings.push(format!("{name} has no test {word}"));
            }
        }
    }
    findings
}

#[test]
fn the_pages_name_files_and_tests_that_there_are() {
    assert!(read("src/manual/security.md").matches("`tests/").count() > 20);
    let mut findings = Vec::new();
    for page in pages() {
        let missing = missing(&read(&page), code);
        findings.extend(missing.iter().map(|it| format!("{}: {it}", page.display())));
    }
    none_of(&findings);
}

/// The words of a text that begin so, with what may go on with them.
fn words<'a>(
    text: &'a str,
    start: &'a str,
    more: fn(char) -> bool,
) -> impl Iterator<Item = &'a str> {
    text.match_indices(start).map(move |(at, _)| {
        let rest = &text[at + start.len()..];
        &text[at..at + start.len() + rest.find(|c| !more(c)).unwrap_or(rest.len())]
    })
}

#[test]
fn the_pages_name_switches_and_examples_that_there_are() {
    let mut sources = ["include/anyhost.h", "include/anyhost.hpp", "build.rs"].map(read).concat();
    for (folder, extension) in [
        ("tests", "rs"),
        ("ffi-tests", "rs"),
        ("ffi-tests", "h"),
        ("benches", "rs"),
        ("packaging", "py"),
        ("examples", "py"),
    ] {
        sources.extend(files(folder, extension).iter().map(read));
    }
    let mut findings = Vec::new();
    for page in pages() {
        let text = read(&page);
        for name in words(&text, "ANYHOST_", |c| c.is_ascii_uppercase() || c == '_') {
            if !sources.contains(name) {
                findings.push(format!("{}: nobody reads {name}", page.display()));
            }
        }
        for (command, folder) in [("--example ", "examples"), ("--test ", "tests")] {
            for word in words(&text, command, |c| c.is_ascii_lowercase() || c == '_') {
                let name = &word[command.len()..];
                let there = [format!("{folder}/{name}.rs"), format!("{folder}/{name}/main.rs")];
                // Named in Cargo.toml with another folder.
                let there = there.iter().any(|file| root().join(file).exists()) || name == "ffi";
                if !there {
                    findings.push(format!("{}: there is no `{word}`", page.display()));
                }
            }
        }
    }
    none_of(&findings);
}

#[test]
fn what_is_built_beside_the_sources_is_not_packed() {
    if !root().join(".gitignore").exists() {
        return; // This is what was packed.
    }
    let manifest = read("Cargo.toml");
    let ignored = read(".gitignore");
    let missing: Vec<String> = ignored
        .lines()
        .filter(|line| *line != "/target" && !manifest.contains(&format!("\n  \"!{line}\",\n")))
        .map(|line| format!("`include` of Cargo.toml takes in {line}"))
        .collect();
    assert!(ignored.lines().count() > 4);
    none_of(&missing);
}

#[test]
fn planted_names_are_found() {
    let page = "| a | `tests/x.rs` `a_b_c` |\n| b | `tests/y.rs` |\n\nText (`tests/x.rs`\n`a_b_d`, `max_body`).";
    let code = |file: &str| (file == "tests/x.rs").then(|| "fn a_b_c() {}".to_owned());
    assert_eq!(missing(page, code), ["there is no tests/y.rs", "tests/x.rs has no test a_b_d"]);
    assert_eq!(missing("a\n```\n`tests/y.rs`\n```\nb", code), [""; 0]);
    let upper = |c: char| c.is_ascii_uppercase();
    assert_eq!(words("a X_AB=1 X_C", "X_", upper).collect::<Vec<_>>(), ["X_AB", "X_C"]);
}
