//! What only the operating system can say: waiting exactly, a connect under way, looking without
//! taking, forks.
//!
//! Everything with `unsafe` or a `cfg(unix)` in the transport is here. Where there is no exact
//! counterpart a slower one of std stands in.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

/// What a wait is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ready {
    Read,
    Write,
}

/// Waits until the socket is ready or the time is over, and says whether it is ready.
///
/// `poll` is exact to about a millisecond; a socket's own timeouts end on the kernel's coarse timer
/// wheel, up to an eighth late. An interrupted wait is reported as not ready: the caller looks at
/// its deadline anyway.
#[cfg(unix)]
pub(super) fn wait(stream: &TcpStream, ready: Ready, time: Duration) -> io::Result<bool> {
    use std::os::fd::AsRawFd;
    let events = match ready {
        Ready::Read => libc::POLLIN,
        Ready::Write => libc::POLLOUT,
    };
    poll(&mut [libc::pollfd { fd: stream.as_raw_fd(), events, revents: 0 }], time)
}

/// Whether anything came of a wait for these.
#[cfg(unix)]
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

/// Whether connections to several addresses can be in the making at a time.
pub(super) const WAITS_FOR_SEVERAL: bool = cfg!(unix);

/// Waits until one of the sockets, at least, is connected or has failed, or the time is over. Gives
/// the places of those.
#[cfg(unix)]
pub(super) fn wait_for_any(sockets: &[&TcpStream], time: Duration) -> io::Result<Vec<usize>> {
    use std::os::fd::AsRawFd;
    let entry = |socket: &&TcpStream| libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLOUT,
        revents: 0,
    };
    let mut entries: Vec<_> = sockets.iter().map(entry).collect();
    if !poll(&mut entries, time)? {
        return Ok(Vec::new());
    }
    Ok((0..entries.len()).filter(|&at| entries[at].revents != 0).collect())
}

/// Not possible here; see [`WAITS_FOR_SEVERAL`].
#[cfg(not(unix))]
pub(super) fn wait_for_any(_: &[&TcpStream], _: Duration) -> io::Result<Vec<usize>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// [`wait`] by the socket's own timeout: readiness is then found by trying.
#[cfg(not(unix))]
pub(super) fn wait(stream: &TcpStream, ready: Ready, time: Duration) -> io::Result<bool> {
    let time = Some(time.max(Duration::from_millis(1)));
    stream.set_nonblocking(false)?;
    match ready {
        Ready::Read => {
            stream.set_read_timeout(time)?;
            match stream.peek(&mut [0]) {
                Err(e)
                    if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
                {
                    Ok(false)
                }
                _ => Ok(true),
            }
        }
        Ready::Write => {
            stream.set_write_timeout(time)?;
            Ok(true)
        }
    }
}

/// Whether a connect call that does not block has begun its work.
#[cfg(unix)]
pub(super) fn is_under_way(error: &io::Error) -> bool {
    // After an interruption it goes on by itself too.
    matches!(error.raw_os_error(), Some(libc::EINPROGRESS | libc::EINTR))
}

/// As above.
#[cfg(not(unix))]
pub(super) fn is_under_way(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

/// How many bytes (0 or 1) could be read now; `None` if a read would block.
#[cfg(unix)]
pub(super) fn peek(stream: &TcpStream) -> io::Result<Option<usize>> {
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

/// As above in three calls instead of one. Leaves the socket blocking.
#[cfg(not(unix))]
pub(super) fn peek(stream: &TcpStream) -> io::Result<Option<usize>> {
    stream.set_nonblocking(true)?;
    let seen = stream.peek(&mut [0]);
    stream.set_nonblocking(false)?;
    match seen {
        Ok(n) => Ok(Some(n)),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(e) => Err(e),
    }
}

/// How often this process has been forked off its ancestors, as far as we saw: 0 in the process
/// that first asked, one more in each child's child.
///
/// A connection must not be shared by two processes. Asking for the process id would be a system
/// call each time; this is one load.
#[cfg(unix)]
pub(super) fn forks() -> u32 {
    use std::sync::Once;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static FORKS: AtomicU32 = AtomicU32::new(0);
    static WATCH: Once = Once::new();

    extern "C" fn in_child() {
        FORKS.fetch_add(1, Relaxed);
    }
    unsafe extern "C" {
        fn pthread_atfork(
            prepare: Option<extern "C" fn()>,
            parent: Option<extern "C" fn()>,
            child: Option<extern "C" fn()>,
        ) -> libc::c_int;
    }
    WATCH.call_once(|| {
        // SAFETY: the handler is a plain function that does one atomic addition, which is allowed
        // after a fork, and the library is never unloaded (build.rs links it with `nodelete`). If
        // registering fails for want of memory, forks go unseen, as without it.
        unsafe { pthread_atfork(None, None, Some(in_child)) };
    });
    FORKS.load(Relaxed)
}

/// There is no fork here.
#[cfg(not(unix))]
pub(super) fn forks() -> u32 {
    0
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_child_knows_that_it_is_one() {
        let before = forks();
        // SAFETY: the child calls nothing but an atomic load and `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: as above; ends the child at once.
            unsafe { libc::_exit(i32::from(forks() == before + 1)) };
        }
        let mut status = 0;
        // SAFETY: `child` is our child, and `status` is ours to write.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(libc::WEXITSTATUS(status), 1);
        assert_eq!(forks(), before);
    }
}
