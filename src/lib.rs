//! A blocking HTTP client for a service that lives under more than one host.

#[doc(hidden)]
pub mod decide;
#[doc(hidden)]
pub mod sys;
#[doc(hidden)]
pub mod transport;

pub use decide::{
    Advice, Backoff, BackoffError, BreakerSettings, BreakerSettingsError, Delivery, Execution,
    IntoTimeoutPolicy, InvalidStatusSet, InvalidValue, Phase, Reason, Resend, State, StatusSet,
    Timeout, TimeoutPolicy, Verdict, WeightError, WeightStrategy, WhenNoneEligible,
};
