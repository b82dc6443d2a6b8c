//! What can be set, with its defaults: for one call, and for a whole client.

use super::base_url::BaseUrl;
use super::no_proxy::NoProxy;
use crate::decide::{
    BreakerSettings, BudgetSettings, ProxyFault, Reach, Resend, Scheme, StatusSet, Timeout,
    TimeoutPolicy, WeightStrategy, WhenNoneEligible,
};
use http::HeaderValue;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What a client sets for its calls, and each request may set for itself.
#[derive(Debug, Clone)]
pub(crate) struct CallSettings {
    pub(crate) max_attempts: Option<u32>,
    pub(crate) attempts_per_endpoint: u32,
    pub(crate) resend: Resend,
    pub(crate) resend_statuses: StatusSet,
    pub(crate) backoff_base: Duration,
    pub(crate) backoff_max: Duration,
    pub(crate) connect_timeout: Option<Duration>,
    pub(crate) connect_timeout_last: Option<Duration>,
    pub(crate) attempt_timeout: Policy,
    pub(crate) deadline: Option<Duration>,
    pub(crate) stall_timeout: Option<Duration>,
    pub(crate) require_success: bool,
    pub(crate) error_statuses: StatusSet,
    pub(crate) redirects: u32,
    pub(crate) decompress: bool,
    pub(crate) max_body: u64,
    pub(crate) user_agent: HeaderValue,
}

impl Default for CallSettings {
    fn default() -> Self {
        CallSettings {
            max_attempts: None,
            attempts_per_endpoint: 1,
            resend: Resend::Safe,
            // Seed 000: the gateway's failures, and Cloudflare's of the origin. 500 and 501 come
            // from the application, and 524 from one that is still at work.
            resend_statuses: StatusSet::of(&[(502, 504), (520, 523), (525, 526)]),
            // Seed 002: short beside a human's patience, long beside a hiccup.
            backoff_base: Duration::from_millis(50),
            backoff_max: Duration::from_secs(1),
            // Seed 000: a healthy path connects in well under a second.
            connect_timeout: Some(Duration::from_secs(2)),
            connect_timeout_last: None,
            attempt_timeout: Policy::from(Timeout::default()),
            deadline: None,
            stall_timeout: Some(Duration::from_secs(30)),
            require_success: false,
            error_statuses: StatusSet::EMPTY,
            redirects: 10,
            decompress: true,
            max_body: 64 << 20,
            user_agent: HeaderValue::from_static(concat!("anyhost/", env!("CARGO_PKG_VERSION"))),
        }
    }
}

/// The policy that says how long an attempt may take.
#[derive(Clone)]
pub(crate) struct Policy {
    pub(crate) policy: Arc<dyn TimeoutPolicy>,
    text: String,
}

impl Policy {
    /// One the caller brought.
    pub(crate) fn custom(policy: Box<dyn TimeoutPolicy>) -> Self {
        Policy { policy: policy.into(), text: "custom".to_owned() }
    }
}

impl From<Timeout> for Policy {
    fn from(timeout: Timeout) -> Self {
        Policy { text: timeout.to_string(), policy: Arc::new(timeout) }
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What is set for a client as a whole.
#[derive(Debug, Clone)]
pub(crate) struct ClientSettings {
    pub(crate) selection: Selection,
    pub(crate) breaker: bool,
    pub(crate) breaker_threshold: u32,
    pub(crate) breaker_base_delay: Duration,
    pub(crate) breaker_max_delay: Duration,
    pub(crate) breaker_jitter: bool,
    pub(crate) when_none_eligible: WhenNoneEligible,
    pub(crate) weight_max: u32,
    pub(crate) weight_min: u32,
    pub(crate) weight_increment: u32,
    pub(crate) weight_divisor: u32,
    pub(crate) weight_strategy: Option<WeightStrategy>,
    pub(crate) honor_retry_after: bool,
    pub(crate) proxy_threshold: u32,
    pub(crate) proxy_threshold_body: u32,
    pub(crate) proxy_base_delay: Duration,
    pub(crate) proxy_max_delay: Duration,
    pub(crate) no_proxy: NoProxy,
    pub(crate) proxy_from_env: bool,
    /// What stands in the place of those four, by the place in [`ProxyFault::ALL`].
    pub(crate) proxy_cooldowns: [Option<BreakerSettings>; ProxyFault::ALL.len()],
    pub(crate) retry_budget: Option<BudgetSettings>,
    pub(crate) hold_for: Duration,
    pub(crate) failure_statuses: StatusSet,
    pub(crate) allow_mixed_schemes: bool,
    pub(crate) seed: Option<u64>,
    pub(crate) secret_headers: Vec<String>,
    pub(crate) tls_roots: TlsRoots,
    pub(crate) tls_verify: bool,
    pub(crate) idle_timeout: Duration,
    pub(crate) max_idle_per_endpoint: u32,
}

impl Default for ClientSettings {
    fn default() -> Self {
        let breaker = BreakerSettings::default();
        ClientSettings {
            selection: Selection::Ordered,
            breaker: false,
            breaker_threshold: breaker.threshold(),
            breaker_base_delay: breaker.backoff().base(),
            breaker_max_delay: breaker.backoff().max(),
            breaker_jitter: breaker.backoff().jitter(),
            when_none_eligible: WhenNoneEligible::FailFast,
            // Seed 003.
            weight_max: 1000,
            weight_min: 1,
            weight_increment: 1000,
            weight_divisor: 10,
            weight_strategy: None,
            honor_retry_after: true,
            // One refusal is proof enough, where another proxy can be asked. A body that crawls may be the
            // service's own doing: three in a row are a pattern. 30 s is long for who waits and short for
            // who repairs; an hour bounds what a proxy given up for dead costs.
            proxy_threshold: 1,
            proxy_threshold_body: 3,
            proxy_base_delay: Duration::from_secs(30),
            proxy_max_delay: Duration::from_secs(60 * 60),
            no_proxy: NoProxy::default(),
            proxy_from_env: false,
            proxy_cooldowns: [None; ProxyFault::ALL.len()],
            retry_budget: None,
            // Seed 000.
            hold_for: Duration::from_secs(300),
            failure_statuses: StatusSet::of(&[(500, 599), (429, 429)]),
            allow_mixed_schemes: false,
            seed: None,
            secret_headers: Vec::new(),
            tls_roots: TlsRoots::System,
            tls_verify: true,
            // Below the shortest keep-alive that servers commonly grant, so that the server is
            // seldom the one who closes first.
            idle_timeout: Duration::from_secs(15),
            max_idle_per_endpoint: 8,
        }
    }
}

impl ClientSettings {
    /// By what way an endpoint is reached.
    pub(crate) fn reach(&self, base: &BaseUrl) -> Reach {
        self.reach_of(base.is_https(), base.host(), base.port())
    }

    /// By what way a target is reached.
    pub(crate) fn reach_of(&self, https: bool, host: &str, port: u16) -> Reach {
        Reach {
            direct: self.no_proxy.matches(host, port),
            scheme: Some(if https { Scheme::Https } else { Scheme::Http }),
        }
    }
}

/// How a call chooses among endpoints that give no priority of their own.
///
/// ```
/// use anyhost::{Client, Selection};
///
/// let client = Client::builder()
///     .base_urls("https://mirror-1.example, https://mirror-2.example")
///     .selection(Selection::Weighted)
///     .build()?;
/// assert_eq!(client.snapshot().members()[1].priority(), 0); // as that of the first
/// # Ok::<(), anyhost::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Selection {
    /// In the order listed: each has a priority of its own (seed 000).
    #[default]
    Ordered,
    /// By weight: all have priority 0 (seed 003).
    Weighted,
}

/// Whose certificates are trusted.
///
/// ```
/// use anyhost::{Client, TlsRoots};
///
/// // An image without a store of certificates.
/// let bundled = Client::builder().base_urls("https://a.example").tls_roots(TlsRoots::Bundled).build();
/// assert!(bundled.is_ok());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum TlsRoots {
    /// Those of the operating system, and the roots added.
    #[default]
    System,
    /// Mozilla's list as it was when this library was built, and the roots added. For images without
    /// a store of their own. It ages: certificates of authorities that came later are not accepted,
    /// and those of authorities that fell are, until the library is built anew.
    Bundled,
    /// Only the roots added.
    None,
}

/// A limit as it is set by value: 0 would be a call that cannot be made, and nobody means it.
pub(crate) fn not_zero(limit: Option<Duration>) -> Result<Option<Duration>, String> {
    match limit {
        Some(Duration::ZERO) => Err("no limit can be 0; say none for no limit".to_owned()),
        limit => Ok(limit),
    }
}
