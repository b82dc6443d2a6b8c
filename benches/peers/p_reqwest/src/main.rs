//! reqwest's blocking client, default features (rustls on aws-lc-rs).
use harness::{Cfg, Client, Peer, Res};
use reqwest::blocking::Client as Rq;
use std::io::Read;

struct R(Rq);
struct P(Rq, Vec<u8>);
impl Client for R {
    type Peer = P;
    const SHAREABLE: bool = true;
    fn new(c: &Cfg) -> Res<Self> {
        let mut b = Rq::builder().no_proxy();
        if let Some(ca) = &c.ca {
            b = b.tls_certs_only(reqwest::Certificate::from_pem_bundle(&std::fs::read(ca)?)?);
        }
        if c.fresh {
            b = b.pool_max_idle_per_host(0);
        }
        if let Some(t) = c.ct {
            b = b.connect_timeout(t);
        }
        Ok(R(b.build()?))
    }
    fn peer(&self) -> P {
        P(self.0.clone(), vec![0; 64 << 10])
    }
}
impl Peer for P {
    fn get(&mut self, url: &str) -> Res<usize> {
        Ok(self.0.get(url).send()?.error_for_status()?.bytes()?.len())
    }
    fn stream(&mut self, url: &str) -> Res<usize> {
        let mut r = self.0.get(url).send()?.error_for_status()?;
        let mut n = 0;
        loop {
            match r.read(&mut self.1)? {
                0 => return Ok(n),
                k => n += k,
            }
        }
    }
    fn post(&mut self, url: &str, body: &[u8]) -> Res<()> {
        self.0.post(url).body(body.to_vec()).send()?.error_for_status()?.bytes()?;
        Ok(())
    }
}
fn main() {
    harness::main::<R>()
}
