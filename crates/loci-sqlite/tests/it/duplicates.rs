//! A palace without the second uniqueness index that holds duplicates is cleaned when it is opened.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::json;

use crate::operations::letters;
use crate::support::{Access as _, Model, Op, Rng, Row, Worker, check, open, query, run};

fn sql(palace: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(palace.join("palace.sqlite3")).unwrap()
}

/// Drawers of the same text and file; only the stored key columns are made equal, as a version
/// without the index would have left them.
fn plant(path: &Path) -> (Model, BTreeSet<String>) {
    let palace = open(path);
    let collection = palace.collection("drawers", true).unwrap();
    let mut model = Model::default();
    let mut rng = Rng(1);
    let mut rows = Vec::new();
    for group in 0..5 {
        for member in 0..4 {
            rows.push(Row {
                id: format!("g{group}m{member}"),
                text: Some(format!(
                    "common uq{}q same",
                    letters(&format!("g{group}m{member}"))
                )),
                meta: BTreeMap::from([
                    ("source_file".to_owned(), json!(format!("file{group}"))),
                    ("start_line".to_owned(), json!(member)),
                    ("group".to_owned(), json!(format!("g{group}"))),
                ]),
                vector: Some(rng.vector(8)),
            });
        }
    }
    rows.push(Row {
        id: "single".into(),
        text: Some("common uqsingleq".into()),
        meta: BTreeMap::from([("source_file".to_owned(), json!("file0"))]),
        vector: Some(rng.vector(8)),
    });
    let op = Op::Add { rows };
    op.run(&palace, collection.as_ref()).unwrap();
    model.apply(&op);
    Op::Reindex.run(&palace, collection.as_ref()).unwrap();
    palace.close().unwrap();
    let db = sql(path);
    db.execute_batch(
        "DROP INDEX drawers_mined;
         UPDATE drawers SET start_line = 7, content_hash = x'00' WHERE id LIKE 'g%';
         UPDATE drawers SET created_at = 1000;
         -- Group 0: the most used one. Group 1: use counts too. Group 2: the oldest. Groups 3 and 4: the smallest id.
         INSERT INTO usage (row, access_count, use_count) SELECT row, 3, 1 FROM drawers WHERE id = 'g0m2';
         INSERT INTO usage (row, access_count, use_count) SELECT row, 3, 0 FROM drawers WHERE id = 'g0m0';
         INSERT INTO usage (row, access_count, use_count) SELECT row, 2, 0 FROM drawers WHERE id = 'g1m0';
         INSERT INTO usage (row, access_count, use_count) SELECT row, 1, 2 FROM drawers WHERE id = 'g1m3';
         UPDATE drawers SET created_at = 500 WHERE id = 'g2m1';
         UPDATE passages SET authored_at = (SELECT created_at FROM drawers WHERE row = passages.row);",
    )
    .unwrap();
    let keepers = ["g0m2", "g1m3", "g2m1", "g3m0", "g4m0", "single"];
    (model, keepers.iter().map(|id| (*id).to_owned()).collect())
}

#[test]
fn duplicates_are_removed_once_from_everywhere_and_kept_in_a_side_table() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let (mut model, keepers) = plant(&path);
    // Two processes at once.
    let mut workers: Vec<Worker> = std::thread::scope(|threads| {
        let starts: Vec<_> = (0..2)
            .map(|_| threads.spawn(|| Worker::serve(&path)))
            .collect();
        starts
            .into_iter()
            .map(|start| start.join().unwrap())
            .collect()
    });
    let losers: Vec<String> = model
        .rows
        .keys()
        .filter(|id| !keepers.contains(*id))
        .cloned()
        .collect();
    assert_eq!(losers.len(), 15);
    model.apply(&Op::Delete {
        ids: losers.clone(),
    });
    for worker in &mut workers {
        for row in model.dead.values().chain(model.rows.values()) {
            model.ask(worker, "drawers", row.vector.as_ref().unwrap(), 10);
        }
        assert_eq!(
            worker.must(&query("drawers", &[0.5; 8], 20))["ids"]
                .as_array()
                .unwrap()
                .len(),
            6
        );
    }
    drop(workers);
    let palace = open(&path);
    check(&palace, "drawers", &model, &mut Rng(2), true);
    assert_eq!(palace.state().unwrap().removed_duplicates, 15);
    palace.close().unwrap();
    let count = |what: &str| -> i64 { sql(&path).query_row(what, [], |row| row.get(0)).unwrap() };
    assert_eq!(count("SELECT count(*) FROM vectors"), 6);
    assert_eq!(count("SELECT count(DISTINCT row) FROM labels"), 6);
    assert_eq!(count("SELECT count(*) FROM postings_docsize"), 6);
    assert_eq!(count("SELECT count(*) FROM usage"), 2);
    assert_eq!(
        count("SELECT count(*) FROM removed_duplicates WHERE vector IS NOT NULL AND text <> ''"),
        15
    );
    // Everything that was there is somewhere: nothing is lost by repairing.
    let kept: BTreeSet<String> = {
        let db = sql(&path);
        let mut statement = db
            .prepare("SELECT drawer_id FROM removed_duplicates")
            .unwrap();
        let ids = statement.query_map([], |row| row.get(0)).unwrap();
        ids.collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(kept, losers.into_iter().collect());
    // Once more changes nothing.
    let seq = count("SELECT seq FROM palace");
    sql(&path)
        .execute_batch("DROP INDEX drawers_mined")
        .unwrap();
    let palace = open(&path);
    check(&palace, "drawers", &model, &mut Rng(2), true);
    palace.close().unwrap();
    assert_eq!(count("SELECT seq FROM palace"), seq);
    assert_eq!(count("SELECT count(*) FROM removed_duplicates"), 15);
}

#[test]
fn forgetting_a_keeper_forgets_its_removed_duplicates() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    plant(&path);
    let mut worker = Worker::serve(&path);
    worker.must(&run(
        "drawers",
        Op::Forget {
            ids: vec!["g0m2".into()],
        },
    ));
    worker.finish();
    crate::support::assert_nowhere(&path, ["uqgamaq", "uqgambq", "uqgamcq", "uqgamdq"]);
}
