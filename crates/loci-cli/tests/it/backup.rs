//! `backup` and `restore`.

use serde_json::json;

use crate::support::{Dir, lines, texts, vector, wait_until};

#[test]
fn restore_replaces_only_when_told_and_keeps_the_old_palace_aside() {
    let dir = Dir::new();
    dir.json(0, &["add", "old", "--id", "a"]);
    let backup = dir.path("b");
    let backup = backup.to_str().unwrap();
    let made = dir.json(0, &["backup", backup]);
    assert_eq!(made["bytes"], std::fs::metadata(backup).unwrap().len());
    dir.json(0, &["add", "newer", "--id", "b"]);
    let error = dir.error(2, &["restore", backup]);
    assert_eq!(error["kind"], "conflict");
    assert!(
        error["message"].as_str().unwrap().contains("--replace"),
        "{error}"
    );
    assert_eq!(dir.json(0, &["status"])["drawers"], 2);
    let restored = dir.json(0, &["restore", backup, "--replace"]);
    assert_eq!(restored["restored"], 1);
    assert_eq!(texts(&dir.json(0, &["list"])["drawers"], "id"), ["a"]);
    let aside = Dir::files(&dir.palace())
        .into_iter()
        .filter(|path| path.to_string_lossy().contains(".replaced-"))
        .count();
    assert!(aside >= 1);
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}

#[test]
fn a_restored_palace_never_uses_an_index_of_the_other_history() {
    let dir = Dir::with_index();
    let backup = dir.path("b");
    let backup = backup.to_str().unwrap();
    dir.json(0, &["backup", backup]);
    // The other history: the same numbers of changes, other vectors, and an index over them.
    let records = (0..crate::support::INDEXED)
        .map(|n| json!({"id": format!("d{n}"), "embedding": vector(n + 50_000)}));
    let file = dir.write("moved.jsonl", lines(records));
    let rule = ["--on-conflict", "update"];
    dir.json(
        0,
        &[&["import", "jsonl", file.to_str().unwrap()][..], &rule].concat(),
    );
    assert_eq!(dir.nearest(50_007)[0], "d7");
    dir.json(0, &["restore", backup, "--replace"]);
    assert_eq!(dir.nearest(7)[0], "d7");
    assert_eq!(dir.nearest(1_999)[0], "d1999");
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}

#[test]
fn a_backup_while_another_process_writes_is_one_state() {
    let dir = Dir::new();
    dir.json(0, &["init"]);
    let records =
        (0..6_000).map(|n| json!({"id": format!("d{n}"), "document": format!("text {n}")}));
    let file = dir.write("many.jsonl", lines(records));
    let mut writer = dir.spawn(&["import", "jsonl", file.to_str().unwrap()]);
    wait_until("the writer has begun", || {
        dir.json(0, &["status"])["drawers"].as_u64().unwrap() > 0
    });
    let mut sizes = Vec::new();
    for n in 0..3 {
        let backup = dir.path(&format!("b{n}"));
        dir.json(0, &["backup", backup.to_str().unwrap()]);
        let copy = dir.path(&format!("copy{n}"));
        let copy = ["--palace", copy.to_str().unwrap()];
        let restored = dir.json(
            0,
            &[&["restore", backup.to_str().unwrap()][..], &copy].concat(),
        );
        assert_eq!(
            dir.json(0, &[&["verify", "--deep"][..], &copy].concat())["ok"],
            true
        );
        sizes.push(restored["restored"].as_u64().unwrap());
    }
    assert!(writer.wait().unwrap().success());
    assert!(sizes.is_sorted() && sizes[0] > 0, "{sizes:?}");
    // Batches are committed whole.
    assert!(sizes.iter().all(|size| size % 200 == 0), "{sizes:?}");
    assert_eq!(dir.json(0, &["status"])["drawers"], 6_000);
}
