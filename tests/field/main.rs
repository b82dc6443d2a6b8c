//! What people who run clients like this one reported, as tests by number.
//!
//! Each test bears the number of its row in the manual's page on the field, and asserts what is right
//! there, counted at the servers. Where a ruling says otherwise than the row, the test keeps the ruling
//! and says so. Decisions run on a scripted network in virtual time; what the kernel does, against
//! servers on loopback.

#[path = "../vectors/network.rs"]
#[allow(dead_code, reason = "the vectors use all of it, and this binary a part")]
mod network;
#[path = "../support/mod.rs"]
mod support;

mod breaker;
mod clock;
mod concurrency;
mod config;
mod decompression;
mod dns;
mod failover;
mod framing;
mod ipv6;
mod keep_alive;
mod page;
mod proxies;
mod redirects;
mod retry;
mod retry_after;
mod statuses;
mod streaming;
mod timeouts;
mod tls;
mod urls;
mod weights;
mod wire;
