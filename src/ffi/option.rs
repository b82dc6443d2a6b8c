//! The table of options, for programs that show or check settings.

use super::guard;
use super::text;
use crate::{OptionSpec, options};
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::LazyLock;

/// How many options there are.
///
/// Options are numbered from 0 in the order of the manual; later versions have more. Any thread. Since
/// 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_option_count() -> usize {
    guard!(plain value or 0, Ok(options().len()))
}

/// The name of option `i`, as anyhost_builder_set takes it; NULL beyond the last.
///
/// The text is static. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_option_name(i: usize) -> *const c_char {
    guard!(plain value or ptr::null(), Ok(text_of(i, |row| &row.name)))
}

/// The text that stands for the default of option `i`, "" where there is none; NULL beyond the last.
///
/// The text is static. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_option_default(i: usize) -> *const c_char {
    guard!(plain value or ptr::null(), Ok(text_of(i, |row| &row.default)))
}

/// What option `i` means, in one line; NULL beyond the last.
///
/// The text is static. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_option_help(i: usize) -> *const c_char {
    guard!(plain value or ptr::null(), Ok(text_of(i, |row| &row.help)))
}

/// Who may set option `i`: 1 = a client, 3 = a client, and a request for itself; 0 beyond the last.
///
/// The two bits are 1 for clients and 2 for requests. Any thread. Since 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn anyhost_option_scope(i: usize) -> i32 {
    guard!(plain value or 0, Ok(options().get(i).map_or(0, scope)))
}

fn scope(option: &OptionSpec) -> i32 {
    if option.is_for_requests() { 1 | 2 } else { 1 }
}

struct Row {
    name: CString,
    default: CString,
    help: CString,
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let row = |option: &OptionSpec| Row {
        name: text::owned(option.name()),
        default: text::owned(option.default()),
        help: text::owned(option.help()),
    };
    options().iter().map(row).collect()
});

fn text_of(i: usize, column: fn(&Row) -> &CString) -> *const c_char {
    ROWS.get(i).map_or(ptr::null(), |row| column(row).as_ptr())
}
