//! Repairs that are killed, refused or disturbed, and the state that they leave.

use std::fs;
use std::path::{Path, PathBuf};

use loci_chroma::{RepairOptions, repair};
use loci_core::Error;

use super::{repaired, vectors};
use crate::damage::case;
use crate::peer::judge;
use crate::scene::{Scene, contents};

/// The state after a kill between the commit and the renames: everything is in the queue, and the
/// old directory still exists.
#[test]
fn a_second_run_finishes_what_a_kill_before_the_rename_left() {
    for name in ["data_links_out_of_range", "stale_sqlite", "pickle_bitflip"] {
        let Some(scene) = case(name).stage() else {
            return;
        };
        let report = repaired(&scene.directory);
        let kept = vectors(&scene);
        fs::rename(&report.set_aside[0].to, &report.set_aside[0].from).unwrap();
        let again = repaired(&scene.directory);
        assert!(again.changed, "{name}");
        assert_eq!(again.set_aside.len(), 1, "{name}");
        assert_eq!(vectors(&scene), kept, "{name}");
        assert!(!repaired(&scene.directory).changed, "{name}");
    }
}

/// The command of the killed process.
#[test]
#[ignore = "run by another test"]
fn worker() {
    if let Some(path) = std::env::var_os("LOCI_TEST_REPAIR") {
        repaired(Path::new(&path));
    }
}

#[test]
fn a_process_killed_at_any_moment_leaves_what_a_second_run_mends() {
    let case = case("header_count_low");
    let Some(whole) = case.stage() else { return };
    let started = std::time::Instant::now();
    assert!(start(&whole.directory).wait().unwrap().success());
    let duration = started.elapsed();
    let expected = vectors(&whole);
    let kills = 12;
    for kill in 1..=kills {
        let scene = case.stage().unwrap();
        let mut process = start(&scene.directory);
        // This does not wait for an event; it varies the moment of the kill.
        std::thread::sleep(duration * kill / kills);
        process.kill().unwrap();
        process.wait().unwrap();
        repaired(&scene.directory);
        assert_eq!(vectors(&scene), expected, "kill {kill}");
        assert!(!repaired(&scene.directory).changed, "kill {kill}");
        assert!(!scene.segment().exists());
    }
}

pub fn start(directory: &Path) -> std::process::Child {
    std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "repair::disturbed::worker",
            "--ignored",
            "--quiet",
        ])
        .env("LOCI_TEST_REPAIR", directory)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn the_backup_is_the_database_as_it_was() {
    for name in ["header_deleted", "sqlite_page_garbage"] {
        let Some(scene) = case(name).stage() else {
            return;
        };
        let before = fs::read(scene.database()).unwrap();
        let report = repaired(&scene.directory);
        assert_eq!(fs::read(report.backup.unwrap()).unwrap(), before, "{name}");
    }
}

#[test]
fn segment_directories_are_renamed_and_not_changed() {
    let Some(scene) = case("data_links_out_of_range").stage() else {
        return;
    };
    let before = contents(&scene.segment());
    let report = repaired(&scene.directory);
    assert_eq!(contents(&report.set_aside[0].to), before);
}

#[test]
fn a_copy_is_mended_and_the_original_stays_as_it_is() {
    let Some(scene) = case("header_deleted").stage() else {
        return;
    };
    let before = contents(&scene.directory);
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("mended");
    let options = RepairOptions {
        output: Some(output.clone()),
        ..RepairOptions::default()
    };
    let report = repair(&scene.directory, &options).unwrap();
    assert!(report.changed);
    assert_eq!(report.backup, None);
    assert_eq!(contents(&scene.directory), before);
    let problems = judge(&output, &scene.expected)
        .unwrap()
        .problems(&scene.expected);
    assert!(problems.is_empty(), "{problems:#?}");
    let error = repair(&scene.directory, &options).unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_written_while_another_program_has_the_database_open() {
    let Some(scene) = case("header_deleted").stage() else {
        return;
    };
    let before = contents(&scene.directory);
    let mut holder = std::process::Command::new("sleep")
        .arg("600")
        .stdin(fs::File::open(scene.database()).unwrap())
        .spawn()
        .unwrap();
    let refused = repair(&scene.directory, &RepairOptions::default());
    holder.kill().unwrap();
    holder.wait().unwrap();
    let error = refused.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
    assert!(error.to_string().contains("sleep"), "{error}");
    assert!(
        error.to_string().contains(&holder.id().to_string()),
        "{error}"
    );
    assert_eq!(contents(&scene.directory), before);
}

#[test]
fn a_locked_database_is_left_as_it_is() {
    let Some(scene) = case("header_deleted").stage() else {
        return;
    };
    let holder = scene.sql();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let before = contents(&scene.directory);
    let error = repair(&scene.directory, &RepairOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error}");
    assert_eq!(contents(&scene.directory), before);
}

#[test]
fn a_journal_is_backed_up_with_its_database_and_rolled_back_before_the_repair() {
    let Some(scene) = case("hot_journal").stage() else {
        return;
    };
    fs::remove_file(scene.file("header.bin")).unwrap();
    let journal = scene.directory.join("chroma.sqlite3-journal");
    let before = fs::read(&journal).unwrap();
    let report = repaired(&scene.directory);
    let mut kept = report.backup.unwrap().into_os_string();
    kept.push("-journal");
    assert_eq!(fs::read(kept).unwrap(), before);
    assert!(!journal.exists());
    let problems = judge(&scene.directory, &scene.expected)
        .unwrap()
        .problems(&scene.expected);
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn whatever_bytes_are_wrong_a_repair_ends_and_a_second_one_changes_nothing() {
    let mut mended = 0;
    for seed in 0..120 {
        let mut random = fastrand::Rng::with_seed(seed);
        let scene = Scene::fixture(["chroma-0.6-flushed", "chroma-0.5-queued"][random.usize(..2)]);
        let files: Vec<PathBuf> = contents(&scene.directory).into_keys().collect();
        let path = scene.directory.join(&files[random.usize(..files.len())]);
        let mut bytes = fs::read(&path).unwrap();
        if random.u8(..4) == 0 {
            bytes.truncate(random.usize(..=bytes.len()));
        }
        for _ in 0..random.usize(..40) {
            if !bytes.is_empty() {
                let at = random.usize(..bytes.len());
                bytes[at] ^= random.u8(1..);
            }
        }
        fs::write(&path, bytes).unwrap();
        let before = contents(&scene.directory);
        match repair(&scene.directory, &RepairOptions::default()) {
            Ok(_) => {
                mended += 1;
                let once = contents(&scene.directory);
                let again = repaired(&scene.directory);
                assert!(
                    !again.changed,
                    "seed {seed} {}: {:?}",
                    path.display(),
                    again.changes
                );
                assert_eq!(contents(&scene.directory), once, "seed {seed}");
            }
            Err(error) => {
                println!("seed {seed}: {error}");
                assert_eq!(contents(&scene.directory), before, "seed {seed}: {error}");
            }
        }
    }
    assert!(mended > 60, "only {mended} of 120 could be repaired");
}

#[test]
fn a_directory_without_a_database_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = repair(folder.path(), &RepairOptions::default()).unwrap_err();
    assert!(matches!(error, Error::InvalidInput { .. }), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
