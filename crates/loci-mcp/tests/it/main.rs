//! What the server offers: the schemas of its tools, what they cost a model, and a session on a backend that is not SQLite.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests"
)]

mod answers;
mod in_memory;
mod read_only;
mod schemas;
