//! One endpoint, or one proxy, with its live state.

use super::circuit::CircuitState;
use super::endpoint::{Endpoint, Reach};
use super::latency::Latency;
use super::mutant::planted;
use super::state::{Record, State};
use super::weight::Weight;
use std::time::{Duration, Instant};

/// A member of a pool, its health and its history.
#[derive(Debug, Clone)]
pub struct Member {
    /// As configured.
    pub endpoint: Endpoint,
    /// Its share among equals.
    pub weight: Weight,
    /// What is remembered of it.
    pub record: Record,
    /// What its answers took, where a policy asks for it.
    pub latency: Latency,
    /// Attempts under way.
    pub in_flight: u32,
    /// An operator, or refused credentials, took it out of service.
    pub disabled: bool,
    /// A server asked to be left alone until then (ruling R10, without a breaker).
    pub cooling_until: Option<Instant>,
    /// By what way it is reached, or what it leads to.
    pub reach: Reach,
    /// The place of its origin in the pool.
    pub(super) origin: usize,
    /// Which list of the pool it is on.
    pub(super) standing: Standing,
    /// When its state changes by itself, as entered in the pool's list.
    pub(super) due_at: Option<Instant>,
}

/// How a member takes part in picks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It may be picked.
    Eligible,
    /// It may be picked when no other may.
    Behind,
    /// It waits for a probe.
    Probe,
    /// It may not be picked.
    Out,
}

impl Member {
    pub(super) fn new(endpoint: Endpoint, weight: Weight, origin: usize, now: Instant) -> Self {
        Member {
            reach: Reach::default(),
            endpoint,
            weight,
            record: Record::new(now),
            latency: Latency::new(),
            in_flight: 0,
            disabled: false,
            cooling_until: None,
            origin,
            standing: Standing::Eligible,
            due_at: None,
        }
    }

    /// Its state, given that of its origin's circuit.
    pub(super) fn state(&self, circuit: CircuitState, now: Instant) -> State {
        match circuit {
            _ if self.disabled && !planted!(DisabledPicked) => State::Disabled,
            CircuitState::Cooling { .. } => State::Cooling,
            CircuitState::ProbeAllowed => State::ProbeAllowed,
            CircuitState::Probing { .. } => State::Probing,
            CircuitState::Eligible if self.is_cooling(now) => State::Cooling,
            CircuitState::Eligible => State::Eligible,
        }
    }

    /// The instant at which its state changes by itself, if it does.
    pub(super) fn due(&self, circuit: CircuitState, now: Instant) -> Option<Instant> {
        match circuit {
            _ if self.disabled => None,
            CircuitState::Cooling { until } | CircuitState::Probing { until } => Some(until),
            CircuitState::Eligible => self.cooling_until.filter(|until| now < *until),
            CircuitState::ProbeAllowed => None,
        }
    }

    fn is_cooling(&self, now: Instant) -> bool {
        self.cooling_until.is_some_and(|until| now < until)
    }

    /// How long nothing, or nothing but a last resort, may go there; zero where it may.
    pub(super) fn wait(&self, circuit: CircuitState, now: Instant) -> Duration {
        self.due(circuit, now).map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
    }
}
