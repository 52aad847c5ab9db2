//! Maintenance of a palace beyond the contract: status, verify, repair, salvage, forget, backup,
//! restore, reembed.
//!
//! Repairs copy or rename before they change anything, and count before and after. Only `forget`
//! deletes for good.

mod backup;
mod backup_check;
mod copies;
mod forget;
mod index_check;
mod pending;
pub(crate) mod purge;
mod reembed;
mod relation_check;
mod repair;
mod replace;
pub(crate) mod restore;
mod row_check;
mod salvage;
mod self_test;
mod status;
pub(crate) mod tidy;
mod verify;
pub(crate) mod working_copy;

pub use copies::{CopyPlace, TEXT_COPIES, TextCopy, Treatment};

pub(crate) use backup::backup;
pub(crate) use backup_check::check as check_backup;
pub(crate) use forget::forget;
pub(crate) use reembed::reembed;
pub(crate) use repair::repair;
pub(crate) use restore::restore;
pub(crate) use self_test::self_test;
pub(crate) use status::state;
pub(crate) use verify::verify;

/// Returns an unused path: `stem` with the time, and a counter if that name is taken.
pub(crate) fn free_path(directory: &std::path::Path, stem: &str) -> std::path::PathBuf {
    let base = format!("{stem}-{}", loci_core::clock::file_stamp());
    let first = directory.join(&base);
    if std::fs::symlink_metadata(&first).is_err() {
        return first;
    }
    (2..10_000)
        .map(|n| directory.join(format!("{base}-{n}")))
        .find(|path| std::fs::symlink_metadata(path).is_err())
        .unwrap_or(first)
}
