//! Every decision, as pure functions of values.
mod limits;
mod report;

pub use limits::Limits;
pub use report::{Cause, Ending, Limit, Phase, Report};
