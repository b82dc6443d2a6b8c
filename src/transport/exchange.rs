//! One request and its answer on one ureq agent.
//!
//! Builds the request as it was asked for (ureq adds `Host` and framing, nothing else), reads the
//! whole body of the answer, and leaves the connection in the pool exactly when all of it was
//! read. Not here: what a failure is called (`failure`), which agent (`agent`).

use super::buffers::Sizes;
use super::current::Progress;
use super::failure::Failure;
use super::upload::Upload;
use super::{Answer, Attempt, Outgoing};
use crate::decide::Cause;
use http::header::{CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use std::io::Read;
use std::sync::Arc;
use ureq::{Agent, AsSendBody, Body, SendBody};

/// Most bytes of a body's memory that are taken on the word of a `Content-Length`.
const TRUSTED_LENGTH: u64 = 64 << 10;

/// Sends the request and reads the answer. The current attempt is `progress`.
pub(super) fn exchange(
    agent: &Agent,
    attempt: Attempt<'_>,
    progress: &Arc<Progress>,
) -> Result<Answer, Failure> {
    // A time already over must not let a single byte out.
    progress.to_end().left()?;
    let max_body = attempt.max_body;
    let (head, body) = answer(agent, attempt, progress)?.into_parts();
    progress.head_arrived(head.status.as_u16());
    let body = read_body(body, max_body, progress)?;
    Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
}

/// How large this request is.
pub(super) fn sizes(attempt: &Attempt<'_>) -> Sizes {
    // Each line's separators; and the lines ureq adds: Host, framing.
    const LINE: usize = 4;
    const ADDED: usize = 64;
    let request = attempt.method.as_str().len() + attempt.url.len() + " HTTP/1.1\r\n".len();
    let headers: usize =
        attempt.headers.iter().map(|(n, v)| n.as_str().len() + v.len() + LINE).sum();
    let body = match &attempt.body {
        Outgoing::Empty => Some(0),
        Outgoing::Bytes(bytes) => Some(bytes.len() as u64),
        Outgoing::Reader { length, .. } => *length,
    };
    let at_hand = matches!(attempt.body, Outgoing::Bytes(_));
    Sizes { head: request + attempt.url.len() + headers + ADDED, body, at_hand }
}

fn answer(
    agent: &Agent,
    attempt: Attempt<'_>,
    progress: &Arc<Progress>,
) -> Result<Response<Body>, Failure> {
    let url: Uri = attempt.url.parse().map_err(|_| Failure::local("not a URL"))?;
    let mut headers = attempt.headers.clone();
    // ureq hangs on some answers to an expectation, and nothing here depends on one.
    headers.remove(EXPECT);
    headers.remove(CONTENT_LENGTH);
    headers.remove(TRANSFER_ENCODING);
    let method = attempt.method.clone();
    let head = Head { method, url, headers };
    match attempt.body {
        // Servers expect content with these methods, so its absence is said (RFC 9110 section 8.6).
        Outgoing::Empty if [Method::POST, Method::PUT, Method::PATCH].contains(&head.method) => {
            head.send(agent, &[][..], progress)
        }
        Outgoing::Empty => head.send(agent, SendBody::none(), progress),
        Outgoing::Bytes(bytes) => head.send(agent, bytes, progress),
        Outgoing::Reader { source, length } => {
            let mut upload = Upload::new(source, length, progress)?;
            let mut head = head;
            if let Some(length) = length {
                head.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
            }
            head.send(agent, SendBody::from_reader(&mut upload), progress)
        }
    }
}

struct Head {
    method: Method,
    url: Uri,
    headers: HeaderMap,
}

impl Head {
    fn send(
        self,
        agent: &Agent,
        body: impl AsSendBody,
        progress: &Arc<Progress>,
    ) -> Result<Response<Body>, Failure> {
        let mut request = Request::new(body);
        *request.method_mut() = self.method;
        *request.uri_mut() = self.url;
        *request.headers_mut() = self.headers;
        agent.run(request).map_err(|e| Failure::of_ureq(e, progress))
    }
}

fn read_body(body: Body, max: u64, progress: &Progress) -> Result<Vec<u8>, Failure> {
    let too_large = || Failure::new(Cause::TooLarge, "the body is larger than allowed");
    let length = body.content_length();
    if length.is_some_and(|n| n > max) {
        return Err(too_large());
    }
    let start = length.unwrap_or(0).min(TRUSTED_LENGTH).min(max);
    let mut bytes = Vec::with_capacity(usize::try_from(start).unwrap_or(0));
    // One byte more than allowed tells a body that is too large from one that just fits. Reading on
    // to the end, and not only to the last byte, is what gives the connection back.
    body.into_reader()
        .take(max.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::of_ureq(ureq::Error::from(e), progress))?;
    if bytes.len() as u64 > max { Err(too_large()) } else { Ok(bytes) }
}
