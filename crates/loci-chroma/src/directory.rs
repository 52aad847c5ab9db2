//! What a repair and a quarantine require of a directory before they change anything in it.

use std::io;
use std::path::Path;

use loci_core::{Error, Result, quoted_path};
use loci_foreign::chroma::{DATABASE, denied_index_file};

/// Refuses a path that is not a ChromaDB directory, and one that this user may not list.
pub fn require_directory(path: &Path) -> Result<()> {
    let database = path.join(DATABASE);
    match database.metadata() {
        Ok(info) if info.is_file() => {}
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(Error::reading(database, error));
        }
        _ => {
            return Err(Error::invalid(
                format!("no ChromaDB directory at {}", quoted_path(path)),
                format!("there is no `{DATABASE}` in it"),
            ));
        }
    }
    match std::fs::read_dir(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::reading(path, error)),
    }
}

/// Refuses if this user may not read a file of an index. Files that cannot be read may be intact.
pub(crate) fn require_readable_indexes(path: &Path) -> Result<()> {
    let entries = std::fs::read_dir(path).map_err(|source| Error::reading(path, source))?;
    for entry in entries.flatten() {
        if let Some((file, source)) = denied_index_file(&entry.path()) {
            return Err(Error::reading(file, source));
        }
    }
    Ok(())
}
