#![no_main]

#[path = "../../tests/fuzz/no_proxy.rs"]
mod no_proxy;

libfuzzer_sys::fuzz_target!(|data: &[u8]| no_proxy::check(data));
