//! Programs that were compiled long ago: against the header and the library that `include/symbols.txt`
//! and `numbers.txt` promise, then run with the library of today.
//!
//! The library of then is a stub, made of the promises. Linking needs its names alone, and nothing of it
//! is left when the program runs. That a break would be seen is shown on breaks that are planted.

use crate::programs::echo;
use crate::prototypes::{Function, functions};
use crate::support::{Server, refusing_address};
use crate::toolbox::{Program, installed, library_folder, read, root, run, scratch, skip};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The declarations of `symbols.txt`, without their versions.
fn promises() -> Vec<String> {
    let list = read("include/symbols.txt");
    list.lines().map(|line| line.split_once(' ').expect("a version").1.to_owned()).collect()
}

/// The header of these promises. Parameters have no name in them, and get one here.
fn header(promises: &[String]) -> String {
    let mut text = "#include <stddef.h>\n#include <stdint.h>\n#define ANYHOST_API\n".to_owned();
    for line in read("ffi-tests/numbers.txt").lines() {
        let (name, value) = line.split_once(' ').expect("a name and a number");
        writeln!(text, "#define {name} {value}").expect("text");
    }
    for promise in promises {
        match promise.strip_suffix(");").and_then(|it| it.split_once('(')) {
            Some((front, list)) if list != "void" && !promise.starts_with("typedef") => {
                let named = list.split(", ").enumerate().map(|(i, kind)| format!("{kind} p{i}"));
                let named: Vec<String> = named.collect();
                writeln!(text, "ANYHOST_API {front}({});", named.join(", ")).expect("text");
            }
            Some(_) if !promise.starts_with("typedef") => {
                writeln!(text, "ANYHOST_API {promise}").expect("text");
            }
            _ => writeln!(text, "{promise}").expect("text"),
        }
    }
    text
}

/// A library that has the functions of a header and does nothing, beside that header.
fn stub(name: &str, header: &str) -> PathBuf {
    let folder = scratch().join("abi").join(name);
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    std::fs::write(folder.join("anyhost.h"), header).expect("the folder is writable");
    let mut code = "#include \"anyhost.h\"\n".to_owned();
    for Function { returns, name, parameters } in functions(header) {
        let list: Vec<String> =
            parameters.iter().map(|it| format!("{} {}", it.kind, it.name)).collect();
        let list = if list.is_empty() { "void".to_owned() } else { list.join(", ") };
        let nothing = if returns == "void" { "" } else { "return 0;" };
        writeln!(code, "{returns} {name}({list}) {{ {nothing} }}").expect("text");
    }
    std::fs::write(folder.join("stub.c"), code).expect("the folder is writable");
    let mut cc = Command::new("cc");
    cc.current_dir(&folder).args(["-g", "-w", "-shared", "-fPIC", "-Wl,-soname,libanyhost.so.0"]);
    run("cc", cc.args(["-o", "libanyhost.so", "stub.c"])).succeeded();
    folder
}

/// The declarations with one of them changed.
fn changed(part: &str, by: &str) -> Vec<String> {
    let promises = promises();
    let changed: Vec<String> = promises.iter().map(|it| it.replace(part, by)).collect();
    assert_ne!(promises, changed, "`{part}` is promised");
    changed.into_iter().filter(|it| !it.is_empty()).collect()
}

/// `smoke.c`, compiled against the header and the library of then.
fn old_program() -> Program {
    let folder = stub("old", &header(&promises()));
    let file = folder.join("smoke");
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]).arg(&folder);
    cc.arg("-o").arg(&file).arg(root().join("ffi-tests/smoke.c"));
    cc.arg("-L").arg(&folder).arg("-lanyhost");
    run("cc", &mut cc).succeeded();
    Program::of("smoke.c of then", file)
}

#[test]
fn the_declarations_for_scripts_are_c() {
    let file = scratch().join("cdef.c");
    let text =
        format!("#include <stddef.h>\n#include <stdint.h>\n{}", read("include/anyhost.cdef"));
    assert_eq!(text.matches('#').count(), 2, "no directive is left");
    std::fs::write(&file, text).expect("the folder is writable");
    let mut cc = Command::new("cc");
    run(
        "cc",
        cc.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"])
            .arg(file),
    )
    .succeeded();
}

/// The library of today, in a folder of its own, with the name of one function spoiled.
fn without(function: &str) -> PathBuf {
    let folder = scratch().join("abi").join("without");
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    let mut library = std::fs::read(library_folder().join("libanyhost.so")).expect("it was built");
    let name = format!("\0{function}\0").into_bytes();
    let spoiled = format!("\0{}\0", function.replace('_', "-")).into_bytes();
    let places: Vec<usize> =
        (0..library.len() - name.len()).filter(|i| library[*i..].starts_with(&name)).collect();
    assert!(!places.is_empty(), "{function} is in the library");
    for place in places {
        library[place..place + name.len()].copy_from_slice(&spoiled);
    }
    std::fs::write(folder.join("libanyhost.so.0"), library).expect("the folder is writable");
    folder
}

#[test]
fn an_old_program_runs_with_the_library_of_today() {
    if !cfg!(target_os = "linux") {
        return skip("old programs", "the library of then is made by the rules of ELF");
    }
    let program = old_program();
    let started = |library: &Path| {
        let (refusing, server) = (refusing_address(), Server::start(echo()));
        let mut command = program.command(&[refusing.url(), server.url()]);
        command.env("LD_LIBRARY_PATH", library).env("LD_BIND_NOW", "1");
        run("smoke.c of then", &mut command)
    };
    started(library_folder()).passed();

    let ended = started(&without("anyhost_patch"));
    assert_eq!(ended.code(), Some(127), "{}", ended.complained());
    assert!(
        ended.complained().contains("undefined symbol: anyhost_patch"),
        "{}",
        ended.complained()
    );
}

#[test]
fn abidiff_sees_no_break() {
    if !cfg!(target_os = "linux") || !installed("abidiff", "abidiff") {
        return;
    }
    let then = stub("then", &header(&promises()));
    let diff = |now: &Path| {
        let mut command = Command::new("abidiff");
        command
            .arg("--no-added-syms")
            .arg(then.join("libanyhost.so"))
            .arg(now.join("libanyhost.so"));
        run("abidiff", &mut command)
    };
    let ended = diff(&stub("now", &read("include/anyhost.h")));
    assert_eq!(ended.code(), Some(0), "{}", ended.said());

    let mut more = promises();
    more.push("void anyhost_more(void);".to_owned());
    let ended = diff(&stub("more", &header(&more)));
    assert_eq!(ended.code(), Some(0), "more is no break: {}", ended.said());

    let patch = "int32_t anyhost_patch(anyhost_client *, const char *, const char *, const void *, \
                 size_t, anyhost_response **, anyhost_error **);";
    for (part, by) in [
        (patch, ""),
        (
            "anyhost_request_set_int(anyhost_request *, const char *, int64_t)",
            "anyhost_request_set_int(anyhost_request *, const char *, int32_t)",
        ),
        ("uint32_t anyhost_attempt_number(", "uint64_t anyhost_attempt_number("),
        (
            "typedef int32_t (*anyhost_rewind_cb)(void *)",
            "typedef void (*anyhost_rewind_cb)(void *)",
        ),
    ] {
        let ended = diff(&stub("planted", &header(&changed(part, by))));
        // A bit each for what is incompatible and for what somebody has to look at.
        assert!(matches!(ended.code(), Some(4 | 12)), "`{part}`: {}", ended.said());
    }
}
