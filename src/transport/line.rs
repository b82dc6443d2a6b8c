//! What the bytes of a connection go over: a socket, or a TLS session with a proxy on one.
//!
//! TLS to an endpoint through a proxy that is itself spoken to over TLS is a session on a session, so
//! `session` works on whatever carries bytes under the same terms: reads end at a deadline, a write may
//! take some of what it is given, and what was taken may still be on its way.
//!
//! Flow: `connector` makes it → `tunnel` asks the proxy over it → `session` and `wire` use it.

use super::deadline::Deadline;
use super::failure::Failure;
use super::interrupt::Interrupt;
use super::meter::Meter;
use super::session::Session;
use super::socket::Socket;
use std::sync::Arc;

/// Carries bytes in both directions.
pub(super) trait Carrier {
    /// Reads what is there, waiting for it until the deadline. 0 is the orderly end.
    fn read(&mut self, buf: &mut [u8], deadline: Deadline) -> Result<usize, Failure>;

    /// Takes some of `data`. `None` if nothing was taken for a while: try again.
    fn write(&mut self, data: &[u8], deadline: Deadline) -> Result<Option<usize>, Failure>;

    /// Reads what has arrived without waiting; `None` if nothing has.
    fn read_now(&mut self, buf: &mut [u8]) -> Result<Option<usize>, Failure>;

    /// Sends on what was taken. `false` if it is not all gone after a while: try again.
    fn flush(&mut self, deadline: Deadline) -> Result<bool, Failure>;

    /// Whether all that was taken is with the operating system.
    fn is_flushed(&self) -> bool;
}

impl Carrier for Socket {
    fn read(&mut self, buf: &mut [u8], deadline: Deadline) -> Result<usize, Failure> {
        Socket::read(self, buf, deadline)
    }

    fn write(&mut self, data: &[u8], deadline: Deadline) -> Result<Option<usize>, Failure> {
        Socket::write(self, data, deadline)
    }

    fn read_now(&mut self, buf: &mut [u8]) -> Result<Option<usize>, Failure> {
        Socket::read_now(self, buf)
    }

    fn flush(&mut self, _: Deadline) -> Result<bool, Failure> {
        Ok(true)
    }

    fn is_flushed(&self) -> bool {
        true
    }
}

/// A connection to the endpoint itself or to a proxy.
pub(super) struct Line {
    socket: Socket,
    /// With a proxy that is spoken to over TLS.
    session: Option<Session>,
}

impl Line {
    pub(super) fn new(socket: Socket, session: Option<Session>) -> Self {
        Line { socket, session }
    }

    /// From now on this interrupt ends what blocks, and this meter is looked at meanwhile.
    pub(super) fn serve(
        &mut self,
        interrupt: &Arc<Interrupt>,
        meter: Option<&Arc<Meter>>,
    ) -> Result<(), Failure> {
        self.socket.serve(interrupt, meter)
    }

    /// From now on nothing interrupts it. `false` if that may have happened already.
    pub(super) fn rest(&mut self) -> bool {
        self.socket.rest()
    }

    /// Whether nothing has arrived that an exchange would have to read: no byte, no end, no error.
    pub(super) fn is_quiet(&mut self) -> bool {
        match &mut self.session {
            None => self.socket.is_quiet(),
            Some(session) => session.is_quiet(&mut self.socket),
        }
    }

    /// Gives large buffers back.
    pub(super) fn shrink(&mut self) {
        if let Some(session) = &mut self.session {
            session.shrink();
        }
    }
}

impl Carrier for Line {
    fn read(&mut self, buf: &mut [u8], deadline: Deadline) -> Result<usize, Failure> {
        match &mut self.session {
            None => self.socket.read(buf, deadline),
            Some(session) => session.read(buf, &mut self.socket, deadline),
        }
    }

    fn write(&mut self, data: &[u8], deadline: Deadline) -> Result<Option<usize>, Failure> {
        match &mut self.session {
            None => self.socket.write(data, deadline),
            Some(session) => session.write(data, &mut self.socket, deadline),
        }
    }

    fn read_now(&mut self, buf: &mut [u8]) -> Result<Option<usize>, Failure> {
        match &mut self.session {
            None => self.socket.read_now(buf),
            Some(session) => session.read_now(buf, &mut self.socket),
        }
    }

    fn flush(&mut self, deadline: Deadline) -> Result<bool, Failure> {
        match &mut self.session {
            None => Ok(true),
            Some(session) => session.flush(&mut self.socket, deadline),
        }
    }

    fn is_flushed(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.is_flushed(&self.socket))
    }
}
