//! Compilers, libraries, and running what they made.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// What a program needs beside `libanyhost.a`, in this order. Printed by
/// `rustc --print native-static-libs`, with which a test compares it.
pub const STATIC_LIBRARIES: &str = "-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc";

/// How a program meets the library.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Build {
    Shared,
    Static,
    /// With the static library, under the sanitizers.
    Sanitized,
}

/// The folder of the manifest.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a file of the tree.
pub fn read(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A folder for what is made here.
pub fn scratch() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ffi");
        std::fs::create_dir_all(&folder).expect("the target folder is writable");
        folder
    })
}

/// A file that cargo built for this run: beside the test, or one folder up.
fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own file");
    let deps = test.parent().expect("a file is in a folder");
    [deps.join(name), deps.with_file_name(name)]
        .into_iter()
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("cargo builds {name} into {}", deps.display()))
}

/// A folder with the shared library under the two names that a linker and a loader look for.
pub fn library_folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = scratch().join("lib");
        std::fs::create_dir_all(&folder).expect("the target folder is writable");
        for name in ["libanyhost.so", "libanyhost.so.0"] {
            let link = folder.join(name);
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(built("libanyhost.so"), link).expect("a link");
        }
        folder
    })
}

/// Says that a test could not run and why. Where everything has to be installed that is a failure.
#[allow(clippy::disallowed_methods, reason = "a switch of the tests, never read by the library")]
pub fn skip(name: &str, reason: &str) {
    println!("SKIPPED {name}: {reason}");
    let all = std::env::var("ANYHOST_REQUIRE_ALL").is_ok_and(|value| value == "1");
    assert!(!all, "{name} may not be skipped here: {reason}");
}

/// Whether a program can be started; if not, the test is skipped.
pub fn installed(test: &str, program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        skip(test, &format!("{program} is not installed"));
    }
    there
}

/// A program that was compiled.
pub struct Program {
    name: String,
    file: PathBuf,
}

/// Compiles a file of this folder in every way, and hands each program over. A C++ program is left
/// out where there is no C++ compiler.
pub fn everywhere(source: &str, test: impl Fn(&Program)) {
    if source.ends_with(".cc") && !installed(source, "c++") {
        return;
    }
    for build in [Build::Shared, Build::Static, Build::Sanitized] {
        test(&compile(source, build));
    }
}

/// The same without the static library, for what linking has no part in.
pub fn twice(source: &str, test: impl Fn(&Program)) {
    for build in [Build::Shared, Build::Sanitized] {
        test(&compile(source, build));
    }
}

/// Compiles a file of this folder.
pub fn compile(source: &str, build: Build) -> Program {
    compile_file(&root().join("ffi-tests").join(source), build)
}

/// Compiles a file as C99 or C++11.
pub fn compile_file(source: &Path, build: Build) -> Program {
    compile_with(source, build, &[])
}

/// The same with further flags, which may take back the usual ones.
pub fn compile_with(source: &Path, build: Build, flags: &[&str]) -> Program {
    let cplusplus = source.extension().is_some_and(|it| it == "cc" || it == "cpp");
    let (compiler, standard) = if cplusplus { ("c++", "-std=c++11") } else { ("cc", "-std=c99") };
    compile_by(compiler, &[&[standard], flags].concat(), source, build)
}

/// Compiles a file by this compiler, or panics with what the compiler says.
pub fn compile_by(compiler: &str, flags: &[&str], source: &Path, build: Build) -> Program {
    let name = source.file_name().and_then(OsStr::to_str).expect("a name in ASCII");
    // Tests run side by side, each on files of its own.
    let thread = std::thread::current();
    let test = thread.name().expect("a test runs on a named thread").replace("::", "-");
    let more: String = flags.concat().replace(['=', '/', '+', ','], "");
    let file = scratch().join(format!("{test}-{}-{build:?}{more}", name.replace('.', "-")));
    let mut command = Command::new(compiler);
    command.args(flags);
    command.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-pthread"]);
    command.arg("-I").arg(root().join("include")).arg("-I").arg(root().join("ffi-tests"));
    if build == Build::Sanitized {
        command.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    }
    command.arg("-o").arg(&file).arg(source);
    if build == Build::Shared {
        let folder = library_folder().display();
        command.args([format!("-L{folder}"), "-lanyhost".into(), format!("-Wl,-rpath,{folder}")]);
    } else {
        // The debug information of the archive is 100 MB that nobody here reads.
        command.arg(built("libanyhost.a")).arg("-Wl,--strip-debug");
        // Of libgcc_s there is no static form; the compiler takes its parts by itself.
        let whole = flags.contains(&"-static");
        command.args(STATIC_LIBRARIES.split(' ').filter(|name| !whole || *name != "-lgcc_s"));
    }
    let output = command.output().expect("a C compiler is needed: cc");
    assert!(output.status.success(), "{command:?}:\n{}", text(&output.stderr));
    Program { name: format!("{name} ({compiler} {}, {build:?})", flags.join(" ")), file }
}

impl Program {
    /// One that was compiled elsewhere.
    pub fn of(name: &str, file: PathBuf) -> Self {
        Self { name: name.to_owned(), file }
    }

    /// What starts it.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(&self.file);
        command.args(arguments);
        command
    }

    /// Runs it.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Ended {
        run(&self.name, &mut self.command(arguments))
    }

    /// Runs it under another program.
    pub fn run_under(&self, other: &[&str], arguments: &[&str]) -> Ended {
        let mut command = Command::new(other[0]);
        command.args(&other[1..]).arg(&self.file).args(arguments);
        run(&format!("{} under {}", self.name, other[0]), &mut command)
    }

    /// Whether the file has this text in it, as the name of a symbol.
    pub fn contains(&self, part: &str) -> bool {
        let bytes = std::fs::read(&self.file).expect("the program is there");
        bytes.windows(part.len()).any(|window| window == part.as_bytes())
    }
}

/// Its file is large. It is kept where a test failed.
impl Drop for Program {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_file(&self.file);
        }
    }
}

/// Runs a command to its end. What it starts has a limit of its own (`check.h`).
pub fn run(name: &str, command: &mut Command) -> Ended {
    // Leaks are an exit code of their own, so that no other failure passes for one.
    command.env("ASAN_OPTIONS", "detect_leaks=1").env("LSAN_OPTIONS", "exitcode=23");
    let output = command.output().unwrap_or_else(|e| panic!("{name}: {e}"));
    Ended { name: name.to_owned(), output }
}

/// How a program ended.
pub struct Ended {
    name: String,
    output: Output,
}

impl Ended {
    /// It came to its last line without a complaint; what it said before that.
    #[track_caller]
    pub fn passed(&self) -> String {
        let said = self.succeeded();
        let last = said.strip_suffix("passed\n");
        last.unwrap_or_else(|| panic!("{} ended early: {said}", self.name)).to_owned()
    }

    /// It ended with 0; what it said.
    #[track_caller]
    pub fn succeeded(&self) -> String {
        assert_eq!(self.code(), Some(0), "{}: {}{}", self.name, self.said(), self.complained());
        self.said()
    }

    pub fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        self.output.status.signal()
    }

    pub fn said(&self) -> String {
        text(&self.output.stdout)
    }

    pub fn complained(&self) -> String {
        text(&self.output.stderr)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
