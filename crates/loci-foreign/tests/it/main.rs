//! Stores that the real programs wrote, read intact and damaged.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)]

mod chroma;
#[path = "../chroma_scenes/mod.rs"]
mod chroma_scenes;
mod cortexa;
mod damage;
mod importers;
mod mempalace;
mod memtomem;
mod peer;
mod recognised;
mod scene;
