#![no_main]

#[path = "../../tests/fuzz/proxy_url.rs"]
mod proxy_url;

libfuzzer_sys::fuzz_target!(|data: &[u8]| proxy_url::check(data));
