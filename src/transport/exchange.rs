//! One request and its answer on one ureq agent.
//!
//! Builds the request as it was asked for (ureq adds framing, and `Host` where none was given) and hands the
//! answer's body on unread. The connection goes back to the pool exactly when all of it was read; a
//! body dropped before that closes it. Not here: what a failure is called (`failure`), which agent (`agent`).

use super::buffers::Sizes;
use super::current::Progress;
use super::failure::Failure;
use super::keep_alive;
use super::origin::Origin;
use super::upload::Upload;
use super::{Answer, AnswerBody, Attempt, BodySource, Outgoing, ProxyUrl};
use crate::decide::ProxyReply;
use http::header::{CONTENT_LENGTH, HeaderName, PROXY_AUTHORIZATION};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use std::io::Read;
use std::sync::Arc;
use std::time::Instant;
use ureq::{Agent, AsSendBody, Body, BodyReader, SendBody};

/// How much of an unread body is thrown away at once, and how often: a page of an error, and no more.
const SCRAP: usize = 1 << 10;
const MOST_SCRAPS: usize = 16;

/// What no caller decides: framing follows from the body; and ureq hangs on some answers to an
/// expectation, on which nothing here depends.
fn is_not_sent(name: &HeaderName) -> bool {
    matches!(name.as_str(), "expect" | "content-length" | "transfer-encoding")
}

/// Sends the request and reads the head of the answer. The current attempt is `progress`.
pub(super) fn exchange(
    agent: &Agent,
    origin: &Origin,
    attempt: Attempt<'_>,
    progress: &Arc<Progress>,
) -> Result<Answer, Failure> {
    // A time already over must not let a single byte out.
    progress.to_end().check()?;
    if progress.interrupt().is_triggered() {
        return Err(Failure::cancelled());
    }
    let forwarded = forwarder(&attempt).is_some();
    let (head, body) = answer(agent, origin, attempt, progress)?.into_parts();
    // No target says this (RFC 9110 section 15.5.8): a proxy that wants credentials hands nothing on.
    if forwarded && head.status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        return Err(progress.refused(ProxyReply::Http(head.status.as_u16())));
    }
    progress.head_arrived(head.status.as_u16());
    progress.keep_for(keep_alive::reusable_for(&head.headers));
    let length = body.content_length();
    let incoming = Incoming { reader: body.into_reader(), progress: progress.clone(), over: false };
    let body = AnswerBody::reader(incoming, length);
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
    let credentials = attempt.proxy.and_then(ProxyUrl::credentials);
    let proxy =
        credentials.map_or(0, |c| PROXY_AUTHORIZATION.as_str().len() + c.basic().len() + LINE);
    Sizes { head: request + attempt.url.len() + headers + proxy + ADDED, body, at_hand }
}

fn answer(
    agent: &Agent,
    origin: &Origin,
    attempt: Attempt<'_>,
    progress: &Arc<Progress>,
) -> Result<Response<Body>, Failure> {
    let url = match origin.uri(attempt.url) {
        Some(url) => url?,
        None => attempt.url.parse().map_err(|_| Failure::local("not a URL"))?,
    };
    let forwards = forwarder(&attempt).is_some();
    let method = attempt.method.clone();
    let mut head = Head { method, url, headers: attempt.headers };
    while let Some(name) = head.headers.keys().find(|name| is_not_sent(name)).cloned() {
        head.headers.remove(name);
    }
    if let Some(proxy) = attempt.proxy {
        authorize(&mut head.headers, proxy, forwards)?;
    }
    match attempt.body {
        // Servers expect content with these methods, so its absence is said (RFC 9110 section 8.6).
        Outgoing::Empty if [Method::POST, Method::PUT, Method::PATCH].contains(&head.method) => {
            head.send(agent, &[][..], progress)
        }
        Outgoing::Empty => head.send(agent, SendBody::none(), progress),
        // Only as a reader does it show where the head ends.
        Outgoing::Bytes(mut bytes) if progress.meter().is_some() => {
            let length = Some(bytes.len() as u64);
            head.upload(agent, &mut bytes, length, progress)
        }
        Outgoing::Bytes(bytes) => head.send(agent, bytes, progress),
        Outgoing::Reader { source, length } => head.upload(agent, source, length, progress),
    }
}

/// The proxy that hands the request on, where one does: through a tunnel nobody does.
fn forwarder<'a>(attempt: &Attempt<'a>) -> Option<&'a ProxyUrl> {
    let plain = !attempt.url.starts_with("https:");
    attempt.proxy.filter(|proxy| plain && proxy.scheme().is_http())
}

/// `Proxy-Authorization` is for the proxy alone: in what it hands on, with our credentials where there
/// are any, and never in what goes through a tunnel to the target (RFC 9110 section 11.7.2).
fn authorize(headers: &mut HeaderMap, proxy: &ProxyUrl, forwards: bool) -> Result<(), Failure> {
    if !forwards {
        headers.remove(PROXY_AUTHORIZATION);
    } else if let Some(credentials) = proxy.credentials() {
        let mut value = HeaderValue::try_from(credentials.basic())
            .map_err(|_| Failure::local("not a header"))?;
        value.set_sensitive(true);
        headers.insert(PROXY_AUTHORIZATION, value);
    }
    Ok(())
}

struct Head {
    method: Method,
    url: Uri,
    headers: HeaderMap,
}

impl Head {
    fn upload(
        mut self,
        agent: &Agent,
        source: &mut dyn Read,
        length: Option<u64>,
        progress: &Arc<Progress>,
    ) -> Result<Response<Body>, Failure> {
        let mut upload = Upload::new(source, length, progress)?;
        if let Some(length) = length {
            self.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        self.send(agent, SendBody::from_reader(&mut upload), progress)
    }

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

/// The body of an answer, from ureq.
struct Incoming {
    reader: BodyReader<'static>,
    /// Its limits and counters. The connection holds it as well, for as long as it is not idle.
    progress: Arc<Progress>,
    /// It has been read to its end, or to where it broke off.
    over: bool,
}

impl BodySource for Incoming {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Failure> {
        let read = self.reader.read(buf);
        self.over = !matches!(read, Ok(1..));
        read.map_err(|error| match self.progress.interrupt().is_triggered() {
            // Whatever else went wrong meanwhile, most likely because of it.
            true => Failure::cancelled(),
            false => Failure::of_ureq(ureq::Error::from(error), &self.progress),
        })
    }

    fn bytes_received(&self) -> Option<u64> {
        Some(self.progress.received())
    }

    fn limit(&self, until: Instant) {
        self.progress.limit_body(until);
    }
}

/// A body that nobody read to its end costs its connection, unless the rest of it is here already.
impl Drop for Incoming {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        self.progress.abandon();
        let mut scrap = [0; SCRAP];
        for _ in 0..MOST_SCRAPS {
            if !matches!(self.reader.read(&mut scrap), Ok(1..)) {
                return;
            }
        }
    }
}
