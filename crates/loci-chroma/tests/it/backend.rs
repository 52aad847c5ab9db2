//! The mirror of the read-only backend: it is built once, private, and replaced when the directory
//! changes. Also tests the warnings of answers.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};

use loci_chroma::ChromaBackend;
use loci_contract::memory::{Written, WrittenCollection, WrittenDrawer};
use loci_core::{
    Advice, Backend, Collection, CollectionOptions, EmbedderIdentity, Error, Get, GetResult,
    Include, Metadata, Metric, PalaceRef, Period, Query, Result, Selection, Warning,
};
use loci_recall::{Findings, Judge, Probe, RecallResult, recall, search_words};
use loci_sqlite::SqliteBackend;
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::written::{known, write_out};

/// The date on which all drawers were added.
const ADDED: i64 = 1_700_000_000_000;

/// The number of damages to try.
const CASES: usize = 30;

/// A directory in ChromaDB's format with a cache for mirrors beside it.
struct Scene {
    root: TempDir,
}

impl Scene {
    fn new(collections: Vec<WrittenCollection>) -> Self {
        let root = TempDir::new().unwrap();
        let scene = Self { root };
        std::fs::create_dir(scene.path()).unwrap();
        write_out(&Written { collections }, &scene.path());
        scene
    }

    fn path(&self) -> PathBuf {
        self.root.path().join("chroma")
    }

    fn palace(&self) -> PalaceRef {
        PalaceRef::local(self.path())
    }

    fn mirrors(&self) -> PathBuf {
        self.root.path().join("cache").join("mirrors")
    }

    fn backend(&self) -> ChromaBackend {
        ChromaBackend::new(known).mirrors_in(self.mirrors())
    }

    fn sql(&self, statement: &str) {
        let sql = Connection::open(self.path().join("chroma.sqlite3")).unwrap();
        sql.pragma_update(None, "foreign_keys", false).unwrap();
        sql.execute_batch(statement).unwrap();
    }

    /// The mirrors of the directory. There is one shelf.
    fn shelved(&self) -> Vec<PathBuf> {
        let shelves = entries(&self.mirrors());
        assert_eq!(shelves.len(), 1, "{shelves:?}");
        entries(&shelves[0])
    }
}

fn entries(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn drawer(at: u64, text: &str, metadata: &Value) -> WrittenDrawer {
    WrittenDrawer {
        id: format!("id-{at}"),
        record: at,
        seq: at,
        document: Some(text.into()),
        metadata: Metadata::from_json(metadata).unwrap(),
        embedding: Some(vec![1.0, at as f32]),
        created_at: ADDED,
        updated_at: ADDED,
    }
}

fn collection(name: &str, number: u64, drawers: Vec<WrittenDrawer>) -> WrittenCollection {
    WrittenCollection {
        name: name.into(),
        number,
        metric: Metric::Cosine,
        dimension: Some(2),
        embedder: None,
        drawers,
    }
}

fn one(name: &str, number: u64) -> WrittenCollection {
    collection(
        name,
        number,
        vec![drawer(number, name, &json!({"wing": "w"}))],
    )
}

fn opened(backend: &ChromaBackend, scene: &Scene, name: &str) -> Result<Arc<dyn Collection>> {
    backend.get_collection(&scene.palace(), name, false, &CollectionOptions::default())
}

fn everything(collection: &dyn Collection) -> GetResult {
    let get = Get {
        include: Include::ALL,
        ..Get::new(Selection::all())
    };
    collection.get(&get).unwrap()
}

/// Selects everything.
struct Everything;

impl Judge for Everything {
    fn shortlist(&mut self, _: &Findings) -> Vec<usize> {
        Vec::new()
    }
    fn narrow(&mut self, _: &Findings) -> Vec<usize> {
        Vec::new()
    }
    fn choose(&mut self, findings: &Findings) -> Vec<u64> {
        findings.evidence.iter().map(|found| found.record).collect()
    }
}

fn recalled(collection: &dyn Collection) -> RecallResult {
    let probe = Probe {
        query: "quagga",
        vectors: Vec::new(),
        selection: &Selection::all(),
        depth: 5,
        near: 5,
        context: 0,
        dates: false,
        until: None,
    };
    recall(collection, &probe, &mut Everything).unwrap()
}

/// The warnings of every call that returns some.
fn warnings(collection: &dyn Collection) -> Vec<(&'static str, Vec<Warning>)> {
    let all = Selection::all();
    let recent = collection.get_recent(5, &all, Include::GET).unwrap();
    let lexical = search_words(collection, "quagga", 5, &all).unwrap();
    let query = Query::vector(vec![1.0, 0.0]);
    vec![
        ("get", everything(collection).warnings),
        ("get_recent", recent.warnings),
        ("query", collection.query(&query).unwrap().warnings),
        ("search_words", lexical.warnings),
        ("recall", recalled(collection).warnings),
    ]
}

#[test]
fn a_mirror_is_made_once_and_used_by_every_later_process() {
    let scene = Scene::new(vec![one("notes", 1)]);
    let first = scene.backend();
    assert_eq!(opened(&first, &scene, "notes").unwrap().count().unwrap(), 1);
    first.close().unwrap();
    let made = scene.shelved();
    let mark = made[0].join("seen");
    std::fs::write(&mark, "").unwrap();
    assert_eq!(
        opened(&scene.backend(), &scene, "notes")
            .unwrap()
            .count()
            .unwrap(),
        1
    );
    assert_eq!(scene.shelved(), made);
    assert!(mark.exists(), "the mirror was made again");
}

#[test]
fn a_changed_directory_gets_a_new_mirror_and_the_old_one_goes() {
    let scene = Scene::new(vec![one("notes", 1)]);
    let backend = scene.backend();
    let notes = opened(&backend, &scene, "notes").unwrap();
    let before = scene.shelved();
    scene.sql(
        "UPDATE embedding_metadata SET string_value = 'new text' WHERE key = 'chroma:document'",
    );
    assert_eq!(everything(&*notes).documents, ["new text"]);
    let after = scene.shelved();
    assert_eq!(after.len(), 1);
    assert_ne!(after, before);
}

#[test]
fn mirrors_of_directories_that_are_gone_go_with_the_next_one_made() {
    let gone = Scene::new(vec![one("gone", 1)]);
    let scene = Scene::new(vec![one("notes", 1)]);
    for (each, name) in [(&gone, "gone"), (&scene, "notes")] {
        let backend = ChromaBackend::new(known).mirrors_in(scene.mirrors());
        assert!(opened(&backend, each, name).is_ok());
    }
    assert_eq!(entries(&scene.mirrors()).len(), 2);
    std::fs::remove_dir_all(gone.path()).unwrap();
    scene.sql(
        "UPDATE embedding_metadata SET string_value = 'new text' WHERE key = 'chroma:document'",
    );
    assert!(opened(&scene.backend(), &scene, "notes").is_ok());
    assert_eq!(scene.shelved().len(), 1);
}

#[test]
fn what_a_killed_process_left_is_removed_after_a_day_and_not_before() {
    let scene = Scene::new(vec![one("notes", 1)]);
    assert!(opened(&scene.backend(), &scene, "notes").is_ok());
    let shelf = entries(&scene.mirrors()).remove(0);
    let (left, made) = (shelf.join(".building-old"), shelf.join(".building-new"));
    for path in [&left, &made] {
        std::fs::create_dir(path).unwrap();
    }
    let day = std::time::Duration::from_secs(25 * 60 * 60);
    let old = std::time::SystemTime::now() - day;
    std::fs::File::open(&left)
        .unwrap()
        .set_modified(old)
        .unwrap();
    scene.sql(
        "UPDATE embedding_metadata SET string_value = 'new text' WHERE key = 'chroma:document'",
    );
    assert!(opened(&scene.backend(), &scene, "notes").is_ok());
    assert!(made.exists());
    assert!(!left.exists());
}

#[test]
fn a_handle_follows_a_mirror_that_another_process_replaced() {
    let scene = Scene::new(vec![one("notes", 1)]);
    let (here, there) = (scene.backend(), scene.backend());
    let mine = opened(&here, &scene, "notes").unwrap();
    let theirs = opened(&there, &scene, "notes").unwrap();
    scene.sql(
        "DELETE FROM embeddings_queue; DELETE FROM embeddings; DELETE FROM embedding_metadata",
    );
    assert_eq!(theirs.count().unwrap(), 0);
    assert_eq!(mine.count().unwrap(), 0);
}

#[test]
fn a_mirror_whose_files_are_removed_under_a_handle_is_made_again() {
    let scene = Scene::new(vec![one("notes", 1)]);
    let backend = scene.backend();
    let notes = opened(&backend, &scene, "notes").unwrap();
    std::fs::remove_dir_all(scene.mirrors()).unwrap();
    assert_eq!(everything(&*notes).documents, ["notes"]);
}

#[test]
fn processes_that_open_at_once_end_with_one_mirror() {
    let scene = Scene::new(vec![one("notes", 1), one("more", 2)]);
    let start = Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                start.wait();
                let backend = scene.backend();
                let notes = opened(&backend, &scene, "notes").unwrap();
                assert_eq!(everything(&*notes).documents, ["notes"]);
            });
        }
    });
    assert_eq!(scene.shelved().len(), 1);
}

#[test]
fn a_damaged_mirror_is_made_again() {
    let scene = Scene::new(vec![one("notes", 1)]);
    for damaged in ["mirror.json", "palace/palace.sqlite3"] {
        assert!(opened(&scene.backend(), &scene, "notes").is_ok());
        let mirror = scene.shelved().remove(0);
        std::fs::write(mirror.join(damaged), "garbage").unwrap();
        let backend = scene.backend();
        let notes = opened(&backend, &scene, "notes").unwrap();
        assert_eq!(everything(&*notes).documents, ["notes"], "{damaged}");
    }
}

#[test]
fn without_a_cache_that_can_be_written_a_temporary_mirror_serves() {
    let scene = Scene::new(vec![one("notes", 1)]);
    let file = scene.root.path().join("no directory");
    std::fs::write(&file, "").unwrap();
    let backend = ChromaBackend::new(known).mirrors_in(file.join("mirrors"));
    let notes = opened(&backend, &scene, "notes").unwrap();
    assert_eq!(everything(&*notes).documents, ["notes"]);
}

#[cfg(unix)]
#[test]
fn mirrors_are_readable_by_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new(vec![one("notes", 1)]);
    assert!(opened(&scene.backend(), &scene, "notes").is_ok());
    let mirror = scene.shelved().remove(0);
    let shelf = mirror.parent().unwrap();
    for path in [&scene.mirrors(), shelf, &mirror, &mirror.join("palace")] {
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", path.display());
    }
}

#[test]
fn the_default_collection_is_mempalaces_drawers_or_the_only_collection() {
    let mempalace = Scene::new(vec![
        one("mempalace_closets", 1),
        one("mempalace_drawers", 2),
    ]);
    let only = Scene::new(vec![one("notes", 1)]);
    let exact = Scene::new(vec![one("mempalace_drawers", 1), one("drawers", 2)]);
    for (scene, expected) in [
        (&mempalace, "mempalace_drawers"),
        (&only, "notes"),
        (&exact, "drawers"),
    ] {
        let backend = scene.backend();
        let default = backend.default_collection(&scene.palace()).unwrap();
        let name = default.as_deref().unwrap_or("drawers");
        let drawers = opened(&backend, scene, name).unwrap();
        assert_eq!(drawers.name(), expected);
        assert_eq!(everything(&*drawers).documents, [expected]);
    }
    let several = Scene::new(vec![one("notes", 1), one("other", 2)]);
    let backend = several.backend();
    assert_eq!(backend.default_collection(&several.palace()).unwrap(), None);
    let found = opened(&backend, &several, "drawers");
    assert!(matches!(
        found.err(),
        Some(Error::CollectionNotInitialized { .. })
    ));
}

#[test]
fn twins_are_all_there_with_the_metadata_that_they_have() {
    let place = json!({"source_file": "a.md", "wing": "w", "chunk_index": 3});
    let numbered = json!({"source_file": "a.md", "wing": "w", "part": 1});
    let texts = [&place, &place, &numbered, &numbered, &place];
    let drawers: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(at, metadata)| drawer(at as u64 + 1, "quagga", metadata))
        .collect();
    let expected: Vec<_> = drawers
        .iter()
        .map(|drawer| drawer.metadata.clone())
        .collect();
    let scene = Scene::new(vec![collection("notes", 1, drawers)]);
    let backend = scene.backend();
    let notes = opened(&backend, &scene, "notes").unwrap();
    let found = everything(&*notes);
    assert_eq!(found.ids, ["id-1", "id-2", "id-3", "id-4", "id-5"]);
    assert_eq!(found.metadatas, expected);
    assert_eq!(found.warnings, []);
    let all = Selection::all();
    let query = notes.query(&Query::vector(vec![1.0, 5.0])).unwrap();
    let lexical = search_words(&*notes, "quagga", 10, &all).unwrap();
    let recent = notes.get_recent(10, &all, Include::GET).unwrap();
    let recall = recalled(&*notes).drawers;
    let shown = query.ids[0]
        .iter()
        .zip(&query.metadatas[0])
        .chain(lexical.hits.iter().map(|hit| (&hit.id, &hit.metadata)))
        .chain(recall.iter().map(|drawer| (&drawer.id, &drawer.metadata)))
        .chain(recent.ids.iter().zip(&recent.metadatas));
    let mut count = 0;
    for (id, metadata) in shown {
        let at = found.ids.iter().position(|known| known == id).unwrap();
        assert_eq!(*metadata, expected[at], "{id}");
        count += 1;
    }
    assert_eq!(count, 20);
}

#[test]
fn values_keep_their_type() {
    let metadata = json!({
        "int": 1, "float": 1.0, "bool": true, "text": "1", "ints": [1, 2], "floats": [1.0], "bools": [false], "texts": ["a", "a"],
        "big": i64::MAX, "empty": ""
    });
    let scene = Scene::new(vec![collection(
        "notes",
        1,
        vec![drawer(1, "x", &metadata)],
    )]);
    let backend = scene.backend();
    let found = everything(&*opened(&backend, &scene, "notes").unwrap());
    assert_eq!(found.metadatas, [Metadata::from_json(&metadata).unwrap()]);
}

#[test]
fn a_drawer_without_a_date_counts_as_of_the_day_it_was_added_to_chromadb() {
    let dated = drawer(2, "quagga", &json!({"date": "2020-01-01"}));
    let drawers = vec![drawer(1, "quagga", &json!({})), dated];
    let scene = Scene::new(vec![collection("notes", 1, drawers)]);
    let backend = scene.backend();
    let notes = opened(&backend, &scene, "notes").unwrap();
    let within = |since: i64, before: i64| {
        let period = Some(Period {
            since: Some(since),
            before: Some(before),
        });
        let selection = Selection {
            period,
            ..Selection::all()
        };
        notes.get(&Get::new(selection)).unwrap().ids
    };
    assert_eq!(within(ADDED, ADDED + 1), ["id-1"]);
    assert_eq!(within(0, ADDED), ["id-2"]);
    assert_eq!(within(ADDED + 1, i64::MAX), [""; 0]);
}

#[test]
fn a_drawer_has_the_date_that_an_import_would_give_it_and_never_that_of_the_mirror() {
    let filed = drawer(1, "quagga", &json!({"filed_at": "2019-05-06T07:08:09Z"}));
    let drawers = vec![
        filed,
        drawer(2, "quagga", &json!({})),
        drawer(3, "quagga", &json!({})),
        drawer(4, "quagga", &json!({})),
    ];
    let scene = Scene::new(vec![collection("notes", 1, drawers)]);
    // The row of id-3 has lost its date, which the queue still has. id-4 has no date anywhere.
    scene.sql(
        "UPDATE embeddings SET created_at = 'nonsense' WHERE embedding_id IN ('id-3', 'id-4');
         UPDATE embeddings_queue SET created_at = '2021-02-03 04:05:06' WHERE id = 'id-3';
         UPDATE embeddings_queue SET created_at = 'nonsense' WHERE id = 'id-4';",
    );
    let changed = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000);
    let file = std::fs::File::options()
        .append(true)
        .open(scene.path().join("chroma.sqlite3"))
        .unwrap();
    file.set_modified(changed).unwrap();
    drop(file);
    let backend = scene.backend();
    let notes = opened(&backend, &scene, "notes").unwrap();
    let dates = [
        ("id-1", 1_557_126_489_000),
        ("id-2", ADDED),
        ("id-3", 1_612_325_106_000),
        ("id-4", 1_600_000_000_000),
    ];
    for (id, moment) in dates {
        let period = Some(Period {
            since: Some(moment),
            before: Some(moment + 1),
        });
        let selection = Selection {
            period,
            ..Selection::all()
        };
        assert_eq!(notes.get(&Get::new(selection)).unwrap().ids, [id]);
    }
    // A search returns the same.
    let shown = recalled(&*notes).drawers;
    assert_eq!(shown.len(), dates.len());
    for drawer in shown {
        let expected = dates.iter().find(|(id, _)| *id == drawer.id);
        assert_eq!(expected.map(|(_, moment)| *moment), Some(drawer.created_at));
    }
}

#[test]
fn a_mirror_is_a_sound_palace() {
    let place = json!({"source_file": "a.md", "wing": "w"});
    let mut drawers: Vec<_> = (1..20).map(|at| drawer(at, "quagga", &place)).collect();
    drawers[3].seq = 30;
    let scene = Scene::new(vec![collection("notes", 1, drawers)]);
    assert!(opened(&scene.backend(), &scene, "notes").is_ok());
    let mirror = PalaceRef::local(scene.shelved().remove(0).join("palace"));
    let report = SqliteBackend::default().verify(&mirror, true).unwrap();
    assert_eq!(report.findings, []);
    assert_eq!(report.drawers, 19);
}

fn drifted() -> Scene {
    let mut lost = drawer(2, "quagga", &json!({}));
    lost.embedding = None;
    let kept = drawer(1, "zebra", &json!({}));
    Scene::new(vec![
        collection("notes", 1, vec![kept, lost]),
        one("good", 3),
    ])
}

#[test]
fn every_answer_of_a_drifted_collection_says_so_once() {
    let scene = drifted();
    let backend = scene.backend();
    for (call, found) in warnings(&*opened(&backend, &scene, "notes").unwrap()) {
        let drift: Vec<_> = found
            .iter()
            .filter(|warning| warning.code() == "drift")
            .collect();
        let [warning] = drift[..] else {
            panic!("{call}: {found:?}")
        };
        let path = scene.path().canonicalize().unwrap();
        let message = warning.message();
        assert!(
            message.contains("1 of 2 drawers have no vector"),
            "{call}: {warning:?}"
        );
        assert_eq!(
            warning.advice(),
            Some(Advice::DiagnoseAndImport { path }),
            "{call}"
        );
    }
}

#[test]
fn a_sound_collection_has_no_warning() {
    let scene = drifted();
    let backend = scene.backend();
    for (call, found) in warnings(&*opened(&backend, &scene, "good").unwrap()) {
        assert!(
            found.iter().all(|warning| warning.code() != "drift"),
            "{call}: {found:?}"
        );
    }
}

#[test]
fn without_the_drift_check_nothing_is_said() {
    let scene = drifted();
    assert!(opened(&scene.backend(), &scene, "notes").is_ok());
    let backend = scene.backend().drift_check(false);
    for (call, found) in warnings(&*opened(&backend, &scene, "notes").unwrap()) {
        assert!(
            found.iter().all(|warning| warning.code() != "drift"),
            "{call}: {found:?}"
        );
    }
}

#[test]
fn what_does_not_fit_a_palace_is_left_out_and_said() {
    let mut drawers = vec![
        drawer(1, &"é".repeat(600_000), &json!({})),
        drawer(2, "quagga", &json!({"kept": 1, "long": "x".repeat(70_000)})),
        drawer(3, "quagga", &json!({})),
        drawer(4, "quagga", &json!({})),
    ];
    drawers[2].id = "x".repeat(2_000);
    drawers[3].embedding = Some(vec![1.0, 2.0, 3.0]);
    let scene = Scene::new(vec![collection("notes", 1, drawers)]);
    scene.sql("INSERT INTO embedding_metadata (id, key, int_value) VALUES (2, '$odd', 1)");
    let backend = scene.backend();
    let found = everything(&*opened(&backend, &scene, "notes").unwrap());
    assert_eq!(found.ids, ["id-1", "id-2", "id-4"]);
    assert_eq!(found.documents[0].len(), 1 << 20);
    assert_eq!(
        found.metadatas[1],
        Metadata::from_json(&json!({"kept": 1})).unwrap()
    );
    let said = found
        .warnings
        .iter()
        .find(|warning| warning.code() == "not_mirrored");
    let message = said.unwrap().message();
    for part in [
        "1 records are left out",
        "1 texts are truncated",
        "2 metadata values",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn collections_of_one_name_in_two_databases_are_both_there() {
    let scene = Scene::new(vec![one("notes", 1), one("notes of another", 2)]);
    scene.sql(
        "INSERT INTO databases VALUES ('other', 'second', 'default_tenant');
         UPDATE collections SET name = 'notes', database_id = 'other' WHERE name = 'notes of another'",
    );
    let backend = scene.backend();
    let names: Vec<_> = backend.list_collections(&scene.palace()).unwrap();
    let names: Vec<_> = names.into_iter().map(|info| info.name).collect();
    assert_eq!(names, ["notes", "second/notes"]);
    for (name, text) in [("notes", "notes"), ("second/notes", "notes of another")] {
        assert_eq!(
            everything(&*opened(&backend, &scene, name).unwrap()).documents,
            [text]
        );
    }
}

#[test]
fn a_palace_of_loci_is_not_taken_for_chromadbs() {
    let scene = Scene::new(vec![one("notes", 1)]);
    assert!(scene.backend().detect(&PalaceRef::local(scene.path())));
    std::fs::write(scene.path().join("palace.sqlite3"), "").unwrap();
    assert!(!scene.backend().detect(&PalaceRef::local(scene.path())));
}

fn minilm(name: &str, dimension: usize) -> Option<EmbedderIdentity> {
    (name == "default").then(|| EmbedderIdentity {
        name: "minilm".into(),
        dimension,
        digest: "d".into(),
    })
}

#[test]
fn mempalaces_collections_are_embedded_by_chromadbs_default() {
    let scene = Scene::new(vec![one("mempalace_drawers", 1), one("notes", 2)]);
    let backend = ChromaBackend::new(minilm).mirrors_in(scene.mirrors());
    let drawers = opened(&backend, &scene, "mempalace_drawers").unwrap();
    assert_eq!(drawers.embedder().unwrap(), minilm("default", 2));
    let notes = opened(&backend, &scene, "notes").unwrap();
    assert_eq!(notes.embedder().unwrap(), None);
}

/// Flips bytes, truncates the database, or both.
fn damaged(bytes: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.usize(1..20) {
        let at = random.usize(..bytes.len());
        bytes[at] = random.u8(..);
    }
    if random.u8(..4) == 0 {
        bytes.truncate(random.usize(..bytes.len()));
    }
    bytes
}

#[test]
fn a_damaged_database_is_read_or_refused() {
    let place = json!({"source_file": "a.md", "tags": ["x", "y"], "n": 1.5});
    let drawers = (1..40).map(|at| drawer(at, "quagga", &place)).collect();
    let scene = Scene::new(vec![collection("notes", 1, drawers)]);
    let database = scene.path().join("chroma.sqlite3");
    let whole = std::fs::read(&database).unwrap();
    let mut random = fastrand::Rng::with_seed(11);
    let mut read = 0;
    for _ in 0..CASES {
        std::fs::write(&database, damaged(&whole, &mut random)).unwrap();
        let backend = scene.backend();
        if let Ok(notes) = opened(&backend, &scene, "notes") {
            let found = everything(&*notes);
            assert!(found.ids.len() <= 39, "{found:?}");
            read += 1;
        }
    }
    assert!(read > CASES / 5, "{read} of {CASES}");
}
