//! Every damage of ChromaDB's catalogue, imported: the palace holds what the healthy original holds, and answers as its import does.
#![allow(
    clippy::print_stdout,
    reason = "the catalogue says which peer is missing"
)]

#[path = "../../../loci-foreign/tests/chroma_scenes/mod.rs"]
mod chroma_scenes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use loci_palace::{
    ForeignImportOptions, ForeignImportReport, ForeignKind as Kind, Get, ImportedCollection,
    Include, Palace, Query, Selection, open_foreign, query,
};
use serde_json::Value;

use self::chroma_scenes::best::Best;
use self::chroma_scenes::damage::{self, CASES, Case, Holds};
use self::chroma_scenes::expected::{Expected, ExpectedRecord, close, same_direction};
use self::chroma_scenes::scene::Scene;
use crate::support::open;

/// Questions of each kind, and how many answers of each count.
const QUESTIONS: usize = 30;
const ANSWERS: usize = 10;
const THREADS: usize = 4;

/// Cases without damage.
const AS_WRITTEN: [&str; 8] = [
    "healthy",
    "unsynced_only",
    "kill9",
    "kill9_mid_stream",
    "two_writers",
    "legacy_063",
    "legacy_063_null_documents",
    "legacy_05_null_documents",
];

/// Cases that lose all rows, or all rows of metadata, of some records of the first collection.
const ROWS_LOST: [&str; 2] = ["metadata_rows_missing", "metadata_values_missing"];

/// A palace that a directory was imported into.
struct Imported {
    _folder: tempfile::TempDir,
    palace: Palace,
    report: ForeignImportReport,
}

#[derive(Debug, Clone, PartialEq)]
struct Drawer {
    text: String,
    metadata: Value,
    vector: Vec<f32>,
}

impl Drawer {
    /// Whether it has the text and, besides what the import notes, the metadata of a record.
    fn says(&self, record: &ExpectedRecord) -> bool {
        let metadata = record.metadata.as_ref().and_then(Value::as_object);
        let mut fields = metadata.into_iter().flatten();
        self.text == record.document.as_deref().unwrap_or_default()
            && fields.all(|(key, value)| self.metadata.get(key) == Some(value))
    }
}

impl Imported {
    fn from(directory: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let palace = open(&folder.path().join("palace"));
        let report = import(&palace, directory);
        Self {
            _folder: folder,
            palace,
            report,
        }
    }

    /// What became of a collection.
    fn of(&self, name: &str) -> &ImportedCollection {
        let mut collections = self.report.collections.iter();
        collections.find(|of| of.name == name).unwrap()
    }

    /// How many records are here, in all collections.
    fn kept(&self) -> u64 {
        let collections = self.report.collections.iter();
        collections.map(|of| of.records - of.failed).sum()
    }

    /// Everything of a collection, by id; a drawer without a vector has an empty one.
    fn drawers(&self, name: &str) -> BTreeMap<String, Drawer> {
        let collection = self
            .palace
            .collection(&self.of(name).target, false)
            .unwrap();
        let got = collection
            .get(&Get {
                include: Include::ALL,
                ..Get::new(Selection::all())
            })
            .unwrap();
        let vectors = got.embeddings.unwrap();
        let drawers = got.documents.into_iter().zip(got.metadatas).zip(vectors);
        let drawers = drawers.map(|((text, metadata), vector)| Drawer {
            text,
            metadata: serde_json::to_value(metadata).unwrap(),
            vector,
        });
        got.ids.into_iter().zip(drawers).collect()
    }

    /// Ids by distance from a vector, those among `judged` only.
    fn nearest(&self, name: &str, vector: &[f32], judged: &BTreeSet<&str>) -> Vec<String> {
        let of = self.of(name);
        let collection = self.palace.collection(&of.target, false).unwrap();
        let others = (of.records as usize).saturating_sub(judged.len());
        let query = Query {
            include: Include::NONE,
            ..Query::vector(vector.to_vec()).k(ANSWERS + others)
        };
        let mut ids = collection.query(&query).unwrap().ids.remove(0);
        ids.retain(|id: &String| judged.contains(id.as_str()));
        ids.truncate(ANSWERS);
        ids
    }

    /// Scores and ids by words, those among `judged` only. Hits of equal score are in the order of
    /// their ids; those that share the last score are left out, because the list may end among
    /// them. `search` would compare some of the tied drawers by tokens and not others, depending on
    /// the order in which they were imported.
    fn saying(&self, name: &str, words: &str, judged: &BTreeSet<&str>) -> Vec<(f64, String)> {
        let request = query::Request {
            collection: self.of(name).target.clone(),
            k: 3 * ANSWERS,
            ..query::Request::new(query::Input::Words(words.to_owned()))
        };
        let found = self.palace.query(&request).unwrap();
        let hits = found.hits.into_iter();
        let mut hits: Vec<(f64, String)> = hits.map(|hit| (hit.score, hit.id)).collect();
        if let Some(last) = hits.last().map(|hit| hit.0)
            && hits.len() == request.k
        {
            hits.retain(|(score, _)| *score > last);
        }
        hits.retain(|(_, id)| judged.contains(id.as_str()));
        hits.sort_by(|one, other| {
            let by_score = other.0.total_cmp(&one.0);
            by_score.then_with(|| one.1.cmp(&other.1))
        });
        hits
    }
}

fn import(palace: &Palace, directory: &Path) -> ForeignImportReport {
    let source = open_foreign(directory, Some(Kind::Chroma)).unwrap();
    palace
        .import_foreign(
            source.as_ref(),
            &ForeignImportOptions::default(),
            &mut |_| (),
        )
        .unwrap()
}

/// The numbers of a report add up, and what was written is what was read.
fn check_numbers(case: &Case, report: &ForeignImportReport) {
    let name = case.name;
    // What went with pages of the database is listed, one by one, and so are records that lost their row or their metadata; nowhere else is
    // anything lost.
    let loses =
        name == "sqlite_truncated" || case.holds == Holds::Written || ROWS_LOST.contains(&name);
    assert!(report.is_whole() || loses, "{name}: {:?}", report.lost);
    if case.holds == Holds::Written {
        assert!(report.lost.len() < 10, "{name}: {:?}", report.lost);
        assert_eq!(report.lost.len() as u64, report.candidates, "{name}");
    }
    for of in &report.collections {
        let handled = of.added + of.updated + of.known + of.forgotten + of.failed;
        assert_eq!(handled, of.records, "{name}: {of:?}");
        assert_eq!(
            of.vectors.values().sum::<u64>() + of.failed,
            of.records,
            "{name}: {of:?}"
        );
        assert_eq!(of.verified, Some(true), "{name}: {of:?}");
        assert_eq!(Some(&of.digest_source), of.digest_palace.as_ref());
        assert_eq!(of.broken, 0, "{name}: {of:?}");
        assert!(of.failed == 0 || loses, "{name}: {of:?}");
    }
}

/// The directory without the damage; none where two processes made it.
fn healthy<'a>(case: &Case, scene: &'a Scene) -> Option<&'a Path> {
    match case.holds {
        _ if case.name == "two_writers" => None,
        Holds::Other => scene.other.as_deref(),
        Holds::This | Holds::Living | Holds::Written => Some(&scene.pristine),
    }
}

/// What no reader of the files alone can do better, as shares of the records: wrong vectors, and texts that are gone.
fn unavoidable(case: &Case) -> (f64, f64) {
    match case.name {
        // ChromaDB keeps no checksum of a vector.
        "data_vectors_scrambled" => (0.25, 0.0),
        "data_random_flips" | "two_writers" => (0.02, 0.0),
        // Vectors may be those of the older state.
        "stale_segment" | "stale_sqlite" => (0.2, 0.0),
        "metadata_values_missing" => (0.0, 0.04),
        // Pages are gone; where the last change of a record was on one, the vector before it is given.
        "sqlite_truncated" => (0.15, 1.0),
        _ => (0.0, 0.0),
    }
}

/// A damaged directory beside its healthy original, both imported.
struct Pair<'a> {
    case: &'a Case,
    scene: &'a Scene,
    expected: Expected,
    whole: &'a Imported,
    damaged: Imported,
}

impl Pair<'_> {
    fn check(&self) {
        let name = self.case.name;
        check_numbers(self.case, &self.damaged.report);
        for collection in &self.expected.collections {
            let first = collection.name == self.expected.first().name;
            self.check_collection(&collection.name, first);
        }
        if ROWS_LOST.contains(&name) {
            self.check_lost(&self.expected.first().name);
        }
        let again = import(&self.damaged.palace, &self.scene.directory);
        check_numbers(self.case, &again);
        assert!(again.added_nothing(), "{name}: {again:?}");
        let known: u64 = again.collections.iter().map(|of| of.known).sum();
        let collections = again.collections.iter();
        let records: u64 = collections.map(|of| of.records - of.failed).sum();
        assert_eq!(known, records, "{name}");
    }

    /// The report lists the records that are not here, or not as they were. A record without text is not missed when its metadata goes: it
    /// looks like one that never had any. One without metadata is listed, though its text came back: nobody knows that it had none.
    fn check_lost(&self, name: &str) {
        let (whole, damaged) = (self.whole.drawers(name), self.damaged.drawers(name));
        let same = |id: &String, drawer: &Drawer| {
            damaged
                .get(id)
                .is_some_and(|other| other.text == drawer.text && other.metadata == drawer.metadata)
        };
        let lost = self.damaged.report.lost.iter();
        let listed: BTreeSet<&String> = lost.filter_map(|piece| piece.id.as_ref()).collect();
        let differing = whole.iter().filter(|(id, drawer)| !same(id, drawer));
        let differing: BTreeSet<&String> = differing.map(|(id, _)| id).collect();
        assert!(!differing.is_empty(), "{}", self.case.name);
        let expected = self.expected.collection(name);
        let bare = |id: &String| {
            let record = expected.record(id);
            record.is_some_and(|record| record.metadata.is_none())
        };
        for id in differing.difference(&listed) {
            let kept = damaged.contains_key(*id);
            assert!(
                kept && whole[*id].text.is_empty(),
                "{}: {id}",
                self.case.name
            );
        }
        for id in listed.difference(&differing) {
            assert!(bare(id), "{}: {id}", self.case.name);
        }
    }

    fn check_collection(&self, name: &str, first: bool) {
        let told = format!("{}, {name}", self.case.name);
        let expected = self.expected.collection(name);
        let mut whole = self.whole.drawers(name);
        whole.retain(|id, _| expected.record(id).is_some());
        for record in &expected.records {
            let drawer = &whole[&record.id];
            assert!(drawer.says(record), "{told}: {drawer:?}");
            assert!(
                close(&drawer.vector, record.embedding.as_ref().unwrap()),
                "{told}: {}",
                record.id
            );
        }
        let damaged = self.damaged.drawers(name);
        let (wrong_vectors, texts_gone) = unavoidable(self.case);
        let most = |share: f64| (share * whole.len() as f64) as usize;

        let missing = whole.keys().filter(|id| !damaged.contains_key(*id)).count();
        assert!(
            missing <= most(texts_gone.floor()),
            "{told}: {missing} records are missing"
        );
        assert!(
            damaged.keys().all(|id| whole.contains_key(id)),
            "{told}: records too many"
        );
        let here = |id: &&String| damaged.contains_key(*id);
        let differs = |id: &&String| {
            let (one, other) = (&whole[*id], &damaged[*id]);
            one.text != other.text || one.metadata != other.metadata
        };
        let changed: Vec<&String> = whole.keys().filter(here).filter(differs).collect();
        assert!(
            changed.len() <= most(texts_gone),
            "{told}: other texts: {changed:?}"
        );

        let has_vector = |id: &&String| {
            damaged
                .get(*id)
                .is_some_and(|drawer| !drawer.vector.is_empty())
        };
        let recoverable = match first {
            true => self.case.recoverable(self.scene),
            false if texts_gone > 0.5 => BTreeSet::new(),
            false => whole.keys().cloned().collect(),
        };
        let lost = recoverable.iter().filter(|id| !has_vector(id)).count();
        assert!(
            lost <= self.case.in_doubt(whole.len()),
            "{told}: {lost} vectors were not brought"
        );
        let of = self.damaged.of(name);
        let without = of.vectors.get("missing").copied().unwrap_or(0);
        let bare = damaged.keys().filter(|id| !has_vector(id)).count();
        assert_eq!(
            (without, of.without_vector),
            (bare as u64, bare as u64),
            "{told}"
        );
        let is_right = |id: &&String| {
            let (one, other) = (&damaged[*id].vector, &whole[*id].vector);
            close(one, other) || self.case.best == Best::Direction && same_direction(one, other)
        };
        let given: Vec<&String> = damaged.keys().filter(has_vector).collect();
        let right: BTreeSet<&str> = given
            .iter()
            .copied()
            .filter(is_right)
            .map(String::as_str)
            .collect();
        assert!(
            given.len() - right.len() <= most(wrong_vectors),
            "{told}: {} wrong vectors",
            given.len() - right.len()
        );
        self.compare_answers(name, &whole, &right, changed.is_empty() && missing == 0);
    }

    /// The same questions get the same answers.
    fn compare_answers(
        &self,
        name: &str,
        whole: &BTreeMap<String, Drawer>,
        right: &BTreeSet<&str>,
        same_texts: bool,
    ) {
        let told = format!("{}, {name}", self.case.name);
        let step = (whole.len() / QUESTIONS).max(1);
        let all: BTreeSet<&str> = whole.keys().map(String::as_str).collect();
        for (id, drawer) in whole.iter().step_by(step).take(QUESTIONS) {
            let wanted = self.whole.nearest(name, &drawer.vector, right);
            let given = self.damaged.nearest(name, &drawer.vector, right);
            assert_eq!(given, wanted, "{told}: nearest to {id}");
            if right.contains(id.as_str()) && drawer.vector.iter().any(|value| *value != 0.0) {
                assert!(given.contains(id), "{told}: {id} is not near itself");
            }
            if !same_texts || drawer.text.is_empty() {
                continue;
            }
            let words: Vec<&str> = drawer.text.split_whitespace().take(6).collect();
            let given = self.damaged.saying(name, &words.join(" "), &all);
            assert!(!given.is_empty(), "{told}: nothing says `{words:?}`");
            // Fewer records weigh words otherwise.
            if self.damaged.kept() == self.whole.kept() {
                assert_eq!(
                    given,
                    self.whole.saying(name, &words.join(" "), &all),
                    "{told}: `{words:?}`"
                );
            }
        }
    }
}

fn check(case: &Case, originals: &mut BTreeMap<std::path::PathBuf, Imported>) {
    let Some(scene) = case.stage() else {
        return;
    };
    let Some(original) = healthy(case, &scene) else {
        return;
    };
    let whole = originals
        .entry(original.to_owned())
        .or_insert_with(|| Imported::from(original));
    check_numbers(damage::case("healthy"), &whole.report);
    let pair = Pair {
        case,
        scene: &scene,
        expected: case.expected(&scene),
        whole,
        damaged: Imported::from(&scene.directory),
    };
    pair.check();
}

#[test]
fn every_damaged_directory_is_imported_as_its_healthy_original_is() {
    let damaged = CASES.iter().filter(|case| !AS_WRITTEN.contains(&case.name));
    let damaged: Vec<&Case> = damaged.collect();
    std::thread::scope(|scope| {
        for part in damaged.chunks(damaged.len().div_ceil(THREADS)) {
            scope.spawn(move || {
                let mut originals = BTreeMap::new();
                for case in part {
                    check(case, &mut originals);
                }
            });
        }
    });
}

/// Two real processes took turns: which of two vectors under one label is whose cannot be told, everything else is brought.
#[test]
fn what_two_writers_left_is_named_and_imported_record_by_record() {
    let Some(scene) = Scene::two_writers() else {
        return;
    };
    let source = open_foreign(&scene.directory, Some(Kind::Chroma)).unwrap();
    let codes: Vec<&str> = source
        .findings()
        .iter()
        .map(|found| found.code.as_str())
        .collect();
    assert!(codes.contains(&"two_writers"), "{codes:?}");
    let imported = Imported::from(&scene.directory);
    check_numbers(damage::case("two_writers"), &imported.report);
    let again = import(&imported.palace, &scene.directory);
    assert!(again.added_nothing(), "{again:?}");

    let expected = scene.expected.first();
    let drawers = imported.drawers(&expected.name);
    assert_eq!(
        drawers.keys().cloned().collect::<BTreeSet<_>>(),
        expected.ids()
    );
    let mut wrong = 0;
    for wanted in &expected.records {
        let drawer = &drawers[&wanted.id];
        assert!(drawer.says(wanted), "{drawer:?}");
        let vector = wanted.embedding.as_ref().unwrap();
        wrong += usize::from(!drawer.vector.is_empty() && !close(&drawer.vector, vector));
    }
    let recoverable = Best::Mapped.ids(&scene, &expected.ids());
    let lost = recoverable
        .iter()
        .filter(|id| drawers[*id].vector.is_empty());
    assert_eq!(lost.count(), 0);
    assert!(wrong * 50 <= drawers.len(), "{wrong} wrong vectors");
}
