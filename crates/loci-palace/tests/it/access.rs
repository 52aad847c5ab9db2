//! How often drawers were shown: counted by searches, written when there is time, never waited for.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Op, Request, Row, StoreRequest, Worker, open, run, wait_until};

const TEXTS: [&str; 6] = [
    "the lighthouse keeper wrote letters",
    "a telescope for the winter sky",
    "rye bread with salted butter",
    "the railway bridge was repaired",
    "violins in the concert hall",
    "a garden full of tomatoes",
];

fn rows() -> Vec<Row> {
    TEXTS
        .iter()
        .enumerate()
        .map(|(at, text)| Row {
            id: format!("d{at}"),
            text: Some((*text).to_owned()),
            meta: [("n".to_owned(), json!(at))].into(),
            vector: None,
        })
        .collect()
}

fn planted(path: &Path) {
    let palace = open(path);
    let collection = palace.collection("drawers", true).unwrap();
    let op = Op::Add { rows: rows() };
    op.run(&palace, collection.as_ref()).unwrap();
    palace.close().unwrap();
}

fn search(query: &str, k: usize) -> Request {
    Request::Search {
        collection: "drawers".into(),
        query: query.into(),
        k,
        filter: None,
        since: None,
        before: None,
    }
}

fn ids(answer: &Value) -> Vec<&str> {
    answer["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["id"].as_str().unwrap())
        .collect()
}

/// `(row, access_count)` of everything that was counted.
fn usage(path: &Path) -> Vec<(i64, i64)> {
    let db = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
    db.prepare("SELECT row, access_count FROM usage ORDER BY row")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap()
}

fn counts(path: &Path) -> Vec<u64> {
    let ids: Vec<String> = (0..TEXTS.len()).map(|at| format!("d{at}")).collect();
    let palace = open(path);
    let collection = palace.collection("drawers", false).unwrap();
    collection.access_counts(&ids).unwrap()
}

#[test]
fn a_search_counts_the_drawers_it_showed_and_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    planted(&path);
    let mut worker = Worker::serve(&path);
    assert_eq!(ids(&worker.must(&search("lighthouse", 1))), ["d0"]);
    assert_eq!(ids(&worker.must(&search("tomatoes", 1))), ["d5"]);
    assert_eq!(ids(&worker.must(&search("tomatoes", 1))), ["d5"]);
    worker.finish();
    assert_eq!(counts(&path), [1, 0, 0, 0, 0, 2]);
}

#[test]
fn neither_a_search_nor_the_end_of_a_process_waits_for_a_writer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    planted(&path);
    let mut worker = Worker::serve(&path);
    let holder = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let since = Instant::now();
    for text in TEXTS {
        let answer = worker.must(&search(text, 1));
        assert_eq!(ids(&answer).len(), 1);
    }
    let searched = since.elapsed();
    assert!(searched < Duration::from_secs(2), "waited {searched:?}");
    let since = Instant::now();
    worker.finish();
    let ended = since.elapsed();
    assert!(ended < Duration::from_secs(3), "waited {ended:?}");
    holder.execute_batch("ROLLBACK").unwrap();
    // The counts may be lost, nothing else.
    let palace = open(&path);
    assert!(
        palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
    assert_eq!(crate::support::contents(&palace, "drawers").len(), 6);
}

#[test]
fn counts_that_a_busy_writer_kept_from_being_written_are_written_later() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    planted(&path);
    let mut worker = Worker::serve(&path);
    let holder = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    worker.must(&search("lighthouse", 1));
    // Longer than counts are gathered and waited for.
    std::thread::sleep(Duration::from_millis(1_200));
    holder.execute_batch("ROLLBACK").unwrap();
    worker.must(&search("tomatoes", 1));
    worker.finish();
    assert_eq!(counts(&path), [1, 0, 0, 0, 0, 1]);
}

#[test]
fn counts_of_four_processes_add_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    planted(&path);
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                let mut worker = Worker::serve(&path);
                for _ in 0..20 {
                    worker.must(&search("telescope winter", 1));
                }
                worker.must(&search("violins", 1));
                worker.finish();
            });
        }
    });
    assert_eq!(counts(&path), [0, 80, 0, 0, 4, 0]);
}

#[test]
fn a_kill_loses_only_counts_that_were_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    planted(&path);
    let mut worker = Worker::serve(&path);
    worker.must(&search("lighthouse", 1));
    wait_until("the count is never written while the process lives", || {
        counts(&path)[0] == 1
    });
    worker.must(&search("lighthouse", 1));
    worker.must(&search("violins", 1));
    worker.kill();
    let found = counts(&path);
    assert!((1..=2).contains(&found[0]), "{found:?}");
    let palace = open(&path);
    let report = palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(report.ok(), "{:?}", report.findings);
    let drawers = crate::support::contents(&palace, "drawers");
    assert_eq!(drawers.len(), 6);
}

#[test]
fn a_count_does_not_bring_a_deleted_drawer_back_nor_reach_its_successor() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    planted(&path);
    let mut searching = Worker::serve(&path);
    let mut deleting = Worker::serve(&path);
    assert_eq!(ids(&searching.must(&search("violins", 1))), ["d4"]);
    let ids = vec!["d4".to_owned()];
    deleting.must(&run("drawers", Op::Delete { ids }));
    let again = rows().remove(4);
    deleting.must(&run("drawers", Op::Add { rows: vec![again] }));
    searching.finish();
    deleting.finish();
    assert_eq!(counts(&path), [0; 6]);
    assert_eq!(usage(&path), []);
    assert_eq!(crate::support::contents(&open(&path), "drawers").len(), 6);
}

#[test]
fn verify_repair_and_a_backup_leave_the_counts_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    planted(&path);
    let mut worker = Worker::serve(&path);
    worker.must(&search("lighthouse", 1));
    worker.must(&search("violins", 1));
    worker.finish();
    let before = usage(&path);
    assert_eq!(before.len(), 2);
    let palace = open(&path);
    assert!(
        palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
    palace
        .repair(&loci_palace::repair::Request::default())
        .unwrap();
    let backup = directory.path().join("backup");
    palace
        .backup(&loci_palace::backup::Request {
            target: backup.clone(),
        })
        .unwrap();
    assert_eq!(usage(&path), before);
    // A repair that does something, too.
    let db = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
    db.execute("UPDATE passages SET terms = terms + 1", [])
        .unwrap();
    assert!(
        !palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
    assert!(
        palace
            .repair(&loci_palace::repair::Request::default())
            .unwrap()
            .remaining
            .is_empty()
    );
    assert_eq!(usage(&path), before);
    palace
        .restore(&loci_palace::restore::Request {
            backup: backup.clone(),
            replace: true,
        })
        .unwrap();
    assert_eq!(usage(&path), before);
}

#[test]
fn a_count_of_before_a_restore_does_not_reach_the_drawer_that_has_the_number_now() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let backup = directory.path().join("backup");
    planted(&path);
    open(&path)
        .backup(&loci_palace::backup::Request {
            target: backup.clone(),
        })
        .unwrap();
    let add = |id: &str, text: &str| {
        let row = Row {
            id: id.into(),
            text: Some(text.into()),
            ..rows().remove(0)
        };
        run("drawers", Op::Add { rows: vec![row] })
    };
    let mut searching = Worker::serve(&path);
    searching.must(&add("before", "a walrus before the restore"));
    assert_eq!(ids(&searching.must(&search("walrus", 1))), ["before"]);
    let mut other = Worker::serve(&path);
    other.must(&StoreRequest::Restore {
        from: backup.display().to_string(),
    });
    other.must(&add("after", "an iguana after the restore"));
    searching.finish();
    other.finish();
    let palace = open(&path);
    let collection = palace.collection("drawers", false).unwrap();
    assert_eq!(collection.access_counts(&["after".into()]).unwrap(), [0]);
}
