//! Tests of loci-text.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

mod terms;
mod tokens;
mod when;
