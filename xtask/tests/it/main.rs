//! Tests of `cargo xtask` as a program.
#![expect(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests fail by panicking and report what they skip"
)]

mod torture;
