//! Snapshots as a page for Prometheus (text exposition format 0.0.4).

use super::snapshot::{Member, Snapshot};
use crate::decide::{Kind, State};
use std::fmt::{Display, Write};

/// One metric: its name, its type, what it means, and what a member adds to it.
struct Metric {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    samples: fn(&Member, &mut Samples<'_>),
}

/// The lines of one metric under way, with the labels of one member.
struct Samples<'a> {
    out: &'a mut String,
    name: &'static str,
    labels: &'a str,
}

impl Samples<'_> {
    fn add(&mut self, value: impl Display) {
        self.line("", value);
    }

    fn add_labelled(&mut self, label: &str, of: &str, value: impl Display) {
        self.line(&format!(",{label}=\"{of}\""), value);
    }

    fn line(&mut self, more: &str, value: impl Display) {
        writeln!(self.out, "{}{{{}{more}}} {value}", self.name, self.labels)
            .expect("a String takes everything");
    }
}

const METRICS: [Metric; 9] = [
    Metric {
        name: "anyhost_member_state",
        kind: "gauge",
        help: "1 for the state the member is in, 0 for the others.",
        samples: |member, out| {
            for &state in State::ALL {
                out.add_labelled("state", state.name(), u8::from(state == member.state()));
            }
        },
    },
    Metric {
        name: "anyhost_member_weight",
        kind: "gauge",
        help: "The live weight.",
        samples: |member, out| out.add(member.weight()),
    },
    Metric {
        name: "anyhost_member_max_weight",
        kind: "gauge",
        help: "The most that the weight can become.",
        samples: |member, out| out.add(member.max_weight()),
    },
    Metric {
        name: "anyhost_member_in_flight",
        kind: "gauge",
        help: "Attempts under way.",
        samples: |member, out| out.add(member.in_flight()),
    },
    Metric {
        name: "anyhost_member_cooling_seconds",
        kind: "gauge",
        help: "How long the member will be left alone; 0 where it is not.",
        samples: |member, out| {
            // No float: writing one is 13 KiB of code, which nothing else in the shared library needs.
            let cooling = member.cooling();
            out.add(format_args!("{}.{:03}", cooling.as_secs(), cooling.subsec_millis()));
        },
    },
    Metric {
        name: "anyhost_member_failures_in_a_row",
        kind: "gauge",
        help: "Failures since the last good answer.",
        samples: |member, out| out.add(member.failures_in_a_row()),
    },
    Metric {
        name: "anyhost_member_attempts_total",
        kind: "counter",
        help: "Attempts that have ended.",
        samples: |member, out| out.add(member.attempts()),
    },
    Metric {
        name: "anyhost_member_successes_total",
        kind: "counter",
        help: "Attempts with a good answer.",
        samples: |member, out| out.add(member.successes()),
    },
    Metric {
        name: "anyhost_member_failures_total",
        kind: "counter",
        help: "Failed attempts by reason.",
        samples: |member, out| {
            for (reason, count) in member.counts() {
                out.add_labelled("reason", reason.name(), count);
            }
        },
    },
];

/// The state of several clients as one page for Prometheus, in its text format. Each client has a name
/// of your choice, which becomes the label `client`; members have the labels `kind` (`endpoint` or `proxy`)
/// and `member`.
///
/// Gauges are what a member is now: `anyhost_member_state` (1 for the one it is in), `_weight`,
/// `_max_weight`, `_in_flight`, `_cooling_seconds`, `_failures_in_a_row`. Counters only grow while the
/// member stays in the list: `anyhost_member_attempts_total`, `_successes_total`, and
/// `_failures_total` by reason. Serve it as `text/plain; version=0.0.4`.
///
/// ```
/// let (payments, search) = (
///     anyhost::Client::new("https://pay-1.example, https://pay-2.example")?,
///     anyhost::Client::new("https://search.example")?,
/// );
/// let page = anyhost::prometheus([
///     ("payments", &payments.snapshot()),
///     ("search", &search.snapshot()),
/// ]);
/// let of = r#"client="search",kind="endpoint",member="https://search.example""#;
/// assert!(page.lines().any(|line| line == format!("anyhost_member_weight{{{of}}} 1000")));
/// # Ok::<(), anyhost::Error>(())
/// ```
pub fn prometheus<'a>(clients: impl IntoIterator<Item = (&'a str, &'a Snapshot)>) -> String {
    let mut members = Vec::new();
    for (client, snapshot) in clients {
        for member in snapshot.members() {
            let (client, label) = (escaped(client), escaped(member.label()));
            // A proxy may have the label of an endpoint.
            let kind = if member.kind() == Kind::Proxy { "proxy" } else { "endpoint" };
            let labels = format!("client=\"{client}\",kind=\"{kind}\",member=\"{label}\"");
            members.push((labels, member));
        }
    }
    let mut out = String::new();
    for Metric { name, kind, help, samples } in METRICS {
        out.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        for (labels, member) in &members {
            samples(member, &mut Samples { out: &mut out, name, labels });
        }
    }
    out
}

/// A label's value: backslash, quote and line feed are escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), r#"a\"b\\c\nd"#);
    }
}
