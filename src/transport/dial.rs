//! Connects to the first of several addresses that lets us.
//!
//! One after the other; each gets an equal share of the time that is left, the last one all of it,
//! so that a dead address cannot use up the time of a living one. A race (RFC 8305) was left out:
//! a client with several endpoints has its alternatives one level up.
//!
//! Non-blocking connect and `poll`, because a blocking connect with a send timeout ends late.

use super::deadline::Deadline;
use super::failure::Failure;
use crate::decide::Cause;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The time of an attempt without limits; the kernel gives up long before.
const FOREVER: Duration = Duration::from_secs(24 * 3600);

/// Connects to one of `peers`, or fails as the last of them did.
pub(super) fn dial(peers: &[SocketAddr], deadline: Deadline) -> Result<TcpStream, Failure> {
    let mut last = Failure::new(Cause::NameLookup, "the name has no address");
    for (tried, peer) in peers.iter().enumerate() {
        let left = deadline.left()?.unwrap_or(FOREVER);
        let time = share(left, peers.len() - tried);
        last = match connect(*peer, time) {
            Ok(stream) => return Ok(stream),
            // Ours carries no errno, the kernel's does.
            Err(Refusal::Peer(e))
                if e.kind() == ErrorKind::TimedOut && e.raw_os_error().is_none() =>
            {
                Failure { detail: format!("{peer} did not answer").into(), ..deadline.passed() }
            }
            Err(Refusal::Peer(e)) => Failure::of_dial(&e, *peer),
            Err(Refusal::Own(e)) => Failure::of_system(&e),
        };
    }
    Err(last)
}

/// Who would not have it.
enum Refusal {
    Peer(io::Error),
    Own(io::Error),
}

fn connect(peer: SocketAddr, time: Duration) -> Result<TcpStream, Refusal> {
    let socket = Socket::new(Domain::for_address(peer), Type::STREAM, Some(Protocol::TCP))
        .map_err(|e| match e.kind() {
            // A family this machine does not speak is like an address it cannot reach.
            ErrorKind::Unsupported => Refusal::Peer(e),
            _ => Refusal::Own(e),
        })?;
    // The wait is cut down to whole milliseconds inside: one more, or it ends before its deadline.
    let time = time + Duration::from_millis(1);
    socket.connect_timeout(&peer.into(), time).map_err(Refusal::Peer)?;
    Ok(socket.into())
}

/// The time for the first of `peers` addresses, of what is `left` for all of them.
fn share(left: Duration, peers: usize) -> Duration {
    left / u32::try_from(peers).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::Limit;
    use crate::sys;
    use std::net::TcpListener;

    #[test]
    fn each_address_has_a_share_and_the_last_one_the_rest() {
        let left = Duration::from_millis(900);
        assert_eq!(share(left, 3), Duration::from_millis(300));
        assert_eq!(share(left, 1), left);
    }

    #[test]
    fn a_dead_address_does_not_hide_a_living_one() {
        let alive = TcpListener::bind("127.0.0.1:0").unwrap();
        let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let deadline = Deadline::new(Some(sys::now() + Duration::from_secs(5)), Limit::Connect);
        let peers = [dead, alive.local_addr().unwrap()];
        assert_eq!(dial(&peers, deadline).unwrap().peer_addr().unwrap(), peers[1]);
        let failure = dial(&[dead], deadline).unwrap_err();
        assert_eq!(failure.cause, Cause::Refused);
        assert_eq!(failure.detail, format!("{dead} refused the connection"));
    }

    #[test]
    fn a_passed_deadline_dials_nothing() {
        let alive = TcpListener::bind("127.0.0.1:0").unwrap();
        let deadline = Deadline::new(Some(sys::now()), Limit::Connect);
        let failure = dial(&[alive.local_addr().unwrap()], deadline).unwrap_err();
        assert_eq!(failure.cause, Cause::TimedOut(Limit::Connect));
    }
}
