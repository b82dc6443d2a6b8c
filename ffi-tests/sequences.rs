//! Call sequences made of bytes (`fuzz.c`), under the sanitizers: a committed corpus, and some more of a
//! seed. `ANYHOST_SEED` chooses another seed, `ANYHOST_FUZZ` how many sequences.

use crate::sequence_server;
use crate::support::*;
use crate::toolbox::{Build, compile, root};
use std::path::PathBuf;

/// The files that were found worth keeping, each for what it reaches.
fn corpus() -> Vec<PathBuf> {
    let folder = root().join("ffi-tests/corpus");
    let entries = std::fs::read_dir(&folder).expect("the corpus is in the tree");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files
}

#[allow(clippy::disallowed_methods, reason = "a switch of the tests, never read by the library")]
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

/// How many calls a run made.
fn calls(said: &str) -> u64 {
    said.trim_end().strip_suffix(" calls").and_then(|n| n.parse().ok()).expect("a number of calls")
}

#[test]
fn the_corpus_is_replayed() {
    let program = compile("fuzz.c", Build::Sanitized);
    let (server, refusing) = (sequence_server::start(), refusing_address());
    let mut arguments = vec![server.url(), refusing.url()];
    let files = corpus();
    assert!(files.len() >= 16, "{files:?}");
    arguments.extend(files.iter().map(|file| file.to_str().expect("ASCII").to_owned()));
    let made = calls(&program.run(&arguments).passed());
    println!("{made} calls of {} files", files.len());
    assert!(made > 1000, "{made}");
    assert!(server.requests().len() > 20, "the sequences reach the server");
}

#[test]
fn sequences_of_a_seed() {
    let program = compile("fuzz.c", Build::Sanitized);
    let (server, refusing) = (sequence_server::start(), refusing_address());
    let (seed, count) = (setting("ANYHOST_SEED", 1), setting("ANYHOST_FUZZ", 2000));
    let arguments =
        [server.url(), refusing.url(), "--seed".into(), seed.to_string(), count.to_string()];
    let made = calls(&program.run(&arguments).passed());
    println!("{made} calls of {count} sequences from seed {seed} on");
}
