//! Eight processes read and write one palace at once: nothing is lost, nothing is double, no error
//! reaches a caller, and each sees what the others have acknowledged.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::json;

use crate::support::{
    Access as _, Op, Request, Rng, Row, Seeded, Worker, contents, effort, open, query, run, seed,
};

const PROCESSES: u64 = 8;
const SHARED: u64 = 100;

/// What has been acknowledged so far, by anybody.
#[derive(Default)]
struct Acknowledged {
    /// Drawer, key and value of each metadata patch.
    patches: Vec<(String, String)>,
    own: Vec<Row>,
}

fn row(id: String, text: String, vector: Vec<f32>) -> Row {
    Row {
        id,
        text: Some(text),
        meta: BTreeMap::new(),
        vector: Some(vector),
    }
}

#[test]
fn eight_processes_lose_no_update_make_no_duplicate_and_see_each_other() {
    let seed = Seeded(seed());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let shared = Op::Add {
        rows: (0..SHARED)
            .map(|n| {
                row(
                    format!("shared{n}"),
                    format!("shared drawer {n}"),
                    Rng(n).vector(8),
                )
            })
            .collect(),
    };
    shared
        .run(
            &palace,
            palace.collection("drawers", true).unwrap().as_ref(),
        )
        .unwrap();
    drop(palace);
    let acknowledged = Mutex::new(Acknowledged::default());
    let each = 2_600 * effort() as u64;
    std::thread::scope(|threads| {
        for process in 0..PROCESSES {
            let (path, acknowledged) = (&path, &acknowledged);
            let mut rng = Rng(seed.0 ^ (process << 32));
            threads.spawn(move || {
                let mut worker = Worker::serve(path);
                for n in 0..each {
                    one_operation(&mut worker, &mut rng, process, n, acknowledged);
                }
                see_everything(&mut worker, acknowledged);
                worker.finish();
            });
        }
    });
    let acknowledged = acknowledged.into_inner().unwrap();
    let palace = open(&path);
    let found = contents(&palace, "drawers");
    for (id, key) in &acknowledged.patches {
        assert!(
            found[id].meta.contains_key(key),
            "lost update: {key} of {id}"
        );
    }
    for row in &acknowledged.own {
        assert_eq!(
            found.get(&row.id).map(|found| &found.vector),
            Some(&row.vector),
            "lost: {}",
            row.id
        );
    }
    let mut mined: BTreeMap<&str, usize> = BTreeMap::new();
    for row in found.values().filter(|row| row.id.starts_with("mined")) {
        *mined.entry(row.text.as_deref().unwrap()).or_default() += 1;
    }
    assert!(!mined.is_empty());
    assert!(
        mined.values().all(|count| *count == 1),
        "duplicates: {mined:?}"
    );
    let report = palace.verify(true).unwrap();
    assert!(report.ok(), "{:?}", report.findings);
    eprintln!(
        "{} operations, {} patches, {} mined, {} drawers",
        PROCESSES * each,
        acknowledged.patches.len(),
        mined.len(),
        found.len()
    );
}

fn one_operation(
    worker: &mut Worker,
    rng: &mut Rng,
    process: u64,
    n: u64,
    acknowledged: &Mutex<Acknowledged>,
) {
    match rng.below(20) {
        0..=5 => {
            let (id, key) = (
                format!("shared{}", rng.next() % SHARED),
                format!("p{process}n{n}"),
            );
            let row = Row {
                id: id.clone(),
                text: None,
                meta: [(key.clone(), json!(n))].into(),
                vector: None,
            };
            let answer = worker.must(&run("drawers", Op::Update { rows: vec![row] }));
            assert_eq!(answer["outcomes"][0], "updated");
            acknowledged.lock().unwrap().patches.push((id, key));
        }
        6..=9 => {
            // Everybody mines the same sections, each under an id of its own.
            let section = rng.below(1_500);
            let mut row = row(
                format!("mined{section}by{process}"),
                format!("section {section}"),
                rng.vector(8),
            );
            row.meta = [
                ("source_file".to_owned(), json!("notes.md")),
                ("start_line".to_owned(), json!(section)),
            ]
            .into();
            let answer = worker.must(&run("drawers", Op::Add { rows: vec![row] }));
            let outcome = answer["outcomes"][0].as_str().unwrap();
            assert!(
                ["added", "duplicate", "exists"].contains(&outcome),
                "{outcome}"
            );
        }
        10 | 11 => {
            let row = row(
                format!("own{process}n{n}"),
                format!("own drawer uq{process}x{n}q"),
                rng.vector(8),
            );
            worker.must(&run(
                "drawers",
                Op::Add {
                    rows: vec![row.clone()],
                },
            ));
            acknowledged.lock().unwrap().own.push(row);
        }
        12 if rng.below(10) == 0 => {
            worker.must(&run("drawers", Op::Reindex));
        }
        12..=15 => {
            worker.must(&query("drawers", &rng.vector(8), 10));
        }
        16 | 17 => {
            worker.must(&Request::Newest {
                collection: "drawers".into(),
                terms: vec!["shared".into(), "section".into()],
                k: 5,
            });
        }
        _ => {
            // What any process acknowledged before this call began is found by its vector.
            let known = {
                let known = acknowledged.lock().unwrap();
                let at = known.own.len().saturating_sub(1 + rng.below(5));
                known.own.get(at).cloned()
            };
            if let Some(row) = known {
                let answer = worker.must(&query("drawers", row.vector.as_ref().unwrap(), 1));
                assert_eq!(answer["ids"][0], json!(row.id), "{answer}");
            }
        }
    }
}

/// The last look: everything acknowledged by anybody before it began.
fn see_everything(worker: &mut Worker, acknowledged: &Mutex<Acknowledged>) {
    let (patches, own) = {
        let known = acknowledged.lock().unwrap();
        (known.patches.clone(), known.own.clone())
    };
    let found = worker.must(&Request::Get {
        collection: "drawers".into(),
        ids: None,
    });
    let found: Vec<Row> = serde_json::from_value(found).unwrap();
    let found: BTreeMap<&str, &Row> = found.iter().map(|row| (row.id.as_str(), row)).collect();
    for (id, key) in &patches {
        assert!(
            found[id.as_str()].meta.contains_key(key),
            "not seen: {key} of {id}"
        );
    }
    for row in &own {
        assert!(found.contains_key(row.id.as_str()), "not seen: {}", row.id);
    }
}
