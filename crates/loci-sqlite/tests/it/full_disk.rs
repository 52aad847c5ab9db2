//! No room left: a clear error, nothing acknowledged lost, and a palace that goes on when there is room.

use crate::support::{
    Access as _, Model, Op, Request, Rng, Worker, check, fill, open, random_row, run,
};

fn assert_full(error: &serde_json::Value) {
    assert_eq!(error["kind"], "unavailable", "{error}");
    assert!(
        error["debug"].as_str().unwrap().starts_with("Full"),
        "{error}"
    );
}

#[test]
fn a_full_disk_during_writes_and_checkpoints_loses_nothing_acknowledged() {
    for limit in [40_000, 200_000, 700_000, 1_500_000] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("palace");
        let mut model = fill(&open(&path), "drawers", "a", 300, 32, 1);
        let mut rng = Rng(limit);
        let mut worker = Worker::limited(&path, limit);
        let mut failures = 0;
        for n in 1..=400_u64 {
            let op = match n % 4 {
                0 => Op::Delete {
                    ids: vec![format!("a{}", rng.below(300))],
                },
                1 => Op::Update {
                    rows: vec![random_row(&mut rng, "a", n % 300, 32)],
                },
                2 if n % 20 == 2 => Op::Compact,
                _ => Op::Add {
                    rows: (0..8)
                        .map(|i| random_row(&mut rng, "b", n * 10 + i, 32))
                        .collect(),
                },
            };
            match worker.ask(&run("drawers", op.clone())) {
                Ok(_) => model.apply(&op),
                Err(error) => {
                    assert_full(&error);
                    failures += 1;
                    if failures > 5 {
                        break;
                    }
                }
            }
        }
        assert!(failures > 0, "limit {limit} was never reached");
        // It still answers.
        model.ask(&mut worker, "drawers", &rng.vector(32), 10);
        worker.kill();
        check(&open(&path), "drawers", &model, &mut rng, true);
        let op = Op::Add {
            rows: vec![random_row(&mut rng, "c", 1, 32)],
        };
        let palace = open(&path);
        op.run(
            &palace,
            palace.collection("drawers", false).unwrap().as_ref(),
        )
        .unwrap();
        model.apply(&op);
        check(&palace, "drawers", &model, &mut rng, true);
    }
}

fn scene(directory: &tempfile::TempDir) -> (std::path::PathBuf, Model) {
    let path = directory.path().join("palace");
    let palace = open(&path);
    let model = fill(&palace, "drawers", "a", 3_000, 64, 1);
    palace.close().unwrap();
    (path, model)
}

#[test]
fn a_full_disk_during_an_index_build_leaves_answers_exact() {
    let directory = tempfile::tempdir().unwrap();
    let (path, model) = scene(&directory);
    for file in crate::support::snapshots(&path) {
        std::fs::remove_file(file).unwrap();
    }
    let mut worker = Worker::limited(&path, 100_000);
    let mut rng = Rng(1);
    assert_full(&worker.ask(&run("drawers", Op::Reindex)).unwrap_err());
    model.ask(&mut worker, "drawers", &rng.vector(64), 10);
    worker.finish();
    let mut worker = Worker::serve(&path);
    worker.must(&run("drawers", Op::Reindex));
    worker.finish();
    assert_eq!(
        crate::support::listed(&path.join("index"), |_| true).len(),
        1,
        "leftovers"
    );
    check(&open(&path), "drawers", &model, &mut rng, true);
}

#[test]
fn a_full_disk_during_forget_leaves_the_purge_to_the_next_process() {
    let directory = tempfile::tempdir().unwrap();
    let (path, mut model) = scene(&directory);
    let word = |model: &Model| {
        model.rows["a5"]
            .text
            .clone()
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .to_owned()
    };
    let gone = word(&model);
    let mut worker = Worker::limited(&path, 400_000);
    let op = Op::Forget {
        ids: vec!["a5".into()],
    };
    let answer = worker.ask(&run("drawers", op.clone()));
    if let Err(error) = &answer {
        assert_full(error);
    }
    worker.kill();
    model.apply(&op);
    let palace = open(&path);
    let state = palace.state().unwrap();
    assert!(
        state.purge_pending,
        "the purge cannot have been done: {answer:?}"
    );
    drop(palace);
    Worker::serve(&path).finish();
    let palace = open(&path);
    assert!(!palace.state().unwrap().purge_pending);
    check(&palace, "drawers", &model, &mut Rng(2), true);
    drop(palace);
    crate::support::assert_nowhere(&path, [gone.as_str()]);
}

#[test]
fn a_full_disk_during_a_backup_leaves_no_half_backup() {
    let directory = tempfile::tempdir().unwrap();
    let (path, model) = scene(&directory);
    let target = directory.path().join("backup");
    let mut worker = Worker::limited(&path, 400_000);
    let to = target.display().to_string();
    assert_full(&worker.ask(&Request::Backup { to: to.clone() }).unwrap_err());
    assert!(!target.exists());
    let left = crate::support::listed(directory.path(), |name| name.starts_with(".loci-backup"));
    assert!(left.is_empty(), "{left:?}");
    worker.finish();
    let mut worker = Worker::serve(&path);
    worker.must(&Request::Backup { to });
    check(&open(&path), "drawers", &model, &mut Rng(2), true);
}
