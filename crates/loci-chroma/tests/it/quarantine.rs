//! MemPalace's own test cases for the quarantine of segments, and a promise that MemPalace does not
//! make: no vector is lost.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use loci_chroma::{QuarantineOptions, QuarantineReport, quarantine};
use loci_core::{Advice, ErrorKind};
use rusqlite::Connection;

use crate::damage::case;
use crate::peer::judge;
use crate::repair::vectors;
use crate::scene::{DATA, DATABASE, Scene, contents};

const UUID: &str = "6fb673b9-9fca-432e-b1f5-6c64ae9a3642";

/// Sets the time of the file at `path` to this long ago.
fn age(path: &Path, seconds: u64) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds))
        .unwrap();
}

/// Makes the segment two hours older than the database, however old the scene is.
fn make_stale(scene: &Scene) {
    let written = fs::metadata(scene.database()).unwrap().modified().unwrap();
    let file = File::options().write(true).open(scene.file(DATA)).unwrap();
    file.set_modified(written - Duration::from_secs(7200))
        .unwrap();
}

/// A directory as in MemPalace's tests: an empty database file, and a segment with one file.
fn bare(gap: u64) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let palace = folder.path().join("palace");
    fs::create_dir_all(palace.join(UUID)).unwrap();
    fs::write(palace.join(DATABASE), "").unwrap();
    fs::write(palace.join(UUID).join(DATA), "vectors").unwrap();
    age(&palace.join(UUID).join(DATA), gap);
    (folder, palace)
}

fn run(path: &Path) -> QuarantineReport {
    quarantine(path, &QuarantineOptions::default()).unwrap()
}

/// A quarantine of a [`bare`] directory, whose database cannot take vectors.
fn rename(path: &Path) -> QuarantineReport {
    let options = QuarantineOptions {
        rename_only: true,
        ..QuarantineOptions::default()
    };
    quarantine(path, &options).unwrap()
}

#[test]
fn a_fresh_segment_is_left_alone() {
    let (_folder, palace) = bare(600);
    let before = contents(&palace);
    assert!(run(&palace).directories.is_empty());
    assert_eq!(contents(&palace), before);
}

#[test]
fn a_segment_two_hours_behind_is_renamed_with_its_files_inside() {
    let (_folder, palace) = bare(7200);
    let report = rename(&palace);
    assert_eq!(report.directories.len(), 1);
    let moved = &report.directories[0];
    let to = moved.to.as_ref().unwrap();
    let name = to.file_name().unwrap().to_str().unwrap();
    let stamp = name.strip_prefix(&format!("{UUID}.drift-")).unwrap();
    let digits: Vec<usize> = stamp.split('-').map(str::len).collect();
    assert_eq!(digits, [8, 6], "{stamp}");
    assert_eq!(fs::read_to_string(to.join(DATA)).unwrap(), "vectors");
    assert!(!palace.join(UUID).exists());
    assert!((7199..7300).contains(&moved.gap_seconds));
    assert_eq!(moved.vectors_saved, 0);
    assert_eq!(moved.problem, None);
}

#[test]
fn a_missing_palace_and_a_missing_database_are_errors() {
    let (folder, palace) = bare(7200);
    fs::remove_file(palace.join(DATABASE)).unwrap();
    for path in [folder.path().join("nowhere"), palace.clone()] {
        let refused = quarantine(&path, &QuarantineOptions::default()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{refused}");
        assert!(refused.to_string().contains("no ChromaDB directory"));
    }
    assert!(palace.join(UUID).exists());
}

#[test]
fn what_is_already_set_aside_hidden_or_no_segment_is_skipped() {
    let (_folder, palace) = bare(7200);
    let aside = format!("{UUID}.drift-20260101-000000");
    let hidden = format!(".{UUID}");
    for name in [aside.as_str(), hidden.as_str(), "plain"] {
        fs::create_dir(palace.join(name)).unwrap();
        fs::write(palace.join(name).join(DATA), "").unwrap();
        age(&palace.join(name).join(DATA), 7200);
    }
    fs::create_dir(palace.join("no-vectors")).unwrap();
    let report = rename(&palace);
    let renamed: Vec<_> = report.directories.iter().map(|one| &one.from).collect();
    assert_eq!(renamed, [&palace.join(UUID)]);
}

#[test]
fn a_taken_name_is_not_overwritten() {
    let (_folder, palace) = bare(7200);
    let first = rename(&palace).directories[0].to.clone().unwrap();
    fs::create_dir(palace.join(UUID)).unwrap();
    fs::write(palace.join(UUID).join(DATA), "more").unwrap();
    age(&palace.join(UUID).join(DATA), 7200);
    // The name for this second and for the next ones is taken.
    for later in 0..5 {
        let stamp = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(later);
        let name = format!("{UUID}.drift-{}", stamp.strftime("%Y%m%d-%H%M%S"));
        fs::create_dir_all(palace.join(name)).unwrap();
    }
    let second = rename(&palace).directories[0].to.clone().unwrap();
    assert_ne!(first, second);
    assert_eq!(fs::read_to_string(first.join(DATA)).unwrap(), "vectors");
    assert_eq!(fs::read_to_string(second.join(DATA)).unwrap(), "more");
}

#[test]
fn a_dry_run_changes_nothing() {
    let (_folder, palace) = bare(7200);
    let before = contents(&palace);
    let options = QuarantineOptions {
        dry_run: true,
        rename_only: true,
        ..QuarantineOptions::default()
    };
    let report = quarantine(&palace, &options).unwrap();
    assert_eq!(report.directories.len(), 1);
    assert_eq!(report.directories[0].to, None);
    assert_eq!(contents(&palace), before);
}

#[cfg(unix)]
#[test]
fn a_rename_that_fails_is_reported_and_the_rest_go_on() {
    use std::os::unix::fs::PermissionsExt;
    // Permissions do not stop the superuser, but a name that is too long fails for everyone.
    let (_folder, palace) = bare(7200);
    let long = format!("a-{}", "x".repeat(240));
    fs::create_dir(palace.join(&long)).unwrap();
    fs::write(palace.join(&long).join(DATA), "").unwrap();
    fs::set_permissions(palace.join(&long), fs::Permissions::from_mode(0o755)).unwrap();
    age(&palace.join(&long).join(DATA), 7200);
    let report = rename(&palace);
    let of = |name: &str| {
        let path = palace.join(name);
        report
            .directories
            .iter()
            .find(|one| one.from == path)
            .unwrap()
    };
    assert!(of(&long).problem.is_some());
    assert!(of(&long).to.is_none());
    assert!(of(UUID).to.is_some());
}

#[test]
fn quarantining_a_stale_segment_loses_no_vector() {
    let Some(scene) = Scene::standard() else {
        return;
    };
    make_stale(&scene);
    let kept = vectors(&scene);
    let report = run(&scene.directory);
    assert_eq!(report.directories.len(), 1, "{report:#?}");
    let drawers = &report.directories[0];
    assert_eq!(drawers.collection.as_deref(), Some("drawers"));
    assert!(drawers.vectors_saved > 1000);
    assert!(report.backup.as_ref().unwrap().is_file());
    assert!(!scene.segment().exists());
    assert_eq!(vectors(&scene), kept);
    let problems = judge(&scene.directory, &scene.expected)
        .unwrap()
        .problems(&scene.expected);
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn a_plain_rename_says_how_many_vectors_become_unreachable() {
    let Some(scene) = Scene::standard() else {
        return;
    };
    make_stale(&scene);
    let before = fs::read(scene.database()).unwrap();
    let options = QuarantineOptions {
        rename_only: true,
        ..QuarantineOptions::default()
    };
    let report = quarantine(&scene.directory, &options).unwrap();
    assert!(report.directories[0].vectors_unreachable > 1000);
    assert_eq!(report.directories[0].vectors_saved, 0);
    assert!(
        report
            .warnings
            .iter()
            .any(|line| line.contains("vectors lie only"))
    );
    assert_eq!(fs::read(scene.database()).unwrap(), before);
    assert!(!scene.segment().exists());
}

#[test]
fn the_check_finds_damage_that_times_do_not_show() {
    let Some(scene) = case("data_links_out_of_range").stage() else {
        return;
    };
    assert!(run(&scene.directory).directories.is_empty());
    let options = QuarantineOptions {
        check: true,
        ..QuarantineOptions::default()
    };
    let report = quarantine(&scene.directory, &options).unwrap();
    assert_eq!(report.directories.len(), 1);
    assert!(report.directories[0].damaged);
    let problems = judge(&scene.directory, &scene.expected)
        .unwrap()
        .problems(&scene.expected);
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn times_are_read_before_anything_is_written() {
    let Some(scene) = Scene::standard() else {
        return;
    };
    // The files of the second collection are fresh, and would look stale after the database is
    // written, with a limit as small as its gap.
    let database = scene.database();
    age(&database, 10_000);
    age(&scene.file(DATA), 20_000);
    let notes = second_segment(&scene);
    age(&notes.join(DATA), 9_999);
    let report = run(&scene.directory);
    assert_eq!(report.directories.len(), 1, "{report:#?}");
    assert!(notes.exists());
}

fn second_segment(scene: &Scene) -> PathBuf {
    let first = scene.vector_segment();
    let database = Connection::open(scene.database()).unwrap();
    let name: String = database
        .query_row(
            "SELECT id FROM segments WHERE scope = 'VECTOR' AND id <> ?1",
            [first],
            |row| row.get(0),
        )
        .unwrap();
    scene.directory.join(name)
}

#[test]
fn a_segment_of_an_unreadable_database_is_renamed_only_on_request() {
    let (_folder, palace) = bare(7200);
    let mut noise = vec![0; 8192];
    fastrand::Rng::with_seed(5).fill(&mut noise);
    fs::write(palace.join(DATABASE), noise).unwrap();
    let before = contents(&palace);
    let refused = quarantine(&palace, &QuarantineOptions::default()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Corrupt);
    let path = palace.clone();
    assert_eq!(
        refused.advice(),
        Some(Advice::DiagnoseAndImport { path }),
        "{refused}"
    );
    assert_eq!(contents(&palace), before);
    let report = rename(&palace);
    assert!(report.directories[0].to.is_some(), "{report:#?}");
    assert_eq!(report.directories[0].vectors_saved, 0);
}
