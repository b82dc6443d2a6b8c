//! Events as lines of the `log` crate, under targets that stay as they are.

use super::event::{Event, EventKind};
use crate::decide::{Reason, State};
use log::Level;

/// Calls and their attempts.
const CALL: &str = "anyhost::call";
/// What a client knows of its members.
const POOL: &str = "anyhost::pool";

/// Whether any line of ours would be kept.
pub(crate) fn enabled() -> bool {
    log::max_level() != log::LevelFilter::Off
}

/// A part of an option means nothing.
pub(crate) fn ignored(option: &str, part: &str) {
    log::warn!(target: POOL, "option `{option}`: `{}` is ignored", part.escape_debug());
}

pub(crate) fn write(event: &Event<'_>) {
    let (target, level) = place(event);
    log::log!(target: target, level, "{event}");
}

/// Said when a client is built, since nothing later would show it.
pub(crate) fn unverified() {
    log::warn!(target: POOL, "tls_verify is off: certificates are not verified");
}

/// Who is woken at night should find what they need at `warn` and `info`, and no line for each call.
fn place(event: &Event<'_>) -> (&'static str, Level) {
    match event.kind() {
        EventKind::AttemptStarted => (CALL, Level::Trace),
        EventKind::AttemptEnded => match event.reason() {
            Reason::None => (CALL, Level::Trace),
            _ => (CALL, Level::Debug),
        },
        EventKind::CallEnded | EventKind::Waiting | EventKind::ForkNoticed => (CALL, Level::Debug),
        EventKind::Failover | EventKind::AllAtMinimum => (POOL, Level::Warn),
        EventKind::StateChanged => match event.new_state() {
            Some(State::Cooling | State::Disabled) => (POOL, Level::Warn),
            _ => (POOL, Level::Info),
        },
        EventKind::HoldSet | EventKind::HoldEnded | EventKind::PoolUpdated => (POOL, Level::Info),
        EventKind::WeightChanged => (POOL, Level::Debug),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed_to(new: State) -> Event<'static> {
        let states = Some((State::Eligible, new));
        Event { states, ..Event::new(EventKind::StateChanged, 0) }
    }

    #[test]
    fn what_an_operator_has_to_know_is_a_warning() {
        assert_eq!(place(&changed_to(State::Cooling)), (POOL, Level::Warn));
        assert_eq!(place(&changed_to(State::Disabled)), (POOL, Level::Warn));
        assert_eq!(place(&changed_to(State::Eligible)), (POOL, Level::Info));
        assert_eq!(place(&Event::new(EventKind::Failover, 1)), (POOL, Level::Warn));
    }

    #[test]
    fn a_good_call_is_no_line_at_info() {
        for kind in [EventKind::AttemptStarted, EventKind::AttemptEnded, EventKind::CallEnded] {
            assert!(place(&Event::new(kind, 1)).1 > Level::Info, "{kind:?}");
        }
    }
}
