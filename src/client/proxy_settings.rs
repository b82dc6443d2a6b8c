//! What is set of proxies: from the environment, and into what their pool is told.

use super::builder::pool_settings;
use super::environment::Environment;
use super::error::{Error, Result};
use super::no_proxy::NoProxy;
use super::proxy::Proxy;
use super::settings::ClientSettings;
use super::status::Status;
use crate::decide::{BreakerSettings, Kind, PoolSettings, ProxyFault, Scheme};

/// The proxies that the environment names, each for the targets its variable is about.
pub(super) fn from_environment(
    environment: &Environment<'_>,
    client: &mut ClientSettings,
) -> Result<Vec<Proxy>> {
    let named = environment
        .proxies()
        .map_err(|why| Error::of_option(Status::Url, "proxy_from_env", why))?;
    if client.no_proxy == NoProxy::default() {
        client.no_proxy = named.no_proxy;
    }
    Ok(match (named.http, named.https) {
        (None, None) => Vec::new(),
        (http, https) if http == https => vec![Proxy::at(http)],
        (http, https) => {
            let of = |url, scheme| Proxy { only: Some(scheme), ..Proxy::at(url) };
            vec![of(http, Scheme::Http), of(https, Scheme::Https)]
        }
    })
}

/// What the pool of proxies is told: the same machine, by other numbers.
pub(super) fn proxy_pool_settings(client: &ClientSettings) -> Result<PoolSettings> {
    let of = |fault: ProxyFault, threshold: u32| match client.proxy_cooldowns[fault as usize] {
        Some(settings) => Ok(settings),
        None => {
            BreakerSettings::new(threshold, client.proxy_base_delay, client.proxy_max_delay, false)
                .map_err(|why| {
                    let why = format!("cooldown of proxies: {why}");
                    Error::of_option(Status::Config, "proxy_base_delay", why)
                })
        }
    };
    let connect = of(ProxyFault::Connect, client.proxy_threshold)?;
    let tunnel = of(ProxyFault::Tunnel, client.proxy_threshold)?;
    let body = of(ProxyFault::Body, client.proxy_threshold_body)?;
    Ok(PoolSettings {
        kind: Kind::Proxy,
        breaker: Some(connect),
        faults: [Some(connect), Some(tunnel), Some(body)],
        weighted: true,
        honor_retry_after: false,
        budget: None,
        ..pool_settings(client)?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the environment names, as targets with the proxy that each may take.
    fn named(
        variables: &[(&str, &str)],
        no_proxy: &str,
    ) -> (Vec<(String, Option<Scheme>)>, NoProxy) {
        let find = |name: &str| {
            let found = variables.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let environment = Environment { variable: &find, ignores_case: false };
        let mut client =
            ClientSettings { no_proxy: NoProxy::parse(no_proxy), ..Default::default() };
        let proxies = from_environment(&environment, &mut client).unwrap();
        (proxies.iter().map(|proxy| (proxy.shown(), proxy.only)).collect(), client.no_proxy)
    }

    #[test]
    fn the_environment_names_a_proxy_for_each_scheme() {
        let of = |url: &str, scheme| (url.to_owned(), scheme);
        let (http, https) = (Some(Scheme::Http), Some(Scheme::Https));
        for (variables, proxies) in [
            (&[][..], vec![]),
            (&[("all_proxy", "p:1")], vec![of("http://p:1", None)]),
            // A target whose scheme has no variable is reached straight.
            (&[("https_proxy", "p:1")], vec![of("direct", http), of("http://p:1", https)]),
            (
                &[("https_proxy", "p:1"), ("http_proxy", "socks5://q")],
                vec![of("socks5://q:1080", http), of("http://p:1", https)],
            ),
            (&[("HTTP_PROXY", "p:1")], vec![]),
        ] {
            assert_eq!(named(variables, "").0, proxies, "{variables:?}");
        }
    }

    #[test]
    fn a_list_of_the_clients_own_takes_the_place_of_the_variable() {
        let variables = [("no_proxy", "a.example")];
        assert_eq!(named(&variables, "").1, NoProxy::parse("a.example"));
        assert_eq!(named(&variables, "b.example").1, NoProxy::parse("b.example"));
    }
}
