//! Base URLs: taken apart once, joined with a path byte for byte (ruling R16).
//!
//! A base is not resolved against the way a browser resolves a link: what the caller writes is
//! appended. Nothing is decoded or normalised on the way, so a path that one server signs or
//! compares arrives as it was written.

use super::error::{Error, Result};
use super::status::Status;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderValue;
use percent_encoding::percent_decode_str;
use std::fmt;
use url::{Host, Url};

/// Splits a comma-separated list of base URLs, trimming blanks and leaving out empty entries (seed
/// 000, `SplitBaseURLs`).
///
/// It splits and no more: that an entry is a URL, and that no two are the same, is checked where a
/// client is built from them.
///
/// ```
/// assert_eq!(anyhost::split_base_urls(" https://a , https://b "), ["https://a", "https://b"]);
/// assert_eq!(anyhost::split_base_urls("a,,b"), ["a", "b"]);
/// assert!(anyhost::split_base_urls(" , ").is_empty());
/// ```
pub fn split_base_urls(list: &str) -> Vec<&str> {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect()
}

/// The base of an endpoint.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct BaseUrl {
    /// As given, which is also a key of the endpoint; it may hold user info.
    given: String,
    /// Without user info, a port that is the scheme's own, and trailing slashes: what URLs begin with.
    url: String,
    /// Where in it the origin ends and the path begins.
    origin_end: usize,
    /// `host:port` as the value of the `Host` header.
    host_header: HeaderValue,
    /// Origin and normalised path: equal for two spellings of one endpoint.
    identity: String,
    https: bool,
    basic_auth: Option<String>,
}

impl BaseUrl {
    /// Takes a base URL apart. The error names the URL without its secrets.
    pub(crate) fn parse(given: &str) -> Result<Self, String> {
        let fail = |why: &str| Err(format!("`{}` {why}", redacted(given)));
        if let Some(c) = given.chars().find(|c| c.is_control() || *c == ' ' || *c == '\\') {
            return fail(&format!("has a character that no URL has: {c:?}"));
        }
        let Some((scheme, rest)) = given.split_once("://") else {
            return fail("is not a URL: it has to begin with https:// or http://");
        };
        if !scheme.eq_ignore_ascii_case("https") && !scheme.eq_ignore_ascii_case("http") {
            return fail("has a scheme other than https and http");
        }
        // The URL Standard skips further slashes, and would find a host where we see a path.
        if rest.starts_with('/') {
            return fail("names no host");
        }
        if given.contains('?') {
            return fail("has a query, which a base URL may not have");
        }
        if given.contains('#') {
            return fail("has a fragment, which a base URL may not have");
        }
        let path = rest.find('/').map_or("", |at| &rest[at..]).trim_end_matches('/');
        if let Some(c) = path.chars().find(|c| !is_path_char(*c)) {
            return fail(&format!("has {c:?} in its path: write it percent-encoded"));
        }
        let url = match Url::parse(given) {
            Ok(url) => url,
            Err(error) => return fail(&format!("is not a URL: {error}")),
        };
        let host = match url.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => format!("[{address}]"),
            None => return fail("names no host"),
        };
        if url.port() == Some(0) {
            return fail("has port 0, which nobody can listen at");
        }
        // The URL Standard allows more in a host than RFC 3986 section 3.2.2, and than a request carries.
        if let Some(c) = host.chars().find(|c| matches!(c, '"' | '`' | '{' | '}')) {
            return fail(&format!("has {c:?} in its host"));
        }
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host,
        };
        let Ok(host_header) = HeaderValue::from_str(&authority) else {
            return fail("has a host that no request can carry");
        };
        let origin = format!("{}://{authority}", url.scheme());
        Ok(BaseUrl {
            given: given.to_owned(),
            identity: format!("{origin}{}", url.path().trim_end_matches('/')),
            https: url.scheme() == "https",
            basic_auth: basic_auth(&url),
            origin_end: origin.len(),
            url: origin + path,
            host_header,
        })
    }

    /// The text it was made from.
    pub(crate) fn given(&self) -> &str {
        &self.given
    }

    /// `scheme://host:port`, without a port that is the scheme's own.
    pub(crate) fn origin(&self) -> &str {
        &self.url[..self.origin_end]
    }

    /// `host:port`, without a port that is the scheme's own.
    pub(crate) fn authority(&self) -> &str {
        let scheme = if self.https { "https://" } else { "http://" };
        &self.origin()[scheme.len()..]
    }

    /// The value of the `Host` header of its requests (RFC 9110 section 7.2).
    pub(crate) fn host_header(&self) -> &HeaderValue {
        &self.host_header
    }

    /// Without trailing slashes; empty for the root.
    fn path(&self) -> &str {
        &self.url[self.origin_end..]
    }

    /// How much of a URL's path is the base's own; nothing where that path is not below the base.
    pub(crate) fn covers(&self, path: &str) -> Option<usize> {
        let rest = path.strip_prefix(self.path())?;
        (rest.is_empty() || rest.starts_with('/')).then_some(self.path().len())
    }

    /// The host: a name in ASCII, or an address, that of IPv6 in brackets.
    pub(crate) fn host(&self) -> &str {
        let authority = self.authority();
        let end = authority.rfind(':').filter(|at| !authority[*at..].contains(']'));
        &authority[..end.unwrap_or(authority.len())]
    }

    /// The port, be it that of the scheme.
    pub(crate) fn port(&self) -> u16 {
        let given = self.authority()[self.host().len()..].trim_start_matches(':').parse();
        given.unwrap_or(if self.https { 443 } else { 80 })
    }

    /// The base of its origin, without path and user info.
    pub(crate) fn root(&self) -> Self {
        BaseUrl {
            given: self.origin().to_owned(),
            url: self.origin().to_owned(),
            identity: self.origin().to_owned(),
            basic_auth: None,
            ..self.clone()
        }
    }

    /// Equal for two spellings of one endpoint.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    pub(crate) fn is_https(&self) -> bool {
        self.https
    }

    /// The value of the `Authorization` header that its user info stands for.
    pub(crate) fn basic_auth(&self) -> Option<&str> {
        self.basic_auth.as_deref()
    }

    /// The whole URL of a request at this endpoint.
    // Done for every attempt: pushed together, which costs a tenth of what formatting does.
    pub(crate) fn join(&self, target: &Target) -> String {
        let mut url = String::with_capacity(self.url.len() + 1 + target.0.len());
        url.push_str(&self.url);
        if self.path().is_empty() && !target.0.starts_with('/') {
            url.push('/');
        }
        url.push_str(&target.0);
        url
    }
}

/// Shows no user info.
impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The longest path with its query. A whole URL may have 65,534 bytes in the `http` crate, and servers
/// commonly take 8,000 (RFC 9110 §4.1 asks for as many).
const LONGEST_PATH: usize = 60 * 1024;

/// Takes an absolute URL apart into its origin, with user info if it has some, and what it asks for there.
/// `None` for a text that does not begin as one.
pub(crate) fn absolute(given: &str) -> Option<Result<(BaseUrl, Target)>> {
    let scheme = ["http://", "https://"].into_iter().find(|scheme| {
        given.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })?;
    let end = given[scheme.len()..].find(['/', '?', '#']);
    let (origin, target) = given.split_at(end.map_or(given.len(), |end| scheme.len() + end));
    let origin = BaseUrl::parse(origin)
        .map_err(|why| Error::of_option(Status::Argument, "path", format!("path {why}")));
    Some(origin.and_then(|origin| Ok((origin, Target::parse(target)?))))
}

/// What a request asks for below a base: path and query, as given. The path is empty, or begins with a
/// slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target(String);

impl Target {
    /// Takes the caller's path. The error says what in it no request line can carry.
    pub(crate) fn parse(given: &str) -> Result<Self> {
        let fail = |why: String| Err(Error::of_option(Status::Argument, "path", why));
        if given.len() > LONGEST_PATH {
            return fail(format!("the path is longer than {LONGEST_PATH} bytes"));
        }
        // Byte by byte: what is looked for is ASCII, and almost always absent.
        let (path, query) = match given.bytes().position(|byte| byte == b'?') {
            Some(at) => given.split_at(at),
            None => (given, ""),
        };
        let can_be_sent = |byte: u8| byte == b'?' || is_path_char(char::from(byte));
        if let Some(at) = given.bytes().position(|byte| !can_be_sent(byte)) {
            return fail(match given[at..].chars().next().unwrap_or_default() {
                '#' => format!("path `{}` has a fragment, which is never sent", redacted(path)),
                c => format!("path `{}` has {c:?}: write it percent-encoded", shown(path)),
            });
        }
        if query.bytes().any(|byte| byte == b'"') {
            return fail(format!(
                "path `{}` has '\"' in its query: write it percent-encoded",
                shown(path)
            ));
        }
        let mut target = String::with_capacity(1 + given.len());
        if !path.is_empty() && !path.starts_with('/') {
            target.push('/');
        }
        target.push_str(given);
        Ok(Target(target))
    }
}

/// Whether a request line can carry it as it is.
fn is_path_char(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, '#' | '<' | '>' | '`' | '?')
}

/// A path for an error message: the query is cut off, control characters are escaped.
fn shown(path: &str) -> String {
    redacted(path).escape_debug().to_string()
}

/// Whether this can stand before `://`. A colon or an `@` there belong to user info without a scheme.
fn is_scheme(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

/// Any text that may be a URL, without user info and query: for error messages.
///
/// It errs on the side of hiding: a password may hold any character in a text that is no proper URL,
/// so everything up to the last `@` goes.
pub(crate) fn redacted(text: &str) -> String {
    let (scheme, rest) = match text.find("://") {
        Some(at) if is_scheme(&text[..at]) => text.split_at(at + 3),
        _ => ("", text),
    };
    let rest = match rest.rfind('@') {
        Some(at) => format!("***{}", &rest[at..]),
        None => rest.to_owned(),
    };
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    format!("{scheme}{}", &rest[..end])
}

fn basic_auth(url: &Url) -> Option<String> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut pair: Vec<u8> = percent_decode_str(url.username()).collect();
    pair.push(b':');
    pair.extend(percent_decode_str(url.password().unwrap_or("")));
    Some(format!("Basic {}", BASE64_STANDARD.encode(pair)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(base: &str, path: &str) -> String {
        BaseUrl::parse(base).unwrap().join(&Target::parse(path).unwrap())
    }

    /// R16, D-P1 to D-P5, F102, F104, F106: what is appended arrives as it was written.
    #[test]
    fn a_path_is_appended_byte_for_byte() {
        for (base, path, url) in [
            ("https://a/v0/", "/x/y?q=1", "https://a/v0/x/y?q=1"),
            ("https://b/api/", "x", "https://b/api/x"),
            ("https://b", "", "https://b/"),
            ("https://b/v1//", "", "https://b/v1"),
            ("https://b", "?q=1", "https://b/?q=1"),
            ("https://b/v1", "?q=1", "https://b/v1?q=1"),
            ("https://a/v0", "/x%2Fy?z=%20", "https://a/v0/x%2Fy?z=%20"),
            ("https://a/v0", "//x", "https://a/v0//x"),
            ("https://a", "/a%2Fb/%2e/c%20d?q=%2B+1", "https://a/a%2Fb/%2e/c%20d?q=%2B+1"),
            ("https://a", "/a/../b", "https://a/a/../b"),
            ("https://a", "urn:a:b", "https://a/urn:a:b"),
            ("https://a", "/sub:path?u=http://x/?", "https://a/sub:path?u=http://x/?"),
            ("HTTP://A:80/B", "/c", "http://a/B/c"),
            ("http://[::1]:8080/x", "/y", "http://[::1]:8080/x/y"),
            ("https://b\u{fc}cher.example", "/", "https://xn--bcher-kva.example/"),
        ] {
            assert_eq!(joined(base, path), url, "{base} + {path}");
        }
    }

    /// R16: what no request line can carry is refused before anything is sent.
    #[test]
    fn a_path_that_cannot_be_sent_is_refused() {
        for path in [
            "/a b",
            "/a\tb",
            "/a\r\nX: y",
            "/a\0",
            "/\u{e9}",
            "/a#f",
            "/<a>",
            "/a>",
            "/`a`",
            "/q?a b",
            "/q?\u{e9}",
            "/q?a=\"b\"",
        ] {
            let error = Target::parse(path).unwrap_err();
            assert_eq!(error.status(), Status::Argument, "{path:?}");
            assert_eq!(error.option(), Some("path"), "{path:?}");
        }
    }

    #[test]
    fn a_base_that_is_none_is_refused_with_its_reason() {
        for (base, why) in [
            ("", "has to begin with"),
            ("api.example.com", "has to begin with"),
            ("a:1", "has to begin with"),
            ("[http://a]", "other than https and http"),
            ("ftp://a", "other than https and http"),
            ("https://", "is not a URL"),
            ("https://a:99999", "is not a URL"),
            ("https://a:0", "port 0"),
            ("https://a/?q=1", "has a query"),
            ("https://a/?", "has a query"),
            ("https://a/#x", "has a fragment"),
            ("https://a/b c", "no URL has"),
            ("https://a/b\r\n", "no URL has"),
            ("https://a/\u{e9}", "percent-encoded"),
            ("https://a\\b", "no URL has"),
            ("https://a`b", "in its host"),
            ("https://a{b}", "in its host"),
            ("https:///a", "names no host"),
            ("https:///u:p@a", "names no host"),
            ("https://a\"b", "in its host"),
        ] {
            let error = BaseUrl::parse(base).unwrap_err();
            assert!(error.contains(why), "{base:?}: {error}");
        }
    }

    /// R16, F110: two spellings of one endpoint are the same endpoint.
    #[test]
    fn spellings_of_one_endpoint_have_one_identity() {
        let identity = |base: &str| BaseUrl::parse(base).unwrap().identity().to_owned();
        assert_eq!(identity("http://h/"), identity("HTTP://H:80"));
        assert_eq!(identity("http://h/a"), identity("http://u:p@h/a/"));
        assert_eq!(identity("https://h:443/a/./b"), identity("https://h/a/b"));
        assert_ne!(identity("http://h"), identity("https://h"));
        assert_ne!(identity("http://h/a"), identity("http://h/A"));
    }

    /// R15, F98: user info is Basic authentication, and no text shows it.
    #[test]
    fn user_info_becomes_basic_authentication_and_is_never_shown() {
        let base = BaseUrl::parse("https://user:S%40CRET@a.example/v1").unwrap();
        // "user:S@CRET"
        assert_eq!(base.basic_auth(), Some("Basic dXNlcjpTQENSRVQ="));
        assert_eq!(format!("{base} {base:?}"), "https://a.example/v1 https://a.example/v1");
        assert_eq!(base.origin(), "https://a.example");
        assert_eq!(BaseUrl::parse("https://a.example").unwrap().basic_auth(), None);
    }

    #[test]
    fn redaction_hides_user_info_and_query_of_any_text() {
        for (text, shown) in [
            ("https://u:p@h/x?token=1", "https://***@h/x"),
            ("https://u:p/w?d#@h/x", "https://***@h/x"),
            ("u:p@h", "***@h"),
            ("u:p://p@h", "***@h"),
            ("https://h/x#f", "https://h/x"),
            ("https://h/x", "https://h/x"),
        ] {
            assert_eq!(redacted(text), shown);
        }
        assert!(!BaseUrl::parse("ftp://u:geheim@h").unwrap_err().contains("geheim"));
        assert!(!BaseUrl::parse("https://u:geheim@h:x").unwrap_err().contains("geheim"));
    }

    #[test]
    fn lists_are_split_trimmed_and_kept_in_order() {
        assert_eq!(split_base_urls(""), [""; 0]);
        assert_eq!(split_base_urls("https://a"), ["https://a"]);
        assert_eq!(split_base_urls("http://a:1/, http://b:2/ ,"), ["http://a:1/", "http://b:2/"]);
    }
}
