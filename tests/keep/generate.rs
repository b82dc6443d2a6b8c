//! Makes `include/anyhost.h` of `src/ffi`.
//!
//! cbindgen reads the files one by one instead of the crate: reading a crate runs
//! `cargo metadata`, which wants a lock file and the network. Two things are added here: the numbers
//! that the manifest and the build script already hold, and a filter that turns what cbindgen writes
//! for newer compilers into clean C90 and C++98.

use crate::{read, root};
use std::path::{Path, PathBuf};

/// The chapters of the header. A file that is not listed follows them, by name.
const ORDER: [&str; 19] = [
    "status", "shortcut", "response", "error", "attempt", "client", "request", "builder",
    "callback", "event", "cancel", "snapshot", "member", "update", "breaker", "option", "numbers",
    "version", "text",
];

/// The files of a folder in the order of the header; empty if there is no such folder.
///
/// Without `mod.rs`: cbindgen follows `mod` lines, and every file would be in the header twice.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a folder of the tree can be listed").path())
        .filter(|path| path.extension().is_some_and(|e| e == "rs") && !path.ends_with("mod.rs"))
        .collect();
    files.sort_by_key(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let chapter = ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
        (chapter, name)
    });
    files
}

/// The header of these sources.
pub(crate) fn header(sources: &[PathBuf]) -> String {
    let mut config = cbindgen::Config::from_file(root().join("include/cbindgen.toml"))
        .unwrap_or_else(|e| panic!("include/cbindgen.toml: {e}"));
    let more = config.after_includes.get_or_insert_default();
    more.push('\n');
    more.push_str(&numbers());

    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in sources {
        // No signature names an enum, so cbindgen would leave them out.
        let text = std::fs::read_to_string(source).expect("the source is there");
        for name in enums(&text) {
            builder = builder.include_item(name);
        }
        builder = builder.with_src(source);
    }
    let mut bytes = Vec::new();
    builder.generate().unwrap_or_else(|e| panic!("cbindgen: {e}")).write(&mut bytes);
    old_c(&String::from_utf8(bytes).expect("cbindgen writes UTF-8"))
}

/// The version macros. The package's version is the manifest's; the ABI number is the build
/// script's, which puts it into the SONAME.
fn numbers() -> String {
    let [major, minor, patch] = [
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH"),
    ]
    .map(|part| part.parse::<u32>().expect("cargo checks versions"));
    let whole = major * 10_000 + minor * 100 + patch;
    format!(
        "/* The version of this header; anyhost_version_number() is the one of the library. */\n\
         #define ANYHOST_VERSION_MAJOR {major}\n\
         #define ANYHOST_VERSION_MINOR {minor}\n\
         #define ANYHOST_VERSION_PATCH {patch}\n\
         /* MAJOR * 10000 + MINOR * 100 + PATCH */\n\
         #define ANYHOST_VERSION_NUMBER {whole}\n\
         /* The number in the name of the shared library. */\n\
         #define ANYHOST_ABI {}\n",
        abi()
    )
}

/// The ABI number.
pub(crate) fn abi() -> u32 {
    let script = read("build.rs");
    let line = script
        .lines()
        .find_map(|line| line.strip_prefix("const ABI: u32 = "))
        .expect("the build script declares the ABI number");
    line.trim_end_matches(';').parse().expect("a number")
}

/// The names of the contract's enums, declared at the left margin.
fn enums(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let line = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
        let name = line.strip_prefix("enum ")?.split([' ', '{']).next()?;
        name.starts_with("anyhost_").then_some(name)
    })
}

/// `//` notes on closing lines become `/* */`, and the comma after the last enumerator goes. No
/// other line is touched: a URL in a comment has to survive.
fn old_c(header: &str) -> String {
    let lines: Vec<&str> = header.lines().collect();
    let mut out = String::with_capacity(header.len());
    for (i, line) in lines.iter().enumerate() {
        let closing = line.starts_with("#endif") || line.starts_with('}');
        let last = lines.get(i + 1).is_some_and(|next| next.starts_with('}'));
        match line.split_once("//") {
            Some((code, note)) if closing => {
                out.push_str(&format!("{} /* {} */", code.trim_end(), note.trim()));
            }
            _ if last && line.starts_with(' ') => {
                out.push_str(line.strip_suffix(',').unwrap_or(line))
            }
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    out
}
