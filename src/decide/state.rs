//! The states of an endpoint, and what is remembered of them for people (seed 004, ruling R7).
//!
//! A record is never dropped because of failures: who only knows that an endpoint is away cannot
//! tell a refused connection from a refused password. Nothing here decides; what an endpoint may do
//! follows from its circuit and its cooling (`member`).

use super::classify::Reason;
use super::report::Phase;
use std::collections::VecDeque;
use std::time::Instant;

/// What an endpoint may be used for.
///
/// The numbers are those of `ANYHOST_STATE_*` in the C header.
///
/// ```
/// use anyhost::{Client, State};
///
/// let client = Client::new("https://a.example, https://b.example")?;
/// client.disable("https://b.example", "maintenance until noon")?;
/// let snapshot = client.snapshot();
/// let b = snapshot.find("https://b.example").unwrap();
/// assert_eq!((b.state(), b.detail()), (State::Disabled, "maintenance until noon"));
/// assert_eq!((b.state().code(), b.state().name()), (4, "disabled"));
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum State {
    /// Ordinary work.
    Eligible = 0,
    /// Nothing until its wait is over; without a breaker, only what has no better choice.
    Cooling = 1,
    /// One request, which decides whether it has recovered.
    ProbeAllowed = 2,
    /// Nothing: that one request is under way.
    Probing = 3,
    /// Nothing, until somebody enables it.
    Disabled = 4,
}

/// A change of state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// When.
    pub at: Instant,
    /// From which state.
    pub from: State,
    /// To which.
    pub to: State,
    /// Why.
    pub reason: Reason,
    /// How far the attempt behind it had got.
    pub phase: Phase,
}

/// What is remembered of an endpoint.
#[derive(Debug, Clone)]
pub struct Record {
    /// The state, as of the last change.
    pub state: State,
    /// Since when.
    pub since: Instant,
    /// When it was eligible last, or is: probes that fail leave it as it is.
    pub eligible: Instant,
    /// Why it is in this state; of an eligible one, why the last attempt failed.
    pub reason: Reason,
    /// How far that attempt had got.
    pub phase: Phase,
    /// In words: the operator's, or what broke.
    pub detail: String,
    /// Attempts that failed, by the number of their reason.
    pub counts: [u64; Reason::ALL.len()],
    /// Failures since the last good answer.
    pub failures_in_a_row: u32,
    /// Attempts ended.
    pub attempts: u64,
    /// Those with a good answer.
    pub successes: u64,
    /// Those that were blamed on it.
    pub failures: u64,
    transitions: VecDeque<Transition>,
}

/// How many transitions are remembered.
const KEPT: usize = 16;

impl Record {
    /// Of an endpoint that nothing has happened to.
    pub fn new(now: Instant) -> Self {
        Record {
            state: State::Eligible,
            since: now,
            eligible: now,
            reason: Reason::None,
            phase: Phase::None,
            detail: String::new(),
            counts: [0; Reason::ALL.len()],
            failures_in_a_row: 0,
            attempts: 0,
            successes: 0,
            failures: 0,
            transitions: VecDeque::new(),
        }
    }

    /// The last changes of state, oldest first; at most 16.
    pub fn transitions(&self) -> impl ExactSizeIterator<Item = &Transition> {
        self.transitions.iter()
    }

    /// Goes over to `to`. Says what the state was, if this changes it.
    pub fn turn(&mut self, to: State, now: Instant) -> Option<State> {
        let from = self.state;
        if from == to {
            return None;
        }
        if self.transitions.len() == KEPT {
            self.transitions.pop_front();
        }
        let (reason, phase) = (self.reason, self.phase);
        self.transitions.push_back(Transition { at: now, from, to, reason, phase });
        if from == State::Eligible {
            self.eligible = now;
        }
        self.state = to;
        self.since = now;
        Some(from)
    }
}
