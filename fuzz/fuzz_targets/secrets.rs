//! See `loci_fuzz::secrets::run`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| loci_fuzz::secrets::run(data));
