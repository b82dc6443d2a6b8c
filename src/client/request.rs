//! A request: what the caller asks for, checked when it is said.

use super::Client;
use super::base_url::{BaseUrl, Target, absolute};
use super::body::Body;
use super::call_setters::call_setters;
use super::cancel::Cancel;
use super::error::{Error, Result};
use super::headers;
use super::options;
use super::progress::Progress;
use super::response::Response;
use super::run;
use super::settings::CallSettings;
use super::status::Status;
use super::stream::Stream;
use crate::transport::Transferred;
use http::{HeaderMap, Method};
use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

/// A request that stands by itself: it can be kept, and sent more than once.
///
/// ```
/// # use anyhost::testing::{Reply, ScriptedTransport};
/// use anyhost::Request;
/// # let a = "https://a.example";
/// # let network = ScriptedTransport::new().on(a, [Reply::status(204)]);
/// # let client = anyhost::Client::builder().base_urls(a).transport(network.clone()).build()?;
///
/// let mut beat = Request::new("PUT", "/beats/7")?;
/// beat.set_header("Content-Type", "text/plain")?;
/// beat.set_body("alive");
/// beat.set("deadline", "500ms")?;
/// for _ in 0..2 {
///     assert_eq!(client.send(&mut beat)?.status(), 204);
/// }
/// assert_eq!(network.received_at(a)[1].body, b"alive");
/// # Ok::<(), anyhost::Error>(())
/// ```
///
/// A body that is a plain reader can be sent once: the second call is [`Status::State`].
pub struct Request {
    pub(crate) method: Method,
    pub(crate) target: Target,
    /// The origin of an absolute URL, for a client without endpoints.
    pub(crate) origin: Option<Box<BaseUrl>>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    pub(crate) cancel: Option<Cancel>,
    pub(crate) progress: Option<Progress>,
    /// What it sets for itself, by the name of the option, in the order it was said.
    changes: Vec<(Cow<'static, str>, Change)>,
}

type Change = Box<dyn Fn(&mut CallSettings) -> Result<(), String> + Send>;

impl Request {
    /// A request of this method for this path, which is appended to the base URL of whichever
    /// endpoint gets it (ruling R16): a leading slash is added where it is missing, a query may
    /// follow, and everything is sent byte for byte as given.
    ///
    /// A client that has proxies and no endpoints takes an absolute URL instead. User info in it is Basic
    /// authentication for that request.
    ///
    /// ```
    /// use anyhost::{Request, Status};
    ///
    /// assert!(Request::new("PROPFIND", "/files?depth=1").is_ok());
    /// for (method, path) in [("GET /", "/"), ("CONNECT", "/"), ("GET", "/a b"), ("GET", "/#top")] {
    ///     assert_eq!(Request::new(method, path).unwrap_err().status(), Status::Argument);
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::Argument`] for a method that is none, for CONNECT, and for a path with a fragment,
    /// a blank, a control character, a character beyond ASCII, `<`, `>` or a backtick, or a `"` in its
    /// query, and for one that is longer than 60 KiB.
    pub fn new(method: &str, path: &str) -> Result<Self> {
        let fail = |why| Error::of_option(Status::Argument, "method", why);
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| fail(format!("`{}` is no method", method.escape_debug())))?;
        if method == Method::CONNECT {
            return Err(fail("CONNECT asks a proxy for a tunnel, and not a service".to_owned()));
        }
        let (origin, target) = match absolute(path) {
            Some(url) => url.map(|(origin, target)| (Some(Box::new(origin)), target))?,
            None => (None, Target::parse(path)?),
        };
        Ok(Request {
            method,
            origin,
            target,
            headers: HeaderMap::new(),
            body: Body::empty(),
            cancel: None,
            progress: None,
            changes: Vec::new(),
        })
    }

    /// Sets a header, in the place of all of this name.
    ///
    /// # Errors
    ///
    /// [`Status::Argument`] for what no header can be (RFC 9110 §5.5), and for `Content-Length`,
    /// `Transfer-Encoding` and `Connection`, which are not the caller's to set.
    pub fn set_header(&mut self, name: &str, value: impl AsRef<[u8]>) -> Result<()> {
        let (name, value) = headers::parse(name.as_bytes(), value.as_ref(), false)?;
        self.headers.insert(name, value);
        Ok(())
    }

    /// Adds a header beside those of the same name.
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let a = "https://a.example";
    /// # let network = ScriptedTransport::new().on(a, [Reply::status(204)]);
    /// # let client = anyhost::Client::builder().base_urls(a).transport(network.clone()).build()?;
    /// let mut request = anyhost::Request::new("GET", "/")?;
    /// request.set_header("Accept", "text/html")?;
    /// request.add_header("Accept", "text/plain;q=0.5")?;
    /// request.set_header("X-Trace", "1")?;
    /// request.remove_header("x-trace")?;
    /// client.send(&mut request)?;
    /// let sent = &network.attempts()[0].headers;
    /// assert_eq!(sent.get_all("accept").iter().count(), 2);
    /// assert!(!sent.contains_key("x-trace"));
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`set_header`](Request::set_header).
    pub fn add_header(&mut self, name: &str, value: impl AsRef<[u8]>) -> Result<()> {
        let (name, value) = headers::parse(name.as_bytes(), value.as_ref(), false)?;
        self.headers.append(name, value);
        Ok(())
    }

    /// Takes every header of this name away, in any case. Those of the client and of an endpoint stay.
    ///
    /// Example: [`Request::add_header`].
    ///
    /// # Errors
    ///
    /// [`Status::Argument`] for what is no name.
    pub fn remove_header(&mut self, name: &str) -> Result<()> {
        self.headers.remove(headers::parse_name(name.as_bytes())?);
        Ok(())
    }

    /// Sets the body, in the place of one set before.
    ///
    /// # Default
    ///
    /// [`Body::empty`].
    pub fn set_body(&mut self, body: impl Into<Body>) {
        self.body = body.into();
    }

    /// Lets this handle end its calls; see [`Cancel`]. One that was triggered ends them at once.
    ///
    /// ```
    /// use anyhost::{Cancel, Client, Request, Status};
    ///
    /// let client = Client::new("https://a.example")?;
    /// let cancel = Cancel::new();
    /// let mut request = Request::new("GET", "/report")?;
    /// request.set_cancel(&cancel);
    /// cancel.trigger();
    /// assert_eq!(client.send(&mut request).unwrap_err().status(), Status::Cancelled);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn set_cancel(&mut self, cancel: &Cancel) {
        self.cancel = Some(cancel.clone());
    }

    /// Tells how far its calls are, about `every` so often; see [`RequestBuilder::progress`].
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// use anyhost::Request;
    /// use std::ops::ControlFlow;
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    /// # let a = "https://a.example";
    /// # let network = ScriptedTransport::new().on(a, [Reply::ok("hello")]);
    /// # let builder = anyhost::Client::builder().base_urls(a).transport(network.clone());
    /// # let client = builder.clock(network.clock()).build()?;
    ///
    /// let (tell, told) = channel();
    /// let mut request = Request::new("GET", "/big")?;
    /// request.set_progress(Duration::from_millis(500), move |so_far| {
    ///     tell.send(so_far.received()).unwrap();
    ///     ControlFlow::Continue(())
    /// })?;
    /// client.send(&mut request)?;
    /// assert_eq!(told.recv(), Ok(5)); // once more with the complete answer
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::Range`] for an interval of zero.
    pub fn set_progress(
        &mut self,
        every: Duration,
        callback: impl FnMut(&Transferred) -> ControlFlow<()> + Send + 'static,
    ) -> Result<()> {
        self.progress = Some(Progress::new(every, callback)?);
        Ok(())
    }

    /// Sets an option of this request by name; see [`options`](crate::options).
    ///
    /// ```
    /// let mut request = anyhost::Request::new("GET", "/")?;
    /// request.set("attempt_timeout", "200ms,1s,10s")?;
    /// let error = request.set("proxies", "direct").unwrap_err(); // of the whole client
    /// assert_eq!((error.status(), error.option()), (anyhost::Status::Option, Some("proxies")));
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::Option`] for a name or a value that there is not, and for an option of the whole
    /// client.
    pub fn set(&mut self, option: &str, value: &str) -> Result<()> {
        options::set_call(&mut CallSettings::default(), option, value)?;
        let (name, value) = (option.to_owned(), value.to_owned());
        let change = move |call: &mut CallSettings| {
            options::set_call(call, &name, &value).map_err(|error| error.to_string())
        };
        self.changes.push((option.to_owned().into(), Box::new(change)));
        Ok(())
    }

    /// Takes back what was set of an option: the client's setting holds again.
    #[cfg(feature = "capi")]
    pub(crate) fn unset(&mut self, option: &str) -> Result<()> {
        options::set_call(&mut CallSettings::default(), option, options::default_of(option)?)?;
        self.changes.retain(|(name, _)| name != option);
        Ok(())
    }

    fn change(
        &mut self,
        option: &'static str,
        change: impl Fn(&mut CallSettings) -> Result<(), String> + Send + 'static,
    ) -> Result<()> {
        change(&mut CallSettings::default()).map_err(|why| options::invalid(option, why))?;
        self.changes.push((option.into(), Box::new(change)));
        Ok(())
    }

    /// The settings of its call: the client's, with its own changes.
    pub(crate) fn settings<'a>(&self, client: &'a CallSettings) -> Result<Cow<'a, CallSettings>> {
        let mut settings = Cow::Borrowed(client);
        for (_, change) in &self.changes {
            change(settings.to_mut()).map_err(|why| Error::new(Status::Internal, why))?;
        }
        Ok(settings)
    }
}

/// Shows no query, no header values and no body.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("headers", &self.headers.len())
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

/// A request in the making, to be sent by the client it came from.
///
/// What is wrong with it is told by [`send`](RequestBuilder::send).
///
/// ```
/// use anyhost::testing::{Reply, ScriptedTransport};
/// use anyhost::Client;
/// use std::time::Duration;
///
/// let a = "https://a.example";
/// let network = ScriptedTransport::new().on(a, [Reply::ok("made")]);
/// let client = Client::builder()
///     .base_urls(a)
///     .transport(network.clone())
///     .clock(network.clock())
///     .build()?;
/// let answer = client
///     .post("/orders?dry_run=1")
///     .header("Content-Type", "application/json")
///     .body("{\"item\": 4711}")
///     .deadline(Duration::from_secs(2)) // for this request alone
///     .require_success(true)
///     .send()?;
/// assert_eq!(answer.text()?, "made");
/// assert_eq!(network.received_at(a)[0].body, b"{\"item\": 4711}");
/// # Ok::<(), anyhost::Error>(())
/// ```
#[must_use = "a request does nothing until it is sent"]
#[derive(Debug)]
pub struct RequestBuilder<'c> {
    client: &'c Client,
    request: Result<Request>,
}

impl<'c> RequestBuilder<'c> {
    pub(crate) fn new(client: &'c Client, method: &str, path: &str) -> Self {
        RequestBuilder { client, request: Request::new(method, path) }
    }

    /// Sets a header, in the place of all of this name; see [`Request::set_header`].
    pub fn header(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.with(|request| request.set_header(name, value))
    }

    /// Adds a header beside those of the same name; see [`Request::add_header`].
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let a = "https://a.example";
    /// # let network = ScriptedTransport::new().on(a, [Reply::status(204)]);
    /// # let client = anyhost::Client::builder().base_urls(a).transport(network.clone()).build()?;
    /// client.get("/").header("Cookie", "a=1").add_header("Cookie", "b=2").send()?;
    /// let sent: Vec<_> = network.attempts()[0].headers.get_all("cookie").iter().cloned().collect();
    /// assert_eq!(sent, ["a=1", "b=2"]);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn add_header(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.with(|request| request.add_header(name, value))
    }

    /// Sets the body; see [`Body`].
    pub fn body(self, body: impl Into<Body>) -> Self {
        self.with(|request| {
            request.set_body(body);
            Ok(())
        })
    }

    /// Lets this handle end the call; see [`Cancel`].
    ///
    /// Example: [`Cancel`].
    pub fn cancel(self, cancel: &Cancel) -> Self {
        self.with(|request| {
            request.set_cancel(cancel);
            Ok(())
        })
    }

    /// Tells how far the call is, about `every` so often, on the thread of the call; and ends the call
    /// with [`Status::Cancelled`] when the callback says [`Break`](ControlFlow::Break).
    ///
    /// It is told as often while nothing comes or goes: in the look-up of a name, in connecting, in a
    /// handshake, sending, waiting, reading, and between two attempts, so that a transfer that stands
    /// still is seen to, and can be ended. Once more it is told, whenever that is, with each answer
    /// that is complete. Of a [`stream`](RequestBuilder::stream) the body is told of on the thread that
    /// reads it, while it reads. The counts are those of one attempt and begin anew with the next
    /// ([`Transferred`]).
    ///
    /// Time is that of the client's clock. What the callback takes of it counts against the limits of
    /// the call. While the body's own reader runs nothing is told. A callback that panics has said nothing:
    /// the call goes on.
    ///
    /// ```
    /// use anyhost::testing::{Reply, ScriptedTransport};
    /// use std::ops::ControlFlow;
    /// use std::time::Duration;
    ///
    /// let second = Duration::from_secs(1);
    /// let network = ScriptedTransport::new().on("https://a.example", [Reply::ok("late").takes(9 * second)]);
    /// let client = anyhost::Client::builder()
    ///     .base_urls("https://a.example")
    ///     .attempt_timeout(60 * second)
    ///     .transport(network.clone())
    ///     .clock(network.clock())
    ///     .build()?;
    ///
    /// let mut times = 0;
    /// let watch = move |so_far: &anyhost::Transferred| {
    ///     println!("{} of {:?} bytes", so_far.received(), so_far.total());
    ///     times += 1;
    ///     if times < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    /// };
    /// let error = client.get("/").progress(second, watch).send().unwrap_err();
    /// assert_eq!(error.status(), anyhost::Status::Cancelled);
    /// assert_eq!(network.clock().elapsed(), 3 * second);
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Default
    ///
    /// Nobody is told. An interval of 100 ms to 1 s suits people; shorter ones cost the call a system call
    /// more for each of its own.
    ///
    /// # Errors
    ///
    /// [`Status::Range`] for an interval of zero.
    pub fn progress(
        self,
        every: Duration,
        callback: impl FnMut(&Transferred) -> ControlFlow<()> + Send + 'static,
    ) -> Self {
        self.with(|request| request.set_progress(every, callback))
    }

    /// Sets an option by name; see [`Request::set`].
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let a = "https://a.example";
    /// # let network = ScriptedTransport::new().on(a, [Reply::status(404)]);
    /// # let client = anyhost::Client::builder().base_urls(a).transport(network.clone()).build()?;
    /// let error = client.get("/orders/7").set("require_success", "on").send().unwrap_err();
    /// assert_eq!(error.http_status(), Some(404));
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    pub fn set(self, option: &str, value: &str) -> Self {
        self.with(|request| request.set(option, value))
    }

    /// Sends it, and reads the whole answer.
    ///
    /// The body is read within the attempt, so an answer that breaks off can still be had from
    /// another endpoint. Any status is an answer, unless
    /// [`require_success`](RequestBuilder::require_success) is on.
    ///
    /// # Errors
    ///
    /// What was wrong with the request; or, of the call, an error with a status from 200 on, which
    /// lists every attempt.
    pub fn send(self) -> Result<Response> {
        run::run(&self.client.shared, &mut self.request?, None)
    }

    /// Sends it, and hands the answer out when its head is there, for a body that is large or comes
    /// slowly.
    ///
    /// What moves on moves on as in [`send`](RequestBuilder::send), until there is a head to hand out:
    /// a body that breaks off later is an error of its reader, and is not had from another endpoint.
    /// `attempt_timeout` covers an attempt up to the head; the body has until the `deadline` of the
    /// call, and `stall_timeout` from byte to byte; `max_body` bounds
    /// [`read_rest`](crate::BodyReader::read_rest) alone. An answer moved on from
    /// stays open, unread, until the next head is there, and is the result if there is none (R11). The
    /// judge is asked at the head, and sees no body (ruling R21).
    ///
    /// ```
    /// # use anyhost::testing::{Reply, ScriptedTransport};
    /// # let a = "https://a.example";
    /// # let network = ScriptedTransport::new().on(a, [Reply::ok("all there is")]);
    /// # let client = anyhost::Client::builder().base_urls(a).transport(network.clone()).build()?;
    /// let stream = client.get("/dumps/latest").require_success(true).stream()?;
    /// let mut out = Vec::new(); // a file as a rule
    /// std::io::copy(&mut stream.into_reader(), &mut out)?;
    /// assert_eq!(out, b"all there is");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`send`](RequestBuilder::send).
    pub fn stream(self) -> Result<Stream> {
        run::stream(&self.client.shared, &mut self.request?)
    }

    call_setters!();

    fn change(
        self,
        option: &'static str,
        change: impl Fn(&mut CallSettings) -> Result<(), String> + Send + 'static,
    ) -> Self {
        self.with(|request| request.change(option, change))
    }

    fn with(mut self, f: impl FnOnce(&mut Request) -> Result<()>) -> Self {
        self.request = self.request.and_then(|mut request| f(&mut request).map(|()| request));
        self
    }
}
