//! The other numbers of the contract, and their names.
//!
//! The Rust API names its own; those that it does not have yet are named here, since numbers are
//! promised before they are used.

use super::guard;
use super::names::{Names, UNKNOWN};
use crate::{Delivery, Phase, Reason, State};
use std::ffi::c_char;
use std::sync::LazyLock;

/// A priority that follows from the option selection: with "ordered" the place in the list.
pub const ANYHOST_PRIORITY_AUTO: u32 = u32::MAX;

/// Whether an endpoint may be tried.
#[allow(dead_code, reason = "names for C")]
#[repr(C)]
pub enum anyhost_state {
    /// It may be tried.
    ANYHOST_STATE_ELIGIBLE = 0,
    /// It failed and rests.
    ANYHOST_STATE_COOLING = 1,
    /// The next request may try whether it has recovered.
    ANYHOST_STATE_PROBE_ALLOWED = 2,
    /// A request is trying that now.
    ANYHOST_STATE_PROBING = 3,
    /// It was taken out.
    ANYHOST_STATE_DISABLED = 4,
}

/// How far an attempt got.
#[allow(dead_code, reason = "names for C")]
#[repr(C)]
pub enum anyhost_phase {
    /// It did not begin.
    ANYHOST_PHASE_NONE = 0,
    /// Looking up the name.
    ANYHOST_PHASE_RESOLVE = 1,
    /// Connecting to the proxy.
    ANYHOST_PHASE_PROXY_CONNECT = 2,
    /// Authenticating to the proxy.
    ANYHOST_PHASE_PROXY_AUTH = 3,
    /// Asking the proxy for a tunnel.
    ANYHOST_PHASE_TUNNEL = 4,
    /// Connecting.
    ANYHOST_PHASE_CONNECT = 5,
    /// In the TLS handshake.
    ANYHOST_PHASE_TLS = 6,
    /// Sending the request.
    ANYHOST_PHASE_SEND = 7,
    /// Waiting for the head of the answer.
    ANYHOST_PHASE_HEAD = 8,
    /// Reading the body of the answer, or all of it was read.
    ANYHOST_PHASE_BODY = 9,
}

/// Why an attempt failed.
#[allow(dead_code, reason = "names for C")]
#[repr(C)]
pub enum anyhost_reason {
    /// It did not.
    ANYHOST_REASON_NONE = 0,
    /// The name was not resolved.
    ANYHOST_REASON_DNS = 1,
    /// The connection was refused.
    ANYHOST_REASON_REFUSED = 2,
    /// There is no way to the host.
    ANYHOST_REASON_UNREACHABLE = 3,
    /// It took too long.
    ANYHOST_REASON_TIMEOUT = 4,
    /// The TLS handshake failed.
    ANYHOST_REASON_TLS = 5,
    /// The certificate was not accepted.
    ANYHOST_REASON_TLS_CERT = 6,
    /// The connection was reset.
    ANYHOST_REASON_RESET = 7,
    /// The connection was closed before the answer.
    ANYHOST_REASON_EOF = 8,
    /// What came was no HTTP.
    ANYHOST_REASON_PROTOCOL = 9,
    /// The server reported an error of its own.
    ANYHOST_REASON_STATUS_5XX = 10,
    /// The server wants fewer requests.
    ANYHOST_REASON_RATE_LIMITED = 11,
    /// The proxy refused the credentials.
    ANYHOST_REASON_AUTH = 12,
    /// The proxy refused the tunnel.
    ANYHOST_REASON_TUNNEL_REFUSED = 13,
    /// The caller turned the answer down.
    ANYHOST_REASON_PREDICATE = 14,
    /// The caller took the endpoint out.
    ANYHOST_REASON_OPERATOR = 15,
    /// The caller cancelled.
    ANYHOST_REASON_CANCELLED = 16,
    /// The deadline of the call passed.
    ANYHOST_REASON_DEADLINE = 17,
    /// It failed on this side, before the network.
    ANYHOST_REASON_LOCAL = 18,
    /// A connection kept alive had died before the answer began.
    ANYHOST_REASON_STALE_CONNECTION = 19,
    /// The status is none that means anything.
    ANYHOST_REASON_BAD_ANSWER = 20,
    /// The answer broke off.
    ANYHOST_REASON_TRUNCATED = 21,
    /// The circuit breaker is open.
    ANYHOST_REASON_CIRCUIT_OPEN = 22,
}

/// Did the request reach a server?
#[allow(dead_code, reason = "names for C")]
#[repr(C)]
pub enum anyhost_delivery {
    /// No byte of it was sent.
    ANYHOST_DELIVERY_NOT_SENT = 0,
    /// A proxy in front of the server said that it was not.
    ANYHOST_DELIVERY_NOT_PROCESSED = 1,
    /// It may have been received.
    ANYHOST_DELIVERY_MAYBE = 2,
    /// A server answered it.
    ANYHOST_DELIVERY_ANSWERED = 3,
}

/// What an event tells.
#[allow(dead_code, reason = "names for C")]
#[repr(C)]
pub enum anyhost_event_type {
    /// An attempt begins.
    ANYHOST_EVENT_ATTEMPT_STARTED = 1,
    /// An attempt is over.
    ANYHOST_EVENT_ATTEMPT_ENDED = 2,
    /// The state of an endpoint changed.
    ANYHOST_EVENT_STATE_CHANGED = 3,
    /// The weight of an endpoint changed.
    ANYHOST_EVENT_WEIGHT_CHANGED = 4,
    /// The list of endpoints was replaced.
    ANYHOST_EVENT_POOL_UPDATED = 5,
    /// An endpoint is preferred for a while.
    ANYHOST_EVENT_HOLD_SET = 6,
    /// It is preferred no longer.
    ANYHOST_EVENT_HOLD_ENDED = 7,
    /// The call waits before it comes back to an endpoint.
    ANYHOST_EVENT_WAITING = 8,
    /// The call is over.
    ANYHOST_EVENT_CALL_ENDED = 9,
    /// The process is a fork: it opens connections of its own.
    ANYHOST_EVENT_FORK_NOTICED = 10,
    /// Every endpoint has the lowest weight.
    ANYHOST_EVENT_ALL_AT_MINIMUM = 11,
    /// For the first time in its life the client left an endpoint that does not answer.
    ANYHOST_EVENT_FAILOVER = 12,
}

/// What a member of a snapshot is.
#[allow(dead_code, reason = "names for C")]
#[repr(C)]
pub enum anyhost_kind {
    /// A base URL of the service.
    ANYHOST_KIND_ENDPOINT = 1,
    /// A proxy on the way to it.
    ANYHOST_KIND_PROXY = 2,
}

/// What a judge of answers may say.
#[allow(dead_code, reason = "names for C")]
#[repr(C)]
pub enum anyhost_verdict {
    /// What would be without a judge.
    ANYHOST_VERDICT_DEFAULT = 0,
    /// The answer is good.
    ANYHOST_VERDICT_ACCEPT = 1,
    /// The endpoint is to blame; the next one is tried if that is allowed.
    ANYHOST_VERDICT_FAULT = 2,
    /// The caller is to blame; no other endpoint would answer better.
    ANYHOST_VERDICT_CALLER = 3,
}

/// What may be said on another attempt.
#[allow(dead_code, reason = "names for C")]
#[repr(C)]
pub enum anyhost_retry {
    /// What would be without the callback.
    ANYHOST_RETRY_DEFAULT = 0,
    /// Go on, where sending the request again is permitted.
    ANYHOST_RETRY_AGAIN = 1,
    /// Stop.
    ANYHOST_RETRY_STOP = 2,
}

/// The name of a state, in lower case and without its prefix, as "cooling".
///
/// Never NULL: "unknown" for a number that is none. The text is static. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_state_name(state: i32) -> *const c_char {
    guard!(plain value or UNKNOWN, Ok(STATES.of(state)))
}

/// The name of a phase, in lower case and without its prefix, as "connect".
///
/// Never NULL: "unknown" for a number that is none. The text is static. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_phase_name(phase: i32) -> *const c_char {
    guard!(plain value or UNKNOWN, Ok(PHASES.of(phase)))
}

/// The name of a reason, in lower case and without its prefix, as "refused".
///
/// Never NULL: "unknown" for a number that is none. The text is static. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_reason_name(reason: i32) -> *const c_char {
    guard!(plain value or UNKNOWN, Ok(REASONS.of(reason)))
}

/// The name of a delivery, in lower case and without its prefix, as "not_sent".
///
/// Never NULL: "unknown" for a number that is none. The text is static. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_delivery_name(delivery: i32) -> *const c_char {
    guard!(plain value or UNKNOWN, Ok(DELIVERIES.of(delivery)))
}

/// The name of an event, in lower case and without its prefix, as "attempt_started".
///
/// Never NULL: "unknown" for a number that is none. The text is static. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_event_name(kind: i32) -> *const c_char {
    guard!(plain value or UNKNOWN, Ok(EVENTS.of(kind)))
}

static STATES: LazyLock<Names> =
    LazyLock::new(|| Names::new(State::ALL.iter().map(|state| (state.code(), state.name()))));
static PHASES: LazyLock<Names> =
    LazyLock::new(|| Names::new(Phase::ALL.iter().map(|phase| (phase.code(), phase.name()))));
static REASONS: LazyLock<Names> =
    LazyLock::new(|| Names::new(Reason::ALL.iter().map(|reason| (reason.code(), reason.name()))));
static DELIVERIES: LazyLock<Names> = LazyLock::new(|| {
    Names::new(Delivery::ALL.iter().map(|delivery| (delivery.code(), delivery.name())))
});
static EVENTS: LazyLock<Names> = LazyLock::new(|| Names::new(EVENT_NAMES));

const EVENT_NAMES: [(i32, &str); 12] = [
    (1, "attempt_started"),
    (2, "attempt_ended"),
    (3, "state_changed"),
    (4, "weight_changed"),
    (5, "pool_updated"),
    (6, "hold_set"),
    (7, "hold_ended"),
    (8, "waiting"),
    (9, "call_ended"),
    (10, "fork_noticed"),
    (11, "all_at_minimum"),
    (12, "failover"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EventKind;
    use std::ffi::CStr;

    /// The enumerators of a family, as its pairs of number and name.
    fn enumerators(family: &str) -> Vec<(i32, String)> {
        include_str!("numbers.rs")
            .lines()
            .filter_map(|line| {
                let line = line.strip_prefix("    ANYHOST_")?.strip_prefix(family)?;
                let (name, code) = line.strip_prefix('_')?.strip_suffix(',')?.split_once(" = ")?;
                Some((code.parse().unwrap(), name.to_lowercase()))
            })
            .collect()
    }

    #[test]
    fn the_enumerators_are_those_of_the_rust_api() {
        let named = |(code, name): (i32, &str)| (code, name.to_owned());
        let phases: Vec<_> = Phase::ALL.iter().map(|it| named((it.code(), it.name()))).collect();
        let reasons: Vec<_> = Reason::ALL.iter().map(|it| named((it.code(), it.name()))).collect();
        let deliveries: Vec<_> =
            Delivery::ALL.iter().map(|it| named((it.code(), it.name()))).collect();
        assert_eq!(enumerators("PHASE"), phases);
        assert_eq!(enumerators("REASON"), reasons);
        assert_eq!(enumerators("DELIVERY"), deliveries);
        let states: Vec<_> = State::ALL.iter().map(|it| named((it.code(), it.name()))).collect();
        assert_eq!(enumerators("STATE"), states);
        assert_eq!(enumerators("EVENT"), EVENT_NAMES.map(named));
        for kind in [
            EventKind::AttemptStarted,
            EventKind::AttemptEnded,
            EventKind::StateChanged,
            EventKind::WeightChanged,
            EventKind::PoolUpdated,
            EventKind::HoldSet,
            EventKind::HoldEnded,
            EventKind::Waiting,
            EventKind::CallEnded,
            EventKind::AllAtMinimum,
            EventKind::Failover,
        ] {
            assert!(EVENT_NAMES.contains(&(kind.code(), kind.name())), "{kind:?}");
        }
    }

    #[test]
    fn every_family_names_its_numbers() {
        for (name, text) in [
            (anyhost_state_name(2), c"probe_allowed"),
            (anyhost_phase_name(5), c"connect"),
            (anyhost_reason_name(10), c"status_5xx"),
            (anyhost_delivery_name(2), c"maybe"),
            (anyhost_event_name(12), c"failover"),
            (anyhost_event_name(0), c"unknown"),
            (anyhost_phase_name(-1), c"unknown"),
        ] {
            // SAFETY: static texts.
            assert_eq!(unsafe { CStr::from_ptr(name) }, text);
        }
    }
}
