//! The folders that the system watches, one by one, so that a folder that the rules leave out costs
//! nothing. If the system can watch whole trees cheaply, it watches the roots, and the rules filter
//! its events.

use std::collections::BTreeSet;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{Config, ErrorKind, RecommendedWatcher, RecursiveMode, Watcher, WatcherKind};

use super::inbox::Inbox;

/// The watched folders.
#[derive(Debug)]
pub(super) struct FolderWatches {
    watcher: RecommendedWatcher,
    folders: BTreeSet<PathBuf>,
    most: usize,
}

/// The system cannot watch more folders.
#[derive(Debug)]
pub(super) struct Full;

impl FolderWatches {
    /// Creates a set of at most `most` watched folders. Events go into the inbox.
    pub(super) fn new(inbox: &Arc<Inbox>, most: usize) -> Result<Self, Full> {
        let inbox = Arc::clone(inbox);
        let config = Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(move |event| inbox.put(event), config);
        Ok(Self {
            watcher: watcher.map_err(|_| Full)?,
            folders: BTreeSet::new(),
            most,
        })
    }

    fn folder_by_folder() -> bool {
        RecommendedWatcher::kind() == WatcherKind::Inotify
    }

    /// Watches a folder that is a root, including everything below it if folders are not watched
    /// one by one.
    pub(super) fn add_root(&mut self, folder: &Path) -> Result<(), Full> {
        self.watch(
            folder,
            if Self::folder_by_folder() {
                RecursiveMode::NonRecursive
            } else {
                RecursiveMode::Recursive
            },
        )
    }

    /// Watches the folder that contains a root which is a file.
    pub(super) fn add_holder(&mut self, folder: &Path) -> Result<(), Full> {
        if self.folders.contains(folder) {
            return Ok(());
        }
        self.watch(folder, RecursiveMode::NonRecursive)
    }

    /// Watches a folder below a root.
    pub(super) fn add(&mut self, folder: &Path) -> Result<(), Full> {
        if Self::folder_by_folder() {
            self.watch(folder, RecursiveMode::NonRecursive)
        } else {
            self.folders.insert(folder.to_path_buf());
            Ok(())
        }
    }

    fn watch(&mut self, folder: &Path, mode: RecursiveMode) -> Result<(), Full> {
        if self.folders.len() >= self.most {
            return Err(Full);
        }
        match self.watcher.watch(folder, mode) {
            Ok(()) => {
                self.folders.insert(folder.to_path_buf());
                Ok(())
            }
            Err(error) => match error.kind {
                // The folder is gone again or not accessible, so there is nothing to watch.
                ErrorKind::PathNotFound => Ok(()),
                ErrorKind::Io(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound
                            | io::ErrorKind::NotADirectory
                            | io::ErrorKind::PermissionDenied
                    ) =>
                {
                    Ok(())
                }
                _ => Err(Full),
            },
        }
    }

    pub(super) fn has(&self, folder: &Path) -> bool {
        self.folders.contains(folder)
    }

    /// Stops watching the folder and everything below it. Returns `true` if it was watched.
    pub(super) fn remove(&mut self, folder: &Path) -> bool {
        let from = (Bound::Included(folder), Bound::Unbounded);
        let gone: Vec<PathBuf> = self
            .folders
            .range::<Path, _>(from)
            .take_while(|each| each.starts_with(folder))
            .cloned()
            .collect();
        for each in &gone {
            self.folders.remove(each);
            if Self::folder_by_folder() {
                // The system drops the watches of deleted folders itself, and then returns an error
                // here.
                let _ = self.watcher.unwatch(each);
            }
        }
        !gone.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_folder_goes_with_all_below_it_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let mut watches = FolderWatches::new(&Arc::new(Inbox::default()), usize::MAX).unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["a", "a/b", "a/b/c", "a-b", "ab"] {
            std::fs::create_dir(at(name)).unwrap();
            watches.add(&at(name)).unwrap();
        }
        watches.add(&at("nothing")).unwrap();
        assert!(watches.remove(&at("a")));
        assert!(!watches.remove(&at("a")));
        let left: Vec<_> = watches.folders.iter().cloned().collect();
        assert_eq!(left, [at("a-b"), at("ab")]);
    }
}
