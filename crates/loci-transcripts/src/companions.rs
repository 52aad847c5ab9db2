//! Files that belong to a conversation beside the one that stands for it.

use std::path::{Path, PathBuf};

use loci_files::allowed::{AllowedRoots, EVERYTHING};

use super::format::Format;

/// The files whose change means that the conversation at `path` changed, without `path` itself.
/// They may not exist yet.
pub fn companions(format: Format, path: &Path) -> Vec<PathBuf> {
    companions_within(format, path, &EVERYTHING)
}

/// [`companions`] where only some folders may be listed.
pub fn companions_within(format: Format, path: &Path, allowed: &AllowedRoots) -> Vec<PathBuf> {
    (format.spec().companions.files)(path, allowed)
}

/// Where the other files of the conversation at `path` lie: folders and files, whether they exist
/// or not.
pub fn companion_places(format: Format, path: &Path) -> Vec<PathBuf> {
    (format.spec().companions.places)(path)
}
