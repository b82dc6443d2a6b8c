//! The shared library exports what the header declares and nothing else, under the name its loader
//! expects.
//!
//! An export beside the contract is a name that collides in somebody's program; a declaration without
//! an export is a program that does not link.

use crate::abi::declarations;
use crate::source::{reads, tokens};
use crate::{files, generate, installed, none_of, read, skip};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// The shared library that cargo built for this run: beside the test, or one folder up.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own file");
    let deps = test.parent().expect("a file is in a folder");
    let name = "libanyhost.so";
    [deps.join(name), deps.with_file_name(name)]
        .into_iter()
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("cargo builds {name} into {}", deps.display()))
}

/// What a program of the system says about the library, or nothing where it is missing.
fn ask(test: &str, program: &str, arguments: &[&str]) -> Option<String> {
    if !cfg!(target_os = "linux") {
        skip(test, "the check reads ELF files");
        return None;
    }
    if !installed(program) {
        skip(test, &format!("{program} is not installed"));
        return None;
    }
    let output = Command::new(program).args(arguments).arg(library()).output();
    let output = output.unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("ASCII names"))
}

/// The functions a header declares, and what is wrong with their prototypes.
fn functions(header: &str) -> (BTreeSet<String>, Vec<String>) {
    let mut names = BTreeSet::new();
    let mut findings = Vec::new();
    for declaration in declarations(header) {
        let Some((before, arguments)) = declaration.split_once('(') else { continue };
        if before.starts_with("typedef") {
            continue;
        }
        let name = before.rsplit([' ', '*']).next().unwrap_or_default();
        if !name.starts_with("anyhost_") {
            findings.push(format!("`{name}` is not declared as anyhost_…"));
        }
        if arguments.contains("...") {
            findings.push(format!("`{name}` takes what no binding can pass: `...`"));
        }
        if !names.insert(name.to_owned()) {
            findings.push(format!("`{name}` is declared twice"));
        }
    }
    (names, findings)
}

/// What `nm` lists that is not a declared function, and what it lacks.
fn differences(symbols: &str, declared: &BTreeSet<String>) -> Vec<String> {
    let mut exported = BTreeSet::new();
    let mut findings = Vec::new();
    for line in symbols.lines() {
        let mut columns = line.split_whitespace().rev();
        let (Some(name), Some(kind)) = (columns.next(), columns.next()) else { continue };
        if kind != "T" {
            findings.push(format!("`{name}` is exported and is no function (nm says {kind})"));
        } else if !declared.contains(name) {
            findings.push(format!("`{name}` is exported, but the header does not declare it"));
        }
        exported.insert(name.to_owned());
    }
    for name in declared.difference(&exported) {
        findings.push(format!("`{name}` is declared in the header, but not exported"));
    }
    findings
}

/// What the dynamic section lacks or has too much.
fn loader_findings(section: &str, abi: u32) -> Vec<String> {
    let mut findings = Vec::new();
    let soname = format!("[libanyhost.so.{abi}]");
    if !section.lines().any(|line| line.contains("(SONAME)") && line.ends_with(&soname)) {
        findings.push(format!("the SONAME is not {soname}"));
    }
    if !section.lines().any(|line| line.contains("(FLAGS_1)") && line.contains("NODELETE")) {
        findings.push("dlclose may unmap the library: no NODELETE".to_owned());
    }
    for line in section.lines() {
        if line.contains("(RPATH)") || line.contains("(RUNPATH)") {
            findings.push(format!("a search path of the build machine: {line}"));
        }
        let needed = line.contains("(NEEDED)").then(|| line.rsplit('[').next()).flatten();
        let known = ["libc.so", "libgcc_s.so", "ld-linux"];
        if needed.is_some_and(|name| !known.iter().any(|known| name.starts_with(known))) {
            findings.push(format!("another library is needed: {line}"));
        }
    }
    findings
}

#[test]
fn the_library_exports_what_the_header_declares() {
    let (declared, mut findings) = functions(&read("include/anyhost.h"));
    if let Some(symbols) = ask("exports", "nm", &["-D", "--defined-only"]) {
        findings.extend(differences(&symbols, &declared));
    }
    none_of(&findings);

    // Empty on both sides would agree too.
    let written: usize = files("src/ffi", "rs")
        .iter()
        .map(|file| {
            let tokens = tokens(&read(file));
            (0..tokens.len()).filter(|i| reads(&tokens, *i, "unsafe ( no_mangle )")).count()
        })
        .sum();
    assert_eq!(declared.len(), written, "the header declares as many functions as src/ffi exports");
}

#[test]
fn the_loader_finds_the_library_and_keeps_it() {
    if let Some(section) = ask("soname", "readelf", &["-d", "-W"]) {
        none_of(&loader_findings(&section, generate::abi()));
    }
}

/// The version that cargo-c gives the library, with what makes a file name of it.
fn named_by_cargo_c(manifest: &str) -> Option<&str> {
    let (_, section) = manifest.split_once("[package.metadata.capi.library]\n")?;
    let section = section.split("\n[").next()?;
    section.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
}

#[test]
fn cargo_c_names_the_library_as_the_build_script_does() {
    let expected = format!(
        "{}.{}.{}",
        generate::abi(),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH")
    );
    assert_eq!(named_by_cargo_c(&read("Cargo.toml")), Some(&*expected));
    assert!(read("Cargo.toml").contains("\nversion_suffix_components = 1\n"), "the SONAME has one");
}

#[test]
fn planted_differences_are_found() {
    let header = "#ifndef X\n#define f(x) x\n/* int32_t anyhost_no(void); */\nextern \"C\" {\n#endif\n\
                  typedef void (*anyhost_cb)(void *);\ntypedef struct anyhost_a anyhost_a;\n\
                  /** Doc (with brackets); and more. */\nANYHOST_API int32_t anyhost_a_new(anyhost_a **out,\n    int32_t x);\n\
                  ANYHOST_API const char *anyhost_text(void);\nANYHOST_API int32_t anyhost_log(const char *f, ...);\n\
                  int32_t other(void);\nANYHOST_API const char *anyhost_text(void);\n";
    let (declared, findings) = functions(header);
    assert_eq!(
        declared.iter().collect::<Vec<_>>(),
        ["anyhost_a_new", "anyhost_log", "anyhost_text", "other"]
    );
    assert_eq!(findings.len(), 3, "{findings:?}");

    let declared = ["anyhost_a", "anyhost_b"].map(str::to_owned).into();
    assert_eq!(differences("00 T anyhost_a\n01 T anyhost_b\n", &declared), Vec::<String>::new());
    let findings = differences("00 T anyhost_a\n01 T rust_x\n02 D anyhost_data\n", &declared);
    assert_eq!(findings.len(), 3, "{findings:?}");

    let section = " 0x1 (NEEDED) Shared library: [libc.so.6]\n 0xe (SONAME) Library soname: [libanyhost.so.0]\n 0x6 (FLAGS_1) Flags: NODELETE\n";
    assert_eq!(loader_findings(section, 0), Vec::<String>::new());
    assert_eq!(loader_findings(section, 1).len(), 1);
    assert_eq!(loader_findings("", 0).len(), 2);
    let more =
        " 0x1 (NEEDED) Shared library: [libssl.so.3]\n 0xf (RUNPATH) Library runpath: [/x]\n";
    assert_eq!(loader_findings(&format!("{section}{more}"), 0).len(), 2);
}
