//! Whole calls over an in-memory transport that does anything: it fails in every way, answers with any
//! status, header and body. What must hold for every such network is checked there, not asked for.

use anyhost::inject::{
    Answer, AnswerBody, Attempt, BodySource, Cause, Ending, Failure, HeaderMap, HeaderName,
    HeaderValue, Limit, Outgoing, Phase, Report, Transport,
};
use anyhost::testing::ManualClock;
use anyhost::{Client, Delivery, Status};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const BASES: [&str; 2] = ["http://a.example/v1", "http://b.example"];
const MOST: u64 = 4096;

/// Bytes to draw from; zeros when there are no more.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn byte(&mut self) -> u8 {
        self.0.pop().unwrap_or(0)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    fn some(&mut self, most: usize) -> Vec<u8> {
        let count = self.below(most + 1).min(self.0.len());
        (0..count).map(|_| self.byte()).collect()
    }
}

/// One attempt as the network saw it.
struct Seen {
    url: String,
    secret: bool,
    sent: bool,
    /// The answer says that nobody acted on the request.
    untouched: bool,
}

#[derive(Clone, Default)]
struct Network {
    bytes: Arc<Mutex<Bytes>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    clock: ManualClock,
}

const CAUSES: [Cause; 16] = [
    Cause::NameUnknown,
    Cause::NameLookup,
    Cause::Refused,
    Cause::Unreachable,
    Cause::TimedOut(Limit::Connect),
    Cause::TimedOut(Limit::Attempt),
    Cause::TimedOut(Limit::Stall),
    Cause::Tls,
    Cause::Certificate,
    Cause::Reset,
    Cause::Closed,
    Cause::Protocol,
    Cause::Truncated,
    Cause::TooLarge,
    Cause::BodySource,
    Cause::Local,
];

const PHASES: [Phase; 6] =
    [Phase::Resolve, Phase::Connect, Phase::Tls, Phase::Send, Phase::Head, Phase::Body];

/// Where redirects lead: on, away, in a circle, to nowhere.
const TARGETS: [&str; 10] = [
    "/next",
    "http://b.example/there",
    "http://c.example/",
    "https://c.example/",
    "//c.example/x",
    "http://user:pw@a.example/",
    "",
    "?q",
    "ftp://x.example/",
    "http://[::1",
];

const STATUSES: [u16; 16] =
    [200, 204, 206, 301, 302, 303, 307, 308, 304, 404, 429, 500, 503, 521, 522, 523];

impl Network {
    fn report(&self, bytes: &mut Bytes) -> (Report, Option<Answer>) {
        let takes = Duration::from_millis(u64::from(bytes.byte()) * 10);
        self.clock.advance(takes);
        if bytes.byte() % 3 == 0 {
            let phase = bytes.of(&PHASES);
            let asked_to_send =
                phase >= Phase::Head || (phase == Phase::Send && bytes.byte() > 127);
            let report = Report {
                phase,
                ending: Ending::Failed(bytes.of(&CAUSES)),
                status: (phase == Phase::Body).then(|| bytes.of(&STATUSES)),
                asked_to_send,
                reused: phase >= Phase::Send && bytes.byte() > 127,
                ..Report::new()
            };
            return (report, None);
        }
        let any = 100 + u16::from_be_bytes([bytes.byte(), bytes.byte()]) % 900;
        let known = bytes.of(&STATUSES);
        let status = if bytes.byte() > 32 { known } else { any };
        let mut headers = HeaderMap::new();
        let mut add = |name: &'static str, value: &[u8]| {
            if let Ok(value) = HeaderValue::from_bytes(value) {
                headers.append(HeaderName::from_static(name), value);
            }
        };
        for _ in 0..bytes.below(4) {
            match bytes.below(6) {
                0 => add("location", bytes.of(&TARGETS).as_bytes()),
                1 => add("location", &bytes.some(24)),
                2 => add("retry-after", &bytes.some(8)),
                3 => add("content-encoding", bytes.of(&["gzip", "br", "zstd", "x"]).as_bytes()),
                4 => add("date", &bytes.some(32)),
                _ => add("content-type", &bytes.some(8)),
            }
        }
        let whole = bytes.some(255);
        let body = match bytes.below(3) {
            0 => AnswerBody::from(whole),
            _ => {
                let breaks = bytes.byte() > 200;
                let length = (bytes.byte() > 128).then_some(whole.len() as u64);
                AnswerBody::reader(Pieces { whole, at: 0, breaks, left: bytes.below(40) }, length)
            }
        };
        let report = Report {
            phase: Phase::Body,
            ending: Ending::Answered,
            status: Some(status),
            asked_to_send: true,
            head_after: Some(takes),
            reused: bytes.byte() > 127,
            ..Report::new()
        };
        (report, Some(Answer { status, headers, body }))
    }
}

/// A body in pieces, perhaps again and again, that ends or breaks off.
struct Pieces {
    whole: Vec<u8>,
    at: usize,
    breaks: bool,
    left: usize,
}

impl BodySource for Pieces {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Failure> {
        if self.at == self.whole.len() {
            if self.left == 0 || self.whole.is_empty() {
                let broken = Failure::new(Cause::Truncated, "it breaks off");
                return if self.breaks { Err(broken) } else { Ok(0) };
            }
            (self.at, self.left) = (0, self.left - 1);
        }
        let count = buf.len().min(self.whole.len() - self.at);
        buf[..count].copy_from_slice(&self.whole[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

impl Transport for Network {
    fn attempt(&self, attempt: Attempt<'_>) -> (Report, Option<Answer>) {
        let (report, answer) = self.report(&mut self.bytes.lock().unwrap());
        if let (true, Outgoing::Reader { source, .. }) = (report.asked_to_send, attempt.body) {
            let _ = std::io::copy(source, &mut std::io::sink());
        }
        let secret = attempt.headers.contains_key("authorization");
        let answered = report.ending == Ending::Answered;
        self.seen.lock().unwrap().push(Seen {
            url: attempt.url.to_owned(),
            secret,
            sent: report.asked_to_send,
            untouched: answered && matches!(report.status, Some(521..=523)),
        });
        (report, answer)
    }
}

pub(crate) fn check(data: &[u8]) {
    let network = Network::default();
    let mut bytes = Bytes(data.iter().rev().copied().collect());
    let builder = Client::builder()
        .base_urls(&BASES.join(","))
        .transport(network.clone())
        .clock(network.clock.clone())
        .seed(1)
        .max_body(MOST)
        .secret_header("Authorization", "s3cr3t");
    let builder = match bytes.below(4) {
        0 => builder,
        1 => builder.preset("resilient"),
        2 => builder.preset("breaker").set("breaker_threshold", "1"),
        _ => builder.deadline(Duration::from_secs(3)).attempts_per_endpoint(2),
    };
    let client = builder.build().unwrap();
    let calls = 1 + bytes.below(3);
    for _ in 0..calls {
        let method = bytes.of(&["GET", "POST", "HEAD", "PUT"]);
        let streamed = bytes.byte() > 200;
        let request = client.request(method, "/p?q").body(vec![b'x'; bytes.below(9)]);
        *network.bytes.lock().unwrap() = Bytes(std::mem::take(&mut bytes.0));
        network.seen.lock().unwrap().clear();
        let result = match streamed {
            false => request.send().map(|answer| {
                assert!(answer.bytes().len() as u64 <= MOST);
                assert!(!format!("{answer:?}").contains("s3cr3t"));
                answer.attempts().to_vec()
            }),
            true => request.stream().map(|stream| {
                let attempts = stream.attempts().to_vec();
                let _ = std::io::copy(&mut stream.into_reader(), &mut std::io::sink());
                attempts
            }),
        };
        bytes = std::mem::take(&mut *network.bytes.lock().unwrap());
        let seen = network.seen.lock().unwrap();
        let attempts = match result {
            Ok(attempts) => attempts,
            Err(error) => {
                assert_ne!(error.status(), Status::Internal, "{error}");
                assert!(!format!("{error} {error:?}").contains("s3cr3t"));
                if error.status() == Status::NoEndpoint && seen.is_empty() {
                    assert_eq!(error.delivery(), Delivery::NotSent);
                }
                error.attempts().to_vec()
            }
        };
        // Every attempt is told, and no other.
        assert_eq!(attempts.len(), seen.len());
        // A write goes to one endpoint, and to a second only when the first certainly did not act on it.
        let at_endpoints = seen.iter().zip(&attempts).filter(|(_, told)| !told.is_hop());
        let acted = at_endpoints.filter(|(seen, _)| seen.sent && !seen.untouched).count();
        assert!(!["POST", "PUT"].contains(&method) || acted <= 1, "{method} sent {acted} times");
        for seen in seen.iter() {
            let ours = BASES.iter().any(|base| {
                let origin = base.trim_end_matches("/v1");
                seen.url.strip_prefix(origin).is_some_and(|rest| rest.starts_with(['/', '?']))
            });
            assert!(ours || !seen.secret, "a secret went to {}", seen.url);
        }
        assert!(seen.len() <= 4 * (1 + 10) + 4, "{} attempts", seen.len());
    }
}
