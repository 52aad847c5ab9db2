//! Committed WAL frames are applied exactly as in SQLite's recovery. For a damaged WAL, SQLite
//! itself opens the same bytes as the reference.

use crate::support::{Rows, Store, of_root, page_range, salvage};
use loci_salvage::DatabaseFile;
use rusqlite::Connection;
use std::fs;
use tempfile::TempDir;

/// A store in WAL mode, partly checkpointed, with several commits only in the WAL.
fn store_with_wal() -> Store {
    let store = Store::empty(8192);
    store
        .sql
        .execute_batch("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;")
        .unwrap();
    store.create_tables();
    store.insert(1..100);
    store
        .sql
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    for start in [100, 130, 160] {
        store.insert(start..start + 30);
        store
            .sql
            .execute("UPDATE memo SET extra = extra + 1 WHERE id % 5 = 0", [])
            .unwrap();
    }
    store
}

fn wal_bytes(store: &Store) -> Vec<u8> {
    fs::read(store.dir.path().join("store.sqlite3-wal")).unwrap()
}

/// The contents of a database and a WAL according to SQLite, and according to salvage.
fn both(database: &[u8], wal: &[u8]) -> (Rows, Rows, u32) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("store.sqlite3");
    fs::write(&path, database).unwrap();
    fs::write(dir.path().join("store.sqlite3-wal"), wal).unwrap();
    let (records, _) = salvage(&path, None);
    let frames = DatabaseFile::open(&path, None)
        .unwrap()
        .wal_frames_applied();
    let sql = Connection::open(&path).unwrap();
    let judge = Store { dir, path, sql };
    let root = judge.root("memo");
    (judge.memo(), of_root(&records, root), frames)
}

#[test]
fn committed_rows_that_were_never_checkpointed_are_read() {
    let store = store_with_wal();
    let file = DatabaseFile::open(&store.path, None).unwrap();
    assert_eq!(
        u64::from(file.wal_frames_applied()),
        (wal_bytes(&store).len() as u64 - 32) / 8216
    );
    let (records, report) = salvage(&store.path, None);
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(of_root(&records, store.root("memo")), store.memo());
    assert_eq!(of_root(&records, store.root("tag")), store.tag());
    assert_eq!(store.memo().len(), 189);
}

#[test]
fn a_database_that_lives_only_in_its_wal_is_read() {
    let store = Store::empty(4096);
    store
        .sql
        .execute_batch("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;")
        .unwrap();
    store.create_tables();
    store.insert(1..50);
    fs::write(
        store.copy(&[]).with_extension("sqlite3-wal"),
        wal_bytes(&store),
    )
    .unwrap();
    let (records, _) = salvage(&store.dir.path().join("copy.sqlite3"), None);
    assert_eq!(of_root(&records, store.root("memo")), store.memo());
}

#[test]
fn frames_of_a_transaction_that_did_not_commit_are_not_applied() {
    let store = store_with_wal();
    let (memo, committed) = (store.memo(), wal_bytes(&store).len());
    store
        .sql
        .execute_batch("PRAGMA cache_size=2; BEGIN; DELETE FROM memo WHERE id < 50")
        .unwrap();
    for id in 1_000..1_200 {
        store
            .sql
            .execute(
                "INSERT INTO memo VALUES (?1, ?2, 0)",
                (id, "spill".repeat(900)),
            )
            .unwrap();
    }
    assert!(
        wal_bytes(&store).len() > committed + 100 * 8216,
        "the cache did not spill"
    );
    let (records, report) = salvage(&store.path, None);
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(of_root(&records, store.root("memo")), memo);
}

#[test]
fn a_wal_cut_anywhere_gives_the_rows_that_sqlite_recovers() {
    let store = store_with_wal();
    let (database, wal) = (store.bytes(), wal_bytes(&store));
    let mut random = fastrand::Rng::with_seed(4);
    let mut seen = Vec::new();
    for case in 0..40 {
        let at = if case < 5 {
            case * 16
        } else {
            random.usize(..=wal.len())
        };
        let (sqlite, salvaged, frames) = both(&database, &wal[..at]);
        assert_eq!(salvaged, sqlite, "cut at {at}");
        seen.push(frames);
    }
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 4, "{seen:?}");
}

#[test]
fn a_flipped_bit_in_the_wal_gives_the_rows_that_sqlite_recovers() {
    let store = store_with_wal();
    let (database, wal) = (store.bytes(), wal_bytes(&store));
    let mut random = fastrand::Rng::with_seed(5);
    for case in 0..60 {
        let mut wal = wal.clone();
        // Half of the flips hit the WAL header or a frame header, where the rules apply.
        let at = match case % 4 {
            0 => random.usize(..32),
            1 => 32 + 8216 * random.usize(..(wal.len() - 32) / 8216) + random.usize(..24),
            _ => random.usize(..wal.len()),
        };
        wal[at] ^= 1 << random.u32(..8);
        let (sqlite, salvaged, _) = both(&database, &wal);
        assert_eq!(salvaged, sqlite, "flip at {at}");
    }
}

/// Rewrites a WAL as a machine of the other byte order would have written it.
fn with_big_endian_checksums(wal: &mut [u8]) {
    fn add(sums: &mut [u32; 2], bytes: &[u8]) {
        for pair in bytes.chunks_exact(8) {
            let word = |at: usize| u32::from_be_bytes(pair[at..at + 4].try_into().unwrap());
            sums[0] = sums[0].wrapping_add(word(0)).wrapping_add(sums[1]);
            sums[1] = sums[1].wrapping_add(word(4)).wrapping_add(sums[0]);
        }
    }
    fn store(sums: [u32; 2], into: &mut [u8]) {
        into[..4].copy_from_slice(&sums[0].to_be_bytes());
        into[4..8].copy_from_slice(&sums[1].to_be_bytes());
    }
    wal[3] = 0x83;
    let mut sums = [0, 0];
    add(&mut sums, &wal[..24]);
    store(sums, &mut wal[24..32]);
    for frame in wal[32..].chunks_exact_mut(8216) {
        add(&mut sums, &frame[..8]);
        add(&mut sums, &frame[24..]);
        store(sums, &mut frame[16..24]);
    }
}

#[test]
fn a_wal_with_checksums_of_the_other_byte_order_is_applied() {
    let store = store_with_wal();
    let mut wal = wal_bytes(&store);
    assert_eq!(wal[3], 0x82);
    with_big_endian_checksums(&mut wal);
    let (sqlite, salvaged, frames) = both(&store.bytes(), &wal);
    assert_eq!(salvaged, sqlite);
    assert_eq!(sqlite, store.memo());
    assert!(frames > 0);
}

#[cfg(unix)]
#[test]
fn the_wal_is_found_behind_a_link_to_the_file() {
    let store = store_with_wal();
    let link = store.dir.path().join("link.sqlite3");
    std::os::unix::fs::symlink(&store.path, &link).unwrap();
    let (records, _) = salvage(&link, None);
    assert_eq!(of_root(&records, store.root("memo")), store.memo());
}

#[test]
fn old_frames_behind_a_restarted_wal_are_not_applied() {
    let store = store_with_wal();
    store
        .sql
        .execute_batch("PRAGMA wal_checkpoint(RESTART); DELETE FROM memo WHERE id > 150")
        .unwrap();
    let frames = DatabaseFile::open(&store.path, None)
        .unwrap()
        .wal_frames_applied();
    assert!(u64::from(frames) < (wal_bytes(&store).len() as u64 - 32) / 8216);
    let (sqlite, salvaged, _) = both(&store.bytes(), &wal_bytes(&store));
    assert_eq!(salvaged, sqlite);
    assert_eq!(sqlite.len(), 150);
}

#[test]
fn pages_that_a_commit_in_the_wal_cut_off_are_not_read() {
    let store = store_with_wal();
    store
        .sql
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE); DELETE FROM memo WHERE id > 20; VACUUM")
        .unwrap();
    let file = DatabaseFile::open(&store.path, None).unwrap();
    assert!(u64::from(file.page_count()) * 8192 < store.bytes().len() as u64);
    let (records, report) = salvage(&store.path, None);
    assert!(report.is_clean(), "{report:?}");
    let bodies: Vec<_> = records
        .iter()
        .filter(|record| record.values.len() == 3)
        .collect();
    assert_eq!(bodies.len(), 20);
}

#[test]
fn a_first_page_in_the_wal_heals_a_lost_one_in_the_file() {
    let store = store_with_wal();
    store.sql.execute_batch("CREATE TABLE later(a)").unwrap();
    let mut database = store.bytes();
    database[page_range(1, 8192)].fill(0xa5);
    let path = store.copy(&database);
    fs::write(path.with_extension("sqlite3-wal"), wal_bytes(&store)).unwrap();
    let (records, report) = salvage(&path, None);
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(of_root(&records, store.root("memo")), store.memo());
}
