//! The owner of a new file.
//!
//! A process that runs as root in another user's directory must not leave files there that the user
//! cannot open. As root, a new file or directory therefore gets the owner and group of its
//! directory. For every other user, the system decides as usual.
//!
//! Only files that this process has created itself change their owner, through the open descriptor
//! and before anything is written to them. The owner of an existing file never changes, even if a
//! link leads to it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::Path;

use rustix::fs::OFlags;

/// Links are not followed.
const FLAGS: i32 = OFlags::NOFOLLOW
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC)
    .bits()
    .cast_signed();

/// Whether this process may change the owner of files.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The effective user of this process.
pub fn current() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// A user for display: `alice (uid 1000)`, or `uid 1000` if the name is unknown.
pub fn named(uid: u32) -> String {
    match name_of(uid) {
        Some(name) => format!("`{name}` (uid {uid})"),
        None => format!("uid {uid}"),
    }
}

/// The name of a user in `/etc/passwd`.
pub fn name_of(uid: u32) -> Option<String> {
    let users = crate::own::read(Path::new("/etc/passwd")).ok()?;
    String::from_utf8_lossy(&users).lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let found: u32 = fields.nth(1)?.parse().ok()?;
        // Others may edit the file, and names from it are printed as part of commands to copy.
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        (found == uid && !name.is_empty() && name.chars().all(plain)).then(|| name.to_owned())
    })
}

/// Adds to an error about an inaccessible path who owns it, or who owns the nearest parent that can
/// be read.
pub fn with_owner(error: io::Error, path: &Path) -> io::Error {
    if error.kind() != io::ErrorKind::PermissionDenied {
        return error;
    }
    let visible = path
        .ancestors()
        .find_map(|folder| Some((folder, fs::metadata(folder).ok()?)));
    match visible {
        Some((folder, metadata)) => {
            let (folder, owner) = (folder.display(), named(metadata.uid()));
            io::Error::new(
                error.kind(),
                format!("{error}; `{folder}` belongs to {owner}"),
            )
        }
        None => error,
    }
}

/// Gives a file that this process has just created at `path` to the owner of its directory. If that
/// fails, the file is removed, because only root could use it.
pub(crate) fn hand_over(file: File, path: &Path) -> io::Result<File> {
    if let Err(error) = give(&file, parent_of(path)) {
        // Nothing was written to the file yet, so nothing is lost.
        let _ = fs::remove_file(path);
        return Err(error);
    }
    Ok(file)
}

/// Does the same as `hand_over` for a directory that this process has just created.
pub fn hand_over_directory(path: &Path) -> io::Result<()> {
    if !is_root() {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(FLAGS);
    let handed_over = crate::own::open_with(path, &options)
        .and_then(|directory| give(&directory, parent_of(path)));
    if handed_over.is_err() {
        // `remove_dir` removes nothing if another process has put a file there in the meantime.
        let _ = fs::remove_dir(path);
    }
    handed_over
}

/// Gives a new file the owner and group of the file that it replaces. Root can always do that.
/// Other users can keep the owner of their own files only, and get an error otherwise.
pub fn keep_owner(new: &File, old: &Metadata) -> io::Result<()> {
    let now = new.metadata()?;
    if now.uid() == old.uid() && now.gid() == old.gid() {
        return Ok(());
    }
    // The owner of a file may change its group to another one of their groups.
    if now.uid() == old.uid() || is_root() {
        return fchown(new, Some(old.uid()), Some(old.gid())).map_err(|source| {
            let message = format!(
                "its owner {} and its group {} cannot be kept: {source}",
                named(old.uid()),
                old.gid()
            );
            io::Error::new(source.kind(), message)
        });
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("it belongs to {}", named(old.uid())),
    ))
}

fn give(file: &File, directory: &Path) -> io::Result<()> {
    if !is_root() {
        return Ok(());
    }
    let (file_now, directory) = (file.metadata()?, fs::metadata(directory)?);
    // Files that root creates in its own directories keep the group that the system chose.
    if file_now.uid() == directory.uid() {
        return Ok(());
    }
    match fchown(file, Some(directory.uid()), Some(directory.gid())) {
        // In a container the owner may be a user that does not exist there. Root is then the user
        // who started the container, and has the permissions of that user.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        Err(error) => {
            let owner = named(directory.uid());
            let message =
                format!("it cannot be given to {owner}, which owns its directory: {error}");
            Err(io::Error::new(error.kind(), message))
        }
        Ok(()) => Ok(()),
    }
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
