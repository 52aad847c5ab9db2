//! See `loci_fuzz::text::run`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| loci_fuzz::text::run(data));
