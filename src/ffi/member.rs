//! One member of a snapshot.

use super::handle::{self, Object, Opaque, Tagged};
use super::{guard, micros, millis, text};
use crate::Member;
use std::ffi::{CString, c_char};
use std::ptr;

/// An endpoint or a proxy, as it was when its snapshot was taken. It belongs to the snapshot.
///
/// It never changes: any number of threads may read it.
pub struct anyhost_member(Opaque);

impl Object for anyhost_member {
    type Inside = Seen;
    const TAG: &'static [u8; 8] = b"ahmember";
    const NAME: &'static str = "member";
}

/// Its label; NULL for NULL.
///
/// The text lives as long as the snapshot. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_label(member: *const anyhost_member) -> *const c_char {
    guard!(value or ptr::null(), Ok(handle::get(member)?.label.as_ptr()))
}

/// Its URL, without user info; NULL for NULL.
///
/// The text lives as long as the snapshot. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_url(member: *const anyhost_member) -> *const c_char {
    guard!(value or ptr::null(), Ok(handle::get(member)?.url.as_ptr()))
}

/// Why it is in its state, in words: those of anyhost_client_disable, or what broke last. "" where nothing
/// did; NULL for NULL.
///
/// The text lives as long as the snapshot. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_detail(member: *const anyhost_member) -> *const c_char {
    guard!(value or ptr::null(), Ok(handle::get(member)?.detail.as_ptr()))
}

/// What it is: one of ANYHOST_KIND_*; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_kind(member: *const anyhost_member) -> i32 {
    guard!(value or 0, Ok(handle::get(member)?.kind()))
}

/// Whether it may be tried: one of ANYHOST_STATE_*; -1 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_state(member: *const anyhost_member) -> i32 {
    guard!(value or -1, Ok(handle::get(member)?.member.state().code()))
}

/// Why it is in this state, and of an eligible one why the last attempt failed: one of ANYHOST_REASON_*.
///
/// 0 where nothing failed, and for NULL. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_reason(member: *const anyhost_member) -> i32 {
    guard!(value or 0, Ok(handle::get(member)?.member.reason().code()))
}

/// How far the attempt behind that reason got: one of ANYHOST_PHASE_*; 0 where there is none, and for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_phase(member: *const anyhost_member) -> i32 {
    guard!(value or 0, Ok(handle::get(member)?.member.phase().code()))
}

/// Its priority: lower numbers are tried first; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_priority(member: *const anyhost_member) -> u32 {
    guard!(value or 0, Ok(handle::get(member)?.member.priority()))
}

/// Its weight now; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_weight(member: *const anyhost_member) -> u32 {
    guard!(value or 0, Ok(handle::get(member)?.member.weight()))
}

/// The most that its weight can become; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_max_weight(member: *const anyhost_member) -> u32 {
    guard!(value or 0, Ok(handle::get(member)?.member.max_weight()))
}

/// Failures since its last good answer; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_failures_in_a_row(member: *const anyhost_member) -> u32 {
    guard!(value or 0, Ok(handle::get(member)?.member.failures_in_a_row()))
}

/// Attempts that are under way; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_in_flight(member: *const anyhost_member) -> u32 {
    guard!(value or 0, Ok(handle::get(member)?.member.in_flight()))
}

/// How long it will be left alone, in milliseconds.
///
/// 0 where it is not, where it takes more than time, and for NULL. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_cooling_ms(member: *const anyhost_member) -> u64 {
    guard!(value or 0, Ok(handle::get(member)?.cooling_ms()))
}

/// How long it has been in its state, in milliseconds; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_since_ms(member: *const anyhost_member) -> u64 {
    guard!(value or 0, Ok(handle::get(member)?.since_ms()))
}

/// Attempts that have ended; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_attempts(member: *const anyhost_member) -> u64 {
    guard!(value or 0, Ok(handle::get(member)?.member.attempts()))
}

/// Those of them with a good answer; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_successes(member: *const anyhost_member) -> u64 {
    guard!(value or 0, Ok(handle::get(member)?.member.successes()))
}

/// Those of them that were blamed on it; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_failures(member: *const anyhost_member) -> u64 {
    guard!(value or 0, Ok(handle::get(member)?.member.failures()))
}

/// What 99 of 100 recent good answers took at most, in microseconds.
///
/// Known where the option attempt_timeout is "measured"; else 0, and for NULL. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_member_latency_us(member: *const anyhost_member) -> u64 {
    guard!(value or 0, Ok(handle::get(member)?.latency_us()))
}

/// A member with its texts as C reads them.
pub(super) struct Seen {
    member: Member,
    label: CString,
    url: CString,
    detail: CString,
}

impl Seen {
    pub(super) fn new(member: &Member) -> Tagged<Self> {
        Tagged::new::<anyhost_member>(Seen {
            label: text::owned(member.label()),
            url: text::owned(member.url()),
            detail: text::one_line(member.detail()),
            member: member.clone(),
        })
    }

    fn kind(&self) -> i32 {
        self.member.kind() as i32
    }

    fn cooling_ms(&self) -> u64 {
        millis(Some(self.member.cooling()))
    }

    fn since_ms(&self) -> u64 {
        u64::try_from(self.member.since().as_millis()).unwrap_or(u64::MAX)
    }

    fn latency_us(&self) -> u64 {
        self.member.latency().map_or(0, micros)
    }
}
