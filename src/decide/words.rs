//! The names of phases, reasons and deliveries: as in the C header, and as words for people.

use super::classify::{Delivery, Reason};
use super::report::Phase;
use super::state::State;

impl Phase {
    /// Every phase, by number.
    pub const ALL: &'static [Phase] = &[
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

    /// The number, that of `ANYHOST_PHASE_*` in the C header: the same in every version.
    pub fn code(self) -> i32 {
        self as i32
    }

    /// The name in the C header, in lower case and without its prefix.
    pub fn name(self) -> &'static str {
        match self {
            Phase::None => "none",
            Phase::Resolve => "resolve",
            Phase::ProxyConnect => "proxy_connect",
            Phase::ProxyAuth => "proxy_auth",
            Phase::Tunnel => "tunnel",
            Phase::Connect => "connect",
            Phase::Tls => "tls",
            Phase::Send => "send",
            Phase::Head => "head",
            Phase::Body => "body",
        }
    }

    /// What the attempt was doing, to follow a reason: "refused *while connecting*".
    pub fn words(self) -> &'static str {
        match self {
            Phase::None => "before it began",
            Phase::Resolve => "while looking up the name",
            Phase::ProxyConnect => "while connecting to the proxy",
            Phase::ProxyAuth => "while authenticating to the proxy",
            Phase::Tunnel => "while asking the proxy for a tunnel",
            Phase::Connect => "while connecting",
            Phase::Tls => "in the TLS handshake",
            Phase::Send => "while sending",
            Phase::Head => "while waiting for the answer",
            Phase::Body => "in the body of the answer",
        }
    }
}

impl Reason {
    /// Every reason, by number.
    pub const ALL: &'static [Reason] = &[
        Reason::None,
        Reason::Dns,
        Reason::Refused,
        Reason::Unreachable,
        Reason::Timeout,
        Reason::Tls,
        Reason::TlsCert,
        Reason::Reset,
        Reason::Eof,
        Reason::Protocol,
        Reason::Status5xx,
        Reason::RateLimited,
        Reason::Auth,
        Reason::TunnelRefused,
        Reason::Predicate,
        Reason::Operator,
        Reason::Cancelled,
        Reason::Deadline,
        Reason::Local,
        Reason::StaleConnection,
        Reason::BadAnswer,
        Reason::Truncated,
        Reason::CircuitOpen,
    ];

    /// The number, that of `ANYHOST_REASON_*` in the C header: the same in every version.
    pub fn code(self) -> i32 {
        self as i32
    }

    /// The name in the C header, in lower case and without its prefix.
    pub fn name(self) -> &'static str {
        match self {
            Reason::None => "none",
            Reason::Dns => "dns",
            Reason::Refused => "refused",
            Reason::Unreachable => "unreachable",
            Reason::Timeout => "timeout",
            Reason::Tls => "tls",
            Reason::TlsCert => "tls_cert",
            Reason::Reset => "reset",
            Reason::Eof => "eof",
            Reason::Protocol => "protocol",
            Reason::Status5xx => "status_5xx",
            Reason::RateLimited => "rate_limited",
            Reason::Auth => "auth",
            Reason::TunnelRefused => "tunnel_refused",
            Reason::Predicate => "predicate",
            Reason::Operator => "operator",
            Reason::Cancelled => "cancelled",
            Reason::Deadline => "deadline",
            Reason::Local => "local",
            Reason::StaleConnection => "stale_connection",
            Reason::BadAnswer => "bad_answer",
            Reason::Truncated => "truncated",
            Reason::CircuitOpen => "circuit_open",
        }
    }

    /// What happened, in words a phase can follow: "*refused* while connecting".
    pub fn words(self) -> &'static str {
        match self {
            Reason::None => "answered",
            Reason::Dns => "name not resolved",
            Reason::Refused => "refused",
            Reason::Unreachable => "unreachable",
            Reason::Timeout => "timed out",
            Reason::Tls => "TLS failed",
            Reason::TlsCert => "certificate not accepted",
            Reason::Reset => "reset",
            Reason::Eof => "closed by the peer",
            Reason::Protocol => "no HTTP",
            Reason::Status5xx => "server error",
            Reason::RateLimited => "rate limited",
            Reason::Auth => "credentials refused",
            Reason::TunnelRefused => "tunnel refused",
            Reason::Predicate => "turned down",
            Reason::Operator => "by an operator",
            Reason::Cancelled => "cancelled",
            Reason::Deadline => "deadline passed",
            Reason::Local => "failed on this side",
            Reason::StaleConnection => "idle connection had died",
            Reason::BadAnswer => "unknown status",
            Reason::Truncated => "broke off",
            Reason::CircuitOpen => "circuit open",
        }
    }
}

impl Delivery {
    /// Every delivery, by number.
    pub const ALL: &'static [Delivery] =
        &[Delivery::NotSent, Delivery::NotProcessed, Delivery::Maybe, Delivery::Answered];

    /// The number, that of `ANYHOST_DELIVERY_*` in the C header: the same in every version.
    pub fn code(self) -> i32 {
        self as i32
    }

    /// The name in the C header, in lower case and without its prefix.
    pub fn name(self) -> &'static str {
        match self {
            Delivery::NotSent => "not_sent",
            Delivery::NotProcessed => "not_processed",
            Delivery::Maybe => "maybe",
            Delivery::Answered => "answered",
        }
    }

    /// What is certain, in words: as in the text of an [`Attempt`](crate::Attempt).
    pub fn words(self) -> &'static str {
        match self {
            Delivery::NotSent => "not sent",
            Delivery::NotProcessed => "not processed",
            Delivery::Maybe => "may have been received",
            Delivery::Answered => "answered",
        }
    }
}

impl State {
    /// Every state, by number.
    pub const ALL: &'static [State] =
        &[State::Eligible, State::Cooling, State::ProbeAllowed, State::Probing, State::Disabled];

    /// The number, that of `ANYHOST_STATE_*` in the C header: the same in every version.
    pub fn code(self) -> i32 {
        self as i32
    }

    /// The name in the C header, in lower case and without its prefix.
    pub fn name(self) -> &'static str {
        match self {
            State::Eligible => "eligible",
            State::Cooling => "cooling",
            State::ProbeAllowed => "probe_allowed",
            State::Probing => "probing",
            State::Disabled => "disabled",
        }
    }
}
