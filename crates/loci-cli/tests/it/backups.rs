//! `backup --into`: a series of backups, of which the newest are kept, and the record of the last.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Dir, lines, names};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A palace with some drawers.
fn filled(drawers: usize) -> Dir {
    let dir = Dir::new();
    let records = (0..drawers).map(|n| {
        json!({"id": format!("d{n}"), "document": format!("drawer number {n} about the boiler")})
    });
    let file = dir.write("filled.jsonl", lines(records));
    dir.json(0, &["import", "jsonl", text(&file)]);
    dir
}

/// The backups in a folder, by name.
fn backups(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "backup"))
        .collect();
    paths.sort();
    paths
}

/// Number of drawers that a backup gives back.
fn restored(dir: &Dir, backup: &Path) -> u64 {
    let into = dir.path("restored");
    let _ = fs::remove_dir_all(&into);
    let answer = dir.json(0, &["restore", text(backup), "--palace", text(&into)]);
    answer["restored"].as_u64().unwrap()
}

fn into(dir: &Dir, folder: &Path, keep: &str) -> Value {
    dir.json(0, &["backup", "--into", text(folder), "--keep", keep])
}

#[test]
fn the_newest_backups_are_kept_and_each_restores() {
    let dir = filled(3);
    let folder = dir.path("away/backups");
    let mut made = Vec::new();
    for round in 0..4 {
        dir.json(
            0,
            &[
                "add",
                &format!("round {round}"),
                "--id",
                &format!("r{round}"),
            ],
        );
        let answer = into(&dir, &folder, "2");
        assert_eq!(answer["verified"], true);
        assert_eq!(answer["drawers"], 4 + round);
        assert_eq!(answer["kept"], (round + 1).min(2));
        let path = PathBuf::from(answer["backup"].as_str().unwrap());
        assert_eq!(answer["bytes"], fs::metadata(&path).unwrap().len());
        made.push(path);
        let removed = names(&answer["removed"]);
        let expected = made
            .len()
            .checked_sub(3)
            .map(|at| text(&made[at]).to_owned());
        assert_eq!(removed, expected.into_iter().collect::<Vec<_>>());
    }
    assert!(made.is_sorted(), "names sort by time: {made:?}");
    assert_eq!(backups(&folder), made[2..]);
    assert_eq!(restored(&dir, &made[2]), 6);
    assert_eq!(restored(&dir, &made[3]), 7);
    // Only the owner may read what is in a palace.
    for (path, mode) in [(&folder, 0o700), (&made[3], 0o600)] {
        let permissions = fs::metadata(path).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{}", path.display());
    }
    let left: Vec<_> = fs::read_dir(&folder).unwrap().flatten().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn without_keep_nothing_is_removed_and_keep_needs_a_folder() {
    let dir = filled(1);
    let folder = dir.path("b");
    for _ in 0..3 {
        let answer = dir.json(0, &["backup", "--into", "b"]);
        assert_eq!(answer["removed"], json!([]));
    }
    assert_eq!(backups(&folder).len(), 3);
    for wrong in [
        &["backup", "--keep", "2"][..],
        &["backup", "x", "--keep", "2"],
        &["backup", "x", "--into", "b"],
        &["backup", "--into", "b", "--keep", "0"],
        &["backup"],
    ] {
        assert_eq!(dir.error(64, wrong)["kind"], "usage", "{wrong:?}");
    }
    assert_eq!(backups(&folder).len(), 3);
    let human = dir.run(&["backup", "--into", "b", "--keep", "1"]).ok();
    assert!(human.stdout.contains("and checked it\n"), "{human:?}");
    assert_eq!(human.stdout.matches("removed `").count(), 3, "{human:?}");
    assert!(
        human
            .stdout
            .ends_with("1 backup of this palace in the folder\n"),
        "{human:?}"
    );
}

/// Everything in the folder that is not a backup of this palace stays as it is.
#[test]
fn files_of_others_links_and_folders_are_never_removed() {
    let dir = filled(1);
    let folder = dir.path("b");
    let first = PathBuf::from(into(&dir, &folder, "1")["backup"].as_str().unwrap());
    let name = first.file_name().unwrap().to_str().unwrap().to_owned();
    // Names of the same form, all older than the first.
    let older = |year: &str| folder.join(name.replace("-20", &format!("-{year}")));
    let (linked, folded, empty) = (older("17"), older("18"), older("19"));
    let outside = dir.path("outside");
    fs::copy(&first, &outside).unwrap();
    symlink(&outside, &linked).unwrap();
    fs::create_dir(&folded).unwrap();
    fs::write(&empty, "").unwrap();
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    fs::create_dir(folder.join(".loci-backup-0-1.tmp")).unwrap();
    // Backups of another palace, and of a copy of this palace at another place.
    let other = dir.path("other");
    dir.json(0, &["add", "x", "--palace", text(&other)]);
    let copy = dir.path("copy");
    dir.json(0, &["restore", text(&first), "--palace", text(&copy)]);
    for palace in [&other, &copy] {
        let arguments = [
            "backup",
            "--into",
            "b",
            "--keep",
            "1",
            "--palace",
            text(palace),
        ];
        assert_eq!(dir.json(0, &arguments)["removed"], json!([]));
    }
    // A backup of another palace under a name of this one.
    let disguised = older("16");
    dir.json(0, &["backup", text(&disguised), "--palace", text(&other)]);
    let before: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .map(|e| e.path())
        .collect();
    let answer = into(&dir, &folder, "1");
    assert_eq!(names(&answer["removed"]), [text(&first)]);
    let left_out: Vec<&str> = answer["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning["code"].as_str().unwrap())
        .collect();
    assert_eq!(left_out, ["backup_left", "backup_left"], "{answer}");
    for path in before.iter().filter(|path| **path != first) {
        assert!(fs::symlink_metadata(path).is_ok(), "{}", path.display());
    }
    assert!(outside.is_file());
}

/// A cut copy of an old backup must not take the place of a whole one.
#[test]
fn a_backup_that_was_cut_does_not_count() {
    let dir = filled(5);
    let folder = dir.path("b");
    let one = PathBuf::from(into(&dir, &folder, "3")["backup"].as_str().unwrap());
    let two = PathBuf::from(into(&dir, &folder, "3")["backup"].as_str().unwrap());
    let bytes = fs::read(&two).unwrap();
    fs::write(&two, &bytes[..bytes.len() / 2]).unwrap();
    let answer = into(&dir, &folder, "2");
    assert_eq!(answer["removed"], json!([]), "{answer}");
    assert_eq!(
        (
            &answer["kept"],
            answer["warnings"].as_array().unwrap().len()
        ),
        (&json!(2), 1)
    );
    assert_eq!(restored(&dir, &one), 5);
    let third = into(&dir, &folder, "2");
    assert_eq!(names(&third["removed"]), [text(&one)]);
    assert!(two.is_file());
}

#[test]
fn a_backup_with_damaged_drawers_removes_no_older_one() {
    let dir = Dir::new();
    dir.json(
        0,
        &["add", "the boiler is repaired by Quentin", "--id", "a"],
    );
    let folder = dir.path("b");
    let whole = PathBuf::from(into(&dir, &folder, "1")["backup"].as_str().unwrap());
    dir.damage("the boiler is repaired by Quentin");
    let answer = into(&dir, &folder, "1");
    assert_eq!(answer["removed"], json!([]), "{answer}");
    assert_eq!(answer["warnings"][0]["code"], "backup_damaged", "{answer}");
    assert_eq!(restored(&dir, &whole), 1);
    let got = dir.json(0, &["get", "a", "--palace", text(&dir.path("restored"))]);
    assert_eq!(
        got["drawers"][0]["text"],
        "the boiler is repaired by Quentin"
    );
}

/// Whatever the moment of the kill, the two old backups or newer ones are there and restore.
#[test]
fn a_kill_at_any_moment_leaves_as_many_good_backups_as_are_kept() {
    let dir = filled(400);
    let folder = dir.path("b");
    for _ in 0..2 {
        into(&dir, &folder, "2");
    }
    let since = Instant::now();
    into(&dir, &folder, "2");
    let whole = since.elapsed();
    let (mut killed, mut ended) = (0, 0);
    for round in 0..24_u32 {
        let mut child = dir.spawn(&["backup", "--into", "b", "--keep", "2", "--json"]);
        let until = Instant::now() + whole * round / 20;
        while Instant::now() < until {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            ended += 1;
        } else {
            killed += 1;
        }
        let there = backups(&folder);
        assert!(there.len() >= 2, "round {round}: {there:?}");
        if round % 6 == 5 {
            for backup in &there {
                assert_eq!(restored(&dir, backup), 400, "{}", backup.display());
            }
        }
    }
    assert!(killed > 5, "{killed} killed, {ended} ended");
    // The next backup removes what the killed ones left.
    let answer = into(&dir, &folder, "2");
    assert_eq!(answer["kept"], 2);
    let left: Vec<_> = fs::read_dir(&folder).unwrap().flatten().collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}

#[test]
fn backups_at_the_same_time_do_not_disturb_each_other() {
    let dir = filled(200);
    let folder = dir.path("b");
    let mut children: Vec<_> = (0..4)
        .map(|_| dir.spawn(&["backup", "--into", "b", "--keep", "3"]))
        .collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let there = backups(&folder);
    assert!(there.len() >= 3, "{there:?}");
    for backup in &there {
        assert_eq!(restored(&dir, backup), 200);
    }
    assert_eq!(into(&dir, &folder, "3")["kept"], 3);
}

#[test]
fn status_and_doctor_tell_when_the_last_backup_was_made() {
    let dir = Dir::new();
    dir.json(0, &["init"]);
    assert!(codes(&doctor(&dir, None)).is_empty());
    dir.json(0, &["add", "the boiler", "--id", "a"]);
    assert_eq!(codes(&doctor(&dir, None)), ["backup_none"]);
    assert_eq!(dir.json(0, &["status"])["last_backup"], Value::Null);
    assert!(
        dir.run(&["status"])
            .ok()
            .stdout
            .contains("last backup  none\n")
    );
    let made = into(&dir, &dir.path("b"), "7");
    let last = dir.json(0, &["status"])["last_backup"].clone();
    let path = dir.path("b").canonicalize().unwrap().join(
        Path::new(made["backup"].as_str().unwrap())
            .file_name()
            .unwrap(),
    );
    let shown = PathBuf::from(last["path"].as_str().unwrap())
        .canonicalize()
        .unwrap();
    assert_eq!(shown, path);
    assert_eq!(
        (
            &last["bytes"],
            &last["made_at"],
            &last["verified"],
            &last["missing"]
        ),
        (
            &made["bytes"],
            &made["made_at"],
            &json!(true),
            &json!(false)
        )
    );
    let human = dir.run(&["status"]).ok();
    assert!(
        human.stdout.contains("last backup  just now, /"),
        "{human:?}"
    );
    assert!(codes(&doctor(&dir, None)).is_empty());
    // Forty days later, and the palace has changed.
    dir.json(0, &["add", "the pump", "--id", "b"]);
    let later = now() + 40 * 24 * 60 * 60 + 60;
    assert_eq!(codes(&doctor(&dir, Some(later))), ["backup_old"]);
    let human = at(&dir, later, &["status"]);
    assert!(human.contains("last backup  40 days ago, /"), "{human}");
    // What is forgotten now is still in the backup.
    let forgotten = dir.json(0, &["forget", "a"]);
    assert_eq!(forgotten["backup"], last["path"]);
    let human = dir.run(&["forget", "b"]).ok();
    assert!(
        human.stderr.contains("may still hold the text"),
        "{human:?}"
    );
    dir.json(0, &["add", "the roof", "--id", "c"]);
    assert_eq!(codes(&doctor(&dir, None)), ["backup_holds_forgotten"]);
    fs::remove_file(&path).unwrap();
    assert_eq!(codes(&doctor(&dir, None)), ["backup_missing"]);
    assert_eq!(dir.json(0, &["status"])["last_backup"]["missing"], true);
    assert!(
        dir.run(&["status"])
            .ok()
            .stdout
            .contains("the file is gone")
    );
    into(&dir, &dir.path("b"), "7");
    assert!(codes(&doctor(&dir, None)).is_empty());
}

/// A restored palace has no backup yet, and must not claim that of the palace it was made of.
#[test]
fn a_restored_palace_claims_no_backup() {
    let dir = filled(1);
    into(&dir, &dir.path("b"), "7");
    let second = into(&dir, &dir.path("b"), "7");
    let copy = dir.path("copy");
    dir.json(
        0,
        &[
            "restore",
            second["backup"].as_str().unwrap(),
            "--palace",
            text(&copy),
        ],
    );
    let status = dir.json(0, &["status", "--palace", text(&copy)]);
    assert_eq!(status["last_backup"], Value::Null, "{status}");
}

#[test]
fn a_damaged_record_of_the_last_backup_harms_nothing() {
    let dir = filled(1);
    let record = dir.palace().join("palace.backup.json");
    for junk in [
        "",
        "{",
        "[1]",
        "\u{0}",
        "{\"made_at\": 99999999999999999999}",
    ] {
        fs::write(&record, junk).unwrap();
        assert_eq!(
            dir.json(0, &["status"])["last_backup"],
            Value::Null,
            "{junk}"
        );
        assert_eq!(codes(&doctor(&dir, None)), ["backup_none"]);
    }
    fs::remove_file(&record).unwrap();
    fs::create_dir(&record).unwrap();
    let answer = into(&dir, &dir.path("b"), "7");
    assert_eq!(
        answer["warnings"][0]["code"], "backup_not_recorded",
        "{answer}"
    );
    assert!(Path::new(answer["backup"].as_str().unwrap()).is_file());
}

#[test]
fn a_backup_into_a_missing_folder_names_it_and_says_what_to_do() {
    let dir = filled(1);
    let error = dir.error(2, &["backup", "no/where/b"]);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("there is no folder `no/where`"), "{error}");
    assert!(
        error["help"]
            .as_str()
            .unwrap()
            .contains("mkdir -p no/where"),
        "{error}"
    );
    dir.write("file", "x");
    let error = dir.error(2, &["backup", "file/b"]);
    assert!(
        error["message"].as_str().unwrap().contains("`file`"),
        "{error}"
    );
    let error = dir.error(2, &["backup", "--into", "file", "--keep", "1"]);
    assert!(
        error["message"].as_str().unwrap().contains("`file`"),
        "{error}"
    );
    let error = dir.error(2, &["backup", "--into", "palace/b", "--keep", "1"]);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("inside the palace"),
        "{error}"
    );
    assert!(!dir.palace().join("b").exists());
    let error = dir.error(2, &["backup", "file"]);
    assert_eq!(error["kind"], "conflict");
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or(Duration::ZERO).as_secs()
}

/// What a command prints at another time.
fn at(dir: &Dir, seconds: u64, arguments: &[&str]) -> String {
    let mut command = dir.command();
    command
        .env("LOCI_TEST_NOW", seconds.to_string())
        .args(arguments);
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

/// The report of `loci doctor`, today or at another time.
fn doctor(dir: &Dir, time: Option<u64>) -> Value {
    let shown = at(dir, time.unwrap_or_else(now), &["doctor", "--json"]);
    serde_json::from_str(&shown).unwrap()
}

/// The codes of findings about backups.
fn codes(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap();
    let codes = findings
        .iter()
        .map(|finding| finding["code"].as_str().unwrap());
    codes
        .filter(|code| code.starts_with("backup_"))
        .map(str::to_owned)
        .collect()
}
