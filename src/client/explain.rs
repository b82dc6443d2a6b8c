//! An error told at length, for a log that somebody reads at night.

use super::attempt::Attempt;
use super::error::{Error, Refusal};
use super::status::Status;
use super::wait::whole_ms;
use crate::decide::{Delivery, Kind, Phase, Reason};
use std::fmt::Write;

impl Error {
    /// Several lines: what went wrong, what was tried attempt by attempt, what is certain about the
    /// delivery of the request, and what to do. Like every text of an error it shows no user info, no
    /// query and no secret, so it may go to a log as it is.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let (a, b) = ("https://a.example", "https://b.example");
    /// let network =
    ///     ScriptedTransport::new().on(a, [Reply::refused()]).on(b, [Reply::resets_after_sending()]);
    /// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
    /// # let client = builder.transport(network.clone()).clock(network.clock()).build()?;
    /// let error = client.post("/v1/orders").body("{}").send().unwrap_err();
    /// assert!(error.explain().starts_with(
    ///     "ATTEMPTS_SPENT: no further attempt is left or allowed
    /// tried:
    ///   1. https://a.example: refused while connecting (not sent), 0 ms
    ///   2. https://b.example: reset while waiting for the answer (may have been received), 0 ms
    /// certain: a server may have received the request
    /// to do: ask the service whether it was carried out before you repeat it; "
    /// ));
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn explain(&self) -> String {
        let mut text = String::new();
        self.write_explanation(&mut text).expect("a String takes everything");
        text
    }

    fn write_explanation(&self, out: &mut String) -> std::fmt::Result {
        let in_a_call = self.is_of_a_call();
        // The sentence of a call says in one line what follows here in several.
        let what = if in_a_call && self.status() != Status::Redirects {
            self.status().text().to_owned()
        } else {
            self.to_string()
        };
        writeln!(out, "{}: {what}", self.status().name())?;
        if !self.attempts().is_empty() {
            writeln!(out, "tried:")?;
        }
        for attempt in self.attempts() {
            write_attempt(out, attempt)?;
        }
        if !self.refused().is_empty() {
            writeln!(out, "not tried:")?;
        }
        for Refusal { kind, label, state, reason, wait } in self.refused() {
            let kind = if *kind == Kind::Proxy { "proxy " } else { "" };
            write!(out, "  {kind}{label} is {}: {}", state.name(), reason.words())?;
            if !wait.is_zero() {
                write!(out, ", {} ms left", whole_ms(*wait))?;
            }
            writeln!(out)?;
        }
        if in_a_call {
            writeln!(out, "certain: {}", certainty(self.delivery()))?;
        }
        writeln!(out, "to do: {}", self.advice())
    }

    /// A call was made; not a mistake in building one.
    fn is_of_a_call(&self) -> bool {
        (Status::NoEndpoint.code()..Status::Internal.code()).contains(&self.status().code())
    }

    fn advice(&self) -> String {
        let wait = self.retry_after().map(|wait| format!("in {} ms", whole_ms(wait)));
        match self.status() {
            Status::NoEndpoint => match wait {
                Some(wait) => format!(
                    "call again {wait}, when the first of them may be tried; or set \
                     when_none_eligible=try_nearest"
                ),
                None => "enable what an operator has disabled".to_owned(),
            },
            Status::AttemptsSpent
            | Status::Deadline
            | Status::BudgetSpent
            | Status::NotReplayable => {
                let mut text = repeat(self.delivery()).to_owned();
                let more = match self.status() {
                    Status::Deadline => {
                        "raise deadline, or shorten attempt_timeout to fit more attempts in"
                    }
                    Status::BudgetSpent => {
                        "the hosts fail for many calls: wait, or raise retry_budget"
                    }
                    Status::NotReplayable => "give the body in memory, as a file, or with a rewind",
                    _ => mend(self.reason(), self.phase()),
                };
                if !more.is_empty() {
                    text.push_str("; ");
                    text.push_str(more);
                }
                text
            }
            Status::Cancelled | Status::ShutDown => repeat(self.delivery()).to_owned(),
            Status::Body => {
                format!("the answer was on its way and broke off: {}", repeat(self.delivery()))
            }
            Status::TooLarge => "raise max_body, or stream the answer".to_owned(),
            Status::BodySource => "see why the source of the body failed".to_owned(),
            Status::Rejected => match wait {
                Some(wait) => format!("read the answer that the error keeps; call again {wait}"),
                None => "read the answer that the error keeps".to_owned(),
            },
            Status::Redirects => "ask for the final address, or set redirects".to_owned(),
            Status::TlsMaterial => "check that the file is PEM and complete".to_owned(),
            Status::Downgrade => {
                "use https for all, or allow what is not encrypted: allow_mixed_schemes".to_owned()
            }
            Status::Internal | Status::Panic | Status::Broken => {
                "report it, with this text; build the client anew".to_owned()
            }
            _ => match self.option() {
                Some(option) => format!("correct `{option}`"),
                None => "correct the call".to_owned(),
            },
        }
    }
}

fn write_attempt(out: &mut String, attempt: &Attempt) -> std::fmt::Result {
    writeln!(out, "  {attempt}")?;
    let mut notes = Vec::new();
    if !attempt.message().is_empty() {
        notes.push(attempt.message().to_owned());
    }
    if attempt.os_error() != 0 && !attempt.message().contains("os error") {
        notes.push(format!("system error {}", attempt.os_error()));
    }
    if attempt.reused_connection() {
        notes.push("over a connection kept from before".to_owned());
    }
    if attempt.is_replay() {
        notes.push("a replay of the attempt before it".to_owned());
    }
    if attempt.is_hop() {
        notes.push("to where a redirect leads".to_owned());
    }
    if let Some(wait) = attempt.retry_after() {
        notes.push(format!("not to be asked again for {} ms", whole_ms(wait)));
    }
    if !notes.is_empty() {
        writeln!(out, "     {}", notes.join(", "))?;
    }
    Ok(())
}

fn certainty(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::NotSent => "no server received the request",
        Delivery::NotProcessed => "no server behind the proxy received the request",
        Delivery::Maybe => "a server may have received the request",
        Delivery::Answered => "a server received the request and answered",
    }
}

/// Whether the caller may repeat the call.
fn repeat(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::NotSent | Delivery::NotProcessed => "it is safe to call again",
        Delivery::Maybe => {
            "ask the service whether it was carried out before you repeat it; or let it tell repeats \
             apart (Idempotency-Key) and set resend=any"
        }
        Delivery::Answered => "repeat it only if the service may carry it out twice",
    }
}

/// Where to look, by what broke at last.
fn mend(reason: Reason, phase: Phase) -> &'static str {
    match (reason, phase) {
        (Reason::Dns, _) => "see whether the name is right and the resolver reachable",
        (Reason::Refused, _) => "see whether the service runs and listens on that port",
        (Reason::Unreachable, _) => "see whether there is a route to that host",
        (Reason::Timeout, Phase::Head | Phase::Body) => {
            "see why the host is slow, or raise attempt_timeout"
        }
        (Reason::Timeout, _) => "see whether a firewall drops packets, or raise connect_timeout",
        (Reason::TlsCert, _) => {
            "see tls_roots, the added PEMs, and the server name of the endpoint"
        }
        (Reason::Tls | Reason::Protocol, _) => "see whether the port speaks what the URL says",
        (Reason::Auth, _) => "correct the credentials",
        (Reason::Reset | Reason::Eof | Reason::Truncated, _) => "see the logs of that host",
        (Reason::Local, _) => "see the limits of this process: files, ports, memory",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_status_says_what_to_do() {
        for &status in Status::ALL {
            let text = Error::new(status, "what is wrong").explain();
            let last = text.lines().last().expect("a line");
            assert!(last.len() > "to do: ".len() + 10 && last.starts_with("to do: "), "{text}");
            assert!(text.starts_with(status.name()), "{text}");
        }
    }

    #[test]
    fn who_may_not_be_tried_is_told_with_the_wait() {
        let refusal = Refusal {
            kind: Kind::Endpoint,
            label: "https://a.example".to_owned(),
            state: crate::decide::State::Cooling,
            reason: Reason::Refused,
            wait: Duration::from_millis(1500),
        };
        assert_eq!(
            Error::no_endpoint(vec![refusal], Some(Duration::from_millis(1500)), Vec::new())
                .explain(),
            "NO_ENDPOINT: no endpoint may be tried now\n\
             not tried:\n  https://a.example is cooling: refused, 1500 ms left\n\
             certain: no server received the request\n\
             to do: call again in 1500 ms, when the first of them may be tried; or set \
             when_none_eligible=try_nearest\n"
        );
    }
}
