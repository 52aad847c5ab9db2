//! Removes files that builders left behind: unfinished files, and finished files that were never
//! registered or whose registration was replaced.

use std::fs;
use std::io;
use std::path::Path;

use loci_core::{Error, Result};

use crate::registration::{is_snapshot_name, is_temporary_name};

/// Removes temporary files and snapshot files that are not in `keep`, and returns how many. Touches
/// only names that a builder creates; quarantined files stay. The caller holds the lock of the
/// builders.
pub fn remove_leftovers(directory: &Path, keep: &[String]) -> Result<usize> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(Error::io("cannot read", directory, error)),
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry.map_err(|error| Error::io("cannot read", directory, error))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let leftover = is_temporary_name(name)
            || (is_snapshot_name(name) && !keep.iter().any(|kept| kept == name));
        if !leftover || entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        // Nothing uses this file: it is not registered, and no builder runs while the caller holds
        // the lock. The removal is not synced. If a crash undoes it, the next call repeats it.
        match fs::remove_file(entry.path()) {
            Ok(()) => removed += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("cannot remove", entry.path(), error)),
        }
    }
    Ok(removed)
}
