//! Ending a call from outside: by its handle, or with its client.

use super::status::Status;
use crate::sys::{Alarm, Clock};
use crate::transport::{Interrupt, Meter};
use std::sync::Arc;
use std::time::Instant;

/// Ends calls early, from any thread.
///
/// A clone is the same handle. It can be given to any number of requests; triggered, it ends all their
/// calls, and at once those that begin later: a handle is not taken back, a new one is made.
///
/// A call ends within milliseconds wherever it is: in the look-up of a name, in connecting, in a
/// handshake, sending, waiting, reading, or between two attempts. One thing can only be waited for: the
/// caller's own code (a body's reader, a callback). The
/// call ends with [`Status::Cancelled`]; its last attempt, if one was cut short, has the reason
/// [`Cancelled`](crate::Reason::Cancelled) and says what is certain of the
/// [delivery](crate::Delivery): once sending had begun, a server may have received the request. It is
/// not sent again, and held against nobody (X-22). An answer that was complete before is handed out,
/// unless the call had moved on from it.
///
/// ```
/// use anyhost::{Cancel, Client, Status};
/// use std::thread;
///
/// # let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
/// # let client = Client::new(&format!("http://{}", silent.local_addr().unwrap()))?;
/// let cancel = Cancel::new();
/// let call = thread::spawn({
///     let cancel = cancel.clone();
///     move || client.get("/report").cancel(&cancel).send()
/// });
/// cancel.trigger();
/// assert_eq!(call.join().unwrap().unwrap_err().status(), Status::Cancelled);
/// assert!(cancel.is_triggered()); // from now on
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Interrupt>);

impl Cancel {
    /// A handle that is not triggered.
    pub fn new() -> Self {
        Cancel::default()
    }

    /// Ends the calls it was given to. Does not wait for them; a second time does nothing.
    pub fn trigger(&self) {
        self.0.trigger();
    }

    /// Whether it was triggered.
    pub fn is_triggered(&self) -> bool {
        self.0.is_triggered()
    }
}

/// A call that can be ended from outside for as long as a clone of this lives: until its answer is
/// complete, or the reader of its body is dropped (ruling R21).
#[derive(Debug, Clone)]
pub(crate) struct Interruptible {
    client: Arc<Interrupt>,
    /// What ends this call alone; none where only the end of its client does.
    own: Option<Arc<Own>>,
}

/// The interrupt of one call, on the lists of those that may end it.
#[derive(Debug)]
struct Own {
    call: Arc<Interrupt>,
    client: Arc<Interrupt>,
    cancel: Option<Cancel>,
}

impl Own {
    fn new(client: &Arc<Interrupt>, cancel: Option<&Cancel>) -> Self {
        let call = Arc::new(Interrupt::new());
        for by in cancel.map(|cancel| &cancel.0).into_iter().chain([client]) {
            if !by.watch(&call) {
                call.trigger();
            }
        }
        Own { call, client: client.clone(), cancel: cancel.cloned() }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        for by in self.cancel.iter().map(|cancel| &cancel.0).chain([&self.client]) {
            by.forget(&self.call);
        }
    }
}

impl Interruptible {
    /// A call of this client. `watched`: who watches it may end it.
    pub(crate) fn new(client: &Arc<Interrupt>, cancel: Option<&Cancel>, watched: bool) -> Self {
        let alone = cancel.is_some() || watched;
        let own = alone.then(|| Arc::new(Own::new(client, cancel)));
        Interruptible { client: client.clone(), own }
    }

    /// For the transport.
    pub(crate) fn interrupt(&self) -> &Arc<Interrupt> {
        self.own.as_ref().map_or(&self.client, |own| &own.call)
    }

    /// Nobody waits for the call any more.
    pub(crate) fn is_over(&self) -> bool {
        self.interrupt().is_triggered()
    }

    /// What such a call ends with.
    pub(crate) fn status(&self) -> Status {
        let cancel = self.own.as_ref().and_then(|own| own.cancel.as_ref());
        let cancelled = cancel.is_some_and(Cancel::is_triggered);
        // By its handle, or by who watches it; both may have come before the client was shut down.
        if cancelled || !self.client.is_triggered() { Status::Cancelled } else { Status::ShutDown }
    }

    /// Waits until the instant, or until the call is over; with a meter, in steps of its own.
    pub(crate) fn sleep_until(&self, instant: Instant, clock: &dyn Clock, meter: Option<&Meter>) {
        let alarm = Arc::new(Alarm::new());
        let mut wanted = self.interrupt().watch(&alarm);
        while wanted {
            let due = meter.and_then(|meter| clock.now().checked_add(meter.due_in()));
            let step = due.map_or(instant, |due| due.min(instant));
            clock.sleep_until_or_rung(step, &alarm);
            if let Some(meter) = meter {
                meter.tick();
            }
            // A clock that has not waited would not the next time either.
            wanted = step < instant && clock.now() >= step && !self.is_over();
        }
        self.interrupt().forget(&alarm);
    }
}
