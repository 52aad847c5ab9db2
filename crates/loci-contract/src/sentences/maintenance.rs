//! Chapter 20: maintenance of a palace.

use std::sync::atomic::{AtomicUsize, Ordering};

use loci_core::{
    Backend, Batch, Capability, DrawerRef, Embedder, EmbedderIdentity, Error, Fact, Link, LinkEnd,
    Metadata, RepairOptions, Result, RunKind, Selection, SelfTestStep,
};

use crate::scene::{DRAWERS, embedding, everything, ids, lacks, open, plain, refused, worded};
use crate::{Fixture, WordEmbedder};

pub fn s20_1_a_palace_is_made_once(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    refused!(
        backend.list_collections(&palace),
        Error::PalaceNotFound { .. }
    );
    assert!(backend.create_palace(&palace).unwrap());
    assert!(!backend.create_palace(&palace).unwrap());
    assert_eq!(backend.list_collections(&palace).unwrap(), []);
}

pub fn s20_2_a_call_without_its_capability_is_unsupported(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("backup");
    let selection = Selection::ids(["a"]);
    let embedder = WordEmbedder::new("other", 4);
    let calls: [(Capability, &dyn Fn() -> Option<Error>); 9] = [
        (Capability::Status, &|| backend.state(&palace).err()),
        (Capability::Forgetting, &|| {
            backend.forget(&palace, DRAWERS, &selection).err()
        }),
        (Capability::Verification, &|| {
            backend.verify(&palace, false).err()
        }),
        (Capability::Repair, &|| {
            backend.repair(&palace, RepairOptions::default()).err()
        }),
        (Capability::Backups, &|| {
            backend.backup(&palace, &target).err()
        }),
        (Capability::Backups, &|| {
            backend.check_backup(&palace, &target, false).err()
        }),
        (Capability::Backups, &|| {
            backend.restore(&palace, &target, true).err()
        }),
        (Capability::Reembedding, &|| {
            backend
                .reembed(&palace, DRAWERS, &embedder, &mut |_| ())
                .err()
        }),
        (Capability::SelfTest, &|| {
            backend.self_test(&palace, "text", &[1.0]).err()
        }),
    ];
    for (capability, call) in calls {
        if lacks(fixture, capability) {
            let error = call();
            let unsupported = matches!(error, Some(Error::UnsupportedCapability { .. }));
            assert!(unsupported, "{capability}: {error:?}");
        }
    }
}

pub fn s20_3_the_state_counts_facts_links_and_changes(fixture: &dyn Fixture) {
    if lacks(fixture, Capability::Status) {
        return;
    }
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let before = backend.state(&palace).unwrap();
    collection
        .add(&Batch::new(["a"]).documents(["red"]))
        .unwrap();
    relate(&*backend, fixture, &palace);
    let after = backend.state(&palace).unwrap();
    assert!(after.seq > before.seq && !after.purge_pending);
    let expected = if lacks(fixture, Capability::Relations) {
        (0, 0)
    } else {
        (1, 1)
    };
    assert_eq!((after.facts, after.links), expected);
}

/// Adds a fact and a link of the drawer `a`.
fn relate(backend: &dyn Backend, fixture: &dyn Fixture, palace: &loci_core::PalaceRef) {
    if lacks(fixture, Capability::Relations) {
        return;
    }
    let relations = backend.relations(palace).unwrap().unwrap();
    let fact = Fact {
        subject: "Ana".into(),
        predicate: "likes".into(),
        object: "red".into(),
        source: Some(DrawerRef {
            collection: DRAWERS.into(),
            id: "a".into(),
        }),
        ..Fact::default()
    };
    relations.add_facts(&[fact]).unwrap();
    let link = Link {
        from: LinkEnd::drawer(DRAWERS, "a"),
        to: LinkEnd::room("garden", ""),
        label: "in".into(),
        metadata: Metadata::default(),
    };
    relations.add_links(&[link]).unwrap();
}

pub fn s20_4_forget_removes_drawers_with_their_facts_and_links(fixture: &dyn Fixture) {
    if lacks(fixture, Capability::Forgetting) {
        return;
    }
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let batch = Batch::new(["a", "b"]).documents(["a heron by the river", "a rose"]);
    collection.add(&batch).unwrap();
    relate(&*backend, fixture, &palace);
    refused!(
        backend.forget(&palace, DRAWERS, &Selection::all()),
        Error::InvalidInput { .. }
    );
    let outcome = backend
        .forget(&palace, DRAWERS, &Selection::ids(["a"]))
        .unwrap();
    let related = usize::from(!lacks(fixture, Capability::Relations));
    assert_eq!(
        (outcome.forgotten, outcome.facts, outcome.links),
        (1, related, related)
    );
    assert_eq!(ids(&*collection, Selection::all()), ["b"]);
    assert_eq!(worded(&*collection, "heron"), Vec::<String>::new());
    let again = backend
        .forget(&palace, DRAWERS, &Selection::ids(["a"]))
        .unwrap();
    assert_eq!((again.forgotten, again.facts), (0, 0));
}

pub fn s20_5_a_healthy_palace_verifies_and_a_repair_changes_nothing(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    collection
        .add(&Batch::new(["a"]).documents(["red"]))
        .unwrap();
    if !lacks(fixture, Capability::Verification) {
        for deep in [false, true] {
            let report = backend.verify(&palace, deep).unwrap();
            assert!(report.ok(), "{:?}", report.findings);
            assert_eq!((report.drawers, report.deep), (1, deep));
        }
    }
    if !lacks(fixture, Capability::Repair) {
        let before = everything(&*collection);
        let report = backend.repair(&palace, RepairOptions::default()).unwrap();
        assert_eq!((report.drawers_before, report.drawers_after), (1, 1));
        assert_eq!(
            (report.before, report.remaining, report.set_aside),
            (vec![], vec![], vec![])
        );
        let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
        assert_eq!(everything(&*collection), before);
    }
}

pub fn s20_6_a_backup_restores_what_it_was_made_of(fixture: &dyn Fixture) {
    if lacks(fixture, Capability::Backups) {
        return;
    }
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    collection
        .add(&Batch::new(["a"]).documents(["red"]))
        .unwrap();
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("backup");
    assert!(backend.backup(&palace, &target).unwrap() > 0);
    assert!(
        backend.backup(&palace, &target).is_err(),
        "the target exists"
    );
    collection
        .add(&Batch::new(["b"]).documents(["blue"]))
        .unwrap();
    refused!(
        backend.restore(&palace, &target, false),
        Error::Conflict { .. }
    );
    let generation = backend.generation(&palace).unwrap();
    let restored = backend.restore(&palace, &target, true).unwrap();
    assert_eq!(restored.drawers, 1);
    assert_ne!(backend.generation(&palace).unwrap(), generation);
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    assert_eq!(ids(&*collection, Selection::all()), ["a"]);
}

/// Fails from its second call on.
struct FailingEmbedder(WordEmbedder, AtomicUsize);

impl Embedder for FailingEmbedder {
    fn identity(&self) -> EmbedderIdentity {
        self.0.identity()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        match self.1.fetch_add(1, Ordering::Relaxed) {
            0 => self.0.embed(texts),
            _ => Err(Error::invalid("embedder", "fails on purpose")),
        }
    }
}

pub fn s20_7_old_vectors_serve_until_all_new_ones_exist(fixture: &dyn Fixture) {
    if lacks(fixture, Capability::Reembedding) {
        return;
    }
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    let old = WordEmbedder::new("old", 4);
    let collection = open(fixture, &palace, DRAWERS, &embedding(old.clone())).unwrap();
    let names: Vec<String> = (0..200).map(|n| format!("d{n}")).collect();
    let texts: Vec<String> = (0..200).map(|n| format!("word{n} of the list")).collect();
    collection.add(&Batch::new(names).documents(texts)).unwrap();
    let new = WordEmbedder::new("new", 8);
    let failing = FailingEmbedder(new.clone(), AtomicUsize::new(0));
    assert!(
        backend
            .reembed(&palace, DRAWERS, &failing, &mut |_| ())
            .is_err()
    );
    let plain_handle = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    assert_eq!(plain_handle.embedder().unwrap(), Some(old.identity()));
    let vectors = everything(&*plain_handle).embeddings.unwrap();
    assert!(vectors.iter().all(|vector| vector.len() == 4));
    let mut last = 0;
    let mut progress = |progress: loci_core::ReembedProgress| last = progress.done;
    let done = backend
        .reembed(&palace, DRAWERS, &new, &mut progress)
        .unwrap();
    assert_eq!((done.drawers, last), (200, 200));
    assert!(
        done.resumed > 0 && done.made + done.resumed == 200,
        "{done:?}"
    );
    assert_eq!(done.before, Some(old.identity()));
    let handle = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    assert_eq!(handle.embedder().unwrap(), Some(new.identity()));
    let vectors = everything(&*handle).embeddings.unwrap();
    assert!(vectors.iter().all(|vector| vector.len() == 8));
}

pub fn s20_8_a_trial_write_leaves_no_trace(fixture: &dyn Fixture) {
    if lacks(fixture, Capability::SelfTest) {
        return;
    }
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    collection
        .add(&Batch::new(["a"]).documents(["red"]))
        .unwrap();
    let before = (
        everything(&*collection),
        backend.list_collections(&palace).unwrap(),
    );
    let trial = backend
        .self_test(&palace, "zebra quagga okapi", &[1.0, 0.0])
        .unwrap();
    assert!(trial.trouble.is_none(), "{:?}", trial.trouble);
    let steps = [
        SelfTestStep::Write,
        SelfTestStep::Read,
        SelfTestStep::Find,
        SelfTestStep::Forget,
        SelfTestStep::Commit,
    ];
    assert_eq!(trial.done, steps);
    assert_eq!(
        (
            everything(&*collection),
            backend.list_collections(&palace).unwrap()
        ),
        before
    );
    assert_eq!(worded(&*collection, "quagga"), Vec::<String>::new());
}

pub fn s20_9_a_palace_that_was_closed_opens_with_its_ledger(fixture: &dyn Fixture) {
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let run = collection
        .ledger()
        .map(|ledger| ledger.begin_run(&RunKind::Mine, &[]).unwrap());
    backend.close_palace(&palace).unwrap();
    assert!(collection.count().is_err());
    let again = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let runs = again.ledger().map(|ledger| ledger.runs(1).unwrap());
    assert_eq!(runs.map(|runs| runs[0].id), run);
}

pub fn s20_10_a_backup_is_checked_without_being_restored(fixture: &dyn Fixture) {
    if lacks(fixture, Capability::Backups) {
        return;
    }
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let batch = Batch::new(["a", "b"]).documents(["red", "blue"]);
    collection.add(&batch).unwrap();
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    backend.backup(&palace, &at("backup")).unwrap();
    let bytes = std::fs::read(at("backup")).unwrap();
    let identity = backend.state(&palace).unwrap().identity;
    assert!(!identity.is_empty());
    for deep in [false, true] {
        let contents = backend.check_backup(&palace, &at("backup"), deep).unwrap();
        assert_eq!((contents.drawers, contents.damaged), (2, 0));
        assert_eq!(contents.identity, identity);
    }
    assert_eq!(std::fs::read(at("backup")).unwrap(), bytes);
    let other = fixture.fresh_palace();
    open(fixture, &other, DRAWERS, &plain()).unwrap();
    assert_ne!(backend.state(&other).unwrap().identity, identity);
    let cut = bytes.split_at(bytes.len() - 1).0;
    let half = bytes.split_at(bytes.len() / 2).0;
    let others: [(&str, &[u8]); 4] = [
        ("cut", cut),
        ("half", half),
        ("empty", b""),
        ("text", b"red"),
    ];
    for (name, bytes) in others {
        std::fs::write(at(name), bytes).unwrap();
        for deep in [false, true] {
            let checked = backend.check_backup(&palace, &at(name), deep);
            assert!(checked.is_err(), "{name}, deep {deep}: {checked:?}");
        }
    }
    assert!(
        backend
            .check_backup(&palace, &at("missing"), false)
            .is_err()
    );
    assert!(backend.check_backup(&palace, place.path(), false).is_err());
}

pub fn s20_11_several_collections_are_forgotten_in_one_call(fixture: &dyn Fixture) {
    if lacks(fixture, Capability::Forgetting) {
        return;
    }
    let (backend, palace) = (fixture.backend(), fixture.fresh_palace());
    let names = ["one".to_owned(), "three".to_owned(), "two".to_owned()];
    for name in &names {
        let collection = open(fixture, &palace, name, &plain()).unwrap();
        let batch = Batch::new(["a", "b"]).documents(["red", "blue"]);
        collection.add(&batch).unwrap();
    }
    let mut seen = Vec::new();
    let outcome = backend.forget_in(
        &palace,
        &names,
        &Selection::ids(["a"]),
        &mut |done, so_far| {
            seen.push((done, so_far.forgotten));
            Ok(())
        },
    );
    assert_eq!(outcome.unwrap().forgotten, 3);
    assert_eq!(seen, [(0, 0), (1, 1), (2, 2)]);
    let stopped = backend.forget_in(&palace, &names, &Selection::ids(["b"]), &mut |done, _| {
        if done == 1 {
            return Err(Error::invalid("test", "stops here"));
        }
        Ok(())
    });
    assert!(stopped.is_err());
    let left = |name: &str| {
        let collection = open(fixture, &palace, name, &plain()).unwrap();
        ids(&*collection, Selection::all())
    };
    assert_eq!(left("one"), Vec::<String>::new());
    assert_eq!(
        (left("two"), left("three")),
        (vec!["b".to_owned()], vec!["b".to_owned()])
    );
}
