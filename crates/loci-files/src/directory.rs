//! Creates directories with their parents, and makes names durable.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::{own, owner};

/// Makes renames, new files and removals in a directory durable. The parent of a bare file name is
/// empty, and means the current directory.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    let current = path.as_os_str().is_empty();
    own::open(if current { Path::new(".") } else { path })?.sync_all()
}

/// Creates a directory with mode 0700 and its missing parents, and makes each new name durable by
/// syncing the parent of every created directory, innermost last. If the process is root, each new
/// directory gets the owner of its parent.
pub fn create_directory(path: &Path) -> io::Result<()> {
    create_directory_with(path, 0o700)
}

/// [`create_directory`] with another mode, to which the umask of the process applies.
pub fn create_directory_with(path: &Path, mode: u32) -> io::Result<()> {
    let mut missing: Vec<PathBuf> = path
        .ancestors()
        .take_while(|ancestor| !ancestor.as_os_str().is_empty() && !ancestor.is_dir())
        .map(Path::to_path_buf)
        .collect();
    missing.reverse();
    let mut builder = fs::DirBuilder::new();
    builder.mode(mode);
    for directory in missing {
        match builder.create(&directory) {
            Ok(()) => owner::hand_over_directory(&directory)?,
            // Another process created it in the meantime. Anything else with that name is an error.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => {}
            // A parent of the path is a file.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory != path => {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            Err(error) => return Err(error),
        }
        sync_parent(&directory)?;
    }
    Ok(())
}

/// Makes the name of a file or directory durable.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
        _ => sync_directory(Path::new(".")),
    }
}
