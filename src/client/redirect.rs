//! Follows redirects: where an answer points, what goes along, and the hop itself (ruling R14).
//!
//! Whether an answer is followed is decided in `decide/redirect.rs`. Here Location is read and
//! resolved (RFC 3986 §5.2, RFC 9110 §10.2.2), its origin is looked up among the endpoints, the
//! request is rewritten, and the hop is made as an attempt that no endpoint hears of: its target was
//! chosen by a server and not by us, so neither weights nor circuits have anything to learn from it.
//!
//! Secrets (ruling R15) go by name and not only by mark: a header that is secret where the client or an
//! endpoint sets it is one too where a request sets it anew.
//!
//! Flow: the answer a call ends with → **redirect** → a hop, another, … → the end in `run.rs`.

use super::exchange::{Asking, Exchange};
use super::request::Request;
use super::response::Response;
use super::run::{Guard, Run};
use super::shared::Member;
use crate::decide::{
    self, Call, End, EndpointId, Failure, Pool, Redirect, Redirection, Refused, Target,
    is_redirect, redirect,
};
use http::header::{ACCEPT_ENCODING, HOST, HeaderMap, HeaderName, LAST_MODIFIED, LOCATION};
use http::{HeaderValue, Method};
use std::sync::Arc;
use std::time::Instant;
use url::{Position, Url};

/// The way of a call from an answer onwards, where that answer is a redirect not handed out.
pub(super) struct Trail {
    /// What was asked so far.
    asked: Vec<Asked>,
    next: Next,
}

enum Next {
    Hop(Asked),
    Refused { why: Refused, target: Option<String> },
}

/// One request of the way.
struct Asked {
    method: Method,
    url: Url,
    /// The endpoint to whose origin it went.
    at: Option<(EndpointId, Arc<Member>)>,
    body: bool,
    secrets: bool,
}

impl Run<'_> {
    /// The way on from an endpoint's answer, unless that is the caller's.
    pub(super) fn redirected(
        &self,
        id: EndpointId,
        member: &Arc<Member>,
        request: &Request,
        answer: &Response,
    ) -> Option<Box<Trail>> {
        if !is_redirect(answer.status()) {
            return None;
        }
        let asked = Asked {
            method: request.method.clone(),
            // What the endpoint's own parser has taken apart is a URL.
            url: Url::parse(&member.base.join(&request.target)).ok()?,
            at: Some((id, member.clone())),
            body: true,
            secrets: true,
        };
        self.onward(vec![asked], request, answer)
    }

    /// Makes the hops that an answer asks for, until one has an answer for the caller or fails.
    pub(super) fn follow(
        &mut self,
        call: &mut Call<'_>,
        mut end: End,
        request: &mut Request,
    ) -> End {
        while end == End::Answer {
            let Some(trail) = self.trail.take() else { break };
            let Trail { asked, next } = *trail;
            end = match next {
                Next::Hop(hop) => self.hop(call, asked, hop, request),
                Next::Refused { why, target } => {
                    self.refused = target;
                    End::Error(Failure::Redirect(why))
                }
            };
        }
        end
    }

    fn onward(
        &self,
        asked: Vec<Asked>,
        request: &Request,
        answer: &Response,
    ) -> Option<Box<Trail>> {
        let last = asked.last()?;
        let location = locate(&last.url, &answer.headers);
        let at = location.as_ref().ok().and_then(|url| self.endpoint_at(url.as_ref()?, last));
        let target = match &location {
            Ok(None) => Target::Nowhere,
            Ok(Some(url)) if !matches!(url.scheme(), "https" | "http") => Target::OtherScheme,
            Ok(Some(url)) if last.url.scheme() == "https" && url.scheme() == "http" => {
                Target::Unencrypted
            }
            Ok(Some(_)) if at.is_some() => Target::Inside,
            Ok(Some(_)) => Target::Outside,
            Err(Unreadable) => Target::Unreadable,
        };
        let url = location.ok().flatten();
        let same = asked.iter().filter(|before| Some(&before.url) == url.as_ref());
        let methods: Vec<&str> = same.map(|before| before.method.as_str()).collect();
        let decision = redirect(&Redirection {
            status: answer.status(),
            method: last.method.as_str(),
            replayable: !last.body || request.body.is_replayable(),
            target,
            asked: &methods,
            hops: asked.len() as u32 - 1,
            most: self.redirects,
            left: !last.secrets,
        });
        let next = match (decision, url) {
            (Redirect::Follow(hop), Some(url)) => Next::Hop(Asked {
                method: if hop.get { Method::GET } else { last.method.clone() },
                url,
                at,
                body: last.body && hop.body,
                secrets: hop.secrets,
            }),
            (Redirect::Refuse(why), url) => {
                Next::Refused { why, target: url.as_ref().map(shown_origin) }
            }
            (Redirect::HandOut | Redirect::Follow(_), _) => return None,
        };
        Some(Box::new(Trail { asked, next }))
    }

    /// The endpoint at whose origin a URL is. Of several that share it the one whose base has most of
    /// the path, then the one asked last, then the first.
    fn endpoint_at(&self, url: &Url, last: &Asked) -> Option<(EndpointId, Arc<Member>)> {
        let origin = origin(url);
        let state = self.client.state.lock();
        // Origins that somebody asked for by absolute URLs are not one service (ruling R15).
        let own = |id: &EndpointId| self.origin.as_ref().is_none_or(|(own, _)| own == id);
        let there = state.members.iter();
        let there = there.filter(|(id, member)| own(id) && member.base.origin() == origin);
        // The last of equals is the greatest.
        let (id, member) = there.rev().max_by_key(|(id, member)| {
            let same = last.at.as_ref().is_some_and(|(last, _)| last == *id);
            (member.base.covers(url.path()), same)
        })?;
        Some((*id, member.clone()))
    }

    /// Makes one hop, and its replay where the connection was stale (ruling R2).
    fn hop(
        &mut self,
        call: &mut Call<'_>,
        mut asked: Vec<Asked>,
        hop: Asked,
        request: &mut Request,
    ) -> End {
        let (endpoint, label) = self.key(&hop);
        let reach = match &hop.at {
            Some((_, member)) => member.reach,
            None => self.client.client.reach_of(
                hop.url.scheme() == "https",
                hop.url.host_str().unwrap_or_default(),
                hop.url.port_or_known_default().unwrap_or_default(),
            ),
        };
        let headers = self.hop_headers(&hop, request);
        let (method, url, body) = (hop.method.clone(), hop.url.to_string(), hop.body);
        let secrets = hop.secrets;
        let member = hop.at.as_ref().map(|(_, member)| member.clone());
        let server_name = member.as_ref().and_then(|member| member.server_name.as_deref());
        let repeatable = self.settings.resend.permits(method.as_str());
        asked.push(hop);
        let mut next = self.decide(|pool, now, chance, events| {
            call.begin_hop(pool, EndpointId(endpoint), reach, now, chance, events)
        });
        loop {
            let ticket = match next {
                Ok(ticket) => ticket,
                Err(end) => return end,
            };
            let guard = Guard::new(self.client, move |pool, now| {
                Call::abandon_hop(pool, ticket, now, &mut Vec::new());
            });
            let proxy = ticket.proxy();
            let proxy = proxy.and_then(|id| self.client.state.lock().proxies.get(&id).cloned());
            if proxy.is_none() && ticket.proxy().is_some() {
                // Taken out of the list in this instant.
                return End::Error(Failure::NoEndpoint);
            }
            let asking = Asking {
                endpoint,
                label: &label,
                proxy: proxy.as_deref(),
                method: &method,
                url: url.clone(),
                server_name,
                foreign: !secrets,
                headers: headers.clone(),
                coding_by_hand: coding_by_hand(member.as_deref()),
                body,
                limits: ticket.limits(),
                fresh: ticket.fresh,
                ticket: None,
            };
            let mut exchange = self.exchange(
                asking,
                request,
                |run, request, answer| run.onward(std::mem::take(&mut asked), request, answer),
                |report, verdict| call.judge_hop(&ticket, repeatable, report, verdict),
            );
            exchange.attempt.hop = true;
            let Exchange { report, outcome, .. } = &exchange;
            next = guard.settle(|| {
                self.decide(|pool, now, chance, events| {
                    call.settle_hop(pool, ticket, report, outcome, now, chance, events)
                })
            });
            self.list(exchange.attempt);
        }
    }

    /// Decides something of a hop under the lock.
    fn decide<T>(
        &mut self,
        decision: impl FnOnce(&mut Pool, Instant, [u64; 2], &mut Vec<decide::Event>) -> T,
    ) -> T {
        let now = self.client.clock.now();
        let state = &mut *self.client.state.lock();
        let chance = [state.rng.next_u64(), state.rng.next_u64()];
        decision(&mut state.pool, now, chance, &mut self.events)
    }

    /// The transport's key for where a hop goes, and what that is called. Where secrets may not go, a
    /// connection that has shown a client certificate may not be used either.
    fn key(&self, hop: &Asked) -> (u64, Arc<str>) {
        if let (Some((id, member)), true) = (&hop.at, hop.secrets) {
            return (id.0, member.label.clone());
        }
        let origin = origin(&hop.url);
        let (id, gone) = {
            let state = &mut *self.client.state.lock();
            state.foreign.key(&origin, &mut state.next_id)
        };
        if let Some(gone) = gone {
            self.client.transport.forget(gone.0);
        }
        let label = hop.at.as_ref().map(|(_, member)| member.label.clone());
        (id.0, label.unwrap_or_else(|| origin.into()))
    }

    fn hop_headers(&self, hop: &Asked, request: &Request) -> HeaderMap {
        let mut headers = match (&hop.at, hop.secrets) {
            (Some((_, member)), true) => self.headers_at(member, request),
            _ => self.without_secrets(&hop.url),
        };
        if !hop.body {
            leave_out(&mut headers, describes_content);
        }
        headers
    }

    /// The headers of the request to a URL whose origin is none of the client's. Values of the default
    /// list are marked wherever they are set.
    fn without_secrets(&self, url: &Url) -> HeaderMap {
        let mut headers = self.headers.map.clone();
        let client = self.client;
        let members: Vec<_> = client.state.lock().members.values().cloned().collect();
        let set: Vec<&HeaderMap> = [&self.headers.map, &client.headers]
            .into_iter()
            .chain(members.iter().map(|member| &member.headers))
            .collect();
        leave_out(&mut headers, |name| {
            client.client.secret_headers.iter().any(|secret| secret == name.as_str())
                || set.iter().any(|set| set.get_all(name).iter().any(HeaderValue::is_sensitive))
        });
        // Also one that was set by hand.
        match HeaderValue::from_str(authority(url)) {
            Ok(host) => headers.insert(HOST, host),
            Err(_) => headers.remove(HOST),
        };
        headers
    }
}

/// Whether an endpoint has an Accept-Encoding of its own.
fn coding_by_hand(member: Option<&Member>) -> bool {
    member.is_some_and(|member| member.headers.contains_key(ACCEPT_ENCODING))
}

fn leave_out(headers: &mut HeaderMap, which: impl Fn(&HeaderName) -> bool) {
    let names: Vec<HeaderName> = headers.keys().filter(|name| which(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// Whether a header says something of the body, and goes where that goes (RFC 9110 §15.4, §8).
fn describes_content(name: &HeaderName) -> bool {
    name.as_str().starts_with("content-")
        || matches!(name.as_str(), "digest" | "repr-digest")
        || *name == LAST_MODIFIED
}

/// Location is no URL, or there are several that differ.
struct Unreadable;

/// Where Location points from `base`: without a fragment, which is never sent, and without user info,
/// which would be a secret that a server makes up. An empty one points nowhere, like none.
fn locate(base: &Url, headers: &HeaderMap) -> Result<Option<Url>, Unreadable> {
    let mut values = headers.get_all(LOCATION).into_iter();
    let Some(location) = values.next() else { return Ok(None) };
    if values.any(|other| other != location) {
        return Err(Unreadable);
    }
    // Not only ASCII: that comes up, and the parser escapes it.
    let location = std::str::from_utf8(location.as_bytes()).map_err(|_| Unreadable)?.trim();
    if location.is_empty() {
        return Ok(None);
    }
    let mut url = base.join(location).map_err(|_| Unreadable)?;
    url.set_fragment(None);
    if url.has_host() {
        url.set_username("").map_err(|()| Unreadable)?;
        url.set_password(None).map_err(|()| Unreadable)?;
    }
    Ok(Some(url))
}

/// `scheme://host:port`, without a port that is the scheme's own: as that of a base URL.
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// `host:port` likewise. Never with user info, which `locate` takes away.
fn authority(url: &Url) -> &str {
    &url[Position::BeforeHost..Position::AfterPort]
}

/// An origin for people; of a scheme without one, the scheme.
fn shown_origin(url: &Url) -> String {
    match url.scheme() {
        "https" | "http" => origin(url),
        other => format!("{other}:"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::base_url::BaseUrl;

    fn located(base: &str, location: &[u8]) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, HeaderValue::from_bytes(location).unwrap());
        let url = locate(&Url::parse(base).unwrap(), &headers);
        url.unwrap_or_else(|Unreadable| panic!("{location:?}")).map(Into::into)
    }

    /// RFC 3986 §5.4 in part, F94.
    #[test]
    fn location_is_resolved_against_the_url_asked() {
        for (location, url) in [
            (&b"https://b.example/x?y=1"[..], "https://b.example/x?y=1"),
            (b"//b.example/x", "https://b.example/x"),
            (b"/x", "https://a.example:8443/x"),
            (b"x", "https://a.example:8443/b/x"),
            (b"../x", "https://a.example:8443/x"),
            (b"?q", "https://a.example:8443/b/c?q"),
            (b"#top", "https://a.example:8443/b/c?d=e"),
            (b"/x#top", "https://a.example:8443/x"),
            (b" /x ", "https://a.example:8443/x"),
            (b"/caf\xc3\xa9", "https://a.example:8443/caf%C3%A9"),
            (b"https://u:p@b.example/", "https://b.example/"),
            (b"HTTPS://B.example:443", "https://b.example/"),
            (b"\\\\b.example\\x", "https://b.example/x"),
            (b"/%2e%2F?%20", "https://a.example:8443/%2e%2F?%20"),
        ] {
            let got = located("https://a.example:8443/b/c?d=e", location);
            assert_eq!(got.as_deref(), Some(url), "{location:?}");
        }
        assert_eq!(located("https://a.example/", b""), None);
    }

    #[test]
    fn what_is_no_target_is_told_from_none() {
        let base = Url::parse("https://a.example/").unwrap();
        for values in [&["http://[x"][..], &["https://b:99999/"], &["https://"], &["/a", "/b"]] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(LOCATION, HeaderValue::from_static(value));
            }
            assert!(locate(&base, &headers).is_err(), "{values:?}");
        }
        let latin = HeaderMap::from_iter([(LOCATION, HeaderValue::from_bytes(b"/\xe9").unwrap())]);
        assert!(locate(&base, &latin).is_err());
        let twice = ["/a"; 2].map(|value| (LOCATION, HeaderValue::from_static(value)));
        assert!(matches!(locate(&base, &HeaderMap::from_iter(twice)), Ok(Some(_))));
        assert!(matches!(locate(&base, &HeaderMap::new()), Ok(None)));
    }

    /// Both sides of the comparison that keeps secrets inside.
    #[test]
    fn origins_are_written_as_those_of_base_urls() {
        for url in [
            "https://a.example",
            "HTTPS://A.example:443/x",
            "http://a.example:80/",
            "http://a.example:8080/x",
            "http://[::1]:8080/x",
            "http://[::1]",
            "http://127.0.0.1:81",
            "https://b\u{fc}cher.example",
            "http://u:p@a.example/",
            "https://a.example./",
        ] {
            let base = BaseUrl::parse(url).unwrap();
            assert_eq!(origin(&Url::parse(url).unwrap()), base.origin(), "{url}");
        }
    }

    #[test]
    fn a_base_covers_whole_segments() {
        let covers = |base: &str, path: &str| BaseUrl::parse(base).unwrap().covers(path);
        assert_eq!(covers("https://a/v1", "/v1"), Some(3));
        assert_eq!(covers("https://a/v1", "/v1/x"), Some(3));
        assert_eq!(covers("https://a/v1", "/v10"), None);
        assert_eq!(covers("https://a", "/v1"), Some(0));
    }

    #[test]
    fn what_people_see_has_no_query() {
        let url = Url::parse("https://b.example/x?token=1").unwrap();
        assert_eq!(shown_origin(&url), "https://b.example");
        assert_eq!(shown_origin(&Url::parse("mailto:geheim@b").unwrap()), "mailto:");
    }
}
