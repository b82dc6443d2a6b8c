//! What must hold for any bytes whatever, and the bytes that were found worth keeping.
//!
//! Each file is one check: a function of bytes that panics where something does not hold. `fuzz/` makes
//! a cargo-fuzz target of each; here the committed corpora are replayed, among them every input that
//! ever made a check fail.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run --fuzz-dir fuzz url -- -max_total_time=600
//! ```
//!
//! | check | of |
//! |---|---|
//! | `url.rs` | base URLs, and joining a path to one |
//! | `option.rs` | every option with any text |
//! | `config.rs` | a configuration of any text |
//! | `proxy_url.rs` | proxy URLs |
//! | `no_proxy.rs` | lists of hosts that no proxy is used for |
//! | `retry_after.rs` | Retry-After beside Date |
//! | `answer.rs` | whole calls over an in-memory transport that does anything |
//! | `wire.rs` | an answer of any bytes, over a socket |

// The checks of real sockets have limits; the ban protects the library's injected clock.
#![allow(clippy::disallowed_methods)]

mod answer;
#[cfg(feature = "config")]
mod config;
mod no_proxy;
mod option;
mod proxy_url;
mod retry_after;
mod url;
mod wire;

use std::fs;
use std::path::Path;

/// Runs a check with every file of its corpus.
fn replay(name: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let Ok(entries) = fs::read_dir(&folder) else {
        // The package has no corpora.
        println!("SKIPPED {name}: there is no {}", folder.display());
        return;
    };
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a listed file").path()).collect();
    files.sort();
    assert!(files.len() >= 4, "{} holds {} files", folder.display(), files.len());
    for file in files {
        // Shown where the check fails.
        println!("{}", file.display());
        check(&fs::read(file).expect("a file"));
    }
}

#[test]
fn urls() {
    replay("url", url::check);
}

#[test]
fn options() {
    replay("option", option::check);
}

#[cfg(feature = "config")]
#[test]
fn configurations() {
    replay("config", config::check);
}

#[test]
fn proxy_urls() {
    replay("proxy_url", proxy_url::check);
}

#[test]
fn lists_of_no_proxy() {
    replay("no_proxy", no_proxy::check);
}

#[test]
fn retry_afters() {
    replay("retry_after", retry_after::check);
}

#[test]
fn answers() {
    replay("answer", answer::check);
}

#[test]
fn bytes_on_the_wire() {
    replay("wire", wire::check);
}
