//! The server of the wire tests: what it does is written down as data, what it saw is counted.
//!
//! A scripted server and not a mock of our own transport, because the faults that matter (a reset
//! between two bytes, a FIN on an idle connection, a peer that does not read) happen in the kernel.
//! HTTP is read and written by hand, so that the server can break every rule on purpose and shares
//! no mistake with the client. Threads and std sockets only; no sleep is used to synchronise.
//!
//! The first server fails once and the second answers:
//!
//! ```ignore
//! mod support;
//! use support::*;
//!
//! let a = Server::start(Reply::status(503));
//! let b = Server::start(Reply::ok("hello"));
//! // ... a client over a.url() and b.url() sends one GET and reads "hello" ...
//! assert_eq!((a.count("GET"), b.count("GET")), (1, 1));
//! ```
//!
//! Behaviour is what is read, what is sent, and how it ends; a test decides when:
//!
//! ```ignore
//! let (go, closed) = (Event::new(), Event::new());
//! let server = Server::start(Script::each([
//!     Reply::ok("0123456789").cut(4).reset(),                 // RST after four body bytes
//!     Reply::status(413).after_head(),                        // answers before the body is read
//!     Reply::ok("late").after(&go),                           // until the test opens `go`
//!     Reply::ok("bye").close().tell(&closed),                 // FIN on an idle connection
//! ]).on("/slow", Reply::ok("drop by drop").drip(1, ms(20))));
//! // ...
//! closed.wait(ms(1000));
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `reply.rs` | one exchange as data: how far to read, what to send, how to end |
//! | `script.rs` | which request gets which reply |
//! | `server.rs` | listening, counting, ending cleanly |
//! | `exchange.rs` | carries a reply out on a connection |
//! | `proxy.rs` | a proxy: HTTP or SOCKS, and where it breaks off |
//! | `connection.rs` | the socket: FIN, RST, plain or TLS |
//! | `request.rs` | what arrived |
//! | `unreachable.rs` | addresses that refuse, or swallow every SYN |
//! | `certs.rs` | a test CA and the certificates it signs |
//! | `blocked.rs` | whether a thread of this process is blocked, and on what |
//! | `child.rs` | a process that is a fork of this one |
//! | `event.rs`, `time.rs` | waiting for one another, measuring |
//!
//! Dropping a [`Server`] closes its connections, joins its threads, and fails the test if one of
//! them panicked. A request that is not HTTP is such a panic: our client must not send one.

// Each test binary compiles this module for itself and uses a part of it.
#![allow(dead_code, unused_imports, unreachable_pub)]
// Tests measure real time against real sockets; the ban protects the library's injected clock.
#![allow(clippy::disallowed_methods)]

mod blocked;
mod certs;
#[cfg(unix)]
mod child;
mod connection;
mod event;
mod exchange;
mod proxy;
mod reply;
mod request;
mod script;
mod server;
mod time;
mod unreachable;

pub use blocked::{Blocked, Caller};
pub use certs::Authority;
#[cfg(unix)]
pub use child::in_child;
pub use connection::Connection;
pub use event::{Event, Pause};
pub use proxy::{Asked, At, Fault, Proxy, ProxyPlan, Speaks};
pub use reply::Reply;
pub use request::Request;
pub use script::Script;
pub use server::{Listen, Server, silent, slow_reader};
pub use time::{ms, pass, timed, within};
pub use unreachable::{Blackhole, Refusing, refusing_address};
