//! The promised numbers: what a C compiler makes of the header is what was frozen, and what the Rust
//! API says.
//!
//! `numbers.txt` holds every enumerator and macro with its value. Lines may be added to it, never
//! changed or taken away: programs compiled long ago have these numbers in them. The version is not
//! among them.

use crate::toolbox::{Build, compile_file, read, scratch};
use anyhost::{Delivery, Phase, Reason, Status};
use std::collections::BTreeMap;
use std::fmt::Write;

fn frozen() -> BTreeMap<String, u32> {
    let text = read("ffi-tests/numbers.txt");
    let numbers: BTreeMap<String, u32> = text
        .lines()
        .map(|line| {
            let (name, value) = line.split_once(' ').expect("a name and a number");
            (name.to_owned(), value.parse().expect("a number"))
        })
        .collect();
    assert_eq!(numbers.len(), text.lines().count(), "every name once");
    numbers
}

/// The enumerators and the macros with a number, by name.
fn names(header: &str) -> Vec<String> {
    let enumerators = header.lines().filter_map(|line| {
        let (name, value) = line.trim().trim_end_matches(',').split_once(" = ")?;
        (name.starts_with("ANYHOST_") && value.parse::<u32>().is_ok()).then(|| name.to_owned())
    });
    let macros = header.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("#define ANYHOST_")?.split_once(' ')?;
        (name != "API").then(|| format!("ANYHOST_{name}"))
    });
    enumerators.chain(macros).collect()
}

/// What the C compiler takes each name for, and what the library calls the number.
fn printed(names: &[String]) -> Vec<String> {
    let mut program = "#include \"check.h\"\n\nint main(void) {\n".to_owned();
    for name in names {
        writeln!(program, "    printf(\"{name} %lu\\n\", (unsigned long){name});").expect("text");
    }
    program.push_str("    return passed();\n}\n");
    let file = scratch().join("numbers.c");
    std::fs::write(&file, program).expect("the folder is writable");
    let said = compile_file(&file, Build::Shared).run::<&str>(&[]).passed();
    said.lines().map(str::to_owned).collect()
}

#[test]
fn the_numbers_are_those_that_were_promised() {
    let names = names(&read("include/anyhost.h"));
    let (versions, promised): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|name| name.starts_with("ANYHOST_VERSION_"));

    let frozen = frozen();
    let mut got: Vec<String> = printed(&promised);
    let mut expected: Vec<String> =
        frozen.iter().map(|(name, value)| format!("{name} {value}")).collect();
    got.sort();
    expected.sort();
    assert_eq!(got, expected, "new numbers are added to ffi-tests/numbers.txt, old ones stay");

    let part = |name: &str| -> u32 {
        let text = match name {
            "MAJOR" => env!("CARGO_PKG_VERSION_MAJOR"),
            "MINOR" => env!("CARGO_PKG_VERSION_MINOR"),
            _ => env!("CARGO_PKG_VERSION_PATCH"),
        };
        text.parse().expect("cargo checks versions")
    };
    let whole = part("MAJOR") * 10_000 + part("MINOR") * 100 + part("PATCH");
    assert_eq!(
        printed(&versions),
        [
            format!("ANYHOST_VERSION_MAJOR {}", part("MAJOR")),
            format!("ANYHOST_VERSION_MINOR {}", part("MINOR")),
            format!("ANYHOST_VERSION_PATCH {}", part("PATCH")),
            format!("ANYHOST_VERSION_NUMBER {whole}"),
        ]
    );
}

#[test]
fn the_numbers_are_those_of_the_rust_api() {
    let frozen = frozen();
    let family = |prefix: &str| -> BTreeMap<String, i32> {
        let of = frozen.iter().filter_map(|(name, value)| {
            Some((name.strip_prefix(prefix)?.to_lowercase(), i32::try_from(*value).ok()?))
        });
        of.collect()
    };
    let statuses = Status::ALL.iter().map(|it| (it.name().to_lowercase(), it.code()));
    assert_eq!(family("ANYHOST_E_"), statuses.collect());
    let phases = Phase::ALL.iter().map(|it| (it.name().to_owned(), it.code()));
    assert_eq!(family("ANYHOST_PHASE_"), phases.collect());
    let reasons = Reason::ALL.iter().map(|it| (it.name().to_owned(), it.code()));
    assert_eq!(family("ANYHOST_REASON_"), reasons.collect());
    let deliveries = Delivery::ALL.iter().map(|it| (it.name().to_owned(), it.code()));
    assert_eq!(family("ANYHOST_DELIVERY_"), deliveries.collect());
}

/// What a program sees of the library it runs with.
#[test]
fn the_library_says_which_it_is() {
    let file = scratch().join("version.c");
    let program = "#include \"check.h\"\n\nint main(void) {\n\
                   SAME(anyhost_version_number(), ANYHOST_VERSION_NUMBER);\n\
                   SAME(anyhost_abi(), ANYHOST_ABI);\n\
                   PART(anyhost_build_info(), anyhost_version());\n\
                   puts(anyhost_version());\nreturn passed();\n}\n";
    std::fs::write(&file, program).expect("the folder is writable");
    let said = compile_file(&file, Build::Shared).run::<&str>(&[]).passed();
    assert_eq!(said.trim_end(), env!("CARGO_PKG_VERSION"));
}
