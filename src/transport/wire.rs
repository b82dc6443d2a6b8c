//! A connection as ureq sees it: bytes out, bytes in, still good for another exchange?
//!
//! It counts what an attempt's report is made of, keeps the attempt's deadlines, and repairs five
//! things ureq leaves open: an answer that comes while the request is still being sent is found; a
//! reset or a missing close_notify never looks like the end of a body; one system call tells
//! whether an idle connection is alive; a connection is never used in two processes; and to a proxy a
//! request line names its target in absolute form (RFC 9112 section 3.2.2), which `http`'s types cannot
//! express.
//!
//! Flow: `connector` makes it → ureq writes, reads, and keeps it while idle → drop closes it. A
//! connection belongs to the attempt that was current at its first write, until it is idle again.

use super::buffers::{Growing, Sizes};
use super::current::Progress;
use super::deadline::Deadline;
use super::early;
use super::failure::Failure;
use super::line::{Carrier as _, Line};
use super::platform;
use super::session::Session;
use crate::decide::{Cause, Phase};
use crate::sys;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;
use ureq::unversioned::transport::{Buffers, NextTimeout, Transport};

/// Most bytes taken in while looking for an early answer.
const EARLY_INPUT: usize = 64 << 10;

/// Longest line of a body's framing. ureq waits for a line's end however long that takes, and what it
/// has not taken is kept; an answer without line ends must not fill the memory.
const FRAMING_LINE: usize = 64 << 10;

/// A connection to an endpoint, or to a proxy that hands requests on.
pub(super) struct Wire {
    line: Line,
    /// With an endpoint that is spoken to over TLS.
    session: Option<Session>,
    /// What request lines begin their target with: the origin, where a proxy hands requests on.
    origin: Option<Box<str>>,
    /// A request has not begun yet.
    at_start: bool,
    buffers: Growing,
    /// The attempt it works for; none while idle.
    progress: Option<Arc<Progress>>,
    /// The attempt it worked for last, whose answer may say how long it may be idle, and since when it
    /// is. ureq lets go of a connection before it hands an answer without a body out, so the answer
    /// is asked only when the next attempt wants the connection.
    served: Option<(Arc<Progress>, Instant)>,
    /// It has served an exchange before.
    used: bool,
    /// Something is left over, so no other exchange may follow.
    spoiled: bool,
    forks: u32,
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.session.is_some() { "Wire(tls)" } else { "Wire(plain)" })
    }
}

impl Wire {
    /// A connection just made; with `session` it speaks TLS.
    pub(super) fn new(line: Line, session: Option<Session>, request: Sizes) -> Self {
        let mut buffers = Growing::default();
        buffers.expect(request);
        Wire {
            line,
            session,
            origin: None,
            at_start: true,
            buffers,
            progress: None,
            served: None,
            used: false,
            spoiled: false,
            forks: platform::forks(),
        }
    }

    /// A connection just made to a proxy that hands requests on to this origin.
    pub(super) fn to_forward(line: Line, origin: &str, request: Sizes) -> Self {
        Wire { origin: Some(origin.into()), ..Wire::new(line, None, request) }
    }

    /// The attempt this connection works for: the current one, from its first write on.
    fn bind(&mut self) -> Result<Arc<Progress>, Failure> {
        if let Some(progress) = &self.progress {
            return Ok(progress.clone());
        }
        let progress = Progress::current().ok_or_else(|| Failure::local("no attempt"))?;
        progress.obtained(self.used);
        self.used = true;
        self.progress = Some(progress.clone());
        self.at_start = true;
        self.line.serve(progress.interrupt(), progress.meter())?;
        Ok(progress)
    }

    fn send(&mut self, amount: usize, progress: &Progress) -> Result<(), Failure> {
        let deadline = progress.to_end();
        let amount = self.buffers.release(amount);
        let mut sent = 0;
        loop {
            let step = {
                let Wire { line, session, buffers, .. } = self;
                let data = &buffers.written(amount)[sent..];
                match session {
                    None => line.write(data, deadline),
                    Some(session) => session.write(data, line, deadline),
                }
            };
            let stopped = match step {
                Ok(taken) => {
                    let taken = taken.unwrap_or(0);
                    progress.add_sent(taken);
                    sent += taken;
                    if sent == amount && self.is_flushed() {
                        return Ok(());
                    }
                    None
                }
                Err(failure) if failure.cause == Cause::Reset => Some(failure),
                Err(failure) => return Err(failure),
            };
            // The peer takes no more, for now or for ever: a blocking write falls short only when its
            // time is over. The answer may be here already.
            if self.look_for_answer(progress)? {
                self.spoiled = true;
                progress.answer_early();
                progress.reach(Phase::Head);
                return Ok(());
            }
            if let Some(failure) = stopped {
                return Err(failure);
            }
        }
    }

    fn is_flushed(&self) -> bool {
        match &self.session {
            None => self.line.is_flushed(),
            Some(session) => session.is_flushed(&self.line),
        }
    }

    /// Takes in what has arrived, until it is clear whether it is a final answer. A TLS alert is one
    /// of its own kind: in TLS 1.3 a server refuses a client's certificate when the request is already
    /// on its way.
    fn look_for_answer(&mut self, progress: &Progress) -> Result<bool, Failure> {
        loop {
            if early::begins_final_answer(self.buffers.input()) {
                self.buffers.offer_input();
                return Ok(true);
            }
            if self.buffers.input().len() >= EARLY_INPUT {
                return Ok(false);
            }
            let Wire { line, session, buffers, .. } = self;
            let buf = buffers.input_append_buf();
            let arrived = match session {
                None => line.read_now(buf),
                Some(session) => session.read_now(buf, line),
            };
            match arrived {
                Ok(Some(n)) if n > 0 => {
                    buffers.input_appended(n);
                    progress.add_received(n);
                }
                Err(failure) if failure.cause == Cause::Tls => return Err(failure),
                // Ends and other errors are for the next read to report, if there is one.
                _ => return Ok(false),
            }
        }
    }

    /// Whether the server is about to close it, by what it said.
    fn has_expired(&self) -> bool {
        self.served.as_ref().is_some_and(|(attempt, since)| {
            attempt.reusable_for().is_some_and(|time| sys::now() >= *since + time)
        })
    }

    fn receive(&mut self, progress: &Progress) -> Result<bool, Failure> {
        let deadline: Deadline = progress.to_next_byte();
        if progress.phase() == Phase::Body && self.buffers.input().len() >= FRAMING_LINE {
            return Err(Failure::new(Cause::Protocol, "a line of the body's framing is too long"));
        }
        let Wire { line, session, buffers, .. } = self;
        let buf = buffers.input_append_buf();
        let n = match session {
            None => line.read(buf, deadline),
            Some(session) => session.read(buf, line, deadline),
        }?;
        buffers.input_appended(n);
        progress.add_received(n);
        Ok(n > 0)
    }
}

impl Transport for Wire {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), ureq::Error> {
        let progress = self.bind().map_err(Failure::into_ureq)?;
        if amount == 0 {
            return Ok(());
        }
        let mut amount = amount;
        if std::mem::take(&mut self.at_start) {
            if let Some(origin) = &self.origin {
                amount = self.buffers.name_origin(amount, origin);
            }
        }
        progress.asked(amount);
        if progress.answered_early() {
            return Ok(());
        }
        // The report says "asked" all the same: the safe side, and the exact one soon after.
        if self.buffers.hold(amount) {
            return Ok(());
        }
        self.send(amount, &progress).map_err(Failure::into_ureq)
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, ureq::Error> {
        let progress = self.bind().map_err(Failure::into_ureq)?;
        progress.reach(Phase::Head);
        let in_body = progress.phase() == Phase::Body;
        match self.receive(&progress) {
            // In a body, ureq knows by its framing whether this end is one.
            Ok(false) if !in_body => Err(Failure::closed().into_ureq()),
            Ok(more) => Ok(more),
            Err(failure) if in_body => Err(failure.in_body().into_ureq()),
            Err(failure) => Err(failure.into_ureq()),
        }
    }

    /// Asked twice: when an exchange is over, and when the next one wants the connection. Only the
    /// second time is worth a system call.
    fn is_open(&mut self) -> bool {
        if let Some(progress) = self.progress.take() {
            // Before anybody else can have it: a late cancel of this call must not hit the next.
            let untouched = self.line.rest();
            self.served = Some((progress, sys::now()));
            self.buffers.shrink();
            self.line.shrink();
            if let Some(session) = &mut self.session {
                session.shrink();
            }
            return untouched && !self.spoiled && self.buffers.input().is_empty();
        }
        let Some(next) = Progress::current() else { return false };
        if next.fresh() || self.forks != platform::forks() || self.has_expired() {
            return false;
        }
        self.buffers.expect(next.sizes());
        match &mut self.session {
            None => self.line.is_quiet(),
            Some(session) => session.is_quiet(&mut self.line),
        }
    }

    fn is_tls(&self) -> bool {
        self.session.is_some()
    }
}
