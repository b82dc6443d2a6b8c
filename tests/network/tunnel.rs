//! A link that takes its time: two TUN devices, and threads between them that hold packets back.
//!
//! Not netem, which many kernels do not have; this takes nothing but `/dev/net/tun`.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Opens a new TUN device with this name in the namespace of the calling thread.
pub fn open(name: &str) -> io::Result<File> {
    let file = File::options().read(true).write(true).open("/dev/net/tun")?;
    // SAFETY: plain numbers and bytes, for which zeros are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: an open device and a request that outlives the call.
    match unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Carries packets both ways until it is dropped.
pub struct Tunnel {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Tunnel {
    /// What goes from `far` to `near` takes so long; the way there takes nothing.
    pub fn new(near: File, far: File, delay: Duration) -> Tunnel {
        let (near, far, ended) = (Arc::new(near), Arc::new(far), Arc::new(AtomicBool::new(false)));
        let ways = [(near.clone(), far.clone(), Duration::ZERO), (far, near, delay)];
        let threads = ways.into_iter().flat_map(|(from, to, delay)| {
            let (send, due) = mpsc::channel::<(Instant, Vec<u8>)>();
            let ended = ended.clone();
            let reads = thread::spawn(move || {
                while let Some(packet) = next(&from, &ended) {
                    if send.send((Instant::now() + delay, packet)).is_err() {
                        return;
                    }
                }
            });
            let writes = thread::spawn(move || {
                for (at, packet) in due {
                    thread::sleep(at.saturating_duration_since(Instant::now()));
                    // A device that is down drops it, as a cable that is out does.
                    let _ = (&*to).write(&packet);
                }
            });
            [reads, writes]
        });
        let threads = threads.collect();
        Tunnel { ended, threads }
    }
}

/// The next packet. `None`: it is over.
fn next(from: &File, ended: &AtomicBool) -> Option<Vec<u8>> {
    let mut ready = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    while !ended.load(SeqCst) {
        // SAFETY: one descriptor that is open for as long as the file is borrowed.
        if unsafe { libc::poll(&raw mut ready, 1, 20) } > 0 {
            let mut packet = vec![0; 2048];
            let n = (&*from).read(&mut packet).ok()?;
            packet.truncate(n);
            return Some(packet);
        }
    }
    None
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.ended.store(true, SeqCst);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
