//! Hosts in network namespaces, joined by cables.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use crate::support::{Listen, Script, Server};
use crate::tunnel::{self, Tunnel};
use std::time::Duration;

/// A client's namespace, and those of the hosts that it reaches.
pub struct Lab {
    test: &'static str,
    prefix: String,
    made: Mutex<Vec<String>>,
    links: AtomicUsize,
}

/// A scripted server in a namespace of its own.
pub struct Host {
    space: String,
    server: Option<Server>,
    _link: Option<Tunnel>,
}

impl Lab {
    /// `None`: this machine does not allow it, which is said.
    pub fn new(test: &'static str) -> Option<Lab> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let prefix = format!("ah{}-{}-", std::process::id(), MADE.fetch_add(1, SeqCst));
        let lab = Lab { test, prefix, made: Mutex::default(), links: AtomicUsize::new(0) };
        if !lab.space("client") {
            lab.skip("no network namespace can be made");
            return None;
        }
        Some(lab)
    }

    /// Runs `work` where the client is.
    pub fn run(&self, work: impl FnOnce(&Lab) + Send) {
        inside(&self.name("client"), || work(self));
    }

    /// Prints past the harness, which shows only what a failed test has printed.
    pub fn say(&self, what: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{}: {what}", self.test);
    }

    pub fn skip(&self, why: &str) {
        let _ = writeln!(std::io::stderr().lock(), "SKIPPED {}: {why}", self.test);
    }

    /// A host at the other end of a cable.
    pub fn host(&self, name: &str, script: impl Into<Script> + Send) -> Host {
        assert!(self.space(name));
        let net = self.cable("client", &format!("to-{name}"), name, "eth0");
        self.serve(name, &format!("{net}.2"), script)
    }

    /// A host behind a router, which is `router`: `eth0` towards the client, `eth1` towards the host.
    pub fn host_behind_router(&self, name: &str, script: impl Into<Script> + Send) -> Host {
        assert!(self.space("router") && self.space(name));
        let near = self.cable("client", "to-router", "router", "eth0");
        let far = self.cable("router", "eth1", name, "eth0");
        self.ip_in("client", &format!("route add {far}.0/24 via {near}.2"));
        self.ip_in(name, &format!("route add default via {far}.1"));
        assert!(self.set_in("router", "net/ipv4/ip_forward", "1"));
        self.serve(name, &format!("{far}.2"), script)
    }

    /// A host from which every packet takes so long. `None`: there are no TUN devices here.
    pub fn host_far_away(
        &self,
        name: &str,
        delay: Duration,
        script: impl Into<Script> + Send,
    ) -> Option<Host> {
        assert!(self.space(name));
        let net = format!("10.99.{}", self.links.fetch_add(1, SeqCst) + 1);
        let near = inside(&self.name("client"), || tunnel::open("to-far")).ok()?;
        let far = inside(&self.name(name), || tunnel::open("far0")).ok()?;
        for (space, link, place) in [("client", "to-far", 1), (name, "far0", 2)] {
            self.ip_in(space, &format!("addr add {net}.{place}/24 dev {link}"));
            self.ip_in(space, &format!("link set {link} up"));
        }
        let mut host = self.serve(name, &format!("{net}.2"), script);
        host._link = Some(Tunnel::new(near, far, delay));
        Some(host)
    }

    fn serve(&self, name: &str, ip: &str, script: impl Into<Script> + Send) -> Host {
        let space = self.name(name);
        let server = inside(&space, || Listen::on(ip).start(script));
        Host { space, server: Some(server), _link: None }
    }

    /// Joins two namespaces; `.1` of the net returned is in the first, `.2` in the second.
    fn cable(&self, a: &str, a_link: &str, b: &str, b_link: &str) -> String {
        let net = format!("10.99.{}", self.links.fetch_add(1, SeqCst) + 1);
        let (a_name, b_name) = (self.name(a), self.name(b));
        done(&ip(&format!(
            "link add {a_link} netns {a_name} type veth peer name {b_link} netns {b_name}"
        )));
        for (space, link, place) in [(a, a_link, 1), (b, b_link, 2)] {
            self.ip_in(space, &format!("addr add {net}.{place}/24 dev {link}"));
            self.ip_in(space, &format!("link set {link} up"));
        }
        net
    }

    /// `ip` in a namespace.
    #[track_caller]
    pub fn ip_in(&self, space: &str, arguments: &str) {
        done(&ip(&format!("-n {} {arguments}", self.name(space))));
    }

    /// Whether nft could add this rule for what goes through in this way.
    pub fn nft_in(&self, space: &str, way: &str, rule: &str) -> bool {
        let chain = format!("type filter hook {way} priority 0");
        self.nft(space, way, &chain, rule)
    }

    /// The same for rules that translate addresses.
    pub fn nft_nat_in(&self, space: &str, rule: &str) -> bool {
        self.nft(space, "nat", "type nat hook postrouting priority 100", rule)
    }

    fn nft(&self, space: &str, chain: &str, hook: &str, rule: &str) -> bool {
        let rules = format!("table ip lab {{\n chain {chain} {{\n {hook};\n {rule}\n }}\n}}");
        self.exec(space, &format!("echo '{rules}' | nft -f -"))
    }

    /// Whether the kernel took this setting.
    pub fn set_in(&self, space: &str, path: &str, value: &str) -> bool {
        self.exec(space, &format!("echo {value} > /proc/sys/{path}"))
    }

    fn exec(&self, space: &str, script: &str) -> bool {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(space), "sh", "-c", script]);
        command.output().is_ok_and(|output| output.status.success())
    }

    fn name(&self, space: &str) -> String {
        format!("{}{space}", self.prefix)
    }

    fn space(&self, space: &str) -> bool {
        let name = self.name(space);
        let made = Command::new("ip").args(["netns", "add", &name]).output();
        if !made.is_ok_and(|output| output.status.success()) {
            return false;
        }
        self.made.lock().unwrap().push(name.clone());
        done(&ip(&format!("-n {name} link set lo up")));
        true
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for name in self.made.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).iter() {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

impl Host {
    pub fn url(&self) -> String {
        self.server().url()
    }

    pub fn executed(&self) -> usize {
        self.server().executed()
    }

    /// How often it has read this request whole.
    pub fn times(&self, method: &str, target: &str) -> usize {
        let requests = self.server().requests();
        requests.iter().filter(|r| r.complete && r.method == method && r.target == target).count()
    }

    fn server(&self) -> &Server {
        self.server.as_ref().expect("until it is dropped")
    }
}

/// A server ends by connecting to itself, where it can.
impl Drop for Host {
    fn drop(&mut self) {
        let server = self.server.take();
        let ended = catch_unwind(AssertUnwindSafe(|| inside(&self.space, || drop(server))));
        if let Err(panic) = ended {
            if !thread::panicking() {
                resume_unwind(panic);
            }
        }
    }
}

/// Runs `work` on a thread in this namespace. Threads that it starts are in it too.
fn inside<T: Send>(space: &str, work: impl FnOnce() -> T + Send) -> T {
    let file = std::fs::File::open(format!("/run/netns/{space}")).expect("a namespace by its name");
    let result = thread::scope(|scope| {
        let thread = scope.spawn(move || {
            // SAFETY: moves this thread alone, by a descriptor that is open.
            let moved = unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) };
            assert_eq!(moved, 0, "{}", std::io::Error::last_os_error());
            work()
        });
        thread.join()
    });
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

fn ip(arguments: &str) -> Output {
    Command::new("ip").args(arguments.split(' ')).output().expect("ip was started before")
}

#[track_caller]
fn done(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
