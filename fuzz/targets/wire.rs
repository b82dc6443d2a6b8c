#![no_main]

#[path = "../../tests/fuzz/wire.rs"]
mod wire;

libfuzzer_sys::fuzz_target!(|data: &[u8]| wire::check(data));
