//! The locks of a palace. `palace.lock` is held exclusively for creation, migration and restore,
//! and shared for every write. `restore.lock` is held for a whole restore, `index.lock` for
//! building and quarantining indexes.

pub(crate) use loci_files::FileLock;
