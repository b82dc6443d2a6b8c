//! Every public type and function has an example: in its own documentation, or in that of the neighbour
//! which it names (`Example: [...]`).
//!
//! Methods are not asked for one each: a type's example shows those that belong together.

use crate::{files, none_of, read};

/// The names that a library hands out of its layers, each with the folder it is defined in.
fn handed_out(library: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for part in library.split("pub use ").skip(1) {
        let list = part.split(';').next().expect("it ends");
        let (from, names) = list.split_once("::{").or(list.rsplit_once("::")).expect("a path");
        let layer = from.trim_start_matches("crate::").split("::").next().expect("a layer");
        for name in names.trim_end_matches('}').split(',').map(str::trim) {
            if !name.is_empty() && layer != "http" {
                found.push((format!("src/{layer}"), name.to_owned()));
            }
        }
    }
    found
}

/// The documentation above each definition of this name: there may be one that is not public beside it.
fn documentation(code: &str, name: &str) -> Vec<String> {
    let lines: Vec<&str> = code.lines().map(str::trim).collect();
    let defines = |line: &str| {
        ["struct", "enum", "trait", "type", "fn", "const fn"].iter().any(|kind| {
            let rest = line.strip_prefix("pub ").and_then(|it| it.strip_prefix(kind));
            let rest = rest.and_then(|it| it.strip_prefix(' ')?.strip_prefix(name));
            rest.is_some_and(|it| !it.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    };
    let above = |end: usize| {
        let first = lines[..end].iter().rposition(|line| line.is_empty() || *line == "}");
        let all = &lines[first.map_or(0, |it| it + 1)..end];
        all.iter().filter(|line| line.starts_with("///")).copied().collect::<Vec<_>>().join("\n")
    };
    (0..lines.len()).filter(|&i| defines(lines[i])).map(above).collect()
}

fn has_an_example(documentation: &str) -> bool {
    documentation.contains("/// ```\n")
        || documentation.contains("/// Example: [`")
        || documentation.contains("/// ```no_run\n")
}

#[test]
fn everything_public_has_an_example() {
    let library = read("src/lib.rs");
    let names = handed_out(&library);
    assert!(names.len() > 80, "{}", names.len());
    let mut findings = Vec::new();
    for (folder, name) in names {
        let code: Vec<String> = files(&folder, "rs").iter().map(read).collect();
        let found: Vec<String> = code.iter().flat_map(|it| documentation(it, &name)).collect();
        if found.is_empty() {
            findings.push(format!("{folder}: {name} is nowhere defined"));
        } else if !found.iter().any(|it| has_an_example(it)) {
            findings.push(format!("{folder}: {name} has no example"));
        }
    }
    none_of(&findings);
}

#[test]
fn planted_types_without_an_example_are_found() {
    let code = "/// A.\n///\n/// ```\n/// a();\n/// ```\npub struct A;\n\n/// B.\n#[derive(Debug)]\npub enum B {}\n\n\
                /// Example: [`A`](crate::A).\npub(crate) struct C;\npub struct Cat;\n";
    let of = |name| documentation(code, name);
    assert!(has_an_example(&of("A")[0]) && !has_an_example(&of("B")[0]));
    assert!(of("C").is_empty(), "neither what is not public nor what begins so");
    let library = "pub use client::{\n    A, B,\n};\npub use transport::C;\npub use http::{D};\n";
    let all = [("client", "A"), ("client", "B"), ("transport", "C")];
    assert_eq!(handed_out(library), all.map(|(f, n)| (format!("src/{f}"), n.to_owned())));
}
