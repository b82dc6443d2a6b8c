//! The keyed breaker by itself, for what is not HTTP: a database, a queue, a licence server.
//!
//! One circuit per key, with the meaning of seed 001: ask before each attempt, report after it.
//! Callers carry no tickets, so every outcome counts, also one that comes in after the circuit
//! opened (B-23, B-24); an attempt that is never reported costs one window if it was a probe (B-11).
//!
//! Three differences from the seed: the maximum is kept with jitter too (B-B1), settings that make a
//! breaker useless are refused (B-B10), and keys that went quiet are dropped (B-B9).
//!
//! Flow: none of a client's. `allow`, the caller's own attempt, `record_success` or `record_failure`.
//!
//! Not here: the arithmetic (`decide::circuit`); the circuits of a client's endpoints, which carry
//! tickets and live in its pool.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::decide::{BreakerSettings, Circuit};
use crate::sys::{Clock, Rng, SystemClock};

/// Circuit breakers by key, shared between threads.
///
/// A key costs memory only from its first failure until its success, or until it went quiet: until
/// its retry time and one more [maximum wait](BreakerSettings::new) have passed without a report,
/// which is at most two maximum waits after its last failure or probe. Quiet keys are dropped when
/// the table has grown to twice its size after the last clean-up, so it never holds more entries
/// than the larger of 1,024 and twice the keys that were not quiet then. Until they are dropped,
/// failures do not age (B-22).
///
/// The methods hold a lock for a look-up and a little arithmetic. `Hash`, `Eq`, `Clone` and `Drop` of
/// the keys run inside it and must not call the same breaker.
///
/// # Examples
///
/// ```
/// use anyhost::{Breaker, BreakerSettings};
/// use std::time::Duration;
///
/// let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
/// let breaker: Breaker<String> = Breaker::new(BreakerSettings::new(3, second, minute, true)?);
/// for _ in 0..3 {
///     assert!(breaker.allow("packages.example.dev").is_ok());
///     breaker.record_failure("packages.example.dev");
/// }
/// let refused = breaker.allow("packages.example.dev").unwrap_err();
/// assert!(refused.wait <= minute);
///
/// breaker.record_success("packages.example.dev");
/// assert!(breaker.allow("packages.example.dev").is_ok());
/// # Ok::<(), anyhost::BreakerSettingsError>(())
/// ```
pub struct Breaker<K> {
    settings: BreakerSettings,
    clock: Arc<dyn Clock>,
    table: Mutex<Table<K>>,
}

struct Table<K> {
    circuits: HashMap<K, Circuit>,
    rng: Rng,
    /// The number of entries at which the next new key starts a clean-up.
    clean_at: usize,
}

impl<K: Hash + Eq> Breaker<K> {
    /// A breaker without failures, on the machine's clock and with jitter seeded by the system. `default()`
    /// is one with [`BreakerSettings::default`].
    pub fn new(settings: BreakerSettings) -> Self {
        let table =
            Table { circuits: HashMap::new(), rng: Rng::random(), clean_at: CLEAN_AT_LEAST };
        Breaker { settings, clock: Arc::new(SystemClock), table: Mutex::new(table) }
    }

    /// Takes the time from `clock`, in the place of the machine's.
    ///
    /// ```
    /// use anyhost::testing::ManualClock;
    /// use anyhost::{Breaker, BreakerSettings};
    /// use std::{sync::Arc, time::Duration};
    ///
    /// let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
    /// let clock = ManualClock::new();
    /// let settings = BreakerSettings::new(1, second, minute, false)?;
    /// let breaker: Breaker<&str> = Breaker::new(settings).clock(Arc::new(clock.clone()));
    /// assert_eq!(breaker.record_failure(&"db"), second);
    /// assert!(breaker.allow(&"db").is_err());
    /// clock.advance(second);
    /// assert!(breaker.allow(&"db").is_ok()); // the probe, one in each window
    /// assert!(breaker.allow(&"db").is_err());
    /// # Ok::<(), anyhost::BreakerSettingsError>(())
    /// ```
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Draws the jitter from `seed`: the same calls at the same times give the same waits (R17).
    ///
    /// ```
    /// # use anyhost::{Breaker, BreakerSettings, testing::ManualClock};
    /// # use std::sync::Arc;
    /// let first_wait = |seed| {
    ///     let breaker: Breaker<&str> = Breaker::new(BreakerSettings::default()).seed(seed);
    ///     breaker.clock(Arc::new(ManualClock::new())).record_failure(&"db")
    /// };
    /// assert_eq!(first_wait(7), first_wait(7));
    /// assert_ne!(first_wait(7), first_wait(8));
    /// ```
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.table.get_mut().rng = Rng::seeded(seed);
        self
    }

    /// Whether an attempt for `key` may be made now. Report its outcome.
    ///
    /// Below the threshold it always may. From the threshold on one attempt per window may: the
    /// probe, at the very instant the wait ends (B-4). Where the probe is never reported, another may
    /// be made a window later.
    ///
    /// # Errors
    ///
    /// [`CircuitOpen`] with the time left.
    pub fn allow<Q>(&self, key: &Q) -> Result<(), CircuitOpen>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        // The clock may be the caller's own code, so it is read outside the lock.
        let now = self.clock.now();
        let table = &mut *self.table.lock();
        let Some(circuit) = table.circuits.get_mut(key) else {
            return Ok(());
        };
        match circuit.enter(now, table.rng.next_u64()) {
            // Outcomes are reported by key here, so nobody keeps the ticket.
            Ok(_ticket) => Ok(()),
            Err(wait) => Err(CircuitOpen { wait }),
        }
    }

    /// Counts a failure and returns how long to stay away from `key`, also while its circuit is still
    /// closed (B-1). Never above the maximum.
    pub fn record_failure<Q>(&self, key: &Q) -> Duration
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let now = self.clock.now();
        let table = &mut *self.table.lock();
        let circuit = match table.circuits.get_mut(key) {
            Some(circuit) => circuit,
            None => {
                table.drop_quiet(now);
                let new = || Circuit::new(self.settings);
                table.circuits.entry(key.to_owned()).or_insert_with(new)
            }
        };
        circuit.fail(circuit.current_ticket(), None, now, table.rng.next_u64());
        circuit.wait(now)
    }

    /// Forgets `key` and its count: its circuit is closed.
    pub fn record_success<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.table.lock().circuits.remove(key);
    }
}

impl<K: Hash + Eq> Default for Breaker<K> {
    fn default() -> Self {
        Breaker::new(BreakerSettings::default())
    }
}

/// Shows the settings and how many keys there are, not the keys: they may be secrets.
impl<K> fmt::Debug for Breaker<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breaker")
            .field("settings", &self.settings)
            .field("keys", &self.table.lock().circuits.len())
            .finish_non_exhaustive()
    }
}

impl<K: Hash + Eq> Table<K> {
    /// Drops the quiet keys once there are enough entries for that to pay: each clean-up looks at
    /// no more entries than were added since the last one, twice over.
    fn drop_quiet(&mut self, now: Instant) {
        if self.circuits.len() < self.clean_at {
            return;
        }
        self.circuits.retain(|_, circuit| !circuit.is_quiet(now));
        self.clean_at = CLEAN_AT_LEAST.max(self.circuits.len() * 2);
        self.circuits.shrink_to(self.clean_at);
    }
}

/// The circuit of a key is open: nothing may be tried yet.
///
/// ```
/// use anyhost::{Breaker, BreakerSettings};
/// use std::time::Duration;
///
/// let (base, max) = (Duration::from_secs(1), Duration::from_secs(60));
/// let breaker: Breaker<&str> = Breaker::new(BreakerSettings::new(1, base, max, true).unwrap());
/// breaker.record_failure(&"db");
/// let open = breaker.allow(&"db").unwrap_err();
/// assert!(open.wait <= Duration::from_secs(60));
/// println!("{open}");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CircuitOpen {
    /// How long it stays so at least. Above 0, never above the maximum of the settings.
    pub wait: Duration,
}

impl fmt::Display for CircuitOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "circuit open for another {:?}", self.wait)
    }
}

impl std::error::Error for CircuitOpen {}

/// As many failing keys as are kept without looking for quiet ones: some 100 KiB, and as many as R16
/// keeps origins.
const CLEAN_AT_LEAST: usize = 1024;
