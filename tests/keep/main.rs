//! Keeps the tree in step with itself: what people were told, what the header says, what the library
//! exports, and which layer names which.
//!
//! These tests read files; nothing here opens a socket. Each check is a function from text to a list
//! of findings, so that its own test can plant what it has to find.

#[cfg(feature = "capi")]
mod abi;
mod api;
mod defaults;
mod examples;
#[cfg(feature = "capi")]
mod exports;
mod generate;
mod guard;
#[cfg(feature = "capi")]
mod header;
mod layering;
mod named;
mod readme;
mod source;
mod vectors;

use std::path::{Path, PathBuf};

/// The folder of the manifest.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a file of the tree. Panics if it is not there: a check that has nothing to read has
/// checked nothing.
fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// All files below a folder of the tree that end in `.extension`, relative to the tree, sorted. None
/// if there is no such folder.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.expect("a folder of the tree can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path.strip_prefix(root()).expect("found below the root").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// A fresh folder for the files of one test.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("keep").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the last run's files can go");
    }
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    folder
}

/// Whether a switch of this test suite is set in the environment.
#[allow(clippy::disallowed_methods, reason = "switches of the tests, never read by the library")]
fn switch(name: &str) -> bool {
    std::env::var(name).is_ok_and(|value| value == "1")
}

/// Says that a test could not run and why. In CI, where everything it needs is installed, that is a
/// failure.
fn skip(name: &str, reason: &str) {
    println!("SKIPPED {name}: {reason}");
    assert!(!switch("ANYHOST_REQUIRE_ALL"), "{name} may not be skipped here: {reason}");
}

/// Whether a program can be started.
fn installed(program: &str) -> bool {
    std::process::Command::new(program).arg("--version").output().is_ok()
}

/// Fails with every finding on a line of its own.
fn none_of(findings: &[String]) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}
