//! Working copies of verify and repair beside forget: nobody breaks the other, and no copy of
//! forgotten text is left.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{
    Access as _, Model, Op, Request, Rng, Seeded, Worker, assert_nowhere, contents, effort, fill,
    listed, open, run, seed, wait_until,
};

/// A palace whose copy takes a moment, with an index.
fn made(directory: &Path, seed: u64) -> (PathBuf, Model) {
    let path = directory.join("palace");
    let palace = open(&path);
    let model = fill(&palace, "drawers", "a", 1_500, 64, seed);
    palace.close().unwrap();
    (path, model)
}

fn word(model: &Model, id: &str) -> String {
    let text = model.rows[id].text.as_ref().unwrap();
    text.split(' ').nth(1).unwrap().to_owned()
}

fn forget(id: &str) -> Request {
    run(
        "drawers",
        Op::Forget {
            ids: vec![id.to_owned()],
        },
    )
}

fn copies(palace: &Path) -> Vec<PathBuf> {
    listed(palace, |name| {
        name.starts_with("copy-") || name.starts_with("verify-")
    })
}

/// Lets `other` and a forget run at the same time, many times over, and all of them succeed.
fn beside_forget(prepare: impl Fn(&Path), other: &Request, judge: impl Fn(&Value)) {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let directory = tempfile::tempdir().unwrap();
    let (path, model) = made(directory.path(), seed.0);
    let mut gone = Vec::new();
    let rounds = 24 * effort();
    let (mut worker, mut forgetter) = (Worker::serve(&path), Worker::serve(&path));
    // How long it takes alone says at which moments a forget may meet it.
    prepare(&path);
    let since = Instant::now();
    worker.must(other);
    let alone = since.elapsed().as_micros() as u64;
    for round in 1..=rounds {
        prepare(&path);
        let id = format!("a{round}");
        worker.send(other);
        std::thread::sleep(Duration::from_micros(rng.next() % alone.max(1)));
        forgetter.send(&forget(&id));
        let answer = worker
            .receive()
            .unwrap_or_else(|error| panic!("round {round}: {error}"));
        judge(&answer);
        let forgotten = forgetter
            .receive()
            .unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert_eq!(forgotten["forgotten"], 1);
        gone.push(word(&model, &id));
        if forgotten["purge_pending"] == false {
            assert_nowhere(&path, gone.iter().map(String::as_str));
        }
    }
    worker.finish();
    forgetter.finish();
    Worker::serve(&path).finish();
    let palace = open(&path);
    assert!(!palace.state().unwrap().purge_pending);
    assert_eq!(contents(&palace, "drawers").len(), 1_500 - rounds);
    assert!(palace.verify(true).unwrap().ok());
    drop(palace);
    assert_eq!(copies(&path), Vec::<PathBuf>::new());
    assert_nowhere(&path, gone.iter().map(String::as_str));
}

#[test]
fn verify_deep_and_forget_run_at_the_same_time_and_both_succeed() {
    beside_forget(
        |_| (),
        &Request::Verify { deep: true },
        |answer| assert_eq!(answer["findings"].to_string(), "[]"),
    );
}

#[test]
fn repair_and_forget_run_at_the_same_time_and_no_copy_with_forgotten_text_is_left() {
    let harm = |path: &Path| {
        let database = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
        database.busy_timeout(Duration::from_secs(30)).unwrap();
        database
            .execute("UPDATE collections SET drawers = drawers + 1", [])
            .unwrap();
    };
    beside_forget(harm, &Request::Repair, |answer| {
        assert_eq!(answer["remaining"].to_string(), "[]");
    });
}

#[test]
fn what_a_killed_verify_left_is_removed_by_the_next_one() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let directory = tempfile::tempdir().unwrap();
    let (path, _) = made(directory.path(), seed.0);
    for round in 0..25 * effort() {
        if round % 5 == 0 {
            wait_until("no kill met a copy", || {
                kill_while_it_copies(&path);
                !copies(&path).is_empty()
            });
        } else {
            let mut worker = Worker::serve(&path);
            worker.send(&Request::Verify { deep: true });
            std::thread::sleep(Duration::from_micros(rng.next() % 400_000));
            worker.kill();
        }
        let mut next = Worker::serve(&path);
        let report = next.must(&Request::Verify { deep: false });
        assert_eq!(report["findings"].to_string(), "[]");
        assert_eq!(copies(&path), Vec::<PathBuf>::new(), "round {round}");
        next.kill();
    }
}

/// Kills a verify at a moment at which a copy has a name, or had one just before.
fn kill_while_it_copies(path: &Path) {
    let mut worker = Worker::serve(path);
    // One after the other, so that there are many moments to look at.
    for _ in 0..50 {
        worker.send(&Request::Verify { deep: true });
    }
    wait_until("no copy was made", || !copies(path).is_empty());
    worker.kill();
}

#[test]
fn abandoned_copies_are_removed_by_everybody_who_maintains_a_palace() {
    let directory = tempfile::tempdir().unwrap();
    let (path, _) = made(directory.path(), 1);
    let backup = directory.path().join("backup");
    let mut worker = Worker::serve(&path);
    worker.must(&Request::Backup {
        to: backup.display().to_string(),
    });
    for (at, request) in [
        Request::Verify { deep: false },
        Request::Repair,
        forget("a1"),
        Request::Backup {
            to: directory.path().join("second").display().to_string(),
        },
        run("drawers", Op::Reindex),
        Request::Restore {
            from: backup.display().to_string(),
        },
    ]
    .iter()
    .enumerate()
    {
        let abandoned = path.join(format!("copy-verify-4711-{at:016x}.tmp"));
        fs::create_dir(&abandoned).unwrap();
        fs::write(abandoned.join("copy"), "some text").unwrap();
        fs::write(
            path.join(format!("verify-{at:016x}.tmp")),
            "of an older build",
        )
        .unwrap();
        worker.must(request);
        assert_eq!(copies(&path), Vec::<PathBuf>::new(), "{request:?}");
    }
}

/// A working copy of this process that holds the text of a drawer.
fn live_copy(path: &Path, purpose: &str, text: &str) -> (PathBuf, File) {
    let name = format!("copy-{purpose}-{}-0123456789abcdef.tmp", std::process::id());
    let copy = path.join(name);
    fs::create_dir(&copy).unwrap();
    let lock = File::open(&copy).unwrap();
    lock.try_lock().unwrap();
    fs::write(copy.join("copy"), text).unwrap();
    (copy, lock)
}

#[test]
fn a_copy_in_use_is_left_alone_and_the_purge_waits_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let (path, model) = made(directory.path(), 1);
    let word = word(&model, "a7");
    let (copy, lock) = live_copy(&path, "verify", &word);
    let mut worker = Worker::serve(&path);
    let answer = worker.must(&forget("a7"));
    assert_eq!(answer["purge_pending"], true, "{answer}");
    assert_eq!(fs::read_to_string(copy.join("copy")).unwrap(), word);
    worker.kill();
    drop(lock);
    Worker::serve(&path).finish();
    assert!(!copy.exists());
    assert!(!open(&path).state().unwrap().purge_pending);
    assert_nowhere(&path, [word.as_str()]);
}

#[test]
fn a_copy_that_is_kept_while_forget_waits_for_it_is_removed_by_that_forget() {
    let directory = tempfile::tempdir().unwrap();
    let (path, model) = made(directory.path(), 1);
    let word = word(&model, "a7");
    let (copy, lock) = live_copy(&path, "repair", &word);
    let mut worker = Worker::serve(&path);
    worker.send(&forget("a7"));
    let reader = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
    wait_until("nothing was forgotten", || {
        let found = "SELECT EXISTS (SELECT 1 FROM drawers WHERE id = 'a7')";
        !reader
            .query_row(found, [], |row| row.get::<_, bool>(0))
            .unwrap()
    });
    drop(reader);
    let kept = path.join("palace.sqlite3.before-repair-20260101-000000");
    fs::rename(copy.join("copy"), &kept).unwrap();
    fs::remove_dir(&copy).unwrap();
    drop(lock);
    let answer = worker.receive().unwrap();
    assert_eq!(answer["purge_pending"], false, "{answer}");
    assert!(!kept.exists());
    assert_nowhere(&path, [word.as_str()]);
}
