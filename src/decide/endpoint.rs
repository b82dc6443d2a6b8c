//! An endpoint or a proxy as the decisions see it: a number, its place in the order, nothing of the
//! network.

/// Which endpoint, or which proxy, of a client. Never used twice in the life of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub u64);

/// What a member of a pool is. The numbers are those of `anyhost_member_kind` in the C header.
///
/// ```
/// use anyhost::{Client, Kind};
///
/// let client = Client::builder().base_urls("https://a.example").proxies("http://p.example").build()?;
/// let kinds: Vec<Kind> = client.snapshot().members().iter().map(|it| it.kind()).collect();
/// assert_eq!(kinds, [Kind::Endpoint, Kind::Proxy]);
/// assert_eq!(Kind::Proxy.name(), "proxy");
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A base URL of the service.
    Endpoint = 1,
    /// A way to it.
    Proxy = 2,
}

impl Kind {
    /// Its name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Endpoint => "endpoint",
            Kind::Proxy => "proxy",
        }
    }
}

/// What way leads to an endpoint, or what targets a proxy is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reach {
    /// Of an endpoint: no proxy is asked to lead there. Among proxies: this one is none.
    pub direct: bool,
    /// Of an endpoint: its scheme. Of a proxy: the only scheme it is for; `None`: any.
    pub scheme: Option<Scheme>,
}

impl Reach {
    /// Whether a proxy of this kind may be asked for a target of that one.
    pub fn leads_to(self, target: Reach) -> bool {
        self.scheme.is_none() || target.scheme.is_none() || self.scheme == target.scheme
    }
}

/// The scheme of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `http`.
    Http,
    /// `https`.
    Https,
}

/// A member as configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// Which one.
    pub id: EndpointId,
    /// Lower numbers are tried first (ruling R5).
    pub priority: u32,
}
