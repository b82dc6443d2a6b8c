//! Connects to the first of several addresses that lets us.
//!
//! They are started one after the other, the next one when those before have failed or 250 ms have
//! passed, and the first to be connected wins (RFC 8305, "happy eyeballs"): a machine whose IPv6
//! leads nowhere loses a quarter of a second and not its connect limit. All of it ends by one
//! deadline, and runs on the thread of the attempt: non-blocking sockets under one `poll`, since a
//! blocking connect ends late. The losers are closed before a byte was sent on them.
//!
//! Sockets are listed with the interrupt of the call once they have begun to connect, since one that has
//! not cannot be shut down; a loser is taken off again.
//!
//! Flow: `lookup` → **dial** → `session`. Not here: whether the name should be asked for again
//! (`lookup`), other endpoints, which are one level up.

use super::deadline::Deadline;
use super::failure::Failure;
use super::interrupt::Interrupt;
use super::meter::{self, Meter};
use super::platform;
use crate::decide::Cause;
use crate::sys;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// The time before the next address is started beside those under way (RFC 8305 section 8, the
/// connection attempt delay it recommends): above most round trips, so that a healthy first address
/// seldom has a rival.
const DELAY: Duration = Duration::from_millis(250);

/// The time of an attempt without limits; the kernel gives up long before.
const FOREVER: Duration = Duration::from_secs(24 * 3600);

/// Connects to one of `peers`. If all fail, tells what the first of them did.
pub(super) fn dial(
    peers: &[SocketAddr],
    deadline: Deadline,
    interrupt: &Interrupt,
    meter: Option<&Meter>,
) -> Result<Arc<TcpStream>, Failure> {
    let mut under_way = UnderWay { started: Vec::new(), interrupt };
    let won = race(&interleaved(peers), deadline, &mut under_way, meter);
    match won {
        _ if interrupt.is_triggered() => Err(Failure::cancelled()),
        Ok(stream) => connected(stream),
        Err(failure) => Err(failure),
    }
}

/// The families by turns, beginning with that of the first address; otherwise in the order given
/// (RFC 8305 section 4).
fn interleaved(peers: &[SocketAddr]) -> Vec<SocketAddr> {
    let Some(first) = peers.first() else { return Vec::new() };
    let (ours, others): (Vec<SocketAddr>, Vec<SocketAddr>) =
        peers.iter().partition(|peer| peer.is_ipv4() == first.is_ipv4());
    let (mut ours, mut others) = (ours.into_iter(), others.into_iter());
    let mut order = Vec::with_capacity(peers.len());
    while order.len() < peers.len() {
        order.extend(ours.next());
        order.extend(others.next());
    }
    order
}

/// A connection in the making.
struct Started {
    place: usize,
    stream: Arc<TcpStream>,
}

/// Connections in the making, each listed with the interrupt for as long as it is one.
struct UnderWay<'a> {
    started: Vec<Started>,
    interrupt: &'a Interrupt,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        for loser in &self.started {
            self.interrupt.forget(&loser.stream);
        }
    }
}

fn race(
    peers: &[SocketAddr],
    deadline: Deadline,
    under_way: &mut UnderWay<'_>,
    meter: Option<&Meter>,
) -> Result<Arc<TcpStream>, Failure> {
    let interrupt = under_way.interrupt;
    let under_way = &mut under_way.started;
    let mut failed = Failed::of(peers);
    let mut next = 0;
    let mut next_at = sys::now();
    loop {
        let Some(left) = time_left(deadline) else {
            return Err(failed.out_of_time(under_way, deadline));
        };
        if let Some(meter) = meter {
            meter.tick();
        }
        if interrupt.is_triggered() {
            return Err(Failure::cancelled());
        }
        let now = sys::now();
        if next < peers.len() && now >= next_at {
            match start(peers[next]) {
                Ok((stream, done)) => {
                    // One that comes too late to be woken is seen at the next turn.
                    let _ = interrupt.watch(&stream);
                    if done {
                        return Ok(stream);
                    }
                    under_way.push(Started { place: next, stream });
                    next_at = now + DELAY;
                }
                Err(failure) => failed.note(next, failure),
            }
            next += 1;
            continue;
        }
        if under_way.is_empty() {
            return Err(failed.all());
        }
        let until_next = if next < peers.len() { next_at - now } else { FOREVER };
        let streams: Vec<&TcpStream> = under_way.iter().map(|started| &*started.stream).collect();
        let time = left.min(until_next).min(platform::LOOK).min(meter::due_in(meter));
        let settled = platform::wait_for_any(&streams, time).map_err(|e| Failure::of_system(&e))?;
        // From the last on, so that places stay true while some are taken out.
        let mut winner = None;
        for (at, error) in settled.into_iter().rev() {
            let Started { place, stream } = under_way.remove(at);
            match error {
                None => winner = Some(stream),
                Some(error) => {
                    interrupt.forget(&stream);
                    failed.note(place, Failure::of_dial(&error, peers[place]));
                    next_at = sys::now();
                }
            }
        }
        if let Some(stream) = winner {
            return Ok(stream);
        }
    }
}

/// Begins to connect, and says whether that is done already.
fn start(peer: SocketAddr) -> Result<(Arc<TcpStream>, bool), Failure> {
    let socket = open(peer)?;
    socket.set_nonblocking(true).map_err(|e| Failure::of_system(&e))?;
    let done = match socket.connect(&peer.into()) {
        Ok(()) => true,
        Err(e) if platform::is_under_way(&e) => false,
        Err(e) => return Err(Failure::of_dial(&e, peer)),
    };
    Ok((Arc::new(socket.into()), done))
}

fn open(peer: SocketAddr) -> Result<Socket, Failure> {
    Socket::new(Domain::for_address(peer), Type::STREAM, Some(Protocol::TCP)).map_err(|e| {
        match e.kind() {
            // A family this machine does not speak is like an address it cannot reach.
            ErrorKind::Unsupported => Failure::of_dial(&e, peer),
            _ => Failure::of_system(&e),
        }
    })
}

fn connected(stream: Arc<TcpStream>) -> Result<Arc<TcpStream>, Failure> {
    stream.set_nonblocking(false).map_err(|e| Failure::of_system(&e))?;
    Ok(stream)
}

/// How each of several addresses failed.
struct Failed<'a> {
    peers: &'a [SocketAddr],
    /// The failure to be told, and its place among the addresses.
    told: Option<(usize, Failure)>,
    tried: usize,
}

impl<'a> Failed<'a> {
    fn of(peers: &'a [SocketAddr]) -> Self {
        Failed { peers, told: None, tried: 0 }
    }

    /// The first address in order is the one to be told of. But a fault of this machine gives way to
    /// one of a peer: without any IPv6 an IPv6 address fails here, and says nothing about the host.
    fn note(&mut self, place: usize, failure: Failure) {
        self.tried += 1;
        let rank = |place: usize, failure: &Failure| (failure.cause == Cause::Local, place);
        if self.told.as_ref().is_none_or(|(at, told)| rank(place, &failure) < rank(*at, told)) {
            self.told = Some((place, failure));
        }
    }

    /// Every address failed.
    fn all(self) -> Failure {
        match self.told {
            None => Failure::new(Cause::NameLookup, "the name has no address"),
            Some((_, failure)) => of_several(failure, self.tried),
        }
    }

    /// The time was over with these not heard of.
    fn out_of_time(self, waiting: &[Started], deadline: Deadline) -> Failure {
        let Some(first) = waiting.first() else { return deadline.passed() };
        of_several(out_of_time(self.peers[first.place], deadline), self.tried + waiting.len())
    }
}

fn of_several(failure: Failure, tried: usize) -> Failure {
    match tried {
        0 | 1 => failure,
        _ => Failure {
            detail: format!("{}; {tried} addresses tried", failure.detail).into(),
            ..failure
        },
    }
}

fn out_of_time(peer: SocketAddr, deadline: Deadline) -> Failure {
    Failure { detail: format!("{peer} did not answer").into(), ..deadline.passed() }
}

/// What is left of the time, which may be all there is; `None` when it is over.
fn time_left(deadline: Deadline) -> Option<Duration> {
    deadline.left().ok().map(|left| left.unwrap_or(FOREVER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::Limit;
    use crate::sys;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    fn within(time: Duration) -> Deadline {
        Deadline::new(Some(sys::now() + time), Limit::Connect)
    }

    const LONG: Duration = Duration::from_secs(5);

    fn alive() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        (listener, at)
    }

    /// Bound and not listened on: refuses for as long as the socket lives.
    fn dead() -> (Socket, SocketAddr) {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        let at = socket.local_addr().unwrap().as_socket().unwrap();
        (socket, at)
    }

    #[test]
    fn families_take_turns_from_that_of_the_first() {
        let v4 = |n: u8| SocketAddr::from(([127, 0, 0, n], 1));
        let v6 = |n: u16| SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, n], 1));
        for (given, order) in [
            (vec![], vec![]),
            (vec![v4(1), v4(2)], vec![v4(1), v4(2)]),
            (vec![v6(1), v6(2), v6(3), v4(1)], vec![v6(1), v4(1), v6(2), v6(3)]),
            (vec![v4(1), v6(1), v6(2), v4(2)], vec![v4(1), v6(1), v4(2), v6(2)]),
            (vec![v4(1), v6(1), v6(2)], vec![v4(1), v6(1), v6(2)]),
        ] {
            assert_eq!(interleaved(&given), order);
        }
    }

    #[test]
    fn a_dead_address_does_not_hide_a_living_one() {
        let ((_listens, alive), (_bound, dead)) = (alive(), dead());
        let (began, peers) = (sys::now(), [dead, dead, alive]);
        let stream = dial(&peers, within(LONG), &Interrupt::new(), None).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), alive);
        assert!(sys::now() - began < DELAY, "the next one starts at once");
        let failure = dial(&[dead], within(LONG), &Interrupt::new(), None).unwrap_err();
        assert_eq!(failure.cause, Cause::Refused);
        assert_eq!(failure.detail, format!("{dead} refused the connection"));
    }

    #[test]
    fn the_first_failure_in_order_is_told_and_how_many_there_were() {
        let ((_one, first), (_two, second)) = (dead(), dead());
        let failure = dial(&[first, second], within(LONG), &Interrupt::new(), None).unwrap_err();
        let words = format!("{first} refused the connection; 2 addresses tried");
        assert_eq!((failure.cause, &*failure.detail), (Cause::Refused, &*words));
        assert_eq!(
            dial(&[], within(LONG), &Interrupt::new(), None).unwrap_err().cause,
            Cause::NameLookup
        );
        // Later failures may be noted earlier, and a fault of ours says nothing about the host.
        let peers = [first, second];
        let refused = || Failure::new(Cause::Refused, "no");
        for (noted, told) in [
            (vec![(1, refused()), (0, Failure::new(Cause::Reset, "r"))], Cause::Reset),
            (vec![(0, Failure::local("no IPv6")), (1, refused())], Cause::Refused),
            (vec![(0, Failure::local("no files")), (1, Failure::local("l"))], Cause::Local),
        ] {
            let mut failed = Failed::of(&peers);
            for (place, failure) in noted {
                failed.note(place, failure);
            }
            assert_eq!(failed.all().cause, told);
        }
    }

    /// No address of this machine can be reached from a broadcast; the connect call itself fails.
    #[test]
    fn what_fails_at_once_is_a_failure_of_that_address_only() {
        let (_listens, alive) = alive();
        let broadcast = SocketAddr::from(([255, 255, 255, 255], 1));
        assert!(start(broadcast).is_err());
        assert_eq!(
            dial(&[broadcast, alive], within(LONG), &Interrupt::new(), None)
                .unwrap()
                .peer_addr()
                .unwrap(),
            alive
        );
    }

    #[test]
    fn the_winner_blocks() {
        let (listens, alive) = alive();
        let stream = dial(&[alive], within(LONG), &Interrupt::new(), None).unwrap();
        let (mut peer, _) = listens.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let (began, mut byte) = (sys::now(), [0]);
        assert!((&*stream).read(&mut byte).is_err());
        assert!(sys::now() - began >= Duration::from_millis(15), "it waited");
        peer.write_all(b"x").unwrap();
        assert_eq!((&*stream).read(&mut byte).unwrap(), 1);
    }

    #[test]
    fn a_passed_deadline_dials_nothing() {
        let (_listens, alive) = alive();
        let failure = dial(&[alive], within(Duration::ZERO), &Interrupt::new(), None).unwrap_err();
        assert_eq!(failure.cause, Cause::TimedOut(Limit::Connect));
    }
}
