//! `forget --source`, `forget --wing` and `forget --dry-run`: whole sources and wings.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mine::put;
use crate::support::{Dir, lines, texts};
use crate::terminal::at_terminal;

/// Begins like nothing else in a palace.
const MARKER: &str = "qzxvheron";

/// Two folders of notes, one of them with the marker, and a drawer that was added by hand.
fn mined() -> Dir {
    let dir = Dir::new();
    for (name, text) in [
        (
            "notes/a/one.md",
            format!("# One\n\nThe {MARKER} stands in the river.\n"),
        ),
        (
            "notes/a/deep/two.md",
            format!("# Two\n\nA second {MARKER} came at noon.\n"),
        ),
        (
            "notes/ab.md",
            "# Other\n\nNothing about birds.\n".to_owned(),
        ),
    ] {
        put(&dir, name, text);
    }
    dir.json(0, &["mine", "notes", "--wing", "river"]);
    dir.json(
        0,
        &[
            "add",
            "Alice counts the birds.",
            "--wing",
            "alice",
            "--id",
            "hand",
        ],
    );
    dir
}

fn left(dir: &Dir) -> Vec<String> {
    let mut left = texts(&dir.json(0, &["list", "--limit", "99"])["drawers"], "text");
    left.sort();
    left
}

#[test]
fn a_source_is_forgotten_by_its_path_in_any_form_even_if_the_file_is_gone() {
    for (named, from) in [
        ("notes/a/one.md", "."),
        ("./notes/../notes/a/one.md", "."),
        ("one.md", "notes/a"),
        ("../../notes/a/one.md", "notes/a"),
        ("ABSOLUTE", "."),
        ("~/../notes/a/one.md", "."),
        ("link/one.md", "."),
    ] {
        let dir = mined();
        std::os::unix::fs::symlink(dir.path("notes/a"), dir.path("link")).unwrap();
        let absolute = dir.path("notes/a/one.md").canonicalize().unwrap();
        let named = if named == "ABSOLUTE" {
            absolute.to_str().unwrap()
        } else {
            named
        };
        let forget = |flags: &[&str]| {
            let mut command = dir.command();
            command
                .current_dir(dir.path(from))
                .args(["forget", "--source", named, "--json"]);
            let output = command.args(flags).output().unwrap();
            assert!(output.status.success(), "{named}: {output:?}");
            serde_json::from_slice::<Value>(&output.stdout).unwrap()
        };
        std::fs::remove_file(&absolute).unwrap();
        let preview = forget(&["--dry-run"]);
        assert_eq!(
            (&preview["drawers"], &preview["sources"]),
            (&json!(1), &json!(1)),
            "{named}"
        );
        assert_eq!(forget(&["--yes"])["forgotten"], 1, "{named}");
        assert_eq!(left(&dir).len(), 3, "{named}");
        assert!(
            !left(&dir).concat().contains("stands in the river"),
            "{named}"
        );
    }
}

#[test]
fn a_folder_stands_for_all_sources_below_it_and_no_others() {
    for named in ["notes/a", "notes/a/"] {
        let dir = mined();
        let preview = dir.json(0, &["forget", "--source", named, "--dry-run"]);
        assert_eq!(preview["sources"], 2, "{preview}");
        assert_eq!(
            dir.json(0, &["forget", "--source", named, "--yes"])["forgotten"],
            2
        );
        assert_eq!(dir.files_with(MARKER), Vec::<PathBuf>::new());
        let left = left(&dir);
        assert_eq!(left.len(), 2, "{left:?}");
        // What was forgotten does not come back.
        dir.json(0, &["mine", "notes", "--wing", "river", "--force"]);
        assert_eq!(dir.files_with(MARKER), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_name_that_is_no_path_is_a_source_too() {
    let dir = Dir::new();
    dir.json(0, &["add", "one", "--source", "chatgpt:1", "--id", "a"]);
    dir.json(0, &["add", "two", "--source", "chatgpt:12", "--id", "b"]);
    assert_eq!(
        dir.json(0, &["forget", "--source", "chatgpt:1", "--yes"])["forgotten"],
        1
    );
    assert_eq!(left(&dir), ["two"]);
    assert_eq!(
        dir.json(1, &["forget", "--source", "chatgpt:1", "--yes"])["forgotten"],
        0
    );
    assert_eq!(
        dir.error(64, &["forget", "--source", "", "--yes"])["kind"],
        "invalid_input"
    );
    assert_eq!(
        dir.error(64, &["forget", "--wing", "", "--yes"])["kind"],
        "invalid_input"
    );
    assert_eq!(
        dir.error(64, &["forget", "a", "--wing", "w"])["kind"],
        "usage"
    );
    assert_eq!(left(&dir), ["two"]);
}

/// Drawers that a later run removed are gone from every answer, but their text is kept for an undo.
#[test]
fn copies_of_drawers_that_are_gone_already_are_forgotten_too() {
    let dir = mined();
    std::fs::remove_file(dir.path("notes/a/one.md")).unwrap();
    dir.json(0, &["sync", "notes", "--apply", "--even-most"]);
    assert_eq!(left(&dir).len(), 3);
    assert!(
        !dir.files_with("stands in the river").is_empty(),
        "kept for the undo"
    );
    dir.json(0, &["forget", "--source", "notes/a/one.md", "--yes"]);
    assert_eq!(dir.files_with("stands in the river"), Vec::<PathBuf>::new());
    assert_eq!(left(&dir).len(), 3);
}

#[test]
fn a_preview_counts_drawers_sources_wings_and_rooms_and_changes_nothing() {
    let dir = Dir::new();
    for (id, wing, room) in [
        ("a", "w", "r"),
        ("b", "w", "r"),
        ("c", "w", ""),
        ("d", "v", "r"),
    ] {
        let room = if room.is_empty() {
            &[][..]
        } else {
            &["--room", room][..]
        };
        let add = ["add", id, "--id", id, "--wing", wing, "--source", id];
        dir.json(0, &[&add[..], room].concat());
    }
    let before = dir.contents();
    let preview = dir.json(0, &["forget", "--wing", "w", "--dry-run"]);
    assert_eq!(
        preview,
        json!({
            "dry_run": true, "drawers": 3, "sources": 3,
            "places": [
                {"wing": "w", "room": "", "drawers": 1},
                {"wing": "w", "room": "r", "drawers": 2},
            ],
            "examples": [
                {"id": "a", "source": "a", "text": "a"},
                {"id": "b", "source": "b", "text": "b"},
                {"id": "c", "source": "c", "text": "c"},
            ],
        })
    );
    let human = dir.run(&["forget", "--wing", "w", "--dry-run"]).ok();
    assert!(
        human.stdout.starts_with("3 drawers from 3 sources\n"),
        "{human:?}"
    );
    assert!(human.stdout.contains("2  w  r\n"), "{human:?}");
    assert!(human.stdout.ends_with("nothing was changed\n"), "{human:?}");
    assert_eq!(
        dir.json(1, &["forget", "--wing", "x", "--dry-run"])["drawers"],
        0
    );
    // Two conditions must both hold.
    let both = ["forget", "--wing", "w", "--source", "d", "--dry-run"];
    assert_eq!(dir.json(1, &both)["drawers"], 0);
    // Refused without a terminal, and nothing is changed.
    let refused = dir.error(64, &["forget", "--wing", "w"]);
    assert!(
        refused["message"].as_str().unwrap().contains("3 drawers"),
        "{refused}"
    );
    assert!(
        refused["help"].as_str().unwrap().contains("--yes"),
        "{refused}"
    );
    assert_eq!(dir.contents().len(), before.len());
    assert_eq!(left(&dir).len(), 4);
    assert_eq!(
        dir.json(0, &["forget", "--wing", "w", "--yes"])["forgotten"],
        3
    );
    assert_eq!(left(&dir), ["d"]);
}

#[test]
fn a_person_sees_what_would_go_and_is_asked() {
    let dir = mined();
    let asked = |answer: &str| {
        let mut command = dir.command();
        command.args(["forget", "--wing", "river"]);
        at_terminal(command, answer)
    };
    let (code, shown) = asked("n\n");
    assert_eq!(code, 1, "{shown}");
    for part in [
        "3 drawers from 3 sources",
        "river",
        "for example",
        "notes",
        "permanently? [y/N]",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.contains("nothing done"), "{shown}");
    assert_eq!(left(&dir).len(), 4);
    let (code, shown) = asked("y\n");
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("forgot 3 drawer(s)"), "{shown}");
    assert_eq!(left(&dir), ["Alice counts the birds."]);
}

/// The remaining drawers are still found, and a second run finishes.
#[test]
fn a_killed_forget_is_finished_by_a_second_one() {
    let dir = Dir::new();
    let record = |n: usize, wing: &str| {
        json!({
            "id": format!("{wing}{n}"), "document": format!("{MARKER} {wing} number {n}"),
            "metadata": {"wing": wing, "source_file": format!("/{wing}/{}.md", n / 50)},
        })
    };
    let records = (0..2_000)
        .map(|n| record(n, "many"))
        .chain((0..5).map(|n| record(n, "few")));
    let file = dir.write("many.jsonl", lines(records));
    dir.json(0, &["import", "jsonl", file.to_str().unwrap()]);
    let drawers = || dir.json(0, &["status"])["drawers"].as_u64().unwrap();
    let mut partly = false;
    for milliseconds in (40..1_000).step_by(60) {
        let mut child = dir.spawn(&["forget", "--wing", "many", "--yes"]);
        let until = Instant::now() + Duration::from_millis(milliseconds);
        while Instant::now() < until && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let left = drawers();
        let listed = dir.json(
            i32::from(left == 5),
            &["list", "--wing", "many", "--limit", "1"],
        );
        assert_eq!(listed["total"], left - 5);
        partly |= (6..2_005).contains(&left);
        if partly || left == 5 {
            break;
        }
    }
    dir.run(&["forget", "--wing", "many", "--yes"]);
    assert_eq!(drawers(), 5);
    let status = dir.json(0, &["status"]);
    assert_eq!(status["purge_pending"], false, "{status}");
    assert_eq!(dir.files_with("many number"), Vec::<PathBuf>::new());
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}

/// Whatever the number of collections, the database is rewritten once.
#[test]
fn several_collections_are_purged_together() {
    let dir = Dir::new();
    for collection in ["one", "two", "three"] {
        dir.json(
            0,
            &["add", MARKER, "--wing", "w", "--collection", collection],
        );
    }
    let mut command = dir.command();
    command.env("LOCI_LOG", "loci_sqlite::statements=trace");
    let output = command
        .args(["forget", "--wing", "w", "--yes"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let log = String::from_utf8(output.stderr).unwrap();
    let rewrites = log.lines().filter(|line| line.ends_with(" VACUUM")).count();
    assert_eq!(rewrites, 1, "{log}");
    assert_eq!(dir.files_with(MARKER), Vec::<PathBuf>::new());
}
