//! The manual: how to use anyhost, how it is built, and why.
//!
//! | page | what it says |
//! |---|---|
//! | [`tutorial`] | from the first call to a client that one can leave alone |
//! | [`howto`] | one task each: two hosts, mirrors, writes, deadlines, TLS, daemons, scripts, watching, migrating |
//! | [`first_hour`] | six people with a fresh clone: what they typed, and what made them stop |
//! | [`architecture`] | layers, the flow of a call, where a change goes |
//! | [`glossary`] | the words of code, header and documents |
//! | [`defaults`] | every option: default, bounds, reason |
//! | [`vectors`] | the numbered rules of the sources: which test keeps each, which ruling replaces it |
//! | [`field`] | what users of such clients reported: what is right here, and which test keeps it |
//! | [`security`] | who is trusted with what, every limit, and the test that keeps it |
//! | [`faults`] | kinds of fault, ways to choose, methods: a table from a run |
//! | [`design`] | questions that come up, and their answers |
//! | [`performance`] | what a call costs, beside what it was to cost, and how to measure it |
//! | [`testing`] | which kind of test to write, and how to run them |
//! | [`ffi_tests`] | the tests of the C contract, by the numbers of their plan |
//! | [`releasing`] | what to check before a release |

#[doc = include_str!("tutorial.md")]
pub mod tutorial {}

pub mod howto;

#[doc = include_str!("first_hour.md")]
pub mod first_hour {}

#[doc = include_str!("architecture.md")]
pub mod architecture {}

#[doc = include_str!("glossary.md")]
pub mod glossary {}

#[doc = include_str!("defaults.md")]
pub mod defaults {}

#[doc = include_str!("vectors.md")]
pub mod vectors {}

#[doc = include_str!("field.md")]
pub mod field {}

#[doc = include_str!("security.md")]
pub mod security {}

#[doc = include_str!("faults.md")]
pub mod faults {}

#[doc = include_str!("design.md")]
pub mod design {}

#[doc = include_str!("performance.md")]
pub mod performance {}

#[doc = include_str!("testing.md")]
pub mod testing {}

#[doc = include_str!("ffi_tests.md")]
pub mod ffi_tests {}

#[doc = include_str!("releasing.md")]
pub mod releasing {}
