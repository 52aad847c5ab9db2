//! What the server offers: the schemas of its tools, and what they cost a model.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests"
)]

mod schemas;
