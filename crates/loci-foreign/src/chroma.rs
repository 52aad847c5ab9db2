//! ChromaDB: a SQLite database with records, a queue of writes, and HNSW files with the vectors.
//!
//! Everything is read from the files alone. ChromaDB is not needed, nothing is locked, and reading
//! leaves no trace in the directory. [`Directory`] opens one, [`Directory::survey`] says which
//! records a collection has and where the vector of each is, and [`Diagnosis`] adds what is wrong.
//! [`ChromaPalace`] is the importer. `loci-chroma` repairs a directory with what is read here.

mod catalog;
mod diagnosis;
mod directory;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod hnsw;
mod index_entries;
mod lost_rows;
mod palace;
mod pickle;
mod queue;
mod records;
mod seq;
mod survey;
mod tables;

use crate::importer::{Importer, Places, Signs};
use crate::mempalace;

pub use catalog::{CollectionRow, Version};
pub use diagnosis::{Diagnosis, STALE};
pub use directory::{DATABASE, DRIFT, Directory, INDEX_DATA, denied_index_file};
pub use lost_rows::{Candidate, Evidence};
pub use palace::ChromaPalace;
pub use queue::{LOWEST_WATERMARK, NUMBER_HOLDER};
pub use records::{MetadataLoss, Record};
pub use seq::SeqId;
pub use survey::{LiveRecord, Origin, Survey, VectorCounts};
pub use tables::TABLES;

/// The line of the table of importers.
pub(crate) const IMPORTER: Importer = Importer {
    program: "ChromaDB",
    family: None,
    mark: "`chroma.sqlite3`",
    signs: Signs {
        files: &[DATABASE],
        writer: |directory| mempalace::has_written(directory).then_some("MemPalace on ChromaDB"),
        ..Signs::NONE
    },
    open: Some(|path| Ok(Box::new(ChromaPalace::open(path)?))),
    usual_places: Places {
        shared_home: &[".chroma"],
        ..Places::NONE
    },
};

/// The number of ids in the bytes of an `index_metadata.pickle`. Damaged bytes give those that can
/// be read.
pub fn labelled_ids(bytes: &[u8]) -> u64 {
    pickle::read(bytes).pairs.len() as u64
}
