//! The settings of a whole client as methods; those of a call are `call_setters`.

use super::ClientBuilder;
use crate::client::settings::Selection;
use crate::decide::{BreakerSettings, StatusSet, WeightStrategy, WhenNoneEligible};
use std::time::Duration;

impl ClientBuilder {
    /// How long a fallback stays preferred after a failover; zero = not at all. Option `hold_for`.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # use std::time::Duration;
    /// # let (a, b) = ("https://a.example", "https://b.example");
    /// let network = ScriptedTransport::new()
    ///     .on(a, [Reply::refused(), Reply::ok("a is back")])
    ///     .on(b, [Reply::ok("from b")]);
    /// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
    /// # let builder = builder.transport(network.clone()).clock(network.clock());
    /// let client = builder.hold_for(Duration::from_secs(60)).build()?;
    /// let ask = || client.get("/").send()?.text().map(str::to_owned);
    /// assert_eq!((ask()?, ask()?), ("from b".into(), "from b".into()));
    /// network.clock().advance(Duration::from_secs(60));
    /// assert_eq!(ask()?, "a is back");
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// 5 minutes (seed 000, ruling R3).
    pub fn hold_for(mut self, hold: Duration) -> Self {
        self.client.hold_for = hold;
        self
    }

    /// Answers that count against an endpoint: its circuit counts them, its weight falls where the choice is
    /// by weight, and a fallback that gives one is not held (D-18). Whether the call moves on after one is a matter of
    /// [`resend_statuses`](ClientBuilder::resend_statuses). Option `failure_statuses`.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let a = "https://a.example";
    /// let network = ScriptedTransport::new().on(a, [Reply::status(404)]);
    /// # let builder = anyhost::Client::builder().base_urls(a).transport(network.clone()).clock(network.clock());
    /// let client = builder.failure_statuses("404,429,5xx".parse()?).build()?;
    /// assert_eq!(client.get("/").send()?.status(), 404); // handed out all the same
    /// assert_eq!(client.snapshot().members()[0].failures(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Default
    ///
    /// `429,5xx` (seed 001).
    pub fn failure_statuses(mut self, statuses: StatusSet) -> Self {
        self.client.failure_statuses = statuses;
        self
    }

    /// Allows https beside http among the endpoints. Option `allow_mixed_schemes`.
    ///
    /// ```
    /// use anyhost::{Client, Status};
    ///
    /// let builder = || Client::builder().base_urls("https://a.example, http://10.0.0.7");
    /// assert_eq!(builder().build().unwrap_err().status(), Status::Downgrade);
    /// assert!(builder().allow_mixed_schemes(true).build().is_ok());
    /// ```
    ///
    /// # Default
    ///
    /// Off: a failover must not take a request, and its secrets, from an encrypted connection to one
    /// that everybody can read. [`build`](ClientBuilder::build) says
    /// [`Status::Downgrade`](crate::Status::Downgrade) then.
    pub fn allow_mixed_schemes(mut self, allow: bool) -> Self {
        self.client.allow_mixed_schemes = allow;
        self
    }

    /// Makes every draw and every random wait repeatable: the same calls with the same answers at the same
    /// times take the same ways (ruling R17). For tests and simulations. Option `seed`.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let (a, b) = ("https://a.example", "https://b.example");
    /// # let network = ScriptedTransport::new().on(a, [Reply::ok("")]).on(b, [Reply::ok("")]);
    /// let draws = || -> anyhost::Result<Vec<String>> {
    ///     let client = anyhost::Client::builder()
    ///         .base_urls("https://a.example, https://b.example")
    ///         .selection(anyhost::Selection::Weighted)
    ///         .seed(4711)
    /// #         .transport(network.clone())
    ///         .build()?;
    ///     (0..20).map(|_| Ok(client.get("/").send()?.endpoint().to_owned())).collect()
    /// };
    /// assert_eq!(draws()?, draws()?);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// Seeded by the system: clients that began together must not move together.
    pub fn seed(mut self, seed: u64) -> Self {
        self.client.seed = Some(seed);
        self
    }

    /// How long an unused connection is kept; zero = every request opens its own. Option
    /// `idle_timeout`.
    ///
    /// ```
    /// # use std::io::{BufRead, BufReader, Write};
    /// # let server = std::net::TcpListener::bind("127.0.0.1:0")?;
    /// # let builder = anyhost::Client::builder().base_urls(&format!("http://{}", server.local_addr()?));
    /// # std::thread::spawn(move || {
    /// #     for peer in server.incoming().take(2) {
    /// #         let mut peer = BufReader::new(peer.unwrap());
    /// #         while peer.read_line(&mut String::new()).is_ok_and(|read| read > 2) {}
    /// #         peer.get_mut().write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    /// #         std::mem::forget(peer); // it is not the server who closes
    /// #     }
    /// # });
    /// use std::time::Duration;
    ///
    /// // A balancer before the service that shuts connections without a word.
    /// let client = builder.idle_timeout(Duration::ZERO).build()?;
    /// client.get("/").send()?;
    /// assert!(!client.get("/").send()?.attempts()[0].reused_connection());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Default
    ///
    /// 15 s, below what servers commonly grant: the server is seldom the one who closes first, and a
    /// request seldom meets a connection that is dead (ruling R2).
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.client.idle_timeout = timeout;
        self
    }

    /// How many unused connections are kept for each endpoint; 0 = none. It bounds what is kept, and not
    /// how many calls may run at a time. Option `max_idle_per_endpoint`.
    ///
    /// ```
    /// # use std::io::{BufRead, BufReader, Write};
    /// # let server = std::net::TcpListener::bind("127.0.0.1:0")?;
    /// # let builder = anyhost::Client::builder().base_urls(&format!("http://{}", server.local_addr()?));
    /// # std::thread::spawn(move || {
    /// #     for peer in server.incoming().take(2) {
    /// #         let mut peer = BufReader::new(peer.unwrap());
    /// #         while peer.read_line(&mut String::new()).is_ok_and(|read| read > 2) {}
    /// #         peer.get_mut().write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    /// #         std::mem::forget(peer); // it is not the server who closes
    /// #     }
    /// # });
    /// let client = builder.max_idle_per_endpoint(0).build()?;
    /// client.get("/").send()?;
    /// assert!(!client.get("/").send()?.attempts()[0].reused_connection());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Default
    ///
    /// 8: what a program with a few threads uses at a time. Raise it to the number of threads that call.
    pub fn max_idle_per_endpoint(mut self, most: u32) -> Self {
        self.client.max_idle_per_endpoint = most;
        self
    }

    /// How endpoints that name no priority are chosen. Option `selection`.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let mirrors = ["https://m1.example", "https://m2.example", "https://m3.example"];
    /// # let network = mirrors.iter().fold(ScriptedTransport::new(), |net, it| net.on(it, [Reply::ok("")]));
    /// let client = anyhost::Client::builder()
    ///     .base_urls("https://m1.example, https://m2.example, https://m3.example")
    ///     .selection(anyhost::Selection::Weighted)
    /// #     .transport(network.clone())
    ///     .build()?;
    /// for _ in 0..300 {
    ///     client.get("/").send()?;
    /// }
    /// assert!(network.attempts_at("https://m3.example").len() > 50); // about 100 of 300 each
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// [`Selection::Ordered`] (seed 000).
    pub fn selection(mut self, selection: Selection) -> Self {
        self.client.selection = selection;
        self
    }

    /// Guards each origin with a circuit breaker. Options `breaker`, `breaker_threshold`,
    /// `breaker_base_delay`, `breaker_max_delay`, `breaker_jitter`.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// use anyhost::{BreakerSettings, Status};
    /// # use std::time::Duration;
    /// # let a = "https://a.example";
    /// let network = ScriptedTransport::new().on(a, [Reply::status(503)]);
    /// # let builder = anyhost::Client::builder().base_urls(a).transport(network.clone()).clock(network.clock());
    /// let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
    /// let client = builder.breaker(BreakerSettings::new(2, second, minute, false)?).build()?;
    /// assert_eq!(client.get("/").send()?.status(), 503);
    /// assert_eq!(client.get("/").send()?.status(), 503); // opens the circuit, for 2 s
    /// let error = client.get("/").send().unwrap_err();
    /// assert_eq!((error.status(), error.retry_after()), (Status::NoEndpoint, Some(2 * second)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Default
    ///
    /// Off: with two hosts in order a call finds out by itself. [`BreakerSettings::default`] has the numbers
    /// of seed 001.
    pub fn breaker(mut self, settings: BreakerSettings) -> Self {
        self.client.breaker = true;
        self.client.breaker_threshold = settings.threshold();
        self.client.breaker_base_delay = settings.backoff().base();
        self.client.breaker_max_delay = settings.backoff().max();
        self.client.breaker_jitter = settings.backoff().jitter();
        self
    }

    /// What a call does when every circuit is open, or the rest disabled, and when every proxy cools.
    /// Without a [`breaker`](ClientBuilder::breaker) no endpoint but a disabled one is ever refused. Option
    /// `when_none_eligible`.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// use anyhost::{BreakerSettings, WhenNoneEligible};
    /// # use std::time::Duration;
    /// # let a = "https://a.example";
    /// let network = ScriptedTransport::new().on(a, [Reply::refused(), Reply::ok("up again")]);
    /// # let builder = anyhost::Client::builder().base_urls(a).transport(network.clone()).clock(network.clock());
    /// let client = builder
    ///     .breaker(BreakerSettings::new(1, Duration::from_secs(30), Duration::from_secs(60), true)?)
    ///     .when_none_eligible(WhenNoneEligible::TryNearest)
    ///     .build()?;
    /// assert!(client.get("/").send().is_err()); // opens the circuit for 30 s at least
    /// assert_eq!(client.get("/").send()?.text()?, "up again");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Default
    ///
    /// [`WhenNoneEligible::FailFast`] (seed 001, ruling R8):
    /// [`Status::NoEndpoint`](crate::Status::NoEndpoint), with how long it will be.
    pub fn when_none_eligible(mut self, what: WhenNoneEligible) -> Self {
        self.client.when_none_eligible = what;
        self
    }

    /// The weight of an endpoint or proxy that names none: at the start, and the most it can become. Option
    /// `weight_max`.
    ///
    /// ```
    /// use anyhost::{Client, Endpoint};
    ///
    /// let client = Client::builder()
    ///     .selection(anyhost::Selection::Weighted)
    ///     .weight_max(100) // shares in per cent
    ///     .endpoint(Endpoint::new("https://a.example")?)
    ///     .endpoint(Endpoint::new("https://b.example")?.weight(20))
    ///     .build()?;
    /// let weights: Vec<u32> = client.snapshot().members().iter().map(|it| it.weight()).collect();
    /// assert_eq!(weights, [100, 20]);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// 1000 (seed 003).
    ///
    /// # Errors
    ///
    /// [`Status::Option`](crate::Status::Option) outside 1 to 1000.
    pub fn weight_max(self, weight: u32) -> Self {
        self.set("weight_max", &weight.to_string())
    }

    /// The least that a weight falls to. Option `weight_min`.
    ///
    /// ```
    /// // A host that fails falls from 500 to 5 at the least, and so still gets about one call in a hundred.
    /// let client = anyhost::Client::builder()
    ///     .base_urls("https://a.example, https://b.example")
    ///     .selection(anyhost::Selection::Weighted)
    ///     .weight_max(500)
    ///     .weight_min(5)
    ///     .build()?;
    /// assert_eq!(client.snapshot().members()[0].max_weight(), 500);
    /// # let builder = anyhost::Client::builder().base_urls("https://a.example").weight_max(5).weight_min(6);
    /// # assert_eq!(builder.build().unwrap_err().status(), anyhost::Status::Range);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// 1 (seed 003): nobody is ever out of the draw.
    ///
    /// # Errors
    ///
    /// [`Status::Option`](crate::Status::Option) outside 1 to 1000; [`Status::Range`](crate::Status::Range) from
    /// [`build`](ClientBuilder::build) above the weight of a member, which is `weight_max` where it names none.
    pub fn weight_min(self, weight: u32) -> Self {
        self.set("weight_min", &weight.to_string())
    }

    /// How weights follow outcomes, in the place of the options `weight_increment` and `weight_divisor`. The
    /// bounds are [`weight_min`](ClientBuilder::weight_min) and the weight of the member.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// use anyhost::{Selection, WeightStrategy};
    /// # let a = "https://a.example";
    /// let network = ScriptedTransport::new().on(a, [Reply::status(500)]);
    /// # let builder = anyhost::Client::builder().base_urls(a).transport(network.clone()).clock(network.clock());
    /// // Gentler than a tenth for each failure: a fifth of the maximum less.
    /// let client = builder
    ///     .selection(Selection::Weighted)
    ///     .weight_strategy(WeightStrategy::fixed_delta(200))
    ///     .build()?;
    /// client.get("/").send()?;
    /// client.get("/").send()?;
    /// assert_eq!(client.snapshot().members()[0].weight(), 600);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// [`WeightStrategy::agoda`] (seed 003): a success adds 1000, a failure divides by 10.
    pub fn weight_strategy(mut self, strategy: WeightStrategy) -> Self {
        self.client.weight_strategy = Some(strategy);
        self
    }

    /// Whether an endpoint is left alone for as long as its 429 or 503 asks (`Retry-After`, RFC 9110 section
    /// 10.2.3, in seconds or as a date), 1 h at most without a [`breaker`](ClientBuilder::breaker). Option
    /// `honor_retry_after`.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # use std::time::Duration;
    /// # let (a, b) = ("https://a.example", "https://b.example");
    /// let network = ScriptedTransport::new()
    ///     .on(a, [Reply::status(429).retry_after(Duration::from_secs(20))])
    ///     .on(b, [Reply::ok("from b")]);
    /// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
    /// # let builder = builder.transport(network.clone()).clock(network.clock());
    /// let client = builder.build()?;
    /// assert_eq!(client.get("/").send()?.status(), 429);
    /// assert_eq!(client.get("/").send()?.endpoint(), b);
    /// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}")).transport(network.clone());
    /// let client = builder.honor_retry_after(false).build()?;
    /// assert_eq!(client.get("/").send()?.status(), 429);
    /// assert_eq!(client.get("/").send()?.status(), 429);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// On (ruling R10): later calls try the others first. The 429 itself is handed out.
    pub fn honor_retry_after(mut self, honor: bool) -> Self {
        self.client.honor_retry_after = honor;
        self
    }

    /// Bounds what repeats may cost over all calls, as `20%+1/s`. Option `retry_budget`.
    ///
    /// A resend after the request may have been received, a return to an endpoint, and a try of an
    /// endpoint whose circuit is open cost one token each; moving on from where nothing was sent costs none
    /// (ruling R20). 10 tokens are there at first and for each 4 endpoints 10 more, which is also the most;
    /// each call answered at its first attempt adds the share, 0.2, and each second 1, up to half the most.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # use std::time::Duration;
    /// # let (a, b) = ("https://a.example", "https://b.example");
    /// let network = ScriptedTransport::new().on(a, [Reply::status(503)]).on(b, [Reply::ok("well")]);
    /// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
    /// # let builder = builder.transport(network.clone()).clock(network.clock());
    /// // 15 tokens for two endpoints, and one for every 100 calls that need none.
    /// let client = builder.hold_for(Duration::ZERO).retry_budget("1%").build()?;
    /// let answers: Result<Vec<u16>, _> = (0..20).map(|_| Ok(client.get("/").send()?.status())).collect();
    /// assert_eq!(answers?.iter().filter(|status| **status == 200).count(), 15);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// Off: with one attempt at each of two hosts a call costs two at the most.
    ///
    /// # Errors
    ///
    /// [`Status::Option`](crate::Status::Option) for another text. From the call, where the budget is what ends it
    /// and there is no answer to hand out, [`Status::BudgetSpent`](crate::Status::BudgetSpent).
    pub fn retry_budget(self, text: &str) -> Self {
        self.set("retry_budget", text)
    }

    /// Sets the options of a preset; what is set after it takes its place.
    ///
    /// * `default` and `datatug` set nothing: the defaults are those of seed 000.
    /// * `agoda` (seed 003): `selection=weighted`, `max_attempts=3`, `attempts_per_endpoint=3`, `resend=any`,
    ///   `resend_statuses=408,5xx`, `require_success=on`.
    /// * `breaker` (seed 001): `breaker=on`, `error_statuses=5xx,429`.
    /// * `resilient`, what we would run ourselves: `selection=weighted`, `breaker=on`, `breaker_threshold=3`,
    ///   `breaker_base_delay=250ms`, `breaker_max_delay=20s`, `when_none_eligible=try_nearest`,
    ///   `deadline=30s`, `retry_budget=20%+1/s`.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let (a, b) = ("https://a.example", "https://b.example");
    /// let network = ScriptedTransport::new().on(a, [Reply::status(500)]).on(b, [Reply::ok("well")]);
    /// # let builder = anyhost::Client::builder().base_urls(&format!("{a}, {b}"));
    /// # let builder = builder.transport(network.clone()).clock(network.clock());
    /// let client = builder.preset("agoda").max_attempts(2).build()?;
    /// assert_eq!(client.post("/orders").send()?.endpoint(), b); // 500 moves on, and any method may
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::Option`](crate::Status::Option) for a name that there is not.
    pub fn preset(self, name: &str) -> Self {
        self.with(|builder| builder.set_preset(name))
    }
}
