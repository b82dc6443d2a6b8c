//! The table of options in the manual says what the code does.

use crate::read;
use std::collections::BTreeMap;

#[test]
fn the_manual_lists_every_option_with_its_default() {
    let page = read("src/manual/defaults.md");
    let told: BTreeMap<&str, (&str, bool)> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .map(|row| {
            let mut cells = row.split(" | ");
            let name = cells.next().unwrap().trim_end_matches('`');
            let default = cells.next().unwrap().trim_matches('`');
            (name, (default, cells.next().unwrap().trim() == "yes"))
        })
        .collect();
    let coded: BTreeMap<&str, (&str, bool)> = anyhost::options()
        .iter()
        .map(|option| (option.name(), (option.default(), option.is_for_requests())))
        .collect();
    assert_eq!(told, coded);
}
