//! The settings of a call as methods, the same on the client's builder and on a request.

/// Writes the methods into the `impl` of a type that has
/// `fn change(self, option: &'static str, change: impl Fn(&mut CallSettings) -> Result<(), String>)`.
macro_rules! call_setters {
    () => {
        /// Most attempts of a call; 0 = until each endpoint had its
        /// [`attempts_per_endpoint`](Self::attempts_per_endpoint). Replays of a stale connection
        /// (ruling R2) and hops of a redirect (R14) are not counted. Option `max_attempts`.
        ///
        /// The call ends with the last answer, or with
        /// [`Status::AttemptsSpent`](crate::Status::AttemptsSpent) where there was none.
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// let network = ScriptedTransport::new().on(a, [Reply::status(503)]).on(b, [Reply::ok("well")]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let client = builder.max_attempts(1).build()?;
        /// let answer = client.get("/").send()?;
        /// assert_eq!((answer.status(), answer.attempts().len()), (503, 1));
        /// assert_eq!(client.get("/").max_attempts(0).send()?.endpoint(), b);
        /// # Ok::<(), anyhost::Error>(())
        /// ```
        ///
        /// # Default
        ///
        /// 0: two base URLs give at most two attempts.
        pub fn max_attempts(self, most: u32) -> Self {
            self.change("max_attempts", move |call| {
                call.max_attempts = (most > 0).then_some(most);
                Ok(())
            })
        }

        /// Most attempts at one endpoint. Option `attempts_per_endpoint`.
        ///
        /// With more than 1 the call comes back to endpoints it has tried, when all others were
        /// tried as often, after a random wait of up to [`backoff_base`](Self::backoff_base), then
        /// twice that and so on up to [`backoff_max`](Self::backoff_max). It never comes back to
        /// one whose name does not exist.
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// let network = ScriptedTransport::new()
        ///     .on(a, [Reply::refused()])
        ///     .on(b, [Reply::refused(), Reply::ok("at last")]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let client = builder.attempts_per_endpoint(2).build()?;
        /// let answer = client.get("/").send()?; // a, b, a wait, a, b
        /// assert_eq!((answer.endpoint(), answer.attempts().len()), (b, 4));
        /// assert_eq!(network.clock().sleeps().len(), 2); // before each return
        /// # Ok::<(), anyhost::Error>(())
        /// ```
        ///
        /// # Default
        ///
        /// 1 (seed 000): another host is a better bet than the same one again.
        ///
        /// # Errors
        ///
        /// [`Status::Option`](crate::Status::Option) for 0.
        pub fn attempts_per_endpoint(self, most: u32) -> Self {
            self.change("attempts_per_endpoint", move |call| {
                if most == 0 {
                    return Err("an endpoint gets at least 1 attempt".to_owned());
                }
                call.attempts_per_endpoint = most;
                Ok(())
            })
        }

        /// Which requests may go out again after a server may have received them. Option `resend`.
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// let network = ScriptedTransport::new().on(a, [Reply::resets_after_sending()]).on(b, [Reply::ok("done")]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let client = builder.build()?;
        /// let put = || client.put("/settings/7").body("on");
        /// assert_eq!(put().send().unwrap_err().delivery(), anyhost::Delivery::Maybe);
        /// assert_eq!(put().resend(anyhost::Resend::Idempotent).send()?.endpoint(), b);
        /// # Ok::<(), anyhost::Error>(())
        /// ```
        ///
        /// # Default
        ///
        /// [`Resend::Safe`](crate::Resend::Safe): GET and HEAD (seed 000, ruling R1).
        pub fn resend(self, resend: crate::Resend) -> Self {
            self.change("resend", move |call| {
                call.resend = resend;
                Ok(())
            })
        }

        /// Answers after which a request that [`resend`](Self::resend) allows moves on to the next
        /// endpoint. After 521, 523 and an early 522 every request does (ruling R1). Option
        /// `resend_statuses`.
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// let network = ScriptedTransport::new().on(a, [Reply::status(500)]).on(b, [Reply::ok("well")]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let client = builder.build()?;
        /// assert_eq!(client.get("/").send()?.status(), 500);
        /// let gateway_or_not = "500,502-504".parse()?;
        /// assert_eq!(client.get("/").resend_statuses(gateway_or_not).send()?.endpoint(), b);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Default
        ///
        /// `502-504,520-523,525-526` (seed 000). Not 500, which is the application's own answer, and
        /// not 524, after which the origin may still be at work.
        pub fn resend_statuses(self, statuses: crate::StatusSet) -> Self {
            self.change("resend_statuses", move |call| {
                call.resend_statuses = statuses;
                Ok(())
            })
        }

        /// First ceiling of the random wait before the call comes back to an endpoint; it doubles
        /// each time, up to [`backoff_max`](Self::backoff_max). Option `backoff_base`.
        ///
        /// Without more [`attempts_per_endpoint`](Self::attempts_per_endpoint) than 1 there is no wait.
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// # use std::time::Duration;
        /// let network = ScriptedTransport::new()
        ///     .on(a, [Reply::refused(), Reply::refused(), Reply::ok("up")])
        ///     .on(b, [Reply::refused()]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let client = builder.attempts_per_endpoint(3).backoff_base(Duration::from_millis(10)).build()?;
        /// assert_eq!(client.get("/").send()?.text()?, "up");
        /// let waits = network.clock().sleeps();
        /// assert!(waits[0] < Duration::from_millis(10), "{waits:?}");
        /// # Ok::<(), anyhost::Error>(())
        /// ```
        ///
        /// # Default
        ///
        /// 50 ms (seed 002). With 3 attempts at one endpoint the waits are below 50 and 100 ms.
        ///
        /// # Errors
        ///
        /// [`Status::Config`](crate::Status::Config), from `build` or from the call, for 0 and for more than
        /// `backoff_max`.
        pub fn backoff_base(self, base: std::time::Duration) -> Self {
            self.change("backoff_base", move |call| {
                call.backoff_base = base;
                Ok(())
            })
        }

        /// Highest ceiling of that wait; see [`backoff_base`](Self::backoff_base). Option `backoff_max`.
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// # use std::time::Duration;
        /// let network = ScriptedTransport::new()
        ///     .on(a, [Reply::refused(), Reply::refused(), Reply::ok("up")])
        ///     .on(b, [Reply::refused()]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let client = builder.attempts_per_endpoint(3).backoff_max(Duration::from_millis(50)).build()?;
        /// assert_eq!(client.get("/").send()?.text()?, "up");
        /// let waits = network.clock().sleeps();
        /// assert!(waits.iter().all(|wait| *wait < Duration::from_millis(50)), "{waits:?}");
        /// # Ok::<(), anyhost::Error>(())
        /// ```
        ///
        /// # Default
        ///
        /// 1 s (seed 002): the ceilings are 50, 100, 200, 400 and 800 ms, and 1 s from the sixth wait on.
        ///
        /// # Errors
        ///
        /// [`Status::Config`](crate::Status::Config), from `build` or from the call, below `backoff_base` and
        /// above 365 days.
        pub fn backoff_max(self, max: std::time::Duration) -> Self {
            self.change("backoff_max", move |call| {
                call.backoff_max = max;
                Ok(())
            })
        }

        /// To obtain a connection (name lookup, proxy, TCP and TLS together) on every attempt but the last;
        /// `None` = no limit. Option `connect_timeout`.
        ///
        /// Never more than the attempt's limit, nor than half of what is left of the
        /// [`deadline`](Self::deadline): with 4 s left it is 2 s, with 3 s left 1.5 s, so that
        /// an endpoint which swallows connections leaves time for the next (ruling R3).
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// # use std::time::Duration;
        /// let network = ScriptedTransport::new().on(a, [Reply::connect_times_out()]).on(b, [Reply::ok("well")]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let client = builder.connect_timeout(Duration::from_millis(300)).build()?;
        /// let answer = client.get("/").send()?;
        /// assert_eq!((answer.endpoint(), answer.elapsed()), (b, Duration::from_millis(300)));
        /// # Ok::<(), anyhost::Error>(())
        /// ```
        ///
        /// # Default
        ///
        /// 2 s (seed 000).
        ///
        /// # Errors
        ///
        /// [`Status::Option`](crate::Status::Option) for zero.
        pub fn connect_timeout(self, limit: impl Into<Option<std::time::Duration>>) -> Self {
            let limit = limit.into();
            self.change("connect_timeout", move |call| {
                call.connect_timeout = crate::client::settings::not_zero(limit)?;
                Ok(())
            })
        }

        /// The same on the last attempt, after which nothing could follow. Option
        /// `connect_timeout_last`.
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// # use std::time::Duration;
        /// let network = ScriptedTransport::new().on(a, [Reply::refused()]).on(b, [Reply::connect_times_out()]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let client = builder.build()?;
        /// let error = client.get("/").connect_timeout_last(Duration::from_secs(1)).send().unwrap_err();
        /// assert_eq!(error.attempts()[1].elapsed(), Duration::from_secs(1));
        /// let error = client.get("/").send().unwrap_err(); // none: the attempt's own limit
        /// assert_eq!(error.attempts()[1].elapsed(), Duration::from_secs(5));
        /// # Ok::<(), anyhost::Error>(())
        /// ```
        ///
        /// # Default
        ///
        /// `None` (seed 000): there is nothing to save time for. The attempt's limit and the
        /// deadline still bind.
        ///
        /// # Errors
        ///
        /// [`Status::Option`](crate::Status::Option) for zero.
        pub fn connect_timeout_last(self, limit: impl Into<Option<std::time::Duration>>) -> Self {
            let limit = limit.into();
            self.change("connect_timeout_last", move |call| {
                call.connect_timeout_last = crate::client::settings::not_zero(limit)?;
                Ok(())
            })
        }

        /// How long one attempt may take, from its start to the last byte of the answer, or to the end
        /// of its head where the answer is [streamed](crate::RequestBuilder::stream): a `Duration`, a
        /// [`Timeout`](crate::Timeout), or a [policy of your own](crate::TimeoutPolicy). What is left of the
        /// [`deadline`](Self::deadline) shortens it. Option `attempt_timeout`.
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// # use anyhost::Timeout;
        /// # use std::time::Duration;
        /// let network = ScriptedTransport::new()
        ///     .on(a, [Reply::times_out()])
        ///     .on(b, [Reply::times_out(), Reply::ok("well")]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let (short, long) = (Duration::from_millis(200), Duration::from_secs(2));
        /// let client = builder.attempt_timeout(short).attempts_per_endpoint(2).build()?;
        /// let patient = client.get("/").attempt_timeout(Timeout::adaptive(short, [long])).send()?;
        /// let took: Vec<Duration> = patient.attempts().iter().map(|it| it.elapsed()).collect();
        /// assert_eq!(took, [short, long, long, Duration::ZERO]); // 200 ms, and 2 s after a timeout
        /// # Ok::<(), anyhost::Error>(())
        /// ```
        ///
        /// # Default
        ///
        /// 5 s for each attempt (seed 002).
        ///
        /// # Errors
        ///
        /// [`Status::Option`](crate::Status::Option) for a limit of zero.
        pub fn attempt_timeout(self, timeout: impl crate::IntoTimeoutPolicy) -> Self {
            let policy = timeout.into_timeout_policy().map(crate::client::settings::Policy::custom);
            self.change("attempt_timeout", move |call| {
                call.attempt_timeout = policy.as_ref().map_err(ToString::to_string)?.clone();
                Ok(())
            })
        }

        /// For the whole call: attempts, waits and body; `None` = no limit. Option `deadline`.
        ///
        /// When it passes, the call ends with the last complete answer, if there was one, or with
        /// [`Status::Deadline`](crate::Status::Deadline). An attempt it cuts short is held against
        /// nobody.
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// # use std::time::Duration;
        /// let network = ScriptedTransport::new().on(a, [Reply::times_out()]).on(b, [Reply::times_out()]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let client = builder.deadline(Duration::from_secs(7)).build()?;
        /// let error = client.get("/").send().unwrap_err();
        /// assert_eq!(error.status(), anyhost::Status::Deadline);
        /// assert_eq!(error.attempts()[1].elapsed(), Duration::from_secs(2)); // what the first had left
        /// assert_eq!(network.clock().elapsed(), Duration::from_secs(7));
        /// # Ok::<(), anyhost::Error>(())
        /// ```
        ///
        /// # Default
        ///
        /// `None`: the attempts' own limits bound a call, with two endpoints to about 10 s.
        ///
        /// # Errors
        ///
        /// [`Status::Option`](crate::Status::Option) for zero.
        pub fn deadline(self, limit: impl Into<Option<std::time::Duration>>) -> Self {
            let limit = limit.into();
            self.change("deadline", move |call| {
                call.deadline = crate::client::settings::not_zero(limit)?;
                Ok(())
            })
        }

        /// Longest wait for the next byte of the answer's body; `None` = no limit. Option
        /// `stall_timeout`.
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// # use std::time::Duration;
        /// let network = ScriptedTransport::new()
        ///     .on(a, [Reply::ok("half of it").stalls()])
        ///     .on(b, [Reply::ok("all of it")]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let client = builder.stall_timeout(Duration::from_secs(3)).build()?;
        /// let answer = client.get("/").send()?;
        /// assert_eq!((answer.text()?, answer.elapsed()), ("all of it", Duration::from_secs(3)));
        /// # Ok::<(), anyhost::Error>(())
        /// ```
        ///
        /// # Default
        ///
        /// 30 s: servers that make an answer while they send it seldom pause for longer. It matters for a
        /// [stream](crate::RequestBuilder::stream), and where [`attempt_timeout`](Self::attempt_timeout) is
        /// longer or off.
        ///
        /// # Errors
        ///
        /// [`Status::Option`](crate::Status::Option) for zero.
        pub fn stall_timeout(self, limit: impl Into<Option<std::time::Duration>>) -> Self {
            let limit = limit.into();
            self.change("stall_timeout", move |call| {
                call.stall_timeout = crate::client::settings::not_zero(limit)?;
                Ok(())
            })
        }

        /// An answer outside 200 to 299 is an error, [`Status::Rejected`](crate::Status::Rejected),
        /// which keeps the answer. Option `require_success`.
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// let network = ScriptedTransport::new().on(a, [Reply::status(404).body("no such order")]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let client = builder.require_success(true).build()?;
        /// let error = client.get("/orders/7").send().unwrap_err();
        /// assert_eq!((error.status(), error.http_status()), (anyhost::Status::Rejected, Some(404)));
        /// assert_eq!(error.answer().unwrap().text()?, "no such order");
        /// # Ok::<(), anyhost::Error>(())
        /// ```
        ///
        /// # Default
        ///
        /// Off: an answer is an answer.
        pub fn require_success(self, require: bool) -> Self {
            self.change("require_success", move |call| {
                call.require_success = require;
                Ok(())
            })
        }

        /// Answers that are an error, [`Status::Rejected`](crate::Status::Rejected), which keeps
        /// status, headers, up to 64 KiB of the body, and the wait. Option `error_statuses`.
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// # use std::time::Duration;
        /// let network = ScriptedTransport::new().on(a, [Reply::status(429).retry_after(Duration::from_secs(8))]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let client = builder.error_statuses("5xx,429".parse()?).build()?;
        /// let error = client.get("/").send().unwrap_err();
        /// assert_eq!((error.status(), error.http_status()), (anyhost::Status::Rejected, Some(429)));
        /// assert_eq!(error.retry_after(), Some(Duration::from_secs(8)));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Default
        ///
        /// None: an answer is an answer (ruling R19).
        pub fn error_statuses(self, statuses: crate::StatusSet) -> Self {
            self.change("error_statuses", move |call| {
                call.error_statuses = statuses;
                Ok(())
            })
        }

        /// How many redirects a call follows (301, 302, 303, 307 and 308; RFC 9110 §15.4); 0 = they
        /// are handed out like any answer. Option `redirects`.
        ///
        /// 303 turns every method but HEAD into GET, 301 and 302 turn POST into GET, and the body is
        /// left behind then; where it goes along and cannot be produced again, the redirect is handed
        /// out. So is one without `Location`. Each hop is an attempt in the list, with limits of its
        /// own as the last attempt has them; it is not counted in
        /// [`max_attempts`](Self::max_attempts), and says nothing about any endpoint. If it fails, the
        /// call ends there.
        ///
        /// Secrets ([`secret_header`](crate::ClientBuilder::secret_header), a `Host` set by hand, the
        /// headers of an endpoint) go along to origins of this client's endpoints only, and no more
        /// once a hop has been elsewhere. User info in a `Location` is neither sent nor shown.
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// let network = ScriptedTransport::new()
        ///     .on(a, [Reply::status(302).header("Location", "https://cdn.example/7")])
        ///     .on("https://cdn.example", [Reply::ok("a picture")]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let client = builder.build()?;
        /// assert_eq!(client.get("/pictures/7").send()?.url(), "https://cdn.example/7");
        /// assert_eq!(client.get("/pictures/7").redirects(0).send()?.status(), 302);
        /// # Ok::<(), anyhost::Error>(())
        /// ```
        ///
        /// # Default
        ///
        /// 10 (ruling R14).
        ///
        /// # Errors
        ///
        /// From the call [`Status::Redirects`](crate::Status::Redirects): for more than so many, for
        /// one that comes back to what was asked before, and for one from https to http, to another
        /// scheme, or to what is no URL.
        pub fn redirects(self, most: u32) -> Self {
            self.change("redirects", move |call| {
                call.redirects = most;
                Ok(())
            })
        }

        /// Ask for answers in a content coding, and decode them: gzip, and br and zstd with the cargo
        /// features `brotli` and `zstd` (RFC 9110 section 8.4). Option `decompress`.
        ///
        /// A decoded answer has neither `Content-Encoding` nor `Content-Length`, which spoke of the
        /// coded one; an answer in a coding that was not asked for is handed out as received. With an
        /// `Accept-Encoding` or a `Range` set by hand nothing is asked for and nothing decoded. A body
        /// that is not what its head says is an error, as one that breaks off (ruling R13).
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// let network = ScriptedTransport::new().on(a, [Reply::ok("plain")]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let client = builder.build()?;
        /// client.get("/").send()?;
        /// client.get("/").decompress(false).send()?;
        /// let asked: Vec<bool> =
        ///     network.attempts().iter().map(|it| it.headers.contains_key("accept-encoding")).collect();
        /// assert_eq!(asked, [true, false]);
        /// # Ok::<(), anyhost::Error>(())
        /// ```
        ///
        /// # Default
        ///
        /// On: text is a fifth of its size in gzip, and every server has it.
        ///
        /// # Errors
        ///
        /// From the call, or the reader of a stream, [`Status::Body`](crate::Status::Body) for a body that is not
        /// in its coding, and [`Status::TooLarge`](crate::Status::TooLarge) for one that unfolds to more than 200
        /// times of what came in, beyond 64 MiB.
        pub fn decompress(self, decompress: bool) -> Self {
            self.change("decompress", move |call| {
                call.decompress = decompress;
                Ok(())
            })
        }

        /// Largest body of an answer in bytes, after decoding. A larger one is
        /// [`Status::TooLarge`](crate::Status::TooLarge), and never tried elsewhere. A
        /// [`stream`](crate::RequestBuilder::stream) is not read into memory, and has no such limit, but where
        /// [`read_rest`](crate::BodyReader::read_rest) does.
        /// Option `max_body`.
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// let network = ScriptedTransport::new().on(a, [Reply::ok("eleven byte")]).on(b, [Reply::ok("short")]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let client = builder.max_body(11).build()?;
        /// assert_eq!(client.get("/").send()?.bytes().len(), 11);
        /// let error = client.get("/").max_body(10).send().unwrap_err();
        /// assert_eq!((error.status(), error.attempts().len()), (anyhost::Status::TooLarge, 1));
        /// # Ok::<(), anyhost::Error>(())
        /// ```
        ///
        /// # Default
        ///
        /// 64 MiB: an answer is read into memory whole.
        pub fn max_body(self, bytes: u64) -> Self {
            self.change("max_body", move |call| {
                call.max_body = bytes;
                Ok(())
            })
        }

        /// The `User-Agent` header, where none is set by hand. Option `user_agent`.
        ///
        /// ```
        /// # use anyhost::testing::{Reply, ScriptedTransport};
        /// # let (a, b) = ("https://a.example", "https://b.example");
        /// let network = ScriptedTransport::new().on(a, [Reply::ok("")]);
        /// # let hosts = format!("{a}, {b}");
        /// # let builder = anyhost::Client::builder().base_urls(&hosts);
        /// # let builder = builder.transport(network.clone()).clock(network.clock());
        /// let client = builder.user_agent("orders/2.1").build()?;
        /// client.get("/").send()?;
        /// assert_eq!(network.attempts()[0].headers["user-agent"], "orders/2.1");
        /// # Ok::<(), anyhost::Error>(())
        /// ```
        ///
        /// # Default
        ///
        /// `anyhost/x.y.z`.
        ///
        /// # Errors
        ///
        /// [`Status::Option`](crate::Status::Option) for what no header can carry.
        pub fn user_agent(self, text: &str) -> Self {
            let value = http::HeaderValue::from_str(text);
            self.change("user_agent", move |call| {
                let value = value.as_ref().map_err(|_| "no header can carry this text")?;
                call.user_agent = value.clone();
                Ok(())
            })
        }
    };
}

pub(crate) use call_setters;
