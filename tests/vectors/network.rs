//! What the vectors of a whole client stand on: three servers by script, and a log of events.

use anyhost::testing::ScriptedTransport;
use anyhost::{Client, ClientBuilder, EventKind};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

pub const A: &str = "https://a.example";
pub const B: &str = "https://b.example";
pub const C: &str = "https://c.example";

pub const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// A builder on this network and its clock, with a seed, so that every run is the same.
pub fn on(network: &ScriptedTransport, bases: &[&str]) -> ClientBuilder {
    Client::builder()
        .base_urls(&bases.join(","))
        .transport(network.clone())
        .clock(network.clock())
        .seed(1)
}

/// How many requests arrived at each base URL.
pub fn received<const N: usize>(network: &ScriptedTransport, bases: [&str; N]) -> [usize; N] {
    bases.map(|base| network.received_at(base).len())
}

/// How many attempts were made at each base URL.
pub fn attempts<const N: usize>(network: &ScriptedTransport, bases: [&str; N]) -> [usize; N] {
    bases.map(|base| network.attempts_at(base).len())
}

/// The live weight of an endpoint, and its most.
pub fn weight(client: &Client, label: &str) -> (u32, u32) {
    let snapshot = client.snapshot();
    let member = snapshot.find(label).expect("it is listed");
    (member.weight(), member.max_weight())
}

/// The events of some kinds, as text.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    /// Listens for these kinds.
    pub fn of(&self, builder: ClientBuilder, kinds: &'static [EventKind]) -> ClientBuilder {
        let lines = self.0.clone();
        builder.on_event(move |event| {
            if kinds.contains(&event.kind()) {
                lines.lock().unwrap().push(event.to_string());
            }
        })
    }

    /// What was told since the last time.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// A list that callbacks write and the test reads.
#[derive(Debug)]
pub struct List<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        List(self.0.clone())
    }
}

impl<T> List<T> {
    pub fn new() -> Self {
        List(Arc::default())
    }

    pub fn push(&self, item: T) {
        self.0.lock().unwrap().push(item);
    }

    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// A client that replies on its own network can use, once it is built.
#[derive(Clone, Default)]
pub struct Later(Arc<OnceLock<Client>>);

impl Later {
    pub fn set(&self, client: &Client) {
        assert!(self.0.set(client.clone()).is_ok(), "set once");
    }

    pub fn get(&self) -> &Client {
        self.0.get().expect("the client is built before it is used")
    }
}
