//! The loop: request → plan → pick → attempt → classify → record → next.
//!
//! What to do next is asked under the lock and done outside it. This file does I/O, asks the caller's
//! callbacks and keeps lists; every decision is in `decide`, whose [`Call`] it drives.

use super::attempt::Attempt;
use super::body::Source;
use super::builder::check_backoff;
use super::call_headers::{CallHeaders, lay_over};
use super::cancel::Interruptible;
use super::error::{Error, Result};
use super::progress::Progress;
use super::publish::Publisher;
use super::redirect::Trail;
use super::request::Request;
use super::response::Response;
use super::settings::CallSettings;
use super::shared::{Member, Shared};
use super::snapshot::refusals;
use super::status::Status;
use super::stream::{Answered, BodyReader, Stream};
use crate::decide::{
    self, Advice, Call, Cause, End, Ending, EndpointId, Failure, Health, Limits, Plan, Report,
    Step, Ticket, Verdict, retry_after,
};
use crate::transport::{self, Answer, Meter, Outgoing, Watcher};
use http::header::{ACCEPT_ENCODING, DATE, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, Method};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Makes one call; of `only` it is a health check, one attempt at that endpoint.
pub(crate) fn run(
    client: &Arc<Shared>,
    request: &mut Request,
    only: Option<EndpointId>,
) -> Result<Response> {
    call(client, request, only, false).map(|answered| answered.response)
}

/// Makes one call up to the head of its answer (ruling R21).
pub(crate) fn stream(client: &Arc<Shared>, request: &mut Request) -> Result<Stream> {
    match call(client, request, None, true)? {
        Answered { response, body: Some(body) } => Ok(Stream::new(response, body)),
        Answered { body: None, .. } => {
            Err(Error::new(Status::Internal, "an answer without a body"))
        }
    }
}

fn call(
    client: &Arc<Shared>,
    request: &mut Request,
    only: Option<EndpointId>,
    streamed: bool,
) -> Result<Answered> {
    if request.body.is_spent() {
        return Err(Error::of_option(
            Status::State,
            "body",
            "the body was a reader, which an earlier call has read",
        ));
    }
    let settings = request.settings(&client.call)?;
    let now = client.clock.now();
    let mut call = Call::new(plan(client, &settings, request, only, streamed, now)?, now);
    let headers = match &settings {
        // Most requests have no headers and no settings of their own.
        Cow::Borrowed(_) if request.headers.is_empty() => Cow::Borrowed(&client.usual_headers),
        _ => Cow::Owned(CallHeaders::new(&client.headers, &settings, &request.headers)),
    };
    let interruptible = Interruptible::new(&client.shutdown, request.cancel.as_ref());
    let watcher = |progress: &Progress| progress.watcher(&client.clock, interruptible.interrupt());
    let watcher = request.progress.as_ref().map(watcher);
    let mut run = Run {
        client,
        settings: &settings,
        headers,
        streamed,
        told: Publisher::new(client),
        interruptible: Arc::new(interruptible),
        watcher,
        meter: None,
        started: now,
        attempts: Vec::new(),
        answer: None,
        // A health check is of one endpoint, and one attempt.
        redirects: if only.is_some() { 0 } else { settings.redirects },
        trail: None,
        refused: None,
        events: Vec::new(),
    };
    if client.forks.noticed() {
        run.told.fork_noticed();
    }
    loop {
        if run.interruptible.is_over() {
            call.cancel();
        }
        match run.next(&mut call) {
            (Step::Attempt(ticket), Some(member)) => {
                run.attempt(&mut call, ticket, &member, request)
            }
            // The list and the pool change together, so this is for completeness.
            (Step::Attempt(ticket), None) => {
                drop(Guard { client, ticket: Some(ticket) });
                return run.end(End::Error(Failure::NoEndpoint));
            }
            (Step::Wait(until), _) => {
                run.interruptible.sleep_until(until, &*client.clock, run.meter.as_deref());
            }
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
    streamed: bool,
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
        streamed,
        backoff: check_backoff(settings)?,
        hold_for: client.client.hold_for,
        when_none_eligible: client.client.when_none_eligible,
        only,
    })
}

/// A call under way: what it has gathered, beside its state in [`Call`].
pub(super) struct Run<'a> {
    pub(super) client: &'a Arc<Shared>,
    pub(super) settings: &'a CallSettings,
    pub(super) headers: Cow<'a, CallHeaders>,
    /// It ends at the head of its answer.
    streamed: bool,
    pub(super) told: Publisher<'a>,
    pub(super) interruptible: Arc<Interruptible>,
    /// Who watches it.
    watcher: Option<Arc<Watcher>>,
    /// Of the attempt that began last, if anybody watches.
    meter: Option<Arc<Meter>>,
    pub(super) started: Instant,
    pub(super) attempts: Vec<Attempt>,
    /// The last answer: complete, or in a stream its head. Its attempts are filled in at the end.
    pub(super) answer: Option<Answered>,
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

/// Whose answer it is, and how it was asked for.
pub(super) struct Of {
    /// The URL asked, as it may be shown.
    pub(super) url: String,
    pub(super) label: Arc<str>,
    pub(super) head: bool,
    /// The coding is not of our choice.
    pub(super) coding_by_hand: bool,
    /// Of an attempt the pool hears of.
    pub(super) ticket: Option<Ticket>,
    pub(super) limits: Limits,
}

impl Run<'_> {
    fn next(&mut self, call: &mut Call<'_>) -> (Step, Option<Arc<Member>>) {
        if let Some(end) = call.ended() {
            return (Step::End(end), None);
        }
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
        self.start_attempt(&member.label);
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
        let of = Of {
            url: member.base.join_redacted(&request.target),
            label: member.label.clone(),
            head: request.method == Method::HEAD,
            coding_by_hand: member.headers.contains_key(ACCEPT_ENCODING),
            ticket: Some(ticket),
            limits: ticket.limits(),
        };
        let mut answer = answer.and_then(|answer| self.receive(answer, of, &mut report));
        let now = self.client.clock.now();
        report.retry_after = answer.as_ref().and_then(|answer| self.asked_wait(&answer.response));
        let callbacks = &self.client.callbacks;
        let trail = answer
            .as_ref()
            .and_then(|answer| self.redirected(ticket.endpoint, member, request, &answer.response));
        let verdict = match &mut answer {
            // The judge is asked of the answers that the caller may get, not of the way to them.
            Some(answer) if trail.is_none() => {
                callbacks.verdict(&mut answer.response, &self.attempts)
            }
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
        let mut listed = true;
        guard.settle(|| {
            let state = &mut *self.client.state.lock();
            let chance = state.rng.next_u64();
            let (pool, events) = (&mut state.pool, &mut self.events);
            call.settle(pool, ticket, &report, &outcome, advice, now, chance, events);
            if outcome.health != Health::Good {
                attempt.wait(state.pool.advice(ticket.endpoint, now));
            }
            listed = state.members.contains_key(&ticket.endpoint);
        });
        if !listed {
            // Taken out of the list meanwhile, and perhaps forgotten before this attempt began.
            self.client.transport.forget(ticket.endpoint.0);
        }
        self.told.attempt_ended(&attempt);
        self.attempts.push(attempt);
        if answer.is_some() {
            (self.answer, self.trail) = (answer, trail);
        }
        self.publish();
    }

    /// An attempt begins.
    pub(super) fn start_attempt(&mut self, label: &str) {
        let number = self.attempts.len() as u32 + 1;
        self.meter = self.watcher.clone().map(|watcher| Arc::new(Meter::new(watcher, number)));
        self.told.attempt_started(label);
    }

    /// The headers of the request at an endpoint: the request's own over the endpoint's over the client's.
    pub(super) fn headers_at(&self, member: &Member, request: &Request) -> Cow<'_, HeaderMap> {
        let mut headers = Cow::Borrowed(&self.headers.map);
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
        let (mut report, answer) = self.client.transport.attempt(transport::Attempt {
            endpoint: asking.endpoint,
            method: asking.method,
            url: asking.url,
            server_name: asking.server_name,
            foreign: asking.foreign,
            proxy: None,
            headers: asking.headers,
            body,
            limits: asking.limits,
            fresh: asking.fresh,
            interrupt: self.interruptible.interrupt(),
            meter: self.meter.as_ref(),
        });
        // A stale connection is replayed once (ruling R2), also over a transport that leaves `fresh`
        // unheeded.
        report.reused &= !asking.fresh;
        let metered = |answer: Answer| {
            let body = answer.body.metered_by(self.meter.as_ref());
            Answer { body, ..answer }
        };
        (report, answer.map(metered))
    }

    /// Reads the body, or keeps it to be read. `None` where it broke off, which the report then says.
    pub(super) fn receive(&self, answer: Answer, of: Of, report: &mut Report) -> Option<Answered> {
        let answer = match self.headers.decodes && !of.coding_by_hand {
            true => transport::decoded(answer, of.head),
            false => answer,
        };
        let (bytes, body) = match self.streamed {
            true => {
                let place = (self.told.call(), self.attempts.len() as u32 + 1);
                let (ticket, until) = (of.ticket, of.limits.until);
                let (call, body) = (self.interruptible.clone(), answer.body);
                let max = self.settings.max_body;
                let reader = BodyReader::new(self.client, call, place, ticket, until, max, body);
                (Vec::new(), Some(reader))
            }
            false => (answer.body.read_whole(self.settings.max_body, report)?, None),
        };
        let response = Response {
            status: answer.status,
            headers: answer.headers,
            body: bytes,
            url: of.url,
            endpoint: of.label,
            elapsed: Duration::ZERO,
            attempts: Vec::new(),
            head_only: self.streamed,
        };
        Some(Answered { response, body })
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

    fn end(mut self, end: End) -> Result<Answered> {
        let elapsed = self.client.clock.now().saturating_duration_since(self.started);
        self.told.call_ended(self.attempts.last(), elapsed);
        let attempts = std::mem::take(&mut self.attempts);
        let failure = match (end, self.answer) {
            (End::Answer | End::Rejected, Some(answer)) => {
                let answer = answer.after(elapsed, attempts);
                let turned_down = end == End::Rejected
                    || (self.settings.require_success && !answer.response.is_success())
                    || self.settings.error_statuses.contains(answer.response.status());
                return if turned_down { Err(answer.rejected()) } else { Ok(answer) };
            }
            (End::Error(Failure::Redirect(why)), Some(answer)) => {
                let target = self.refused.as_deref();
                return Err(Error::redirects(why, answer.response.endpoint(), target, attempts));
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
        let status = match failure {
            Failure::Cancelled => self.interruptible.status(),
            failure => status_of(failure),
        };
        Err(Error::of_call(status, attempts))
    }

    fn publish(&mut self) {
        self.told.publish(&mut self.events, &self.attempts);
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
        Failure::Cancelled => Status::Cancelled,
    }
}
