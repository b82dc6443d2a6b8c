//! Carries a reply out: reads as far as it says, sends what it says, ends as it says.
//!
//! A client that goes away in between is nothing special: the connection ends, what it had sent is
//! recorded.

use std::io::{self, Write};

use super::connection::Connection;
use super::reply::{End, Reads, Reply};
use super::request::Request;

/// Serves one connection to its end. `opening` is a reply that was due when it was accepted.
pub(super) fn serve(mut connection: Connection, opening: Option<Reply>) {
    let shared = connection.shared.clone();
    let by_hand = shared.script().hand();
    if let Some(by_hand) = by_hand {
        by_hand(&mut connection);
        return if connection.resets { connection.reset() } else { connection.fin(true) };
    }
    let mut due = opening;
    let mut was_unread = false;
    loop {
        if due.is_none() {
            if !connection.has_more() {
                return;
            }
            // After one that read nothing the same bytes still lie there: now a request is due,
            // or a greeting that repeats would be sent for ever.
            if !was_unread {
                due = shared.script().take_unread();
            }
        }
        was_unread = due.is_some();
        let (reply, request) = match due.take() {
            Some(reply) => (reply, None),
            None => match receive(&mut connection) {
                Some((reply, request)) => (reply, Some(request)),
                None => return,
            },
        };
        match respond(connection, reply, request) {
            Some(kept_alive) => connection = kept_alive,
            None => return,
        }
    }
}

/// Takes the reply for the next request and reads it as far as that reply says.
fn receive(connection: &mut Connection) -> Option<(Reply, Request)> {
    let mut request = connection.read_head()?;
    if !request.complete {
        connection.shared.record(&request);
        return None;
    }
    let reply = connection.shared.script().take(&request.target);
    request.complete = !request.has_body();
    let told = reply.interim.iter().all(|&status| {
        let (head, _) = Reply::status(status).bytes(None);
        connection.write_all(&head).and_then(|()| connection.flush()).is_ok()
    });
    if told && reply.reads == Reads::Request {
        request.read_body(&mut connection.stream);
    }
    connection.shared.record(&request);
    (told && (request.complete || reply.reads != Reads::Request)).then_some((reply, request))
}

/// Answers and ends. Gives the connection back if it stays alive.
fn respond(
    mut connection: Connection,
    mut reply: Reply,
    request: Option<Request>,
) -> Option<Connection> {
    if let Some(request) = &request {
        reply = reply.resolve(request);
    }
    if reply.reads == Reads::Handshake {
        connection.handshake().ok()?;
    }
    answer(&mut connection, &reply, request.as_ref()).ok()?;
    let read_whole = request.as_ref().is_some_and(|r| r.complete);
    let wants_close = request.as_ref().and_then(|r| r.header("Connection"));
    let end = match reply.end {
        End::KeepAlive if wants_close.is_some_and(|v| v.eq_ignore_ascii_case("close")) => {
            End::Close
        }
        end => end,
    };
    let tell = || reply.tell.iter().for_each(|event| event.open());
    match end {
        End::KeepAlive => {
            tell();
            if let Some(mut request) = request.filter(|r| !r.complete) {
                request.read_body(&mut connection.stream);
            }
            return Some(connection);
        }
        End::Close => {
            connection.fin(reply.goodbye);
            drop(connection);
            tell();
        }
        End::Reset => {
            connection.reset();
            tell();
        }
        End::HalfClose => {
            connection.fin(reply.goodbye);
            tell();
            connection.swallow(None);
        }
        End::Hold => {
            connection.wait_until_delivered();
            tell();
            match read_whole {
                true => connection.swallow(None),
                false => connection.shared.wait_for_end(),
            }
        }
        End::Swallow(pace) => {
            tell();
            connection.swallow(pace);
        }
    }
    None
}

/// Sends the answer, with its pauses. An error: the client ended, or the server did.
fn answer(connection: &mut Connection, reply: &Reply, request: Option<&Request>) -> io::Result<()> {
    let ended = connection.shared.ended.clone();
    let wait = |pause: &super::Pause| match pause.wait(&ended) {
        true => Ok(()),
        false => Err(io::Error::other("the server ended")),
    };
    reply.before.iter().try_for_each(wait)?;
    let (head, body) = reply.bytes(request.map(|r| r.method.as_str()));
    let start = head.len();
    let bytes = [head, body].concat();
    let end = reply.cut.map_or(bytes.len(), |n| bytes.len().min(start + n));

    // Everything between two rests goes out in one write.
    let mut sent = 0;
    loop {
        for (_, pause) in reply.pauses.iter().filter(|(n, _)| sent > 0 && start + n == sent) {
            wait(pause)?;
        }
        if sent == end {
            break;
        }
        let dripped = match reply.drip {
            Some(_) if sent < start => start,
            Some((n, _)) => sent + n,
            None => end,
        };
        let paused = reply.pauses.iter().map(|(n, _)| start + n).filter(|&at| at > sent);
        let next = paused.chain([dripped, end]).min().unwrap_or(end);
        connection.write_all(&bytes[sent..next])?;
        connection.flush()?;
        sent = next;
        if let Some((_, rest)) = reply.drip.filter(|_| sent > start && sent < end) {
            wait(&rest.into())?;
        }
    }
    reply.idle.iter().try_for_each(wait)
}
