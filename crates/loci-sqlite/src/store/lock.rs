//! The locks of a palace: `palace.lock` for creation, migration, restore and, shared, for every
//! write; `restore.lock` for a whole restore; `index.lock` for building and quarantining indexes.

pub(crate) use loci_files::FileLock;
