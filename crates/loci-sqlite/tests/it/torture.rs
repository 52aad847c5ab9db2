//! Processes are killed at random moments; what they acknowledged is there, what they did not is there
//! entirely or not at all, and nothing else is.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use crate::support::{
    Access as _, Model, Op, Rng, Seeded, Worker, check, command, contents, effort, fill, open, run,
    seed,
};

/// A torture child: its output is read by the parent thread.
pub(crate) struct Victim {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    prefix: String,
    pending: Option<Op>,
}

impl Victim {
    pub(crate) fn start(
        palace: &Path,
        seed: u64,
        prefix: &str,
        dimension: usize,
        next: u64,
    ) -> Self {
        let arguments = [
            "torture",
            &seed.to_string(),
            prefix,
            &dimension.to_string(),
            &next.to_string(),
        ];
        let mut child = command(palace, &arguments).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            output,
            prefix: prefix.into(),
            pending: None,
        }
    }

    /// Reads one line; applies an acknowledged operation. False at the end.
    pub(crate) fn step(&mut self, model: &mut Model, next: &mut u64) -> bool {
        let mut line = String::new();
        if self.output.read_line(&mut line).unwrap() == 0 || !line.ends_with('\n') {
            return false;
        }
        let line = line.trim_end();
        if let Some(op) = line.strip_prefix("I ") {
            let op: Op = serde_json::from_str(op).unwrap();
            if let Op::Add { rows } | Op::Upsert { rows } = &op {
                for row in rows {
                    let number: u64 = row.id.strip_prefix(&self.prefix).unwrap().parse().unwrap();
                    *next = number.max(*next);
                }
            }
            self.pending = Some(op);
        } else if line == "A" {
            model.apply(&self.pending.take().unwrap());
        } else {
            panic!("an error reached the caller: {line} for {:?}", self.pending);
        }
        true
    }

    /// Kills it and takes in what it still said; gives the operation in flight.
    pub(crate) fn kill(mut self, model: &mut Model, next: &mut u64) -> Option<Op> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        while self.step(model, next) {}
        self.pending
    }
}

/// Settles what the operation in flight came to: all of it, or nothing.
pub(crate) fn settle(path: &Path, model: &mut Model, pending: &[Op]) {
    let palace = open(path);
    let found = contents(&palace, "drawers");
    let mut candidates = vec![model.clone()];
    for op in pending {
        for at in 0..candidates.len() {
            let mut with = candidates[at].clone();
            with.apply(op);
            candidates.push(with);
        }
    }
    let Some(right) = candidates.iter().find(|candidate| candidate.rows == found) else {
        let missing: Vec<_> = model
            .rows
            .keys()
            .filter(|id| !found.contains_key(*id))
            .collect();
        let surplus: Vec<_> = found
            .keys()
            .filter(|id| !model.rows.contains_key(*id))
            .collect();
        let other: Vec<_> = model
            .rows
            .iter()
            .filter(|(id, row)| found.get(*id).is_some_and(|f| f != *row))
            .collect();
        panic!(
            "missing {missing:?}, surplus {surplus:?}, different {other:?}, in flight {pending:?}"
        );
    };
    *model = right.clone();
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_else_is_visible_after_kill_9() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let kills = 200 * effort();
    let directory = tempfile::tempdir().unwrap();
    let (mut path, mut model, mut next, mut dimension) =
        (directory.path().join("0"), Model::default(), 0, 8);
    for kill in 0..kills {
        if kill % 25 == 0 {
            path = directory.path().join(kill.to_string());
            (model, next, dimension) = (Model::default(), 0, [8, 16, 32, 3][rng.below(4)]);
        }
        let mut victim = Victim::start(&path, rng.next(), "a", dimension, next);
        // Mostly while it works, now and then while it starts.
        let lines = if rng.below(8) == 0 { 0 } else { rng.below(120) };
        for _ in 0..lines {
            if !victim.step(&mut model, &mut next) {
                break;
            }
        }
        std::thread::sleep(Duration::from_micros(rng.next() % 3_000));
        let pending = victim.kill(&mut model, &mut next);
        settle(&path, &mut model, pending.as_slice());
        let last = kill % 25 == 24;
        check(
            &open(&path),
            "drawers",
            &model,
            &mut rng,
            last || kill % 12 == 5,
        );
    }
}

#[test]
fn the_death_of_one_writer_takes_nothing_from_the_other() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let (mut model, mut next_a, mut next_b) = (Model::default(), 0, 0);
    for round in 0..15 * effort() {
        let mut survivor = Victim::start(&path, rng.next(), "b", 8, next_b);
        // SQLite may show a commit late whose writer died between log and log index: when the log is
        // next recovered, if nobody committed since. All of it, or nothing.
        let mut late = None;
        for _ in 0..3 {
            let mut victim = Victim::start(&path, rng.next(), "a", 8, next_a);
            for _ in 0..rng.below(50) {
                assert!(victim.step(&mut model, &mut next_a));
                assert!(survivor.step(&mut model, &mut next_b));
            }
            std::thread::sleep(Duration::from_micros(rng.next() % 3_000));
            let pending = victim.kill(&mut model, &mut next_a);
            // Settled while the other one writes: what is in flight there is of other ids.
            let palace = open(&path);
            let found = contents(&palace, "drawers");
            let of_a = |model: &Model| -> Vec<_> {
                model
                    .rows
                    .values()
                    .filter(|row| row.id.starts_with('a'))
                    .cloned()
                    .collect()
            };
            let mut after = model.clone();
            if let Some(op) = &pending {
                after.apply(op);
            }
            let found: Vec<_> = found
                .into_values()
                .filter(|row| row.id.starts_with('a'))
                .collect();
            if found == of_a(&after) {
                model = after;
                late = None;
            } else {
                assert_eq!(found, of_a(&model), "in flight: {pending:?}");
                late = pending;
            }
        }
        for _ in 0..20 {
            assert!(survivor.step(&mut model, &mut next_b), "the survivor died");
        }
        let pending = survivor.kill(&mut model, &mut next_b);
        let unsettled: Vec<Op> = late.into_iter().chain(pending).collect();
        settle(&path, &mut model, &unsettled);
        check(&open(&path), "drawers", &model, &mut rng, round % 5 == 4);
    }
}

#[test]
fn a_kill_during_an_index_build_leaves_the_old_index_or_the_new_one() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let mut model = fill(&open(&path), "drawers", "a", 3_000, 16, seed.0);
    for round in 0..20 * effort() {
        let mut worker = Worker::serve(&path);
        let ids = vec![format!("a{}", rng.below(3_000) + 1)];
        let op = Op::Delete { ids };
        worker.must(&run("drawers", op.clone()));
        model.apply(&op);
        worker.send(&run("drawers", Op::Reindex));
        std::thread::sleep(Duration::from_micros(rng.next() % 12_000));
        worker.kill();
        check(&open(&path), "drawers", &model, &mut rng, round % 10 == 9);
    }
    let palace = open(&path);
    let collection = palace.collection("drawers", false).unwrap();
    Op::Reindex.run(&palace, collection.as_ref()).unwrap();
    let left = crate::support::listed(&path.join("index"), |_| true);
    assert_eq!(left.len(), 1, "leftovers of killed builders: {left:?}");
}

#[test]
fn a_kill_during_forget_is_completed_by_the_next_process() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let mut model = fill(&open(&path), "drawers", "a", 800, 8, seed.0);
    let mut forgotten = Vec::new();
    for round in 0..20 * effort() {
        let mut worker = Worker::serve(&path);
        if round % 5 == 0 {
            worker.must(&run("drawers", Op::Reindex));
        }
        let alive: Vec<String> = model.rows.keys().cloned().collect();
        let ids: Vec<String> = (0..3)
            .map(|_| alive[rng.below(alive.len())].clone())
            .collect();
        let op = Op::Forget { ids: ids.clone() };
        worker.send(&run("drawers", op.clone()));
        std::thread::sleep(Duration::from_micros(rng.next() % 60_000));
        worker.kill();
        let before = model.clone();
        settle(&path, &mut model, std::slice::from_ref(&op));
        if model != before {
            forgotten.extend(ids.iter().map(|id| before.rows[id].text.clone().unwrap()));
        }
        // The next process that comes and goes completes it.
        Worker::serve(&path).finish();
        let palace = open(&path);
        assert!(!palace.state().unwrap().purge_pending, "still pending");
        check(&palace, "drawers", &model, &mut rng, round % 10 == 9);
        drop(palace);
        crate::support::assert_nowhere(
            &path,
            forgotten.iter().map(|text| text.split(' ').nth(1).unwrap()),
        );
    }
}

#[test]
fn a_kill_during_restore_leaves_the_old_palace_or_the_backup() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let old = fill(&open(&path), "drawers", "a", 300, 8, seed.0);
    let backup = directory.path().join("backup");
    open(&path).backup(&backup).unwrap();
    let restored = old.clone();
    let (mut taken, mut kept) = (0, 0);
    for round in 0..30 * effort() {
        let mut worker = Worker::serve(&path);
        let op = Op::Add {
            rows: vec![crate::support::random_row(
                &mut rng,
                "b",
                round as u64 + 1,
                8,
            )],
        };
        let mut current = Model {
            rows: contents(&open(&path), "drawers"),
            ..Model::default()
        };
        worker.must(&run("drawers", op.clone()));
        current.apply(&op);
        worker.send(&crate::support::Request::Restore {
            from: backup.display().to_string(),
        });
        std::thread::sleep(Duration::from_micros(rng.next() % 25_000));
        worker.kill();
        let palace = open(&path);
        let found = contents(&palace, "drawers");
        if found == restored.rows {
            taken += 1;
            check(&palace, "drawers", &restored, &mut rng, round % 10 == 9);
        } else {
            assert_eq!(found, current.rows, "neither the old palace nor the backup");
            kept += 1;
            check(&palace, "drawers", &current, &mut rng, round % 10 == 9);
        }
    }
    eprintln!("restores taken {taken}, old palaces kept {kept}");
}

#[test]
fn what_a_killed_restore_set_aside_keeps_its_log() {
    // The state that a kill between the two renames leaves, made by hand.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let model = fill(&open(&path), "drawers", "a", 20, 8, 1);
    let backup = directory.path().join("backup");
    open(&path).backup(&backup).unwrap();
    // A killed writer leaves its commit in the log.
    let mut worker = Worker::serve(&path);
    let op = Op::Add {
        rows: vec![crate::support::random_row(&mut Rng(2), "b", 1, 8)],
    };
    worker.must(&run("drawers", op.clone()));
    worker.kill();
    std::fs::copy(
        &backup,
        path.join("palace.sqlite3.restoring-20260101-000000"),
    )
    .unwrap();
    let aside = path.join("palace.sqlite3.replaced-20260101-000000");
    std::fs::rename(path.join("palace.sqlite3"), &aside).unwrap();
    assert_eq!(contents(&open(&path), "drawers"), model.rows);
    let saved: i64 = rusqlite::Connection::open(&aside)
        .unwrap()
        .query_row("SELECT count(*) FROM drawers", [], |row| row.get(0))
        .unwrap();
    assert_eq!(
        saved, 21,
        "the palace that was set aside lost its last commit"
    );
}

#[test]
fn eight_processes_create_one_new_palace_at_once_and_all_succeed() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    for round in 0..12 * effort() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("palace");
        let with_kills = round % 3 == 2;
        let mut children: Vec<Child> = (0..8)
            .map(|_| command(&path, &["open"]).spawn().unwrap())
            .collect();
        let mut killed = 0;
        if with_kills {
            std::thread::sleep(Duration::from_micros(rng.next() % 20_000));
            for child in children.iter_mut().take(3) {
                killed += usize::from(child.try_wait().unwrap().is_none());
                let _ = child.kill();
            }
        }
        let mut acknowledged = 0;
        for (at, child) in children.into_iter().enumerate() {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            if with_kills && at < 3 {
                acknowledged += usize::from(said.contains("added"));
                continue;
            }
            assert!(
                said.contains("added"),
                "round {round}: {said} {:?}",
                output.status
            );
            acknowledged += 1;
        }
        let palace = open(&path);
        let count = contents(&palace, "drawers").len();
        assert!(
            (acknowledged..=acknowledged + killed).contains(&count),
            "{count} of {acknowledged}"
        );
        assert!(palace.verify(true).unwrap().ok());
    }
}
