//! See `loci_fuzz::config_files::run`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| loci_fuzz::config_files::run(data));
