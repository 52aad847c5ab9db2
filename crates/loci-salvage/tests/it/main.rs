//! Salvage of databases that real SQLite wrote and the tests then damaged.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on says so by panicking"
)]

mod cut_file;
mod deleted;
mod first_page;
mod geometry;
mod healthy;
mod interior;
mod leaf;
mod log;
mod noise;
mod support;
mod wal;
mod whole;
