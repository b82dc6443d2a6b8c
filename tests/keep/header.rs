//! The C header is what `src/ffi` says, byte for byte, and every compiler can read it.
//!
//! The header is committed, because it is read more often than it is made, and reviewed like prose.
//! `ANYHOST_BLESS=1 cargo test --test keep header_is_current` writes it anew.

use crate::{generate, installed, read, root, scratch, skip, switch};
use std::path::Path;
use std::process::Command;

#[test]
fn the_header_is_current() {
    let sources = generate::sources(&root().join("src/ffi"));
    let fresh = generate::header(&sources);
    if switch("ANYHOST_BLESS") {
        std::fs::write(root().join("include/anyhost.h"), &fresh).expect("the tree is writable");
    }
    let committed = read("include/anyhost.h");
    let differs = committed.lines().zip(fresh.lines()).position(|(a, b)| a != b);
    assert!(
        committed == fresh,
        "include/anyhost.h is not what src/ffi says, first at line {}; `ANYHOST_BLESS=1 cargo test --test keep` writes it anew",
        differs.map_or("after the shorter one's end".into(), |line| (line + 1).to_string())
    );
}

#[test]
fn every_compiler_reads_the_header() {
    compile("every_compiler", &read("include/anyhost.h"), "");
}

/// Declarations in every form the contract uses.
const STAND_IN: &str = r#"
//! Not in the header.

/// What a call came to; see https://example.org/status for more.
#[repr(C)]
pub enum anyhost_status {
    /// It worked.
    ANYHOST_OK = 0,
    /// A pointer that must not be NULL was NULL.
    ANYHOST_E_NULL = 1,
    /// Named for its status, digits and all.
    ANYHOST_REASON_STATUS_5XX = 10,
}

/// A priority that follows from the selection.
pub const ANYHOST_PRIORITY_AUTO: u32 = u32::MAX;

/// A client. Any thread may use it.
pub struct anyhost_client {
    shared: std::sync::Arc<crate::Client>,
}

/// An error.
pub struct anyhost_error(crate::Error);

struct Private;

enum AlsoPrivate {
    A,
}

pub(crate) const PRIVATE_NUMBER: u32 = 7;

/// Gives up to `cap` bytes of a request's body.
pub type anyhost_read_cb = Option<
    unsafe extern "C" fn(user: *mut c_void, buf: *mut u8, cap: usize, out_n: *mut usize) -> i32,
>;

/// Ends the life of what a callback was given.
pub type anyhost_free_cb = Option<unsafe extern "C-unwind" fn(user: *mut c_void)>;

/// The library's version.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_version() -> *const c_char {
    guard!(c"0.1.0".as_ptr())
}

/// Opens a client.
///
/// The second paragraph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_open(
    base_urls: *const c_char,
    out: *mut *mut anyhost_client,
    err: *mut *mut anyhost_error,
) -> i32 {
    guard!(open(base_urls, out, err))
}

/// Adds a body.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_a_reader(
    client: *const anyhost_client,
    read: anyhost_read_cb,
    user: *mut c_void,
    free_user: anyhost_free_cb,
    length: i64,
    scale: f64,
) -> u64 {
    guard!(0)
}

fn private() {}
"#;

#[test]
fn the_generator_writes_what_c_expects() {
    let folder = scratch("generator");
    std::fs::write(folder.join("version.rs"), STAND_IN).expect("the folder is writable");
    std::fs::write(
        folder.join("absent.rs"),
        "/// Comes last.\n#[unsafe(no_mangle)]\npub extern \"C\" fn anyhost_absent() { guard!(()) }\n",
    )
    .expect("the folder is writable");
    let header = generate::header(&generate::sources(&folder));

    for line in [
        "#ifndef ANYHOST_H\n#define ANYHOST_H\n",
        "#include <stddef.h>\n#include <stdint.h>\n",
        "extern \"C\" {\n#endif /* __cplusplus */\n",
        "#endif  /* ANYHOST_H */\n",
        "https://example.org/status for more.",
        "    ANYHOST_OK = 0,\n",
        "    ANYHOST_REASON_STATUS_5XX = 10\n} anyhost_status;\n",
        "#define ANYHOST_PRIORITY_AUTO UINT32_MAX\n",
        "typedef struct anyhost_client anyhost_client;\n",
        "typedef int32_t (*anyhost_read_cb)(void *user, uint8_t *buf, size_t cap, size_t *out_n);\n",
        "typedef void (*anyhost_free_cb)(void *user);\n",
        "/**\n * The library's version.\n */\nANYHOST_API const char *anyhost_version(void);\n",
        "/**\n * Opens a client.\n *\n * The second paragraph.\n */\n",
        "int32_t anyhost_open(const char *base_urls, anyhost_client **out, anyhost_error **err);\n",
    ] {
        assert!(header.contains(line), "missing: {line}\nin: {header}");
    }
    assert!(!header.to_lowercase().contains("private"), "{header}");
    let place = |text: &str| header.find(text).unwrap_or_else(|| panic!("missing: {text}"));
    assert!(place("anyhost_version(") < place("anyhost_open("), "source order within a file");
    assert!(place("anyhost_a_reader(") < place("anyhost_absent("), "unlisted files come last");

    compile(
        "stand_in",
        &header,
        "int main(void) {\n\
             anyhost_client *client = NULL; anyhost_error *error = NULL;\n\
             uint32_t priority = ANYHOST_PRIORITY_AUTO;\n\
             int32_t status = anyhost_open(\"http://127.0.0.1\", &client, &error);\n\
             anyhost_a_reader(client, NULL, NULL, NULL, -1, 1.0);\n\
             return status == ANYHOST_E_NULL && priority != 0 && anyhost_version() != NULL;\n\
         }\n",
    );
}

#[test]
fn the_version_macros_follow_the_manifest() {
    let header = generate::header(&[]);
    let number = |name: &str| -> u32 {
        let line = header.lines().find(|line| line.starts_with(&format!("#define {name} ")));
        line.and_then(|line| line.rsplit(' ').next())
            .and_then(|n| n.parse().ok())
            .unwrap_or_else(|| panic!("{name}"))
    };
    let version =
        ["MAJOR", "MINOR", "PATCH"].map(|part| number(&format!("ANYHOST_VERSION_{part}")));
    assert_eq!(version.map(|part| part.to_string()).join("."), env!("CARGO_PKG_VERSION"));
    assert_eq!(
        number("ANYHOST_VERSION_NUMBER"),
        version[0] * 10_000 + version[1] * 100 + version[2]
    );
    assert_eq!(number("ANYHOST_ABI"), generate::abi());
}

/// Compiles a program that includes the header twice, as the oldest and as current C and C++.
fn compile(name: &str, header: &str, program: &str) {
    let folder = scratch(name);
    std::fs::write(folder.join("anyhost.h"), header).expect("the folder is writable");
    let text = format!(
        "#include \"anyhost.h\"\n#include \"anyhost.h\"\n{program}\nextern int not_empty;\n"
    );
    for file in ["program.c", "program.cc"] {
        std::fs::write(folder.join(file), &text).expect("the folder is writable");
    }
    let c = ["c90", "c99", "c11", "c17", "gnu2x"];
    let cxx = ["c++98", "c++11", "c++14", "c++17", "c++20", "c++2b"];
    for (compiler, standards, file) in [
        ("gcc", &c[..], "program.c"),
        ("clang", &c, "program.c"),
        ("g++", &cxx, "program.cc"),
        ("clang++", &cxx, "program.cc"),
    ] {
        if !installed(compiler) {
            skip(&format!("{name} with {compiler}"), "the compiler is not installed");
            continue;
        }
        for standard in standards {
            try_compile(&folder, compiler, standard, file);
        }
    }
}

fn try_compile(folder: &Path, compiler: &str, standard: &str, file: &str) {
    let mut command = Command::new(compiler);
    command.current_dir(folder).arg(format!("-std={standard}")).args([
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-Wundef",
        "-fsyntax-only",
    ]);
    command.arg(if file.ends_with(".cc") { "-Wold-style-cast" } else { "-Wstrict-prototypes" });
    let output = command.arg(file).output().expect("the compiler starts");
    assert!(
        output.status.success(),
        "{compiler} -std={standard}:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
