//! The headers of a call: the request's own over the client's, and what stands in for those that
//! neither has.

use super::settings::CallSettings;
use crate::transport;
use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_ENCODING, HOST, HeaderValue, RANGE, USER_AGENT};

/// What a call sends to any endpoint; an endpoint's own headers come between (ruling R15).
#[derive(Debug, Clone)]
pub(crate) struct CallHeaders {
    /// `Host` first (RFC 9110 section 7.2): set by hand, or blank until [`name_host`].
    pub(crate) map: HeaderMap,
    /// It asks for answers in a coding of its own choice, and undoes it.
    pub(crate) decodes: bool,
}

impl CallHeaders {
    /// Of a request with these headers of its own.
    pub(crate) fn new(client: &HeaderMap, settings: &CallSettings, own: &HeaderMap) -> Self {
        let mut map = HeaderMap::from_iter([(HOST, HeaderValue::from_static(""))]);
        lay_over(&mut map, client);
        map.entry(USER_AGENT).or_insert_with(|| settings.user_agent.clone());
        map.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        lay_over(&mut map, own);
        // A part of a coded body cannot be decoded, so with a range none is asked for.
        let decodes =
            settings.decompress && !map.contains_key(ACCEPT_ENCODING) && !map.contains_key(RANGE);
        if decodes {
            map.insert(ACCEPT_ENCODING, transport::accept_encoding());
        }
        CallHeaders { map, decodes }
    }
}

/// Puts headers in the place of those of the same name.
pub(crate) fn lay_over(headers: &mut HeaderMap, over: &HeaderMap) {
    for name in over.keys() {
        let mut values = over.get_all(name).iter();
        // In the place of the first, so that `Host` stays where it is.
        if let Some(first) = values.next() {
            headers.insert(name, first.clone());
        }
        for value in values {
            headers.append(name, value.clone());
        }
    }
}

/// Says in the headers of a call which host they are for, unless the caller has said it by hand.
///
/// Done for every attempt, so nothing is looked up: it is the first of them.
pub(crate) fn name_host(headers: &mut HeaderMap, host: &HeaderValue) {
    if let Some(blank) = headers.values_mut().next().filter(|first| first.is_empty()) {
        *blank = host.clone();
    }
}
