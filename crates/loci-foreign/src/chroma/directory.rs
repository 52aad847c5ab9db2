//! A ChromaDB directory, open for reading.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use loci_core::{Error, Result};
use loci_salvage::Snapshot;

use crate::chroma::catalog::{Catalog, CollectionRow, Version};
use crate::chroma::hnsw;
use crate::chroma::index_entries::IndexEntries;
use crate::chroma::lost_rows::{Candidate, LostRows};
use crate::chroma::survey::files::PICKLE;
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
        // Vectors may be in quarantined directories, which only the list shows.
        std::fs::read_dir(path).map_err(|source| Error::reading(path, source))?;
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
            .filter(|name| {
                let directory = self.path.join(name);
                directory.join(INDEX_DATA).is_file() || denied_index_file(&directory).is_some()
            })
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
    match database.metadata() {
        Ok(info) if info.is_file() => Ok(database),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(Error::reading(database, error))
        }
        _ => Err(Error::PalaceNotFound {
            path: path.to_owned(),
        }),
    }
}

/// The first of the files of an index that exists and that this user may not read, with the error
/// of the system. It is the directory itself if its files cannot be looked up and its name is one
/// that ChromaDB gives to an index.
pub fn denied_index_file(directory: &Path) -> Option<(PathBuf, io::Error)> {
    let is_denied = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    for name in hnsw::FILES.iter().chain([&PICKLE]) {
        let file = directory.join(name);
        match file.metadata() {
            Ok(info) if info.is_file() => match loci_files::foreign::open(&file) {
                Err(error) if is_denied(&error) => return Some((file, error)),
                _ => {}
            },
            Err(error) if is_denied(&error) => {
                return has_index_name(directory).then(|| (directory.to_owned(), error));
            }
            _ => {}
        }
    }
    None
}

/// Whether the name of a directory starts with a UUID, as those of indexes and of quarantined
/// indexes do.
fn has_index_name(directory: &Path) -> bool {
    const LENGTHS: [usize; 5] = [8, 4, 4, 4, 12];
    let name = directory.file_name().and_then(|name| name.to_str());
    let Some(uuid) = name.and_then(|name| name.get(..36)) else {
        return false;
    };
    uuid.split('-').map(str::len).eq(LENGTHS)
        && uuid
            .bytes()
            .all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}
