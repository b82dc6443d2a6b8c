//! Names the shared library for its loader and hands the C header to dependents.
//!
//! Writes below `OUT_DIR` only: a registry's sources may be read-only.

use std::path::PathBuf;
use std::{env, fs};

/// The counter in the SONAME, equal to `ANYHOST_ABI` in the header. Additions never change it.
const ABI: u32 = 0;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=include/anyhost.h");
    // What anyhost_abi() answers.
    println!("cargo:rustc-env=ANYHOST_ABI={ABI}");

    // What systems other than Unix run, on a Unix: for tests.
    println!("cargo:rerun-if-env-changed=ANYHOST_PORTABLE");
    println!("cargo:rustc-check-cfg=cfg(anyhost_portable)");
    if env::var_os("ANYHOST_PORTABLE").is_some() {
        println!("cargo:rustc-cfg=anyhost_portable");
    }

    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("include");
    fs::create_dir_all(&out).expect("OUT_DIR is writable");
    fs::copy("include/anyhost.h", out.join("anyhost.h"))
        .expect("include/anyhost.h is in the package");
    // Dependents see this as DEP_ANYHOST_INCLUDE.
    println!("cargo:include={}", out.display());

    let system = env::var_os("CARGO_CFG_TARGET_OS").expect("cargo sets CARGO_CFG_TARGET_OS");
    match system.to_str() {
        Some("macos" | "ios") => {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libanyhost.{ABI}.dylib");
        }
        Some("windows") => {}
        _ => {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libanyhost.so.{ABI}");
            // Thread-exit code of the runtime must never find itself unmapped after dlclose.
            println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        }
    }
}
