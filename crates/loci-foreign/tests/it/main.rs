//! Palaces written by the real programs, read whole and damaged.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)]

mod cortexa;
mod damage;
mod mempalace;
mod memtomem;
mod peer;
mod recognised;
mod scene;
