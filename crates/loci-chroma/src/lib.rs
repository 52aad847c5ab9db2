//! Reads, diagnoses, quarantines and repairs ChromaDB directories, and serves them as a read-only
//! backend.
//!
//! Everything works from the files alone: ChromaDB is not needed, and reading leaves no trace in
//! the directory. Only `quarantine` and `repair` write, and both keep the files that they replace.
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make and damage files")
)]
#![forbid(unsafe_code)]

mod backend;
mod catalog;
mod diagnosis;
mod directory;
mod finding;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod hnsw;
mod lost_rows;
mod openers;
mod pickle;
mod quarantine;
mod queue;
mod quoting;
mod records;
mod repair;
mod seq;
mod snapshot;
mod survey;
mod tables;

pub use backend::{BACKEND_NAME, ChromaBackend, KnownEmbedders};
pub use catalog::{CollectionRow, Version};
pub use diagnosis::{Diagnosis, STALE};
pub use directory::{DATABASE, Directory};
pub use finding::{Finding, FindingCode, Fix, SAMPLE, Severity};
pub use lost_rows::{Candidate, Evidence};
pub use openers::Opener;
pub use quarantine::{QuarantineOptions, QuarantineReport, Quarantined, quarantine};
pub use quoting::shell_quoted;
pub use records::{Gone, Record};
pub use repair::{
    Change, CollectionRepair, Models, RepairOptions, RepairReport, SetAside, repair,
    write_candidates,
};
pub use seq::SeqId;
pub use snapshot::{Access, Rebuilt, Snapshot, Table};
pub use survey::{Live, Origin, Survey, VectorCounts};
