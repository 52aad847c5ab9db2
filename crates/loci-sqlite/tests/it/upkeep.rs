//! Housekeeping while others work: no error reaches anybody, and what was forgotten stays forgotten.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::{
    Access as _, Model, Op, Request, Rng, Seeded, Worker, check, contents, effort, fill, open, run,
    seed, snapshots,
};

/// Tells the others to stop, also when this thread panics: they would work for ever.
pub(crate) struct Stop<'a>(pub(crate) &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn forget_backup_verify_and_rebuilds_go_on_while_others_write() {
    let seed = Seeded(seed());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let mut victims = fill(&open(&path), "drawers", "v", 200, 16, seed.0);
    let stop = AtomicBool::new(false);
    let mut gone = Vec::new();
    let models: Vec<Model> = std::thread::scope(|threads| {
        let writers: Vec<_> = ["x", "y"]
            .into_iter()
            .map(|prefix| {
                let (path, stop) = (&path, &stop);
                let mut rng = Rng(seed.0 ^ u64::from(prefix.as_bytes()[0]));
                threads.spawn(move || {
                    let (mut model, mut next) = (Model::default(), 0);
                    let mut worker = Worker::serve(path);
                    while !stop.load(Ordering::Relaxed) {
                        let op = crate::operations::random_op(&mut rng, prefix, 16, &mut next);
                        worker.must(&run("drawers", op.clone()));
                        model.apply(&op);
                    }
                    worker.finish();
                    model
                })
            })
            .collect();
        let stopping = Stop(&stop);
        let mut rng = Rng(seed.0);
        let mut worker = Worker::serve(&path);
        let until = Instant::now() + Duration::from_secs(6 * effort() as u64);
        let mut round = 0;
        while Instant::now() < until
            && !writers
                .iter()
                .any(std::thread::ScopedJoinHandle::is_finished)
        {
            round += 1;
            match round % 6 {
                0 => {
                    let ids: Vec<String> = victims.rows.keys().take(2).cloned().collect();
                    gone.extend(ids.iter().map(|id| victims.rows[id].text.clone().unwrap()));
                    let op = Op::Forget { ids };
                    worker.must(&run("drawers", op.clone()));
                    victims.apply(&op);
                }
                1 => {
                    let to = directory.path().join(format!("backup{round}"));
                    worker.must(&Request::Backup {
                        to: to.display().to_string(),
                    });
                    // A backup of a palace in use is a sound palace.
                    if round % 18 == 1 {
                        let copy = directory.path().join(format!("copy{round}"));
                        let palace = open(&copy);
                        palace.restore(&to, true).unwrap();
                        drop(palace);
                        let report = open(&copy).verify(true).unwrap();
                        assert!(report.ok(), "{:?}", report.findings);
                    }
                    std::fs::remove_file(to).unwrap();
                }
                2 => {
                    let report = worker.must(&Request::Verify { deep: true });
                    assert_eq!(report["ok"], true, "{report}");
                }
                3 => drop(worker.must(&run("drawers", Op::Reindex))),
                4 => drop(worker.must(&run("drawers", Op::Compact))),
                _ => {
                    let vector = rng.vector(16);
                    worker.must(&crate::support::query("drawers", &vector, 10));
                }
            }
        }
        drop(stopping);
        worker.finish();
        eprintln!("{round} rounds of housekeeping");
        writers
            .into_iter()
            .map(|writer| writer.join().unwrap())
            .collect()
    });
    let mut all = victims;
    for model in models {
        all.rows.extend(model.rows);
        all.dead.extend(model.dead);
    }
    Worker::serve(&path).finish();
    let palace = open(&path);
    check(&palace, "drawers", &all, &mut Rng(1), true);
    assert!(!palace.state().unwrap().purge_pending);
    palace.close().unwrap();
    crate::support::assert_nowhere(
        &path,
        gone.iter().map(|text| text.split(' ').nth(1).unwrap()),
    );
}

#[test]
fn two_processes_that_forget_at_once_both_succeed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let model = fill(&open(&path), "drawers", "a", 120, 8, 1);
    let words: Vec<String> = model
        .rows
        .values()
        .map(|row| {
            row.text
                .as_ref()
                .unwrap()
                .split(' ')
                .nth(1)
                .unwrap()
                .to_owned()
        })
        .collect();
    std::thread::scope(|threads| {
        for half in 0..2_u32 {
            let path = &path;
            threads.spawn(move || {
                let mut worker = Worker::serve(path);
                for n in 0..20 {
                    let ids = (0..3)
                        .map(|i| format!("a{}", 1 + half * 60 + n * 3 + i))
                        .collect();
                    worker.must(&run("drawers", Op::Forget { ids }));
                }
                worker.finish();
            });
        }
    });
    Worker::serve(&path).finish();
    assert!(contents(&open(&path), "drawers").is_empty());
    assert!(!open(&path).state().unwrap().purge_pending);
    crate::support::assert_nowhere(&path, words.iter().map(String::as_str));
    assert!(open(&path).verify(true).unwrap().ok());
}

#[test]
fn no_registered_index_holds_codes_of_what_was_forgotten_even_if_another_process_was_building() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let mut model = fill(&open(&path), "drawers", "a", 4_000, 64, 1);
    let mut worker = Worker::serve(&path);
    worker.must(&run("drawers", Op::Reindex));
    let mut builder = Worker::serve(&path);
    for n in 0..6_u64 {
        // The other process is somewhere in its build when the forget comes.
        builder.send(&run("drawers", Op::Reindex));
        std::thread::sleep(Duration::from_millis(n * 4));
        let op = Op::Forget {
            ids: vec![format!("a{}", n + 1)],
        };
        let answer = worker.must(&run("drawers", op.clone()));
        builder.receive().unwrap();
        model.apply(&op);
        if answer["purge_pending"] == true {
            Worker::serve(&path).finish();
        }
        let [file] = snapshots(&path).try_into().unwrap();
        let rows = u64::from_le_bytes(std::fs::read(file).unwrap()[64..72].try_into().unwrap());
        assert_eq!(
            rows,
            4_000 - n - 1,
            "the index still has the codes of a forgotten drawer"
        );
    }
    check(&open(&path), "drawers", &model, &mut Rng(2), true);
}

#[test]
fn a_kill_while_a_collection_is_deleted_leaves_it_whole_or_gone() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let keep = fill(&open(&path), "keep", "k", 100, 8, seed.0);
    for _ in 0..12 * effort() {
        let before = fill(&open(&path), "drop", "d", 1_500, 8, rng.next());
        let mut worker = Worker::serve(&path);
        worker.send(&Request::Drop {
            collection: "drop".into(),
        });
        std::thread::sleep(Duration::from_micros(rng.next() % 60_000));
        worker.kill();
        let palace = open(&path);
        let found = contents(&palace, "drop");
        if !found.is_empty() {
            assert_eq!(found, before.rows);
            palace.delete_collection("drop").unwrap();
        }
        check(&palace, "keep", &keep, &mut rng, false);
        palace.close().unwrap();
        let db = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
        let left: i64 = db
            .query_row(
                "SELECT (SELECT count(*) FROM drawers) + (SELECT count(*) FROM vectors) + (SELECT count(*) FROM postings_docsize)",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(left, 300, "something of the collection is left");
    }
    // A new one of the same name begins empty.
    let palace = open(&path);
    let again = fill(&palace, "drop", "n", 30, 8, 3);
    check(&palace, "drop", &again, &mut rng, true);
}

#[test]
fn every_file_that_holds_text_is_readable_by_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    fill(&open(&path), "drawers", "a", 60, 8, 1);
    let backup = directory.path().join("backup");
    let mut worker = Worker::serve(&path);
    worker.must(&run("drawers", Op::Reindex));
    worker.must(&Request::Backup {
        to: backup.display().to_string(),
    });
    worker.must(&Request::Restore {
        from: backup.display().to_string(),
    });
    let mut worker = Worker::serve(&path);
    worker.must(&run("drawers", Op::Reindex));
    std::fs::write(&snapshots(&path)[0], "damaged").unwrap();
    worker.must(&crate::support::query("drawers", &[1.0; 8], 3));
    worker.must(&crate::support::query("drawers", &[1.0; 8], 3));
    worker.must(&run("drawers", Op::Reindex));
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    assert_eq!(mode(&path.join("index")), 0o700);
    assert_eq!(mode(&backup), 0o600);
    let files = crate::support::files_below(&path);
    assert!(files.len() >= 8, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}
