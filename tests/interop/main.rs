//! Proxies that others wrote: Squid, tinyproxy, microsocks, Dante, and stunnel in front of one.
//!
//! Each is walked through the same cases: http and https targets, wrong credentials, what its policy
//! refuses, a target that is dead, and the proxy itself stopped and dead. What arrived is counted at the
//! target, which is our own scripted server. A program that is not installed is a named skip, and a
//! failure where `ANYHOST_REQUIRE_ALL=1` (as in CI).
//!
//! | file | what |
//! |---|---|
//! | `proxies.rs` | the programs: how each is configured and started |
//! | `walk.rs` | what each of them says, and what is told of it |
//! | `blame.rs` | who is blamed in a pool for what they do, and that nobody else is |
//! | `under_load.rs` | killed and started again one after the other while a client works |
#![cfg(target_os = "linux")]
// Tests measure real time against real sockets; the ban protects the library's injected clock.
#![allow(clippy::disallowed_methods)]

#[path = "../servers/program.rs"]
#[allow(dead_code)]
mod program;
#[path = "../support/mod.rs"]
mod support;
#[path = "../proxy/through.rs"]
mod through;

mod blame;
mod proxies;
mod under_load;
mod walk;
