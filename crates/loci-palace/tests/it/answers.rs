//! Answers as JSON: what a full one has and a brief one leaves out, and members that are computed.

use loci_palace::{Batch, Detail, MetadataPatch, repair, status, verify};
use schemars::schema_for;
use serde_json::{Value, json};

use crate::support::open;

#[test]
fn a_brief_status_leaves_the_files_out_and_counts_places_only_if_asked() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    let place = MetadataPatch::from_json(&json!({"wing": "garden", "room": "beds"})).unwrap();
    let batch = Batch::new(["a"])
        .documents(["Roses are pruned in February."])
        .metadatas([place]);
    palace
        .collection("drawers", true)
        .unwrap()
        .add(&batch)
        .unwrap();
    let answer = |detail, places| -> Value {
        let request = status::Request { detail, places };
        serde_json::to_value(palace.status(&request).unwrap()).unwrap()
    };
    let (full, brief) = (answer(Detail::Full, false), answer(Detail::Brief, true));
    // In `loci_list`, which answers with a brief status, `drawers` is a list.
    for member in [
        "drawers",
        "backend",
        "format",
        "seq",
        "indexes",
        "set_aside",
    ] {
        assert!(full.get(member).is_some(), "{member}");
        assert_eq!(brief.get(member), None, "{member}");
    }
    for member in ["palace", "total", "collections", "bytes"] {
        assert_eq!(full[member], brief[member], "{member}");
    }
    assert_eq!(brief["wings"], json!({"garden": 1}));
    assert_eq!(brief["rooms"], json!({"beds": 1}));
    assert_eq!((full.get("wings"), full.get("rooms")), (None, None));
}

#[test]
fn reports_say_whether_all_is_well_and_their_schema_has_it() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    let verified = palace.verify(&verify::Request { deep: true }).unwrap();
    assert_eq!(serde_json::to_value(&verified).unwrap()["ok"], true);
    let repaired = palace.repair(&repair::Request::default()).unwrap();
    assert_eq!(serde_json::to_value(&repaired).unwrap()["ok"], true);
    for schema in [
        schema_for!(verify::Answer).to_value(),
        schema_for!(repair::Answer).to_value(),
    ] {
        assert_eq!(schema["properties"]["ok"]["type"], "boolean", "{schema}");
    }
}
