//! Full disks and readers that go away.

use serde_json::json;

use crate::support::{Dir, lines};

fn many_lines(dir: &Dir) -> String {
    let records = (0..4_000).map(|n| {
        let text = format!("text {n} {}", "word ".repeat(50));
        json!({"id": format!("x{n}"), "document": text})
    });
    dir.write("many.jsonl", lines(records))
        .to_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_file_size_limit_is_a_clean_error_and_the_palace_stays_whole() {
    let dir = Dir::new();
    dir.json(0, &["add", "first", "--id", "first"]);
    let file = many_lines(&dir);
    // In blocks of 1,024 bytes: enough for a few batches, not for all.
    let ran = dir.shell(&format!(
        "ulimit -f 600; exec \"$LOCI\" import jsonl {file} --json"
    ));
    let error = ran.error(2);
    assert_eq!(error["kind"], "unavailable", "{error}");
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
    assert_eq!(
        dir.json(0, &["get", "first"])["drawers"][0]["text"],
        "first"
    );
    let left = dir.json(0, &["status"])["drawers"].as_u64().unwrap();
    assert_eq!(left % 200, 1, "batches are all or nothing");
    let again = dir.json(0, &["import", "jsonl", &file]);
    assert_eq!(
        again["added"].as_u64().unwrap() + again["skipped"].as_u64().unwrap(),
        4_000
    );
    assert_eq!(dir.json(0, &["status"])["drawers"], 4_001);
}

#[test]
fn what_a_forget_finds_no_room_to_purge_is_purged_by_the_next_process() {
    let dir = Dir::new();
    let file = many_lines(&dir);
    dir.json(0, &["import", "jsonl", &file]);
    dir.json(0, &["add", "qzxvsecretword", "--id", "secret"]);
    // Enough for the removal, not for writing the palace anew.
    let ran = dir.shell("ulimit -f 1500; \"$LOCI\" forget secret --json 2>&1");
    assert!(
        ran.stdout.starts_with('{') && ran.stdout.lines().count() == 1,
        "{ran:?}"
    );
    assert_eq!(dir.json(1, &["get", "secret"])["drawers"], json!([]));
    assert_eq!(dir.json(0, &["status"])["purge_pending"], false);
    for file in Dir::files(&dir.palace()) {
        let bytes = std::fs::read(&file).unwrap();
        let found = bytes.windows(14).any(|window| window == b"qzxvsecretword");
        assert!(!found, "{}", file.display());
    }
}

#[test]
fn an_export_or_a_backup_that_finds_no_room_leaves_no_file() {
    let dir = Dir::new();
    let file = many_lines(&dir);
    dir.json(0, &["import", "jsonl", &file]);
    for (command, target) in [("export", "e.jsonl"), ("backup", "b.backup")] {
        let ran = dir.shell(&format!(
            "ulimit -f 100; exec \"$LOCI\" {command} {target} --json"
        ));
        assert_eq!(ran.error(2)["kind"], "unavailable");
        assert!(!dir.path(target).exists(), "{command}");
    }
    let left: Vec<_> = std::fs::read_dir(dir.path(""))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().starts_with(".loci")),
        "{left:?}"
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = Dir::new();
    let file = many_lines(&dir);
    dir.json(0, &["import", "jsonl", &file]);
    for command in ["list --limit 4000", "export", "list --limit 4000 --json"] {
        let ran = dir.shell(&format!(
            "set -o pipefail; \"$LOCI\" {command} | head -1 >/dev/null; echo ${{PIPESTATUS[0]}}"
        ));
        assert_eq!(
            (ran.stdout.as_str(), ran.stderr.as_str()),
            ("0\n", ""),
            "{command}"
        );
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    if !std::path::Path::new("/dev/full").exists() {
        eprintln!("SKIPPED: this system has no /dev/full");
        return;
    }
    let dir = Dir::new();
    dir.json(0, &["add", "x"]);
    for command in ["list", "export", "status --json"] {
        let ran = dir.shell(&format!("\"$LOCI\" {command} > /dev/full; echo $?"));
        assert_eq!(ran.stdout, "2\n", "{command}: {ran:?}");
        assert_ne!(ran.stderr, "");
    }
}
