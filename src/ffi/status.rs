//! The statuses, by number and by name.

use super::guard;
use super::names::{Names, UNKNOWN};
use crate::Status;
use std::ffi::c_char;
use std::sync::LazyLock;

/// What a function answers. 1 to 11 are mistakes of the caller, 100 to 104 come from building a client,
/// 200 to 211 from a call, and 900 to 902 should not happen.
#[allow(dead_code, reason = "names for C")]
#[repr(C)]
pub enum anyhost_status {
    /// It worked.
    ANYHOST_OK = 0,
    /// A pointer that must not be NULL is.
    ANYHOST_E_NULL = 1,
    /// An argument is wrong in itself.
    ANYHOST_E_ARGUMENT = 2,
    /// A text is not UTF-8.
    ANYHOST_E_ENCODING = 3,
    /// A number is outside its range.
    ANYHOST_E_RANGE = 4,
    /// The object is not in the state that this needs: a builder that has built, a request in use.
    ANYHOST_E_STATE = 5,
    /// A call was made from inside a callback of the same thread.
    ANYHOST_E_REENTRY = 6,
    /// The handle is of another type or was freed. Not every such mistake can be noticed.
    ANYHOST_E_HANDLE = 7,
    /// No such option, or a value it does not take.
    ANYHOST_E_OPTION = 8,
    /// There is no endpoint of this label or URL.
    ANYHOST_E_NOT_FOUND = 9,
    /// The buffer is too small; the size needed was written.
    ANYHOST_E_BUFFER = 10,
    /// Not possible in this build or on this system.
    ANYHOST_E_UNSUPPORTED = 11,
    /// A base URL is wrong.
    ANYHOST_E_URL = 100,
    /// The settings do not go together.
    ANYHOST_E_CONFIG = 101,
    /// A certificate or key cannot be used, or there are no roots to trust.
    ANYHOST_E_TLS_MATERIAL = 102,
    /// Two endpoints are the same.
    ANYHOST_E_DUPLICATE = 103,
    /// https beside http, which the option allow_mixed_schemes has not allowed.
    ANYHOST_E_DOWNGRADE = 104,
    /// No endpoint may be tried now.
    ANYHOST_E_NO_ENDPOINT = 200,
    /// No further attempt is left or allowed; the last attempt's reason and phase say why.
    ANYHOST_E_ATTEMPTS_SPENT = 201,
    /// The deadline of the call passed, or would have passed during the next wait.
    ANYHOST_E_DEADLINE = 202,
    /// The retry budget is empty.
    ANYHOST_E_BUDGET_SPENT = 203,
    /// Only the body, which cannot be sent a second time, forbade another attempt.
    ANYHOST_E_NOT_REPLAYABLE = 204,
    /// The caller cancelled.
    ANYHOST_E_CANCELLED = 205,
    /// The client was shut down.
    ANYHOST_E_SHUT_DOWN = 206,
    /// The body of the answer broke off.
    ANYHOST_E_BODY = 207,
    /// The body of the answer is larger than the option max_body.
    ANYHOST_E_TOO_LARGE = 208,
    /// The request's body reader refused, or gave more or fewer bytes than its length.
    ANYHOST_E_BODY_SOURCE = 209,
    /// The answer was turned down by require_success; the error keeps its status and body.
    ANYHOST_E_REJECTED = 210,
    /// Too many redirects, or one to where none may go.
    ANYHOST_E_REDIRECTS = 211,
    /// A fault of anyhost itself. Please report it.
    ANYHOST_E_INTERNAL = 900,
    /// A panic was caught. Please report it.
    ANYHOST_E_PANIC = 901,
    /// The client took part in a panic and answers nothing any more.
    ANYHOST_E_BROKEN = 902,
}

/// The name of a status without its prefix, as "ATTEMPTS_SPENT"; "OK" for 0.
///
/// Never NULL: "unknown" for a number that is none. The text is static. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_status_name(status: i32) -> *const c_char {
    guard!(plain value or UNKNOWN, Ok(NAMES.of(status)))
}

/// What a status means, in a few words; "success" for 0.
///
/// Never NULL: "unknown" for a number that is none. The text is static. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_status_text(status: i32) -> *const c_char {
    guard!(plain value or UNKNOWN, Ok(TEXTS.of(status)))
}

static NAMES: LazyLock<Names> = LazyLock::new(|| all("OK", Status::name));
static TEXTS: LazyLock<Names> = LazyLock::new(|| all("success", Status::text));

fn all(ok: &'static str, what: fn(Status) -> &'static str) -> Names {
    let errors = Status::ALL.iter().map(|status| (status.code(), what(*status)));
    Names::new(std::iter::once((0, ok)).chain(errors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    /// The enumerators that C sees are the statuses of the Rust API, in names and numbers.
    #[test]
    fn the_enumerators_are_the_statuses() {
        let written: Vec<&str> = include_str!("status.rs")
            .lines()
            .filter_map(|line| line.trim().strip_prefix("ANYHOST_E_")?.strip_suffix(','))
            .collect();
        let known: Vec<String> = Status::ALL
            .iter()
            .map(|status| format!("{} = {}", status.name(), status.code()))
            .collect();
        assert_eq!(written, known);
    }

    #[test]
    fn every_number_has_a_name_and_a_text() {
        for (code, name, text) in [
            (0, c"OK", c"success"),
            (201, c"ATTEMPTS_SPENT", c"no further attempt is left or allowed"),
            (-1, c"unknown", c"unknown"),
            (i32::MAX, c"unknown", c"unknown"),
        ] {
            // SAFETY: static texts.
            unsafe {
                assert_eq!(CStr::from_ptr(anyhost_status_name(code)), name);
                assert_eq!(CStr::from_ptr(anyhost_status_text(code)), text);
            }
        }
    }
}
