//! Runs a row under callgrind, which counts instructions and calls of the allocator, and under strace.

use super::case::Row;
use super::server::Peer;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What one call costs.
#[derive(Clone, Copy)]
pub struct Counts {
    pub instructions: f64,
    pub allocations: f64,
    pub system_calls: f64,
}

impl Counts {
    /// What has grown beyond this factor, in words.
    pub fn grown(&self, before: &Counts, factor: f64) -> Vec<String> {
        [
            ("instructions", before.instructions, self.instructions, 0.5),
            // Fractions of one are a buffer that grew in the one run and not in the other.
            ("allocations", before.allocations, self.allocations, 0.1),
            ("system calls", before.system_calls, self.system_calls, 0.1),
        ]
        .into_iter()
        .filter(|(_, before, now, slack)| *now > before * factor + slack)
        .map(|(what, before, now, _)| format!("{what} from {before:.1} to {now:.1}"))
        .collect()
    }
}

/// Whether everything is there that measuring needs.
pub fn ready() -> Result<(), String> {
    for program in ["valgrind", "strace", "cc"] {
        if Command::new(program).arg("--version").output().is_err() {
            return Err(format!("{program} is not installed"));
        }
    }
    Ok(())
}

/// Whether a skip is a failure.
#[allow(clippy::disallowed_methods, reason = "a switch of the bench, never read by the library")]
pub fn all_required() -> bool {
    std::env::var("ANYHOST_REQUIRE_ALL").is_ok_and(|value| value == "1")
}

/// What the counts depend on beside the code.
pub fn toolchain() -> String {
    let version = |program: &str, option: &str| {
        let output = Command::new(program).arg(option).output().expect("it can be started");
        String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or("").to_owned()
    };
    let rustc = version("rustc", "--version");
    let libc = version("ldd", "--version");
    let rustc: Vec<&str> = rustc.split(' ').take(2).collect();
    let target = (std::env::consts::ARCH, std::env::consts::OS);
    let libc = libc.rsplit(' ').next().unwrap_or("");
    format!(
        "{}, {} {}, libc {libc}, {}",
        rustc.join(" "),
        target.0,
        target.1,
        version("valgrind", "--version")
    )
}

pub struct Bench<'a> {
    peer: &'a Peer,
    folder: PathBuf,
    own: PathBuf,
    c: PathBuf,
}

impl<'a> Bench<'a> {
    pub fn new(peer: &'a Peer) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("counts");
        std::fs::create_dir_all(&folder).expect("the target folder is writable");
        let own = std::env::current_exe().expect("a program knows its own file");
        let c = compile(&folder, &own);
        Bench { peer, folder, own, c }
    }

    /// The difference of a long run and a short one. `None` where a run fails, which it then says.
    pub fn measure(&self, row: &Row) -> Option<Counts> {
        let (few, many) = (row.calls, row.calls * 4);
        let (a, b) = (self.count(row, few)?, self.count(row, many)?);
        let per_call = |few: u64, more: u64| (more as f64 - few as f64) / (many - row.calls) as f64;
        Some(Counts {
            instructions: per_call(a.0, b.0),
            allocations: per_call(a.1, b.1),
            system_calls: per_call(a.2, b.2),
        })
    }

    fn count(&self, row: &Row, calls: u64) -> Option<(u64, u64, u64)> {
        let mut program = vec![];
        if row.subject == "C" {
            program.push(self.c.display().to_string());
        } else {
            program.extend([self.own.display().to_string(), "run".to_owned()]);
        }
        program.extend([row.case.to_owned(), row.subject.to_owned(), calls.to_string()]);
        program.extend(self.peer.arguments());

        let out = self.folder.join("callgrind.out");
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--error-exitcode=9"]);
        valgrind.arg(format!("--callgrind-out-file={}", out.display()));
        run(valgrind.args(&program))?;
        let profile = std::fs::read_to_string(&out).expect("callgrind writes its file");

        let out = self.folder.join("strace.out");
        let mut strace = Command::new("strace");
        run(strace.args(["-f", "-c", "-qq", "-o"]).arg(&out).args(&program))?;
        let traced = std::fs::read_to_string(&out).expect("strace writes its file");
        Some((total(&profile), allocations(&profile), system_calls(&traced)))
    }
}

fn run(command: &mut Command) -> Option<()> {
    let Output { status, stdout, stderr } = command.output().expect("it can be started");
    if status.success() {
        return Some(());
    }
    println!("FAILED {command:?}: {status}");
    println!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    None
}

/// One that is there already, by its whole path in `ANYHOST_LIBRARY`.
#[allow(clippy::disallowed_methods, reason = "a switch of the bench, never read by the library")]
fn given_library() -> Option<PathBuf> {
    std::env::var("ANYHOST_LIBRARY").ok().map(PathBuf::from)
}

/// The C program, linked with the shared library as it is packaged: cargo applies LTO only where no
/// `rlib` is asked for beside it.
fn compile(folder: &Path, own: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = match given_library() {
        Some(library) => library,
        None => {
            println!("building the shared library as it is packaged");
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["rustc", "--release", "--lib", "--crate-type", "cdylib"]).current_dir(root);
            run(&mut cargo).expect("the shared library can be built");
            let deps = own.parent().expect("a file is in a folder");
            deps.with_file_name("libanyhost.so")
        }
    };
    for name in ["libanyhost.so", "libanyhost.so.0"] {
        let link = folder.join(name);
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&library, link).expect("a link");
    }
    let program = folder.join("call");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-Wall", "-Wextra", "-Werror", "-I"]).arg(root.join("include"));
    cc.arg(root.join("benches/counts/call.c")).arg("-o").arg(&program);
    cc.arg("-L").arg(folder).arg("-lanyhost").arg(format!("-Wl,-rpath,{}", folder.display()));
    run(&mut cc).expect("the C program compiles");
    program
}

fn total(profile: &str) -> u64 {
    let line = |prefix| profile.lines().rev().find_map(|line: &str| line.strip_prefix(prefix));
    let text = line("totals: ").or_else(|| line("summary: ")).expect("a sum of all instructions");
    text.trim().parse().expect("a number")
}

/// How often the allocator was called. In a profile a call is two lines: `cfn=(12) malloc`, the name
/// given once, and then `calls=3 ...`.
fn allocations(profile: &str) -> u64 {
    const ALLOCATOR: [&str; 5] = ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"];
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut callee = "";
    let mut sum = 0;
    for line in profile.lines() {
        if let Some(function) = line.strip_prefix("cfn=").or_else(|| line.strip_prefix("fn=")) {
            let (number, name) = function.split_once(' ').unwrap_or((function, ""));
            if !name.is_empty() {
                names.insert(number, name);
            }
            callee = names.get(number).copied().unwrap_or("");
        } else if let Some(calls) = line.strip_prefix("calls=") {
            if ALLOCATOR.contains(&callee) {
                let count = calls.split(' ').next().and_then(|count| count.parse::<u64>().ok());
                sum += count.expect("a number of calls");
            }
        }
    }
    sum
}

/// The sum of all rows: seconds, microseconds a call, calls, perhaps errors, name.
fn system_calls(traced: &str) -> u64 {
    let count = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.last()?;
        let is_row = words.len() >= 5 && words[0].parse::<f64>().is_ok() && *name != "total";
        if is_row { words[3].parse::<u64>().ok() } else { None }
    };
    traced.lines().filter_map(count).sum()
}
