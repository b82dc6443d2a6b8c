//! The loop: request → plan → pick → attempt → classify → record → next.
//!
//! What to do next is asked under the lock and done outside it. This file does I/O, asks the caller's
//! callbacks and keeps lists; every decision is in `decide`, whose [`Call`] it drives.

use super::attempt::Attempt;
use super::body::Source;
use super::builder::check_backoff;
use super::error::{Error, Result};
use super::publish::Publisher;
use super::redirect::Trail;
use super::request::Request;
use super::response::Response;
use super::settings::CallSettings;
use super::shared::{Member, Shared};
use super::snapshot::refusals;
use super::status::Status;
use crate::decide::{
    self, Advice, Call, Cause, End, Ending, EndpointId, Failure, Health, Limits, Plan, Report,
    Step, Ticket, Verdict, retry_after,
};
use crate::transport::{self, Answer, Outgoing};
use http::header::{ACCEPT, DATE, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, Method};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Makes one call; of `only` it is a health check, one attempt at that endpoint.
pub(crate) fn run(
    client: &Shared,
    request: &mut Request,
    only: Option<EndpointId>,
) -> Result<Response> {
    if request.body.is_spent() {
        return Err(Error::of_option(
            Status::State,
            "body",
            "the body was a reader, which an earlier call has read",
        ));
    }
    let settings = request.settings(&client.call)?;
    let now = client.clock.now();
    let mut call = Call::new(plan(client, &settings, request, only, now)?, now);
    let mut run = Run {
        client,
        settings: &settings,
        headers: headers(client, &settings, request),
        told: Publisher::new(client),
        started: now,
        attempts: Vec::new(),
        answer: None,
        // A health check is of one endpoint, and one attempt.
        redirects: if only.is_some() { 0 } else { settings.redirects },
        trail: None,
        refused: None,
        events: Vec::new(),
    };
    loop {
        match run.next(&mut call) {
            (Step::Attempt(ticket), Some(member)) => {
                run.attempt(&mut call, ticket, &member, request)
            }
            // The list and the pool change together, so this is for completeness.
            (Step::Attempt(_), None) => return run.end(End::Error(Failure::NoEndpoint)),
            (Step::Wait(until), _) => client.clock.sleep_until(until),
            (Step::End(end), _) => {
                let end = run.follow(&mut call, end, request);
                return run.end(end);
            }
        }
    }
}

fn plan<'a>(
    client: &'a Shared,
    settings: &'a CallSettings,
    request: &Request,
    only: Option<EndpointId>,
    now: Instant,
) -> Result<Plan<'a>> {
    Ok(Plan {
        // A deadline too far to be told is none.
        deadline: settings.deadline.and_then(|deadline| now.checked_add(deadline)),
        max_attempts: settings.max_attempts,
        attempts_per_endpoint: settings.attempts_per_endpoint,
        repeatable: settings.resend.permits(request.method.as_str()),
        replayable: request.body.is_replayable(),
        resend_statuses: &settings.resend_statuses,
        failure_statuses: &client.client.failure_statuses,
        connect_timeout: settings.connect_timeout,
        connect_timeout_last: settings.connect_timeout_last,
        attempt_timeout: &*settings.attempt_timeout.policy,
        stall_timeout: settings.stall_timeout,
        backoff: check_backoff(settings)?,
        hold_for: client.client.hold_for,
        when_none_eligible: client.client.when_none_eligible,
        only,
    })
}

/// The client's headers under the request's own.
fn headers(client: &Shared, settings: &CallSettings, request: &Request) -> HeaderMap {
    let mut headers = client.headers.clone();
    headers.entry(USER_AGENT).or_insert_with(|| settings.user_agent.clone());
    headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
    lay_over(&mut headers, &request.headers);
    headers
}

/// Puts headers in the place of those of the same name.
fn lay_over(headers: &mut HeaderMap, over: &HeaderMap) {
    for name in over.keys() {
        headers.remove(name);
        for value in over.get_all(name) {
            headers.append(name, value.clone());
        }
    }
}

/// A call under way: what it has gathered, beside its state in [`Call`].
pub(super) struct Run<'a> {
    pub(super) client: &'a Shared,
    pub(super) settings: &'a CallSettings,
    pub(super) headers: HeaderMap,
    pub(super) told: Publisher<'a>,
    pub(super) started: Instant,
    pub(super) attempts: Vec<Attempt>,
    /// The last complete answer. Its attempts are filled in at the end.
    pub(super) answer: Option<Response>,
    /// How many redirects may be followed.
    pub(super) redirects: u32,
    /// The way on from that answer, where it is a redirect to follow or to refuse.
    pub(super) trail: Option<Trail>,
    /// Where the redirect leads that may not be followed.
    pub(super) refused: Option<String>,
    events: Vec<decide::Event>,
}

/// One request to one URL, as the transport is asked to make it.
pub(super) struct Asking<'a> {
    pub(super) endpoint: u64,
    pub(super) method: &'a Method,
    pub(super) url: &'a str,
    pub(super) server_name: Option<&'a str>,
    pub(super) foreign: bool,
    pub(super) headers: &'a HeaderMap,
    /// The request's body goes along.
    pub(super) body: bool,
    pub(super) limits: Limits,
    pub(super) fresh: bool,
}

impl Run<'_> {
    fn next(&mut self, call: &mut Call<'_>) -> (Step, Option<Arc<Member>>) {
        let now = self.client.clock.now();
        let next = {
            let state = &mut *self.client.state.lock();
            let chance = [state.rng.next_u64(), state.rng.next_u64()];
            let step = call.step(&mut state.pool, now, chance, &mut self.events);
            let member = match &step {
                Step::Attempt(ticket) => state.members.get(&ticket.endpoint).cloned(),
                _ => None,
            };
            (step, member)
        };
        self.publish();
        next
    }

    fn attempt(
        &mut self,
        call: &mut Call<'_>,
        ticket: Ticket,
        member: &Arc<Member>,
        request: &mut Request,
    ) {
        let guard = Guard { client: self.client, ticket: Some(ticket) };
        let ticket = call.limit(ticket);
        if ticket.is_probe() {
            let now = self.client.clock.now();
            Call::begin(&mut self.client.state.lock().pool, &ticket, now, &mut self.events);
            self.publish();
        }
        self.told.attempt_started(&member.label);
        let began = self.client.clock.now();
        let asking = Asking {
            endpoint: ticket.endpoint.0,
            method: &request.method.clone(),
            url: &member.base.join(&request.target),
            server_name: member.server_name.as_deref(),
            foreign: false,
            headers: &self.headers_at(member, request),
            body: true,
            limits: ticket.limits(),
            fresh: ticket.fresh,
        };
        let (mut report, answer) = self.transmit(asking, request);
        let now = self.client.clock.now();

        let url = |request: &Request| member.base.join_redacted(&request.target);
        let mut answer = answer.map(|answer| respond(url(request), member.label.clone(), answer));
        report.retry_after = answer.as_ref().and_then(|answer| self.asked_wait(answer));
        let callbacks = &self.client.callbacks;
        let trail = answer
            .as_ref()
            .and_then(|answer| self.redirected(ticket.endpoint, member, request, answer));
        let verdict = match &mut answer {
            // The judge is asked of the answers that the caller may get, not of the way to them.
            Some(answer) if trail.is_none() => callbacks.verdict(answer, &self.attempts),
            _ => Verdict::Default,
        };
        let outcome = call.judge(&ticket, &report, verdict);
        let mut attempt = Attempt::new(
            self.attempts.len() as u32 + 1,
            member.label.clone(),
            ticket.fresh,
            &report,
            &outcome,
            began.saturating_duration_since(self.started),
            now.saturating_duration_since(began),
        );
        let advice = match outcome.health {
            Health::Good => Advice::Default,
            Health::Bad | Health::Neutral => callbacks.advice(&attempt),
        };
        guard.settle(|| {
            let state = &mut *self.client.state.lock();
            let chance = state.rng.next_u64();
            let (pool, events) = (&mut state.pool, &mut self.events);
            call.settle(pool, ticket, &report, &outcome, advice, now, chance, events);
            attempt.wait(state.pool.advice(ticket.endpoint, now));
        });
        self.told.attempt_ended(&attempt);
        self.attempts.push(attempt);
        if answer.is_some() {
            (self.answer, self.trail) = (answer, trail);
        }
        self.publish();
    }

    /// The headers of the request at an endpoint: the request's own over the endpoint's over the client's.
    pub(super) fn headers_at(&self, member: &Member, request: &Request) -> Cow<'_, HeaderMap> {
        let mut headers = Cow::Borrowed(&self.headers);
        if !member.headers.is_empty() {
            lay_over(headers.to_mut(), &member.headers);
            lay_over(headers.to_mut(), &request.headers);
        }
        headers
    }

    pub(super) fn transmit(
        &self,
        asking: Asking<'_>,
        request: &mut Request,
    ) -> (Report, Option<Answer>) {
        let source = if asking.body { request.body.source() } else { Ok(Source::Empty) };
        let body = match source {
            Ok(Source::Empty) => Outgoing::Empty,
            Ok(Source::Bytes(bytes)) => Outgoing::Bytes(bytes),
            Ok(Source::Reader { source, length }) => Outgoing::Reader { source, length },
            Err(error) => {
                let report = Report {
                    ending: Ending::Failed(Cause::BodySource),
                    os_error: error.raw_os_error().unwrap_or(0),
                    detail: "the body does not rewind".into(),
                    ..Report::new()
                };
                return (report, None);
            }
        };
        self.client.transport.attempt(transport::Attempt {
            endpoint: asking.endpoint,
            method: asking.method,
            url: asking.url,
            server_name: asking.server_name,
            foreign: asking.foreign,
            headers: asking.headers,
            body,
            limits: asking.limits,
            fresh: asking.fresh,
            max_body: self.settings.max_body,
        })
    }

    /// What a 429 or 503 asks to wait (ruling R10).
    pub(super) fn asked_wait(&self, answer: &Response) -> Option<Duration> {
        if !matches!(answer.status, 429 | 503) {
            return None;
        }
        let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
        let lines: Vec<String> =
            answer.headers.get_all(RETRY_AFTER).into_iter().filter_map(text).collect();
        let date = answer.headers.get(DATE).and_then(text);
        let now = self.client.clock.unix_seconds();
        retry_after(lines.iter().map(String::as_str), date.as_deref(), now)
    }

    fn end(mut self, end: End) -> Result<Response> {
        let elapsed = self.client.clock.now().saturating_duration_since(self.started);
        self.told.call_ended(self.attempts.last(), elapsed);
        let attempts = std::mem::take(&mut self.attempts);
        let failure = match (end, self.answer) {
            (End::Answer, Some(answer)) => {
                let answer = Response { elapsed, attempts, ..answer };
                let turned_down = (self.settings.require_success && !answer.is_success())
                    || self.settings.error_statuses.contains(answer.status());
                return if turned_down { Err(Error::rejected(answer)) } else { Ok(answer) };
            }
            (End::Rejected, Some(answer)) => {
                return Err(Error::rejected(Response { elapsed, attempts, ..answer }));
            }
            (End::Error(Failure::Redirect(why)), Some(answer)) => {
                let target = self.refused.as_deref();
                return Err(Error::redirects(why, answer.endpoint(), target, attempts));
            }
            // A transport that reports an answer and gives none has broken its promise.
            (End::Answer | End::Rejected, None) => {
                return Err(Error::of_call(Status::Internal, attempts));
            }
            (End::Error(failure), _) => failure,
        };
        if failure == Failure::NoEndpoint {
            let refusals = refusals(self.client);
            return Err(Error::no_endpoint(refusals, attempts));
        }
        Err(Error::of_call(status_of(failure), attempts))
    }

    fn publish(&mut self) {
        self.told.publish(&mut self.events, &self.attempts);
    }
}

/// An answer as the caller sees it, but for what the end of the call adds.
pub(super) fn respond(url: String, endpoint: Arc<str>, answer: Answer) -> Response {
    Response {
        status: answer.status,
        headers: answer.headers,
        body: answer.body,
        url,
        endpoint,
        elapsed: Duration::ZERO,
        attempts: Vec::new(),
    }
}

/// Gives a ticket back if the caller's code (a transport, a source of a body) panics on the way.
struct Guard<'a> {
    client: &'a Shared,
    ticket: Option<Ticket>,
}

impl Guard<'_> {
    fn settle(mut self, settle: impl FnOnce()) {
        self.ticket = None;
        settle();
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            let now = self.client.clock.now();
            Call::abandon(&mut self.client.state.lock().pool, ticket, now, &mut Vec::new());
        }
    }
}

fn status_of(failure: Failure) -> Status {
    match failure {
        Failure::NoEndpoint => Status::NoEndpoint,
        Failure::AttemptsSpent => Status::AttemptsSpent,
        Failure::Deadline => Status::Deadline,
        Failure::BudgetSpent => Status::BudgetSpent,
        Failure::NotReplayable => Status::NotReplayable,
        Failure::Body => Status::Body,
        Failure::TooLarge => Status::TooLarge,
        Failure::BodySource => Status::BodySource,
        Failure::Redirect(_) => Status::Redirects,
    }
}
