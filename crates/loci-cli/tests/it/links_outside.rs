//! Links in a mined tree that lead out of it: counted, not read, unless `--follow` is given.

use std::os::unix::fs::symlink;

use crate::mine::{put, stored};
use crate::support::{Dir, texts};

/// A tree with a note, and links to a file beside the tree. The file is readable only by its owner.
fn linked(dir: &Dir) {
    use std::os::unix::fs::PermissionsExt as _;
    put(dir, "tree/note.md", "The note of the tree.\n");
    let private = put(
        dir,
        "private.txt",
        "The word of the private file is umbrella.\n",
    );
    std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&private, dir.path("tree/absolute.txt")).unwrap();
    symlink("../private.txt", dir.path("tree/relative.txt")).unwrap();
}

#[test]
fn mining_counts_a_link_to_a_file_outside_and_does_not_read_it() {
    let dir = Dir::new();
    linked(&dir);
    let mined = dir.json(0, &["mine", "tree"]);
    let skipped = &mined["files"]["skipped"];
    assert_eq!(skipped["link to a file outside the roots"], 2, "{mined}");
    assert_eq!(mined["files"]["read"], 1, "{mined}");
    assert!(!stored(&dir).join("\n").contains("umbrella"));
    assert!(dir.files_with("umbrella").is_empty());
    let found = dir.json(0, &["search", "umbrella", "--in", "tree"]);
    assert!(
        !texts(&found["hits"], "text")
            .join("\n")
            .contains("umbrella"),
        "{found}"
    );
}

#[test]
fn follow_reads_a_file_outside_once_for_mine_and_search_in() {
    let dir = Dir::new();
    linked(&dir);
    let found = dir.json(0, &["search", "umbrella", "--in", "tree", "--follow"]);
    assert!(
        texts(&found["hits"], "text")[0].contains("umbrella"),
        "{found}"
    );
    assert_eq!(found["mined"]["files"]["read"], 2, "{found}");
    let mined = dir.json(0, &["mine", "tree", "--follow"]);
    assert_eq!(mined["files"]["read"], 2, "{mined}");
    let skipped = &mined["files"]["skipped"];
    assert_eq!(skipped["link to what is met elsewhere"], 1, "{mined}");
    let kept = dir.json(0, &["sync", "tree", "--follow"]);
    assert_eq!(kept["gone"].as_array().map(Vec::len), Some(0), "{kept}");
    // Without `--follow` the same question finds only what lies in the tree.
    let found = dir.json(0, &["search", "umbrella", "--in", "tree"]);
    assert!(
        !texts(&found["hits"], "text")
            .join("\n")
            .contains("umbrella"),
        "{found}"
    );
}

#[test]
fn settings_and_lists_that_are_links_to_outside_give_nothing_away() {
    let dir = Dir::new();
    put(&dir, "tree/note.md", "The note of the tree.\n");
    let private = put(&dir, "private.txt", "wing = \"umbrella\"\n");
    for name in [".loci.toml", ".gitignore", ".lociignore", ".ignore"] {
        symlink(&private, dir.path("tree").join(name)).unwrap();
    }
    let ran = dir.run(&["mine", "tree", "--json"]);
    assert!(!ran.stdout.contains("umbrella"), "{ran:?}");
    assert!(!ran.stderr.contains("umbrella"), "{ran:?}");
    assert_eq!(ran.code, 0, "{ran:?}");
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["files"]["read"], 1, "{report}");
    let warnings = report["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{report}");
    assert_eq!(warnings[0]["code"], "settings_outside", "{report}");
    let said = warnings[0]["message"].as_str().unwrap();
    assert!(said.contains("tree/.loci.toml"), "{said}");
}
