//! Identifies the state of a ChromaDB directory by the sizes and times of its files.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;

use loci_core::{Error, Result};
use loci_foreign::chroma::DATABASE;
use xxhash_rust::xxh3::Xxh3;

/// The version of the mirror format. A change makes all mirrors be rebuilt.
pub(super) const MIRROR_VERSION: u32 = 3;
/// The length of the file header, in which SQLite counts its commits.
const HEAD: u64 = 100;
/// The files of a vector segment.
const INDEX_FILES: [&str; 5] = [
    "header.bin",
    "data_level0.bin",
    "length.bin",
    "link_lists.bin",
    "index_metadata.pickle",
];

/// The fingerprint of the directory in its current state.
pub(super) fn of(path: &Path) -> Result<String> {
    let taken = || -> io::Result<String> {
        let mut hash = Xxh3::new();
        hash.update(&MIRROR_VERSION.to_le_bytes());
        for companion in ["", "-journal", "-wal"] {
            note(&mut hash, &path.join(format!("{DATABASE}{companion}")))?;
        }
        let mut head = Vec::new();
        loci_files::foreign::open(&path.join(DATABASE))?
            .take(HEAD)
            .read_to_end(&mut head)?;
        hash.update(&head);
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                names.push(entry.file_name());
            }
        }
        names.sort_unstable();
        for name in names {
            hash.update(name.as_encoded_bytes());
            for file in INDEX_FILES {
                note(&mut hash, &path.join(&name).join(file))?;
            }
        }
        Ok(format!("{:032x}", hash.digest128()))
    };
    taken().map_err(|source| Error::io("cannot read", path, source))
}

/// Hashes the length, times and inode of a file. A missing file has a hash of its own.
fn note(hash: &mut Xxh3, path: &Path) -> io::Result<()> {
    let info = match fs::metadata(path) {
        Ok(info) => info,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            hash.update(b"-");
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    hash.update(b"+");
    hash.update(&info.len().to_le_bytes());
    let modified = info.modified()?.duration_since(UNIX_EPOCH);
    hash.update(&modified.map_or(0, |since| since.as_nanos()).to_le_bytes());
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        hash.update(&info.ino().to_le_bytes());
        hash.update(&info.ctime().to_le_bytes());
        hash.update(&info.ctime_nsec().to_le_bytes());
    }
    Ok(())
}

/// The name of the shelf for all states of one directory.
pub(super) fn shelf(path: &Path) -> String {
    format!(
        "{:032x}",
        xxhash_rust::xxh3::xxh3_128(path.as_os_str().as_encoded_bytes())
    )
}
