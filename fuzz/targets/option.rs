#![no_main]

#[path = "../../tests/fuzz/option.rs"]
mod option;

libfuzzer_sys::fuzz_target!(|data: &[u8]| option::check(data));
