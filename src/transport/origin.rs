//! Where the requests of a route go: scheme, host and port, taken apart once and not for every request.
//!
//! All requests of a route have one origin, so of each URL only the path and the query are new.
//!
//! Flow: `agent` keeps one for each route → `exchange` builds requests with it.

use super::failure::Failure;
use http::Uri;
use http::uri::{Authority, Parts, PathAndQuery, Scheme};

/// Scheme, host and port of a route.
pub(super) struct Origin {
    /// As URLs begin.
    text: String,
    scheme: Scheme,
    authority: Authority,
}

impl Origin {
    /// That of a URL without user info, and without a port that is the scheme's own.
    pub(super) fn of(url: &str) -> Result<Self, Failure> {
        let parts = parse(url)?.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(not_a_url());
        };
        Ok(Origin { text: format!("{scheme}://{authority}"), scheme, authority })
    }

    /// A URL of this origin, for ureq. `None` for one of another.
    pub(super) fn uri(&self, url: &str) -> Option<Result<Uri, Failure>> {
        let target = url.strip_prefix(&*self.text)?;
        if !target.starts_with('/') {
            return None;
        }
        let mut parts = Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        Some(PathAndQuery::try_from(target).map_err(|_| not_a_url()).and_then(|target| {
            parts.path_and_query = Some(target);
            Uri::from_parts(parts).map_err(|_| not_a_url())
        }))
    }
}

fn parse(url: &str) -> Result<Uri, Failure> {
    url.parse().map_err(|_| not_a_url())
}

fn not_a_url() -> Failure {
    Failure::local("not a URL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_together_is_what_is_parsed() {
        for url in [
            "http://a.test/",
            "http://a.test:81/x?q=1",
            "https://[::1]:8443/a%2Fb//c?u=http://b/?",
            "http://127.0.0.1:1/?",
        ] {
            let origin = Origin::of(url).unwrap();
            let put_together = origin.uri(url).unwrap().unwrap();
            assert_eq!(put_together, url.parse::<Uri>().unwrap());
            assert_eq!(put_together.to_string(), url);
        }
    }

    #[test]
    fn another_origin_is_none_of_its_own() {
        let origin = Origin::of("http://a.test:8/x").unwrap();
        for url in
            ["http://a.test:80/x", "https://a.test:8/x", "http://a.test/x", "http://a.test:8"]
        {
            assert!(origin.uri(url).is_none(), "{url}");
        }
        assert!(Origin::of("/x").is_err());
    }
}
