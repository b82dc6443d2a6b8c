//! A pool of three proxies, and its story: one refuses, one does not know us, one comes back.
//!
//! ```text
//! cargo run --example proxies          proxies and a service of its own, on loopback
//! ```

// A program has its own clock; the ban keeps the library's injectable.
#![allow(clippy::disallowed_methods)]

use anyhost::{Client, Event, EventKind, Proxy};
use socket2::{Domain, Socket, Type};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// How long a proxy cools after one failure, here. The default is 30 s.
const BASE_DELAY: Duration = Duration::from_millis(300);

/// `user:right`, as it stands in a header.
const RIGHT: &str = "Proxy-Authorization: Basic dXNlcjpyaWdodA==";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let service_url = format!("http://{}", service.local_addr()?);
    thread::spawn(move || each(&service, answer));

    let (refusing, refuses) = not_listening()?;
    let (recovering, recovers) = not_listening()?;
    let strict = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let strict_address = strict.local_addr()?;
    thread::spawn(move || each(&strict, |client| relay(client, true)));

    let began = Instant::now();
    let client = Client::builder()
        .base_urls(&service_url)
        .proxy(Proxy::new(&format!("http://{refuses}"))?.label("refusing"))
        .proxy(Proxy::new(&format!("http://user:wrong@{strict_address}"))?.label("strict"))
        .proxy(Proxy::new(&format!("http://{recovers}"))?.label("recovering"))
        .set("proxy_base_delay", &format!("{}ms", BASE_DELAY.as_millis()))
        .on_event(move |event| tell(began, event))
        .build()?;
    println!("   at  what happened");

    say(began, "a call: nobody lets it through, and it never goes straight to the service");
    call(began, &client);
    say(began, "at once again: no proxy is asked");
    call(began, &client);

    say(began, "the third proxy is started");
    recovering.listen(128)?;
    let recovering = TcpListener::from(recovering);
    thread::spawn(move || each(&recovering, |client| relay(client, false)));
    wait_until_due(&client, "recovering");
    say(began, "when the wait is over the next call is the probe");
    call(began, &client);

    say(began, "the operator corrects the password of the second");
    client.update_proxies([
        Proxy::new(&format!("http://{refuses}"))?.label("refusing"),
        Proxy::new(&format!("http://user:right@{strict_address}"))?.label("strict"),
        Proxy::new(&format!("http://{recovers}"))?.label("recovering"),
    ])?;
    call(began, &client);

    println!("\nWhat the pool knows now:\n\n{}", client.snapshot());
    for member in client.snapshot().members().iter().filter(|member| member.attempts() > 0) {
        println!("{}", member.label());
        for transition in member.transitions() {
            println!("  {transition}");
        }
    }
    drop(refusing);
    Ok(())
}

fn call(began: Instant, client: &Client) {
    match client.get("/").send() {
        Ok(answer) => {
            let way = answer.attempts().last().and_then(|attempt| attempt.proxy()).unwrap_or("-");
            say(began, &format!("  answered {} through {way}", answer.status()));
        }
        Err(error) => say(began, &format!("  {error}")),
    }
}

fn say(began: Instant, what: &str) {
    println!("{:5}  {what}", began.elapsed().as_millis());
}

/// The changes of state, and what each attempt met.
fn tell(began: Instant, event: &Event<'_>) {
    match (event.kind(), event.attempt()) {
        (EventKind::AttemptEnded, Some(attempt)) => say(began, &format!("  {attempt}")),
        (EventKind::StateChanged, _) => say(began, &format!("    {event}")),
        _ => {}
    }
}

/// Sleeps for as long as the proxy is to be left alone.
fn wait_until_due(client: &Client, label: &str) {
    let left = client.snapshot().find(label).map(|member| member.cooling());
    thread::sleep(left.unwrap_or_default());
}

/// A port that is taken by a socket which does not listen yet: connecting to it is refused.
fn not_listening() -> io::Result<(Socket, SocketAddr)> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    let address = socket.local_addr()?.as_socket();
    Ok((socket, address.ok_or_else(|| io::Error::other("not an IP socket"))?))
}

fn each(listener: &TcpListener, serve: fn(TcpStream) -> io::Result<()>) {
    for connection in listener.incoming().flatten() {
        thread::spawn(move || serve(connection));
    }
}

/// The service: one answer for each connection.
fn answer(client: TcpStream) -> io::Result<()> {
    read_head(&client)?;
    (&client).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n")
}

/// A proxy for plain http, as small as can be: it hands one request on and its answer back.
fn relay(client: TcpStream, strict: bool) -> io::Result<()> {
    let head = read_head(&client)?;
    if strict && !head.iter().any(|line| line.eq_ignore_ascii_case(RIGHT)) {
        return (&client).write_all(
            b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\
              Content-Length: 0\r\nConnection: close\r\n\r\n",
        );
    }
    // The request is in absolute form (RFC 9112 section 3.2.2): GET http://host:port/path HTTP/1.1
    let host = head.first().and_then(|line| line.split('/').nth(2)).unwrap_or_default();
    let mut service = TcpStream::connect(host)?;
    write!(service, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    service.read_to_end(&mut answer)?;
    (&client).write_all(&answer)
}

/// The lines of a head.
fn read_head(from: &TcpStream) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    for line in BufReader::new(from).lines() {
        match line? {
            line if line.is_empty() => break,
            line => lines.push(line),
        }
    }
    Ok(lines)
}
