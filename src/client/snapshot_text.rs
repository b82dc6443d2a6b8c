//! A snapshot on one screen.

use super::snapshot::{Member, Snapshot, Transition};
use crate::decide::{Kind, Reason, State};
use std::fmt;
use std::time::Duration;

const HEADINGS: [&str; 9] =
    ["member", "state", "for", "weight", "attempts", "failed", "running", "wait", "why"];

/// A table, a line for each member, as wide as its longest texts; it ends with a line feed.
///
/// `for` is how long it has been eligible, or has not: failed probes do not begin it anew. `wait` is how long it
/// will be left alone. The last column also says which endpoint a failover prefers, and how much longer.
///
/// ```text
/// member             state     for          weight     attempts  failed  running  wait   why
/// https://a.example  cooling   25.8 s       10/1000         120       3        0  4.2 s  refused
/// https://b.example  eligible  12 min 41 s  1000/1000       841       0        2  -      -
/// ```
impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<[String; 9]> = self.members().iter().map(row).collect();
        let width = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([HEADINGS[column].len()]).max().unwrap_or(0)
        };
        let widths: [usize; 9] = std::array::from_fn(width);
        line(f, &HEADINGS.map(str::to_owned), &widths)?;
        rows.iter().try_for_each(|row| line(f, row, &widths))
    }
}

/// Numbers to the right, the last column as it is.
fn line(f: &mut fmt::Formatter<'_>, cells: &[String; 9], widths: &[usize; 9]) -> fmt::Result {
    for (column, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        match column {
            4..=6 => write!(f, "{cell:>width$}  ")?,
            8 => writeln!(f, "{cell}")?,
            _ => write!(f, "{cell:<width$}  ")?,
        }
    }
    Ok(())
}

fn row(member: &Member) -> [String; 9] {
    [
        // A proxy may have the label of an endpoint.
        match member.kind() {
            Kind::Endpoint => member.label().to_owned(),
            Kind::Proxy => format!("proxy {}", member.label()),
        },
        member.state().name().to_owned(),
        short(match member.state() {
            State::Eligible => member.since(),
            _ => member.out_for(),
        }),
        format!("{}/{}", member.weight(), member.max_weight()),
        member.attempts().to_string(),
        member.failures().to_string(),
        member.in_flight().to_string(),
        if member.cooling().is_zero() { "-".to_owned() } else { short(member.cooling()) },
        why(member),
    ]
}

fn why(member: &Member) -> String {
    let last = match (member.reason(), member.state()) {
        (Reason::None, _) => String::new(),
        (_, State::Disabled) if !member.detail().is_empty() => member.detail().to_owned(),
        // Nothing has failed since it was enabled.
        (Reason::Operator, State::Eligible) => "enabled".to_owned(),
        (reason, State::Eligible) => format!("last failed: {}", reason.words()),
        (reason, _) => reason.words().to_owned(),
    };
    match (member.held.is_zero(), last.is_empty()) {
        (true, true) => "-".to_owned(),
        (true, false) => last,
        (false, true) => format!("preferred for {}", short(member.held)),
        (false, false) => format!("preferred for {}; {last}", short(member.held)),
    }
}

/// One line: how long ago, from which state to which, why.
impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Transition { ago, from, to, reason, .. } = self;
        write!(f, "{} ago: {} -> {} ({})", short(*ago), from.name(), to.name(), reason.name())
    }
}

/// As exact as a reader needs it.
fn short(time: Duration) -> String {
    match time.as_millis() {
        ms @ 0..1000 => format!("{ms} ms"),
        ms @ 1000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        ms @ 60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
        ms => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_exact_as_a_reader_needs() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1000, "1.0 s"),
            (59_999, "59.9 s"),
            (60_000, "1 min 0 s"),
            (3_599_999, "59 min 59 s"),
            (3_600_000, "1 h 0 min"),
            (90_060_000, "25 h 1 min"),
        ] {
            assert_eq!(short(Duration::from_millis(ms)), text);
        }
    }
}
