//! The places of the hits of the last search in a terminal, for `loci open`. The file is in the
//! directory of the user's state. It holds ids, paths and lines, never text.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use loci_core::{Error, Result};
use loci_files::own;
use serde::{Deserialize, Serialize};

use crate::config::state_directory;

/// The name of the file.
const NAME: &str = "last-search.json";
/// A larger file was not written by Loci.
const MAX_BYTES: usize = 4 << 20;

/// The place of a hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The id of the drawer.
    pub id: String,
    /// The file that it was mined from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The line that matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
}

fn file() -> Option<PathBuf> {
    Some(state_directory()?.join(NAME))
}

/// Records the places of the hits, in the order of the answer. Without a home directory, nothing is
/// recorded.
pub fn record(places: &[Place]) -> Result<()> {
    let Some(path) = file() else { return Ok(()) };
    let fail = |error| Error::io("cannot write", &path, error);
    if let Some(folder) = path.parent() {
        loci_files::create_directory(folder).map_err(fail)?;
    }
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let write = || {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).truncate(true).mode(0o600);
        let bytes = serde_json::to_vec(places)?;
        own::open_or_create(&new, &options)?.write_all(&bytes)?;
        // Readers see the old file or the new one. Nothing is synced: after a power cut, the user
        // searches again.
        std::fs::rename(&new, &path)
    };
    write().map_err(|error| {
        let _ = std::fs::remove_file(&new);
        fail(error)
    })
}

/// The recorded places; none if nothing was recorded, or if the file cannot be read.
pub fn read() -> Vec<Place> {
    let bytes = file().and_then(|path| own::read(&path).ok());
    let bytes = bytes.filter(|bytes| bytes.len() <= MAX_BYTES);
    bytes
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}
