//! The interface between a file format and [`super::RowsBackend`].

use super::Row;
use crate::backend::DEFAULT_COLLECTION;
use crate::collection::Metric;
use crate::embedder::EmbedderIdentity;
use crate::error::Result;
use crate::palace_ref::PalaceRef;

/// Reads palaces of one format. [`super::RowsBackend`] turns it into a backend.
///
/// `load` reads a whole palace, so this is for data that fits into memory. Nothing is written.
pub trait Source: Send + Sync + 'static {
    /// The state of the files of a palace. Two states are equal if nothing changed in between.
    /// Names, lengths, times and inode numbers of the files are enough.
    type Stamp: PartialEq + Send + Sync;

    /// The name for `--backend` and `palace.toml`.
    fn name(&self) -> &'static str;

    /// The URL schemes that it serves. Empty for a format in directories.
    fn schemes(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether there is a palace of this format. Looks at names only, and creates nothing.
    fn detect(&self, palace: &PalaceRef) -> bool;

    /// The current state of the files. Every call on a palace uses it, so it must be cheap.
    fn stamp(&self, palace: &PalaceRef) -> Result<Self::Stamp>;

    /// Reads all collections. Called when the stamp changes.
    fn load(&self, palace: &PalaceRef) -> Result<Vec<SourceCollection>>;

    /// Whether an importer can read this format: see [`crate::Backend::can_be_imported`].
    fn can_be_imported(&self) -> bool {
        false
    }

    /// The collection that is used when none is named. By default `drawers`, otherwise the only
    /// one.
    fn default_collection(&self, names: &[&str]) -> Option<String> {
        match names {
            names if names.contains(&DEFAULT_COLLECTION) => None,
            [only] => Some((*only).to_owned()),
            _ => None,
        }
    }

    /// Total size of the files of a palace in bytes, for its status.
    fn bytes(&self, palace: &PalaceRef) -> Result<u64> {
        let _ = palace;
        Ok(0)
    }
}

/// A collection that a [`Source`] has read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SourceCollection {
    /// Its name.
    pub name: String,
    /// Distinguishes it from an earlier collection with the same name, so that handles of the
    /// earlier one become invalid. 0 if the format has no such number.
    pub number: u64,
    /// How distances are measured.
    pub metric: Metric,
    /// The dimension of its vectors, if the format records it. Otherwise the first vector decides.
    pub dimension: Option<usize>,
    /// The embedder that made its vectors, if it is known.
    pub embedder: Option<EmbedderIdentity>,
    /// Its drawers in insertion order. If all record numbers of the palace are 0, records are
    /// numbered in this order.
    pub rows: Vec<Row>,
}
