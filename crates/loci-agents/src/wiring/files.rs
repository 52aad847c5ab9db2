//! Reads and writes configuration files of other programs. It follows links, keeps permissions, and
//! replaces files atomically.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use loci_files::FileLock;
use loci_palace::{Error, Result};
use xxhash_rust::xxh3::xxh3_128;

/// The size limit of a configuration file.
const LONGEST: u64 = 64 << 20;

/// How many links a path may go through.
const LINKS: usize = 40;

/// Returns the bytes of a file; `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let io = |source| Error::Io {
        action: "cannot read",
        path: path.to_owned(),
        source,
    };
    let file = match loci_files::foreign::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    if !file.metadata().map_err(io)?.is_file() {
        return Err(Error::invalid(
            format!("`{}`", path.display()),
            "not a file",
        ));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > LONGEST {
        return Err(Error::invalid(
            format!("`{}`", path.display()),
            "larger than 64 MiB",
        ));
    }
    Ok(Some(bytes))
}

/// Returns a name for these bytes.
pub(super) fn hash(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

/// Resolves all links of a path, so that files in a dotfiles repository stay there.
pub(super) fn target(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(link) => {
                let around = path.parent().unwrap_or(Path::new("/"));
                path = around.join(link);
            }
            Err(_) => return Ok(path),
        }
    }
    Err(Error::invalid(
        format!("`{}`", path.display()),
        "too many links",
    ))
}

/// Returns the missing directories above `path`, the outermost first.
pub(super) fn missing_directories(path: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = path
        .ancestors()
        .skip(1)
        .take_while(|directory| !directory.exists())
        .map(Path::to_owned)
        .collect();
    missing.reverse();
    missing
}

/// Returns the temporary path for the new bytes. All runs use the same one, so that a killed run
/// leaves at most one file.
pub(super) fn unfinished(target: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".loci-new");
    target.with_file_name(name)
}

/// Replaces the file that holds `expected` by `bytes`. The new file has the owner, the group and
/// the mode of the old one; if they cannot be kept, nothing changes. After a crash the file holds
/// the old bytes or the new ones.
pub(super) fn replace(target: &Path, bytes: &[u8], expected: Option<&[u8]>) -> Result<()> {
    let temporary = unfinished(target);
    let failed = |source| Error::Io {
        action: "cannot write",
        path: target.to_owned(),
        source,
    };
    write_new(&temporary, bytes, fs::metadata(target).ok()).map_err(failed)?;
    // Agents write these files at any time, and a change that was not read must not be lost.
    if read(target)?.as_deref() != expected {
        let _ = fs::remove_file(&temporary);
        return Err(Error::Conflict {
            what: format!(
                "`{}` was changed by another program in the meantime; run the command again",
                target.display()
            ),
        });
    }
    // The new bytes are durable under another name. A crash before the rename leaves the old file.
    fs::rename(&temporary, target)
        .and_then(|()| sync_directory(target))
        .map_err(failed)
}

fn write_new(path: &Path, bytes: &[u8], like: Option<fs::Metadata>) -> io::Result<()> {
    // What a killed run left: incomplete, or complete and never put in place.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = loci_files::own::create_new(path)?;
    let written = (|| {
        if let Some(like) = like {
            // The mode is set after the owner, because a change of the owner clears parts of the
            // mode.
            loci_files::owner::keep_owner(&file, &like)?;
            file.set_permissions(like.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()
    })();
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

/// Removes a file that holds `expected`.
pub(super) fn remove(target: &Path, expected: &[u8]) -> Result<()> {
    if read(target)?.as_deref() != Some(expected) {
        return Err(Error::Conflict {
            what: format!(
                "`{}` was changed by another program in the meantime; run the command again",
                target.display()
            ),
        });
    }
    // The journal still has the record of this file and drops it afterwards. A crash before this line
    // leaves the file and the record, so the next disconnect removes it.
    fs::remove_file(target)
        .and_then(|()| sync_directory(target))
        .map_err(|source| Error::Io {
            action: "cannot remove",
            path: target.to_owned(),
            source,
        })
}

/// Writes a file that only its owner can read, because configuration contains keys.
pub(super) fn keep(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |source| Error::Io {
        action: "cannot write",
        path: path.to_owned(),
        source,
    };
    let temporary = unfinished(path);
    // The bytes are synced before the rename, so a crash leaves the old file or the new one.
    private(&temporary, bytes)
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| sync_directory(path))
        .map_err(failed)
}

fn private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = loci_files::own::open_or_create(path, &options)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Creates a directory that only its owner can access.
pub(super) fn keep_directory(path: &Path) -> Result<()> {
    loci_files::create_directory(path).map_err(|source| Error::Io {
        action: "cannot create",
        path: path.to_owned(),
        source,
    })
}

#[cfg(unix)]
fn sync_directory(file: &Path) -> io::Result<()> {
    let directory = file.parent().unwrap_or(Path::new("/"));
    loci_files::sync_directory(directory)
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Takes the lock for changes of configuration, so that two runs do not interfere. It ends with the
/// process.
pub(super) fn lock(path: &Path) -> Result<FileLock> {
    FileLock::exclusive(path)
}
