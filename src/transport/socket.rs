//! One TCP connection whose reads and writes end at a deadline.
//!
//! Far from its limit the socket blocks, in slices of 200 ms that are set once, so that an ordinary
//! exchange costs no system call for its deadlines. Near the limit the socket is switched to
//! non-blocking and waits are made by `poll`, because the socket's own timeouts run up to an eighth
//! late. The mode is kept until it has to change: a client whose limits are always short never
//! switches back and forth.
//!
//! Writes go through std, which asks for no SIGPIPE: a host program in C may not ignore that signal.
//!
//! While it serves a call, the call's interrupt shuts it down. A read then finds the end of the stream,
//! which must never pass for the end of an answer: each end and each error is followed by a look at
//! the interrupt, and so is the beginning of each slice.
//!
//! Where somebody watches the call, waits are made by `poll` as well, and end when there is something
//! to tell.
//!
//! Not here: TLS (`session`), counting (`wire`), making the connection (`dial`).

use super::deadline::Deadline;
use super::failure::Failure;
use super::interrupt::Interrupt;
use super::meter::Meter;
use super::platform::{self, Ready};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

/// Longest time spent in one blocking call.
const SLICE: Duration = Duration::from_millis(200);
/// From here on waits are exact: a slice and the eighth it may be late.
const NEAR: Duration = Duration::from_millis(250);
/// Longest exact wait of a write, so that an early answer is seen in time.
const EXACT_WRITE: Duration = Duration::from_millis(20);

/// A connected socket.
#[derive(Debug)]
pub(super) struct Socket {
    stream: Arc<TcpStream>,
    blocking: bool,
    /// Of the call it serves; none while idle.
    interrupt: Option<Arc<Interrupt>>,
    /// Of the attempt it serves, where somebody watches.
    meter: Option<Arc<Meter>>,
}

impl Socket {
    /// Takes over a connected, blocking stream.
    pub(super) fn new(stream: impl Into<Arc<TcpStream>>) -> io::Result<Self> {
        let stream = stream.into();
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SLICE))?;
        stream.set_write_timeout(Some(SLICE))?;
        Ok(Socket { stream, blocking: true, interrupt: None, meter: None })
    }

    /// From now on this interrupt ends what blocks, and this meter is looked at meanwhile.
    pub(super) fn serve(
        &mut self,
        interrupt: &Arc<Interrupt>,
        meter: Option<&Arc<Meter>>,
    ) -> Result<(), Failure> {
        self.meter = meter.cloned();
        if self.interrupt.as_ref().is_some_and(|serving| Arc::ptr_eq(serving, interrupt)) {
            return self.wanted();
        }
        self.interrupt = Some(interrupt.clone());
        if interrupt.watch(&self.stream) { Ok(()) } else { Err(Failure::cancelled()) }
    }

    /// From now on nothing interrupts it. `false` if that may have happened already.
    pub(super) fn rest(&mut self) -> bool {
        self.meter = None;
        self.interrupt.take().is_none_or(|interrupt| interrupt.forget(&self.stream))
    }

    /// Reads what is there, waiting for it until the deadline. 0 is the end of the stream.
    pub(super) fn read(&mut self, buf: &mut [u8], deadline: Deadline) -> Result<usize, Failure> {
        loop {
            if let Some(time) = self.prepare(deadline)? {
                if !self.wait(Ready::Read, time)? {
                    continue;
                }
            }
            match (&*self.stream).read(buf) {
                Ok(0) => return self.wanted().map(|()| 0),
                Ok(n) => return Ok(n),
                Err(e) if is_slice_end(&e) => {}
                Err(e) => return Err(self.broken(&e)),
            }
        }
    }

    /// Writes some of `data`. `None` if nothing was taken for a while: the caller may look whether
    /// an answer has come, and try again.
    pub(super) fn write(
        &mut self,
        data: &[u8],
        deadline: Deadline,
    ) -> Result<Option<usize>, Failure> {
        if let Some(time) = self.prepare(deadline)? {
            if !self.wait(Ready::Write, time.min(EXACT_WRITE))? {
                return Ok(None);
            }
        }
        match (&*self.stream).write(data) {
            Ok(n) => Ok(Some(n)),
            Err(e) if is_slice_end(&e) => Ok(None),
            Err(e) => Err(self.broken(&e)),
        }
    }

    /// Reads what has arrived without waiting; `None` if nothing has.
    pub(super) fn read_now(&mut self, buf: &mut [u8]) -> Result<Option<usize>, Failure> {
        match self.peek()? {
            // Bytes or an end are there, so this does not block in either mode.
            Some(_) => match (&*self.stream).read(buf) {
                Ok(n) => Ok(Some(n)),
                Err(e) if is_slice_end(&e) => Ok(None),
                Err(e) => Err(Failure::of_connection(&e)),
            },
            None => Ok(None),
        }
    }

    /// Whether nothing has arrived: no byte, no end, no error. One system call.
    pub(super) fn is_quiet(&self) -> bool {
        matches!(self.peek(), Ok(None))
    }

    fn peek(&self) -> Result<Option<usize>, Failure> {
        platform::peek(&self.stream).map_err(|e| Failure::of_connection(&e))
    }

    fn wait(&self, ready: Ready, time: Duration) -> Result<bool, Failure> {
        platform::wait(&self.stream, ready, time).map_err(|e| Failure::of_system(&e))
    }

    /// Fails if the call it serves is over.
    fn wanted(&self) -> Result<(), Failure> {
        match &self.interrupt {
            Some(interrupt) if interrupt.is_triggered() => Err(Failure::cancelled()),
            _ => Ok(()),
        }
    }

    fn broken(&self, error: &io::Error) -> Failure {
        self.wanted().err().unwrap_or_else(|| Failure::of_connection(error))
    }

    /// Chooses the mode for the next call: `None` to block for a slice, or the time of an exact wait.
    fn prepare(&mut self, deadline: Deadline) -> Result<Option<Duration>, Failure> {
        if let Some(meter) = &self.meter {
            meter.tick();
        }
        self.wanted()?;
        let near = deadline.left_within(NEAR)?;
        let exact = match &self.meter {
            None => near,
            Some(meter) => Some(meter.due_in().min(near.unwrap_or(SLICE))),
        };
        if exact.is_none() != self.blocking {
            self.blocking = exact.is_none();
            let slice = self.blocking.then_some(SLICE);
            platform::block(&self.stream, slice).map_err(|e| Failure::of_system(&e))?;
        }
        Ok(exact)
    }
}

/// Whether a call ended only because its slice did, or was interrupted by a signal.
fn is_slice_end(e: &io::Error) -> bool {
    match e.kind() {
        ErrorKind::WouldBlock | ErrorKind::Interrupted => true,
        // On Unix a slice ends with EAGAIN, and ETIMEDOUT is the connection's own end.
        ErrorKind::TimedOut => cfg!(not(unix)),
        _ => false,
    }
}
