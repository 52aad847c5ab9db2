//! Renames segment directories so that ChromaDB does not see them. Their contents stay unchanged.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use loci_core::{Error, Result};

use super::report::RenamedDirectory;

/// How many names are tried.
const ATTEMPTS: usize = 1000;

/// Renames a segment directory to `<name>.drift-<stamp>`.
pub(crate) fn quarantine_segment(from: &Path, stamp: &str) -> Result<RenamedDirectory> {
    let to = free_name(from, &format!(".drift-{stamp}"))?;
    // Nothing is deleted: the directory keeps every file under the new name, and `free_name` never
    // returns a name that is taken. `put_back` reverses the rename.
    std::fs::rename(from, &to).map_err(|source| Error::io("cannot rename", from, source))?;
    Ok(RenamedDirectory {
        from: from.to_owned(),
        to,
    })
}

/// Undoes renames, last one first.
pub(super) fn put_back(renamed: &[RenamedDirectory]) -> Result<()> {
    for RenamedDirectory { from, to } in renamed.iter().rev() {
        std::fs::rename(to, from).map_err(|source| Error::io("cannot rename back", to, source))?;
    }
    Ok(())
}

/// Appends a suffix to `path`, and a number if that name is taken.
pub(super) fn free_name(path: &Path, suffix: &str) -> Result<PathBuf> {
    free_name_ending(path, suffix, "")
}

/// Like [`free_name`], with an ending after the number.
pub(super) fn free_name_ending(path: &Path, suffix: &str, ending: &str) -> Result<PathBuf> {
    let named = |number: usize| {
        let mut name: OsString = path.as_os_str().to_owned();
        name.push(suffix);
        if number > 0 {
            name.push(format!("-{number}"));
        }
        name.push(ending);
        PathBuf::from(name)
    };
    (0..ATTEMPTS)
        .map(named)
        .find(|path| path.symlink_metadata().is_err())
        .ok_or_else(|| Error::Conflict {
            what: format!(
                "no free name is left for `{}{suffix}{ending}`",
                path.display()
            ),
        })
}
