//! The one door through which time and chance enter.

mod clock;
#[cfg(feature = "testing")]
mod manual;
mod rng;

pub use clock::{Clock, SystemClock, now};
#[cfg(feature = "testing")]
pub use manual::ManualClock;
pub use rng::Rng;
