//! Copies a whole directory, so that the copy is repaired instead of the original.

use std::path::Path;

use loci_core::{Error, Result};

/// A copy of a directory at a path that is new, or an empty directory.
pub(super) struct NewCopy<'a> {
    from: &'a Path,
    to: &'a Path,
    /// Whether the directory existed, empty.
    existed: bool,
}

impl<'a> NewCopy<'a> {
    /// Checks whether the copy can be made. Creates nothing.
    pub(super) fn of(from: &'a Path, to: &'a Path) -> Result<Self> {
        check(from, to)?;
        let existed = to.is_dir();
        Ok(Self { from, to, existed })
    }

    /// Copies files and folders and skips everything else.
    pub(super) fn fill(&self) -> Result<()> {
        copy_folder(self.from, self.to)
    }

    /// Removes the copy. What cannot be removed stays; the caller reports another error.
    pub(super) fn remove(&self) {
        let _ = std::fs::remove_dir_all(self.to);
        if self.existed {
            let _ = std::fs::create_dir(self.to);
        }
    }
}

fn check(from: &Path, to: &Path) -> Result<()> {
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
            "is inside the directory to copy; choose another path",
        ));
    }
    loci_files::output::refuse_inside_a_palace(to)
}

/// Whether `to` would be inside `from`. `to` need not exist; its nearest existing ancestor decides.
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

/// Copies with an explicit stack instead of recursion, so that any depth is safe. A ChromaDB
/// directory is two levels deep.
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
                .map_err(|source| Error::io("cannot read", &path, source))?;
            // Segments may be links to another disk. Links to directories are followed at the top
            // level only.
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
