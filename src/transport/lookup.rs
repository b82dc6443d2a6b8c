//! Looks names up, on few threads and never for longer than asked.
//!
//! `getaddrinfo` cannot be interrupted, so it runs on a thread of its own and the caller waits for it
//! with a deadline. At most eight such threads exist: a resolver that hangs must not eat a thread
//! for each request. All who ask for one name at a time share one lookup.
//!
//! Only dialling asks; an IP literal is never looked up. An answer is remembered for a while (`known`)
//! and stands in where the resolver fails, is busy, or lets us wait. A lookup given up on goes on:
//! what it finds is there for the next dial, and that it was slow says nothing about the name.
//!
//! Flow: `connector` → **lookup** → `dial`. Not here: how long answers are good (`known`), the choice
//! among addresses (`dial`).

use super::deadline::Deadline;
use super::failure::Failure;
use super::interrupt::{Interrupt, Wake};
use super::known::{Key, Known};
use super::meter::{self, Meter};
use super::platform;
use crate::decide::{Cause, Limit};
use crate::sys;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::borrow::Cow;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Most lookups that run at a time.
const MAX_LOOKUPS: usize = 8;

/// How long a lookup may take where an old answer could stand in. A resolver that works needs some
/// 10 ms and seldom more than 100; one that has lost a packet is silent for 5 s.
const PATIENCE: Duration = Duration::from_millis(500);

/// Why a name has no addresses.
///
/// Example: [`inject::NameLookup`](crate::inject::NameLookup).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookupError {
    /// The name does not exist, or has no address. The resolver is certain.
    NameUnknown,
    /// No answer: no resolver could be asked, or it failed.
    Failed {
        /// The operating system's error number, 0 where there is none.
        os_error: i32,
        /// A few words for people.
        detail: Cow<'static, str>,
    },
}

/// Finds the addresses of a name.
///
/// May block as long as it likes: it is called on a thread of its own, of which there are eight at
/// most. Its answers are remembered for 10 s, and stand in for up to an hour where it fails. Closures
/// of the same shape implement it.
///
/// ```
/// use anyhost::inject::{LookupError, NameLookup, SystemLookup};
/// use std::net::SocketAddr;
///
/// // Names from a table of the program's own; a closure is enough.
/// let table = |host: &str, port: u16| match host {
///     "api.internal" => Ok(vec![SocketAddr::from(([10, 0, 0, 7], port))]),
///     "old.internal" => Err(LookupError::NameUnknown), // gone for good
///     _ => SystemLookup.look_up(host, port),
/// };
/// assert_eq!(table.look_up("api.internal", 443), Ok(vec![SocketAddr::from(([10, 0, 0, 7], 443))]));
/// assert_eq!(table.look_up("old.internal", 443), Err(LookupError::NameUnknown));
/// let client = anyhost::Client::builder().base_urls("https://api.internal").lookup(table).build()?;
/// # Ok::<(), anyhost::Error>(())
/// ```
pub trait NameLookup: Send + Sync {
    /// The addresses of `host`, with `port`, in the order in which to try them. None at all is a
    /// failed lookup.
    ///
    /// # Errors
    /// [`LookupError::NameUnknown`] only where the name certainly does not exist.
    fn look_up(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, LookupError>;
}

impl<F> NameLookup for F
where
    F: Fn(&str, u16) -> Result<Vec<SocketAddr>, LookupError> + Send + Sync,
{
    fn look_up(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, LookupError> {
        self(host, port)
    }
}

/// The system's resolver, by `getaddrinfo`: hosts file, DNS and whatever else it is configured for.
///
/// Example: [`inject::NameLookup`](crate::inject::NameLookup).
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

impl NameLookup for SystemLookup {
    fn look_up(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, LookupError> {
        use dns_lookup::{AddrInfoHints, SockType, getaddrinfo};
        let hints = AddrInfoHints { socktype: SockType::Stream.into(), ..Default::default() };
        match getaddrinfo(Some(host), None, Some(hints)) {
            Ok(found) => {
                let mut peers = Vec::new();
                for entry in found.flatten() {
                    let mut peer = entry.sockaddr;
                    peer.set_port(port);
                    if !peers.contains(&peer) {
                        peers.push(peer);
                    }
                }
                Ok(peers)
            }
            Err(e) => Err(certain_or_failed(e)),
        }
    }
}

/// Tells certainty from failure by the code of `getaddrinfo`.
fn certain_or_failed(error: dns_lookup::LookupError) -> LookupError {
    use dns_lookup::LookupErrorKind::{NoData, NoName};
    match error.kind() {
        NoName | NoData => LookupError::NameUnknown,
        kind => LookupError::Failed {
            // EAI_SYSTEM says that errno has the reason.
            os_error: std::io::Error::from(error).raw_os_error().unwrap_or(0),
            detail: format!("the name could not be looked up: {kind:?}").into(),
        },
    }
}

type Found = Result<Vec<SocketAddr>, LookupError>;

/// A lookup under way, and those who wait for it.
struct Flight {
    begun: Instant,
    found: Mutex<Option<Found>>,
    landed: Condvar,
}

impl Flight {
    fn wait(
        &self,
        deadline: Deadline,
        interrupt: &Interrupt,
        meter: Option<&Meter>,
    ) -> Result<Vec<SocketAddr>, Failure> {
        let mut found = self.found.lock();
        loop {
            if let Some(found) = &*found {
                return found.clone().map_err(failure);
            }
            if let Some(meter) = meter {
                MutexGuard::unlocked(&mut found, || meter.tick());
                // It may have landed meanwhile, with nobody waiting to be woken.
                if found.is_some() {
                    continue;
                }
            }
            if interrupt.is_triggered() {
                return Err(Failure::cancelled());
            }
            deadline.check()?;
            let due = sys::now().checked_add(meter::due_in(meter));
            match deadline.at().into_iter().chain(due).min() {
                None => self.landed.wait(&mut found),
                Some(at) => {
                    self.landed.wait_until(&mut found, at);
                }
            }
        }
    }
}

/// All who wait look again, and only the one whose call is over leaves.
impl Wake for Flight {
    fn wake(&self) {
        // Nobody is between looking and waiting once the lock was free.
        drop(self.found.lock());
        self.landed.notify_all();
    }
}

#[derive(Default)]
struct State {
    flights: HashMap<Key, Arc<Flight>>,
    known: Known,
    /// Threads of a parent process do not exist in its child.
    forks: u32,
}

/// Names and their lookups, shared by all endpoints of a transport.
pub(super) struct Names {
    source: Arc<dyn NameLookup>,
    state: Arc<Mutex<State>>,
}

impl Names {
    pub(super) fn new(source: Arc<dyn NameLookup>) -> Self {
        Names { source, state: Arc::default() }
    }

    /// The addresses of `host`, which may be an IP literal.
    pub(super) fn find(
        &self,
        host: &str,
        port: u16,
        deadline: Deadline,
        interrupt: &Interrupt,
        meter: Option<&Meter>,
    ) -> Result<Vec<SocketAddr>, Failure> {
        if let Some(ip) = literal(host) {
            return Ok(vec![SocketAddr::new(ip, port)]);
        }
        let key = (host.to_owned(), port);
        let (fresh, stale) = {
            let (known, now) = (&self.state.lock().known, sys::now());
            (known.fresh(&key, now), known.stale(&key, now))
        };
        if let Some(fresh) = fresh {
            return Ok(fresh);
        }
        match (self.ask(&key, deadline, stale.is_some(), interrupt, meter), stale) {
            (Err(failure), Some(stale))
                if !matches!(failure.cause, Cause::NameUnknown | Cause::Cancelled) =>
            {
                deadline.check()?;
                Ok(stale)
            }
            (found, _) => found,
        }
    }

    /// No connection came about with any address of `host`.
    pub(super) fn doubt(&self, host: &str, port: u16) {
        self.state.lock().known.doubt(&(host.to_owned(), port));
    }

    /// Looks a name up, or waits for who does. With a stand-in at hand there is less patience.
    fn ask(
        &self,
        key: &Key,
        deadline: Deadline,
        stand_in: bool,
        interrupt: &Interrupt,
        meter: Option<&Meter>,
    ) -> Result<Vec<SocketAddr>, Failure> {
        let flight = self.join(key)?;
        let mut until = deadline;
        if stand_in {
            // Half of what is left is for the connection itself.
            let half = deadline.left()?.map(|left| sys::now() + left / 2);
            until = until
                .or_earlier(half, Limit::Connect)
                .or_earlier(Some(flight.begun + PATIENCE), Limit::Connect);
        }
        // One who comes too late to be woken finds the interrupt triggered.
        let _ = interrupt.watch(&flight);
        let found = flight.wait(until, interrupt, meter);
        interrupt.forget(&flight);
        found
    }

    /// The lookup of this name that is under way, or a new one.
    fn join(&self, key: &Key) -> Result<Arc<Flight>, Failure> {
        let mut state = self.state.lock();
        if state.forks != platform::forks() {
            *state = State { forks: platform::forks(), ..State::default() };
        }
        if let Some(flight) = state.flights.get(key) {
            return Ok(flight.clone());
        }
        // Each flight has its thread, and leaves together with it.
        if state.flights.len() >= MAX_LOOKUPS {
            return Err(Failure::new(Cause::NameLookup, "too many names are being looked up"));
        }
        let flight =
            Arc::new(Flight { begun: sys::now(), found: Mutex::default(), landed: Condvar::new() });
        let (ours, shared, source) = (flight.clone(), self.state.clone(), self.source.clone());
        let name = key.clone();
        thread::Builder::new()
            .name("anyhost-lookup".into())
            .spawn(move || {
                let found = answer(&*source, &name);
                shared.lock().land(&name, &found);
                *ours.found.lock() = Some(found);
                ours.landed.notify_all();
            })
            .map_err(|e| Failure::of_system(&e))?;
        state.flights.insert(key.clone(), flight.clone());
        Ok(flight)
    }
}

impl State {
    /// A lookup is over.
    fn land(&mut self, name: &Key, found: &Found) {
        self.flights.remove(name);
        match found {
            Ok(peers) => self.known.learn(name, peers.clone(), sys::now()),
            Err(LookupError::NameUnknown) => self.known.forget(name),
            Err(LookupError::Failed { .. }) => {}
        }
    }
}

/// Asks the source. An answer without addresses is no certainty that there are none: it is what broken
/// resolvers and half-filled registries give.
fn answer(source: &dyn NameLookup, (host, port): &Key) -> Found {
    let failed =
        |detail: &'static str| Err(LookupError::Failed { os_error: 0, detail: detail.into() });
    match catch_unwind(AssertUnwindSafe(|| source.look_up(host, *port))) {
        Ok(Ok(peers)) if peers.is_empty() => failed("the lookup found no address"),
        Ok(found) => found,
        Err(_) => failed("the lookup panicked"),
    }
}

fn failure(error: LookupError) -> Failure {
    match error {
        LookupError::NameUnknown => Failure::new(Cause::NameUnknown, "the name does not exist"),
        LookupError::Failed { os_error, detail } => {
            Failure { os_error, ..Failure::new(Cause::NameLookup, detail) }
        }
    }
}

/// The address that `host` spells out, with or without the brackets of a URL.
pub(super) fn literal(host: &str) -> Option<IpAddr> {
    bare(host).parse().ok()
}

/// A URL's host without the brackets of an IPv6 literal.
pub(super) fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::Limit;
    use crate::sys;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::time::Duration;

    fn within(time: Duration) -> Deadline {
        Deadline::new(Some(sys::now() + time), Limit::Connect)
    }

    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn literals_are_never_looked_up() {
        let names = Names::new(Arc::new(|_: &str, _| -> Found { panic!("asked") }));
        let at = |host| names.find(host, 7, within(LONG), &Interrupt::new(), None).unwrap();
        assert_eq!(at("127.0.0.9"), [SocketAddr::from(([127, 0, 0, 9], 7))]);
        assert_eq!(at("[::1]"), ["[::1]:7".parse().unwrap()]);
    }

    #[test]
    fn those_who_ask_at_a_time_share_one_lookup() {
        let (asked, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(2)));
        let (count, closed) = (asked.clone(), gate.clone());
        let names = Names::new(Arc::new(move |_: &str, port: u16| {
            count.fetch_add(1, SeqCst);
            closed.wait();
            Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))])
        }));
        // Nothing lands before the gate opens, so all of these are on one flight.
        let flights: Vec<_> =
            (0..5).map(|_| names.join(&("a.test".to_owned(), 1)).unwrap()).collect();
        gate.wait();
        for flight in flights {
            let mut found = flight.found.lock();
            while found.is_none() {
                flight.landed.wait(&mut found);
            }
        }
        assert_eq!(asked.load(SeqCst), 1);
    }

    #[test]
    fn a_lookup_that_hangs_holds_nobody_and_eight_are_the_most() {
        let gate = Arc::new(Barrier::new(MAX_LOOKUPS + 1));
        let closed = gate.clone();
        let names = Names::new(Arc::new(move |_: &str, _: u16| {
            closed.wait();
            Err(LookupError::NameUnknown)
        }));
        for n in 0..MAX_LOOKUPS {
            let failure = names
                .find(
                    &format!("{n}.test"),
                    1,
                    within(Duration::from_millis(5)),
                    &Interrupt::new(),
                    None,
                )
                .unwrap_err();
            assert_eq!(failure.cause, Cause::TimedOut(Limit::Connect));
        }
        let refused =
            names.find("one-more.test", 1, within(LONG), &Interrupt::new(), None).unwrap_err();
        assert_eq!(refused.cause, Cause::NameLookup);
        gate.wait();
    }

    #[test]
    fn certainty_is_told_from_failure() {
        let cause = |error: LookupError| {
            Names::new(Arc::new(move |_: &str, _: u16| Err(error.clone())))
                .find("a.test", 1, within(LONG), &Interrupt::new(), None)
                .unwrap_err()
                .cause
        };
        assert_eq!(cause(LookupError::NameUnknown), Cause::NameUnknown);
        let failed = LookupError::Failed { os_error: 0, detail: "".into() };
        assert_eq!(cause(failed), Cause::NameLookup);
        let empty = Names::new(Arc::new(|_: &str, _: u16| Ok(Vec::new())));
        assert_eq!(
            empty.find("a.test", 1, within(LONG), &Interrupt::new(), None).unwrap_err().cause,
            Cause::NameLookup,
            "an empty answer is no certainty"
        );
    }

    fn peers(last: u8) -> Vec<SocketAddr> {
        vec![SocketAddr::from(([127, 0, 0, last], 1))]
    }

    /// A source that gives these answers, one after the other, and then panics.
    fn giving(answers: Vec<Found>) -> Names {
        let answers = Mutex::new(answers.into_iter());
        Names::new(Arc::new(move |_: &str, _: u16| {
            answers.lock().next().unwrap_or_else(|| panic!("asked once too often"))
        }))
    }

    #[test]
    fn a_fresh_answer_is_not_asked_for_again() {
        let names = giving(vec![Ok(peers(1)), Ok(peers(2))]);
        for _ in 0..5 {
            assert_eq!(
                names.find("a.test", 1, within(LONG), &Interrupt::new(), None).unwrap(),
                peers(1)
            );
        }
        names.doubt("a.test", 1);
        assert_eq!(
            names.find("a.test", 1, within(LONG), &Interrupt::new(), None).unwrap(),
            peers(2)
        );
    }

    #[test]
    fn the_last_good_answer_stands_in_for_a_failed_lookup_only() {
        let failed = || Err(LookupError::Failed { os_error: 0, detail: "".into() });
        let answers = vec![Ok(peers(1)), failed(), Ok(vec![]), Err(LookupError::NameUnknown)];
        let names = giving(answers);
        for what in ["good", "failed", "empty"] {
            assert_eq!(
                names.find("a.test", 1, within(LONG), &Interrupt::new(), None),
                Ok(peers(1)),
                "{what}"
            );
            names.doubt("a.test", 1);
        }
        let cause = |names: &Names| {
            names.find("a.test", 1, within(LONG), &Interrupt::new(), None).unwrap_err().cause
        };
        assert_eq!(cause(&names), Cause::NameUnknown, "certain, so nothing stands in");
        assert_eq!(cause(&names), Cause::NameLookup, "and nothing is left: the source panics");
    }

    #[test]
    fn a_stand_in_shortens_the_wait_for_a_resolver_that_hangs() {
        let gate = Arc::new(Barrier::new(2));
        let (asked, closed) = (AtomicUsize::new(0), gate.clone());
        let names = Names::new(Arc::new(move |_: &str, _: u16| {
            match asked.fetch_add(1, SeqCst) {
                0 => {}
                1 => drop(closed.wait()),
                _ => panic!("asked once too often"),
            }
            Ok(peers(asked.load(SeqCst) as u8))
        }));
        let find = |time| {
            let began = sys::now();
            let found = names.find("a.test", 1, within(time), &Interrupt::new(), None).unwrap();
            (found, sys::now() - began)
        };
        assert_eq!(find(LONG).0, peers(1));
        names.doubt("a.test", 1);
        let half = Duration::from_millis(100);
        let (found, took) = find(2 * half);
        assert!(found == peers(1) && took >= half && took < half * 3 / 2, "{took:?}");
        let (found, took) = find(LONG);
        assert!(found == peers(1) && took < PATIENCE, "{took:?}, since the lookup began before");
        let (_, took) = find(LONG);
        assert!(took < half, "patience is for a lookup, not for each who waits: {took:?}");

        let flight = names.join(&("a.test".to_owned(), 1)).unwrap();
        gate.wait();
        let mut found = flight.found.lock();
        while found.is_none() {
            flight.landed.wait(&mut found);
        }
        assert_eq!(find(LONG).0, peers(2), "what it finds late is not lost");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn codes_decide_and_not_texts() {
        let unknown = |code| {
            certain_or_failed(dns_lookup::LookupError::new(code)) == LookupError::NameUnknown
        };
        assert!(unknown(libc::EAI_NONAME) && unknown(libc::EAI_NODATA));
        for code in [libc::EAI_AGAIN, libc::EAI_FAIL, libc::EAI_SYSTEM, libc::EAI_MEMORY] {
            assert!(!unknown(code), "{code}");
        }
    }

    #[test]
    fn the_system_knows_localhost() {
        let found = Names::new(Arc::new(SystemLookup))
            .find("localhost", 80, within(LONG), &Interrupt::new(), None)
            .unwrap();
        assert!(found.iter().all(|a| a.ip().is_loopback() && a.port() == 80), "{found:?}");
    }

    #[test]
    fn a_panic_of_the_lookup_is_a_failure() {
        let names = Names::new(Arc::new(|_: &str, _: u16| -> Found { panic!("on purpose") }));
        assert_eq!(
            names.find("a.test", 1, within(LONG), &Interrupt::new(), None).unwrap_err().cause,
            Cause::NameLookup
        );
    }
}
