//! Repair in place: what the real chromadb 1.5.9 finds afterwards, and what happens if the repair
//! is disturbed.

mod disturbed;
mod hostile;
mod lost_rows;
mod metadata;
mod moved;
mod segments;
mod swapped;
mod tables;
mod watermarks;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use loci_chroma::{RepairOptions, RepairReport, repair};
use loci_foreign::chroma::Directory;

use crate::best::Best;
use crate::damage::{Case, case};
use crate::expected::{Expected, ExpectedRecord, close};
use crate::peer::judge;
use crate::scene::{Scene, contents};

/// The lines of a JSON Lines file.
pub fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(crate) fn repaired(directory: &Path) -> RepairReport {
    repair(directory, &RepairOptions::default()).unwrap()
}

/// The vectors of the first collection as Loci reads them.
pub fn vectors(scene: &Scene) -> BTreeMap<String, Vec<f32>> {
    let directory = Directory::open(&scene.directory).unwrap();
    let name = &scene.expected.first().name;
    let index = directory
        .collections()
        .iter()
        .position(|row| row.name == *name)
        .unwrap();
    let survey = directory.survey(index).unwrap();
    let mut found = BTreeMap::new();
    for live in &survey.live {
        if let Some(vector) = directory.vector(&survey, live).unwrap() {
            found.insert(live.id.clone(), vector);
        }
    }
    found
}

/// The requirements of the judge: the expected records, and the recovered vectors, which must be
/// right if that is possible.
fn demanded(
    case: &Case,
    scene: &Scene,
    wanted: &BTreeSet<String>,
    report: &RepairReport,
) -> Expected {
    let found = vectors(scene);
    let missing: Vec<&String> = wanted
        .iter()
        .filter(|id| !found.contains_key(*id))
        .collect();
    assert!(
        missing.len() <= case.in_doubt(scene.expected.first().records.len()),
        "{}: not recovered: {missing:?}",
        case.name
    );
    for id in wanted.iter().filter(|id| found.contains_key(*id)) {
        let may_be = case.acceptable(scene, id);
        let right = may_be.iter().any(|vector| match case.best {
            Best::Direction => points_like(&found[id], vector),
            _ => close(&found[id], vector),
        });
        assert!(right, "{}: {id} came back as {:?}", case.name, found[id]);
    }
    for id in &report.collections[0].needs_embedding {
        assert!(!found.contains_key(id), "{}: {id} has a vector", case.name);
    }
    let mut expected = case.expected(scene);
    let moved: BTreeSet<&String> = report.collections[0].needs_embedding.iter().collect();
    expected.collections[0]
        .records
        .retain(|record| !moved.contains(&record.id));
    for record in &mut expected.collections[0].records {
        record.embedding = found.get(&record.id).cloned();
    }
    expected
}

/// Whether two vectors have the same direction, whatever their lengths.
fn points_like(one: &[f32], other: &[f32]) -> bool {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum()
    };
    dot(one, other) / (dot(one, one) * dot(other, other)).sqrt() > 0.999_99
}

/// Stages a damage, repairs it, and repairs it again. Returns what chromadb must find.
fn repair_twice(name: &str, changed: bool) -> Option<(Scene, Expected, RepairReport)> {
    let case = case(name);
    let scene = case.stage()?;
    let wanted = case.recoverable(&scene);
    let before = contents(&scene.directory);
    let options = RepairOptions {
        dry_run: true,
        ..RepairOptions::default()
    };
    let dry = repair(&scene.directory, &options).unwrap();
    assert_eq!(
        contents(&scene.directory),
        before,
        "{name}: a dry run wrote"
    );
    let report = repaired(&scene.directory);
    println!("{name}: {:?} {:?}", report.changes, report.set_aside);
    assert_eq!(report.changed, changed, "{name}: {:#?}", report.findings);
    assert_eq!(dry.changed, report.changed);
    assert_eq!(dry.changes, report.changes);
    assert_eq!(report.backup.is_some(), changed);
    if !changed {
        assert_eq!(
            contents(&scene.directory),
            before,
            "{name}: something was written"
        );
    }
    let once = contents(&scene.directory);
    let again = repaired(&scene.directory);
    assert!(!again.changed, "{name}: again {:#?}", again.changes);
    assert_eq!(
        contents(&scene.directory),
        once,
        "{name}: the second run wrote"
    );
    let expected = demanded(case, &scene, &wanted, &report);
    Some((scene, expected, report))
}

/// Repairs a damage and runs the real chromadb on the result, which must find no problem at all.
/// Records without a vector are in a file.
fn check(name: &str, changed: bool) {
    let Some((scene, expected, _)) = repair_twice(name, changed) else {
        return;
    };
    if !changed {
        return;
    }
    for attempt in 1..=3 {
        let Some(problems) = problems(&scene, &expected) else {
            return;
        };
        if problems.is_empty() {
            return;
        }
        let again = attempt < 3 && problems.iter().all(|problem| is_one_unreached(problem));
        assert!(again, "{name}: {problems:#?}");
        println!("RETRIED {name}: {problems:?}");
    }
}

/// Whether the only problem is a record that a query did not reach. The real chromadb shows this
/// with indexes that 0.5 wrote, in some openings of the same files and not in others, so the query
/// is repeated. Anything else counts at once.
fn is_one_unreached(problem: &str) -> bool {
    ["query: missing", "nearest: missed", "filtered: wrong"]
        .iter()
        .any(|step| problem.contains(step))
        && problem.contains("\"count\":1,")
}

/// The problems that the real chromadb finds.
fn problems(scene: &Scene, expected: &Expected) -> Option<Vec<String>> {
    Some(judge(&scene.directory, expected)?.problems(expected))
}

macro_rules! cases {
    ($($module:ident: $changed:literal { $($name:ident)* })*) => {
        $(mod $module {
            $(#[test]
            fn $name() {
                super::check(stringify!($name), $changed);
            })*
        })*
    };
}

cases! {
    left_alone: false {
        schema_null config_legacy_no_type healthy unsynced_only kill9 legacy_063 legacy_063_unsynced legacy_05 legacy_05_unsynced orphan_segment_dir
        hot_journal max_seq_id_vector_row_missing crash_before_max_seq_id linklists_sparse_bloat
    }
    mended: true {
        crash_header_only crash_after_hnsw_save
        crash_mid_hnsw_save crash_truncated_pickle pickle_empty pickle_empty_calm pickle_deleted_calm pickle_bitflip pickle_deleted segment_dir_deleted
        segment_renamed_drift stale_segment stale_sqlite two_writers header_deleted header_count_huge header_truncated
        header_count_low header_count_plus500 data_truncated_half data_empty data_links_out_of_range data_random_flips
        linklists_bitflips data_links_zeroed linklists_empty linklists_truncated
        length_garbage length_empty blob_seq_ids blob_seq_ids_embeddings_only max_seq_id_poisoned
        legacy_063_null_documents legacy_05_null_documents legacy_063_shimmed metadata_rows_missing metadata_orphans
        rows_gone_together rows_gone_scattered rows_gone_first rows_gone_last rows_gone_queued rows_gone_together_alone
        rows_gone_scattered_alone rows_gone_together_calm rows_page_zero rows_page_noise rows_index_page_zero
        rows_page_and_index_noise dimension_null dimension_wrong
        schema_null_cosine config_legacy_no_type_cosine segment_row_missing fts_content_missing fts_index_damaged sqlite_page_garbage
    }
}

/// Nothing distinguishes a vector from another of the same length.
#[test]
fn what_cannot_be_told_is_left_alone() {
    repair_twice("data_vectors_scrambled", false);
}

/// The directory as Loci reads it.
pub(crate) fn as_read(scene: &Scene) -> Expected {
    let directory = Directory::open(&scene.directory).unwrap();
    let mut expected = scene.expected.clone();
    for (index, row) in directory.collections().iter().enumerate() {
        let survey = directory.survey(index).unwrap();
        let mut records = Vec::new();
        directory
            .for_each_record(index, &survey, 1000, &mut |batch| {
                records.extend(batch.into_iter().map(|record| {
                    ExpectedRecord {
                        id: record.id,
                        document: record.document,
                        metadata: (!record.metadata.0.is_empty())
                            .then(|| serde_json::to_value(&record.metadata).unwrap()),
                        embedding: record.vector,
                        returned: None,
                    }
                }));
                Ok(())
            })
            .unwrap();
        let collection = expected
            .collections
            .iter_mut()
            .find(|collection| collection.name == row.name)
            .unwrap();
        collection.records = records;
    }
    expected
}
