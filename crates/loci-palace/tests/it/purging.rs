//! A purge says why it is not complete, reaches every copy of the text, waits for nobody where
//! nothing was forgotten by this process, and writes nothing outside of the palace.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use loci_sqlite::{CopyPlace, TEXT_COPIES, TextCopy, Treatment};
use serde_json::Value;

use crate::mined::{DRAWERS, Scene, section, with_word};
use crate::support::{
    Op, Rng, StoreRequest, Worker, contents, files_below, fill, open, random_row, run,
};

fn forget(worker: &mut Worker, id: &str) -> Value {
    let ids = vec![id.to_owned()];
    worker.must(&run("drawers", Op::Forget { ids }))
}

fn scene() -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    fill(&open(&path), "drawers", "a", 60, 8, 1);
    (directory, path)
}

/// The purge is done by the next process once nothing stands in its way.
fn assert_completed_by_the_next(path: &Path) {
    Worker::serve(path).finish();
    assert!(
        !open(path)
            .status(&loci_palace::status::Request::default())
            .unwrap()
            .state
            .purge_pending
    );
}

#[test]
fn a_purge_that_waits_for_a_reader_says_so() {
    let (_directory, path) = scene();
    let mut worker = Worker::serve(&path);
    let reader = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM drawers;")
        .unwrap();
    let answer = forget(&mut worker, "a5");
    assert_eq!(answer["reason"], "readers", "{answer}");
    drop(reader);
    worker.kill();
    assert_completed_by_the_next(&path);
}

#[test]
fn a_purge_that_finds_no_room_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    fill(&palace, "drawers", "a", 3_000, 64, 1);
    palace.close().unwrap();
    let mut worker = Worker::limited(&path, 400_000);
    let answer = forget(&mut worker, "a5");
    assert_eq!(answer["reason"], "full", "{answer}");
    worker.kill();
    assert_completed_by_the_next(&path);
}

/// A kept directory whose files cannot be removed. Root removes them all the same, unless they are
/// immutable.
#[test]
fn a_purge_that_may_not_remove_a_copy_says_so() {
    let (_directory, path) = scene();
    let kept = path.join("index.drift-20260101-000000");
    fs::create_dir(&kept).unwrap();
    let file = kept.join("flat-1-2-0123456789abcdef.snapshot");
    fs::write(&file, "old codes").unwrap();
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o500)).unwrap();
    let chattr = |flag: &str| {
        let done = Command::new("chattr").arg(flag).arg(&file).output();
        done.is_ok_and(|output| output.status.success())
    };
    let by_mode = fs::write(kept.join("probe"), "x").is_err();
    if !by_mode && !chattr("+i") {
        eprintln!("SKIPPED: root may remove every file here");
        return;
    }
    let mut worker = Worker::serve(&path);
    let answer = forget(&mut worker, "a5");
    chattr("-i");
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(answer["reason"], "denied", "{answer}");
    // Everything else was done.
    assert!(!contents(&open(&path), "drawers").contains_key("a5"));
    worker.kill();
    assert_completed_by_the_next(&path);
    assert!(!kept.exists());
}

/// The lock that a restore holds while it copies a backup.
#[test]
fn a_purge_beside_a_restore_says_so_and_leaves_its_copy() {
    let (_directory, path) = scene();
    let lock = File::create(path.join("restore.lock")).unwrap();
    lock.lock().unwrap();
    let staging = path.join("palace.sqlite3.staging-0123456789abcdef.tmp");
    fs::write(&staging, "a backup that is being copied").unwrap();
    let mut worker = Worker::serve(&path);
    let answer = forget(&mut worker, "a5");
    assert_eq!(answer["reason"], "restore_running", "{answer}");
    assert!(staging.exists());
    drop(lock);
    worker.kill();
    assert_completed_by_the_next(&path);
    assert!(!staging.exists());
}

#[test]
fn a_purge_leaves_a_working_copy_that_is_in_use_and_says_so() {
    let (_directory, path) = scene();
    let copy = path.join("verify-0123456789abcdef.tmp");
    let used = File::create(&copy).unwrap();
    used.lock().unwrap();
    let mut worker = Worker::serve(&path);
    let answer = forget(&mut worker, "a5");
    assert_eq!(answer["reason"], "copy_in_use", "{answer}");
    assert!(copy.exists());
    drop(used);
    worker.kill();
    assert_completed_by_the_next(&path);
    assert!(!copy.exists());
}

/// A process that only searched ends at once, whatever another one holds.
#[test]
fn a_process_that_only_searched_waits_for_no_lock_of_a_pending_purge() {
    let (_directory, path) = scene();
    let sql = || rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
    for name in ["palace.lock", "index.lock", "restore.lock"] {
        sql()
            .execute("UPDATE palace SET purge_pending = seq", [])
            .unwrap();
        let mut worker = Worker::serve(&path);
        worker.must(&StoreRequest::Query {
            collection: "drawers".into(),
            vector: vec![1.0; 8],
            k: 3,
        });
        let held = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(name))
            .unwrap();
        held.lock().unwrap();
        let since = Instant::now();
        worker.finish();
        assert!(
            since.elapsed() < Duration::from_secs(20),
            "{name} is waited for"
        );
        drop(held);
        let pending: i64 = sql()
            .query_row("SELECT purge_pending FROM palace", [], |row| row.get(0))
            .unwrap();
        assert!(pending > 0, "{name}");
    }
    assert_completed_by_the_next(&path);
}

/// A new kind of file in a palace needs a row in the list of copies.
#[test]
fn every_file_of_a_palace_is_in_the_list_of_copies() {
    let scene = Scene::new();
    scene.write("notes.md", section("One", 1));
    let palace = scene.open();
    scene.mine(&palace);
    fill(&palace, "more", "a", 2_500, 8, 1);
    palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    palace
        .repair(&loci_palace::repair::Request::default())
        .unwrap();
    let backup = scene.beside("backup");
    palace
        .backup(&loci_palace::backup::Request {
            target: backup.clone(),
        })
        .unwrap();
    palace
        .restore(&loci_palace::restore::Request {
            backup: backup.clone(),
            replace: true,
        })
        .unwrap();
    let palace = scene.open();
    palace
        .collection("more", false)
        .unwrap()
        .run_maintenance(loci_palace::MaintenanceKind::Reindex)
        .unwrap();
    palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    palace.close().unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for file in files_below(&scene.path) {
        let name = file.strip_prefix(&scene.path).unwrap().to_str().unwrap();
        let copy = TextCopy::of_palace_file(name);
        assert!(copy.is_some(), "no row of the list covers `{name}`");
        seen.extend(copy.map(|copy| copy.pattern));
    }
    for pattern in [
        "palace.sqlite3",
        "palace.sqlite3.replaced-*",
        "index/flat-*.snapshot",
    ] {
        assert!(seen.contains(pattern), "{pattern} was never made: {seen:?}");
    }
}

/// Each row of the list is made as a file with the text in it, and `forget` does what the row says.
#[test]
fn forget_walks_the_list_of_copies() {
    let (_directory, path) = scene();
    let rows = || {
        TEXT_COPIES
            .iter()
            .filter(|copy| copy.place == CopyPlace::Palace)
    };
    let removed = |copy: &&TextCopy| {
        matches!(
            copy.treatment,
            Treatment::Removed | Treatment::RemovedUnlessInUse | Treatment::RemovedAfterRestore
        )
    };
    fs::create_dir_all(path.join("index")).unwrap();
    for copy in rows().filter(removed) {
        let name = copy.pattern.replace('*', "20260101-000000");
        fs::write(path.join(&name), "a copy of the text").unwrap();
    }
    let mut worker = Worker::serve(&path);
    let answer = forget(&mut worker, "a5");
    assert_eq!(answer["purge_pending"], false, "{answer}");
    worker.finish();
    for copy in rows().filter(removed) {
        let name = copy.pattern.replace('*', "20260101-000000");
        assert!(
            !path.join(&name).exists(),
            "`{name}` is left: {}",
            copy.what
        );
    }
}

fn assert_nowhere(scene: &Scene, words: &str) {
    for file in files_below(&scene.path) {
        let bytes = fs::read(&file).unwrap();
        let found = bytes
            .windows(words.len())
            .any(|window| window.eq_ignore_ascii_case(words.as_bytes()));
        assert!(!found, "{} holds {words}", file.display());
    }
}

#[test]
fn no_key_of_the_metadata_or_frontmatter_of_a_forgotten_drawer_is_left() {
    let scene = Scene::of_words();
    let palace = scene.open();
    scene.write(
        "pay.md",
        "---\nzorgonkey: seven\n---\n\n# Pay\n\nZorgontext stands here.\n",
    );
    scene.mine(&palace);
    // The undo of this run knows what the mark of the source was before.
    scene.write(
        "pay.md",
        "---\nzorgonkey: eight\n---\n\n# Pay\n\nZorgontext stands here.\n",
    );
    scene.mine(&palace);
    let row = with_word(&palace, "Zorgontext").unwrap();
    assert!(row.meta.contains_key("zorgonkey"));
    let ids = loci_palace::Selection::ids([row.id]);
    assert!(
        !palace
            .forget(&loci_palace::forget::Request::in_collection(
                DRAWERS,
                ids.clone()
            ))
            .unwrap()
            .purge_pending
    );
    palace.close().unwrap();
    assert_nowhere(&scene, "zorgonkey");
    assert_nowhere(&scene, "zorgontext");
}

#[test]
fn no_heading_of_a_forgotten_drawer_of_a_large_file_is_left_and_the_file_is_mined_on() {
    let scene = Scene::of_words();
    let palace = scene.open();
    let part = |at: u64| section(&format!("Part {at}"), at);
    let text = |last: u64| -> String {
        let parts = (0..last).map(|at| {
            if at == 600 {
                // Its title is in force at the beginning of the next sections.
                format!("# Zorgontitle\n\n{}", part(at))
            } else {
                part(at)
            }
        });
        parts.collect()
    };
    scene.write("large.md", text(3_700));
    scene.mine(&palace);
    let marks = "SELECT count(*) FROM sources WHERE mark LIKE '%Zorgontitle%'";
    assert!(scene.number(marks) > 0, "no mark holds the title");
    let id = with_word(&palace, "# Zorgontitle").unwrap().id;
    let under: Vec<String> = contents(&palace, DRAWERS)
        .into_values()
        .filter(|row| {
            row.meta
                .get("heading")
                .is_some_and(|title| title.to_string().contains("Zorgontitle"))
        })
        .map(|row| row.id)
        .collect();
    assert!(under.len() > 10);
    palace
        .forget(&loci_palace::forget::Request::in_collection(
            DRAWERS,
            loci_palace::Selection::ids([id]),
        ))
        .unwrap();
    assert_eq!(scene.number(marks), 0);
    // With all drawers under that title its bytes are gone.
    palace
        .forget(&loci_palace::forget::Request::in_collection(
            DRAWERS,
            loci_palace::Selection::ids(under),
        ))
        .unwrap();
    palace.close().unwrap();
    assert_nowhere(&scene, "zorgontitle");
    let palace = scene.open();
    scene.write("large.md", text(3_701));
    scene.mine(&palace);
    assert!(with_word(&palace, "## Part 3700\n").is_some());
    assert!(with_word(&palace, "## Part 10\n").is_some());
    assert!(with_word(&palace, "Zorgontitle").is_none());
    palace.close().unwrap();
    assert_nowhere(&scene, "zorgontitle");
    scene.assert_sound(&scene.open());
}

/// The directory for temporary files is a file system of one mebibyte: whatever needs more fails.
#[test]
fn one_mebibyte_of_temporary_space_is_enough_for_every_command_over_a_palace() {
    let directory = tempfile::tempdir().unwrap();
    let small = directory.path().join("small");
    fs::create_dir(&small).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "none"])
        .arg(&small)
        .output()
        .is_ok_and(|output| output.status.success());
    if !mounted {
        eprintln!("SKIPPED: a small file system cannot be mounted without rights");
        return;
    }
    let result = std::panic::catch_unwind(|| with_small_space(directory.path(), &small));
    let _ = Command::new("umount").arg(&small).output();
    result.unwrap();
}

fn with_small_space(directory: &Path, small: &Path) {
    let path = directory.join("palace");
    let mut worker = Worker::with_temporary(&path, small);
    let mut rng = Rng(1);
    for round in 0..40 {
        let rows = (0..200)
            .map(|n| random_row(&mut rng, "a", round * 200 + n, 512))
            .collect();
        worker.must(&run("drawers", Op::Add { rows }));
    }
    let bytes: u64 = files_below(&path)
        .iter()
        .map(|file| fs::metadata(file).unwrap().len())
        .sum();
    assert!(bytes > 12 << 20, "{bytes} bytes need no temporary files");
    worker.must(&run("drawers", Op::Reindex));
    worker.must(&run("drawers", Op::Compact));
    worker.must(&StoreRequest::Verify { deep: true });
    let to = directory.join("backup").display().to_string();
    worker.must(&StoreRequest::Backup { to });
    let answer = forget(&mut worker, "a5");
    assert_eq!(answer["purge_pending"], false, "{answer}");
    worker.finish();
}

/// SQLite's temporary files have no name once they are open, so descriptors are looked at.
#[test]
fn no_file_of_the_temporary_directory_is_opened_while_a_palace_is_rewritten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let temporary = directory.path().join("temporary");
    fs::create_dir(&temporary).unwrap();
    let palace = open(&path);
    fill(&palace, "drawers", "a", 6_000, 512, 1);
    palace.close().unwrap();
    let mut worker = Worker::with_temporary(&path, &temporary);
    let descriptors = format!("/proc/{}/fd", worker.id());
    if fs::read_dir(&descriptors).is_err() {
        eprintln!("SKIPPED: the system does not show descriptors");
        return;
    }
    let done = std::sync::atomic::AtomicBool::new(false);
    let (mut inside, mut outside) = (0, Vec::new());
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let (mut inside, mut outside) = (0, Vec::new());
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                for entry in fs::read_dir(&descriptors).into_iter().flatten().flatten() {
                    let Ok(target) = fs::read_link(entry.path()) else {
                        continue;
                    };
                    let name = target.display().to_string();
                    if name.ends_with(" (deleted)") {
                        if target.starts_with(&path) {
                            inside += 1;
                        } else {
                            outside.push(name);
                        }
                    }
                }
            }
            (inside, outside)
        });
        worker.must(&StoreRequest::Verify { deep: true });
        forget(&mut worker, "a5");
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        (inside, outside) = watch.join().unwrap();
    });
    worker.finish();
    assert!(outside.is_empty(), "{outside:?}");
    assert!(inside > 0, "the rebuild was never seen");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
}
