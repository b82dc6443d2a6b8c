//! Who watches a call is told how far it is, wherever it is blocked, and can end it there.

// Rhythms are measured in real time against real sockets.
#![allow(clippy::disallowed_methods)]

use crate::cancel::{Place, places};
use crate::decompress::gzip;
use crate::support::*;
use crate::{over, told};
use anyhost::{Body, Reason, Resend, Status, Transferred};
use std::io::Read;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const EVERY: Duration = ms(40);
/// How late a busy machine may be.
const SLACK: Duration = ms(150);

/// Everything that was told, and when.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<(Instant, Transferred)>>>);

impl Told {
    fn note(&self, so_far: &Transferred) -> ControlFlow<()> {
        self.0.lock().unwrap().push((Instant::now(), *so_far));
        ControlFlow::Continue(())
    }

    /// For `RequestBuilder::progress`.
    fn watch(&self) -> impl FnMut(&Transferred) -> ControlFlow<()> + Send + 'static {
        let told = self.clone();
        move |so_far| told.note(so_far)
    }

    fn all(&self) -> Vec<Transferred> {
        self.0.lock().unwrap().iter().map(|(_, so_far)| *so_far).collect()
    }

    fn last(&self) -> Transferred {
        *self.all().last().expect("something was told")
    }

    /// The longest time without a word, from `began` on.
    fn longest_silence(&self, began: Instant) -> Duration {
        let times: Vec<Instant> = self.0.lock().unwrap().iter().map(|(at, _)| *at).collect();
        let before = std::iter::once(began).chain(times.iter().copied());
        before.zip(&times).map(|(a, b)| b.saturating_duration_since(a)).max().expect("told")
    }
}

/// Counts never go down within an attempt.
fn assert_monotonic(told: &[Transferred]) {
    for pair in told.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        assert!(a.attempt() <= b.attempt(), "{pair:?}");
        if a.attempt() == b.attempt() {
            assert!(a.sent() <= b.sent() && a.received() <= b.received(), "{pair:?}");
        }
    }
}

impl Place {
    /// How long after the third word the call ended, which that word ended.
    fn ended_after_its_word(&self) -> Duration {
        if self.reused {
            assert_eq!(self.client.get("/").send().unwrap().text().unwrap(), "first");
        }
        let (told_so_far, began) = (Told::default(), Instant::now());
        let log = told_so_far.clone();
        let watch = move |so_far: &Transferred| {
            let _ = log.note(so_far);
            if log.all().len() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let call = self.client.put("/").body(self.body.clone()).resend(Resend::Any);
        let error = call.progress(EVERY, watch).send().unwrap_err();
        let ended = Instant::now();
        let name = self.name;
        assert_eq!(error.status(), Status::Cancelled, "{name}: {error:?}");
        let expected = (Reason::Cancelled, self.phase, self.delivery);
        assert_eq!(told(error.attempts()), [expected], "{name}: {error:?}");
        assert_eq!(self.next.connections(), 0, "{name}: not sent again");
        assert_eq!(told_so_far.all().len(), 3, "{name}: not asked again");
        assert_monotonic(&told_so_far.all());
        let last = told_so_far.0.lock().unwrap()[2].0;
        assert!(last - began >= 3 * EVERY, "{name}: no more often than asked for");
        let silence = told_so_far.longest_silence(began);
        assert!(silence < EVERY + SLACK, "{name}: {silence:?}");
        ended - last
    }
}

#[track_caller]
fn everywhere(places: &[Place]) {
    thread::scope(|scope| {
        let end = |place| (place, scope.spawn(move || Place::ended_after_its_word(place)));
        let mut took = Vec::new();
        for (place, thread) in places.iter().map(end).collect::<Vec<_>>() {
            took.push(thread.join().unwrap());
            assert!(took[took.len() - 1] < SLACK, "{}: {took:?}", place.name);
        }
        took.sort();
        assert!(took[took.len() / 2] < ms(50), "{took:?}");
    });
}

#[test]
fn every_blocking_place_tells_and_is_left() {
    everywhere(&places(false));
}

#[test]
fn and_so_it_does_close_to_a_limit() {
    everywhere(&places(true));
}

#[test]
fn between_two_attempts_it_is_told_too() {
    let p = refusing_address();
    let wait = Duration::from_secs(600);
    let client = over(&[&p]).attempts_per_endpoint(2).backoff_base(wait).backoff_max(wait).seed(1);
    let (told, mut left) = (Told::default(), 4);
    let log = told.clone();
    let watch = move |so_far: &Transferred| {
        let _ = log.note(so_far);
        left -= 1;
        if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let began = Instant::now();
    let error = client.build().unwrap().get("/").progress(EVERY, watch).send().unwrap_err();
    assert_eq!((error.status(), error.attempts().len()), (Status::Cancelled, 1), "{error:?}");
    within(4 * EVERY, began.elapsed(), SLACK);
    assert!(told.all().iter().all(|so_far| so_far.attempt() == 1));
}

/// Reads a request piece by piece, with rests, and then answers with the length it has counted.
fn reads_slowly() -> Server {
    let serve = |connection: &mut Connection| {
        let (mut bytes, mut piece) = (Vec::new(), vec![0; 64 << 10]);
        let head = loop {
            let n = connection.socket().read(&mut piece).unwrap_or(0);
            bytes.extend_from_slice(&piece[..n]);
            match bytes.windows(4).position(|w| w == b"\r\n\r\n") {
                Some(end) => break end + 4,
                None if n == 0 => return,
                None => {}
            }
        };
        let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
        let length = text.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        let length: Option<usize> = length.and_then(|length| length.parse().ok());
        let mut body = bytes.split_off(head);
        while length.map_or(!body.ends_with(b"0\r\n\r\n"), |length| body.len() < length) {
            pass(ms(10));
            match connection.socket().read(&mut piece) {
                Ok(n) if n > 0 => body.extend_from_slice(&piece[..n]),
                _ => return,
            }
        }
        let counted = body.len().to_string();
        let answer =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{counted}", counted.len());
        let _ = std::io::Write::write_all(&mut connection.socket(), answer.as_bytes());
    };
    Listen::default().receive_buffer(32 << 10).start(Script::by_hand(serve))
}

/// Bytes, a reader of known length, and one of unknown length, whose chunks are counted as they go.
#[test]
fn an_upload_to_a_slow_reader_is_told_as_it_goes() {
    const SIZE: usize = 6 << 20;
    let source = || std::io::repeat(b'x').take(SIZE as u64);
    for body in [
        Body::from(vec![b'x'; SIZE]),
        Body::reader(source(), Some(SIZE as u64)),
        Body::reader(source(), None),
    ] {
        let (server, told, shown) = (reads_slowly(), Told::default(), format!("{body:?}"));
        let began = Instant::now();
        let client = over(&[&server]).build().unwrap();
        let answer = client.post("/").body(body).progress(EVERY, told.watch()).send().unwrap();
        let counted: u64 = answer.text().unwrap().parse().unwrap();
        let all = told.all();
        assert_eq!(told.last().sent(), counted, "{shown}: as the server counted");
        let framing = counted - SIZE as u64;
        assert_eq!(framing > 0, shown.contains("None"), "{shown}: {framing}");
        assert_monotonic(&all);
        assert!(all.len() >= 4, "{shown}: {all:?}");
        let half_way = |t: &&Transferred| (1..counted).contains(&t.sent());
        assert!(all.iter().filter(half_way).count() >= 2, "{shown}: {all:?}");
        assert!(told.longest_silence(began) < EVERY + SLACK, "{shown}: {told:?}", told = told.0);
        let length = answer.text().unwrap().len() as u64;
        assert_eq!((told.last().received(), told.last().total()), (length, Some(length)));
    }
}

/// Of a coded body, what came is counted, and not what it unfolds to.
#[test]
fn a_dripping_download_is_told_as_it_comes() {
    let text = vec![b'x'; 40_000];
    let coded = gzip(&text);
    let plain = Reply::ok(vec![b'x'; 30]).drip(1, ms(10));
    let chunked = Reply::ok(vec![b'x'; 30]).chunked(1).drip(6, ms(10));
    let packed = Reply::ok(coded.clone()).header("Content-Encoding", "gzip").drip(2, ms(10));
    let coded_len = coded.len() as u64;
    for (reply, length, total) in
        [(plain, 30, Some(30)), (chunked, 30, None), (packed, coded_len, Some(coded_len))]
    {
        let (server, told, began) = (Server::start(reply), Told::default(), Instant::now());
        let client = over(&[&server]).build().unwrap();
        client.get("/").progress(EVERY, told.watch()).send().unwrap();
        let (all, last) = (told.all(), told.last());
        assert_eq!((last.sent(), last.received(), last.total()), (0, length, total));
        assert_monotonic(&all);
        assert!(all.iter().filter(|t| (1..length).contains(&t.received())).count() >= 2, "{all:?}");
        assert!(told.longest_silence(began) < EVERY + SLACK, "{all:?}");
    }
}

#[test]
fn a_stream_is_told_of_while_it_is_read() {
    let server = Server::start(Reply::ok("0123456789").pause_at(4, ms(200)));
    let client = over(&[&server]).build().unwrap();
    let told = Told::default();
    let stream = client.get("/").progress(EVERY, told.watch()).stream().unwrap();
    let (before, thread) = (told.all().len(), thread::current().id());
    pass(ms(60));
    assert_eq!(told.all().len(), before, "nobody reads");
    let seen = told.clone();
    thread::spawn(move || {
        assert_ne!(thread::current().id(), thread);
        let mut text = String::new();
        stream.into_reader().read_to_string(&mut text).unwrap();
        assert_eq!(text, "0123456789");
        let all = seen.all();
        assert!(all.len() >= before + 3, "{all:?}");
        assert_eq!((seen.last().received(), seen.last().total()), (10, Some(10)));
    })
    .join()
    .unwrap();
    // And ended in the middle of it.
    let server = Server::start(Reply::ok("0123456789").cut(4).hold());
    let client = over(&[&server]).build().unwrap();
    let stop = |so_far: &Transferred| match so_far.received() {
        4 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let stream = client.get("/").progress(EVERY, stop).stream().unwrap();
    let (began, mut text) = (Instant::now(), String::new());
    let error = stream.into_reader().read_to_string(&mut text).unwrap_err();
    let error: anyhost::Error = error.downcast().unwrap();
    assert_eq!((error.status(), text.as_str()), (Status::Cancelled, "0123"));
    assert!(began.elapsed() < EVERY + SLACK);
}

/// A body that is given up is read for a moment more, of which nobody is told.
#[test]
fn a_reader_dropped_says_no_more() {
    let server = Server::start(Reply::ok("0123456789").cut(4).hold());
    let client = over(&[&server]).build().unwrap();
    let told = Told::default();
    let every = Duration::from_nanos(1);
    let mut stream = client.get("/").progress(every, told.watch()).stream().unwrap();
    stream.read_exact(&mut [0; 1]).unwrap();
    let before = told.all().len();
    drop(stream);
    assert_eq!(told.all().len(), before);
}

/// Each attempt begins at 0 and says its number, the replay of a stale connection and a hop too.
#[test]
fn a_new_attempt_begins_anew() {
    let p = Server::start(
        Script::each([Reply::ok("first").idle(ms(1)).close()])
            .on("/x", Reply::status(503).body("0123456789").after(ms(100))),
    );
    let f = Server::start(Reply::ok("well").after(ms(100)));
    let client = over(&[&p, &f]).build().unwrap();
    let told = Told::default();
    let call = client.put("/x").body("four").resend(Resend::Any);
    let answer = call.progress(EVERY, told.watch()).send().unwrap();
    assert_eq!(answer.attempts().len(), 2);
    let all = told.all();
    let of = |n: u32| all.iter().filter(move |t| t.attempt() == n).collect::<Vec<_>>();
    let (first, second) = (of(1), of(2));
    assert!(first.len() + second.len() == all.len() && first.len() >= 3 && second.len() >= 3);
    let end = |t: &Transferred| (t.sent(), t.received(), t.total());
    assert_eq!(end(first.last().unwrap()), (4, 10, Some(10)), "complete, and moved on from");
    assert_eq!(end(second[0]), (4, 0, None));
    assert_eq!(end(second.last().unwrap()), (4, 4, Some(4)));
}

#[test]
fn a_callback_that_panics_has_said_nothing() {
    let server = Server::start(Reply::ok("well").after(ms(500)));
    let client = over(&[&server]).build().unwrap();
    let told = Told::default();
    let log = told.clone();
    let watch = move |so_far: &Transferred| -> ControlFlow<()> {
        let _ = log.note(so_far);
        panic!("planted");
    };
    let answer = client.get("/").progress(EVERY, watch).send().unwrap();
    assert_eq!(answer.text().unwrap(), "well");
    assert!(told.all().len() >= 3, "and is asked again");
}

/// Whoever watches may use the client meanwhile.
#[test]
fn a_callback_may_send_requests_of_its_own() {
    let slow = Reply::ok("slow").after(ms(150));
    let server = Server::start(Script::always(Reply::ok("quick")).on("/slow", slow));
    let client = over(&[&server]).build().unwrap();
    let (other, count) = (client.clone(), Arc::new(Mutex::new(0)));
    let counted = count.clone();
    let watch = move |_: &Transferred| {
        assert_eq!(other.get("/").send().unwrap().text().unwrap(), "quick");
        *counted.lock().unwrap() += 1;
        ControlFlow::Continue(())
    };
    let answer = client.get("/slow").progress(EVERY, watch).send().unwrap();
    assert_eq!(answer.text().unwrap(), "slow");
    assert!(*count.lock().unwrap() >= 3);
}

/// A rhythm slower than the call tells only of the end; limits bind as ever.
#[test]
fn a_slow_rhythm_and_the_limits_of_a_call() {
    let server = Server::start(Reply::ok("well"));
    for every in [Duration::from_secs(3600), Duration::MAX] {
        let told = Told::default();
        let client = over(&[&server]).build().unwrap();
        client.get("/").progress(every, told.watch()).send().unwrap();
        assert_eq!(told.all().len(), 1);
    }
    let client = over(&[&server]).build().unwrap();
    let error = client.get("/").progress(Duration::ZERO, Told::default().watch()).send();
    assert_eq!(error.unwrap_err().status(), Status::Range);
    let held = Server::start(Reply::holds());
    for every in [ms(1), ms(70), ms(290), Duration::from_secs(9)] {
        let client = over(&[&held]).attempt_timeout(ms(300)).build().unwrap();
        let began = Instant::now();
        let error = client.get("/").progress(every, Told::default().watch()).send().unwrap_err();
        assert_eq!(error.reason(), Reason::Timeout);
        within(ms(300), began.elapsed(), SLACK);
    }
}
