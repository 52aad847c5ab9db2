//! What this build cannot read is refused and not touched, and the hot statements use their index.

use std::path::Path;

use loci_core::Error;

use crate::support::{SqlitePalace, fill, open};

fn refused(path: &Path, is_right: impl Fn(&Error) -> bool) {
    let file = path.join("palace.sqlite3");
    let before = std::fs::read(&file).unwrap();
    for create in [false, true] {
        let error = SqlitePalace::open(path, create)
            .err()
            .expect("it was opened");
        assert!(is_right(&error), "{error:?}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), before, "it was touched");
    let left = crate::support::listed(path, |name| name.starts_with("palace.sqlite3-"));
    assert!(
        left.iter()
            .all(|path| std::fs::metadata(path).unwrap().len() == 0),
        "{left:?}"
    );
}

#[test]
fn a_palace_of_a_newer_format_is_refused_and_untouched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    fill(&open(&path), "drawers", "a", 10, 8, 1);
    let db = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
    let format: i64 = db
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    db.pragma_update(None, "user_version", format + 1).unwrap();
    db.close().unwrap();
    refused(&path, |error| matches!(error, Error::NewerFormat { .. }));
}

#[test]
fn a_foreign_sqlite_file_is_refused_and_untouched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    std::fs::create_dir(&path).unwrap();
    let db = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
    db.execute_batch("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)")
        .unwrap();
    db.close().unwrap();
    refused(&path, |error| {
        matches!(error, Error::BackendMismatch { .. })
    });
}

#[test]
fn a_file_that_is_no_database_is_refused_and_untouched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("palace.sqlite3"), "dear diary, ".repeat(1_000)).unwrap();
    refused(&path, |error| {
        matches!(error, Error::Corrupt { .. } | Error::BackendMismatch { .. })
    });
}
