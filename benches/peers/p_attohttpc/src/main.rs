//! attohttpc: no connection reuse (it sends "Connection: close").
use harness::{Cfg, Client, Peer, Res};
use std::io::Read;
struct A(attohttpc::Session);
struct P(attohttpc::Session, Vec<u8>);
impl Client for A {
    type Peer = P;
    const SHAREABLE: bool = false;
    fn new(c: &Cfg) -> Res<Self> {
        let mut s = attohttpc::Session::new();
        if let Some(ca) = &c.ca {
            use rustls_pki_types::{CertificateDer, pem::PemObject};
            for c in CertificateDer::pem_file_iter(ca)? {
                s.add_root_certificate(c?);
            }
        }
        if let Some(t) = c.ct {
            s.connect_timeout(t);
        }
        s.proxy_settings(attohttpc::ProxySettings::builder().build());
        Ok(A(s))
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
        let (_, _, mut r) = self.0.get(url).send()?.error_for_status()?.split();
        let mut n = 0;
        loop {
            match r.read(&mut self.1)? {
                0 => return Ok(n),
                k => n += k,
            }
        }
    }
    fn post(&mut self, url: &str, body: &[u8]) -> Res<()> {
        self.0.post(url).bytes(body).send()?.error_for_status()?.bytes()?;
        Ok(())
    }
}
fn main() {
    harness::main::<A>()
}
