//! ChromaDB directories with files that the user may not read. Such files are not damaged, so
//! nothing is changed, and nothing is imported without them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::chroma_directories::{Old, copy};
use crate::support::Ran;
use crate::users::{Home, OWNER, give};

const DATABASE: &str = "chroma.sqlite3";
const DATA: &str = "data_level0.bin";

/// A home with a healthy ChromaDB directory that belongs to its owner.
struct Place {
    home: Home,
    old: Old,
}

impl Place {
    fn new() -> Option<Self> {
        let home = Home::new()?;
        let old = Old::copy(&home.dir, "old", "chroma-0.6-flushed");
        give(&old.path, OWNER);
        Some(Self { home, old })
    }

    fn indexes(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.old.path).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut paths: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
        paths.sort();
        paths
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.home.run(OWNER, arguments)
    }

    /// Expects an error that names the file and the reason, and an unchanged directory.
    fn refuses(&self, arguments: &[&str], denied: &Path) {
        let before = self.old.state();
        let ran = self.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {ran:?}");
        assert_eq!(ran.stdout, "", "{arguments:?}");
        assert!(ran.stderr.contains(denied.to_str().unwrap()), "{ran:?}");
        let message = ran.stderr.to_lowercase();
        assert!(message.contains("permission denied"), "{ran:?}");
        assert!(message.contains("help: make the file readable"), "{ran:?}");
        assert_eq!(self.old.state(), before, "{arguments:?}");
    }

    fn refuses_everything(&self, denied: &Path) {
        let old = self.old.name();
        let output = self.home.dir.path("copy");
        for arguments in [
            &["repair", "--chroma", old][..],
            &["repair", "--chroma", old, "--dry-run"],
            &[
                "repair",
                "--chroma",
                old,
                "--output",
                output.to_str().unwrap(),
            ],
            &["quarantine", old, "--stale-seconds", "0"],
            &["quarantine", old, "--check"],
            &["quarantine", old, "--rename-only"],
            &["import", old],
            &["import", old, "--dry-run"],
        ] {
            self.refuses(arguments, denied);
        }
        assert!(!output.exists());
    }
}

fn forbid(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
}

#[test]
fn an_index_file_without_permission_is_not_treated_as_damage() {
    for name in [DATA, "header.bin", "length.bin", "index_metadata.pickle"] {
        let Some(place) = Place::new() else { return };
        let denied = place.indexes()[0].join(name);
        forbid(&denied);
        place.refuses_everything(&denied);
        let doctor = place.home.json(OWNER, 1, &["doctor", place.old.name()]);
        let text = doctor.to_string();
        assert!(text.contains("index_unreadable"), "{name}: {text}");
        assert!(text.contains(&format!("/{name}")), "{name}: {text}");
        assert!(text.contains("make the files readable"), "{name}: {text}");
    }
}

#[test]
fn an_index_directory_without_permission_is_not_treated_as_damage() {
    let Some(place) = Place::new() else { return };
    for index in place.indexes() {
        forbid(&index);
    }
    // The list of a directory has no fixed order.
    place.refuses_everything(&place.old.path);
}

#[test]
fn missing_vectors_are_not_given_up_while_a_quarantined_index_cannot_be_read() {
    let Some(place) = Place::new() else { return };
    let index = place.indexes()[0].clone();
    let mut aside = index.clone().into_os_string();
    aside.push(".drift-20260101-000000");
    let aside = PathBuf::from(aside);
    fs::rename(&index, &aside).unwrap();
    forbid(&aside);
    place.refuses(&["repair", "--chroma", place.old.name()], &aside);
    place.refuses(&["import", place.old.name()], &aside);
}

#[test]
fn an_unrelated_directory_without_permission_stops_nothing() {
    let Some(place) = Place::new() else { return };
    let notes = place.old.path.join("my-notes");
    copy(&place.indexes()[0], &notes.join("inside"));
    forbid(&notes);
    place.run(&["quarantine", place.old.name(), "--check"]).ok();
    let ran = place.run(&["import", place.old.name()]);
    assert!(ran.code < 2, "{ran:?}");
}

#[test]
fn a_database_without_permission_is_not_called_damaged() {
    let Some(place) = Place::new() else { return };
    let database = place.old.path.join(DATABASE);
    forbid(&database);
    let old = place.old.name();
    for arguments in [
        &["repair", "--chroma", old][..],
        &["quarantine", old, "--check"],
        &["quarantine", old, "--stale-seconds", "0", "--rename-only"],
        &["import", old],
        &["doctor", old],
    ] {
        place.refuses(arguments, &database);
    }
}

#[test]
fn a_write_ahead_log_without_permission_is_not_ignored() {
    let Some(place) = Place::new() else { return };
    let log = place.old.path.join(format!("{DATABASE}-wal"));
    fs::write(&log, [0x37, 0x7f, 0x06, 0x82, 0, 0, 0, 0]).unwrap();
    give(&log, OWNER);
    forbid(&log);
    let old = place.old.name();
    for arguments in [&["repair", "--chroma", old][..], &["import", old]] {
        place.refuses(arguments, &log);
    }
}

#[test]
fn a_directory_that_cannot_be_listed_or_entered_is_an_error() {
    for mode in [0o311, 0o444, 0o000] {
        let Some(place) = Place::new() else { return };
        fs::set_permissions(&place.old.path, fs::Permissions::from_mode(mode)).unwrap();
        let old = place.old.name();
        for arguments in [&["quarantine", old][..], &["repair", "--chroma", old]] {
            place.refuses(arguments, &place.old.path);
        }
    }
}
