//! Every defect that was measured on another store, as a test of this one.

use std::time::Duration;

use loci_core::{MaintenanceKind, MaintenanceStatus};

use crate::support::{
    Access as _, Model, Op, Rng, Row, SqlitePalace, Worker, check, fill, open, query, random_row,
    run,
};

fn reindex(palace: &SqlitePalace, collection: &str) {
    let collection = palace.collection(collection, false).unwrap();
    let done = collection
        .run_maintenance(MaintenanceKind::Reindex)
        .unwrap();
    assert_eq!(done.status, MaintenanceStatus::Ran);
}

#[test]
fn deletes_after_a_snapshot_then_kill_9_leave_no_ghost_and_a_full_top_k() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let mut model = fill(&open(&path), "drawers", "a", 1_000, 16, 1);
    reindex(&open(&path), "drawers");
    let vector = Rng(2).vector(16);
    let ids: Vec<String> = model
        .nearest(&vector, 200, None)
        .into_iter()
        .map(|(_, id)| id)
        .collect();
    let mut worker = Worker::serve(&path);
    for ids in ids.chunks(20) {
        let op = Op::Delete { ids: ids.to_vec() };
        worker.must(&run("drawers", op.clone()));
        model.apply(&op);
    }
    worker.kill();
    let mut worker = Worker::serve(&path);
    for k in [5, 10, 50] {
        for _ in 0..3 {
            model.ask(&mut worker, "drawers", &vector, k);
        }
    }
    for row in model.dead.values() {
        model.ask(&mut worker, "drawers", row.vector.as_ref().unwrap(), 10);
    }
    check(&open(&path), "drawers", &model, &mut Rng(3), true);
}

#[test]
fn catching_up_is_one_pass_and_never_adds_again_what_is_indexed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let mut model = fill(&open(&path), "drawers", "a", 1_500, 8, 1);
    reindex(&open(&path), "drawers");
    let palace = open(&path);
    let collection = palace.collection("drawers", false).unwrap();
    assert_eq!(collection.maintenance_state().unwrap().tail, 0);
    let mut rng = Rng(2);
    // A metadata change does not touch the vector: nothing of it is searched twice.
    let mut row = random_row(&mut rng, "a", 7, 8);
    (row.text, row.vector) = (None, None);
    for op in [
        Op::Update { rows: vec![row] },
        Op::Add {
            rows: vec![random_row(&mut rng, "b", 1, 8)],
        },
    ] {
        op.run(&palace, collection.as_ref()).unwrap();
        model.apply(&op);
    }
    let state = collection.maintenance_state().unwrap();
    assert_eq!(
        (state.tail, state.vectors),
        (1, 1_501),
        "only what is new is searched exactly"
    );
    let all = loci_core::Query::vector(rng.vector(8)).k(2_000);
    for _ in 0..3 {
        let mut ids = collection.query(&all).unwrap().ids.remove(0);
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 1_501);
    }
}

#[test]
fn adds_after_a_reopen_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let mut model = fill(&open(&path), "drawers", "a", 200, 16, 1);
    reindex(&open(&path), "drawers");
    let palace = open(&path);
    let more = fill(&palace, "drawers", "b", 100, 16, 2);
    model.rows.extend(more.rows);
    drop(palace);
    let mut worker = Worker::serve(&path);
    for row in model.rows.values() {
        let answer = worker.must(&query("drawers", row.vector.as_ref().unwrap(), 1));
        assert_eq!(answer["ids"][0], row.id.as_str());
    }
}

#[test]
fn growth_past_any_first_capacity_keeps_every_vector_findable() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let mut last = Model::default();
    for part in 0..5_u64 {
        let palace = open(&path);
        last = fill(&palace, "drawers", &format!("p{part}x"), 5_000, 8, part);
        reindex(&palace, "drawers");
    }
    let mut worker = Worker::serve(&path);
    for row in last.rows.values().take(300) {
        let answer = worker.must(&query("drawers", row.vector.as_ref().unwrap(), 1));
        assert_eq!(answer["ids"][0], row.id.as_str());
    }
    let palace = open(&path);
    assert_eq!(
        palace
            .collection("drawers", false)
            .unwrap()
            .count()
            .unwrap(),
        25_000
    );
    assert!(palace.verify(true).unwrap().ok());
}

#[test]
fn an_update_moves_the_vector() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let mut model = fill(&open(&path), "drawers", "a", 300, 8, 1);
    reindex(&open(&path), "drawers");
    let mut worker = Worker::serve(&path);
    let (old, new) = (model.rows["a9"].vector.clone().unwrap(), Rng(5).vector(8));
    let row = Row {
        id: "a9".into(),
        text: None,
        meta: [].into(),
        vector: Some(new.clone()),
    };
    for round in 0..2 {
        if round == 1 {
            let op = Op::Upsert {
                rows: vec![row.clone()],
            };
            worker.must(&run("drawers", op.clone()));
            model.apply(&op);
        }
        for vector in [&old, &new] {
            model.ask(&mut worker, "drawers", vector, 10);
        }
    }
    let answer = worker.must(&query("drawers", &new, 1));
    assert_eq!(answer["ids"][0], "a9");
    let answer = worker.must(&query("drawers", &old, 1));
    assert_ne!(answer["ids"][0], "a9");
}

#[test]
fn an_id_that_is_added_again_never_inherits_an_old_vector() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let mut model = fill(&open(&path), "drawers", "a", 300, 8, 1);
    reindex(&open(&path), "drawers");
    let old = model.rows["a2"].vector.clone().unwrap();
    let mut worker = Worker::serve(&path);
    let delete = Op::Delete {
        ids: vec!["a2".into()],
    };
    worker.must(&run("drawers", delete.clone()));
    model.apply(&delete);
    worker.kill();
    let mut worker = Worker::serve(&path);
    let again = Op::Add {
        rows: vec![random_row(&mut Rng(8), "a", 2, 8)],
    };
    worker.must(&run("drawers", again.clone()));
    model.apply(&again);
    let new = model.rows["a2"].vector.clone().unwrap();
    for _ in 0..3 {
        model.ask(&mut worker, "drawers", &old, 10);
        model.ask(&mut worker, "drawers", &new, 10);
    }
    assert_eq!(worker.must(&query("drawers", &new, 1))["ids"][0], "a2");
    assert_ne!(worker.must(&query("drawers", &old, 1))["ids"][0], "a2");
    // And without a vector it has none.
    let bare = Op::Add {
        rows: vec![Row {
            vector: None,
            ..random_row(&mut Rng(9), "a", 3, 8)
        }],
    };
    let old = model.rows["a3"].vector.clone().unwrap();
    for op in [
        Op::Delete {
            ids: vec!["a3".into()],
        },
        bare,
    ] {
        worker.must(&run("drawers", op.clone()));
        model.apply(&op);
    }
    model.ask(&mut worker, "drawers", &old, 10);
    check(&open(&path), "drawers", &model, &mut Rng(3), true);
}

#[test]
fn a_small_collection_beside_a_large_one_has_a_full_top_k_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    // The small one lies far away from what is asked, the large one all around it.
    let vector = vec![1.0; 8];
    let mut rows = Vec::new();
    for number in 0..20 {
        let mut row = random_row(&mut Rng(number), "s", number, 8);
        row.vector
            .as_mut()
            .unwrap()
            .iter_mut()
            .for_each(|x| *x = -x.abs() - 0.1);
        rows.push(row);
    }
    let op = Op::Add { rows };
    let mut small = Model::default();
    op.run(&palace, palace.collection("small", true).unwrap().as_ref())
        .unwrap();
    small.apply(&op);
    let large = fill(&palace, "large", "l", 3_000, 8, 1);
    for built in [false, true] {
        if built {
            reindex(&palace, "small");
            reindex(&palace, "large");
        }
        let mut worker = Worker::serve(&path);
        for _ in 0..3 {
            small.ask(&mut worker, "small", &vector, 10);
            large.ask(&mut worker, "large", &vector, 10);
        }
    }
}

#[test]
fn one_wrong_call_never_makes_a_palace_that_does_not_open() {
    // The poison pill: unknown ids, wrong dimensions, conflicts.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let model = fill(&open(&path), "drawers", "a", 50, 8, 1);
    let mut worker = Worker::serve(&path);
    let mut wrong = random_row(&mut Rng(1), "z", 1, 5);
    assert!(
        worker
            .ask(&run(
                "drawers",
                Op::Add {
                    rows: vec![wrong.clone()]
                }
            ))
            .is_err()
    );
    wrong.id = String::new();
    assert!(
        worker
            .ask(&run("drawers", Op::Add { rows: vec![wrong] }))
            .is_err()
    );
    worker.must(&run(
        "drawers",
        Op::Delete {
            ids: vec!["nobody".into()],
        },
    ));
    worker.must(&run(
        "drawers",
        Op::Update {
            rows: vec![random_row(&mut Rng(1), "nobody", 1, 8)],
        },
    ));
    std::thread::sleep(Duration::from_millis(1));
    worker.kill();
    check(&open(&path), "drawers", &model, &mut Rng(3), true);
}
