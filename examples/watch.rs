//! A client at work, live: its hosts, their states, weights, shares and waits, and what happened last.
//!
//! ```text
//! cargo run --example watch                                     four hosts of its own, on loopback
//! cargo run --example watch -- https://a.example,https://b.example /path        yours, 5 calls a second
//! ```
//!
//! On a terminal the view is drawn in place, twice a second; into a file or a pipe it is written every
//! 4 seconds. Without hosts of yours it ends after 24 seconds.

// A picture of real time; the ban protects the library's injected clock.
#![allow(clippy::disallowed_methods)]

use anyhost::{Client, ClientBuilder, Endpoint, EventKind, Snapshot};
use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sight = Sight::default();
    match arguments.as_slice() {
        [] => demonstrate(&sight),
        [urls] => watch(&sight, urls, "/"),
        [urls, path] => watch(&sight, urls, path),
        _ => Err("give base URLs, separated by commas, and a path; or nothing".into()),
    }
}

/// What is seen beside the snapshot.
#[derive(Clone, Default)]
struct Sight {
    /// The last lines that events have written.
    lines: Arc<Mutex<VecDeque<String>>>,
    calls: Arc<AtomicU64>,
    failed: Arc<AtomicU64>,
}

impl Sight {
    fn client(&self, builder: ClientBuilder) -> anyhost::Result<Client> {
        let (lines, began) = (self.lines.clone(), Instant::now());
        let observed = builder.preset("resilient").on_event(move |event| {
            let failed = event.attempt().is_some_and(|it| it.reason() != anyhost::Reason::None);
            let matters = match event.kind() {
                EventKind::StateChanged | EventKind::Failover => true,
                EventKind::AttemptEnded => failed,
                _ => false,
            };
            if matters {
                let mut lines = lines.lock().unwrap();
                lines.push_back(format!("{:6.1} s  {event}", began.elapsed().as_secs_f64()));
                if lines.len() > 8 {
                    lines.pop_front();
                }
            }
        });
        observed.build()
    }

    fn call(&self, client: &Client, path: &str) {
        self.calls.fetch_add(1, SeqCst);
        if client.get(path).send().is_err() {
            self.failed.fetch_add(1, SeqCst);
        }
    }
}

fn watch(sight: &Sight, urls: &str, path: &str) -> Result<(), Box<dyn Error>> {
    let client = sight.client(Client::builder().base_urls(urls))?;
    let (calling, path, own) = (client.clone(), path.to_owned(), sight.clone());
    thread::spawn(move || {
        every(Duration::from_millis(200), |_| {
            own.call(&calling, &path);
            true
        })
    });
    view(&client, sight, None)
}

fn demonstrate(sight: &Sight) -> Result<(), Box<dyn Error>> {
    let hosts = ["a", "b", "c", "d"].map(|_| Host::start());
    let mut builder = Client::builder();
    for (name, host) in ["a", "b", "c", "d"].iter().zip(&hosts) {
        let host = host.as_ref().map_err(|e| e.to_string())?;
        builder = builder.endpoint(Endpoint::new(&host.url)?.label(*name));
    }
    let client = sight.client(builder)?;
    let hosts: Vec<Host> = hosts.into_iter().collect::<Result<_, _>>()?;
    let done = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let (client, sight, done) = (client.clone(), sight.clone(), done.clone());
            thread::spawn(move || {
                every(Duration::from_millis(20), |_| {
                    sight.call(&client, "/");
                    !done.load(SeqCst)
                })
            })
        })
        .collect();
    thread::spawn(move || {
        every(Duration::from_secs(1), |second| {
            match second {
                4 => hosts[1].is(Manners::Resets),
                6 => hosts[2].is(Manners::Busy),
                9 => hosts[2].is(Manners::Well),
                14 => hosts[1].is(Manners::Well),
                _ => {}
            }
            second < 14
        })
    });
    let viewed = view(&client, sight, Some(Duration::from_secs(24)));
    done.store(true, SeqCst);
    callers.into_iter().try_for_each(thread::JoinHandle::join).map_err(|_| "a call panicked")?;
    viewed
}

/// Does this, which is told how often it was done before, until it says that it is over.
fn every(interval: Duration, mut what: impl FnMut(u64) -> bool) {
    for n in 0.. {
        if !what(n) {
            return;
        }
        thread::sleep(interval);
    }
}

fn view(client: &Client, sight: &Sight, until: Option<Duration>) -> Result<(), Box<dyn Error>> {
    let live = io::stdout().is_terminal();
    let interval = Duration::from_millis(if live { 500 } else { 4000 });
    let began = Instant::now();
    let mut before = HashMap::new();
    while until.is_none_or(|until| began.elapsed() < until) {
        thread::sleep(interval);
        let snapshot = client.snapshot();
        let mut frame = String::new();
        if live {
            frame.push_str("\x1b[2J\x1b[H"); // clears the screen
        }
        let (calls, failed) = (sight.calls.load(SeqCst), sight.failed.load(SeqCst));
        let seconds = began.elapsed().as_secs_f64();
        frame.push_str(&format!("{seconds:.0} s, {calls} calls, {failed} failed\n\n"));
        for (line, share) in snapshot.to_string().lines().zip(shares(&snapshot, &mut before)) {
            frame.push_str(&format!("{share:>7}  {line}\n"));
        }
        frame.push('\n');
        for line in sight.lines.lock().unwrap().iter() {
            frame.push_str(&format!("{line}\n"));
        }
        frame.push('\n');
        let mut out = io::stdout().lock();
        out.write_all(frame.as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

/// A heading, and for each member its share of the attempts since the last time, with a bar.
fn shares(snapshot: &Snapshot, before: &mut HashMap<String, u64>) -> Vec<String> {
    let since = |member: &anyhost::Member| {
        let last = before.get(member.label()).copied().unwrap_or(0);
        member.attempts().saturating_sub(last)
    };
    let new: Vec<u64> = snapshot.members().iter().map(since).collect();
    let all = new.iter().sum::<u64>().max(1);
    for member in snapshot.members() {
        before.insert(member.label().to_owned(), member.attempts());
    }
    let percents = new.iter().map(|n| format!("{} %", n * 100 / all));
    ["share".to_owned()].into_iter().chain(percents).collect()
}

/// How a host of the demonstration behaves.
#[repr(u8)]
#[derive(Clone, Copy)]
enum Manners {
    Well,
    /// Closes each connection when the request is there.
    Resets,
    /// Answers 503.
    Busy,
}

struct Host {
    url: String,
    manners: Arc<AtomicU8>,
}

impl Host {
    fn start() -> io::Result<Host> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let manners = Arc::new(AtomicU8::new(Manners::Well as u8));
        let own = manners.clone();
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let manners = own.clone();
                thread::spawn(move || serve(socket, &manners));
            }
        });
        Ok(Host { url, manners })
    }

    fn is(&self, manners: Manners) {
        self.manners.store(manners as u8, SeqCst);
    }
}

fn serve(socket: TcpStream, manners: &AtomicU8) -> io::Result<()> {
    let mut reader = BufReader::new(&socket);
    loop {
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
        }
        let status = match manners.load(SeqCst) {
            n if n == Manners::Resets as u8 => return Ok(()),
            n if n == Manners::Busy as u8 => "503 Service Unavailable",
            _ => "200 OK",
        };
        write!(&socket, "HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok")?;
    }
}
