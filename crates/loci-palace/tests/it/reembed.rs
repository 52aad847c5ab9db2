//! reembed: the old vectors serve until all new ones are there; a kill, a crowd, a full disk or a second run never leave
//! anything in between.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::Duration;

use loci_palace::{EmbedderIdentity, Error, Palace, Query};
use serde_json::{Value, json};

use crate::protocol::{Fake, embedding};
use crate::support::{
    Op, Request, Rng, Row, Seeded, StoreRequest, Worker, command, contents, hits, open, query, run,
    seed,
};

fn old() -> Fake {
    Fake::new("old", 16)
}

fn row(n: usize) -> Row {
    Row {
        id: format!("d{n}"),
        text: Some(format!("drawer {n} was written by hand")),
        meta: [("n".to_owned(), json!(n))].into(),
        vector: None,
    }
}

/// Drawers whose vectors the embedder `old` made, with an index.
fn planted(path: &Path, count: usize) {
    let palace = open(path);
    let collection = embedding(&palace, "drawers", old()).unwrap();
    for start in (0..count).step_by(500) {
        let rows = (start..count.min(start + 500)).map(row).collect();
        Op::Add { rows }.run(&palace, collection.as_ref()).unwrap();
    }
    Op::Reindex.run(&palace, collection.as_ref()).unwrap();
    palace.close().unwrap();
}

fn pinned(palace: &Palace) -> EmbedderIdentity {
    let collection = palace.collection("drawers", false).unwrap();
    collection.embedder().unwrap().unwrap()
}

/// Panics unless every text has exactly the vector that `fake` makes of it.
fn assert_made_by(palace: &Palace, fake: &Fake, drawers: usize) {
    assert_eq!(pinned(palace), fake.0);
    let found = contents(palace, "drawers");
    assert_eq!(found.len(), drawers);
    for row in found.values() {
        let expected = fake.vector(row.text.as_ref().unwrap());
        assert_eq!(row.vector.as_ref(), Some(&expected), "{}", row.id);
    }
    let report = palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(report.ok(), "{:?}", report.findings);
    for table in ["fresh_vectors", "reembeddings", "other_vectors"] {
        assert_eq!(rows_in(palace.directory().unwrap(), table), 0, "{table}");
    }
    let probe = fake.vector("drawer 7 was written by hand");
    let collection = palace.collection("drawers", false).unwrap();
    let answer = collection.query(&Query::vector(probe).k(5)).unwrap();
    assert_eq!(answer.ids[0][0], "d7");
    assert!(answer.distances[0][0] < 1e-5);
}

fn sql(path: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap()
}

fn rows_in(path: &Path, table: &str) -> i64 {
    sql(path)
        .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
            row.get(0)
        })
        .unwrap()
}

/// A process that reembeds and stops after every step until it is told to go on.
struct Stepper {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Stepper {
    fn start(path: &Path, embedder: &str) -> Self {
        let mut child = command(path, &["reembed", "drawers", embedder])
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
        }
    }

    /// Its next line: progress, or the end.
    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("it died: {:?} {line:?}", self.child.try_wait()))
    }

    fn go(&mut self, how: &str) {
        writeln!(self.input, "{how}").unwrap();
        self.input.flush().unwrap();
    }

    /// Lets it run to its end; gives what it said then.
    fn end(mut self) -> Value {
        self.go("run");
        let last = self.rest();
        assert!(self.child.wait().unwrap().success());
        last
    }

    fn rest(&mut self) -> Value {
        loop {
            let line = self.line();
            if line.get("done").is_none() {
                return line;
            }
        }
    }
}

impl Drop for Stepper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ask(worker: &mut Worker, vector: &[f32]) -> (Vec<String>, Vec<f32>) {
    hits(&worker.must(&query("drawers", vector, 20)))
}

#[test]
fn killed_again_and_again_it_goes_on_where_it_was_and_the_old_vectors_serve_until_the_end() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let count = 128 * 26 + 5;
    planted(&path, count);
    let mut watcher = Worker::serve(&path);
    let probes: Vec<Vec<f32>> = (0..3)
        .map(|n| old().vector(&format!("drawer {n} was written by hand")))
        .collect();
    let before: Vec<_> = probes
        .iter()
        .map(|probe| ask(&mut watcher, probe))
        .collect();
    let mut done = 0;
    for kill in 0..16 {
        let mut stepper = Stepper::start(&path, "new-8");
        let progress = stepper.line();
        let now = progress["done"].as_u64().unwrap();
        assert!(now > done, "kill {kill}: {now} after {done}");
        assert_eq!(progress["total"], count);
        done = now;
        if kill % 2 == 1 {
            // In the middle of the next step.
            stepper.go("");
            std::thread::sleep(Duration::from_micros(rng.next() % 8_000));
        }
        stepper.child.kill().unwrap();
        stepper.child.wait().unwrap();
        done = done.max(rows_in(&path, "fresh_vectors") as u64);
        let mut fresh = Worker::serve(&path);
        for (probe, before) in probes.iter().zip(&before) {
            assert_eq!(ask(&mut watcher, probe), *before, "another process");
            assert_eq!(ask(&mut fresh, probe), *before, "a new process");
        }
        fresh.kill();
        assert_eq!(pinned(&open(&path)), old().0);
    }
    assert!(done >= 16 * 128 && done < count as u64, "{done}");
    let report = open(&path)
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(report.ok(), "{:?}", report.findings);
    let last = Stepper::start(&path, "new-8").end();
    assert_eq!(last["ok"]["resumed"], done, "{last}");
    assert_eq!(last["ok"]["made"], count as u64 - done);
    assert_eq!(last["ok"]["drawers"], count);
    // The dimension is another one now: the process with the old view says so and goes on.
    let error = watcher.ask(&query("drawers", &probes[0], 5)).unwrap_err();
    assert!(
        error["debug"]
            .as_str()
            .unwrap()
            .starts_with("DimensionMismatch"),
        "{error}"
    );
    let new = Fake::new("new", 8);
    let probe = new.vector("drawer 3 was written by hand");
    assert_eq!(ask(&mut watcher, &probe).0[0], "d3");
    watcher.finish();
    assert_made_by(&open(&path), &new, count);
}

#[test]
fn a_kill_around_the_switch_leaves_all_old_vectors_or_all_new_ones() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let count = 600;
    planted(&path, count);
    let (mut at, mut switched) = ("old-16", 0);
    for round in 0..10 {
        let (fake, next) = if at == "old-16" {
            (Fake::new("new", 24), "new-24")
        } else {
            (old(), "old-16")
        };
        let mut stepper = Stepper::start(&path, next);
        // What a killed run made is all there: then it goes straight to the switch.
        if rows_in(&path, "fresh_vectors") < count as i64 {
            while stepper.line()["done"].as_u64().unwrap() < count as u64 {
                stepper.go("");
            }
            stepper.go("run");
        }
        std::thread::sleep(Duration::from_micros(rng.next() % 25_000));
        drop(stepper);
        let palace = open(&path);
        let now = pinned(&palace);
        if now == fake.0 {
            at = next;
            switched += 1;
            assert_made_by(&palace, &fake, count);
        } else {
            let before = if at == "old-16" {
                old()
            } else {
                Fake::new("new", 24)
            };
            assert_eq!(now, before.0);
            for row in contents(&palace, "drawers").values() {
                let expected = before.vector(row.text.as_ref().unwrap());
                assert_eq!(row.vector.as_ref(), Some(&expected), "round {round}");
            }
        }
        palace.close().unwrap();
    }
    let fake = if at == "old-16" {
        Fake::new("new", 24)
    } else {
        old()
    };
    eprintln!("{switched} of 10 switched before the kill");
    let palace = open(&path);
    palace
        .reembed(
            &loci_palace::reembed::Request {
                collection: "drawers",
                embedder: &fake,
            },
            &mut |_| (),
        )
        .unwrap();
    assert_made_by(&palace, &fake, count);
}

#[test]
fn what_another_process_changes_meanwhile_is_right_at_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let count = 700;
    planted(&path, count);
    let mut other = Worker::serve(&path);
    let mut model: BTreeMap<String, String> = (0..count)
        .map(|n| (format!("d{n}"), row(n).text.unwrap()))
        .collect();
    let mut stepper = Stepper::start(&path, "new-8");
    let text = |id: &str, text: &str| Row {
        id: id.into(),
        text: Some(text.into()),
        meta: BTreeMap::new(),
        vector: None,
    };
    let mut step = 0;
    loop {
        let line = stepper.line();
        if line.get("done").is_none() {
            assert_eq!(line["ok"]["drawers"], model.len(), "{line}");
            break;
        }
        if step < 5 {
            // One that has its new vector, one that has not, one that is added, two that go.
            let rows = vec![
                text(&format!("d{}", step + 20), &format!("changed early {step}")),
                text(&format!("d{}", 690 - step), &format!("changed late {step}")),
            ];
            for row in &rows {
                model.insert(row.id.clone(), row.text.clone().unwrap());
            }
            // With the caller's own vector of the old length, as an agent would.
            let rows = rows
                .into_iter()
                .map(|row| Row {
                    vector: Some(old().vector(row.text.as_ref().unwrap())),
                    ..row
                })
                .collect();
            other.must(&run("drawers", Op::Update { rows }));
            let added = text(&format!("added{step}"), &format!("a new one {step}"));
            model.insert(added.id.clone(), added.text.clone().unwrap());
            other.must(&run("drawers", Op::Add { rows: vec![added] }));
            let ids = vec![format!("d{}", step + 40), format!("d{}", 650 - step)];
            for id in &ids {
                model.remove(id);
            }
            other.must(&run("drawers", Op::Delete { ids }));
            step += 1;
        }
        stepper.go("");
    }
    assert_eq!(step, 5);
    let palace = open(&path);
    let found: BTreeMap<String, String> = contents(&palace, "drawers")
        .into_iter()
        .map(|(id, row)| (id, row.text.unwrap()))
        .collect();
    assert_eq!(found, model);
    assert_made_by(&palace, &Fake::new("new", 8), model.len());
    // Who still holds vectors of the old length is told.
    let late = Row {
        vector: Some(old().vector("late")),
        ..text("late", "late")
    };
    let error = other.ask(&run("drawers", Op::Add { rows: vec![late] }));
    let error = error.unwrap_err();
    let debug = error["debug"].as_str().unwrap();
    assert!(debug.starts_with("DimensionMismatch"), "{error}");
}

#[test]
fn a_drawer_with_a_vector_and_no_text_is_never_left_behind_in_the_old_space() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    planted(&path, 300);
    let bare = Op::Add {
        rows: vec![Row {
            id: "bare".into(),
            text: None,
            meta: BTreeMap::new(),
            vector: Some(vec![1.0; 16]),
        }],
    };
    // Added while the run is under way.
    let mut stepper = Stepper::start(&path, "new-8");
    stepper.line();
    Worker::serve(&path).must(&run("drawers", bare));
    let last = stepper.end();
    assert!(last.get("error").is_some(), "it was switched: {last}");
    let palace = open(&path);
    assert_eq!(pinned(&palace), old().0);
    let report = palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(report.ok(), "{:?}", report.findings);
    // And refused before anything is made.
    let mut calls = 0;
    let error = palace
        .reembed(
            &loci_palace::reembed::Request {
                collection: "drawers",
                embedder: &Fake::new("new", 8),
            },
            &mut |_| calls += 1,
        )
        .unwrap_err();
    assert!(error.to_string().contains("no text"), "{error}");
    assert_eq!(calls, 0);
    let collection = palace.collection("drawers", false).unwrap();
    let ids = vec!["bare".to_owned()];
    Op::Delete { ids }
        .run(&palace, collection.as_ref())
        .unwrap();
    palace
        .reembed(
            &loci_palace::reembed::Request {
                collection: "drawers",
                embedder: &Fake::new("new", 8),
            },
            &mut |_| (),
        )
        .unwrap();
    assert_made_by(&palace, &Fake::new("new", 8), 300);
}

#[test]
fn two_runs_with_the_same_embedder_both_end_well_or_one_says_conflict() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    planted(&path, 500);
    let mut pair = [
        Stepper::start(&path, "new-8"),
        Stepper::start(&path, "new-8"),
    ];
    for stepper in &mut pair {
        stepper.line();
    }
    for stepper in &mut pair {
        stepper.go("run");
    }
    let ends = pair.map(|mut stepper| stepper.rest());
    let done = ends.iter().filter(|end| end.get("ok").is_some()).count();
    assert!(done >= 1, "{ends:?}");
    for end in ends.iter().filter(|end| end.get("ok").is_none()) {
        assert_eq!(end["error"]["kind"], "conflict", "{end}");
    }
    assert_made_by(&open(&path), &Fake::new("new", 8), 500);
}

#[test]
fn two_runs_with_different_embedders_never_mix() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    planted(&path, 500);
    // The first has made one batch when the second begins; then both run.
    for (first, second) in [("one-8", "two-8"), ("three-8", "four-12")] {
        let mut a = Stepper::start(&path, first);
        a.line();
        let mut b = Stepper::start(&path, second);
        b.line();
        a.go("run");
        b.go("run");
        let (a, b) = (a.rest(), b.rest());
        assert_eq!(a["error"]["kind"], "conflict", "{a}");
        assert_eq!(b["ok"]["drawers"], 500, "{b}");
        assert_eq!(b["ok"]["resumed"], 0, "{b}");
        let (name, dimension) = second.split_once('-').unwrap();
        let fake = Fake::new(name, dimension.parse().unwrap());
        assert_made_by(&open(&path), &fake, 500);
    }
}

#[test]
fn damage_to_a_vector_that_waits_for_the_switch_does_not_become_truth() {
    let directory = tempfile::tempdir().unwrap();
    for damage in [
        "UPDATE fresh_vectors SET vector = zeroblob(32) WHERE row IN (SELECT min(row) FROM fresh_vectors)",
        "UPDATE fresh_vectors SET vector = x'0000803f' WHERE row IN (SELECT min(row) FROM fresh_vectors)",
        "UPDATE fresh_vectors SET vector = 'text' WHERE row IN (SELECT min(row) FROM fresh_vectors)",
        "UPDATE fresh_vectors SET row = 1000000 WHERE row IN (SELECT min(row) FROM fresh_vectors)",
    ] {
        let path = directory.path().join(damage.len().to_string());
        planted(&path, 200);
        let mut stepper = Stepper::start(&path, "new-8");
        stepper.line();
        drop(stepper);
        assert_eq!(sql(&path).execute(damage, []).unwrap(), 1);
        let palace = open(&path);
        match palace.reembed(
            &loci_palace::reembed::Request {
                collection: "drawers",
                embedder: &Fake::new("new", 8),
            },
            &mut |_| (),
        ) {
            Ok(_) => assert_made_by(&palace, &Fake::new("new", 8), 200),
            Err(Error::Corrupt { .. }) => {
                assert_eq!(pinned(&palace), old().0, "{damage}");
                palace
                    .repair(&loci_palace::repair::Request::default())
                    .unwrap();
                palace
                    .reembed(
                        &loci_palace::reembed::Request {
                            collection: "drawers",
                            embedder: &Fake::new("new", 8),
                        },
                        &mut |_| (),
                    )
                    .unwrap();
                assert_made_by(&palace, &Fake::new("new", 8), 200);
            }
            Err(error) => panic!("{damage}: {error:?}"),
        }
    }
}

#[test]
fn a_full_disk_in_the_middle_leaves_the_old_vectors_and_room_lets_it_finish() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    planted(&path, 1_000);
    let probe = old().vector("drawer 1 was written by hand");
    let before = ask(&mut Worker::serve(&path), &probe);
    let size = std::fs::metadata(path.join("palace.sqlite3"))
        .unwrap()
        .len();
    let mut reached = 0;
    for more in [64 * 1024, 512 * 1024, 1536 * 1024] {
        let mut worker = Worker::limited(&path, size + more);
        let answer = worker.ask(&Request::Reembed {
            collection: "drawers".into(),
            embedder: "new-384".into(),
        });
        let Err(error) = answer else { break };
        assert_eq!(error["kind"], "unavailable", "{error}");
        reached += 1;
        assert_eq!(ask(&mut worker, &probe), before, "the same process");
        worker.kill();
        let palace = open(&path);
        assert_eq!(pinned(&palace), old().0);
        let report = palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap();
        assert!(report.ok(), "{:?}", report.findings);
        assert_eq!(ask(&mut Worker::serve(&path), &probe), before);
        palace.close().unwrap();
    }
    assert!(reached >= 2, "the limit was reached {reached} times");
    let palace = open(&path);
    palace
        .reembed(
            &loci_palace::reembed::Request {
                collection: "drawers",
                embedder: &Fake::new("new", 384),
            },
            &mut |_| (),
        )
        .unwrap();
    assert_made_by(&palace, &Fake::new("new", 384), 1_000);
}

#[test]
fn a_query_while_vectors_are_switched_is_answered_from_one_side() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    planted(&path, 900);
    let probe = old().vector("drawer 4 was written by hand");
    let fakes = [Fake::new("one", 16), Fake::new("two", 16), old()];
    let expected = |fake: &Fake| -> Vec<String> {
        let mut all: Vec<(f32, String)> = (0..900)
            .map(|n| {
                let Row { id, text, .. } = row(n);
                let vector = fake.vector(&text.unwrap());
                (crate::support::cosine(&probe, &vector), id)
            })
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.into_iter().take(20).map(|(_, id)| id).collect()
    };
    let answers: Vec<Vec<String>> = fakes.iter().map(expected).collect();
    let done = std::sync::atomic::AtomicBool::new(false);
    let mut seen = std::collections::BTreeSet::new();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut other = Worker::serve(&path);
            for name in ["one-16", "two-16", "old-16", "one-16"] {
                other.must(&Request::Reembed {
                    collection: "drawers".into(),
                    embedder: name.into(),
                });
            }
            done.store(true, std::sync::atomic::Ordering::Release);
            other.finish();
        });
        let mut watcher = Worker::serve(&path);
        while !done.load(std::sync::atomic::Ordering::Acquire) {
            let (ids, distances) = ask(&mut watcher, &probe);
            let side = answers.iter().position(|answer| *answer == ids);
            let side = side.unwrap_or_else(|| panic!("a mixture: {ids:?} {distances:?}"));
            seen.insert(side);
            for (id, distance) in ids.iter().zip(distances) {
                let text = format!("drawer {} was written by hand", &id[1..]);
                let own = crate::support::cosine(&probe, &fakes[side].vector(&text));
                assert!((own - distance).abs() < 1e-4, "{id}");
            }
        }
        assert_eq!(ask(&mut watcher, &probe).0, answers[0]);
    });
    assert!(seen.len() > 1, "only {seen:?} was seen");
    assert_made_by(&open(&path), &fakes[0], 900);
}

#[test]
fn a_text_that_changes_at_the_moment_of_the_switch_never_keeps_the_vector_of_its_old_text() {
    const DRAWERS: usize = 12;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    planted(&path, DRAWERS);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|threads| {
        let writers: Vec<_> = (0..3)
            .map(|first| {
                let (path, stop) = (&path, &stop);
                threads.spawn(move || {
                    let palace = open(path);
                    let plain = palace.collection("drawers", false).unwrap();
                    let mut turn = first;
                    while !stop.load(std::sync::atomic::Ordering::Acquire) {
                        turn += 3;
                        let row = Row {
                            text: Some(format!("changed for the {turn}th time")),
                            ..row(turn % DRAWERS)
                        };
                        let rows = vec![row];
                        Op::Update { rows }.run(&palace, plain.as_ref()).unwrap();
                        // Leaves the others a moment.
                        std::thread::sleep(Duration::from_micros(300));
                    }
                })
            })
            .collect();
        let stopping = crate::recall::StopOnDrop(&stop);
        let palace = open(&path);
        let mut bad = Vec::new();
        for round in 0..150 {
            let fake = Fake::new(["one", "two"][round % 2], 16);
            let done = palace
                .reembed(
                    &loci_palace::reembed::Request {
                        collection: "drawers",
                        embedder: &fake,
                    },
                    &mut |_| (),
                )
                .unwrap();
            assert_eq!(
                done.drawers, DRAWERS as u64,
                "switched before all were there"
            );
            // A text that changed since has no vector; one that has a vector has its own.
            bad.extend(contents(&palace, "drawers").into_values().filter(|row| {
                let own = fake.vector(row.text.as_ref().unwrap());
                row.vector.as_ref().is_some_and(|vector| *vector != own)
            }));
        }
        drop(stopping);
        for writer in writers {
            writer.join().unwrap();
        }
        assert_eq!(bad, [], "vectors of other texts");
    });
    let report = open(&path)
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(report.ok(), "{:?}", report.findings);
}

/// Answers with too few vectors, with short ones, or with numbers that are none.
struct Broken(usize);

impl loci_palace::Embedder for Broken {
    fn identity(&self) -> EmbedderIdentity {
        Fake::new("broken", 8).0
    }

    fn embed(&self, texts: &[&str]) -> loci_palace::Result<Vec<Vec<f32>>> {
        let mut vectors = Fake::new("broken", 8).embed(texts)?;
        match self.0 {
            0 => drop(vectors.pop()),
            1 => vectors[0].truncate(7),
            2 => vectors[0][3] = f32::NAN,
            _ => vectors[0][3] = f32::INFINITY,
        }
        Ok(vectors)
    }
}

#[test]
fn an_embedder_that_breaks_its_contract_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    planted(&path, 150);
    let palace = open(&path);
    let before = contents(&palace, "drawers");
    for how in 0..4 {
        palace
            .reembed(
                &loci_palace::reembed::Request {
                    collection: "drawers",
                    embedder: &Broken(how),
                },
                &mut |_| (),
            )
            .unwrap_err();
        assert_eq!(rows_in(&path, "fresh_vectors"), 0, "{how}");
    }
    assert_eq!(contents(&palace, "drawers"), before);
    assert_eq!(pinned(&palace), old().0);
    assert!(
        palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
}

#[test]
fn a_collection_that_is_dropped_or_restored_meanwhile_is_left_in_one_piece() {
    let directory = tempfile::tempdir().unwrap();
    for how in ["drop", "again", "restore"] {
        let path = directory.path().join(how);
        let backup = directory.path().join(format!("{how}.backup"));
        planted(&path, 400);
        open(&path)
            .backup(&loci_palace::backup::Request {
                target: backup.clone(),
            })
            .unwrap();
        let mut stepper = Stepper::start(&path, "new-8");
        stepper.line();
        let mut other = Worker::serve(&path);
        if how == "restore" {
            other.must(&StoreRequest::Restore {
                from: backup.display().to_string(),
            });
        } else {
            other.must(&StoreRequest::Drop {
                collection: "drawers".into(),
            });
        }
        if how == "again" {
            // Another collection of the same name, with other vectors.
            let rows = (0..30)
                .map(|n| Row {
                    vector: Some(vec![1.0, n as f32]),
                    ..row(n)
                })
                .collect();
            other.must(&run("drawers", Op::Add { rows }));
        }
        let last = stepper.end();
        let palace = open(&path);
        let report = palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap();
        assert!(report.ok(), "{how}: {:?}", report.findings);
        assert!(last.get("error").is_some(), "{how}: {last}");
        match how {
            "drop" => assert!(palace.collection("drawers", false).is_err()),
            "again" => {
                let collection = palace.collection("drawers", false).unwrap();
                assert_eq!(collection.dimension().unwrap(), Some(2));
                assert_eq!(collection.count().unwrap(), 30);
            }
            _ => assert_eq!(pinned(&palace), old().0),
        }
        for table in ["fresh_vectors", "reembeddings"] {
            assert_eq!(rows_in(&path, table), 0, "{how}: {table}");
        }
    }
}
