//! Tests of what a snapshot must never do, and of what it must still read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use rusqlite::Connection;
use tempfile::tempdir;

use super::*;

const NOTES: Table = Table {
    name: "notes",
    sql: "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)",
    fits: |row| row.len() == 2 && matches!(row.get(1), Some(Value::Text(_))),
    key_index: None,
};

fn database(path: &Path, rows: usize, mode: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .pragma_update(None, "journal_mode", mode)
        .unwrap();
    connection.execute_batch(NOTES.sql).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    for row in 0..rows {
        connection
            .execute(
                "INSERT INTO notes (text) VALUES (?1)",
                [format!("note {row} {}", "x".repeat(100))],
            )
            .unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    connection
}

fn count(snapshot: &Snapshot) -> i64 {
    snapshot
        .connection()
        .query_row("SELECT count(*) FROM notes", [], |row| row.get(0))
        .unwrap()
}

/// Names, bytes and times of everything in a directory, and its own time.
fn state(directory: &Path) -> (SystemTime, BTreeMap<String, (Vec<u8>, SystemTime)>) {
    let files = fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let info = entry.metadata().unwrap();
            (
                entry.file_name().into_string().unwrap(),
                (fs::read(entry.path()).unwrap(), info.modified().unwrap()),
            )
        })
        .collect();
    (directory.metadata().unwrap().modified().unwrap(), files)
}

#[test]
fn reading_leaves_no_trace_in_any_journal_mode() {
    for mode in ["delete", "wal", "persist"] {
        let directory = tempdir().unwrap();
        let path = directory.path().join("notes #1?%.sqlite3");
        let writer = database(&path, 50, mode);
        let before = state(directory.path());
        let snapshot = Snapshot::take(&path, &[NOTES]).unwrap();
        assert_eq!(count(&snapshot), 50, "{mode}");
        assert!(snapshot.is_unchanged());
        drop(snapshot);
        assert_eq!(state(directory.path()), before, "{mode}");
        drop(writer);
    }
}

#[cfg(unix)]
#[test]
fn private_copies_are_readable_by_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let private = new_private().unwrap();
    let mode = private.path().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_writer_does_not_wait_for_a_reader_and_is_noticed() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("notes.sqlite3");
    let writer = database(&path, 50, "delete");
    let snapshot = Snapshot::take(&path, &[NOTES]).unwrap();
    let first = count(&snapshot);
    writer.busy_timeout(std::time::Duration::ZERO).unwrap();
    writer.execute("DELETE FROM notes", []).unwrap();
    assert_eq!(first, 50);
    assert!(!snapshot.is_unchanged());
}

#[test]
fn a_transaction_that_a_kill_left_half_written_does_not_count() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("notes.sqlite3");
    let writer = database(&path, 2000, "delete");
    // A tiny cache makes SQLite write changed pages into the file before the commit.
    writer.pragma_update(None, "cache_size", 2).unwrap();
    writer
        .execute_batch("BEGIN; UPDATE notes SET text = 'changed'; DELETE FROM notes WHERE id > 5;")
        .unwrap();
    let crashed = tempdir().unwrap();
    let copy = crashed.path().join("notes.sqlite3");
    fs::copy(&path, &copy).unwrap();
    fs::copy(beside(&path, "-journal"), beside(&copy, "-journal")).unwrap();
    let before = state(crashed.path());
    let snapshot = Snapshot::take(&copy, &[NOTES]).unwrap();
    assert_eq!(count(&snapshot), 2000);
    assert!(
        matches!(snapshot.access(), Access::Copied { .. }),
        "{:?}",
        snapshot.damage()
    );
    assert_eq!(state(crashed.path()), before);
}

#[test]
fn what_sqlite_cannot_read_is_read_page_by_page() {
    for damaged in ["header", "schema", "cut"] {
        let directory = tempdir().unwrap();
        let path = directory.path().join("notes.sqlite3");
        drop(database(&path, 500, "delete"));
        let mut bytes = fs::read(&path).unwrap();
        match damaged {
            "header" => bytes[..100].fill(0xA5),
            "schema" => bytes[100..4096].fill(0),
            _ => bytes.truncate(bytes.len() - 4096),
        }
        fs::write(&path, &bytes).unwrap();
        let snapshot = Snapshot::take(&path, &[NOTES]).unwrap();
        assert!(
            matches!(snapshot.access(), Access::Salvaged(_)),
            "{damaged}"
        );
        assert!(count(&snapshot) > 400, "{damaged}: {}", count(&snapshot));
        assert!(!snapshot.damage().is_empty(), "{damaged}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn a_forged_schema_runs_nothing() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("notes.sqlite3");
    let victim = directory.path().join("victim");
    let forger = database(&path, 100, "delete");
    forger.pragma_update(None, "writable_schema", true).unwrap();
    let smuggled = format!(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT); ATTACH '{}' AS v; CREATE TABLE v.t (x)",
        victim.display()
    );
    forger
        .execute(
            "UPDATE sqlite_schema SET sql = ?1 WHERE name = 'notes'",
            [smuggled],
        )
        .unwrap();
    drop(forger);
    let snapshot = Snapshot::take(&path, &[NOTES]).unwrap();
    assert_eq!(count(&snapshot), 100);
    assert!(!victim.exists());
}
