#![no_main]

#[path = "../../tests/fuzz/answer.rs"]
mod answer;

libfuzzer_sys::fuzz_target!(|data: &[u8]| answer::check(data));
