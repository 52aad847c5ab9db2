//! Detects changes of files.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The length, time and inode of some files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stamps(Vec<(PathBuf, Option<Stamp>)>);

#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl Stamps {
    /// The current state of the files. A missing file is recorded as missing.
    pub(crate) fn of(paths: Vec<PathBuf>) -> Self {
        let stamp = |path: PathBuf| {
            let stamp = stamp(&path);
            (path, stamp)
        };
        Self(paths.into_iter().map(stamp).collect())
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let info = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&info);
    #[cfg(not(unix))]
    let inode = 0;
    Some(Stamp {
        len: info.len(),
        modified: info.modified().ok(),
        inode,
    })
}
