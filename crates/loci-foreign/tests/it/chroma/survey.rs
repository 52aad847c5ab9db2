//! Reading damaged directories returns every record with its text and metadata, every recoverable
//! vector, and no wrong one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use loci_core::finding::Severity;
use loci_foreign::chroma::{Diagnosis, Record};
use serde_json::Value;

use crate::chroma_scenes::best::Best;
use crate::chroma_scenes::damage::{CASES, Case, Chroma};
use crate::chroma_scenes::expected::{Expected, close, same_direction};
use crate::chroma_scenes::scene::Scene;

/// The contents of a directory: collection → id → record.
fn read(path: &Path) -> (Diagnosis, BTreeMap<String, BTreeMap<String, Record>>) {
    let diagnosis = Diagnosis::of(path).unwrap();
    let mut collections = BTreeMap::new();
    for (number, row) in diagnosis.directory.collections().iter().enumerate() {
        let mut records = BTreeMap::new();
        let survey = &diagnosis.surveys[number];
        diagnosis
            .directory
            .for_each_record(number, survey, 100, &mut |batch| {
                for record in batch {
                    assert!(records.insert(record.id.clone(), record).is_none());
                }
                Ok(())
            })
            .unwrap();
        collections.insert(row.name.clone(), records);
    }
    (diagnosis, collections)
}

fn same_metadata(record: &Record, expected: Option<&Value>) -> bool {
    let mut read = serde_json::to_value(&record.metadata).unwrap();
    if read.as_object().is_some_and(serde_json::Map::is_empty) {
        read = Value::Null;
    }
    Some(&read) == expected || read.is_null() && expected.is_none()
}

/// The best possible result of reading the files alone, as a share of the records, with the reason.
fn unavoidable(case: &Case, what: Wrong) -> f64 {
    match (case.name, what) {
        // Vectors were swapped, or changed within the tolerance of their length. ChromaDB keeps no
        // checksum.
        ("data_vectors_scrambled", Wrong::Vectors) => 0.25,
        ("data_random_flips" | "two_writers", Wrong::Vectors) => 0.02,
        // The rows are lost. The full-text index and the queue restore part of them.
        ("metadata_values_missing", Wrong::Texts) => 0.04,
        // Pages at the end are lost. If the last change of a record was on one, the previous vector
        // is returned.
        ("sqlite_truncated", Wrong::Vectors) => 0.15,
        ("sqlite_truncated", Wrong::Texts | Wrong::NotFound) => 1.0,
        _ => 0.0,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Vectors,
    NotFound,
    Texts,
}

/// The problems of what was read.
fn problems(case: &Case, scene: &Scene, expected: &Expected) -> Vec<String> {
    let (diagnosis, found) = read(&scene.directory);
    let mut problems = Vec::new();
    let mut say = |problem: String| problems.push(format!("{}: {problem}", case.name));
    for collection in &expected.collections {
        let Some(records) = found.get(&collection.name) else {
            say(format!("no collection {}", collection.name));
            continue;
        };
        let ids: BTreeSet<String> = records.keys().cloned().collect();
        let wanted = collection.ids();
        let missing: Vec<_> = wanted.difference(&ids).collect();
        let extra: Vec<_> = ids
            .difference(&wanted)
            .filter(|id| !expected.uncertain.contains(id))
            .collect();
        let cut = case.best == Best::Something && extra.is_empty();
        if !cut && (!missing.is_empty() || !extra.is_empty()) {
            say(format!(
                "{} missing {missing:?} extra {extra:?}",
                collection.name
            ));
        }
        let first = collection.name == expected.first().name;
        let recoverable = if first {
            case.recoverable(scene)
        } else {
            wanted.clone()
        };
        let (mut without, mut wrong, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for record in &collection.records {
            let Some(read) = records.get(&record.id) else {
                continue;
            };
            if read.document != record.document || !same_metadata(read, record.metadata.as_ref()) {
                texts.push(&record.id);
            }
            let acceptable = if first {
                case.acceptable(scene, &record.id)
            } else {
                record.embedding.iter().map(Vec::as_slice).collect()
            };
            match &read.vector {
                None if recoverable.contains(&record.id) => without.push(&record.id),
                None => {}
                Some(vector) => {
                    let right = acceptable.iter().any(|wanted| {
                        close(vector, wanted)
                            || case.best == Best::Direction && same_direction(vector, wanted)
                    });
                    if !right {
                        wrong.push(&record.id);
                    }
                }
            }
        }
        for (what, ids) in [
            (Wrong::NotFound, without),
            (Wrong::Vectors, wrong),
            (Wrong::Texts, texts),
        ] {
            let records = collection.records.len();
            let most = match what {
                Wrong::NotFound => case.in_doubt(records) as f64,
                Wrong::Vectors | Wrong::Texts => 0.0,
            } + unavoidable(case, what) * records as f64;
            if ids.len() as f64 > most {
                let first: Vec<_> = ids.iter().take(3).collect();
                say(format!(
                    "{} {what:?}: {} {first:?}",
                    collection.name,
                    ids.len()
                ));
            }
        }
    }
    // Its header counts elements that are not in the file. The real chromadb works with it only by
    // luck.
    let lucky = case.name == "crash_header_only";
    if case.chroma == Chroma::Correct && !lucky && !diagnosis.is_healthy() {
        say("is healthy for chromadb".into());
    }
    let invisible = case.name == "data_vectors_scrambled";
    if case.chroma == Chroma::Wrong && !invisible && diagnosis.is_healthy() {
        say("is called healthy".into());
    }
    for finding in diagnosis.all() {
        assert!(
            finding.severity == Severity::Note
                || finding.fix.is_some() && !finding.consequence.is_empty(),
            "{finding:?}"
        );
    }
    problems
}

#[test]
fn every_damaged_directory_gives_up_all_it_has() {
    let mut all = Vec::new();
    for case in CASES {
        let Some(scene) = case.stage() else {
            continue;
        };
        all.extend(problems(case, &scene, &case.expected(&scene)));
    }
    assert!(all.is_empty(), "{all:#?}");
}
