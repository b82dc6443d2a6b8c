//! A network without a network: every attempt is answered at once, so that what is left of a call is
//! the client itself.

use anyhost::inject::{Answer, AnswerBody, Attempt, Ending, HeaderMap, Phase, Report, Transport};
use anyhost::{Client, Endpoint};

/// Answers 204 to everything.
pub struct Instant204;

impl Transport for Instant204 {
    fn attempt(&self, _: Attempt<'_>) -> (Report, Option<Answer>) {
        let report = Report {
            phase: Phase::Body,
            ending: Ending::Answered,
            status: Some(204),
            asked_to_send: true,
            ..Report::new()
        };
        let body = AnswerBody::default();
        (report, Some(Answer { status: 204, headers: HeaderMap::new(), body }))
    }
}

/// A client of this many endpoints on it, with everything on.
pub fn client(endpoints: usize) -> Client {
    let builder = Client::builder().preset("resilient").transport(Instant204);
    self::endpoints(endpoints)
        .fold(builder, |builder, endpoint| builder.endpoint(endpoint))
        .build()
        .expect("a client")
}

/// This many endpoints.
pub fn endpoints(number: usize) -> impl Iterator<Item = Endpoint> {
    let url = |i: usize| format!("http://10.{}.{}.{}", i >> 16, i >> 8 & 255, i & 255);
    (0..number).map(move |i| Endpoint::new(&url(i)).expect("a base URL"))
}
