//! Every option by name: one table for the builder, single requests, C, scripts and config files.
//!
//! A row says what the option is called, what stands for its default, who may set it, what it means,
//! and how its text is read. The typed methods of the builders set the same fields.

use super::error::{Error, Result};
use super::no_proxy::NoProxy;
use super::settings::{CallSettings, ClientSettings, Selection, TlsRoots};
use super::status::Status;
use crate::decide::{
    BudgetSettings, Resend, Timeout, WhenNoneEligible, parse_duration, parse_flag, parse_limit,
    parse_size,
};
use http::{HeaderName, HeaderValue};
use std::fmt::Display;

/// One row of the table of options.
///
/// ```
/// let deadline = anyhost::options().iter().find(|option| option.name() == "deadline").unwrap();
/// assert_eq!(deadline.default(), "off");
/// assert!(deadline.is_for_requests());
/// assert_eq!(deadline.help(), "for the whole call: attempts, waits and body");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    name: &'static str,
    default: &'static str,
    help: &'static str,
    read: Read,
}

/// Where the text goes. What only a client can set has no place among the settings of a call.
#[derive(Debug, Clone, Copy)]
enum Read {
    /// Base URLs are endpoints, not a setting.
    BaseUrls,
    /// Nor are proxies.
    Proxies,
    Client(fn(&mut ClientSettings, &str) -> Result<(), String>),
    Call(fn(&mut CallSettings, &str) -> Result<(), String>),
}

impl OptionSpec {
    /// Its name, the same in Rust, C, Python, files and variables of the environment.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The text that stands for its default; empty where there is none.
    pub fn default(&self) -> &'static str {
        self.default
    }

    /// What it means, in one line.
    pub fn help(&self) -> &'static str {
        self.help
    }

    /// A single request may set it, and not only the client; see
    /// [`RequestBuilder::set`](crate::RequestBuilder::set).
    pub fn is_for_requests(&self) -> bool {
        matches!(self.read, Read::Call(_))
    }
}

/// Every option there is, in the order of the manual.
///
/// ```
/// for option in anyhost::options() {
///     println!("{:<24} {:<12} {}", option.name(), option.default(), option.help());
/// }
/// assert!(anyhost::options().iter().any(|it| it.name() == "hold_for" && !it.is_for_requests()));
/// ```
pub fn options() -> &'static [OptionSpec] {
    OPTIONS
}

/// What an option's text turned out to be for.
pub(crate) enum Applied {
    Done,
    BaseUrls,
    Proxies,
}

/// Sets an option of a client.
pub(crate) fn set_client(
    client: &mut ClientSettings,
    call: &mut CallSettings,
    name: &str,
    text: &str,
) -> Result<Applied> {
    let option = find(name)?;
    let read = match option.read {
        Read::BaseUrls => return Ok(Applied::BaseUrls),
        Read::Proxies => return Ok(Applied::Proxies),
        Read::Client(read) => read(client, text),
        Read::Call(read) => read(call, text),
    };
    read.map(|()| Applied::Done).map_err(|why| invalid(name, why))
}

/// Sets an option of one request.
pub(crate) fn set_call(call: &mut CallSettings, name: &str, text: &str) -> Result<()> {
    match find(name)?.read {
        Read::Call(read) => read(call, text).map_err(|why| invalid(name, why)),
        Read::BaseUrls | Read::Proxies | Read::Client(_) => Err(invalid(
            name,
            "it belongs to a client as a whole, and cannot be set for one request",
        )),
    }
}

/// The text that stands for the default of the option.
#[cfg(feature = "capi")]
pub(crate) fn default_of(name: &str) -> Result<&'static str> {
    find(name).map(|option| option.default)
}

/// Whether there is such an option.
#[cfg(feature = "config")]
pub(crate) fn known(name: &str) -> Result<()> {
    find(name).map(|_| ())
}

fn find(name: &str) -> Result<&'static OptionSpec> {
    OPTIONS.iter().find(|option| option.name == name).ok_or_else(|| {
        let shown: String = name.chars().take(64).collect();
        Error::of_option(
            Status::Option,
            &shown,
            format!("there is no option `{}`", shown.escape_debug()),
        )
    })
}

/// The error of an option whose value is not right.
pub(crate) fn invalid(name: &str, why: impl Display) -> Error {
    Error::of_option(Status::Option, name, format!("option `{name}`: {why}"))
}

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "base_urls",
        default: "",
        help: "comma-separated base URLs, in the order to be tried; adds endpoints",
        read: Read::BaseUrls,
    },
    OptionSpec {
        name: "selection",
        default: "ordered",
        help: "how endpoints are chosen: ordered, as listed; or weighted, by chance and weight",
        read: Read::Client(|client, text| {
            client.selection = match text.trim() {
                "ordered" => Selection::Ordered,
                "weighted" => Selection::Weighted,
                other => return Err(format!("`{other}` is none of ordered, weighted")),
            };
            Ok(())
        }),
    },
    OptionSpec {
        name: "hold_for",
        default: "5m",
        help: "how long a fallback stays preferred after a failover",
        read: Read::Client(|client, text| {
            client.hold_for = parse_duration(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "max_attempts",
        default: "0",
        help: "most attempts of a call, replays not counted; 0 = until each endpoint had its share",
        read: Read::Call(|call, text| {
            let most = number(text)?;
            call.max_attempts = (most > 0).then_some(most);
            Ok(())
        }),
    },
    OptionSpec {
        name: "attempts_per_endpoint",
        default: "1",
        help: "most attempts at one endpoint; more = come back to it, with backoff",
        read: Read::Call(|call, text| {
            call.attempts_per_endpoint = match number(text)? {
                0 => return Err("an endpoint gets at least 1 attempt".to_owned()),
                attempts => attempts,
            };
            Ok(())
        }),
    },
    OptionSpec {
        name: "resend",
        default: "safe",
        help: "what may go out again after it may have been sent: never, safe, idempotent, any",
        read: Read::Call(|call, text| {
            call.resend = match text.trim() {
                "never" => Resend::Never,
                "safe" => Resend::Safe,
                "idempotent" => Resend::Idempotent,
                "any" => Resend::Any,
                other => {
                    return Err(format!("`{other}` is none of never, safe, idempotent, any"));
                }
            };
            Ok(())
        }),
    },
    OptionSpec {
        name: "resend_statuses",
        default: "502-504,520-523,525-526",
        help: "answers after which a request that resend allows moves on",
        read: Read::Call(|call, text| {
            call.resend_statuses = text.parse().map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "backoff_base",
        default: "50ms",
        help: "first ceiling of the random wait before an endpoint is tried again; it doubles",
        read: Read::Call(|call, text| {
            call.backoff_base = parse_duration(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "backoff_max",
        default: "1s",
        help: "highest ceiling of that wait",
        read: Read::Call(|call, text| {
            call.backoff_max = parse_duration(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "retry_budget",
        default: "off",
        help: "what repeats may cost over all calls, as 20%+1/s",
        read: Read::Client(|client, text| {
            client.retry_budget = BudgetSettings::parse(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "connect_timeout",
        default: "2s",
        help: "to obtain a connection (name lookup, TCP, TLS) on every attempt but the last",
        read: Read::Call(|call, text| {
            call.connect_timeout = parse_limit(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "connect_timeout_last",
        default: "off",
        help: "the same on the last attempt",
        read: Read::Call(|call, text| {
            call.connect_timeout_last = parse_limit(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "attempt_timeout",
        default: "5s",
        help: "for one attempt, body included: 5s; adaptive 200ms,1s,10s; measured 250ms..5s; off",
        read: Read::Call(|call, text| {
            call.attempt_timeout = text.parse::<Timeout>().map_err(text_of)?.into();
            Ok(())
        }),
    },
    OptionSpec {
        name: "deadline",
        default: "off",
        help: "for the whole call: attempts, waits and body",
        read: Read::Call(|call, text| {
            call.deadline = parse_limit(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "stall_timeout",
        default: "30s",
        help: "longest wait for the next byte of a body",
        read: Read::Call(|call, text| {
            call.stall_timeout = parse_limit(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "breaker",
        default: "off",
        help: "a circuit breaker for each origin",
        read: Read::Client(|client, text| {
            client.breaker = parse_flag(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "breaker_threshold",
        default: "5",
        help: "failures in a row that open a circuit",
        read: Read::Client(|client, text| {
            client.breaker_threshold = number(text)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "breaker_base_delay",
        default: "30s",
        help: "the wait after one failure; it doubles with each further one",
        read: Read::Client(|client, text| {
            client.breaker_base_delay = parse_duration(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "breaker_max_delay",
        default: "1h",
        help: "the longest wait",
        read: Read::Client(|client, text| {
            client.breaker_max_delay = parse_duration(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "breaker_jitter",
        default: "on",
        help: "lengthen each wait at random, by up to 100 %, within the longest",
        read: Read::Client(|client, text| {
            client.breaker_jitter = parse_flag(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "failure_statuses",
        default: "429,5xx",
        help: "answers that count against an endpoint",
        read: Read::Client(|client, text| {
            client.failure_statuses = text.parse().map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "when_none_eligible",
        default: "fail_fast",
        help: "what a call does when every circuit is open or proxy cools: fail_fast, or try_nearest",
        read: Read::Client(|client, text| {
            client.when_none_eligible = match text.trim() {
                "fail_fast" => WhenNoneEligible::FailFast,
                "try_nearest" => WhenNoneEligible::TryNearest,
                other => return Err(format!("`{other}` is none of fail_fast, try_nearest")),
            };
            Ok(())
        }),
    },
    OptionSpec {
        name: "weight_max",
        default: "1000",
        help: "the weight of an endpoint at the start, and its most",
        read: Read::Client(|client, text| {
            client.weight_max = weight(text)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "weight_min",
        default: "1",
        help: "the least weight",
        read: Read::Client(|client, text| {
            client.weight_min = weight(text)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "weight_increment",
        default: "1000",
        help: "what a success adds to a weight",
        read: Read::Client(|client, text| {
            client.weight_increment = number(text)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "weight_divisor",
        default: "10",
        help: "what a failure divides a weight by",
        read: Read::Client(|client, text| {
            client.weight_divisor = number(text)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "honor_retry_after",
        default: "on",
        help: "stay away from an endpoint as long as its 429 or 503 asks",
        read: Read::Client(|client, text| {
            client.honor_retry_after = parse_flag(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "require_success",
        default: "off",
        help: "an answer outside 200-299 is an error",
        read: Read::Call(|call, text| {
            call.require_success = parse_flag(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "error_statuses",
        default: "off",
        help: "answers that are an error which keeps status, body and wait, as 5xx,429",
        read: Read::Call(|call, text| {
            call.error_statuses = text.parse().map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "redirects",
        default: "10",
        help: "how many redirects a call follows; 0 = they are handed out",
        read: Read::Call(|call, text| {
            call.redirects = number(text)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "decompress",
        default: "on",
        help: "ask for gzip (br, zstd where built in) and decode it",
        read: Read::Call(|call, text| {
            call.decompress = parse_flag(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "max_body",
        default: "64m",
        help: "largest body of an answer, in bytes",
        read: Read::Call(|call, text| {
            call.max_body = parse_size(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "proxies",
        default: "",
        help: "comma-separated proxies, drawn by weight; direct = going straight is one of the ways",
        read: Read::Proxies,
    },
    OptionSpec {
        name: "no_proxy",
        default: "",
        help: "hosts that are reached straight, as in NO_PROXY: names, addresses, networks, ports, *",
        read: Read::Client(|client, text| {
            client.no_proxy = NoProxy::parse(text);
            Ok(())
        }),
    },
    OptionSpec {
        name: "proxy_from_env",
        default: "off",
        help: "take proxies from the environment, where none are listed",
        read: Read::Client(|client, text| {
            client.proxy_from_env = parse_flag(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "proxy_threshold",
        default: "1",
        help: "failures in a row to reach a proxy, or to be led on by it, before it cools",
        read: Read::Client(|client, text| {
            client.proxy_threshold = number(text)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "proxy_threshold_body",
        default: "3",
        help: "slow or broken bodies in a row before a proxy cools",
        read: Read::Client(|client, text| {
            client.proxy_threshold_body = number(text)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "proxy_base_delay",
        default: "30s",
        help: "how long a proxy cools after one failure; it doubles with each further one",
        read: Read::Client(|client, text| {
            client.proxy_base_delay = parse_duration(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "proxy_max_delay",
        default: "1h",
        help: "the longest a proxy cools",
        read: Read::Client(|client, text| {
            client.proxy_max_delay = parse_duration(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "secret_headers",
        default: "",
        help: "names of further headers whose values are secrets, comma-separated",
        read: Read::Client(|client, text| {
            client.secret_headers = text
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .map(|name| match HeaderName::from_bytes(name.as_bytes()) {
                    Ok(name) => Ok(name.as_str().to_owned()),
                    Err(_) => Err(format!("`{}` is no name of a header", name.escape_debug())),
                })
                .collect::<Result<_, _>>()?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "tls_roots",
        default: "system",
        help: "whose certificates are trusted: system, bundled, or none (only the PEMs added)",
        read: Read::Client(|client, text| {
            client.tls_roots = match text.trim() {
                "system" => TlsRoots::System,
                "bundled" => TlsRoots::Bundled,
                "none" => TlsRoots::None,
                other => return Err(format!("`{other}` is none of system, bundled, none")),
            };
            Ok(())
        }),
    },
    OptionSpec {
        name: "tls_verify",
        default: "on",
        help: "off = DANGER: any certificate will do, so anybody in between can read and change all",
        read: Read::Client(|client, text| {
            client.tls_verify = parse_flag(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "allow_mixed_schemes",
        default: "off",
        help: "allow https beside http among the endpoints",
        read: Read::Client(|client, text| {
            client.allow_mixed_schemes = parse_flag(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "seed",
        default: "random",
        help: "a number makes every random wait repeatable",
        read: Read::Client(|client, text| {
            client.seed = match text.trim() {
                "random" => None,
                text => Some(text.parse().map_err(|_| {
                    format!("`{text}` is neither random nor a whole number below 2^64")
                })?),
            };
            Ok(())
        }),
    },
    OptionSpec {
        name: "user_agent",
        default: concat!("anyhost/", env!("CARGO_PKG_VERSION")),
        help: "the User-Agent header, where none is set by hand",
        read: Read::Call(|call, text| {
            call.user_agent = HeaderValue::from_str(text.trim())
                .map_err(|_| "no header can carry this text".to_owned())?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "idle_timeout",
        default: "15s",
        help: "how long an unused connection is kept",
        read: Read::Client(|client, text| {
            client.idle_timeout = parse_duration(text).map_err(text_of)?;
            Ok(())
        }),
    },
    OptionSpec {
        name: "max_idle_per_endpoint",
        default: "8",
        help: "how many unused connections are kept for each endpoint",
        read: Read::Client(|client, text| {
            client.max_idle_per_endpoint = number(text)?;
            Ok(())
        }),
    },
];

fn number(text: &str) -> Result<u32, String> {
    let text = text.trim();
    text.parse().map_err(|_| format!("`{text}` is no whole number from 0 to {}", u32::MAX))
}

/// Weights are 1 to 1000 (ruling R4).
fn weight(text: &str) -> Result<u32, String> {
    match number(text)? {
        weight @ 1..=1000 => Ok(weight),
        _ => Err(format!("`{}` is no weight: 1 to 1000 are", text.trim())),
    }
}

fn text_of(error: impl Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The defaults of the table are those of the code: the texts, set one by one over other
    /// values, give the default settings.
    #[test]
    fn the_table_tells_the_defaults_of_the_code() {
        let mut client = ClientSettings {
            selection: Selection::Weighted,
            breaker: true,
            breaker_threshold: 9,
            breaker_base_delay: std::time::Duration::ZERO,
            breaker_max_delay: std::time::Duration::ZERO,
            breaker_jitter: false,
            when_none_eligible: WhenNoneEligible::TryNearest,
            weight_max: 9,
            weight_min: 9,
            weight_increment: 9,
            weight_divisor: 9,
            weight_strategy: None,
            honor_retry_after: false,
            no_proxy: NoProxy::parse("x"),
            proxy_from_env: true,
            proxy_threshold: 9,
            proxy_threshold_body: 9,
            proxy_base_delay: std::time::Duration::ZERO,
            proxy_max_delay: std::time::Duration::ZERO,
            proxy_cooldowns: Default::default(),
            retry_budget: BudgetSettings::parse("9%").unwrap(),
            hold_for: std::time::Duration::ZERO,
            failure_statuses: crate::decide::StatusSet::EMPTY,
            allow_mixed_schemes: true,
            seed: Some(7),
            secret_headers: vec!["x".to_owned()],
            tls_roots: TlsRoots::None,
            tls_verify: false,
            idle_timeout: std::time::Duration::ZERO,
            max_idle_per_endpoint: 99,
        };
        let mut call = CallSettings {
            max_attempts: Some(9),
            attempts_per_endpoint: 9,
            resend: Resend::Any,
            resend_statuses: crate::decide::StatusSet::EMPTY,
            backoff_base: std::time::Duration::ZERO,
            backoff_max: std::time::Duration::ZERO,
            connect_timeout: None,
            connect_timeout_last: Some(std::time::Duration::ZERO),
            attempt_timeout: Timeout::infinite().into(),
            deadline: Some(std::time::Duration::ZERO),
            stall_timeout: None,
            require_success: true,
            error_statuses: crate::decide::StatusSet::of(&[(500, 500)]),
            redirects: 0,
            decompress: false,
            max_body: 0,
            user_agent: HeaderValue::from_static("x"),
        };
        for option in options() {
            set_client(&mut client, &mut call, option.name, option.default).unwrap();
        }
        assert_eq!(format!("{client:?}"), format!("{:?}", ClientSettings::default()));
        assert_eq!(format!("{call:?}"), format!("{:?}", CallSettings::default()));
    }

    #[test]
    fn what_is_wrong_is_named_with_option_and_value() {
        let (mut client, mut call) = Default::default();
        for (name, text, said) in [
            ("no_such", "1", "no option `no_such`"),
            ("attempts_per_endpoint", "0", "at least 1"),
            ("max_attempts", "-1", "`-1`"),
            ("resend", "always", "`always`"),
            ("resend_statuses", "5x", "`5x`"),
            ("connect_timeout", "0", "\"0\""),
            ("deadline", "soon", "\"soon\""),
            ("redirects", "-1", "`-1`"),
            ("max_body", "64q", "\"64q\""),
            ("require_success", "yes", "\"yes\""),
            ("secret_headers", "a b", "`a b`"),
            ("tls_roots", "mine", "`mine`"),
            ("selection", "sideways", "`sideways`"),
            ("seed", "-1", "`-1`"),
            ("user_agent", "a\nb", "no header can carry"),
        ] {
            let Err(error) = set_client(&mut client, &mut call, name, text) else {
                panic!("{name} took {text:?}");
            };
            assert_eq!(error.status(), Status::Option, "{name}");
            assert_eq!(error.option(), Some(name));
            assert!(error.to_string().contains(said), "{name}: {error}");
        }
    }

    #[test]
    fn a_request_sets_only_what_is_its_own() {
        let mut call = CallSettings::default();
        set_call(&mut call, "deadline", "3s").unwrap();
        assert_eq!(call.deadline, Some(std::time::Duration::from_secs(3)));
        assert_eq!(set_call(&mut call, "hold_for", "3s").unwrap_err().status(), Status::Option);
    }
}
