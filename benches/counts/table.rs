//! The committed table, and what may differ from it.

use super::measure::Counts;
use std::fmt;
use std::process::ExitCode;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/counts/table.md");
const HEAD: &str = "\
# What a call costs

Written by `cargo bench --bench counts -- --bless`; the same without `--bless` compares. Counts per
call, of the client's process alone. `bare ureq`: its Rust API, without timeouts, with the features we
build it with (no gzip, so one header less). `anyhost`: everything on (deadline, connect limit, retries
with a budget, breaker, weighted selection); `C`: the same through `anyhost.h`. `failover`: the first of
two endpoints refuses, every time. `layer`: a whole call over a network that answers at once.
`decisions`: what such a call decides; `pick`: the choice of an endpoint, a part of that.
";

/// By how much a count may grow.
const MAY_GROW: f64 = 1.03;

pub struct Row {
    case: String,
    subject: String,
    counts: Counts,
}

impl Row {
    pub fn new(case: &str, subject: &str, counts: Counts) -> Self {
        Row { case: case.to_owned(), subject: subject.to_owned(), counts }
    }

    fn parse(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.strip_prefix("| ")?.split('|').map(str::trim).collect();
        let number = |cell: &str| cell.replace(',', "").parse().ok();
        let counts = Counts {
            instructions: number(cells.get(2)?)?,
            allocations: number(cells.get(3)?)?,
            system_calls: number(cells.get(4)?)?,
        };
        Some(Row::new(cells[0], cells[1], counts))
    }

    fn is_of(&self, other: &Row) -> bool {
        (&self.case, &self.subject) == (&other.case, &other.subject)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { instructions, allocations, system_calls } = self.counts;
        let instructions = thousands(instructions.round() as u64);
        let (case, subject) = (&self.case, &self.subject);
        write!(f, "| {case} | {subject} | {instructions} | {allocations:.1} | {system_calls:.1} |")
    }
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub struct Table {
    pub toolchain: String,
    pub rows: Vec<Row>,
}

/// The committed table.
pub fn read() -> Option<Table> {
    let text = std::fs::read_to_string(FILE).ok()?;
    let toolchain = text.lines().find_map(|line| line.strip_prefix("Toolchain: "))?;
    Some(Table {
        toolchain: toolchain.to_owned(),
        rows: text.lines().filter_map(Row::parse).collect(),
    })
}

impl Table {
    /// These rows, and of another table those that are not among them.
    pub fn over(self, old: Table) -> Table {
        let mut own: Vec<Row> = self.rows;
        let mut rows = Vec::new();
        for row in old.rows {
            match own.iter().position(|it| it.is_of(&row)) {
                Some(at) => rows.push(own.remove(at)),
                None => rows.push(row),
            }
        }
        rows.extend(own);
        Table { toolchain: self.toolchain, rows }
    }

    pub fn write(&self) -> ExitCode {
        let mut text = format!("{HEAD}\nToolchain: {}\n\n", self.toolchain);
        text += "| case | through | instructions | allocations | system calls |\n";
        text += "|---|---|---:|---:|---:|\n";
        for row in &self.rows {
            text += &format!("{row}\n");
        }
        std::fs::write(FILE, text).expect("the table can be written");
        ExitCode::SUCCESS
    }

    /// Fails where a count of the committed table has grown.
    pub fn compare(&self) -> ExitCode {
        let Some(old) = read() else {
            println!("no table at {FILE}");
            return ExitCode::FAILURE;
        };
        let mut grown = 0;
        for row in &self.rows {
            let Some(before) = old.rows.iter().find(|it| it.is_of(row)) else { continue };
            for what in row.counts.grown(&before.counts, MAY_GROW) {
                println!("GREW {}, {}: {what}", row.case, row.subject);
                grown += 1;
            }
        }
        if grown == 0 {
            println!("no count grew by more than 3 %");
            return ExitCode::SUCCESS;
        }
        if old.toolchain != self.toolchain {
            println!("SKIPPED the comparison: the table is of another toolchain");
            println!("  table: {}\n  here:  {}", old.toolchain, self.toolchain);
            return ExitCode::SUCCESS;
        }
        ExitCode::FAILURE
    }
}
