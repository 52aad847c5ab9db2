//! The verb `import`: copies records into the palace. [`json_lines`] reads exports and other JSON
//! lines, [`foreign`] the stores of other programs.

pub mod foreign;
pub mod json_lines;

use std::collections::HashMap;

use loci_core::{Batch, Collection, Error, ErrorKind, Get, Metadata, Result, Selection};

/// What to do with a record whose id exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// The existing drawer is kept.
    #[default]
    Skip,
    /// The existing drawer is overwritten with the record.
    Update,
    /// The record is added under a new id, unless text and source are the same.
    Duplicate,
    /// Nothing is imported.
    Error,
}

/// Changes the patches of a batch so that they replace the metadata: keys that only the stored
/// drawer has are removed.
pub(crate) fn replace_metadata(collection: &dyn Collection, batch: &mut Batch) -> Result<()> {
    let stored = collection.get(&Get::new(Selection::ids(batch.ids.clone())))?;
    let stored: HashMap<String, Metadata> = stored.ids.into_iter().zip(stored.metadatas).collect();
    for (id, patch) in batch.ids.iter().zip(batch.metadatas.iter_mut().flatten()) {
        for key in stored
            .get(id)
            .into_iter()
            .flat_map(|metadata| metadata.0.keys())
        {
            patch.0.entry(key.clone()).or_insert(None);
        }
    }
    Ok(())
}

/// Whether an error is caused by the record, not by the store.
pub(crate) fn is_of_record(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Conflict)
}
