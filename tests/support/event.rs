//! How a test and its servers wait for one another: without sleeping, without polling.
//!
//! One bell for the whole process: whoever changes something rings, whoever waits looks again.
//! A condition variable per event was rejected, because a server thread waits for two things at
//! once (its gate, or the end of the server) and the second would need to know of the first.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

static BELL: Mutex<()> = Mutex::new(());
static RUNG: Condvar = Condvar::new();

/// Wakes everybody who waits. Call it after the change, and with no other lock held.
pub(super) fn ring() {
    let _bell = BELL.lock().unwrap();
    RUNG.notify_all();
}

/// Waits until `done` says so (true) or the time is over (false). `None` waits without a bound.
pub(super) fn wait_until(done: impl Fn() -> bool, within: Option<Duration>) -> bool {
    let deadline = within.map(|d| Instant::now() + d);
    let mut bell = BELL.lock().unwrap();
    loop {
        if done() {
            return true;
        }
        bell = match deadline.map(|d| d.saturating_duration_since(Instant::now())) {
            None => RUNG.wait(bell).unwrap(),
            Some(Duration::ZERO) => return false,
            Some(left) => RUNG.wait_timeout(bell, left).unwrap().0,
        };
    }
}

/// Something that happens once: a gate that a test opens, or news that a server tells.
#[derive(Clone, Default)]
pub struct Event(Arc<AtomicBool>);

impl Event {
    pub fn new() -> Event {
        Event::default()
    }

    /// It has happened. Stays so.
    pub fn open(&self) {
        self.0.store(true, SeqCst);
        ring();
    }

    pub fn is_open(&self) -> bool {
        self.0.load(SeqCst)
    }

    /// Waits for it; panics when the time is over.
    #[track_caller]
    pub fn wait(&self, within: Duration) {
        let opened = wait_until(|| self.is_open(), Some(within));
        assert!(opened, "the event did not happen within {within:?}");
    }
}

/// What a reply does between two writes: it waits for a time, or for an event that the test opens, or
/// tells that it has come so far.
#[derive(Clone)]
pub enum Pause {
    For(Duration),
    Until(Event),
    Tell(Event),
}

impl Pause {
    /// False when the server ended meanwhile.
    pub(super) fn wait(&self, ended: &Event) -> bool {
        match self {
            Pause::For(time) => wait_until(|| ended.is_open(), Some(*time)),
            Pause::Until(event) => wait_until(|| event.is_open() || ended.is_open(), None),
            Pause::Tell(event) => {
                event.open();
                true
            }
        };
        !ended.is_open()
    }
}

impl From<Duration> for Pause {
    fn from(time: Duration) -> Pause {
        Pause::For(time)
    }
}

impl From<&Event> for Pause {
    fn from(event: &Event) -> Pause {
        Pause::Until(event.clone())
    }
}
