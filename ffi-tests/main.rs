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
//! What the plan of these tests asks for and where it is. "Later" needs functions or options that the
//! library does not have yet, or a tool beyond this suite:
//!
//! | plan | what | where |
//! |---|---|---|
//! | T1, T2, T5, T21, T29 | header, exports, guard, SONAME | `tests/keep` |
//! | T6 | what was promised stays | `abi.rs`, with `tests/keep/abi.rs` |
//! | T3, T8 | every number printed from C, and frozen | `numbers.rs` |
//! | T7 | comments of the header | `prototypes.rs` |
//! | T9 | smoke in C99 | `smoke.c`, `builder.c`, `request.c` |
//! | T10, T11 | NULL everywhere, wild integers | `generated.rs` |
//! | T12 | encoding, CR and LF | `request.c`, `errors.c` |
//! | T13 | errors reachable | `errors.c` |
//! | T14 | ownership | `ownership.c` |
//! | T15 | reading a body in pieces | `body.c`; later: with `stream` |
//! | T16, T17 | callbacks, re-entry | `events.c`; later: verdicts of judge and retry |
//! | T20 | panic | in `src/ffi` itself |
//! | T22 | foreign exceptions | `throw.cc` |
//! | T23 | SIGPIPE | `sigpipe.c`, plain and TLS |
//! | T24 | EINTR | in `tests/transport.rs` |
//! | T25 | fork | `fork.c`; later: half-read answers |
//! | T27 | static link with the documented list | every program; `programs.rs` |
//! | T32 | sanitizers | every program; `planted.c` |
//! | T33 | valgrind | `smoke.c`, `errors.c`, `ownership.c` |
//! | T35 | many threads | `threads.c`; later: with snapshots and updates |
//! | T37 | C++ | `smoke.cc`, `hpp.cc`, `hpp_codes.cc` |
//! | T30, T31, T40 | pkg-config, CMake, size | `packages.rs` |
//! | T39 | examples | `pages.rs` |
//! | T41 | ctypes | the package in `packaging/python`, and its tests, from its wheel |
//! | T42 | cffi | left out: the package needs nothing but ctypes |
//! | T43-T46 | LuaJIT, Ruby, Perl, Node | `scripts.rs` |
//! | T18, T19 | cancel, progress | later |
//! | T4 | a package that builds alone | the step "package" of CI |
//! | T26, T28, T34, T36, T38 | dlclose, two archives, TSan, fuzz, musl | later |

#[path = "../tests/support/mod.rs"]
mod support;

mod abi;
mod contract;
mod cplusplus;
mod generated;
mod numbers;
mod packages;
mod pages;
mod process;
mod programs;
mod prototypes;
mod scripts;
mod sequences;
mod toolbox;
