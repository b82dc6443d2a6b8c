//! A signal fails no call: every wait that one interrupts is taken up again, up to the same instant.
//! (SIGPIPE, which must not be raised at all, is looked at from a C program in `ffi-tests`.)
#![cfg(unix)]

use crate::support::*;
use crate::{over, told};
use anyhost::{Delivery, Phase, Reason, Timeout, TlsRoots};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;

static CAUGHT: AtomicUsize = AtomicUsize::new(0);

extern "C" fn caught(_: libc::c_int) {
    CAUGHT.fetch_add(1, SeqCst);
}

/// Without SA_RESTART, so that system calls do fail with EINTR.
fn install() {
    // SAFETY: an all-zero sigaction is a valid one; the handler adds to an atomic and nothing else.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = caught as extern "C" fn(libc::c_int) as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()), 0);
    }
}

/// Sends this thread a signal every few milliseconds while `work` runs.
fn bombarded<T>(work: impl FnOnce() -> T) -> T {
    install();
    // SAFETY: asks which thread this is.
    let target = unsafe { libc::pthread_self() } as usize;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(SeqCst) {
                // SAFETY: the target waits for this thread, at the end of the scope.
                unsafe { libc::pthread_kill(target as libc::pthread_t, libc::SIGUSR1) };
                pass(ms(3));
            }
        });
        let before = CAUGHT.load(SeqCst);
        let result = work();
        over.store(true, SeqCst);
        assert!(CAUGHT.load(SeqCst) > before + 3, "the test sends signals");
        result
    })
}

#[test]
fn signals_fail_no_call() {
    let ca = Authority::new();
    let slow = || Reply::ok(vec![b'x'; 20]).after(ms(60)).drip(1, ms(3));
    let (plain, tls) = (Server::start(slow()), Server::tls(&ca.server(), slow()));
    for (server, limit) in [(&plain, 5000), (&tls, 5000), (&plain, 245), (&tls, 245)] {
        let client = over(&[server])
            .tls_roots(TlsRoots::None)
            .add_root_pem(ca.pem())
            .attempt_timeout(Timeout::fixed(ms(limit)).unwrap())
            .build()
            .unwrap();
        let answer = bombarded(|| client.post("/").body(vec![0; 100_000]).send());
        assert_eq!(answer.unwrap().bytes().len(), 20);
    }
}

/// No limit is stretched, and none ends early.
#[test]
fn signals_move_no_limit() {
    let (hole, held) = (Blackhole::new(), Server::start(Reply::holds()));
    let client = over(&[&hole.url(), &held])
        .connect_timeout(ms(200))
        .attempt_timeout(ms(400))
        .build()
        .unwrap();
    let (error, took) = timed(|| bombarded(|| client.get("/").send().unwrap_err()));
    within(ms(600), took, ms(250));
    assert_eq!(
        told(error.attempts()),
        [
            (Reason::Timeout, Phase::Connect, Delivery::NotSent),
            (Reason::Timeout, Phase::Head, Delivery::Maybe)
        ]
    );
}

/// The wait between attempts, and the look-up of a name.
#[test]
fn signals_end_no_wait() {
    let p = refusing_address();
    let client = over(&[&p])
        .attempts_per_endpoint(4)
        .backoff_base(ms(150))
        .backoff_max(ms(150))
        .seed(3)
        .build()
        .unwrap();
    let error = bombarded(|| client.get("/").send().unwrap_err());
    assert_eq!(error.attempts().len(), 4);

    let server = Server::start(Reply::ok("found"));
    let address = server.addr;
    let lookup = move |_: &str, _: u16| {
        pass(ms(100));
        Ok(vec![address])
    };
    let client = over(&[&"http://a.test"]).lookup(lookup).build().unwrap();
    assert_eq!(bombarded(|| client.get("/").send()).unwrap().text().unwrap(), "found");
}
