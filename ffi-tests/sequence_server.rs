//! The server that sequences of calls meet, here and as a fuzz target.

use crate::support::{Reply, Script, Server};

pub fn start() -> Server {
    let script = Script::from(Reply::echo())
        .on("/reset", Reply::resets())
        .on("/cut", Reply::ok("0123456789").cut(4))
        .on("/503", Reply::status(503).header("Retry-After", "1"));
    Server::start(script)
}
