//! Reading MemPalace's own store and the files beside its palaces.

use std::fs;
use std::path::PathBuf;

use loci_core::{DrawerRef, LinkEnd, MetaValue, Metadata};
use loci_foreign::{ExactPalace, ForeignPalace, VectorOrigin, companions};
use serde_json::Value;

use crate::scene::{Scene, codes, facts, links, records, state_of, vector};

pub(crate) fn scene() -> Scene {
    Scene::fixture("mempalace")
}

pub(crate) fn palace_of(scene: &Scene) -> PathBuf {
    scene.path.join("palace")
}

pub(crate) fn open(scene: &Scene) -> ExactPalace {
    ExactPalace::open(&palace_of(scene)).unwrap()
}

fn database(scene: &Scene) -> PathBuf {
    palace_of(scene).join("sqlite_exact.sqlite3")
}

pub(crate) fn assert_whole(scene: &Scene, palace: &ExactPalace) {
    let names: Vec<&str> = palace
        .collections()
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["mempalace_drawers", "mempalace_closets"]);
    for (index, name) in names.into_iter().enumerate() {
        let (mut found, summary) = records(palace, index);
        assert_eq!(summary.lost, []);
        found.sort_by(|one, other| one.id.cmp(&other.id));
        let expected = scene.expected[name].as_array().unwrap();
        assert_eq!(found.len(), expected.len());
        for (record, expected) in found.iter_mut().zip(expected) {
            for key in ["created_at", "updated_at"] {
                assert!(record.metadata.0.remove(key).is_some());
            }
            assert_eq!(record.id, expected["id"].as_str().unwrap());
            assert_eq!(record.document.as_deref(), expected["document"].as_str());
            assert_eq!(
                record.metadata,
                Metadata::from_json(&expected["metadata"]).unwrap()
            );
            assert_eq!(record.vector, vector(&expected["embedding"]));
            assert_eq!(record.origin, VectorOrigin::Exact);
        }
    }
}

#[test]
fn drawers_and_closets_come_as_mempalace_gives_them() {
    let scene = scene();
    let before = state_of(&scene.path);
    let palace = open(&scene);
    assert_whole(&scene, &palace);
    let targets: Vec<&str> = palace
        .collections()
        .iter()
        .map(|one| one.target.as_str())
        .collect();
    assert_eq!(targets, ["drawers", "mempalace_closets"]);
    let embedder = palace.collections()[0].embedder.as_ref().unwrap();
    assert_eq!((embedder.name.as_str(), embedder.dimension), ("minilm", 8));
    assert_eq!(
        codes(&palace),
        Vec::<&str>::new(),
        "{:?}",
        palace.findings()
    );
    assert!(palace.is_unchanged());
    assert!(state_of(&scene.path) == before);
}

#[test]
fn facts_carry_names_times_and_source() {
    let found = facts(&open(&scene()));
    assert_eq!(found.len(), 3);
    let child = &found[0];
    assert_eq!(
        (
            child.subject.as_str(),
            child.predicate.as_str(),
            child.object.as_str()
        ),
        ("Max", "child_of", "Alice")
    );
    assert_eq!(child.valid_from.as_deref(), Some("2015-04-01"));
    assert_eq!(child.metadata.get_str("subject_type"), Some("person"));
    let drawer = DrawerRef {
        collection: "drawers".into(),
        id: "drawer_1".into(),
    };
    assert_eq!(child.source, Some(drawer));
    let ended = &found[1];
    assert_eq!(ended.valid_to.as_deref(), Some("2026-01-31"));
    assert_eq!(ended.confidence, Some(0.75));
    assert_eq!(
        ended.metadata.get_str("source_file"),
        Some("/notes/file1.md")
    );
    assert_eq!(found[2].subject, "Alice Smith");
    let mut ids: Vec<_> = found.iter().map(|fact| fact.id.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[test]
fn tunnels_become_links_between_drawers_or_rooms() {
    let found = links(&open(&scene()));
    assert_eq!(found.len(), 2);
    let drawer = |id: &str| {
        LinkEnd::Drawer(DrawerRef {
            collection: "drawers".into(),
            id: id.into(),
        })
    };
    assert_eq!(
        (&found[0].from, &found[0].to),
        (&drawer("drawer_0"), &drawer("drawer_1"))
    );
    assert_eq!(found[0].label, "see also");
    assert_eq!(found[0].metadata.get_str("source_room"), Some("room0"));
    let room = |wing: &str, room: &str| LinkEnd::Room {
        wing: wing.into(),
        room: room.into(),
    };
    assert_eq!(
        (&found[1].from, &found[1].to),
        (&room("home", "room2"), &room("work", "topic:tea"))
    );
    assert_eq!(
        found[1].metadata.get("strength"),
        Some(&MetaValue::Float(1.0))
    );
}

#[test]
fn files_without_a_place_are_counted() {
    let (_, summary) = records(&open(&scene()), 0);
    assert_eq!(summary.unmapped["file `identity.txt`"], 1);
    assert_eq!(summary.unmapped["file `people_map.json`"], 1);
    assert_eq!(summary.unmapped["properties of entities"], 1);
}

#[test]
fn the_embedder_is_read_from_beside_a_palace() {
    let scene = scene();
    let noted = r#"{"mempalace_drawers": {"model_name": "minilm", "dimension": 384}, "other": 3}"#;
    fs::write(palace_of(&scene).join("mempalace_embedder.json"), noted).unwrap();
    let found = companions(&palace_of(&scene));
    assert_eq!(
        found.embedder_of("mempalace_drawers").unwrap().dimension,
        384
    );
    assert!(found.embedder_of("other").is_none());
}

#[test]
fn damaged_companions_cost_only_themselves() {
    let scene = scene();
    fs::write(scene.path.join("tunnels.json"), "[{\"source\": 1}, 2").unwrap();
    fs::write(
        palace_of(&scene).join("knowledge_graph.sqlite3"),
        "no database",
    )
    .unwrap();
    let palace = open(&scene);
    assert_whole(&scene, &palace);
    let codes = codes(&palace);
    assert!(codes.contains(&"companion_damaged"), "{codes:?}");
    assert!(
        codes.contains(&"graph_damaged") || codes.contains(&"database_damaged"),
        "{codes:?}"
    );
    assert!(links(&palace).is_empty() && facts(&palace).is_empty());
}

fn change(scene: &Scene, sql: &str) {
    let database = rusqlite::Connection::open(database(scene)).unwrap();
    database.pragma_update(None, "foreign_keys", false).unwrap();
    database.execute_batch(sql).unwrap();
}

#[test]
fn a_vector_of_the_wrong_length_is_lost_and_the_text_comes() {
    let scene = scene();
    change(
        &scene,
        "UPDATE documents SET embedding = substr(embedding, 1, 20) WHERE id = 'drawer_2'",
    );
    let palace = open(&scene);
    assert!(codes(&palace).contains(&"vectors_damaged"));
    let (found, summary) = records(&palace, 0);
    assert_eq!(summary.lost.len(), 1);
    let drawer = found.iter().find(|record| record.id == "drawer_2").unwrap();
    assert_eq!(drawer.origin, VectorOrigin::Missing);
    assert!(drawer.document.is_some());
}

#[test]
fn documents_of_a_collection_that_is_gone_come_under_its_number() {
    let scene = scene();
    change(
        &scene,
        "DELETE FROM collections WHERE name = 'mempalace_drawers'",
    );
    let palace = open(&scene);
    assert!(codes(&palace).contains(&"documents_orphaned"));
    let lost = palace
        .collections()
        .iter()
        .position(|one| one.name == "collection_1")
        .unwrap();
    let expected: &Vec<Value> = scene.expected["mempalace_drawers"].as_array().unwrap();
    assert_eq!(records(&palace, lost).0.len(), expected.len());
}

#[test]
fn damaged_metadata_costs_only_itself() {
    let scene = scene();
    change(
        &scene,
        "UPDATE documents SET metadata_json = '[1]' WHERE id = 'drawer_2'",
    );
    let palace = open(&scene);
    assert!(codes(&palace).contains(&"metadata_damaged"));
    let (found, _) = records(&palace, 0);
    assert_eq!(found.len(), 8);
}
