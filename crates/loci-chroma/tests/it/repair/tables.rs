//! Damage to the tables, and how much of it is repaired.

use std::fs;

use loci_chroma::{RepairOptions, repair};
use loci_core::Error;

use super::{as_read, lines, repair_twice, repaired};
use crate::damage::case;
use crate::peer::judge;
use crate::scene::{PICKLE, Scene, contents};

#[test]
fn half_a_database_becomes_a_whole_one_with_half_the_records() {
    let Some((scene, _, report)) = repair_twice("sqlite_truncated", true) else {
        return;
    };
    let read = as_read(&scene);
    let (kept, all) = (
        read.first().records.len(),
        scene.expected.first().records.len(),
    );
    assert!(kept > all / 3, "{kept} of {all}");
    assert!(report.collections[0].needs_embedding.is_empty());
    for record in &read.first().records {
        let vector = record.embedding.as_ref().unwrap();
        assert!(scene.expected.first().record(&record.id).is_some());
        assert_eq!(vector.len(), 16);
    }
    let problems = judge(&scene.directory, &read).unwrap().problems(&read);
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn documents_and_metadata_come_back_from_where_a_copy_is_left() {
    let Some((scene, _, _)) = repair_twice("metadata_values_missing", true) else {
        return;
    };
    let read = as_read(&scene);
    let queued = crate::best::queue(&scene);
    for record in &scene.expected.first().records {
        let found = read.first().record(&record.id).unwrap();
        assert_eq!(found.document, record.document, "{}", record.id);
        if queued.contains(&record.id) {
            assert_eq!(found.metadata, record.metadata, "{}", record.id);
        }
    }
    let problems = judge(&scene.directory, &read).unwrap().problems(&read);
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn the_next_write_gets_a_number_that_no_watermark_counts_as_seen() {
    let Some(scene) = Scene::standard() else {
        return;
    };
    scene
        .sql()
        .execute_batch(
            "DELETE FROM embeddings_queue; UPDATE max_seq_id SET seq_id = 99999 WHERE segment_id IN \
             (SELECT id FROM segments WHERE scope = 'METADATA' AND collection = (SELECT id FROM collections WHERE name = 'notes'))",
        )
        .unwrap();
    let report = repaired(&scene.directory);
    assert!(report.changed);
    let (highest, mark): (i64, i64) = scene
        .sql()
        .query_row(
            "SELECT (SELECT max(seq_id) FROM embeddings_queue), (SELECT max(seq_id) FROM max_seq_id)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!(highest, mark);
    let read = as_read(&scene);
    let judgement = judge(&scene.directory, &read).unwrap();
    for name in ["drawers", "notes"] {
        let seen = judgement.seen(name, "write").unwrap();
        assert!(!seen.to_string().contains("get gives"), "{seen}");
    }
    assert!(!repaired(&scene.directory).changed);
}

#[test]
fn waiting_rows_that_chromadb_would_choke_on_are_moved_into_the_file() {
    let Some(scene) = Scene::standard() else {
        return;
    };
    let database = scene.sql();
    let topic = scene.topic();
    let known = scene.expected.first().records[0].id.clone();
    for (operation, id, vector) in [
        (0, "odd-add", Some(vec![0_u8; 12])),
        (2, "odd-upsert", None),
        (1, known.as_str(), Some(vec![0_u8; 400])),
    ] {
        database
            .execute(
                "INSERT INTO embeddings_queue (operation, topic, id, vector, encoding, metadata) \
                 VALUES (?1, ?2, ?3, ?4, 'FLOAT32', '{\"chroma:document\": \"an odd text\", \"odd\": true}')",
                (operation, &topic, id, vector),
            )
            .unwrap();
    }
    database.close().unwrap();
    let report = repaired(&scene.directory);
    assert!(report.changed);
    let read = as_read(&scene);
    let changed = read.first().record(&known).unwrap();
    assert_eq!(changed.document.as_deref(), Some("an odd text"));
    assert!(changed.embedding.is_some());
    let moved = lines(report.moved_file.as_ref().unwrap());
    let ids: Vec<&str> = moved
        .iter()
        .filter_map(|line| line["id"].as_str())
        .collect();
    assert_eq!(ids, ["odd-add", "odd-upsert"]);
    for line in &moved {
        assert_eq!(line["document"], "an odd text");
        assert_eq!(line["metadata"]["odd"], true);
        assert_eq!(line["collection"], "drawers");
    }
    let problems = judge(&scene.directory, &read).unwrap().problems(&read);
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(!repaired(&scene.directory).changed);
}

#[test]
fn blobs_are_left_to_a_migration_that_is_pending() {
    let scene = Scene::fixture("chroma-0.6-flushed");
    fs::remove_file(scene.file(PICKLE)).unwrap();
    let mut damaged = fs::read(scene.file("header.bin")).unwrap();
    damaged.truncate(10);
    fs::write(scene.file("header.bin"), damaged).unwrap();
    let report = repaired(&scene.directory);
    assert!(report.changed);
    assert!(
        report.notes.iter().any(|note| note.contains("blobs")),
        "{:?}",
        report.notes
    );
    let kinds: String = scene
        .sql()
        .query_row(
            "SELECT group_concat(DISTINCT typeof(seq_id)) FROM \
             (SELECT seq_id FROM max_seq_id UNION ALL SELECT seq_id FROM embeddings)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(kinds, "blob");
    assert!(!repaired(&scene.directory).changed);
}

#[test]
fn blobs_become_numbers_where_the_migration_is_recorded_or_nothing_is_recorded() {
    for migrations in [true, false] {
        let Some(scene) = case("blob_seq_ids").stage() else {
            return;
        };
        if !migrations {
            scene.sql().execute_batch("DROP TABLE migrations").unwrap();
        }
        repaired(&scene.directory);
        let blobs: i64 = scene
            .sql()
            .query_row(
                "SELECT count(*) FROM (SELECT seq_id FROM max_seq_id UNION ALL SELECT seq_id FROM embeddings) \
                 WHERE typeof(seq_id) <> 'integer'",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(blobs, 0);
    }
}

#[test]
fn a_full_text_index_that_cannot_even_be_opened_is_made_anew() {
    for damage in [
        "DELETE FROM embedding_fulltext_search_config",
        "UPDATE embedding_fulltext_search_config SET v = 99",
        "DROP TABLE embedding_fulltext_search_data",
        "DROP TABLE embedding_fulltext_search_content",
        "DROP TABLE embedding_fulltext_search_config",
        "DELETE FROM embedding_fulltext_search_docsize",
    ] {
        let Some(scene) = Scene::standard() else {
            return;
        };
        let database = scene.sql();
        database
            .set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)
            .unwrap();
        database.execute_batch(damage).unwrap();
        database.close().unwrap();
        let report = repaired(&scene.directory);
        assert!(report.changed, "{damage}");
        let problems = judge(&scene.directory, &scene.expected)
            .unwrap()
            .problems(&scene.expected);
        assert!(problems.is_empty(), "{damage}: {problems:#?}");
        assert!(!repaired(&scene.directory).changed, "{damage}");
    }
}

#[test]
fn a_new_database_is_not_made_without_the_record_of_migrations_that_chromadb_wants() {
    let Some(scene) = Scene::standard() else {
        return;
    };
    scene
        .sql()
        .execute_batch("DELETE FROM migrations WHERE version IN (1, 5, 6)")
        .unwrap();
    (case("sqlite_page_garbage").damage)(&scene);
    let before = contents(&scene.directory);
    let error = repair(&scene.directory, &RepairOptions::default()).unwrap_err();
    assert!(
        matches!(error.plain(), Error::UnsupportedCapability { .. }),
        "{error}"
    );
    assert!(
        matches!(error.advice(), Some(loci_core::Advice::Import { .. })),
        "{error:?}"
    );
    assert_eq!(contents(&scene.directory), before);
}

#[test]
fn a_full_text_index_that_disagrees_inside_is_made_anew_in_place() {
    let Some(scene) = Scene::standard() else {
        return;
    };
    let database = scene.sql();
    database
        .set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)
        .unwrap();
    // The index loses a text that its copy of the texts still has.
    database
        .execute_batch(
            "CREATE TEMP TABLE kept AS SELECT id, c0 FROM embedding_fulltext_search_content WHERE id = 5;
             DELETE FROM embedding_fulltext_search WHERE rowid = 5;
             INSERT INTO embedding_fulltext_search_content SELECT id, c0 FROM kept;",
        )
        .unwrap();
    database.close().unwrap();
    let report = repaired(&scene.directory);
    let what: Vec<&str> = report
        .changes
        .iter()
        .map(|change| change.what.as_str())
        .collect();
    assert_eq!(what, ["full-text index rebuilt, wrong entries"]);
    let problems = judge(&scene.directory, &scene.expected)
        .unwrap()
        .problems(&scene.expected);
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(!repaired(&scene.directory).changed);
}
