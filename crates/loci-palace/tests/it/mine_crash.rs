//! Miners are killed at random moments; every source is its old or its new self, and the next run finishes the work.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::mined::{DRAWERS, Scene, Shape, assert_same_shapes, document, shapes, transcript};
use crate::support::{Request, Rng, Seeded, Worker, contents, effort, open, seed};

type States = BTreeMap<String, Vec<Shape>>;

fn request(scene: &Scene) -> Request {
    Request::Mine {
        collection: DRAWERS.into(),
        roots: vec![scene.root.clone()],
    }
}

fn states(shapes: Vec<Shape>) -> States {
    let mut states = States::new();
    for shape in shapes {
        states.entry(shape.file.clone()).or_default().push(shape);
    }
    states
}

/// What a clean mine of the root as it is gives.
fn clean(scene: &Scene) -> States {
    states(shapes(scene.fresh().values()))
}

/// How long a mine takes that nobody kills.
fn duration(scene: &Scene) -> Duration {
    let mut worker = Worker::serve(&scene.other());
    let since = Instant::now();
    worker.must(&request(scene));
    since.elapsed()
}

fn mine_and_kill(scene: &Scene, rng: &mut Rng, within: Duration) {
    let mut worker = Worker::serve(&scene.path);
    worker.send(&request(scene));
    let micros = u64::try_from(within.as_micros()).unwrap().max(1);
    std::thread::sleep(Duration::from_micros(rng.next() % micros));
    worker.kill();
}

/// Every source is one of its two selves, and its row in the ledger is there if its drawers are. True if there was
/// something between all old and all new.
fn assert_old_or_new(scene: &Scene, old: &States, new: &States) -> bool {
    let palace = scene.open();
    let found = states(shapes(contents(&palace, DRAWERS).values()));
    let none = Vec::new();
    let (mut olds, mut news) = (0, 0);
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    assert!(found.keys().all(|name| names.contains(name)));
    for name in names {
        let of = |states: &States| states.get(name).unwrap_or(&none).clone();
        let (found, old, new) = (of(&found), of(old), of(new));
        if found == new {
            news += 1;
        } else {
            assert_same_shapes(&found, &old);
            olds += 1;
        }
    }
    let rows: BTreeSet<String> = scene
        .strings("SELECT name FROM sources")
        .into_iter()
        .collect();
    let held: BTreeSet<String> = found.into_keys().collect();
    assert_eq!(rows, held, "the ledger and the drawers tell of other files");
    scene.assert_sound(&palace);
    olds > 0 && news > 0
}

#[test]
fn a_killed_mine_of_small_files_leaves_each_old_or_new_and_the_next_one_finishes() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let mut between = 0;
    for _ in 0..effort() {
        let scene = Scene::new();
        for number in 0..60 {
            scene.write(
                &format!("f{}/n{number}.md", number % 5),
                document(number * 100..number * 100 + 8),
            );
        }
        scene.write("talk.jsonl", transcript(0..20, 6));
        let new = clean(&scene);
        let time = duration(&scene);
        for _ in 0..6 {
            mine_and_kill(&scene, &mut rng, time);
            between += usize::from(assert_old_or_new(&scene, &States::new(), &new));
        }
        let palace = scene.open();
        scene.mine(&palace);
        scene.assert_as_fresh(&palace);
        palace.close().unwrap();
        // The tree changes: every other file, and the transcript grows.
        let old = new;
        for number in (0..60).step_by(2) {
            scene.write(
                &format!("f{}/n{number}.md", number % 5),
                document((number * 100 + 3..number * 100 + 8).chain([number * 100])),
            );
        }
        scene.write("talk.jsonl", transcript(0..25, 6));
        let new = clean(&scene);
        for _ in 0..8 {
            mine_and_kill(&scene, &mut rng, time / 2);
            between += usize::from(assert_old_or_new(&scene, &old, &new));
        }
        let palace = scene.open();
        scene.mine(&palace);
        scene.assert_as_fresh(&palace);
        assert_eq!(scene.mine(&palace).run, None, "something is left to do");
    }
    eprintln!("{between} kills in the middle");
}

/// No kill may lose what a large source had: the next run ends as a clean one.
fn kill_large(scene: &Scene, rng: &mut Rng, kills: usize, change: &mut dyn FnMut(usize)) {
    let mut palace = scene.open();
    let since = Instant::now();
    scene.mine(&palace);
    let time = since.elapsed();
    for round in 0..kills {
        palace.close().unwrap();
        change(round);
        // The same change may be interrupted more than once.
        for _ in 0..2 {
            mine_and_kill(scene, rng, time);
            let report = open(&scene.path)
                .verify(&loci_palace::verify::Request { deep: true })
                .unwrap();
            assert!(report.ok(), "{:?}", report.findings);
        }
        palace = scene.open();
        scene.mine(&palace);
        scene.assert_as_fresh(&palace);
    }
}

#[test]
fn a_killed_mine_of_a_large_file_is_finished_by_the_next_one() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let scene = Scene::of_words();
    scene.write("large.md", document(0..3_800));
    let mut cuts = Rng(seed.0 + 1);
    kill_large(&scene, &mut rng, 3 * effort(), &mut |round| {
        let cut = cuts.below(2_000) as u64;
        let text = match round % 3 {
            // Sections from the middle come first, some are new.
            0 => document((cut..3_800).chain(9_000..9_100).chain(0..cut)),
            // Under four mebibytes: one section again.
            1 => document(cut..cut + 1_500),
            _ => document((0..cut).chain(9_100..9_400).chain(cut..3_700)),
        };
        scene.write("large.md", text);
    });
}

#[test]
fn a_killed_mine_of_a_long_transcript_is_finished_by_the_next_one() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let scene = Scene::of_words();
    scene.write("talk.jsonl", transcript(0..1_250, 45));
    kill_large(&scene, &mut rng, 2 * effort(), &mut |round| {
        let text = match round % 2 {
            0 => transcript(0..1_500, 45),
            // Rewritten from the middle on.
            _ => transcript((0..600).chain(2_000..2_700), 45),
        };
        scene.write("talk.jsonl", text);
    });
}
