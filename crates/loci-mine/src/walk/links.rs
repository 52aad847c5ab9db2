//! Resolves links. A link to a file below the roots is that file, under its real path. A link to a
//! file outside is followed only if the rules say so; otherwise anyone who can write to the tree
//! could name any file of the user. A link to a folder is never entered: inside the roots its
//! content is met at its real path, and outside of them it was not requested.

use std::collections::HashSet;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use super::reach::Reach;
use super::reason;
use super::roots::{Roots, real_path};
use super::{FollowLinks, Rules, WalkEntry, found};

/// The error code of "Too many levels of symbolic links".
const LOOP: i32 = if cfg!(any(target_os = "linux", target_os = "android")) {
    40
} else {
    62
};

/// The links of one walk, and the files met through them, so that nothing is met twice.
#[derive(Debug)]
pub(crate) struct Links {
    reach: Reach,
    met: HashSet<PathBuf>,
}

impl Links {
    pub(crate) fn new(roots: Roots, rules: &Rules) -> Self {
        Self {
            reach: Reach::new(roots, rules),
            met: HashSet::new(),
        }
    }

    /// Returns the result for the link at `path`, met in root number `root`.
    pub(super) fn follow(&mut self, path: &Path, root: usize) -> WalkEntry {
        let skipped = |reason| WalkEntry::Skipped {
            path: path.to_path_buf(),
            reason,
        };
        if self.reach.rules().follow_links == FollowLinks::Never {
            return skipped(reason::LINK);
        }
        let target = match target(path) {
            Ok(Ok(target)) => target,
            Ok(Err(reason)) => return skipped(reason),
            Err(error) => {
                return WalkEntry::Failed {
                    path: path.to_path_buf(),
                    error,
                };
            }
        };
        match target {
            Target::Folder(real) if path.starts_with(&real) => skipped(reason::LOOP),
            Target::Folder(real) if self.reach.roots().around(&real).is_some() => {
                skipped(reason::MET_ELSEWHERE)
            }
            Target::Folder(_) => skipped(reason::FOLDER_OUTSIDE),
            Target::File(real) if !self.reach.may_follow(&real) => skipped(reason::FILE_OUTSIDE),
            Target::File(real)
                if self.reach.admits(&real, false) || !self.met.insert(real.clone()) =>
            {
                skipped(reason::MET_ELSEWHERE)
            }
            Target::File(real) if super::in_palace(&real) => skipped(reason::PALACE),
            Target::File(real) => match fs::symlink_metadata(&real) {
                Ok(metadata) => found(real, root, &metadata, self.reach.rules()),
                Err(error) => WalkEntry::Failed { path: real, error },
            },
        }
    }
}

/// The target of a link.
pub(crate) enum Target {
    File(PathBuf),
    Folder(PathBuf),
}

/// Resolves a link to its target, or to the reason that it is skipped.
pub(crate) fn target(link: &Path) -> io::Result<Result<Target, &'static str>> {
    let real = match real_path(link) {
        Ok(real) => real,
        Err(error) if error.raw_os_error() == Some(LOOP) => return Ok(Err(reason::LOOP)),
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(Err(reason::BROKEN)),
                io::ErrorKind::PermissionDenied => Ok(Err(reason::NO_PERMISSION)),
                _ => Err(error),
            };
        }
    };
    if real.to_str().is_none() {
        return Ok(Err(reason::NOT_UTF8));
    }
    let kind: FileType = fs::symlink_metadata(&real)?.file_type();
    Ok(if kind.is_file() {
        Ok(Target::File(real))
    } else if kind.is_dir() {
        Ok(Target::Folder(real))
    } else {
        Err(reason::NOT_REGULAR)
    })
}
