//! `forget`: what is forgotten is in no file any more.

use serde_json::json;

use crate::support::{Dir, texts, vector};

/// Begins like nothing else in a palace, so that no compression of postings can hide it.
const MARKER: &str = "qzxvsecretword";

fn files_with_marker(dir: &Dir) -> Vec<String> {
    Dir::files(&dir.palace())
        .into_iter()
        .filter(|path| {
            let bytes = std::fs::read(path).unwrap();
            bytes
                .windows(MARKER.len())
                .any(|window| window.eq_ignore_ascii_case(MARKER.as_bytes()))
        })
        .map(|path| path.display().to_string())
        .collect()
}

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
    assert!(!files_with_marker(&dir).is_empty());
    let one = dir.json(0, &["forget", "secret-0"]);
    assert_eq!(one, json!({"forgotten": 1, "purge_pending": false}));
    let room = json!({"room": MARKER}).to_string();
    let rest = dir.json(0, &["forget", "--where", &room, "--yes"]);
    assert_eq!(rest, json!({"forgotten": 39, "purge_pending": false}));
    assert_eq!(files_with_marker(&dir), Vec::<String>::new());
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
    assert_eq!(dir.error(64, &["forget"])["kind"], "usage");
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
