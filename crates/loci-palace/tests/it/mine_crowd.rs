//! Several processes mine at once, beside others that write.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use loci_palace::{Batch, Filed, SourceChange};
use serde_json::{Value, json};

use crate::mined::{DRAWERS, Scene, assert_same_shapes, document, shapes, transcript};
use crate::support::{
    Op, Request, Rng, Row, Seeded, Worker, command, contents, effort, open, run, seed,
};

fn start(palace: &Path, root: &Path) -> Child {
    command(palace, &["mine", root.to_str().unwrap()])
        .spawn()
        .unwrap()
}

/// What a miner said; it must have succeeded.
fn ended(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said} {:?}", output.status);
    let mut said: Value = serde_json::from_str(&said).unwrap();
    let report = said["ok"].take();
    assert_eq!(report["files"]["failed"], 0, "{report}");
    report
}

fn plant(scene: &Scene) {
    for number in 0..40 {
        scene.write(
            &format!("f{}/n{number}.md", number % 4),
            document(number * 100..number * 100 + 6),
        );
    }
    scene.write("talk.jsonl", transcript(0..20, 6));
}

/// A tree of 41 files: each was read or found unchanged, by everyone.
fn assert_all_counted(report: &Value, files: u64) {
    let counted = report["files"]["read"].as_u64().unwrap()
        + report["files"]["unchanged"].as_u64().unwrap()
        + report["files"]["skipped"]
            .as_object()
            .unwrap()
            .values()
            .map(|count| count.as_u64().unwrap())
            .sum::<u64>();
    assert_eq!(counted, files, "{report}");
}

#[test]
fn two_processes_that_mine_one_tree_into_a_new_palace_make_no_duplicates() {
    for _ in 0..2 * effort() {
        let scene = Scene::new();
        plant(&scene);
        let miners = [
            start(&scene.path, &scene.root),
            start(&scene.path, &scene.root),
        ];
        let mut new = 0;
        for report in miners.map(ended) {
            assert_all_counted(&report, 41);
            new += report["drawers"]["new"].as_u64().unwrap();
        }
        let palace = scene.open();
        assert_eq!(
            new,
            contents(&palace, DRAWERS).len() as u64,
            "the reports add up to something else"
        );
        scene.assert_as_fresh(&palace);
    }
}

#[test]
fn four_processes_mine_one_tree_and_the_death_of_one_takes_nothing() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    for round in 0..2 * effort() {
        let scene = Scene::new();
        plant(&scene);
        if round % 2 == 1 {
            scene.mine(&scene.open());
            for number in 0..20 {
                scene.write(
                    &format!("f{}/n{number}.md", number % 4),
                    document(number * 100 + 2..number * 100 + 9),
                );
            }
        }
        let mut victim = start(&scene.path, &scene.root);
        let others: Vec<Child> = (0..3).map(|_| start(&scene.path, &scene.root)).collect();
        std::thread::sleep(Duration::from_micros(rng.next() % 900_000));
        victim.kill().unwrap();
        victim.wait().unwrap();
        for other in others {
            assert_all_counted(&ended(other), 41);
        }
        let palace = scene.open();
        scene.assert_as_fresh(&palace);
        assert_eq!(scene.mine(&palace).run, None, "something is left to do");
    }
}

#[test]
fn a_filing_that_is_based_on_an_old_revision_writes_nothing() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..3));
    let palace = scene.open();
    scene.mine(&palace);
    let (memory, _) = palace.memory(DRAWERS, false).unwrap();
    let ledger = memory.collection.ledger().unwrap();
    let old = ledger
        .source(&palace.machine(), &scene.name("roses.md"))
        .unwrap()
        .remove(0);
    // Another process is quicker.
    scene.write("roses.md", document(1..4));
    scene.mine(&open(&scene.path));
    let (seq, before) = (scene.seq(), contents(&palace, DRAWERS));
    let change = SourceChange {
        record: old,
        pieces: Some(Vec::new()),
        ..SourceChange::default()
    };
    let run = ledger.begin_run(&loci_palace::RunKind::Mine, &[]).unwrap();
    let filed = ledger.file(run, std::slice::from_ref(&change)).unwrap();
    assert_eq!(filed, [Filed::Stale]);
    assert_eq!((scene.seq(), contents(&palace, DRAWERS)), (seq, before));
}

#[test]
fn processes_that_mine_one_large_file_at_once_leave_it_complete() {
    let scene = Scene::of_words();
    scene.write("small.md", document(5_000..5_003));
    let texts = [document(0..3_700), document((9_000..9_050).chain(0..3_700))];
    let mut reports = Vec::new();
    for text in texts {
        scene.write("large.md", text);
        let miners: Vec<Child> = (0..3).map(|_| start(&scene.path, &scene.root)).collect();
        reports.extend(miners.into_iter().map(ended));
        scene.assert_as_fresh(&scene.open());
    }
    for report in reports {
        assert_all_counted(&report, 2);
    }
}

#[test]
fn a_mine_beside_a_process_that_adds_loses_nothing_and_nobody_waits_long() {
    let scene = Scene::new();
    for number in 0..80 {
        scene.write(
            &format!("n{number}.md"),
            document(number * 100..number * 100 + 6),
        );
    }
    scene.write("large.md", document(20_000..23_600));
    drop(scene.open());
    let mut writer = Worker::serve(&scene.path);
    let mut miner = Worker::serve(&scene.path);
    miner.send(&Request::Mine {
        collection: DRAWERS.into(),
        roots: vec![scene.root.clone()],
    });
    let (mut added, mut longest) = (0, Duration::ZERO);
    let mining = std::thread::scope(|threads| {
        let mining = threads.spawn(|| miner.receive());
        while !mining.is_finished() {
            let row = Row {
                id: format!("own{added}"),
                text: Some(format!("a note of my own, number {added}")),
                meta: [("n".to_owned(), json!(added))].into(),
                vector: None,
            };
            let since = Instant::now();
            let op = Op::Add { rows: vec![row] };
            writer.must(&run(DRAWERS, op));
            longest = longest.max(since.elapsed());
            added += 1;
        }
        mining.join().unwrap()
    });
    assert_eq!(mining.unwrap()["files"]["read"], 81);
    assert!(added > 20, "only {added} were added");
    assert!(
        longest < Duration::from_secs(10),
        "one add waited {longest:?}"
    );
    eprintln!("{added} adds, the longest took {longest:?}");
    drop(writer);
    drop(miner);
    let palace = scene.open();
    let (own, mined): (Vec<Row>, Vec<Row>) = contents(&palace, DRAWERS)
        .into_values()
        .partition(|row| row.id.starts_with("own"));
    assert_eq!(own.len(), added);
    assert_same_shapes(&shapes(&mined), &shapes(scene.fresh().values()));
    scene.assert_sound(&palace);
}

#[test]
fn planted_duplicates_are_cleaned_at_the_next_opening_and_a_re_mine_adds_nothing() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..6));
    scene.write("other.md", document(6..9));
    let palace = scene.open();
    scene.mine(&palace);
    let before = contents(&palace, DRAWERS);
    // As a version without the index would have left them: the same texts of the same places under other ids.
    let (memory, _) = palace.memory(DRAWERS, false).unwrap();
    for (id, row) in &before {
        let batch = Batch::new([format!("copy{id}")]).documents([row.text.clone().unwrap()]);
        memory.collection.add(&batch).unwrap();
    }
    drop(memory);
    palace.close().unwrap();
    drop(palace);
    scene
        .sql()
        .execute_batch(
            "DROP INDEX drawers_mined;
             UPDATE drawers SET (wing, source_file, content_hash, start_line, origin) =
                 (SELECT wing, source_file, content_hash, start_line, origin FROM drawers first
                  WHERE 'copy' || first.id = drawers.id)
             WHERE id LIKE 'copy%';
             UPDATE drawers SET created_at = created_at + 1000 WHERE id LIKE 'copy%';
             UPDATE passages SET authored_at = (SELECT created_at FROM drawers WHERE row = passages.row);",
        )
        .unwrap();
    let miners: Vec<Child> = (0..2).map(|_| start(&scene.path, &scene.root)).collect();
    for miner in miners {
        assert_eq!(ended(miner)["drawers"]["new"], 0);
    }
    let palace = open(&scene.path);
    let after = contents(&palace, DRAWERS);
    assert_eq!(
        after.keys().collect::<Vec<_>>(),
        before.keys().collect::<Vec<_>>()
    );
    assert_eq!(
        palace
            .status(&loci_palace::status::Request::default())
            .unwrap()
            .state
            .removed_duplicates,
        8
    );
    scene.assert_as_fresh(&palace);
    // Once more with a change.
    scene.write("roses.md", document(2..7));
    let report = scene.mine(&palace);
    assert_eq!((report.drawers.new, report.drawers.removed), (1, 1));
    scene.assert_as_fresh(&palace);
}
