#![no_main]

//! Sequences of C calls (`ffi-tests/sequence.h`) against the server that `cargo test` replays them with.

// What C calls is in there.
use anyhost as _;
use std::ffi::{CString, c_char};
use std::sync::{Mutex, OnceLock};
use support::{Refusing, Server, refusing_address};

#[path = "../../ffi-tests/sequence_server.rs"]
mod sequence_server;
#[path = "../../tests/support/mod.rs"]
mod support;

/// A server remembers all that it was asked.
const SEQUENCES_PER_SERVER: usize = 500;

unsafe extern "C" {
    fn run_sequence(server: *const c_char, refusing: *const c_char, data: *const u8, len: usize);
}

struct Ground {
    server: Server,
    refusing: Refusing,
    left: usize,
}

impl Ground {
    fn new() -> Ground {
        let (server, refusing) = (sequence_server::start(), refusing_address());
        Ground { server, refusing, left: SEQUENCES_PER_SERVER }
    }
}

/// What the leak check is not told of: blocks that only a thread of the server holds, which it does not
/// always see while that thread runs. What the library allocates is looked for.
#[unsafe(no_mangle)]
extern "C" fn __lsan_default_suppressions() -> *const c_char {
    c"leak:__cxa_thread_atexit_impl\nleak:sequence::support::server\n".as_ptr()
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    static GROUND: OnceLock<Mutex<Ground>> = OnceLock::new();
    let mut ground = GROUND.get_or_init(|| Mutex::new(Ground::new())).lock().unwrap();
    if ground.left == 0 {
        *ground = Ground::new();
    }
    ground.left -= 1;
    let server = CString::new(ground.server.url()).unwrap();
    let refusing = CString::new(ground.refusing.url()).unwrap();
    // SAFETY: two texts that end with zero and `len` bytes, all there until it returns.
    unsafe { run_sequence(server.as_ptr(), refusing.as_ptr(), data.as_ptr(), data.len()) };
});
