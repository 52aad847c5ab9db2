//! The derived vector index: codes, snapshot file, checks.
//!
//! A snapshot is built from the vectors in the palace and registered there. Its file may be lost or
//! damaged at any time: [`open()`] and [`VectorIndex::warm`] then return [`Damage`], never wrong
//! rows. The index proposes *candidates*; the caller computes exact distances with [`QueryVector`].
//! This crate knows nothing about the store of the vectors. docs/format.md describes the file
//! format.
//!
//! ```
//! use loci_core::Metric;
//! use loci_index::{BuildSpec, Builder, Identity, QueryVector, SlotSet, open};
//! let dir = tempfile::tempdir()?;
//! let spec = BuildSpec {
//!     identity: Identity { palace: [7; 16], generation: 1, collection: 1 },
//!     covered: 2,
//!     dimension: 2,
//!     metric: Metric::Cosine,
//! };
//! let mut builder = Builder::create(dir.path(), spec, &[])?;
//! for (row, vector) in [(1, [1.0_f32, 0.0]), (2, [0.0, 1.0])] {
//!     builder.push(row, vector.map(f32::to_le_bytes).as_flattened())?;
//! }
//! let index = open(dir.path(), &builder.finish()?)?;
//! let query = QueryVector::new(Metric::Cosine, &[0.1, 0.9]);
//! let found = index.candidates(&query, 1, None, &SlotSet::new(0));
//! assert_eq!(found.rows, [2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make and damage files")
)]
#![deny(unsafe_code)]

mod aside;
mod build;
mod codes;
mod damage;
mod digest;
mod distance;
mod flat;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod index;
mod kernels;
mod layout;
mod leftovers;
mod memory;
mod open;
mod query;
mod registration;
mod rotation;
mod shortlist;
mod slots;
mod stored_codes;
mod stored_vector;
mod top;

pub use aside::{drift_files, set_aside};
pub use build::{BuildSpec, Builder};
pub use damage::Damage;
pub use digest::ContentDigest;
pub use distance::QueryVector;
pub use index::{Candidates, VectorIndex};
pub use leftovers::remove_leftovers;
pub use open::{SnapshotRows, open, snapshot_rows};
pub use registration::{Identity, Registration};
pub use slots::SlotSet;
pub use stored_vector::{stored_dimension, vector_from_bytes, vector_to_bytes};
pub use top::TopK;
