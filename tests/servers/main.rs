//! Servers that others wrote, and what they do to a client on an ordinary day: they close idle
//! connections, reload, drain, turn away, restart, and are killed in the middle of an answer.
//!
//! Each test starts its programs on loopback addresses of their own and ends them; what was carried out
//! is counted in their logs, or at our own scripted server behind them. A program that is not installed
//! is a named skip, and a failure where `ANYHOST_REQUIRE_ALL=1` (as in CI).
//!
//! | file | whose | what |
//! |---|---|---|
//! | `nginx.rs` | nginx | keep-alive that ends, statuses and Retry-After, gzip, client certificates, reload, a killed worker |
//! | `haproxy.rs` | HAProxy | draining, tarpit, reject, silent-drop, a soft stop |
//! | `apache.rs` | Apache with CGI | chunked answers, ranges, slow programs |
//! | `varnish.rs` | Varnish | a 503 before the request is read |
//! | `openssl.rs` | `openssl s_server` | both versions, bad certificates, truncation, key update |
//! | `httpbin.rs` | httpbin under gunicorn | a walk: methods, redirects, codings, bodies, delays, authentication, statuses |
//! | `python.rs` | Python | a walk through its `http.server` |
//! | `etcd.rs` | three etcd | members killed under writes: every acknowledged one is there, none twice |
//! | `rolling.rs` | three nginx | restarted one after the other under load |
//! | `program.rs` | | finds, starts and ends a program |
//!
//! The long rolling restart: `ANYHOST_ROLLING=60 cargo test --release --test servers rolling`.
#![cfg(target_os = "linux")]
// Tests measure real time against real sockets; the ban protects the library's injected clock.
#![allow(clippy::disallowed_methods)]

#[path = "../support/mod.rs"]
mod support;

mod apache;
mod etcd;
mod haproxy;
mod httpbin;
mod nginx;
mod openssl;
mod program;
mod python;
mod rolling;
mod varnish;

use anyhost::{Attempt, Client, ClientBuilder, Delivery, Phase, Reason};
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// A client of these servers or URLs, in this order, everything else at its default.
fn over(servers: &[&dyn Display]) -> ClientBuilder {
    servers.iter().fold(Client::builder(), |builder, server| builder.base_urls(&server.to_string()))
}

/// What is to be checked of each attempt, in order.
fn told(attempts: &[Attempt]) -> Vec<(Reason, Phase, Delivery)> {
    attempts.iter().map(|a| (a.reason(), a.phase(), a.delivery())).collect()
}

/// Whether the threads of a test go on. They stop when this is dropped, also by a test that fails.
#[derive(Default)]
struct Going(AtomicBool);

impl Going {
    fn on(&self) -> bool {
        !self.0.load(SeqCst)
    }

    /// To be held while they are needed.
    fn until_dropped(&self) -> Stop<'_> {
        Stop(self)
    }
}

struct Stop<'a>(&'a Going);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, SeqCst);
    }
}
