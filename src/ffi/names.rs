//! NUL-ended copies of the names that the Rust API has as `&str`, made once and never freed.

use super::text;
use std::ffi::{CString, c_char};

/// What an unknown number is called.
pub(super) const UNKNOWN: *const c_char = c"unknown".as_ptr();

/// Names by their number.
pub(super) struct Names(Vec<(i32, CString)>);

impl Names {
    pub(super) fn new<'a>(names: impl IntoIterator<Item = (i32, &'a str)>) -> Self {
        Names(names.into_iter().map(|(code, name)| (code, text::owned(name))).collect())
    }

    /// The name of this number, or [`UNKNOWN`].
    pub(super) fn of(&'static self, code: i32) -> *const c_char {
        let found = self.0.iter().find(|(known, _)| *known == code);
        found.map_or(UNKNOWN, |(_, name)| name.as_ptr())
    }
}
