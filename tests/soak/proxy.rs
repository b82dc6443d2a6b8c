//! A SOCKS5 proxy that turns away at random, and otherwise passes on.

use super::Chance;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub(crate) struct Proxy {
    addr: SocketAddr,
    ended: Arc<AtomicBool>,
    /// Held by each connection for as long as it is open.
    open: Arc<()>,
    accepting: Option<JoinHandle<()>>,
}

impl Proxy {
    pub(crate) fn start(seed: u64) -> Proxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let addr = listener.local_addr().expect("a bound address");
        let ended = Arc::new(AtomicBool::new(false));
        let open = Arc::new(());
        let accepting = thread::spawn({
            let (ended, open) = (ended.clone(), open.clone());
            move || {
                for (n, stream) in (0_u64..).zip(listener.incoming()) {
                    if ended.load(SeqCst) {
                        return;
                    }
                    let Ok(stream) = stream else { continue };
                    let chance = Chance(seed.wrapping_mul(6007) + n);
                    let open = open.clone();
                    thread::spawn(move || {
                        // What breaks here ends the connection, and nothing else.
                        drop(serve(stream, chance));
                        drop(open);
                    });
                }
            }
        });
        Proxy { addr, ended, open, accepting: Some(accepting) }
    }

    pub(crate) fn url(&self) -> String {
        format!("socks5://{}", self.addr)
    }

    /// Waits until no connection is open, and the threads they had are on their way out.
    pub(crate) fn wait_until_idle(&self) {
        // One is held here, and one by the thread that accepts.
        let idle = || Arc::strong_count(&self.open) <= 2;
        let tries = (0..2000).find(|_| {
            thread::sleep(Duration::from_millis(10));
            idle()
        });
        assert!(tries.is_some(), "connections that nobody closes");
        thread::sleep(Duration::from_millis(50));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ended.store(true, SeqCst);
        let _ = TcpStream::connect(self.addr);
        let _ = self.accepting.take().expect("dropped once").join();
    }
}

/// RFC 1928: no authentication, CONNECT to an IPv4 address. It fails before it passes anything on, so
/// that what the client was asked to send is what the servers read.
fn serve(mut client: TcpStream, mut chance: Chance) -> io::Result<()> {
    client.set_nodelay(true)?;
    if chance.once_in(30) {
        return Ok(());
    }
    let mut greeting = [0; 2];
    client.read_exact(&mut greeting)?;
    client.read_exact(&mut vec![0; greeting[1].into()])?;
    client.write_all(&[5, 0])?;
    let mut request = [0; 10];
    client.read_exact(&mut request)?;
    let [.., a, b, c, d, high, low] = request;
    let target = SocketAddr::from(([a, b, c, d], u16::from_be_bytes([high, low])));
    let refuses = chance.once_in(30);
    let server = TcpStream::connect(target).ok().filter(|_| !refuses);
    let Some(mut server) = server else {
        return client.write_all(&[5, 5, 0, 1, 0, 0, 0, 0, 0, 0]);
    };
    server.set_nodelay(true)?;
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
    let (mut back_from, mut back_to) = (server.try_clone()?, client.try_clone()?);
    let back = thread::spawn(move || {
        let _ = io::copy(&mut back_from, &mut back_to);
        let _ = back_to.shutdown(Shutdown::Both);
        let _ = back_from.shutdown(Shutdown::Both);
    });
    let _ = io::copy(&mut client, &mut server);
    let _ = server.shutdown(Shutdown::Write);
    let _ = back.join();
    Ok(())
}
