//! TLS over one connection: rustls driven by hand.
//!
//! rustls's own adapters hide a failed write until the next call and turn a peer's alert into a
//! broken pipe. Here bytes are moved in the open: what rustls wants sent is kept in `outgoing`
//! until the carrier has taken it, and a failed write is followed by a look at what the peer said.
//!
//! Invariant: `taken <= filled <= arrived.len()`; `arrived[taken..filled]` is ciphertext that
//! rustls has not seen, because it holds as much plaintext as it is willing to.

use super::deadline::Deadline;
use super::failure::Failure;
use super::line::Carrier;
use crate::decide::Cause;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;

/// First and largest size of the ciphertext buffer: an ordinary answer, and two full records.
const SMALL: usize = 4 << 10;
const LARGE: usize = 36 << 10;

/// A TLS session with a server.
pub(super) struct Session {
    tls: Box<ClientConnection>,
    outgoing: Vec<u8>,
    written: usize,
    arrived: Vec<u8>,
    taken: usize,
    filled: usize,
    /// rustls has plaintext to give.
    ready: bool,
    /// It knows how the stream has ended.
    ended: bool,
    /// A write failed: nothing more will be sent.
    mute: bool,
}

impl Session {
    /// Makes the handshake.
    pub(super) fn handshake(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        carrier: &mut impl Carrier,
        deadline: Deadline,
    ) -> Result<Self, Failure> {
        let tls = ClientConnection::new(config, name).map_err(|e| Failure::of_tls(&e))?;
        let mut session = Session {
            tls: Box::new(tls),
            outgoing: Vec::new(),
            written: 0,
            arrived: Vec::new(),
            taken: 0,
            filled: 0,
            ready: false,
            ended: false,
            mute: false,
        };
        match session.shake_hands(carrier, deadline) {
            Ok(()) => Ok(session),
            // The peer may have told why before it hung up.
            Err(failure) if is_hang_up(&failure) => {
                Err(session.last_words(carrier).unwrap_or(failure))
            }
            Err(failure) => {
                // Tell the peer why; whether that arrives changes nothing.
                let _ = session.flush(carrier, deadline);
                Err(failure)
            }
        }
    }

    fn shake_hands(
        &mut self,
        carrier: &mut impl Carrier,
        deadline: Deadline,
    ) -> Result<(), Failure> {
        while self.tls.is_handshaking() || !self.is_flushed(carrier) {
            // A stalled write is tried again: the socket looks at the deadline each time.
            if self.flush(carrier, deadline)?
                && self.tls.is_handshaking()
                && self.receive(carrier, deadline)? == 0
            {
                return Err(Failure::closed());
            }
        }
        Ok(())
    }

    /// Encrypts and sends some of `data`; without data, only sends what is still outgoing. `None`
    /// if the carrier took nothing for a while.
    pub(super) fn write(
        &mut self,
        data: &[u8],
        carrier: &mut impl Carrier,
        deadline: Deadline,
    ) -> Result<Option<usize>, Failure> {
        if !self.is_flushed(carrier) && !self.flush(carrier, deadline)? {
            return Ok(None);
        }
        if data.is_empty() {
            return Ok(Some(0));
        }
        let n = self.tls.writer().write(data).map_err(|e| Failure::of_connection(&e))?;
        self.flush(carrier, deadline)?;
        Ok(Some(n))
    }

    /// Whether everything written has been handed to the operating system.
    pub(super) fn is_flushed(&self, carrier: &impl Carrier) -> bool {
        self.is_written() && carrier.is_flushed()
    }

    fn is_written(&self) -> bool {
        self.written == self.outgoing.len() && !self.tls.wants_write()
    }

    /// Reads plaintext, waiting for it until the deadline. 0 is the orderly end (close_notify).
    pub(super) fn read(
        &mut self,
        buf: &mut [u8],
        carrier: &mut impl Carrier,
        deadline: Deadline,
    ) -> Result<usize, Failure> {
        loop {
            if let Some(n) = self.plaintext(buf)? {
                return Ok(n);
            }
            // Answers to key updates and the like. That they cannot be sent does not matter to
            // what can be read.
            if !self.mute && !self.is_flushed(carrier) {
                match self.flush(carrier, deadline) {
                    Err(failure) if !is_hang_up(&failure) => return Err(failure),
                    _ => {}
                }
            }
            self.receive(carrier, deadline)?;
        }
    }

    /// Reads plaintext that has arrived without waiting; `None` if there is none.
    pub(super) fn read_now(
        &mut self,
        buf: &mut [u8],
        carrier: &mut impl Carrier,
    ) -> Result<Option<usize>, Failure> {
        loop {
            if let Some(n) = self.plaintext(buf)? {
                return Ok(Some(n));
            }
            if !self.receive_now(carrier)? {
                return Ok(None);
            }
        }
    }

    /// Whether nothing is there but session tickets: no data, no close_notify, no end.
    pub(super) fn is_quiet(&mut self, carrier: &mut impl Carrier) -> bool {
        matches!(self.read_now(&mut [0], carrier), Ok(None)) && !self.mute
    }

    /// Gives large buffers back.
    pub(super) fn shrink(&mut self) {
        if self.taken == self.filled && self.arrived.len() > SMALL {
            self.arrived = Vec::new();
            (self.taken, self.filled) = (0, 0);
        }
        if self.outgoing.capacity() > SMALL && self.is_written() {
            self.outgoing = Vec::new();
            self.written = 0;
        }
    }

    /// Plaintext that is ready, `Some(0)` after close_notify, `None` if more must arrive first.
    fn plaintext(&mut self, buf: &mut [u8]) -> Result<Option<usize>, Failure> {
        loop {
            if self.ready || self.ended {
                match self.tls.reader().read(buf) {
                    Ok(n) => {
                        // It gives all that fits.
                        self.ready = n == buf.len();
                        return Ok(Some(n));
                    }
                    Err(e) if e.kind() == ErrorKind::WouldBlock => self.ready = false,
                    Err(e) if e.kind() == ErrorKind::UnexpectedEof => {
                        return Err(Failure::new(Cause::Closed, "closed without close_notify"));
                    }
                    Err(e) => return Err(Failure::of_connection(&e)),
                }
            }
            if self.taken == self.filled {
                return Ok(None);
            }
            self.digest()?;
        }
    }

    /// Waits for ciphertext and hands it to rustls. 0 is the end of the stream.
    fn receive(
        &mut self,
        carrier: &mut impl Carrier,
        deadline: Deadline,
    ) -> Result<usize, Failure> {
        let n = carrier.read(self.room(), deadline)?;
        self.arrive(n)?;
        Ok(n)
    }

    fn receive_now(&mut self, carrier: &mut impl Carrier) -> Result<bool, Failure> {
        match carrier.read_now(self.room())? {
            Some(n) => self.arrive(n).map(|()| true),
            None => Ok(false),
        }
    }

    /// Free space for ciphertext; asked for only when all that arrived was taken.
    fn room(&mut self) -> &mut [u8] {
        debug_assert!(self.taken == self.filled);
        let size = match self.arrived.len() {
            0 => SMALL,
            // Filled by the last read: there is more where it came from.
            n if n == self.filled && n < LARGE => LARGE,
            n => n,
        };
        self.arrived.resize(size, 0);
        &mut self.arrived
    }

    fn arrive(&mut self, n: usize) -> Result<(), Failure> {
        (self.taken, self.filled) = (0, n);
        if n == 0 {
            // So rustls learns of the end of the stream.
            let _ = self.tls.read_tls(&mut std::io::empty());
        }
        self.digest()
    }

    /// Hands rustls what it takes of the ciphertext. Stops with plaintext to be read, and begins without.
    fn digest(&mut self) -> Result<(), Failure> {
        loop {
            let mut rest = &self.arrived[self.taken..self.filled];
            if !rest.is_empty() {
                match self.tls.read_tls(&mut rest) {
                    // After close_notify nothing more is taken, and nothing more matters.
                    Ok(0) => self.taken = self.filled,
                    Ok(n) => self.taken += n,
                    Err(_) => return Err(Failure::new(Cause::Tls, "a TLS message is too large")),
                }
            }
            let state = self.tls.process_new_packets().map_err(|e| Failure::of_tls(&e))?;
            self.ready = state.plaintext_bytes_to_read() > 0;
            self.ended = state.peer_has_closed() || self.filled == 0;
            if self.ready || self.taken == self.filled {
                return Ok(());
            }
        }
    }

    /// Sends what rustls has to send. `false` if the carrier took nothing for a while.
    pub(super) fn flush(
        &mut self,
        carrier: &mut impl Carrier,
        deadline: Deadline,
    ) -> Result<bool, Failure> {
        let sent = self.send(carrier, deadline);
        self.mute |= sent.is_err();
        sent
    }

    fn send(&mut self, carrier: &mut impl Carrier, deadline: Deadline) -> Result<bool, Failure> {
        loop {
            while self.written < self.outgoing.len() {
                match carrier.write(&self.outgoing[self.written..], deadline)? {
                    Some(n) => self.written += n,
                    None => return Ok(false),
                }
            }
            self.outgoing.clear();
            self.written = 0;
            if !self.tls.wants_write() {
                return carrier.flush(deadline);
            }
            // Into memory first: one system call for several records, and std's vectored write
            // would allow a SIGPIPE.
            self.tls.write_tls(&mut self.outgoing).map_err(|e| Failure::of_connection(&e))?;
        }
    }

    /// What a peer that hung up said before, if that explains it: an alert.
    fn last_words(&mut self, carrier: &mut impl Carrier) -> Option<Failure> {
        loop {
            match self.receive_now(carrier) {
                Ok(true) if self.filled > 0 => {}
                Ok(_) => return None,
                Err(failure) if is_hang_up(&failure) => return None,
                Err(failure) => return Some(failure),
            }
        }
    }
}

fn is_hang_up(failure: &Failure) -> bool {
    matches!(failure.cause, Cause::Reset | Cause::Closed | Cause::Unreachable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::Limit;
    use crate::sys;
    use crate::transport::socket::Socket;
    use crate::transport::tls::{Roots, TlsSettings, client_config};
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    /// Keeps what it is given until it is told to send it on, as a session below may.
    struct Lazy {
        socket: Socket,
        kept: Vec<u8>,
    }

    impl Carrier for Lazy {
        fn read(&mut self, buf: &mut [u8], deadline: Deadline) -> Result<usize, Failure> {
            self.socket.read(buf, deadline)
        }

        fn write(&mut self, data: &[u8], _: Deadline) -> Result<Option<usize>, Failure> {
            self.kept.extend(data);
            Ok(Some(data.len()))
        }

        fn read_now(&mut self, buf: &mut [u8]) -> Result<Option<usize>, Failure> {
            self.socket.read_now(buf)
        }

        fn flush(&mut self, deadline: Deadline) -> Result<bool, Failure> {
            while !self.kept.is_empty() {
                let taken = self.socket.write(&self.kept, deadline)?.unwrap_or(0);
                self.kept.drain(..taken);
            }
            Ok(true)
        }

        fn is_flushed(&self) -> bool {
            self.kept.is_empty()
        }
    }

    #[test]
    fn what_the_carrier_holds_back_is_not_sent_yet() {
        let signed = rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap();
        let roots = Roots::Only(vec![signed.cert.pem().into_bytes()]);
        let config = client_config(&TlsSettings { roots, ..TlsSettings::default() }).unwrap();
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![signed.cert.der().clone()], key.into())
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut lazy = Lazy { socket: Socket::new(stream).unwrap(), kept: Vec::new() };
        let (peer, _) = listener.accept().unwrap();
        let peer = std::thread::spawn(move || {
            let tls = rustls::ServerConnection::new(Arc::new(server)).unwrap();
            let mut heard = [0; 5];
            rustls::StreamOwned::new(tls, peer).read_exact(&mut heard).map(|()| heard)
        });

        let deadline = Deadline::new(Some(sys::now() + Duration::from_secs(10)), Limit::Connect);
        let name = ServerName::try_from("a.test").unwrap();
        let mut session = Session::handshake(config, name, &mut lazy, deadline).unwrap();
        assert!(session.is_flushed(&lazy));
        assert_eq!(session.write(b"hello", &mut lazy, deadline), Ok(Some(5)));
        assert!(session.is_flushed(&lazy));
        lazy.kept.push(0);
        assert!(!session.is_flushed(&lazy), "what is below counts");
        lazy.kept.clear();
        assert_eq!(&peer.join().unwrap().unwrap(), b"hello");
    }

    #[test]
    fn a_peers_last_words_explain_a_failed_write() {
        let pem = rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap().cert.pem();
        let roots = Roots::Only(vec![pem.into_bytes()]);
        let config = client_config(&TlsSettings { roots, ..TlsSettings::default() }).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket =
            Socket::new(TcpStream::connect(listener.local_addr().unwrap()).unwrap()).unwrap();

        let (mut peer, _) = listener.accept().unwrap();
        // A fatal alert, handshake_failure, and a reset before the first byte of ours is written.
        peer.write_all(&[21, 3, 3, 0, 2, 2, 40]).unwrap();
        socket2::SockRef::from(&peer).set_linger(Some(Duration::ZERO)).unwrap();
        drop(peer);

        let deadline = Deadline::new(Some(sys::now() + Duration::from_secs(10)), Limit::Connect);
        let name = ServerName::try_from("a.test").unwrap();
        let failure = Session::handshake(config, name, &mut socket, deadline).err().unwrap();
        assert_eq!(failure.cause, Cause::Tls);
        assert_eq!(failure.detail, "handshake alert: HandshakeFailure");
    }
}
