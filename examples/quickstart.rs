//! One call, any host that can answer: what happens when the first of two hosts does not.
//!
//! ```text
//! cargo run --example quickstart                                    servers of its own, on loopback
//! cargo run --example quickstart -- https://a.example,https://b.example /path      yours
//! ```

use anyhost::{Attempt, Client, Endpoint, Request};
use socket2::{Domain, Socket, Type};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => demonstrate(),
        [urls] => ask(urls, "/"),
        [urls, path] => ask(urls, path),
        _ => Err("give base URLs, separated by commas, and a path; or nothing".into()),
    }
}

/// The call of the title, against hosts of the user's.
fn ask(urls: &str, path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::new(urls)?;
    header();
    show(&client, "GET", path)
}

fn demonstrate() -> Result<(), Box<dyn std::error::Error>> {
    let fallback = serve(Manners::Answer(200))?;
    println!("Two hosts serve one API. The fallback is well; the primary is not.");
    for (trouble, primary) in [
        ("The primary refuses connections.", refuse()?),
        ("The primary swallows every packet (connect_timeout is 300 ms here).", swallow()?),
        ("The primary answers 503.", serve(Manners::Answer(503))?),
        ("The primary reads the request, then resets the connection.", serve(Manners::Reset)?),
    ] {
        let client = Client::builder()
            .endpoint(Endpoint::new(&primary.url())?.label("primary"))
            .endpoint(Endpoint::new(&fallback.url())?.label("fallback"))
            .connect_timeout(Duration::from_millis(300))
            .hold_for(Duration::ZERO) // each call meets the primary again
            .build()?;
        println!("\n{trouble}\n");
        header();
        show(&client, "GET", "/status")?;
        show(&client, "POST", "/orders")?;
    }
    println!(
        "\nA GET is answered whatever the primary does. A POST moves on exactly when the primary cannot\n\
         have received it (delivery not_sent), and never goes out twice."
    );
    Ok(())
}

fn header() {
    println!(
        "  {:14} {:>2} {:24} {:8} {:16} {:13} {:>6}   ended with",
        "asked", "#", "endpoint", "phase", "reason", "delivery", "ms"
    );
}

/// Makes one call and prints it: a line for each attempt, the last with what the caller got.
fn show(client: &Client, method: &str, path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut request = Request::new(method, path)?;
    if method == "POST" {
        request.set_body("one coffee");
    }
    let (attempts, end): (Vec<Attempt>, String) = match client.send(&mut request) {
        Ok(answer) => {
            (answer.attempts().to_vec(), format!("{} from {}", answer.status(), answer.endpoint()))
        }
        Err(error) => (error.attempts().to_vec(), format!("error: {}", error.status())),
    };
    let count = attempts.len();
    for (i, attempt) in attempts.iter().enumerate() {
        println!(
            "  {:14} {:>2} {:24} {:8} {:16} {:13} {:>6}   {}",
            if i == 0 { format!("{method} {path}") } else { String::new() },
            attempt.number(),
            attempt.endpoint(),
            attempt.phase().name(),
            attempt.reason().name(),
            attempt.delivery().name(),
            attempt.elapsed().as_millis(),
            if i + 1 == count { end.as_str() } else { "" },
        );
    }
    Ok(())
}

/// A server on loopback, or something that should be one.
struct Host {
    address: SocketAddr,
    /// Sockets that must stay open for the host to keep its manners.
    _kept: Vec<Socket>,
}

impl Host {
    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

#[derive(Clone, Copy)]
enum Manners {
    /// Answers every request with this status.
    Answer(u16),
    /// Reads a request, then resets the connection.
    Reset,
}

fn serve(manners: Manners) -> io::Result<Host> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            thread::spawn(move || converse(connection, manners));
        }
    });
    Ok(Host { address, _kept: Vec::new() })
}

fn converse(connection: TcpStream, manners: Manners) -> io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    while read_request(&mut reader)? {
        match manners {
            Manners::Answer(status) => {
                let answer = format!("HTTP/1.1 {status} -\r\nContent-Length: 6\r\n\r\nhello\n");
                (&connection).write_all(answer.as_bytes())?;
            }
            Manners::Reset => {
                return Socket::from(connection).set_linger(Some(Duration::ZERO));
            }
        }
    }
    Ok(())
}

/// Reads a request with its body; `false` at the end of the connection.
fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<bool> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(false);
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap_or(0);
            }
            None if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    io::copy(&mut reader.take(length), &mut io::sink())?;
    Ok(true)
}

/// A port that is taken by a socket which does not listen: connecting to it is refused.
fn refuse() -> io::Result<Host> {
    let socket = bound()?;
    Ok(Host { address: address_of(&socket)?, _kept: vec![socket] })
}

/// A listener whose queue is full: Linux drops what else arrives, as a broken firewall would.
fn swallow() -> io::Result<Host> {
    let socket = bound()?;
    socket.listen(0)?;
    let address = address_of(&socket)?;
    let mut kept = vec![socket];
    for _ in 0..8 {
        let filler = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        let filled = filler.connect_timeout(&address.into(), Duration::from_millis(100)).is_err();
        kept.push(filler);
        if filled {
            break;
        }
    }
    Ok(Host { address, _kept: kept })
}

fn bound() -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    Ok(socket)
}

fn address_of(socket: &Socket) -> io::Result<SocketAddr> {
    socket.local_addr()?.as_socket().ok_or_else(|| io::Error::other("not an IP socket"))
}
