//! Walks the table of importers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use loci_foreign::{Kind, open, recognise, recognise_as};

use crate::chroma_scenes::scene::copy_tree;

/// A store of this kind in `home`. A new importer brings its own.
fn store(kind: Kind, home: &Path) -> PathBuf {
    let path = home.join(kind.name());
    let fixture = |name: &str| {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        copy_tree(&fixtures.join(name), &path);
    };
    let file = |name: &str, text: &str| {
        fs::create_dir(&path).unwrap();
        fs::write(path.join(name), text).unwrap();
    };
    match kind {
        Kind::Loci => file("palace.sqlite3", ""),
        Kind::Chroma => fixture("chroma-0.6-flushed/now"),
        Kind::SqliteExact => fixture("mempalace"),
        Kind::Memtomem => fixture("memtomem/with_vectors"),
        Kind::CortexaDb => fixture("cortexadb/log_only/db"),
        Kind::JsonLines => {
            file("lines.txt", "{\"document\": \"text\"}\n");
            return path.join("lines.txt");
        }
    }
    path
}

#[test]
fn every_importer_recognises_and_opens_its_own_store() {
    let home = tempfile::tempdir().unwrap();
    for kind in Kind::ALL {
        let path = store(*kind, home.path());
        let found = recognise(&path).unwrap().unwrap();
        assert_eq!(found.kind, *kind);
        assert_eq!(recognise_as(&path, *kind).unwrap(), Some(found));
        let opened = open(&path, Some(*kind));
        assert_eq!(opened.is_ok(), kind.is_foreign(), "{kind:?}");
        if let Ok(palace) = opened {
            assert_eq!(palace.kind(), *kind);
            assert!(!palace.collections().is_empty(), "{kind:?}");
        }
    }
}

#[test]
fn no_importer_takes_the_store_of_another() {
    let home = tempfile::tempdir().unwrap();
    for kind in Kind::ALL {
        let path = store(*kind, home.path());
        for other in Kind::ALL.iter().filter(|other| *other != kind) {
            // A kind whose stores are single files accepts every file that it is told to read.
            if path.is_dir() {
                assert_eq!(
                    recognise_as(&path, *other).unwrap(),
                    None,
                    "{kind:?} {other:?}"
                );
            }
        }
    }
}

#[test]
fn names_are_unique_and_the_same_in_json() {
    let mut names = BTreeSet::new();
    for kind in Kind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        for name in kind.family().into_iter().chain([kind.name()]) {
            assert!(names.insert(name), "{name} is used twice");
        }
        assert!(!kind.mark().is_empty() && !kind.program().is_empty());
    }
}

#[test]
fn the_error_about_an_unknown_directory_lists_every_program() {
    let home = tempfile::tempdir().unwrap();
    let error = open(home.path(), None).err().unwrap().to_string();
    for kind in Kind::ALL {
        assert!(error.contains(kind.program()), "{error}");
    }
}
