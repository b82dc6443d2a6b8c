//! The main job on real sockets: a request goes to whichever endpoint can answer, and a write is
//! never carried out twice.
//!
//! Every test here starts its own servers on loopback and asks them what arrived: what a client
//! says of itself proves nothing. The right values come from the vectors D-* and X-* of the seeds,
//! the field cases F* and the rulings R*; each test names its own.
//!
//! | file | what it proves |
//! |---|---|
//! | `failover.rs` | which failure moves on, and the hold (D-1 to D-21) |
//! | `redirects.rs` | which redirects are followed, and what goes along (R14, R15) |
//! | `resend.rs` | what may go out a second time (R1), the stale connection (R2) |
//! | `exhaustion.rs` | what is handed out when nothing is left to try (R11) |
//! | `limits.rs` | every limit binds, and none binds early (R3, R9) |
//! | `names.rs` | names are looked up to dial, and addresses tried side by side (RFC 8305) |
//! | `bodies.rs` | where a body ends, and how large it may be (R13) |
//! | `stream.rs` | answers handed out at their head (R21) |
//! | `decompress.rs` | content codings: what is undone, and what is no such coding |
//! | `cancel.rs` | a call ends when its caller says so, wherever it is, and no other does |
//! | `config.rs` | a client from TOML or JSON, and where a mistake in it stands |
//! | `progress.rs` | who watches a call is told, wherever it is blocked |
//! | `hostile.rs` | how much a peer may make us read, hold and do |
//! | `idle.rs` | which idle connections are used again, and by which process |
//! | `sight.rs` | what a person sees: explained errors, the log, snapshots as text |
//! | `proxies.rs` | the probe of a proxy that is alone, bodies through a proxy, hops through the pool |
//! | `signals.rs` | a signal fails no call |
//! | `urls_and_headers.rs` | what arrives, and what no text shows (R15, R16) |
//! | `tls.rs` | certificates and handshakes |
//!
//! Waiting is done by servers (`after`, `idle`) or by events, never by a sleep in a test.

#[path = "../support/mod.rs"]
mod support;

mod bodies;
mod cancel;
mod config;
mod decompress;
mod exhaustion;
mod failover;
mod hostile;
mod idle;
mod limits;
mod names;
mod progress;
mod proxies;
mod redirects;
mod resend;
mod sight;
mod signals;
mod stream;
mod tls;
mod urls_and_headers;

use anyhost::{Attempt, Client, ClientBuilder, Delivery, Event, EventKind, Phase, Reason};
use std::fmt::Display;
use std::sync::{Arc, Mutex};

/// A client of these servers or URLs, in this order, everything else at its default.
fn over(servers: &[&dyn Display]) -> ClientBuilder {
    servers.iter().fold(Client::builder(), |builder, server| builder.base_urls(&server.to_string()))
}

/// What is to be checked of each attempt, in order.
fn told(attempts: &[Attempt]) -> Vec<(Reason, Phase, Delivery)> {
    attempts.iter().map(|a| (a.reason(), a.phase(), a.delivery())).collect()
}

/// The places of the attempts among `servers`.
fn order(attempts: &[Attempt], servers: &[&dyn Display]) -> Vec<usize> {
    let urls: Vec<String> = servers.iter().map(|server| server.to_string()).collect();
    let place = |a: &Attempt| urls.iter().position(|url| url == a.endpoint()).expect("a server");
    attempts.iter().map(place).collect()
}

/// Everything a client has told its observer.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(EventKind, String)>>>);

impl Log {
    /// For `ClientBuilder::on_event`.
    fn recorder(&self) -> impl Fn(&Event<'_>) + Send + Sync + 'static {
        let log = self.0.clone();
        move |event| {
            log.lock().unwrap().push((event.kind(), format!("{event} {event:?}")));
        }
    }

    fn count(&self, kind: EventKind) -> usize {
        self.0.lock().unwrap().iter().filter(|(k, _)| *k == kind).count()
    }

    fn kinds(&self) -> Vec<EventKind> {
        self.0.lock().unwrap().iter().map(|(kind, _)| *kind).collect()
    }

    fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|(_, text)| text.clone()).collect()
    }
}
