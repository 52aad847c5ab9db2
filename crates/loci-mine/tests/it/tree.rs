//! A folder tree on disk that is removed with its test.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) struct Tree {
    real: PathBuf,
    _folder: tempfile::TempDir,
}

impl Tree {
    /// A folder whose own name is not hidden.
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("tree").tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        Self { real, _folder: dir }
    }

    /// With files; a name that ends in `/` is an empty folder.
    pub(crate) fn of(names: &[&str]) -> Self {
        let tree = Self::new();
        for name in names {
            tree.put(name);
        }
        tree
    }

    pub(crate) fn root(&self) -> &Path {
        &self.real
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.real.join(name)
    }

    pub(crate) fn put(&self, name: &str) {
        if name.ends_with('/') {
            fs::create_dir_all(self.at(name)).unwrap();
        } else {
            self.write(name, name);
        }
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A git repository without commits.
    pub(crate) fn repository(&self, name: &str) {
        self.write(&format!("{name}/.git/HEAD"), "ref: refs/heads/main\n");
    }

    #[cfg(unix)]
    pub(crate) fn link(&self, name: &str, target: impl AsRef<Path>) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }
}
