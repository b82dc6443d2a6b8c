//! How to do one thing, a page each.
//!
//! | page | when |
//! |---|---|
//! | [`two_hosts`] | a service under two API hosts |
//! | [`mirrors`] | mirrors that share the load by weight |
//! | [`writes`] | a POST that must not happen twice |
//! | [`deadlines`] | answers within a second or none |
//! | [`tls`] | certificates of your own, client certificates, a proxy that opens TLS |
//! | [`attempts`] | what an attempt list says |
//! | [`breaker`] | when to leave a host alone, and for how long |
//! | [`proxies`] | proxies that fail and come back: whose fault it is, how long they are left alone |
//! | [`daemon`] | a C daemon with threads and fork |
//! | [`scripts`] | Python, and LuaJIT, Ruby, Perl and Node |
//! | [`watching`] | logs, tables, metrics |
//! | [`on_call`] | which host is out, since when, why, and when it is back |
//! | [`packaging`] | packages of distributions: what is installed, SONAME, features, licences |
//! | [`migrating`] | coming from libcurl, requests, ureq or reqwest |

#[doc = include_str!("two_hosts.md")]
pub mod two_hosts {}

#[doc = include_str!("mirrors.md")]
pub mod mirrors {}

#[doc = include_str!("writes.md")]
pub mod writes {}

#[doc = include_str!("deadlines.md")]
pub mod deadlines {}

#[doc = include_str!("tls.md")]
pub mod tls {}

#[doc = include_str!("attempts.md")]
pub mod attempts {}

#[doc = include_str!("breaker.md")]
pub mod breaker {}

#[doc = include_str!("proxies.md")]
pub mod proxies {}

#[doc = include_str!("daemon.md")]
pub mod daemon {}

#[doc = include_str!("scripts.md")]
pub mod scripts {}

#[doc = include_str!("watching.md")]
pub mod watching {}

#[doc = include_str!("migrating.md")]
pub mod migrating {}

#[doc = include_str!("on_call.md")]
pub mod on_call {}

#[doc = include_str!("packaging.md")]
pub mod packaging {}
