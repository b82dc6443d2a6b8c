//! A large body with a progress bar, from whichever host can deliver it.
//!
//! ```text
//! cargo run --example download                                         hosts of its own, on loopback
//! cargo run --example download -- https://a.example,https://b.example /big.iso big.iso       yours
//! ```
//!
//! The body is read whole within the attempt (`send`), so a host that breaks off in the middle is left and the
//! next one asked: the bar starts again. Ctrl-C ends the program; a program that wants to go on instead
//! returns `ControlFlow::Break` from the callback.

use anyhost::{Client, Timeout, Transferred};
use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

/// What the hosts of the demonstration have.
const SIZE: usize = 16 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => demonstrate(),
        [urls, path, file] => {
            let body = download(
                &Client::builder().base_urls(urls).attempt_timeout(Timeout::infinite()).build()?,
                path,
            )?;
            Ok(std::fs::write(file, body)?)
        }
        _ => Err("give base URLs, separated by commas, a path and a file; or nothing".into()),
    }
}

fn download(client: &Client, path: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let template = "attempt {msg} {bar:40} {bytes}/{total_bytes} {bytes_per_sec}";
    let bar = ProgressBar::new(0).with_style(ProgressStyle::with_template(template)?);
    let shown = bar.clone();
    let answer = client
        .get(path)
        .require_success(true)
        .max_body(1 << 40)
        .progress(Duration::from_millis(100), move |so_far: &Transferred| {
            shown.set_message(so_far.attempt().to_string());
            shown.set_length(so_far.total().unwrap_or(so_far.received()));
            shown.set_position(so_far.received());
            ControlFlow::Continue(())
        })
        .send();
    bar.finish();
    let answer = answer.map_err(|error| error.explain())?;
    println!("{} bytes from {}", answer.bytes().len(), answer.endpoint());
    for attempt in answer.attempts() {
        println!("  {attempt}");
    }
    Ok(answer.into_bytes())
}

fn demonstrate() -> Result<(), Box<dyn Error>> {
    let (breaks_off, delivers) = (serve(SIZE / 2)?, serve(SIZE)?);
    let client = Client::new(&format!("{breaks_off}, {delivers}"))?;
    println!("The first host breaks off in the middle.");
    let body = download(&client, "/big.iso")?;
    assert_eq!(body.len(), SIZE);
    Ok(())
}

/// A host that sends so many bytes of the body, at about 16 MiB a second, and hangs up.
fn serve(bytes: usize) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            // The client has gone: nothing to be done about it here.
            let _ = send(&socket, bytes);
        }
    });
    Ok(url)
}

fn send(mut socket: &TcpStream, bytes: usize) -> io::Result<()> {
    let mut reader = BufReader::new(socket);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
    }
    write!(socket, "HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n")?;
    let piece = vec![b'x'; 64 << 10];
    for _ in 0..bytes / piece.len() {
        socket.write_all(&piece)?;
        #[allow(clippy::disallowed_methods, reason = "the pace of a real network")]
        thread::sleep(Duration::from_millis(4));
    }
    Ok(())
}
