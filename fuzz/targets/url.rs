#![no_main]

#[path = "../../tests/fuzz/url.rs"]
mod url;

libfuzzer_sys::fuzz_target!(|data: &[u8]| url::check(data));
