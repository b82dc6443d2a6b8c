//! What `packaging/install.sh` installs, as its users find it: moved to another place, by pkg-config, by CMake
//! and by Python, shared and static; and what the page on packaging says of it.
//!
//! It makes a release build, which takes minutes, so it runs where `ANYHOST_FULL=1` asks for everything.

use crate::pages::{at, block};
use crate::support::*;
use crate::toolbox::{STATIC_LIBRARIES, installed, read, root, run, scratch, skip};
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

/// The folder that cargo builds into.
fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder")
}

/// Installs below a folder for the prefix /opt/anyhost, the libraries in `libdir`, and moves it from there.
fn install(folder: &Path, libdir: &str) -> PathBuf {
    let name = libdir.replace('/', "-");
    let staged = folder.join("staged").join(&name);
    let mut script = Command::new(root().join("packaging/install.sh"));
    script.arg("/opt/anyhost").arg(&staged).env("CARGO_TARGET_DIR", target());
    run("install.sh", script.env("LIBDIR", libdir)).succeeded();
    assert_eq!(std::fs::read_dir(&staged).expect("it was made").count(), 1, "DESTDIR holds opt");
    let moved = folder.join("moved").join(name);
    std::fs::create_dir_all(moved.parent().expect("it is below")).expect("the folder is writable");
    std::fs::rename(staged.join("opt/anyhost"), &moved).expect("it can be moved");
    moved
}

/// The folders of this machine that a build knows, none of which its users are told.
#[allow(clippy::disallowed_methods, reason = "where cargo keeps sources, as it reads that itself")]
fn folders_of_the_build() -> Vec<String> {
    let set = |name: &str| std::env::var(name).ok();
    let cargo = set("CARGO_HOME").or_else(|| Some(format!("{}/.cargo", set("HOME")?)));
    let mut folders = vec![root().display().to_string(), target().display().to_string()];
    folders.extend(cargo);
    folders
}

/// No file of the tree has a path of the machine it was built on.
fn holds_no_path_of_the_build(prefix: &Path) {
    let folders = folders_of_the_build();
    assert!(folders.iter().all(|folder| folder.len() > 3), "{folders:?}");
    for name in tree(prefix) {
        let content = std::fs::read(prefix.join(name.split(" -> ").next().expect("one")));
        let content = content.expect("it can be read");
        for folder in &folders {
            let found = content.windows(folder.len()).any(|part| part == folder.as_bytes());
            assert!(!found, "{name} has {folder} in it");
        }
    }
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

fn by_pkg_config(prefix: &Path, libdir: &str, folder: &Path) {
    let build = folder.join("c").join(libdir);
    std::fs::create_dir_all(&build).expect("the folder is writable");
    for file in ["Makefile", "quickstart.c", "daemon.c", "download.c"] {
        let from = root().join("examples/c").join(file);
        std::fs::copy(from, build.join(file)).expect("the folder is writable");
    }
    let path = prefix.join(libdir).join("pkgconfig");
    let mut make = Command::new("make");
    run("make", make.arg("-C").arg(&build).env("PKG_CONFIG_PATH", &path)).succeeded();

    let shared = build.join("quickstart");
    assert!(loaded(&shared).contains("libanyhost.so.0"), "{}", loaded(&shared));
    works("shared", Command::new(&shared).env("LD_LIBRARY_PATH", prefix.join(libdir)));
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

fn by_cmake(prefix: &Path, libdir: &str, folder: &Path) {
    let build = folder.join("cmake").join(libdir);
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
}

/// A version that is too new, or another major one, is refused.
fn cmake_compares_versions(prefix: &Path, folder: &Path) {
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

/// The Python of README.md, with the package from where the command puts it.
fn runs_the_readme(python: &mut Command, folder: &Path) {
    let (refusing, server) = (refusing_address(), Server::start(Reply::ok("all is well")));
    let file = folder.join("readme.py");
    std::fs::write(&file, at(&block("python"), &refusing, &server)).expect("writable");
    python.arg("-B").arg(file).env_remove("ANYHOST_LIBRARY");
    let said = run("readme.py", python).succeeded();
    assert!(said.starts_with("200 all is well\n"), "{said}");
}

fn by_python(prefix: &Path, folder: &Path) {
    // As a distribution has it: the package alone, and the library where the loader finds it.
    let mut apart = Command::new("python3");
    apart.env("PYTHONPATH", root().join("packaging/python/src"));
    runs_the_readme(apart.env("LD_LIBRARY_PATH", prefix.join("lib")), folder);

    // As pip has it: a wheel with the library inside, and no other package.
    let site = folder.join("site");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--no-index", "--quiet", "--target"]).arg(&site);
    pip.arg("./packaging/python").current_dir(root());
    pip.env("ANYHOST_LIBRARY", prefix.join("lib/libanyhost.so"));
    pip.env("PYTHONDONTWRITEBYTECODE", "1").env("PIP_ROOT_USER_ACTION", "ignore");
    run("pip install", &mut pip).succeeded();
    assert!(site.join("anyhost/libanyhost.so.0").exists());
    runs_the_readme(Command::new("python3").env("PYTHONPATH", &site), folder);
}

/// The command of the page on packaging that takes everything away.
fn is_taken_away(prefix: &Path) {
    let page = read("src/manual/howto/packaging.md");
    let command = page.lines().find_map(|line| line.strip_prefix("cd PREFIX && "));
    let mut shell = Command::new("sh");
    shell.arg("-ec").arg(command.expect("the page has it")).current_dir(prefix);
    run("rm", &mut shell).succeeded();
    assert_eq!(tree(prefix), Vec::<String>::new());
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
    for program in ["make", "cmake", "pkg-config", "c++", "strip", "python3", "pip3"] {
        if !installed("packages", program) {
            return;
        }
    }
    let folder = scratch().join("packages");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the last run's files can go");
    }
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    let prefix = install(&folder, "lib");

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

    holds_no_path_of_the_build(&prefix);

    by_pkg_config(&prefix, "lib", &folder);
    by_cmake(&prefix, "lib", &folder);
    cmake_compares_versions(&prefix, &folder);
    by_python(&prefix, &folder);

    // As some distributions lay it out.
    let triple = run("cc", Command::new("cc").arg("-print-multiarch")).succeeded();
    let triple = triple.trim();
    let libdir = if triple.is_empty() { "lib64".to_owned() } else { format!("lib/{triple}") };
    let other = install(&folder, &libdir);
    by_pkg_config(&other, &libdir, &folder);
    if !triple.is_empty() {
        // That of another architecture beside it, and earlier in the alphabet.
        let decoy = other.join("lib/a-linux-gnu");
        std::fs::create_dir_all(&decoy).expect("the folder is writable");
        for name in ["libanyhost.so", "libanyhost.a"] {
            std::fs::write(decoy.join(name), "no library").expect("the folder is writable");
        }
    }
    by_cmake(&other, &libdir, &folder);

    is_taken_away(&prefix);
    // It holds 100 MB, and nobody reads it after a success.
    std::fs::remove_dir_all(&folder).expect("the files can go");
}
