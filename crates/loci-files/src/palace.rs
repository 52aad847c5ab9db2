//! Records which palaces this process has open, and which files its SQLite connections use.
//!
//! Two things are registered: the directory of each open palace ([`OpenPalace`]), and the identity
//! of each file of a connection ([`HeldFiles`]). The identity stays valid when a directory is moved
//! or a file is renamed, because an inode number is not reused while a descriptor is open. Between
//! the close of a connection and the end of its registration, another file may get the number. The
//! close is therefore announced, and queries about such a number wait until it is done.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use loci_core::{Error, Result};

use crate::LOCK_LIMIT;

/// Device and inode number. Two paths with the same identity are the same file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// The identity with these numbers.
    pub fn new(device: u64, inode: u64) -> Self {
        Self { device, inode }
    }

    /// Number of its device.
    pub fn device(self) -> u64 {
        self.device
    }

    /// Its inode number.
    pub fn inode(self) -> u64 {
        self.inode
    }

    /// The identity that `stat` reports.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

struct Registry {
    palaces: Vec<Entry>,
    /// Files that connections use, with the number of connections.
    held: BTreeMap<FileId, usize>,
    /// Files whose connection is being closed, with the number of connections.
    closing: BTreeMap<FileId, usize>,
    /// The files of each connection.
    connections: Vec<Vec<FileId>>,
}

struct Entry {
    directory: PathBuf,
    users: usize,
    /// Whether its files are being read without SQLite.
    raw: bool,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    palaces: Vec::new(),
    held: BTreeMap::new(),
    closing: BTreeMap::new(),
    connections: Vec::new(),
});
static RAW_ENDED: Condvar = Condvar::new();
static CLOSED: Condvar = Condvar::new();

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    /// The entry of a directory, whatever path leads to it.
    fn position(&self, directory: &Path) -> Option<usize> {
        let id = id_of(directory);
        self.palaces.iter().position(|entry| {
            entry.directory == directory || (id.is_some() && id_of(&entry.directory) == id)
        })
    }

    fn holds_a_file_of(&self, directory: &Path) -> bool {
        !self.held.is_empty() && files_of(directory).any(|id| self.held.contains_key(&id))
    }
}

/// A palace that this process has open. Dropping it ends the registration.
#[derive(Debug)]
pub struct OpenPalace {
    directory: PathBuf,
}

impl OpenPalace {
    /// Registers a palace before its first connection. Waits while this process reads its files
    /// without SQLite.
    pub fn register(directory: &Path) -> Result<Self> {
        let since = Instant::now();
        let mut registry = registry();
        loop {
            match registry.position(directory) {
                None => registry.palaces.push(Entry {
                    directory: directory.to_path_buf(),
                    users: 1,
                    raw: false,
                }),
                Some(at) => {
                    if let Some(entry) = registry.palaces.get_mut(at) {
                        if entry.raw {
                            let left = LOCK_LIMIT.saturating_sub(since.elapsed());
                            if left.is_zero() {
                                return Err(Error::Busy {
                                    what: format!(
                                        "this process reads the files of `{}` to repair it",
                                        directory.display()
                                    ),
                                    waited: LOCK_LIMIT,
                                });
                            }
                            let (woken, _) = RAW_ENDED
                                .wait_timeout(registry, left)
                                .unwrap_or_else(PoisonError::into_inner);
                            registry = woken;
                            continue;
                        }
                        entry.users += 1;
                    }
                }
            }
            return Ok(Self {
                directory: directory.to_path_buf(),
            });
        }
    }
}

impl Drop for OpenPalace {
    fn drop(&mut self) {
        let mut registry = registry();
        // Compares the path only, because the directory may have been moved or replaced since.
        let found = registry
            .palaces
            .iter()
            .position(|entry| entry.directory == self.directory)
            .or_else(|| registry.position(&self.directory));
        let Some(at) = found else { return };
        if let Some(entry) = registry.palaces.get_mut(at) {
            entry.users = entry.users.saturating_sub(1);
            if entry.users == 0 && !entry.raw {
                registry.palaces.swap_remove(at);
            }
        }
    }
}

/// Permission to read the files of a palace without SQLite. While it exists, nothing else in this
/// process has the palace open.
#[derive(Debug)]
pub struct RawAccess {
    directory: PathBuf,
}

impl RawAccess {
    /// `None` if this process has the palace open, because closing a descriptor of its files would
    /// drop the locks of that connection.
    pub fn begin(directory: &Path) -> Option<Self> {
        let mut registry = registry();
        if registry.position(directory).is_some() || registry.holds_a_file_of(directory) {
            return None;
        }
        registry.palaces.push(Entry {
            directory: directory.to_path_buf(),
            users: 0,
            raw: true,
        });
        Some(Self {
            directory: directory.to_path_buf(),
        })
    }
}

impl Drop for RawAccess {
    fn drop(&mut self) {
        registry()
            .palaces
            .retain(|entry| !(entry.raw && entry.directory == self.directory));
        RAW_ENDED.notify_all();
    }
}

/// The files of one connection. Declare it after the connection in a struct, so that it is dropped
/// after the connection is closed.
#[derive(Debug, Default)]
pub struct HeldFiles {
    ids: Vec<FileId>,
    closing: bool,
}

impl HeldFiles {
    /// The identities of the files, in the order of the registered paths.
    pub fn ids(&self) -> &[FileId] {
        &self.ids
    }

    /// Registers the paths that exist.
    pub fn register<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        let ids: Vec<FileId> = paths
            .into_iter()
            .filter_map(|path| id_of(path.as_ref()))
            .collect();
        let mut registry = registry();
        for id in &ids {
            *registry.held.entry(*id).or_default() += 1;
        }
        registry.connections.push(ids.clone());
        Self {
            ids,
            closing: false,
        }
    }

    /// Announces that the connection is about to be closed. Drop this value soon after.
    pub fn close_begins(&mut self) {
        if self.closing {
            return;
        }
        self.closing = true;
        let mut registry = registry();
        for id in &self.ids {
            *registry.closing.entry(*id).or_default() += 1;
        }
    }
}

impl Drop for HeldFiles {
    fn drop(&mut self) {
        let mut registry = registry();
        let own = registry.connections.iter().position(|ids| *ids == self.ids);
        if let Some(at) = own {
            registry.connections.swap_remove(at);
        }
        for id in &self.ids {
            count_down(&mut registry.held, *id);
            if self.closing {
                count_down(&mut registry.closing, *id);
            }
        }
        CLOSED.notify_all();
    }
}

fn count_down(counts: &mut BTreeMap<FileId, usize>, id: FileId) {
    if let Some(count) = counts.get_mut(&id) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&id);
        }
    }
}

/// Whether a connection of this process holds the first of these files, the database, together with
/// other files than these. Connections that are being opened hold only the database and do not
/// count.
pub fn holds_with_others(files: &[FileId]) -> bool {
    registry()
        .connections
        .iter()
        .any(|ids| ids.len() > 1 && ids.first() == files.first() && ids != files)
}

/// Whether a connection of this process holds this file.
pub(crate) fn is_held(id: FileId) -> bool {
    holding(id).held.contains_key(&id)
}

/// The registry, after no connection is releasing this file any more. By then its number may belong
/// to a new file.
fn holding(id: FileId) -> MutexGuard<'static, Registry> {
    let is_going = |registry: &mut Registry| {
        let held = registry.held.get(&id);
        held.is_some() && held == registry.closing.get(&id)
    };
    let (registry, _) = CLOSED
        .wait_timeout_while(registry(), LOCK_LIMIT, is_going)
        .unwrap_or_else(PoisonError::into_inner);
    registry
}

/// Whether the file at `path`, with `metadata` from `stat`, belongs to a palace that this process
/// has open: by its path, through a symbolic link or as a hard link.
pub fn is_file_of_open_palace(path: &Path, metadata: &Metadata) -> bool {
    let id = FileId::of(metadata);
    let directories: Vec<PathBuf> = {
        let registry = holding(id);
        if registry.held.contains_key(&id) {
            return true;
        }
        // If files are read without SQLite, there is no connection.
        let open = registry.palaces.iter().filter(|entry| !entry.raw);
        open.map(|entry| entry.directory.clone()).collect()
    };
    if directories.is_empty() {
        return false;
    }
    // A file with one name that is not reached through a link is in the folder of its path. Any
    // other file is compared with every file of every open palace.
    let single = fs::symlink_metadata(path).is_ok_and(|own| own.is_file() && own.nlink() == 1);
    if single {
        let folders: Vec<FileId> = folders_above(path);
        return directories
            .iter()
            .filter_map(|directory| id_of(directory))
            .any(|directory| folders.contains(&directory));
    }
    directories
        .iter()
        .any(|directory| files_of(directory).any(|file| file == id))
}

/// The folder of a file and its parent, because index files are one level down.
fn folders_above(path: &Path) -> Vec<FileId> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    [parent.join(".."), parent]
        .iter()
        .filter_map(|folder| id_of(folder))
        .collect()
}

/// Every file in the directory of a palace and in its subfolders.
fn files_of(directory: &Path) -> impl Iterator<Item = FileId> {
    let list = |folder: &Path| -> Vec<(PathBuf, Metadata)> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| Some((entry.path(), fs::metadata(entry.path()).ok()?)))
            .collect()
    };
    let mut found = Vec::new();
    for (path, metadata) in list(directory) {
        if metadata.is_dir() {
            found.extend(list(&path).into_iter().map(|(_, inner)| FileId::of(&inner)));
        } else {
            found.push(FileId::of(&metadata));
        }
    }
    found.into_iter()
}

fn id_of(path: &Path) -> Option<FileId> {
    fs::metadata(path).ok().as_ref().map(FileId::of)
}

/// The error for a path to a file of an open palace.
pub(crate) fn refused() -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        "it is a file of an open palace",
    )
}
