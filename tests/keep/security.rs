//! Every test that the page on security names is there.

use crate::{none_of, read, root};

/// The words in backticks of a line.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// What of the page names a test that there is not. A file stands before the names of its tests.
fn missing(page: &str, source: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut findings = Vec::new();
    for paragraph in page.split("\n\n") {
        // A row of a table speaks for itself, other lines go on.
        let lines = paragraph.lines().map(str::trim);
        let joined: Vec<String> = match paragraph.starts_with('|') {
            true => lines.map(str::to_owned).collect(),
            false => vec![lines.collect::<Vec<_>>().join(" ")],
        };
        for line in joined {
            let mut file: Option<(&str, String)> = None;
            for word in quoted(&line) {
                if word.starts_with("tests/") {
                    match source(word) {
                        Some(text) => file = Some((word, text)),
                        None => findings.push(format!("there is no {word}")),
                    }
                    continue;
                }
                let named = word.matches('_').count() > 1 || word.ends_with("urls");
                let is_test = named && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
                let Some((name, text)) = file.as_ref().filter(|_| is_test) else { continue };
                if !text.contains(&format!("fn {word}()")) {
                    findings.push(format!("{name} has no test {word}"));
                }
            }
        }
    }
    findings
}

#[test]
fn the_page_on_security_names_tests_that_there_are() {
    let page = read("src/manual/security.md");
    assert!(page.matches("`tests/").count() > 20);
    none_of(&missing(&page, |file| std::fs::read_to_string(root().join(file)).ok()));
}

#[test]
fn planted_names_are_found() {
    let page = "| a | `tests/x.rs` `a_b_c` |\n| b | `tests/y.rs` |\n\nText (`tests/x.rs`\n`a_b_d`, `max_body`).";
    let source = |file: &str| (file == "tests/x.rs").then(|| "fn a_b_c() {}".to_owned());
    assert_eq!(missing(page, source), ["there is no tests/y.rs", "tests/x.rs has no test a_b_d"]);
}
