//! The loop: request → plan → pick → attempt → classify → record → next.
//!
//! What to do next is asked under the lock and done outside it. This file does I/O, asks the caller's
//! callbacks and keeps lists; every decision is in `decide`, whose [`Call`] it drives.

use super::attempt::Attempt;
use super::base_url::BaseUrl;
use super::builder::check_backoff;
use super::call_headers::{CallHeaders, lay_over, name_host};
use super::cancel::Interruptible;
use super::endpoint::basic_auth;
use super::error::{Error, Result};
use super::exchange::{Asking, Exchange};
use super::origins;
use super::progress::Progress;
use super::publish::Publisher;
use super::redirect::Trail;
use super::request::Request;
use super::response::Response;
use super::settings::CallSettings;
use super::shared::{Member, ProxyMember, Shared, State};
use super::snapshot::refusals;
use super::status::Status;
use super::stream::{Answered, Stream};
use crate::decide::{
    self, Advice, Blame, Call, End, EndpointId, Failure, Health, Plan, Pool, Step, Ticket,
};
use crate::transport::{Meter, Watcher};
use http::HeaderMap;
use http::header::ACCEPT_ENCODING;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

/// Up to how many endpoints and proxies an error of a call that was made says who was not tried.
const FEW_MEMBERS: usize = 32;

/// Makes one call; of `only` it is a health check, one attempt at that endpoint or through that proxy.
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
        Answered { response, body: Some(body) } => Ok(Stream::new(response, *body)),
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
    let aim = aim(client, request, only, now)?;
    let mut call = Call::new(plan(client, &settings, request, &aim, streamed, now)?, now);
    let headers = match &settings {
        // Most requests have no headers and no settings of their own.
        Cow::Borrowed(_) if request.headers.is_empty() => Cow::Borrowed(&client.usual_headers),
        _ => Cow::Owned(CallHeaders::new(&client.headers, &settings, &request.headers)),
    };
    let watched = request.progress.is_some();
    let interruptible = Interruptible::new(&client.shutdown, request.cancel.as_ref(), watched);
    let watcher = |progress: &Progress| progress.watcher(&client.clock, interruptible.interrupt());
    let watcher = request.progress.as_ref().map(watcher);
    let mut run = Run {
        client,
        settings: &settings,
        headers,
        streamed,
        told: Publisher::new(client),
        interruptible,
        watcher,
        meter: None,
        started: now,
        // Most calls make one.
        attempts: Vec::with_capacity(1),
        answer: None,
        // A health check is of one member, and one attempt.
        redirects: if only.is_some() { 0 } else { settings.redirects },
        origin: aim.origin,
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
            (Step::Attempt(ticket), Some(way)) => run.attempt(&mut call, ticket, &way, request),
            // The lists and the pool change together, so this is for completeness.
            (Step::Attempt(ticket), None) => {
                drop(guard(client, &ticket));
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

/// What a call is made for, beside its request.
#[derive(Default)]
struct Aim {
    only: Option<EndpointId>,
    through: Option<EndpointId>,
    origin: Option<(EndpointId, Arc<Member>)>,
}

/// Tells health checks of endpoints from those of proxies, and relative requests from absolute ones.
fn aim(
    client: &Shared,
    request: &Request,
    checked: Option<EndpointId>,
    now: Instant,
) -> Result<Aim> {
    let fail = |why: &str| Err(Error::of_option(Status::Argument, "path", why));
    let proxy = checked.is_some_and(|id| client.state.lock().proxies.contains_key(&id));
    let mut aim = Aim::default();
    match proxy {
        true => aim.through = checked,
        false => aim.only = checked,
    }
    aim.origin = match (&request.origin, client.roams) {
        (None, false) => None,
        (Some(url), true) => Some(admit(client, url, now)),
        (Some(_), false) => {
            return fail(
                "the path is an absolute URL: it is asked of this client's endpoints, so write the path \
                 below their base URL",
            );
        }
        (None, true) => {
            return fail("this client has no endpoints: the path has to be a whole URL");
        }
    };
    match (aim.only, &aim.origin) {
        (Some(only), Some((id, _))) if only != *id => fail("the URL is of another origin"),
        _ => Ok(aim),
    }
}

/// The endpoint that an absolute URL stands for. User info in it is of this call alone.
fn admit(client: &Shared, url: &BaseUrl, now: Instant) -> (EndpointId, Arc<Member>) {
    let reach = client.client.reach(url);
    let mut events = Vec::new();
    let (id, gone, member) = {
        let state = &mut *client.state.lock();
        let (id, gone) = origins::admit(state, url, reach, now, &mut events);
        (id, gone, state.members[&id].clone())
    };
    if let Some(gone) = gone {
        client.transport.forget(gone.0);
    }
    Publisher::outside(client).publish(&mut events, &[]);
    let headers = basic_auth(url);
    if headers.is_empty() {
        return (id, member);
    }
    let Member { base, label, .. } = &*member;
    let (base, label) = (base.clone(), label.clone());
    (id, Arc::new(Member { base, label, headers, server_name: None, reach }))
}

fn plan<'a>(
    client: &'a Shared,
    settings: &'a CallSettings,
    request: &Request,
    aim: &Aim,
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
        at: aim.origin.as_ref().map(|(id, _)| *id),
        only: aim.only,
        through: aim.through,
    })
}

/// A call under way: what it has gathered, beside its state in [`Call`].
pub(super) struct Run<'a> {
    pub(super) client: &'a Arc<Shared>,
    pub(super) settings: &'a CallSettings,
    pub(super) headers: Cow<'a, CallHeaders>,
    /// It ends at the head of its answer.
    pub(super) streamed: bool,
    pub(super) told: Publisher<'a>,
    pub(super) interruptible: Interruptible,
    /// Who watches it.
    pub(super) watcher: Option<Arc<Watcher>>,
    /// Of the attempt that began last, if anybody watches.
    pub(super) meter: Option<Arc<Meter>>,
    pub(super) started: Instant,
    pub(super) attempts: Vec<Attempt>,
    /// The last answer: complete, or in a stream its head. Its attempts are filled in at the end.
    pub(super) answer: Option<Answered>,
    /// How many redirects may be followed.
    pub(super) redirects: u32,
    /// Of an absolute URL: the call's one endpoint.
    pub(super) origin: Option<(EndpointId, Arc<Member>)>,
    /// The way on from that answer, where it is a redirect to follow or to refuse.
    pub(super) trail: Option<Box<Trail>>,
    /// Where the redirect leads that may not be followed.
    pub(super) refused: Option<String>,
    pub(super) events: Vec<decide::Event>,
}

/// The way of one attempt, as the network sees it.
struct Way {
    member: Arc<Member>,
    proxy: Option<Arc<ProxyMember>>,
}

impl Run<'_> {
    fn next(&mut self, call: &mut Call<'_>) -> (Step, Option<Way>) {
        if let Some(end) = call.ended() {
            return (Step::End(end), None);
        }
        let now = self.client.clock.now();
        let next = {
            let state = &mut *self.client.state.lock();
            let chance = std::array::from_fn(|_| state.rng.next_u64());
            let step = call.step(&mut state.pool, now, chance, &mut self.events);
            let way = match &step {
                Step::Attempt(ticket) => self.way(state, ticket),
                _ => None,
            };
            (step, way)
        };
        self.publish();
        next
    }

    fn way(&self, state: &State, ticket: &Ticket) -> Option<Way> {
        let own = self.origin.as_ref().map(|(_, member)| member);
        let member = own.or_else(|| state.members.get(&ticket.endpoint))?.clone();
        let proxy = match ticket.proxy() {
            Some(id) => Some(state.proxies.get(&id)?.clone()),
            None => None,
        };
        Some(Way { member, proxy })
    }

    fn attempt(
        &mut self,
        call: &mut Call<'_>,
        ticket: Ticket,
        Way { member, proxy }: &Way,
        request: &mut Request,
    ) {
        let guard = guard(self.client, &ticket);
        let ticket = call.limit(ticket);
        if ticket.is_probe() {
            let now = self.client.clock.now();
            Call::begin(&mut self.client.state.lock().pool, &ticket, now, &mut self.events);
            self.publish();
        }
        let asking = Asking {
            endpoint: ticket.endpoint.0,
            label: &member.label,
            proxy: proxy.as_deref(),
            method: &request.method.clone(),
            url: member.base.join(&request.target),
            server_name: member.server_name.as_deref(),
            foreign: false,
            headers: self.headers_at(member, request),
            coding_by_hand: member.headers.contains_key(ACCEPT_ENCODING),
            body: true,
            limits: ticket.limits(),
            fresh: ticket.fresh,
            ticket: Some(&ticket),
        };
        let mut exchange = self.exchange(
            asking,
            request,
            |run, request, answer| run.redirected(ticket.endpoint, member, request, answer),
            |report, verdict| call.judge(&ticket, report, verdict),
        );
        let Exchange { outcome, ended, .. } = exchange;
        let advice = match outcome.health {
            Health::Good => Advice::Default,
            Health::Bad | Health::Neutral => self.client.callbacks.advice(&exchange.attempt),
        };
        let (mut listed, mut proxy_listed) = (true, true);
        guard.settle(|| {
            let state = &mut *self.client.state.lock();
            let chance = state.rng.next_u64();
            let (pool, events) = (&mut state.pool, &mut self.events);
            call.settle(pool, &ticket, &exchange.report, &outcome, advice, ended, chance, events);
            if outcome.health != Health::Good {
                let proxy = ticket.proxy().filter(|_| outcome.blame == Blame::Proxy);
                exchange.attempt.wait(state.pool.advice(proxy.unwrap_or(ticket.endpoint), ended));
            }
            // The lists and the pool change together.
            listed = state.pool.place(ticket.endpoint).is_some();
            proxy_listed = ticket.proxy().is_none_or(|id| state.proxies.contains_key(&id));
        });
        // Taken out of the list meanwhile, and perhaps forgotten before this attempt began.
        if !listed {
            self.client.transport.forget(ticket.endpoint.0);
        }
        if let (false, Some(url)) = (proxy_listed, proxy.as_ref().and_then(|p| p.url.as_ref())) {
            self.client.transport.forget_proxy(url);
        }
        self.list(exchange.attempt);
    }

    /// The headers of the request at an endpoint: the request's own over the endpoint's over the client's.
    pub(super) fn headers_at(&self, member: &Member, request: &Request) -> HeaderMap {
        let mut headers = self.headers.map.clone();
        if !member.headers.is_empty() {
            lay_over(&mut headers, &member.headers);
            lay_over(&mut headers, &request.headers);
        }
        name_host(&mut headers, member.base.host_header());
        headers
    }

    fn end(&mut self, end: End) -> Result<Answered> {
        let elapsed = self.client.clock.now().saturating_duration_since(self.started);
        self.told.call_ended(self.attempts.last(), elapsed);
        let attempts = std::mem::take(&mut self.attempts);
        let answer = self.answer.take();
        let failure = match end {
            End::Answer | End::Rejected => {
                let Some(mut answer) = answer else {
                    // A transport that reports an answer and gives none has broken its promise.
                    return Err(Error::of_call(Status::Internal, attempts));
                };
                answer.complete(elapsed, attempts);
                let turned_down = end == End::Rejected
                    || (self.settings.require_success && !answer.response.is_success())
                    || self.settings.error_statuses.contains(answer.response.status());
                return if turned_down { Err(answer.rejected()) } else { Ok(answer) };
            }
            End::Error(failure) => failure,
        };
        if let (Failure::Redirect(why), Some(answer)) = (failure, answer) {
            let target = self.refused.as_deref();
            return Err(Error::redirects(why, answer.response.endpoint(), target, attempts));
        }
        if failure == Failure::NoEndpoint {
            let (refused, wait) = refusals(self.client);
            return Err(Error::no_endpoint(refused, wait, attempts));
        }
        let status = match failure {
            Failure::Cancelled => self.interruptible.status(),
            failure => status_of(failure),
        };
        let error = Error::of_call(status, attempts);
        // Who reads of too few attempts asks why there was no other.
        let asks = failure == Failure::AttemptsSpent && self.has_few_members();
        Err(if asks { error.beside(refusals(self.client).0) } else { error })
    }

    /// Of thousands nobody reads why each was not tried, and finding out takes time under the lock.
    fn has_few_members(&self) -> bool {
        let state = self.client.state.lock();
        state.members.len() + state.proxies.len() <= FEW_MEMBERS
    }

    pub(super) fn publish(&mut self) {
        self.told.publish(&mut self.events, &self.attempts);
    }
}

/// Gives a ticket back if the caller's code (a transport, a source of a body) panics on the way.
pub(super) struct Guard<'a, F: FnOnce(&mut Pool, Instant)> {
    client: &'a Shared,
    give_back: Option<F>,
}

/// Of an attempt.
fn guard<'a>(
    client: &'a Shared,
    ticket: &'a Ticket,
) -> Guard<'a, impl FnOnce(&mut Pool, Instant) + 'a> {
    Guard::new(client, |pool, now| Call::abandon(pool, *ticket, now, &mut Vec::new()))
}

impl<'a, F: FnOnce(&mut Pool, Instant)> Guard<'a, F> {
    pub(super) fn new(client: &'a Shared, give_back: F) -> Self {
        Guard { client, give_back: Some(give_back) }
    }

    pub(super) fn settle<T>(mut self, settle: impl FnOnce() -> T) -> T {
        self.give_back = None;
        settle()
    }
}

impl<F: FnOnce(&mut Pool, Instant)> Drop for Guard<'_, F> {
    fn drop(&mut self) {
        if let Some(give_back) = self.give_back.take() {
            let now = self.client.clock.now();
            give_back(&mut self.client.state.lock().pool, now);
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
