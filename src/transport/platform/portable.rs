//! By what std offers everywhere: timeouts of a socket, and looking again after a rest.

use super::Ready;
use crate::sys::{self, Clock as _, SystemClock};
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::time::Duration;

/// The first and the longest rest between two looks at connections in the making.
const REST: Duration = Duration::from_millis(1);
const MOST_REST: Duration = Duration::from_millis(8);

/// Lets calls on the socket block for a slice, or, without one, for as long as the next [`wait`] says.
pub(in crate::transport) fn block(stream: &TcpStream, slice: Option<Duration>) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let Some(slice) = slice else { return Ok(()) };
    // Each wait leaves a timeout of its own behind.
    stream.set_read_timeout(Some(slice))?;
    stream.set_write_timeout(Some(slice))
}

/// Waits for something to read by the socket's own timeout, which may end late by the system's timer. For
/// writing it only bounds the write that follows.
pub(in crate::transport) fn wait(
    stream: &TcpStream,
    ready: Ready,
    time: Duration,
) -> io::Result<bool> {
    let time = Some(time.max(Duration::from_millis(1)));
    match ready {
        Ready::Read => {
            stream.set_read_timeout(time)?;
            let seen = stream.peek(&mut [0]);
            let over = |e: &io::Error| {
                matches!(
                    e.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                )
            };
            // Other errors are for the read to report.
            Ok(!seen.is_err_and(|e| over(&e)))
        }
        Ready::Write => {
            stream.set_write_timeout(time)?;
            Ok(true)
        }
    }
}

/// Looks at connections in the making until one is connected or has failed, or the time is over. Gives
/// the places of those, and how they failed.
pub(in crate::transport) fn wait_for_any(
    sockets: &[&TcpStream],
    time: Duration,
) -> io::Result<Vec<(usize, Option<io::Error>)>> {
    let until = sys::now() + time;
    let mut rest = REST;
    loop {
        let settled = |(at, socket): (usize, &&TcpStream)| match socket.take_error() {
            // Connected is who has a peer.
            Ok(None) => socket.peer_addr().ok().map(|_| (at, None)),
            Ok(Some(error)) | Err(error) => Some((at, Some(error))),
        };
        let settled: Vec<_> = sockets.iter().enumerate().filter_map(settled).collect();
        let now = sys::now();
        if !settled.is_empty() || now >= until {
            return Ok(settled);
        }
        SystemClock.sleep_until((now + rest).min(until));
        rest = (rest * 2).min(MOST_REST);
    }
}

/// How many bytes (0 or 1) could be read now; `None` if a read would block. Leaves the socket blocking.
pub(in crate::transport) fn peek(stream: &TcpStream) -> io::Result<Option<usize>> {
    stream.set_nonblocking(true)?;
    let seen = stream.peek(&mut [0]);
    stream.set_nonblocking(false)?;
    match seen {
        Ok(n) => Ok(Some(n)),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(e) => Err(e),
    }
}
