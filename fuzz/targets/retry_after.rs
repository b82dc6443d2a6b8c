#![no_main]

#[path = "../../tests/fuzz/retry_after.rs"]
mod retry_after;

libfuzzer_sys::fuzz_target!(|data: &[u8]| retry_after::check(data));
