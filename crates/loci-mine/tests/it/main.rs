//! Tests of mining through its public interface.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

mod costs;
mod document;
mod noise;
mod place;
mod projects;
mod split;
mod tree;
mod walk;
mod watch;
