//! A ChromaDB directory, open for reading.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use loci_core::{Error, Result};
use loci_salvage::Snapshot;

use crate::chroma::catalog::{Catalog, CollectionRow, Version};
use crate::chroma::index_entries::IndexEntries;
use crate::chroma::lost_rows::{Candidate, LostRows};
use crate::chroma::tables::TABLES;

/// The database of a ChromaDB directory.
pub const DATABASE: &str = "chroma.sqlite3";
/// The file that identifies a directory of index files.
pub const INDEX_DATA: &str = "data_level0.bin";
/// The suffix of a quarantined directory.
pub const DRIFT: &str = ".drift-";

/// A ChromaDB directory at one moment. Reads only files, takes no lock and writes nothing there.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    snapshot: Snapshot,
    catalog: Catalog,
    index_entries: IndexEntries,
    lost_rows: OnceLock<LostRows>,
}

impl Directory {
    /// Opens the directory.
    pub fn open(path: &Path) -> Result<Self> {
        Self::from(path, Snapshot::take(&database(path)?, TABLES)?)
    }

    /// Opens the directory with a private copy of the database, for use while another program keeps
    /// changing it.
    pub fn open_copy(path: &Path) -> Result<Self> {
        Self::from(path, Snapshot::copy(&database(path)?, TABLES)?)
    }

    fn from(path: &Path, snapshot: Snapshot) -> Result<Self> {
        Ok(Self {
            catalog: Catalog::read(&snapshot, path)?,
            path: path.to_owned(),
            index_entries: IndexEntries::read(&snapshot),
            snapshot,
            lost_rows: OnceLock::new(),
        })
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The database.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The version of ChromaDB that wrote it.
    pub fn version(&self) -> &Version {
        &self.catalog.version
    }

    /// No write ever got a number above this one. A watermark or record with a higher number is
    /// damaged.
    pub fn highest_credible(&self) -> u64 {
        self.catalog.highest_credible
    }

    /// The collections.
    pub fn collections(&self) -> &[CollectionRow] {
        &self.catalog.collections
    }

    /// Lost rows that an index of their table still names.
    pub(crate) fn index_entries(&self) -> &IndexEntries {
        &self.index_entries
    }

    /// Records whose rows are lost. The search runs once.
    pub(crate) fn lost_rows(&self) -> Result<&LostRows> {
        if let Some(found) = self.lost_rows.get() {
            return Ok(found);
        }
        let found = LostRows::find(self)?;
        Ok(self.lost_rows.get_or_init(|| found))
    }

    /// Texts that may belong to records whose rows are lost.
    pub fn candidates(&self) -> Result<&[Candidate]> {
        Ok(&self.lost_rows()?.candidates)
    }

    /// Names of directories beside the database that hold index files, sorted.
    pub(crate) fn index_directories(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(&self.path) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .filter(|name| self.path.join(name).join(INDEX_DATA).is_file())
            .collect();
        names.sort_unstable();
        names
    }

    /// Index directories that no collection uses. The quarantined directories of `segment` come
    /// first, latest first. If `segment` is given, those of other collections are left out: they
    /// hold other vectors, even under the same ids.
    pub(crate) fn quarantined(&self, segment: Option<&str>) -> Vec<String> {
        let mut names: Vec<String> = self
            .index_directories()
            .into_iter()
            .filter(|name| {
                let mut segments = self
                    .collections()
                    .iter()
                    .filter_map(|row| row.vector_segment.as_deref());
                segments.all(|other| {
                    let of_other = segment.is_some_and(|segment| segment != other)
                        && name
                            .strip_prefix(other)
                            .is_some_and(|rest| rest.starts_with(DRIFT));
                    other != name && !of_other
                })
            })
            .collect();
        names.sort_by_key(|name| {
            let own = segment.is_some_and(|segment| name.starts_with(segment));
            (std::cmp::Reverse(own), std::cmp::Reverse(name.clone()))
        });
        names
    }
}

fn database(path: &Path) -> Result<PathBuf> {
    let database = path.join(DATABASE);
    if database.is_file() {
        Ok(database)
    } else {
        Err(Error::PalaceNotFound {
            path: path.to_owned(),
        })
    }
}
