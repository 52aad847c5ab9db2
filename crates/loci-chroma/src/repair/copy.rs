//! A copy of a whole directory, to be mended instead of it.

use std::path::Path;

use loci_core::{Error, Result};

/// Copies files and folders; what is neither is left out.
pub(super) fn copy_directory(from: &Path, to: &Path) -> Result<()> {
    let taken = std::fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some());
    if taken || to.is_file() {
        return Err(Error::Conflict {
            what: format!(
                "`{}` is not empty; name a directory that does not exist",
                to.display()
            ),
        });
    }
    if inside(to, from) {
        return Err(Error::invalid(
            format!("`{}`", to.display()),
            "lies inside the directory that is copied; name another",
        ));
    }
    loci_files::output::refuse_inside_a_palace(to)?;
    copy_folder(from, to)
}

/// Whether `to`, which need not exist, would lie inside `from`: the nearest part of it that exists tells.
fn inside(to: &Path, from: &Path) -> bool {
    let Ok(from) = from.canonicalize() else {
        return false;
    };
    let absolute = std::path::absolute(to).unwrap_or_else(|_| to.to_owned());
    absolute
        .ancestors()
        .find_map(|part| part.canonicalize().ok())
        .is_some_and(|part| part.starts_with(&from))
}

/// A ChromaDB directory is two levels deep; an explicit list keeps any depth harmless.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    let top = from;
    let mut folders = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = folders.pop() {
        loci_files::create_directory_with(&to, 0o777)
            .map_err(|source| Error::io("cannot create", &to, source))?;
        let entries =
            std::fs::read_dir(&from).map_err(|source| Error::io("cannot list", &from, source))?;
        for entry in entries {
            let entry = entry.map_err(|source| Error::io("cannot list", &from, source))?;
            let path = entry.path();
            let target = to.join(entry.file_name());
            let kind = entry
                .file_type()
                .map_err(|source| Error::io("cannot look at", &path, source))?;
            // Segments may lie on another disk; what links lead to is followed from the directory itself alone.
            if kind.is_dir() || kind.is_symlink() && path.is_dir() && from == top {
                folders.push((path, target));
            } else if path.is_file() {
                loci_files::foreign::copy(&path, &target)
                    .map_err(|source| Error::io("cannot copy", &path, source))?;
            }
        }
    }
    Ok(())
}
