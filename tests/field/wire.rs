//! What the tests over sockets have in common: a client of servers, and threads at one gate.

use crate::network::secs;
use crate::support::Event;
use anyhost::testing::ManualClock;
use anyhost::{Client, ClientBuilder, Response, Result};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// A builder of a client over these base URLs, with a seed.
pub fn over(bases: &[String]) -> ClientBuilder {
    Client::builder().base_urls(&bases.join(",")).seed(1)
}

/// The same by a clock that stands still: windows and holds pass when the test says so. Sockets go by
/// the machine's clock, so their limits are wide.
pub fn by_hand(bases: &[String]) -> (ClientBuilder, ManualClock) {
    let clock = ManualClock::new();
    let wide = over(bases).connect_timeout(secs(60)).attempt_timeout(secs(60));
    (wide.clock(clock.clone()), clock)
}

/// Lets threads make one GET each, all at once, while `look` sees the results come in. Whatever
/// becomes of `look`, the gate is open afterwards, so that no thread is left behind it.
pub fn at_once(
    threads: usize,
    client: &Client,
    gate: &Event,
    look: impl FnOnce(&Receiver<Result<Response>>),
) {
    struct Opens<'a>(&'a Event);
    impl Drop for Opens<'_> {
        fn drop(&mut self) {
            self.0.open();
        }
    }
    thread::scope(|scope| {
        let _opens = Opens(gate);
        let (tell, told) = channel();
        for _ in 0..threads {
            let tell = tell.clone();
            scope.spawn(move || {
                // Nobody listens any more where `look` has panicked.
                let _ = tell.send(client.get("/").send());
            });
        }
        look(&told);
    });
}

/// The next result, or a panic where there is none for long.
#[track_caller]
pub fn next(told: &Receiver<Result<Response>>) -> Result<Response> {
    told.recv_timeout(secs(20)).expect("a call has ended")
}
