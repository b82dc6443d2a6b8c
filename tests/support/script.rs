//! Which request gets which reply.

use std::sync::Arc;

use super::connection::Connection;
use super::reply::Reply;

/// The replies of a server: by path where a rule says so, in order of arrival otherwise.
///
/// A reply that reads nothing ([`Reply::unread`]) is due when a connection is accepted; all others
/// when the head of a request has arrived. So `Script::each([Reply::resets().unread(),
/// Reply::ok("")])` resets one connection and then serves.
pub struct Script {
    rules: Vec<(String, Sequence)>,
    otherwise: Sequence,
    by_hand: Option<ByHand>,
}

pub(super) type ByHand = Arc<dyn Fn(&mut Connection) + Send + Sync>;

/// Replies one after the other; the last repeats.
pub struct Sequence {
    replies: Vec<Reply>,
    taken: usize,
}

impl Script {
    /// The same reply to every request.
    pub fn always(reply: Reply) -> Script {
        Script::from(reply)
    }

    /// The i-th request overall gets the i-th reply; the last repeats.
    pub fn each(replies: impl IntoIterator<Item = Reply>) -> Script {
        let replies: Vec<Reply> = replies.into_iter().collect();
        Script { rules: Vec::new(), otherwise: Sequence::from(replies), by_hand: None }
    }

    /// Another reply, or a list of replies, for one path. The path is the target without its query,
    /// or the whole target. Requests to it do not count in the order of the others.
    pub fn on(mut self, path: &str, replies: impl Into<Sequence>) -> Script {
        let replies = replies.into();
        let unread = replies.replies.iter().any(Reply::is_unread);
        assert!(!unread, "whether it is {path} cannot be known without reading");
        self.rules.push((path.to_string(), replies));
        self
    }

    /// Code instead of data, for a peer that speaks something else (SOCKS, a tunnel): called once
    /// per connection, which is closed when `serve` returns. A proxy:
    ///
    /// ```ignore
    /// Script::by_hand(move |client| {
    ///     client.read_request(); // CONNECT
    ///     client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
    ///     client.relay(origin).unwrap();
    /// })
    /// ```
    pub fn by_hand(serve: impl Fn(&mut Connection) + Send + Sync + 'static) -> Script {
        Script { by_hand: Some(Arc::new(serve)), ..Script::always(Reply::holds()) }
    }

    pub(super) fn hand(&self) -> Option<ByHand> {
        self.by_hand.clone()
    }

    /// The next reply, if it is one that reads nothing.
    pub(super) fn take_unread(&mut self) -> Option<Reply> {
        let due = self.by_hand.is_none() && self.otherwise.peek().is_unread();
        due.then(|| self.otherwise.take())
    }

    /// The reply to a request with this target.
    pub(super) fn take(&mut self, target: &str) -> Reply {
        let path = target.split('?').next().unwrap_or(target);
        let rule = self.rules.iter_mut().find(|(rule, _)| rule == path || rule == target);
        rule.map_or(&mut self.otherwise, |(_, replies)| replies).take()
    }
}

impl Sequence {
    fn peek(&self) -> &Reply {
        &self.replies[self.taken.min(self.replies.len() - 1)]
    }

    fn take(&mut self) -> Reply {
        let reply = self.peek().clone();
        self.taken += 1;
        reply
    }
}

impl From<Reply> for Script {
    fn from(reply: Reply) -> Script {
        Script::each([reply])
    }
}

impl From<Vec<Reply>> for Sequence {
    fn from(replies: Vec<Reply>) -> Sequence {
        assert!(!replies.is_empty(), "a script needs at least one reply");
        Sequence { replies, taken: 0 }
    }
}

impl From<Reply> for Sequence {
    fn from(reply: Reply) -> Sequence {
        Sequence::from(vec![reply])
    }
}

impl<const N: usize> From<[Reply; N]> for Sequence {
    fn from(replies: [Reply; N]) -> Sequence {
        Sequence::from(Vec::from(replies))
    }
}
