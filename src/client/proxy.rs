//! A proxy as the caller describes it.

use super::error::{Error, Result};
use super::status::Status;
use crate::decide::Scheme;
use crate::transport::ProxyUrl;
use std::fmt;

/// The word that stands for no proxy where proxies are listed.
const DIRECT: &str = "direct";

/// One way to the service: a proxy, or `direct`.
///
/// A client with proxies reaches every endpoint through one of them, drawn by weight, and never
/// otherwise: not when all of them are down, unless [`Proxy::direct`] is one of them or
/// [`no_proxy`](crate::ClientBuilder::no_proxy) names the endpoint (ruling R12).
///
/// ```
/// use anyhost::{Client, Proxy};
///
/// let client = Client::builder()
///     .base_urls("https://api.example.com")
///     .proxy(Proxy::new("socks5h://user:secret@proxy.example:1080")?.weight(900).label("near"))
///     .proxy(Proxy::new("http://spare.example:3128")?.weight(100))
///     .build()?;
/// assert_eq!(client.snapshot().find("near").unwrap().weight(), 900); // nine calls of ten
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Clone)]
pub struct Proxy {
    /// As given, which is also a key of the proxy; it may hold user info.
    pub(crate) given: String,
    /// `None`: none.
    pub(crate) url: Option<ProxyUrl>,
    pub(crate) label: Option<String>,
    pub(crate) weight: Option<u32>,
    /// The only targets it is for: what a variable of the environment is about.
    pub(crate) only: Option<Scheme>,
}

impl Proxy {
    /// The proxy at this URL: `http`, `https` (TLS to the proxy), `socks4`, `socks4a`, `socks5` or `socks5h`,
    /// with user info where it asks who we are; or the word `direct`. With `socks4` and `socks5` names are
    /// looked up here, with `socks4a` and `socks5h` by the proxy. Blanks and line ends around it are
    /// taken away.
    ///
    /// # Errors
    ///
    /// [`Status::Url`] for what is no such URL.
    pub fn new(url: &str) -> Result<Self> {
        let given = url.trim();
        let parsed = match given {
            DIRECT => None,
            given => Some(
                ProxyUrl::parse(given)
                    .map_err(|why| Error::of_option(Status::Url, "proxies", why))?,
            ),
        };
        Ok(Proxy { given: given.to_owned(), ..Proxy::at(parsed) })
    }

    /// No proxy: a request that draws it goes straight to its endpoint, and shows it where it comes from.
    ///
    /// ```
    /// use anyhost::{Client, Proxy};
    ///
    /// let client = Client::builder()
    ///     .base_urls("https://api.example.com")
    ///     .proxy(Proxy::new("http://proxy.example:3128")?)
    ///     .proxy(Proxy::direct().weight(1)) // seldom, while the proxy is well
    ///     .build()?;
    /// assert!(client.snapshot().find("direct").is_some());
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn direct() -> Self {
        Proxy::at(None)
    }

    /// The proxy at a URL that has been taken apart.
    pub(crate) fn at(url: Option<ProxyUrl>) -> Self {
        let given = url.as_ref().map_or_else(|| DIRECT.to_owned(), ProxyUrl::to_string);
        Proxy { given, url, label: None, weight: None, only: None }
    }

    /// What it is called in attempts, events and errors.
    ///
    /// # Default
    ///
    /// `scheme://host:port`, or `direct`.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Its share of the requests, whatever `selection` is: the weight at the start, and the most it can
    /// become. From 1 to `weight_max`.
    ///
    /// # Default
    ///
    /// `weight_max`, which is 1000. Below `weight_min` and above `weight_max` it is [`Status::Range`] from
    /// `build`.
    pub fn weight(mut self, weight: u32) -> Self {
        self.weight = Some(weight);
        self
    }

    /// As it may be shown.
    pub(crate) fn shown(&self) -> String {
        self.url.as_ref().map_or_else(|| DIRECT.to_owned(), ProxyUrl::to_string)
    }
}

/// Shows no user info.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy")
            .field("url", &self.shown())
            .field("label", &self.label)
            .field("weight", &self.weight)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_a_url_or_none() {
        assert_eq!(Proxy::new("socks5h://u:geheim@p").unwrap().shown(), "socks5h://p:1080");
        for direct in [Proxy::direct(), Proxy::new(" direct ").unwrap()] {
            assert_eq!((direct.shown().as_str(), direct.url.is_none()), ("direct", true));
        }
        // F166: the line end of a file from elsewhere.
        assert_eq!(
            Proxy::new("http://127.0.0.1:3128\r\n").unwrap().shown(),
            "http://127.0.0.1:3128"
        );
        let error = Proxy::new("gopher://u:geheim@p").unwrap_err();
        assert_eq!((error.status(), error.option()), (Status::Url, Some("proxies")));
        assert!(!error.to_string().contains("geheim"), "{error}");
        assert!(!format!("{:?}", Proxy::new("http://u:geheim@p").unwrap()).contains("geheim"));
    }
}
