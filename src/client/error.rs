//! What goes wrong, in building a client or in a call.

use super::attempt::Attempt;
use super::response::Response;
use super::status::Status;
use super::wait::whole_ms;
use crate::decide::{Delivery, Kind, Phase, Reason, Refused, State};
use std::fmt;
use std::time::Duration;

/// An error of this crate: one word wide, and everything known about it inside.
///
/// [`status`](Error::status) says what kind it is. An error of a call also says what is certain about
/// the delivery of the request and lists every attempt; one of building names the option or argument
/// and its value. No text of it shows user info, a query or the value of a secret header.
///
/// ```
/// let error = anyhost::Client::new("https://a.example, gopher://b.example").unwrap_err();
/// assert_eq!(error.status(), anyhost::Status::Url);
/// assert_eq!(error.option(), Some("base_urls"));
/// ```
///
/// Of a call:
///
/// ```
/// use anyhost::testing::{Reply, ScriptedTransport};
/// use anyhost::{Delivery, Phase, Reason, Status};
///
/// let (a, b) = ("https://a.example", "https://b.example");
/// let network =
///     ScriptedTransport::new().on(a, [Reply::refused()]).on(b, [Reply::resets_after_sending()]);
/// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
/// # let client = builder.transport(network.clone()).clock(network.clock()).build()?;
/// let error = client.post("/orders").body("{}").send().unwrap_err();
///
/// assert_eq!((error.status(), error.option()), (Status::AttemptsSpent, None));
/// assert_eq!(error.delivery(), Delivery::Maybe); // not to be repeated without a question
/// assert_eq!((error.reason(), error.phase()), (Reason::Reset, Phase::Head)); // of the last attempt
/// assert_eq!((error.attempts().len(), error.http_status()), (2, None));
/// # Ok::<(), anyhost::Error>(())
/// ```
pub struct Error(Box<Inner>);

/// The result of what may fail in this crate.
///
/// ```
/// fn status() -> anyhost::Result<u16> {
///     let client = anyhost::Client::new("https://a.example, https://b.example")?;
///     Ok(client.get("/").send()?.status())
/// }
/// # let _ = status;
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

struct Inner {
    status: Status,
    option: Option<String>,
    message: String,
    attempts: Vec<Attempt>,
    refused: Vec<Refusal>,
    /// How long nobody may be tried.
    wait: Option<Duration>,
    answer: Option<Response>,
}

/// Why an endpoint, or a proxy, may not be tried now.
///
/// ```
/// use anyhost::{Client, State, Status};
///
/// let client = Client::new("https://a.example")?;
/// client.disable("https://a.example", "its disk is full")?;
/// let error = client.get("/").send().unwrap_err();
/// assert_eq!(error.status(), Status::NoEndpoint);
/// let refused = &error.refused()[0];
/// assert_eq!((refused.state, refused.label.as_str()), (State::Disabled, "https://a.example"));
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What it is.
    pub kind: Kind,
    /// Its label.
    pub label: String,
    /// Its state.
    pub state: State,
    /// Why it is in it.
    pub reason: Reason,
    /// How long it will be; zero where it takes more than time.
    pub wait: Duration,
}

/// How much of a rejected answer's body an error keeps.
pub(crate) const KEPT_BODY: usize = 64 * 1024;

impl Error {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            status,
            option: None,
            message: message.into(),
            attempts: Vec::new(),
            refused: Vec::new(),
            wait: None,
            answer: None,
        }))
    }

    /// An error of the option or argument called `option`.
    pub(crate) fn of_option(status: Status, option: &str, message: impl Into<String>) -> Self {
        let mut error = Error::new(status, message);
        error.0.option = Some(option.to_owned());
        error
    }

    /// The same error, of what stands there.
    pub(crate) fn prefixed(mut self, place: &str) -> Self {
        self.0.message.insert_str(0, place);
        self
    }

    /// The error of a call that made these attempts.
    pub(crate) fn of_call(status: Status, attempts: Vec<Attempt>) -> Self {
        let mut error = Error::new(status, String::new());
        error.0.message = match attempts.last() {
            None => status.text().to_owned(),
            Some(last) => sentence(status, &attempts, last),
        };
        error.0.attempts = attempts;
        error
    }

    /// The error of a call that a redirect of `label` led to where none may go.
    pub(crate) fn redirects(
        why: Refused,
        label: &str,
        target: Option<&str>,
        attempts: Vec<Attempt>,
    ) -> Self {
        let mut text = match why {
            Refused::TooMany(most) => {
                format!("{label} redirects once more, after the {most} that may be followed")
            }
            Refused::Loop => format!("a redirect of {label} leads back to what was asked before"),
            Refused::Unencrypted => format!("a redirect of {label} leads from https to http"),
            Refused::OtherScheme => {
                format!("a redirect of {label} leads to neither https nor http")
            }
            Refused::Unreadable => format!("a redirect of {label} has a Location that is no URL"),
        };
        if let Some(target) = target {
            text.push_str(&format!(" (to {target})"));
        }
        text.push_str(delivery_words(&attempts));
        let mut error = Error::new(Status::Redirects, text);
        error.0.attempts = attempts;
        error
    }

    /// The error of a call that found nobody to try.
    pub(crate) fn no_endpoint(
        refused: Vec<Refusal>,
        wait: Option<Duration>,
        attempts: Vec<Attempt>,
    ) -> Self {
        let mut error = Error::of_call(Status::NoEndpoint, attempts);
        let mut text = Status::NoEndpoint.text().to_owned();
        for (i, refusal) in refused.iter().enumerate() {
            let Refusal { kind, label, state, reason, wait } = refusal;
            text.push_str(if i == 0 { ": " } else { ", " });
            text.push_str(if *kind == Kind::Proxy { "proxy " } else { "" });
            text.push_str(&format!("{label} is {} ({}", state.name(), reason.words()));
            if !wait.is_zero() {
                text.push_str(&format!(", {} ms left", whole_ms(*wait)));
            }
            text.push(')');
        }
        text.push_str(delivery_words(error.attempts()));
        error.0.message = text;
        (error.0.refused, error.0.wait) = (refused, wait);
        error
    }

    /// The same error, with those of these members that the call has not tried.
    pub(crate) fn beside(mut self, mut refused: Vec<Refusal>) -> Self {
        refused.retain(|it| {
            !self.0.attempts.iter().any(|attempt| match it.kind {
                Kind::Endpoint => attempt.endpoint() == it.label,
                Kind::Proxy => attempt.proxy() == Some(&*it.label),
            })
        });
        self.0.refused = refused;
        self
    }

    /// The error of a call whose answer was turned down.
    pub(crate) fn rejected(mut answer: Response) -> Self {
        let mut error = Error::new(
            Status::Rejected,
            format!("{} answered {}, which was turned down", answer.endpoint(), answer.status()),
        );
        error.0.attempts.clone_from(&answer.attempts);
        answer.truncate_body(KEPT_BODY);
        error.0.answer = Some(answer);
        error
    }

    /// What kind of error it is: what a program decides by, as the text may change.
    pub fn status(&self) -> Status {
        self.0.status
    }

    /// The option or argument that is wrong, by the name that [`options`](crate::options) or the method's
    /// signature has; `None` where it is none of these, as of a call.
    pub fn option(&self) -> Option<&str> {
        self.0.option.as_deref()
    }

    /// Every attempt of the call, replays included; empty where none was made.
    pub fn attempts(&self) -> &[Attempt] {
        &self.0.attempts
    }

    /// Why the last attempt failed; [`Reason::None`] where none was made.
    pub fn reason(&self) -> Reason {
        self.last().map_or(Reason::None, Attempt::reason)
    }

    /// How far the last attempt got; [`Phase::None`] where none was made.
    pub fn phase(&self) -> Phase {
        self.last().map_or(Phase::None, Attempt::phase)
    }

    /// Whether the request reached a server: the highest of all its attempts, so that `NotSent` and
    /// `NotProcessed` hold for each of them. `NotSent` where none was made.
    pub fn delivery(&self) -> Delivery {
        self.0.attempts.iter().map(Attempt::delivery).max().unwrap_or(Delivery::NotSent)
    }

    /// The status of the last answer whose head arrived.
    pub fn http_status(&self) -> Option<u16> {
        self.0.attempts.iter().rev().find_map(Attempt::http_status)
    }

    /// The operating system's error number of the last attempt; 0 where there was none.
    ///
    /// Example: [`Attempt::os_error`], of one attempt.
    pub fn os_error(&self) -> i32 {
        self.last().map_or(0, Attempt::os_error)
    }

    /// How long to wait before another call: of [`Status::NoEndpoint`] until an endpoint may be tried, and
    /// where there are proxies one of them too; else the longer of what the last answer asked and what its
    /// endpoint's circuit advises.
    ///
    /// Example: [`ClientBuilder::breaker`](crate::ClientBuilder::breaker).
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.wait.or_else(|| self.last().and_then(Attempt::retry_after))
    }

    /// Of [`Status::NoEndpoint`]: why each endpoint and each proxy that may not be tried now may not be. Of
    /// [`Status::AttemptsSpent`] the same, of those that the call has not tried, where the client has no more
    /// than 32 of both.
    ///
    /// Example: [`Refusal`].
    pub fn refused(&self) -> &[Refusal] {
        &self.0.refused
    }

    /// The answer that was turned down ([`Status::Rejected`]); its body is cut after 64 KiB.
    ///
    /// Example: [`RequestBuilder::require_success`](crate::RequestBuilder::require_success).
    pub fn answer(&self) -> Option<&Response> {
        self.0.answer.as_ref()
    }

    fn last(&self) -> Option<&Attempt> {
        self.0.attempts.last()
    }
}

/// What ended the call, what the last attempt met, and what is certain about the delivery.
fn sentence(status: Status, attempts: &[Attempt], last: &Attempt) -> String {
    let mut text = format!(
        "{}: {} {} at {}",
        status.text(),
        last.reason().words(),
        last.phase().words(),
        last.endpoint()
    );
    if let Some(proxy) = last.proxy() {
        text.push_str(&format!(" through {proxy}"));
    }
    if !last.message().is_empty() {
        text.push_str(&format!(" ({})", last.message()));
    }
    text.push_str(match attempts.len() {
        1 => ", the only attempt",
        _ => ", the last of several attempts",
    });
    text.push_str(delivery_words(attempts));
    text
}

fn delivery_words(attempts: &[Attempt]) -> &'static str {
    match attempts.iter().map(Attempt::delivery).max() {
        Some(Delivery::Maybe) => "; a server may have received the request",
        Some(Delivery::Answered) => "; a server received the request",
        Some(Delivery::NotProcessed) => "; no server behind the proxy received the request",
        _ => "; no server received the request",
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

/// As [`explain`](Error::explain), since this is what a `main` prints that returns the error, and a panic of
/// `unwrap`. `{:#?}` has the fields.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return f.write_str(self.explain().trim_end());
        }
        f.debug_struct("Error")
            .field("status", &self.0.status)
            .field("message", &self.0.message)
            .field("option", &self.0.option)
            .field("attempts", &self.0.attempts)
            .finish()
    }
}

impl std::error::Error for Error {}
