//! An event, borrowed by a callback.

use super::attempt::{Shown, anyhost_attempt};
use super::guard;
use super::handle::{self, Object, Opaque, Tagged};
use super::text;
use crate::{Event, Phase, Reason, State};
use std::cell::OnceCell;
use std::ffi::{CString, c_char};
use std::ptr;

/// Something that happened in a client. It lives until the callback it was passed to returns, and so
/// does everything it hands out.
pub struct anyhost_event(Opaque);

impl Object for anyhost_event {
    type Inside = View;
    const TAG: &'static [u8; 8] = b"ahevent ";
    const NAME: &'static str = "event";
}

/// What happened: one of ANYHOST_EVENT_*; 0 for NULL.
///
/// Inside its callback. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_event_kind(event: *const anyhost_event) -> i32 {
    guard!(value or 0, Ok(handle::get(event)?.kind))
}

/// Which call it belongs to, counted from 1 in the life of the client; 0 for NULL.
///
/// Inside its callback. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_event_call_id(event: *const anyhost_event) -> u64 {
    guard!(value or 0, Ok(handle::get(event)?.call_id))
}

/// The label of the endpoint it is about, of ANYHOST_EVENT_FAILOVER its host; NULL where it is about none.
///
/// The text lives as long as the event. Inside its callback. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_event_endpoint(event: *const anyhost_event) -> *const c_char {
    guard!(value or ptr::null(), Ok(handle::get(event)?.endpoint()))
}

/// The event in one line, fit for a log, as "api-1: eligible -> cooling (refused)"; NULL for NULL.
///
/// Its words may change from version to version: programs read the other getters. The text lives as long as
/// the event. Inside its callback. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_event_text(event: *const anyhost_event) -> *const c_char {
    guard!(value or ptr::null(), Ok(handle::get(event)?.text()))
}

/// The attempt it is about: the one that is over, or that failed; NULL where there is none.
///
/// It lives as long as the event. Inside its callback. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_event_attempt(
    event: *const anyhost_event,
) -> *const anyhost_attempt {
    guard!(value or ptr::null(), {
        Ok(handle::get(event)?.attempt.as_ref().map_or(ptr::null(), Tagged::borrowed))
    })
}

/// How long the wait or the hold is, of ANYHOST_EVENT_CALL_ENDED how long the call took, in milliseconds.
///
/// 0 where there is none, and for NULL. Inside its callback. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_event_wait_ms(event: *const anyhost_event) -> u64 {
    guard!(value or 0, Ok(handle::get(event)?.wait_ms))
}

/// Why the attempt failed: one of ANYHOST_REASON_*; 0 where none did, and for NULL.
///
/// Inside its callback. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_event_reason(event: *const anyhost_event) -> i32 {
    guard!(value or 0, Ok(handle::get(event)?.reason.code()))
}

/// How far the attempt got: one of ANYHOST_PHASE_*; 0 where there is none, and for NULL.
///
/// Inside its callback. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_event_phase(event: *const anyhost_event) -> i32 {
    guard!(value or 0, Ok(handle::get(event)?.phase.code()))
}

/// The label of the proxy it is about, or that the attempt goes through; NULL where there is none.
///
/// The text lives as long as the event. Inside its callback. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_event_proxy(event: *const anyhost_event) -> *const c_char {
    guard!(value or ptr::null(), Ok(handle::get(event)?.proxy()))
}

/// The state that the endpoint was in before: one of ANYHOST_STATE_*; -1 where none changed, and for NULL.
///
/// Inside its callback. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_event_old_state(event: *const anyhost_event) -> i32 {
    guard!(value or -1, Ok(handle::get(event)?.old_state))
}

/// The state that the endpoint is in now: one of ANYHOST_STATE_*; -1 where none changed, and for NULL.
///
/// Inside its callback. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_event_new_state(event: *const anyhost_event) -> i32 {
    guard!(value or -1, Ok(handle::get(event)?.new_state))
}

/// The weight that the endpoint had before; 0 where none changed, and for NULL.
///
/// Inside its callback. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_event_old_weight(event: *const anyhost_event) -> u32 {
    guard!(value or 0, Ok(handle::get(event)?.weights.0))
}

/// The weight that the endpoint has now; 0 where none changed, and for NULL.
///
/// Inside its callback. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_event_new_weight(event: *const anyhost_event) -> u32 {
    guard!(value or 0, Ok(handle::get(event)?.weights.1))
}

/// An event as C reads it.
pub(super) struct View {
    kind: i32,
    call_id: u64,
    wait_ms: u64,
    reason: Reason,
    phase: Phase,
    old_state: i32,
    new_state: i32,
    weights: (u32, u32),
    endpoint: Option<CString>,
    proxy: Option<CString>,
    attempt: Option<Tagged<Shown>>,
    /// The event itself, which outlives the callback that this is lent to.
    event: *const Event<'static>,
    /// Written when it is asked for.
    text: OnceCell<CString>,
}

impl anyhost_event {
    /// Lends an event to a callback.
    pub(super) fn lend(event: &Event<'_>, callback: impl FnOnce(*const anyhost_event)) {
        let view = Tagged::new::<anyhost_event>(View {
            kind: event.kind().code(),
            call_id: event.call_id(),
            wait_ms: super::millis(Some(event.wait())),
            reason: event.reason(),
            phase: event.phase(),
            old_state: event.old_state().map_or(-1, State::code),
            new_state: event.new_state().map_or(-1, State::code),
            weights: (event.old_weight(), event.new_weight()),
            endpoint: event.endpoint().map(text::owned),
            proxy: event.proxy().map(text::owned),
            attempt: event.attempt().map(Shown::new),
            event: ptr::from_ref(event).cast(),
            text: OnceCell::new(),
        });
        callback(view.borrowed());
    }
}

impl View {
    fn endpoint(&self) -> *const c_char {
        self.endpoint.as_ref().map_or(ptr::null(), |endpoint| endpoint.as_ptr())
    }

    fn text(&self) -> *const c_char {
        // SAFETY: `lend` made this of a reference that is good until its callback has returned, and C may use
        // an event no longer than that.
        let event = unsafe { &*self.event };
        self.text.get_or_init(|| text::one_line(&event.to_string())).as_ptr()
    }

    fn proxy(&self) -> *const c_char {
        self.proxy.as_ref().map_or(ptr::null(), |proxy| proxy.as_ptr())
    }
}
