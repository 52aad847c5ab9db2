//! Which project has which wing goes where the palace goes: through export and import, a salvage and a broken-off split.

use loci_palace::{
    Batch, ImportOptions, ImportReport, LinkEnd, Metadata, MetadataPatch, Palace, Project,
    ProjectRecord, Selection, WingRequest, wings,
};
use serde_json::json;

use super::support::{contents, open};

const DRAWERS: &str = "drawers";

fn repository(owner: &str) -> Project {
    Project {
        name: "api".into(),
        owner: Some(owner.into()),
        remote: Some(format!("example.org/{owner}/api")),
        path: format!("/nowhere/{owner}/api"),
        is_repository: true,
        ..Project::default()
    }
}

fn claim(palace: &Palace, owner: &str) -> String {
    let drawers = palace.collection(DRAWERS, true).unwrap();
    let claim = drawers.projects().unwrap().claim_wing(&repository(owner));
    claim.unwrap().wing
}

fn recorded(palace: &Palace) -> Vec<ProjectRecord> {
    let drawers = palace.collection(DRAWERS, false).unwrap();
    drawers.projects().unwrap().projects().unwrap()
}

fn split(palace: &Palace, apply: bool) -> wings::split::Answer {
    let request = wings::split::Request {
        collection: DRAWERS.into(),
        wing: "api".into(),
        apply,
    };
    palace.split_wing(&request).unwrap()
}

#[test]
fn projects_go_through_export_and_import() {
    let directory = tempfile::tempdir().unwrap();
    let from = open(&directory.path().join("from"));
    for owner in ["acme", "other"] {
        claim(&from, owner);
    }
    let mut lines = Vec::new();
    assert_eq!(
        from.export(&loci_palace::export::Request::default(), &mut lines)
            .unwrap()
            .projects,
        2
    );
    let to = open(&directory.path().join("to"));
    for (added, skipped) in [(2, 0), (0, 2)] {
        let options = ImportOptions::default();
        let report = to
            .import(&mut lines.as_slice(), &options, &mut |_| {})
            .unwrap();
        assert_eq!(
            (report.projects, report.skipped),
            (added, skipped),
            "{report:?}"
        );
    }
    assert_eq!(recorded(&to), recorded(&from));
    assert_eq!(claim(&to, "other"), "other/api");
    let bad = json!({"project": {"wing": "x", "name": "x", "path": "/x", "since": 0, "remote": "u:p@h/x"}});
    let options = ImportOptions::default();
    let report = to.import(&mut format!("{bad}\n").as_bytes(), &options, &mut |_| {});
    assert_eq!(report.unwrap().failed, 1);
    assert!(
        to.verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
}

on_disk! {
#[test]
fn projects_survive_a_salvage() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    for owner in ["acme", "other"] {
        claim(&palace, owner);
    }
    let before = recorded(&palace);
    palace.close().unwrap();
    // The first page holds the schema: without it only a salvage reads the file.
    let database = path.join("palace.sqlite3");
    let mut bytes = std::fs::read(&database).unwrap();
    bytes[100..4_000].fill(0x55);
    std::fs::write(&database, bytes).unwrap();
    let palace = Palace::connect(&path, &loci_palace::OpenOptions::existing()).unwrap();
    palace
        .repair(&loci_palace::RepairOptions { replace: true })
        .unwrap();
    let palace = open(&path);
    assert_eq!(recorded(&palace), before);
}
}

/// Drawers of two repositories in one wing, as palaces before format 6 have them.
fn mixed(palace: &Palace) {
    let drawers = palace.collection(DRAWERS, true).unwrap();
    for owner in ["acme", "other"] {
        let metadata = |n: usize| {
            let file = format!("/nowhere/{owner}/api/{}.md", n % 7);
            let value = json!({"wing": "api", "room": "r", "source_file": file, "start_line": n});
            MetadataPatch::from_json(&value).unwrap()
        };
        for numbers in [0..350, 350..700] {
            let ids = numbers.clone().map(|n| format!("{owner} {n}"));
            let ids: Vec<String> = ids.collect();
            let batch = Batch::new(ids.clone()).documents(ids);
            drawers
                .add(&batch.metadatas(numbers.map(metadata)))
                .unwrap();
        }
        claim(palace, owner);
    }
}

#[test]
fn a_split_that_was_broken_off_goes_on_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    mixed(&palace);
    let drawers = palace.collection(DRAWERS, false).unwrap();
    let before = contents(&palace, DRAWERS);
    let plan = split(&palace, false);
    assert_eq!((plan.drawers, plan.stay, plan.applied), (1_400, 700, false));
    assert_eq!(
        contents(&palace, DRAWERS),
        before,
        "a preview writes nothing"
    );
    // As a kill leaves it: the wing is claimed, one file has moved.
    let projects = drawers.projects().unwrap();
    let leaves = repository("other");
    let claims = [WingRequest {
        project: &leaves,
        from: Some("api"),
    }];
    projects.claim_wings(&claims, true).unwrap();
    let groups = projects.mined_groups("api").unwrap();
    let one = groups
        .iter()
        .find(|group| group.source.contains("other"))
        .unwrap();
    assert_eq!(
        projects.move_group(one, "api", "other/api").unwrap().moved,
        100
    );
    let done = split(&palace, true);
    assert_eq!((done.drawers, done.stay), (1_300, 700));
    let wings: Vec<(String, u64)> = done
        .parts
        .iter()
        .map(|part| (part.wing.clone(), part.drawers))
        .collect();
    assert_eq!(wings, [("api".into(), 700), ("other/api".into(), 600)]);
    let after = split(&palace, true);
    assert_eq!(
        (after.drawers, after.stay, after.parts.len()),
        (700, 700, 1)
    );
    let now = contents(&palace, DRAWERS);
    assert_eq!(now.len(), before.len());
    let histories = |palace: &Palace| {
        let drawers = palace.collection(DRAWERS, false).unwrap();
        let ids: Vec<String> = (0..700).map(|n| format!("other {n}")).collect();
        drawers.histories(&ids).unwrap()
    };
    for history in histories(&palace) {
        assert_eq!(history.created_at, history.updated_at, "dates stay");
    }
    let here = Selection::matching(loci_palace::Filter::eq("wing", "other/api"));
    let moved = drawers.get(&loci_palace::Get::new(here)).unwrap();
    assert!(
        moved
            .ids
            .iter()
            .zip(&moved.documents)
            .all(|(id, text)| id == text && id.starts_with("other"))
    );
    assert_eq!(moved.ids.len(), 700);
    assert!(
        palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
}

/// What a palace with one project of this owner exports, one line each.
fn lines_of(owner: &str, collection: &str, metric: &str) -> Vec<serde_json::Value> {
    let file = format!("/nowhere/{owner}/api/a.md");
    vec![
        json!({"collection": collection, "metric": metric, "id": format!("{owner} mined"), "document": "mined",
               "metadata": {"wing": "api", "room": "r", "source_file": file, "start_line": 1},
               "origin": {"name": file, "section": 0}}),
        json!({"collection": collection, "metric": metric, "id": format!("{owner} by hand"), "document": owner,
               "metadata": {"wing": "api"}}),
        json!({"collection": collection, "project": {"wing": "api", "name": "api", "path": format!("/nowhere/{owner}/api"),
               "remote": format!("example.org/{owner}/api"), "since": 1}}),
    ]
}

fn import(palace: &Palace, lines: &[serde_json::Value], options: &ImportOptions) -> ImportReport {
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let text = lines.join("\n");
    palace
        .import(&mut text.as_bytes(), options, &mut |_| {})
        .unwrap()
}

/// Ids by wing.
fn wings(palace: &Palace, collection: &str) -> Vec<(String, String)> {
    let drawers = palace.collection(collection, false).unwrap();
    let got = drawers.get(&loci_palace::Get::new(Selection::all()));
    let got = got.unwrap();
    let wing = |metadata: &Metadata| metadata.get_str("wing").unwrap_or_default().to_owned();
    got.metadatas.iter().map(wing).zip(got.ids).collect()
}

fn pair(wing: &str, id: &str) -> (String, String) {
    (wing.into(), id.into())
}

#[test]
fn an_import_puts_rooms_of_links_and_sources_into_the_wing_of_their_project() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    claim(&palace, "other");
    let mut lines = lines_of("acme", DRAWERS, "cosine");
    let room = |wing: &str| json!({"room": {"wing": wing, "room": "r"}});
    let link = json!({"link": {"from": room("api"), "to": room("else"), "label": "see"}});
    lines.insert(0, link);
    for (added, links) in [(2, 1), (0, 0)] {
        let report = import(&palace, &lines, &ImportOptions::default());
        assert_eq!(
            (report.added, report.links, report.failed),
            (added, links, 0),
            "{report:?}"
        );
        let renamed: Vec<String> = report.wings.iter().map(ToString::to_string).collect();
        assert_eq!(
            renamed,
            [
                "wing `acme/api`: the wing `api` belongs to another project (`example.org/other/api`)"
            ]
        );
    }
    let expected = [
        pair("acme/api", "acme mined"),
        pair("acme/api", "acme by hand"),
    ];
    assert_eq!(wings(&palace, DRAWERS), expected);
    let links = palace.relations().unwrap().unwrap();
    let links = links.links(None, 9, 0).unwrap();
    let end = |wing: &str| LinkEnd::Room {
        wing: wing.into(),
        room: "r".into(),
    };
    assert_eq!(
        (&links[0].from, &links[0].to, links.len()),
        (&end("acme/api"), &end("else"), 1)
    );
}

#[test]
fn lines_of_projects_do_not_decide_how_a_collection_is_made() {
    let directory = tempfile::tempdir().unwrap();
    let from = open(&directory.path().join("from"));
    let report = import(
        &from,
        &lines_of("acme", "notes", "l2"),
        &ImportOptions::default(),
    );
    assert_eq!((report.added, report.projects), (2, 1), "{report:?}");
    let mut exported = Vec::new();
    from.export(&loci_palace::export::Request::default(), &mut exported)
        .unwrap();
    let text = String::from_utf8(exported.clone()).unwrap();
    let kinds: Vec<bool> = text
        .lines()
        .map(|line| line.contains("\"project\":"))
        .collect();
    assert_eq!(kinds, [false, true, false, false, false], "{text}");
    // Also with the project in front of everything.
    let mut turned: Vec<&str> = text.lines().collect();
    turned.swap(0, 1);
    for (name, lines) in [("new", text.clone()), ("turned", turned.join("\n"))] {
        let to = open(&directory.path().join(name));
        let report = to
            .import(
                &mut lines.as_bytes(),
                &ImportOptions::default(),
                &mut |_| {},
            )
            .unwrap();
        assert_eq!((report.failed, report.projects), (0, 1), "{report:?}");
        let mut again = Vec::new();
        to.export(&loci_palace::export::Request::default(), &mut again)
            .unwrap();
        assert_eq!(again, exported, "{name}");
    }
}

#[test]
fn collections_of_a_file_that_go_into_one_do_not_mix_their_projects() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    let mut lines = lines_of("acme", "first", "cosine");
    lines.extend(lines_of("other", "second", "cosine"));
    let options = ImportOptions {
        collection: Some("all".into()),
        ..ImportOptions::default()
    };
    for _ in 0..2 {
        import(&palace, &lines, &options);
        let mut found = wings(&palace, "all");
        found.sort();
        let expected = [
            pair("api", "acme by hand"),
            pair("api", "acme mined"),
            pair("other/api", "other by hand"),
            pair("other/api", "other mined"),
        ];
        assert_eq!(found, expected);
    }
}

#[test]
fn an_import_of_a_pipe_larger_than_memory_keeps_is_read_twice_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    claim(&palace, "other");
    let mut lines = lines_of("acme", DRAWERS, "cosine");
    let long = json!({"collection": DRAWERS, "id": "long", "document": "x".repeat(900_000), "metadata": {"wing": "api"}});
    for n in 0..6 {
        let mut line = long.clone();
        line["id"] = json!(format!("long {n}"));
        lines.insert(0, line);
    }
    let report = import(&palace, &lines, &ImportOptions::default());
    assert_eq!((report.added, report.failed), (8, 0), "{:?}", report.lost);
    assert!(
        wings(&palace, DRAWERS)
            .iter()
            .all(|(wing, _)| wing == "acme/api")
    );
}
