//! The caller's own code, and what it may do to a call: say its word, and nothing else.
//!
//! A callback that panics changes nothing (ruling R11): the panic has been reported by the panic
//! hook, and the call goes on as if there were no such callback.

use super::attempt::Attempt;
use super::event::Event;
use super::log;
use super::response::Response;
use crate::decide::{Advice, Verdict};
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) type Observer = Box<dyn Fn(&Event<'_>) + Send + Sync>;
pub(crate) type Judge = Box<dyn Fn(&mut Response) -> Verdict + Send + Sync>;
pub(crate) type Retry = Box<dyn Fn(&Attempt) -> Advice + Send + Sync>;

/// What a client calls back.
#[derive(Default)]
pub(crate) struct Callbacks {
    pub(crate) on_event: Option<Observer>,
    pub(crate) judge: Option<Judge>,
    pub(crate) retry: Option<Retry>,
}

impl Callbacks {
    /// Whether anybody watches.
    pub(crate) fn observed(&self) -> bool {
        self.on_event.is_some() || log::enabled()
    }

    pub(crate) fn tell(&self, event: &Event<'_>) {
        if log::enabled() {
            log::write(event);
        }
        if let Some(observer) = &self.on_event {
            contained(|| observer(event));
        }
    }

    /// What the judge says of an answer, which has the attempts before it.
    pub(crate) fn verdict(&self, answer: &mut Response, attempts: &[Attempt]) -> Verdict {
        let Some(judge) = &self.judge else { return Verdict::Default };
        answer.attempts = attempts.to_vec();
        contained(|| judge(answer))
    }

    pub(crate) fn advice(&self, attempt: &Attempt) -> Advice {
        self.retry.as_ref().map_or(Advice::Default, |retry| contained(|| retry(attempt)))
    }
}

pub(super) fn contained<T: Default>(callback: impl FnOnce() -> T) -> T {
    // What the callback has left half-changed is its own.
    catch_unwind(AssertUnwindSafe(callback)).unwrap_or_else(|payload| {
        // Dropping a payload may panic once more.
        std::mem::forget(payload);
        T::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_that_panics_says_nothing() {
        assert_eq!(contained(|| -> Verdict { panic!("planted") }), Verdict::Default);
        assert_eq!(contained(|| Verdict::Fault), Verdict::Fault);
    }
}
