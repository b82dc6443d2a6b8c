//! The way through a proxy, on real sockets: what each side hears, what is told of each failure, and
//! that nothing counts as unsent of which the target saw a byte.
//!
//! | file | what it proves |
//! |---|---|
//! | `ways.rs` | six kinds of proxy, http and https targets: what arrives where |
//! | `refusals.rs` | each way to say no keeps its phase and its number; limits and cancelling |
//! | `faults.rs` | a fault at every byte of a conversation |
//! | `through.rs` | one attempt |
//!
//! The transport is asked directly: who is to blame and what comes next is tested elsewhere.
#![allow(clippy::disallowed_methods)]

#[path = "../support/mod.rs"]
mod support;

mod faults;
mod refusals;
mod through;
mod ways;

use anyhost::inject::{Cause, Ending, LookupError, Phase, ProxyReply, ProxyUrl, Transport as _};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use support::*;
use through::*;
