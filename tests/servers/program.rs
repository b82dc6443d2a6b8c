//! Programs of others: found, started in a folder of their own, ended with all they have started.
//!
//! Each program listens on an address of its own below 127/8, so that no two tests, and no two runs of
//! them at once, can meet at a port. It is ready when it accepts; whatever it wrote is shown when a test
//! fails.

use std::fmt;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::ms;

/// Longer than any of these programs takes to start or to end on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where a program is, or a named skip: a failure where `ANYHOST_REQUIRE_ALL` is set.
pub fn find(test: &str, name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    if found.is_none() {
        skip(test, &format!("`{name}` is not installed"));
        assert!(!required(), "{test} may not be skipped here: `{name}` is not installed");
    }
    found
}

/// Says that a test could not run and why.
pub fn skip(test: &str, reason: &str) {
    say(&format!("SKIPPED {test}: {reason}"));
}

/// Prints past the harness, which shows only what a failed test has printed.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

pub fn required() -> bool {
    std::env::var("ANYHOST_REQUIRE_ALL").is_ok_and(|value| value == "1")
}

/// Whether this process may do everything. Many daemons then give up their rights, and want to be told
/// to whom.
pub fn is_root() -> bool {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() == 0 }
}

/// An address of loopback that nobody else has, with a port that is free there.
pub fn address() -> SocketAddr {
    static GIVEN: AtomicUsize = AtomicUsize::new(1);
    let process = std::process::id().to_be_bytes();
    let number = GIVEN.fetch_add(1, SeqCst) as u8;
    // Of the process's number the 16 lowest bits; 127.0.x.x and 127.1.x.x are others'.
    let ip = Ipv4Addr::new(127, 2 + process[2] % 250, process[3], number);
    let free = TcpListener::bind((ip, 0)).expect("an address of loopback");
    free.local_addr().expect("a bound address")
}

/// A folder that goes when this does. Readable for those whom a daemon becomes.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        static MADE: AtomicUsize = AtomicUsize::new(1);
        let unique = format!("anyhost-{name}-{}-{}", std::process::id(), MADE.fetch_add(1, SeqCst));
        let path = std::env::temp_dir().join(unique);
        fs::create_dir_all(&path).expect("a folder for temporary files");
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, and says where.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        let folder = path.parent().expect("a folder");
        fs::create_dir_all(folder).expect("a folder for temporary files");
        fs::write(&path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        path
    }

    /// What a file holds, empty where there is none.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A program that runs, in the foreground and in a process group of its own.
pub struct Program {
    name: String,
    child: Child,
    /// What it says.
    told: PathBuf,
}

impl Program {
    /// Starts it; `name` is that of the file in `folder` that gets what it says.
    pub fn start(name: &str, command: &mut Command, folder: &Folder) -> Program {
        let told = folder.path().join(format!("{name}.told"));
        let file = File::options().create(true).append(true).open(&told).expect("a file");
        let copy = file.try_clone().expect("a file");
        command.stdin(Stdio::piped()).stdout(file).stderr(copy).process_group(0);
        // SAFETY: what runs between fork and exec is one system call, which may be made there. The
        // program is told to end when the thread that started it does, should no destructor run.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                Ok(())
            });
        }
        let child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        Program { name: name.to_owned(), child, told }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Everything it has said so far.
    pub fn told(&self) -> String {
        let mut bytes = Vec::new();
        let read = File::open(&self.told).and_then(|mut file| file.read_to_end(&mut bytes));
        read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    pub fn stdin(&mut self) -> &mut ChildStdin {
        self.child.stdin.as_mut().expect("its input is ours")
    }

    /// Waits until it accepts connections.
    #[track_caller]
    pub fn wait_for(&mut self, addr: SocketAddr) {
        let name = self.name.clone();
        let accepts = || TcpStream::connect_timeout(&addr, ms(200)).is_ok();
        self.wait_until(&format!("{name} accepts at {addr}"), |_| accepts());
    }

    /// Waits until `done`, and fails if the program ends before.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, mut done: impl FnMut(&mut Program) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !done(self) {
            let ended = self.child.try_wait().expect("our child");
            let over = ended.is_some() || Instant::now() >= until;
            assert!(!over, "not so: {what} (ended: {ended:?}). It said:\n{}", self.told());
            // Nobody tells when a program of others has got that far.
            thread::sleep(ms(10));
        }
    }

    /// Sends it a signal, and not its children.
    pub fn signal(&self, signal: i32) {
        // SAFETY: our child, which is not waited for before it is dropped.
        let sent = unsafe { libc::kill(self.id() as i32, signal) };
        assert_eq!(sent, 0, "{} is gone", self.name);
    }

    /// Waits for it to end by itself.
    #[track_caller]
    pub fn wait_for_end(&mut self) {
        assert!(self.ends_within(PATIENCE), "{} goes on. It said:\n{}", self.name, self.told());
    }

    fn ends_within(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while self.child.try_wait().expect("our child").is_none() {
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(ms(5));
        }
        true
    }

    /// The processes that it has started.
    pub fn children(&self) -> Vec<u32> {
        children_of(self.id())
    }
}

/// The processes whose parent this is, from the table of processes.
pub fn children_of(parent: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // The name, in parentheses, may hold anything.
        let after = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let mut fields = after.split(' ');
        let (state, of) = (fields.next(), fields.next());
        state != Some("Z") && of == Some(&parent.to_string())
    })
    .collect()
}

/// Ends it and all that it has started: first by asking.
impl Drop for Program {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{} said:\n{}", self.name, self.told());
        }
        if self.ends_within(Duration::ZERO) {
            return; // Its number may be another's by now.
        }
        let group = self.id() as i32;
        // SAFETY: the group was made for this child, and holds only what comes from it. While it is not
        // waited for its number cannot be another's.
        unsafe { libc::killpg(group, libc::SIGTERM) };
        let mut ended = self.ends_within(Duration::from_secs(3));
        if !ended {
            // SAFETY: as above.
            unsafe { libc::killpg(group, libc::SIGKILL) };
            ended = self.ends_within(PATIENCE);
        }
        if !ended && !thread::panicking() {
            panic!("{} does not end", self.name);
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
