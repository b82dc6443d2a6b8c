//! anyhost
pub mod decide;
pub mod sys;
pub mod transport;
