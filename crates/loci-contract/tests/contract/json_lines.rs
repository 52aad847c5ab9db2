//! The example backend satisfies the read half of the contract, and reports errors in its files.

use std::path::Path;
use std::sync::Arc;

use loci_contract::{Through, json_lines, read_contract_tests};
use loci_core::{
    Advice, Backend, Capability, CollectionOptions, Error, Get, Include, PalaceRef, Selection,
};

read_contract_tests!(Through::new(json_lines::write_out, || Arc::new(
    json_lines::backend()
)));

const CATALOGUE: &str = r#"{"collections": [
    {"name": "notes", "number": 1, "metric": "cosine"},
    {"name": "people", "number": 2, "metric": "l2"}
]}"#;

/// A palace with these lines in the files of two collections.
fn palace(directory: &Path, notes: &str, people: &str) -> PalaceRef {
    std::fs::write(directory.join("catalogue.json"), CATALOGUE).unwrap();
    std::fs::write(directory.join("1.jsonl"), notes).unwrap();
    std::fs::write(directory.join("2.jsonl"), people).unwrap();
    PalaceRef::local(directory)
}

#[test]
fn files_that_contradict_themselves_are_corrupt_and_the_error_names_the_thing() {
    let directory = tempfile::tempdir().unwrap();
    for (notes, people, expected) in [
        ("{}", "", "missing field"),
        ("not JSON", "", "not valid JSON"),
        (r#"{"record": 1, "id": "a", "id": "b"}"#, "", "id"),
        (
            "{\"record\": 1, \"id\": \"a\"}\n{\"record\": 2, \"id\": \"a\"}",
            "",
            "the id `a` appears twice",
        ),
        (
            r#"{"record": 7, "id": "a"}"#,
            r#"{"record": 7, "id": "b"}"#,
            "the record number 7 of `b` appears twice",
        ),
        (
            "{\"record\": 1, \"id\": \"a\", \"vector\": [1]}\n{\"record\": 2, \"id\": \"b\", \"vector\": [1, 2]}",
            "",
            "the vector of `b` has dimension 2",
        ),
        (
            r#"{"record": 1, "id": "a", "metadata": {"wing": {"deep": 1}}}"#,
            "",
            "wing",
        ),
    ] {
        let backend = json_lines::backend();
        let palace = palace(directory.path(), notes, people);
        let error = backend.list_collections(&palace).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    // A repaired palace can be read.
    let backend = json_lines::backend();
    let damaged = palace(directory.path(), "{}", "");
    assert!(backend.list_collections(&damaged).is_err());
    let repaired = palace(directory.path(), r#"{"record": 1, "id": "a"}"#, "");
    assert_eq!(backend.list_collections(&repaired).unwrap()[0].count, 1);
}

#[test]
fn records_without_numbers_are_numbered_in_the_order_of_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let notes = "{\"record\": 0, \"id\": \"b\"}\n{\"record\": 0, \"id\": \"a\"}";
    let palace = palace(directory.path(), notes, r#"{"record": 0, "id": "a"}"#);
    let backend = json_lines::backend();
    let options = CollectionOptions::default();
    let notes = backend.get_collection(&palace, "notes", false, &options);
    let notes = notes.unwrap();
    let all = Selection::all();
    assert_eq!(notes.get(&Get::new(all.clone())).unwrap().ids, ["b", "a"]);
    // Without change numbers and times, the last drawer is the most recent one.
    let recent = notes.get_recent(1, &all, Include::NONE).unwrap();
    assert_eq!(recent.ids, ["a"]);
}

#[test]
fn the_default_collection_is_the_only_one_and_none_of_several() {
    let directory = tempfile::tempdir().unwrap();
    let palace = palace(directory.path(), "", "");
    let backend = json_lines::backend();
    assert_eq!(backend.default_collection(&palace).unwrap(), None);
    let one = r#"{"collections": [{"name": "notes", "number": 1, "metric": "cosine"}]}"#;
    std::fs::write(directory.path().join("catalogue.json"), one).unwrap();
    let only = backend.default_collection(&palace).unwrap();
    assert_eq!(only.as_deref(), Some("notes"));
}

#[test]
fn a_format_that_no_import_reads_is_refused_without_advice() {
    let directory = tempfile::tempdir().unwrap();
    let palace = palace(directory.path(), "", "");
    let backend = json_lines::backend();
    let error = backend.create_palace(&palace).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`writing` is not available: the backend `json-lines` is read-only"
    );
    assert!(!matches!(error.advice(), Some(Advice::Import { .. })));
    assert!(backend.lacks(Capability::Backups).advice().is_none());
}

#[test]
fn the_state_counts_the_bytes_of_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let palace = palace(
        directory.path(),
        r#"{"record": 1, "id": "a", "seq": 9}"#,
        "",
    );
    let state = json_lines::backend().state(&palace).unwrap();
    assert_eq!((state.seq, state.bytes), (9, CATALOGUE.len() as u64 + 34));
}
