//! Answers for single paths, without walking, whether a walk would meet them. It keeps the lists of
//! the folders of the last question, so neighbours are cheap.

use std::collections::HashMap;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use loci_core::Error;

use super::gate::Gate;
use super::links::{Target, target};
use super::roots::Roots;
use super::tour::{failed, skipped};
use super::{FollowLinks, Rules, WalkEntry, is_too_large, reason, single};
use loci_files::allowed::AllowedRoots;

/// The paths that a walk of some roots would meet. The lists of a folder are read at the first
/// question about it. If the lists may have changed since, create a new `Reach`.
#[derive(Debug)]
pub struct Reach {
    roots: Roots,
    rules: Rules,
    gates: HashMap<usize, Gate>,
}

impl Reach {
    /// Creates the reach of a walk of these roots. Fails when one is missing.
    pub fn of(roots: &[PathBuf], rules: &Rules) -> Result<Self, Error> {
        Ok(Self::new(Roots::open(roots)?, rules))
    }

    /// Like [`Reach::of`], but reads only allowed files.
    pub(crate) fn within(
        roots: &[PathBuf],
        rules: &Rules,
        allowed: &AllowedRoots,
    ) -> Result<Self, Error> {
        Ok(Self::new(Roots::open(roots)?.within(allowed), rules))
    }

    pub(super) fn new(roots: Roots, rules: &Rules) -> Self {
        Self {
            roots,
            rules: *rules,
            gates: HashMap::new(),
        }
    }

    pub(super) fn roots(&self) -> &Roots {
        &self.roots
    }

    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Whether the rules follow a link to the file at this real path.
    pub(super) fn may_follow(&self, real: &Path) -> bool {
        self.roots.may_follow(real, self.rules.follow_links)
    }

    /// Whether names and lists admit this path.
    pub(super) fn admits(&mut self, path: &Path, is_folder: bool) -> bool {
        let Some((number, root)) = self.roots.around(path) else {
            return false;
        };
        if !root.is_folder {
            return path == root.real;
        }
        self.gates
            .entry(number)
            .or_insert_with(|| Gate::new(&root.real, &self.rules, self.roots.allowed()))
            .admits(path, is_folder)
    }

    /// Whether the walk would meet this path. If nothing exists there, its name decides, so that
    /// "deleted" and "left out" are different answers. Links to files count, and so do folders that
    /// the walk would enter.
    pub fn would_meet(&mut self, path: &Path) -> bool {
        let path = self.roots.moved(path);
        let found = fs::symlink_metadata(&path);
        let fits = match &found {
            Ok(found) if found.is_symlink() => {
                matches!(target(&path), Ok(Ok(Target::File(real))) if self.may_follow(&real))
            }
            Ok(found) if found.is_file() => !is_too_large(found, &self.rules),
            Ok(found) => found.is_dir(),
            Err(_) => true,
        };
        fits && self.admits(&path, found.is_ok_and(|found| found.is_dir()))
    }

    /// Returns the walk's result for this path, for a caller that received a change. `None` when
    /// the walk would not reach it, when nothing exists there, and for a folder. A link to a file
    /// gives that file.
    pub fn meet(&mut self, path: &Path) -> Option<WalkEntry> {
        let path = self.roots.moved(path);
        let (number, _) = self.roots.around(&path)?;
        let kind: FileType = match fs::symlink_metadata(&path) {
            Ok(found) => found.file_type(),
            Err(error) => {
                return match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => None,
                    _ => Some(failed(path, error)),
                };
            }
        };
        if kind.is_dir() || !self.admits(&path, false) {
            return None;
        }
        Some(if !kind.is_symlink() {
            single(path, number, &self.rules)
        } else if self.rules.follow_links == FollowLinks::Never {
            skipped(path, reason::LINK)
        } else {
            match target(&path) {
                Ok(Ok(Target::File(real))) if !self.may_follow(&real) => {
                    skipped(path, reason::FILE_OUTSIDE)
                }
                Ok(Ok(Target::File(real))) => single(real, number, &self.rules),
                Ok(Ok(Target::Folder(_))) => return None,
                Ok(Err(reason)) => skipped(path, reason),
                Err(error) => failed(path, error),
            }
        })
    }
}

/// Whether a walk of `root` would meet `path`. Like [`Reach::would_meet`], for a single question.
/// Returns `false` when the root is missing.
pub fn would_meet(root: &Path, path: &Path, rules: &Rules) -> bool {
    Reach::of(&[root.to_path_buf()], rules).is_ok_and(|mut reach| reach.would_meet(path))
}
