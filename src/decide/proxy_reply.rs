//! How a proxy said no, in its own numbers: a fact of a report, and not yet a judgement.

use std::fmt;

/// The refusal of a proxy, as it came.
///
/// Nothing of this is ever the status of an endpoint: whatever an endpoint says through a proxy is the
/// [`status`](super::Report::status) of a report.
///
/// ```
/// use anyhost::inject::ProxyReply;
///
/// assert!(ProxyReply::Http(407).is_about_credentials());
/// let refused = ProxyReply::Socks5(5);
/// assert!(!refused.is_about_credentials());
/// let text = "could not or would not connect: connection refused (5)";
/// assert_eq!(refused.to_string(), text); // to follow "the proxy"
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProxyReply {
    /// The status of an HTTP proxy's own answer: other than 2xx to CONNECT (RFC 9110 section 9.3.6),
    /// or 407 to a request in absolute form.
    Http(u16),
    /// A SOCKS4 proxy's answer (CD): 91 rejected or failed, 92 and 93 for what it thinks of the user.
    Socks4(u8),
    /// A SOCKS5 proxy takes none of the ways to authenticate that were offered (RFC 1928 section 3).
    Socks5NoMethod,
    /// A SOCKS5 proxy's status for user name and password, other than 0 (RFC 1929 section 2).
    Socks5Credentials(u8),
    /// A SOCKS5 proxy's answer (REP, RFC 1928 section 6): 1 general failure, 2 not allowed by ruleset,
    /// 3 network unreachable, 4 host unreachable, 5 connection refused, 6 TTL expired, 7 command not
    /// supported, 8 address type not supported.
    Socks5(u8),
}

impl ProxyReply {
    /// Whether it is about who we are, and not about where we want to go. That includes 401 to CONNECT,
    /// which no target can have said: tinyproxy gives it where credentials are wrong.
    pub fn is_about_credentials(self) -> bool {
        match self {
            ProxyReply::Http(status) => matches!(status, 401 | 407),
            ProxyReply::Socks4(code) => matches!(code, 92 | 93),
            ProxyReply::Socks5NoMethod | ProxyReply::Socks5Credentials(_) => true,
            ProxyReply::Socks5(_) => false,
        }
    }
}

/// In words that follow "the proxy".
impl fmt::Display for ProxyReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProxyReply::Http(status) => write!(f, "answered {status}"),
            ProxyReply::Socks4(code) => {
                let why = match code {
                    91 => "rejected or failed",
                    92 => "cannot ask this machine who the user is",
                    93 => "the user is another one here",
                    _ => "for no reason that SOCKS4 knows",
                };
                write!(f, "refused: {why} ({code})")
            }
            ProxyReply::Socks5NoMethod => f.write_str("takes none of the authentications offered"),
            ProxyReply::Socks5Credentials(code) => {
                write!(f, "refused user name and password ({code})")
            }
            ProxyReply::Socks5(code) => {
                let why = match code {
                    1 => "general failure",
                    2 => "not allowed by its rules",
                    3 => "network unreachable",
                    4 => "host unreachable",
                    5 => "connection refused",
                    6 => "TTL expired",
                    7 => "command not supported",
                    8 => "address type not supported",
                    _ => "for no reason that SOCKS5 knows",
                };
                write!(f, "could not or would not connect: {why} ({code})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_credentials_and_what_about_the_target() {
        for reply in [
            ProxyReply::Http(407),
            ProxyReply::Http(401),
            ProxyReply::Socks4(92),
            ProxyReply::Socks4(93),
            ProxyReply::Socks5NoMethod,
            ProxyReply::Socks5Credentials(1),
        ] {
            assert!(reply.is_about_credentials(), "{reply}");
        }
        for reply in [
            ProxyReply::Http(403),
            ProxyReply::Http(502),
            ProxyReply::Socks4(91),
            ProxyReply::Socks5(1),
            ProxyReply::Socks5(2),
        ] {
            assert!(!reply.is_about_credentials(), "{reply}");
        }
        assert_eq!(
            ProxyReply::Socks5(5).to_string(),
            "could not or would not connect: connection refused (5)"
        );
    }
}
