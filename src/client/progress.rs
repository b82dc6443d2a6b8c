//! Who watches a request on its way, and what that may do: end the call, and nothing else.

use super::callbacks::contained;
use super::error::{Error, Result};
use super::status::Status;
use crate::sys::Clock;
use crate::transport::{Interrupt, Transferred, Watcher};
use parking_lot::Mutex;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

type Callback = dyn FnMut(&Transferred) -> ControlFlow<()> + Send;

/// A request's progress callback, for all its calls.
pub(crate) struct Progress {
    every: Duration,
    callback: Arc<Mutex<Callback>>,
}

impl Progress {
    pub(super) fn new(
        every: Duration,
        callback: impl FnMut(&Transferred) -> ControlFlow<()> + Send + 'static,
    ) -> Result<Self> {
        if every.is_zero() {
            return Err(Error::of_option(
                Status::Range,
                "every",
                "progress is told at intervals above 0",
            ));
        }
        Ok(Progress { every, callback: Arc::new(Mutex::new(callback)) })
    }

    /// For one call.
    pub(super) fn watcher(&self, clock: &Arc<dyn Clock>, call: &Arc<Interrupt>) -> Arc<Watcher> {
        let callback = self.callback.clone();
        let tell = move |so_far: &Transferred| {
            // Busy on another thread, with another call of the same request, or on this one, within
            // itself: what there is to tell can wait for the next time.
            let Some(mut callback) = callback.try_lock() else { return ControlFlow::Continue(()) };
            match contained(|| callback(so_far).is_break()) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        Arc::new(Watcher::new(self.every, clock.clone(), call.clone(), tell))
    }
}
