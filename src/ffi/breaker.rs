//! The circuit breaker by itself.

use super::handle::{self, Object, Opaque, Owned};
use super::{Out, guard, millis, text};
use crate::{Breaker, BreakerSettings, Error, Result, Status};
use std::ffi::c_char;
use std::ptr;
use std::time::Duration;

/// Circuit breakers by key, for what is not HTTP: a database, a queue, a licence server.
///
/// Ask anyhost_breaker_allow before each attempt, and report what came of it. A key is any text. Any
/// number of threads may use one at once.
pub struct anyhost_breaker(Opaque);

impl Object for anyhost_breaker {
    type Inside = Breaker<String>;
    const TAG: &'static [u8; 8] = b"ahbreakr";
    const NAME: &'static str = "breaker";
}
impl Owned for anyhost_breaker {}

/// A new breaker, whose circuits are all closed.
///
/// `threshold` failures in a row open the circuit of a key; 0 = 5. It stays open for `base_ms`, doubled
/// with each further failure, up to `max_ms`; 0 = 30 s and 1 h. The first wait is that of its number of
/// failures: 480 s at the defaults. Jitter lengthens waits, never beyond `max_ms`. `*out` is yours, to be
/// freed with anyhost_breaker_free.
///
/// ANYHOST_E_RANGE where the waits do not go together: a base above the maximum, or one too long for a
/// clock. ANYHOST_E_NULL if `out` is NULL. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_breaker_new(
    threshold: u32,
    base_ms: u64,
    max_ms: u64,
    out: *mut *mut anyhost_breaker,
) -> i32 {
    guard!(status, {
        let out = Out::new(out, ptr::null_mut(), "out")?;
        out.set(handle::new(Breaker::new(settings(threshold, base_ms, max_ms)?)));
        Ok(())
    })
}

/// Frees a breaker. NULL does nothing. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_breaker_free(breaker: *mut anyhost_breaker) {
    guard!(value or (), { handle::free(breaker); Ok(()) })
}

/// Whether an attempt for `key` may be made now: `*out_allowed` is 1 or 0.
///
/// Of an open circuit one attempt in each window may be made, to see whether it is well again. Report
/// the outcome of every attempt that was allowed: one that is never reported costs a window. Where it
/// may not be made, `*out_wait_ms` is how long that lasts at least; 0 where it may. `out_wait_ms` may be
/// NULL.
///
/// ANYHOST_OK in both cases; ANYHOST_E_NULL if another argument is NULL. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_breaker_allow(
    breaker: *mut anyhost_breaker,
    key: *const c_char,
    out_allowed: *mut i32,
    out_wait_ms: *mut u64,
) -> i32 {
    guard!(status, {
        let out_allowed = Out::new(out_allowed, 0, "out_allowed");
        // NULL is allowed here.
        let out_wait = Out::new(out_wait_ms, 0, "out_wait_ms").ok();
        let (out_allowed, breaker) = (out_allowed?, handle::keep(breaker)?);
        match (breaker.allow(text::read(key, "key")?), out_wait) {
            (Ok(()), _) => out_allowed.set(1),
            (Err(open), Some(out)) => out.set(millis(Some(open.wait))),
            (Err(_), None) => {}
        }
        Ok(())
    })
}

/// Counts a failure of `key`.
///
/// `*out_backoff_ms` is how long to stay away from it, also while its circuit is still closed; it may be
/// NULL. ANYHOST_E_NULL if another argument is. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_breaker_record_failure(
    breaker: *mut anyhost_breaker,
    key: *const c_char,
    out_backoff_ms: *mut u64,
) -> i32 {
    guard!(status, {
        // NULL is allowed here.
        let out_backoff = Out::new(out_backoff_ms, 0, "out_backoff_ms").ok();
        let breaker = handle::keep(breaker)?;
        let backoff = breaker.record_failure(text::read(key, "key")?);
        if let Some(out) = out_backoff {
            out.set(millis(Some(backoff)));
        }
        Ok(())
    })
}

/// Counts a success of `key`: its circuit is closed, and its failures are forgotten.
///
/// ANYHOST_E_NULL if `breaker` or `key` is NULL. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anyhost_breaker_record_success(
    breaker: *mut anyhost_breaker,
    key: *const c_char,
) -> i32 {
    guard!(status, {
        handle::keep(breaker)?.record_success(text::read(key, "key")?);
        Ok(())
    })
}

/// The settings that these numbers are; 0 stands for the default.
fn settings(threshold: u32, base_ms: u64, max_ms: u64) -> Result<BreakerSettings> {
    let default = BreakerSettings::default();
    let threshold = if threshold == 0 { default.threshold() } else { threshold };
    let or = |given: u64, default: Duration| match given {
        0 => default,
        _ => Duration::from_millis(given),
    };
    let max = or(max_ms, default.backoff().max());
    let base = or(base_ms, default.backoff().base().min(max));
    BreakerSettings::new(threshold, base, max, default.backoff().jitter())
        .map_err(|why| Error::of_option(Status::Range, "base_ms", why.to_string()))
}
