//! See `loci_fuzz::mcp_lines::run`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| loci_fuzz::mcp_lines::run(data));
