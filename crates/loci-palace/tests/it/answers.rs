//! Answers as JSON: what a full one has and a brief one leaves out, and members that are computed.

use loci_palace::rewrite::{self, Part, Parts};
use loci_palace::{
    Batch, Detail, EmbedderIdentity, MetadataPatch, Palace, Warning, add, get, repair, search,
    status, update, verify,
};
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

fn added(palace: &Palace, collection: &str, id: &str, text: &str) {
    let drawer = add::Drawer {
        id: Some(id.into()),
        text: Some(text.into()),
        ..add::Drawer::default()
    };
    let request = add::Request {
        collection: collection.into(),
        drawers: vec![drawer],
        duplicates: add::Duplicates::Add,
        ..add::Request::default()
    };
    assert_eq!(palace.add(&request).unwrap().added, 1);
}

#[test]
fn a_brief_hit_has_no_details_and_names_copies_only_if_there_are() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    added(&palace, "drawers", "a", "Roses are pruned in February.");
    let hit = |detail| -> Value {
        let request = search::Request {
            detail,
            ..search::Request::new("when are roses pruned")
        };
        serde_json::to_value(&palace.search(&request).unwrap().hits[0]).unwrap()
    };
    let (full, brief) = (hit(Detail::Full), hit(Detail::Brief));
    for member in ["parts", "metadata", "tokens", "created_at", "also_in"] {
        assert!(full.get(member).is_some(), "{member}: {full}");
        assert_eq!(brief.get(member), None, "{member}: {brief}");
    }
    added(&palace, "drawers", "b", "Roses are pruned in February.");
    let copies = hit(Detail::Brief)["also_in"].clone();
    assert_eq!(copies.as_array().unwrap().len(), 1, "{copies}");
}

#[test]
fn an_update_without_a_collection_changes_the_drawer_where_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    added(&palace, "drawers", "a", "Roses are pruned in February.");
    added(&palace, "notes", "n", "The medlar is picked after frost.");
    let changed = palace
        .update(&update::Request {
            id: "n".into(),
            text: Some("The medlar is picked in November.".into()),
            ..update::Request::default()
        })
        .unwrap();
    assert_eq!(
        (changed.collection.as_str(), changed.outcome.as_str()),
        ("notes", "updated")
    );
}

#[test]
fn drawers_come_in_the_order_of_the_ids_that_were_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    for (collection, id) in [("drawers", "a"), ("notes", "b"), ("drawers", "c")] {
        added(&palace, collection, id, &format!("Text of {id}."));
    }
    let ids = ["none", "c", "b", "a", "nobody", "b"].map(str::to_owned);
    let answer = palace
        .get(&get::Request {
            ids: ids.into(),
            ..get::Request::default()
        })
        .unwrap();
    let found: Vec<&str> = answer.drawers.iter().map(|of| of.id.as_str()).collect();
    assert_eq!(found, ["c", "b", "a"]);
    assert_eq!(answer.missing, ["none", "nobody"]);
}

/// An embedder that is missing is reported where it matters: for a text that gets no vector of it.
#[test]
fn a_missing_embedder_is_no_warning_for_a_drawer_that_brings_its_vector() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    let gone = EmbedderIdentity {
        name: "gone-model".into(),
        dimension: 4,
        digest: String::new(),
    };
    let drawers = palace.collection("drawers", true).unwrap();
    drawers.pin_embedder(&gone).unwrap();
    let warned = |text: Option<&str>, vector: Option<Vec<f32>>| {
        let drawer = add::Drawer {
            text: text.map(str::to_owned),
            vector,
            ..add::Drawer::default()
        };
        let request = add::Request {
            drawers: vec![drawer],
            ..add::Request::default()
        };
        let warnings = palace.add(&request).unwrap().warnings;
        let codes: Vec<&str> = warnings.iter().map(Warning::code).collect();
        codes.join(" ")
    };
    let about_text = warned(Some("Roses are pruned."), None);
    assert!(about_text.contains("model_missing"), "{about_text}");
    let about_vector = warned(None, Some(vec![0.5; 4]));
    assert!(!about_vector.contains("model_missing"), "{about_vector}");
    let part = Part {
        id: "p".into(),
        metadata: MetadataPatch::from_json(&json!({"wing": "home"})).unwrap(),
    };
    let rewritten = |parts| palace.rewrite(&rewrite::Request::new(parts)).unwrap();
    let replaced = rewritten(Parts::Replaced(vec![(part.clone(), "A text.".into())]));
    assert_eq!(replaced.warnings[0].code(), "model_missing");
    assert_eq!(rewritten(Parts::Moved(vec![part])).warnings, []);
}

#[test]
fn a_rewrite_changes_the_parts_of_a_text_and_forgets_those_that_are_left_over() {
    let directory = tempfile::tempdir().unwrap();
    let palace = open(&directory.path().join("palace"));
    for id in ["p0", "p1", "p2"] {
        added(&palace, "drawers", id, &format!("Old text of {id}."));
    }
    // In two parts: no file of this repository holds what looks like a secret.
    let key = ["the token is ghp", "_abcdefghijklmnopqrstuvwxyz0123456789"].concat();
    let part = |id: &str| Part {
        id: id.into(),
        metadata: MetadataPatch::from_json(&json!({"wing": "home"})).unwrap(),
    };
    let parts = vec![(part("p0"), "New text.".to_owned()), (part("p3"), key)];
    let answer = palace
        .rewrite(&rewrite::Request {
            gone: vec!["p1".into(), "p2".into()],
            ..rewrite::Request::new(Parts::Replaced(parts))
        })
        .unwrap();
    let outcomes: Vec<&str> = answer.outcomes.iter().map(|of| of.as_str()).collect();
    assert_eq!((outcomes, answer.forgotten), (vec!["updated", "added"], 2));
    assert!(!answer.masked.is_empty());
    let moved = Parts::Moved(vec![part("p0"), part("nobody")]);
    let answer = palace.rewrite(&rewrite::Request::new(moved)).unwrap();
    let outcomes: Vec<&str> = answer.outcomes.iter().map(|of| of.as_str()).collect();
    assert_eq!(outcomes, ["unchanged", "unknown"]);
    let ids = ["p0", "p1", "p2", "p3", "nobody"].map(str::to_owned);
    let left = palace
        .get(&get::Request {
            ids: ids.into(),
            ..get::Request::default()
        })
        .unwrap();
    assert_eq!(left.missing, ["p1", "p2", "nobody"]);
    assert_eq!(left.drawers[0].text, "New text.");
    assert_eq!(left.drawers[0].wing.as_deref(), Some("home"));
    assert!(!left.drawers[1].text.contains("abcdefghij"));
}
