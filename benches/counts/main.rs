//! What a call costs, in numbers that do not depend on the clock: instructions, allocations, system
//! calls. Each case runs twice in a process of its own, with few and with many calls, and the
//! difference is divided by the calls between: what a process does at its start falls out.
//!
//! ```sh
//! cargo bench --bench counts               # measure, and compare with benches/counts/table.md
//! cargo bench --bench counts -- --bless    # measure, and write that table
//! cargo bench --bench counts -- get post   # only cases whose name begins so
//! ```
//!
//! Needs valgrind, strace and a C compiler. A row that grew by more than 3 % fails the comparison.
//! Counts move with the compiler and the C library, and not alike in all rows: the table says whose it
//! is, and elsewhere growth is printed, the comparison is skipped by name, and nothing fails. Where a
//! program is missing the bench skips itself, or fails if `ANYHOST_REQUIRE_ALL` is 1, as tests do.
//!
//! | file | what it holds |
//! |---|---|
//! | `case.rs` | the rows, and what each does |
//! | `../support/server.rs` | the other side, in a process of its own so that it is not counted |
//! | `measure.rs` | runs a row under callgrind and strace |
//! | `table.rs` | the table: written, read, compared |

#[path = "../../tests/support/certs.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod certs;

mod case;
mod measure;
#[path = "../support/server.rs"]
mod server;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    match args.first().map(String::as_str) {
        Some("serve") => server::serve(),
        Some("run") => case::run(&args[1..]),
        _ => return compare(&args),
    }
    ExitCode::SUCCESS
}

fn compare(args: &[String]) -> ExitCode {
    let (flags, wanted): (Vec<_>, Vec<_>) = args.iter().partition(|arg| arg.starts_with("--"));
    let bless = flags.iter().any(|flag| *flag == "--bless");
    if let Err(missing) = measure::ready() {
        println!("SKIPPED counts: {missing}");
        return if measure::all_required() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    let peer = server::Peer::start();
    let bench = measure::Bench::new(&peer);
    let mut rows = Vec::new();
    for row in case::ROWS {
        if !wanted.is_empty() && !wanted.iter().any(|w| row.case.starts_with(w.as_str())) {
            continue;
        }
        if let Some(counts) = bench.measure(row) {
            let row = table::Row::new(row.case, row.subject, counts);
            println!("{row}");
            rows.push(row);
        }
    }
    let measured = table::Table { toolchain: measure::toolchain(), rows };
    if bless {
        return match table::read() {
            Some(old) if !wanted.is_empty() => measured.over(old).write(),
            _ => measured.write(),
        };
    }
    measured.compare()
}
