//! Tests of the states between the steps of a repair.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::backup::Step;
use super::*;

/// A copy of a small directory that ChromaDB 0.6.3 wrote, with a truncated header.
fn damaged() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let palace = folder.path().join("palace");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../loci-foreign/tests/fixtures/chroma-0.6-flushed/now");
    let copied = copy::NewCopy::of(&fixture, &palace).unwrap();
    copied.fill().unwrap();
    let directory = Directory::open(&palace).unwrap();
    let segment = directory.collections()[0].vector_segment.clone().unwrap();
    fs::write(palace.join(segment).join("header.bin"), "cut").unwrap();
    (folder, palace)
}

fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.clone(), fs::read(path).unwrap());
            }
        }
    }
    found
}

#[test]
fn counts_that_do_not_add_up_put_everything_back() {
    let (_folder, palace) = damaged();
    let before = contents(&palace);
    let mut prepared = Prepared::of(&palace, Choice::Damaged(&Models::default())).unwrap();
    let mut report = prepared.report(false).unwrap();
    let spool = prepared
        .work
        .plans
        .iter_mut()
        .find_map(|plan| plan.spool.as_mut())
        .unwrap();
    spool.digest.count += 1;
    let error = prepared.write(&mut report).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("do not add up"), "{error}");
    assert_eq!(contents(&palace), before);
}

#[test]
fn a_kill_after_the_commit_loses_nothing_and_a_second_run_finishes() {
    let (_folder, palace) = damaged();
    let prepared = Prepared::of(&palace, Choice::Damaged(&Models::default())).unwrap();
    let mut report = prepared.report(false).unwrap();
    let saved = report.collections[0].from_segment + report.collections[0].from_queue;
    assert!(saved > 30);
    prepared.commit(&mut report, "20260101-000000").unwrap();
    // Simulate a kill before the renames.
    let report = repair(&palace, &RepairOptions::default()).unwrap();
    assert_eq!(report.set_aside.len(), 1);
    assert_eq!(report.collections[0].from_queue, saved);
    assert!(!repair(&palace, &RepairOptions::default()).unwrap().changed);
}

#[test]
fn a_write_after_the_diagnosis_stops_the_repair() {
    let (_folder, palace) = damaged();
    let prepared = Prepared::of(&palace, Choice::Damaged(&Models::default())).unwrap();
    let mut report = prepared.report(false).unwrap();
    let other = rusqlite::Connection::open(palace.join(DATABASE)).unwrap();
    other
        .execute_batch("UPDATE max_seq_id SET seq_id = x'00000000000000FF'")
        .unwrap();
    drop(other);
    let before = contents(&palace);
    let error = prepared.write(&mut report).unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error}");
    assert_eq!(contents(&palace), before);
}

#[test]
fn a_write_between_the_backup_and_the_lock_is_seen() {
    let (_folder, palace) = damaged();
    let prepared = Prepared::of(&palace, Choice::Damaged(&Models::default())).unwrap();
    let expected = database::fingerprint(prepared.directory.snapshot().connection()).unwrap();
    let database = palace.join(DATABASE);
    for change in [
        "UPDATE max_seq_id SET seq_id = x'00000000000000FF'",
        "DELETE FROM embeddings_queue",
        "DELETE FROM embeddings WHERE id = 1",
    ] {
        let original = fs::read(&database).unwrap();
        rusqlite::Connection::open(&database)
            .unwrap()
            .execute_batch(&format!("PRAGMA foreign_keys = OFF; {change}"))
            .unwrap();
        let error = transact(&database, &expected, &prepared.work).unwrap_err();
        assert!(
            matches!(error, CommitFailure::Unchanged(Error::Busy { .. })),
            "{change}: {error:?}"
        );
        fs::write(&database, original).unwrap();
    }
}

/// A kill between two renames used to leave a directory without a database.
#[test]
fn there_is_a_database_at_every_moment_of_its_replacement() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join(DATABASE);
    let journal = directory.path().join("chroma.sqlite3-journal");
    std::fs::write(&database, "old").unwrap();
    std::fs::write(&journal, "journal").unwrap();
    let backup = backup::second_name(&database, "20260101-000000").unwrap();
    assert_eq!(std::fs::read(&database).unwrap(), b"old");
    assert_eq!(std::fs::read(&backup).unwrap(), b"old");
    assert!(!journal.exists());
    let made = directory.path().join("made");
    std::fs::write(&made, "new").unwrap();
    backup::put_in_place(&made, &database).unwrap();
    assert_eq!(std::fs::read(&database).unwrap(), b"new");
    assert_eq!(std::fs::read(&backup).unwrap(), b"old");
}

/// The journal was renamed together with its database. After a power failure it could be beside the
/// repaired database, which SQLite would then roll back.
#[test]
fn a_restored_journal_follows_its_database_only_after_a_sync() {
    let home = tempfile::tempdir().unwrap();
    let [database, journal, backup] = [
        "chroma.sqlite3",
        "chroma.sqlite3-journal",
        "chroma.sqlite3.backup-20260101-000000",
    ]
    .map(|name| home.path().join(name));
    let backup_journal = home
        .path()
        .join("chroma.sqlite3.backup-20260101-000000-journal");
    for path in [&database, &journal, &backup, &backup_journal] {
        std::fs::write(path, path.as_os_str().as_encoded_bytes()).unwrap();
    }
    let steps = backup::restore_steps(&backup, &database);
    assert_eq!(
        steps,
        [
            Step::Remove(journal.clone()),
            Step::Sync,
            Step::Rename(backup.clone(), database.clone()),
            Step::Sync,
            Step::Rename(backup_journal.clone(), journal.clone()),
            Step::Sync,
        ]
    );
    backup::restore(&backup, &database).unwrap();
    for (path, content) in [(&database, &backup), (&journal, &backup_journal)] {
        assert_eq!(
            std::fs::read(path).unwrap(),
            content.as_os_str().as_encoded_bytes()
        );
    }
    assert!(!backup.exists() && !backup_journal.exists());
}

/// If a segment could not be renamed back, the error that started it all was lost.
#[test]
fn an_undo_that_fails_reports_the_first_error_too() {
    let home = tempfile::tempdir().unwrap();
    let mut report = RepairReport {
        set_aside: vec![RenamedDirectory {
            from: home.path().join("segment"),
            to: home.path().join("missing"),
        }],
        ..RepairReport::default()
    };
    let first = Error::invalid("segment", "the verification failed");
    let (backup, database) = (home.path().join("backup"), home.path().join(DATABASE));
    let error = undo(first, &mut report, &backup, &database).to_string();
    for part in ["the verification failed", "missing", "backup"] {
        assert!(error.contains(part), "{error}");
    }
}
