//! What a pointer of C stands for: a tag that says the type, and the object behind it.
//!
//! A handle is counted, so that a call keeps its client and its request alive while it runs, also
//! when a callback frees them. The tag is checked at every entry and wiped when the object goes: a
//! handle of another type, or a freed one, is an error instead of a crash. That is best effort, since
//! freed memory may be anything; it costs one comparison.

use super::is_null;
use crate::{Error, Result, Status};
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What stands in a type that C knows by pointer only.
pub(super) type Opaque = [u8; 0];

/// A type of the header, and what its pointers lead to.
pub(super) trait Object: Sized {
    /// The object itself.
    type Inside;
    /// Tells this type from the others: eight letters, to be recognised in a debugger.
    const TAG: &'static [u8; 8];
    /// The argument it is passed as, for error messages.
    const NAME: &'static str;
}

/// A type whose handles C owns, as against those that live inside another object.
pub(super) trait Owned: Object<Inside: Send> {}

/// An object behind a pointer.
#[repr(C)]
pub(super) struct Tagged<T> {
    tag: AtomicU64,
    inside: T,
}

// Where another type is expected, reading the tag must not go beyond a smaller object.
const _: () = assert!(offset_of!(Tagged<[u64; 9]>, tag) == 0);

impl<T> Tagged<T> {
    /// An object inside another one, or on the stack.
    pub(super) fn new<H: Object<Inside = T>>(inside: T) -> Self {
        Tagged { tag: AtomicU64::new(tag::<H>()), inside }
    }

    /// The pointer that C may borrow.
    pub(super) fn borrowed<H: Object<Inside = T>>(&self) -> *const H {
        std::ptr::from_ref(self).cast()
    }
}

impl<T> std::ops::Deref for Tagged<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inside
    }
}

/// Before it is handed out, and when it came back.
impl<T> std::ops::DerefMut for Tagged<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inside
    }
}

impl<T> Drop for Tagged<T> {
    fn drop(&mut self) {
        // An atomic store, as an ordinary one to memory about to be freed may be left out.
        self.tag.store(0, Ordering::Relaxed);
    }
}

fn tag<H: Object>() -> u64 {
    u64::from_ne_bytes(*H::TAG)
}

/// A new handle, which C owns.
pub(super) fn new<H: Owned>(inside: H::Inside) -> *mut H {
    Arc::into_raw(Arc::new(Tagged::new::<H>(inside))).cast_mut().cast()
}

/// The object behind a pointer.
///
/// # Safety
///
/// `pointer` is NULL or a handle (of whatever type), which lives as long as `'a`.
pub(super) unsafe fn get<'a, H: Object>(pointer: *const H) -> Result<&'a Tagged<H::Inside>> {
    if pointer.is_null() {
        return Err(is_null(H::NAME));
    }
    let pointer = pointer.cast::<Tagged<H::Inside>>();
    // SAFETY: every handle begins with a tag. Nothing but the tag is looked at: what follows it is
    // known only when the tag is right.
    let right = pointer.is_aligned()
        && unsafe { (*pointer.cast::<AtomicU64>()).load(Ordering::Relaxed) } == tag::<H>();
    if !right {
        return Err(is_none(H::NAME));
    }
    // SAFETY: by its tag it is an object of this type, which the caller keeps alive.
    Ok(unsafe { &*pointer })
}

/// The error of a pointer to something else.
#[cold]
fn is_none(argument: &str) -> Error {
    let why = format!("`{argument}` is no {argument}, or was freed");
    Error::of_option(Status::Handle, argument, why)
}

/// The object behind a handle, kept alive although a callback may free the handle meanwhile.
///
/// # Safety
///
/// `handle` is NULL or a handle that is alive now.
pub(super) unsafe fn keep<H: Owned>(handle: *const H) -> Result<Arc<Tagged<H::Inside>>> {
    // SAFETY: as the caller promises.
    let object: *const Tagged<H::Inside> = unsafe { get(handle)? };
    // SAFETY: by its tag it comes from `new`, which made it in an `Arc`; C holds one count of it.
    unsafe {
        Arc::increment_strong_count(object);
        Ok(Arc::from_raw(object))
    }
}

/// Gives C one more count of a handle.
///
/// # Safety
///
/// As [`keep`].
pub(super) unsafe fn again<H: Owned>(handle: *mut H) -> Result<*mut H> {
    // SAFETY: as the caller promises.
    let object = unsafe { keep(handle)? };
    Ok(Arc::into_raw(object).cast_mut().cast())
}

/// Takes one count of a handle back from C. NULL and what is no handle are left alone.
///
/// # Safety
///
/// As [`keep`], and the caller gives up its count.
pub(super) unsafe fn free<H: Owned>(handle: *mut H) {
    // SAFETY: as the caller promises; the count is the one that `new` or `again` gave to C.
    unsafe {
        if let Ok(object) = get(handle) {
            let object: *const Tagged<H::Inside> = object;
            drop(Arc::from_raw(object));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    struct Apple(Opaque);
    struct Pear(Opaque);

    impl Object for Apple {
        type Inside = Arc<()>;
        const TAG: &'static [u8; 8] = b"an apple";
        const NAME: &'static str = "apple";
    }
    impl Object for Pear {
        type Inside = u8;
        const TAG: &'static [u8; 8] = b"one pear";
        const NAME: &'static str = "pear";
    }
    impl Owned for Apple {}
    impl Owned for Pear {}

    #[test]
    fn counts_are_kept() {
        let witness = Arc::new(());
        let apple = new::<Apple>(witness.clone());
        // SAFETY: the handle is alive until its last count is freed.
        unsafe {
            let more = again(apple).unwrap();
            assert_eq!(more, apple);
            free(more);
            let kept = keep(apple).unwrap();
            free(apple);
            assert_eq!(Arc::strong_count(&witness), 2, "the call still has it");
            drop(kept);
        }
        assert_eq!(Arc::strong_count(&witness), 1);
    }

    #[test]
    fn what_is_no_handle_of_the_type_is_refused() {
        let pear = new::<Pear>(1);
        // SAFETY: NULL and living handles, one of another type.
        unsafe {
            assert_eq!(get::<Apple>(ptr::null()).err().unwrap().status(), Status::Null);
            let wrong = pear.cast::<Apple>();
            assert_eq!(get(wrong).err().unwrap().status(), Status::Handle);
            assert_eq!(get(wrong.byte_add(1)).err().unwrap().status(), Status::Handle);
            free(wrong);
            free::<Apple>(ptr::null_mut());
            assert_eq!(**get(pear).unwrap(), 1);
            free(pear);
        }
    }

    #[test]
    fn a_dropped_object_has_no_tag() {
        let mut place = std::mem::MaybeUninit::new(Tagged::new::<Pear>(1));
        // SAFETY: the place outlives the object in it, and the tag is plain memory.
        unsafe {
            let pear: *const Pear = place.assume_init_ref().borrowed();
            assert!(get(pear).is_ok());
            place.assume_init_drop();
            assert_eq!(get(pear).err().unwrap().status(), Status::Handle);
        }
    }
}
