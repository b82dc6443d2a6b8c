//! anyhost with everything on: deadline, connect limit, retries, breaker, weighted selection
//! (`failover` mode: in order). `url` is absolute; its origin is the endpoint, with ports=K there are
//! K of them in one client. The first K requests warm up each of them, later ones are drawn.
use anyhost::{Client as Anyhost, Endpoint, Request, Selection, TlsRoots};
use harness::{Cfg, Client, Peer, Res};
use std::io::Read;
use std::time::Duration;

struct A(Anyhost, Vec<String>);
struct P(Anyhost, Vec<u8>, Vec<String>, Option<std::sync::Arc<[u8]>>);
#[derive(Clone)]
struct Shared(std::sync::Arc<[u8]>);
impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
impl P {
    /// The body as a program has it that posts it more than once: owned, and shared.
    fn shared(&mut self, body: &[u8]) -> anyhost::Body {
        let body = self.3.get_or_insert_with(|| body.into()).clone();
        anyhost::Body::bytes(Shared(body))
    }
}

fn origin(url: &str) -> &str {
    &url[..8 + url[8..].find('/').unwrap_or(url.len() - 8)]
}
fn path(url: &str) -> &str {
    &url[8 + url[8..].find('/').unwrap()..]
}
impl Client for A {
    type Peer = P;
    const SHAREABLE: bool = true;
    fn new(c: &Cfg) -> Res<Self> {
        let mut b = Anyhost::builder()
            .preset("resilient")
            .selection(if c.url2.is_empty() { Selection::Weighted } else { Selection::Ordered })
            .deadline(Duration::from_secs(30))
            .connect_timeout(c.ct.unwrap_or(Duration::from_secs(5)));
        let mut names = Vec::new();
        let base = origin(&c.url);
        let (host, port) = base.rsplit_once(':').unwrap();
        let port: usize = port.parse().unwrap();
        for i in 0..c.ports {
            names.push(format!("{host}:{}", port + i));
        }
        if !c.url2.is_empty() {
            names.push(origin(&c.url2).into());
        }
        for name in &names {
            b = b.endpoint(Endpoint::new(name)?.label(name));
        }
        if let Some(ca) = &c.ca {
            b = b.tls_roots(TlsRoots::None).add_root_pem(std::fs::read(ca)?);
        }
        b = b.max_idle_per_endpoint(if c.fresh { 0 } else { c.threads.max(8) as u32 });
        Ok(A(b.build()?, if c.ports > 1 { names } else { Vec::new() }))
    }
    fn peer(&self) -> P {
        P(self.0.clone(), vec![0; 64 << 10], self.1.iter().rev().cloned().collect(), None)
    }
}
impl Peer for P {
    fn get(&mut self, url: &str) -> Res<usize> {
        if let Some(name) = self.2.pop() {
            return Ok(self
                .0
                .health_check(&name, &mut Request::new("GET", path(url))?)?
                .into_bytes()
                .len());
        }
        Ok(self.0.get(path(url)).send()?.into_bytes().len())
    }
    fn stream(&mut self, url: &str) -> Res<usize> {
        let mut r = self.0.get(path(url)).stream()?.into_reader();
        let mut n = 0;
        loop {
            match r.read(&mut self.1)? {
                0 => return Ok(n),
                k => n += k,
            }
        }
    }
    fn post(&mut self, url: &str, body: &[u8]) -> Res<()> {
        let body = self.shared(body);
        if !self.0.post(path(url)).body(body).send()?.is_success() {
            return Err("status".into());
        }
        Ok(())
    }
}
fn main() {
    harness::main::<A>()
}
