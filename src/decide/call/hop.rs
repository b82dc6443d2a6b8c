//! The hops of a call after a redirect (ruling R14).
//!
//! Where a hop leads was chosen by a server: no endpoint hears of it, it counts in no limit of attempts,
//! and the call ends where it fails. The proxies it goes through are those of the client, and they do
//! hear of it.

use super::route::Via;
use super::{Call, Cause, End, Ending, Failure, Then, last_failure};
use crate::decide::classify::{Outcome, Reason, Verdict, classify};
use crate::decide::endpoint::{EndpointId, Reach};
use crate::decide::event::Event;
use crate::decide::limits::{AttemptLimits, Limits};
use crate::decide::pool::Pool;
use crate::decide::report::Report;
use std::time::Instant;

/// Permission for one hop.
#[derive(Debug, Clone, Copy)]
#[must_use = "a hop is settled exactly once"]
pub struct HopTicket {
    to: EndpointId,
    reach: Reach,
    via: Option<Via>,
    limits: AttemptLimits,
    /// Not on an idle connection: this is the replay after a stale one (ruling R2).
    pub fresh: bool,
}

impl HopTicket {
    /// What bounds it.
    pub fn limits(&self) -> Limits {
        self.limits.limits
    }

    /// Through which proxy.
    pub fn proxy(&self) -> Option<EndpointId> {
        self.via.map(|via| via.proxy)
    }
}

impl Call<'_> {
    /// A hop to where `to` stands for that begins at `now`. Nothing but
    /// another proxy could follow it. What endpoints take to answer is no measure of a target.
    ///
    /// # Errors
    ///
    /// The end of the call, where no time or no proxy is left.
    pub fn begin_hop(
        &mut self,
        pool: &mut Pool,
        to: EndpointId,
        reach: Reach,
        now: Instant,
        chance: [u64; 2],
        events: &mut Vec<Event>,
    ) -> Result<HopTicket, End> {
        let ended = |failure| Err(End::Error(failure));
        if self.plan.deadline.is_some_and(|deadline| now >= deadline) {
            return ended(Failure::Deadline);
        }
        let now = pool.turn(now, events);
        let route = self.route_to(pool, to, reach, now, chance[0]);
        let Some(route) = route else { return ended(Failure::NoEndpoint) };
        let Some(via) = self.take(pool, route, now, chance[1], events) else {
            return ended(Failure::NoEndpoint);
        };
        let limits = self.limits_from(now, route.is_last(), None);
        if let (Some(via), Some(proxies), Some(until)) =
            (via, &mut pool.proxies, limits.limits.until)
        {
            via.let_run(proxies, until, now, events);
        }
        Ok(HopTicket { to, reach, via, limits, fresh: false })
    }

    /// Judges a hop. `repeatable` is what `resend` says of its own method.
    pub fn judge_hop(
        &self,
        ticket: &HopTicket,
        repeatable: bool,
        report: &Report,
        verdict: Verdict,
    ) -> Outcome {
        classify(report, &self.rules(ticket.to, ticket.limits, repeatable, verdict))
    }

    /// Takes the report of a hop, and says how it goes on: once more on a fresh connection after a
    /// stale one, or through another proxy.
    ///
    /// # Errors
    ///
    /// The end of the call. No earlier answer takes its place: that was a redirect.
    #[expect(clippy::too_many_arguments, reason = "the whole end of a hop, as values")]
    pub fn settle_hop(
        &mut self,
        pool: &mut Pool,
        ticket: HopTicket,
        report: &Report,
        outcome: &Outcome,
        now: Instant,
        chance: [u64; 2],
        events: &mut Vec<Event>,
    ) -> Result<HopTicket, End> {
        self.execution.record(report);
        if outcome.then == Then::Replay && !ticket.fresh {
            return Ok(HopTicket { fresh: true, ..ticket });
        }
        self.settle_route(pool, ticket.to, ticket.via, report, outcome, now, chance[1], events);
        if outcome.lost_its_way() && outcome.then == Then::MoveOn {
            let again = self.begin_hop(pool, ticket.to, ticket.reach, now, chance, events);
            if !matches!(again, Err(End::Error(Failure::NoEndpoint))) {
                return again;
            }
        }
        self.routes.clear(pool, now, events);
        Err(match report.ending {
            Ending::Answered if outcome.reason == Reason::Predicate => End::Rejected,
            Ending::Answered => End::Answer,
            Ending::Failed(Cause::TooLarge) => End::Error(Failure::TooLarge),
            Ending::Failed(Cause::BodySource) => End::Error(Failure::BodySource),
            Ending::Failed(Cause::Cancelled) => End::Error(Failure::Cancelled),
            _ if outcome.reason == Reason::Deadline => End::Error(Failure::Deadline),
            _ => End::Error(last_failure(report)),
        })
    }

    /// Takes back a hop of which nothing became: a panic on the way.
    pub fn abandon_hop(pool: &mut Pool, ticket: HopTicket, now: Instant, events: &mut Vec<Event>) {
        if let (Some(via), Some(proxies)) = (ticket.via, &mut pool.proxies) {
            proxies.abandon(via.proxy, via.circuit, now, events);
        }
    }
}
