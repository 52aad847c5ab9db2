//! Recognising the files of each program.

use std::fs;

use loci_foreign::{Kind, open, recognise};

use crate::scene::Scene;
use crate::{cortexa, mempalace, memtomem};

fn kind_of(path: &std::path::Path) -> Option<Kind> {
    recognise(path).unwrap().map(|found| found.kind)
}

#[test]
fn every_fixture_is_recognised_and_opened() {
    let scenes: [(Scene, &str, Kind); 3] = [
        (cortexa::scene("log_only"), "db", Kind::CortexaDb),
        (memtomem::scene(), ".", Kind::Memtomem),
        (mempalace::scene(), ".", Kind::SqliteExact),
    ];
    for (scene, inside, kind) in scenes {
        let path = scene.path.join(inside);
        assert_eq!(kind_of(&path), Some(kind));
        assert_eq!(open(&path, None).unwrap().kind(), kind);
        assert_eq!(open(&path, Some(kind)).unwrap().kind(), kind);
    }
}

#[test]
fn a_palace_may_be_named_by_its_file() {
    let scene = cortexa::scene("checkpointed");
    assert_eq!(
        kind_of(&scene.path.join("db/cortexadb.ckpt")),
        Some(Kind::CortexaDb)
    );
    let scene = mempalace::scene();
    let found = recognise(&scene.path.join("palace/sqlite_exact.sqlite3"))
        .unwrap()
        .unwrap();
    assert_eq!(found.path, scene.path.join("palace"));
}

#[test]
fn a_memtomem_database_is_known_under_any_name() {
    let scene = memtomem::scene();
    let renamed = scene.path.join("notes.sqlite");
    fs::rename(scene.path.join("memtomem.db"), &renamed).unwrap();
    assert_eq!(kind_of(&renamed), Some(Kind::Memtomem));
}

/// The rows of a database may be anyone's words. A Loci palace that remembers memtomem's schema was
/// taken for memtomem's database.
#[test]
fn a_database_is_known_by_its_name_before_its_rows() {
    let home = tempfile::tempdir().unwrap();
    let rows = b"SQLite format 3\0 CREATE TABLE _memtomem_meta, CREATE TABLE chunks";
    for (name, kind) in [
        ("palace.sqlite3", Kind::Loci),
        ("chroma.sqlite3", Kind::Chroma),
        ("notes.sqlite", Kind::Memtomem),
    ] {
        let file = home.path().join(name);
        fs::write(&file, rows).unwrap();
        assert_eq!(kind_of(&file), Some(kind), "{name}");
    }
}

#[test]
fn directories_are_known_by_their_files() {
    let home = tempfile::tempdir().unwrap();
    let cases = [
        ("a/chroma.sqlite3", "a", Some(Kind::Chroma)),
        ("b/palace/chroma.sqlite3", "b", Some(Kind::Chroma)),
        ("c/palace.sqlite3", "c", Some(Kind::Loci)),
        ("d/segments/000000.seg", "d", Some(Kind::CortexaDb)),
        ("e/segments/notes.seg", "e", None),
        ("i/segments/12.seg", "i", None),
        ("f/notes.txt", "f", None),
        ("g/lines.jsonl", "g/lines.jsonl", Some(Kind::JsonLines)),
        ("h/lines.txt", "h/lines.txt", None),
    ];
    for (file, path, kind) in cases {
        let file = home.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        assert_eq!(kind_of(&home.path().join(path)), kind, "{path}");
    }
    fs::write(home.path().join("h/lines.txt"), "\n {\"id\": 1}").unwrap();
    assert_eq!(
        kind_of(&home.path().join("h/lines.txt")),
        Some(Kind::JsonLines)
    );
}

#[test]
fn mempalace_is_told_from_chromadb() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("chroma.sqlite3"), "").unwrap();
    assert_eq!(recognise(home.path()).unwrap().unwrap().writer, "ChromaDB");
    fs::write(home.path().join("mempalace_embedder.json"), "{}").unwrap();
    assert_eq!(
        recognise(home.path()).unwrap().unwrap().writer,
        "MemPalace on ChromaDB"
    );
}

#[test]
fn what_is_not_there_is_an_error_and_what_is_unknown_is_refused() {
    let home = tempfile::tempdir().unwrap();
    assert!(recognise(&home.path().join("none")).is_err());
    assert!(open(home.path(), None).is_err());
}
