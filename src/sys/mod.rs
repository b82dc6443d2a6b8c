//! The one door through which time and chance enter.

mod clock;
mod rng;

pub use clock::{Clock, SystemClock, now};
pub use rng::Rng;
