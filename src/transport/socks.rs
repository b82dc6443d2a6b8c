//! The messages of SOCKS4, SOCKS4a and SOCKS5 (RFC 1928, RFC 1929), and what an answer says.
//!
//! Answers are read to the byte, because what follows them is the target's.

use super::proxy_url::Credentials;
use crate::decide::ProxyReply;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The command of both versions: connect.
const CONNECT: u8 = 1;
const NO_AUTHENTICATION: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
const NO_METHOD: u8 = 0xFF;
/// SOCKS4's "granted".
const GRANTED: u8 = 90;

/// Where a proxy is asked to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// A name that the proxy is to look up.
    Name(String, u16),
    /// An address.
    Address(SocketAddr),
}

/// Why a request cannot be put, or an answer not be understood.
pub(super) type Words = &'static str;

/// SOCKS4: version, command, port, address, user. With a name: an impossible address, the name behind.
pub(super) fn request4(place: &Place, credentials: Option<&Credentials>) -> Result<Vec<u8>, Words> {
    let user = credentials.map_or(&[][..], |c| &c.user);
    let (port, address, name) = match place {
        Place::Name(name, port) => (*port, Ipv4Addr::new(0, 0, 0, 1), Some(name)),
        Place::Address(peer) => match peer.ip() {
            IpAddr::V4(address) => (peer.port(), address, None),
            IpAddr::V6(_) => return Err("SOCKS4 has no words for an IPv6 address"),
        },
    };
    let mut request = vec![4, CONNECT];
    request.extend(port.to_be_bytes());
    request.extend(address.octets());
    request.extend(user);
    request.push(0);
    if let Some(name) = name {
        request.extend(name.as_bytes());
        request.push(0);
    }
    Ok(request)
}

/// SOCKS4's answer: a zero, the code, and six bytes of no interest, which are there after success.
pub(super) fn answer4(start: [u8; 2]) -> Result<Result<(), ProxyReply>, Words> {
    match start {
        // Some put the version there.
        [0 | 4, GRANTED] => Ok(Ok(())),
        [0 | 4, code] => Ok(Err(ProxyReply::Socks4(code))),
        _ => Err("the proxy does not speak SOCKS4"),
    }
}

/// What follows the two bytes of SOCKS4's answer.
pub(super) const REST4: usize = 6;

/// SOCKS5: the ways to authenticate that we have.
pub(super) fn greeting5(credentials: Option<&Credentials>) -> Vec<u8> {
    match credentials {
        None => vec![5, 1, NO_AUTHENTICATION],
        Some(_) => vec![5, 2, NO_AUTHENTICATION, USER_AND_PASSWORD],
    }
}

/// What SOCKS5 chose of them: whether user and password are wanted.
pub(super) fn chosen5(answer: [u8; 2], offered: bool) -> Result<Result<bool, ProxyReply>, Words> {
    match answer {
        [5, NO_AUTHENTICATION] => Ok(Ok(false)),
        [5, USER_AND_PASSWORD] if offered => Ok(Ok(true)),
        [5, NO_METHOD] => Ok(Err(ProxyReply::Socks5NoMethod)),
        [5, _] => Err("the proxy chose an authentication that was not offered"),
        _ => Err("the proxy does not speak SOCKS5"),
    }
}

/// User and password (RFC 1929), whose lengths have been checked with the URL.
pub(super) fn credentials5(credentials: &Credentials) -> Vec<u8> {
    let mut message = vec![1];
    for field in [&credentials.user, &credentials.password] {
        message.push(field.len() as u8);
        message.extend(field);
    }
    message
}

/// The answer to that. Its version differs between implementations.
pub(super) fn accepted5(answer: [u8; 2]) -> Result<(), ProxyReply> {
    match answer[1] {
        0 => Ok(()),
        status => Err(ProxyReply::Socks5Credentials(status)),
    }
}

/// SOCKS5's request: version, command, a zero, address, port.
pub(super) fn request5(place: &Place) -> Result<Vec<u8>, Words> {
    let mut request = vec![5, CONNECT, 0];
    let port = match place {
        Place::Name(name, port) => {
            let length = u8::try_from(name.len()).map_err(|_| "a name too long for SOCKS5")?;
            request.extend([3, length]);
            request.extend(name.as_bytes());
            port.to_be_bytes()
        }
        Place::Address(peer) => {
            match peer.ip() {
                IpAddr::V4(address) => {
                    request.push(1);
                    request.extend(address.octets());
                }
                IpAddr::V6(address) => {
                    request.push(4);
                    request.extend(address.octets());
                }
            }
            peer.port().to_be_bytes()
        }
    };
    request.extend(port);
    Ok(request)
}

/// How SOCKS5's answer begins: version and code. After success more follows; a refusal is told at once.
pub(super) fn answer5(start: [u8; 2]) -> Result<Result<(), ProxyReply>, Words> {
    match start {
        [5, 0] => Ok(Ok(())),
        [5, code] => Ok(Err(ProxyReply::Socks5(code))),
        _ => Err("the proxy does not speak SOCKS5"),
    }
}

/// How many bytes follow these three (a zero, the kind of address, and the first byte of it): the
/// address the proxy connected from, of no interest, and its port.
pub(super) fn rest5([_, kind, first]: [u8; 3]) -> Result<usize, Words> {
    match kind {
        1 => Ok(4 - 1 + 2),
        3 => Ok(usize::from(first) + 2),
        4 => Ok(16 - 1 + 2),
        _ => Err("the proxy does not speak SOCKS5"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::ProxyUrl;

    fn address(text: &str) -> Place {
        Place::Address(text.parse().unwrap())
    }

    fn name(text: &str, port: u16) -> Place {
        Place::Name(text.to_owned(), port)
    }

    /// By the SOCKS4 and SOCKS4A notes of Ying-Da Lee.
    #[test]
    fn socks4_to_the_byte() {
        let proxy = ProxyUrl::parse("socks4://Fred@p").unwrap();
        let fred = proxy.credentials();
        assert_eq!(
            request4(&address("66.102.7.99:80"), fred).unwrap(),
            [4, 1, 0, 80, 66, 102, 7, 99, b'F', b'r', b'e', b'd', 0]
        );
        assert_eq!(request4(&address("1.2.3.4:443"), None).unwrap(), [4, 1, 1, 187, 1, 2, 3, 4, 0]);
        assert_eq!(
            request4(&name("a.b", 80), fred).unwrap(),
            b"\x04\x01\0\x50\0\0\0\x01Fred\0a.b\0"
        );
        assert!(request4(&address("[::1]:80"), None).is_err());

        assert_eq!(answer4([0, 90]), Ok(Ok(())));
        for code in [91, 92, 93, 0] {
            assert_eq!(answer4([0, code]), Ok(Err(ProxyReply::Socks4(code))));
        }
        assert!(answer4([5, 90]).is_err());
        assert!(answer4(*b"HT").is_err());
    }

    #[test]
    fn socks5_to_the_byte() {
        let proxy = ProxyUrl::parse("socks5://me:secret@p").unwrap();
        let me = proxy.credentials();
        assert_eq!(greeting5(None), [5, 1, 0]);
        assert_eq!(greeting5(me), [5, 2, 0, 2]);
        assert_eq!(credentials5(me.unwrap()), b"\x01\x02me\x06secret");

        assert_eq!(chosen5([5, 0], true), Ok(Ok(false)));
        assert_eq!(chosen5([5, 2], true), Ok(Ok(true)));
        assert_eq!(chosen5([5, 0xFF], true), Ok(Err(ProxyReply::Socks5NoMethod)));
        // What was not offered cannot be chosen.
        assert!(chosen5([5, 2], false).is_err());
        assert!(chosen5([5, 1], true).is_err());
        assert!(chosen5([4, 0], true).is_err());
        assert_eq!(accepted5([1, 0]), Ok(()));
        assert_eq!(accepted5([5, 0]), Ok(()));
        assert_eq!(accepted5([1, 1]), Err(ProxyReply::Socks5Credentials(1)));

        assert_eq!(request5(&address("192.0.2.1:80")).unwrap(), [5, 1, 0, 1, 192, 0, 2, 1, 0, 80]);
        let mut v6 = vec![5, 1, 0, 4];
        v6.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 187]);
        assert_eq!(request5(&address("[2001:db8::1]:443")).unwrap(), v6);
        assert_eq!(request5(&name("a.test", 443)).unwrap(), b"\x05\x01\0\x03\x06a.test\x01\xbb");
        assert!(request5(&name(&"x".repeat(256), 1)).is_err());

        assert_eq!(answer5([5, 0]), Ok(Ok(())));
        for code in 1..=9 {
            assert_eq!(answer5([5, code]), Ok(Err(ProxyReply::Socks5(code))));
        }
        assert!(answer5(*b"HT").is_err());
        assert_eq!(rest5([0, 1, 10]), Ok(5));
        assert_eq!(rest5([0, 4, 10]), Ok(17));
        assert_eq!(rest5([0, 3, 10]), Ok(12));
        assert!(rest5([0, 2, 10]).is_err());
    }
}
