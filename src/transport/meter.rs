//! Tells who watches a call how far it is, and asks whether it should go on.
//!
//! It is done on the thread of the call, by whatever that thread is blocked on: each wait is cut to
//! what is left until the next time, and looks at the meter before it waits again. So nobody pays for
//! it who does not watch, and a transfer that stands still is told as often as one that runs.
//!
//! One [`Watcher`] goes with a call, and keeps the rhythm through attempts that are shorter than it;
//! one [`Meter`] goes with an attempt, whose counts begin at 0. Nothing of ours is locked while the
//! caller's code runs.
//!
//! Flow: `client` makes one for each attempt → `current` counts what is sent, `incoming` what is received
//! → **meter** ← `lookup`, `dial`, `socket`. Not here: the callback itself and its panics (`client`).

use super::interrupt::Interrupt;
use crate::sys::Clock;
use parking_lot::Mutex;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::RefUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How far a call is: what of the bodies was transferred in the present attempt.
///
/// See [`RequestBuilder::progress`](crate::RequestBuilder::progress).
///
/// ```
/// # use anyhost::testing::{Reply, ScriptedTransport};
/// use std::ops::ControlFlow;
/// use std::sync::mpsc::channel;
/// use std::time::Duration;
/// # let a = "https://a.example";
/// # let network = ScriptedTransport::new().on(a, [Reply::ok("done")]);
/// # let builder = anyhost::Client::builder().base_urls(a).transport(network.clone());
/// # let client = builder.clock(network.clock()).build()?;
///
/// let (tell, told) = channel();
/// let watch = move |so_far: &anyhost::Transferred| {
///     let total = so_far.total().map_or("?".to_owned(), |total| total.to_string());
///     let (attempt, sent, received) = (so_far.attempt(), so_far.sent(), so_far.received());
///     tell.send(format!("{attempt}: sent {sent}, received {received} of {total}")).unwrap();
///     ControlFlow::Continue(()) // Break ends the call
/// };
/// client.post("/jobs").body("work").progress(Duration::from_millis(250), watch).send()?;
/// assert_eq!(told.recv().unwrap(), "1: sent 4, received 4 of 4"); // of the complete answer
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transferred {
    attempt: u32,
    sent: u64,
    received: u64,
    total: Option<u64>,
}

impl Transferred {
    /// The number of the attempt, from 1, as in [`Attempt::number`](crate::Attempt::number). With a new
    /// one the counts begin anew.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Bytes of the request's body that the operating system, or TLS, has taken for sending. Where the
    /// length of the body is not known beforehand, with the framing of its chunks (RFC 9112 §7.1).
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Bytes of the answer's body as they came: before decoding, without the framing of chunks.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// How many [`received`](Transferred::received) will be, where the head of the answer is there and
    /// says so.
    pub fn total(&self) -> Option<u64> {
        self.total
    }
}

/// What it is told to, and how it is asked.
type Tell = Box<dyn Fn(&Transferred) -> ControlFlow<()> + Send + Sync>;

/// Whoever watches a call.
pub struct Watcher {
    every: Duration,
    clock: Arc<dyn Clock>,
    /// When to tell again; `None` beyond the end of time.
    due: Mutex<Option<Instant>>,
    /// Of the call.
    interrupt: Arc<Interrupt>,
    tell: Tell,
}

/// What a panic of the caller's code has left half-changed is the caller's; here nothing is.
impl RefUnwindSafe for Watcher {}

impl Watcher {
    /// One who is told about `every` so often by this clock, which is not zero, and who ends the call
    /// by this interrupt.
    pub fn new(
        every: Duration,
        clock: Arc<dyn Clock>,
        interrupt: Arc<Interrupt>,
        tell: impl Fn(&Transferred) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        let due = Mutex::new(clock.now().checked_add(every));
        Watcher { every, clock, due, interrupt, tell: Box::new(tell) }
    }

    fn is_due(&self) -> bool {
        self.due.lock().is_some_and(|due| self.clock.now() >= due)
    }

    fn ask(&self, so_far: &Transferred) {
        if self.interrupt.is_triggered() {
            return;
        }
        let goes_on = (self.tell)(so_far);
        // From now on, and not from when it was due: a callback slower than its rhythm must leave the
        // call some time of its own.
        *self.due.lock() = self.clock.now().checked_add(self.every);
        if goes_on.is_break() {
            self.interrupt.trigger();
        }
    }
}

/// Counts one attempt of a call that is watched.
///
/// Whoever blocks in an attempt waits no longer than [`due_in`](Meter::due_in) at a time, calls
/// [`tick`](Meter::tick) then, and looks at the interrupt of the attempt after that.
///
/// ```
/// use anyhost::inject::{Answer, AnswerBody, Attempt, Ending, HeaderMap, Outgoing, Phase, Report, Transport};
/// use std::ops::ControlFlow;
/// use std::time::{Duration, Instant};
///
/// /// A server that needs 20 ms for its answer.
/// struct Slow;
///
/// impl Transport for Slow {
///     fn attempt(&self, attempt: Attempt<'_>) -> (Report, Option<Answer>) {
///         let over = Instant::now() + Duration::from_millis(20);
///         if let (Some(meter), Outgoing::Bytes(bytes)) = (attempt.meter, &attempt.body) {
///             meter.sent(bytes.len() as u64);
///         }
///         loop {
///             let left = over.saturating_duration_since(Instant::now());
///             std::thread::sleep(attempt.meter.map_or(left, |meter| meter.due_in().min(left)));
///             if let Some(meter) = attempt.meter {
///                 meter.tick();
///             }
///             if left.is_zero() || attempt.interrupt.is_triggered() {
///                 break;
///             }
///         }
///         let report = Report {
///             phase: Phase::Body,
///             ending: Ending::Answered,
///             status: Some(204),
///             asked_to_send: true,
///             ..Report::new()
///         };
///         (report, Some(Answer { status: 204, headers: HeaderMap::new(), body: AnswerBody::default() }))
///     }
/// }
///
/// let client = anyhost::Client::builder().base_urls("https://a.example").transport(Slow).build()?;
/// let (tell, told) = std::sync::mpsc::channel();
/// let watch = move |so_far: &anyhost::Transferred| {
///     tell.send(so_far.sent()).unwrap();
///     ControlFlow::Continue(())
/// };
/// client.post("/").body("ab").progress(Duration::from_millis(1), watch).send()?;
/// let told: Vec<u64> = told.iter().collect();
/// assert!(told.len() > 1 && told.iter().all(|sent| *sent == 2), "{told:?}");
/// # Ok::<(), anyhost::Error>(())
/// ```
pub struct Meter {
    watcher: Arc<Watcher>,
    attempt: u32,
    sent: AtomicU64,
    received: AtomicU64,
    total: OnceLock<u64>,
    over: AtomicBool,
}

impl Meter {
    /// The meter of the attempt of this number.
    pub(crate) fn new(watcher: Arc<Watcher>, attempt: u32) -> Self {
        Meter {
            watcher,
            attempt,
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            total: OnceLock::new(),
            over: AtomicBool::new(false),
        }
    }

    /// So many bytes of the request's body have been sent, all in all.
    pub fn sent(&self, bytes: u64) {
        self.sent.store(bytes, Relaxed);
    }

    /// The longest time to wait before the next [`tick`](Meter::tick).
    pub fn due_in(&self) -> Duration {
        let due = if self.over.load(Relaxed) { None } else { *self.watcher.due.lock() };
        due.map_or(Duration::MAX, |due| due.saturating_duration_since(self.watcher.clock.now()))
    }

    /// Tells how far it is, if it is time for that.
    pub fn tick(&self) {
        if !self.over.load(Relaxed) && self.watcher.is_due() {
            self.watcher.ask(&self.so_far());
        }
    }

    /// So many bytes of the answer's body are to come.
    pub(super) fn expect(&self, total: Option<u64>) {
        if let Some(total) = total {
            let _ = self.total.set(total);
        }
    }

    pub(super) fn add_received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Relaxed);
    }

    /// The answer is complete, which is told whenever that is.
    pub(super) fn complete(&self) {
        if !self.over.swap(true, Relaxed) {
            self.watcher.ask(&self.so_far());
        }
    }

    /// Nobody waits for the rest.
    pub(super) fn abandon(&self) {
        self.over.store(true, Relaxed);
    }

    fn so_far(&self) -> Transferred {
        Transferred {
            attempt: self.attempt,
            sent: self.sent.load(Relaxed),
            received: self.received.load(Relaxed),
            total: self.total.get().copied(),
        }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Meter").field(&self.so_far()).finish()
    }
}

/// The longest wait before somebody has to be told, if anybody watches.
pub(super) fn due_in(meter: Option<&Meter>) -> Duration {
    meter.map_or(Duration::MAX, Meter::due_in)
}
