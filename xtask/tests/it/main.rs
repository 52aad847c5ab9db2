//! Tests of `cargo xtask` as a program.
#![allow(
    clippy::disallowed_methods,
    reason = "the tests of a tool make files by themselves"
)]
#![expect(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests fail by panicking and report what they skip"
)]

mod torture;
