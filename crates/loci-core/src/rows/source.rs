//! What a read-only backend over rows must know of its format.

use super::Row;
use crate::backend::DEFAULT_COLLECTION;
use crate::collection::Metric;
use crate::embedder::EmbedderIdentity;
use crate::error::Result;
use crate::palace_ref::PalaceRef;

/// Reads palaces of one format. [`super::RowsBackend`] makes a backend of it.
///
/// `load` reads a palace as a whole, so this is for data that fits into memory. Nothing is written.
pub trait Source: Send + Sync + 'static {
    /// The state of the files of a palace. Two states are equal if nothing was changed in between:
    /// names, lengths, times and inode numbers of the files tell.
    type Stamp: PartialEq + Send + Sync;

    /// The name for `--backend` and `palace.toml`.
    fn name(&self) -> &'static str;

    /// The schemes of URLs that name its palaces. Empty for a format in directories.
    fn schemes(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether there is a palace of this format. Looks at names only, and creates nothing.
    fn detect(&self, palace: &PalaceRef) -> bool;

    /// The state of the files now. Every call on a palace asks for it, so it must be cheap.
    fn stamp(&self, palace: &PalaceRef) -> Result<Self::Stamp>;

    /// Reads all collections. Called when the stamp changed.
    fn load(&self, palace: &PalaceRef) -> Result<Vec<SourceCollection>>;

    /// Whether an import reads this format: see [`crate::Backend::can_be_imported`].
    fn can_be_imported(&self) -> bool {
        false
    }

    /// Which of these collections is used when none is named. By default `drawers`, else the only
    /// one.
    fn default_collection(&self, names: &[&str]) -> Option<String> {
        match names {
            names if names.contains(&DEFAULT_COLLECTION) => None,
            [only] => Some((*only).to_owned()),
            _ => None,
        }
    }

    /// Bytes of the files of a palace, for its status.
    fn bytes(&self, palace: &PalaceRef) -> Result<u64> {
        let _ = palace;
        Ok(0)
    }
}

/// A collection as a [`Source`] reads it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SourceCollection {
    /// Its name.
    pub name: String,
    /// Tells it from an earlier collection of the same name, so that handles of the earlier one
    /// end. 0 if the format cannot tell.
    pub number: u64,
    /// How distances are measured.
    pub metric: Metric,
    /// The dimension of its vectors, if the format records it. Otherwise the first vector decides.
    pub dimension: Option<usize>,
    /// The embedder that made its vectors, if it is known.
    pub embedder: Option<EmbedderIdentity>,
    /// Its drawers in the order of insertion. If all records of the palace are 0, they are numbered
    /// in this order.
    pub rows: Vec<Row>,
}
