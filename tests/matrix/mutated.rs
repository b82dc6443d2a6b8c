//! Answers that are nearly HTTP: no panic, no hang, and no memory on their word.
//!
//! Real answers are mutated as networks and broken servers do, and worse. The server closes behind each,
//! so a call that runs into its limit has hung. Now and then an answer goes out as it is, and has to be
//! read exactly: a client that refuses everything would pass otherwise.

use crate::memory::held_by;
use crate::{Chance, alone, full, say, seed};
use anyhost::{Client, Reason};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// No mutated answer needs longer; only a hang does.
const HUNG: Duration = Duration::from_secs(10);
/// The largest body that is accepted, and what a call may hold beside it.
const MAX_BODY: usize = 256 << 10;
const OVERHEAD: usize = 512 << 10;

/// One answer, and the body it has if nothing was done to it.
struct Case {
    bytes: Vec<u8>,
    intact: Option<&'static [u8]>,
}

#[derive(Default)]
struct Tally {
    answers: usize,
    /// By reason.
    errors: std::collections::BTreeMap<String, usize>,
    most: usize,
    wrong: Vec<String>,
}

#[test]
fn mutated_answers_are_survived() {
    let _alone = alone();
    let seed = seed();
    let (threads, each) = (4, answers().div_ceil(4));
    let began = Instant::now();
    let tallies: Vec<Tally> = thread::scope(|scope| {
        let work = |n: u64| scope.spawn(move || run(&mut Chance(seed ^ (n << 40)), each));
        let running: Vec<_> = (0..threads).map(work).collect();
        running.into_iter().map(|thread| thread.join().expect("a caught panic")).collect()
    });
    let mut all = Tally::default();
    for tally in tallies {
        all.answers += tally.answers;
        all.most = all.most.max(tally.most);
        all.wrong.extend(tally.wrong);
        for (reason, count) in tally.errors {
            *all.errors.entry(reason).or_default() += count;
        }
    }
    say(&format!(
        "mutated answers: {} (ANYHOST_SEED={seed}), {} read, {:?}, at most {} KiB held, {} wrong, {} s",
        threads as usize * each,
        all.answers,
        all.errors,
        all.most >> 10,
        all.wrong.len(),
        began.elapsed().as_secs()
    ));
    all.wrong.truncate(10);
    assert!(all.wrong.is_empty(), "{}", all.wrong.join("\n"));
}

/// How many, unless it is said otherwise: what a gate has time for, and what a newcomer has.
fn answers() -> usize {
    match std::env::var("ANYHOST_MUTATED") {
        Ok(text) => text.parse().expect("ANYHOST_MUTATED is a number"),
        Err(_) if full() => 200_000,
        Err(_) => 20_000,
    }
}

/// What never ends a line is not kept until it does: in a chunk's size, behind a chunk, in a trailer,
/// in a head, in interim answers.
#[test]
fn a_flood_without_end_is_not_kept() {
    let _alone = alone();
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (what, start, flood, reason) in [
        ("a size", chunked.to_owned(), "1", Some(Reason::Protocol)),
        ("an extension", format!("{chunked}5;e="), "e", Some(Reason::Protocol)),
        ("behind a chunk", format!("{chunked}5\r\n01234"), "x", Some(Reason::Protocol)),
        ("a trailer", format!("{chunked}0\r\nX: "), "t", Some(Reason::Protocol)),
        // Whole without its trailers: the chunk of size 0 has come (RFC 9112 section 8).
        ("trailers", format!("{chunked}0\r\n"), "X-Trailer: 0123456789\r\n", None),
        ("a head", "HTTP/1.1 200 OK\r\nX: ".to_owned(), "h", Some(Reason::Protocol)),
        (
            "fields",
            "HTTP/1.1 200 OK\r\n".to_owned(),
            "X-Field: 0123456789\r\n",
            Some(Reason::Protocol),
        ),
        ("a status line", "HTTP/1.1 200 ".to_owned(), "O", Some(Reason::Protocol)),
        ("interim answers", String::new(), "HTTP/1.1 100 Continue\r\n\r\n", Some(Reason::Eof)),
    ] {
        let bytes = start + &flood.repeat((16 << 20) / flood.len());
        let (held, error) = one(bytes.into_bytes());
        assert_eq!(error, reason, "{what}");
        assert!(held < OVERHEAD, "{what}: {held} bytes held");
    }
}

/// How much a call held that was answered with these bytes, and why it failed.
fn one(bytes: Vec<u8>) -> (usize, Option<Reason>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (send, cases) = sync_channel::<Vec<u8>>(1);
    let server = thread::spawn(move || serve(&listener, &cases));
    let client = Client::builder().base_urls(&url).attempt_timeout(HUNG).build().expect("a client");
    send.send(bytes).expect("a server");
    let (result, held) = held_by(|| client.post("/").body("x").send());
    drop((client, send));
    server.join().expect("a server that does not panic");
    (held, result.err().map(|error| error.reason()))
}

/// Sends so many cases through one client, one after the other.
fn run(chance: &mut Chance, count: usize) -> Tally {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (send, cases) = sync_channel::<Vec<u8>>(1);
    let server = thread::spawn(move || serve(&listener, &cases));
    let client = Client::builder()
        .base_urls(&url)
        .attempt_timeout(HUNG)
        .max_body(MAX_BODY as u64)
        // One answer for each connection, or a FIN on its way would meet the next request.
        .max_idle_per_endpoint(0)
        .build()
        .expect("a client");
    let mut tally = Tally::default();
    for _ in 0..count {
        let case = case(chance);
        send.send(case.bytes.clone()).expect("a server");
        // A POST: nothing of it is ever tried again, so each answer is read once.
        let call = || held_by(|| client.post("/").body("x").send());
        let mut wrong = None;
        match catch_unwind(AssertUnwindSafe(call)) {
            Err(_) => wrong = Some("a panic".to_owned()),
            Ok((result, held)) => {
                tally.most = tally.most.max(held);
                if held > MAX_BODY * 2 + OVERHEAD {
                    wrong = Some(format!("{held} bytes held"));
                }
                match result {
                    Ok(answer) => {
                        tally.answers += 1;
                        if case.intact.is_some_and(|body| body != answer.bytes()) {
                            wrong = Some(format!("{:?} instead of the body", answer.bytes()));
                        }
                    }
                    Err(error) => {
                        *tally.errors.entry(format!("{:?}", error.reason())).or_default() += 1;
                        if error.reason() == Reason::Timeout {
                            wrong = Some("a hang".to_owned());
                        } else if case.intact.is_some() {
                            wrong = Some(format!("refused: {error}"));
                        }
                    }
                }
            }
        }
        if let Some(what) = wrong {
            let start = &case.bytes[..case.bytes.len().min(300)];
            tally.wrong.push(format!("{what}: {:?}", String::from_utf8_lossy(start)));
        }
    }
    drop(send);
    server.join().expect("a server that does not panic");
    tally
}

/// Answers the request of each connection with the next case and closes.
fn serve(listener: &TcpListener, cases: &Receiver<Vec<u8>>) {
    while let Ok(case) = cases.recv() {
        let (mut socket, _) = listener.accept().expect("a connection for each case");
        let mut request = Vec::new();
        let mut piece = [0; 1024];
        while !request.ends_with(b"\r\n\r\nx") {
            match socket.read(&mut piece) {
                Ok(n) if n > 0 => request.extend_from_slice(&piece[..n]),
                _ => break,
            }
        }
        let _ = socket.write_all(&case);
        end(&socket);
    }
}

/// A FIN, and no RST that could overtake the answer.
fn end(mut socket: &TcpStream) {
    let _ = socket.shutdown(Shutdown::Write);
    let _ = socket.set_read_timeout(Some(HUNG));
    while let Ok(n) = socket.read(&mut [0; 256]) {
        if n == 0 {
            return;
        }
    }
}

const BODY: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

const SEEDS: [(&str, &[u8]); 6] = [
    (
        "HTTP/1.1 200 OK\r\nServer: s\r\nContent-Type: text/plain\r\nContent-Length: 36\r\n\r\n\
         0123456789abcdefghijklmnopqrstuvwxyz",
        BODY,
    ),
    (
        "HTTP/1.1 200 OK\r\nServer: s\r\nTransfer-Encoding: chunked\r\n\r\n\
         a\r\n0123456789\r\n1A;name=value\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nX-Trailer: t\r\n\r\n",
        BODY,
    ),
    ("HTTP/1.1 200 OK\r\nServer: s\r\n\r\n0123456789abcdefghijklmnopqrstuvwxyz", BODY),
    (
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 404 Not Found\r\n\
         Content-Length: 36\r\n\r\n0123456789abcdefghijklmnopqrstuvwxyz",
        BODY,
    ),
    ("HTTP/1.1 204 No Content\r\nDate: Tue, 15 Nov 1994 08:12:31 GMT\r\n\r\n", b""),
    (
        "HTTP/1.0 503 Service Unavailable\r\nRetry-After: 120\r\nRetry-After: Fri, 31 Dec 1999 \
         23:59:59 GMT\r\nConnection: close\r\nContent-Length: 36\r\n\r\n\
         0123456789abcdefghijklmnopqrstuvwxyz",
        BODY,
    ),
];

/// Numbers that a parser may believe.
const NUMBERS: [&str; 14] = [
    "0",
    "-1",
    "+5",
    "00000000000000000000036",
    "37",
    "35",
    "4294967296",
    "2147483647",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "ffffffffffffffff",
    "7fffffffffffffff",
    "99999999999999999999999999999999",
];

fn case(chance: &mut Chance) -> Case {
    let (text, body) = chance.of(&SEEDS);
    let mut bytes = text.as_bytes().to_vec();
    if chance.below(16) == 0 {
        return Case { bytes, intact: Some(body) };
    }
    for _ in 0..1 + chance.below(3) {
        mutate(&mut bytes, chance);
    }
    Case { bytes, intact: None }
}

fn mutate(bytes: &mut Vec<u8>, chance: &mut Chance) {
    if bytes.is_empty() {
        return;
    }
    let at = chance.below(bytes.len());
    match chance.below(12) {
        0 => bytes[at] ^= 1 << chance.below(8),
        1 => bytes[at] = chance.next() as u8,
        2 => bytes.truncate(at),
        3 => {
            let end = at + chance.below(bytes.len() - at + 1);
            bytes.drain(at..end);
        }
        4 => {
            let piece: Vec<u8> = (0..1 + chance.below(20)).map(|_| chance.next() as u8).collect();
            splice(bytes, at, &piece);
        }
        // A line again, somewhere else.
        5 => {
            let line = line_at(bytes, at);
            let to = line_at(bytes, chance.below(bytes.len())).start;
            let line = bytes[line].to_vec();
            splice(bytes, to, &line);
        }
        6 => {
            let line = line_at(bytes, at);
            bytes.drain(line);
        }
        // Another number in the place of one.
        7 => {
            let digit = (at..bytes.len()).find(|&i| bytes[i].is_ascii_digit()).unwrap_or(at);
            let is_digit = |i: &usize| bytes[*i].is_ascii_hexdigit();
            let end = (digit..bytes.len()).take_while(is_digit).last().map_or(digit, |i| i + 1);
            bytes.splice(digit..end, chance.of(&NUMBERS).bytes());
        }
        // Another framing beside the one that is there.
        8 => {
            let number = chance.of(&NUMBERS);
            let field = chance.of(&["Content-Length: ", "Transfer-Encoding: ", "Retry-After: "]);
            let value = chance.of(&["chunked", "gzip, chunked", "identity", number, number]);
            let to = line_at(bytes, at).start;
            splice(bytes, to, format!("{field}{value}\r\n").as_bytes());
        }
        // A flood: of fields, of one long line, of interim answers, of chunks. Some end in nothing.
        9 => {
            let piece = chance.of(&[
                "X-Flood: 0123456789\r\n",
                "x",
                "HTTP/1.1 100 Continue\r\n\r\n",
                "1\r\nx\r\n",
                "\r\n",
                ";e=1",
            ]);
            let flood = piece.repeat(1 + chance.below(2000) * chance.below(20));
            let to = chance.of(&[at, line_at(bytes, at).start]);
            splice(bytes, to, flood.as_bytes());
        }
        10 => {
            let end = chance.of(&["\n", "\r", "\0", "\r\n ", "\r\n\t", ":", "\u{fffd}"]);
            splice(bytes, at, end.as_bytes());
        }
        // Many chunks of any size, rarely an end.
        _ => {
            let mut chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            for _ in 0..chance.below(30) {
                let size = chance.below(400);
                let told = if chance.below(20) == 0 { chance.below(1 << 30) } else { size };
                chunks.extend_from_slice(format!("{told:X}\r\n").as_bytes());
                chunks.resize(chunks.len() + size, b'c');
                chunks.extend_from_slice(b"\r\n");
            }
            if chance.below(3) > 0 {
                chunks.extend_from_slice(b"0\r\n\r\n");
            }
            *bytes = chunks;
        }
    }
}

/// The line around this place, with its end.
fn line_at(bytes: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = bytes[..at].iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
    let end = bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |i| at + i + 1);
    start..end
}

fn splice(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}
