//! Which library this is.

use super::guard;
use super::text;
use std::ffi::{CString, c_char};
use std::sync::LazyLock;

/// The library's version, as "0.1.0".
///
/// The text is static. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_version() -> *const c_char {
    guard!(plain value or VERSION, Ok(VERSION))
}

/// The library's version as a number: major * 10000 + minor * 100 + patch.
///
/// ANYHOST_VERSION_NUMBER is that of the header a program was compiled with. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_version_number() -> u32 {
    guard!(plain value or 0, Ok(number()))
}

/// The number in the name of the library, which changes when old programs cannot use it any more.
///
/// A program that loads the library by itself compares it with ANYHOST_ABI. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_abi() -> u32 {
    guard!(plain value or u32::MAX, Ok(abi()))
}

/// One line on this build, for bug reports: version, ABI, system, and what was compiled in.
///
/// The text is static; its form may change. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_build_info() -> *const c_char {
    guard!(plain value or VERSION, Ok(BUILD_INFO.as_ptr()))
}

const VERSION: *const c_char = concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast();

static BUILD_INFO: LazyLock<CString> = LazyLock::new(|| {
    use std::env::consts::{ARCH, OS};
    text::owned(&format!(
        "anyhost {} (ABI {}) for {ARCH} {OS}, TLS by rustls with ring{}",
        env!("CARGO_PKG_VERSION"),
        abi(),
        if cfg!(debug_assertions) { ", debug build" } else { "" },
    ))
});

fn number() -> u32 {
    let [major, minor, patch] = [
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH"),
    ]
    .map(|part| part.parse::<u32>().expect("cargo checks versions"));
    major * 10_000 + minor * 100 + patch
}

fn abi() -> u32 {
    env!("ANYHOST_ABI").parse().expect("the build script writes a number")
}
