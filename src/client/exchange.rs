//! One exchange of a call: transmit → receive → what it means.
//!
//! What an attempt at an endpoint and a hop after a redirect have in common. Where they go, which
//! rules judge them and who hears of the outcome is their callers' business (`run`, `redirect`).

use super::attempt::Attempt;
use super::body::Source;
use super::redirect::Trail;
use super::request::Request;
use super::response::Response;
use super::run::Run;
use super::shared::ProxyMember;
use super::stream::{Answered, BodyReader};
use crate::decide::{Cause, Ending, Limits, Outcome, Report, Ticket, Verdict, retry_after};
use crate::transport::{self, Answer, Meter, Outgoing};
use http::Method;
use http::header::{DATE, HeaderMap, HeaderValue, RETRY_AFTER};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One request to one URL.
pub(super) struct Asking<'a> {
    /// The transport's key of where it goes, and what that is called.
    pub(super) endpoint: u64,
    pub(super) label: &'a Arc<str>,
    /// Which way it takes; `None` is straight.
    pub(super) proxy: Option<&'a ProxyMember>,
    pub(super) method: &'a Method,
    /// Without user info. What is shown of it to people ends before its query.
    pub(super) url: String,
    pub(super) server_name: Option<&'a str>,
    pub(super) foreign: bool,
    pub(super) headers: HeaderMap,
    /// The coding of the answer is not of our choice.
    pub(super) coding_by_hand: bool,
    /// The request's body goes along.
    pub(super) body: bool,
    pub(super) limits: Limits,
    pub(super) fresh: bool,
    /// Of an attempt the pool hears of.
    pub(super) ticket: Option<&'a Ticket>,
}

/// What came of it.
pub(super) struct Exchange {
    pub(super) report: Report,
    pub(super) outcome: Outcome,
    pub(super) attempt: Attempt,
    pub(super) ended: Instant,
}

impl Run<'_> {
    /// Makes it, and keeps its answer, if there is one, in the place of an earlier one. `onward` says where
    /// that leads on, `judge` what the facts mean.
    pub(super) fn exchange(
        &mut self,
        mut asking: Asking<'_>,
        request: &mut Request,
        onward: impl FnOnce(&Self, &Request, &Response) -> Option<Box<Trail>>,
        judge: impl FnOnce(&Report, Verdict) -> Outcome,
    ) -> Exchange {
        let proxy = asking.proxy.and_then(ProxyMember::label_of_attempt);
        let number = self.attempts.len() as u32 + 1;
        let meter = self.watcher.clone().map(|watcher| Arc::new(Meter::new(watcher, number)));
        self.meter.clone_from(&meter);
        self.told.attempt_started(asking.label, proxy.as_deref());
        let clock = &self.client.clock;
        let began = clock.now();
        let (mut report, answer) = self.transmit(&mut asking, meter.as_ref(), request);
        let answered = answer.and_then(|answer| self.receive(answer, &mut asking, &mut report));
        let ended = clock.now();
        let mut verdict = Verdict::Default;
        if answered.is_some() {
            self.answer = answered;
            if let Some(Answered { response, .. }) = &self.answer {
                report.retry_after = self.asked_wait(response);
                self.trail = onward(self, request, response);
            }
            // The judge is asked of the answers that the caller may get, not of the way to them.
            if let (Some(answer), None) = (&mut self.answer, &self.trail) {
                let callbacks = &self.client.callbacks;
                verdict = callbacks.verdict(&mut answer.response, &self.attempts);
            }
        }
        let outcome = judge(&report, verdict);
        let attempt = Attempt::new(
            number,
            asking.label.clone(),
            proxy,
            asking.fresh,
            &report,
            &outcome,
            began.saturating_duration_since(self.started),
            ended.saturating_duration_since(began),
        );
        Exchange { report, outcome, attempt, ended }
    }

    /// Puts it on the list of the call.
    pub(super) fn list(&mut self, attempt: Attempt) {
        self.told.attempt_ended(&attempt);
        self.attempts.push(attempt);
        self.publish();
    }

    fn transmit(
        &self,
        asking: &mut Asking<'_>,
        meter: Option<&Arc<Meter>>,
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
        let proxy = asking.proxy.and_then(|proxy| proxy.url.as_ref());
        let (mut report, answer) = self.client.transport.attempt(transport::Attempt {
            endpoint: asking.endpoint,
            method: asking.method,
            url: &asking.url,
            server_name: asking.server_name,
            foreign: asking.foreign,
            proxy,
            headers: std::mem::take(&mut asking.headers),
            body,
            limits: asking.limits,
            fresh: asking.fresh,
            interrupt: self.interruptible.interrupt(),
            meter,
        });
        // A stale connection is replayed once (ruling R2), also over a transport that leaves `fresh`
        // unheeded.
        report.reused &= !asking.fresh;
        report.tunnelled = proxy
            .is_some_and(|proxy| !proxy.scheme().is_http() || asking.url.starts_with("https://"));
        if meter.is_none() {
            return (report, answer);
        }
        let metered = |answer: Answer| Answer { body: answer.body.metered_by(meter), ..answer };
        (report, answer.map(metered))
    }

    /// Reads the body, or keeps it to be read. `None` where it broke off, which the report then says.
    fn receive(
        &self,
        mut answer: Answer,
        asking: &mut Asking<'_>,
        report: &mut Report,
    ) -> Option<Answered> {
        if self.headers.decodes && !asking.coding_by_hand {
            transport::decode(&mut answer, asking.method == Method::HEAD);
        }
        let (bytes, body) = match self.streamed {
            true => {
                let place = (self.told.call(), self.attempts.len() as u32 + 1);
                let (ticket, until) = (asking.ticket.copied(), asking.limits.until);
                let (call, body) = (self.interruptible.clone(), answer.body);
                let max = self.settings.max_body;
                let reader = BodyReader::new(self.client, call, place, ticket, until, max, body);
                (Vec::new(), Some(Box::new(reader)))
            }
            false => (answer.body.read_whole(self.settings.max_body, report)?, None),
        };
        let response = Response {
            status: answer.status,
            headers: answer.headers,
            body: bytes,
            asked: std::mem::take(&mut asking.url),
            endpoint: asking.label.clone(),
            elapsed: Duration::ZERO,
            attempts: Vec::new(),
            head_only: self.streamed,
        };
        Some(Answered { response, body })
    }

    /// What a 429 or 503 asks to wait (ruling R10).
    fn asked_wait(&self, answer: &Response) -> Option<Duration> {
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
}
