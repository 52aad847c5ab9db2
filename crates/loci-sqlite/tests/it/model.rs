//! Random operations against the reference backend and against SQLite give the same answers, whatever
//! happens to index, tombstones and instances in between.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use loci_contract::arbitrary;
use loci_contract::memory::MemoryBackend;
use loci_core::{
    Backend, Batch, Collection, CollectionOptions, DocumentFilter, Filter, Get, Include,
    MaintenanceKind, MetaValue, Metadata, MetadataPatch, Metric, PalaceRef, Query, QueryInput,
    Selection,
};
use loci_sqlite::SqliteBackend;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::snapshots;

type Record = (u8, Option<String>, Option<Value>, Option<Vec<f32>>);

#[derive(Debug, Clone)]
struct Scope {
    ids: Option<Vec<u8>>,
    filter: Option<Value>,
    document: Option<Value>,
}

#[derive(Debug, Clone)]
enum Operation {
    Add(Vec<Record>),
    Upsert(Vec<Record>),
    Update(Vec<Record>),
    Delete(Scope),
    Query(Vec<f32>, usize, Scope),
    Get(usize, Option<usize>, Scope),
    Recent(usize, Scope),
    Words(String, Scope),
    Facets(String, Scope),
    Changes(usize, usize),
    Reopen,
    Second,
    Reindex,
    LoseIndex,
    Compact,
}

fn record() -> impl Strategy<Value = Record> {
    let vector = prop::collection::vec(-2_i8..3, 4)
        .prop_map(|numbers| numbers.into_iter().map(f32::from).collect::<Vec<f32>>());
    let mined = (0_u8..2, prop::option::of(0_i64..2)).prop_map(|(file, line)| {
        let mut map = json!({"source_file": format!("file{file}.md")});
        if let Some(line) = line {
            map["start_line"] = json!(line);
        }
        map
    });
    let metadata = (
        arbitrary::metadata(),
        prop::option::weighted(0.3, mined),
        any::<bool>(),
    )
        .prop_map(|(mut metadata, mined, removes)| {
            let map = metadata.as_object_mut().unwrap();
            map.extend(
                mined
                    .into_iter()
                    .flat_map(|mined| mined.as_object().unwrap().clone()),
            );
            if removes {
                map.insert("tags".into(), Value::Null);
            }
            metadata
        });
    (
        0_u8..10,
        arbitrary::document(),
        prop::option::weighted(0.7, metadata),
        prop::option::weighted(0.8, vector),
    )
}

fn scope() -> impl Strategy<Value = Scope> {
    (
        prop::option::weighted(0.2, prop::collection::vec(0_u8..10, 1..4)),
        prop::option::weighted(0.6, arbitrary::filter()),
        prop::option::weighted(0.15, arbitrary::document_filter()),
    )
        .prop_map(|(ids, filter, document)| Scope {
            ids,
            filter,
            document,
        })
}

fn step() -> impl Strategy<Value = Operation> {
    let records = |most: usize| {
        prop::collection::vec(record(), 1..most).prop_map(|mut records| {
            records.sort_by_key(|record| record.0);
            records.dedup_by_key(|record| record.0);
            records
        })
    };
    let words =
        prop::sample::select(&["fox", "owl", "größe owl", "100", "a_b", "fox owl", "none"][..]);
    let vector = prop::collection::vec(-3_i8..4, 4)
        .prop_map(|numbers| numbers.into_iter().map(f32::from).collect::<Vec<f32>>());
    prop_oneof![
        4 => records(6).prop_map(Operation::Add),
        4 => records(4).prop_map(Operation::Upsert),
        4 => records(3).prop_map(Operation::Update),
        2 => scope().prop_map(Operation::Delete),
        5 => (vector, 1_usize..8, scope()).prop_map(|(v, k, s)| Operation::Query(v, k, s)),
        3 => (0_usize..3, prop::option::of(0_usize..6), scope()).prop_map(|(o, l, s)| Operation::Get(o, l, s)),
        2 => (0_usize..6, scope()).prop_map(|(l, s)| Operation::Recent(l, s)),
        2 => (words, scope()).prop_map(|(w, s)| Operation::Words(w.into(), s)),
        2 => (prop::sample::select(&["wing", "n", "tags", "o'dd.key"][..]), scope()).prop_map(|(k, s)| Operation::Facets(k.into(), s)),
        2 => (0_usize..40, 1_usize..30).prop_map(|(back, limit)| Operation::Changes(back, limit)),
        1 => Just(Operation::Reopen),
        1 => Just(Operation::Second),
        2 => Just(Operation::Reindex),
        1 => Just(Operation::LoseIndex),
        1 => Just(Operation::Compact),
    ]
}

fn selection(scope: &Scope) -> Selection {
    Selection {
        ids: scope
            .ids
            .as_ref()
            .map(|ids| ids.iter().map(|id| format!("i{id}")).collect()),
        filter: scope
            .filter
            .as_ref()
            .map(|json| Filter::parse(json).unwrap()),
        document: scope
            .document
            .as_ref()
            .map(|json| DocumentFilter::parse(json).unwrap()),
        ..Selection::default()
    }
}

fn batch(records: &[Record]) -> Batch {
    let patch = |json: &Option<Value>| {
        json.as_ref().map_or_else(MetadataPatch::default, |json| {
            MetadataPatch::from_json(json).unwrap()
        })
    };
    Batch {
        ids: records
            .iter()
            .map(|record| format!("i{}", record.0))
            .collect(),
        documents: Some(records.iter().map(|record| record.1.clone()).collect()),
        metadatas: Some(records.iter().map(|record| patch(&record.2)).collect()),
        embeddings: Some(records.iter().map(|record| record.3.clone()).collect()),
        embedded: None,
    }
}

struct Comparison {
    reference: Arc<dyn Collection>,
    path: PathBuf,
    metric: Metric,
    /// Two instances on one palace, as two processes would have.
    instances: Vec<Arc<dyn Collection>>,
    backends: Vec<SqliteBackend>,
    current: usize,
    /// Numbers after each write: reference, SQLite.
    numbers: Vec<(u64, u64)>,
}

impl Comparison {
    fn open(&mut self, at: usize) {
        let backend = SqliteBackend::default();
        let options = CollectionOptions {
            metric: Some(self.metric),
            embedder: None,
        };
        let collection = backend
            .get_collection(&PalaceRef::local(&self.path), "drawers", true, &options)
            .unwrap();
        if self.instances.len() > at {
            self.backends[at].close().unwrap();
            self.instances[at] = collection;
            self.backends[at] = backend;
        } else {
            self.instances.push(collection);
            self.backends.push(backend);
        }
    }

    fn step(&mut self, step: &Operation) {
        let (reference, sqlite) = (
            Arc::clone(&self.reference),
            Arc::clone(&self.instances[self.current]),
        );
        match step {
            Operation::Add(records) => {
                self.write(reference.add(&batch(records)), sqlite.add(&batch(records)));
            }
            Operation::Upsert(records) => self.write(
                reference.upsert(&batch(records)),
                sqlite.upsert(&batch(records)),
            ),
            Operation::Update(records) => self.write(
                reference.update(&batch(records)),
                sqlite.update(&batch(records)),
            ),
            Operation::Delete(scope) => {
                let selection = selection(scope);
                match (reference.delete(&selection), sqlite.delete(&selection)) {
                    (Ok(a), Ok(b)) => {
                        assert_eq!(a.deleted, b.deleted);
                        self.numbers.push((a.seq, b.seq));
                    }
                    (a, b) => assert_eq!(a.unwrap_err().kind(), b.unwrap_err().kind()),
                }
            }
            Operation::Query(vector, k, scope) => self.query(vector, *k, scope),
            Operation::Get(offset, limit, scope) => {
                let get = Get {
                    selection: selection(scope),
                    limit: *limit,
                    offset: *offset,
                    include: Include {
                        distances: false,
                        ..Include::ALL
                    },
                };
                assert_eq!(sqlite.get(&get).unwrap(), reference.get(&get).unwrap());
            }
            Operation::Recent(limit, scope) => {
                let selection = selection(scope);
                assert_eq!(
                    sqlite.get_recent(*limit, &selection, Include::GET).unwrap(),
                    reference
                        .get_recent(*limit, &selection, Include::GET)
                        .unwrap()
                );
            }
            Operation::Words(words, scope) => {
                let find = |collection: &dyn Collection| {
                    let found =
                        loci_recall::search_words(collection, words, 100, &selection(scope))
                            .unwrap();
                    let mut ids: Vec<String> = found.hits.into_iter().map(|hit| hit.id).collect();
                    ids.sort();
                    ids
                };
                assert_eq!(find(sqlite.as_ref()), find(reference.as_ref()));
            }
            Operation::Facets(key, scope) => {
                facets(reference.as_ref(), sqlite.as_ref(), key, &selection(scope));
            }
            Operation::Changes(back, limit) => self.changes(*back, *limit),
            Operation::Reopen => self.open(self.current),
            Operation::Second => {
                if self.instances.len() < 2 {
                    self.open(1);
                }
                self.current = 1 - self.current;
            }
            Operation::Reindex => {
                sqlite.run_maintenance(MaintenanceKind::Reindex).unwrap();
            }
            Operation::LoseIndex => {
                for file in snapshots(&self.path) {
                    std::fs::remove_file(file).unwrap();
                }
            }
            Operation::Compact => {
                sqlite.run_maintenance(MaintenanceKind::Compact).unwrap();
            }
        }
    }

    fn write(
        &mut self,
        reference: loci_core::Result<loci_core::WriteResult>,
        sqlite: loci_core::Result<loci_core::WriteResult>,
    ) {
        match (reference, sqlite) {
            (Ok(a), Ok(b)) => {
                assert_eq!(b.outcomes, a.outcomes);
                assert_eq!(
                    b.warnings
                        .iter()
                        .map(loci_core::Warning::code)
                        .collect::<Vec<_>>(),
                    a.warnings
                        .iter()
                        .map(loci_core::Warning::code)
                        .collect::<Vec<_>>()
                );
                self.numbers.push((a.seq, b.seq));
            }
            (Err(a), Err(b)) => assert_eq!(b.kind(), a.kind(), "{b} instead of {a}"),
            (a, b) => panic!("reference {a:?}, SQLite {b:?}"),
        }
    }

    fn query(&self, vector: &[f32], k: usize, scope: &Scope) {
        let ask = |collection: &dyn Collection, k: usize| {
            let query = Query {
                input: QueryInput::Vectors(vec![vector.to_vec()]),
                k,
                selection: selection(scope),
                include: Include::ALL,
            };
            collection.query(&query)
        };
        let (all, found) = (
            ask(self.reference.as_ref(), 1_000),
            ask(self.instances[self.current].as_ref(), k),
        );
        let (all, found) = match (all, found) {
            (Ok(all), Ok(found)) => (all, found),
            (a, b) => return assert_eq!(a.unwrap_err().kind(), b.unwrap_err().kind()),
        };
        let close = |a: f32, b: f32| (a - b).abs() <= 1e-5 * (1.0 + a.abs());
        assert_eq!(found.ids[0].len(), all.ids[0].len().min(k), "not full");
        for (at, id) in found.ids[0].iter().enumerate() {
            let place = all.ids[0].iter().position(|other| other == id);
            let place = place.unwrap_or_else(|| panic!("`{id}` is no hit"));
            assert!(
                close(found.distances[0][at], all.distances[0][at]),
                "{found:?} instead of {all:?}"
            );
            assert!(
                close(found.distances[0][at], all.distances[0][place]),
                "{found:?} instead of {all:?}"
            );
            assert_eq!(found.documents[0][at], all.documents[0][place]);
            assert_eq!(found.metadatas[0][at], all.metadatas[0][place]);
            assert_eq!(
                found.embeddings.as_ref().unwrap()[0][at],
                all.embeddings.as_ref().unwrap()[0][place]
            );
        }
    }

    fn changes(&self, back: usize, limit: usize) {
        let at = self.numbers.len().saturating_sub(back);
        let (from, sqlite_from) = self.numbers.get(at).copied().unwrap_or_default();
        let expected = self.reference.changes_since(from, limit).unwrap();
        let found = self.instances[self.current]
            .changes_since(sqlite_from, limit)
            .unwrap();
        if found.reset {
            return;
        }
        let ids = |changes: &loci_core::Changes| -> Vec<Option<String>> {
            changes
                .changes
                .iter()
                .map(|change| change.id.clone())
                .collect()
        };
        // From the beginning, deletes may have been trimmed without a reset being needed.
        if sqlite_from == 0 {
            return;
        }
        assert_eq!(ids(&found), ids(&expected), "since {sqlite_from}");
        assert_eq!(found.more, expected.more);
        assert!(found.changes.is_sorted_by(|a, b| a.seq < b.seq));
    }
}

/// Counted from the drawers themselves; 1 and 1.0 are one value.
fn facets(reference: &dyn Collection, sqlite: &dyn Collection, key: &str, selection: &Selection) {
    let name = |value: &MetaValue| match value {
        MetaValue::Int(number) => format!("number {number}"),
        MetaValue::Float(number) if number.fract() == 0.0 && number.abs() < 9e18 => {
            format!("number {}", *number as i64)
        }
        other => format!("{other:?}"),
    };
    let metadatas: Vec<Metadata> = reference
        .get(&Get::new(selection.clone()))
        .unwrap()
        .metadatas;
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    let mut missing = 0;
    for metadata in &metadatas {
        let mut names: Vec<String> = match metadata.get(key) {
            None => {
                missing += 1;
                continue;
            }
            Some(MetaValue::List(items)) => items.iter().map(name).collect(),
            Some(value) => vec![name(value)],
        };
        names.sort();
        names.dedup();
        for name in names {
            *expected.entry(name).or_default() += 1;
        }
    }
    let found = sqlite.facet_counts(key, selection, 1_000).unwrap();
    let counted: BTreeMap<String, u64> = found
        .values
        .iter()
        .map(|(value, count)| (name(value), *count))
        .collect();
    assert_eq!(counted, expected);
    assert_eq!(
        found.missing, missing,
        "drawers without `{key}` (an empty list is a value without items)"
    );
    assert!(found.values.is_sorted_by(|a, b| a.1 >= b.1));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100 * crate::support::effort() as u32,
        failure_persistence: None,
        max_shrink_iters: 300,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_operations_give_the_answers_of_the_reference(
        metric in prop::sample::select(&[Metric::Cosine, Metric::L2, Metric::Ip][..]),
        steps in prop::collection::vec(step(), 30..60),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("palace");
        let memory = MemoryBackend::new();
        let options = CollectionOptions { metric: Some(metric), embedder: None };
        let reference = memory
            .get_collection(&PalaceRef::local(&path), "drawers", true, &options)
            .unwrap();
        let mut world = Comparison {
            reference,
            path,
            metric,
            instances: Vec::new(),
            backends: Vec::new(),
            current: 0,
            numbers: Vec::new(),
        };
        world.open(0);
        for (at, one) in steps.iter().enumerate() {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.step(one)));
            if let Err(panic) = done {
                let said = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                return Err(TestCaseError::fail(format!("step {at}, {one:?}: {said}")));
            }
        }
        let report = world.backends[0].verify(&PalaceRef::local(&world.path), true).unwrap();
        // A file that was deleted last is a finding until somebody asks.
        prop_assert!(report.findings.iter().all(|finding| finding.kind.as_str() == "index"), "{:?}", report.findings);
    }
}

#[test]
fn mined_drawers_that_differ_in_a_wing_or_line_of_any_type_are_different() {
    let directory = tempfile::tempdir().unwrap();
    let backend = SqliteBackend::default();
    let palace = PalaceRef::local(directory.path().join("palace"));
    let collection = backend
        .get_collection(&palace, "drawers", true, &CollectionOptions::default())
        .unwrap();
    let metadatas: Vec<Metadata> = [
        json!({"source_file": "f"}),
        json!({"source_file": "f", "wing": 2023}),
        json!({"source_file": "f", "wing": 2024}),
        json!({"source_file": "f", "wing": true}),
        json!({"source_file": "f", "start_line": "1"}),
        json!({"source_file": "f", "start_line": "5"}),
        json!({"source_file": "f", "start_line": 1.5}),
    ]
    .iter()
    .map(|json| Metadata::from_json(json).unwrap())
    .collect();
    let ids = (0..metadatas.len()).map(|n| n.to_string());
    let texts = metadatas.iter().map(|_| "the same text");
    let result = collection
        .add(
            &Batch::new(ids)
                .documents(texts)
                .metadatas(metadatas.clone()),
        )
        .unwrap();
    assert_eq!(
        result.count(loci_core::OutcomeKind::Added),
        metadatas.len(),
        "{:?}",
        result.outcomes
    );
}

#[test]
fn a_drawer_whose_vector_was_dropped_and_then_deleted_appears_once_in_the_feed() {
    let directory = tempfile::tempdir().unwrap();
    let backend = SqliteBackend::default();
    let palace = PalaceRef::local(directory.path().join("palace"));
    let collection = backend
        .get_collection(&palace, "drawers", true, &CollectionOptions::default())
        .unwrap();
    let batch = Batch::new(["a"]).documents(["one"]);
    let added = collection.add(&batch.embeddings([vec![1.0, 0.0]])).unwrap();
    collection
        .update(&Batch::new(["a"]).documents(["two"]))
        .unwrap();
    collection.delete(&Selection::ids(["a"])).unwrap();
    let feed = collection.changes_since(added.seq, 10).unwrap();
    assert_eq!(feed.changes.len(), 1, "{:?}", feed.changes);
}

#[test]
fn a_long_lived_process_verifies_clean_after_others_wrote() {
    let directory = tempfile::tempdir().unwrap();
    let palace = PalaceRef::local(directory.path().join("palace"));
    let (first, second) = (SqliteBackend::default(), SqliteBackend::default());
    let open = |backend: &SqliteBackend| {
        backend
            .get_collection(&palace, "drawers", true, &CollectionOptions::default())
            .unwrap()
    };
    let (ours, theirs) = (open(&first), open(&second));
    for number in 0..60 {
        loci_recall::search_words(&*ours, "fox", 5, &Selection::all()).unwrap();
        let ids = [format!("{number}")];
        theirs.add(&Batch::new(ids).documents(["a fox"])).unwrap();
        let report = first.verify(&palace, true).unwrap();
        assert!(report.ok(), "after {number}: {:?}", report.findings);
    }
}

#[test]
fn a_collection_emptied_and_compacted_verifies_clean() {
    let directory = tempfile::tempdir().unwrap();
    let backend = SqliteBackend::default();
    let palace = PalaceRef::local(directory.path().join("palace"));
    let collection = backend
        .get_collection(&palace, "drawers", true, &CollectionOptions::default())
        .unwrap();
    let batch = Batch::new(["a", "b"]).embeddings([vec![1.0, 0.0], vec![0.0, 1.0]]);
    collection.add(&batch).unwrap();
    collection
        .run_maintenance(MaintenanceKind::Reindex)
        .unwrap();
    collection.delete(&Selection::ids(["a", "b"])).unwrap();
    collection
        .run_maintenance(MaintenanceKind::Compact)
        .unwrap();
    let report = backend.verify(&palace, true).unwrap();
    assert!(report.ok(), "{:?}", report.findings);
}
