//! Foreign files, locks and directories, with real links, real locks and real processes.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests make and lock files by themselves"
)]

mod foreign;
mod locks;
