//! Paths in reports: names that are no text are shown as well as they can be, instead of spoiling the report.

use std::path::{Path, PathBuf};

use serde::Serializer;

/// A path.
pub(crate) fn path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// A path that may be absent.
#[expect(
    clippy::ref_option,
    reason = "serde hands over a reference to the field"
)]
pub(crate) fn option<S: Serializer>(
    path: &Option<PathBuf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => serializer.collect_str(&path.display()),
        None => serializer.serialize_none(),
    }
}
