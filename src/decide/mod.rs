//! Every decision, as pure functions of values: no clock, no chance, no lock, no I/O in here.
//!
//! ```text
//! request → plan → pick → attempt → classify → record → next
//!           plan   pick             classify   call     call
//! ```
//!
//! A call asks [`Call::step`] what to do. That picks an endpoint from the [`Pool`] and gives out a
//! [`Ticket`] with its [`Limits`]; somebody makes the attempt and hands the [`Report`] to
//! [`Call::settle`], which judges it by [`classify()`] and records what that means for the pool and
//! for the call. Instants and random numbers arrive as arguments, so that a whole client can be run
//! in virtual time.

mod backoff;
mod budget;
mod call;
mod circuit;
mod classify;
mod draw;
mod duration_text;
mod endpoint;
mod event;
mod hold;
mod http_date;
mod latency;
mod limits;
mod member;
pub(crate) mod mutant;
mod pick;
mod plan;
mod pool;
mod proxy_reply;
mod redirect;
mod report;
mod resend;
mod retry_after;
mod state;
mod status_set;
mod timeout;
mod weight;
mod words;

pub use backoff::{Backoff, BackoffError};
pub use budget::{Budget, BudgetError, BudgetSettings};
pub use call::{Call, End, Failure, HopTicket, Step, Ticket};
pub use circuit::{
    BreakerSettings, BreakerSettingsError, Change, Circuit, CircuitState, Ticket as CircuitTicket,
};
pub use classify::{
    Advice, Blame, Delivery, Health, Outcome, Passage, ProxyFault, Reason, Rules, Then, Verdict,
    advised, classify,
};
pub use draw::WeightedDraw;
pub use duration_text::{
    DurationText, InvalidValue, LimitText, SizeText, parse_duration, parse_flag, parse_limit,
    parse_size,
};
pub use endpoint::{Endpoint, EndpointId, Kind, Reach, Scheme};
pub use event::Event;
pub use hold::Hold;
pub use latency::Latency;
pub use limits::{AttemptLimits, Limits, Timeouts, limits};
pub use member::Member;
pub use pick::{Pick, Tried, Wanted, pick};
pub use plan::{Plan, WhenNoneEligible};
pub use pool::{Entry, Pool, PoolSettings};
pub use proxy_reply::ProxyReply;
pub use redirect::{Hop, Redirect, Redirection, Refused, Target, is_redirect, redirect};
pub use report::{Cause, Ending, Limit, Phase, Report};
pub use resend::Resend;
pub use retry_after::retry_after;
pub use state::{Record, State, Transition};
pub use status_set::{InvalidStatusSet, StatusSet};
pub use timeout::{Execution, IntoTimeoutPolicy, Timeout, TimeoutPolicy};
pub use weight::{Weight, WeightError, WeightStrategy};
