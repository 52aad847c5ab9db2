//! Records whose vector is in no file are moved into a file, or embedded again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use loci_chroma::{Models, RepairOptions, RepairReport, repair};
use loci_core::{Embedder, EmbedderIdentity, Result};
use serde_json::Value;

use super::{as_read, lines, repaired};
use crate::damage::case;
use crate::peer::judge;
use crate::scene::Scene;

/// Each record of the file is as it was written.
fn assert_whole(scene: &Scene, moved: &[Value]) {
    for line in moved {
        let id = line["id"].as_str().unwrap();
        let record = scene.expected.first().record(id).unwrap();
        assert_eq!(
            line["document"].as_str(),
            record.document.as_deref(),
            "{id}"
        );
        let metadata = line
            .get("metadata")
            .filter(|of| of.as_object().is_some_and(|of| !of.is_empty()));
        assert_eq!(metadata, record.metadata.as_ref(), "{id}");
    }
}

fn ids(moved: &[Value]) -> BTreeSet<String> {
    moved
        .iter()
        .map(|line| line["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn records_without_a_vector_are_in_the_file_and_nowhere_else() {
    for name in [
        "data_truncated_half",
        "segment_dir_deleted",
        "stale_segment",
        "two_writers",
    ] {
        let Some(scene) = case(name).stage() else {
            return;
        };
        let report = repaired(&scene.directory);
        let file = report.moved_file.as_ref().unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let moved = lines(file);
        assert_eq!(report.collections[0].moved, moved.len() as u64, "{name}");
        assert_whole(&scene, &moved);
        let read = as_read(&scene).first().ids();
        assert!(read.is_disjoint(&ids(&moved)), "{name}");
        let all: BTreeSet<String> = read.union(&ids(&moved)).cloned().collect();
        assert_eq!(all, scene.expected.first().ids(), "{name}");
        assert_eq!(report.collections[0].records, all.len() as u64, "{name}");
        let again = repaired(&scene.directory);
        assert!(!again.changed && again.moved_file.is_none(), "{name}");
    }
}

#[test]
fn a_dry_run_counts_what_would_be_moved_and_writes_no_file() {
    let Some(scene) = case("data_empty").stage() else {
        return;
    };
    let options = RepairOptions {
        dry_run: true,
        ..RepairOptions::default()
    };
    let report = repair(&scene.directory, &options).unwrap();
    assert!(report.collections[0].moved > 0 && report.moved_file.is_none());
    assert_eq!(jsonl(&scene.directory), BTreeMap::new());
    assert_eq!(
        repaired(&scene.directory).collections[0].moved,
        report.collections[0].moved
    );
}

/// The JSON Lines files in a directory, by name.
fn jsonl(directory: &Path) -> BTreeMap<String, Vec<Value>> {
    let files = fs::read_dir(directory).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                lines(&path),
            )
        })
        .collect()
}

#[test]
fn a_kill_at_any_moment_leaves_every_record_in_the_directory_or_in_a_file() {
    let case = case("data_truncated_half");
    let Some(whole) = case.stage() else { return };
    let started = std::time::Instant::now();
    assert!(
        super::disturbed::start(&whole.directory)
            .wait()
            .unwrap()
            .success()
    );
    let duration = started.elapsed();
    let kills = 10;
    for kill in 1..=kills {
        let scene = case.stage().unwrap();
        let mut process = super::disturbed::start(&scene.directory);
        // This does not wait for an event; it varies the moment of the kill.
        std::thread::sleep(duration * kill / kills);
        process.kill().unwrap();
        process.wait().unwrap();
        for finished in [false, true] {
            if finished {
                repaired(&scene.directory);
            }
            let mut there = as_read(&scene).first().ids();
            // A file that was being written when its process ended may end inside a line.
            let files = fs::read_dir(&scene.directory).unwrap();
            for path in files.map(|entry| entry.unwrap().path()) {
                if path.extension().is_some_and(|end| end == "jsonl") {
                    let text = fs::read_to_string(&path).unwrap();
                    let lines = text
                        .lines()
                        .filter_map(|line| serde_json::from_str(line).ok());
                    there.extend(ids(&lines.collect::<Vec<Value>>()));
                }
            }
            assert_eq!(there, scene.expected.first().ids(), "kill {kill}");
        }
        assert!(!repaired(&scene.directory).changed, "kill {kill}");
    }
}

/// Makes a vector that is derived from the text.
struct Model;

impl Embedder for Model {
    fn identity(&self) -> EmbedderIdentity {
        EmbedderIdentity {
            name: "test".into(),
            dimension: 16,
            digest: String::new(),
        }
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let vector = |text: &&str| {
            let mut random = fastrand::Rng::with_seed(xxhash_rust::xxh3::xxh3_64(text.as_bytes()));
            (0..16).map(|_| random.f32() - 0.5).collect()
        };
        Ok(texts.iter().map(vector).collect())
    }
}

fn embedded(directory: &Path) -> RepairReport {
    let options = RepairOptions {
        models: Models(vec![Some(Arc::new(Model)), Some(Arc::new(Model))]),
        ..RepairOptions::default()
    };
    repair(directory, &options).unwrap()
}

#[test]
fn with_a_model_records_without_a_vector_stay_and_get_the_vector_of_their_text() {
    let Some(scene) = case("data_truncated_half").stage() else {
        return;
    };
    let report = embedded(&scene.directory);
    let without_text: BTreeSet<String> = match &report.moved_file {
        Some(file) => ids(&lines(file)),
        None => BTreeSet::new(),
    };
    let mut read = as_read(&scene);
    read.collections[0]
        .records
        .sort_by(|one, other| one.id.cmp(&other.id));
    let mut embedded_records = 0;
    for record in &scene.expected.first().records {
        let found = read.first().record(&record.id);
        if record.document.is_none() && found.is_none() {
            assert!(without_text.contains(&record.id));
            continue;
        }
        let found = found.unwrap();
        assert_eq!(found.document, record.document);
        let text = record.document.as_deref().unwrap_or_default();
        let vector = found.embedding.as_ref().unwrap();
        embedded_records += u64::from(*vector == Model.embed(&[text]).unwrap()[0]);
    }
    assert!(embedded_records > 100);
    assert_eq!(report.collections[0].embedded, embedded_records);
    let problems = judge(&scene.directory, &read).unwrap().problems(&read);
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(!embedded(&scene.directory).changed);
}
