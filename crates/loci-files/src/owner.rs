//! Who owns a new file.
//!
//! A process that runs as root in another user's directory must not leave files there that the user
//! cannot open. So as root a new file or directory gets the owner and group of the directory that
//! it is made in. For every other user the system decides, as always.
//!
//! Only what this process has created itself is handed over, through its open descriptor and before
//! anything is written to it. A path that leads to an existing file, a link among them, never
//! changes its owner.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::Path;

use rustix::fs::OFlags;

/// A link is not followed.
const FLAGS: i32 = OFlags::NOFOLLOW
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC)
    .bits()
    .cast_signed();

/// Whether this process may give files to other users.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The user that this process acts as.
pub fn current() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// A user as people know it: `alice (uid 1000)`, or `uid 1000` where the name is not known.
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
        // Names from a file that others may edit end up in commands to copy.
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        (found == uid && !name.is_empty() && name.chars().all(plain)).then(|| name.to_owned())
    })
}

/// Adds to an error of a path that this user may not reach who owns it, or the nearest directory
/// above it that can be seen.
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
/// fails, the file is removed: nobody but root could use it.
pub(crate) fn hand_over(file: File, path: &Path) -> io::Result<File> {
    if let Err(error) = give(&file, parent_of(path)) {
        let _ = fs::remove_file(path);
        return Err(error);
    }
    Ok(file)
}

/// `hand_over` for a directory that this process has just created.
pub fn hand_over_directory(path: &Path) -> io::Result<()> {
    if !is_root() {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(FLAGS);
    let given = crate::own::open_with(path, &options)
        .and_then(|directory| give(&directory, parent_of(path)));
    if given.is_err() {
        let _ = fs::remove_dir(path);
    }
    given
}

/// Gives a new file the owner and group of the file that it replaces. As root that is always done;
/// another user can keep its own files its own, and is refused otherwise.
pub fn keep_owner(new: &File, old: &Metadata) -> io::Result<()> {
    let now = new.metadata()?;
    if now.uid() == old.uid() && now.gid() == old.gid() {
        return Ok(());
    }
    // The owner of a file may change its group to another one that it is a member of.
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
    // What root makes in its own directories keeps the group that the system chose.
    if file_now.uid() == directory.uid() {
        return Ok(());
    }
    match fchown(file, Some(directory.uid()), Some(directory.gid())) {
        // In a container the owner may be a user that does not exist there. Then root is the user
        // who started the container, and may do what that user may.
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
