//! The other files of a conversation, beside its main file.

use std::path::{Path, PathBuf};

use loci_files::allowed::{AllowedRoots, EVERYTHING};

use super::format::Format;

/// Returns the files whose change means that the conversation at `path` changed, without `path`
/// itself. They may not exist yet.
pub fn companions(format: Format, path: &Path) -> Vec<PathBuf> {
    companions_within(format, path, &EVERYTHING)
}

/// Like [`companions`], but lists only allowed folders.
pub fn companions_within(format: Format, path: &Path, allowed: &AllowedRoots) -> Vec<PathBuf> {
    (format.spec().companions.files)(path, allowed)
}

/// Returns the folders and files that can hold the other files of the conversation at `path`. They
/// may not exist.
pub fn companion_places(format: Format, path: &Path) -> Vec<PathBuf> {
    (format.spec().companions.places)(path)
}
