//! The agents that use Loci: how they are wired to it ([`wiring`]), and what their hooks do
//! ([`hooks`]).
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make and damage files")
)]
#![forbid(unsafe_code)]

mod home;
pub mod hooks;
pub mod wiring;

pub use home::Home;
