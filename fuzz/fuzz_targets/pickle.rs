//! See `loci_fuzz::pickle::run`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| loci_fuzz::pickle::run(data));
