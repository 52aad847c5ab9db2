//! See `loci_fuzz::sqlite_pages::run`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| loci_fuzz::sqlite_pages::run(data));
