//! minreq: no connection reuse at all and no way to add a root, so it shows only
//! in the new-connection and plain rows. Its timeouts are whole seconds.
use harness::{Cfg, Client, Peer, Res};
struct M(Cfg);
struct P(Cfg);
impl Client for M {
    type Peer = P;
    const SHAREABLE: bool = false;
    fn new(c: &Cfg) -> Res<Self> {
        Ok(M(c.clone()))
    }
    fn peer(&self) -> P {
        P(self.0.clone())
    }
}
impl P {
    fn t(&self, r: minreq::Request) -> minreq::Request {
        match self.0.ct {
            Some(t) => r.with_timeout(t.as_secs().max(1)),
            None => r,
        }
    }
}
impl Peer for P {
    fn get(&mut self, url: &str) -> Res<usize> {
        Ok(self.t(minreq::get(url)).send()?.as_bytes().len())
    }
    fn stream(&mut self, url: &str) -> Res<usize> {
        use std::io::Read;
        let mut r = self.t(minreq::get(url)).send_lazy()?;
        let (mut b, mut n) = (vec![0; 64 << 10], 0);
        loop {
            match r.read(&mut b)? {
                0 => return Ok(n),
                k => n += k,
            }
        }
    }
    fn post(&mut self, url: &str, body: &[u8]) -> Res<()> {
        self.t(minreq::post(url).with_body(body)).send()?;
        Ok(())
    }
}
fn main() {
    harness::main::<M>()
}
