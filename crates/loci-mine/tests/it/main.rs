//! Tests of mining through its public interface.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

mod document;
mod place;
mod secrets;
mod split;
mod talk;
mod tree;
mod walk;
mod watch;
