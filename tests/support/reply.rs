//! One exchange as data: how far the request is read, what is sent, and how it ends.
//!
//! The three are independent, so that every fault is a combination and not a name of its own:
//! `Reply::reset().after_head()`, `Reply::ok("abc").cut(1).hold()`, `Reply::raw("220 hi").unread()`.
//! Order of the words does not matter. `exchange.rs` carries it out.

use std::sync::Arc;
use std::time::Duration;

use super::event::{Event, Pause};
use super::request::Request;

/// What a server does with one request. Unless told otherwise it reads all of it, answers with a
/// Content-Length, and keeps the connection alive.
#[derive(Clone)]
pub struct Reply {
    pub(super) reads: Reads,
    pub(super) interim: Vec<u16>,
    pub(super) answer: Answer,
    pub(super) before: Vec<Pause>,
    pub(super) pauses: Vec<(usize, Pause)>,
    pub(super) drip: Option<(usize, Duration)>,
    pub(super) cut: Option<usize>,
    pub(super) idle: Option<Pause>,
    pub(super) end: End,
    pub(super) goodbye: bool,
    pub(super) tell: Option<Event>,
}

/// How far the request is read before anything else happens.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Reads {
    Nothing,
    Handshake,
    Head,
    Request,
}

#[derive(Clone)]
pub(super) enum Answer {
    Nothing,
    Raw(Vec<u8>),
    Http { status: u16, headers: Vec<(String, String)>, body: Vec<u8>, framing: Framing },
    Made(Arc<dyn Fn(&Request) -> Reply + Send + Sync>),
}

#[derive(Clone, Copy)]
pub(super) enum Framing {
    Length,
    Chunked(usize),
    UntilClose,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum End {
    KeepAlive,
    Close,
    HalfClose,
    Reset,
    Hold,
    Swallow(Option<(usize, Duration)>),
}

/// What is sent.
impl Reply {
    /// That status, with an empty body.
    pub fn status(status: u16) -> Reply {
        let (headers, body, framing) = (Vec::new(), Vec::new(), Framing::Length);
        Reply::new(Answer::Http { status, headers, body, framing }, End::KeepAlive)
    }

    /// 200 with that body.
    pub fn ok(body: impl Into<Vec<u8>>) -> Reply {
        Reply::status(200).body(body)
    }

    /// These bytes and nothing else. All of them count as body in [`cut`](Reply::cut),
    /// [`drip`](Reply::drip) and [`pause_at`](Reply::pause_at).
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Reply {
        Reply::new(Answer::Raw(bytes.into()), End::KeepAlive)
    }

    /// What `make` says once the request has been read; whatever is said of this reply comes on
    /// top: `Reply::made(f).close()` closes. A panic in `make` fails the test.
    pub fn made(make: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Reply {
        Reply::new(Answer::Made(Arc::new(make)), End::KeepAlive)
    }

    /// 200 with method, target and body length as text: `POST /x 12`.
    pub fn echo() -> Reply {
        Reply::made(|r| Reply::ok(format!("{} {} {}", r.method, r.target, r.body.len())))
    }

    /// Closes without an answer: see [`close`](Reply::close), which can follow an answer too.
    pub fn closed() -> Reply {
        Reply::new(Answer::Nothing, End::Close)
    }

    /// Resets without an answer: see [`reset`](Reply::reset).
    pub fn resets() -> Reply {
        Reply::new(Answer::Nothing, End::Reset)
    }

    /// Never answers: see [`hold`](Reply::hold).
    pub fn holds() -> Reply {
        Reply::new(Answer::Nothing, End::Hold)
    }

    /// Reads whatever comes, HTTP or not, and never says a word. Nothing is recorded but
    /// the number of bytes ([`Server::swallowed`](super::Server::swallowed)).
    pub fn swallows() -> Reply {
        Reply::new(Answer::Nothing, End::Swallow(None)).unread()
    }

    /// The same, `n` bytes and then a rest of `every`.
    pub fn swallows_slowly(n: usize, every: Duration) -> Reply {
        Reply::new(Answer::Nothing, End::Swallow(Some((n, every)))).unread()
    }

    pub fn body(mut self, bytes: impl Into<Vec<u8>>) -> Reply {
        *self.http().1 = bytes.into();
        self
    }

    /// One more header field, in the order of the calls, before the framing fields.
    pub fn header(mut self, name: &str, value: &str) -> Reply {
        self.http().0.push((name.to_string(), value.to_string()));
        self
    }

    /// Transfer-Encoding: chunked, in chunks of `size` bytes.
    pub fn chunked(mut self, size: usize) -> Reply {
        *self.http().2 = Framing::Chunked(size);
        self
    }

    /// No framing: the body ends with the connection.
    pub fn until_close(mut self) -> Reply {
        *self.http().2 = Framing::UntilClose;
        self.instead_of_keep_alive(End::Close)
    }

    /// The same bytes as a raw reply, so that counting starts at the first byte of the head.
    pub fn into_raw(mut self) -> Reply {
        let (head, body) = self.bytes(None);
        self.answer = Answer::Raw([head, body].concat());
        self
    }

    /// Sends only the first `n` bytes of the body (as framed), then ends: by closing, if no other
    /// end is asked for. Bytes sent before a reset arrive if they fit the client's socket buffer.
    pub fn cut(mut self, n: usize) -> Reply {
        self.cut = Some(n);
        self.instead_of_keep_alive(End::Close)
    }
}

/// When it happens.
impl Reply {
    /// Reads nothing before it acts. It is then due when a connection is accepted, not when a
    /// request has come, and no request is recorded.
    pub fn unread(mut self) -> Reply {
        self.reads = Reads::Nothing;
        self
    }

    /// Completes the TLS handshake and reads nothing more; otherwise like [`unread`](Reply::unread).
    pub fn after_handshake(mut self) -> Reply {
        self.reads = Reads::Handshake;
        self
    }

    /// Acts after the head; the body is not read, except to reach the next request.
    pub fn after_head(mut self) -> Reply {
        self.reads = Reads::Head;
        self
    }

    /// Sends an interim response (100, 103) after the head, before the body is read.
    pub fn interim(mut self, status: u16) -> Reply {
        self.interim.push(status);
        self
    }

    /// Waits before the answer, or before the end if there is none.
    pub fn after(mut self, pause: impl Into<Pause>) -> Reply {
        self.before.push(pause.into());
        self
    }

    /// Waits after `n` bytes of the body; with 0, between head and body.
    pub fn pause_at(mut self, n: usize, pause: impl Into<Pause>) -> Reply {
        self.pauses.push((n, pause.into()));
        self
    }

    /// Opens `event` when `n` bytes of the body have been sent; see [`pause_at`](Reply::pause_at).
    pub fn tell_at(self, n: usize, event: &Event) -> Reply {
        self.pause_at(n, Pause::Tell(event.clone()))
    }

    /// Sends the body in pieces of `n` bytes with a rest of `every` between them.
    pub fn drip(mut self, n: usize, every: Duration) -> Reply {
        assert!(n > 0, "a drip of nothing never ends");
        self.drip = Some((n, every));
        self
    }

    /// Waits between the last byte of the answer and the end.
    pub fn idle(mut self, pause: impl Into<Pause>) -> Reply {
        self.idle = Some(pause.into());
        self
    }
}

/// How it ends.
impl Reply {
    /// Closes without having said so: a FIN (after the TLS goodbye) and no more reading.
    ///
    /// If part of the request lies unread, the kernel sends a RST after the FIN, as it does for
    /// every server; [`half_close`](Reply::half_close) avoids it.
    pub fn close(mut self) -> Reply {
        self.end = End::Close;
        self
    }

    /// Says `Connection: close`, and does.
    pub fn last(self) -> Reply {
        self.header("Connection", "close").close()
    }

    /// A FIN, but reads on and throws away what comes until the client ends.
    pub fn half_close(mut self) -> Reply {
        self.end = End::HalfClose;
        self
    }

    /// A RST.
    pub fn reset(mut self) -> Reply {
        self.end = End::Reset;
        self
    }

    /// Stays open and silent until the server is dropped, or, if the whole request had been read,
    /// until the client ends.
    pub fn hold(mut self) -> Reply {
        self.end = End::Hold;
        self
    }

    /// Leaves out the TLS goodbye (close_notify) when closing, as truncation would.
    pub fn without_goodbye(mut self) -> Reply {
        self.goodbye = false;
        self
    }

    /// Opens `event` when the end has been sent: the FIN, the RST; or else when the answer has.
    pub fn tell(mut self, event: &Event) -> Reply {
        self.tell = Some(event.clone());
        self
    }
}

impl Reply {
    /// Whether it is due when a connection is accepted.
    pub(super) fn is_unread(&self) -> bool {
        matches!(self.reads, Reads::Nothing | Reads::Handshake)
    }

    fn new(answer: Answer, end: End) -> Reply {
        Reply {
            reads: Reads::Request,
            interim: Vec::new(),
            answer,
            before: Vec::new(),
            pauses: Vec::new(),
            drip: None,
            cut: None,
            idle: None,
            end,
            goodbye: true,
            tell: None,
        }
    }

    /// Puts what a function made in the place of the function.
    pub(super) fn resolve(mut self, request: &Request) -> Reply {
        while let Answer::Made(make) = &self.answer {
            let made = make(request);
            self.answer = made.answer;
            self.before.extend(made.before);
            self.pauses.extend(made.pauses);
            self.drip = self.drip.or(made.drip);
            self.cut = self.cut.or(made.cut);
            self.idle = self.idle.or(made.idle);
            self.tell = self.tell.or(made.tell);
            self.goodbye &= made.goodbye;
            if self.end == End::KeepAlive {
                self.end = made.end;
            }
        }
        self
    }

    fn instead_of_keep_alive(mut self, end: End) -> Reply {
        if self.end == End::KeepAlive {
            self.end = end;
        }
        self
    }

    #[track_caller]
    fn http(&mut self) -> (&mut Vec<(String, String)>, &mut Vec<u8>, &mut Framing) {
        match &mut self.answer {
            Answer::Http { headers, body, framing, .. } => (headers, body, framing),
            _ => panic!("only Reply::status and Reply::ok have header fields, body and framing"),
        }
    }

    /// Head and body as they go on the wire in answer to `method`, before any cut.
    pub(super) fn bytes(&self, method: Option<&str>) -> (Vec<u8>, Vec<u8>) {
        let Answer::Http { status, headers, body, framing } = &self.answer else {
            let Answer::Raw(bytes) = &self.answer else { return Default::default() };
            return (Vec::new(), bytes.clone());
        };
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(*status));
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        // RFC 9110, 6.4.1: these have no content, whatever the fields say.
        let bodiless = *status < 200 || matches!(status, 204 | 304);
        match framing {
            _ if bodiless => {}
            Framing::Length => head += &format!("Content-Length: {}\r\n", body.len()),
            Framing::Chunked(_) => head += "Transfer-Encoding: chunked\r\n",
            Framing::UntilClose => {}
        }
        head += "\r\n";
        let body = match framing {
            _ if bodiless || method == Some("HEAD") => Vec::new(),
            Framing::Chunked(size) => chunks(body, *size),
            Framing::Length | Framing::UntilClose => body.clone(),
        };
        (head.into_bytes(), body)
    }
}

fn chunks(body: &[u8], size: usize) -> Vec<u8> {
    let framed =
        |chunk: &[u8]| [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat();
    let mut bytes: Vec<u8> = body.chunks(size).flat_map(framed).collect();
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// For the eye of whoever reads a capture; a client must not care (RFC 9110, 15.1).
fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        200 => "OK",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Scripted",
    }
}
