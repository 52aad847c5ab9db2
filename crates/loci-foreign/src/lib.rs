//! Recognises and reads the palaces of other programs, from their files alone. Never writes to
//! them.
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make and damage files")
)]
#![forbid(unsafe_code)]

mod cells;
pub mod chroma;
mod cortexa;
mod database;
mod fields;
mod handing;
mod mempalace;
mod memtomem;
mod opening;
mod palace;
mod recognise;
mod stamp;
mod vector;

pub use chroma::{Candidate, ChromaPalace};
pub use cortexa::CortexaPalace;
pub use mempalace::{Companions, ExactPalace, companions};
pub use memtomem::MemtomemPalace;
pub use opening::open;
pub use palace::{
    ForeignCollection, ForeignPalace, ForeignRecord, Kind, LostRecord, Readout, Take, VectorCounts,
    VectorOrigin,
};
pub use recognise::{Recognised, recognise, recognise_as, usual_places};
