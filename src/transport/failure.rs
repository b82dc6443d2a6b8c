//! Turns what went wrong into a [`Cause`]: by error variant, by errno, never by text.
//!
//! Our own layers fail with a [`Failure`] from the start. It travels through ureq inside
//! `Error::Other`, which ureq passes on untouched, while it takes some kinds of `Error::Io` for the
//! end of a body. What ureq itself finds wrong is judged by how far the attempt had got.
//!
//! Flow: socket, session, dial, lookup, upload → **failure** → report. Not here: what a cause
//! means for the next attempt (`decide::classify`).

use super::current::Progress;
use crate::decide::{Cause, Limit, Phase};
use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError};
use std::borrow::Cow;
use std::fmt;
use std::io::{self, ErrorKind};

/// Why an attempt ended, or a body after it: the part of a report that an error knows.
///
/// Example: [`inject::BodySource`](crate::inject::BodySource).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong.
    pub cause: Cause,
    /// The operating system's error number, 0 where there was none.
    pub os_error: i32,
    /// A few words for people. Never a path, a query, user info or a header value.
    pub detail: Cow<'static, str>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// A failure without an error number.
    ///
    /// Example: [`inject::BodySource`](crate::inject::BodySource).
    pub fn new(cause: Cause, detail: impl Into<Cow<'static, str>>) -> Self {
        Failure { cause, os_error: 0, detail: detail.into() }
    }

    pub(super) fn local(detail: impl Into<Cow<'static, str>>) -> Self {
        Failure::new(Cause::Local, detail)
    }

    pub(super) fn timed_out(limit: Limit) -> Self {
        let detail = match limit {
            Limit::Connect => "no connection within the time to connect",
            Limit::Attempt => "the time of the attempt ran out",
            Limit::Stall => "no byte of the answer's body for too long",
        };
        Failure::new(Cause::TimedOut(limit), detail)
    }

    /// The peer closed an established connection in order.
    pub(super) fn closed() -> Self {
        Failure::new(Cause::Closed, "the peer closed the connection")
    }

    /// Nobody waits for the call any more.
    pub(super) fn cancelled() -> Self {
        // The status of the error says all there is to say.
        Failure::new(Cause::Cancelled, "")
    }

    /// An error of an established connection.
    pub(super) fn of_connection(error: &io::Error) -> Self {
        let cause = match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
                Cause::Reset
            }
            // ETIMEDOUT here is the kernel giving up on retransmissions, not one of our limits.
            ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
                Cause::Unreachable
            }
            ErrorKind::NetworkDown => Cause::Unreachable,
            _ => Cause::Reset,
        };
        Failure::with_errno(cause, error)
    }

    /// An error of a connection being made to `peer`. Our own limits are not among these.
    pub(super) fn of_dial(error: &io::Error, peer: std::net::SocketAddr) -> Self {
        let (cause, words) = match error.kind() {
            ErrorKind::ConnectionRefused => (Cause::Refused, "refused the connection"),
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => {
                (Cause::Reset, "reset the connection")
            }
            ErrorKind::TimedOut => (Cause::TimedOut(Limit::Connect), "did not answer"),
            // The one local fault that is likely: no port left to connect from.
            ErrorKind::AddrNotAvailable => (Cause::Local, "no local address to connect from"),
            _ => (Cause::Unreachable, "cannot be reached"),
        };
        Failure { detail: format!("{peer} {words}").into(), ..Failure::with_errno(cause, error) }
    }

    /// Something on our side that the operating system refused.
    pub(super) fn of_system(error: &io::Error) -> Self {
        Failure::with_errno(Cause::Local, error)
    }

    fn with_errno(cause: Cause, error: &io::Error) -> Self {
        let os_error = error.raw_os_error().unwrap_or(0);
        Failure { cause, os_error, detail: error.kind().to_string().into() }
    }

    /// An error of TLS: of the handshake, or of a record after it.
    pub(super) fn of_tls(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::InvalidCertificate(why) => {
                Failure::new(Cause::Certificate, certificate_words(why))
            }
            rustls::Error::NoCertificatesPresented => {
                Failure::new(Cause::Certificate, "the peer presented no certificate")
            }
            rustls::Error::AlertReceived(alert) => {
                Failure::new(Cause::Tls, format!("handshake alert: {}", alert_words(*alert)))
            }
            rustls::Error::PeerIncompatible(_) => {
                Failure::new(Cause::Tls, "no TLS version or cipher in common")
            }
            rustls::Error::InvalidMessage(_) => Failure::new(Cause::Tls, "not a TLS message"),
            _ => Failure::new(Cause::Tls, "TLS failed"),
        }
    }

    /// This failure on its way through ureq.
    pub(super) fn into_ureq(self) -> ureq::Error {
        ureq::Error::Other(Box::new(self))
    }

    /// This failure on its way through ureq, from where only an I/O error can be returned.
    pub(super) fn into_io(self) -> io::Error {
        io::Error::other(self.into_ureq())
    }

    /// What reading an [`AnswerBody`](super::AnswerBody) failed with.
    pub(super) fn of_body(error: io::Error) -> Self {
        // It never fails with anything else.
        error.downcast().unwrap_or_else(|error| Failure::of_connection(&error))
    }

    /// What ureq returned, given how far the attempt had got.
    pub(super) fn of_ureq(error: ureq::Error, progress: &Progress) -> Self {
        let phase = progress.phase();
        match error {
            ureq::Error::Other(inner) => match inner.downcast::<Failure>() {
                Ok(failure) => *failure,
                Err(_) => Failure::local("not a failure of ours"),
            },
            // ureq's own word for an end too early; ours never come as `Io`.
            ureq::Error::Io(e) if e.kind() == ErrorKind::UnexpectedEof => match phase {
                Phase::Body => Failure::new(Cause::Truncated, "the body ended before its end"),
                _ => Failure::closed(),
            },
            // The end came while what had arrived led no further: within a chunk's frame.
            ureq::Error::BodyStalled => {
                Failure::new(Cause::Truncated, "the body ended before its end")
            }
            ureq::Error::Io(e) => Failure::of_connection(&e),
            ureq::Error::LargeResponseHeader(..) => {
                Failure::new(Cause::Protocol, "the head of the answer is too large")
            }
            // Before anything came back, what ureq finds wrong is the request.
            _ if phase < Phase::Head => Failure::local("the request cannot be sent as HTTP/1.1"),
            _ if phase == Phase::Body => Failure::new(Cause::Protocol, "the body is not HTTP/1.1"),
            _ => Failure::new(Cause::Protocol, "the answer is not HTTP/1.1"),
        }
    }

    /// As seen while the body of an answer is read: an end too early is a truncation, however it
    /// came about (ruling R13). The errno still tells a reset from an orderly end.
    pub(super) fn in_body(self) -> Self {
        match self.cause {
            Cause::Reset | Cause::Closed | Cause::Unreachable => Failure {
                cause: Cause::Truncated,
                detail: "the connection ended before the body did".into(),
                ..self
            },
            _ => self,
        }
    }
}

/// The alert's name, and what it asks of whoever reads it.
fn alert_words(alert: AlertDescription) -> String {
    use AlertDescription::*;
    let meaning = match alert {
        CertificateRequired => ", the server wants a client certificate",
        BadCertificate
        | UnsupportedCertificate
        | CertificateRevoked
        | CertificateExpired
        | CertificateUnknown
        | UnknownCA
        | AccessDenied => ", the server does not accept the client certificate",
        ProtocolVersion => ", the server speaks neither TLS 1.3 nor 1.2",
        UnrecognisedName => ", the server does not know this name",
        _ => "",
    };
    format!("{alert:?}{meaning}")
}

/// Most of what a certificate says about itself that is repeated.
const MAX_NAMES: usize = 3;
const MAX_WORDS: usize = 120;

fn certificate_words(why: &CertificateError) -> Cow<'static, str> {
    use CertificateError::*;
    let seconds = |from: UnixTime, to: UnixTime| to.as_secs().saturating_sub(from.as_secs());
    match why {
        Expired => "certificate expired".into(),
        ExpiredContext { time, not_after } => {
            format!("certificate expired {} ago", span(seconds(*not_after, *time))).into()
        }
        NotValidYet => "certificate not valid yet".into(),
        NotValidYetContext { time, not_before } => {
            let wait = span(seconds(*time, *not_before));
            format!("certificate not valid yet, by this clock for another {wait}").into()
        }
        NotValidForName => "certificate not valid for this name".into(),
        NotValidForNameContext { expected, presented } => {
            let names: Vec<String> =
                presented.iter().take(MAX_NAMES).map(|name| told(bare(name))).collect();
            let more = if presented.len() > MAX_NAMES { " and others" } else { "" };
            let expected = expected.to_str();
            match names.is_empty() {
                true => format!("certificate not valid for this name: {expected} is not on it"),
                false => format!(
                    "certificate not valid for this name: it is for {}{more}, not {expected}",
                    names.join(", ")
                ),
            }
            .into()
        }
        UnknownIssuer => {
            "unknown issuer: no root that is trusted has signed the certificate".into()
        }
        Revoked => "certificate revoked".into(),
        BadSignature => "certificate with a bad signature".into(),
        BadEncoding => "certificate not readable".into(),
        InvalidPurpose | InvalidPurposeContext { .. } => "certificate not for servers".into(),
        Other(why) => format!("certificate not accepted: {}", told(&why.to_string())).into(),
        _ => "certificate not accepted".into(),
    }
}

/// A name as rustls shows it, `DnsName("a.example")`, without what is around it.
fn bare(name: &str) -> &str {
    let inside = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inside.unwrap_or(name).trim_matches('"')
}

/// What a peer says, short and on one line.
fn told(text: &str) -> String {
    text.chars().take(MAX_WORDS).collect::<String>().escape_debug().to_string()
}

/// A time in the largest unit that there are two of.
fn span(seconds: u64) -> String {
    match seconds {
        0..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} hours", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(phase: Phase) -> Progress {
        let progress = Progress::unbounded();
        progress.reach(phase);
        progress
    }

    #[test]
    fn a_failure_survives_the_way_through_ureq() {
        let failure = Failure::timed_out(Limit::Stall);
        let back = ureq::Error::from(failure.clone().into_io());
        assert_eq!(Failure::of_ureq(back, &at(Phase::Body)), failure);
    }

    #[test]
    fn certificates_are_turned_down_in_words() {
        let (day, now) = (86_400, 1_000_000_000);
        let at = |seconds| UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let expired =
            |ago| CertificateError::ExpiredContext { time: at(now), not_after: at(now - ago) };
        let named = |presented: &[&str]| CertificateError::NotValidForNameContext {
            expected: "a.example".try_into().unwrap(),
            presented: presented.iter().map(|name| (*name).to_owned()).collect(),
        };
        let many = ["DnsName(\"b\")", "IpAddress(127.0.0.2)", "c\nd", "DnsName(\"e\")"];
        for (why, words) in [
            (expired(60), "certificate expired 1 min ago"),
            (expired(3 * 3600), "certificate expired 3 hours ago"),
            (expired(9 * day), "certificate expired 9 days ago"),
            (named(&[]), "certificate not valid for this name: a.example is not on it"),
            (named(&many[..1]), "certificate not valid for this name: it is for b, not a.example"),
            (
                named(&many),
                "certificate not valid for this name: it is for b, 127.0.0.2, c\\nd and others, \
                 not a.example",
            ),
        ] {
            assert_eq!(certificate_words(&why), words);
        }
        assert_eq!(told(&"x".repeat(1000)).len(), MAX_WORDS);
    }

    #[test]
    fn what_ureq_finds_wrong_depends_on_the_phase() {
        let causes = |make: fn() -> ureq::Error| {
            [Phase::None, Phase::Send, Phase::Head, Phase::Body]
                .map(|p| Failure::of_ureq(make(), &at(p)).cause)
        };
        use Cause::*;
        assert_eq!(causes(|| ureq::Error::HostNotFound), [Local, Local, Protocol, Protocol]);
        assert_eq!(
            causes(|| io::Error::from(ErrorKind::UnexpectedEof).into()),
            [Closed, Closed, Closed, Truncated]
        );
    }

    #[test]
    fn errno_decides_the_cause_of_a_failed_dial() {
        let peer = ([127, 0, 0, 1], 80).into();
        let cases = [
            (ErrorKind::ConnectionRefused, Cause::Refused),
            (ErrorKind::HostUnreachable, Cause::Unreachable),
            (ErrorKind::NetworkUnreachable, Cause::Unreachable),
            (ErrorKind::NetworkDown, Cause::Unreachable),
            (ErrorKind::TimedOut, Cause::TimedOut(Limit::Connect)),
            (ErrorKind::AddrNotAvailable, Cause::Local),
        ];
        for (kind, cause) in cases {
            assert_eq!(Failure::of_dial(&kind.into(), peer).cause, cause, "{kind:?}");
        }
    }
}
