//! A network of proxies for the vectors: what each says next, and what was asked of it.

use crate::network::ms;
use anyhost::inject::{
    Answer, AnswerBody, Attempt, Cause, Ending, HeaderMap, Limit, Phase, ProxyReply, Report,
    Transport,
};
use anyhost::testing::ManualClock;
use anyhost::{Client, ClientBuilder, Member};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};

pub const P: &str = "http://p:80";
pub const Q: &str = "http://q:80";
pub const R: &str = "socks5h://r:1080";
pub const A: &str = "https://a.example";
pub const B: &str = "https://b.example";

/// What comes of an attempt through a proxy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Says {
    /// An answer of the endpoint.
    Status(u16),
    /// The proxy cannot be reached.
    Refused,
    /// The proxy takes the connection and is silent; after CONNECT where it got so far.
    SilentAt(Phase),
    /// It refuses.
    Reply(ProxyReply),
    /// It closes after CONNECT.
    HangsUp,
    /// The tunnel is there and the endpoint's certificate is not accepted.
    BadCertificate,
    /// The tunnel is there and the endpoint is silent.
    TargetSilent,
    /// The head came, and the body stalls.
    SlowBody,
    /// The transport panics.
    Panics,
    /// Answers 200 when the gate is opened.
    Gated,
}

pub const TUNNEL_502: Says = Says::Reply(ProxyReply::Http(502));
pub const AUTH: Says = Says::Reply(ProxyReply::Http(407));

/// The network; a clone is the same one.
#[derive(Clone, Default)]
pub struct Ways(Arc<Inner>);

#[derive(Default)]
struct Inner {
    says: Mutex<BTreeMap<String, Says>>,
    /// Proxy, or `direct`, and URL, in order.
    seen: Mutex<Vec<(String, String)>>,
    open: Mutex<bool>,
    opened: Condvar,
}

impl Ways {
    /// From now on this proxy says so, and by default 200. `P>a.example` is of one target only.
    pub fn set(&self, proxy: &str, says: Says) -> &Self {
        self.0.says.lock().unwrap().insert(proxy.to_owned(), says);
        self
    }

    /// The proxies asked since the last time, in order.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.seen.lock().unwrap()).into_iter().map(|of| of.0).collect()
    }

    /// Proxies and URLs since the last time.
    pub fn seen(&self) -> Vec<(String, String)> {
        std::mem::take(&mut *self.0.seen.lock().unwrap())
    }

    /// Waits until so many attempts have begun.
    pub fn wait_for(&self, attempts: usize) {
        let mut open = self.0.open.lock().unwrap();
        while self.0.seen.lock().unwrap().len() < attempts {
            open = self.0.opened.wait_timeout(open, ms(20)).unwrap().0;
        }
    }

    /// Lets those go on that wait at the gate.
    pub fn open(&self) {
        *self.0.open.lock().unwrap() = true;
        self.0.opened.notify_all();
    }

    fn says(&self, proxy: &str, url: &str) -> Says {
        let says = self.0.says.lock().unwrap();
        let host = url.split('/').nth(2).unwrap_or_default();
        let of_target = says.get(&format!("{proxy}>{host}"));
        *of_target.or_else(|| says.get(proxy)).unwrap_or(&Says::Status(200))
    }
}

impl Transport for Ways {
    fn attempt(&self, attempt: Attempt<'_>) -> (Report, Option<Answer>) {
        let proxy = attempt.proxy.map_or("direct".to_owned(), ToString::to_string);
        self.0.seen.lock().unwrap().push((proxy.clone(), attempt.url.to_owned()));
        self.0.opened.notify_all();
        let fails =
            |phase, cause| (Report { phase, ending: Ending::Failed(cause), ..Report::new() }, None);
        let connect = Cause::TimedOut(Limit::Connect);
        match self.says(&proxy, attempt.url) {
            Says::Status(status) => answer(status),
            Says::Refused if attempt.proxy.is_none() => fails(Phase::Connect, Cause::Refused),
            Says::Refused => fails(Phase::ProxyConnect, Cause::Refused),
            Says::SilentAt(phase) => fails(phase, connect),
            Says::Reply(reply) => {
                let auth = reply.is_about_credentials();
                let phase = if auth { Phase::ProxyAuth } else { Phase::Tunnel };
                let (report, none) = fails(phase, Cause::ProxyRefused);
                // In absolute form the request itself has gone to the proxy.
                let asked_to_send = auth && attempt.url.starts_with("http://");
                (Report { proxy_reply: Some(reply), asked_to_send, ..report }, none)
            }
            Says::HangsUp => fails(Phase::Tunnel, Cause::Closed),
            Says::BadCertificate => fails(Phase::Tls, Cause::Certificate),
            Says::TargetSilent => {
                let (report, none) = fails(Phase::Head, Cause::TimedOut(Limit::Attempt));
                (Report { asked_to_send: true, ..report }, none)
            }
            Says::SlowBody => {
                let (report, none) = fails(Phase::Body, Cause::TimedOut(Limit::Stall));
                (Report { asked_to_send: true, status: Some(200), ..report }, none)
            }
            Says::Panics => panic!("planted"),
            Says::Gated => {
                let mut open = self.0.open.lock().unwrap();
                while !*open {
                    open = self.0.opened.wait(open).unwrap();
                }
                answer(200)
            }
        }
    }
}

fn answer(status: u16) -> (Report, Option<Answer>) {
    let report = Report {
        phase: Phase::Body,
        ending: Ending::Answered,
        status: Some(status),
        asked_to_send: true,
        bytes_received: 1,
        ..Report::new()
    };
    (report, Some(Answer { status, headers: HeaderMap::new(), body: AnswerBody::default() }))
}

/// A client of these endpoints through these proxies, with a base delay of 10 s.
pub fn through(ways: &Ways, clock: &ManualClock, to: &[&str], proxies: &[&str]) -> ClientBuilder {
    Client::builder()
        .base_urls(&to.join(","))
        .proxies(&proxies.join(","))
        .set("proxy_base_delay", "10s")
        .seed(7)
        .transport(ways.clone())
        .clock(clock.clone())
}

/// The member of this label as it is now.
pub fn member(client: &Client, label: &str) -> Member {
    client.snapshot().find(label).unwrap_or_else(|| panic!("no {label}")).clone()
}
