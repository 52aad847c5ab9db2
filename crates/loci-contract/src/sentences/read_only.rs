//! The read half: backends that cannot write.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use loci_core::{
    Advice, Backend, Batch, Capability, Collection, Error, Existing, Get, History, Include,
    MaintenanceKind, PalaceRef, Period, Query, Selection, ViewRequest,
};
use loci_recall::search_words;
use serde_json::json;

use crate::scene::{DRAWERS, drawer, open, plain, refused};
use crate::{Fixture, Through};

/// A palace with two drawers, written out.
fn filled(fixture: &Through) -> PalaceRef {
    let palace = fixture.fresh_palace();
    let writer = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    for (id, vector) in [("a", [1.0, 0.0]), ("b", [0.0, 1.0])] {
        let batch = drawer(id, "a quagga", &json!({"wing": "w"})).embeddings([vector.to_vec()]);
        writer.add(&batch).unwrap();
    }
    fixture.lay_out(&palace);
    palace
}

fn opened(backend: &dyn Backend, palace: &PalaceRef) -> std::sync::Arc<dyn Collection> {
    backend
        .get_collection(palace, DRAWERS, false, &plain())
        .unwrap()
}

/// The errors of all calls that would write.
fn errors_of_every_write(
    backend: &dyn Backend,
    palace: &PalaceRef,
) -> Vec<(&'static str, Option<Error>)> {
    let collection = opened(backend, palace);
    let batch = Batch::new(["a"]).documents(["text"]);
    let some = Selection::ids(["a"]);
    let maintain = |kind| collection.run_maintenance(kind).err();
    vec![
        ("add", collection.add(&batch).err()),
        ("upsert", collection.upsert(&batch).err()),
        ("update", collection.update(&batch).err()),
        ("delete", collection.delete(&some).err()),
        ("analyze", maintain(MaintenanceKind::Analyze)),
        ("compact", maintain(MaintenanceKind::Compact)),
        ("reindex", maintain(MaintenanceKind::Reindex)),
        (
            "create_collection",
            backend.create_collection(palace, "new", &plain()).err(),
        ),
        (
            "delete_collection",
            backend.delete_collection(palace, DRAWERS).err(),
        ),
        (
            "get_collection",
            backend.get_collection(palace, "new", true, &plain()).err(),
        ),
    ]
}

pub fn r1_every_write_is_unsupported_and_advises_import_where_there_is_one(fixture: &Through) {
    let palace = filled(fixture);
    let reader = fixture.reader();
    for (call, error) in errors_of_every_write(&*reader, &palace) {
        let Some(error) = error else {
            panic!("{call} gave no error")
        };
        assert!(
            matches!(error.plain(), Error::UnsupportedCapability { .. }),
            "{call} gave {error:?}"
        );
        assert_eq!(
            matches!(error.advice(), Some(Advice::Import { .. })),
            reader.can_be_imported(),
            "{call} gave {error:?}"
        );
    }
    let names = reader.list_collections(&palace).unwrap();
    assert_eq!(names.len(), 1);
    assert_eq!(opened(&*reader, &palace).count().unwrap(), 2);
}

type Everything = BTreeMap<PathBuf, (SystemTime, Option<Vec<u8>>)>;

/// Collects name, time and bytes of everything in a directory, and of the directory itself.
fn on_disk(path: &Path, found: &mut Everything) {
    let info = std::fs::symlink_metadata(path).unwrap();
    let bytes = info.is_file().then(|| std::fs::read(path).unwrap());
    found.insert(path.into(), (info.modified().unwrap(), bytes));
    if info.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            on_disk(&entry.unwrap().path(), found);
        }
    }
}

fn everything_on_disk(path: &Path) -> Everything {
    let mut found = Everything::new();
    on_disk(path, &mut found);
    found
}

fn read_everything(collection: &dyn Collection) {
    let all = Selection::all();
    let get = Get {
        include: Include::ALL,
        ..Get::new(all.clone())
    };
    assert_eq!(collection.get(&get).unwrap().ids, ["a", "b"]);
    let query = Query::vector(vec![1.0, 0.0]);
    assert_eq!(collection.query(&query).unwrap().ids, [["a", "b"]]);
    let _ = collection.get_recent(5, &all, Include::ALL);
    let _ = search_words(collection, "quagga", 5, &all);
    let _ = collection.facet_counts("wing", &all, 5);
    let _ = collection.changes_since(0, 5);
    let _ = collection.access_counts(&["a".into()]);
    collection.note_access(&[1]);
    collection.count().unwrap();
    collection.estimated_count().unwrap();
    collection.dimension().unwrap();
    collection.embedder().unwrap();
    collection.maintenance_state().unwrap();
    assert!(collection.health().ok);
}

pub fn r2_no_call_changes_anything_on_disk(fixture: &Through) {
    let palace = filled(fixture);
    let before = everything_on_disk(palace.directory().unwrap());
    assert!(before.len() > 1);
    let reader = fixture.reader();
    assert!(reader.detect(&palace));
    reader.list_collections(&palace).unwrap();
    read_everything(&*opened(&*reader, &palace));
    errors_of_every_write(&*reader, &palace);
    reader.close_palace(&palace).unwrap();
    read_everything(&*opened(&*reader, &palace));
    reader.close().unwrap();
    assert!(
        everything_on_disk(palace.directory().unwrap()) == before,
        "something on disk changed"
    );
}

pub fn r3_opening_a_missing_palace_with_create_creates_nothing(fixture: &Through) {
    let (reader, palace) = (fixture.reader(), fixture.fresh_palace());
    refused!(
        reader.get_collection(&palace, DRAWERS, true, &plain()),
        Error::UnsupportedCapability { .. }
    );
    refused!(
        reader.create_collection(&palace, DRAWERS, &plain()),
        Error::UnsupportedCapability { .. }
    );
    refused!(
        reader.delete_collection(&palace, DRAWERS),
        Error::PalaceNotFound { .. }
    );
    assert!(!palace.directory().unwrap().exists());
}

pub fn r4_every_handle_sees_what_was_written_elsewhere_at_its_next_call(fixture: &Through) {
    let palace = filled(fixture);
    let reader = fixture.reader();
    let (one, two) = (opened(&*reader, &palace), opened(&*reader, &palace));
    assert_eq!(one.count().unwrap(), 2);
    let writer = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    writer.delete(&Selection::ids(["a"])).unwrap();
    fixture.lay_out(&palace);
    for handle in [one, two] {
        let found = handle.get(&Get::new(Selection::all())).unwrap();
        assert_eq!(found.ids, ["b"]);
    }
}

pub fn r5_a_drawer_has_the_times_that_were_recorded(fixture: &Through) {
    let palace = fixture.fresh_palace();
    let writer = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    // Many formats store times in whole seconds.
    let (old, new) = (1_000_000_000_000_i64, 1_500_000_000_000_i64);
    let batch = Batch::new(["old", "new"]).documents(["a quagga", "a quagga"]);
    let histories = [old, new].map(|moment| History::added(Some(moment)));
    writer
        .import_records(&batch, &histories, Existing::Keep)
        .unwrap();
    fixture.lay_out(&palace);
    let able = fixture.reader().capabilities();
    let reader = opened(&*fixture.reader(), &palace);
    let during = |since, before| Selection {
        period: Some(Period { since, before }),
        ..Selection::default()
    };
    for (period, expected) in [
        (during(None, Some(new)), "old"),
        (during(Some(old + 1_000), None), "new"),
    ] {
        assert_eq!(
            reader.get(&Get::new(period.clone())).unwrap().ids,
            [expected]
        );
        let request = ViewRequest {
            selection: &period,
            vectors: false,
        };
        let mut in_scope = 0;
        let mut counted = |view: &mut dyn loci_core::SearchView| {
            in_scope = view.statistics().in_scope;
            Ok(())
        };
        if able.contains(&Capability::Recall) {
            reader.with_view(&request, &mut counted).unwrap();
            assert_eq!(in_scope, 1);
        }
    }
    let ids = ["old".to_owned(), "new".to_owned()];
    let known: Vec<Option<i64>> = reader
        .histories(&ids)
        .unwrap()
        .into_iter()
        .map(|history| history.created_at)
        .collect();
    assert_eq!(known, [Some(old), Some(new)]);
}

pub fn r6_a_name_means_itself_and_the_default_collection_is_one_that_is_there(fixture: &Through) {
    let palace = fixture.fresh_palace();
    open(fixture, &palace, "notes", &plain()).unwrap();
    fixture.lay_out(&palace);
    let reader = fixture.reader();
    refused!(
        reader.get_collection(&palace, DRAWERS, false, &plain()),
        Error::CollectionNotInitialized { .. }
    );
    let default = reader.default_collection(&palace).unwrap();
    assert!(default.is_none_or(|name| name == "notes"));
    open(fixture, &palace, DRAWERS, &plain()).unwrap();
    fixture.lay_out(&palace);
    let default = reader.default_collection(&palace).unwrap();
    assert!(default.is_none_or(|name| name == DRAWERS));
}
