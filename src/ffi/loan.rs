//! An object that one caller at a time may change, and that callbacks can find in use.
//!
//! What is changed is taken out, worked on, and put back. So no lock is held while a callback runs; a
//! callback that reaches for the same object gets an error instead of a deadlock; and what a panic
//! broke is gone instead of half-changed.

use crate::{Error, Result, Status};
use parking_lot::Mutex;

/// A place for an object that may be out.
pub(super) struct Loan<T> {
    object: Mutex<Option<T>>,
    /// Why it may be out, for the error.
    out: &'static str,
}

impl<T> Loan<T> {
    pub(super) fn new(object: T, out: &'static str) -> Self {
        Loan { object: Mutex::new(Some(object)), out }
    }

    /// Takes the object for good.
    pub(super) fn take(&self) -> Result<T> {
        self.object.lock().take().ok_or_else(|| Error::new(Status::State, self.out))
    }

    /// Works on the object.
    pub(super) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Result<R> {
        let mut object = self.take()?;
        let result = work(&mut object);
        *self.object.lock() = Some(object);
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn what_is_out_cannot_be_had_twice() {
        let loan = Loan::new(1, "it is out");
        let inner = loan.with(|n| {
            *n += 1;
            loan.with(|_| ()).unwrap_err()
        });
        let inner = inner.unwrap();
        assert_eq!((inner.status(), inner.to_string().as_str()), (Status::State, "it is out"));
        assert_eq!(loan.take().unwrap(), 2);
        assert_eq!(loan.with(|_| ()).unwrap_err().status(), Status::State);
    }

    #[test]
    fn what_a_panic_broke_is_gone() {
        let loan = Loan::new(1, "it is out");
        catch_unwind(AssertUnwindSafe(|| loan.with(|_| panic!("planted")))).unwrap_err();
        assert_eq!(loan.take().unwrap_err().status(), Status::State);
    }
}
