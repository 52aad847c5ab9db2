//! Connects agents to Loci ([`wiring`]) and handles their hooks ([`hooks`]).
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make and damage files")
)]
#![forbid(unsafe_code)]

mod home;
pub mod hooks;
pub mod wiring;

pub use home::Home;
