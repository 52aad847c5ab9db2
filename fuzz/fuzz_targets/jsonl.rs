//! See `loci_fuzz::jsonl::run`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| loci_fuzz::jsonl::run(data));
