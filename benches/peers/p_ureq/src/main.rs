//! ureq. variant= "" (its defaults, with a pool wide enough for `threads` and `ports`), or "timeouts"
//! (the same with the total and the connect timeout that any resilient client has to set).
use harness::{Cfg, Client, Peer, Res};
use std::io::Read;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

struct Ureq(Agent);
struct P(Agent, Vec<u8>);
impl Client for Ureq {
    type Peer = P;
    const SHAREABLE: bool = true;
    fn new(c: &Cfg) -> Res<Self> {
        let mut b = Agent::config_builder().proxy(None);
        if let Some(ca) = &c.ca {
            let pem = std::fs::read(ca)?;
            let certs: Vec<Certificate<'static>> = parse_pem(&pem)
                .filter_map(|i| match i {
                    Ok(PemItem::Certificate(c)) => Some(c),
                    _ => None,
                })
                .collect();
            b = b.tls_config(
                TlsConfig::builder().root_certs(RootCerts::new_with_certs(&certs)).build(),
            );
        }
        let k = (c.threads * c.ports).max(10);
        b = b.max_idle_connections(k).max_idle_connections_per_host(k.min(64));
        if c.fresh {
            b = b.max_idle_connections(0).max_idle_connections_per_host(0);
        }
        if let Some(t) = c.ct {
            b = b.timeout_connect(Some(t));
        }
        if c.variant == "timeouts" {
            let connect = c.ct.unwrap_or(Duration::from_secs(5));
            b = b.timeout_global(Some(Duration::from_secs(30))).timeout_connect(Some(connect));
        }
        Ok(Ureq(b.build().new_agent()))
    }
    fn peer(&self) -> P {
        P(self.0.clone(), vec![0; 64 << 10])
    }
}
impl Peer for P {
    fn get(&mut self, url: &str) -> Res<usize> {
        Ok(self.0.get(url).call()?.body_mut().read_to_vec()?.len())
    }
    fn stream(&mut self, url: &str) -> Res<usize> {
        let mut r = self.0.get(url).call()?;
        let mut r = r.body_mut().as_reader();
        let mut n = 0;
        loop {
            match r.read(&mut self.1)? {
                0 => return Ok(n),
                k => n += k,
            }
        }
    }
    fn post(&mut self, url: &str, body: &[u8]) -> Res<()> {
        self.0.post(url).send(body)?.body_mut().read_to_vec()?;
        Ok(())
    }
}
fn main() {
    harness::main::<Ureq>()
}
