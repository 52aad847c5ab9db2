//! Detects changes of files.

use std::path::PathBuf;

use loci_files::Stamp;

/// The state of some files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stamps(Vec<(PathBuf, Option<Stamp>)>);

impl Stamps {
    /// The current state of the files. A missing file is recorded as missing.
    pub(crate) fn of(paths: Vec<PathBuf>) -> Self {
        let stamp = |path: PathBuf| {
            let stamp = Stamp::of(&path).ok().flatten();
            (path, stamp)
        };
        Self(paths.into_iter().map(stamp).collect())
    }
}
