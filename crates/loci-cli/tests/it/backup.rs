//! `backup` and `restore`.

use std::path::PathBuf;

use serde_json::json;

use crate::support::{Dir, lines, names, texts, vector, wait_until};

#[test]
fn restore_replaces_only_when_requested_and_keeps_the_old_palace_aside() {
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
        error["help"].as_str().unwrap().contains("--replace"),
        "{error}"
    );
    assert_eq!(dir.json(0, &["status"])["drawers"], 2);
    let restored = dir.json(0, &["restore", backup, "--replace"]);
    assert_eq!(restored["restored"], 1);
    let aside = PathBuf::from(restored["set_aside"].as_str().unwrap());
    assert!(aside.is_file() && aside.parent() == Some(&dir.palace()));
    assert_eq!(texts(&dir.json(0, &["list"])["drawers"], "id"), ["a"]);
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
    // What was set aside is the whole palace.
    let old = dir.path("old");
    std::fs::create_dir(&old).unwrap();
    std::fs::copy(&aside, old.join("palace.sqlite3")).unwrap();
    let list = dir.json(0, &["list", "--palace", old.to_str().unwrap()]);
    assert_eq!(texts(&list["drawers"], "id"), ["a", "b"]);
}

#[test]
fn a_restore_says_where_the_old_palace_is_kept_and_status_lists_it() {
    let dir = Dir::new();
    dir.json(0, &["add", "x", "--id", "a"]);
    dir.json(0, &["backup", "b.backup"]);
    assert_eq!(dir.json(0, &["status"])["set_aside"], json!([]));
    let palace = dir.palace().display().to_string();
    let human = dir.run(&["restore", "b.backup", "--replace"]).ok();
    let aside = names(&dir.json(0, &["status"])["set_aside"]);
    assert!(
        aside[0].starts_with("palace.sqlite3.replaced-"),
        "{aside:?}"
    );
    assert_eq!(
        human.stdout,
        format!(
            "restored 1 drawer(s) into the palace `{palace}`\n\
             the old palace is kept as `{palace}/{}`\n",
            aside[0]
        )
    );
    let status = dir.run(&["status"]).ok();
    for name in &aside {
        assert!(dir.palace().join(name).is_file(), "{name}");
        assert!(
            status.stdout.contains(&format!("set aside    {name}\n")),
            "{status:?}"
        );
    }
    // Where nothing was, nothing is kept.
    let fresh = dir.json(0, &["restore", "b.backup", "--palace", "fresh"]);
    assert_eq!(
        fresh,
        json!({"palace": "fresh", "restored": 1, "set_aside": null})
    );
    let human = dir.run(&["restore", "b.backup", "--palace", "other"]).ok();
    assert_eq!(
        human.stdout,
        "restored 1 drawer(s) into the palace `other`\n"
    );
}

#[test]
fn an_export_or_a_backup_into_the_palace_is_refused_and_harms_nothing() {
    let dir = Dir::with_index();
    let right = dir.nearest(5);
    let names = Dir::files(&dir.palace());
    let database = std::fs::read(dir.database()).unwrap();
    let link = dir.path("link");
    std::os::unix::fs::symlink(dir.palace(), &link).unwrap();
    for target in [
        "palace/palace.sqlite3",
        "palace/palace.sqlite3-wal",
        "palace/new",
        "palace/index/new",
        "link/palace.sqlite3",
        "home/../palace/./new",
    ] {
        for command in [
            &["export", target][..],
            &["export", target, "--force"],
            &["backup", target],
        ] {
            let error = dir.error(2, command);
            assert_eq!(error["kind"], "invalid_input", "{command:?}: {error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(target), "{command:?}: {error}");
            assert!(message.contains("inside the palace"), "{error}");
        }
    }
    assert_eq!(Dir::files(&dir.palace()), names);
    assert!(std::fs::read(dir.database()).unwrap() == database);
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
    assert_eq!(dir.nearest(5), right);
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
