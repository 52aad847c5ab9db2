//! Tests of masking through its public interface.
#![allow(
    clippy::disallowed_methods,
    reason = "tests have no palace open whose locks could be lost"
)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

mod cost;
mod keys;
mod notes;
mod secrets;
mod surroundings;
