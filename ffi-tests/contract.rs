//! The Python package's copy of the contract: `_contract.py` is made from the header, and compared.
//!
//! ctypes takes a wrong prototype without a word and calls into nothing, so none is typed by hand.
//! A number of the header becomes a member of an `IntEnum`, a callback a `CFUNCTYPE`, a function a row.

use crate::prototypes::{Function, Parameter, functions, parameter};
use crate::toolbox::{read, root};
use std::fmt::Write;

const FILE: &str = "packaging/python/src/anyhost/_contract.py";

/// `_contract.py` as it has to be.
fn contract(header: &str) -> String {
    let mut out = String::from(
        "\"\"\"What include/anyhost.h declares: numbers, callbacks, functions.\n\n\
         Generated: `ANYHOST_BLESS=1 cargo test --test ffi contract`. Edits made here are lost.\n\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int32, c_int64, c_size_t, c_uint32\n\
         from ctypes import c_uint64, c_void_p\n\
         from typing import Any\n\n\
         from ._number import Number\n\n",
    );
    let abi = header.split("#define ANYHOST_ABI ").nth(1).and_then(|rest| rest.lines().next());
    writeln!(out, "ABI = {}", abi.expect("the header has its ABI")).expect("text");
    out.push_str("PRIORITY_AUTO = 0xFFFFFFFF\n");
    enumerations(header).iter().for_each(|it| it.write(&mut out));
    out.push_str("\n\n");
    for callback in callbacks(header) {
        let kinds: Vec<&str> = kinds(&callback).collect();
        writeln!(out, "{} = CFUNCTYPE({})", camel(&callback.name), kinds.join(", ")).expect("text");
    }
    out.push_str("\n# What each function returns, and what it takes.\nFUNCTIONS: dict[str, tuple[Any, ...]] = {\n");
    for function in functions(header) {
        let kinds: Vec<&str> = kinds(&function).collect();
        let comma = if kinds.len() == 1 { "," } else { "" };
        let (name, kinds) = (&function.name, kinds.join(", "));
        let short = 4 + name.len() + kinds.len() < 90;
        let (open, close) = if short { ("(", ")") } else { ("(\n        ", ",\n    )") };
        let comma = if short { comma } else { "" };
        writeln!(out, "    \"{name}\": {open}{kinds}{comma}{close},").expect("text");
    }
    out.push_str("}\n");
    out
}

/// An enumeration of the header.
struct Enumeration {
    name: String,
    comment: String,
    /// Name, value, comment.
    members: Vec<(String, String, String)>,
}

impl Enumeration {
    fn write(&self, out: &mut String) {
        let comment = wrapped(&self.comment, "    ").replacen("    ", "    \"\"\"", 1);
        write!(out, "\n\nclass {}(Number):\n{comment}\"\"\"\n", self.name).expect("text");
        for (name, value, comment) in &self.members {
            write!(out, "\n{}\n    {name} = {value}\n", wrapped(comment, "    #: ")).expect("text");
        }
    }
}

/// Text in lines that each begin like this.
fn wrapped(text: &str, begin: &str) -> String {
    let mut lines = vec![begin.to_owned()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is a first line");
        if last.len() + word.len() > 98 {
            lines.push(format!("{begin}{word}"));
        } else if *last == begin {
            last.push_str(word);
        } else {
            write!(last, " {word}").expect("text");
        }
    }
    lines.join("\n")
}

/// `attempt_started` as `AttemptStarted`, without the prefix of the library.
fn camel(name: &str) -> String {
    let name = name.strip_prefix("anyhost_").unwrap_or(name);
    let name =
        name.strip_suffix("_cb").map_or(name.to_owned(), |front| format!("{front}_callback"));
    name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

fn enumerations(header: &str) -> Vec<Enumeration> {
    header
        .split("typedef enum {")
        .zip(header.split("typedef enum {").skip(1))
        .map(|(before, rest)| {
            let (body, after) = rest.split_once('}').expect("it is closed");
            let (name, _) = after.split_once(';').expect("it has a name");
            Enumeration {
                name: camel(name.trim()),
                comment: comment_at_the_end(before),
                members: body
                    .split_inclusive('=')
                    .zip(body.split('=').skip(1))
                    .map(member)
                    .collect(),
            }
        })
        .collect()
}

/// The text up to `NAME =`, and what follows.
fn member((front, rest): (&str, &str)) -> (String, String, String) {
    let (comment, name) = front.trim_end_matches('=').rsplit_once("*/").expect("it has a comment");
    let short = name.trim().trim_start_matches("ANYHOST_");
    // OK has no family before it; E_NULL, STATE_COOLING have.
    let short = short.split_once('_').map_or(short, |(_, short)| short);
    let value = rest.split([',', '/', '\n']).next().expect("it has a value");
    (short.to_owned(), value.trim().to_owned(), comment_at_the_end(&format!("{comment}*/")))
}

/// The comment that a text ends with, on one line.
fn comment_at_the_end(text: &str) -> String {
    let comment = text.trim_end().strip_suffix("*/").and_then(|text| text.rsplit_once("/**"));
    let lines = comment.expect("it has a comment").1.lines();
    lines
        .map(|line| line.trim_start_matches([' ', '*']).trim_end())
        .collect::<Vec<_>>()
        .join(" ")
        .trim()
        .to_owned()
}

/// The types of callbacks: `typedef int32_t (*anyhost_rewind_cb)(void *user);`.
fn callbacks(header: &str) -> Vec<Function> {
    let pointers = header.split("typedef ").filter_map(|part| {
        let (returns, rest) = part.split_once(" (*")?;
        let (name, rest) = rest.split_once(")(")?;
        let (parameters, _) = rest.split_once(");")?;
        let parameters = parameters.split(',').map(parameter).collect();
        Some(Function { returns: returns.to_owned(), name: name.to_owned(), parameters })
    });
    pointers.collect()
}

/// What it returns and takes, as ctypes has it.
fn kinds(function: &Function) -> impl Iterator<Item = &str> {
    let of = |it: &Parameter| it.kind.clone();
    let all: Vec<String> = std::iter::once(function.returns.clone())
        .chain(function.parameters.iter().map(of))
        .collect();
    all.into_iter().map(|kind| ctypes(&kind))
}

fn ctypes(kind: &str) -> &'static str {
    match kind.trim_start_matches("const ") {
        "void" => "None",
        "int32_t" => "c_int32",
        "int64_t" => "c_int64",
        "uint32_t" => "c_uint32",
        "uint64_t" => "c_uint64",
        "size_t" => "c_size_t",
        "int32_t *" => "POINTER(c_int32)",
        "uint64_t *" => "POINTER(c_uint64)",
        "size_t *" => "POINTER(c_size_t)",
        // A buffer to be written to is no text.
        "char *" if kind.starts_with("const") => "c_char_p",
        "char **" | "char *const *" => "POINTER(c_char_p)",
        "anyhost_snapshot *const *" => "POINTER(c_void_p)",
        "anyhost_event_cb" => "EventCallback",
        "anyhost_judge_cb" => "JudgeCallback",
        "anyhost_retry_cb" => "RetryCallback",
        "anyhost_read_cb" => "ReadCallback",
        "anyhost_rewind_cb" => "RewindCallback",
        "anyhost_progress_cb" => "ProgressCallback",
        "anyhost_free_cb" => "FreeCallback",
        other if other.ends_with("**") => "POINTER(c_void_p)",
        other if other.ends_with('*') => "c_void_p",
        other => panic!("ctypes is told how to pass {other} here"),
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a switch of the tests, never read by the library")]
fn the_python_contract_is_current() {
    let made = contract(&read("include/anyhost.h"));
    if std::env::var("ANYHOST_BLESS").is_ok_and(|value| value == "1") {
        std::fs::write(root().join(FILE), &made).expect("the tree is writable");
    }
    assert!(read(FILE) == made, "{FILE} is old: ANYHOST_BLESS=1 cargo test --test ffi contract");
}

#[test]
fn a_contract_is_made_of_a_header() {
    let header = "\
#define ANYHOST_ABI 7
/**
 * Whether it is.
 */
typedef enum {
    /**
     * It
     * is.
     */
    ANYHOST_STATE_IS_SO = 0,
    /**
     * No.
     */
    ANYHOST_STATE_NOT = 4
} anyhost_state;
typedef void (*anyhost_free_cb)(void *user);
#define ANYHOST_API
ANYHOST_API uint32_t anyhost_abi(void);
ANYHOST_API
int32_t anyhost_a_function_of_many_words(const anyhost_b *it, const char *text, char *buf,
                  anyhost_c **out, anyhost_free_cb free_user);
";
    let made = contract(header);
    let (_, body) = made.split_once("import Number\n\n").expect("what precedes is always the same");
    let expected = "\
ABI = 7
PRIORITY_AUTO = 0xFFFFFFFF


class State(Number):
    \"\"\"Whether it is.\"\"\"

    #: It is.
    IS_SO = 0

    #: No.
    NOT = 4


FreeCallback = CFUNCTYPE(None, c_void_p)

# What each function returns, and what it takes.
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    \"anyhost_abi\": (c_uint32,),
    \"anyhost_a_function_of_many_words\": (
        c_int32, c_void_p, c_char_p, c_void_p, POINTER(c_void_p), FreeCallback,
    ),
}
";
    assert_eq!(body, expected);
}
