//! An import gives the drawers of a project the wing that this project has here.
//!
//! Two palaces that mined different projects of one name both have them in the wing of that name. An import that took wings
//! as names alone put both into one, and the hooks of the one showed the text of the other.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::hooks::exchange;
use crate::mine::put;
use crate::support::Dir;
use crate::wings::{ALPHA, expected, mine, told, two, wings};

/// Two palaces, each with a project of its own in the wing `api`, and an export of the first, in which a note by hand is, too.
struct Two {
    first: Dir,
    second: Dir,
    a: PathBuf,
    b: PathBuf,
    export: PathBuf,
}

impl Two {
    fn new() -> Self {
        let (first, second) = (Dir::new(), Dir::new());
        let (a, b) = two(&first);
        mine(&first, &a);
        first
            .run(&["add", "By hand, of alpha.", "--wing", "api"])
            .ok();
        mine(&second, &b);
        let export = exported(&first);
        Self {
            first,
            second,
            a,
            b,
            export,
        }
    }
}

fn exported(dir: &Dir) -> PathBuf {
    let file = dir.path("export.jsonl");
    dir.run(&["export", file.to_str().unwrap(), "--force"]).ok();
    file
}

fn import(dir: &Dir, file: &Path) -> Value {
    dir.json(0, &["import", "jsonl", file.to_str().unwrap()])
}

/// The export as older versions wrote it: projects behind everything else of their collection.
fn projects_last(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let (projects, others): (Vec<&str>, Vec<&str>) = text
        .lines()
        .partition(|line| line.contains("\"project\":{"));
    assert!(!projects.is_empty());
    let others = others.into_iter().filter(|line| line.contains("document"));
    let lines: Vec<&str> = others.chain(projects).collect();
    lines.join("\n")
}

fn renamed() -> Value {
    json!([{
        "wing": "acme/api", "instead_of": "api", "holder": "example.org/other/api",
        "project": "example.org/acme/api",
    }])
}

#[test]
fn an_import_does_not_mix_projects_of_one_name() {
    let two = Two::new();
    let report = import(&two.second, &two.export);
    assert_eq!(
        (&report["added"], &report["projects"]),
        (&json!(2), &json!(1))
    );
    let both = expected(&[("acme/api", 2), ("api", 1)]);
    assert_eq!(wings(&two.second), both);
    assert_eq!(report["wings"], renamed(), "{report}");
    let of_b = told(&two.second, &two.b, "b");
    assert!(
        of_b.contains("eighteen") && !of_b.contains("seventeen") && !of_b.contains("By hand"),
        "{of_b}"
    );
    let of_a = told(&two.second, &two.a, "a");
    assert!(
        of_a.contains("seventeen") && !of_a.contains("eighteen"),
        "{of_a}"
    );
    // Again: the same wings, and nothing new.
    let again = import(&two.second, &two.export);
    assert_eq!(again["wings"], renamed());
    for key in ["added", "updated", "sources", "projects", "failed"] {
        assert_eq!(again[key], 0, "{key}: {again}");
    }
    let said = two
        .second
        .run(&["import", "jsonl", two.export.to_str().unwrap()]);
    let line =
        "wing `acme/api`: the wing `api` belongs to another project (`example.org/other/api`)";
    assert!(said.stdout.contains(line), "{said:?}");
    // What is mined from now on goes there, too, and an unchanged file is known.
    put(&two.first, "a/api/more.md", "More of alpha.");
    let mined = mine(&two.second, &two.a);
    assert_eq!(
        (&mined["drawers"]["new"], &mined["wings"]),
        (&json!(1), &json!([])),
        "{mined}"
    );
    assert_eq!(wings(&two.second), expected(&[("acme/api", 3), ("api", 1)]));
    two.second.run(&["verify", "--deep"]).ok();
}

#[test]
fn an_import_of_a_project_that_was_mined_here_brings_nothing_twice() {
    let two = Two::new();
    mine(&two.second, &two.a);
    assert_eq!(wings(&two.second), expected(&[("acme/api", 1), ("api", 1)]));
    for added in [1, 0] {
        let report = import(&two.second, &two.export);
        assert_eq!(
            (&report["added"], &report["projects"]),
            (&json!(added), &json!(0)),
            "only what was added by hand: {report}"
        );
        assert_eq!(wings(&two.second), expected(&[("acme/api", 2), ("api", 1)]));
    }
    let split = two.second.run(&["wings", "split", "api", "--apply"]);
    assert!(split.stdout.contains("nothing to split"), "{split:?}");
}

#[test]
fn exports_with_projects_behind_their_drawers_and_pipes_are_imported_the_same() {
    let two = Two::new();
    let old = projects_last(&two.export);
    let both = expected(&[("acme/api", 2), ("api", 1)]);
    let ran = two.second.pipe(&["import", "jsonl", "-"], old.as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(wings(&two.second), both);
    let third = Dir::new();
    mine(&third, &two.b);
    let file = third.write("old.jsonl", &old);
    assert_eq!(import(&third, &file)["wings"], renamed());
    assert_eq!(wings(&third), both);
    let fourth = Dir::new();
    mine(&fourth, &two.b);
    let new = std::fs::read(&two.export).unwrap();
    let arguments = ["import", "jsonl", "-", "--on-conflict", "error"];
    let ran = fourth.pipe(&arguments, &new);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(wings(&fourth), both);
}

#[test]
fn an_import_into_an_empty_palace_has_the_wings_of_the_export() {
    let two = Two::new();
    mine(&two.first, &two.b);
    let file = exported(&two.first);
    let empty = Dir::new();
    assert_eq!(import(&empty, &file)["wings"], json!([]));
    assert_eq!(wings(&empty), wings(&two.first));
    let first = std::fs::read_to_string(&file).unwrap();
    assert_eq!(std::fs::read_to_string(exported(&empty)).unwrap(), first);
    // Without lines of projects a wing is a name.
    let second = Dir::new();
    mine(&second, &two.b);
    let drawers: Vec<&str> = first
        .lines()
        .filter(|line| line.contains("\"document\""))
        .collect();
    let plain = second.write("plain.jsonl", drawers.join("\n"));
    assert_eq!(import(&second, &plain)["wings"], json!([]));
    assert_eq!(wings(&second), expected(&[("api", 3), ("other/api", 1)]));
}

/// A palace in which both projects share the wing `api`, with a conversation and a note by hand.
fn shared(two: &Two) -> PathBuf {
    let dir = Dir::new();
    for folder in [&two.a, &two.b] {
        dir.json(0, &["mine", folder.to_str().unwrap(), "--wing", "api"]);
    }
    for (folder, name) in [(&two.a, "a"), (&two.b, "b")] {
        let talk = exchange(folder, 1, "Which fuse?", &format!("The fuse of {name}."));
        let talk = put(&dir, &format!("talks/{name}.jsonl"), talk);
        dir.json(0, &["mine", talk.to_str().unwrap(), "--wing", "api"]);
    }
    dir.run(&["add", "By hand, of nobody.", "--wing", "api"])
        .ok();
    // Each finds its drawers in the wing, and is recorded with it.
    for (folder, name) in [(&two.a, "a/api"), (&two.b, "b/api")] {
        put(
            &two.first,
            &format!("{name}/new.md"),
            format!("New in {name}."),
        );
        mine(&dir, folder);
    }
    assert_eq!(wings(&dir), expected(&[("api", 7)]));
    let file = exported(&dir);
    let kept = two.first.path("shared.jsonl");
    std::fs::copy(file, &kept).unwrap();
    kept
}

#[test]
fn a_wing_that_projects_share_in_the_file_is_shared_here_or_divided_by_their_folders() {
    let two = Two::new();
    let file = shared(&two);
    let empty = Dir::new();
    for _ in 0..2 {
        assert_eq!(import(&empty, &file)["wings"], json!([]));
        assert_eq!(wings(&empty), expected(&[("api", 7)]));
    }
    // Here the wing is that of the second project: what is of the first goes to another, and what is of nobody stays.
    assert_eq!(import(&two.second, &file)["wings"], renamed());
    assert_eq!(wings(&two.second), expected(&[("acme/api", 3), ("api", 4)]));
    assert_eq!(import(&two.second, &file)["added"], 0);
    let of_b = told(&two.second, &two.b, "b");
    assert!(!of_b.contains("fuse of a"), "{of_b}");
    // Sources are in the wings of their drawers: a conversation that goes on stays there.
    let sources = two.second.run(&["export"]).ok().stdout;
    for (name, wing) in [("talks/a.jsonl", "acme/api"), ("talks/b.jsonl", "api")] {
        let is_it = |line: &&str| line.contains("\"source\":{") && line.contains(name);
        let line = sources.lines().find(is_it).unwrap();
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["source"]["wing"], wing, "{line}");
    }
    // Somebody else has the wing: nothing of the file is in it.
    let third = Dir::new();
    put(&third, "c/api/notes.md", "Of a third project.");
    mine(&third, &third.path("c/api"));
    import(&third, &file);
    assert_eq!(
        wings(&third),
        expected(&[("acme/api", 4), ("api", 1), ("other/api", 3)])
    );
}

/// A drawer that an earlier version imported into the wing of another project, while the project's own wing has it, too.
fn with_duplicate(two: &Two) -> String {
    mine(&two.second, &two.a);
    let text = std::fs::read_to_string(&two.export).unwrap();
    let line = text.lines().find(|line| line.contains(ALPHA)).unwrap();
    let file = two.second.write("plain.jsonl", line);
    assert_eq!(import(&two.second, &file)["added"], 1);
    assert_eq!(wings(&two.second), expected(&[("acme/api", 1), ("api", 2)]));
    let line: Value = serde_json::from_str(line).unwrap();
    line["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_split_counts_what_moved_and_removes_what_the_other_wing_has() {
    let two = Two::new();
    with_duplicate(&two);
    let preview = two.second.json(0, &["wings", "split", "api"]);
    let part = json!({"wing": "acme/api", "project": "example.org/acme/api", "sources": 1, "drawers": 1,
                      "moved": 0, "removed": 1, "left": 0});
    assert_eq!(preview["parts"][1], part, "{preview}");
    assert_eq!(preview["stay"], 1);
    let said = two.second.run(&["wings", "split", "api", "--apply"]).ok();
    assert!(said.stdout.contains("0  moved to `acme/api`"), "{said:?}");
    assert!(
        said.stdout
            .contains("1 removed, because that wing has the same text from the same place"),
        "{said:?}"
    );
    assert_eq!(wings(&two.second), expected(&[("acme/api", 1), ("api", 1)]));
    let of_b = told(&two.second, &two.b, "b");
    assert!(!of_b.contains("seventeen"), "{of_b}");
    // The file is still known.
    assert_eq!(mine(&two.second, &two.a)["drawers"]["new"], 0);
    two.second.run(&["verify", "--deep"]).ok();
}

#[test]
fn a_split_leaves_a_duplicate_that_a_fact_names() {
    let two = Two::new();
    let id = with_duplicate(&two);
    two.second
        .run(&["facts", "add", "lamp", "has", "fuse", "--source", &id])
        .ok();
    let done = two.second.json(0, &["wings", "split", "api", "--apply"]);
    let part = json!({"wing": "acme/api", "project": "example.org/acme/api", "sources": 1, "drawers": 1,
                      "moved": 0, "removed": 0, "left": 1});
    assert_eq!((&done["parts"][1], &done["stay"]), (&part, &json!(2)));
    two.second.run(&["get", &id]).ok();
}
