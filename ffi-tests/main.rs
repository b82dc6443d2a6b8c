//! The C contract as its users meet it: programs in C, C++ and scripts against the finished library.
//!
//! Each `*.c` and `*.cc` beside this file is one idea and ends with the word `passed`. It is compiled
//! as C99 or C++11 without a warning, three times: with the shared library, with the static one, and
//! with the static one under the address and undefined-behaviour sanitizers; then run against
//! scripted servers of this process, which count what arrived. So a test is a program and what the
//! servers say of it.
//!
//! A tool that is missing is a named skip, and a failure where `ANYHOST_REQUIRE_ALL=1` (as in CI). The
//! C compiler is no such tool: without it nothing here has been tested.
//!
//! | file | what it holds |
//! |---|---|
//! | `toolbox.rs` | compilers, libraries, running a program |
//! | `programs.rs` | one test for each program: its servers, and what they must have seen |
//! | `field.rs` | what C callers reported, by number |
//! | `process.rs` | the library in the process of its host: signals, threads, forks, loading |
//! | `sequences.rs`, `corpus` | call sequences made of bytes (`sequence.h`), replayed by `fuzz.c` |
//! | `sequence_server.rs` | the server that they meet |
//! | `prototypes.rs` | the functions of the header, as data; what their comments say |
//! | `generated.rs` | programs made of them: every pointer NULL, every number wild |
//! | `numbers.rs`, `numbers.txt` | the promised numbers, frozen |
//! | `abi.rs` | programs that were compiled against what `include/symbols.txt` promises |
//! | `cplusplus.rs` | `anyhost.hpp` by every compiler and standard |
//! | `packages.rs` | what is installed, found by pkg-config and by CMake |
//! | `pages.rs` | the C and Python of README.md, and their examples |
//! | `contract.rs` | what the Python package knows of the header, made from it |
//! | `scripts.rs` | the Python package, and the examples in other languages |
//!
//! What each of them proves, by the numbers of their plan, is a page of the manual: `ffi_tests`.

#[path = "../tests/support/mod.rs"]
mod support;

mod abi;
mod contract;
mod cplusplus;
mod field;
mod generated;
mod numbers;
mod packages;
mod pages;
mod process;
mod programs;
mod prototypes;
mod scripts;
mod sequence_server;
mod sequences;
mod toolbox;
