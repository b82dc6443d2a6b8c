//! The programs: how each is configured and started.

use crate::program::{self, Folder, Program, find, is_root};
use crate::support::*;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

/// Where no proxy that has rules may lead.
pub const FORBIDDEN: &str = "127.0.0.66";

/// A proxy that runs.
pub struct Real {
    pub addr: SocketAddr,
    scheme: &'static str,
    name: &'static str,
    command: Box<dyn Fn() -> Command + Send + Sync>,
    program: Option<Program>,
    /// What it stands on: its folder, and the proxy behind it.
    _behind: Option<Box<Real>>,
    folder: Folder,
}

/// Who may use a proxy.
#[derive(Clone, Copy, PartialEq)]
pub enum Users {
    Everybody,
    /// `me` with the password `geheim`.
    Me,
}

impl Real {
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.addr)
    }

    pub fn url_of(&self, user: &str, password: &str) -> String {
        format!("{}://{user}:{password}@{}", self.scheme, self.addr)
    }

    /// The same proxy, spoken to in this way.
    pub fn by(mut self, scheme: &'static str) -> Real {
        self.scheme = scheme;
        self
    }

    fn start(
        name: &'static str,
        addr: SocketAddr,
        command: impl Fn() -> Command + Send + Sync + 'static,
        folder: Folder,
    ) -> Real {
        let (scheme, command) = ("http", Box::new(command));
        let mut real = Real { addr, scheme, name, command, program: None, _behind: None, folder };
        real.restart();
        real
    }

    /// The program, which runs.
    pub fn program(&self) -> &Program {
        self.program.as_ref().expect("it was not killed")
    }

    /// Ends it in the middle of whatever it does, with all that it has started.
    pub fn kill(&mut self) {
        let mut program = self.program.take().expect("it was not killed");
        for id in program.children() {
            signal(id, libc::SIGKILL);
        }
        program.signal(libc::SIGKILL);
        program.wait_for_end();
    }

    /// Starts it again, at the same address.
    pub fn restart(&mut self) {
        let mut program = Program::start(self.name, &mut (self.command)(), &self.folder);
        program.wait_for(self.addr);
        self.program = Some(program);
    }

    /// Stops it where it is, or lets it go on.
    pub fn freeze(&self, frozen: bool) {
        let how = if frozen { libc::SIGSTOP } else { libc::SIGCONT };
        let program = self.program();
        for id in program.children().into_iter().chain([program.id()]) {
            signal(id, how);
        }
    }
}

/// Daemons give up their rights before they open their files.
fn open_to_all(folder: &Folder) {
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("our folder");
}

fn command(program: PathBuf, arguments: &[&str]) -> impl Fn() -> Command + use<> {
    let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
    move || {
        let mut command = Command::new(&program);
        command.args(&arguments);
        command
    }
}

fn signal(id: u32, signal: i32) {
    // SAFETY: a process that we have started, or that comes from one; it may be gone by now.
    unsafe { libc::kill(id as i32, signal) };
}

/// Squid. It refuses what leads to the address `forbidden`.
pub fn squid(test: &str, users: Users, forbidden: &str) -> Option<Real> {
    let squid = find(test, "squid")?;
    let (folder, addr) = (Folder::new("squid"), program::address());
    open_to_all(&folder);
    let at = folder.path().display().to_string();
    // It asks this program; a line is a user and a password.
    let check = folder.write(
        "check",
        "#!/bin/sh\nwhile read pair; do\n\
         if [ \"$pair\" = 'me geheim' ]; then echo OK; else echo ERR; fi\ndone\n",
    );
    fs::set_permissions(&check, fs::Permissions::from_mode(0o755)).expect("our file");
    let login = match users {
        Users::Everybody => "http_access allow all".to_owned(),
        Users::Me => format!(
            "auth_param basic program {}\nauth_param basic children 1\n\
             acl known proxy_auth REQUIRED\nhttp_access allow known\nhttp_access deny all",
            check.display()
        ),
    };
    let config = format!(
        "http_port {addr}
pid_filename {at}/squid.pid
cache_log {at}/cache.log
access_log none
coredump_dir {at}
cache deny all
cache_mem 8 MB
memory_pools off
pinger_enable off
netdb_filename none
shutdown_lifetime 0 seconds
connect_timeout 2 seconds
connect_retries 0
acl forbidden dst {forbidden}
http_access deny forbidden
{login}
"
    );
    let config = folder.write("squid.conf", config);
    let command = command(squid, &["-N", "-f", &config.display().to_string()]);
    Some(Real::start("squid", addr, command, folder))
}

/// tinyproxy. It refuses what has `forbidden` in its host.
pub fn tinyproxy(test: &str, users: Users, forbidden: &str) -> Option<Real> {
    let tinyproxy = find(test, "tinyproxy")?;
    let (folder, addr) = (Folder::new("tinyproxy"), program::address());
    let filter = folder.write("filter", forbidden);
    let login = if users == Users::Me { "BasicAuth me geheim" } else { "" };
    let config = format!(
        "Port {port}\nListen {ip}\nTimeout 10\nMaxClients 50\nLogLevel Warning\n\
         Filter \"{filter}\"\nFilterType ere\n{login}\n",
        port = addr.port(),
        ip = addr.ip(),
        filter = filter.display(),
    );
    let config = folder.write("tinyproxy.conf", config);
    let command = command(tinyproxy, &["-d", "-c", &config.display().to_string()]);
    Some(Real::start("tinyproxy", addr, command, folder))
}

/// microsocks: it has no rules but for users.
pub fn microsocks(test: &str, users: Users) -> Option<Real> {
    let microsocks = find(test, "microsocks")?;
    let (folder, addr) = (Folder::new("microsocks"), program::address());
    let (ip, port) = (addr.ip().to_string(), addr.port().to_string());
    let mut arguments = vec!["-i", &ip, "-p", &port];
    if users == Users::Me {
        arguments.extend(["-u", "me", "-P", "geheim"]);
    }
    let command = command(microsocks, &arguments);
    Some(Real::start("microsocks", addr, command, folder).by("socks5h"))
}

/// Dante, which speaks SOCKS4 as well, but not 4a: it takes the address that stands for a name for one. It refuses what leads to the address `forbidden`; its users
/// are those of the system, so the only credentials a test can have are wrong.
pub fn dante(test: &str, users: Users, forbidden: &str) -> Option<Real> {
    let danted = find(test, "danted")?;
    let (folder, addr) = (Folder::new("dante"), program::address());
    open_to_all(&folder);
    let method = if users == Users::Me { "username" } else { "none" };
    let privileged =
        if is_root() { "user.privileged: root\nuser.unprivileged: nobody\n" } else { "" };
    let config = format!(
        "logoutput: stderr
internal: {ip} port = {port}
external: 127.0.0.1
clientmethod: none
socksmethod: {method}
{privileged}
client pass {{ from: 0.0.0.0/0 to: 0.0.0.0/0 }}
socks block {{ from: 0.0.0.0/0 to: {forbidden}/32 }}
socks pass {{ from: 0.0.0.0/0 to: 0.0.0.0/0 }}
",
        ip = addr.ip(),
        port = addr.port(),
    );
    let config = folder.write("danted.conf", config);
    let pid = folder.path().join("danted.pid").display().to_string();
    let command = command(danted, &["-f", &config.display().to_string(), "-p", &pid]);
    Some(Real::start("danted", addr, command, folder).by("socks5h"))
}

/// stunnel in front of a proxy: TLS to the proxy.
pub fn stunnel(test: &str, authority: &Authority, behind: Real) -> Option<Real> {
    let stunnel = find(test, "stunnel4")?;
    let (folder, addr) = (Folder::new("stunnel"), program::address());
    let (certificate, key) = authority.server_pem_for(&[&addr.ip().to_string()]);
    let pem = folder.write("both.pem", format!("{key}\n{certificate}"));
    fs::set_permissions(&pem, fs::Permissions::from_mode(0o600)).expect("our file");
    let config = format!(
        "foreground = yes\npid =\nsyslog = no\n[proxy]\naccept = {addr}\nconnect = {}\ncert = {}\n",
        behind.addr,
        pem.display()
    );
    let config = folder.write("stunnel.conf", config);
    let command = command(stunnel, &[&config.display().to_string()]);
    let mut front = Real::start("stunnel", addr, command, folder).by("https");
    front._behind = Some(Box::new(behind));
    Some(front)
}
