//! The instants an attempt may not pass.

use std::time::{Duration, Instant};

/// What bounds one attempt. Instants are absolute, so that nothing that blocks can stretch them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// A connection must be obtained by then: name lookup, TCP and TLS together.
    pub connect_by: Option<Instant>,
    /// The attempt must be over by then, the body of the answer included.
    pub until: Option<Instant>,
    /// Longest wait for the next byte of the answer's body.
    pub stall: Option<Duration>,
}
