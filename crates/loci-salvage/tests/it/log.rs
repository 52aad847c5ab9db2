//! A damaged log is distinguished from one that a killed writer left.

use loci_salvage::{DamagedLog, WAL_INDEX_HEADER_BYTES, damaged_log};
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};

const FRAME: usize = 24 + 8192;

/// The log that a killed process leaves: `db-wal`, with `db-shm` beside it.
struct Log {
    directory: tempfile::TempDir,
}

impl Log {
    /// Ten commits of one or two frames.
    fn healthy() -> Self {
        let (sql, live) = writer();
        let log = Self::copied(live.path());
        drop(sql);
        log
    }

    /// The current contents of `live`.
    fn copied(live: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["db", "db-wal", "db-shm"] {
            fs::copy(live.join(name), directory.path().join(name)).unwrap();
        }
        Self { directory }
    }

    /// A writer with `synchronous = FULL` died in its fsync. It left three or more frames, with a
    /// commit, after the published end. Another writer overwrote the first of them.
    fn with_stale_tail() -> Self {
        let (sql, live) = writer();
        let published = frames(&live.path().join("db-wal"));
        let before = Self::copied(live.path());
        fs::remove_file(before.path("db-shm")).unwrap();
        let dead = Connection::open(before.path("db")).unwrap();
        dead.execute("INSERT INTO t VALUES (zeroblob(50000))", [])
            .unwrap();
        let unpublished = fs::read(before.path("db-wal")).unwrap();
        assert!(frames(&before.path("db-wal")) > published + 3);
        fs::write(live.path().join("db-wal"), unpublished).unwrap();
        sql.execute("UPDATE t SET a = -1 WHERE a = 3", []).unwrap();
        let log = Self::copied(live.path());
        assert!(
            frames(&log.path("db-wal")) > published + 3,
            "nothing is left behind the end"
        );
        log
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn flip(&self, at: usize) {
        let mut bytes = self.bytes();
        bytes[at] ^= 1;
        fs::write(self.path("db-wal"), bytes).unwrap();
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.path("db-wal")).unwrap()
    }

    fn verdict(&self) -> Option<DamagedLog> {
        let index = self.path("db-shm");
        let read = || fs::read(&index).ok()?.first_chunk().copied();
        damaged_log(&self.path("db-wal"), read).unwrap()
    }

    /// Numbers, from 0, of the frames with a commit.
    fn commits(&self) -> Vec<usize> {
        let bytes = self.bytes();
        let of_frame = |frame: usize| &bytes[32 + frame * FRAME + 4..][..4];
        (0..frames(&self.path("db-wal")))
            .filter(|frame| of_frame(*frame) != [0; 4])
            .collect()
    }
}

fn writer() -> (Connection, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let sql = Connection::open(directory.path().join("db")).unwrap();
    sql.execute_batch("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; CREATE TABLE t (a)")
        .unwrap();
    for n in 0..10 {
        sql.execute("INSERT INTO t VALUES (?1)", [n]).unwrap();
    }
    (sql, directory)
}

fn frames(log: &Path) -> usize {
    (fs::metadata(log).unwrap().len() as usize - 32) / FRAME
}

#[test]
fn a_healthy_or_missing_or_empty_log_has_lost_nothing() {
    let log = Log::healthy();
    assert_eq!(log.verdict(), None);
    fs::write(log.path("db-wal"), b"").unwrap();
    assert_eq!(log.verdict(), None);
    fs::remove_file(log.path("db-wal")).unwrap();
    assert_eq!(log.verdict(), None);
}

#[test]
fn a_log_cut_anywhere_has_lost_nothing_that_can_be_told() {
    let log = Log::healthy();
    fs::remove_file(log.path("db-shm")).unwrap();
    let bytes = log.bytes();
    for length in (0..bytes.len()).step_by(997) {
        fs::write(log.path("db-wal"), &bytes[..length]).unwrap();
        assert_eq!(log.verdict(), None, "{length} bytes");
    }
}

#[test]
fn frames_that_a_dead_writer_left_behind_the_published_end_are_no_loss() {
    let log = Log::with_stale_tail();
    assert_eq!(log.verdict(), None);
    // SQLite agrees that the log is intact: the row of the dead writer never existed.
    let sql = Connection::open(log.path("db")).unwrap();
    let rows: (i64, i64) = sql
        .query_row("SELECT count(*), min(a) FROM t", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(rows, (10, -1));
}

#[test]
fn without_its_index_one_commit_behind_the_last_is_taken_for_the_remainder_of_a_dead_writer() {
    let log = Log::with_stale_tail();
    for index in [vec![], b"short".to_vec(), vec![0; 32768], vec![0xa5; 32768]] {
        fs::write(log.path("db-shm"), index).unwrap();
        assert_eq!(log.verdict(), None);
    }
    fs::remove_file(log.path("db-shm")).unwrap();
    assert_eq!(log.verdict(), None);
}

#[test]
fn a_flipped_byte_in_any_published_frame_is_told_with_the_number_of_lost_commits() {
    let healthy = Log::healthy();
    let commits = healthy.commits();
    let last = *commits.last().unwrap();
    for frame in 0..=last {
        // The page, the checksum, the salts, the commit mark.
        for at in [500, 17, 9, 7] {
            let log = Log::copied(healthy.directory.path());
            log.flip(32 + frame * FRAME + at);
            let damaged = log.verdict();
            let behind = commits.iter().filter(|commit| **commit > frame).count();
            let lost = damaged
                .as_ref()
                .map(|damaged| damaged.lost_commits as usize);
            assert_eq!(lost, Some(behind.max(1)), "frame {frame}, byte {at}");
        }
    }
}

#[test]
fn a_flipped_byte_before_a_stale_tail_is_told_and_the_tail_is_not_counted() {
    let log = Log::with_stale_tail();
    let commits = log.commits();
    let [.., third_last, last, _stale] = commits[..] else {
        panic!("{commits:?}");
    };
    log.flip(32 + last * FRAME + 500);
    assert_eq!(log.verdict().map(|damaged| damaged.lost_commits), Some(1));
    log.flip(32 + third_last * FRAME + 500);
    assert_eq!(log.verdict().map(|damaged| damaged.lost_commits), Some(1));
}

#[test]
fn without_an_index_a_flipped_byte_is_told_if_two_commits_come_after_it_or_it_is_inside_one() {
    let healthy = Log::healthy();
    let commits = healthy.commits();
    let last = *commits.last().unwrap();
    let mut told = 0;
    for frame in 0..=last {
        let log = Log::copied(healthy.directory.path());
        fs::remove_file(log.path("db-shm")).unwrap();
        log.flip(32 + frame * FRAME + 500);
        let behind = commits.iter().filter(|commit| **commit > frame).count();
        let starts_transaction = frame == 0 || commits.contains(&(frame - 1));
        let expected = behind > 1 || behind == 1 && !starts_transaction;
        assert_eq!(log.verdict().is_some(), expected, "frame {frame}");
        told += usize::from(expected);
    }
    assert!(told > 7, "{told}");
}

#[test]
fn an_index_of_another_run_of_the_log_says_nothing_about_this_one() {
    let log = Log::healthy();
    let other = Log::healthy();
    fs::copy(other.path("db-shm"), log.path("db-shm")).unwrap();
    assert_eq!(log.verdict(), None);
    log.flip(32 + FRAME + 500);
    assert!(log.verdict().unwrap().lost_commits > 5);
}

#[test]
fn of_two_copies_of_the_index_header_the_one_that_was_not_published_yet_does_not_count() {
    // A writer died after it wrote the second copy and before it wrote the first.
    let (sql, live) = writer();
    let before = Log::copied(live.path());
    sql.execute("INSERT INTO t VALUES (zeroblob(50000))", [])
        .unwrap();
    let after = Log::copied(live.path());
    let torn: Vec<u8> = {
        let (old, new) = (
            fs::read(before.path("db-shm")).unwrap(),
            fs::read(after.path("db-shm")).unwrap(),
        );
        [&old[..48], &new[48..WAL_INDEX_HEADER_BYTES]].concat()
    };
    fs::write(after.path("db-shm"), &torn).unwrap();
    after.flip(32 + frames(&before.path("db-wal")) * FRAME + 500);
    assert_eq!(after.verdict(), None, "an unpublished commit was counted");
    fs::write(after.path("db-shm"), &torn[..48]).unwrap();
    assert_eq!(after.verdict(), None, "the copy that is there is enough");
}

#[test]
fn a_log_whose_index_changes_meanwhile_is_being_written_and_gets_no_verdict() {
    let log = Log::healthy();
    log.flip(32 + FRAME + 500);
    assert!(log.verdict().is_some());
    let index: [u8; WAL_INDEX_HEADER_BYTES] =
        *fs::read(log.path("db-shm")).unwrap().first_chunk().unwrap();
    let mut calls = 0;
    let verdict = damaged_log(&log.path("db-wal"), || {
        calls += 1;
        let mut seen = index;
        seen[8] = calls;
        Some(seen)
    });
    assert_eq!(verdict.unwrap(), None);
}
