//! Recognises and reads the stores of other programs, from their files alone. Never writes to them.
//!
//! [`recognise()`] says what a path holds, and [`open`] gives a [`ForeignPalace`]: collections of
//! records, facts, links, and findings about what is wrong. Each program has one file or folder and
//! one line in `importers.rs`.
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make and damage files")
)]
#![forbid(unsafe_code)]

mod batches;
mod cells;
pub mod chroma;
mod cortexa;
mod database;
mod fields;
mod importer;
mod importers;
mod json_lines;
mod loci;
mod mempalace;
mod memtomem;
mod opening;
mod palace;
mod recognise;
mod stamp;
mod vector;

pub use chroma::{Candidate, ChromaPalace};
pub use cortexa::CortexaPalace;
pub use importers::Kind;
pub use mempalace::{Companions, ExactPalace, companions};
pub use memtomem::MemtomemPalace;
pub use opening::open;
pub use palace::{
    ForeignCollection, ForeignPalace, ForeignRecord, LostRecord, OnBatch, ReadSummary,
    VectorCounts, VectorOrigin,
};
pub use recognise::{Recognised, recognise, recognise_as, usual_place_names, usual_places};
