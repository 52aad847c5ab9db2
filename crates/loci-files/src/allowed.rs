//! What a reading may open. The owner reads everything that the system lets the owner read. A client
//! reads only what lies in the roots that the owner allowed, and every file that mining opens for a
//! client is opened or checked here: the files of a tree, the other files of a conversation, settings
//! and git's own files. Whatever a path or a link in an allowed root names, nothing outside is read.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::foreign::{self, ForeignFile};

/// Files that SQLite keeps beside a database. They are a part of it.
const BESIDE_DATABASE: [&str; 2] = ["-wal", "-journal"];

/// The folders and files that may be read.
#[derive(Debug, Clone, Default)]
pub struct AllowedRoots {
    /// Real paths. Nothing: no limit.
    roots: Option<Arc<[PathBuf]>>,
}

/// Everything, without a limit.
pub static EVERYTHING: AllowedRoots = AllowedRoots { roots: None };

/// The error of a path that lies outside.
#[derive(Debug)]
struct Outside;

impl fmt::Display for Outside {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("it lies outside of the allowed roots")
    }
}

impl std::error::Error for Outside {}

/// Whether a read failed because the path lies outside of the allowed roots.
pub fn is_outside(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<Outside>)
}

impl AllowedRoots {
    /// Only these folders and files, and all that lies in them. Links in the paths are resolved here;
    /// a path at which there is nothing allows nothing.
    pub fn only<'a>(roots: impl IntoIterator<Item = &'a Path>) -> Self {
        let real = |root: &'a Path| root.canonicalize().ok();
        Self {
            roots: Some(roots.into_iter().filter_map(real).collect()),
        }
    }

    /// Whether anything may be read.
    pub fn is_everything(&self) -> bool {
        self.roots.is_none()
    }

    /// Whether a real path, without links, lies inside.
    fn contains_real(&self, real: &Path) -> bool {
        let Some(roots) = &self.roots else {
            return true;
        };
        roots
            .iter()
            .any(|root| real.starts_with(root) || is_beside_database(real, root))
    }

    /// Whether a path leads to a place inside, with all links resolved. Where there is nothing, the
    /// nearest folder above decides. What is opened later must still be opened with [`Self::open`]: a
    /// link may take the place of the file in between.
    pub fn contains(&self, path: &Path) -> bool {
        self.is_everything() || resolved(path).is_some_and(|(real, _)| self.contains_real(&real))
    }

    /// Opens a file for reading. With a limit, the path is resolved, compared with the roots, and then
    /// opened in a way that follows no link.
    pub fn open(&self, path: &Path) -> io::Result<ForeignFile> {
        if self.is_everything() {
            return foreign::open(path);
        }
        let file = foreign::open_real(&self.resolve(path)?)?;
        let about = file.metadata()?;
        if about.is_file() || about.is_dir() {
            return Ok(file);
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ))
    }

    /// [`foreign::open_real`] for a path inside.
    pub fn open_real(&self, path: &Path) -> io::Result<ForeignFile> {
        if self.contains_real(path) {
            foreign::open_real(path)
        } else {
            Err(io::Error::other(Outside))
        }
    }

    /// [`foreign::open_below`] for a path inside.
    pub fn open_below(&self, folder: &Path, inside: &Path) -> io::Result<ForeignFile> {
        if self.is_everything() {
            return foreign::open_below(folder, inside);
        }
        self.open_real(&folder.canonicalize()?.join(inside))
    }

    /// What the system reports of a file inside.
    pub fn metadata(&self, path: &Path) -> io::Result<fs::Metadata> {
        if self.is_everything() {
            return fs::metadata(path);
        }
        fs::symlink_metadata(self.resolve(path)?)
    }

    /// The names in a folder inside; none if it cannot be read.
    pub fn entries(&self, folder: &Path) -> impl Iterator<Item = fs::DirEntry> + use<> {
        let listed = if self.contains(folder) {
            fs::read_dir(folder).ok()
        } else {
            None
        };
        listed.into_iter().flatten().flatten()
    }

    /// The real path of something that is there and lies inside.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        match resolved(path) {
            Some((real, _)) if !self.contains_real(&real) => Err(io::Error::other(Outside)),
            Some((real, true)) => Ok(real),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// Whether a file is the log or the journal of a database that is a root itself.
fn is_beside_database(real: &Path, root: &Path) -> bool {
    BESIDE_DATABASE.iter().any(|suffix| {
        let mut beside = OsString::from(root);
        beside.push(suffix);
        real == Path::new(&beside) && root.is_file()
    })
}

/// A path without links, and whether something is there. If not, the part that exists is resolved.
fn resolved(path: &Path) -> Option<(PathBuf, bool)> {
    if let Ok(real) = path.canonicalize() {
        return Some((real, true));
    }
    for folder in path.ancestors().skip(1) {
        let Ok(real) = folder.canonicalize() else {
            continue;
        };
        let rest = path.strip_prefix(folder).ok()?;
        let is_plain = |part| matches!(part, Component::Normal(_));
        return rest
            .components()
            .all(is_plain)
            .then(|| (real.join(rest), false));
    }
    None
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_outside_of_the_roots_is_opened_whatever_leads_there() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let at = |name: &str| place.join(name);
        for folder in ["root/sub", "rooted", "outside"] {
            fs::create_dir_all(at(folder)).unwrap();
            fs::write(at(folder).join("a"), folder).unwrap();
        }
        for name in ["one.db", "one.db-wal", "one.db-other"] {
            fs::write(at(name), name).unwrap();
        }
        symlink(at("outside/a"), at("root/link")).unwrap();
        symlink(at("outside"), at("root/way")).unwrap();
        symlink(at("root/sub/a"), at("root/within")).unwrap();
        symlink(at("root"), at("name")).unwrap();
        let roots = [at("name"), at("one.db"), at("missing")];
        let allowed = AllowedRoots::only(roots.iter().map(PathBuf::as_path));
        for inside in [
            "root/sub/a",
            "name/sub/a",
            "root/within",
            "one.db",
            "one.db-wal",
        ] {
            assert!(allowed.contains(&at(inside)), "{inside}");
            let mut text = String::new();
            let mut file = allowed.open(&at(inside)).unwrap();
            file.read_to_string(&mut text).unwrap();
            assert!(!text.is_empty());
            assert!(allowed.metadata(&at(inside)).unwrap().is_file(), "{inside}");
        }
        for outside in [
            "outside/a",
            "rooted/a",
            "root/link",
            "root/way/a",
            "root/../outside/a",
            "name/../outside/a",
            "root/missing/../../outside/a",
            "missing",
            "missing/a",
            "one.db-other",
        ] {
            assert!(!allowed.contains(&at(outside)), "{outside}");
            assert!(allowed.open(&at(outside)).is_err(), "{outside}");
            assert!(allowed.open_real(&at(outside)).is_err(), "{outside}");
            assert!(allowed.metadata(&at(outside)).is_err(), "{outside}");
        }
        assert!(allowed.contains(&at("root/missing/b")));
        let missing = allowed.open(&at("root/missing/b")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert!(is_outside(&allowed.open(&at("root/link")).unwrap_err()));
        assert_eq!(allowed.entries(&at("root/way")).count(), 0);
        assert_eq!(allowed.entries(&at("root/sub")).count(), 1);
        assert!(allowed.open_below(&at("name"), Path::new("sub/a")).is_ok());
        assert!(allowed.open_below(&at("outside"), Path::new("a")).is_err());
        let everything = AllowedRoots::default();
        assert!(everything.is_everything() && everything.open(&at("root/link")).is_ok());
        assert!(!AllowedRoots::only([]).contains(&at("root")));
    }
}
