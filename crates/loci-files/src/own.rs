//! Files that Loci itself makes: indexes, notes, models, temporary files.
//!
//! SQLite never opens them, so no lock is lost by closing them. A path that leads to a file that a
//! connection of this process holds all the same (somebody put a link there) is refused.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use crate::palace::{FileId, is_held, refused};

fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if is_held(FileId::of(&metadata)) => Err(refused()),
        _ => Ok(()),
    }
}

/// Opens a file of Loci's own for reading.
#[expect(clippy::disallowed_methods, reason = "the file is no database")]
pub fn open(path: &Path) -> io::Result<File> {
    check(path)?;
    File::open(path)
}

/// Opens a file of Loci's own with options.
#[expect(clippy::disallowed_methods, reason = "the file is no database")]
pub fn open_with(path: &Path, options: &OpenOptions) -> io::Result<File> {
    check(path)?;
    options.open(path)
}

/// Makes a new file for writing; an existing one is an error.
#[expect(clippy::disallowed_methods, reason = "the file is new")]
pub fn create_new(path: &Path) -> io::Result<File> {
    File::create_new(path)
}

/// Reads a file of Loci's own.
#[expect(clippy::disallowed_methods, reason = "the file is no database")]
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    check(path)?;
    fs::read(path)
}

/// Reads a file of Loci's own as text.
#[expect(clippy::disallowed_methods, reason = "the file is no database")]
pub fn read_to_string(path: &Path) -> io::Result<String> {
    check(path)?;
    fs::read_to_string(path)
}

/// Writes a file of Loci's own.
#[expect(clippy::disallowed_methods, reason = "the file is no database")]
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    check(path)?;
    fs::write(path, bytes)
}
