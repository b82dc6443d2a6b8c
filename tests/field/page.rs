//! The page of the manual names the tests that there are, and no others.

use std::collections::BTreeMap;

const PAGE: &str = include_str!("../../src/manual/field.md");

const SOURCES: &[&str] = &[
    include_str!("breaker.rs"),
    include_str!("clock.rs"),
    include_str!("concurrency.rs"),
    include_str!("config.rs"),
    include_str!("dns.rs"),
    include_str!("failover.rs"),
    include_str!("ipv6.rs"),
    include_str!("proxies.rs"),
    include_str!("redirects.rs"),
    include_str!("decompression.rs"),
    include_str!("framing.rs"),
    include_str!("keep_alive.rs"),
    include_str!("retry.rs"),
    include_str!("retry_after.rs"),
    include_str!("statuses.rs"),
    include_str!("streaming.rs"),
    include_str!("timeouts.rs"),
    include_str!("tls.rs"),
    include_str!("urls.rs"),
    include_str!("weights.rs"),
    // Programs in C.
    include_str!("../../ffi-tests/field.rs"),
];

/// Every number of the reports. Others were duplicates of these, and left out when they were reduced.
const REPORTED: &[u16] = &[
    1, 3, 5, 7, 9, 11, 13, 14, 16, 18, 20, 23, 24, 26, 28, 30, 31, 33, 35, 37, 39, 41, 43, 45, 47,
    49, 51, 52, 54, 56, 58, 60, 61, 63, 65, 67, 69, 71, 73, 75, 76, 78, 80, 82, 84, 86, 88, 90, 92,
    94, 96, 98, 100, 102, 104, 106, 108, 110, 112, 114, 116, 118, 120, 121, 123, 125, 127, 129,
    131, 133, 135, 137, 138, 140, 142, 144, 146, 148, 150, 152, 154, 156, 158, 160, 162, 164, 166,
    168, 169, 171,
];

/// Kept by tests outside, which the page names by their file.
const ELSEWHERE: &[&str] = &["148"];

/// How often each number follows this text, which stands before the digits.
fn numbers<'a>(texts: &[&'a str], before: &str) -> BTreeMap<&'a str, usize> {
    let mut found = BTreeMap::new();
    for after in texts.iter().flat_map(|text| text.split(before).skip(1)) {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            *found.entry(&after[..digits]).or_default() += 1;
        }
    }
    found
}

#[test]
fn the_page_and_the_tests_agree() {
    let tests = numbers(SOURCES, "\nfn f");
    assert!(tests.len() >= 50, "{:?}", tests.keys());
    for (number, count) in &tests {
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| F{number} ")));
        let row = row.unwrap_or_else(|| panic!("the page has no row F{number}"));
        let said = match count {
            1 => format!("`f{number}`"),
            2 => format!("`f{number}`, two tests"),
            3 => format!("`f{number}`, three tests"),
            _ => panic!("F{number} has {count} tests"),
        };
        let alone = *count > 1 || !row.contains(" tests");
        assert!(row.contains(&said) && alone, "{count} tests: {row}");
    }
    let rows = numbers(&[PAGE], "\n| F");
    for number in REPORTED.iter().map(|n| format!("{n:02}")) {
        assert_eq!(rows.get(&*number), Some(&1), "F{number} has no row of its own on the page");
        let kept = tests.contains_key(&*number) || ELSEWHERE.contains(&&*number);
        assert!(kept, "F{number} is kept by no test");
    }
    assert_eq!(rows.len(), REPORTED.len(), "the page has a row that nobody reported");
    for number in numbers(&[PAGE], "`f").keys() {
        assert!(tests.contains_key(number), "the page names `f{number}`, which nobody wrote");
    }
}
