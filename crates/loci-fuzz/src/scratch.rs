//! A directory for inputs that are read from files. It is in memory if the system supports that.

use std::path::Path;

use tempfile::TempDir;

/// A new directory that is removed when it is dropped.
pub(crate) fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    made.expect("a temporary directory")
}

/// Writes a file in the directory.
pub(crate) fn write(directory: &Path, name: &str, bytes: &[u8]) {
    std::fs::write(directory.join(name), bytes).expect("the file is written");
}
