//! Which hosts no proxy is to be used for: `NO_PROXY` with the meaning that curl gives it.
//!
//! A list of entries, split at commas and blanks:
//!
//! | entry | matches |
//! |---|---|
//! | `corp.example`, `.corp.example` | that name and every name below it, in any case |
//! | `*.corp.example` | the names below it (Go; curl has no such entry) |
//! | `10.1.2.3`, `fd00::1`, `[fd00::1]` | that address |
//! | `10.0.0.0/8`, `fd00::/8` | the addresses of that network |
//! | any of these with `:port` | the same at that port only (Go and wget; curl has no ports) |
//! | `*` | everything (curl: where it is the whole list) |
//!
//! A trailing dot means nothing, on either side. Names are not looked up: a network matches addresses
//! that are written as such. What is no such entry matches nothing and is kept to be told
//! ([`ignored`](NoProxy::ignored)).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A list of hosts to be reached directly.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NoProxy {
    entries: Vec<Entry>,
    ignored: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    what: What,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Everything,
    /// A name in lower case, and the names below it.
    Domain(String),
    /// The names below it.
    Below(String),
    /// The addresses that have this many leading bits in common with one.
    Network(IpAddr, u32),
}

impl NoProxy {
    /// Reads a list.
    pub(crate) fn parse(list: &str) -> NoProxy {
        let mut read = NoProxy::default();
        for text in list.split(|c: char| c == ',' || c.is_whitespace()).filter(|t| !t.is_empty()) {
            match Entry::parse(text) {
                Some(entry) => read.entries.push(entry),
                None => read.ignored.push(text.to_owned()),
            }
        }
        read
    }

    /// What in the list is no entry.
    pub(crate) fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// Whether this host, as it stands in a URL, is to be reached directly at this port.
    pub(crate) fn matches(&self, host: &str, port: u16) -> bool {
        let host = without_brackets(host);
        let host = match host.parse::<IpAddr>() {
            Ok(address) => Host::Address(address),
            Err(_) => Host::Name(without_dot(host).to_ascii_lowercase()),
        };
        let there = |entry: &Entry| entry.port.is_none_or(|own| own == port);
        self.entries.iter().any(|entry| there(entry) && entry.what.matches(&host))
    }
}

enum Host {
    Name(String),
    Address(IpAddr),
}

impl What {
    fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (What::Everything, _) => true,
            (What::Domain(domain), Host::Name(name)) => name == domain || is_below(name, domain),
            (What::Below(domain), Host::Name(name)) => is_below(name, domain),
            (What::Network(network, bits), Host::Address(address)) => {
                in_network(*address, *network, *bits)
            }
            _ => false,
        }
    }
}

impl Entry {
    fn parse(text: &str) -> Option<Entry> {
        if let Some(what) = What::address(text) {
            return Some(Entry { what, port: None });
        }
        let (text, port) = match text.rsplit_once(':') {
            None => (text, None),
            // `parse` would take a plus sign.
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => {
                (host, Some(port.parse().ok().filter(|port| *port != 0)?))
            }
            Some(_) => return None,
        };
        let what = match text {
            "*" if port.is_none() => What::Everything,
            _ => What::address(text).or_else(|| What::name(text))?,
        };
        Some(Entry { what, port })
    }
}

impl What {
    /// An address, with the length of a prefix where one follows.
    fn address(text: &str) -> Option<What> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = without_brackets(address).parse().ok()?;
        let all = if address.is_ipv4() { Ipv4Addr::BITS } else { Ipv6Addr::BITS };
        let bits = match length {
            None => all,
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().ok().filter(|bits| *bits <= all)?
            }
            Some(_) => return None,
        };
        Some(What::Network(address, bits))
    }

    fn name(text: &str) -> Option<What> {
        let (below, text) = match text.strip_prefix("*.") {
            Some(text) => (true, text),
            None => (false, text.strip_prefix('.').unwrap_or(text)),
        };
        let text = without_dot(text);
        let name = match text.is_ascii() {
            true => text.to_ascii_lowercase(),
            // As it is written in a URL's host after that was taken apart.
            false => url::Host::parse(text).ok()?.to_string(),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        Some(if below { What::Below(name) } else { What::Domain(name) })
    }
}

fn is_below(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.') && rest.len() > 1)
}

fn in_network(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(n)) => {
            let mask = u32::MAX.checked_shl(Ipv4Addr::BITS - bits).unwrap_or(0);
            a.to_bits() & mask == n.to_bits() & mask
        }
        (IpAddr::V6(a), IpAddr::V6(n)) => {
            let mask = u128::MAX.checked_shl(Ipv6Addr::BITS - bits).unwrap_or(0);
            a.to_bits() & mask == n.to_bits() & mask
        }
        _ => false,
    }
}

fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn without_dot(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the tests of curl's `noproxy.c` (tests/unit/unit1614.c), and what other clients read into the
    /// same variable.
    #[test]
    fn a_list_matches_what_curl_says() {
        for (list, host, port, expected) in [
            ("", "www.example.com", 80, false),
            ("*", "www.example.com", 80, true),
            ("*", "[::1]", 80, true),
            // Names, with and without a leading dot; not within a label.
            ("example.com", "example.com", 80, true),
            ("example.com", "www.example.com", 80, true),
            ("example.com", "a.b.example.com", 80, true),
            ("example.com", "nonexample.com", 80, false),
            ("example.com", "example.com.org", 80, false),
            (".example.com", "example.com", 80, true),
            (".example.com", "www.example.com", 80, true),
            (".example.com", "nonexample.com", 80, false),
            ("www.example.com", "example.com", 80, false),
            ("com", "example.com", 80, true),
            (".", "example.com", 80, false),
            ("*.example.com", "www.example.com", 80, true),
            ("*.example.com", "example.com", 80, false),
            ("*.example.com", ".example.com", 80, false),
            ("localhost", "127.0.0.1", 80, false),
            // Case and trailing dots.
            ("EXAMPLE.com", "www.Example.COM", 80, true),
            ("example.com.", "example.com", 80, true),
            ("example.com", "example.com.", 80, true),
            (".example.com.", "www.example.com.", 80, true),
            ("b\u{fc}cher.example", "xn--bcher-kva.example", 80, true),
            // Commas, blanks, both, several, at the ends (F164).
            ("a, example.com", "www.example.com", 80, true),
            ("a ,example.com ,b", "www.example.com", 80, true),
            (",,a,,\texample.com,,", "example.com", 80, true),
            ("a example.com", "example.com", 80, true),
            ("a,b", "example.com", 80, false),
            ("localhost, 127.0.0.1 ,10.0.0.0/8,fd00::/8,.corp,::1", "x.corp", 80, true),
            ("localhost, 127.0.0.1 ,10.0.0.0/8,fd00::/8,.corp,::1", "127.0.0.1", 80, true),
            ("localhost, 127.0.0.1 ,10.0.0.0/8,fd00::/8,.corp,::1", "10.255.0.1", 80, true),
            ("localhost, 127.0.0.1 ,10.0.0.0/8,fd00::/8,.corp,::1", "[fd12::1]", 80, true),
            ("localhost, 127.0.0.1 ,10.0.0.0/8,fd00::/8,.corp,::1", "[::1]", 80, true),
            ("localhost, 127.0.0.1 ,10.0.0.0/8,fd00::/8,.corp,::1", "11.0.0.1", 80, false),
            // Addresses are no names.
            ("192.168.0.1", "192.168.0.1", 80, true),
            ("192.168.0.1", "192.168.0.11", 80, false),
            ("168.0.1", "192.168.0.1", 80, false),
            ("192.168.0.0/24", "192.168.0.200", 80, true),
            ("192.168.0.0/24", "192.168.1.200", 80, false),
            ("192.168.0.9/24", "192.168.0.200", 80, true),
            ("192.168.0.0/31", "192.168.0.1", 80, true),
            ("192.168.0.0/31", "192.168.0.2", 80, false),
            ("192.168.0.1/32", "192.168.0.1", 80, true),
            ("192.168.0.1/32", "192.168.0.2", 80, false),
            ("0.0.0.0/0", "192.168.0.1", 80, true),
            ("0.0.0.0/0", "[::1]", 80, false),
            ("192.168.0.0/33", "192.168.0.1", 80, false),
            ("192.168.0.0/", "192.168.0.0", 80, false),
            ("192.168.0.0/+8", "192.168.0.0", 80, false),
            ("10.0.0.0/8", "a10.example", 80, false),
            ("::1", "[::1]", 80, true),
            ("[::1]", "::1", 80, true),
            ("::1", "[0:0:0:0:0:0:0:1]", 80, true),
            ("::1", "[::2]", 80, false),
            ("fe80::/10", "[febf::1]", 80, true),
            ("fe80::/10", "[fec0::1]", 80, false),
            ("[fd00::]/8", "[fd00::1]", 80, true),
            ("::/0", "[2001:db8::1]", 80, true),
            ("fd00::/129", "[fd00::]", 80, false),
            // Ports.
            ("example.com:8080", "example.com", 8080, true),
            ("example.com:8080", "www.example.com", 8080, true),
            ("example.com:8080", "example.com", 80, false),
            ("127.0.0.1:8080", "127.0.0.1", 8080, true),
            ("127.0.0.1:8080", "127.0.0.1", 80, false),
            ("10.0.0.0/8:80", "10.0.0.1", 80, true),
            ("[::1]:443", "[::1]", 443, true),
            ("[::1]:443", "[::1]", 80, false),
        ] {
            assert_eq!(
                NoProxy::parse(list).matches(host, port),
                expected,
                "{list:?} {host}:{port}"
            );
        }
    }

    /// F162: none of these panics, matches anything or is passed over in silence.
    #[test]
    fn what_is_no_entry_is_told() {
        for text in
            [":1", "[", "]", "*:80", "a:b", "a:0", "a:99999", "a:+1", "http://a", "a/8", ".", "*."]
        {
            let read = NoProxy::parse(text);
            assert_eq!(read.ignored(), [text], "{text:?}");
            assert!(!read.matches("a", 80) && !read.matches("[::1]", 1), "{text:?}");
        }
        for text in ["", ",", " ", " , \t,"] {
            assert_eq!(NoProxy::parse(text), NoProxy::default(), "{text:?}");
        }
        let read = NoProxy::parse("a, :1, b");
        assert_eq!(read.ignored(), [":1"]);
        assert!(read.matches("a", 80) && read.matches("b", 80));
    }
}
