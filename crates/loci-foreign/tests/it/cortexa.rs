//! Reading CortexaDB directories.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use loci_core::finding::{Fix, Severity};
use loci_core::{LinkEnd, MetaValue};
use loci_foreign::{CortexaPalace, ForeignPalace, ForeignRecord, VectorOrigin};
use serde_json::Value;

use crate::scene::{Scene, codes, links, records, state_of, vector};

pub(crate) const SCENES: [&str; 5] = [
    "log_only",
    "checkpointed",
    "poisoned",
    "stale_log",
    "restarted",
];

pub(crate) fn scene(name: &str) -> Scene {
    Scene::fixture(&format!("cortexadb/{name}"))
}

pub(crate) fn open(scene: &Scene) -> CortexaPalace {
    CortexaPalace::open(&scene.path.join("db")).unwrap()
}

pub(crate) fn by_id(palace: &CortexaPalace) -> BTreeMap<u64, ForeignRecord> {
    let (records, _) = records(palace, 0);
    let pairs = records
        .into_iter()
        .map(|record| (record.id.parse().unwrap(), record));
    pairs.collect()
}

/// The live memories, by id.
pub(crate) fn alive(scene: &Scene) -> BTreeMap<u64, &Value> {
    let memories = scene.expected["memories"].as_array().unwrap();
    memories
        .iter()
        .map(|memory| (memory["id"].as_u64().unwrap(), memory))
        .collect()
}

pub(crate) fn deleted(scene: &Scene) -> Vec<u64> {
    let ids = scene.expected["deleted"].as_array().unwrap();
    ids.iter().map(|id| id.as_u64().unwrap()).collect()
}

/// Whether a record has the contents of the memory. A mark of its origin is ignored.
pub(crate) fn is_same(record: &ForeignRecord, memory: &Value) -> bool {
    let mut metadata = record.metadata.clone();
    metadata.0.remove("recovered_from");
    let wing = memory["collection"]
        .as_str()
        .filter(|name| *name != "default");
    let wing_fits = metadata.get_str("wing") == wing;
    metadata.0.remove("wing");
    let authored = metadata.authored_at();
    metadata.0.remove("authored_at");
    let given: BTreeMap<String, MetaValue> = memory["metadata"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| {
            (
                key.clone(),
                MetaValue::Str(value.as_str().unwrap().to_owned()),
            )
        })
        .collect();
    record.document.as_deref() == memory["content"].as_str()
        && record.vector == vector(&memory["embedding"])
        && record.origin == VectorOrigin::Exact
        && wing_fits
        && authored == memory["created_at"].as_i64().map(|seconds| seconds * 1000)
        && metadata.0 == given
}

pub(crate) fn assert_whole(scene: &Scene, palace: &CortexaPalace, what: &str) {
    let found = by_id(palace);
    let alive = alive(scene);
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        alive.keys().collect::<Vec<_>>(),
        "{what}"
    );
    for (id, memory) in alive {
        assert!(is_same(&found[&id], memory), "{what}: {:?}", found[&id]);
    }
}

fn edges(palace: &CortexaPalace) -> Vec<(u64, u64, String)> {
    let id = |end: &LinkEnd| match end {
        LinkEnd::Drawer(drawer) => drawer.id.parse().unwrap(),
        LinkEnd::Room { .. } => panic!("a room"),
    };
    links(palace)
        .iter()
        .map(|link| (id(&link.from), id(&link.to), link.label.clone()))
        .collect()
}

pub(crate) fn expected_edges(scene: &Scene) -> Vec<(u64, u64, String)> {
    let edges = scene.expected["edges"].as_array().unwrap();
    let edge = |edge: &Value| {
        let id = |at: usize| edge[at].as_u64().unwrap();
        (id(0), id(1), edge[2].as_str().unwrap().to_owned())
    };
    edges.iter().map(edge).collect()
}

fn log(scene: &Scene) -> std::path::PathBuf {
    scene.path.join("db/cortexadb.wal")
}

pub(crate) fn flip(path: &Path, at: usize, change: u8) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= change;
    fs::write(path, bytes).unwrap();
}

/// The records of an intact log: offset and payload length.
pub(crate) fn frames(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut frames = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        frames.push((at, length));
        at += 8 + length;
    }
    frames
}

#[test]
fn everything_alive_is_read_from_every_scene() {
    for name in SCENES {
        let scene = scene(name);
        let palace = open(&scene);
        assert_whole(&scene, &palace, name);
        assert_eq!(edges(&palace), expected_edges(&scene), "{name}");
        assert_eq!(palace.collections()[0].dimension, Some(8));
        assert_eq!(palace.collections()[0].records, alive(&scene).len() as u64);
    }
}

#[test]
fn reading_touches_nothing() {
    for name in SCENES {
        let scene = scene(name);
        let before = state_of(&scene.path);
        let palace = open(&scene);
        records(&palace, 0);
        assert!(palace.is_unchanged());
        assert!(state_of(&scene.path) == before, "{name}");
    }
}

#[test]
fn a_healthy_database_has_no_finding_worse_than_a_note() {
    for name in ["log_only", "checkpointed", "restarted"] {
        let scene = scene(name);
        let palace = open(&scene);
        let worst = palace
            .findings()
            .iter()
            .map(|finding| finding.severity)
            .max();
        assert!(
            worst <= Some(Severity::Note),
            "{name}: {:?}",
            palace.findings()
        );
    }
}

#[test]
fn commands_that_name_nothing_are_passed_over() {
    let scene = scene("poisoned");
    let palace = open(&scene);
    assert_eq!(codes(&palace), ["poison_pill"]);
    let finding = &palace.findings()[0];
    assert_eq!(finding.evidence["commands_count"], 3);
    assert_eq!(finding.severity, Severity::Error);
    assert!(
        matches!(finding.fix, Some(Fix::Import { .. })),
        "{finding:?}"
    );
}

#[test]
fn an_old_log_on_a_newer_checkpoint_deletes_nothing_twice() {
    let scene = scene("stale_log");
    let palace = open(&scene);
    assert!(codes(&palace).contains(&"stale_after_checkpoint"));
    assert!(!by_id(&palace).contains_key(&deleted(&scene)[0]));
}

#[test]
fn deleted_memories_stay_in_segments() {
    let scene = scene("checkpointed");
    let palace = open(&scene);
    let note = palace
        .findings()
        .iter()
        .find(|finding| finding.code.as_str() == "segments_deleted");
    assert_eq!(note.unwrap().evidence["ids"], serde_json::json!([6]));
}

#[test]
fn a_log_damaged_in_the_middle_gives_all_records_but_that_one() {
    let scene = scene("log_only");
    fs::remove_dir_all(scene.path.join("db/segments")).unwrap();
    let bytes = fs::read(log(&scene)).unwrap();
    let (third, length) = frames(&bytes)[2];
    let mut damaged = bytes.clone();
    damaged[third + 8 + length / 2] ^= 0x41;
    damaged[third + 8 + length / 2 + 1] ^= 0x41;
    fs::write(log(&scene), damaged).unwrap();
    let palace = open(&scene);
    let mut expected: Vec<u64> = alive(&scene).into_keys().collect();
    expected.retain(|id| *id != 3);
    assert_eq!(by_id(&palace).into_keys().collect::<Vec<_>>(), expected);
    let finding = palace
        .findings()
        .iter()
        .find(|finding| finding.code.as_str() == "wal_damaged");
    assert_eq!(
        finding.unwrap().evidence["offsets"],
        serde_json::json!([third])
    );
    assert!(finding.unwrap().evidence["records_behind"].as_u64() > Some(5));
}

#[test]
fn what_the_log_lost_is_taken_from_a_segment_and_marked() {
    let scene = scene("log_only");
    let bytes = fs::read(log(&scene)).unwrap();
    let (third, length) = frames(&bytes)[2];
    flip(&log(&scene), third + 8 + length / 2, 0x41);
    let palace = open(&scene);
    assert_whole(&scene, &palace, "log");
    let taken = &by_id(&palace)[&3];
    assert_eq!(taken.metadata.get_str("recovered_from"), Some("segment"));
    assert!(codes(&palace).contains(&"segments_only"));
}

#[test]
fn a_lost_log_leaves_what_segments_hold() {
    let scene = scene("log_only");
    fs::remove_file(log(&scene)).unwrap();
    let palace = open(&scene);
    let found = by_id(&palace);
    for (id, memory) in alive(&scene) {
        assert!(is_same(&found[&id], memory));
    }
    assert!(
        found
            .values()
            .all(|record| record.metadata.get_str("recovered_from").is_some())
    );
}

#[test]
fn an_altered_checkpoint_gives_way_to_checksummed_copies() {
    let scene = scene("checkpointed");
    let path = scene.path.join("db/cortexadb.ckpt");
    let bytes = fs::read(&path).unwrap();
    let text = b"is number";
    let at = bytes
        .windows(text.len())
        .position(|window| window == text)
        .unwrap();
    flip(&path, at, 0x20);
    let palace = open(&scene);
    assert_whole(&scene, &palace, "checkpoint");
    assert!(codes(&palace).contains(&"checkpoint_altered"));
}

#[test]
fn a_cut_log_says_so_and_gives_what_comes_before() {
    let scene = scene("poisoned");
    fs::remove_dir_all(scene.path.join("db/segments")).unwrap();
    let bytes = fs::read(log(&scene)).unwrap();
    fs::write(log(&scene), &bytes[..bytes.len() - 5]).unwrap();
    let palace = open(&scene);
    assert!(codes(&palace).contains(&"wal_tail_cut"));
    assert_eq!(by_id(&palace).len(), alive(&scene).len() - 1);
}

/// Flips one bit in every second byte of every file.
fn one_damaged_byte_costs_nothing(name: &str) {
    for file in ["cortexadb.wal", "cortexadb.ckpt", "segments/000000.seg"] {
        let scene = scene(name);
        let path = scene.path.join("db").join(file);
        let Ok(whole) = fs::read(&path) else { continue };
        for at in (name.len() % 2..whole.len()).step_by(2) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at / 2 % 8);
            fs::write(&path, damaged).unwrap();
            let palace = open(&scene);
            let what = format!("{name}, {file}, byte {at}");
            assert_whole(&scene, &palace, &what);
            if file != "cortexadb.ckpt" {
                assert_eq!(edges(&palace), expected_edges(&scene), "{what}");
            }
        }
        fs::write(&path, whole).unwrap();
    }
}

#[test]
fn one_damaged_byte_of_a_log_costs_nothing_and_brings_nothing_back() {
    one_damaged_byte_costs_nothing("log_only");
}

#[test]
fn one_damaged_byte_beside_a_checkpoint_costs_nothing_and_brings_nothing_back() {
    one_damaged_byte_costs_nothing("checkpointed");
}

#[test]
fn one_damaged_byte_of_a_poisoned_log_costs_nothing_and_brings_nothing_back() {
    one_damaged_byte_costs_nothing("poisoned");
}

#[test]
fn one_damaged_byte_of_a_stale_log_costs_nothing_and_brings_nothing_back() {
    one_damaged_byte_costs_nothing("stale_log");
}

#[test]
fn one_damaged_byte_after_a_restart_costs_nothing_and_brings_nothing_back() {
    one_damaged_byte_costs_nothing("restarted");
}

/// Thousands of nested records, all with a valid structure and an invalid checksum.
#[test]
fn a_forged_log_of_nested_records_is_read_in_bounded_work() {
    const LENGTH: usize = 1 << 20;
    const TAIL: usize = 1 + 8 + 8 + 4;
    let home = tempfile::tempdir().unwrap();
    let mut bytes = Vec::new();
    while bytes.len() < LENGTH - 1000 {
        let left = LENGTH - bytes.len();
        bytes.extend((left as u32 - 8).to_le_bytes());
        bytes.extend([1, 2, 3, 4]);
        bytes.extend([0xFF, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(
            [7_u64, 0, (left - 8 - 9 - 24 - TAIL) as u64]
                .iter()
                .flat_map(|number| number.to_le_bytes()),
        );
    }
    bytes.resize(LENGTH, 0);
    fs::write(home.path().join("cortexadb.wal"), &bytes).unwrap();
    let begun = std::time::Instant::now();
    let palace = CortexaPalace::open(home.path()).unwrap();
    assert!(by_id(&palace).is_empty());
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}

#[test]
fn content_that_is_no_text_comes_lossily_and_is_counted() {
    let scene = scene("log_only");
    let bytes = fs::read(log(&scene)).unwrap();
    let text = b"memory 0:";
    let at = bytes
        .windows(text.len())
        .position(|window| window == text)
        .unwrap();
    let (offset, length) = frames(&bytes)[0];
    let mut changed = bytes.clone();
    changed[at] = 0xFF;
    let checksum = checksum(&changed[offset + 8..offset + 8 + length]);
    changed[offset + 4..offset + 8].copy_from_slice(&checksum.to_le_bytes());
    fs::write(log(&scene), changed).unwrap();
    let palace = open(&scene);
    let (records, summary) = records(&palace, 0);
    assert!(
        records[0]
            .document
            .as_ref()
            .unwrap()
            .starts_with('\u{FFFD}')
    );
    assert_eq!(summary.unmapped["content_encoding"], 1);
}

/// CRC-32/CKSUM without the length, bit by bit.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    let mut state: u32 = 0;
    for byte in bytes {
        state ^= u32::from(*byte) << 24;
        for _ in 0..8 {
            let carry = state >> 31;
            state <<= 1;
            if carry == 1 {
                state ^= 0x04C1_1DB7;
            }
        }
    }
    !state
}
