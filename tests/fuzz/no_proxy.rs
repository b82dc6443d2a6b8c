//! `NO_PROXY` lists. The first line is a host, perhaps with a port, and the rest the list.
//!
//! Asked at the door that users have: a client with a proxy, and whether its attempt goes through it.

use anyhost::inject::{Answer, Attempt, Cause, Ending, Phase, Report, Transport};
use anyhost::{Client, Endpoint};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use url::{Host, Url};

/// Notes whether the last attempt went straight.
#[derive(Clone, Default)]
struct Straight(Arc<AtomicBool>);

impl Transport for Straight {
    fn attempt(&self, attempt: Attempt<'_>) -> (Report, Option<Answer>) {
        self.0.store(attempt.proxy.is_none(), Relaxed);
        let ending = Ending::Failed(Cause::Refused);
        (Report { phase: Phase::Connect, ending, ..Report::new() }, None)
    }
}

struct Place {
    endpoint: Endpoint,
    host: Host<String>,
    port: u16,
}

impl Place {
    fn new(text: &str) -> Option<Place> {
        let base = format!("http://{text}");
        let endpoint = Endpoint::new(&base).ok()?;
        let url = Url::parse(&base).expect("what we take is a URL");
        let host = url.host().expect("http has a host").to_owned();
        Some(Place { endpoint, host, port: url.port().unwrap_or(80) })
    }

    /// Whether it is reached straight with this list.
    fn is_straight(&self, list: &str) -> bool {
        let straight = Straight::default();
        let client = Client::builder()
            .endpoint(self.endpoint.clone())
            .proxies("http://proxy.example")
            .no_proxy(list)
            .seed(1)
            .transport(straight.clone())
            .build()
            .expect("any list will do");
        let _ = client.get("").send();
        straight.0.load(Relaxed)
    }

    /// Entries that name this place, and some that come close.
    fn entries(&self) -> (Vec<String>, Vec<String>) {
        let (port, other) = (self.port, self.port ^ 1);
        let host = &self.host;
        let (mut of_it, mut of_others) = match host {
            Host::Domain(name) => of_name(name),
            Host::Ipv4(address) => of_address((*address).into()),
            Host::Ipv6(address) => of_address((*address).into()),
        };
        if !of_it.is_empty() {
            of_it.push(format!("{host}:{port}"));
            of_others.push(format!("{host}:{other}"));
            of_others.push(format!("{host}:+{port}"));
        }
        of_it.push("*".to_owned());
        of_others.push(format!("*:{port}"));
        (of_it, of_others)
    }
}

fn of_name(name: &str) -> (Vec<String>, Vec<String>) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    // A URL takes names that DNS has not.
    if name.split('.').any(str::is_empty) || !name.chars().all(is_name) {
        return Default::default();
    }
    let mut of_it = vec![name.to_owned(), format!(".{name}"), format!("{name}.")];
    of_it.extend(name.split_once('.').map(|(_, above)| above.to_owned()));
    of_it.extend(name.split_once('.').map(|(_, above)| format!("*.{above}")));
    let close = ["x{}", "x.{}", "{}x", "{}.x", "*.{}", "http://{}", "{}/8"];
    let mut of_others = close.map(|other| other.replace("{}", name)).to_vec();
    // Within a label nothing ends.
    let within = Some(&name[1..]).filter(|rest| !rest.is_empty() && !rest.starts_with('.'));
    of_others.extend(within.map(str::to_owned));
    (of_it, of_others)
}

fn of_address(address: IpAddr) -> (Vec<String>, Vec<String>) {
    let (bits, neighbour): (u32, IpAddr) = match address {
        IpAddr::V4(v4) => (32, IpAddr::V4((v4.to_bits() ^ 1).into())),
        IpAddr::V6(v6) => (128, IpAddr::V6((v6.to_bits() ^ 1).into())),
    };
    let of_it = [
        address.to_string(),
        format!("{address}/{bits}"),
        format!("{neighbour}/{}", bits - 1),
        format!("{address}/0"),
    ];
    let of_others = [
        neighbour.to_string(),
        format!("{neighbour}/{bits}"),
        format!("{address}/{}", bits + 1),
        format!("{address}/+8"),
        format!("{address}/"),
        if address.is_ipv4() { "::/0" } else { "0.0.0.0/0" }.to_owned(),
    ];
    (of_it.to_vec(), of_others.to_vec())
}

pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (place, list) = text.split_once('\n').unwrap_or((text, ""));
    let Some(place) = Place::new(place) else { return };
    let straight = place.is_straight(list);
    // An entry means the same by itself, and in any case.
    let mut entries = list.split(|c: char| c == ',' || c.is_whitespace());
    assert_eq!(straight, entries.any(|entry| place.is_straight(entry)));
    assert_eq!(straight, place.is_straight(&list.to_ascii_uppercase()));
    let (of_it, of_others) = place.entries();
    for entry in of_it {
        assert!(place.is_straight(&format!("{list},{entry}")), "{entry}");
    }
    for entry in of_others {
        assert_eq!(straight, place.is_straight(&format!("{list} {entry}")), "{entry}");
    }
}
