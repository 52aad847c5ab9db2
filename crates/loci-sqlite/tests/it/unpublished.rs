//! A writer that dies between writing its commit to the log and publishing it leaves frames that the
//! next writer overwrites in part. That is no loss, and nobody reports one.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::support::{
    Model, Op, Request, Rng, Seeded, Worker, check, effort, open, random_row, run, seed,
};
use crate::torture::{Victim, settle};

const LOG: &str = "palace.sqlite3-wal";
const INDEX: &str = "palace.sqlite3-shm";

fn full_durability(palace: &Path) {
    fs::create_dir_all(palace).unwrap();
    fs::write(palace.join("palace.toml"), "durability = \"full\"\n").unwrap();
}

fn add(worker: &mut Worker, model: &mut Model, number: u64) {
    let op = Op::Add {
        rows: vec![random_row(&mut Rng(number), "b", number, 8)],
    };
    worker.must(&run("drawers", op.clone()));
    model.apply(&op);
}

/// What a verification by another process finds.
fn findings(palace: &Path) -> String {
    let mut worker = Worker::serve(palace);
    let found = worker.must(&Request::Verify { deep: false })["findings"].to_string();
    worker.kill();
    found
}

/// A palace whose log ends in frames of a dead writer, with the process that overwrote some of them.
fn palace_with_stale_tail(directory: &Path) -> (std::path::PathBuf, Worker, Model) {
    let path = directory.join("palace");
    full_durability(&path);
    let mut model = Model::default();
    let mut living = Worker::serve(&path);
    for number in 1..=10 {
        add(&mut living, &mut model, number);
    }
    // The dead writer works on a copy of this moment: its frames continue the same log.
    let twin = directory.join("twin");
    full_durability(&twin);
    for name in ["palace.sqlite3", LOG] {
        fs::copy(path.join(name), twin.join(name)).unwrap();
    }
    let mut dead = Worker::serve(&twin);
    let rows = (1..=60)
        .map(|number| random_row(&mut Rng(number), "c", number, 8))
        .collect();
    dead.must(&run("drawers", Op::Add { rows }));
    dead.kill();
    let (published, unpublished) = (length(&path), length(&twin));
    fs::write(path.join(LOG), fs::read(twin.join(LOG)).unwrap()).unwrap();
    add(&mut living, &mut model, 11);
    assert!(
        published < unpublished && length(&path) == unpublished,
        "no tail is left: {published}, {unpublished}, {}",
        length(&path)
    );
    (path, living, model)
}

fn length(palace: &Path) -> u64 {
    fs::metadata(palace.join(LOG)).unwrap().len()
}

#[test]
fn the_overwritten_frames_of_a_dead_writer_are_reported_by_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let (path, living, model) = palace_with_stale_tail(directory.path());
    assert_eq!(findings(&path), "[]", "while the palace is in use");
    living.kill();
    for name in ["with its index", "without"] {
        let copy = directory.path().join(name);
        full_durability(&copy);
        for file in ["palace.sqlite3", LOG, INDEX] {
            fs::copy(path.join(file), copy.join(file)).unwrap();
        }
        if name == "without" {
            fs::remove_file(copy.join(INDEX)).unwrap();
        }
        assert_eq!(findings(&copy), "[]", "{name}");
        check(&open(&copy), "drawers", &model, &mut Rng(1), true);
    }
}

#[test]
fn a_flipped_byte_among_the_published_frames_is_reported_with_and_without_the_index() {
    let directory = tempfile::tempdir().unwrap();
    let (path, living, _) = palace_with_stale_tail(directory.path());
    living.kill();
    let frames = (length(&path) - 32) / 8216;
    for with_index in [true, false] {
        for frame in [frames / 4, frames / 3, frames / 2] {
            let copy = directory.path().join(format!("{with_index}-{frame}"));
            full_durability(&copy);
            for file in ["palace.sqlite3", LOG, INDEX] {
                fs::copy(path.join(file), copy.join(file)).unwrap();
            }
            if !with_index {
                fs::remove_file(copy.join(INDEX)).unwrap();
            }
            let mut bytes = fs::read(copy.join(LOG)).unwrap();
            bytes[32 + frame as usize * 8216 + 900] ^= 4;
            fs::write(copy.join(LOG), bytes).unwrap();
            let found = findings(&copy);
            assert!(
                found.contains(r#""kind":"log""#),
                "index {with_index}, frame {frame} of {frames}: {found}"
            );
        }
    }
}

#[test]
fn after_kills_of_writers_with_full_durability_verify_reports_nothing_and_nothing_is_lost() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    full_durability(&path);
    let (mut model, mut next) = (Model::default(), 0);
    // It keeps the index of the log alive, so that no recovery takes the frames of the dead in.
    let mut living = Worker::serve(&path);
    for round in 1..=60 * effort() as u64 {
        let mut victim = Victim::start(&path, rng.next(), "a", 8, next);
        for _ in 0..=rng.below(12) {
            assert!(victim.step(&mut model, &mut next));
        }
        std::thread::sleep(Duration::from_micros(rng.next() % 2_000));
        let pending = victim.kill(&mut model, &mut next);
        // Either the commit in flight was published before, or this one takes its place for good.
        add(&mut living, &mut model, round);
        settle(&path, &mut model, pending.as_slice());
        assert_eq!(findings(&path), "[]", "round {round}");
        if round % 25 == 0 {
            check(&open(&path), "drawers", &model, &mut rng, true);
        }
    }
    living.finish();
    check(&open(&path), "drawers", &model, &mut rng, true);
}
