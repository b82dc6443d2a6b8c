//! Stops whatever a call is blocked on, from any thread.
//!
//! An interrupt is a flag that is never taken back, and a list of what to wake when it is set: a
//! cancel handle and a client wake their calls, a call wakes what it is blocked on. Of the ways to get
//! a thread out of a system call, this is `shutdown` of the very socket it is blocked on: it costs an
//! exchange nothing but two uncontended locks, where a pipe or an eventfd would turn each read into
//! a `poll` and a read. What cannot be shut down (a connection not yet made, on other systems than
//! Linux) looks at the flag in slices; so does every blocking call, as a second net.
//!
//! Nothing is lost, because whoever is about to block is listed first and looks at the flag then,
//! while the interrupt sets the flag first and reads the list then. Nobody else is hit, because what
//! is on the list is woken under its lock: a connection that was [forgotten](Interrupt::forget)
//! before it became idle is never shut down by a cancel that comes later.
//!
//! Flow: `client` makes one for each call → `current` → **interrupt** ← `lookup`, `dial`, `socket`.

use super::platform;
use crate::sys::Alarm;
use parking_lot::Mutex;
use std::fmt;
use std::net::{Shutdown, TcpStream};
use std::panic::RefUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Weak};

/// Something that blocks, or that has others to wake.
///
/// Example: [`inject::Interrupt`](crate::inject::Interrupt).
pub trait Wake: Send + Sync {
    /// Ends what is blocked now and will be. Called under a lock: it may not block.
    fn wake(&self);
}

/// On Linux this also ends a connect under way.
impl Wake for TcpStream {
    fn wake(&self) {
        // One that is closed already needs no waking.
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Wake for Alarm {
    fn wake(&self) {
        self.ring();
    }
}

impl Wake for Interrupt {
    fn wake(&self) {
        self.trigger();
    }
}

/// Whether the caller still wants the call, as a transport sees it.
///
/// A transport lists what it blocks on while it does so. A [`TcpStream`] is something to list: it is shut
/// down.
///
/// ```
/// use anyhost::inject::{Interrupt, Wake};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
///
/// /// A queue that somebody may be waiting at.
/// #[derive(Default)]
/// struct Queue {
///     closed: AtomicBool,
/// }
///
/// impl Wake for Queue {
///     fn wake(&self) {
///         self.closed.store(true, SeqCst);
///     }
/// }
///
/// let (interrupt, queue) = (Interrupt::new(), Arc::new(Queue::default()));
/// assert!(interrupt.watch(&queue)); // and now wait at the queue
/// interrupt.trigger(); // from another thread
/// assert!(queue.closed.load(SeqCst) && interrupt.is_triggered());
/// assert!(!interrupt.forget(&queue)); // it may have been woken: not to be used again
/// ```
#[derive(Default)]
pub struct Interrupt {
    triggered: AtomicBool,
    /// Each with the process it was listed in: a child shares sockets with its parent, and must not
    /// shut those of the parent down.
    targets: Mutex<Vec<(u32, Weak<dyn Wake>)>>,
}

/// No panic leaves the list half-changed: to wake is never the caller's code.
impl RefUnwindSafe for Interrupt {}

impl Interrupt {
    /// One that is not triggered.
    pub fn new() -> Self {
        Interrupt::default()
    }

    /// Whether it was triggered. Stays so.
    pub fn is_triggered(&self) -> bool {
        self.triggered.load(SeqCst)
    }

    /// Triggers it, and wakes what is listed.
    pub fn trigger(&self) {
        self.triggered.store(true, SeqCst);
        let forks = platform::forks();
        for (_, target) in self.targets.lock().iter().filter(|(listed, _)| *listed == forks) {
            if let Some(target) = target.upgrade() {
                target.wake();
            }
        }
    }

    /// Lists what is to be woken. `false` if it was triggered before, so that nothing may block now.
    #[must_use = "what was triggered before wakes nobody later"]
    pub fn watch<T: Wake + 'static>(&self, target: &Arc<T>) -> bool {
        let listed: Weak<T> = Arc::downgrade(target);
        let mut targets = self.targets.lock();
        targets.retain(|(_, other)| other.strong_count() > 0 && !same(other, target));
        targets.push((platform::forks(), listed));
        drop(targets);
        !self.is_triggered()
    }

    /// Takes it off the list: from here on it is not woken. `false` if it may have been before.
    pub fn forget<T: Wake + 'static>(&self, target: &Arc<T>) -> bool {
        self.targets.lock().retain(|(_, other)| !same(other, target));
        !self.is_triggered()
    }
}

fn same<T: Wake>(listed: &Weak<dyn Wake>, target: &Arc<T>) -> bool {
    std::ptr::addr_eq(listed.as_ptr(), Arc::as_ptr(target))
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").field("triggered", &self.is_triggered()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Bell(AtomicUsize);

    impl Wake for Bell {
        fn wake(&self) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    fn rung(bell: &Bell) -> usize {
        bell.0.load(SeqCst)
    }

    #[test]
    fn what_is_listed_is_woken_and_what_was_forgotten_is_not() {
        let (interrupt, a, b) = (Interrupt::new(), Arc::new(Bell::default()), Arc::default());
        assert!(interrupt.watch(&a) && interrupt.watch(&b) && interrupt.watch(&a));
        assert!(interrupt.forget(&b));
        interrupt.trigger();
        assert_eq!((rung(&a), rung(&b), interrupt.is_triggered()), (1, 0, true));
        assert!(!interrupt.watch(&b), "too late to block");
        assert!(!interrupt.forget(&a), "it was woken");
    }

    #[test]
    fn one_that_is_gone_is_no_longer_listed() {
        let interrupt = Interrupt::new();
        for _ in 0..100 {
            assert!(interrupt.watch(&Arc::new(Bell::default())));
        }
        assert_eq!(interrupt.targets.lock().len(), 1);
        interrupt.trigger();
    }

    #[test]
    fn a_handle_wakes_its_calls_and_they_what_they_block_on() {
        let (handle, client) = (Interrupt::new(), Interrupt::new());
        let (call, bell) = (Arc::new(Interrupt::new()), Arc::new(Bell::default()));
        assert!(handle.watch(&call) && client.watch(&call) && call.watch(&bell));
        client.trigger();
        assert_eq!((rung(&bell), call.is_triggered(), handle.is_triggered()), (1, true, false));
    }

    #[cfg(unix)]
    #[test]
    fn a_child_shuts_no_socket_of_its_parent_down() {
        let (interrupt, bell) = (Interrupt::new(), Arc::new(Bell::default()));
        assert!(interrupt.watch(&bell));
        // SAFETY: the child takes one lock that no other thread knows, and ends by `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            interrupt.trigger();
            // SAFETY: as above; ends the child at once.
            unsafe { libc::_exit(rung(&bell) as i32) };
        }
        let mut status = 0;
        // SAFETY: `child` is our child, and `status` is ours to write.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!((libc::WEXITSTATUS(status), libc::WIFEXITED(status)), (0, true));
        interrupt.trigger();
        assert_eq!(rung(&bell), 1);
    }
}
