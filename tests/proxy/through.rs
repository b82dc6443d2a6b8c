//! One attempt through a proxy, by the transport itself.

// Each test binary compiles this for itself and uses a part of it.
#![allow(dead_code, unreachable_pub)]

use crate::support::*;
use anyhost::inject::{
    Attempt, Cause, Ending, HeaderMap, Interrupt, Limits, LookupError, Method, NameLookup,
    Outgoing, Phase, ProxyReply, ProxyUrl, Report, Transport,
};
use anyhost::transport::{AgentTransport, Roots, TlsSettings, TransportConfig};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A transport that trusts this authority and nobody else.
pub fn trusting(authority: &Authority) -> AgentTransport {
    trusting_with(authority, Names::default())
}

pub fn trusting_with(authority: &Authority, lookup: impl NameLookup + 'static) -> AgentTransport {
    AgentTransport::new(TransportConfig {
        tls: Some(TlsSettings {
            roots: Roots::Only(vec![authority.pem().as_bytes().to_vec()]),
            ..TlsSettings::default()
        }),
        lookup: Arc::new(lookup),
        ..TransportConfig::default()
    })
}

/// Every name is 127.0.0.1, and the names asked for are kept.
#[derive(Clone, Default)]
pub struct Names(Arc<Mutex<Vec<String>>>);

impl Names {
    pub fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl NameLookup for Names {
    fn look_up(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, LookupError> {
        self.0.lock().unwrap().push(host.to_owned());
        Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))])
    }
}

/// The proxy with this URL.
pub fn proxy_at(url: &str) -> ProxyUrl {
    ProxyUrl::parse(url).unwrap()
}

/// One attempt.
#[derive(Clone)]
pub struct Call<'a> {
    pub method: Method,
    pub url: String,
    pub proxy: ProxyUrl,
    pub headers: Vec<(&'static str, &'a str)>,
    pub body: Option<&'a [u8]>,
    pub connect: Duration,
    pub until: Duration,
    pub interrupt: Arc<Interrupt>,
}

pub fn get(url: &str, through: &ProxyUrl) -> Call<'static> {
    Call {
        method: Method::GET,
        url: url.to_owned(),
        proxy: through.clone(),
        headers: Vec::new(),
        body: None,
        connect: ms(10_000),
        until: ms(10_000),
        interrupt: Arc::default(),
    }
}

pub fn post<'a>(url: &str, through: &ProxyUrl, body: &'a [u8]) -> Call<'a> {
    Call { method: Method::POST, body: Some(body), ..get(url, through) }
}

impl<'a> Call<'a> {
    pub fn header(mut self, name: &'static str, value: &'a str) -> Self {
        self.headers.push((name, value));
        self
    }

    /// At most so long until there is a connection.
    pub fn connect(self, connect: Duration) -> Self {
        Call { connect, ..self }
    }

    pub fn until(self, until: Duration) -> Self {
        Call { until, ..self }
    }

    /// Status and body, and the report.
    pub fn on(self, transport: &AgentTransport) -> (Report, Option<(u16, String)>) {
        let began = Instant::now();
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            headers.append(*name, value.parse().unwrap());
        }
        let (mut report, answer) = transport.attempt(Attempt {
            endpoint: 1,
            method: &self.method,
            url: &self.url,
            server_name: None,
            foreign: false,
            proxy: Some(&self.proxy),
            headers,
            body: self.body.map_or(Outgoing::Empty, Outgoing::Bytes),
            limits: Limits {
                connect_by: Some(began + self.connect),
                until: Some(began + self.until),
                body_until: Some(began + self.until),
                stall: None,
            },
            fresh: false,
            interrupt: &self.interrupt,
            meter: None,
        });
        let answer = answer.and_then(|answer| {
            let body = answer.body.read_whole(1 << 20, &mut report)?;
            Some((answer.status, String::from_utf8(body).unwrap()))
        });
        (report, answer)
    }
}

/// What is to be checked of a failure: why, how far, what the proxy said, whether a byte went out.
pub fn told(report: &Report) -> (Cause, Phase, Option<ProxyReply>, bool) {
    let Ending::Failed(cause) = report.ending else { panic!("it was answered: {report:?}") };
    (cause, report.phase, report.proxy_reply, report.asked_to_send)
}
