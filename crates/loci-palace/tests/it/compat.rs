//! A palace of every format opens, whole and searchable. `tests/compat/format-N.sqlite3` is a
//! backup made by the version that introduced format N, `format-N.jsonl` its own export.

use std::path::Path;

use loci_palace::{Filter, OpenOptions, Palace, Query, Selection};
use serde_json::Value;

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/compat")
        .join(name)
}

/// The lines of an export as versions before histories and sources wrote them; projects at the end.
pub(crate) fn as_exported_before(lines: &[u8]) -> Vec<Value> {
    let lines = std::str::from_utf8(lines).unwrap().lines();
    let mut lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &Value| line.get("source").is_none())
        .map(|mut line| {
            for key in ["created_at", "updated_at", "accesses", "origin"] {
                line.as_object_mut().unwrap().remove(key);
            }
            line
        })
        .collect();
    // The line before those of projects has what the first drawer had.
    let is_project = |line: &Value| line.get("project").is_some();
    while let Some(at) = lines.windows(2).position(|pair| {
        pair[0].get("id").is_none() && !is_project(&pair[0]) && is_project(&pair[1])
    }) {
        let made = lines.remove(at);
        let first = lines[at..].iter_mut().find(|line| !is_project(line));
        if let (Some(first), Some(embedder)) = (first, made.get("embedder")) {
            first["embedder"] = embedder.clone();
        }
    }
    lines.sort_by_key(is_project);
    lines
}

pub(crate) fn expected(name: &str) -> Vec<Value> {
    as_exported_before(&std::fs::read(fixture(name)).unwrap())
}

#[test]
fn a_palace_of_format_1_opens_with_everything_it_held() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    std::fs::create_dir(&path).unwrap();
    std::fs::copy(fixture("format-1.sqlite3"), path.join("palace.sqlite3")).unwrap();
    let palace = Palace::open(&path, &OpenOptions::existing()).unwrap();
    let mut exported = Vec::new();
    let report = palace
        .export(&loci_palace::export::Request::default(), &mut exported)
        .unwrap();
    assert_eq!((report.exported, report.warnings.len()), (59, 0));
    assert_eq!(as_exported_before(&exported), expected("format-1.jsonl"));
    let drawers = palace.collection("drawers", false).unwrap();
    let alice = Selection::matching(Filter::eq("wing", "alice"));
    let found = drawers
        .query(&Query::vector(vec![1.0; 8]).k(3).selection(alice))
        .unwrap();
    assert_eq!(found.ids.concat().len(), 3);
    let words = loci_palace::search_words(&*drawers, "changed text", 1, &Selection::all()).unwrap();
    assert_eq!(words.hits[0].id, "d7");
    let verified = palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(verified.ok(), "{:?}", verified.findings);
}

#[test]
fn a_backup_of_format_1_restores() {
    let directory = tempfile::tempdir().unwrap();
    let palace = Palace::connect(directory.path().join("palace"), &OpenOptions::create()).unwrap();
    let restored = palace
        .restore(&loci_palace::restore::Request {
            backup: fixture("format-1.sqlite3"),
            replace: false,
        })
        .unwrap();
    assert_eq!((restored.restored, restored.set_aside), (59, None));
    assert!(
        palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
}

#[test]
fn a_palace_of_format_3_opens_with_its_ledger_its_runs_and_what_was_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    std::fs::create_dir(&path).unwrap();
    std::fs::copy(fixture("format-3.sqlite3"), path.join("palace.sqlite3")).unwrap();
    let palace = Palace::open(&path, &OpenOptions::existing()).unwrap();
    let mut exported = Vec::new();
    let report = palace
        .export(&loci_palace::export::Request::default(), &mut exported)
        .unwrap();
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    assert_eq!(as_exported_before(&exported), expected("format-3.jsonl"));
    let post = palace.collection("post", false).unwrap();
    let ledger = post.ledger().unwrap();
    let names: Vec<String> = ["post:ana", "post:bo"]
        .iter()
        .flat_map(|name| ledger.source(&palace.machine(), name).unwrap())
        .map(|record| record.name)
        .collect();
    assert_eq!(names, ["post:ana", "post:bo"]);
    let heading = loci_palace::search_words(&*post, "letters", 10, &Selection::all()).unwrap();
    assert_eq!(heading.hits.len(), 5);
    let runs = crate::mined::runs(&palace, "post", 10);
    assert_eq!(runs.len(), 2);
    let line =
        r#"{"id": "x", "document": "Dear Ana, the password of the shed is a secret of mine."}"#;
    let options = loci_palace::ImportOptions {
        collection: Some("post".into()),
        ..loci_palace::ImportOptions::default()
    };
    let imported = palace
        .import(&mut std::io::Cursor::new(line), &options, &mut |_| ())
        .unwrap();
    assert_eq!((imported.added, imported.skipped), (0, 1), "{imported:?}");
    let undone = palace
        .undo(&crate::mined::undo_of("post", runs[0].run))
        .unwrap();
    assert_eq!(undone.left, 0, "{undone:?}");
    let texts =
        loci_palace::search_words(&*post, "quince medlar shed", 10, &Selection::all()).unwrap();
    assert_eq!(texts.hits.len(), 1);
    let verified = palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(verified.ok(), "{:?}", verified.findings);
}

#[test]
fn a_palace_of_format_4_opens_with_its_facts_and_links() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    std::fs::create_dir(&path).unwrap();
    std::fs::copy(fixture("format-4.sqlite3"), path.join("palace.sqlite3")).unwrap();
    let palace = Palace::open(&path, &OpenOptions::existing()).unwrap();
    let mut exported = Vec::new();
    let report = palace
        .export(&loci_palace::export::Request::default(), &mut exported)
        .unwrap();
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    assert_eq!((report.facts, report.links), (3, 3));
    assert_eq!(as_exported_before(&exported), expected("format-4.jsonl"));
    let relations = palace.relations().unwrap().unwrap();
    let melina = loci_palace::FactQuery {
        entity: Some("Marseille".into()),
        ..loci_palace::FactQuery::default()
    };
    let found = relations.facts(&melina, 10, 0).unwrap();
    assert_eq!(found[0].subject, "Μελίνα");
    // A file of this format holds ids that were derived when it was made.
    let derived = loci_palace::Fact {
        id: String::new(),
        ..found[0].clone()
    };
    assert_eq!(derived.key(), found[0].id);
    let verified = palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(verified.ok(), "{:?}", verified.findings);
}

/// A palace of format 4 or later, with one forgotten text, and what its export was.
fn opened(name: &str) -> (tempfile::TempDir, Palace) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    std::fs::create_dir(&path).unwrap();
    let file = fixture(&format!("{name}.sqlite3"));
    std::fs::copy(file, path.join("palace.sqlite3")).unwrap();
    let palace = Palace::open(&path, &OpenOptions::existing()).unwrap();
    let mut exported = Vec::new();
    palace
        .export(&loci_palace::export::Request::default(), &mut exported)
        .unwrap();
    let expected = expected(&format!("{name}.jsonl"));
    assert_eq!(as_exported_before(&exported), expected);
    (directory, palace)
}

#[test]
fn what_a_palace_of_format_4_or_later_forgot_stays_forgotten() {
    for name in [
        "format-4", "format-5", "format-6", "format-7", "format-8", "format-9",
    ] {
        let (_directory, palace) = opened(name);
        let post = palace.collection("post", false).unwrap();
        let ledger = post.ledger().unwrap();
        let gone = "Dear Ana, the password of the shed is a secret of mine.";
        let place = loci_palace::TextPlace::Whole { source: "post:zoe" };
        let text = format!("Dear Zoe,\n{gone}\nYours, Bo");
        let lines = ledger.forgotten_lines(&text, place).unwrap();
        assert_eq!(lines, [(2, 2)], "{name}");
        assert_eq!(
            palace
                .status(&loci_palace::status::Request::default())
                .unwrap()
                .state
                .format,
            9
        );
        let verified = palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap();
        assert!(verified.ok(), "{name}: {:?}", verified.findings);
    }
}

#[test]
fn palaces_of_formats_1_to_3_take_facts_and_links_once_they_are_opened() {
    for name in ["format-1", "format-2", "format-3"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("palace");
        std::fs::create_dir(&path).unwrap();
        let file = fixture(&format!("{name}.sqlite3"));
        std::fs::copy(file, path.join("palace.sqlite3")).unwrap();
        let palace = Palace::open(&path, &OpenOptions::existing()).unwrap();
        let relations = palace.relations().unwrap().unwrap();
        let facts = crate::protocol::facts_of(1);
        assert_eq!(relations.add_facts(&facts).unwrap().added, 3, "{name}");
        let link = crate::protocol::link_of(1);
        assert_eq!(relations.add_links(&[link]).unwrap().added, 1, "{name}");
        let state = palace
            .status(&loci_palace::status::Request::default())
            .unwrap()
            .state;
        assert_eq!((state.format, state.facts, state.links), (9, 3, 1));
        assert!(
            palace
                .verify(&loci_palace::verify::Request { deep: true })
                .unwrap()
                .ok(),
            "{name}"
        );
    }
}

#[test]
fn a_palace_of_format_5_opens_without_projects_and_one_of_format_6_with_its_own() {
    let (_directory, palace) = opened("format-5");
    let drawers = palace.collection("drawers", false).unwrap();
    let projects = drawers.projects().unwrap();
    assert_eq!(projects.projects().unwrap(), []);
    let (_directory, palace) = opened("format-6");
    let drawers = palace.collection("drawers", false).unwrap();
    let projects = drawers.projects().unwrap();
    let recorded: Vec<(String, String)> = projects
        .projects()
        .unwrap()
        .into_iter()
        .map(|record| (record.wing, record.path))
        .collect();
    let expected = [
        ("harbour", "/ana/harbour"),
        ("harbour", "/clone/harbour"),
        ("bo/harbour", "/bo/harbour"),
        ("notes/harbour", "/notes/harbour"),
    ];
    assert_eq!(
        recorded,
        expected.map(|(wing, path)| (wing.into(), path.into()))
    );
}

#[test]
fn a_palace_of_format_7_opens_with_the_machines_of_its_sources() {
    let (_directory, palace) = opened("format-7");
    let post = palace.collection("post", false).unwrap();
    let mut sources = Vec::new();
    let mut each = |record: loci_palace::SourceRecord| {
        sources.push((record.name, record.machine.host));
        Ok(())
    };
    post.ledger().unwrap().each_source(&mut each).unwrap();
    let expected = [
        ("post:ana", "laptop"),
        ("post:bo", "desk"),
        ("post:bo", "laptop"),
    ];
    assert_eq!(
        sources,
        expected.map(|(name, host)| (name.to_owned(), host.to_owned()))
    );
}

/// `format-7-roles.sqlite3` holds turns of a chat with roles, as a version of format 7 wrote them.
/// Its search data is brought up to date, else `verify` would call it wrong.
#[test]
fn a_palace_of_format_7_opens_with_the_roles_of_its_turns_as_labels() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    std::fs::create_dir(&path).unwrap();
    let database = path.join("palace.sqlite3");
    std::fs::copy(fixture("format-7-roles.sqlite3"), &database).unwrap();
    let palace = Palace::open(&path, &OpenOptions::existing()).unwrap();
    let verified = palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(verified.ok(), "{:?}", verified.findings);
    palace.close().unwrap();
    let database = rusqlite::Connection::open(&database).unwrap();
    let mut labels = database
        .prepare("SELECT label FROM passages ORDER BY row")
        .unwrap();
    let labels: Vec<String> = labels
        .query_map([], |columns| columns.get(0))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    assert_eq!(labels, ["user", "assist", "bo", "ana", ""]);
}
