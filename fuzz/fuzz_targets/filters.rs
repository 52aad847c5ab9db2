//! See `loci_fuzz::filters::run`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| loci_fuzz::filters::run(data));
