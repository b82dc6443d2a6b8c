//! The attempt a thread is working on: its limits, and the counters its report is made of.
//!
//! ureq offers no way to hand anything to a connector or to a connection from its pool, but calls
//! both on the thread of the request. So the running attempt is kept in a thread-local; a
//! connection takes hold of it at its first write and lets go when it becomes idle. The previous
//! attempt comes back on leaving, also on a panic, because a body source may itself send a request.
//!
//! Flow: `exchange` makes it current → `connector` and `wire` write into it → the report.

use super::buffers::Sizes;
use super::deadline::Deadline;
use super::failure::Failure;
use super::interrupt::Interrupt;
use super::meter::Meter;
use crate::decide::{Cause, Limit, Limits, Phase, ProxyReply, Report};
use crate::sys;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

thread_local! {
    static CURRENT: RefCell<Option<Arc<Progress>>> = const { RefCell::new(None) };
}

/// The facts of an attempt as they become known. Atomics because ureq wants its transports to be
/// `Sync`; one thread at a time writes them, and no order between them matters.
#[derive(Debug)]
pub(super) struct Progress {
    limits: Limits,
    /// When the body must be over, said after the head was there.
    body_cut: OnceLock<Instant>,
    fresh: bool,
    sizes: Sizes,
    interrupt: Arc<Interrupt>,
    meter: Option<Arc<Meter>>,
    phase: AtomicU8,
    status: AtomicU16,
    asked_to_send: AtomicBool,
    answered_early: AtomicBool,
    abandoned: AtomicBool,
    reused: AtomicBool,
    /// Bytes given to the connection to transmit, sent or not.
    asked: AtomicU64,
    /// How many of them are the head, once there is more.
    head: OnceLock<u64>,
    sent: AtomicU64,
    received: AtomicU64,
    times: Mutex<Times>,
    reusable_for: OnceLock<Duration>,
    proxy_reply: OnceLock<ProxyReply>,
    /// The proxy has let us through, whatever it said before.
    let_through: AtomicBool,
}

/// What every attempt comes to know: a lock that nobody contends is set sooner than two `OnceLock`s.
#[derive(Debug, Default)]
struct Times {
    /// When the connection was first asked to transmit.
    begun: Option<Instant>,
    /// How long after that the head of the answer was complete.
    head_after: Option<Duration>,
}

const PHASES: [Phase; 10] = [
    Phase::None,
    Phase::Resolve,
    Phase::ProxyConnect,
    Phase::ProxyAuth,
    Phase::Tunnel,
    Phase::Connect,
    Phase::Tls,
    Phase::Send,
    Phase::Head,
    Phase::Body,
];

impl Progress {
    /// An attempt not yet begun, which this interrupt ends and this meter counts.
    pub(super) fn new(
        limits: Limits,
        fresh: bool,
        sizes: Sizes,
        interrupt: Arc<Interrupt>,
        meter: Option<Arc<Meter>>,
    ) -> Self {
        Progress {
            limits,
            body_cut: OnceLock::new(),
            fresh,
            sizes,
            interrupt,
            meter,
            phase: AtomicU8::new(Phase::None as u8),
            status: AtomicU16::new(0),
            asked_to_send: AtomicBool::new(false),
            answered_early: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            reused: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            head: OnceLock::new(),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            times: Mutex::default(),
            reusable_for: OnceLock::new(),
            proxy_reply: OnceLock::new(),
            let_through: AtomicBool::new(false),
        }
    }

    /// One of a test: without end, and with nobody who watches.
    #[cfg(test)]
    pub(super) fn unbounded() -> Self {
        Progress::new(Limits::default(), false, Sizes::default(), Arc::default(), None)
    }

    /// What counts it, where somebody watches.
    pub(super) fn meter(&self) -> Option<&Arc<Meter>> {
        self.meter.as_ref()
    }

    /// What ends it early.
    pub(super) fn interrupt(&self) -> &Arc<Interrupt> {
        &self.interrupt
    }

    /// The attempt this thread is working on.
    pub(super) fn current() -> Option<Arc<Progress>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Runs `work` with this attempt as the current one.
    pub(super) fn run<R>(self: &Arc<Self>, work: impl FnOnce() -> R) -> R {
        struct Restore(Option<Arc<Progress>>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _restore = Restore(CURRENT.replace(Some(self.clone())));
        work()
    }

    /// Until when a connection must be there.
    pub(super) fn to_connect(&self) -> Deadline {
        Deadline::new(self.limits.connect_by, Limit::Connect)
            .or_earlier(self.limits.until, Limit::Attempt)
    }

    /// Until when the attempt must be over, and once the head is there, the body.
    pub(super) fn to_end(&self) -> Deadline {
        if self.phase() != Phase::Body {
            return Deadline::new(self.limits.until, Limit::Attempt);
        }
        Deadline::new(self.limits.body_until, Limit::Attempt)
            .or_earlier(self.body_cut.get().copied(), Limit::Attempt)
    }

    /// The body must be over at this time, which is said once.
    pub(super) fn limit_body(&self, until: Instant) {
        let _ = self.body_cut.set(until);
    }

    /// Until when the next byte of the answer must be here, if it is asked for now.
    pub(super) fn to_next_byte(&self) -> Deadline {
        if self.abandoned.load(Relaxed) {
            return Deadline::new(Some(sys::now()), Limit::Attempt);
        }
        match self.limits.stall {
            Some(stall) if self.phase() == Phase::Body => {
                self.to_end().or_earlier(sys::now().checked_add(stall), Limit::Stall)
            }
            _ => self.to_end(),
        }
    }

    /// Nobody wants the rest of the body: no byte of it is waited for.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Relaxed);
        if let Some(meter) = &self.meter {
            meter.abandon();
        }
    }

    /// Whether idle connections are to be left alone.
    pub(super) fn fresh(&self) -> bool {
        self.fresh
    }

    /// How large the request is.
    pub(super) fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// A later phase began. Phases never go back.
    pub(super) fn reach(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Relaxed);
    }

    pub(super) fn phase(&self) -> Phase {
        PHASES[usize::from(self.phase.load(Relaxed))]
    }

    /// A connection was taken; `reused` if it is of an earlier exchange.
    pub(super) fn obtained(&self, reused: bool) {
        self.reused.store(reused, Relaxed);
        self.reach(Phase::Send);
    }

    /// The connection is about to be asked to transmit bytes of the request (ruling R1).
    pub(super) fn asked(&self, bytes: usize) {
        self.asked.fetch_add(bytes as u64, Relaxed);
        if !self.asked_to_send.swap(true, Relaxed) {
            self.times.lock().begun = Some(sys::now());
        }
    }

    /// The head of the request has been handed over, what follows is its body.
    pub(super) fn body_begins(&self) {
        self.head.get_or_init(|| self.asked.load(Relaxed));
    }

    pub(super) fn add_sent(&self, bytes: usize) {
        let sent = self.sent.fetch_add(bytes as u64, Relaxed) + bytes as u64;
        if let (Some(meter), Some(head)) = (&self.meter, self.head.get()) {
            meter.sent(sent.saturating_sub(*head));
        }
    }

    pub(super) fn add_received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Relaxed);
    }

    /// HTTP bytes received so far.
    pub(super) fn received(&self) -> u64 {
        self.received.load(Relaxed)
    }

    /// A final answer began to arrive before the request was sent.
    pub(super) fn answer_early(&self) {
        self.answered_early.store(true, Relaxed);
    }

    pub(super) fn answered_early(&self) -> bool {
        self.answered_early.load(Relaxed)
    }

    /// The proxy said no. What it said first stays.
    pub(super) fn refused(&self, reply: ProxyReply) -> Failure {
        let _ = self.proxy_reply.set(reply);
        Failure::new(Cause::ProxyRefused, format!("the proxy {reply}"))
    }

    /// The proxy let us through after all, by another address of the target.
    pub(super) fn accepted(&self) {
        self.let_through.store(true, Relaxed);
    }

    /// The head of the answer is complete.
    pub(super) fn head_arrived(&self, status: u16) {
        let now = sys::now();
        let times = &mut *self.times.lock();
        times.head_after = times.begun.map(|begun| now.saturating_duration_since(begun));
        self.status.store(status, Relaxed);
        self.reach(Phase::Body);
    }

    /// The answer says how long its connection may be idle.
    pub(super) fn keep_for(&self, idle: Option<Duration>) {
        if let Some(idle) = idle {
            let _ = self.reusable_for.set(idle);
        }
    }

    /// How long its connection may be idle and still be used, if the answer has said so.
    pub(super) fn reusable_for(&self) -> Option<Duration> {
        self.reusable_for.get().copied()
    }

    /// The facts so far, as a report that says nothing of the ending yet.
    pub(super) fn report(&self) -> Report {
        let status = self.status.load(Relaxed);
        let let_through = self.let_through.load(Relaxed);
        let proxy_reply = self.proxy_reply.get().copied().filter(|_| !let_through);
        let about_credentials = proxy_reply.is_some_and(ProxyReply::is_about_credentials);
        Report {
            // Credentials are asked for by an answer to what has begun a later phase.
            phase: if about_credentials { Phase::ProxyAuth } else { self.phase() },
            proxy_reply,
            status: (status != 0).then_some(status),
            asked_to_send: self.asked_to_send.load(Relaxed),
            bytes_sent: self.sent.load(Relaxed),
            bytes_received: self.received(),
            reused: self.reused.load(Relaxed),
            head_after: self.times.lock().head_after,
            ..Report::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn progress() -> Arc<Progress> {
        Arc::new(Progress::unbounded())
    }

    fn is_current(it: &Arc<Progress>) -> bool {
        Progress::current().is_some_and(|c| Arc::ptr_eq(&c, it))
    }

    #[test]
    fn the_table_of_phases_follows_their_numbers() {
        for (number, phase) in PHASES.iter().enumerate() {
            assert_eq!(*phase as usize, number);
        }
    }

    #[test]
    fn a_nested_attempt_gives_the_thread_back_also_on_a_panic() {
        let (outer, inner) = (progress(), progress());
        outer.run(|| {
            inner.run(|| assert!(is_current(&inner)));
            assert!(is_current(&outer));
            let inner = AssertUnwindSafe(&inner);
            let panicked = catch_unwind(|| inner.run(|| panic!("a body source")));
            assert!(panicked.is_err());
            assert!(is_current(&outer));
        });
        assert!(Progress::current().is_none());
    }

    #[test]
    fn phases_never_go_back() {
        let p = progress();
        p.reach(Phase::Head);
        p.reach(Phase::Send);
        assert_eq!(p.phase(), Phase::Head);
    }

    #[test]
    fn the_stall_limit_binds_only_the_body() {
        let stall = Some(Duration::from_secs(1));
        let p = Progress { limits: Limits { stall, ..Limits::default() }, ..Progress::unbounded() };
        p.reach(Phase::Head);
        assert_eq!(p.to_next_byte().at(), None);
        p.reach(Phase::Body);
        assert!(p.to_next_byte().at().is_some());
    }
}
