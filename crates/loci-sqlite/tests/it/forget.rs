//! What was forgotten is in no file of the palace.

use std::collections::HashSet;

use crate::support::{
    Access as _, Op, Request, Rng, Row, Seeded, Worker, assert_nowhere, check, contents, effort,
    fill, open, random_row, run, seed,
};

fn word(row: &Row) -> String {
    row.text
        .as_ref()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .to_owned()
}

#[test]
fn after_thousands_of_updates_and_forgets_no_byte_of_forgotten_text_is_left() {
    let seed = Seeded(seed());
    let mut rng = Rng(seed.0);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let mut model = fill(&open(&path), "drawers", "a", 600, 8, seed.0);
    let mut next = 600;
    let mut workers = [Worker::serve(&path), Worker::serve(&path)];
    workers[0].must(&run("drawers", Op::Reindex));
    let mut gone: Vec<String> = Vec::new();
    let mut changes = 0;
    let mut texts: std::collections::BTreeMap<String, Vec<String>> =
        std::collections::BTreeMap::new();
    for row in model.rows.values() {
        texts.entry(row.id.clone()).or_default().push(word(row));
    }
    let mut round = 0;
    while changes < 5_200 * effort() {
        round += 1;
        let worker = &mut workers[round % 2];
        let ids: Vec<String> = model.rows.keys().cloned().collect();
        let op = match round % 10 {
            0 => {
                let forgotten: HashSet<String> =
                    (0..8).map(|_| ids[rng.below(ids.len())].clone()).collect();
                for id in &forgotten {
                    gone.append(texts.get_mut(id).unwrap());
                }
                changes += forgotten.len();
                Op::Forget {
                    ids: forgotten.into_iter().collect(),
                }
            }
            5 => Op::Add {
                rows: (0..8)
                    .map(|_| {
                        next += 1;
                        random_row(&mut rng, "a", next, 8)
                    })
                    .collect(),
            },
            _ => {
                let chosen: HashSet<u64> = (0..20)
                    .map(|_| {
                        ids[rng.below(ids.len())]
                            .strip_prefix('a')
                            .unwrap()
                            .parse()
                            .unwrap()
                    })
                    .collect();
                changes += chosen.len();
                Op::Update {
                    rows: chosen
                        .iter()
                        .map(|number| random_row(&mut rng, "a", *number, 8))
                        .collect(),
                }
            }
        };
        if let Op::Add { rows } | Op::Update { rows } = &op {
            for row in rows {
                texts.entry(row.id.clone()).or_default().push(word(row));
            }
        }
        let answer = worker.must(&run("drawers", op.clone()));
        if matches!(op, Op::Forget { .. }) {
            assert_eq!(answer["purge_pending"], false, "nobody reads");
        }
        model.apply(&op);
    }
    // The last word is a forget, so that versions overwritten before it are gone as well.
    let last = model.rows.keys().next().unwrap().clone();
    gone.append(texts.get_mut(&last).unwrap());
    let op = Op::Forget { ids: vec![last] };
    workers[0].must(&run("drawers", op.clone()));
    model.apply(&op);
    assert_nowhere(&path, gone.iter().map(String::as_str));
    let [first, second] = workers;
    first.finish();
    second.finish();
    assert_nowhere(&path, gone.iter().map(String::as_str));
    check(&open(&path), "drawers", &model, &mut rng, true);
}

#[test]
fn a_reader_of_an_old_state_makes_the_purge_pending_and_the_next_process_completes_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let model = fill(&open(&path), "drawers", "a", 100, 8, 1);
    let mut worker = Worker::serve(&path);
    // This process holds an old state open, as a long read does.
    let reader = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = |reader: &rusqlite::Connection| -> i64 {
        reader
            .query_row("SELECT count(*) FROM drawers", [], |row| row.get(0))
            .unwrap()
    };
    assert_eq!(count(&reader), 100);
    let answer = worker.must(&run(
        "drawers",
        Op::Forget {
            ids: vec!["a5".into()],
        },
    ));
    assert_eq!(answer["purge_pending"], true, "{answer}");
    assert_eq!(worker.must(&Request::Status)["purge_pending"], true);
    // Gone from every answer at once, all the same.
    assert!(!contents(&open(&path), "drawers").contains_key("a5"));
    assert_eq!(count(&reader), 100);
    reader.execute_batch("COMMIT").unwrap();
    drop(reader);
    worker.kill();
    Worker::serve(&path).finish();
    assert!(!open(&path).state().unwrap().purge_pending);
    assert_nowhere(&path, [word(&model.rows["a5"]).as_str()]);
}

#[test]
fn forget_reaches_everything_that_repairs_restores_and_killed_processes_left() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let model = fill(&open(&path), "drawers", "a", 50, 8, 1);
    let backup = directory.path().join("backup");
    open(&path).backup(&backup).unwrap();
    open(&path).restore(&backup, true).unwrap();
    // What a restore leaves that was killed while copying, and a verification that was killed.
    for name in [
        "palace.sqlite3.staging-20260101-000000",
        "palace.sqlite3.restoring-20260101-000000",
        "verify-0123456789abcdef.tmp",
        "palace.sqlite3.before-repair-20260101-000000",
        "index/flat-1-2-0123456789abcdef.snapshot.drift-20260101-000000",
    ] {
        let target = path.join(name);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(&backup, target).unwrap();
    }
    let mut worker = Worker::serve(&path);
    worker.must(&run(
        "drawers",
        Op::Forget {
            ids: vec!["a7".into()],
        },
    ));
    worker.finish();
    assert_nowhere(&path, [word(&model.rows["a7"]).as_str()]);
}

#[test]
fn forget_rewrites_the_database_and_gives_the_space_back() {
    // Bytes of removed cells can stay in the slack of pages that SQLite moved cells within, however
    // secure its delete is: only a rewritten file is free of them.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let model = fill(&palace, "drawers", "a", 800, 64, 1);
    let ids: Vec<String> = model.rows.keys().take(760).cloned().collect();
    let before = std::fs::metadata(path.join("palace.sqlite3"))
        .unwrap()
        .len();
    palace.close().unwrap();
    let palace = open(&path);
    let outcome = palace
        .forget("drawers", &loci_core::Selection::ids(ids))
        .unwrap();
    assert_eq!((outcome.forgotten, outcome.purge_pending), (760, false));
    palace.close().unwrap();
    let after = std::fs::metadata(path.join("palace.sqlite3"))
        .unwrap()
        .len();
    let log = std::fs::metadata(path.join("palace.sqlite3-wal")).map_or(0, |log| log.len());
    assert!(
        after * 3 < before.max(after * 4),
        "{before} bytes before, {after} after"
    );
    assert_eq!(log, 0);
}
