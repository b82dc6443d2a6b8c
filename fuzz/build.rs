//! Compiles the interpreter of call sequences for the target `sequence`.

use std::env::var;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=targets/sequence.c");
    println!("cargo::rerun-if-changed=../ffi-tests/sequence.h");
    println!("cargo::rerun-if-changed=../ffi-tests/check.h");
    let mut build = cc::Build::new();
    build.file("targets/sequence.c").include("../include").include("../ffi-tests").std("c99");
    // clang knows the sanitizer and the coverage that rustc has; others compile without.
    let sanitized = var("CARGO_CFG_SANITIZE").is_ok_and(|names| names.contains("address"));
    if sanitized && Command::new("clang").arg("--version").output().is_ok() {
        build.compiler("clang").flag("-fsanitize=fuzzer-no-link,address");
    }
    build.compile("sequence");
}
