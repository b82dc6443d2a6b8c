//! The one door through which time and chance enter.

mod alarm;
mod clock;
#[cfg(feature = "testing")]
mod manual;
mod rng;

pub use alarm::Alarm;
pub use clock::{Clock, SystemClock, now};
#[cfg(feature = "testing")]
pub use manual::ManualClock;
pub use rng::Rng;
