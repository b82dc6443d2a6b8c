//! What a thread allocates, so that a test can bound it.
//!
//! Counted by thread and not by process: servers and other calls run beside the one that is measured,
//! and a call does all its work on its own thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// Bytes this thread has taken and not given back; and the most there were.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

// SAFETY: every call goes on to the system's allocator unchanged; the counter is plain memory of the
// thread, is not allocated, and has no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

fn count(change: isize) {
    HELD.with(|held| {
        let (now, most) = held.get();
        held.set((now + change, most.max(now + change)));
    });
}

/// What `work` returned, and the most memory it held at a time beyond what there was before.
pub fn held_by<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get().0;
    HELD.set((before, before));
    let result = work();
    (result, (HELD.get().1 - before).max(0) as usize)
}
