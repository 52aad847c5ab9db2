//! Reads drawers from a database that SQLite cannot read, page by page, into a new palace.
//!
//! The damaged files are only read. A drawer is saved if its checksum matches. A drawer whose
//! vector was on a lost page is saved without it. A drawer with wrong bytes goes to the side table.
//! A drawer that is still mentioned somewhere but cannot be read is reported as lost.

mod account;
mod evidence;
mod finds;
mod relations;
mod writing;

use std::path::PathBuf;

use loci_core::{Error, PalaceRef, Result, SalvageReport};
use loci_files::palace::RawAccess;
use loci_salvage::DatabaseFile;

use self::evidence::Evidence;
use self::finds::Finds;
use crate::SqliteBackend;
use crate::store::lock::FileLock;
use crate::store::palace_files::{DATABASE, PalaceFiles};
use crate::store::schema;

/// Salvages a palace into a new one beside it.
pub(crate) fn salvage(backend: &SqliteBackend, palace: &PalaceRef) -> Result<SalvageReport> {
    let place = PalaceFiles::of(palace)?;
    let _raw = let_go(backend, palace, &place)?;
    let _lock = FileLock::exclusive(&place.lock())?;
    salvage_into(backend, &place, new_palace(&place))
}

/// Closes the palace. Reading its files without SQLite drops SQLite's locks in this process, so
/// this process must have no connection left.
pub(super) fn let_go(
    backend: &SqliteBackend,
    palace: &PalaceRef,
    place: &PalaceFiles,
) -> Result<RawAccess> {
    if let Some(store) = backend.forget_store(palace) {
        crate::index::build::join(&store);
        // Without this, closing would move the log into the damaged database and could overwrite
        // pages that can still be salvaged.
        store.leave_files_alone();
        store.close();
    }
    RawAccess::begin(&place.directory).ok_or_else(|| Error::Conflict {
        what: format!(
            "this process has the palace `{}` open elsewhere; close it before repairing",
            place.directory.display()
        ),
    })
}

/// Salvages the palace at `place` into a new palace at `target`. The caller holds the palace lock,
/// and this process has no connection to the palace.
pub(super) fn salvage_into(
    backend: &SqliteBackend,
    place: &PalaceFiles,
    target: PathBuf,
) -> Result<SalvageReport> {
    // If the database is gone, its log may still hold everything. The reader needs a database file,
    // even an empty one.
    place.ensure_database_file()?;
    let file = DatabaseFile::open(&place.database, Some(schema::PAGE_SIZE)).map_err(|error| {
        Error::Corrupt {
            what: "the database".into(),
            path: place.database.clone(),
            detail: error.to_string(),
        }
    })?;
    let mut finds = Finds::default();
    let mut evidence = Evidence::new(&file);
    let pages = file.for_each_record(&mut |record| {
        evidence.take_row(record.root, record.rowid, &record.values);
        finds.take(record.rowid, &record.values);
    });
    file.for_each_index_record(&mut |entry| {
        evidence.take_entry(entry.root, &entry.values, |row| {
            !finds.drawers.contains_key(&row)
        });
    });
    take_indexes(place, &file, &finds, &mut evidence);
    let mut report = SalvageReport {
        palace: target,
        unreadable_pages: pages.unreadable_pages,
        damaged_records: pages.damaged_cells,
        ..SalvageReport::default()
    };
    drop(file);
    // Only the new palace is written from here on. A crash leaves it incomplete and the damaged
    // files as they were; the next repair starts with another directory.
    writing::write_all(backend.durability(), &finds, &evidence, &mut report)?;
    Ok(report)
}

/// Reads the row numbers of this palace's index files. They are as of the sequence number that the
/// file covers. Later deletes are known only from the tombstones, so all of those must be readable.
fn take_indexes(place: &PalaceFiles, file: &DatabaseFile, finds: &Finds, evidence: &mut Evidence) {
    let tombstones = evidence.root("tombstones");
    let Some((identity, generation)) = finds
        .identity
        .as_ref()
        .filter(|_| tombstones.is_some_and(|root| file.is_whole(root)))
    else {
        return;
    };
    let entries = std::fs::read_dir(place.index_directory());
    for entry in entries.into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().ends_with(".snapshot") {
            continue;
        }
        let Ok(found) = loci_index::snapshot_rows(&entry.path()) else {
            continue;
        };
        let of_this_palace = found.identity.palace.as_slice() == identity.as_slice()
            && found.identity.generation == *generation as u64
            && found.covered >= finds.tombstone_floor as u64;
        let collection = found.identity.collection as i64;
        // The tombstones of a deleted collection are gone, but its index file may still be there.
        if of_this_palace && finds.collections.contains_key(&collection) {
            evidence.take_index(collection, &found.rows, |row| {
                finds.drawers.contains_key(&row)
            });
        }
    }
}

fn new_palace(place: &PalaceFiles) -> PathBuf {
    let (parent, name) = beside(place);
    super::free_path(&parent, &name)
}

/// The palaces that earlier repairs without `replace` left beside this one, sorted.
pub(super) fn earlier_palaces(place: &PalaceFiles) -> Vec<PathBuf> {
    let (parent, name) = beside(place);
    let listed = if parent.as_os_str().is_empty() {
        std::path::Path::new(".")
    } else {
        &parent
    };
    let start = format!("{name}-");
    let entries = std::fs::read_dir(listed).into_iter().flatten().flatten();
    let mut palaces: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&start))
        .map(|entry| parent.join(entry.file_name()))
        .filter(|path| path.join(DATABASE).is_file())
        .collect();
    palaces.sort();
    palaces
}

/// The directory for new palaces, and the start of their names.
fn beside(place: &PalaceFiles) -> (PathBuf, String) {
    let name = place.directory.file_name().unwrap_or_default();
    let parent = place.directory.parent().map(PathBuf::from);
    let name = format!("{}.salvaged", name.to_string_lossy());
    (parent.unwrap_or_default(), name)
}

/// The name of a collection whose own row is lost.
fn recovered_name(collection: i64) -> String {
    format!("recovered-{collection}")
}
