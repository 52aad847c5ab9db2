//! Reading memtomem databases.

use std::collections::BTreeMap;
use std::fs;

use loci_core::{LinkEnd, MetaValue, Metric};
use loci_foreign::{ForeignPalace, ForeignRecord, MemtomemPalace, VectorOrigin};
use serde_json::Value;

use crate::scene::{Scene, codes, links, records, state_of, vector};

pub(crate) fn scene() -> Scene {
    Scene::fixture("memtomem/with_vectors")
}

pub(crate) fn open(scene: &Scene) -> MemtomemPalace {
    MemtomemPalace::open(&scene.path.join("memtomem.db")).unwrap()
}

pub(crate) fn chunks(scene: &Scene) -> BTreeMap<String, &Value> {
    let chunks = scene.expected["chunks"].as_array().unwrap();
    chunks
        .iter()
        .map(|chunk| (chunk["id"].as_str().unwrap().to_owned(), chunk))
        .collect()
}

fn close(one: Option<&Vec<f32>>, other: Option<Vec<f32>>) -> bool {
    match (one, other) {
        (None, None) => true,
        // The peer's own JSON rounds to six digits.
        (Some(one), Some(other)) => {
            one.len() == other.len() && one.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-6)
        }
        _ => false,
    }
}

fn strings(value: &Value) -> Option<MetaValue> {
    let items: Vec<String> = serde_json::from_str(value.as_str().unwrap()).unwrap();
    let items: Vec<MetaValue> = items.into_iter().map(MetaValue::Str).collect();
    (!items.is_empty()).then_some(MetaValue::List(items))
}

pub(crate) fn assert_whole(scene: &Scene, palace: &MemtomemPalace) {
    let (records, summary) = records(palace, 0);
    assert_eq!(summary.lost, []);
    let chunks = chunks(scene);
    assert_eq!(records.len(), chunks.len());
    for record in &records {
        assert_same(record, chunks[&record.id]);
    }
}

fn assert_same(record: &ForeignRecord, chunk: &Value) {
    let said = |key: &str| record.metadata.get_str(key);
    let number = |key: &str| record.metadata.get(key).cloned();
    assert_eq!(record.document.as_deref(), chunk["content"].as_str());
    assert!(
        close(record.vector.as_ref(), vector(&chunk["vector"])),
        "{record:?}"
    );
    let origin = [VectorOrigin::Missing, VectorOrigin::Exact][usize::from(record.vector.is_some())];
    assert_eq!(record.origin, origin);
    let wing = chunk["namespace"]
        .as_str()
        .filter(|name| *name != "default");
    assert_eq!(said("wing"), wing);
    assert_eq!(said("source_file"), chunk["source_file"].as_str());
    assert_eq!(said("chunk_type"), chunk["chunk_type"].as_str());
    assert_eq!(said("language"), chunk["language"].as_str());
    assert_eq!(said("scope"), chunk["scope"].as_str());
    assert_eq!(said("authored_at"), chunk["created_at"].as_str());
    assert!(record.metadata.authored_at().is_some());
    for key in ["start_line", "end_line"] {
        assert_eq!(number(key), chunk[key].as_i64().map(MetaValue::Int));
    }
    let counted = chunk["access_count"].as_i64().filter(|count| *count > 0);
    assert_eq!(number("access_count"), counted.map(MetaValue::Int));
    assert_eq!(number("headings"), strings(&chunk["heading_hierarchy"]));
    assert_eq!(number("tags"), strings(&chunk["tags"]));
    if chunk["valid_from_unix"].is_null() {
        assert_eq!(said("valid_from"), None);
    } else {
        assert_eq!(said("valid_from"), Some("2026-01-01T00:00:00Z"));
        assert_eq!(said("valid_to"), Some("2026-12-31T23:59:59Z"));
    }
    assert_eq!(said("damaged"), None);
}

#[test]
fn every_chunk_comes_with_its_fields_and_its_vector() {
    let scene = scene();
    let before = state_of(&scene.path);
    let palace = open(&scene);
    assert_whole(&scene, &palace);
    let collection = &palace.collections()[0];
    assert_eq!(collection.dimension, Some(4));
    assert_eq!(
        collection.embedder.as_ref().unwrap().name,
        "all-MiniLM-L6-v2"
    );
    assert_eq!(collection.metric, Metric::L2);
    assert_eq!(palace.writer(), "memtomem, schema version 1");
    assert_eq!(
        codes(&palace),
        ["vectors_missing"],
        "{:?}",
        palace.findings()
    );
    assert!(state_of(&scene.path) == before);
}

#[test]
fn relations_and_shared_copies_become_links() {
    let scene = scene();
    let id = |end: &LinkEnd| match end {
        LinkEnd::Drawer(drawer) => drawer.id.clone(),
        LinkEnd::Room { .. } => panic!("a room"),
    };
    let found: Vec<[String; 3]> = links(&open(&scene))
        .iter()
        .map(|link| [id(&link.from), id(&link.to), link.label.clone()])
        .collect();
    let expected: Vec<[String; 3]> =
        serde_json::from_value(scene.expected["links"].clone()).unwrap();
    assert_eq!(found, expected);
}

#[test]
fn tables_without_a_place_are_counted() {
    let (_, summary) = records(&open(&scene()), 0);
    assert_eq!(summary.unmapped["table `sessions`"], 1);
    assert!(!summary.unmapped.contains_key("table `chunks`"));
}

/// Runs SQL on the database.
fn change(scene: &Scene, sql: &str) {
    let database = rusqlite::Connection::open(scene.path.join("memtomem.db")).unwrap();
    database.pragma_update(None, "foreign_keys", false).unwrap();
    database.execute_batch(sql).unwrap();
}

#[test]
fn a_text_that_differs_from_its_hash_is_marked() {
    let scene = scene();
    change(
        &scene,
        "UPDATE chunks SET content = replace(content, 'kettle', 'cattle')",
    );
    let palace = open(&scene);
    assert!(codes(&palace).contains(&"content_altered"));
    for record in records(&palace, 0).0 {
        let altered = record.document.unwrap().contains("cattle");
        assert_eq!(record.metadata.get("damaged").is_some(), altered);
    }
}

#[test]
fn a_slot_that_the_bitmap_calls_free_has_no_vector() {
    let scene = scene();
    change(
        &scene,
        "UPDATE chunks_vec_chunks SET validity = zeroblob(128)",
    );
    let palace = open(&scene);
    assert!(
        records(&palace, 0)
            .0
            .iter()
            .all(|record| record.vector.is_none())
    );
}

#[test]
fn vectors_without_chunk_duplicates_and_dangling_links_are_found() {
    let scene = scene();
    change(
        &scene,
        "DROP INDEX idx_chunks_unique_content;
         DELETE FROM chunks WHERE id LIKE '%0001';
         INSERT INTO chunks (id, content, content_hash, source_file, start_line, namespace, created_at, updated_at)
         SELECT 'copy', content, content_hash, source_file, start_line, namespace, created_at, updated_at
         FROM chunks WHERE id LIKE '%0002'",
    );
    let palace = open(&scene);
    let codes = codes(&palace);
    for code in [
        "vectors_orphaned",
        "duplicates",
        "links_dangling",
        "words_missing",
    ] {
        assert!(codes.contains(&code), "{code} in {codes:?}");
    }
    assert_eq!(links(&palace).len(), 1);
}

#[test]
fn a_block_whose_vectors_are_cut_is_lost_and_the_texts_come() {
    let scene = scene();
    change(
        &scene,
        "UPDATE chunks_vec_vector_chunks00 SET vectors = substr(vectors, 1, 100)",
    );
    let palace = open(&scene);
    assert!(codes(&palace).contains(&"vectors_damaged"));
    let (records, summary) = records(&palace, 0);
    assert_eq!(records.len(), chunks(&scene).len());
    assert_eq!(summary.lost.len(), 8);
}

#[test]
fn a_database_that_sqlite_refuses_is_read_page_by_page() {
    let scene = scene();
    let path = scene.path.join("memtomem.db");
    let mut bytes = fs::read(&path).unwrap();
    bytes[100..140].fill(0xAA);
    fs::write(&path, bytes).unwrap();
    let palace = open(&scene);
    assert!(codes(&palace).contains(&"database_damaged"));
    let (records, _) = records(&palace, 0);
    let chunks = chunks(&scene);
    assert!(records.iter().all(|record| chunks.contains_key(&record.id)));
    assert!(records.len() >= 8, "{}", records.len());
}
