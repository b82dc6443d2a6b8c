//! One cell of the matrix: one call over two endpoints, of which the first has a fault, and what must
//! be true of it whatever the client says.

use crate::Ground;
use crate::origin::{Account, Answer, Fault, NAME, Origin, Point};
use anyhost::{
    Body, Client, Delivery, Endpoint, Error, Execution, Phase, Response, Rewind, TimeoutPolicy,
    TlsRoots,
};
use std::io::{self, Cursor, Read};
use std::time::{Duration, Instant};

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    Get,
    /// Its body is in memory: head and body go out in one write.
    Post,
    /// Its body is read, chunked, from a source that can start over: head and body go out one by one.
    PostChunked,
    /// Its body is larger than what sockets hold: a fault meets a client that is still writing.
    PostLarge,
}

/// What the connections speak below HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    Tcp,
    Tls12,
    Tls13,
}

/// How the end of the answer's body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Length,
    Chunked,
    UntilClose,
}

#[derive(Debug, Clone, Copy)]
pub struct Cell {
    pub message: Message,
    pub below: Below,
    /// The connection to the first endpoint has served an exchange before.
    pub reused: bool,
    pub framing: Framing,
    pub point: Point,
    pub fault: Fault,
    /// The second endpoint's own fault; none where it is well.
    pub then: Option<(Point, Fault)>,
}

/// Time for an attempt that does not stall. Nobody waits for it.
const AMPLE: Duration = Duration::from_secs(15);
/// Longest that a call without a stall may take on a busy machine.
const PROMPT: Duration = Duration::from_secs(5);

/// What is to be answered by the endpoint of that name.
pub fn answer(of: &str, framing: Framing) -> Answer {
    let body = format!("{of} answers: 0123456789abcdef").into_bytes();
    let (line, framed) = match framing {
        Framing::Length => (format!("Content-Length: {}\r\n", body.len()), body.clone()),
        Framing::Chunked => {
            let chunk = |c: &[u8]| [format!("{:x}\r\n", c.len()).as_bytes(), c, b"\r\n"].concat();
            let mut framed: Vec<u8> = body.chunks(11).flat_map(chunk).collect();
            framed.extend_from_slice(b"0\r\n\r\n");
            ("Transfer-Encoding: chunked\r\n".to_owned(), framed)
        }
        Framing::UntilClose => (String::new(), body.clone()),
    };
    let head = format!("HTTP/1.1 200 OK\r\nServer: matrix\r\n{line}\r\n");
    Answer { bytes: [head.as_bytes(), &framed].concat(), head: head.len(), body }
}

/// The first attempt has its own limit: only there is a stall waited for.
struct First(Duration);

impl TimeoutPolicy for First {
    fn attempt_timeout(&self, execution: &Execution) -> Option<Duration> {
        Some(if execution.attempt == 1 { self.0 } else { AMPLE })
    }
}

/// Every attempt has the same short limit: any endpoint may stall.
struct Each(Duration);

impl TimeoutPolicy for Each {
    fn attempt_timeout(&self, _: &Execution) -> Option<Duration> {
        Some(self.0)
    }
}

struct Source(Cursor<&'static [u8]>);

impl Read for Source {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl Rewind for Source {
    fn rewind(&mut self) -> io::Result<()> {
        self.0.set_position(0);
        Ok(())
    }
}

const PATH: &str = "/orders/1";

const BODY: &[u8] = b"item=4711&quantity=2";

static LARGE: &[u8] = &[b'x'; 8 << 20];

/// A call and what both servers saw of it.
struct Run {
    result: Result<Response, Error>,
    took: Duration,
    urls: [String; 2],
    accounts: [Account; 2],
}

impl Cell {
    /// Whether an attempt of it ends only by a limit.
    pub fn stalls(&self) -> bool {
        // A FIN alone does not keep a peer from reading: a client that cannot write waits.
        let waits =
            self.message == Message::PostLarge && matches!(self.fault, Fault::Fin | Fault::Goodbye);
        waits
            || self.fault == Fault::Stall
            || self.then.is_some_and(|(_, fault)| fault == Fault::Stall)
    }

    /// Runs it, and returns what must not be. A stall that a busy machine did not get to within its
    /// limit is run again with more time; what is never allowed is not forgiven by that.
    pub fn check(&self, ground: &Ground) -> Vec<String> {
        let mut limit = if self.stalls() { ground.stall } else { AMPLE };
        let mut found = Vec::new();
        loop {
            let run = self.run(ground, limit);
            let mut verdict = self.judge(&run);
            if run.took > if self.stalls() { limit * 2 + PROMPT } else { PROMPT } {
                verdict.never.push("a call that takes too long");
            }
            let tell = |what: &&str| format!("{what}: {self:?}: {}", run.told());
            found.extend(verdict.never.iter().map(tell));
            if verdict.in_time.is_empty() {
                return found;
            }
            if !self.stalls() || limit > PROMPT {
                found.extend(verdict.in_time.iter().map(tell));
                return found;
            }
            limit *= 4;
        }
    }

    /// How many bytes this message has, and the server's part in a handshake.
    pub fn sizes(ground: &Ground, message: Message, below: Below) -> (usize, usize) {
        let (point, fault) = (Point::Read(usize::MAX), Fault::Close);
        let (framing, reused, then) = (Framing::Length, false, None);
        let run = Cell { message, below, reused, framing, point, fault, then }.run(ground, AMPLE);
        // A signature is a few bytes longer or shorter each time.
        (run.accounts[0].seen[0].bytes, run.accounts[0].shaken.saturating_sub(8))
    }

    fn run(&self, ground: &Ground, limit: Duration) -> Run {
        let tls = match self.below {
            Below::Tcp => None,
            Below::Tls12 => Some(ground.server_tls12.clone()),
            Below::Tls13 => Some(ground.server.clone()),
        };
        let warm_ups = usize::from(self.reused);
        let fault = Some((self.point, self.fault));
        let a = Origin::start(fault, answer("a", self.framing), tls.clone(), warm_ups);
        let b = Origin::start(self.then, answer("b", Framing::Length), tls, 0);
        let url = |origin: &Origin| {
            format!("http{}://{}", if self.below == Below::Tcp { "" } else { "s" }, origin.addr)
        };
        let urls = [url(&a), url(&b)];
        let endpoint = |url: &String| {
            Endpoint::new(url).and_then(|it| it.server_name(NAME)).expect("an endpoint")
        };
        let client = Client::builder()
            .endpoint(endpoint(&urls[0]))
            .endpoint(endpoint(&urls[1]))
            .tls_roots(TlsRoots::None)
            .add_root_pem(ground.root.as_str())
            .hold_for(Duration::ZERO)
            .connect_timeout(None)
            .attempt_timeout(AMPLE)
            .build()
            .expect("a client");
        if self.reused {
            client.get("/warm").send().expect("an exchange before the fault");
            a.arm();
            if self.point == Point::Idle {
                a.wait_for_fault();
            }
        }
        let request = match self.message {
            Message::Get => client.get(PATH),
            Message::Post => client.post(PATH).body(BODY),
            Message::PostLarge => client.post(PATH).body(Body::bytes(LARGE)),
            Message::PostChunked => {
                client.post(PATH).body(Body::rewinding(Source(Cursor::new(BODY)), None))
            }
        };
        let request = match self.then {
            None => request.attempt_timeout(First(limit)),
            Some(_) => request.attempt_timeout(Each(limit)),
        };
        let began = Instant::now();
        let result = request.send();
        let took = began.elapsed();
        // Its connections close, and the servers see them close.
        drop(client);
        Run { result, took, urls, accounts: [a.end(), b.end()] }
    }

    /// The fault was not met.
    fn missed(&self, run: &Run) -> bool {
        let [a, b] = &run.accounts;
        let b_was_due = self.then.is_some_and(|(point, _)| point != Point::Dial)
            && run.attempts().iter().any(|attempt| attempt.endpoint() == run.urls[1]);
        (self.point != Point::Dial && a.struck == 0) || (b_was_due && b.struck == 0)
    }

    fn judge(&self, run: &Run) -> Verdict {
        let mut verdict = Verdict::default();
        let [a, b] = &run.accounts;
        let begun = a.begun() + b.begun();
        let executed = a.executed() + b.executed();

        let mut never = |happened: bool, what: &'static str| {
            if happened {
                verdict.never.push(what);
            }
        };
        // What may have reached a server is never called not sent (R1).
        for (url, account) in run.urls.iter().zip(&run.accounts) {
            let here = run.attempts().iter().filter(|attempt| attempt.endpoint() == url);
            let admitted = here.filter(|attempt| attempt.delivery() != Delivery::NotSent).count();
            never(admitted < account.begun(), "an attempt not sent, and a server saw a byte");
        }
        if let Err(error) = &run.result {
            let not_sent = error.delivery() == Delivery::NotSent;
            never(not_sent && begun > 0, "a call not sent, and a server saw a byte");
        }
        // A write is carried out at most once, and not even begun a second time (R1).
        if self.message != Message::Get {
            never(executed > 1, "a POST executed twice");
            never(begun > 1, "a POST begun twice");
            never(run.result.is_ok() && executed != 1, "Ok to a POST that was not executed once");
        } else if self.then.is_none() {
            never(run.result.is_err(), "a GET without an answer, and the second endpoint is well");
        }
        // What is handed out as an answer is all of one (R13).
        let whole = self.whole_answers(run);
        if let Ok(response) = &run.result {
            let from = usize::from(response.endpoint() == run.urls[1]);
            let body = Some(response.bytes());
            never(whole[from].as_deref() != body, "Ok with a body that is not what was sent");
            never(run.accounts[from].executed() == 0, "Ok from a server that executed nothing");
        }

        let mut expect = |holds: bool, what: &'static str| {
            if !holds {
                verdict.in_time.push(what);
            }
        };
        expect(!self.missed(run), "the fault was not met");
        let from_b = run.result.as_ref().is_ok_and(|answer| answer.endpoint() == run.urls[1]);
        let thrown_away = whole[0].is_some() && (run.result.is_err() || from_b);
        expect(!thrown_away, "a whole answer that was thrown away");
        // What is known of the first attempt is told exactly.
        let certain = match self.point {
            Point::Dial | Point::Handshake(_) => Some(Delivery::NotSent),
            Point::Idle => None,
            _ if a.answered >= answer("a", self.framing).head => Some(Delivery::Answered),
            _ => Some(Delivery::Maybe),
        };
        let first = &run.attempts()[0];
        expect(certain.is_none_or(|it| first.delivery() == it), "a delivery told wrong");
        let goes_on = certain == Some(Delivery::NotSent) && self.then.is_none();
        expect(!goes_on || run.result.is_ok(), "not sent, and no answer of the second endpoint");
        // A connection taken is one that is asked to transmit, whatever comes of it (R1).
        let used = run.attempts().iter().filter(|attempt| attempt.phase() >= Phase::Send);
        let admitted = used.clone().filter(|attempt| attempt.delivery() != Delivery::NotSent);
        expect(used.count() == admitted.count(), "not sent, and a connection was asked to");
        let as_meant = first.reused_connection() == self.reused || self.point == Point::Idle;
        expect(as_meant, "not the connection that was meant");
        verdict
    }

    /// What each of the two servers sent, if it was a whole answer.
    fn whole_answers(&self, run: &Run) -> [Option<Vec<u8>>; 2] {
        let [a, b] = &run.accounts;
        let first = self.whole_answer((self.point, self.fault), self.framing, "a", a);
        let second = match self.then {
            None => Some(answer("b", Framing::Length).body),
            Some(fault) => self.whole_answer(fault, Framing::Length, "b", b),
        };
        [first, second]
    }

    /// The body of what this server sent, if by its framing it was whole.
    fn whole_answer(
        &self,
        (point, fault): (Point, Fault),
        framing: Framing,
        of: &str,
        account: &Account,
    ) -> Option<Vec<u8>> {
        let answer = answer(of, framing);
        if !matches!(point, Point::Sent(_) | Point::Sealed(_)) || account.answered < answer.head {
            return None;
        }
        let orderly = match fault {
            Fault::Fin | Fault::Close => self.below == Below::Tcp,
            Fault::Goodbye => true,
            Fault::Reset | Fault::Stall => false,
        };
        let missing = answer.bytes.len() - account.answered;
        match framing {
            // It ends where the connection ends in order.
            Framing::UntilClose => {
                orderly.then(|| answer.body[..answer.body.len() - missing].to_vec())
            }
            // Only the empty trailer is missing: the chunk of size 0 has come (RFC 9112 section 8).
            Framing::Chunked if missing == 2 && orderly => Some(answer.body),
            _ => (missing == 0).then_some(answer.body),
        }
    }
}

/// What is wrong with a run.
#[derive(Default)]
struct Verdict {
    /// Whatever the machine was doing.
    never: Vec<&'static str>,
    /// Unless the machine was too busy to get there before the limit.
    in_time: Vec<&'static str>,
}

impl Run {
    fn attempts(&self) -> &[anyhost::Attempt] {
        match &self.result {
            Ok(response) => response.attempts(),
            Err(error) => error.attempts(),
        }
    }

    /// What client and servers say.
    fn told(&self) -> String {
        let attempts: Vec<String> = self.attempts().iter().map(ToString::to_string).collect();
        let result = match &self.result {
            Ok(response) => format!("Ok {:?}", String::from_utf8_lossy(response.bytes())),
            Err(error) => format!("Err {error}"),
        };
        format!("{result}; {attempts:?}; {:?}", self.accounts)
    }
}
