//! See `loci_fuzz::transcripts::run`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| loci_fuzz::transcripts::run(data));
