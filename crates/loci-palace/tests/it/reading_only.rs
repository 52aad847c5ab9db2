//! The product on a backend that only reads: palaces of JSON lines, from the example in `loci-contract`.

use std::path::Path;
use std::sync::Arc;

use loci_contract::json_lines;
use loci_palace::search::{self, Answer};
use loci_palace::{
    Advice, Capability, Error, OpenOptions, Palace, Registry, Warning, add, list, status,
};

/// A palace with one collection of this name.
fn lay_out(directory: &Path, name: &str) {
    let catalogue =
        format!(r#"{{"collections": [{{"name": "{name}", "number": 1, "metric": "cosine"}}]}}"#);
    std::fs::write(directory.join("catalogue.json"), catalogue).unwrap();
    let line = r#"{"record": 1, "id": "a", "text": "Alice moved to Lyon.", "metadata": {"wing": "people"}}"#;
    std::fs::write(directory.join("1.jsonl"), line).unwrap();
}

fn options() -> OpenOptions {
    let mut backends = Registry::new();
    backends.register(Arc::new(json_lines::backend()));
    OpenOptions {
        backends,
        ..OpenOptions::default()
    }
}

fn question() -> search::Request {
    search::Request::new("where did Alice move")
}

#[test]
fn a_palace_of_another_format_is_detected_searched_and_listed() {
    let directory = tempfile::tempdir().unwrap();
    lay_out(directory.path(), "drawers");
    let palace = Palace::open(directory.path(), &options()).unwrap();
    assert_eq!(palace.backend_name(), "json-lines");
    assert_eq!(palace.search(&question()).unwrap().hits[0].id, "a");
    assert_eq!(palace.list(&list::Request::default()).unwrap().total, 1);
    assert_eq!(palace.status(&status::Request::default()).unwrap().total, 1);
    let error = palace.add(&add::Request::default()).err();
    let refused = palace.require(Capability::Writing).unwrap_err();
    for error in error.iter().chain([&refused]) {
        assert!(
            matches!(error.plain(), Error::UnsupportedCapability { .. }),
            "{error:?}"
        );
        assert!(error.advice().is_none(), "{error:?}");
    }
}

#[test]
fn the_default_collection_is_the_one_that_the_backend_names() {
    let directory = tempfile::tempdir().unwrap();
    lay_out(directory.path(), "notes");
    let palace = Palace::open(directory.path(), &options()).unwrap();
    assert_eq!(palace.search(&question()).unwrap().hits[0].id, "a");
    let drawers = palace.collection("drawers", false).unwrap();
    assert_eq!(drawers.name(), "notes");
}

#[test]
fn no_palace_is_made_where_a_backend_reads_another() {
    let directory = tempfile::tempdir().unwrap();
    lay_out(directory.path(), "drawers");
    let chosen = |backend: Option<&str>| OpenOptions {
        create: true,
        among_other_files: true,
        backend: backend.map(str::to_owned),
        ..options()
    };
    let error = Palace::open(directory.path(), &chosen(Some("sqlite"))).err();
    let error = error.expect("the place is taken");
    assert!(
        error.to_string().contains("`json-lines` is read-only"),
        "{error}"
    );
    let palace = Palace::open(directory.path(), &chosen(None)).unwrap();
    let error = palace.require_creation().unwrap_err();
    assert!(
        error.to_string().contains("`json-lines` is read-only"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn an_error_about_a_missing_collection_names_those_that_are_there() {
    let directory = tempfile::tempdir().unwrap();
    let palace = Palace::open(directory.path(), &OpenOptions::create()).unwrap();
    let empty = palace.search(&question()).unwrap_err();
    assert!(matches!(
        Answer::of_nothing(&empty).warnings[..],
        [Warning::Empty { .. }]
    ));
    palace.collection("notes", true).unwrap();
    let error = palace.search(&question()).unwrap_err();
    let Some(Advice::NameCollection { collections }) = error.advice() else {
        panic!("{error:?}")
    };
    assert_eq!(collections, ["notes"]);
    let warning = Answer::of_nothing(&error).warnings.remove(0);
    assert_eq!(
        warning.message(),
        "there is no collection `drawers`; this palace has `notes`"
    );
    palace.close().unwrap();
}
