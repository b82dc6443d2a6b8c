//! The rules of the seeds and of the rulings as numbered vectors: data in, numbers out.
//!
//! Each assertion names its vector, so that a failure leads back to the rule. Single machines are fed
//! with values; a whole client runs against a scripted network, in virtual time.

#[path = "vectors/breaker.rs"]
mod breaker;
#[path = "vectors/budget.rs"]
mod budget;
#[path = "vectors/cancel.rs"]
mod cancel;
#[path = "vectors/choice.rs"]
mod choice;
#[path = "vectors/circuit.rs"]
mod circuit;
#[path = "vectors/cooling.rs"]
mod cooling;
#[path = "vectors/failover.rs"]
mod failover;
#[path = "vectors/limits.rs"]
mod limits;
#[path = "vectors/list.rs"]
mod list;
#[path = "vectors/network.rs"]
mod network;
#[path = "vectors/proxies.rs"]
mod proxies;
#[path = "vectors/redirects.rs"]
mod redirects;
#[path = "vectors/retry.rs"]
mod retry;
#[path = "vectors/retry_after.rs"]
mod retry_after;
#[path = "vectors/scripted.rs"]
mod scripted;
#[path = "vectors/stream.rs"]
mod stream;
#[path = "vectors/timeouts.rs"]
mod timeouts;
#[path = "vectors/ways.rs"]
mod ways;
#[path = "vectors/weights.rs"]
mod weights;
