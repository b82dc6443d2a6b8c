//! An endpoint as the caller describes it.

use super::base_url::BaseUrl;
use super::error::{Error, Result};
use super::headers;
#[cfg(feature = "capi")]
use super::roster::labels;
use super::status::Status;
use crate::transport::is_server_name;
use http::HeaderMap;
use std::fmt;

/// One base URL of the service, with what is special about it.
///
/// ```
/// use anyhost::{Client, Endpoint};
///
/// let client = Client::builder()
///     .endpoint(Endpoint::new("https://a.example/v1")?.label("main"))
///     .endpoint(Endpoint::new("https://b.example/v1")?.secret_header("X-Api-Key", "of b")?)
///     .build()?;
/// assert!(client.snapshot().find("main").is_some());
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) base: BaseUrl,
    pub(crate) label: Option<String>,
    pub(crate) priority: Option<u32>,
    pub(crate) weight: Option<u32>,
    pub(crate) headers: HeaderMap,
    pub(crate) server_name: Option<String>,
}

impl Endpoint {
    /// The endpoint at this base URL: `https` or `http`, a host, perhaps a port and a path. User
    /// info in it is Basic authentication for this endpoint alone (ruling R15).
    ///
    /// # Errors
    ///
    /// [`Status::Url`] for what is no such URL, and for one with a query or a fragment.
    pub fn new(url: &str) -> Result<Self> {
        let base = BaseUrl::parse(url)
            .map_err(|why| Error::of_option(Status::Url, "url", format!("endpoint {why}")))?;
        Ok(Endpoint::of(base))
    }

    pub(crate) fn of(base: BaseUrl) -> Self {
        let headers = basic_auth(&base);
        Endpoint { base, label: None, priority: None, weight: None, headers, server_name: None }
    }

    /// What it is called in attempts, events and errors.
    ///
    /// # Default
    ///
    /// Its origin, `scheme://host:port`, without the port where it is that of the scheme; with the base path
    /// where two endpoints share an origin. One label twice is [`Status::Duplicate`] from `build`.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Its place in the order: lower numbers are tried first, and those with the same number are drawn by
    /// weight (ruling R5).
    ///
    /// ```
    /// use anyhost::{Client, Endpoint};
    ///
    /// // Two near ones share the calls; the far one is for when both are out.
    /// let client = Client::builder()
    ///     .endpoint(Endpoint::new("https://far.example")?.priority(1))
    ///     .endpoint(Endpoint::new("https://near-1.example")?.priority(0))
    ///     .endpoint(Endpoint::new("https://near-2.example")?.priority(0))
    ///     .build()?;
    /// let snapshot = client.snapshot();
    /// assert_eq!(snapshot.members()[2].label(), "https://far.example"); // listed by priority
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// Its place in the list, from 0; with [`Selection::Weighted`](crate::Selection) 0 for all.
    pub fn priority(mut self, priority: u32) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Its share among endpoints of the same priority: the weight at the start, and the most it can
    /// become. From [`weight_min`](crate::ClientBuilder::weight_min) to
    /// [`weight_max`](crate::ClientBuilder::weight_max); another one is [`Status::Range`] from `build`.
    ///
    /// ```
    /// use anyhost::{Client, Endpoint, Selection, Status};
    ///
    /// let with = |weight| {
    ///     Client::builder()
    ///         .selection(Selection::Weighted)
    ///         .base_urls("https://big.example") // 1000
    ///         .endpoint(Endpoint::new("https://small.example").unwrap().weight(weight))
    ///         .build()
    /// };
    /// assert_eq!(with(250)?.snapshot().members()[1].weight(), 250); // one call in five
    /// assert_eq!(with(1001).unwrap_err().status(), Status::Range);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// `weight_max`, which is 1000 (seed 003).
    pub fn weight(mut self, weight: u32) -> Self {
        self.weight = Some(weight);
        self
    }

    /// The name to ask a certificate for and to verify it by, in the place of the URL's host: a DNS
    /// name, which the server is told (SNI, RFC 6066 section 3), or an IP address, which it is not.
    /// `Host` stays that of the URL (ruling R15). For an endpoint given by its address, or reached
    /// through a balancer that has no name of its own.
    ///
    /// # Default
    ///
    /// The host of the URL.
    ///
    /// # Errors
    ///
    /// [`Status::Argument`] for what no certificate can be for.
    ///
    /// ```
    /// use anyhost::Endpoint;
    ///
    /// let endpoint = Endpoint::new("https://192.0.2.7/v1")?.server_name("api.example.com")?;
    /// assert!(format!("{endpoint:?}").contains("api.example.com"));
    /// assert!(endpoint.server_name("no name").is_err());
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn server_name(mut self, name: &str) -> Result<Self> {
        self.set_server_name(name)?;
        Ok(self)
    }

    pub(crate) fn set_server_name(&mut self, name: &str) -> Result<()> {
        if !is_server_name(name) {
            let shown: String = name.chars().take(64).collect();
            let why = format!("`{}` is no name of a server", shown.escape_debug());
            return Err(Error::of_option(Status::Argument, "server_name", why));
        }
        self.server_name = Some(name.to_owned());
        Ok(())
    }

    /// A header that every request to this endpoint carries, and no request to another one. It takes
    /// the place of the client's header of that name; the request's own takes the place of this.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// use anyhost::{Client, Endpoint};
    /// # let (a, b) = ("https://a.example", "https://b.example");
    /// # let network = ScriptedTransport::new().on(a, [Reply::refused()]).on(b, [Reply::ok("")]);
    ///
    /// let client = Client::builder()
    ///     .base_urls("https://a.example")
    ///     .endpoint(Endpoint::new("https://b.example")?.header("X-Tier", "standby")?)
    /// #     .transport(network.clone())
    /// #     .clock(network.clock())
    ///     .build()?;
    /// client.get("/").send()?;
    /// assert_eq!(network.received_at(b)[0].headers["x-tier"], "standby");
    /// assert!(!network.attempts_at(a)[0].headers.contains_key("x-tier"));
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::Argument`] for what no header can be.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Result<Self> {
        self.add_header(name, value.as_ref(), false)?;
        Ok(self)
    }

    /// The same for a value that no text may ever show.
    ///
    /// # Errors
    ///
    /// [`Status::Argument`] for what no header can be.
    pub fn secret_header(mut self, name: &str, value: impl AsRef<[u8]>) -> Result<Self> {
        self.add_header(name, value.as_ref(), true)?;
        Ok(self)
    }

    /// The endpoint of this label, or of this base URL as it was given.
    #[cfg(feature = "capi")]
    pub(crate) fn find_in<'a>(list: &'a mut [Endpoint], key: &str) -> Result<&'a mut Endpoint> {
        let labels = labels(list).unwrap_or_default();
        let place = (labels.iter().position(|label| **label == *key))
            .or_else(|| list.iter().position(|endpoint| endpoint.base.given() == key));
        // The key is not shown: it may be a URL with a password.
        let not_found =
            || Error::of_option(Status::NotFound, "key", "no endpoint has this label or base URL");
        list.get_mut(place.ok_or_else(not_found)?).ok_or_else(not_found)
    }

    pub(crate) fn add_header(&mut self, name: &str, value: &[u8], secret: bool) -> Result<()> {
        let (name, value) = headers::parse(name.as_bytes(), value, secret)?;
        self.headers.append(name, value);
        Ok(())
    }
}

/// What the user info of a URL stands for, as the header that says it.
pub(crate) fn basic_auth(url: &BaseUrl) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(basic) = url.basic_auth() {
        let (name, value) = headers::parse(b"authorization", basic.as_bytes(), true)
            .expect("base64 is a header value");
        headers.insert(name, value);
    }
    headers
}

/// Shows no user info and no header.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &self.base)
            .field("label", &self.label)
            .field("priority", &self.priority)
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}
