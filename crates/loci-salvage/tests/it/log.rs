//! A damaged log is told from one that a killed writer left.

use loci_salvage::damaged_log;
use std::fs;

/// A log with several commits, as a process that was killed leaves it.
fn log() -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let sql = rusqlite::Connection::open(&path).unwrap();
    sql.execute_batch("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; CREATE TABLE t (a)")
        .unwrap();
    for n in 0..10 {
        sql.execute("INSERT INTO t VALUES (?1)", [n]).unwrap();
    }
    let copy = directory.path().join("copy-wal");
    fs::copy(directory.path().join("db-wal"), &copy).unwrap();
    (directory, copy)
}

#[test]
fn a_healthy_or_missing_or_empty_log_has_lost_nothing() {
    let (directory, log) = log();
    assert_eq!(damaged_log(&log).unwrap(), None);
    assert_eq!(damaged_log(&directory.path().join("none")).unwrap(), None);
    fs::write(&log, b"").unwrap();
    assert_eq!(damaged_log(&log).unwrap(), None);
}

#[test]
fn a_log_cut_anywhere_has_lost_nothing_that_can_be_told() {
    let (_directory, log) = log();
    let bytes = fs::read(&log).unwrap();
    for length in (0..bytes.len()).step_by(997) {
        fs::write(&log, &bytes[..length]).unwrap();
        assert_eq!(damaged_log(&log).unwrap(), None, "{length} bytes");
    }
}

#[test]
fn a_flipped_byte_before_later_commits_is_told_with_their_number() {
    let (_directory, log) = log();
    let mut bytes = fs::read(&log).unwrap();
    let frame = 24 + 8192;
    let frames = (bytes.len() - 32) / frame;
    bytes[32 + (frames / 2) * frame + 500] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let damaged = damaged_log(&log).unwrap().unwrap();
    assert!(
        damaged.lost_commits > 0 && (damaged.lost_commits as usize) < frames,
        "{damaged:?}"
    );
}
