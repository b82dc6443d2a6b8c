//! A process that forks (field case F148): the child opens connections of its own, and nothing it does
//! reaches those of its parent.
//!
//! In a process of their own, one after the other, because a child holds copies of every socket there
//! is: what another test closes meanwhile would stay open for as long as the child lives.
#![cfg(unix)]

mod support;

use anyhost::{Cancel, Client, EventKind, TlsRoots};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use support::*;

static ALONE: Mutex<()> = Mutex::new(());

/// F148. What a child does must leave the parent's connections as they are: it opens its own, and neither
/// using nor dropping nor shutting down what it inherited reaches the server.
#[test]
fn a_child_leaves_the_connections_of_its_parent_alone() {
    let _alone = ALONE.lock();
    let ca = Authority::new();
    for tls in [false, true] {
        let server = match tls {
            false => Server::start(Reply::echo()),
            true => Server::tls(&ca.server(), Reply::echo()),
        };
        let noticed = Arc::new(AtomicUsize::new(0));
        let count = noticed.clone();
        let client = Client::builder()
            .base_urls(&server.url())
            .tls_roots(TlsRoots::None)
            .add_root_pem(ca.pem());
        let client = client.on_event(move |event| {
            count.fetch_add(usize::from(event.kind() == EventKind::ForkNoticed), SeqCst);
        });
        let client = client.build().unwrap();
        let text = |path: &str| {
            let answer = client.post(path).send().unwrap();
            (answer.text().unwrap().to_owned(), answer.attempts()[0].reused_connection())
        };
        assert_eq!(text("/parent"), ("POST /parent 0".to_owned(), false));
        let good = in_child(|| {
            let fresh = text("/child") == ("POST /child 0".to_owned(), false);
            let again = text("/again") == ("POST /again 0".to_owned(), true);
            fresh && again && noticed.load(SeqCst) == 1
        });
        assert!(good, "in the child of {server}");
        let dropped = in_child(|| {
            client.drop_idle();
            client.shutdown();
            client.get("/").send().is_err()
        });
        assert!(dropped, "in the second child of {server}");
        assert_eq!(text("/parent2"), ("POST /parent2 0".to_owned(), true), "{server}");
        assert_eq!(server.connections(), 2, "{server}");
        assert_eq!(noticed.load(SeqCst), 0, "the parent was not forked off anyone");
    }
}

/// A call of the parent that is under way during the fork is the parent's alone.
#[test]
fn a_child_ends_no_call_of_its_parent() {
    let _alone = ALONE.lock();
    let gate = Event::new();
    let server = Server::start(Reply::ok("through").after(&gate));
    let client = Client::builder().base_urls(&server.url()).build().unwrap();
    let cancel = Cancel::new();
    thread::scope(|scope| {
        let call = scope.spawn(|| client.get("/").cancel(&cancel).send());
        server.wait_for_requests(1, ms(5000));
        assert!(in_child(|| {
            cancel.trigger();
            client.shutdown();
            true
        }));
        gate.open();
        assert_eq!(call.join().unwrap().unwrap().text().unwrap(), "through");
    });
}
