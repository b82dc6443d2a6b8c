//! One accepted connection, plain or TLS, read and written to the byte.
//!
//! `tests/support` reads ahead, as servers do. Here nothing may: what a server has not read decides
//! whether its close is a FIN or a RST, and a fault has to lie between two bytes. For the same reason
//! rustls is driven by hand: the ciphertext itself can be cut.

use rustls::{ServerConfig, ServerConnection};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// No server of the matrix waits longer for a byte: a test that hangs ends.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Line {
    pub socket: TcpStream,
    tls: Option<ServerConnection>,
    /// How many bytes of the handshake were sent.
    pub shaken: usize,
}

/// How a handshake ended.
#[derive(PartialEq, Eq)]
pub enum Shaken {
    Done,
    /// As many bytes of ours as were to be sent have been.
    Cut,
    /// The client went away.
    Gone,
}

impl Line {
    pub fn new(socket: TcpStream, tls: Option<&Arc<ServerConfig>>) -> Line {
        socket.set_nodelay(true).expect("TCP_NODELAY");
        socket.set_read_timeout(Some(PATIENCE)).expect("SO_RCVTIMEO");
        socket.set_write_timeout(Some(PATIENCE)).expect("SO_SNDTIMEO");
        let line = Line {
            socket,
            tls: tls.map(|config| ServerConnection::new(config.clone()).expect("a configuration")),
            shaken: 0,
        };
        // Where nothing else is said a line ends when its client is gone, and at once: the ports of
        // so many connections would run out if each waited for stray packets (TIME_WAIT).
        line.linger(Some(Duration::ZERO));
        line
    }

    /// Completes the handshake, or sends only the first `cut` bytes of its own part in it.
    pub fn shake_hands(&mut self, cut: Option<usize>) -> Shaken {
        let Some(tls) = &mut self.tls else { return Shaken::Done };
        let mut left = cut;
        loop {
            while tls.wants_write() {
                let mut flight = Vec::new();
                tls.write_tls(&mut flight).expect("memory takes all");
                let size = left.map_or(flight.len(), |left| left.min(flight.len()));
                if self.socket.write_all(&flight[..size]).is_err() {
                    return Shaken::Gone;
                }
                // Tickets come after the handshake.
                self.shaken += if tls.is_handshaking() { size } else { 0 };
                left = left.map(|left| left - size);
                if size < flight.len() {
                    return Shaken::Cut;
                }
            }
            if !tls.is_handshaking() {
                return Shaken::Done;
            }
            if !take_in(tls, &self.socket) {
                return Shaken::Gone;
            }
        }
    }

    /// Makes the handshake, its own part byte by byte.
    pub fn drip_handshake(&mut self, every: Duration) {
        let (_open, never) = channel::<()>();
        let tls = self.tls.as_mut().expect("TLS");
        while take_in(tls, &self.socket) && tls.is_handshaking() {
            for byte in drain(tls) {
                if (&self.socket).write_all(&[byte]).is_err() {
                    return;
                }
                let _ = never.recv_timeout(every);
            }
        }
    }

    /// Waits until a byte of the request is there, and takes none. False: the client went away.
    pub fn has_arrived(&mut self) -> bool {
        if let Some(tls) = &mut self.tls {
            match tls.process_new_packets() {
                Ok(state) if state.plaintext_bytes_to_read() > 0 => return true,
                Ok(_) => {}
                Err(_) => return false,
            }
        }
        matches!(self.socket.peek(&mut [0]), Ok(n) if n > 0)
    }

    /// Reads at most this many bytes of plaintext. 0: the client ended or went away.
    pub fn read(&mut self, buf: &mut [u8]) -> usize {
        let Some(tls) = &mut self.tls else { return (&self.socket).read(buf).unwrap_or(0) };
        loop {
            match tls.reader().read(buf) {
                Ok(n) => return n,
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return 0,
            }
            if !take_in(tls, &self.socket) {
                return 0;
            }
        }
    }

    /// Sends these bytes, over TLS in a record of their own. False: the client went away.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        let sealed = self.seal(bytes);
        self.send_sealed(&sealed)
    }

    /// These bytes as they go over the wire.
    pub fn seal(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Some(tls) = &mut self.tls else { return bytes.to_vec() };
        tls.writer().write_all(bytes).expect("memory takes all");
        drain(tls)
    }

    pub fn send_sealed(&mut self, sealed: &[u8]) -> bool {
        (&self.socket).write_all(sealed).is_ok()
    }

    /// The orderly end of TLS, close_notify.
    pub fn say_goodbye(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            let goodbye = drain(tls);
            self.send_sealed(&goodbye);
        }
    }

    /// A FIN. The connection stays open, and what the client sends stays unread.
    pub fn fin(&mut self) {
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// The end of a process: a FIN, or a RST where bytes lie unread.
    pub fn close(self) {
        self.linger(None);
    }

    /// A RST.
    pub fn reset(self) {
        self.linger(Some(Duration::ZERO));
    }

    fn linger(&self, time: Option<Duration>) {
        socket2::SockRef::from(&self.socket).set_linger(time).expect("SO_LINGER");
    }
}

fn take_in(tls: &mut ServerConnection, mut socket: &TcpStream) -> bool {
    matches!(tls.read_tls(&mut socket), Ok(n) if n > 0) && tls.process_new_packets().is_ok()
}

fn drain(tls: &mut ServerConnection) -> Vec<u8> {
    let mut sealed = Vec::new();
    while tls.wants_write() {
        tls.write_tls(&mut sealed).expect("memory takes all");
    }
    sealed
}
