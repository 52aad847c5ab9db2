//! What a snapshot promises: it finds what is near, obeys filters, and damage is told, never believed.
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
