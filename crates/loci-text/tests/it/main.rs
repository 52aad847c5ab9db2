//! Tests of loci-text.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

mod terms;
mod tokens;
mod when;
