//! The C contract: conversion between what C can say and the Rust API, and nothing else.
//!
//! One file for each object of the header, which is made of these files and their comments. This one
//! is not read for it: it holds what C never sees. Every exported function is one call of [`guard!`],
//! takes its arguments through `text` and `handle`, and hands results out through [`Out`].
//!
//! Not here: any decision about a call, and anything that Rust programs cannot do too.

#![allow(non_camel_case_types, reason = "as C sees them")]
#![allow(clippy::macro_metavars_in_unsafe, reason = "guard! is the one place for it")]

mod attempt;
mod body;
mod breaker;
mod builder;
mod callback;
mod cancel;
mod client;
mod error;
mod event;
mod handle;
mod loan;
mod member;
mod names;
mod numbers;
mod option;
#[cfg(test)]
mod panics;
mod request;
mod response;
mod shortcut;
mod snapshot;
mod status;
mod text;
mod update;
mod version;

use crate::{Error, Result, Status};
use error::anyhost_error;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The whole body of an exported function: stops a panic, and turns a result into what C gets.
///
/// The body is a [`Result`], with `?` at hand.
///
/// * `guard!(status, body)`: [`ANYHOST_OK`](status::anyhost_status) or the number of the error.
/// * `guard!(status err, body)`: the same, and the error itself goes to the last argument.
/// * `guard!(value or 0, body)`: a getter that cannot fail; what C gets where there is nothing.
/// * `guard!(plain value or 0, body)`: the same for a body that touches no pointer.
macro_rules! guard {
    (status, $body:expr) => {
        $crate::ffi::status_of($crate::ffi::guard!(@pointers $body))
    };
    (status $err:ident, $body:expr) => {{
        let result = $crate::ffi::guard!(@pointers $body);
        // SAFETY: the header asks for NULL or a place that can be written.
        unsafe { $crate::ffi::tell($err, result) }
    }};
    (value or $otherwise:expr, $body:expr) => {
        $crate::ffi::guard!(@pointers $body).unwrap_or($otherwise)
    };
    (plain value or $otherwise:expr, $body:expr) => {
        $crate::ffi::catch(|| $body).unwrap_or($otherwise)
    };
    (@pointers $body:expr) => {
        // SAFETY: every pointer is what the header asks for: NULL, or valid for its type and for the
        // length beside it, and handles are alive. The helpers check what can be checked.
        $crate::ffi::catch(|| unsafe { $body })
    };
}
use guard;

/// Runs the body of an exported function; a panic becomes an error.
fn catch<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    // Nothing half-changed is seen afterwards: what a panic may leave so is taken out of its handle
    // while it is worked on (`loan`), and a client is marked (`client`).
    let body = || {
        #[cfg(test)]
        panics::planted();
        body()
    };
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| Err(caught(payload)))
}

/// The error of a panic: one function for all exports, which are many.
#[cold]
#[inline(never)]
fn caught(payload: Box<dyn Any + Send>) -> Error {
    // Dropping a payload may panic once more.
    std::mem::forget(payload);
    Error::new(Status::Panic, "a panic was caught inside anyhost; please report it")
}

/// The number of a result.
fn status_of(result: Result<()>) -> i32 {
    result.map_or_else(|error| error.status().code(), |()| 0)
}

/// The number of a result; an error goes to `err`, if C wants it.
///
/// # Safety
///
/// `err` is NULL or can be written.
unsafe fn tell(err: *mut *mut anyhost_error, result: Result<()>) -> i32 {
    let Err(error) = result else { return 0 };
    let code = error.status().code();
    if !err.is_null() {
        // SAFETY: not NULL, so the caller has promised it.
        unsafe { err.write(anyhost_error::handle(error)) };
    }
    code
}

/// The error of an argument that is NULL and may not be.
fn is_null(argument: &str) -> Error {
    Error::of_option(Status::Null, argument, format!("`{argument}` is NULL"))
}

/// The error of a number that is outside its range.
fn out_of_range(argument: &str, rule: &str) -> Error {
    Error::of_option(Status::Range, argument, format!("`{argument}` {rule}"))
}

/// Whether an `int32_t` says yes.
fn flag(value: i32, argument: &str) -> Result<bool> {
    match value {
        0 | 1 => Ok(value == 1),
        _ => Err(out_of_range(argument, "is a flag: 0 or 1")),
    }
}

/// A duration as C gets it.
fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// A wait as C gets it: 0 where there is none, and never 0 where there is one.
fn millis(wait: Option<Duration>) -> u64 {
    wait.map_or(0, crate::client::whole_ms)
}

/// Where a result goes: written in every case, with nothing until there is something.
struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Writes `nothing` and keeps the place for the result. A function of several outputs makes all of
    /// them before it looks whether one failed.
    ///
    /// # Safety
    ///
    /// `place` is NULL or can be written as long as this lives.
    unsafe fn new(place: *mut T, nothing: T, argument: &str) -> Result<Self> {
        if place.is_null() {
            return Err(is_null(argument));
        }
        // SAFETY: not NULL, so the caller has promised it.
        unsafe { place.write(nothing) };
        Ok(Out(place))
    }

    fn set(self, value: T) {
        // SAFETY: `new` has checked it and was promised the rest.
        unsafe { self.0.write(value) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn a_panic_becomes_a_status() {
        let mut out = 7;
        let place = &raw mut out;
        let written = |value| {
            guard!(status, {
                Out::new(place, 0, "out")?.set(value);
                assert!(value < 9, "planted");
                Ok(())
            })
        };
        assert_eq!((written(5), out), (0, 5));
        assert_eq!(written(9), Status::Panic.code());
        assert_eq!(guard!(plain value or 7, Ok(1)), 1);
        assert_eq!(guard!(plain value or 7, Err(is_null("x"))), 7);
        assert_eq!(guard!(plain value or 7, panic!("planted")), 7);
    }

    #[test]
    fn an_error_is_written_on_failure_only() {
        let mut err = ptr::null_mut();
        // SAFETY: a place of this test's own, and NULL.
        unsafe {
            assert_eq!(tell(&mut err, Ok(())), 0);
            assert!(err.is_null());
            assert_eq!(tell(ptr::null_mut(), Err(is_null("x"))), 1);
            assert_eq!(tell(&mut err, Err(is_null("x"))), 1);
            assert!(!err.is_null());
            error::anyhost_error_free(err);
        }
    }

    #[test]
    fn outputs_are_written_in_every_case() {
        let mut place = 7;
        // SAFETY: a place of this test's own, and NULL.
        unsafe {
            let out = Out::new(&mut place, 0, "out").unwrap();
            assert_eq!(place, 0);
            out.set(5);
            let none = Out::<i32>::new(ptr::null_mut(), 0, "out");
            assert_eq!(none.err().unwrap().status(), Status::Null);
        }
        assert_eq!(place, 5);
    }

    #[test]
    fn a_flag_is_0_or_1() {
        assert!(!flag(0, "secret").unwrap());
        assert!(flag(1, "secret").unwrap());
        for wild in [-1, 2, i32::MIN, i32::MAX] {
            assert_eq!(flag(wild, "secret").unwrap_err().status(), Status::Range);
        }
    }
}
