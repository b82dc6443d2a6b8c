//! Addresses where no connection comes about: one that refuses, one that does not answer.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::script::Script;
use super::server::Server;
use super::time::ms;

/// An address that answers every SYN with a RST, for as long as this lives.
///
/// The port is bound and not listened on, so that nobody else can get it meanwhile. A port that was
/// bound and let go may belong to another test by the time the client arrives.
pub struct Refusing {
    pub addr: SocketAddr,
    socket: Socket,
}

/// See [`Refusing`].
pub fn refusing_address() -> Refusing {
    let (socket, addr) = bound();
    Refusing { addr, socket }
}

impl Refusing {
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The server comes up: the same address begins to serve.
    pub fn start(self, script: impl Into<Script>) -> Server {
        Server::listen(self.socket, None, script.into())
    }
}

impl fmt::Display for Refusing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url())
    }
}

/// An address that swallows every SYN: to connect takes as long as the client is patient.
///
/// Linux drops a SYN when the queue of connections waiting for `accept` is full; here it holds as
/// few as possible and nobody accepts. (Elsewhere a full queue may refuse: Linux only.)
pub struct Blackhole {
    pub addr: SocketAddr,
    _listening: Socket,
    _queued: Vec<TcpStream>,
}

impl Blackhole {
    /// Fills the queue, and has seen two connections in a row not come about when it returns.
    pub fn new() -> Blackhole {
        let (listening, addr) = bound();
        listening.listen(0).expect("listen");
        let (mut queued, mut swallowed) = (Vec::new(), 0);
        while swallowed < 2 {
            // On loopback the handshake is done within the call, or its SYN was dropped.
            match TcpStream::connect_timeout(&addr, PROOF) {
                Ok(stream) => {
                    queued.push(stream);
                    swallowed = 0;
                }
                Err(error) => {
                    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut, "{error}");
                    swallowed += 1;
                }
            }
            assert!(queued.len() < 64, "the queue of {addr} does not fill");
        }
        Blackhole { addr, _listening: listening, _queued: queued }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }
}

/// Long for a handshake on loopback, which takes microseconds; short beside the second after which
/// a dropped SYN is sent again.
const PROOF: Duration = ms(25);

fn bound() -> (Socket, SocketAddr) {
    let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&addr.into()).expect("a free port");
    let addr = socket.local_addr().expect("a bound address").as_socket().expect("an IP address");
    (socket, addr)
}
