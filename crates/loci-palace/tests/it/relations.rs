//! Facts and links of a palace: they survive what drawers survive, and go where drawers go.

use std::io::{BufRead, BufReader, Cursor};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_palace::{
    DrawerRef, Error, Fact, FactQuery, ImportOptions, ImportReport, Link, LinkEnd, Metadata,
    OnConflict, OpenOptions, Palace, Relations, Selection, Warning,
};
use serde_json::json;

use crate::mined::{DRAWERS, Scene, document, undo_of};
use crate::protocol::{facts_of, link_of};
use crate::support::{Rng, Seeded, assert_nowhere, command, effort, fill, open, seed};

fn relations(palace: &Palace) -> Arc<dyn Relations> {
    palace.relations().unwrap().unwrap()
}

fn all_facts(palace: &Palace) -> Vec<Fact> {
    let relations = relations(palace);
    relations
        .facts(&FactQuery::default(), usize::MAX, 0)
        .unwrap()
}

fn all_links(palace: &Palace) -> Vec<Link> {
    relations(palace).links(None, usize::MAX, 0).unwrap()
}

fn drawer(id: &str) -> DrawerRef {
    DrawerRef {
        collection: "drawers".into(),
        id: id.into(),
    }
}

fn at(id: &str) -> LinkEnd {
    LinkEnd::Drawer(drawer(id))
}

fn said(id: &str, source: &str, object: &str) -> Fact {
    Fact {
        id: id.into(),
        subject: "Alice".into(),
        predicate: "says".into(),
        object: object.into(),
        source: (!source.is_empty()).then(|| drawer(source)),
        ..Fact::default()
    }
}

fn link(from: &str, to: &str, label: &str) -> Link {
    Link {
        from: at(from),
        to: at(to),
        label: label.into(),
        metadata: Metadata::default(),
    }
}

fn meta(value: &serde_json::Value) -> Metadata {
    Metadata::from_json(value).unwrap()
}

/// A palace of 20 drawers with facts and links of every kind.
fn related(path: &Path) -> Palace {
    let palace = open(path);
    fill(&palace, "drawers", "a", 20, 8, 1);
    let relations = relations(&palace);
    relations.add_facts(&facts_of(1)).unwrap();
    let whole = Fact {
        valid_from: Some("2024".into()),
        valid_to: Some("2026-02-01".into()),
        confidence: Some(0.3),
        metadata: meta(&json!({"n": 1, "f": 1.0, "tags": ["x"]})),
        ..said("whole", "a1", "hello\n\"Zoë\"")
    };
    let sure = Fact {
        confidence: Some(1.0),
        ..said("sure", "", "")
    };
    relations.add_facts(&[whole, sure]).unwrap();
    let weighted = Link {
        metadata: meta(&json!({"strength": 0.1})),
        ..link("a1", "a2", "precedes")
    };
    relations.add_links(&[weighted, link_of(1)]).unwrap();
    palace
}

fn exported(palace: &Palace) -> String {
    let mut lines = Vec::new();
    let report = palace
        .export(&loci_palace::export::Request::default(), &mut lines)
        .unwrap();
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    String::from_utf8(lines).unwrap()
}

fn import(palace: &Palace, lines: &str, options: &ImportOptions) -> ImportReport {
    palace
        .import(&mut Cursor::new(lines), options, &mut |_| ())
        .unwrap()
}

#[test]
fn an_import_of_an_export_has_the_same_facts_and_links_and_a_second_one_adds_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let palace = related(&directory.path().join("palace"));
    let lines = exported(&palace);
    assert!(
        lines
            .lines()
            .last()
            .unwrap()
            .starts_with(r#"{"link":{"from""#)
    );
    let other = open(&directory.path().join("other"));
    let report = import(&other, &lines, &ImportOptions::default());
    assert_eq!((report.added, report.facts, report.links), (20, 5, 2));
    assert_eq!((report.skipped, report.failed), (0, 0));
    assert_eq!(exported(&other), lines);
    let again = import(&other, &lines, &ImportOptions::default());
    assert_eq!((again.added, again.facts, again.links), (0, 0, 0));
    assert_eq!(again.skipped, 27);
    assert_eq!(exported(&other), lines);
    let refusing = ImportOptions {
        on_conflict: OnConflict::Error,
        ..ImportOptions::default()
    };
    let facts: Vec<&str> = lines
        .lines()
        .filter(|line| line.starts_with(r#"{"fact""#))
        .collect();
    assert_eq!(import(&other, &facts.join("\n"), &refusing).skipped, 5);
}

#[test]
fn facts_and_links_are_exported_with_the_whole_palace_only() {
    let directory = tempfile::tempdir().unwrap();
    let palace = related(&directory.path().join("palace"));
    let mut lines = Vec::new();
    let report = palace
        .export(
            &loci_palace::export::Request {
                collection: Some("drawers".into()),
            },
            &mut lines,
        )
        .unwrap();
    assert_eq!((report.exported, report.facts, report.links), (20, 0, 0));
    assert_eq!(String::from_utf8(lines).unwrap().lines().count(), 20);
}

#[test]
fn a_line_that_is_refused_is_named_and_the_others_come() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    let lines = [
        r#"{"fact": {"subject": "a", "predicate": "is", "object": "b"}}"#,
        r#"{"fact": {"subject": "a", "predicate": "is", "object": "b", "until": "2020"}}"#,
        r#"{"fact": {"subject": "", "predicate": "is", "object": "b"}}"#,
        r#"{"fact": {"subject": "a", "predicate": "is", "object": "c"}, "id": "x"}"#,
        r#"{"link": {"from": {"room": {"wing": "w"}}, "to": {"drawer": {"collection": "c", "id": "i"}}}}"#,
        r#"{"link": {"from": {"room": {"wing": ""}}, "to": {"room": {"wing": "w"}}}}"#,
        r#"{"link": {"from": {"house": {"wing": "w"}}, "to": {"room": {"wing": "w"}}}}"#,
        r#"{"fact": {"subject": "a", "predicate": "is", "object": "c"}, "link": {"from": {"room": {"wing": "w"}}, "to": {"room": {"wing": "w"}}}}"#,
        r#"{"fact": {"id": "last", "subject": "a", "predicate": "is", "object": "d", "confidence": 1.5}}"#,
        r#"{"fact": {"id": "ok", "subject": "a", "predicate": "is", "object": "d", "confidence": 1}}"#,
    ];
    let report = import(&palace, &lines.join("\n"), &ImportOptions::default());
    assert_eq!((report.facts, report.links, report.failed), (2, 1, 7));
    let mut lost: Vec<(u64, &str)> = report
        .lost
        .iter()
        .map(|loss| (loss.line, loss.reason.as_str()))
        .collect();
    lost.sort_unstable();
    for ((line, reason), (expected, word)) in lost.iter().zip([
        (2, "until"),
        (3, "subject"),
        (4, "`id`"),
        (6, "wing"),
        (7, "house"),
        (8, "one fact or one link"),
        (9, "confidence"),
    ]) {
        assert_eq!(*line, expected);
        assert!(reason.contains(word), "{line}: {reason}");
    }
    let ids: Vec<String> = all_facts(&palace).into_iter().map(|fact| fact.id).collect();
    assert_eq!((ids.len(), ids[1].as_str()), (2, "ok"));
}

#[test]
fn an_import_that_refuses_conflicts_refuses_another_fact_of_the_same_id() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    relations(&palace)
        .add_facts(&[said("f", "", "one")])
        .unwrap();
    let lines = r#"{"id": "new", "document": "text"}
{"fact": {"id": "f", "subject": "Alice", "predicate": "says", "object": "two"}}"#;
    let options = ImportOptions {
        on_conflict: OnConflict::Error,
        ..ImportOptions::default()
    };
    let error = palace
        .import(&mut Cursor::new(lines), &options, &mut |_| ())
        .unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
    assert!(palace.collections().unwrap().is_empty());
    assert_eq!(all_facts(&palace), [said("f", "", "one")]);
}

#[test]
fn an_import_into_one_collection_takes_the_drawers_of_facts_and_links_along() {
    let directory = tempfile::tempdir().unwrap();
    let palace = related(&directory.path().join("palace"));
    let other = open(&directory.path().join("other"));
    let options = ImportOptions {
        collection: Some("here".into()),
        ..ImportOptions::default()
    };
    import(&other, &exported(&palace), &options);
    let sources: Vec<String> = all_facts(&other)
        .into_iter()
        .filter_map(|fact| fact.source.map(|source| source.collection))
        .collect();
    assert_eq!(sources, ["here"]);
    let end = LinkEnd::drawer("here", "a2");
    assert_eq!(relations(&other).links(Some(&end), 10, 0).unwrap().len(), 1);
}

#[test]
fn what_was_said_of_a_forgotten_drawer_does_not_come_back_by_import() {
    let directory = tempfile::tempdir().unwrap();
    let palace = related(&directory.path().join("palace"));
    let lines = exported(&palace);
    let outcome = palace
        .forget(&loci_palace::forget::Request::in_collection(
            "drawers",
            Selection::ids(["a1"]),
        ))
        .unwrap();
    assert_eq!((outcome.forgotten, outcome.facts, outcome.links), (1, 1, 1));
    let report = import(&palace, &lines, &ImportOptions::default());
    assert_eq!((report.added, report.facts, report.links), (0, 0, 0));
    let left_out = Warning::ForgottenLeftOut {
        collection: "drawers".into(),
        records: 1,
    };
    assert!(report.warnings.contains(&left_out), "{:?}", report.warnings);
    assert_eq!((all_facts(&palace).len(), all_links(&palace).len()), (4, 1));
    let again = ImportOptions {
        allow_again: true,
        ..ImportOptions::default()
    };
    let report = import(&palace, &lines, &again);
    assert_eq!((report.added, report.facts, report.links), (1, 1, 1));
}

/// Words that [`assert_nowhere`] can find.
fn word(name: &str) -> String {
    format!("uq{name}q")
}

#[test]
fn forget_leaves_no_byte_of_the_facts_and_links_of_a_drawer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    fill(&palace, "drawers", "a", 40, 8, 1);
    let relations = relations(&palace);
    let mut gone = Vec::new();
    let mut kept = Vec::new();
    for number in 1..=40 {
        let id = format!("a{number}");
        let names: Vec<String> = ["s", "p", "o", "m", "l", "n"]
            .iter()
            .map(|part| word(&format!("{part}{number}")))
            .collect();
        let fact = Fact {
            subject: names[0].clone(),
            predicate: names[1].clone(),
            metadata: meta(&json!({"m": names[3]})),
            ..said("", &id, &names[2])
        };
        let joined = Link {
            metadata: meta(&json!({"m": names[5]})),
            ..link("elsewhere", &id, &names[4])
        };
        relations.add_facts(std::slice::from_ref(&fact)).unwrap();
        relations.add_links(std::slice::from_ref(&joined)).unwrap();
        if number % 2 == 0 {
            gone.extend(names);
        } else {
            kept.push((fact, joined));
        }
    }
    // One was deleted before, and what is said of one other lies aside as damaged.
    let drawers = palace.collection("drawers", false).unwrap();
    drawers.delete(&Selection::ids(["a2"])).unwrap();
    damage(
        &path,
        "UPDATE facts SET confidence = 0.5 WHERE source_id = 'a4';
         UPDATE links SET metadata = metadata || ' ' WHERE to_name = 'a4'",
    );
    palace
        .repair(&loci_palace::repair::Request::default())
        .unwrap();
    assert_eq!(
        palace
            .status(&loci_palace::status::Request::default())
            .unwrap()
            .state
            .damaged_relations,
        2
    );
    let ids = (1..=20).map(|half| format!("a{}", half * 2));
    let outcome = palace
        .forget(&loci_palace::forget::Request::in_collection(
            "drawers",
            Selection::ids(ids),
        ))
        .unwrap();
    // The links of the deleted one had gone with it.
    assert_eq!(
        (outcome.forgotten, outcome.facts, outcome.links),
        (19, 20, 19)
    );
    assert!(!outcome.purge_pending);
    assert_nowhere(&path, gone.iter().map(String::as_str));
    palace.close().unwrap();
    assert_nowhere(&path, gone.iter().map(String::as_str));
    let palace = open(&path);
    let state = palace
        .status(&loci_palace::status::Request::default())
        .unwrap()
        .state;
    assert_eq!(
        (state.facts, state.links, state.damaged_relations),
        (20, 20, 0)
    );
    let found: Vec<String> = all_facts(&palace)
        .into_iter()
        .map(|fact| fact.object)
        .collect();
    let expected: Vec<String> = kept.iter().map(|(fact, _)| fact.object.clone()).collect();
    assert_eq!(found, expected);
    assert_eq!(
        all_links(&palace),
        kept.into_iter().map(|(_, link)| link).collect::<Vec<_>>()
    );
}

#[test]
fn forgetting_by_a_filter_leaves_the_facts_of_other_drawers() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    let collection = palace.collection("drawers", true).unwrap();
    for (id, wing) in [("a", "alice"), ("b", "bob")] {
        let batch = loci_palace::Batch::new([id])
            .documents([id])
            .metadatas([meta(&json!({"wing": wing}))]);
        collection.add(&batch).unwrap();
    }
    let facts = [
        said("1", "a", "x"),
        said("2", "b", "x"),
        said("3", "gone", "x"),
    ];
    relations(&palace).add_facts(&facts).unwrap();
    let bob = Selection::matching(loci_palace::Filter::eq("wing", "bob"));
    assert_eq!(
        palace
            .forget(&loci_palace::forget::Request::in_collection(
                "drawers",
                bob.clone()
            ))
            .unwrap()
            .facts,
        1
    );
    let left: Vec<String> = all_facts(&palace).into_iter().map(|fact| fact.id).collect();
    assert_eq!(left, ["1", "3"]);
}

#[test]
fn a_kill_at_any_moment_leaves_every_acknowledged_fact_and_link() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    for _ in 0..6 * effort() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("palace");
        let mut child = command(&path, &["relate"]).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = Vec::new();
        for _ in 0..=rng.below(120) {
            acknowledged.push(lines.next().unwrap().unwrap());
        }
        child.kill().unwrap();
        acknowledged.extend(lines.map_while(Result::ok));
        child.wait().unwrap();
        let facts = acknowledged
            .iter()
            .filter(|line| line.starts_with('F'))
            .count();
        let links = acknowledged.len() - facts;
        let palace = open(&path);
        let (found, joined) = (all_facts(&palace), all_links(&palace));
        // Whole rounds: a call is all or nothing.
        assert_eq!(found.len() % 3, 0);
        assert!((facts..=facts + 1).contains(&(found.len() / 3)), "{facts}");
        assert!((links..=links + 1).contains(&joined.len()), "{links}");
        for (at, three) in found.chunks(3).enumerate() {
            let expected = facts_of(at as u64);
            assert!(three.iter().zip(&expected).all(|(a, b)| a.id == b.key()));
        }
        for (at, link) in joined.iter().enumerate() {
            assert_eq!(*link, link_of(at as u64));
        }
        assert!(
            palace
                .verify(&loci_palace::verify::Request { deep: true })
                .unwrap()
                .ok()
        );
    }
}

fn damage(path: &Path, sql: &str) {
    let db = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
    db.execute_batch(sql).unwrap();
}

#[test]
fn every_damaged_field_of_a_fact_or_link_is_found_left_out_and_set_aside() {
    for (table, column, value) in [
        ("facts", "id", "'other'"),
        ("facts", "subject", "'bob'"),
        ("facts", "predicate", "x'80'"),
        ("facts", "object", "'bye'"),
        ("facts", "valid_from", "NULL"),
        ("facts", "valid_to", "'2027'"),
        ("facts", "confidence", "0.31"),
        ("facts", "source_collection", "NULL"),
        ("facts", "source_id", "'a2'"),
        ("facts", "metadata", "'{'"),
        ("facts", "checksum", "checksum + 1"),
        ("links", "from_kind", "'house'"),
        ("links", "from_place", "'x'"),
        ("links", "from_name", "'x'"),
        ("links", "to_kind", "'room'"),
        ("links", "to_place", "'x'"),
        ("links", "to_name", "'x'"),
        ("links", "label", "x'ff'"),
        ("links", "metadata", "'{}'"),
        ("links", "checksum", "0"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("palace");
        let palace = related(&path);
        let before = (all_facts(&palace), all_links(&palace));
        let row = if table == "facts" {
            "id = 'whole'"
        } else {
            "label = 'precedes'"
        };
        damage(
            &path,
            &format!("UPDATE {table} SET {column} = {value} WHERE {row}"),
        );
        let name = format!("{table}.{column}");
        let (facts, links) = (all_facts(&palace), all_links(&palace));
        let lost = |before: usize, now: usize| before - now;
        let gone = (
            lost(before.0.len(), facts.len()),
            lost(before.1.len(), links.len()),
        );
        assert_eq!(
            gone,
            if table == "facts" { (1, 0) } else { (0, 1) },
            "{name}"
        );
        assert!(facts.iter().all(|fact| before.0.contains(fact)), "{name}");
        assert!(links.iter().all(|link| before.1.contains(link)), "{name}");
        let mut lines = Vec::new();
        let report = palace
            .export(&loci_palace::export::Request::default(), &mut lines)
            .unwrap();
        assert_eq!(report.warnings[0].code(), "damaged_relation", "{name}");
        let findings = palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .findings;
        assert_eq!(findings.len(), 1, "{name}: {findings:?}");
        assert_eq!(findings[0].kind.as_str(), "damaged", "{name}");
        assert!(findings[0].detail.contains(&table[..4]), "{findings:?}");
        let repaired = palace
            .repair(&loci_palace::repair::Request::default())
            .unwrap();
        assert!(
            repaired.remaining.is_empty() && repaired.salvage.is_none(),
            "{name}"
        );
        let said = repaired.actions.join("\n");
        assert!(said.contains("damaged_facts"), "{said}");
        let state = palace
            .status(&loci_palace::status::Request::default())
            .unwrap()
            .state;
        assert_eq!(state.facts + state.links, 6, "{name}");
        assert_eq!(
            (state.damaged_relations, repaired.drawers_after),
            (1, 20),
            "{name}"
        );
        assert_eq!(
            (all_facts(&palace), all_links(&palace)),
            (facts, links),
            "{name}"
        );
    }
}

#[test]
fn a_page_of_facts_is_full_though_damaged_ones_lie_between() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let facts: Vec<Fact> = (0..30).map(|n| said(&n.to_string(), "", "x")).collect();
    let relations = relations(&palace);
    relations.add_facts(&facts).unwrap();
    damage(&path, "UPDATE facts SET object = 'y' WHERE row % 3 = 0");
    let all = all_facts(&palace);
    assert_eq!(all.len(), 20);
    let pages: Vec<Fact> = (0..4)
        .flat_map(|page| relations.facts(&FactQuery::default(), 5, page * 5).unwrap())
        .collect();
    assert_eq!(pages, all);
    assert_eq!(relations.damaged().unwrap().len(), 10);
    assert_eq!(relations.counts().unwrap(), (30, 0));
}

#[test]
fn a_salvaged_palace_has_the_facts_and_links() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = related(&path);
    relations(&palace)
        .add_facts(&[said("doomed", "", "uqdoomedq")])
        .unwrap();
    // SQLite may keep a whole number of a REAL column as an integer.
    damage(&path, "UPDATE facts SET confidence = 1 WHERE id = 'sure'");
    let (facts, links) = (all_facts(&palace), all_links(&palace));
    assert_eq!(facts.len(), 6);
    palace.close().unwrap();
    let file = path.join("palace.sqlite3");
    let mut bytes = std::fs::read(&file).unwrap();
    // Without its first page SQLite cannot read it; and one fact is not what it was.
    bytes[..4096].fill(0);
    let doomed = b"uqdoomedq";
    let places: Vec<usize> = (0..bytes.len() - doomed.len())
        .filter(|at| &bytes[*at..at + doomed.len()] == doomed)
        .collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at] = b'U';
    }
    std::fs::write(&file, bytes).unwrap();
    let palace = Palace::connect(&path, &OpenOptions::existing()).unwrap();
    let saved = palace
        .repair(&loci_palace::repair::Request::default())
        .unwrap()
        .salvage
        .unwrap();
    assert_eq!(
        (saved.saved, saved.facts, saved.links),
        (20, 5, 2),
        "{saved:?}"
    );
    assert_eq!(saved.damaged.len(), 1, "{saved:?}");
    let fresh = open(&saved.palace);
    assert_eq!(all_facts(&fresh), facts[..5]);
    assert_eq!(all_links(&fresh), links);
    assert_eq!(
        fresh
            .status(&loci_palace::status::Request::default())
            .unwrap()
            .state
            .damaged_relations,
        1
    );
    assert!(
        fresh
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
}

#[test]
fn a_backup_and_its_restore_have_the_facts_and_links() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = related(&path);
    let before = (all_facts(&palace), all_links(&palace));
    let backup: PathBuf = directory.path().join("backup");
    palace
        .backup(&loci_palace::backup::Request {
            target: backup.clone(),
        })
        .unwrap();
    relations(&palace).add_facts(&facts_of(9)).unwrap();
    palace
        .collection("drawers", false)
        .unwrap()
        .delete(&Selection::ids(["a1"]))
        .unwrap();
    assert_ne!((all_facts(&palace), all_links(&palace)), before);
    palace
        .restore(&loci_palace::restore::Request {
            backup: backup.clone(),
            replace: true,
        })
        .unwrap();
    assert_eq!((all_facts(&palace), all_links(&palace)), before);
}

#[test]
fn links_of_a_mined_drawer_go_when_its_text_goes_and_an_undo_does_not_bring_them_back() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..4));
    let palace = scene.open();
    scene.mine(&palace);
    let mined = palace.collection(DRAWERS, false).unwrap();
    let ids = |palace: &Palace| {
        let all = loci_palace::Get::new(Selection::all());
        palace
            .collection(DRAWERS, false)
            .unwrap()
            .get(&all)
            .unwrap()
            .ids
    };
    let before = ids(&palace);
    let links: Vec<Link> = before
        .iter()
        .map(|id| Link {
            from: LinkEnd::drawer(DRAWERS, id),
            to: LinkEnd::room("w", "r"),
            label: String::new(),
            metadata: Metadata::default(),
        })
        .collect();
    relations(&palace).add_links(&links).unwrap();
    scene.write("roses.md", document(2..4));
    let report = scene.mine(&palace);
    assert_eq!(mined.count().unwrap(), 2);
    let left = all_links(&palace);
    assert_eq!(left, links[1..]);
    palace.undo(&undo_of(DRAWERS, report.run.unwrap())).unwrap();
    assert_eq!(ids(&palace).len(), 3);
    assert_eq!(all_links(&palace), left);
}
