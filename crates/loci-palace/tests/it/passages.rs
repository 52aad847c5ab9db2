//! What search keeps of a drawer beside its text (format 2): made by the migration, kept by every write, mended by repair,
//! gone with a forget.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_palace::search::Request as Question;
use loci_palace::{
    Batch, Filter, ImportOptions, MetadataPatch, OnConflict, OpenOptions, Palace, Period, Selection,
};
use serde_json::{Value, json};

use crate::protocol::{Fake, embedding};
use crate::support::{
    Op, Request, Rng, Row, Seeded, StoreRequest, Worker, command, contents, files_below, open, run,
    seed,
};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/compat")
        .join(name)
}

fn sql(path: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap()
}

fn number(path: &Path, query: &str) -> i64 {
    sql(path).query_row(query, [], |row| row.get(0)).unwrap()
}

fn assert_clean(palace: &Palace) {
    let report = palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(report.ok(), "{:?}", report.findings);
}

fn row(id: impl Into<String>, text: impl Into<String>, meta: &Value) -> Row {
    Row {
        id: id.into(),
        text: Some(text.into()),
        meta: serde_json::from_value(meta.clone()).unwrap(),
        vector: None,
    }
}

fn from_fixture(path: &Path, name: &str) {
    std::fs::create_dir(path).unwrap();
    std::fs::copy(fixture(name), path.join("palace.sqlite3")).unwrap();
}

/// What the newest build writes.
const NEWEST: i64 = 9;

/// Makes a palace of the newest format one of format 1, byte for byte as far as tables go.
fn downgrade(path: &Path) {
    let db = sql(path);
    db.execute_batch(
        "DROP TABLE projects; DROP TABLE facts; DROP TABLE links; DROP TABLE damaged_facts; DROP TABLE damaged_links;
         DROP TABLE postings; DROP VIEW analysed; DROP INDEX drawers_origin;
         ALTER TABLE drawers DROP COLUMN origin; ALTER TABLE palace DROP COLUMN forget_key;
         DROP TABLE sources; DROP TABLE runs; DROP TABLE run_sources; DROP TABLE kept_drawers; DROP TABLE forgotten;
         DROP TABLE passages; DROP TABLE embedders;
         DROP TABLE other_vectors; DROP TABLE reembeddings; DROP TABLE fresh_vectors;
         ALTER TABLE collections DROP COLUMN terms;
         CREATE VIRTUAL TABLE postings USING fts5(
             text, content='drawers', content_rowid='row', tokenize='porter unicode61 remove_diacritics 2');
         INSERT INTO postings (postings) VALUES ('rebuild');
         PRAGMA user_version = 1;
         PRAGMA wal_checkpoint(TRUNCATE);",
    )
    .unwrap();
}

/// Everything that a migration must leave as it is.
fn truth(path: &Path) -> Vec<String> {
    let db = sql(path);
    let mut lines = Vec::new();
    for query in [
        "SELECT row, collection, id, text, metadata, seq, checksum, created_at, updated_at, wing, source_file,
                hex(content_hash), start_line FROM drawers ORDER BY row",
        "SELECT row, collection, seq, hex(vector) FROM vectors ORDER BY row",
        "SELECT seq, collection, row FROM tombstones ORDER BY seq",
        "SELECT row, access_count, use_count, last_used_at FROM usage ORDER BY row",
        "SELECT hex(identity), generation, seq, tombstone_floor, purge_pending, created_at FROM palace",
        "SELECT id, name, metric, dimension, embedder, drawers, vectors, seq, dropped FROM collections ORDER BY id",
        "SELECT collection, key, type, value, row FROM labels",
    ] {
        let mut statement = db.prepare(query).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let cells: Vec<String> = (0..columns)
                .map(|at| format!("{:?}", row.get_ref(at).unwrap()))
                .collect();
            lines.push(cells.join(" "));
        }
    }
    lines
}

/// Searchable text of every kind, in a palace of format 1.
fn of_format_1(path: &Path, drawers: usize) {
    let palace = open(path);
    let collection = palace.collection("drawers", true).unwrap();
    let mut rng = Rng(5);
    let rows: Vec<Row> = (0..drawers)
        .map(|n| Row {
            vector: Some(rng.vector(8)),
            ..row(
                format!("d{n}"),
                format!(
                    "Caroline: call parse_config_file_{} before step {n}",
                    crate::operations::letters(&n.to_string())
                ),
                &json!({"source_file": "notes.md", "start_line": n, "date": "2023-05-07"}),
            )
        })
        .collect();
    for rows in rows.chunks(500) {
        let rows = rows.to_vec();
        Op::Add { rows }.run(&palace, collection.as_ref()).unwrap();
    }
    palace.close().unwrap();
    downgrade(path);
}

#[test]
fn four_processes_that_open_format_1_at_once_migrate_it_once_and_change_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    from_fixture(&path, "format-1.sqlite3");
    let before = truth(&path);
    let mut workers: Vec<Worker> = std::thread::scope(|threads| {
        let starts: Vec<_> = (0..4)
            .map(|_| threads.spawn(|| Worker::serve(&path)))
            .collect();
        starts
            .into_iter()
            .map(|start| start.join().unwrap())
            .collect()
    });
    assert_eq!(number(&path, "PRAGMA user_version"), NEWEST);
    for worker in &mut workers {
        let words = worker.must(&Request::Words {
            collection: "drawers".into(),
            query: "changed text".into(),
            k: 1,
        });
        assert_eq!(words["ids"], json!(["d7"]));
        let verified = worker.must(&StoreRequest::Verify { deep: true });
        assert_eq!(verified["ok"], true, "{verified}");
    }
    for worker in workers {
        worker.finish();
    }
    assert_eq!(truth(&path), before);
    assert_eq!(
        number(
            &path,
            "SELECT count(*) FROM drawers d JOIN passages p ON p.row = d.row AND p.collection = d.collection"
        ),
        59
    );
    // The view and its function are all that the postings need.
    let palace = open(&path);
    let notes = palace
        .search(&Question {
            collection: "notes".to_owned(),
            ..Question::new("tombstone")
        })
        .unwrap();
    assert!(!notes.hits.is_empty());
}

#[test]
fn after_the_migration_identifiers_speakers_and_dates_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    of_format_1(&path, 40);
    let before = truth(&path);
    let palace = open(&path);
    for question in [
        "parse_config_file_bc",
        "config_file_bc",
        "parseConfigFileBc",
    ] {
        let found = palace.search(&Question::new(question)).unwrap();
        assert_eq!(found.hits[0].id, "d12", "{question}");
    }
    let mut request = Question::new("step");
    request.selection.period = Some(Period {
        since: loci_palace::parse_moment("2023-05-07"),
        before: loci_palace::parse_moment("2023-05-08"),
    });
    assert_eq!(palace.search(&request).unwrap().in_scope, 40);
    assert_eq!(
        number(
            &path,
            "SELECT count(*) FROM passages WHERE label <> '' AND source <> 0 AND tokens <> x''"
        ),
        40
    );
    assert_clean(&palace);
    palace.close().unwrap();
    let after: Vec<String> = truth(&path)
        .into_iter()
        .filter(|line| !line.starts_with("Integer(1) Integer(1)"))
        .collect();
    for line in before {
        assert!(
            truth(&path).contains(&line),
            "{line} is gone; {} lines",
            after.len()
        );
    }
}

#[test]
fn a_kill_during_the_migration_leaves_format_1_or_the_newest_whole() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let directory = tempfile::tempdir().unwrap();
    let original = directory.path().join("original");
    of_format_1(&original, 1_500);
    let before = truth(&original);
    // How long it takes when nobody kills it.
    let path = directory.path().join("timed");
    crate::support::copy_directory(&original, &path);
    let since = std::time::Instant::now();
    Worker::serve(&path).kill();
    let whole = since.elapsed().as_micros() as u64;
    let mut left = [0, 0];
    for round in 0..14 {
        let path = directory.path().join(round.to_string());
        crate::support::copy_directory(&original, &path);
        let mut child = command(&path, &["serve"]).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(
            whole * (round + 2) / 16 + rng.next() % (whole / 16),
        ));
        child.kill().unwrap();
        child.wait().unwrap();
        let format = number(&path, "PRAGMA user_version");
        assert!(format == 1 || format == NEWEST, "{format}");
        left[usize::from(format == NEWEST)] += 1;
        assert_eq!(truth(&path), before, "round {round}");
        let tables = number(
            &path,
            "SELECT count(*) FROM sqlite_schema WHERE name IN ('passages', 'embedders', 'other_vectors', 'fresh_vectors', 'reembeddings', 'analysed', 'sources', 'runs', 'run_sources', 'kept_drawers', 'forgotten')",
        );
        assert_eq!(tables, if format == 1 { 0 } else { 11 }, "round {round}");
        let palace = open(&path);
        assert_eq!(number(&path, "PRAGMA user_version"), NEWEST);
        let found = palace
            .search(&Question::new("parse_config_file_bcde"))
            .unwrap();
        assert_eq!(found.hits[0].id, "d1234");
        if round % 4 == 0 {
            assert_clean(&palace);
        }
        palace.close().unwrap();
        std::fs::remove_dir_all(&path).unwrap();
    }
    assert!(left[0] > 0, "no kill came before the commit: {left:?}");
    eprintln!("left as format 1 and the newest: {left:?}");
}

#[test]
fn a_palace_of_format_1_with_damaged_rows_opens_and_says_so() {
    for damage in [
        "UPDATE drawers SET text = x'ff00fe' WHERE id = 'd3'",
        "UPDATE drawers SET metadata = '{broken' WHERE id = 'd3'",
        "UPDATE drawers SET metadata = x'ff' WHERE id = 'd3'",
        "UPDATE drawers SET text = 42 WHERE id = 'd3'",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("palace");
        of_format_1(&path, 20);
        assert_eq!(sql(&path).execute(damage, []).unwrap(), 1);
        let palace = Palace::open(&path, &OpenOptions::existing())
            .unwrap_or_else(|error| panic!("{damage}: {error}"));
        let found = palace
            .search(&Question::new("parse_config_file_f"))
            .unwrap();
        assert_eq!(found.hits[0].id, "d5", "{damage}");
        let report = palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap();
        assert!(!report.ok(), "{damage}");
        let repaired = palace
            .repair(&loci_palace::repair::Request::default())
            .unwrap();
        assert_eq!(repaired.remaining, [], "{damage}");
        assert_eq!(
            repaired.drawers_after + repaired.set_aside.len() as u64,
            20,
            "{damage}"
        );
        assert_clean(&palace);
    }
}

#[test]
fn a_palace_of_format_2_opens_with_everything_it_held() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    from_fixture(&path, "format-2.sqlite3");
    let palace = Palace::open(&path, &OpenOptions::existing()).unwrap();
    let mut exported = Vec::new();
    let report = palace
        .export(&loci_palace::export::Request::default(), &mut exported)
        .unwrap();
    assert_eq!((report.exported, report.warnings.len()), (152, 0));
    assert_eq!(
        crate::compat::as_exported_before(&exported),
        crate::compat::expected("format-2.jsonl")
    );
    assert_clean(&palace);
    // Identifiers, the neighbours in a source, a date, a speaker.
    let ask = |collection: &str, question: &str| {
        palace
            .search(&Question {
                collection: collection.to_owned(),
                ..Question::new(question)
            })
            .unwrap()
    };
    assert_eq!(ask("drawers", "parse_config_file").hits[0].id, "m2");
    assert_eq!(ask("drawers", "what does Melanie drink").hits[0].id, "t2");
    assert_eq!(
        number(&path, "SELECT count(*) FROM passages WHERE label <> ''"),
        3
    );
    let mut request = Question::new("tea");
    request.selection.period = Some(Period {
        since: loci_palace::parse_moment("2023-05-07"),
        before: loci_palace::parse_moment("2023-05-08"),
    });
    let found = palace.search(&request).unwrap();
    assert_eq!((found.in_scope, found.hits[0].id.as_str()), (1, "t1"));
    // The static table stands in for the model, and what it embedded is found by meaning.
    let found = ask("models", "how do I bake a loaf");
    assert_eq!(found.hits[0].id, "o1");
    assert!(found.hits[0].details.as_ref().unwrap().distance.is_some());
    assert!(
        found
            .warnings
            .iter()
            .any(|warning| warning.code() == "compatible_embedder")
    );
    // What was counted, and what was begun.
    assert!(number(&path, "SELECT count(*) FROM usage WHERE access_count > 0") > 0);
    let moving = palace.collection("moving", false).unwrap();
    assert_eq!(moving.dimension().unwrap(), Some(2));
    let done = palace
        .reembed(
            &loci_palace::reembed::Request {
                collection: "moving",
                embedder: &Fake::new("fake", 8),
            },
            &mut |_| (),
        )
        .unwrap();
    assert_eq!((done.resumed, done.made, done.drawers), (128, 12, 140));
    assert_eq!(moving.dimension().unwrap(), Some(8));
    assert_clean(&palace);
    let backup =
        Palace::connect(directory.path().join("restored"), &OpenOptions::create()).unwrap();
    assert_eq!(
        backup
            .restore(&loci_palace::restore::Request {
                backup: fixture("format-2.sqlite3"),
                replace: false,
            })
            .unwrap()
            .restored,
        152
    );
    assert_clean(&backup);
}

#[test]
fn a_format_above_the_newest_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    from_fixture(&path, "format-2.sqlite3");
    sql(&path)
        .pragma_update(None, "user_version", NEWEST + 1)
        .unwrap();
    let before = truth(&path);
    let error = Palace::open(&path, &OpenOptions::create()).err().unwrap();
    assert!(
        matches!(
            error,
            loci_palace::Error::NewerFormat {
                found,
                supported: NEWEST,
                ..
            } if found == NEWEST + 1
        ),
        "{error:?}"
    );
    assert_eq!(truth(&path), before);
}

/// Values that a key of the search side may take, also useless ones.
fn random_meta(rng: &mut Rng) -> Value {
    let pick = |rng: &mut Rng, values: &[Value]| values[rng.below(values.len())].clone();
    let mut meta = serde_json::Map::new();
    for (key, values) in [
        (
            "source_file",
            vec![
                json!("a.md"),
                json!("b.md"),
                json!(""),
                json!(7),
                Value::Null,
            ],
        ),
        ("wing", vec![json!("alice"), json!("bob"), Value::Null]),
        (
            "start_line",
            vec![
                json!(1),
                json!(-5),
                json!("12"),
                json!("x"),
                json!(2.5),
                json!(true),
                Value::Null,
            ],
        ),
        (
            "date",
            vec![
                json!("2023-05-07"),
                json!("someday"),
                json!(20_230_507),
                json!(1_683_554_160_000_i64),
                json!(1.5),
                Value::Null,
            ],
        ),
        (
            "authored_at",
            vec![json!("2020-02-29T12:00:00Z"), json!(false), Value::Null],
        ),
        (
            "speaker",
            vec![
                json!("Melanie"),
                json!("Dr. Zoë de la Cruz"),
                json!(""),
                json!(["x"]),
                Value::Null,
            ],
        ),
    ] {
        if rng.below(3) == 0 {
            meta.insert(key.into(), pick(rng, &values));
        }
    }
    Value::Object(meta)
}

fn random_text(rng: &mut Rng) -> String {
    let start = ["", "Caroline: ", "[Bob] ", "**Eve**: ", "no label here "][rng.below(5)];
    let words: Vec<String> = (0..rng.below(12))
        .map(|_| {
            [
                "snake_case_name",
                "HTTPServer42",
                "привет",
                "記憶",
                "naïve",
                "the",
                "running",
                "v1.2.3",
            ][rng.below(8)]
            .to_owned()
        })
        .collect();
    format!("{start}{}", words.join(" "))
}

#[test]
fn every_write_keeps_passages_and_their_sums_as_text_and_metadata_give_them() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let backup = directory.path().join("backup");
    let mut palace = open(&path);
    palace
        .backup(&loci_palace::backup::Request {
            target: backup.clone(),
        })
        .unwrap();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for step in 0..260 {
        let name = ["drawers", "notes", "models"][rng.below(3)];
        let model = match name {
            // An import may have made it, with another embedder.
            "models" => embedding(&palace, name, Fake::minilm()).ok(),
            _ => None,
        };
        let collection = match (name, model, rng.below(3)) {
            ("models", Some(model), 0) => model,
            ("models" | "notes", ..) => palace.memory(name, true).unwrap().0.collection,
            _ => palace.collection(name, true).unwrap(),
        };
        let id = |rng: &mut Rng| format!("d{}", rng.below(25));
        let mut batch = Batch::new([id(&mut rng)]);
        if rng.below(4) > 0 {
            batch.documents = Some(vec![(rng.below(5) > 0).then(|| random_text(&mut rng))]);
        }
        batch.metadatas = Some(vec![
            MetadataPatch::from_json(&random_meta(&mut rng)).unwrap(),
        ]);
        if name == "drawers" && rng.below(2) == 0 {
            batch.embeddings = Some(vec![Some(rng.vector(4))]);
        }
        // Each of the rare ones now and then.
        let choice = if step % 8 == 7 {
            19 + step / 8 % 7
        } else {
            rng.below(26)
        };
        let did = match choice {
            0..=6 => collection.add(&batch).map(|_| "add"),
            7..=12 => collection.upsert(&batch).map(|_| "upsert"),
            13..=18 => collection.update(&batch).map(|_| "update"),
            19 => collection
                .delete(&Selection::ids([id(&mut rng), id(&mut rng)]))
                .map(|_| "delete"),
            20 => palace
                .forget(&loci_palace::forget::Request::in_collection(
                    name,
                    Selection::matching(Filter::eq("wing", "bob")),
                ))
                .map(|_| "forget"),
            21 => {
                let mut lines = Vec::new();
                palace
                    .export(
                        &loci_palace::export::Request {
                            collection: Some(name.into()),
                        },
                        &mut lines,
                    )
                    .unwrap();
                let options = ImportOptions {
                    collection: Some(["drawers", "notes", "models", "fresh"][rng.below(4)].into()),
                    on_conflict: [OnConflict::Skip, OnConflict::Update, OnConflict::Duplicate]
                        [rng.below(3)],
                    allow_again: true,
                };
                palace
                    .import(&mut lines.as_slice(), &options, &mut |_| ())
                    .map(|_| "import")
            }
            22 => palace.delete_collection(name).map(|()| "drop"),
            23 => {
                // Duplicates, as a version without the index left them: opening cleans them up.
                palace.close().unwrap();
                sql(&path)
                    .execute_batch(
                        "DROP INDEX IF EXISTS drawers_mined;
                         UPDATE drawers SET start_line = '7', content_hash = x'00' WHERE source_file = 'a.md'",
                    )
                    .unwrap();
                palace = open(&path);
                Ok("clean-up")
            }
            24 => palace
                .restore(&loci_palace::restore::Request {
                    backup: backup.clone(),
                    replace: true,
                })
                .map(|_| "restore"),
            _ => {
                std::fs::remove_file(&backup).unwrap();
                palace
                    .backup(&loci_palace::backup::Request {
                        target: backup.clone(),
                    })
                    .map(|_| "backup")
            }
        };
        *kinds
            .entry(did.as_ref().map_or("refused", |what| *what))
            .or_insert(0) += 1;
        if let Err(error) = &did {
            let expected = matches!(
                error.kind(),
                loci_palace::ErrorKind::Conflict | loci_palace::ErrorKind::InvalidInput
            );
            assert!(expected, "{error:?}");
        }
        assert_sums(&path, step);
        if step % 13 == 12 {
            assert_clean(&palace);
        }
    }
    assert_clean(&palace);
    kinds.remove("refused");
    assert_eq!(kinds.len(), 10, "not everything was done: {kinds:?}");
}

fn assert_sums(path: &Path, step: usize) {
    for (what, query) in [
        (
            "a passage without a drawer, or of another collection",
            "SELECT count(*) FROM passages p WHERE NOT EXISTS (SELECT 1 FROM drawers d WHERE d.row = p.row AND d.collection = p.collection)",
        ),
        (
            "a drawer without a passage",
            "SELECT count(*) FROM drawers d WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.row = d.row)",
        ),
        (
            "a vector of another embedder without a drawer",
            "SELECT count(*) FROM other_vectors o WHERE NOT EXISTS (SELECT 1 FROM drawers d WHERE d.row = o.row AND d.collection = o.collection AND d.text IS NOT NULL)",
        ),
        (
            "a vector of another embedder beside a vector",
            "SELECT count(*) FROM other_vectors o JOIN vectors v ON v.row = o.row",
        ),
        (
            "terms",
            "SELECT count(*) FROM collections c WHERE terms <> (SELECT coalesce(sum(terms), 0) FROM passages p WHERE p.collection = c.id)",
        ),
        (
            "usage without a drawer",
            "SELECT count(*) FROM usage u WHERE NOT EXISTS (SELECT 1 FROM drawers d WHERE d.row = u.row)",
        ),
        (
            "fresh vectors without a drawer",
            "SELECT count(*) FROM fresh_vectors f WHERE NOT EXISTS (SELECT 1 FROM drawers d WHERE d.row = f.row)",
        ),
    ] {
        assert_eq!(number(path, query), 0, "{what}, step {step}");
    }
}

/// Drawers with everything: a source, speakers, dates, own vectors and those of the table.
fn rich(path: &Path) -> Palace {
    let palace = open(path);
    let model = embedding(&palace, "drawers", Fake::minilm()).unwrap();
    let rows = (0..12)
        .map(|n| {
            row(
                format!("d{n}"),
                format!("Caroline: lantern number {n} is lit"),
                &json!({"source_file": "s", "start_line": n, "date": "2023-05-07"}),
            )
        })
        .collect();
    Op::Add { rows }.run(&palace, model.as_ref()).unwrap();
    let (memory, _) = palace.memory("drawers", false).unwrap();
    let rows = (0..8)
        .map(|n| {
            row(
                format!("o{n}"),
                format!("Melanie: zeppelin number {n} is late"),
                &json!({"source_file": "s", "start_line": 100 + n}),
            )
        })
        .collect();
    Op::Add { rows }
        .run(&palace, memory.collection.as_ref())
        .unwrap();
    palace
}

#[test]
fn damage_to_what_search_keeps_is_found_survived_and_repaired_and_costs_no_drawer() {
    let bad: Vec<&str> = DAMAGES
        .iter()
        .copied()
        .filter(|damage| std::panic::catch_unwind(|| survive(damage)).is_err())
        .collect();
    assert_eq!(bad, [""; 0]);
}

/// Damage to what is derived: rows lost, surplus, of another type, or with other values.
const DAMAGES: &[&str] = &[
    "DELETE FROM passages WHERE row % 2 = 0",
    "DELETE FROM passages",
    "UPDATE passages SET terms = terms + 1 WHERE row % 3 = 0",
    "UPDATE passages SET terms = 'many' WHERE row % 3 = 0",
    "UPDATE passages SET terms = 9223372036854775807",
    "UPDATE passages SET terms = -9223372036854775807",
    "UPDATE passages SET terms = 1.5",
    "UPDATE passages SET label = x'ff' WHERE row % 2 = 0",
    "UPDATE passages SET label = 'lantern zeppelin'",
    "UPDATE passages SET tokens = x'01'",
    "UPDATE passages SET tokens = 'text'",
    "UPDATE passages SET tokens = zeroblob(100000)",
    "UPDATE passages SET authored_at = 9223372036854775807",
    "UPDATE passages SET authored_at = 'never'",
    "UPDATE passages SET source = 1",
    "UPDATE passages SET source = 'x'",
    "UPDATE passages SET line = 'x'",
    "UPDATE passages SET collection = 99",
    "INSERT INTO passages SELECT row + 1000, collection, source, line, authored_at, terms, label, tokens FROM passages",
    "UPDATE collections SET terms = terms + 1",
    "UPDATE collections SET terms = -7",
    "UPDATE collections SET terms = 'many'",
    "UPDATE other_vectors SET vector = zeroblob(1536)",
    "UPDATE other_vectors SET vector = x'00'",
    "UPDATE other_vectors SET vector = 'text'",
    "UPDATE other_vectors SET checksum = checksum + 1",
    "UPDATE other_vectors SET checksum = 'x'",
    "UPDATE other_vectors SET embedder = 77",
    "UPDATE other_vectors SET embedder = 'x'",
    "UPDATE other_vectors SET collection = 99",
    "DELETE FROM embedders",
    "UPDATE embedders SET identity = 'x'",
    "INSERT INTO other_vectors SELECT row + 1000, collection, embedder, checksum, vector FROM other_vectors",
    "INSERT INTO other_vectors SELECT v.row, v.collection, o.embedder, o.checksum, o.vector FROM vectors v, (SELECT * FROM other_vectors LIMIT 1) o",
    "DELETE FROM postings_data WHERE id > 10",
    "DELETE FROM postings_docsize WHERE id % 2 = 0",
    "UPDATE postings_data SET block = zeroblob(20) WHERE id > 10",
    "INSERT INTO postings (postings) VALUES ('delete-all')",
];

fn survive(damage: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = rich(&path);
    let before = contents(&palace, "drawers");
    palace.close().unwrap();
    sql(&path)
        .execute_batch(damage)
        .unwrap_or_else(|error| panic!("{damage}: {error}"));
    let palace = open(&path);
    // It answers, or says that something is damaged; it never panics, and never gives a drawer that is not there.
    for question in ["lantern", "zeppelin number 3", "Melanie"] {
        match palace.search(&Question::new(question)) {
            Ok(found) => {
                for hit in &found.hits {
                    assert_eq!(before[&hit.id].text.as_ref(), Some(&hit.text), "{damage}");
                }
            }
            Err(error) => assert_eq!(
                error.kind(),
                loci_palace::ErrorKind::Corrupt,
                "{damage}: {error:?}"
            ),
        }
    }
    let report = palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap_or_else(|error| panic!("{damage}: verify says {error:?}"));
    assert!(!report.ok(), "verify does not find: {damage}");
    let repaired = palace
        .repair(&loci_palace::repair::Request::default())
        .unwrap_or_else(|error| panic!("{damage}: repair says {error:?}"));
    assert_eq!(repaired.remaining, [], "{damage}");
    assert!(
        repaired.set_aside.is_empty() && repaired.salvage.is_none(),
        "{damage}: {repaired:?}"
    );
    assert_eq!(contents(&palace, "drawers"), before, "{damage}");
    assert_clean(&palace);
    let found = palace.search(&Question::new("zeppelin number 3")).unwrap();
    assert_eq!(found.hits[0].id, "o3", "{damage}");
    let found = palace.search(&Question::new("lantern")).unwrap();
    assert_eq!(
        found
            .hits
            .iter()
            .filter(|hit| hit.id.starts_with('d'))
            .count(),
        10,
        "{damage}"
    );
    // Drawers with damage beside them can be changed and deleted again.
    let collection = palace.collection("drawers", false).unwrap();
    collection.delete(&Selection::ids(["d1", "o1"])).unwrap();
    assert_clean(&palace);
}

#[test]
fn a_drawer_whose_passage_is_damaged_can_be_changed_and_deleted() {
    for damage in [
        "DELETE FROM passages",
        "UPDATE passages SET terms = 'many'",
        "UPDATE passages SET label = x'ff'",
        "UPDATE other_vectors SET vector = 'text'",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("palace");
        let palace = rich(&path);
        sql(&path).execute_batch(damage).unwrap();
        let collection = palace.memory("drawers", false).unwrap().0.collection;
        let rows = vec![
            row("d1", "a new text", &json!({})),
            row("o1", "another new text", &json!({})),
        ];
        Op::Update { rows }
            .run(&palace, collection.as_ref())
            .unwrap_or_else(|error| panic!("{damage}: {error:?}"));
        let gone = palace
            .forget(&loci_palace::forget::Request::in_collection(
                "drawers",
                Selection::ids(["d2", "o2"]),
            ))
            .unwrap();
        assert_eq!(gone.forgotten, 2, "{damage}");
        let repaired = palace
            .repair(&loci_palace::repair::Request::default())
            .unwrap();
        assert_eq!(repaired.remaining, [], "{damage}");
        assert_eq!(contents(&palace, "drawers").len(), 18, "{damage}");
    }
}

fn assert_nowhere(path: &Path, traces: &[&str]) {
    for file in files_below(path) {
        let bytes = std::fs::read(&file).unwrap();
        let lower = bytes.to_ascii_lowercase();
        for trace in traces {
            let found = lower
                .windows(trace.len())
                .any(|window| window == trace.as_bytes());
            assert!(!found, "{} still holds {trace}", file.display());
        }
    }
}

#[test]
fn forget_takes_the_text_the_label_and_the_words_of_it_out_of_every_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let (memory, _) = palace.memory("drawers", true).unwrap();
    let collection = memory.collection.as_ref();
    let filler = |n: usize| {
        row(
            format!("d{n}"),
            format!("Caroline: ordinary words {n}"),
            &json!({"source_file": "s", "start_line": n}),
        )
    };
    Op::Add {
        rows: (0..300).map(filler).collect(),
    }
    .run(&palace, collection)
    .unwrap();
    let secret = |n: usize| {
        row(
            format!("secret{n}"),
            format!("Quixquar: the vault_of_xylophant opens with wuggabork {n}"),
            &json!({"source_file": "s", "start_line": n, "speaker": "Zyxwolf Quinzelbart"}),
        )
    };
    Op::Add {
        rows: (0..30).map(secret).collect(),
    }
    .run(&palace, collection)
    .unwrap();
    // Updated, so that older versions of postings and passages exist; searched; its reembedding begun.
    let rows = (0..30)
        .map(|n| {
            row(
                format!("secret{n}"),
                format!("Quixquar: now wuggabork is vexplimp {n}"),
                &json!({}),
            )
        })
        .collect();
    Op::Update { rows }.run(&palace, collection).unwrap();
    assert_eq!(
        palace
            .search(&Question::new("Quinzelbart wuggabork"))
            .unwrap()
            .hits[0]
            .text
            .get(..8),
        Some("Quixquar")
    );
    Op::Reindex.run(&palace, collection).unwrap();
    let traces = [
        "xylophant",
        "wuggabork",
        "vexplimp",
        "quixquar",
        "zyxwolf",
        "quinzelbart",
    ];
    let mut other = Worker::serve(&path);
    let gone = palace
        .forget(&loci_palace::forget::Request::in_collection(
            "drawers",
            Selection::ids((0..30).map(|n| format!("secret{n}"))),
        ))
        .unwrap();
    assert_eq!((gone.forgotten, gone.purge_pending), (30, false));
    assert_nowhere(&path, &traces);
    other.must(&run("drawers", Op::Analyze));
    assert_clean(&palace);
    other.finish();
    palace.close().unwrap();
    assert_nowhere(&path, &traces);
    for table in [
        "passages",
        "usage",
        "postings_docsize",
        "fresh_vectors",
        "other_vectors",
    ] {
        let key = if table == "postings_docsize" {
            "id"
        } else {
            "row"
        };
        let strays = number(
            &path,
            &format!(
                "SELECT count(*) FROM {table} t WHERE NOT EXISTS (SELECT 1 FROM drawers d WHERE d.row = t.{key})"
            ),
        );
        assert_eq!(strays, 0, "{table}");
    }
}

#[test]
fn forgetting_a_period_leaves_copies_outside_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let collection = palace.collection("drawers", true).unwrap();
    let rows = ["2020-01-01", "2021-01-01", "2022-01-01", "2023-01-01"]
        .iter()
        .map(|date| row(*date, format!("written on {date}"), &json!({"date": date})))
        .collect();
    Op::Add { rows }.run(&palace, collection.as_ref()).unwrap();
    // Two of them are damaged and set aside by a repair.
    sql(&path)
        .execute(
            "UPDATE drawers SET checksum = checksum + 1 WHERE id IN ('2020-01-01', '2022-01-01')",
            [],
        )
        .unwrap();
    assert_eq!(
        palace
            .repair(&loci_palace::repair::Request::default())
            .unwrap()
            .set_aside
            .len(),
        2
    );
    let selection = Selection {
        period: Some(Period {
            since: loci_palace::parse_moment("2021-06-01"),
            before: loci_palace::parse_moment("2022-06-01"),
        }),
        ..Selection::all()
    };
    palace
        .forget(&loci_palace::forget::Request::in_collection(
            "drawers",
            selection.clone(),
        ))
        .unwrap();
    let kept: BTreeMap<String, i64> = sql(&path)
        .prepare("SELECT drawer_id, 1 FROM damaged_drawers")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    assert!(
        kept.contains_key("2020-01-01"),
        "a copy that nobody asked to forget is gone: {kept:?}"
    );
    assert!(!kept.contains_key("2022-01-01"), "{kept:?}");
    assert_eq!(contents(&palace, "drawers").len(), 2);
}

#[test]
fn a_salvaged_palace_has_passages_and_its_embedder() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = rich(&path);
    let before = contents(&palace, "drawers");
    palace.close().unwrap();
    drop(palace);
    // The schema page: SQLite refuses the file, its rows are whole.
    let file = path.join("palace.sqlite3");
    sql(&path)
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[100..4_000].fill(0xff);
    std::fs::write(&file, bytes).unwrap();
    let palace = Palace::connect(&path, &OpenOptions::existing()).unwrap();
    let salvaged = palace
        .repair(&loci_palace::repair::Request::default())
        .unwrap()
        .salvage
        .unwrap();
    assert_eq!(salvaged.saved, before.len() as u64, "{salvaged:?}");
    let saved = open(&salvaged.palace);
    assert_eq!(contents(&saved, "drawers"), before);
    assert_eq!(
        saved
            .collection("drawers", false)
            .unwrap()
            .embedder()
            .unwrap(),
        Some(Fake::minilm().0)
    );
    assert_clean(&saved);
    let found = saved.search(&Question::new("zeppelin number 3")).unwrap();
    assert_eq!(found.hits[0].id, "o3");
}

#[test]
fn a_process_goes_on_when_a_backup_of_format_1_takes_the_place_of_its_palace() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    rich(&path).close().unwrap();
    let ask = |collection: &str, query: &str| Request::Search {
        collection: collection.into(),
        query: query.into(),
        k: 5,
        filter: None,
        since: None,
        before: None,
    };
    let mut running = Worker::serve(&path);
    running.must(&ask("drawers", "lantern"));
    Worker::serve(&path).must(&StoreRequest::Restore {
        from: fixture("format-1.sqlite3").display().to_string(),
    });
    let found = running.must(&ask("drawers", "changed text"));
    assert_eq!(found["hits"][0]["id"], "d7", "{found}");
    let rows = vec![row("new", "a zeppelin over the palace", &json!({}))];
    running.must(&run("drawers", Op::Add { rows }));
    let found = running.must(&ask("drawers", "zeppelin"));
    assert_eq!(found["hits"][0]["id"], "new", "{found}");
    running.finish();
    assert_eq!(number(&path, "PRAGMA user_version"), NEWEST);
    assert_clean(&open(&path));
}

#[test]
fn a_full_disk_during_the_migration_leaves_format_1_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    of_format_1(&path, 1_500);
    let before = truth(&path);
    let size = std::fs::metadata(path.join("palace.sqlite3"))
        .unwrap()
        .len();
    for limit in [8_192, 128 * 1024, size / 4] {
        let mut shell = std::process::Command::new("sh");
        shell
            .arg("-c")
            .arg("trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"")
            .arg("sh")
            .arg((limit / 512).to_string())
            .arg(env!("CARGO_BIN_EXE_loci-worker"))
            .args([path.as_os_str(), "serve".as_ref()])
            .stdin(std::process::Stdio::null());
        let output = shell.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let answer: Value = serde_json::from_str(said.trim_end()).unwrap();
        assert_eq!(answer["error"]["kind"], "unavailable", "{limit}: {said}");
        assert_eq!(number(&path, "PRAGMA user_version"), 1, "{limit}");
        assert_eq!(truth(&path), before, "{limit}");
    }
    let palace = open(&path);
    assert_eq!(number(&path, "PRAGMA user_version"), NEWEST);
    assert_clean(&palace);
}
