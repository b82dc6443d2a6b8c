//! Scripted endpoints, and the truth about what reached them.
//!
//! A server behaves by its script and counts how often it executed each request. What it reports to
//! the client is honest but no more than a client can know: after a reset the client learns that it
//! sent something, and only the server knows whether it acted on it.

use super::{Chance, ms, secs};
use crate::decide::{Cause, Ending, Limit, Limits, Phase, Report};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What a server does with a request that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// Executes it and answers 200.
    Healthy,
    /// The name is unknown.
    Nameless,
    /// Nobody listens.
    Refusing,
    /// Swallows connection attempts.
    Blackhole,
    /// Takes the request, executes it or not, and says nothing.
    Silent,
    /// Executes it and answers after this long.
    Slow(Duration),
    /// Fails one in so many with a 500.
    FailsOneIn(u64),
    /// Answers this status; whether it was executed depends on the status, and sometimes on chance.
    Status(u16),
    /// Answers 429 with a Retry-After.
    RateLimiting(Duration),
    /// Reads the request, executes it or not, and resets the connection.
    Resetting,
    /// Executes it, and its answer breaks off in the body.
    BrokenBody,
}

/// One endpoint.
pub(super) struct Server {
    born: Instant,
    /// From when on it behaves how, in order.
    script: Vec<(Duration, Behaviour)>,
    /// One in so many of its idle connections has died.
    stale_one_in: u64,
    executions: BTreeMap<usize, Vec<Instant>>,
}

/// An exchange as it will have been.
#[derive(Clone)]
pub(super) struct Exchange {
    /// When the client will know.
    pub(super) ends: Instant,
    /// What the client will know.
    pub(super) report: Report,
    /// A byte of the request arrived here.
    pub(super) arrived: bool,
}

impl Server {
    pub(super) fn new(
        born: Instant,
        script: Vec<(Duration, Behaviour)>,
        stale_one_in: u64,
    ) -> Self {
        Server { born, script, stale_one_in, executions: BTreeMap::new() }
    }

    /// How often it executed this request.
    pub(super) fn executions(&self, request: usize) -> usize {
        self.executions.get(&request).map_or(0, Vec::len)
    }

    /// Makes an attempt that begins `now`.
    pub(super) fn exchange(
        &mut self,
        request: usize,
        fresh: bool,
        now: Instant,
        limits: Limits,
        chance: &mut Chance,
    ) -> Exchange {
        let behaviour = self.behaviour(now);
        let connected = now + chance.between(ms(1), ms(4));
        let unsent = |ends, phase, cause| Exchange {
            ends,
            report: Report { phase, ending: Ending::Failed(cause), ..Report::new() },
            arrived: false,
        };
        match behaviour {
            Behaviour::Nameless => return unsent(connected, Phase::Resolve, Cause::NameUnknown),
            Behaviour::Refusing => return unsent(connected, Phase::Connect, Cause::Refused),
            Behaviour::Blackhole => {
                let (ends, cause) = match (limits.connect_by, limits.until) {
                    (Some(by), _) => (by, Cause::TimedOut(Limit::Connect)),
                    (None, Some(until)) => (until, Cause::TimedOut(Limit::Attempt)),
                    // What the kernel does in the end.
                    (None, None) => (now + secs(130), Cause::Unreachable),
                };
                return unsent(ends.max(now), Phase::Connect, cause);
            }
            _ => {}
        }
        if limits.connect_by.is_some_and(|by| connected > by) {
            let ends = limits.connect_by.unwrap_or(connected).max(now);
            return unsent(ends, Phase::Connect, Cause::TimedOut(Limit::Connect));
        }
        if !fresh && chance.one_in(self.stale_one_in) {
            return self.stale(request, connected, chance);
        }
        let answered = connected + chance.between(ms(2), ms(60));
        let exchange = self.answer(request, behaviour, connected, answered, chance);
        let exchange = self.died_meanwhile(now, exchange);
        match limits.until {
            Some(until) if exchange.ends > until => Exchange {
                ends: until.max(now),
                report: Report {
                    phase: Phase::Head,
                    ending: Ending::Failed(Cause::TimedOut(Limit::Attempt)),
                    ..sent()
                },
                ..exchange
            },
            _ => exchange,
        }
    }

    /// The peer had closed the idle connection, or closes it as the request comes in.
    fn stale(&mut self, request: usize, ends: Instant, chance: &mut Chance) -> Exchange {
        let asked_to_send = chance.one_in(2);
        let arrived = asked_to_send && chance.one_in(2);
        if arrived && chance.one_in(2) {
            self.execute(request, ends);
        }
        let report = Report {
            phase: Phase::Send,
            ending: Ending::Failed(Cause::Reset),
            asked_to_send,
            reused: true,
            ..Report::new()
        };
        Exchange { ends, report, arrived }
    }

    fn answer(
        &mut self,
        request: usize,
        behaviour: Behaviour,
        arrives: Instant,
        answered: Instant,
        chance: &mut Chance,
    ) -> Exchange {
        let status = |status: u16| Report {
            phase: Phase::Body,
            ending: Ending::Answered,
            status: Some(status),
            bytes_received: 200,
            head_after: Some(answered - arrives),
            ..sent()
        };
        let fails = |phase, cause| Report { phase, ending: Ending::Failed(cause), ..sent() };
        let (executes, ends, report) = match behaviour {
            Behaviour::Slow(delay) => (true, answered + delay, status(200)),
            Behaviour::FailsOneIn(n) if chance.one_in(n) => (true, answered, status(500)),
            // 521 to 523 speak of a proxy that could not hand it on.
            Behaviour::Status(code @ 521..=523) => (false, answered, status(code)),
            Behaviour::Status(code @ (502..=504 | 520)) => {
                (chance.one_in(2), answered, status(code))
            }
            Behaviour::Status(code) => (true, answered, status(code)),
            Behaviour::RateLimiting(wait) => {
                (false, answered, Report { retry_after: Some(wait), ..status(429) })
            }
            Behaviour::Silent => {
                // Nobody waits that long.
                (chance.one_in(2), answered + secs(600), fails(Phase::Head, Cause::Closed))
            }
            Behaviour::Resetting => (chance.one_in(2), answered, fails(Phase::Head, Cause::Reset)),
            Behaviour::BrokenBody => {
                let broken = Report { ending: Ending::Failed(Cause::Truncated), ..status(200) };
                (true, answered, broken)
            }
            _ => (true, answered, status(200)),
        };
        if executes {
            self.execute(request, arrives);
        }
        Exchange { ends, report, arrived: true }
    }

    /// What is in flight when the server dies is reset at that instant.
    fn died_meanwhile(&self, began: Instant, exchange: Exchange) -> Exchange {
        let dies = self.script.iter().find(|(from, behaviour)| {
            let at = self.born + *from;
            *behaviour == Behaviour::Refusing && began < at && at < exchange.ends
        });
        let Some((from, _)) = dies else { return exchange };
        let report = Report { phase: Phase::Head, ending: Ending::Failed(Cause::Reset), ..sent() };
        Exchange { ends: self.born + *from, report, ..exchange }
    }

    fn behaviour(&self, now: Instant) -> Behaviour {
        let begun = self.script.iter().rev().find(|(from, _)| self.born + *from <= now);
        begun.map_or(Behaviour::Healthy, |(_, behaviour)| *behaviour)
    }

    fn execute(&mut self, request: usize, at: Instant) {
        self.executions.entry(request).or_default().push(at);
    }
}

/// A report of a request that left the client.
fn sent() -> Report {
    Report { asked_to_send: true, bytes_sent: 100, ..Report::new() }
}
