//! Directories: made with their parents, and made durable.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::own;

/// Makes renames, new files and removals in a directory durable.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    own::open(path)?.sync_all()
}

/// Creates a directory of mode 0700 and its missing parents, unless they exist, and makes each new
/// name durable: the parent of every directory that was created is synced, innermost last.
pub fn create_directory(path: &Path) -> io::Result<()> {
    let mut missing: Vec<PathBuf> = path
        .ancestors()
        .take_while(|ancestor| !ancestor.as_os_str().is_empty() && !ancestor.is_dir())
        .map(Path::to_path_buf)
        .collect();
    missing.reverse();
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)?;
    for created in missing {
        sync_parent(&created)?;
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
