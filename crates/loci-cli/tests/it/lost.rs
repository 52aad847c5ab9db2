//! A palace that has lost its database, with or without the log that holds the newest commits.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use crate::support::{Dir, lines, texts, vector, wait_until};

/// Drawers in the log: one batch of an import.
const LOGGED: u64 = 200;

fn log(dir: &Dir) -> std::path::PathBuf {
    dir.palace().join("palace.sqlite3-wal")
}

/// A palace whose writer was killed while its log held all drawers. Nobody closed it since.
fn killed() -> Dir {
    let dir = Dir::new();
    dir.json(0, &["init", "--metric", "l2"]);
    assert_eq!(std::fs::metadata(log(&dir)).map_or(0, |log| log.len()), 0);
    let mut writer = dir
        .command()
        .args(["import", "jsonl", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The record after the batch makes it a commit; then the import waits for more.
    let records = (0..=LOGGED).map(|n| {
        json!({"id": format!("d{n}"), "document": format!("drawer number {n}"),
               "metadata": {"n": n}, "embedding": vector(n)})
    });
    let mut input = writer.stdin.take().unwrap();
    input.write_all(lines(records).as_bytes()).unwrap();
    // Asked of a copy: whoever closes the palace itself empties the log.
    wait_until("a batch in the log", || {
        let copy = tempfile::tempdir().unwrap();
        for name in ["palace.sqlite3", "palace.sqlite3-wal"] {
            let Ok(bytes) = std::fs::read(dir.palace().join(name)) else {
                return false;
            };
            std::fs::write(copy.path().join(name), bytes).unwrap();
        }
        let ran = dir.run(&[
            "status",
            "--json",
            "--palace",
            copy.path().to_str().unwrap(),
        ]);
        ran.code == 0 && ran.stdout.contains(&format!("\"drawers\":{LOGGED},"))
    });
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert!(std::fs::metadata(log(&dir)).unwrap().len() > 0);
    dir
}

fn refuses_and_then_salvages(lose: impl Fn(&Path)) {
    let dir = killed();
    lose(&dir.database());
    let before = dir.contents();
    for arguments in [
        &["status"][..],
        &["add", "new", "--id", "new"],
        &["init"],
        &["init", "--collection", "more"],
        &["import", "jsonl", "/dev/null"],
        &["list"],
        &["forget", "d1"],
        &["backup", "b.backup"],
    ] {
        let error = dir.error(2, arguments);
        assert_eq!(
            (&error["kind"], &error["code"]),
            (&json!("corrupt"), &json!("corrupt")),
            "{arguments:?}: {error}"
        );
        let help = error["help"].as_str().unwrap();
        assert!(help.contains("loci repair"), "{error}");
        assert!(dir.contents() == before, "{arguments:?}");
    }
    let found = dir.json(1, &["verify"]);
    assert_eq!(texts(&found["findings"], "kind"), ["database"]);
    assert!(dir.contents() == before, "verify");
    let logged = std::fs::read(log(&dir)).unwrap();
    let report = dir.json(1, &["repair"]);
    assert!(
        std::fs::read(log(&dir)).unwrap() == logged,
        "repair only reads"
    );
    let salvage = &report["salvage"];
    assert_eq!(salvage["saved"], LOGGED, "{salvage}");
    for lost in ["without_vector", "damaged"] {
        assert_eq!(salvage[lost], json!([]), "{salvage}");
    }
    let palace = ["--palace", salvage["palace"].as_str().unwrap()];
    let run = |arguments: &[&str]| dir.json(0, &[arguments, &palace].concat());
    assert_eq!(run(&["verify", "--deep"])["drawers"], LOGGED);
    let status = run(&["status"]);
    assert_eq!(texts(&status["collections"], "name"), ["drawers"]);
    assert_eq!(texts(&status["collections"], "metric"), ["l2"]);
    let got = run(&["get", "d0", "d199", "--vectors"]);
    assert_eq!(
        texts(&got["drawers"], "text"),
        ["drawer number 0", "drawer number 199"]
    );
    assert_eq!(got["drawers"][1]["metadata"], json!({"n": 199}));
    let embedding: Vec<f32> =
        serde_json::from_value(got["drawers"][1]["embedding"].clone()).unwrap();
    assert_eq!(embedding, vector(199));
}

#[test]
fn an_emptied_database_is_not_written_over_and_its_log_is_salvaged() {
    refuses_and_then_salvages(|database| std::fs::write(database, "").unwrap());
}

#[test]
fn a_removed_database_is_not_made_anew_and_its_log_is_salvaged() {
    refuses_and_then_salvages(|database| std::fs::remove_file(database).unwrap());
}

#[test]
fn a_killed_writer_alone_costs_nothing() {
    let dir = killed();
    let status = dir.json(0, &["status"]);
    assert_eq!(status["drawers"], LOGGED);
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}

#[test]
fn an_index_without_its_database_is_not_taken_for_a_new_palace() {
    let dir = Dir::with_index();
    std::fs::remove_file(dir.database()).unwrap();
    let before = dir.contents();
    for arguments in [&["status"][..], &["add", "new"], &["init"]] {
        assert_eq!(dir.error(2, arguments)["kind"], "corrupt", "{arguments:?}");
        assert!(dir.contents() == before, "{arguments:?}");
    }
}

/// A palace with one drawer that nobody has open, and a backup of it.
fn closed() -> Dir {
    let dir = Dir::new();
    dir.json(0, &["add", "the only drawer", "--id", "d1"]);
    dir.json(0, &["backup", "saved.loci"]);
    for name in ["palace.sqlite3-wal", "palace.sqlite3-shm"] {
        let _ = std::fs::remove_file(dir.palace().join(name));
    }
    dir
}

/// Bug: an emptied database without a log counted as no palace. `doctor` reported "no palace yet",
/// and `add` started an empty palace.
#[test]
fn a_lost_database_is_reported_as_damage_and_nothing_is_started_in_its_place() {
    let empty = |database: &Path| std::fs::write(database, "").unwrap();
    let remove = |database: &Path| std::fs::remove_file(database).unwrap();
    for (state, lose) in [
        ("empty (0 bytes)", &empty as &dyn Fn(&Path)),
        ("missing", &remove),
    ] {
        let dir = closed();
        lose(&dir.database());
        let before = dir.contents();
        for arguments in [
            &["status"][..],
            &["add", "new"],
            &["init"],
            &["list"],
            &["search", "drawer"],
            &["get", "d1"],
            &["mine", "saved.loci"],
            &["import", "jsonl", "/dev/null"],
            &["forget", "d1"],
            &["backup", "b.backup"],
            &["repair"],
            &["repair", "--replace"],
        ] {
            let error = dir.error(2, arguments);
            assert_eq!(error["code"], "corrupt", "{arguments:?}: {error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("palace.sqlite3"), "{error}");
            assert!(message.contains(state), "{error}");
            let help = error["help"].as_str().unwrap();
            assert!(help.contains("loci restore FILE --replace"), "{error}");
            assert!(help.contains("start over"), "{error}");
            assert!(dir.contents() == before, "{arguments:?}");
        }
        let found = dir.json(1, &["verify"]);
        assert_eq!(texts(&found["findings"], "kind"), ["database"]);
        let report = dir.json(1, &["doctor"]);
        let codes = texts(&report["findings"], "code");
        assert!(codes.contains(&"palace_corrupt".into()), "{report}");
        assert!(!codes.contains(&"no_palace".into()), "{report}");
        assert!(dir.contents() == before, "doctor");
        dir.json(0, &["restore", "saved.loci", "--replace"]);
        assert_eq!(dir.json(0, &["list"])["drawers"][0]["id"], "d1");
    }
}

#[test]
fn a_lost_database_is_noticed_by_every_file_that_only_a_palace_leaves() {
    for (name, content) in [
        ("palace.lock", &b"none \n"[..]),
        ("palace.lock", b"log 1 2 1 3 \n"),
        ("palace.sqlite3-wal", b""),
        ("palace.sqlite3-shm", b""),
        ("palace.sqlite3.replaced-20260101-000000", b"x"),
        ("palace.sqlite3.before-repair-20260101-000000", b"x"),
        ("index.lock", b""),
        ("index/flat-1.snapshot", b"x"),
    ] {
        let dir = Dir::new();
        std::fs::create_dir_all(dir.palace().join("index")).unwrap();
        std::fs::write(dir.palace().join(name), content).unwrap();
        assert_eq!(dir.error(2, &["add", "new"])["code"], "corrupt", "{name}");
        assert!(!dir.database().exists(), "{name}");
    }
}

/// A kill between the lock and the first database leaves only files that prove nothing.
#[test]
fn a_creation_that_was_killed_starts_again() {
    for files in [
        &["palace.lock"][..],
        &["palace.lock", "palace.sqlite3"],
        &["palace.lock", "palace.sqlite3.creating-0123456789abcdef"],
        &["restore.lock", "palace.toml"],
    ] {
        let dir = Dir::new();
        std::fs::create_dir(dir.palace()).unwrap();
        for name in files {
            std::fs::write(dir.palace().join(name), "").unwrap();
        }
        // Its exit code also depends on the umask of the tests.
        let report = dir.run(&["doctor", "--json"]).stdout;
        assert!(report.contains("\"no_palace\""), "{files:?}: {report}");
        dir.json(0, &["add", "new"]);
        assert_eq!(dir.json(0, &["status"])["drawers"], 1, "{files:?}");
    }
}

#[test]
fn a_copy_that_a_repair_kept_is_named_and_can_be_restored() {
    let dir = closed();
    let kept = dir
        .palace()
        .join("palace.sqlite3.before-repair-20260101-000000");
    std::fs::copy(dir.path("saved.loci"), &kept).unwrap();
    std::fs::write(dir.database(), "").unwrap();
    let error = dir.error(2, &["status"]);
    let kept = kept.to_str().unwrap();
    assert!(error["help"].as_str().unwrap().contains(kept), "{error}");
    dir.json(0, &["restore", kept, "--replace"]);
    assert_eq!(dir.json(0, &["list"])["drawers"][0]["id"], "d1");
}
