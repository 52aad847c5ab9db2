//! See `loci_fuzz::index::run`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| loci_fuzz::index::run(data));
