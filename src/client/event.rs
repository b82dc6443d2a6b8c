//! What a client tells its observer.

use super::attempt::Attempt;
use super::wait::whole_ms;
use crate::decide::{Phase, Reason, State};
use std::fmt;
use std::time::Duration;

/// What happened. The numbers are those of `ANYHOST_EVENT_*` in the C header.
///
/// ```
/// use anyhost::{Client, EventKind};
/// use std::sync::{Arc, Mutex};
///
/// let seen = Arc::new(Mutex::new(Vec::new()));
/// let kinds = Arc::clone(&seen);
/// let client = Client::builder()
///     .base_urls("https://a.example")
///     .on_event(move |event| kinds.lock().unwrap().push(event.kind()))
///     .build()?;
/// client.disable("https://a.example", "its disk is full")?;
/// assert_eq!(*seen.lock().unwrap(), [EventKind::StateChanged]);
/// assert_eq!((EventKind::StateChanged.code(), EventKind::StateChanged.name()), (3, "state_changed"));
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(i32)]
pub enum EventKind {
    /// An attempt begins at [`Event::endpoint`].
    AttemptStarted = 1,
    /// [`Event::attempt`] is over.
    AttemptEnded = 2,
    /// [`Event::endpoint`], or [`Event::proxy`], went over from [`Event::old_state`] to [`Event::new_state`].
    StateChanged = 3,
    /// The weight of [`Event::endpoint`], or of [`Event::proxy`], went from [`Event::old_weight`] to
    /// [`Event::new_weight`].
    WeightChanged = 4,
    /// A list of members was replaced.
    PoolUpdated = 5,
    /// [`Event::endpoint`] is preferred for [`Event::wait`].
    HoldSet = 6,
    /// [`Event::endpoint`] is preferred no longer.
    HoldEnded = 7,
    /// The call waits for [`Event::wait`] before it comes back to an endpoint.
    Waiting = 8,
    /// The call is over; [`Event::attempt`] is its last.
    CallEnded = 9,
    /// The process is a child of the one the client was made in, which this call is the first to
    /// notice. It opens connections of its own and leaves those of the parent alone.
    ForkNoticed = 10,
    /// The last endpoint of all came down to its least weight.
    AllAtMinimum = 11,
    /// The client left an endpoint that does not answer, for the first time in its life:
    /// [`Event::attempt`] failed, [`Event::endpoint`] is turned to. The one notice of seed 000.
    Failover = 12,
}

impl EventKind {
    /// The number, that of `ANYHOST_EVENT_*` in the C header: the same in every version.
    pub fn code(self) -> i32 {
        self as i32
    }

    /// The name in the C header, in lower case and without its prefix.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::AttemptStarted => "attempt_started",
            EventKind::AttemptEnded => "attempt_ended",
            EventKind::StateChanged => "state_changed",
            EventKind::WeightChanged => "weight_changed",
            EventKind::PoolUpdated => "pool_updated",
            EventKind::HoldSet => "hold_set",
            EventKind::HoldEnded => "hold_ended",
            EventKind::Waiting => "waiting",
            EventKind::CallEnded => "call_ended",
            EventKind::ForkNoticed => "fork_noticed",
            EventKind::AllAtMinimum => "all_at_minimum",
            EventKind::Failover => "failover",
        }
    }
}

/// Something that happened in a client.
///
/// It is told on the thread whose call caused it, and never under a lock: an observer may use the
/// client. Its text names endpoints by label, and the failover by host, and never shows a path, a
/// query or a secret.
///
/// ```
/// use anyhost::testing::{Reply, ScriptedTransport};
/// use anyhost::{Client, EventKind};
/// use std::sync::mpsc::channel;
///
/// let (a, b) = ("https://a.example", "https://b.example");
/// let network = ScriptedTransport::new().on(a, [Reply::refused()]).on(b, [Reply::ok("well")]);
/// let (tell, told) = channel();
/// let client = Client::builder()
///     .base_urls(&format!("{a}, {b}"))
///     .transport(network)
///     .on_event(move |event| {
///         if event.kind() == EventKind::Failover {
///             tell.send(event.to_string()).unwrap();
///         }
///     })
///     .build()?;
/// client.get("/").send()?;
/// assert_eq!(told.recv().unwrap(), "a.example not answering, using b.example");
/// # Ok::<(), anyhost::Error>(())
/// ```
///
/// What it is about depends on its kind:
///
/// ```
/// # use anyhost::testing::{Reply, ScriptedTransport};
/// use anyhost::{Client, Event, EventKind, Selection, Status};
/// # use std::sync::{Arc, Mutex};
/// # let a = "https://a.example";
/// # let network = ScriptedTransport::new().on(a, [Reply::refused()]);
/// # let lines = Arc::new(Mutex::new(Vec::new()));
/// # let kept = lines.clone();
///
/// let tell = move |event: &Event<'_>| {
///     let (call, member) = (event.call_id(), event.endpoint().or(event.proxy()).unwrap_or("-"));
///     let line = match event.kind() {
///         EventKind::AttemptEnded => {
///             format!("call {call}: {} {}", event.reason().words(), event.phase().words())
///         }
///         EventKind::WeightChanged => {
///             format!("{member}: {} -> {}", event.old_weight(), event.new_weight())
///         }
///         EventKind::StateChanged => {
///             format!("{member}: {:?} -> {:?}", event.old_state(), event.new_state())
///         }
///         EventKind::CallEnded => {
///             let attempts = event.attempt().map_or(0, |last| last.number());
///             format!("call {call}: {attempts} attempt, {} ms", event.wait().as_millis())
///         }
///         _ => return,
///     };
///     kept.lock().unwrap().push(line);
/// };
/// let client = Client::builder()
///     .base_urls("https://a.example")
///     .selection(Selection::Weighted)
///     .on_event(tell)
/// #     .transport(network.clone())
/// #     .clock(network.clock())
///     .build()?;
/// assert_eq!(client.get("/").send().unwrap_err().status(), Status::AttemptsSpent);
/// client.disable("https://a.example", "its disk is full")?;
/// assert_eq!(
///     *lines.lock().unwrap(),
///     [
///         "call 1: refused while connecting",
///         "https://a.example: 1000 -> 100",
///         "call 1: 1 attempt, 0 ms",
///         "https://a.example: Some(Eligible) -> Some(Disabled)",
///     ]
/// );
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    pub(crate) kind: EventKind,
    pub(crate) call: u64,
    pub(crate) endpoint: Option<&'a str>,
    pub(crate) proxy: Option<&'a str>,
    pub(crate) attempt: Option<&'a Attempt>,
    pub(crate) wait: Duration,
    pub(crate) states: Option<(State, State)>,
    pub(crate) weights: (u32, u32),
    pub(crate) reason: Reason,
    pub(crate) phase: Phase,
}

impl<'a> Event<'a> {
    pub(crate) fn new(kind: EventKind, call: u64) -> Self {
        Event {
            kind,
            call,
            endpoint: None,
            proxy: None,
            attempt: None,
            wait: Duration::ZERO,
            states: None,
            weights: (0, 0),
            reason: Reason::None,
            phase: Phase::None,
        }
    }

    /// What happened.
    pub fn kind(&self) -> EventKind {
        self.kind
    }

    /// Which call it belongs to, counted from 1 in the life of the client; 0 where it belongs to none.
    pub fn call_id(&self) -> u64 {
        self.call
    }

    /// The label of the endpoint it is about; of a failover its host. `None` where it is about a proxy, or
    /// about none.
    pub fn endpoint(&self) -> Option<&'a str> {
        self.endpoint
    }

    /// The label of the proxy it is about, or that the attempt goes through; `None` where it goes straight to
    /// its endpoint.
    pub fn proxy(&self) -> Option<&'a str> {
        self.proxy
    }

    /// The attempt it is about, where it is over: that of [`AttemptEnded`](EventKind::AttemptEnded), the last
    /// of [`CallEnded`](EventKind::CallEnded), the failed one of [`Failover`](EventKind::Failover).
    pub fn attempt(&self) -> Option<&'a Attempt> {
        self.attempt
    }

    /// How long the wait ([`Waiting`](EventKind::Waiting)) or the hold ([`HoldSet`](EventKind::HoldSet)) will
    /// be, or how long the call took ([`CallEnded`](EventKind::CallEnded)); zero of any other.
    pub fn wait(&self) -> Duration {
        self.wait
    }

    /// The state the member was in; `None` where it is no [`StateChanged`](EventKind::StateChanged).
    pub fn old_state(&self) -> Option<State> {
        self.states.map(|(old, _)| old)
    }

    /// The state the member is in; `None` where it is no [`StateChanged`](EventKind::StateChanged).
    pub fn new_state(&self) -> Option<State> {
        self.states.map(|(_, new)| new)
    }

    /// The weight the member had; 0 where it is no matter of weights.
    pub fn old_weight(&self) -> u32 {
        self.weights.0
    }

    /// The weight the member has; 0 where it is no matter of weights.
    pub fn new_weight(&self) -> u32 {
        self.weights.1
    }

    /// Why the state changed, or the attempt failed; [`Reason::None`] of any other.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// How far that attempt got, or the one behind the change.
    pub fn phase(&self) -> Phase {
        self.phase
    }
}

/// One line, fit for a log.
impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoint = self.endpoint.or(self.proxy).unwrap_or("-");
        match (self.kind, self.attempt) {
            (EventKind::Failover, Some(failed)) => {
                write!(f, "{} not answering, using {endpoint}", failed.endpoint())
            }
            (EventKind::AttemptEnded | EventKind::CallEnded, Some(attempt)) => {
                write!(f, "call {} {}: {attempt}", self.call, self.kind.name())
            }
            (EventKind::Waiting, _) => {
                write!(f, "call {} waits for {} ms", self.call, whole_ms(self.wait))
            }
            (EventKind::HoldSet, _) => {
                write!(f, "{endpoint} is preferred for {} s", self.wait.as_secs())
            }
            (EventKind::StateChanged, _) => {
                let name = |state: Option<State>| state.map_or("-", State::name);
                let (old, new) = (name(self.old_state()), name(self.new_state()));
                write!(f, "{endpoint}: {old} -> {new} ({})", self.reason.name())
            }
            (EventKind::WeightChanged, _) => {
                write!(f, "{endpoint}: weight {} -> {}", self.weights.0, self.weights.1)
            }
            (EventKind::ForkNoticed, _) => f.write_str("the process was forked: new connections"),
            (EventKind::AllAtMinimum, _) => f.write_str("all endpoints are at their least weight"),
            (EventKind::PoolUpdated, _) => f.write_str("a list of members was replaced"),
            (EventKind::HoldEnded, _) => write!(f, "{endpoint} is no longer preferred"),
            (kind, _) => {
                write!(f, "call {} {} at {endpoint}", self.call, kind.name())?;
                self.proxy.map_or(Ok(()), |proxy| write!(f, " through {proxy}"))
            }
        }
    }
}
