//! Replacing the lists of a client while it is in use (ruling R22).

use super::Client;
use super::builder::require_tls;
use super::endpoint::Endpoint;
use super::error::{Error, Result};
use super::proxy::Proxy;
use super::proxy_roster::{ProxyRoster, check_labels};
use super::proxy_settings::proxy_pool_settings;
use super::publish::Publisher;
use super::roster::Roster;
use super::status::Status;
use crate::decide::EndpointId;

impl Client {
    /// Replaces the list of endpoints at once (ruling R22); the proxies stay. Those that stay keep their
    /// live weight and state, under the new priority and maximum; one that names no weight keeps the maximum
    /// it had. Calls under way start nothing on those taken out. A mistake in the list changes nothing.
    ///
    /// ```
    /// use anyhost::{Client, Endpoint};
    ///
    /// let client = Client::new("https://a.example, https://b.example")?;
    /// let list = ["https://b.example", "https://c.example"]; // from a registry of services
    /// client.update(list.iter().map(|url| Endpoint::new(url)).collect::<Result<Vec<_>, _>>()?)?;
    /// let snapshot = client.snapshot();
    /// let labels: Vec<&str> = snapshot.members().iter().map(|it| it.label()).collect();
    /// assert_eq!(labels, list);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`ClientBuilder::build`](crate::ClientBuilder::build) for its endpoints; [`Status::Config`] where
    /// the client has none, and is asked for absolute URLs.
    pub fn update(&self, endpoints: impl IntoIterator<Item = Endpoint>) -> Result<()> {
        self.apply(Some(endpoints.into_iter().collect()), None)
    }

    /// Replaces the list of proxies at once (ruling R22); the endpoints stay. A proxy that stays keeps its
    /// live weight, its state and its history; one that stays with other credentials may be asked again if
    /// it had refused the old ones. A mistake in the list changes nothing.
    ///
    /// ```
    /// use anyhost::{Client, Proxy, Status};
    ///
    /// let client = Client::builder()
    ///     .base_urls("https://api.example.com")
    ///     .proxies("http://old.example:3128")
    ///     .build()?;
    /// client.update_proxies([Proxy::new("http://new.example:3128")?])?;
    /// assert_eq!(client.snapshot().members()[1].label(), "http://new.example:3128");
    /// assert_eq!(client.update_proxies([]).unwrap_err().status(), Status::Config);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::Duplicate`] for one listed twice; [`Status::Config`] for an empty list: to go straight to
    /// the endpoints, list [`Proxy::direct`].
    pub fn update_proxies(&self, proxies: impl IntoIterator<Item = Proxy>) -> Result<()> {
        self.apply(None, Some(proxies.into_iter().collect()))
    }

    /// Replaces the lists given, both at one instant; a kind that is not given stays.
    pub(crate) fn apply(
        &self,
        endpoints: Option<Vec<Endpoint>>,
        proxies: Option<Vec<Proxy>>,
    ) -> Result<()> {
        let shared = &*self.shared;
        let config = |option, why: &str| Err(Error::of_option(Status::Config, option, why));
        if shared.roams && endpoints.is_some() {
            return config("base_urls", "this client has no endpoints: it takes absolute URLs");
        }
        let endpoints = endpoints.map(|list| Roster::new(list, &shared.client)).transpose()?;
        let proxies = proxies.map(|list| ProxyRoster::new(list, &shared.client)).transpose()?;
        if proxies.as_ref().is_some_and(ProxyRoster::is_empty) {
            return config("proxies", "the list of proxies is empty: `direct` stands for none");
        }
        let tls = endpoints.as_ref().is_some_and(Roster::has_https)
            || proxies.as_ref().is_some_and(ProxyRoster::has_https);
        if tls {
            require_tls(&*shared.transport)?;
        }
        let settings = proxy_pool_settings(&shared.client)?;
        let now = shared.clock.now();
        let mut events = Vec::new();
        let (gone, gone_proxies) = {
            let state = &mut *shared.state.lock();
            let kept: Vec<_> = state.members.values().map(|member| member.label.clone()).collect();
            let kept_proxies: Vec<_> = state.proxies.values().map(|p| p.label.clone()).collect();
            match (&endpoints, &proxies) {
                (None, None) => {}
                (Some(e), None) => check_labels(e.labels(), kept_proxies.iter().map(|l| &**l))?,
                (None, Some(p)) => check_labels(kept.iter().map(|l| &**l), p.labels())?,
                (Some(e), Some(p)) => check_labels(e.labels(), p.labels())?,
            }
            let mut gone: Vec<EndpointId> = Vec::new();
            if let Some(endpoints) = endpoints {
                gone.extend(state.members.keys());
                endpoints.install(state, now, &mut events);
                gone.retain(|id| !state.members.contains_key(id));
            }
            let gone_proxies = match proxies {
                Some(proxies) => proxies.install(state, settings, now, &mut events),
                None => Vec::new(),
            };
            (gone, gone_proxies)
        };
        for id in gone {
            shared.transport.forget(id.0);
        }
        for proxy in &gone_proxies {
            shared.transport.forget_proxy(proxy);
        }
        Publisher::outside(shared).publish(&mut events, &[]);
        Ok(())
    }
}
