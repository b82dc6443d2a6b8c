//! The headers of a call: the request's own over the client's, and what stands in for those that
//! neither has.

use super::settings::CallSettings;
use crate::transport;
use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_ENCODING, HeaderValue, RANGE, USER_AGENT};

/// What a call sends to any endpoint; an endpoint's own headers come between (ruling R15).
#[derive(Debug, Clone)]
pub(crate) struct CallHeaders {
    pub(crate) map: HeaderMap,
    /// It asks for answers in a coding of its own choice, and undoes it.
    pub(crate) decodes: bool,
}

impl CallHeaders {
    /// Of a request with these headers of its own.
    pub(crate) fn new(client: &HeaderMap, settings: &CallSettings, own: &HeaderMap) -> Self {
        let mut map = client.clone();
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
        headers.remove(name);
        for value in over.get_all(name) {
            headers.append(name, value.clone());
        }
    }
}
