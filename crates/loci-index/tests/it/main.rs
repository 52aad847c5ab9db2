//! The promises of a snapshot: it finds near rows, obeys filters, and reports damage.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests"
)]

mod builder;
mod damage;
mod data;
mod filtered;
mod fixture;
mod recall;
mod round_trip;
mod swapped;
