//! A path from outside may lead to a file of an open palace. Closing such a file drops the locks
//! that the process holds on it.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use loci_files::palace::{HeldFiles, OpenPalace, RawAccess};
use loci_files::{foreign, holders, own};
use rustix::fs::{FlockOperation, fcntl_lock};
use tempfile::TempDir;

/// A directory with a file on which this process holds a POSIX lock, as SQLite would.
struct Scene {
    root: TempDir,
    database: PathBuf,
    _locked: File,
}

impl Scene {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let palace = root.path().join("palace");
        fs::create_dir_all(palace.join("index")).unwrap();
        fs::write(palace.join("index/flat.snapshot"), "index").unwrap();
        let database = palace.join("palace.sqlite3");
        fs::write(&database, "database").unwrap();
        let locked = File::options()
            .read(true)
            .write(true)
            .open(&database)
            .unwrap();
        fcntl_lock(&locked, FlockOperation::LockExclusive).unwrap();
        Self {
            root,
            database,
            _locked: locked,
        }
    }

    fn palace(&self) -> &Path {
        self.database.parent().unwrap()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn is_locked(&self) -> bool {
        let own = std::process::id();
        let locks = holders::locks_on(&self.database);
        locks.iter().any(|lock| lock.pid == own && lock.posix)
    }
}

#[test]
fn closing_a_descriptor_drops_the_locks_of_the_process() {
    // This is the system behaviour that the module protects against. If this fails, the module is
    // not needed.
    let scene = Scene::new();
    assert!(scene.is_locked());
    drop(File::open(&scene.database).unwrap());
    assert!(!scene.is_locked());
}

#[test]
fn a_file_of_an_open_palace_is_refused_whatever_leads_to_it_and_its_locks_stay() {
    let scene = Scene::new();
    let _open = OpenPalace::register(scene.palace()).unwrap();
    let _held = HeldFiles::register([&scene.database]);
    symlink(&scene.database, scene.at("link.txt")).unwrap();
    symlink("link.txt", scene.at("link-to-link.txt")).unwrap();
    symlink(scene.palace(), scene.at("folder")).unwrap();
    fs::hard_link(&scene.database, scene.at("hard.txt")).unwrap();
    let index = scene.palace().join("index/flat.snapshot");
    fs::hard_link(&index, scene.at("hard-index.txt")).unwrap();
    for path in [
        scene.database.clone(),
        index,
        scene.at("link.txt"),
        scene.at("link-to-link.txt"),
        scene.at("folder/palace.sqlite3"),
        scene.at("folder/index/flat.snapshot"),
        scene.at("hard.txt"),
        scene.at("hard-index.txt"),
    ] {
        let refused = |result: std::io::Result<()>| {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{path:?}");
        };
        refused(foreign::open(&path).map(drop));
        refused(foreign::read(&path).map(drop));
        refused(foreign::check(&path));
        refused(foreign::create(&path).map(drop));
        refused(foreign::copy(&path, &scene.at("copy")).map(drop));
        assert!(scene.is_locked(), "{path:?} was opened and closed");
    }
    assert_eq!(fs::metadata(&scene.database).unwrap().len(), 8);
}

#[test]
fn a_palace_that_was_moved_away_stays_protected() {
    let scene = Scene::new();
    let _open = OpenPalace::register(scene.palace()).unwrap();
    let _held = HeldFiles::register([&scene.database]);
    fs::rename(scene.palace(), scene.at("moved")).unwrap();
    symlink(scene.at("moved/palace.sqlite3"), scene.at("link.txt")).unwrap();
    assert!(foreign::open(&scene.at("link.txt")).is_err());
    assert!(own::open(&scene.at("link.txt")).is_err());
    fs::rename(scene.at("moved"), scene.palace()).unwrap();
    assert!(scene.is_locked());
}

#[test]
fn a_file_that_a_connection_holds_since_it_was_opened_is_not_closed() {
    let scene = Scene::new();
    let file = foreign::open(&scene.database).unwrap();
    let _held = HeldFiles::register([&scene.database]);
    drop(file.try_clone().unwrap());
    drop(file);
    assert!(scene.is_locked());
}

#[test]
fn other_files_are_read_also_beside_an_open_palace() {
    let scene = Scene::new();
    let _open = OpenPalace::register(scene.palace()).unwrap();
    let _held = HeldFiles::register([&scene.database]);
    let notes = scene.at("notes.md");
    fs::write(&notes, "text").unwrap();
    fs::hard_link(&notes, scene.at("again.md")).unwrap();
    symlink(&notes, scene.at("linked.md")).unwrap();
    for name in ["notes.md", "again.md", "linked.md"] {
        assert_eq!(foreign::read_to_string(&scene.at(name)).unwrap(), "text");
    }
    let missing = foreign::open(&scene.at("missing")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

#[test]
fn a_closed_palace_is_readable_again() {
    let scene = Scene::new();
    let open = OpenPalace::register(scene.palace()).unwrap();
    let held = HeldFiles::register([&scene.database]);
    assert!(foreign::open(&scene.database).is_err());
    drop((open, held));
    assert!(foreign::open(&scene.database).is_ok());
}

#[test]
fn raw_reads_are_refused_while_this_process_has_the_palace_open() {
    let scene = Scene::new();
    symlink(scene.palace(), scene.at("alias")).unwrap();
    let open = OpenPalace::register(scene.palace()).unwrap();
    assert!(RawAccess::begin(scene.palace()).is_none());
    assert!(RawAccess::begin(&scene.at("alias")).is_none());
    drop(open);
    // A thread may still use a connection of a palace that was closed.
    let held = HeldFiles::register([&scene.database]);
    assert!(RawAccess::begin(scene.palace()).is_none());
    drop(held);
    let raw = RawAccess::begin(scene.palace()).unwrap();
    assert_eq!(foreign::read(&scene.database).unwrap(), b"database");
    std::thread::scope(|threads| {
        let opening = threads.spawn(|| OpenPalace::register(scene.palace()).map(drop));
        drop(raw);
        opening.join().unwrap().unwrap();
    });
}

/// A file may get the inode number of a file that a connection has just released.
#[test]
fn a_query_about_a_file_that_is_being_closed_waits_for_the_close() {
    let scene = Scene::new();
    let mut held = HeldFiles::register([&scene.database]);
    held.close_begins();
    let (sender, receiver) = mpsc::channel();
    let file = scene.database.clone();
    let asked = std::thread::spawn(move || {
        sender.send(None).unwrap();
        sender.send(Some(own::read(&file))).unwrap();
    });
    assert!(receiver.recv().unwrap().is_none());
    let early = receiver.recv_timeout(Duration::from_millis(100));
    assert!(early.is_err(), "answered before the close: {early:?}");
    drop(held);
    assert_eq!(receiver.recv().unwrap().unwrap().unwrap(), b"database");
    asked.join().unwrap();
}

#[test]
fn a_file_that_another_connection_holds_is_refused_at_once() {
    let scene = Scene::new();
    let _other = HeldFiles::register([&scene.database]);
    let mut held = HeldFiles::register([&scene.database]);
    held.close_begins();
    let refused = own::read(&scene.database).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
}
