//! What a client knows of its endpoints, at one moment.

use super::handle::{self, Object, Opaque, Owned, Tagged};
use super::member::{Seen, anyhost_member};
use super::{guard, text};
use crate::Snapshot;
use std::ffi::c_char;
use std::ptr;

/// The endpoints of a client as they were at one moment. It never changes: any number of threads may read
/// it.
///
/// Everything it hands out belongs to it, and lives as long as it does.
pub struct anyhost_snapshot(Opaque);

impl Object for anyhost_snapshot {
    type Inside = Picture;
    const TAG: &'static [u8; 8] = b"ahpictur";
    const NAME: &'static str = "snapshot";
}
impl Owned for anyhost_snapshot {}

/// Frees a snapshot and everything it handed out. NULL does nothing. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_snapshot_free(snapshot: *mut anyhost_snapshot) {
    guard!(value or (), { handle::free(snapshot); Ok(()) })
}

/// How many members there are; 0 for NULL.
///
/// Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_snapshot_count(snapshot: *const anyhost_snapshot) -> usize {
    guard!(value or 0, Ok(handle::get(snapshot)?.members.len()))
}

/// The member at `i`, from 0, by priority; NULL beyond the last, and for NULL.
///
/// It lives as long as the snapshot. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_snapshot_at(
    snapshot: *const anyhost_snapshot,
    i: usize,
) -> *const anyhost_member {
    guard!(value or ptr::null(), {
        Ok(handle::get(snapshot)?.members.get(i).map_or(ptr::null(), Tagged::borrowed))
    })
}

/// The member of this label, or at this URL as it was given; NULL where there is none, and for NULL.
///
/// It lives as long as the snapshot. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_snapshot_find(
    snapshot: *const anyhost_snapshot,
    key: *const c_char,
) -> *const anyhost_member {
    guard!(value or ptr::null(), {
        let picture = handle::get(snapshot)?;
        Ok(picture.find(text::read(key, "key")?).map_or(ptr::null(), Tagged::borrowed))
    })
}

/// The snapshot as a JSON object: "members", each with fields named as the getters, with names for
/// numbers of a family.
///
/// Beyond the getters each has "reasons", how many attempts failed for which reason, and "transitions",
/// its last 16 changes of state, oldest first: "ago_ms", "from", "to", "reason", "phase".
///
/// Writes it to `buf`, which has room for `cap` bytes, NUL-ended. `*out_needed` is how many bytes it
/// takes with its NUL, in every case. ANYHOST_E_BUFFER if that is more than `cap`: `buf` then holds ""
/// (nothing for a `cap` of 0), so (NULL, 0) asks for the size. ANYHOST_E_NULL if `out_needed` is NULL, or
/// `buf` is and `cap` is not 0. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_snapshot_json(
    snapshot: *const anyhost_snapshot,
    buf: *mut c_char,
    cap: usize,
    out_needed: *mut usize,
) -> i32 {
    guard!(
        status,
        text::copy_out(buf, cap, out_needed, || Ok(handle::get(snapshot)?.snapshot.to_json()))
    )
}

/// The snapshot as a table for a person: a line of headings, then one for each member with its state, for
/// how long it has been eligible or has not, weight, attempts, how long it will be left alone, and why.
///
/// Each line ends with a line feed. Its form may change from version to version: programs read the getters or
/// anyhost_snapshot_json.
///
/// Writes it to `buf` as anyhost_snapshot_json does. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_snapshot_text(
    snapshot: *const anyhost_snapshot,
    buf: *mut c_char,
    cap: usize,
    out_needed: *mut usize,
) -> i32 {
    guard!(
        status,
        text::copy_out(buf, cap, out_needed, || Ok(handle::get(snapshot)?.snapshot.to_string()))
    )
}

/// The snapshots of any number of clients as one page for Prometheus, in its text format.
///
/// `clients` and `snapshots` lead to `count` pointers each: a name of your choice for each client, which becomes
/// the label "client", and its snapshot. Members have the labels "kind" and "member". Gauges are anyhost_member_state (1
/// for the state it is in), _weight, _max_weight, _in_flight, _cooling_seconds, _failures_in_a_row; counters
/// are anyhost_member_attempts_total, _successes_total and, by reason, _failures_total. Serve the page as
/// "text/plain; version=0.0.4".
///
/// Writes it to `buf` as anyhost_snapshot_json does. ANYHOST_E_NULL if `clients`, `snapshots` or a pointer in
/// them is NULL. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_prometheus(
    clients: *const *const c_char,
    snapshots: *const *const anyhost_snapshot,
    count: usize,
    buf: *mut c_char,
    cap: usize,
    out_needed: *mut usize,
) -> i32 {
    guard!(
        status,
        text::copy_out(buf, cap, out_needed, || {
            let clients = text::pointers(clients, count, "clients")?;
            let snapshots = text::pointers(snapshots, count, "snapshots")?;
            let mut named = Vec::with_capacity(clients.len());
            for (&client, &snapshot) in clients.iter().zip(snapshots) {
                named.push((text::read(client, "clients")?, &handle::get(snapshot)?.snapshot));
            }
            Ok(crate::prometheus(named))
        })
    )
}

/// The inside of a snapshot's handle: everything as C reads it.
pub(super) struct Picture {
    snapshot: Snapshot,
    members: Box<[Tagged<Seen>]>,
}

impl anyhost_snapshot {
    /// A new handle of this snapshot.
    pub(super) fn handle(snapshot: Snapshot) -> *mut anyhost_snapshot {
        let members = snapshot.members().iter().map(Seen::new).collect();
        handle::new(Picture { snapshot, members })
    }
}

impl Picture {
    fn find(&self, key: &str) -> Option<&Tagged<Seen>> {
        let found = self.snapshot.find(key)?;
        let place = self.snapshot.members().iter().position(|member| ptr::eq(member, found))?;
        self.members.get(place)
    }
}
