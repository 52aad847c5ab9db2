//! Malicious directories, and directories with unusual damage: nothing hangs, and the rest is read.

use std::fs;
use std::path::Path;

use loci_core::finding::Severity;
use loci_foreign::chroma::{Diagnosis, Origin};

use crate::chroma_scenes::scene::Scene;

fn scene() -> Scene {
    Scene::fixture("chroma-0.6-flushed")
}

fn codes(path: &Path) -> Vec<&'static str> {
    let diagnosis = Diagnosis::of(path).unwrap();
    let findings = diagnosis.all();
    findings
        .filter(|finding| finding.severity > Severity::Note)
        .map(|finding| finding.code.as_str())
        .collect()
}

/// How many records of all collections were read, and how many of them have a vector.
fn read(path: &Path) -> (u64, u64) {
    let diagnosis = Diagnosis::of(path).unwrap();
    let counts = diagnosis.surveys.iter().map(|survey| survey.counts);
    counts.fold((0, 0), |(records, vectors), count| {
        (
            records + count.records,
            vectors + count.records - count.missing,
        )
    })
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_file_does_not_hang_and_costs_only_that_file() {
    let healthy = read(&scene().directory);
    for name in [
        "index_metadata.pickle",
        "header.bin",
        "length.bin",
        "link_lists.bin",
    ] {
        let scene = scene();
        let path = scene.file(name);
        fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let (records, _) = read(&scene.directory);
        assert_eq!(records, healthy.0, "{name}");
        assert!(!codes(&scene.directory).is_empty(), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn one_odd_file_never_keeps_the_rest_from_being_read() {
    let healthy = read(&scene().directory);
    for name in ["index_metadata.pickle", "header.bin", "data_level0.bin"] {
        for odd in ["directory", "loop"] {
            let scene = scene();
            let path = scene.file(name);
            fs::remove_file(&path).unwrap();
            if odd == "directory" {
                fs::create_dir(&path).unwrap();
            } else {
                std::os::unix::fs::symlink(&path, &path).unwrap();
            }
            let (records, vectors) = read(&scene.directory);
            assert_eq!(records, healthy.0, "{name} {odd}");
            assert!(vectors > 0, "{name} {odd}");
            assert!(!codes(&scene.directory).is_empty(), "{name} {odd}");
        }
    }
    for companion in ["chroma.sqlite3-journal", "chroma.sqlite3-wal"] {
        let scene = scene();
        fs::create_dir(scene.directory.join(companion)).unwrap();
        assert_eq!(read(&scene.directory), healthy, "{companion}");
    }
}

#[test]
fn sparse_files_cost_neither_memory_nor_time() {
    let healthy = read(&scene().directory);
    for (name, bytes) in [
        ("index_metadata.pickle", 20 << 30),
        ("link_lists.bin", 100 << 30),
        ("data_level0.bin", 100_u64 << 30),
        ("../chroma.sqlite3-journal", 20 << 30),
    ] {
        let scene = scene();
        let path = scene.file(name);
        let file = fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .unwrap();
        if file.set_len(bytes).is_err() {
            continue;
        }
        if name != "index_metadata.pickle" && name.starts_with("../") {
            assert_eq!(read(&scene.directory), healthy, "{name}");
        } else {
            assert_eq!(read(&scene.directory).0, healthy.0, "{name}");
        }
    }
    // The header of a hole counts as many elements as the hole could hold.
    let scene = scene();
    let data = fs::OpenOptions::new()
        .write(true)
        .open(scene.file("data_level0.bin"))
        .unwrap();
    let mut header = fs::read(scene.file("header.bin")).unwrap();
    let size = u64::from_le_bytes(header[28..36].try_into().unwrap());
    let count = (100_u64 << 30) / size;
    if data.set_len(count * size).is_ok() {
        header[12..20].copy_from_slice(&count.to_le_bytes());
        header[20..28].copy_from_slice(&count.to_le_bytes());
        fs::write(scene.file("header.bin"), header).unwrap();
        assert_eq!(read(&scene.directory).0, healthy.0);
    }
}

/// Without its table of collections, a directory was reported as healthy and empty.
#[test]
fn records_that_no_collection_has_are_found_and_named() {
    let healthy = scene();
    for damage in [
        "DROP TABLE collections",
        "DELETE FROM collections",
        "DELETE FROM collections; DELETE FROM segments",
    ] {
        let scene = scene();
        scene
            .sql()
            .execute_batch(&format!("PRAGMA foreign_keys = OFF; {damage}"))
            .unwrap();
        let codes = codes(&scene.directory);
        assert!(codes.contains(&"collection_lost"), "{damage}: {codes:?}");
        assert_eq!(
            read(&scene.directory).0,
            read(&healthy.directory).0,
            "{damage}"
        );
    }
}

/// ChromaDB ignores an add of an existing id. After an update of the record, the vector of that add
/// was taken as the current one.
#[test]
fn the_vector_of_an_ignored_add_is_not_taken() {
    let Some(scene) = Scene::standard() else {
        return;
    };
    let id = "drawers-00001";
    let sql = scene.sql();
    let top: i64 = sql
        .query_row("SELECT max(seq_id) FROM embeddings_queue", [], |row| {
            row.get(0)
        })
        .unwrap();
    let wrong: Vec<u8> = (0..16).flat_map(|_| 0.25_f32.to_le_bytes()).collect();
    sql.execute(
        "INSERT INTO embeddings_queue (seq_id, operation, topic, id, vector, encoding, metadata) \
         VALUES (?1, 0, ?2, ?3, ?4, 'FLOAT32', '{}')",
        rusqlite::params![top + 1, scene.topic(), id, wrong],
    )
    .unwrap();
    sql.execute(
        "INSERT INTO embeddings_queue (seq_id, operation, topic, id, metadata) VALUES (?1, 1, ?2, ?3, '{\"n\": 1}')",
        rusqlite::params![top + 2, scene.topic(), id],
    )
    .unwrap();
    sql.execute(
        "UPDATE embeddings SET seq_id = ?1 WHERE embedding_id = ?2",
        rusqlite::params![top + 2, id],
    )
    .unwrap();
    sql.execute(
        "UPDATE max_seq_id SET seq_id = ?1 WHERE segment_id = ?2",
        rusqlite::params![top + 2, scene.metadata_segment()],
    )
    .unwrap();
    drop(sql);
    let diagnosis = Diagnosis::of(&scene.directory).unwrap();
    let live = diagnosis
        .surveys
        .iter()
        .flat_map(|survey| &survey.live)
        .find(|live| live.id == id)
        .unwrap();
    assert!(
        matches!(live.origin, Origin::Segment { .. }),
        "{:?}",
        live.origin
    );
}

/// Reading a view of that name never ended.
#[test]
fn a_view_in_place_of_a_table_is_not_read() {
    let scene = scene();
    scene
        .sql()
        .execute_batch(
            "DROP TABLE embedding_metadata;
             CREATE VIEW embedding_metadata (id, key, string_value, int_value, float_value, bool_value) AS
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
             SELECT i, 'k', 'v', NULL, NULL, NULL FROM n;",
        )
        .unwrap();
    let diagnosis = Diagnosis::of(&scene.directory).unwrap();
    let mut records = 0;
    for (number, survey) in diagnosis.surveys.iter().enumerate() {
        diagnosis
            .directory
            .for_each_record(number, survey, 100, &mut |batch| {
                records += batch.len();
                Ok(())
            })
            .unwrap();
    }
    assert!(records > 0);
}

/// The statement that creates a table was run, whatever else it did. A statement with another name
/// created no table at all.
#[test]
fn statements_in_a_damaged_schema_are_not_trusted() {
    let healthy = read(&scene().directory);
    for forged in [
        "CREATE TABLE embedding_metadata AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        "CREATE TABLE embedding_metabata (id INTEGER, key TEXT, string_value TEXT)",
        "CREATE TABLE embedding_metadata (id INTEGER, kez TEXT, string_value TEXT, int_value INTEGER, float_value REAL, bool_value INTEGER)",
    ] {
        let scene = scene();
        let sql = scene.sql();
        sql.pragma_update(None, "writable_schema", true).unwrap();
        sql.execute(
            "UPDATE sqlite_schema SET sql = ?1 WHERE name = 'embedding_metadata'",
            [forged],
        )
        .unwrap();
        // A page that SQLite refuses forces a salvage.
        sql.execute(
            "UPDATE sqlite_schema SET sql = 'damaged' WHERE name = 'maintenance_log'",
            [],
        )
        .unwrap();
        drop(sql);
        assert_eq!(read(&scene.directory).0, healthy.0, "{forged}");
    }
}
