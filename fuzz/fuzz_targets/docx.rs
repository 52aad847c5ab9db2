//! See `loci_fuzz::documents::docx`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| loci_fuzz::documents::docx(data));
