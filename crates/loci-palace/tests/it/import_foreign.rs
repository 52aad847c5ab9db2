//! Foreign palaces into ours: everything arrives, is proved to have arrived, and nothing vanishes unsaid.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};

use loci_palace::{
    Batch, Collection, Diagnosis, EmbedderIdentity, Error, Fact, FactQuery, ForeignFinding,
    ForeignImportOptions, ForeignImportReport, ForeignRecord, Get, ImportedCollection, Include,
    Link, LinkEnd, LostRecord, MINILM_NAME, MetaValue, Metadata, Metric, OnConflict, Palace,
    ReadSummary, Selection, Severity, VectorOrigin, search,
};
use serde_json::json;

use crate::foreign::{Foreign, collection, missing, record};
use crate::support::{command, open};

type Drawer = (String, Metadata, Vec<f32>);

struct Scene {
    _root: tempfile::TempDir,
    palace: Palace,
}

impl Scene {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let palace = open(&root.path().join("palace"));
        Self {
            _root: root,
            palace,
        }
    }

    fn import(&self, source: &Foreign) -> ForeignImportReport {
        self.import_with(source, &ForeignImportOptions::default())
    }

    fn import_with(&self, source: &Foreign, options: &ForeignImportOptions) -> ForeignImportReport {
        self.palace
            .import_foreign(source, options, &mut |_| ())
            .unwrap()
    }

    fn drawers(&self, name: &str) -> BTreeMap<String, Drawer> {
        let collection = self.palace.collection(name, false).unwrap();
        all(collection.as_ref())
    }

    fn pinned(&self, name: &str) -> Option<EmbedderIdentity> {
        let collection = self.palace.collection(name, false).unwrap();
        collection.embedder().unwrap()
    }
}

fn all(collection: &dyn Collection) -> BTreeMap<String, Drawer> {
    let got = collection
        .get(&Get {
            include: Include::ALL,
            ..Get::new(Selection::all())
        })
        .unwrap();
    let vectors = got.embeddings.unwrap();
    got.ids
        .into_iter()
        .zip(got.documents)
        .zip(got.metadatas)
        .zip(vectors)
        .map(|(((id, text), metadata), vector)| (id, (text, metadata, vector)))
        .collect()
}

fn expected(records: &[ForeignRecord]) -> BTreeMap<String, Drawer> {
    records
        .iter()
        .map(|record| {
            let record = record.clone();
            let drawer = (
                record.document.unwrap_or_default(),
                record.metadata,
                record.vector.unwrap_or_default(),
            );
            (record.id, drawer)
        })
        .collect()
}

fn codes(report: &ForeignImportReport) -> Vec<&str> {
    report
        .warnings
        .iter()
        .map(loci_palace::Warning::code)
        .collect()
}

/// Added, known, updated, failed.
fn counts(of: &ImportedCollection) -> [u64; 4] {
    [of.added, of.known, of.updated, of.failed]
}

fn first(report: &ForeignImportReport) -> &ImportedCollection {
    &report.collections[0]
}

fn metadata(value: &serde_json::Value) -> Metadata {
    Metadata::from_json(value).unwrap()
}

#[test]
fn every_record_arrives_with_text_metadata_and_vector_and_is_proved_to() {
    let scene = Scene::new();
    let source = Foreign::mempalace(450);
    let report = scene.import(&source);
    let of = first(&report);
    assert_eq!(counts(of), [450, 0, 0, 0]);
    assert_eq!((of.records, of.verified), (450, Some(true)));
    assert_eq!(of.digest_palace.as_ref(), Some(&of.digest_source));
    assert_ne!(of.digest_source, "0".repeat(32));
    assert_eq!(of.vectors, BTreeMap::from([("exact", 450)]));
    assert_eq!(
        (of.name.as_str(), of.target.as_str()),
        ("mempalace_drawers", "drawers")
    );
    assert!(report.is_whole() && !report.added_nothing(), "{report:?}");
    assert_eq!(codes(&report), [""; 0]);
    assert_eq!(scene.drawers("drawers"), expected(&source.records[0]));
}

#[test]
fn a_second_run_adds_nothing_and_says_so() {
    let scene = Scene::new();
    let source = Foreign::mempalace(250);
    let once = scene.import(&source);
    let before = scene.drawers("drawers");
    let again = scene.import(&source);
    assert_eq!(counts(first(&again)), [0, 250, 0, 0]);
    assert!(again.added_nothing());
    assert_eq!(first(&again).verified, Some(true));
    assert_eq!(first(&again).digest_source, first(&once).digest_source);
    assert_eq!(scene.drawers("drawers"), before);
    let updating = ForeignImportOptions {
        on_conflict: OnConflict::Update,
        ..ForeignImportOptions::default()
    };
    let again = scene.import_with(&source, &updating);
    assert_eq!(counts(first(&again)), [0, 250, 0, 0]);
}

#[test]
fn a_killed_run_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("palace");
    let mut worker = command(&path, &["import", "900"]).spawn().unwrap();
    let mut lines = BufReader::new(worker.stdout.take().unwrap()).lines();
    let mut input = worker.stdin.take().unwrap();
    for _ in 0..2 {
        assert!(lines.next().unwrap().unwrap().contains("done"));
        writeln!(input).unwrap();
    }
    assert!(lines.next().unwrap().unwrap().contains("done"));
    worker.kill().unwrap();
    worker.wait().unwrap();
    let palace = open(&path);
    let source = Foreign::mempalace(900);
    let held = palace
        .collection("drawers", false)
        .unwrap()
        .count()
        .unwrap();
    assert!((200..900).contains(&held), "{held}");
    let report = palace
        .import_foreign(&source, &ForeignImportOptions::default(), &mut |_| ())
        .unwrap();
    assert_eq!(counts(first(&report)), [900 - held, held, 0, 0]);
    assert_eq!(first(&report).verified, Some(true));
    let drawers = palace.collection("drawers", false).unwrap();
    assert_eq!(all(drawers.as_ref()), expected(&source.records[0]));
    assert!(
        palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
}

#[test]
fn the_names_of_minilm_are_recognised_and_pinned_with_its_digest() {
    for name in [
        "minilm",
        "all-MiniLM-L6-v2",
        "sentence-transformers/all-MiniLM-L6-v2",
        "default",
        "ONNXMiniLM_L6_V2",
    ] {
        let scene = Scene::new();
        scene.import(&Foreign::new("notes", "notes", Some(name), 384).with([record(1, 384)]));
        let pinned = scene.pinned("notes").unwrap();
        assert_eq!((pinned.name.as_str(), pinned.dimension), (MINILM_NAME, 384));
        assert_eq!(pinned.digest.len(), 64, "{name}");
    }
    // MemPalace's default, where nothing is recorded; not that of anybody else, and not of another length.
    let unnamed = |name: &str, dimension| {
        let scene = Scene::new();
        scene.import(&Foreign::new(name, "notes", None, dimension).with([record(1, dimension)]));
        scene.pinned("notes")
    };
    assert_eq!(unnamed("mempalace_drawers", 384).unwrap().name, MINILM_NAME);
    assert_eq!(unnamed("mempalace_drawers", 768), None);
    assert_eq!(unnamed("mine", 384), None);
}

#[test]
fn an_unknown_model_is_pinned_under_its_name_and_searched_by_words() {
    let scene = Scene::new();
    let source = Foreign::new("notes", "notes", Some("embeddinggemma"), 32);
    let report = scene.import(&source.with([record(1, 32), missing(record(2, 32))]));
    let pinned = scene.pinned("notes").unwrap();
    assert_eq!(
        (
            pinned.name.as_str(),
            pinned.dimension,
            pinned.digest.as_str()
        ),
        ("embeddinggemma", 32, "")
    );
    let of = first(&report);
    assert_eq!(
        (of.without_vector, &of.without_vector_ids),
        (1, &vec!["d2".to_owned()])
    );
    assert_eq!(codes(&report), ["model_missing", "without_vector"]);
    let found = scene.palace.search(&search::Request {
        collection: "notes".to_owned(),
        ..search::Request::new("harbour")
    });
    assert_eq!(found.unwrap().hits.len(), 2);
}

#[test]
fn missing_vectors_are_made_by_the_model_or_stood_in_for_and_named() {
    let scene = Scene::new();
    let mut source = Foreign::mempalace(3);
    source
        .first()
        .extend([missing(record(7, 384)), missing(record(8, 384))]);
    source.first()[4].document = None;
    let report = scene.import(&source);
    let of = first(&report);
    assert_eq!(of.vectors, BTreeMap::from([("exact", 3), ("missing", 2)]));
    // Where the model is, it made them.
    let (number, ids) = match scene.palace.embedder(MINILM_NAME) {
        Ok(_) => (of.re_embedded, &of.re_embedded_ids),
        Err(_) => (of.stand_in, &of.stand_in_ids),
    };
    assert_eq!((number, ids.as_slice()), (1, &["d7".to_owned()][..]));
    assert_eq!(
        (of.without_vector, &of.without_vector_ids),
        (1, &vec!["d8".to_owned()])
    );
    assert_eq!(of.verified, Some(true));
}

#[test]
fn texts_without_any_vector_get_those_of_the_default_embedder() {
    let scene = Scene::new();
    let mut source = Foreign::new("notes", "notes", None, 0);
    source.collections[0].dimension = None;
    let report = scene.import(&source.with([missing(record(1, 8)), missing(record(2, 8))]));
    let of = first(&report);
    assert_eq!((of.re_embedded, of.verified), (2, Some(true)));
    assert_eq!(scene.pinned("notes").unwrap().name, "static");
}

#[test]
fn the_length_of_vectors_is_learned_from_the_first_ones() {
    let scene = Scene::new();
    let mut source = Foreign::new("notes", "notes", Some("default"), 384);
    source.collections[0].dimension = None;
    scene.import(&source.with([missing(record(1, 384)), record(2, 384)]));
    assert_eq!(scene.pinned("notes").unwrap().name, MINILM_NAME);
    assert_eq!(
        scene.drawers("notes")["d2"].2,
        record(2, 384).vector.unwrap()
    );
}

#[test]
fn vectors_that_do_not_fit_are_left_out_and_the_texts_get_others() {
    let scene = Scene::new();
    let (memory, _) = scene.palace.memory("drawers", true).unwrap();
    let own = Batch::new(["own"]).documents(["a lighthouse of our own"]);
    memory.collection.add(&own).unwrap();
    let source = Foreign::mempalace(5);
    let report = scene.import(&source);
    let of = first(&report);
    assert_eq!((of.added, of.vectors_not_taken, of.re_embedded), (5, 5, 5));
    assert_eq!(of.verified, Some(true));
    assert_eq!(codes(&report), ["vectors_not_taken"]);
    let model = Some("minilm".to_owned());
    assert_eq!(
        report.warnings[0].advice(),
        Some(loci_palace::Advice::KeepVectors { model })
    );
    assert_eq!(scene.pinned("drawers").unwrap().name, "static");
    let table = scene.palace.embedder("static").unwrap().unwrap();
    let text = source.records[0][3].document.clone().unwrap();
    let made = table.embed(&[&text]).unwrap().remove(0);
    assert_eq!(scene.drawers("drawers")["d3"].2, made);
    // Under another name they stay what they were; so they do in a second run.
    let aside = ForeignImportOptions {
        collection: Some("old".into()),
        ..ForeignImportOptions::default()
    };
    for added in [5, 0] {
        let report = scene.import_with(&source, &aside);
        assert_eq!(
            (first(&report).added, first(&report).vectors_not_taken),
            (added, 0)
        );
        assert_eq!(first(&report).target, "old");
    }
    assert_eq!(scene.drawers("old"), expected(&source.records[0]));
}

#[test]
fn vectors_of_unknown_makers_mix_only_where_length_and_metric_agree() {
    let scene = Scene::new();
    let source =
        |n, dimension| Foreign::new("a", "notes", None, dimension).with([record(n, dimension)]);
    assert_eq!(first(&scene.import(&source(1, 8))).vectors_not_taken, 0);
    assert_eq!(first(&scene.import(&source(2, 8))).vectors_not_taken, 0);
    let report = scene.import(&source(3, 9));
    let of = first(&report);
    assert_eq!(
        (of.added, of.vectors_not_taken, of.without_vector),
        (1, 1, 1)
    );
    let mut other = source(4, 8);
    other.collections[0].metric = Metric::L2;
    assert_eq!(first(&scene.import(&other)).vectors_not_taken, 1);
    // A vector of unknown origin is never taken for one of a known embedder.
    let named = Foreign::new("a", "notes", Some("x"), 8).with([record(5, 8)]);
    assert_eq!(first(&scene.import(&named)).vectors_not_taken, 1);
}

#[test]
fn a_collection_is_made_with_the_metric_it_had() {
    let scene = Scene::new();
    let mut source = Foreign::mempalace(2);
    source.collections[0].metric = Metric::L2;
    scene.import(&source);
    let made = scene.palace.collection("drawers", false).unwrap();
    assert_eq!(made.metric(), Metric::L2);
    // So does an empty collection that is there.
    let scene = Scene::new();
    scene.palace.collection("drawers", true).unwrap();
    let report = scene.import(&source);
    assert_eq!(
        (first(&report).added, first(&report).vectors_not_taken),
        (2, 0)
    );
    assert_eq!(codes(&report), ["another_metric"]);
    assert_eq!(scene.pinned("drawers").unwrap().name, MINILM_NAME);
    // Vectors of the same embedder fit a collection that measures otherwise, which is said.
    let scene = Scene::new();
    scene.import(&Foreign::mempalace(2));
    source.first().push(record(9, 384));
    let report = scene.import(&source);
    assert_eq!(
        (first(&report).added, first(&report).vectors_not_taken),
        (1, 0)
    );
    assert_eq!(codes(&report), ["another_metric"]);
}

#[test]
fn a_collection_without_records_is_made_too() {
    let scene = Scene::new();
    let report = scene.import(&Foreign::mempalace(0));
    assert_eq!((first(&report).records, first(&report).verified), (0, None));
    assert_eq!(scene.pinned("drawers").unwrap().name, MINILM_NAME);
}

#[test]
fn closets_go_to_a_collection_of_their_own() {
    let scene = Scene::new();
    let mut source = Foreign::mempalace(2);
    source.collections.push(collection(
        "mempalace_closets",
        "mempalace_closets",
        None,
        384,
    ));
    source.records.push(vec![record(1, 384)]);
    let options = ForeignImportOptions {
        collection: Some("home".into()),
        ..ForeignImportOptions::default()
    };
    let report = scene.import_with(&source, &options);
    let targets: Vec<_> = report
        .collections
        .iter()
        .map(|of| of.target.as_str())
        .collect();
    assert_eq!(targets, ["home", "mempalace_closets"]);
    assert_eq!(scene.drawers("mempalace_closets").len(), 1);
}

#[test]
fn the_same_text_from_the_same_place_keeps_every_id() {
    let scene = Scene::new();
    let mut source = Foreign::mempalace(4);
    for (record, part) in source
        .first()
        .iter_mut()
        .zip([None, None, Some(3), Some(3)])
    {
        record.document = Some("the same words".into());
        let mut place = json!({"wing": "w", "source_file": "a.md", "chunk_index": 1});
        if let Some(part) = part {
            place["part"] = json!(part);
        }
        record.metadata = metadata(&place);
    }
    let report = scene.import(&source);
    let of = first(&report);
    assert_eq!((of.added, of.twins, of.failed), (4, 2, 0));
    assert_eq!(of.verified, Some(true));
    let held = scene.drawers("drawers");
    assert_eq!(held.keys().collect::<Vec<_>>(), ["d0", "d1", "d2", "d3"]);
    assert_eq!(held["d0"], expected(&source.records[0])["d0"]);
    for twin in ["d1", "d3"] {
        assert!(matches!(held[twin].1.get("part"), Some(MetaValue::Int(part)) if *part > 3));
    }
    for on_conflict in [OnConflict::Skip, OnConflict::Update, OnConflict::Duplicate] {
        let options = ForeignImportOptions {
            on_conflict,
            ..ForeignImportOptions::default()
        };
        let again = scene.import_with(&source, &options);
        assert_eq!(counts(first(&again)), [0, 4, 0, 0], "{on_conflict:?}");
        assert_eq!(first(&again).verified, Some(true), "{on_conflict:?}");
    }
    assert_eq!(scene.drawers("drawers"), held);
}

#[test]
fn refused_records_are_lost_with_their_reason_and_the_rest_comes() {
    let scene = Scene::new();
    let mut source = Foreign::mempalace(6);
    source.first()[1].id = String::new();
    source.first()[2].id = "x".repeat(1_025);
    source.first()[3]
        .metadata
        .0
        .insert("$bad".into(), MetaValue::Int(1));
    source.first()[3]
        .metadata
        .0
        .insert("nan".into(), MetaValue::Float(f64::NAN));
    let report = scene.import(&source);
    let of = first(&report);
    assert_eq!((of.records, counts(of)), (6, [4, 0, 0, 2]));
    let lost: Vec<(Option<&str>, &str)> = report
        .lost
        .iter()
        .map(|lost| (lost.id.as_deref(), lost.reason.as_str()))
        .collect();
    assert!(
        lost.iter()
            .any(|(id, why)| *id == Some("") && why.contains("empty")),
        "{lost:?}"
    );
    assert!(
        lost.iter()
            .any(|(id, why)| id.is_some_and(|id| id.len() == 1_025) && why.contains("bytes")),
        "{lost:?}"
    );
    let keys = lost.iter().filter(|(id, _)| *id == Some("d3"));
    assert!(
        keys.clone().any(|(_, why)| why.contains("`$bad`")),
        "{lost:?}"
    );
    assert!(
        keys.clone().any(|(_, why)| why.contains("`nan`")),
        "{lost:?}"
    );
    assert_eq!(lost.len(), 4);
    assert!(!report.is_whole());
    // Of a record with a key that cannot be kept, the rest is kept.
    assert_eq!(scene.drawers("drawers")["d3"].1, record(3, 384).metadata);
    assert_eq!(of.verified, Some(true));
}

#[test]
fn a_text_longer_than_a_drawer_comes_in_pieces_and_whole() {
    let scene = Scene::new();
    let mut source = Foreign::mempalace(2);
    // A character stands across the end of the first piece.
    let long = format!("xx{}", "täglich ".repeat(300_000));
    assert!(!long.is_char_boundary(1 << 20));
    source.first()[1].document = Some(long.clone());
    for added in [4, 0] {
        let report = scene.import(&source);
        let of = first(&report);
        assert_eq!((of.added, of.split, of.records), (added, 1, 4));
        assert_eq!((of.verified, report.lost.len()), (Some(true), 0));
    }
    let held = scene.drawers("drawers");
    assert_eq!(
        held.keys().collect::<Vec<_>>(),
        ["d0", "d1", "d1~2", "d1~3"]
    );
    let whole = [&held["d1"].0, &held["d1~2"].0, &held["d1~3"].0];
    assert_eq!(whole.map(String::as_str).concat(), long);
    assert_eq!(held["d1"].2, record(1, 384).vector.unwrap());
    assert_eq!(held["d1~3"].1.get_str("piece_of"), Some("d1"));
}

#[test]
fn vectors_that_cannot_be_kept_do_not_take_the_text_with_them() {
    let scene = Scene::new();
    let mut source = Foreign::mempalace(4);
    source.first()[1].vector = Some(vec![1.0; 12]);
    source.first()[2].vector = Some(vec![f32::NAN; 384]);
    let report = scene.import(&source);
    let of = first(&report);
    assert_eq!(counts(of), [4, 0, 0, 0]);
    assert_eq!(of.vectors, BTreeMap::from([("exact", 2), ("missing", 2)]));
    assert_eq!(of.stand_in + of.re_embedded, 2);
    let fields: Vec<_> = report.unmapped.keys().collect();
    assert!(
        fields.iter().any(|field| field.contains("another length")),
        "{fields:?}"
    );
    assert!(
        fields.iter().any(|field| field.contains("not finite")),
        "{fields:?}"
    );
}

#[test]
fn what_reading_could_not_give_is_in_the_report() {
    let scene = Scene::new();
    let mut source = Foreign::mempalace(3);
    source.first()[0].origin = VectorOrigin::Scaled;
    source.first()[1].origin = VectorOrigin::Quarantined;
    source.first()[2].origin = VectorOrigin::Direction;
    source.findings = [
        Severity::Note,
        Severity::Warning,
        Severity::Warning,
        Severity::Error,
    ]
    .map(|severity| ForeignFinding::new("drift", severity, "something drifted"))
    .into();
    source.summary = ReadSummary {
        partial: Vec::new(),
        read: 3,
        lost: vec![LostRecord {
            id: Some("gone".into()),
            reason: "its page is unreadable".into(),
        }],
        unmapped: BTreeMap::from([("uri".into(), 2)]),
    };
    source.holds = false;
    let report = scene.import(&source);
    let counted = report.findings;
    assert_eq!((counted.note, counted.warning, counted.error), (1, 2, 1));
    let of = first(&report);
    let origins = BTreeMap::from([("direction", 1), ("scaled", 1), ("set_aside", 1)]);
    assert_eq!(
        (&of.vectors, of.records, counts(of)),
        (&origins, 4, [3, 0, 0, 1])
    );
    assert_eq!(report.lost[0].id.as_deref(), Some("gone"));
    assert_eq!(report.unmapped, BTreeMap::from([("uri".into(), 2)]));
    assert_eq!(codes(&report), ["source_changed"]);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["collections"][0]["vectors"]["set_aside"], 1);
    assert_eq!(json["lost"][0]["of"], "mempalace_drawers");
    assert_eq!(
        (&json["source"], &json["dry_run"]),
        (&json!("chroma"), &json!(false))
    );
}

#[test]
fn a_collection_that_cannot_be_read_to_its_end_gives_what_it_can() {
    let scene = Scene::new();
    let mut source = Foreign::mempalace(300);
    source
        .collections
        .push(collection("other", "other", None, 8));
    source
        .records
        .push((0..300).map(|n| record(n, 8)).collect());
    source.fails_after = Some(230);
    let report = scene.import(&source);
    assert_eq!(report.collections.len(), 2);
    for of in &report.collections {
        assert_eq!((of.added, of.verified), (230, Some(true)));
    }
    assert_eq!(report.lost.len(), 2);
    assert!(
        report.lost[0].reason.contains("page 7"),
        "{:?}",
        report.lost
    );
}

#[test]
fn a_drawer_that_was_changed_here_is_named_and_left_alone() {
    let scene = Scene::new();
    let source = Foreign::mempalace(30);
    scene.import(&source);
    let drawers = scene.palace.collection("drawers", false).unwrap();
    let changed = (0..25).map(|n| format!("d{n}"));
    let patch = (0..25).map(|_| metadata(&json!({"mine": true})));
    drawers
        .update(&Batch::new(changed).metadatas(patch))
        .unwrap();
    let report = scene.import(&source);
    let of = first(&report);
    assert_eq!((counts(of), of.verified), ([0, 30, 0, 0], Some(false)));
    assert_eq!((of.differing, of.differing_ids.len()), (25, 20));
    assert_ne!(of.digest_palace.as_ref(), Some(&of.digest_source));
    assert_eq!((codes(&report), of.broken), (vec!["differing"], 0));
    assert!(
        report.is_whole(),
        "what was there was left alone; nothing is lost"
    );
    let updating = ForeignImportOptions {
        on_conflict: OnConflict::Update,
        ..ForeignImportOptions::default()
    };
    let report = scene.import_with(&source, &updating);
    assert_eq!(counts(first(&report)), [0, 5, 25, 0]);
    assert_eq!(first(&report).verified, Some(true));
    assert_eq!(scene.drawers("drawers"), expected(&source.records[0]));
}

#[test]
fn a_vector_that_differs_in_one_bit_is_noticed() {
    let scene = Scene::new();
    let source = Foreign::mempalace(3);
    scene.import(&source);
    let drawers = scene.palace.collection("drawers", false).unwrap();
    let mut vector = record(1, 384).vector.unwrap();
    vector[383] = f32::from_bits(vector[383].to_bits() ^ 1);
    drawers
        .update(&Batch::new(["d1"]).embeddings([vector]))
        .unwrap();
    let report = scene.import(&source);
    assert_eq!(first(&report).differing_ids, ["d1"]);
}

#[test]
fn taken_ids_are_refused_before_anything_is_written_or_given_a_new_id_once() {
    let scene = Scene::new();
    let drawers = scene.palace.collection("drawers", true).unwrap();
    drawers
        .add(&Batch::new(["d2"]).documents(["somebody else"]))
        .unwrap();
    let source = Foreign::mempalace(250);
    let with = |on_conflict| ForeignImportOptions {
        on_conflict,
        ..ForeignImportOptions::default()
    };
    let refused = scene
        .palace
        .import_foreign(&source, &with(OnConflict::Error), &mut |_| ());
    assert!(
        matches!(&refused, Err(Error::Conflict { what }) if what.contains("`d2`")),
        "{refused:?}"
    );
    assert_eq!(drawers.count().unwrap(), 1);
    let report = scene.import_with(&source, &with(OnConflict::Duplicate));
    let of = first(&report);
    assert_eq!(
        (counts(of), of.renamed, of.verified),
        ([250, 0, 0, 0], 1, Some(true))
    );
    let held = scene.drawers("drawers");
    assert_eq!((held.len(), held["d2"].0.as_str()), (251, "somebody else"));
    let renamed = held.keys().find(|id| id.starts_with("d2~")).unwrap();
    assert_eq!(held[renamed], expected(&source.records[0])["d2"]);
    let again = scene.import_with(&source, &with(OnConflict::Duplicate));
    assert_eq!(counts(first(&again)), [0, 250, 0, 0]);
    assert_eq!(scene.drawers("drawers"), held);
}

#[test]
fn a_dry_run_says_the_same_and_writes_nothing() {
    let scene = Scene::new();
    let mut source = Foreign::mempalace(30);
    source.first().push(missing(record(40, 384)));
    source.first()[5].id = String::new();
    for twin in [7, 8] {
        source.first()[twin].document = Some("the same".into());
        source.first()[twin].metadata = metadata(&json!({"source_file": "a.md"}));
    }
    let dry = ForeignImportOptions {
        dry_run: true,
        ..ForeignImportOptions::default()
    };
    let foreseen = scene.import_with(&source, &dry);
    assert_eq!(scene.palace.collections().unwrap(), []);
    let report = scene.import(&source);
    let of = |report: &ForeignImportReport| ImportedCollection {
        digest_palace: None,
        verified: None,
        ..first(report).clone()
    };
    assert_eq!(of(&foreseen), of(&report));
    assert_eq!((first(&foreseen).verified, foreseen.dry_run), (None, true));
    assert_eq!(
        (&foreseen.lost, &foreseen.warnings),
        (&report.lost, &report.warnings)
    );
    source.first().push(record(50, 384));
    let held = scene.drawers("drawers");
    let foreseen = scene.import_with(&source, &dry);
    assert_eq!(counts(first(&foreseen)), [1, 30, 0, 1]);
    assert_eq!(scene.drawers("drawers"), held);
}

#[test]
fn forgotten_texts_do_not_come_back_unless_they_may() {
    let scene = Scene::new();
    let source = Foreign::mempalace(4);
    scene.import(&source);
    scene
        .palace
        .forget(&loci_palace::forget::Request::in_collection(
            "drawers",
            Selection::ids(["d1"]),
        ))
        .unwrap();
    let report = scene.import(&source);
    let of = first(&report);
    assert_eq!(
        (counts(of), of.forgotten, of.verified),
        ([0, 3, 0, 0], 1, Some(true))
    );
    assert_eq!(codes(&report), ["forgotten"]);
    let again = |dry_run| ForeignImportOptions {
        allow_again: true,
        dry_run,
        ..ForeignImportOptions::default()
    };
    assert_eq!(first(&scene.import_with(&source, &again(true))).added, 1);
    assert_eq!(first(&scene.import(&source)).forgotten, 1);
    assert_eq!(first(&scene.import_with(&source, &again(false))).added, 1);
}

/// Bug: an import that compared nothing was reported as verified, because zero equals zero.
#[test]
fn nothing_is_verified_where_nothing_was_compared() {
    let scene = Scene::new();
    let source = Foreign::mempalace(2);
    assert_eq!(first(&scene.import(&source)).verified, Some(true));
    let all = Selection::ids(["d0", "d1"]);
    let forget = loci_palace::forget::Request::in_collection("drawers", all);
    scene.palace.forget(&forget).unwrap();
    let report = scene.import(&source);
    let of = first(&report);
    assert_eq!((of.records, of.forgotten), (2, 2));
    assert_eq!((of.verified, &of.digest_palace), (None, &None));
}

/// Bug: the warning said that texts were re-embedded, also where no embedder was available.
#[test]
fn a_warning_about_vectors_promises_no_embedding() {
    for warning in loci_core::Warning::samples() {
        if warning.variant() == "VectorsNotTaken" {
            assert!(
                warning.message().ends_with("they are not imported"),
                "{warning}"
            );
        }
    }
}

#[test]
fn steps_tell_how_far_it_is() {
    let scene = Scene::new();
    let mut source = Foreign::mempalace(450);
    source.collections[0].records = 450;
    let mut steps = Vec::new();
    let mut note = |step: loci_palace::ImportProgress<'_>| {
        steps.push((format!("{:?}", step.phase), step.done, step.total));
    };
    scene
        .palace
        .import_foreign(&source, &ForeignImportOptions::default(), &mut note)
        .unwrap();
    assert_eq!(steps[0], ("Records".into(), 200, 450));
    assert_eq!(steps[2], ("Records".into(), 450, 450));
    assert_eq!(steps.last(), Some(&("Proof".into(), 450, 450)));
}

fn facts(count: usize) -> Vec<Fact> {
    let fact = |n: usize| Fact {
        id: format!("f{n}"),
        subject: "Alice".into(),
        predicate: "lives in".into(),
        object: format!("town {n}"),
        source: Some(drawer("d1")),
        ..Fact::default()
    };
    (0..count).map(fact).collect()
}

fn drawer(id: &str) -> loci_palace::DrawerRef {
    loci_palace::DrawerRef {
        collection: "drawers".into(),
        id: id.into(),
    }
}

#[test]
fn facts_and_links_come_along_once_and_name_their_drawers_here() {
    let scene = Scene::new();
    let mut source = Foreign::mempalace(2);
    source.facts = facts(5);
    source.facts[3].subject = String::new();
    source.links = vec![Link {
        from: LinkEnd::Drawer(drawer("d0")),
        to: LinkEnd::Drawer(drawer("d1")),
        label: "before".into(),
        metadata: Metadata::default(),
    }];
    let options = |dry_run| ForeignImportOptions {
        collection: Some("home".into()),
        dry_run,
        ..ForeignImportOptions::default()
    };
    let Some(relations) = scene.palace.relations().unwrap() else {
        let report = scene.import(&source);
        assert_eq!(codes(&report), ["relations_not_kept"]);
        assert_eq!((report.unmapped["facts"], report.unmapped["links"]), (5, 1));
        return;
    };
    let report = scene.import_with(&source, &options(true));
    assert_eq!(relations.counts().unwrap(), (0, 0));
    assert_eq!(report.links.added, 1);
    let report = scene.import_with(&source, &options(false));
    let of = |of: loci_palace::RelationsReport| (of.read, of.added, of.known, of.failed);
    assert_eq!(of(report.facts), (5, 4, 0, 1));
    assert_eq!(of(report.links), (1, 1, 0, 1));
    let lost: BTreeSet<_> = report.lost.iter().map(|lost| lost.id.as_deref()).collect();
    assert_eq!(lost, BTreeSet::from([Some("f3"), Some("link-9")]));
    let kept = relations.facts(&FactQuery::default(), 10, 0).unwrap();
    assert!(
        kept.iter()
            .all(|fact| fact.source.as_ref().unwrap().collection == "home")
    );
    let link = relations.links(None, 10, 0).unwrap().remove(0);
    assert!(matches!(link.from, LinkEnd::Drawer(drawer) if drawer.collection == "home"));
    let keeps = relations.counts().unwrap();
    let again = scene.import_with(&source, &options(false));
    assert_eq!(of(again.facts), (5, 0, 4, 1));
    assert_eq!(of(again.links), (1, 0, 1, 1));
    assert!(again.added_nothing());
    let foreseen = scene.import_with(&source, &options(true));
    assert_eq!((foreseen.facts.known, foreseen.links.known), (4, 1));
    // What was taken from a forgotten drawer, or leads to it, does not come back either.
    scene
        .palace
        .forget(&loci_palace::forget::Request::in_collection(
            "home",
            Selection::ids(["d1"]),
        ))
        .unwrap();
    assert_eq!((keeps, relations.counts().unwrap()), ((4, 1), (0, 0)));
    let again = scene.import_with(&source, &options(false));
    assert_eq!((again.facts.forgotten, again.links.forgotten), (5, 1));
    assert_eq!(relations.counts().unwrap(), (0, 0));
}

#[test]
fn a_diagnosis_is_healthy_with_notes_alone_and_puts_the_worst_first() {
    let mut source = Foreign::mempalace(3);
    source.first()[0].vector = None;
    source.findings = vec![ForeignFinding::new("hint", Severity::Note, "worth knowing")];
    assert!(Diagnosis::of(&source).healthy);
    source
        .findings
        .push(ForeignFinding::new("bad", Severity::Error, "it crashes"));
    let diagnosis = Diagnosis::of(&source);
    assert_eq!((diagnosis.healthy, diagnosis.changed), (false, false));
    assert_eq!(diagnosis.findings[0].code.as_str(), "bad");
    let of = &diagnosis.collections[0];
    assert_eq!(
        (of.name.as_str(), of.target.as_str()),
        ("mempalace_drawers", "drawers")
    );
    assert_eq!(of.vectors.unwrap().missing, 1);
}
