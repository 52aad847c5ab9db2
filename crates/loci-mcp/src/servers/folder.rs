//! The directory of the server files: `$XDG_RUNTIME_DIR/loci`, else `servers` in the state
//! directory. Only a directory of this user that no other user can write to is trusted.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use loci_palace::{Error, Result, state_directory};

/// The permission bits of group and others.
pub(super) const OTHERS: u32 = 0o077;

/// The directory for a new file, created with mode 0700 if it is missing.
pub(super) fn to_write() -> Result<PathBuf> {
    let Some(folder) = runtime().or_else(state) else {
        return Err(Error::invalid(
            "the server's token file",
            "cannot be written, because there is no home directory; set HOME or XDG_RUNTIME_DIR",
        ));
    };
    loci_files::create_directory(&folder)
        .and_then(|()| make_private(&folder))
        .map_err(|error| Error::io("cannot store the server's token in", &folder, error))?;
    Ok(folder)
}

/// The directories that may contain files of this user's servers. Both are read, so that a client
/// with `XDG_RUNTIME_DIR` finds a server that was started without it.
pub(super) fn to_read() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for folder in [runtime(), state()].into_iter().flatten() {
        if is_private(&folder) && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// Whether a file or directory belongs to this user.
pub(super) fn is_ours(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

fn runtime() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR")?);
    let about = folder.is_absolute().then(|| fs::metadata(&folder).ok())??;
    let is_safe = about.is_dir() && is_ours(&about) && about.mode() & 0o022 == 0;
    is_safe.then(|| folder.join("loci"))
}

fn state() -> Option<PathBuf> {
    state_directory().map(|folder| folder.join("servers"))
}

fn is_private(folder: &Path) -> bool {
    fs::symlink_metadata(folder)
        .is_ok_and(|about| about.is_dir() && is_ours(&about) && about.mode() & OTHERS == 0)
}

fn make_private(folder: &Path) -> io::Result<()> {
    let about = fs::symlink_metadata(folder)?;
    if !about.is_dir() || !is_ours(&about) {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it is not a directory of this user",
        ));
    }
    if about.mode() & OTHERS != 0 {
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    Ok(())
}
