//! The agents that use Loci: how they are wired to it ([`wiring`]), and what their hooks do ([`hooks`]).
#![forbid(unsafe_code)]

mod home;
pub mod hooks;
pub mod wiring;

pub use home::Home;
