//! Export and import: a palace that goes through JSON lines is the same palace, and mining goes on
//! where it was.

use std::collections::{BTreeMap, BTreeSet};

use loci_palace::{
    Batch, DrawerRef, Fact, ImportOptions, ImportReport, Link, LinkEnd, MineOptions, OnConflict,
    Palace, Selection,
};
use serde_json::{Value, json};

use crate::mined::{DRAWERS, Scene, document, ids_by_text, mine, transcript};
use crate::support::{contents, open};

/// Over four mebibytes, so that it is filed in sections.
const LARGE: u64 = 3_700;

fn export(palace: &Palace) -> String {
    let mut bytes = Vec::new();
    let report = palace
        .export(&loci_palace::export::Request::default(), &mut bytes)
        .unwrap();
    assert_eq!(report.warnings, []);
    String::from_utf8(bytes).unwrap()
}

fn import(palace: &Palace, lines: &str) -> ImportReport {
    let options = ImportOptions::default();
    palace
        .import(&mut lines.as_bytes(), &options, &mut |_| {})
        .unwrap()
}

/// Mined documents, a transcript, a large file, added drawers in two collections, facts and links.
fn rich(scene: &Scene) -> Palace {
    scene.write("roses.md", document(1..4));
    scene.write("talk.jsonl", transcript(0..3, 4));
    scene.write("large.md", document(10..LARGE));
    let palace = scene.open();
    scene.mine(&palace);
    scene.mine_until_settled(&palace);
    for collection in [DRAWERS, "notes"] {
        let batch = Batch::new(["one", "two"]).documents(["The gate is green.", "Ask Ada first."]);
        let kept = palace.collection(collection, true).unwrap();
        kept.add(&batch).unwrap();
        kept.update(&Batch::new(["two"]).documents(["Ask Ada twice."]))
            .unwrap();
    }
    let relations = palace.relations().unwrap().unwrap();
    let source = DrawerRef {
        collection: DRAWERS.into(),
        id: "one".into(),
    };
    let fact = Fact {
        subject: "gate".into(),
        predicate: "is".into(),
        object: "green".into(),
        source: Some(source.clone()),
        ..Fact::default()
    };
    relations.add_facts(&[fact]).unwrap();
    let link = Link {
        from: LinkEnd::Drawer(source),
        to: LinkEnd::Drawer(DrawerRef {
            collection: DRAWERS.into(),
            id: "two".into(),
        }),
        label: "before".into(),
        metadata: loci_palace::Metadata::default(),
    };
    relations.add_links(&[link]).unwrap();
    // As if everything had been written long ago, and shown.
    palace.close().unwrap();
    let old = "UPDATE passages SET authored_at = 1500000000000 + row
                   WHERE authored_at = (SELECT created_at FROM drawers d WHERE d.row = passages.row);
               UPDATE drawers SET created_at = 1500000000000 + row, updated_at = 1500000000000 + 2 * row;
               INSERT INTO usage (row, access_count) SELECT row, 3 FROM drawers WHERE id = 'one';";
    scene.sql().execute_batch(old).unwrap();
    scene.open()
}

/// The number of lines that hold a key.
fn holding(lines: &str, key: &str) -> usize {
    let holds = |line: &&str| {
        let value: Value = serde_json::from_str(line).unwrap();
        value.get(key).is_some()
    };
    lines.lines().filter(holds).count()
}

#[test]
fn a_round_trip_through_json_lines_is_complete_and_the_next_mine_reads_nothing() {
    let scene = Scene::of_words();
    let palace = rich(&scene);
    let first = export(&palace);
    let drawers: usize = [DRAWERS, "notes"]
        .iter()
        .map(|name| contents(&palace, name).len())
        .sum();
    assert_eq!(holding(&first, "created_at"), drawers);
    assert_eq!(holding(&first, "accesses"), 2);
    assert!(holding(&first, "source") > 5, "heads and sections");
    let path = scene.other();
    let copy = open(&path);
    let report = import(&copy, &first);
    assert_eq!((report.failed, report.skipped), (0, 0), "{:?}", report.lost);
    assert_eq!(report.sources as usize, holding(&first, "source"));
    assert_eq!(report.incomplete_sources, 0);
    assert!(first == export(&copy), "other lines");
    let moments = |path: &std::path::Path| -> BTreeMap<String, (i64, i64, i64)> {
        let db = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
        let sql = "SELECT d.id, d.created_at, d.updated_at, p.authored_at
                   FROM drawers d JOIN passages p ON p.row = d.row WHERE d.origin <> 0";
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| {
            Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?)))
        });
        rows.unwrap().map(Result::unwrap).collect()
    };
    assert!(moments(&scene.path) == moments(&path), "moments differ");
    assert!(
        copy.verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );

    let before = contents(&copy, DRAWERS);
    let again = scene.mine(&copy);
    assert_eq!((again.files.read, again.bytes, again.run), (0, 0, None));
    assert_eq!(again.files.unchanged, 3);
    assert_eq!(contents(&copy, DRAWERS), before);

    // A changed file updates its drawers in place: what is left keeps its id, what is gone goes.
    let ids = ids_by_text(&copy);
    scene.write("roses.md", document(2..5));
    scene.write("large.md", document(100..LARGE));
    let changed = scene.mine(&copy);
    assert_eq!(changed.files.read, 2, "{changed:?}");
    assert!(changed.drawers.removed > 0 && changed.drawers.new > 0);
    let after = ids_by_text(&copy);
    let kept = after.iter().filter(|(text, id)| ids.get(*text) == Some(id));
    assert!(kept.count() + 60 > after.len(), "ids did not stay");
    copy.collection(DRAWERS, false)
        .unwrap()
        .delete(&Selection::ids(["one", "two"]))
        .unwrap();
    scene.assert_as_fresh(&copy);
}

#[test]
fn a_second_import_changes_nothing() {
    let scene = Scene::of_words();
    let lines = export(&rich(&scene));
    let path = scene.other();
    let copy = open(&path);
    import(&copy, &lines);
    let seq = copy
        .status(&loci_palace::status::Request::default())
        .unwrap()
        .state
        .seq;
    let report = import(&copy, &lines);
    // One line says only how the collection with the projects is made.
    assert_eq!(report.skipped as usize, lines.lines().count() - 1);
    assert_eq!(report.added + report.updated + report.sources, 0);
    assert_eq!(
        copy.status(&loci_palace::status::Request::default())
            .unwrap()
            .state
            .seq,
        seq
    );
    assert!(export(&copy) == lines, "other lines");
}

#[test]
fn an_import_that_was_cut_off_is_finished_by_the_next() {
    let scene = Scene::of_words();
    let lines = export(&rich(&scene));
    let all: Vec<&str> = lines.lines().collect();
    let path = scene.other();
    let copy = open(&path);
    for part in [1, 4, 7, 8, 9] {
        let cut = all[..all.len() * part / 9 - usize::from(part == 8)].join("\n");
        import(&copy, &cut);
    }
    assert!(export(&copy) == lines, "other lines");
    assert_eq!(scene.mine(&copy).files.read, 0);
}

#[test]
fn a_source_whose_drawers_did_not_all_come_is_read_again() {
    let scene = Scene::of_words();
    let palace = rich(&scene);
    let lines = export(&palace);
    for file in ["roses.md", "large.md"] {
        let name = scene.name(file);
        let mut dropped = false;
        let rest: Vec<&str> = lines
            .lines()
            .filter(|line| {
                let value: Value = serde_json::from_str(line).unwrap();
                let drop = !dropped && value["origin"]["name"] == json!(name);
                dropped |= drop;
                !drop
            })
            .collect();
        let path = scene.other();
        let copy = open(&path);
        let report = import(&copy, &rest.join("\n"));
        assert!(report.incomplete_sources > 0, "{report:?}");
        let again = scene.mine(&copy);
        assert_eq!(
            (again.files.read, again.drawers.new),
            (1, 1),
            "only the file whose drawer was missing"
        );
        let (wanted, found) = (contents(&palace, DRAWERS), contents(&copy, DRAWERS));
        assert_eq!(wanted.len(), found.len());
    }
}

#[test]
fn a_bad_source_line_is_refused_with_its_number_and_the_rest_is_imported() {
    let scene = Scene::of_words();
    scene.write("roses.md", document(1..4));
    let palace = scene.open();
    scene.mine(&palace);
    let good = export(&palace);
    let source: Value = good
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|line| line.get("source").is_some())
        .unwrap();
    let with = |key: &str, value: Value| {
        let mut line = source.clone();
        line["source"][key] = value;
        line.to_string()
    };
    let bad = [
        with("hash", json!("x")),
        with("hash", json!("+0000000000000000000000000000001")),
        with("name", json!("")),
        with("name", json!("n".repeat(20_000))),
        with("section", json!(-1)),
        with("section", json!(4_000_000_000_u32)),
        with("size", json!(u64::MAX)),
        with("modified_ns", json!(1e30)),
        with("mark", json!(["a"])),
        with("unknown", json!(1)),
        json!({"source": null}).to_string(),
        json!({"source": {}}).to_string(),
        json!({"source": [1, 2]}).to_string(),
        json!({"collection": "\u{1}", "source": source["source"]}).to_string(),
        json!({"id": "x", "document": "d", "origin": {"name": "", "section": 0}}).to_string(),
        json!({"id": "x", "document": "d", "origin": "roses"}).to_string(),
        json!({"id": "x", "document": "d", "created_at": -1}).to_string(),
        json!({"id": "x", "document": "d", "created_at": i64::MAX}).to_string(),
        json!({"id": "x", "document": "d", "accesses": u64::MAX}).to_string(),
    ];
    let path = scene.other();
    let copy = open(&path);
    let report = import(&copy, &format!("{}\n{good}", bad.join("\n")));
    let refused: BTreeSet<u64> = report.lost.iter().map(|loss| loss.line).collect();
    assert_eq!(refused, (1..=bad.len() as u64).collect());
    assert_eq!(export(&copy), good);
    assert_eq!(report.failed, bad.len() as u64);
}

#[test]
fn a_source_that_the_palace_mined_itself_is_never_overwritten() {
    let scene = Scene::of_words();
    let palace = rich(&scene);
    let old = export(&palace);
    drop(palace);
    scene.write("roses.md", document(2..6));
    scene.write("large.md", document(500..LARGE));
    let path = scene.other();
    let other = open(&path);
    scene.mine(&other);
    let ledger = |path: &std::path::Path| -> Vec<(String, i64, Vec<u8>, i64)> {
        let db = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
        let sql = "SELECT name, section, hash, revision FROM sources ORDER BY name, section";
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        });
        rows.unwrap().map(Result::unwrap).collect()
    };
    let before = ledger(&path);
    for on_conflict in [OnConflict::Skip, OnConflict::Update, OnConflict::Duplicate] {
        let options = ImportOptions {
            on_conflict,
            ..ImportOptions::default()
        };
        let report = other
            .import(&mut old.as_bytes(), &options, &mut |_| {})
            .unwrap();
        assert_eq!((report.failed, report.sources), (0, 0), "{:?}", report.lost);
        assert_eq!(ledger(&path), before);
    }
    scene.mine_until_settled(&other);
    // Nothing that was imported goes with the sources of this palace.
    let count = contents(&other, DRAWERS).len();
    let forced = MineOptions {
        force: true,
        ..MineOptions::default()
    };
    mine(&other, &scene.tree(), &forced);
    assert_eq!(contents(&other, DRAWERS).len(), count);
    assert!(
        other
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
}

#[test]
fn a_file_without_histories_is_imported_as_before_and_a_later_one_completes_it() {
    let scene = Scene::of_words();
    let palace = rich(&scene);
    let lines = export(&palace);
    let old: Vec<String> = lines
        .lines()
        .filter_map(|line| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            for key in ["created_at", "updated_at", "accesses", "origin"] {
                value.as_object_mut().unwrap().remove(key);
            }
            value.get("source").is_none().then(|| value.to_string())
        })
        .collect();
    let path = scene.other();
    let copy = open(&path);
    let report = import(&copy, &old.join("\n"));
    assert_eq!((report.failed, report.sources), (0, 0));
    assert_eq!(contents(&copy, DRAWERS), contents(&palace, DRAWERS));
    // The sources are taken over and find their drawers, which were there already.
    let report = import(&copy, &lines);
    assert_eq!(
        (report.added, report.incomplete_sources, report.failed),
        (0, 0, 0)
    );
    let again = scene.mine(&copy);
    assert_eq!((again.files.read, again.bytes, again.run), (0, 0, None));
}

#[test]
fn what_does_not_travel_is_listed() {
    let scene = Scene::of_words();
    scene.write("roses.md", document(1..4));
    let palace = scene.open();
    scene.mine(&palace);
    palace.memory("plain", true).unwrap();
    let mut bytes = Vec::new();
    let report = palace
        .export(&loci_palace::export::Request::default(), &mut bytes)
        .unwrap();
    let named = |report: &loci_palace::export::Answer| -> Vec<(String, u64)> {
        let left = report.left_out.iter();
        left.map(|left| (left.what.clone(), left.count)).collect()
    };
    assert_eq!(named(&report), [("runs".to_owned(), 1)]);
    let first = contents(&palace, DRAWERS).keys().next().unwrap().clone();
    palace
        .forget(&loci_palace::forget::Request::in_collection(
            DRAWERS,
            Selection::ids([first]),
        ))
        .unwrap();
    let report = palace
        .export(&loci_palace::export::Request::default(), &mut Vec::new())
        .unwrap();
    let expected = [("runs".to_owned(), 1), ("forgotten".to_owned(), 0)];
    assert_eq!(named(&report), expected);
    assert!(!String::from_utf8(bytes).unwrap().contains("forget_key"));
}
