//! Files that Loci itself makes: indexes, notes, models, temporary files.
//!
//! SQLite never opens them, so no lock is lost by closing them. A path that leads to a file that a
//! connection of this process holds all the same (somebody put a link there) is refused.
//!
//! A file that root makes in another user's directory belongs to that user: see [`crate::owner`].

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

/// What is read whole must be a regular file: a pipe would wait for a writer, and a device may have
/// no end. Files in `/proc` are regular.
fn check_regular(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
            Err(io::Error::other("it is not a regular file"))
        }
        _ => check(path),
    }
}

/// Opens a file of Loci's own for reading.
#[expect(clippy::disallowed_methods, reason = "the file is no database")]
pub fn open(path: &Path) -> io::Result<File> {
    check_regular(path)?;
    File::open(path)
}

/// Opens an existing file of Loci's own with options. The options must not create a file: use
/// [`create_with`] or [`open_or_create`] for that.
#[expect(clippy::disallowed_methods, reason = "the file is no database")]
pub fn open_with(path: &Path, options: &OpenOptions) -> io::Result<File> {
    check(path)?;
    options.open(path)
}

/// Makes a new file for writing; an existing one is an error.
pub fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    create_with(path, &options)
}

/// Makes a new file with options; an existing one, or a link, is an error.
#[expect(clippy::disallowed_methods, reason = "the file is new")]
pub fn create_with(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let file = options.clone().create_new(true).open(path)?;
    owner::hand_over(file, path)
}

/// Opens a file of Loci's own with options, or makes it. The options need not say that it is made.
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
            // Another process made it in between. A link that leads nowhere is no file of ours.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()) {
                    return Err(error);
                }
            }
            made => return made,
        }
    }
}

/// Reads a file of Loci's own.
#[expect(clippy::disallowed_methods, reason = "the file is no database")]
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    check_regular(path)?;
    fs::read(path)
}

/// Reads a file of Loci's own as text.
#[expect(clippy::disallowed_methods, reason = "the file is no database")]
pub fn read_to_string(path: &Path) -> io::Result<String> {
    check_regular(path)?;
    fs::read_to_string(path)
}

/// Writes a file of Loci's own.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).truncate(true);
    open_or_create(path, &options)?.write_all(bytes.as_ref())
}
