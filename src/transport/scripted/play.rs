//! An attempt on its way through its reply: phase by phase, in virtual time, within its limits.

use super::reply::{Complete, End, Reply, Written};
use crate::decide::{Cause, Limit, Limits, Phase, ProxyReply, Report};
use crate::sys::{Clock as _, ManualClock};
use crate::transport::interrupt::Interrupt;
use crate::transport::meter::{self, Meter};
use crate::transport::{Answer, AnswerBody, BodySource, Failure, Outgoing};
use http::HeaderMap;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One attempt on its way through its reply.
pub(super) struct Play<'a> {
    pub(super) clock: &'a ManualClock,
    /// The time of this attempt. Its own, so that attempts under way together take their time
    /// together, however their threads take turns.
    pub(super) now: Instant,
    pub(super) limits: Limits,
    pub(super) interrupt: &'a Arc<Interrupt>,
    pub(super) meter: Option<&'a Arc<Meter>>,
    pub(super) report: Report,
    pub(super) sent: Vec<u8>,
}

impl Play<'_> {
    pub(super) fn all(
        &mut self,
        reply: &Reply,
        body: Outgoing<'_>,
        head_only: bool,
    ) -> Result<Answer, Cause> {
        let meanwhile = || reply.meanwhile.iter().for_each(|run| run());
        if let End::NoConnection(phase, cause) = reply.end {
            self.report.phase = phase;
            meanwhile();
            self.wait(cause.map(|_| reply.takes), self.to_connect())?;
            return Err(cause.unwrap_or(Cause::Local));
        }
        self.report.phase = Phase::Connect;
        self.wait(Some(reply.connects_after), self.to_connect())?;
        self.send(body)?;
        meanwhile();
        let began = self.now;
        match &reply.end {
            End::NoConnection(..) | End::Refused(_) => unreachable!("dealt with above"),
            End::Passes => panic!("only a proxy lets pass"),
            End::Stale => {
                self.report.reused = true;
                self.wait(Some(reply.takes), self.to_end())?;
                Err(Cause::Closed)
            }
            End::NoAnswer(cause) => {
                self.wait(cause.map(|_| reply.takes), self.to_end())?;
                Err(cause.unwrap_or(Cause::Local))
            }
            End::Answer(answer, complete) => {
                self.wait(Some(reply.takes), self.to_end())?;
                self.report.head_after = Some(self.now.saturating_duration_since(began));
                Ok(self.answer(answer, *complete, head_only))
            }
        }
    }

    /// A proxy says no.
    pub(super) fn refuse(
        &mut self,
        answer: ProxyReply,
        reply: &Reply,
        body: Outgoing<'_>,
        forwarded: bool,
    ) -> Result<Answer, Cause> {
        let meanwhile = || reply.meanwhile.iter().for_each(|run| run());
        self.report.phase = Phase::ProxyConnect;
        self.wait(Some(reply.connects_after), self.to_connect())?;
        if forwarded {
            self.send(body)?;
        } else {
            self.report.phase = Phase::Tunnel;
        }
        meanwhile();
        let limit = if forwarded { self.to_end() } else { self.to_connect() };
        self.wait(Some(reply.takes), limit)?;
        match answer {
            ProxyReply::Http(status) if forwarded && !answer.is_about_credentials() => {
                let written = Written { status, headers: HeaderMap::new(), body: Vec::new() };
                Ok(self.answer(&written, Complete::Yes, false))
            }
            _ => {
                self.report.proxy_reply = Some(answer);
                if answer.is_about_credentials() {
                    self.report.phase = Phase::ProxyAuth;
                }
                Err(Cause::ProxyRefused)
            }
        }
    }

    fn send(&mut self, body: Outgoing<'_>) -> Result<(), Cause> {
        self.report.phase = Phase::Send;
        self.report.asked_to_send = true;
        match body {
            Outgoing::Empty => {}
            Outgoing::Bytes(bytes) => self.sent.extend_from_slice(bytes),
            Outgoing::Reader { source, length } => {
                let read = source.read_to_end(&mut self.sent);
                if read.is_err() || length.is_some_and(|length| length != self.sent.len() as u64) {
                    return Err(Cause::BodySource);
                }
            }
        }
        self.report.bytes_sent = self.sent.len() as u64;
        if let Some(meter) = self.meter {
            meter.sent(self.report.bytes_sent);
        }
        self.report.phase = Phase::Head;
        Ok(())
    }

    fn answer(&mut self, answer: &Written, complete: Complete, head_only: bool) -> Answer {
        let Written { status, headers, body } = answer.clone();
        self.report.phase = Phase::Body;
        self.report.status = Some(status);
        // A head of any length at least: an answer began to arrive.
        self.report.bytes_received = 1;
        let body = match complete {
            _ if head_only => AnswerBody::default(),
            Complete::Yes => {
                self.report.bytes_received += body.len() as u64;
                AnswerBody::from(body)
            }
            Complete::BreaksOff | Complete::Stalls => {
                let length = body.len();
                let rest = Unfinished {
                    half: body[..length / 2].to_vec(),
                    read: 0,
                    stalls: complete == Complete::Stalls,
                    clock: self.clock.clone(),
                    now: self.now,
                    limits: self.limits,
                    interrupt: self.interrupt.clone(),
                    meter: self.meter.cloned(),
                    cut: Cell::new(None),
                };
                AnswerBody::reader(rest, Some(length as u64))
            }
        };
        Answer { status, headers, body }
    }

    /// Lets time pass: `time`, or without end, but no further than the limit.
    fn wait(
        &mut self,
        time: Option<Duration>,
        limit: (Option<Instant>, Limit),
    ) -> Result<(), Cause> {
        let meter = self.meter.map(|meter| &**meter);
        pass(self.clock, &mut self.now, time, limit, self.interrupt, meter)
    }

    fn to_connect(&self) -> (Option<Instant>, Limit) {
        earlier((self.limits.connect_by, Limit::Connect), self.to_end())
    }

    fn to_end(&self) -> (Option<Instant>, Limit) {
        (self.limits.until, Limit::Attempt)
    }
}

/// A body that does not come to its end.
struct Unfinished {
    half: Vec<u8>,
    read: usize,
    stalls: bool,
    clock: ManualClock,
    now: Instant,
    limits: Limits,
    interrupt: Arc<Interrupt>,
    meter: Option<Arc<Meter>>,
    /// When it must be over, said after the head was there.
    cut: Cell<Option<Instant>>,
}

impl BodySource for Unfinished {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Failure> {
        let n = buf.len().min(self.half.len() - self.read);
        if n > 0 {
            buf[..n].copy_from_slice(&self.half[self.read..self.read + n]);
            self.read += n;
            return Ok(n);
        }
        if !self.stalls {
            return Err(Failure::new(Cause::Truncated, "the body breaks off, by its script"));
        }
        // A streamed body may be read much later than its head came.
        self.now = self.now.max(self.clock.now());
        let stall = self.limits.stall.and_then(|stall| self.now.checked_add(stall));
        let until = [self.limits.body_until, self.cut.get()].into_iter().flatten().min();
        let limit = earlier((stall, Limit::Stall), (until, Limit::Attempt));
        let meter = self.meter.as_deref();
        let waited = pass(&self.clock, &mut self.now, None, limit, &self.interrupt, meter);
        let cause = waited.expect_err("waiting without end ends at a limit");
        Err(Failure::new(cause, "the body stalls, by its script"))
    }

    fn bytes_received(&self) -> Option<u64> {
        Some(1 + self.read as u64)
    }

    fn limit(&self, until: Instant) {
        self.cut.set(Some(until));
    }
}

/// Lets time pass from `now` on: `time`, or without end, but no further than the limit, and none at all
/// when the call is over. Who watches it is told in between.
fn pass(
    clock: &ManualClock,
    now: &mut Instant,
    time: Option<Duration>,
    limit: (Option<Instant>, Limit),
    interrupt: &Interrupt,
    meter: Option<&Meter>,
) -> Result<(), Cause> {
    let until = time.and_then(|time| now.checked_add(time));
    let (stop, limit) = limit;
    let (at, ended) = match (until, stop) {
        (Some(until), None) => (until, Ok(())),
        (Some(until), Some(stop)) if until <= stop => (until, Ok(())),
        (_, Some(stop)) => (stop, Err(Cause::TimedOut(limit))),
        (None, None) => panic!("nothing would ever end this attempt: give it a limit"),
    };
    while !interrupt.is_triggered() {
        let step = now.checked_add(meter::due_in(meter)).map_or(at, |due| due.min(at));
        clock.reach(step);
        *now = step;
        if let Some(meter) = meter {
            meter.tick();
        }
        if step == at {
            return ended;
        }
    }
    Err(Cause::Cancelled)
}

/// The earlier of two limits; of equal ones the first.
fn earlier(a: (Option<Instant>, Limit), b: (Option<Instant>, Limit)) -> (Option<Instant>, Limit) {
    match (a.0, b.0) {
        (Some(first), Some(second)) if second < first => b,
        (None, Some(_)) => b,
        _ => a,
    }
}
