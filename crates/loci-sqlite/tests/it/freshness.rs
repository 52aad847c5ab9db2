//! A palace that is deleted, replaced or restored under a running process is noticed at its next call.

use loci_core::{MaintenanceKind, Query, Selection};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::support::{
    Access as _, Model, Op, Request, Rng, Seeded, Worker, check, contents, copy_directory, fill,
    open, query, random_row, run, seed,
};

fn rename(from: &Path, to: &Path) {
    std::fs::rename(from, to).unwrap();
}

#[test]
fn a_directory_swapped_under_a_running_process_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (
        directory.path().join("palace"),
        directory.path().join("other"),
    );
    let first = fill(&open(&path), "drawers", "a", 50, 8, 1);
    let second = fill(&open(&other), "drawers", "b", 70, 8, 2);
    let mut worker = Worker::serve(&path);
    let vector = Rng(3).vector(8);
    first.ask(&mut worker, "drawers", &vector, 10);
    first.ask(&mut worker, "drawers", &vector, 10);
    rename(&path, &directory.path().join("away"));
    rename(&other, &path);
    second.ask(&mut worker, "drawers", &vector, 10);
    let op = Op::Add {
        rows: vec![random_row(&mut Rng(4), "c", 1, 8)],
    };
    worker.must(&run("drawers", op));
    assert!(contents(&open(&path), "drawers").contains_key("c1"));
}

#[test]
fn a_file_copy_of_the_palace_that_went_another_way_is_noticed() {
    // A copy made with cp has the same identity and generation.
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (
        directory.path().join("palace"),
        directory.path().join("other"),
    );
    let mut first = fill(&open(&path), "drawers", "a", 60, 8, 1);
    copy_directory(&path, &other);
    let mut second = first.clone();
    let mut rng = Rng(5);
    let change = |palace: &Path, model: &mut Model, op: Op| {
        let palace = open(palace);
        op.run(
            &palace,
            palace.collection("drawers", false).unwrap().as_ref(),
        )
        .unwrap();
        model.apply(&op);
    };
    // Two histories with the same sequence numbers.
    for number in 0..20 {
        change(
            &path,
            &mut first,
            Op::Add {
                rows: vec![random_row(&mut rng, "p", number, 8)],
            },
        );
        change(
            &other,
            &mut second,
            Op::Add {
                rows: vec![random_row(&mut rng, "q", number, 8)],
            },
        );
    }
    change(
        &other,
        &mut second,
        Op::Delete {
            ids: vec!["a1".into(), "a2".into()],
        },
    );
    let mut worker = Worker::serve(&path);
    for _ in 0..2 {
        first.ask(
            &mut worker,
            "drawers",
            &first.rows["p3"].vector.clone().unwrap(),
            10,
        );
    }
    rename(&path, &directory.path().join("away"));
    rename(&other, &path);
    for row in first.rows.values().chain(second.rows.values()) {
        second.ask(&mut worker, "drawers", row.vector.as_ref().unwrap(), 10);
    }
}

#[test]
fn a_file_copy_put_back_under_a_running_process_is_noticed() {
    // The same, backwards: the copy is older than what the process has seen, then written on.
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (
        directory.path().join("palace"),
        directory.path().join("other"),
    );
    let mut first = fill(&open(&path), "drawers", "a", 60, 8, 1);
    let palace = open(&path);
    Op::Reindex
        .run(
            &palace,
            palace.collection("drawers", false).unwrap().as_ref(),
        )
        .unwrap();
    drop(palace);
    copy_directory(&path, &other);
    let mut second = first.clone();
    let mut worker = Worker::serve(&path);
    let mut rng = Rng(5);
    let gone = first.rows["a7"].vector.clone().unwrap();
    for op in [
        Op::Delete {
            ids: vec!["a7".into(), "a8".into()],
        },
        Op::Update {
            rows: vec![random_row(&mut rng, "a", 9, 8)],
        },
    ] {
        worker.must(&run("drawers", op.clone()));
        first.apply(&op);
    }
    first.ask(&mut worker, "drawers", &gone, 5);
    first.ask(&mut worker, "drawers", &gone, 5);
    rename(&path, &directory.path().join("away"));
    rename(&other, &path);
    let palace = open(&path);
    for number in 0..5 {
        let op = Op::Add {
            rows: vec![random_row(&mut rng, "c", number, 8)],
        };
        op.run(
            &palace,
            palace.collection("drawers", false).unwrap().as_ref(),
        )
        .unwrap();
        second.apply(&op);
    }
    second.ask(&mut worker, "drawers", &gone, 5);
    for row in second.rows.values() {
        second.ask(&mut worker, "drawers", row.vector.as_ref().unwrap(), 5);
    }
}

#[test]
fn a_palace_deleted_under_a_running_process_is_refused_until_another_process_creates_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let model = fill(&open(&path), "drawers", "a", 20, 8, 1);
    let mut worker = Worker::serve(&path);
    model.ask(&mut worker, "drawers", &Rng(1).vector(8), 5);
    std::fs::remove_dir_all(&path).unwrap();
    let error = worker.ask(&query("drawers", &[0.0; 8], 5)).unwrap_err();
    assert_eq!(error["kind"], "not_found", "{error}");
    assert!(!path.exists(), "a reader created a palace");
    // A write does not hide the loss by starting an empty palace.
    let op = Op::Add {
        rows: vec![random_row(&mut Rng(2), "b", 1, 8)],
    };
    let error = worker.ask(&run("drawers", op)).unwrap_err();
    assert_eq!(error["kind"], "not_found", "{error}");
    assert!(!path.exists(), "a writer created a palace");
    // One that another process made is found.
    let model = fill(&open(&path), "drawers", "c", 20, 8, 1);
    model.ask(&mut worker, "drawers", &Rng(1).vector(8), 5);
}

#[test]
fn a_restore_under_a_running_process_is_noticed_and_later_writes_are_in_the_new_palace() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let mut model = fill(&open(&path), "drawers", "a", 200, 8, 1);
    let palace = open(&path);
    Op::Reindex
        .run(
            &palace,
            palace.collection("drawers", false).unwrap().as_ref(),
        )
        .unwrap();
    let backup = directory.path().join("backup");
    palace.backup(&backup).unwrap();
    drop(palace);
    let mut worker = Worker::serve(&path);
    let vector = Rng(1).vector(8);
    let gone = Op::Delete {
        ids: model
            .nearest(&vector, 5, None)
            .into_iter()
            .map(|(_, id)| id)
            .collect(),
    };
    worker.must(&run("drawers", gone.clone()));
    let mut deleted = model.clone();
    deleted.apply(&gone);
    deleted.ask(&mut worker, "drawers", &vector, 10);
    deleted.ask(&mut worker, "drawers", &vector, 10);
    open(&path).restore(&backup, true).unwrap();
    model.ask(&mut worker, "drawers", &vector, 10);
    let op = Op::Add {
        rows: vec![random_row(&mut Rng(9), "z", 1, 8)],
    };
    worker.must(&run("drawers", op.clone()));
    model.apply(&op);
    model.ask(&mut worker, "drawers", &vector, 10);
    check(&open(&path), "drawers", &model, &mut Rng(3), true);
}

#[test]
fn restores_under_busy_writers_never_mix_two_histories() {
    let seed = Seeded(seed());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    fill(&open(&path), "drawers", "a", 200, 8, 1);
    let backup = directory.path().join("backup");
    open(&path).backup(&backup).unwrap();
    let until = Instant::now() + Duration::from_secs(4 * crate::support::effort() as u64);
    let (errors, mut findings) = (Mutex::new(Vec::new()), Vec::new());
    let (mut restores, mut done) = (0, 0);
    std::thread::scope(|threads| {
        // Processes that come and go: each opens the database anew, at any moment of a restore.
        let writers: Vec<_> = ["x", "y", "z"]
            .into_iter()
            .map(|prefix| {
                let (path, errors) = (&path, &errors);
                let mut rng = Rng(seed.0 ^ u64::from(prefix.as_bytes()[0]));
                threads.spawn(move || {
                    let (mut next, mut done) = (0, 0);
                    while Instant::now() < until {
                        let mut worker = match Worker::try_serve(path) {
                            Ok(worker) => worker,
                            Err(error) => {
                                errors.lock().unwrap().push(format!("open: {error}"));
                                continue;
                            }
                        };
                        for _ in 0..rng.below(8) {
                            next += 1;
                            let rows = vec![random_row(&mut rng, prefix, next, 8)];
                            match worker.ask(&run("drawers", Op::Add { rows })) {
                                Ok(_) => done += 1,
                                // The palace was replaced during the write, and that was said.
                                Err(error) if error["kind"] == "conflict" => {}
                                Err(error) => errors.lock().unwrap().push(format!("add: {error}")),
                            }
                        }
                        worker.finish();
                    }
                    done
                })
            })
            .collect();
        let mut worker = Worker::serve(&path);
        while Instant::now() < until {
            let from = backup.display().to_string();
            if let Err(error) = worker.ask(&Request::Restore { from }) {
                errors.lock().unwrap().push(format!("restore: {error}"));
            }
            restores += 1;
            if restores % 10 == 0 {
                match worker.ask(&Request::Verify { deep: true }) {
                    Ok(report) if report["ok"] == true => {}
                    Ok(report) => findings.push(report.to_string()),
                    Err(error) => errors.lock().unwrap().push(format!("verify: {error}")),
                }
            }
        }
        done = writers
            .into_iter()
            .map(|writer| writer.join().unwrap())
            .sum::<u64>();
    });
    let errors = errors.into_inner().unwrap();
    eprintln!(
        "{restores} restores, {done} writes, {} errors",
        errors.len()
    );
    assert!(
        findings.is_empty(),
        "two histories were mixed: {findings:?}"
    );
    let report = open(&path).verify(true).unwrap();
    assert!(report.ok(), "{:?}", report.findings);
    let found = contents(&open(&path), "drawers");
    assert_eq!(found.keys().filter(|id| id.starts_with('a')).count(), 200);
    assert!(
        errors.is_empty(),
        "{} errors: {:?}",
        errors.len(),
        errors.first()
    );
}

#[test]
fn a_view_below_the_trimmed_tombstones_starts_anew_instead_of_showing_ghosts() {
    // Deletes below the floor are no longer listed, so a process that still holds an older view
    // cannot learn of them one by one.
    for indexed in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("palace");
        let (reader, writer) = (open(&path), open(&path));
        let model = fill(&writer, "drawers", "a", 50, 8, 1);
        let drawers = writer.collection("drawers", false).unwrap();
        let seen = reader.collection("drawers", false).unwrap();
        if indexed {
            drawers.run_maintenance(MaintenanceKind::Reindex).unwrap();
        }
        let row = model.rows.values().next().unwrap();
        let query = Query::vector(row.vector.clone().unwrap());
        let nearest = seen.query(&query.clone().k(30)).unwrap().ids.concat();
        assert_eq!(nearest.len(), 30);
        drawers.delete(&Selection::ids(nearest.clone())).unwrap();
        if indexed {
            drawers.run_maintenance(MaintenanceKind::Reindex).unwrap();
        }
        let trimmed = drawers.run_maintenance(MaintenanceKind::Compact).unwrap();
        assert_eq!(trimmed.stats["tombstones_trimmed"], 30);
        // Ghosts would use up the places of the ten that are there.
        let found = seen.query(&query.clone().k(10)).unwrap();
        assert_eq!(found.ids[0].len(), 10);
        assert!(found.ids[0].iter().all(|id| !nearest.contains(id)));
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    }
}
