//! Writes a file that a user names for output, such as an export.
//!
//! * A new file, or with `replace` an existing regular file, is written completely or not at all:
//!   the data is written under another name in the same directory, and then renamed. A replaced
//!   file keeps its owner, its group and its mode.
//! * A symbolic link is followed to its end, as `cp` does: the file there is replaced and the link
//!   stays. A dangling link is refused.
//! * A character device or a named pipe is written to and never replaced.
//! * A directory, a block device, a socket and every file of a palace are refused.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use loci_core::{Advice, Error, Result};
use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::palace::is_file_of_open_palace;
use crate::{own, owner, sync_parent};

/// The file that makes a directory a palace.
const DATABASE: &str = "palace.sqlite3";
/// Writing to a terminal must not make it the controlling terminal of this process.
const STREAM_FLAGS: i32 = OFlags::NOCTTY.union(OFlags::CLOEXEC).bits().cast_signed();

/// The target of output. Nothing has been created or changed yet.
#[derive(Debug)]
pub struct Target {
    /// The path after all links.
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    New,
    Replaced(Metadata),
    Stream,
}

impl Target {
    /// Checks the path. [`Error::Conflict`] for an existing file that may not be replaced,
    /// [`Error::InvalidInput`] for everything else that must not be written to.
    pub fn of(path: &Path, replace: bool) -> Result<Self> {
        let refused = |problem: &str| Err(Error::invalid(format!("`{}`", path.display()), problem));
        let look = |source| Error::io("cannot write", path, source);
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if fs::symlink_metadata(path).is_ok() {
                    return refused("is a dangling link");
                }
                let target = Self {
                    path: path.to_owned(),
                    kind: Kind::New,
                };
                refuse_inside_a_palace(&target.path)?;
                return Ok(target);
            }
            Err(error) => return Err(look(error)),
        };
        let kind = metadata.file_type();
        if kind.is_char_device() || kind.is_fifo() {
            return Ok(Self {
                path: path.to_owned(),
                kind: Kind::Stream,
            });
        }
        if kind.is_dir() {
            return refused("is a directory; name a file");
        }
        if !kind.is_file() {
            return refused("is neither a file nor a stream and is never replaced");
        }
        if is_file_of_open_palace(path, &metadata) {
            return refused("is a file of a palace");
        }
        if !replace {
            return Err(exists(path));
        }
        let target = Self {
            path: path.canonicalize().map_err(look)?,
            kind: Kind::Replaced(metadata),
        };
        refuse_inside_a_palace(&target.path)?;
        Ok(target)
    }

    /// The path, after all links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the output. A file gets its final name in [`Output::finish`].
    pub fn create(self) -> Result<Output> {
        let fail = |source| Error::io("cannot write", &self.path, source);
        if matches!(self.kind, Kind::Stream) {
            let mut options = OpenOptions::new();
            options.write(true).custom_flags(STREAM_FLAGS);
            let file = own::open_with(&self.path, &options).map_err(fail)?;
            return Ok(Output {
                file,
                temporary: None,
                target: self,
            });
        }
        let name = format!(".loci-export-{:016x}.tmp", fastrand::u64(..));
        let temporary = self.path.with_file_name(name);
        let mut options = OpenOptions::new();
        // The file is private from the first byte, because an export contains everything.
        options.write(true).mode(0o600);
        let file = own::create_with(&temporary, &options).map_err(fail)?;
        // From here on, dropping the output removes the temporary file.
        let output = Output {
            file,
            temporary: Some(temporary),
            target: self,
        };
        if let Kind::Replaced(old) = &output.target.kind {
            owner::keep_owner(&output.file, old)
                .map_err(|source| Error::io("cannot replace", &output.target.path, source))?;
        }
        Ok(output)
    }
}

/// Refuses a new path in the directory of any palace, open or not. It could take the name of a file
/// of the palace, and `forget` would not find it. The nearest existing folder of the path decides.
pub fn refuse_inside_a_palace(target: &Path) -> Result<()> {
    let absolute = std::path::absolute(target).unwrap_or_else(|_| target.to_owned());
    let above = absolute.parent().unwrap_or(&absolute);
    let Some(real) = above.ancestors().find_map(|part| part.canonicalize().ok()) else {
        return Ok(());
    };
    let is_palace = |directory: &Path| fs::symlink_metadata(directory.join(DATABASE)).is_ok();
    if real.ancestors().any(is_palace) {
        return Err(Error::invalid(
            format!("target `{}`", target.display()),
            "lies inside the palace; choose a place outside",
        ));
    }
    Ok(())
}

/// Output that is being written. Dropping it without [`Output::finish`] leaves the target
/// unchanged.
#[derive(Debug)]
pub struct Output {
    file: File,
    temporary: Option<PathBuf>,
    target: Target,
}

impl Output {
    /// Makes the complete file durable and renames it to its final name.
    pub fn finish(mut self) -> Result<()> {
        let path = &self.target.path;
        let fail = |source| Error::io("cannot write", path, source);
        let Some(temporary) = &self.temporary else {
            return self.file.flush().map_err(fail);
        };
        if let Kind::Replaced(old) = &self.target.kind {
            self.file.set_permissions(old.permissions()).map_err(fail)?;
        }
        self.file.sync_all().map_err(fail)?;
        // The file is complete and durable under another name. A crash before the rename leaves the
        // old target and the temporary file. A crash after it leaves the new file.
        match &self.target.kind {
            Kind::Replaced(_) => {
                // Another program may have replaced the target in the meantime.
                let there = fs::symlink_metadata(path);
                if there.is_ok_and(|metadata| !metadata.is_file()) {
                    return Err(Error::Conflict {
                        what: format!("`{}` was replaced by another program", path.display()),
                    });
                }
                fs::rename(temporary, path).map_err(fail)?;
            }
            Kind::New | Kind::Stream => match without_replacing(temporary, path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Err(exists(path));
                }
                named => named.map_err(fail)?,
            },
        }
        // Without this sync, a power cut could undo the rename after success was reported.
        sync_parent(path).map_err(fail)?;
        self.temporary = None;
        Ok(())
    }
}

/// Renames without replacing an existing file.
pub fn without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        renamed => return Ok(renamed?),
    }
    // A crash between link and unlink leaves two names of one complete file.
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // A file system with neither: only a file that appears at this very moment is replaced.
        Err(_) if fs::symlink_metadata(to).is_err() => fs::rename(from, to),
        Err(error) => Err(error),
    }
}

/// The folder that a new file will be in. An error if the name is taken or there is no such folder.
pub fn folder_of_new(target: &Path) -> Result<PathBuf> {
    if fs::symlink_metadata(target).is_ok() {
        return Err(Error::Conflict {
            what: format!("`{}` already exists", target.display()),
        });
    }
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    match fs::metadata(&folder) {
        Ok(metadata) if metadata.is_dir() => Ok(folder),
        Ok(_) => Err(Error::invalid(
            format!("target `{}`", target.display()),
            format!("`{}` is a file, not a folder", folder.display()),
        )),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Err(Error::invalid(
                format!("target `{}`", target.display()),
                format!("there is no folder `{}`", folder.display()),
            )
            .advise(Advice::CreateFolder { path: folder }))
        }
        Err(source) => Err(Error::io(
            "cannot read",
            &folder,
            owner::with_owner(source, &folder),
        )),
    }
}

fn exists(path: &Path) -> Error {
    Error::Conflict {
        what: format!("`{}` exists", path.display()),
    }
    .advise(Advice::Overwrite)
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // The output failed, and the target was not touched.
            let _ = fs::remove_file(temporary);
        }
    }
}
