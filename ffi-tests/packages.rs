//! What `packaging/install.sh` installs, as its users find it: moved to another place, by pkg-config and by
//! CMake, shared and static.
//!
//! It makes a release build, which takes minutes, so it runs where `ANYHOST_FULL=1` asks for everything.

use crate::support::*;
use crate::toolbox::{STATIC_LIBRARIES, installed, root, run, scratch, skip};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The shared library, stripped: 2.5 MiB.
const LARGEST: u64 = 2_621_440;

/// Everything below a folder, sorted; a link with what it points to.
fn tree(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in std::fs::read_dir(inner).expect("a folder can be listed") {
            let path = entry.expect("a folder can be listed").path();
            let name = path.strip_prefix(folder).expect("it is below").display().to_string();
            match std::fs::read_link(&path) {
                Ok(target) => found.push(format!("{name} -> {}", target.display())),
                Err(_) if path.is_dir() => folders.push(path),
                Err(_) => found.push(name),
            }
        }
    }
    found.sort();
    found
}

/// Installs below a folder for the prefix /opt/anyhost, and moves it from there.
fn install(folder: &Path) -> PathBuf {
    let staged = folder.join("staged");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    let mut script = Command::new(root().join("packaging/install.sh"));
    script.arg("/opt/anyhost").arg(&staged).env("CARGO_TARGET_DIR", target);
    run("install.sh", &mut script).succeeded();
    assert_eq!(std::fs::read_dir(&staged).expect("it was made").count(), 1, "DESTDIR holds opt");
    let moved = folder.join("moved");
    std::fs::rename(staged.join("opt/anyhost"), &moved).expect("it can be moved");
    moved
}

/// The program prints a table of two attempts, the second of which succeeded.
fn works(name: &str, command: &mut Command) {
    let (refusing, server) = (refusing_address(), Server::start(Reply::ok("all is well")));
    let said = run(name, command.arg(format!("{refusing},{server}")).arg("/v1")).succeeded();
    assert!(said.starts_with(&format!("GET /v1: 200 from {server}\n")), "{said}");
    assert!(said.ends_with("\nall is well\n"), "{said}");
}

/// The libraries that the loader gives a program.
fn loaded(program: &Path) -> String {
    run("ldd", Command::new("ldd").arg(program)).succeeded()
}

fn by_pkg_config(prefix: &Path, folder: &Path) {
    let build = folder.join("c");
    std::fs::create_dir_all(&build).expect("the folder is writable");
    for file in ["Makefile", "quickstart.c", "daemon.c", "download.c"] {
        let from = root().join("examples/c").join(file);
        std::fs::copy(from, build.join(file)).expect("the folder is writable");
    }
    let path = prefix.join("lib/pkgconfig");
    let mut make = Command::new("make");
    run("make", make.arg("-C").arg(&build).env("PKG_CONFIG_PATH", &path)).succeeded();

    let shared = build.join("quickstart");
    assert!(loaded(&shared).contains("libanyhost.so.0"), "{}", loaded(&shared));
    works("shared", Command::new(&shared).env("LD_LIBRARY_PATH", prefix.join("lib")));
    let alone = build.join("quickstart-static");
    assert!(!loaded(&alone).contains("libanyhost"), "{}", loaded(&alone));
    works("static", &mut Command::new(&alone));

    let ask = |arguments: &[&str]| {
        let mut command = Command::new("pkg-config");
        run("pkg-config", command.args(arguments).env("PKG_CONFIG_PATH", &path)).succeeded()
    };
    assert_eq!(ask(&["--modversion", "anyhost"]).trim(), env!("CARGO_PKG_VERSION"));
    let line = ask(&["--static", "--libs-only-l", "anyhost"]);
    assert_eq!(line.trim(), format!("-lanyhost {STATIC_LIBRARIES}"));
}

fn by_cmake(prefix: &Path, folder: &Path) {
    let build = folder.join("cmake");
    let mut cmake = Command::new("cmake");
    cmake.arg("-S").arg(root().join("examples/cmake")).arg("-B").arg(&build);
    cmake.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    run("cmake", &mut cmake).succeeded();
    run("cmake --build", Command::new("cmake").arg("--build").arg(&build)).succeeded();
    for (program, shared) in
        [("quickstart", true), ("quickstart-static", false), ("quickstart-cpp", true)]
    {
        let file = build.join(program);
        assert_eq!(loaded(&file).contains("libanyhost.so.0"), shared, "{program}");
        works(program, &mut Command::new(&file));
    }

    // What is too new, or of another major version, is refused.
    let versions = folder.join("versions");
    std::fs::create_dir_all(&versions).expect("the folder is writable");
    std::fs::write(
        versions.join("CMakeLists.txt"),
        "cmake_minimum_required(VERSION 3.16)\nproject(versions LANGUAGES C)\n\
         find_package(anyhost ${WANTED} CONFIG QUIET)\nmessage(\"found ${anyhost_FOUND}\")\n",
    )
    .expect("the folder is writable");
    for (wanted, found) in [("0.0.1", true), ("0.1", true), ("0.999", false), ("1.0", false)] {
        let mut cmake = Command::new("cmake");
        cmake.arg("-S").arg(&versions).arg("-B").arg(versions.join(wanted));
        cmake.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
        let ended = run("cmake", cmake.arg(format!("-DWANTED={wanted}")));
        ended.succeeded();
        assert_eq!(
            ended.complained().contains("found 1"),
            found,
            "{wanted}: {}",
            ended.complained()
        );
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a switch of the tests, never read by the library")]
fn what_is_installed_can_be_moved_and_used() {
    if !std::env::var("ANYHOST_FULL").is_ok_and(|value| value == "1") {
        return skip("packages", "ANYHOST_FULL=1 makes the release build that this needs");
    }
    if !cfg!(target_os = "linux") {
        return skip("packages", "install.sh knows Linux");
    }
    for program in ["make", "cmake", "pkg-config", "c++", "strip"] {
        if !installed("packages", program) {
            return;
        }
    }
    let folder = scratch().join("packages");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the last run's files can go");
    }
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    let prefix = install(&folder);

    let version = env!("CARGO_PKG_VERSION").split_once('.').expect("three numbers").1;
    let library = format!("libanyhost.so.0.{version}");
    assert_eq!(
        tree(&prefix),
        [
            "include/anyhost.h".to_owned(),
            "include/anyhost.hpp".to_owned(),
            "lib/libanyhost.a".to_owned(),
            "lib/libanyhost.so -> libanyhost.so.0".to_owned(),
            format!("lib/libanyhost.so.0 -> {library}"),
            format!("lib/{library}"),
            "lib/pkgconfig/anyhost.pc".to_owned(),
            "share/anyhost/anyhost.cdef".to_owned(),
            "share/cmake/anyhost/anyhost-config-version.cmake".to_owned(),
            "share/cmake/anyhost/anyhost-config.cmake".to_owned(),
        ]
    );
    let size = std::fs::metadata(prefix.join("lib").join(&library)).expect("it is there").len();
    println!("{library}: {size} bytes of {LARGEST}");
    assert!(size <= LARGEST, "{library} has {size} bytes, {} too many", size - LARGEST);

    by_pkg_config(&prefix, &folder);
    by_cmake(&prefix, &folder);
    // It holds 100 MB, and nobody reads it after a success.
    std::fs::remove_dir_all(&folder).expect("the files can go");
}
