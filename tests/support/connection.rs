//! One accepted connection: reading and writing through TLS or not, and the ways to end it.
//!
//! The socket has one owner, this. The server keeps only a `Weak` to shut it down with, so that
//! dropping a `Connection` closes the descriptor at that moment: a RST cannot be had otherwise.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
#[cfg(target_os = "linux")]
use std::time::Instant;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::event::Pause;
use super::request::Request;
use super::server::Shared;

/// A connection, seen from the server.
pub struct Connection {
    /// Which connection of the server this is; the first is 0.
    pub number: usize,
    pub(super) stream: BufReader<Stream>,
    pub(super) shared: Arc<Shared>,
    socket: Socket,
    requests: usize,
    pub(super) resets: bool,
}

impl Connection {
    pub(super) fn new(
        number: usize,
        socket: Socket,
        tls: Option<Arc<ServerConfig>>,
        shared: Arc<Shared>,
    ) -> Connection {
        let stream = match tls {
            None => Stream::Plain(socket.clone()),
            Some(config) => {
                let tls = ServerConnection::new(config).expect("a server configuration");
                Stream::Tls(Box::new(StreamOwned::new(tls, socket.clone())))
            }
        };
        Connection {
            number,
            stream: BufReader::new(stream),
            shared,
            socket,
            requests: 0,
            resets: false,
        }
    }

    /// Waits until what was sent is with the peer: `send` may return before, and whoever is told then
    /// would find the peer still waiting.
    #[cfg(target_os = "linux")]
    pub fn wait_until_delivered(&self) {
        let until = Instant::now() + super::ms(1000);
        let mut under_way: libc::c_int = 1;
        while under_way > 0 && Instant::now() < until {
            // SAFETY: the socket is open, and the number is ours to be written.
            let asked = unsafe {
                libc::ioctl(self.socket().as_raw_fd(), libc::TIOCOUTQ, &raw mut under_way)
            };
            if asked != 0 {
                return;
            }
            if under_way > 0 {
                super::pass(super::ms(1));
            }
        }
    }

    /// Other systems do not say.
    #[cfg(not(target_os = "linux"))]
    pub fn wait_until_delivered(&self) {}

    /// The bare socket, below TLS.
    pub fn socket(&self) -> &TcpStream {
        &self.socket.0
    }

    /// Reads and records one whole request. `None`: the client ended, or stopped in the middle.
    pub fn read_request(&mut self) -> Option<Request> {
        let mut request = self.read_head()?;
        if request.complete {
            request.read_body(&mut self.stream);
        }
        self.shared.record(&request);
        request.complete.then_some(request)
    }

    /// Copies both ways between the client and `to`, as a proxy does after its 200 to CONNECT,
    /// until the client ends. When `to` ends first, the client gets a FIN.
    pub fn relay(&mut self, to: SocketAddr) -> io::Result<()> {
        let origin = TcpStream::connect(to)?;
        origin.set_nodelay(true)?;
        let mut client = self.socket.clone();
        thread::scope(|threads| {
            threads.spawn(|| {
                let _ = io::copy(&mut &origin, &mut client);
                let _ = client.0.shutdown(Shutdown::Write);
            });
            let _ = io::copy(&mut self.stream, &mut &origin);
            // Also ends the copy the other way, or a silent origin would keep this thread.
            let _ = origin.shutdown(Shutdown::Both);
        });
        Ok(())
    }

    pub(super) fn read_head(&mut self) -> Option<Request> {
        let mut request = Request::read_head(&mut self.stream)?;
        (request.connection, request.index) = (self.number, self.requests);
        if let Stream::Tls(tls) = self.stream.get_ref() {
            request.server_name = tls.conn.server_name().map(str::to_string);
        }
        self.requests += 1;
        Some(request)
    }

    /// Completes the TLS handshake, if there is TLS.
    pub(super) fn handshake(&mut self) -> io::Result<()> {
        match self.stream.get_mut() {
            Stream::Tls(tls) if tls.conn.is_handshaking() => {
                tls.conn.complete_io(&mut tls.sock).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// Waits for the next byte. False: the client ended instead.
    pub(super) fn has_more(&mut self) -> bool {
        self.stream.fill_buf().is_ok_and(|bytes| !bytes.is_empty())
    }

    /// Sends a FIN, after the TLS goodbye if `goodbye`. Does not close the descriptor.
    pub(super) fn fin(&mut self, goodbye: bool) {
        if let (true, Stream::Tls(tls)) = (goodbye, self.stream.get_mut()) {
            if !tls.conn.is_handshaking() {
                tls.conn.send_close_notify();
                let _ = tls.flush();
            }
        }
        let _ = self.socket.0.shutdown(Shutdown::Write);
    }

    /// Served by hand: ends with a RST instead of a FIN.
    pub fn reset_at_end(&mut self) {
        self.resets = true;
    }

    /// Closes with a RST.
    pub(super) fn reset(self) {
        let socket = socket2::SockRef::from(&*self.socket.0);
        socket.set_linger(Some(Duration::ZERO)).expect("SO_LINGER");
    }

    /// Reads from the bare socket and throws away, until the client ends or the server does.
    pub(super) fn swallow(&mut self, pace: Option<(usize, Duration)>) {
        let (size, rest) = pace.unwrap_or((16 * 1024, Duration::ZERO));
        let mut bytes = vec![0; size];
        while let Ok(n @ 1..) = self.socket.read(&mut bytes) {
            self.shared.swallow(n);
            if !rest.is_zero() && !Pause::For(rest).wait(&self.shared.ended) {
                return;
            }
        }
    }
}

impl Read for Connection {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.read(bytes)
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.get_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.get_mut().flush()
    }
}

/// The socket, shared between the TLS layer and whoever goes below it.
#[derive(Clone)]
pub(super) struct Socket(pub(super) Arc<TcpStream>);

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(bytes)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) enum Stream {
    Plain(Socket),
    Tls(Box<StreamOwned<ServerConnection, Socket>>),
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(bytes),
            Stream::Tls(tls) => tls.read(bytes),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            Stream::Tls(tls) => tls.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.flush(),
            Stream::Tls(tls) => tls.flush(),
        }
    }
}
