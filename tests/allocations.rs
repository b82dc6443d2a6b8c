//! How often a call allocates, counted on the thread that makes it. Not how long it takes: that is for
//! the benches. `benches/counts` has the exact numbers of an optimised build; here are the bounds that
//! no build may pass.

use anyhost::Client;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread;

/// The system's allocator, which counts what each thread asks of it.
struct Counting;

thread_local!(static COUNT: Cell<u64> = const { Cell::new(0) });

fn count_one() {
    // A thread that is ending has no count any more, and nobody asks for it.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: everything is passed on to the system's allocator as it came; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_one();
        // SAFETY: as the caller promises.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A server that answers every request on its connections with 1 KiB. Its URL.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n".to_vec();
                answer.extend([b'x'; 1024]);
                let mut stream = BufReader::new(stream);
                let mut length = 0;
                let mut line = String::new();
                while stream.read_line(&mut line).is_ok_and(|read| read > 0) {
                    let lower = line.to_ascii_lowercase();
                    if let Some(value) = lower.strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    if line == "\r\n" {
                        stream.read_exact(&mut vec![0; length]).unwrap();
                        stream.get_mut().write_all(&answer).unwrap();
                        length = 0;
                    }
                    line.clear();
                }
            });
        }
    });
    url
}

/// What each of a few calls allocates once everything is warm: the most of them.
fn allocations(mut call: impl FnMut()) -> u64 {
    (0..5).for_each(|_| call());
    let one = |_| {
        let before = COUNT.get();
        call();
        COUNT.get() - before
    };
    (0..20).map(one).max().unwrap()
}

fn client(urls: &str) -> Client {
    Client::builder().preset("resilient").base_urls(urls).build().unwrap()
}

#[test]
fn a_get_on_a_kept_connection() {
    let client = client(&server());
    let get = || assert_eq!(client.get("/x").send().unwrap().bytes().len(), 1024);
    let counted = allocations(get);
    assert!(counted <= 42, "{counted} allocations");
}

#[test]
fn a_post_of_1_kib() {
    let client = client(&server());
    let post = || {
        let answer = client.post("/x").body(&[b'x'; 1024][..]).send();
        assert_eq!(answer.unwrap().bytes().len(), 1024);
    };
    let counted = allocations(post);
    assert!(counted <= 46, "{counted} allocations");
}

/// How many endpoints there are costs the one that is asked nothing.
#[test]
fn a_call_among_many_endpoints() {
    let one = server();
    let others: String = (1..1000).map(|n| format!(", {one}/{n}")).collect();
    let client =
        |urls: &str| Client::builder().base_urls(urls).build().expect("endpoints in order");
    let (few, many) = (client(&one), client(&format!("{one}{others}")));
    let get = |client: &Client| assert!(client.get("/x").send().unwrap().is_success());
    let (few, many) = (allocations(|| get(&few)), allocations(|| get(&many)));
    assert!(many <= few, "{many} allocations where one endpoint takes {few}");
}
