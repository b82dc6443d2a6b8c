//! An answer of any bytes, over a socket: it is an answer or an error, soon, and never a panic.

use anyhost::Client;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

struct Ground {
    client: Client,
    /// To the thread that serves: what to answer with.
    answers: Sender<Vec<u8>>,
}

fn ground() -> &'static Mutex<Ground> {
    static GROUND: OnceLock<Mutex<Ground>> = OnceLock::new();
    GROUND.get_or_init(|| {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let (answers, to_serve) = channel::<Vec<u8>>();
        // One thread for all: one for each call would still be on its way out when leaks are looked for.
        std::thread::spawn(move || to_serve.iter().for_each(|answer| serve(&listener, &answer)));
        // No redirect is followed: the bytes must not choose whom we connect to.
        let client = Client::builder()
            .base_urls(&url)
            .redirects(0)
            .max_body(1 << 20)
            .attempt_timeout(Duration::from_secs(2))
            .idle_timeout(Duration::ZERO)
            .build();
        Mutex::new(Ground { client: client.expect("a client"), answers })
    })
}

/// Reads a request's head, answers, and waits until the client has had enough.
fn serve(listener: &TcpListener, answer: &[u8]) {
    let (stream, _) = listener.accept().expect("the client connects");
    let mut reader = BufReader::new(&stream);
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        line.clear();
    }
    let _ = (&stream).write_all(answer);
    let _ = stream.shutdown(Shutdown::Write);
    let _ = reader.read_to_end(&mut Vec::new());
}

pub(crate) fn check(data: &[u8]) {
    let ground = ground().lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let Some((method, bytes)) = data.split_first() else { return };
    let method = ["GET", "HEAD", "POST"][usize::from(*method) % 3];
    ground.answers.send(bytes.to_vec()).expect("there is a thread that serves");
    let began = Instant::now();
    let result = ground.client.request(method, "/").send();
    let attempts = match &result {
        Ok(answer) => {
            assert!((100..=999).contains(&answer.status()));
            assert!(answer.bytes().len() <= 1 << 20);
            answer.attempts()
        }
        Err(error) => {
            assert_ne!(error.status(), anyhost::Status::Internal, "{error}");
            error.attempts()
        }
    };
    assert_eq!(attempts.len(), 1, "{result:?}");
    // All of it is here at once and then the connection ends: nothing is waited for.
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}: {result:?}", began.elapsed());
}
