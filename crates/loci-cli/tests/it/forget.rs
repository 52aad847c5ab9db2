//! `forget`: what is forgotten is in no file any more.

use std::path::PathBuf;

use serde_json::json;

use crate::support::{Dir, names, texts, vector};

/// Begins like nothing else in a palace, so that no compression of postings can hide it.
const MARKER: &str = "qzxvsecretword";

#[test]
fn forgotten_text_is_in_no_file_of_the_palace() {
    let dir = Dir::with_index();
    for n in 0..40 {
        let text = format!("{MARKER} {n} {}", "filler ".repeat(n));
        let id = format!("secret-{n}");
        let file = dir.write(
            "v.json",
            serde_json::to_vec(&vector(n as u64 + 9_000)).unwrap(),
        );
        let place = ["--room", MARKER, "--vector", file.to_str().unwrap()];
        dir.json(0, &[&["add", &text, "--id", &id][..], &place].concat());
    }
    for n in (0..40).step_by(3) {
        let text = format!("{MARKER} again {n}");
        dir.json(0, &["update", &format!("secret-{n}"), &text]);
    }
    // An index file that was set aside and a backup of a repair are files of the palace too.
    let index = dir.index_files().remove(0);
    std::fs::write(&index, MARKER).unwrap();
    dir.nearest(1);
    assert!(!dir.files_with(MARKER).is_empty());
    let aside = names(&dir.json(0, &["status"])["set_aside"]);
    assert_eq!(aside.len(), 1, "{aside:?}");
    let aside = &aside[0];
    let one = dir.json(0, &["forget", "secret-0"]);
    assert_eq!(
        one,
        json!({"forgotten": 1, "facts": 0, "links": 0, "purge_pending": false, "removed_files": [aside]})
    );
    let room = json!({"room": MARKER}).to_string();
    let rest = dir.json(0, &["forget", "--where", &room, "--yes"]);
    assert_eq!(
        rest,
        json!({"forgotten": 39, "facts": 0, "links": 0, "purge_pending": false, "removed_files": []})
    );
    assert_eq!(dir.files_with(MARKER), Vec::<PathBuf>::new());
    assert_eq!(dir.json(1, &["query", MARKER])["hits"], json!([]));
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
    assert_eq!(dir.json(0, &["status"])["drawers"], crate::support::INDEXED);
}

#[test]
fn forgetting_nothing_is_nothing_found() {
    let dir = Dir::new();
    dir.json(0, &["add", "x", "--id", "a"]);
    assert_eq!(dir.json(1, &["forget", "b"])["forgotten"], 0);
    let nobody = r#"{"wing": "nobody"}"#;
    assert_eq!(dir.json(1, &["forget", "--where", nobody])["forgotten"], 0);
    assert_eq!(dir.json(0, &["status"])["drawers"], 1);
}

#[test]
fn a_filter_needs_a_yes_when_nobody_can_be_asked() {
    let dir = Dir::new();
    dir.json(0, &["add", "x", "--id", "a", "--wing", "w"]);
    let filter = ["forget", "--where", r#"{"wing": "w"}"#];
    let error = dir.error(64, &filter);
    assert_eq!(error["kind"], "usage");
    assert!(error["help"].as_str().unwrap().contains("--yes"), "{error}");
    assert_eq!(dir.json(0, &["status"])["drawers"], 1);
    assert_eq!(
        dir.json(0, &[&filter[..], &["--yes"]].concat())["forgotten"],
        1
    );
    let error = dir.error(64, &["forget"]);
    assert_eq!(error["kind"], "usage");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("ID") && message.contains("--where"),
        "{error}"
    );
    assert_eq!(
        dir.error(64, &["forget", "a", "--where", "{}"])["kind"],
        "usage"
    );
}

#[test]
fn forget_covers_all_collections_unless_one_is_named() {
    let dir = Dir::new();
    for collection in ["one", "two", "three"] {
        dir.json(0, &["add", "x", "--id", "a", "--collection", collection]);
    }
    assert_eq!(
        dir.json(0, &["forget", "a", "--collection", "two"])["forgotten"],
        1
    );
    let left = dir.json(0, &["list"]);
    assert_eq!(texts(&left["drawers"], "collection"), ["one", "three"]);
    assert_eq!(dir.json(0, &["forget", "a"])["forgotten"], 2);
}

/// A palace in which `b` was added after the backup that was then restored, and the names of the
/// files that were set aside.
fn restored() -> (Dir, Vec<String>) {
    let dir = Dir::new();
    dir.json(0, &["add", "first", "--id", "a"]);
    dir.json(0, &["add", "second", "--id", "c"]);
    dir.json(0, &["backup", "b.backup"]);
    dir.json(0, &["add", MARKER, "--id", "b"]);
    dir.json(0, &["restore", "b.backup", "--replace"]);
    let aside = names(&dir.json(0, &["status"])["set_aside"]);
    assert!(
        aside
            .iter()
            .all(|name| name.starts_with("palace.sqlite3.replaced-")),
        "{aside:?}"
    );
    assert!(!dir.files_with(MARKER).is_empty());
    (dir, aside)
}

#[test]
fn forget_names_the_set_aside_files_that_it_removes() {
    let (dir, aside) = restored();
    let answer = dir.json(0, &["forget", "a"]);
    assert_eq!(names(&answer["removed_files"]), aside);
    assert_eq!(dir.json(0, &["status"])["set_aside"], json!([]));
    assert_eq!(dir.files_with(MARKER), Vec::<PathBuf>::new());
    let (dir, aside) = restored();
    let human = dir.run(&["forget", "a"]).ok();
    assert_eq!(human.stdout, "forgot 1 drawer(s)\n");
    assert_eq!(
        human.stderr,
        format!(
            "note: deleted {} other file(s) that could contain the text: {}\n\
             note: the backup `{}` and older ones may still hold the text; make a new one and \
             delete them if it must be gone\n",
            aside.len(),
            aside.join(", "),
            dir.path("b.backup").display()
        )
    );
    let again = dir.run(&["forget", "c"]).ok();
    assert!(
        !again.stderr.contains("deleted"),
        "there is nothing left to delete: {again:?}"
    );
}

#[test]
fn forgetting_an_unknown_id_keeps_what_was_set_aside_and_says_so() {
    let (dir, aside) = restored();
    let human = dir.run(&["forget", "b"]);
    assert_eq!(
        (human.code, human.stdout.as_str()),
        (1, "nothing to forget\n")
    );
    assert!(human.stderr.starts_with("note: "), "{human:?}");
    assert_eq!(human.stderr.lines().count(), 1, "{human:?}");
    for name in &aside {
        assert!(human.stderr.contains(name), "{human:?}");
        assert!(dir.palace().join(name).is_file(), "{name}");
    }
    let answer = dir.json(1, &["forget", "b"]);
    assert_eq!(
        answer,
        json!({"forgotten": 0, "facts": 0, "links": 0, "purge_pending": false, "removed_files": []})
    );
    assert_eq!(names(&dir.json(0, &["status"])["set_aside"]), aside);
}

/// A restore copies a backup, which may hold the text, while it holds its lock.
#[test]
fn a_pending_purge_says_why_in_json_and_in_words() {
    let dir = Dir::new();
    for id in ["a", "b"] {
        dir.json(0, &["add", &format!("{MARKER} of {id}"), "--id", id]);
    }
    let lock = std::fs::File::create(dir.palace().join("restore.lock")).unwrap();
    lock.lock().unwrap();
    let answer = dir.json(0, &["forget", "a"]);
    assert_eq!(answer["purge_pending"], true, "{answer}");
    assert_eq!(answer["pending_reason"], "restore_running", "{answer}");
    let ran = dir.run(&["forget", "b"]).ok();
    assert!(ran.stderr.contains("a restore is running"), "{ran:?}");
    drop(lock);
    assert_eq!(dir.json(0, &["status"])["drawers"], 0);
    assert_eq!(dir.json(0, &["status"])["purge_pending"], false);
    assert_eq!(dir.files_with(MARKER), Vec::<PathBuf>::new());
}
