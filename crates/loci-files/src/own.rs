//! Files that Loci itself creates: indexes, notes, models, temporary files.
//!
//! SQLite never opens them, so closing them drops no lock. If such a path leads to a file of an
//! open connection of this process nevertheless, for example through a link, it is refused.
//!
//! A file that root creates in another user's directory belongs to that user: see [`crate::owner`].

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use crate::owner;
use crate::palace::{FileId, is_held, refused};

fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if is_held(FileId::of(&metadata)) => Err(refused()),
        _ => Ok(()),
    }
}

/// Only a regular file may be read as a whole: a pipe would wait for a writer, and a device may be
/// endless. Files in `/proc` are regular.
fn check_regular(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
            Err(io::Error::other("it is not a regular file"))
        }
        _ => check(path),
    }
}

/// Opens one of Loci's own files for reading.
#[expect(clippy::disallowed_methods, reason = "the file is not a database")]
pub fn open(path: &Path) -> io::Result<File> {
    check_regular(path)?;
    File::open(path)
}

/// Opens one of Loci's own existing files with options. The options must not create a file: use
/// [`create_with`] or [`open_or_create`] for that.
#[expect(clippy::disallowed_methods, reason = "the file is not a database")]
pub fn open_with(path: &Path, options: &OpenOptions) -> io::Result<File> {
    check(path)?;
    options.open(path)
}

/// Creates a new file for writing. An existing file is an error.
pub fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    create_with(path, &options)
}

/// Creates a new file with options. An existing file or link is an error.
#[expect(clippy::disallowed_methods, reason = "the file is new")]
pub fn create_with(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let file = options.clone().create_new(true).open(path)?;
    owner::hand_over(file, path)
}

/// Opens one of Loci's own files with options, or creates it. The options need not include
/// creation.
pub fn open_or_create(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let existing = {
        let mut options = options.clone();
        options.create(false);
        options
    };
    loop {
        match open_with(path, &existing) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        match create_with(path, options) {
            // Another process created it in between. A dangling link is not one of Loci's files.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()) {
                    return Err(error);
                }
            }
            made => return made,
        }
    }
}

/// Reads one of Loci's own files.
#[expect(clippy::disallowed_methods, reason = "the file is not a database")]
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    check_regular(path)?;
    fs::read(path)
}

/// Reads one of Loci's own files as text.
#[expect(clippy::disallowed_methods, reason = "the file is not a database")]
pub fn read_to_string(path: &Path) -> io::Result<String> {
    check_regular(path)?;
    fs::read_to_string(path)
}

/// Writes one of Loci's own files.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).truncate(true);
    open_or_create(path, &options)?.write_all(bytes.as_ref())
}
