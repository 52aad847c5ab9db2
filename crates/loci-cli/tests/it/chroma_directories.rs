//! `doctor`, `import` of palaces of other programs, `quarantine`, `repair --chroma`.
//!
//! The directories were written by the real ChromaDB; crates/loci-foreign/tests/fixtures holds them with what ChromaDB itself said
//! was in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use loci_palace::{ForeignKind, usual_place_names};
use serde_json::{Value, json};

use crate::support::{Dir, lines, texts};

const FIXTURES: [&str; 4] = [
    "chroma-0.5-queued",
    "chroma-0.5-flushed",
    "chroma-0.6-queued",
    "chroma-0.6-flushed",
];

/// A directory that ChromaDB wrote, and what it held.
pub(crate) struct Old {
    pub(crate) path: PathBuf,
    collections: Vec<Value>,
}

impl Old {
    /// A copy of a fixture, in `place` of a temporary directory.
    pub(crate) fn copy(dir: &Dir, place: &str, fixture: &str) -> Self {
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../loci-foreign/tests/fixtures")
            .join(fixture);
        let path = dir.path(place);
        copy(&from.join("now"), &path);
        let expected = std::fs::read(from.join("expected.json")).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        Self {
            path,
            collections: expected["collections"].as_array().unwrap().clone(),
        }
    }

    pub(crate) fn queued(dir: &Dir) -> Self {
        Self::copy(dir, "old", "chroma-0.6-queued")
    }

    pub(crate) fn name(&self) -> &str {
        self.path.to_str().unwrap()
    }

    pub(crate) fn records(&self, collection: usize) -> &Vec<Value> {
        self.collections[collection]["records"].as_array().unwrap()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path.join("chroma.sqlite3")
    }

    /// Every file with its bytes and times.
    pub(crate) fn state(&self) -> Vec<(PathBuf, Vec<u8>, SystemTime)> {
        let mut state = Vec::new();
        for file in Dir::files(&self.path) {
            let modified = file.metadata().unwrap().modified().unwrap();
            state.push((file.clone(), std::fs::read(&file).unwrap(), modified));
        }
        let modified = self.path.metadata().unwrap().modified().unwrap();
        state.push((self.path.clone(), Vec::new(), modified));
        state
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// The records of an export by id.
fn exported(dir: &Dir, collection: &str) -> BTreeMap<String, Value> {
    let export = dir.run(&["export", "--collection", collection]).ok();
    let records = export.stdout.lines().map(|line| {
        let record: Value = serde_json::from_str(line).unwrap();
        (record["id"].as_str().unwrap().to_owned(), record)
    });
    records.collect()
}

fn floats(vector: &Value) -> Vec<f32> {
    serde_json::from_value(vector.clone()).unwrap()
}

/// Codes of the warnings of a report.
fn codes(report: &Value) -> Vec<String> {
    texts(&report["warnings"], "code")
}

#[test]
fn every_record_of_a_chroma_directory_comes_home_as_chroma_itself_gave_it() {
    for fixture in FIXTURES {
        let dir = Dir::new();
        let old = Old::copy(&dir, "old", fixture);
        let before = old.state();
        let report = dir.json(0, &["import", old.name()]);
        assert_eq!(
            (&report["source"], &report["lost"]),
            (&json!("chroma"), &json!([]))
        );
        for (at, collection) in old.collections.iter().enumerate() {
            let of = &report["collections"][at];
            let name = collection["name"].as_str().unwrap();
            assert_eq!(of["added"], old.records(at).len(), "{of}");
            assert_eq!(
                (&of["target"], &of["verified"]),
                (&json!(name), &json!(true))
            );
            assert_eq!(of["digest_source"], of["digest_palace"]);
            let held = exported(&dir, name);
            assert_eq!(held.len(), old.records(at).len());
            for record in old.records(at) {
                let here = &held[record["id"].as_str().unwrap()];
                let text = here.get("document").unwrap_or(&Value::Null);
                assert_eq!(text, &record["document"], "{record}");
                let (held, was) = (floats(&here["embedding"]), floats(&record["embedding"]));
                if fixture.ends_with("queued") {
                    assert_eq!(held, was);
                }
                // In index files a vector stands normalised beside its length.
                let near = held.iter().zip(&was).all(|(a, b)| (a - b).abs() < 1e-5);
                assert!(held.len() == was.len() && near, "{held:?} {was:?}");
                let metadata = here.get("metadata").unwrap_or(&Value::Null);
                assert_eq!(metadata, &record["metadata"]);
            }
        }
        assert_eq!(old.state(), before, "the source is left as it is");
        let metrics = dir.json(0, &["status"]);
        assert_eq!(texts(&metrics["collections"], "metric"), ["cosine", "l2"]);
    }
}

#[test]
fn a_second_import_adds_nothing_and_a_dry_run_makes_no_palace() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    let foreseen = dir.json(0, &["import", "chroma", old.name(), "--dry-run"]);
    assert!(!dir.palace().exists());
    assert_eq!(
        (
            &foreseen["dry_run"],
            &foreseen["collections"][0]["verified"]
        ),
        (&json!(true), &Value::Null)
    );
    let report = dir.json(0, &["import", "chroma", old.name()]);
    assert_eq!(
        foreseen["collections"][0]["added"],
        report["collections"][0]["added"]
    );
    let again = dir.json(0, &["import", "mempalace", old.name()]);
    let of = &again["collections"][0];
    assert_eq!(
        (&of["added"], &of["known"]),
        (&json!(0), &report["collections"][0]["added"])
    );
    let ran = dir.run(&["import", old.name()]).ok();
    assert!(ran.stdout.contains("nothing new"), "{ran:?}");
    assert!(
        ran.stdout
            .contains("source and palace have the same digest"),
        "{ran:?}"
    );
}

#[test]
fn the_main_collection_goes_where_it_is_told_to() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    let report = dir.json(0, &["import", old.name(), "--collection", "home"]);
    assert_eq!(texts(&report["collections"], "target"), ["home", "notes"]);
    let error = dir.error(2, &["import", old.name(), "--collection", " bad "]);
    assert_eq!(error["kind"], "invalid_input");
}

#[test]
fn vectors_that_do_not_fit_are_said_to_be_left_out() {
    let dir = Dir::new();
    dir.json(0, &["add", "a lighthouse", "--id", "own"]);
    let old = Old::queued(&dir);
    let report = dir.json(0, &["import", old.name()]);
    let of = &report["collections"][0];
    assert_eq!(of["vectors_not_taken"], of["added"]);
    // Those without a text stay without a vector.
    assert_eq!(codes(&report), ["vectors_not_taken", "without_vector"]);
    let ran = dir.run(&["import", old.name()]).ok();
    assert!(ran.stderr.contains("--collection NAME"), "{ran:?}");
}

/// Renames the collection to MemPalace's and gives it vectors of MiniLM's length, one of them that of a text.
fn as_mempalace(dir: &Dir, old: &Old, id: &str, text: &str) {
    let aside = dir.path("aside");
    let aside = ["--palace", aside.to_str().unwrap()];
    dir.json(0, &[&["add", text, "--id", "x"], &aside[..]].concat());
    let got = dir.json(0, &[&["get", "x", "--vectors"], &aside[..]].concat());
    let vector: Vec<f32> = serde_json::from_value(got["drawers"][0]["embedding"].clone()).unwrap();
    let bytes =
        |vector: &[f32]| -> Vec<u8> { vector.iter().flat_map(|n| n.to_le_bytes()).collect() };
    let sql = rusqlite::Connection::open(old.database()).unwrap();
    let collection: String = sql
        .query_row(
            "SELECT id FROM collections WHERE name = 'drawers'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let topic = format!("%{collection}");
    let elsewhere: Vec<f32> = vector.iter().map(|number| -number).collect();
    sql.execute(
        "UPDATE collections SET name = 'mempalace_drawers', dimension = 384 WHERE id = ?1",
        [&collection],
    )
    .unwrap();
    sql.execute(
        "UPDATE embeddings_queue SET vector = ?1 WHERE vector IS NOT NULL AND topic LIKE ?2",
        rusqlite::params![bytes(&elsewhere), topic],
    )
    .unwrap();
    let changed = sql
        .execute(
            "UPDATE embeddings_queue SET vector = ?1 WHERE vector IS NOT NULL AND topic LIKE ?2 AND id = ?3",
            rusqlite::params![bytes(&vector), topic, id],
        )
        .unwrap();
    assert!(changed > 0);
}

#[test]
fn drawers_of_mempalace_are_found_by_meaning_at_once_and_the_missing_model_is_said() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    as_mempalace(
        &dir,
        &old,
        "drawers-00003",
        "the cat sleeps on the warm sofa",
    );
    let report = dir.json(0, &["import", old.name()]);
    assert_eq!(report["collections"][0]["target"], "drawers");
    assert_eq!(report["collections"][0]["vectors_not_taken"], 0);
    let answer = dir.json(0, &["search", "kitten asleep on a couch", "-k", "1"]);
    assert_eq!(texts(&answer["hits"], "id"), ["drawers-00003"]);
    assert_eq!(answer["hits"][0]["matched_via"], "semantic");
    assert!(
        !answer["warnings"].as_array().unwrap().is_empty(),
        "{answer}"
    );
    let said = answer["warnings"].to_string();
    assert!(
        said.contains("minilm") && said.contains("loci model add"),
        "{said}"
    );
    assert_eq!(
        dir.json(0, &["status"])["collections"][0]["embedder"],
        "minilm"
    );
}

#[test]
fn a_doctor_only_reads_and_tells_by_its_exit_code() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    let before = old.state();
    let ran = dir.run(&["doctor", old.name(), "--json"]);
    let diagnosis: Value = serde_json::from_str(&ran.stdout).unwrap();
    let grave = diagnosis["findings"]
        .as_array()
        .unwrap()
        .iter()
        .any(|finding| finding["severity"] != "note");
    assert_eq!(
        (ran.code, &diagnosis["healthy"]),
        (i32::from(grave), &json!(!grave))
    );
    let drawers = &diagnosis["collections"][0];
    let count = old.records(0).len();
    assert_eq!(
        (&drawers["records"], &drawers["vectors"]["in_queue"]),
        (&json!(count), &json!(count))
    );
    let words = dir.run(&["doctor", old.name()]).stdout;
    for part in [
        "nothing was written",
        "collection `drawers`",
        "in the queue",
        "evidence:",
        "consequence:",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert_eq!(old.state(), before);
    assert!(!dir.palace().exists());
}

#[test]
fn a_damaged_directory_is_diagnosed_and_what_is_readable_comes_home() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    let bytes = std::fs::read(old.database()).unwrap();
    std::fs::write(old.database(), &bytes[..bytes.len() * 2 / 3]).unwrap();
    let diagnosis = dir.json(1, &["doctor", old.name()]);
    assert_eq!(diagnosis["findings"][0]["severity"], "error");
    let words = dir.run(&["doctor", old.name()]);
    assert_eq!(words.code, 1);
    assert!(
        words.stdout.contains("do not open it with its own program"),
        "{words:?}"
    );
    let ran = dir.run(&["import", old.name(), "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(report["findings"]["error"].as_u64() > Some(0), "{report}");
    let lost = report["lost"].as_array().unwrap().len();
    assert_eq!(ran.code, if lost > 0 { 2 } else { 0 });
    for of in report["collections"].as_array().unwrap() {
        // Nothing is verified where nothing was compared.
        let verified = match of["added"].as_u64() {
            Some(0) => Value::Null,
            _ => true.into(),
        };
        assert_eq!(of["verified"], verified, "{of}");
    }
}

/// Bug: without the schema, the row of `embeddings_queue_config` was taken for a text, and one
/// record was counted as added and as lost.
#[test]
fn the_configuration_of_chromadb_is_not_taken_for_a_lost_text() {
    let dir = Dir::new();
    let old = Old::copy(&dir, "old", "chroma-0.6-flushed");
    let database = std::fs::File::options().write(true).open(old.database());
    database.unwrap().set_len(100_000).unwrap();
    let ran = dir.run(&["import", old.name(), "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["candidates"], 0, "{report}");
    let records = old.collections[0]["records"].as_array().unwrap().len();
    assert_eq!(report["collections"][0]["records"], records, "{report}");
}

#[test]
fn a_doctor_says_plainly_what_it_does_not_know() {
    let dir = Dir::new();
    dir.write("home/letter.txt", "dear palace");
    let error = dir.error(2, &["doctor", "home"]);
    let said = error["message"].as_str().unwrap();
    assert!(
        said.contains("format not recognised") && said.contains("letter.txt"),
        "{said}"
    );
    let error = dir.error(2, &["doctor", "missing"]);
    assert!(error["message"].as_str().unwrap().contains("missing"));
    for command in ["doctor", "import"] {
        assert_eq!(
            dir.error(2, &[command, "home/letter.txt"])["kind"],
            "invalid_input"
        );
    }
}

#[test]
fn a_doctor_verifies_a_palace_of_our_own() {
    let dir = Dir::new();
    dir.json(0, &["add", "a lighthouse keeper", "--id", "a"]);
    let palace = dir.palace();
    let palace = palace.to_str().unwrap();
    let diagnosis = dir.json(0, &["doctor", palace]);
    assert_eq!(
        (&diagnosis["kind"], &diagnosis["healthy"]),
        (&json!("loci"), &json!(true))
    );
    let error = dir.error(2, &["import", palace]);
    assert!(
        error["message"].as_str().unwrap().contains("loci export"),
        "{error}"
    );
    let index = dir.database();
    let sql = rusqlite::Connection::open(&index).unwrap();
    sql.execute("UPDATE drawers SET checksum = checksum + 1", [])
        .unwrap();
    drop(sql);
    let ran = dir.run(&["doctor", palace]);
    let deep = dir.run(&["verify"]);
    assert_eq!(ran.code, deep.code);
}

#[test]
fn a_palace_that_the_configuration_of_mempalace_names_is_found() {
    let dir = Dir::new();
    let old = Old::copy(&dir, "home/elsewhere/pal", "chroma-0.6-queued");
    std::fs::create_dir(dir.path("home/.mempalace")).unwrap();
    dir.write(
        "home/.mempalace/config.json",
        r#"{"palace_path": "~/elsewhere/pal"}"#,
    );
    let found = dir.json(0, &["import"])["found"].clone();
    assert_eq!(texts(&found, "path"), [old.name()]);
    let home = dir.path("home/.mempalace");
    let ran = dir.run(&["doctor", home.to_str().unwrap(), "--json"]);
    let diagnosis: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(diagnosis["path"], old.name());
}

#[test]
fn import_accepts_the_name_of_every_importer() {
    let dir = Dir::new();
    let importable = ForeignKind::ALL
        .iter()
        .filter(|kind| **kind != ForeignKind::Loci);
    let unknown = dir.error(64, &["import", "nonsense", "place"]);
    let known = unknown.to_string();
    for kind in importable {
        for name in kind.family().into_iter().chain([kind.name()]) {
            let error = dir.error(64, &["import", name]);
            let said = error["message"].as_str().unwrap();
            assert!(said.contains(&format!("given for `{name}`")), "{said}");
            assert!(known.contains(name), "{known}");
        }
    }
}

#[test]
fn help_and_messages_name_every_usual_place_and_program() {
    let dir = Dir::new();
    let nothing = dir.run(&["import"]).stdout;
    for command in ["import", "doctor"] {
        let help = dir.run(&[command, "--help"]).ok().stdout;
        for place in usual_place_names() {
            assert!(help.contains(&place), "{place}: {help}");
            assert!(nothing.contains(&place), "{place}: {nothing}");
        }
    }
    dir.write("home/letter.txt", "dear palace");
    let error = dir.error(2, &["import", "home"]);
    let said = error["message"].as_str().unwrap();
    for kind in ForeignKind::ALL {
        assert!(said.contains(kind.program()), "{said}");
    }
}

#[test]
fn the_usual_places_are_listed_with_what_to_do() {
    let dir = Dir::new();
    assert_eq!(dir.json(1, &["import"])["found"], json!([]));
    // A doctor without a path looks at everything, and no palace at all is no trouble.
    assert_eq!(dir.json(0, &["doctor"])["others"], json!([]));
    let old = Old::copy(&dir, "home/.mempalace/palace", "chroma-0.6-queued");
    let found = dir.json(0, &["import"])["found"].clone();
    assert_eq!(
        (&found[0]["kind"], &found[0]["path"]),
        (&json!("chroma"), &json!(old.name()))
    );
    let words = dir.run(&["import"]).ok().stdout;
    assert!(
        words.contains(&format!("loci import {}\n", old.name())) && words.contains("82 record(s)"),
        "{words}"
    );
    let ran = dir.run(&["doctor", "--json"]);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["others"][0]["records"], 82);
    assert_eq!(
        answer["others"][0]["findings"] == 0,
        answer["others"][0]["healthy"] == true
    );
    assert_eq!(ran.code, i32::from(answer["others"][0]["healthy"] == false));
    assert!(!dir.palace().exists());
}

#[cfg(unix)]
#[test]
fn a_place_whose_name_is_no_text_is_read_like_any_other() {
    use std::os::unix::ffi::OsStrExt;
    let dir = Dir::new();
    let old = Old::queued(&dir);
    let name = std::ffi::OsStr::from_bytes(b"old \xff");
    std::fs::rename(&old.path, dir.path("").join(name)).unwrap();
    for command in ["doctor", "import"] {
        let output = dir
            .command()
            .arg(command)
            .arg(name)
            .arg("--json")
            .output()
            .unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(answer["path"].as_str().unwrap().contains("old"), "{answer}");
    }
}

#[test]
fn json_lines_are_recognised_and_imported_as_ever() {
    let dir = Dir::new();
    let record = |id: &str| lines([json!({"id": id, "document": "a text"})]);
    dir.write("a.jsonl", record("a"));
    assert_eq!(dir.json(0, &["import", "a.jsonl"])["added"], 1);
    let ran = dir
        .pipe(&["import", "-", "--json"], record("b").as_bytes())
        .ok();
    assert!(ran.stdout.contains("\"added\":1"), "{ran:?}");
    let ran = dir
        .pipe(&["import", "jsonl", "-", "--json"], record("c").as_bytes())
        .ok();
    assert!(ran.stdout.contains("\"added\":1"), "{ran:?}");
    let refused: [&[&str]; 5] = [
        &["import", "jsonl"],
        &["import", "chroma"],
        &["import", "csv", "a.jsonl"],
        &["import", "a.jsonl", "--dry-run"],
        &["import", "jsonl", "a.jsonl", "b.jsonl"],
    ];
    for arguments in refused {
        assert_eq!(dir.error(64, arguments)["kind"], "usage", "{arguments:?}");
    }
    assert_eq!(
        dir.error(2, &["import", "missing.jsonl"])["kind"],
        "unavailable"
    );
    assert_eq!(dir.json(0, &["doctor", "a.jsonl"])["kind"], "jsonl");
}

#[test]
fn taken_ids_are_refused_or_changed_as_told() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    dir.json(0, &["import", old.name()]);
    let error = dir.error(2, &["import", old.name(), "--on-conflict", "error"]);
    assert_eq!(error["kind"], "conflict");
    dir.json(
        0,
        &["update", "drawers-00000", "--metadata", r#"{"mine": 1}"#],
    );
    let report = dir.json(0, &["import", old.name()]);
    assert_eq!(
        report["collections"][0]["differing_ids"],
        json!(["drawers-00000"])
    );
    assert_eq!(codes(&report), ["differing"]);
    let report = dir.json(0, &["import", old.name(), "--on-conflict", "update"]);
    assert_eq!(
        (
            &report["collections"][0]["updated"],
            &report["collections"][0]["verified"]
        ),
        (&json!(1), &json!(true))
    );
}

#[test]
fn forgotten_texts_stay_away_unless_they_may_come_again() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    dir.json(0, &["import", old.name()]);
    dir.json(0, &["forget", "drawers-00000"]);
    let words = dir.run(&["import", old.name()]).ok().stdout;
    assert!(words.contains("1 forgotten here"), "{words}");
    let report = dir.json(0, &["import", old.name()]);
    assert_eq!(
        (
            &report["collections"][0]["forgotten"],
            &report["collections"][0]["added"]
        ),
        (&json!(1), &json!(0))
    );
    let report = dir.json(0, &["import", old.name(), "--allow-again"]);
    assert_eq!(report["collections"][0]["added"], 1);
}

#[test]
fn nothing_to_quarantine_is_no_error_and_repair_wants_a_directory() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    let words = dir.run(&["quarantine", old.name()]).ok().stdout;
    let why = "nothing to quarantine: no index segment is 1 hour older than the database\n";
    assert!(words.starts_with(why), "{words}");
    let missing = dir.error(2, &["quarantine", "missing"]);
    assert!(
        missing["message"].as_str().unwrap().contains("`missing`"),
        "{missing}"
    );
    dir.write("home/letter.txt", "dear palace");
    for place in ["missing", "home"] {
        let error = dir.error(2, &["repair", "--chroma", place]);
        assert_eq!(error["kind"], "invalid_input");
        let said = error["message"].as_str().unwrap();
        assert!(said.contains("no `chroma.sqlite3`"), "{said}");
        assert_eq!(error["help"], Value::Null);
    }
    for arguments in [&["repair", "--dry-run"][..], &["repair", "--output", "x"]] {
        assert_eq!(dir.error(64, arguments)["kind"], "usage");
    }
}
