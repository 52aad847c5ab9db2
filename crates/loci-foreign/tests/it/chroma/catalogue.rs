//! Tests the catalogue of damages itself: scenes are as described, damages do damage, and the real
//! chromadb behaves as the reference says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::chroma_scenes::best::{self, Best, Layout};
use crate::chroma_scenes::damage::{CASES, Case, Chroma, case};
use crate::chroma_scenes::peer::{CHROMADB_0_5, CHROMADB_0_6_3, judge};
use crate::chroma_scenes::scene::{DATA, PICKLE, Scene};

/// The problems of the real chromadb with a damaged directory; `None` if it is not installed.
fn problems(case: &Case) -> Option<Vec<String>> {
    let scene = case.stage()?;
    let expected = case.expected(&scene);
    Some(judge(&scene.directory, &expected)?.problems(&expected))
}

#[test]
fn names_of_damages_are_unique() {
    let names: BTreeSet<_> = CASES.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), CASES.len());
}

/// Every file of a directory with its bytes.
fn files(directory: &Path) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let sparse = path.metadata().unwrap().len() > 100_000_000;
                let bytes = if sparse {
                    Vec::new()
                } else {
                    fs::read(&path).unwrap()
                };
                let name = path.strip_prefix(directory).unwrap().to_owned();
                found.insert(name, xxhash_rust::xxh3::xxh3_64(&bytes));
            }
        }
    }
    found
}

#[test]
fn every_damage_changes_the_directory() {
    const AS_WRITTEN: [&str; 7] = [
        "healthy",
        "unsynced_only",
        "kill9",
        "kill9_mid_stream",
        "two_writers",
        "legacy_063",
        "null_documents",
    ];
    for case in CASES {
        let Some(scene) = (case.scene)() else {
            continue;
        };
        let before = files(&scene.directory);
        (case.damage)(&scene);
        let written = AS_WRITTEN.iter().any(|name| case.name.ends_with(name));
        assert_eq!(before == files(&scene.directory), written, "{}", case.name);
    }
}

#[test]
fn what_can_be_saved_lies_between_the_queue_and_everything() {
    for case in CASES {
        let Some(scene) = case.stage() else {
            continue;
        };
        let records = case.expected(&scene).first().ids();
        let found = case.recoverable(&scene);
        assert!(found.is_subset(&records), "{}", case.name);
        let all = matches!(case.best, Best::All | Best::Direction);
        assert_eq!(found == records, all, "{}: {}", case.name, found.len());
        let some = case.best == Best::Something || !found.is_empty();
        assert!(some, "{}", case.name);
        for id in &found {
            assert!(
                !case.acceptable(&scene, id).is_empty(),
                "{} {id}",
                case.name
            );
        }
    }
}

#[test]
fn the_standard_scene_has_flushed_and_queued_records() {
    let Some(scene) = Scene::standard() else {
        return;
    };
    let queued = best::queue(&scene).len();
    let records = scene.expected.first().records.len();
    assert!(
        records > 1200 && (100..300).contains(&queued),
        "{records} {queued}"
    );
    let flushed = fs::read(scene.file(DATA)).unwrap().len() / Layout::of(&scene).size;
    assert!(flushed > 1000, "{flushed}");
}

#[test]
fn old_releases_write_directories_whose_numbers_are_blobs() {
    for (variable, version) in [(CHROMADB_0_5, "0.5."), (CHROMADB_0_6_3, "0.6.3")] {
        let Some(scene) = Scene::old(variable) else {
            continue;
        };
        assert!(scene.expected.version.starts_with(version));
        let kind: String = scene
            .pristine_sql()
            .query_row("SELECT typeof(seq_id) FROM max_seq_id", [], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(kind, "blob");
        assert!(scene.file(PICKLE).exists());
    }
}

#[test]
fn fixtures_of_old_releases_hold_what_they_say() {
    for release in ["0.5", "0.6"] {
        for state in ["flushed", "queued"] {
            let scene = Scene::fixture(&format!("chroma-{release}-{state}"));
            assert!(scene.expected.version.starts_with(release));
            assert_eq!(scene.file(PICKLE).exists(), state == "flushed");
            let expected = scene.expected.first();
            let records = "SELECT count(*) FROM embeddings e JOIN segments s ON s.id = e.segment_id \
                JOIN collections c ON c.id = s.collection WHERE c.name = ?1";
            let database = scene.pristine_sql();
            let count = |sql: &str| -> u32 {
                database
                    .query_row(sql, [&expected.name], |row| row.get(0))
                    .unwrap()
            };
            assert_eq!(count(records) as usize, expected.records.len());
            let bare = "SELECT count(*) FROM embeddings_queue q JOIN collections c ON q.topic LIKE '%' || c.id \
                WHERE c.name = ?1 AND json_extract(metadata, '$.\"chroma:document\"') IS NULL AND operation = 0";
            assert_eq!(count(bare) > 0, state == "queued" || release == "0.5");
        }
    }
}

#[test]
fn the_real_chromadb_finds_a_healthy_directory_whole() {
    assert_eq!(problems(case("healthy")).unwrap_or_default(), [""; 0]);
}

#[test]
fn the_judge_sees_lost_vectors_wrong_values_and_crashes() {
    for (name, sign) in [
        ("segment_dir_deleted", "drawers query: missing"),
        ("length_empty", "drawers embeddings: vectors"),
        ("data_links_out_of_range", "signal 11"),
        ("metadata_rows_missing", "drawers query: extra"),
        ("metadata_values_missing", "drawers get: documents"),
        ("fts_content_missing", "drawers contains: wrong"),
        ("legacy_063_shimmed", "drawers write: problems"),
    ] {
        let Some(problems) = problems(case(name)) else {
            return;
        };
        let seen = problems.iter().any(|problem| problem.starts_with(sign));
        assert!(seen, "{name}: {problems:?}");
    }
}

#[test]
fn a_record_whose_vector_is_lost_must_still_be_there() {
    let Some(scene) = Scene::standard() else {
        return;
    };
    let lost = scene.expected.with_vectors(&BTreeSet::new());
    let judgement = judge(&scene.directory, &lost).unwrap();
    assert_eq!(judgement.problems(&lost), [""; 0]);
    scene
        .sql()
        .execute_batch("DELETE FROM embeddings WHERE embedding_id = 'drawers-00001'")
        .unwrap();
    let problems = judge(&scene.directory, &lost).unwrap().problems(&lost);
    assert!(problems.iter().any(|line| line.contains("drawers-00001")));
}

#[test]
#[ignore = "takes four minutes; hangs are part of it"]
fn the_real_chromadb_does_with_every_damage_what_the_catalogue_says() {
    let mut surprises = Vec::new();
    for case in CASES {
        let Some(problems) = problems(case) else {
            return;
        };
        println!("{}: {:?} {problems:?}", case.name, case.chroma);
        let right = match case.chroma {
            Chroma::Correct => problems.is_empty(),
            Chroma::Wrong => !problems.is_empty(),
            Chroma::Undefined => true,
        };
        if !right {
            surprises.push((case.name, problems));
        }
    }
    assert!(surprises.is_empty(), "{surprises:#?}");
}
