//! See `loci_fuzz::hnsw::run`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| loci_fuzz::hnsw::run(data));
