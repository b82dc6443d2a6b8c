//! The manual's page on numbered rules says the truth: each row it calls kept is named in the file it
//! points at.

use crate::{none_of, read};

#[test]
fn every_row_called_kept_is_named_by_its_test() {
    let page = read("src/manual/vectors.md");
    let kept =
        page.split("## ").find(|part| part.starts_with("Kept")).expect("a part on what is kept");
    let rows: Vec<&str> = kept.lines().filter(|line| line.contains("`tests/")).collect();
    assert!(rows.len() > 10, "{rows:?}");
    let missing: Vec<String> = rows.into_iter().flat_map(missing).collect();
    none_of(&missing);
}

/// The numbers of a row that its file does not name.
fn missing(row: &str) -> Vec<String> {
    let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
    let file = cells[2].trim_matches('`');
    let text = read(file);
    let (first, last) = cells[0].split_once(" to ").expect("a range");
    let digits = first.find(|c: char| c.is_ascii_digit()).expect("a number");
    let family = &first[..digits];
    let from: u32 = first[digits..].parse().expect("a number");
    let to: u32 = last[digits..].parse().expect("a number");
    (from..=to)
        .filter(|number| !names(&text, family, *number))
        .map(|number| format!("{file} does not name {family}{number}"))
        .collect()
}

/// Whether a text names a vector: as it is written, as part of a range, or in the name of a test.
fn names(text: &str, family: &str, number: u32) -> bool {
    let plain = format!("{family}{number}");
    let written = text
        .match_indices(&plain)
        .any(|(at, _)| !text[at + plain.len()..].starts_with(|c: char| c.is_ascii_digit()));
    let letters = family.replace('-', "").to_lowercase();
    let in_name = [format!("{letters}{number:02}_"), format!("{letters}_{number}_")]
        .iter()
        .any(|name| text.contains(name.as_str()));
    written || in_name || in_range(text, family, number)
}

fn in_range(text: &str, family: &str, number: u32) -> bool {
    let leading = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse::<u32>().ok()
    };
    let between = format!(" to {family}");
    text.match_indices(family).any(|(at, _)| {
        let rest = &text[at + family.len()..];
        let Some(from) = leading(rest) else { return false };
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let to = rest.strip_prefix(&between).and_then(leading);
        to.is_some_and(|to| (from..=to).contains(&number))
    })
}

/// A test of the test.
#[test]
fn a_number_is_found_as_it_is_written_and_nowhere_else() {
    for (text, number, found) in [
        ("(\"A-W1\", 5)", 1, true),
        ("(\"A-W10\", 5)", 1, false),
        ("fn aw01_falls()", 1, true),
        ("A-W1 to A-W3", 2, true),
        ("A-W1 to A-W3", 4, false),
        ("nothing", 1, false),
    ] {
        assert_eq!(names(text, "A-W", number), found, "{text} {number}");
    }
}
