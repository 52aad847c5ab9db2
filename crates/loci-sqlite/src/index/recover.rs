//! Quarantines a registered file that failed its check. The file is renamed, never deleted, and its
//! registration is removed, so that the next build replaces it.

use loci_core::{Result, Warning};
use loci_index::{Damage, Registration};

use super::live::Suspect;
use super::registry;
use crate::store::lock::FileLock;
use crate::store::{Head, Store};

/// Checks a suspect again under `index.lock`, and quarantines it if it still fails. If the lock is
/// taken, another process is building and will replace the file.
pub(crate) fn set_aside(store: &Store, suspect: &Suspect) -> Result<Option<Warning>> {
    let Some(_lock) = FileLock::try_exclusive(&store.place.index_lock())? else {
        return Ok(None);
    };
    let directory = store.place.index_directory();
    let collection = suspect.registration.identity.collection as i64;
    let (current, seq) = store.read("re-checking the index", |db| {
        let head = Head::read(&db.sql)?;
        Ok((registry::find(&db.sql, &head, collection)?, head.seq))
    })?;
    if current.as_ref() != Some(&suspect.registration) {
        return Ok(None);
    }
    let ahead = suspect.registration.covered > seq;
    let (detail, missing) = match check(&directory, &suspect.registration) {
        Err(damage) => (damage.to_string(), matches!(damage, Damage::Missing)),
        Ok(()) if ahead => ("it covers more than the database holds".to_owned(), false),
        Ok(()) => return Ok(None),
    };
    let name = &suspect.registration.name;
    super::build::ensure_directory(&store.place)?;
    // The file is renamed first and unregistered second. A crash in between leaves a registration
    // without a file. It is found missing and unregistered, and the index is rebuilt.
    let moved = loci_index::set_aside(&directory, name)?;
    store.write("unregistering a damaged index", |db| {
        registry::remove(&db.sql, collection, name)?;
        // A missing file says nothing about the quality of the next one, so it is not counted.
        if !missing {
            registry::record_failure(&db.sql, collection, &detail)?;
        }
        Ok(())
    })?;
    let warning = Warning::IndexSetAside {
        file: name.clone(),
        problem: detail,
        moved_to: moved,
    };
    tracing::info!("{warning}");
    Ok(Some(warning))
}

/// Opens a registered file and checks every section of it.
pub(crate) fn check(
    directory: &std::path::Path,
    registration: &Registration,
) -> std::result::Result<(), Damage> {
    let index = loci_index::open(directory, registration)?;
    index.warm()?;
    Ok(())
}
