//! By `poll` and `recv`.

use super::Ready;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Lets calls on the socket block for as long as its timeouts say, or not at all.
pub(in crate::transport) fn block(stream: &TcpStream, slice: Option<Duration>) -> io::Result<()> {
    // The timeouts were set once, and stay.
    stream.set_nonblocking(slice.is_none())
}

/// Waits until the socket is ready or the time is over, and says whether it is ready.
///
/// `poll` is exact to about a millisecond; a socket's own timeouts end on the kernel's coarse timer
/// wheel, up to an eighth late. An interrupted wait is reported as not ready: the caller looks at
/// its deadline anyway.
pub(in crate::transport) fn wait(
    stream: &TcpStream,
    ready: Ready,
    time: Duration,
) -> io::Result<bool> {
    let events = match ready {
        Ready::Read => libc::POLLIN,
        Ready::Write => libc::POLLOUT,
    };
    poll(&mut [libc::pollfd { fd: stream.as_raw_fd(), events, revents: 0 }], time)
}

/// Waits until one of the sockets, at least, is connected or has failed, or the time is over. Gives
/// the places of those, and how they failed.
pub(in crate::transport) fn wait_for_any(
    sockets: &[&TcpStream],
    time: Duration,
) -> io::Result<Vec<(usize, Option<io::Error>)>> {
    let entry = |socket: &&TcpStream| libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLOUT,
        revents: 0,
    };
    let mut entries: Vec<_> = sockets.iter().map(entry).collect();
    if !poll(&mut entries, time)? {
        return Ok(Vec::new());
    }
    let settled = (0..entries.len()).filter(|&at| entries[at].revents != 0);
    Ok(settled.map(|at| (at, sockets[at].take_error().unwrap_or_else(Some))).collect())
}

/// How many bytes (0 or 1) could be read now; `None` if a read would block.
pub(in crate::transport) fn peek(stream: &TcpStream) -> io::Result<Option<usize>> {
    let mut byte = [std::mem::MaybeUninit::uninit()];
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    loop {
        return match socket2::SockRef::from(stream).recv_with_flags(&mut byte, flags) {
            Ok(n) => Ok(Some(n)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => Err(e),
        };
    }
}

/// Whether anything came of a wait for these.
fn poll(entries: &mut [libc::pollfd], time: Duration) -> io::Result<bool> {
    // Rounded up, so that a wait never ends just before its deadline only to be made again.
    let millis = time.as_micros().div_ceil(1000).clamp(1, i32::MAX as u128) as i32;
    // SAFETY: `entries` are that many valid pollfds, exclusively ours for the call.
    match unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, millis) } {
        0 => Ok(false),
        n if n > 0 => Ok(true),
        _ => match io::Error::last_os_error() {
            e if e.kind() == io::ErrorKind::Interrupted => Ok(false),
            e => Err(e),
        },
    }
}
