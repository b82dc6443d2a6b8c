//! The address of a proxy, taken apart once: how it is spoken to, where it is, who we are to it.
//!
//! The credentials are in here because a connection made with them must not serve others; no text
//! about a proxy shows them. Not here: which proxy an attempt takes (`decide`), the conversation with
//! it (`tunnel`).

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::sync::Arc;
use url::Host;

/// Most bytes of a user name or a password in SOCKS5 (RFC 1929 section 2: one byte tells the length).
const SOCKS5_FIELD: usize = 255;

/// How a proxy is spoken to.
///
/// ```
/// use anyhost::inject::ProxyScheme;
///
/// let (http, socks) = (ProxyScheme::Http, ProxyScheme::Socks5h);
/// assert_eq!((http.name(), http.default_port(), http.is_http()), ("http", 80, true));
/// assert_eq!((socks.name(), socks.default_port(), socks.is_http()), ("socks5h", 1080, false));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProxyScheme {
    /// HTTP: CONNECT for https targets (RFC 9110 section 9.3.6), the absolute form for http targets
    /// (RFC 9112 section 3.2.2).
    Http,
    /// The same over TLS to the proxy.
    Https,
    /// SOCKS4: the name of the target is looked up here, and only IPv4 addresses can be asked for.
    Socks4,
    /// SOCKS4a: the proxy looks the name up.
    Socks4a,
    /// SOCKS5 (RFC 1928): the name of the target is looked up here.
    Socks5,
    /// SOCKS5: the proxy looks the name up.
    Socks5h,
}

impl ProxyScheme {
    const ALL: [ProxyScheme; 6] = [
        ProxyScheme::Http,
        ProxyScheme::Https,
        ProxyScheme::Socks4,
        ProxyScheme::Socks4a,
        ProxyScheme::Socks5,
        ProxyScheme::Socks5h,
    ];

    /// As in a URL.
    pub fn name(self) -> &'static str {
        match self {
            ProxyScheme::Http => "http",
            ProxyScheme::Https => "https",
            ProxyScheme::Socks4 => "socks4",
            ProxyScheme::Socks4a => "socks4a",
            ProxyScheme::Socks5 => "socks5",
            ProxyScheme::Socks5h => "socks5h",
        }
    }

    /// The port where the URL names none: that of the scheme itself, as in Go, Python and Node. curl
    /// alone takes 1080 for `http`, where no HTTP proxy listens.
    pub fn default_port(self) -> u16 {
        match self {
            ProxyScheme::Http => 80,
            ProxyScheme::Https => 443,
            _ => 1080,
        }
    }

    /// Whether it speaks HTTP: an http target is then asked for in absolute form, without a tunnel.
    pub fn is_http(self) -> bool {
        matches!(self, ProxyScheme::Http | ProxyScheme::Https)
    }
}

/// The URL of a proxy.
///
/// ```
/// use anyhost::inject::{ProxyScheme, ProxyUrl};
///
/// let proxy = ProxyUrl::parse("socks5h://user:p%40ss@proxy.example")?;
/// assert_eq!((proxy.scheme(), proxy.host(), proxy.port()), (ProxyScheme::Socks5h, "proxy.example", 1080));
/// assert!(proxy.has_credentials());
/// assert_eq!(proxy.to_string(), "socks5h://proxy.example:1080"); // never shows who we are
/// # Ok::<(), String>(())
/// ```
///
/// Two are equal where scheme, host, port and credentials are. A clone costs no memory.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ProxyUrl(Arc<Parts>);

#[derive(PartialEq, Eq, Hash)]
struct Parts {
    scheme: ProxyScheme,
    /// Without the brackets of an IPv6 address.
    host: String,
    port: u16,
    credentials: Option<Credentials>,
}

/// Who we are to a proxy, percent-decoded.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Credentials {
    pub(super) user: Vec<u8>,
    pub(super) password: Vec<u8>,
}

impl ProxyUrl {
    /// Takes `scheme://user:password@host:port` apart. The scheme may be left out and is `http` then,
    /// as in the environment variables of curl; user info is percent-decoded; without a port it is
    /// [`default_port`](ProxyScheme::default_port). A single slash may follow, and nothing else.
    ///
    /// # Errors
    ///
    /// What is wrong with it, naming the URL without its user info. That includes what the scheme could
    /// not transmit: a colon in the user name or a control character (RFC 7617 section 2), a password
    /// for SOCKS4, more than 255 bytes of either for SOCKS5.
    pub fn parse(given: &str) -> Result<ProxyUrl, String> {
        let fail = |why: &str| Err(format!("proxy `{}` {why}", redacted(given)));
        if given.chars().any(|c| c.is_control() || c == ' ' || c == '\\') {
            return fail("has a character that no URL has; commas separate proxies");
        }
        let (scheme, rest) = match given.split_once("://") {
            Some((name, rest)) => {
                let named = |scheme: &&ProxyScheme| scheme.name().eq_ignore_ascii_case(name);
                match ProxyScheme::ALL.iter().find(named) {
                    Some(scheme) => (*scheme, rest),
                    None => {
                        return fail(
                            "has a scheme other than http, https, socks4, socks4a, socks5 and socks5h",
                        );
                    }
                }
            }
            None => (ProxyScheme::Http, given),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        if !matches!(&rest[end..], "" | "/") {
            return fail("has more than user info, host and port");
        }
        let (user_info, place) = match rest[..end].rsplit_once('@') {
            Some((user_info, place)) => (Some(user_info), place),
            None => (None, &rest[..end]),
        };
        // The colons of an IPv6 address are within its brackets.
        let (host, port) = match place.rfind(':') {
            Some(at) if !place[at..].contains(']') => (&place[..at], Some(&place[at + 1..])),
            _ => (place, None),
        };
        let host = match Host::parse(host) {
            Ok(Host::Domain(name)) => name,
            Ok(Host::Ipv4(address)) => address.to_string(),
            Ok(Host::Ipv6(address)) => address.to_string(),
            Err(_) if host.is_empty() => return fail("names no host"),
            // As lists of proxies that are sold have it.
            Err(_) if user_info.is_none() && host.contains(':') && !host.contains('[') => {
                return fail("has too many colons: write user:password@host:port");
            }
            Err(error) => return fail(&format!("has a host that is none: {error}")),
        };
        let port = match port {
            None | Some("") => scheme.default_port(),
            // `parse` would take a plus sign.
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => match digits.parse() {
                Ok(0) => return fail("has port 0, which nobody can listen at"),
                Ok(port) => port,
                Err(_) => return fail("has a port above 65535"),
            },
            Some(_) => return fail("has a port that is no number"),
        };
        let credentials = match user_info.filter(|info| !info.is_empty()).map(Credentials::parse) {
            None => None,
            Some(credentials) => {
                if let Err(why) = credentials.fit(scheme) {
                    return fail(why);
                }
                Some(credentials)
            }
        };
        Ok(ProxyUrl(Arc::new(Parts { scheme, host, port, credentials })))
    }

    /// How it is spoken to.
    pub fn scheme(&self) -> ProxyScheme {
        self.0.scheme
    }

    /// A name in lower case and ASCII, or an IP address, without brackets.
    pub fn host(&self) -> &str {
        &self.0.host
    }

    /// The port, by default that of the scheme.
    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// Whether user info was given.
    pub fn has_credentials(&self) -> bool {
        self.0.credentials.is_some()
    }

    pub(super) fn credentials(&self) -> Option<&Credentials> {
        self.0.credentials.as_ref()
    }
}

/// `scheme://host:port`, never user info.
impl fmt::Display for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { scheme, host, port, .. } = &*self.0;
        match host.contains(':') {
            true => write!(f, "{}://[{host}]:{port}", scheme.name()),
            false => write!(f, "{}://{host}:{port}", scheme.name()),
        }
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Credentials {
    fn parse(user_info: &str) -> Self {
        let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
        let decoded = |text| percent_decode_str(text).collect();
        Credentials { user: decoded(user), password: decoded(password) }
    }

    /// Whether a proxy of this scheme can be told.
    fn fit(&self, scheme: ProxyScheme) -> Result<(), &'static str> {
        let Credentials { user, password } = self;
        match scheme {
            ProxyScheme::Http | ProxyScheme::Https => {
                if user.contains(&b':') {
                    return Err(
                        "has a colon in its user name, which Basic authentication cannot tell",
                    );
                }
                if user.iter().chain(password).any(u8::is_ascii_control) {
                    return Err("has a control character in its user info");
                }
            }
            ProxyScheme::Socks4 | ProxyScheme::Socks4a => {
                if !password.is_empty() {
                    return Err("has a password, which SOCKS4 cannot tell");
                }
                if user.contains(&0) {
                    return Err("has a zero byte in its user name, which SOCKS4 cannot tell");
                }
            }
            ProxyScheme::Socks5 | ProxyScheme::Socks5h => {
                if user.is_empty() || user.len() > SOCKS5_FIELD || password.len() > SOCKS5_FIELD {
                    return Err(
                        "has a user name or a password that SOCKS5 cannot tell: 1 to 255 bytes",
                    );
                }
            }
        }
        Ok(())
    }

    /// The value of `Proxy-Authorization`, by the Basic scheme (RFC 7617).
    pub(super) fn basic(&self) -> String {
        let pair = [&self.user[..], b":", &self.password].concat();
        format!("Basic {}", BASE64_STANDARD.encode(pair))
    }
}

/// A text that may be a proxy's URL, without what may be a secret in it: all before the last `@`, and
/// what stands where a port should, since `http://user:password` is a way to forget the host.
fn redacted(text: &str) -> String {
    // A colon or an `@` before it belong to user info without a scheme.
    let is_scheme =
        |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let (scheme, rest) = match text.find("://") {
        Some(at) if is_scheme(&text[..at]) => text.split_at(at + 3),
        _ => ("", text),
    };
    let (user_info, place) = match rest.rfind('@') {
        Some(at) => ("***", &rest[at..]),
        None => ("", rest),
    };
    let end = place.find(['/', '?', '#']).unwrap_or(place.len());
    let place = &place[..end];
    let place = match place.rsplit_once(':') {
        Some((host, port))
            if !place.ends_with(']') && !port.bytes().all(|b| b.is_ascii_digit()) =>
        {
            format!("{host}:***")
        }
        _ => place.to_owned(),
    };
    format!("{scheme}{user_info}{place}").escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(given: &str) -> (&'static str, String, u16, Option<(String, String)>) {
        let url = ProxyUrl::parse(given).unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let credentials = url.credentials().map(|c| (text(&c.user), text(&c.password)));
        (url.scheme().name(), url.host().to_owned(), url.port(), credentials)
    }

    #[test]
    fn a_url_is_taken_apart() {
        for (given, scheme, host, port, credentials) in [
            ("http://p", "http", "p", 80, None),
            ("https://p", "https", "p", 443, None),
            ("socks4://p", "socks4", "p", 1080, None),
            ("socks4a://p", "socks4a", "p", 1080, None),
            ("socks5://p", "socks5", "p", 1080, None),
            ("SOCKS5H://P.Example/", "socks5h", "p.example", 1080, None),
            ("p", "http", "p", 80, None),
            ("p:3128", "http", "p", 3128, None),
            ("u:w@p:3128", "http", "p", 3128, Some(("u", "w"))),
            ("http://p:", "http", "p", 80, None),
            ("http://@p", "http", "p", 80, None),
            ("http://[::1]:3128", "http", "::1", 3128, None),
            ("http://[0:0::1]", "http", "::1", 80, None),
            ("socks5://u@10.0.0.1:9", "socks5", "10.0.0.1", 9, Some(("u", ""))),
            ("http://u:p%40%3a%2F@p", "http", "p", 80, Some(("u", "p@:/"))),
            ("http://u:a:b@p", "http", "p", 80, Some(("u", "a:b"))),
            ("http://u:a@b@p", "http", "p", 80, Some(("u", "a@b"))),
            ("http://b\u{fc}cher.example", "http", "xn--bcher-kva.example", 80, None),
            ("socks4://me@p", "socks4", "p", 1080, Some(("me", ""))),
        ] {
            let credentials = credentials.map(|(u, p)| (u.to_owned(), p.to_owned()));
            assert_eq!(parts(given), (scheme, host.to_owned(), port, credentials), "{given}");
        }
    }

    #[test]
    fn what_is_none_is_refused_with_its_reason_and_without_its_secrets() {
        let long = "geheim".repeat(43);
        for (given, why) in [
            ("", "names no host"),
            ("http://", "names no host"),
            ("http://u:geheim@", "names no host"),
            ("ftp://u:geheim@p", "scheme other than"),
            ("socks://u:geheim@p", "scheme other than"),
            ("u:geheim://x@p", "scheme other than"),
            ("http://u:geheim", "no number"),
            ("http://u:geheim/x@p", "more than"),
            ("http://u:geheim@p/x", "more than"),
            ("http://u:geheim@p?x", "more than"),
            ("http://u:geheim@p:0", "port 0"),
            ("http://u:geheim@p:65536", "above 65535"),
            ("http://u:geheim@p:+80", "no number"),
            ("http://u:geheim@p x", "no URL has"),
            ("http://p:3128\r\n", "no URL has"),
            ("http://[::1", "a host that is none"),
            ("127.0.0.1:3128:user:geheim", "write user:password@host:port"),
            ("http://a:1\nhttp://b:1", "commas separate proxies"),
            ("http://u%3Ageheim:x@p", "a colon"),
            ("http://u:geheim%0d@p", "a control character"),
            ("socks4://u:geheim@p", "a password"),
            ("socks4://u%00geheim@p", "a zero byte"),
            ("socks5://:geheim@p", "1 to 255 bytes"),
            (&format!("socks5h://u:{long}@p"), "1 to 255 bytes"),
        ] {
            let error = ProxyUrl::parse(given).unwrap_err();
            assert!(error.contains(why), "{given:?}: {error}");
            assert!(!error.contains("geheim") && !error.contains('\n'), "{given:?}: {error}");
        }
    }

    /// F78, R15: who we are to a proxy is in no text about it, and makes it another proxy.
    #[test]
    fn credentials_are_not_shown_and_tell_proxies_apart() {
        let [one, other] =
            ["u:geheim", "u:anders"].map(|w| ProxyUrl::parse(&format!("http://{w}@p")).unwrap());
        assert_eq!(format!("{one} {one:?}"), "http://p:80 http://p:80");
        assert_eq!(
            ProxyUrl::parse("socks5://u:p@[::1]").unwrap().to_string(),
            "socks5://[::1]:1080"
        );
        assert_ne!(one, other);
        assert_eq!(one, ProxyUrl::parse("HTTP://u:geheim@P:80/").unwrap());
        // The example of RFC 7617 section 2.
        let proxy = ProxyUrl::parse("http://Aladdin:open%20sesame@p").unwrap();
        assert_eq!(proxy.credentials().unwrap().basic(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }
}
