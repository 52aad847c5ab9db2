//! The roots of a walk by their real paths. A root inside another one is walked once, as a root of
//! its own. A root that is given twice counts as the first.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use loci_core::{Error, Result};

use super::FollowLinks;
use loci_files::allowed::AllowedRoots;

/// One root.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    pub(crate) given: PathBuf,
    pub(crate) real: PathBuf,
    pub(crate) is_folder: bool,
    /// An earlier root with the same real path.
    pub(crate) duplicate_of: Option<usize>,
}

/// All roots, in the given order.
#[derive(Debug, Clone)]
pub(crate) struct Roots {
    list: Vec<Root>,
    /// The real paths, if there is more than one.
    paths: HashSet<PathBuf>,
    allowed: AllowedRoots,
}

impl Roots {
    /// Resolves the real paths. A root that is missing, or whose path is not UTF-8, is an error.
    pub(crate) fn open(given: &[PathBuf]) -> Result<Self> {
        let mut roots: Vec<Root> = Vec::with_capacity(given.len());
        let mut earlier = HashMap::new();
        for path in given {
            let real = real_path(path).map_err(|error| Error::io("cannot walk", path, error))?;
            if real.to_str().is_none() {
                return Err(Error::invalid(
                    format!("root `{}`", real.display()),
                    "its path is not UTF-8",
                ));
            }
            let kind =
                fs::metadata(&real).map_err(|error| Error::io("cannot walk", path, error))?;
            roots.push(Root {
                given: path.clone(),
                duplicate_of: earlier.get(&real).copied(),
                is_folder: kind.is_dir(),
                real: real.clone(),
            });
            earlier.entry(real).or_insert(roots.len() - 1);
        }
        Ok(Self::new(roots))
    }

    /// Like [`Roots::open`], for paths that are already real and checked. A path that contains a
    /// link is an error, because the link may lead anywhere.
    pub(crate) fn open_real(given: &[PathBuf]) -> Result<Self> {
        let roots = Self::open(given)?;
        match roots.list.iter().find(|root| root.real != root.given) {
            Some(root) => Err(Error::invalid(
                format!("root `{}`", root.given.display()),
                "became a link while it was read; nothing behind the link was read",
            )),
            None => Ok(roots),
        }
    }

    fn new(list: Vec<Root>) -> Self {
        let paths = if list.len() > 1 {
            list.iter().map(|root| root.real.clone()).collect()
        } else {
            HashSet::new()
        };
        Self {
            list,
            paths,
            allowed: AllowedRoots::default(),
        }
    }

    /// Restricts the roots to allowed files.
    pub(crate) fn within(mut self, allowed: &AllowedRoots) -> Self {
        self.allowed = allowed.clone();
        self
    }

    pub(crate) fn allowed(&self) -> &AllowedRoots {
        &self.allowed
    }

    /// Resolves the roots again. A missing one keeps its earlier path.
    pub(crate) fn reopened(&self) -> Self {
        let mut roots = self.list.clone();
        for root in &mut roots {
            if let Ok(real) = real_path(&root.given) {
                root.is_folder = real.is_dir();
                root.real = real;
            }
        }
        Self::new(roots).within(&self.allowed)
    }

    /// The roots that are walked, with their indices.
    pub(crate) fn each(&self) -> impl Iterator<Item = (usize, &Root)> {
        let own = |(_, root): &(usize, &Root)| root.duplicate_of.is_none();
        self.list.iter().enumerate().filter(own)
    }

    pub(crate) fn all(&self) -> &[Root] {
        &self.list
    }

    /// Returns the nearest root that is or contains the path.
    pub(crate) fn around(&self, path: &Path) -> Option<(usize, &Root)> {
        self.each()
            .filter(|(_, root)| path.starts_with(&root.real))
            .max_by_key(|(_, root)| root.real.as_os_str().len())
    }

    /// Whether a link to the file at this real path is followed.
    pub(crate) fn may_follow(&self, real: &Path, follow: FollowLinks) -> bool {
        match follow {
            FollowLinks::Never => false,
            FollowLinks::Inside => self.around(real).is_some(),
            FollowLinks::Everywhere => true,
        }
    }

    /// Whether a path inside one root is another root.
    pub(super) fn is_another(&self, path: &Path) -> bool {
        !self.paths.is_empty() && self.paths.contains(path)
    }

    /// Maps a path below a root's given path to the same path below its real path. The path need
    /// not exist.
    pub(crate) fn moved(&self, path: &Path) -> PathBuf {
        if self.around(path).is_some() {
            return path.to_path_buf();
        }
        self.each()
            .find_map(|(_, root)| Some(root.real.join(path.strip_prefix(&root.given).ok()?)))
            .unwrap_or_else(|| path.to_path_buf())
    }
}

/// Returns the absolute path without links, `.` and `..`. Fails when nothing exists there.
pub(crate) fn real_path(path: &Path) -> io::Result<PathBuf> {
    let real = fs::canonicalize(path)?;
    Ok(real.to_str().and_then(plain_drive).unwrap_or(real))
}

/// Returns `C:\x` for `\\?\C:\x`, the long form that Windows returns.
fn plain_drive(path: &str) -> Option<PathBuf> {
    let rest = path.strip_prefix(r"\\?\")?;
    let mut letters = rest.chars();
    let drive = letters
        .next()
        .is_some_and(|letter| letter.is_ascii_alphabetic());
    (drive && letters.as_str().starts_with(r":\")).then(|| PathBuf::from(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folder was checked and then replaced by a link. The target of the link must not be read.
    #[cfg(unix)]
    #[test]
    fn a_root_that_became_a_link_after_it_was_checked_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let (root, outside) = (place.join("root"), place.join("outside"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&outside).unwrap();
        let given = [root.clone()];
        assert!(Roots::open_real(&given).is_ok());
        fs::remove_dir(&root).unwrap();
        std::os::unix::fs::symlink(&outside, &root).unwrap();
        let refused = Roots::open_real(&given).unwrap_err().to_string();
        assert!(refused.contains("became a link"), "{refused}");
        // The same holds for a folder above it.
        assert!(Roots::open_real(&[root.join(".")]).is_err());
    }

    #[test]
    fn a_drive_loses_its_long_form_and_a_share_keeps_it() {
        assert_eq!(plain_drive(r"\\?\C:\a\b"), Some(PathBuf::from(r"C:\a\b")));
        assert_eq!(plain_drive(r"\\?\UNC\server\share"), None);
        assert_eq!(plain_drive("/a/b"), None);
    }
}
