//! `quarantine` and `repair --chroma`: which directory is meant, what is said before and after.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::chroma_directories::Old;
use crate::support::Dir;

/// A directory whose index files are five hours older than the database.
fn stale(dir: &Dir, place: &str) -> Old {
    let old = Old::copy(dir, place, "chroma-0.6-flushed");
    let before = SystemTime::now() - Duration::from_secs(5 * 3_600);
    for file in indexes(&old).iter().flat_map(|index| Dir::files(index)) {
        let file = File::options().write(true).open(file).unwrap();
        file.set_modified(before).unwrap();
    }
    old
}

/// Directories of index files.
fn indexes(old: &Old) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(&old.path).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_dir()).collect()
}

#[test]
fn a_quarantine_finds_the_directory_as_a_doctor_does() {
    let dir = Dir::new();
    let old = stale(&dir, "home/.mempalace/palace");
    let home = dir.path("home/.mempalace");
    let database = old.database();
    for place in [&home, &old.path, &database] {
        let report = dir.json(0, &["quarantine", place.to_str().unwrap(), "--dry-run"]);
        let found = report["directories"].as_array().unwrap();
        assert_eq!(found.len(), indexes(&old).len(), "{place:?}");
    }
    let words = dir
        .run(&["quarantine", old.name(), "--dry-run"])
        .ok()
        .stdout;
    assert!(words.contains("hours older than the database"), "{words}");
    assert!(words.contains("would be written back"), "{words}");
    let report = dir.json(
        0,
        &["repair", "--chroma", home.to_str().unwrap(), "--dry-run"],
    );
    assert_eq!(report["path"], old.name());
}

/// `doctor` warned about an old index, and `quarantine` said only that there was nothing to do.
#[test]
fn a_quarantine_that_does_nothing_names_what_the_doctor_finds() {
    let dir = Dir::new();
    let old = Old::copy(&dir, "old", "chroma-0.6-flushed");
    let healthy = dir.run(&["quarantine", old.name()]).ok().stdout;
    assert!(!healthy.contains("loci doctor"), "{healthy}");
    let header = indexes(&old)[0].join("header.bin");
    fs::remove_file(header).unwrap();
    let report = dir.json(1, &["doctor", old.name()]);
    let words = dir.run(&["quarantine", old.name()]).ok().stdout;
    assert!(
        words.contains(&format!("`loci doctor {}` reports", old.name())),
        "{words}"
    );
    let findings = report["findings"].as_array().unwrap();
    let grave = findings
        .iter()
        .filter(|finding| finding["severity"] != "note");
    for finding in grave {
        let code = format!("  {}: ", finding["code"].as_str().unwrap());
        assert!(words.contains(&code), "{code} is not in {words}");
        let fix = format!("help: {}", finding["fix"].as_str().unwrap());
        assert!(words.contains(&fix), "{fix} is not in {words}");
    }
}

/// A mistyped path exited with 0, as if nothing there were stale.
#[test]
fn a_quarantine_of_a_missing_path_is_an_error_that_names_it() {
    let dir = Dir::new();
    let missing = dir.path("no/such/chroma");
    let ran = dir.run(&["quarantine", missing.to_str().unwrap()]);
    assert_eq!(ran.code, 2, "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("no/such/chroma"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

/// A mistyped path exited with 0, as if nothing there were stale.
#[test]
fn a_quarantine_of_anything_but_a_chroma_directory_is_an_error() {
    let dir = Dir::new();
    dir.write("letter.txt", "dear palace");
    fs::create_dir(dir.path("empty")).unwrap();
    fs::create_dir(dir.path("other")).unwrap();
    dir.write("other/index.bin", "bytes");
    for place in ["letter.txt", "empty", "other"] {
        for arguments in [&["quarantine", place][..], &["repair", "--chroma", place]] {
            let error = dir.error(2, arguments);
            assert_eq!(error["kind"], "invalid_input");
            let said = error["message"].as_str().unwrap();
            assert!(said.contains("no ChromaDB directory at"), "{said}");
            assert!(said.contains(place), "{said}");
        }
    }
}

/// Vectors of a database that SQLite cannot read were renamed away, and not saved.
#[test]
fn a_quarantine_that_can_save_no_vector_renames_nothing() {
    let dir = Dir::new();
    let old = Old::copy(&dir, "old", "chroma-0.6-flushed");
    let database = File::options().write(true).open(old.database());
    database.unwrap().set_len(100_000).unwrap();
    let before = old.state();
    for more in [
        &["--check"][..],
        &["--check", "--dry-run"],
        &["--stale-seconds", "0"],
    ] {
        let ran = dir.run(&[&["quarantine", old.name()], more].concat());
        assert_eq!(ran.code, 2, "{ran:?}");
        assert_eq!(ran.stdout, "");
        let command = format!("`loci import {}`", old.name());
        assert!(ran.stderr.contains(&command), "{ran:?}");
        assert_eq!(old.state(), before, "{more:?}");
    }
    let imported = dir.run(&["import", old.name()]);
    let found = "drawers -> drawers: 41 record(s)";
    assert!(imported.stdout.contains(found), "{imported:?}");
    let report = dir.json(0, &["quarantine", old.name(), "--check", "--rename-only"]);
    let directories = report["directories"].as_array().unwrap();
    assert_eq!(directories.len(), 2, "{report}");
    for directory in directories {
        assert!(
            directory["vectors_unreachable"].as_u64() > Some(0),
            "{report}"
        );
    }
}

#[test]
fn a_plain_rename_warns_once_and_before_it_is_done() {
    let dir = Dir::new();
    let old = stale(&dir, "old");
    let held = rusqlite::Connection::open(old.database()).unwrap();
    held.query_row("SELECT count(*) FROM collections", [], |_| Ok(()))
        .unwrap();
    let refused = dir.run(&["quarantine", old.name(), "--rename-only"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.starts_with("warning: "), "{refused:?}");
    drop(held);
    let ran = dir.run(&["quarantine", old.name(), "--rename-only"]).ok();
    assert_eq!(ran.stderr.matches("vectors").count(), 1, "{ran:?}");
}

#[test]
fn a_repair_that_moves_records_out_reports_where_and_a_second_one_changes_nothing() {
    let dir = Dir::new();
    let old = Old::copy(&dir, "old", "chroma-0.6-flushed");
    for index in indexes(&old) {
        std::fs::remove_dir_all(index).unwrap();
    }
    let ran = dir.run(&["repair", "--chroma", old.name()]);
    assert_eq!(ran.code, 1, "{ran:?}");
    for part in [
        "80 record(s) whose vector is lost are now in",
        ".set-aside-",
        "loci import jsonl",
        "--embed",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {ran:?}");
    }
    let again = dir.json(0, &["repair", "--chroma", old.name()]);
    assert_eq!(
        (&again["changed"], &again["remaining"]),
        (&json!(false), &json!([]))
    );
}

#[test]
fn a_repaired_directory_has_nothing_left_to_repair() {
    let dir = Dir::new();
    let old = Old::copy(&dir, "old", "chroma-0.6-flushed");
    for index in indexes(&old) {
        std::fs::remove_file(index.join("header.bin")).unwrap();
    }
    let report = dir.json(0, &["repair", "--chroma", old.name()]);
    assert_eq!(
        (&report["changed"], &report["remaining"]),
        (&json!(true), &json!([]))
    );
    let again = dir.json(0, &["repair", "--chroma", old.name()]);
    assert_eq!(
        (&again["changed"], &again["remaining"]),
        (&json!(false), &json!([]))
    );
}

#[test]
fn a_copy_of_a_healthy_directory_is_reported_as_one() {
    let dir = Dir::new();
    let old = Old::copy(&dir, "old", "chroma-0.6-flushed");
    let first = dir.run(&["repair", "--chroma", old.name()]);
    assert!(first.code < 2, "{first:?}");
    let ran = dir.run(&["repair", "--chroma", old.name(), "--output", "mended"]);
    assert!(
        ran.stdout.contains("mended`, a copy: nothing to repair"),
        "{ran:?}"
    );
    assert!(dir.path("mended/chroma.sqlite3").is_file());
}

#[test]
fn a_database_without_tables_is_not_reported_as_repaired() {
    let dir = Dir::new();
    let old = Old::copy(&dir, "old", "chroma-0.6-flushed");
    std::fs::write(old.database(), "").unwrap();
    let ran = dir.run(&["repair", "--chroma", old.name(), "--json"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    let error: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert!(
        error["error"]["message"]
            .as_str()
            .unwrap()
            .contains("backup"),
        "{error}"
    );
}

/// Bug: the help named commands for a palace of Loci, and the copy stayed behind.
#[test]
fn a_database_that_cannot_be_repaired_is_explained_and_leaves_no_copy() {
    let noise: Vec<u8> = (0..8192_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for bytes in [&b""[..], &noise] {
        let dir = crate::support::Dir::new();
        let chroma = dir.path("chroma");
        std::fs::create_dir(&chroma).unwrap();
        std::fs::write(chroma.join("chroma.sqlite3"), bytes).unwrap();
        let chroma = chroma.to_str().unwrap();
        for flags in [&[][..], &["--output", "new"]] {
            let error = dir.error(2, &[&["repair", "--chroma", chroma], flags].concat());
            let help = error["help"].as_str().unwrap_or_default();
            assert!(
                !help.contains("loci repair") && !help.contains("verify"),
                "{error}"
            );
            assert!(!dir.path("new").exists(), "{error}");
        }
    }
}
