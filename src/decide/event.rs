//! What changed, told after the lock is released.

use super::classify::Reason;
use super::endpoint::EndpointId;
use super::report::Phase;
use super::state::State;
use std::time::Duration;

/// Something that happened in the pool or in a call and that an observer may want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// An endpoint went over to another state.
    StateChanged {
        /// Which one.
        endpoint: EndpointId,
        /// What it was.
        from: State,
        /// What it is.
        to: State,
        /// Why.
        reason: Reason,
        /// How far the attempt behind it had got.
        phase: Phase,
    },
    /// An endpoint's weight changed.
    WeightChanged {
        /// Which one.
        endpoint: EndpointId,
        /// What it was.
        old: u32,
        /// What it is.
        new: u32,
    },
    /// The list of endpoints was replaced.
    PoolUpdated,
    /// The last endpoint of all came down to its least weight (A-E2).
    AllAtMinimum,
    /// A fallback is preferred from now on.
    HoldSet {
        /// The one preferred.
        endpoint: EndpointId,
        /// For how long.
        wait: Duration,
    },
    /// The order starts at the first endpoint again.
    HoldEnded {
        /// The one that was preferred.
        endpoint: EndpointId,
    },
    /// The client left an endpoint that does not answer, for the first time in its life.
    Failover {
        /// The endpoint left.
        from: EndpointId,
        /// The endpoint turned to.
        to: EndpointId,
        /// The attempt that failed: its place in the call's list, from 0.
        failed: usize,
    },
    /// The call waits before it comes back to an endpoint.
    Waiting {
        /// For how long.
        wait: Duration,
    },
}
