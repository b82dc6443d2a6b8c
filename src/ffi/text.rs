//! Texts and bytes, in and out.
//!
//! In: NUL-ended and UTF-8, or a pointer and a length; used before the function returns, so nothing
//! is copied here. Out: NUL-ended copies that the object keeps which hands them out.

use super::{Out, is_null, out_of_range};
use crate::{Error, Result, Status};
use std::ffi::{CStr, CString, c_char, c_void};

/// A text that has to be there.
///
/// # Safety
///
/// `text` is NULL or NUL-ended, and unchanged as long as `'a`.
pub(super) unsafe fn read<'a>(text: *const c_char, argument: &str) -> Result<&'a str> {
    // SAFETY: as the caller promises.
    unsafe { read_if_any(text, argument)? }.ok_or_else(|| is_null(argument))
}

/// A text, or nothing for NULL.
///
/// # Safety
///
/// As [`read`].
pub(super) unsafe fn read_if_any<'a>(
    text: *const c_char,
    argument: &str,
) -> Result<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: not NULL, so the caller has promised that it is NUL-ended.
    utf8(unsafe { CStr::from_ptr(text) }.to_bytes(), argument).map(Some)
}

/// The text that these bytes are.
pub(super) fn utf8<'a>(bytes: &'a [u8], argument: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|error| {
        Error::of_option(
            Status::Encoding,
            argument,
            format!("`{argument}` is not UTF-8 from byte {} on", error.valid_up_to()),
        )
    })
}

/// Bytes; (NULL, 0) is none.
///
/// # Safety
///
/// `data` is NULL or leads to `len` bytes, which are unchanged as long as `'a`.
pub(super) unsafe fn bytes<'a>(
    data: *const c_void,
    len: usize,
    argument: &str,
) -> Result<&'a [u8]> {
    // SAFETY: as the caller promises.
    unsafe { items(data.cast(), len, argument) }
}

/// Pointers; none where `count` is 0, but NULL is a mistake all the same.
///
/// # Safety
///
/// `list` is NULL or leads to `count` pointers, which are unchanged as long as `'a`.
pub(super) unsafe fn pointers<'a, T>(
    list: *const *const T,
    count: usize,
    argument: &str,
) -> Result<&'a [*const T]> {
    if list.is_null() {
        return Err(is_null(argument));
    }
    // SAFETY: as the caller promises.
    unsafe { items(list, count, argument) }
}

/// # Safety
///
/// `data` is NULL or leads to `len` items, which are unchanged as long as `'a`.
unsafe fn items<'a, T>(data: *const T, len: usize, argument: &str) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(is_null(argument));
    }
    if len.checked_mul(size_of::<T>()).is_none_or(|size| isize::try_from(size).is_err()) {
        return Err(out_of_range(argument, "is longer than memory can be"));
    }
    // SAFETY: neither NULL nor too long, so the caller has promised the rest.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// A place of C to write bytes to; (NULL, 0) is none.
///
/// # Safety
///
/// `buf` leads to `len` bytes that have been written, and that nobody else touches as long as `'a`; it may
/// be NULL if that is none.
pub(super) unsafe fn bytes_mut<'a>(buf: *mut c_void, len: usize) -> &'a mut [u8] {
    if len == 0 {
        return &mut [];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts_mut(buf.cast(), len) }
}

/// Bytes with a 0 byte beyond their end, for which a body read whole has room.
pub(super) fn nul_ended(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.reserve_exact(1);
    bytes.push(0);
    bytes
}

/// A copy for C. A NUL inside, which no text of ours should have, would cut it: it is replaced.
pub(super) fn owned(text: &str) -> CString {
    CString::new(text).unwrap_or_else(|_| {
        CString::new(text.replace('\0', "\u{fffd}")).expect("every NUL is replaced")
    })
}

/// A copy for C on one line.
pub(super) fn one_line(text: &str) -> CString {
    owned(&text.replace(|c: char| c.is_control(), " "))
}

/// Copies a text with its NUL to a buffer of C, if it fits, and says how much room it takes.
///
/// # Safety
///
/// `buf` can be written for `cap` bytes; it may be NULL if that is none. `out_needed` is NULL or can be
/// written.
pub(super) unsafe fn copy_out(
    buf: *mut c_char,
    cap: usize,
    out_needed: *mut usize,
    text: impl FnOnce() -> Result<String>,
) -> Result<()> {
    // SAFETY: as the caller promises.
    unsafe {
        let out_needed = Out::new(out_needed, 0, "out_needed");
        if cap > 0 {
            Out::new(buf, 0, "buf")?;
        }
        let (out_needed, text) = (out_needed?, text()?);
        out_needed.set(text.len() + 1);
        fill(&text, buf, cap)
    }
}

/// # Safety
///
/// `buf` can be written for `cap` bytes; it may be NULL if that is none.
unsafe fn fill(text: &str, buf: *mut c_char, cap: usize) -> Result<()> {
    if text.len() >= cap {
        return Err(Error::new(Status::Buffer, Status::Buffer.text()));
    }
    // SAFETY: there is room for the text and its NUL, as was checked.
    unsafe {
        buf.copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
        buf.add(text.len()).write(0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn a_buffer_is_never_overrun() {
        let mut buf: [c_char; 4] = [1; 4];
        // SAFETY: the buffer is as long as is said.
        unsafe {
            assert_eq!(fill("", ptr::null_mut(), 0).unwrap_err().status(), Status::Buffer);
            assert_eq!(fill("abc", buf.as_mut_ptr(), 3).unwrap_err().status(), Status::Buffer);
            assert_eq!(buf, [1; 4]);
            fill("abc", buf.as_mut_ptr(), 4).unwrap();
            assert_eq!(CStr::from_ptr(buf.as_ptr()), c"abc");
        }
    }

    #[test]
    fn texts_are_checked() {
        // SAFETY: NULL and NUL-ended literals.
        unsafe {
            assert_eq!(read(c"gr\u{fc}n".as_ptr(), "x").unwrap(), "grün");
            assert_eq!(read(c"".as_ptr(), "x").unwrap(), "");
            assert_eq!(read_if_any(ptr::null(), "x").unwrap(), None);
            let error = read(ptr::null(), "path").unwrap_err();
            assert_eq!((error.status(), error.option()), (Status::Null, Some("path")));
            let error = read(c"ab\xff".as_ptr(), "path").unwrap_err();
            assert_eq!((error.status(), error.option()), (Status::Encoding, Some("path")));
            assert_eq!(error.to_string(), "`path` is not UTF-8 from byte 2 on");
        }
    }

    #[test]
    fn bytes_are_checked() {
        let some = b"a\0b";
        // SAFETY: NULL, and bytes of this test with their length; the huge length is never used.
        unsafe {
            assert_eq!(bytes(some.as_ptr().cast(), 3, "x").unwrap(), some);
            assert_eq!(bytes(some.as_ptr().cast(), 0, "x").unwrap(), b"");
            assert_eq!(bytes(ptr::null(), 0, "x").unwrap(), b"");
            assert_eq!(bytes(ptr::null(), 1, "x").unwrap_err().status(), Status::Null);
            let huge = bytes(some.as_ptr().cast(), usize::MAX, "x").unwrap_err();
            assert_eq!(huge.status(), Status::Range);
        }
    }

    #[test]
    fn no_copy_is_cut() {
        assert_eq!(owned("a\0b").to_bytes(), "a\u{fffd}b".as_bytes());
        assert_eq!(one_line("a\r\n\tb").to_bytes(), b"a   b");
    }
}
