//! The other side: a server of fixed answers, in a process of its own.

use super::certs::Authority;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;

/// What every answer carries.
const BODY: [u8; 1024] = [b'x'; 1024];

/// The server, as the measuring process sees it. It ends with this.
pub struct Peer {
    child: Child,
    stdin: Option<ChildStdin>,
    arguments: Vec<String>,
}

impl Peer {
    pub fn start() -> Self {
        let own = std::env::current_exe().expect("a program knows its own file");
        let mut child = Command::new(own)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server can be started");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("the server says where it is");
        let arguments = line.split_whitespace().map(str::to_owned).collect();
        let stdin = child.stdin.take();
        Peer { child, stdin, arguments }
    }

    /// Plain URL, TLS URL, a URL that refuses, and the file of the authority.
    pub fn arguments(&self) -> Vec<String> {
        self.arguments.clone()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// Serves until its input ends.
pub fn serve() {
    let authority = Authority::new();
    let roots = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("counts-authority.pem");
    std::fs::write(&roots, authority.pem()).expect("the target folder is writable");
    let tls = authority.server();
    let plain = listen(answer);
    let secure = listen(move |stream| {
        let session = rustls::ServerConnection::new(tls.clone()).expect("a session");
        answer(rustls::StreamOwned::new(session, stream))
    });
    // Bound and never listened at: nobody else gets the port, and the kernel refuses.
    let refusing = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let any: SocketAddr = ([127, 0, 0, 1], 0).into();
    refusing.bind(&SockAddr::from(any)).expect("a free port");
    let refused = refusing.local_addr().ok().and_then(|addr| addr.as_socket()).expect("a port");
    println!("http://{plain} https://{secure} http://{refused} {}", roots.display());
    let _ = io::stdin().read_to_end(&mut Vec::new());
    std::process::exit(0);
}

fn listen(answer: impl Fn(TcpStream) -> io::Result<()> + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            let _ = stream.set_nodelay(true);
            // A client that goes away ends its own thread only.
            thread::spawn(move || answer(stream));
        }
    });
    address
}

fn answer(stream: impl Read + Write) -> io::Result<()> {
    let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n".to_vec();
    answer.extend(BODY);
    let mut stream = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            if line.is_empty() {
                break;
            }
        }
        io::copy(&mut (&mut stream).take(length), &mut io::sink())?;
        stream.get_mut().write_all(&answer)?;
        stream.get_mut().flush()?;
    }
}
