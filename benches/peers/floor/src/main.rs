//! The floor: a blocking socket, a prebuilt request, and just enough parsing to
//! find Content-Length. No client can do less and still read a response. Over
//! TLS the same, on rustls (ring) by hand: what rustls alone costs.
use harness::{Cfg, Client, Peer, Res};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::Arc;
use std::time::Duration;

struct Floor {
    cfg: Cfg,
    tls: Option<Arc<rustls::ClientConfig>>,
}
enum S {
    Plain(TcpStream),
    Tls(Box<rustls::StreamOwned<rustls::ClientConnection, TcpStream>>),
}
impl S {
    fn write_all(&mut self, b: &[u8]) -> std::io::Result<()> {
        match self {
            S::Plain(s) => s.write_all(b),
            S::Tls(s) => {
                s.write_all(b)?;
                s.flush()
            }
        }
    }
    fn read(&mut self, b: &mut [u8]) -> std::io::Result<usize> {
        match self {
            S::Plain(s) => s.read(b),
            S::Tls(s) => s.read(b),
        }
    }
}
struct P {
    cfg: Cfg,
    tls: Option<Arc<rustls::ClientConfig>>,
    conns: HashMap<String, (S, Vec<u8>)>,
    buf: Vec<u8>,
}

impl Client for Floor {
    type Peer = P;
    const SHAREABLE: bool = false;
    fn new(cfg: &Cfg) -> Res<Self> {
        let tls = match &cfg.ca {
            None => None,
            Some(ca) => {
                let mut roots = rustls::RootCertStore::empty();
                let certs: Result<Vec<_>, _> = CertificateDer::pem_file_iter(ca)?.collect();
                roots.add_parsable_certificates(certs?);
                let p = Arc::new(rustls::crypto::ring::default_provider());
                Some(Arc::new(
                    rustls::ClientConfig::builder_with_provider(p)
                        .with_safe_default_protocol_versions()?
                        .with_root_certificates(roots)
                        .with_no_client_auth(),
                ))
            }
        };
        Ok(Floor { cfg: cfg.clone(), tls })
    }
    fn peer(&self) -> P {
        P {
            cfg: self.cfg.clone(),
            tls: self.tls.clone(),
            conns: HashMap::new(),
            buf: vec![0; 64 << 10],
        }
    }
}
/// variant=hedge: begin connecting to the first address; if it has neither
/// connected nor failed within ct, begin the second too; the first one up wins.
/// The floor for failover latency at connect.
fn hedged(first: SocketAddr, second: SocketAddr, delay: Duration) -> Res<(TcpStream, bool)> {
    fn begin(a: SocketAddr) -> std::io::Result<TcpStream> {
        let SocketAddr::V4(a) = a else { unreachable!() };
        let fd = unsafe {
            libc::socket(
                libc::AF_INET,
                libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
                0,
            )
        };
        let s = unsafe { TcpStream::from_raw_fd(fd) };
        let sa = libc::sockaddr_in {
            sin_family: libc::AF_INET as _,
            sin_port: a.port().to_be(),
            sin_addr: libc::in_addr { s_addr: u32::from(*a.ip()).to_be() },
            sin_zero: [0; 8],
        };
        if unsafe { libc::connect(fd, (&raw const sa).cast(), size_of_val(&sa) as u32) } < 0 {
            let e = std::io::Error::last_os_error();
            if e.raw_os_error() != Some(libc::EINPROGRESS) {
                return Err(e);
            }
        }
        Ok(s)
    }
    let mut open: Vec<(TcpStream, bool)> =
        begin(first).ok().map(|s| (s, false)).into_iter().collect();
    let mut waiting = true;
    loop {
        if waiting && open.is_empty() {
            waiting = false;
            open.push((begin(second)?, true));
        }
        if open.is_empty() {
            return Err("none connected".into());
        }
        let mut p: Vec<_> = open
            .iter()
            .map(|(s, _)| libc::pollfd { fd: s.as_raw_fd(), events: libc::POLLOUT, revents: 0 })
            .collect();
        let wait = if waiting { delay.as_millis() as i32 } else { 10_000 };
        let n = unsafe { libc::poll(p.as_mut_ptr(), p.len() as _, wait) };
        if n == 0 {
            if !waiting {
                return Err("timeout".into());
            }
            waiting = false;
            if let Ok(s) = begin(second) {
                open.push((s, true));
            }
            continue;
        }
        for i in (0..p.len()).rev().filter(|i| p[*i].revents != 0).collect::<Vec<_>>() {
            let (s, b) = open.remove(i);
            if s.take_error()?.is_none() && s.peer_addr().is_ok() {
                s.set_nonblocking(false)?;
                return Ok((s, b));
            }
        }
    }
}
fn connect(
    cfg: &Cfg,
    tls: &Option<Arc<rustls::ClientConfig>>,
    url: &str,
    method: &str,
    len: Option<usize>,
) -> Res<(S, Vec<u8>)> {
    let (scheme, rest) = url.split_once("://").ok_or("url")?;
    let (auth, path) = rest.split_once('/').ok_or("url")?;
    let addr = auth.to_socket_addrs()?.next().ok_or("addr")?;
    let (mut auth, mut path) = (auth, path);
    let s = if cfg.variant == "hedge" {
        let (a2, p2) =
            cfg.url2.split_once("://").and_then(|x| x.1.split_once('/')).ok_or("url2")?;
        let (s, b) = hedged(addr, a2.parse()?, cfg.ct.ok_or("ct")?)?;
        if b {
            (auth, path) = (a2, p2);
        }
        s
    } else {
        match cfg.ct {
            Some(t) => TcpStream::connect_timeout(&addr, t)?,
            None => TcpStream::connect(addr)?,
        }
    };
    s.set_nodelay(true)?;
    let s = if scheme == "https" {
        let name = ServerName::try_from(auth.rsplit_once(':').unwrap().0.to_string())?;
        let c = rustls::ClientConnection::new(tls.clone().ok_or("no ca")?, name)?;
        S::Tls(Box::new(rustls::StreamOwned::new(c, s)))
    } else {
        S::Plain(s)
    };
    let cl = len.map(|n| format!("Content-Length: {n}\r\n")).unwrap_or_default();
    let close = if cfg.fresh { "Connection: close\r\n" } else { "" };
    Ok((
        s,
        format!("{method} /{path} HTTP/1.1\r\nHost: {auth}\r\nAccept: */*\r\n{cl}{close}\r\n")
            .into_bytes(),
    ))
}
/// Reads one response; what is past the head is dropped. The body's length.
fn response(s: &mut S, buf: &mut [u8]) -> Res<usize> {
    let mut n = 0;
    let head = loop {
        let k = s.read(&mut buf[n..])?;
        if k == 0 {
            return Err("closed".into());
        }
        n += k;
        if let Some(i) = buf[..n].windows(4).position(|w| w == b"\r\n\r\n") {
            break i + 4;
        }
    };
    if &buf[9..12] != b"200" {
        return Err("status".into());
    }
    let at =
        buf[..head].windows(16).position(|w| w == b"Content-Length: ").ok_or("no length")? + 16;
    let len = buf[at..head]
        .iter()
        .take_while(|b| b.is_ascii_digit())
        .fold(0usize, |a, b| a * 10 + (*b - b'0') as usize);
    let mut got = n - head;
    while got < len {
        let k = s.read(buf)?;
        if k == 0 {
            return Err("short".into());
        }
        got += k;
    }
    Ok(len)
}
impl Peer for P {
    fn get(&mut self, url: &str) -> Res<usize> {
        if self.cfg.fresh || self.cfg.variant == "hedge" {
            let (mut s, req) = connect(&self.cfg, &self.tls, url, "GET", None)?;
            s.write_all(&req)?;
            return response(&mut s, &mut self.buf);
        }
        if !self.conns.contains_key(url) {
            self.conns.insert(url.into(), connect(&self.cfg, &self.tls, url, "GET", None)?);
        }
        let (s, req) = self.conns.get_mut(url).unwrap();
        s.write_all(req)?;
        response(s, &mut self.buf)
    }
    fn stream(&mut self, url: &str) -> Res<usize> {
        self.get(url)
    }
    fn post(&mut self, url: &str, body: &[u8]) -> Res<()> {
        let key = format!("POST {url}");
        if !self.conns.contains_key(&key) {
            self.conns
                .insert(key.clone(), connect(&self.cfg, &self.tls, url, "POST", Some(body.len()))?);
        }
        let (s, req) = self.conns.get_mut(&key).unwrap();
        s.write_all(req)?;
        s.write_all(body)?;
        response(s, &mut self.buf)?;
        Ok(())
    }
}
fn main() {
    harness::main::<Floor>()
}
