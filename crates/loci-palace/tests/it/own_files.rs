//! The palace's own files under a running process: links to them in mined trees, a log index that is
//! deleted or truncated, a log that is deleted, a directory that is moved away.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use loci_files::holders;
use loci_foreign::ChromaPalace;
use loci_palace::{
    Error, ErrorKind, Meter, MineOptions, ModelStore, Palace, Reading, Selection, Tree, mine,
};
use tempfile::TempDir;

use crate::protocol::{Op, Row};
use crate::support::{Worker, contents, open, run};

const DRAWERS: &str = "drawers";

struct Scene {
    root: TempDir,
    path: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("tree")).unwrap();
        let path = root.path().join("palace");
        Self { root, path }
    }

    fn tree(&self) -> PathBuf {
        self.root.path().join("tree")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

fn row(id: &str) -> Row {
    Row {
        id: id.to_owned(),
        text: Some(format!("text of {id}")),
        meta: [].into(),
        vector: Some(vec![1.0, 2.0]),
    }
}

fn add(palace: &Palace, id: &str) -> Result<(), Error> {
    let collection = palace.collection(DRAWERS, true)?;
    let op = Op::Add {
        rows: vec![row(id)],
    };
    op.run(palace, collection.as_ref()).map(|_| ())
}

fn ids(palace: &Palace) -> BTreeSet<String> {
    contents(palace, DRAWERS).into_keys().collect()
}

/// The locks that this process holds on the palace's files, as SQLite took them.
fn locks(scene: &Scene) -> Vec<(String, u64)> {
    let own = std::process::id();
    let mut found = Vec::new();
    for name in ["palace.sqlite3", "palace.sqlite3-shm"] {
        for lock in holders::locks_on(&scene.file(name)) {
            if lock.pid == own && lock.posix {
                found.push((name.to_owned(), lock.start));
            }
        }
    }
    found
}

fn mine(palace: &Palace, tree: &Path) -> mine::Answer {
    let tree = Tree::new(&[tree.to_path_buf()], Reading::default()).unwrap();
    let options = MineOptions::default();
    palace
        .mine(&mine::Request {
            collection: DRAWERS,
            source: &tree,
            options: &options,
            meter: &Meter::default(),
            stop: &AtomicBool::new(false),
        })
        .unwrap()
}

#[test]
fn mining_a_link_to_the_palaces_own_files_keeps_the_locks_of_its_connections() {
    let scene = Scene::new();
    let palace = open(&scene.path);
    add(&palace, "first").unwrap();
    let before = locks(&scene);
    assert!(
        !before.is_empty(),
        "SQLite holds no lock that could be lost"
    );
    for (at, name) in ["palace.sqlite3", "palace.sqlite3-wal", "palace.sqlite3-shm"]
        .iter()
        .enumerate()
    {
        symlink(scene.file(name), scene.tree().join(format!("s{at}.txt"))).unwrap();
        fs::hard_link(scene.file(name), scene.tree().join(format!("h{at}.txt"))).unwrap();
    }
    // Files that the miner reads for its own purposes.
    for name in [".gitignore", ".lociignore", ".loci.toml", "CACHEDIR.TAG"] {
        let folder = scene.tree().join(format!("folder{name}"));
        fs::create_dir(&folder).unwrap();
        symlink(scene.file("palace.sqlite3-shm"), folder.join(name)).unwrap();
        fs::write(folder.join("notes.md"), format!("Notes beside {name}.")).unwrap();
    }
    fs::create_dir_all(scene.tree().join("repository")).unwrap();
    symlink(
        scene.file("palace.sqlite3-shm"),
        scene.tree().join("repository/.git"),
    )
    .unwrap();
    fs::write(scene.tree().join("repository/notes.md"), "More notes.").unwrap();
    let report = mine(&palace, &scene.tree());
    assert_eq!(locks(&scene), before, "{report:?}");
    assert_eq!(
        report.files.skipped.get("a palace of Loci").copied(),
        Some(3),
        "the hard links: {report:?}"
    );
    let outside = "link to a file outside the roots";
    assert!(
        report.files.skipped.get(outside).copied() >= Some(3),
        "the links: {report:?}"
    );
    add(&palace, "second").unwrap();
    assert!(
        palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
}

#[test]
fn other_ways_to_read_a_file_refuse_the_palaces_own() {
    let scene = Scene::new();
    let palace = open(&scene.path);
    add(&palace, "first").unwrap();
    let before = locks(&scene);
    let link = scene.root.path().join("backup.sqlite3");
    fs::hard_link(scene.file("palace.sqlite3"), &link).unwrap();
    let refused = palace
        .restore(&loci_palace::restore::Request {
            backup: link.clone(),
            replace: true,
        })
        .unwrap_err();
    assert!(refused.to_string().contains("open palace"), "{refused}");
    let shm = scene.root.path().join("model.safetensors");
    symlink(scene.file("palace.sqlite3-shm"), &shm).unwrap();
    let models = ModelStore::at(scene.root.path().join("models"));
    assert!(models.add(&shm).is_err());
    let chroma = scene.root.path().join("chroma");
    fs::create_dir(&chroma).unwrap();
    fs::hard_link(scene.file("palace.sqlite3"), chroma.join("chroma.sqlite3")).unwrap();
    let _ = loci_palace::recognise(&chroma);
    assert!(ChromaPalace::open(&chroma).is_err());
    assert_eq!(locks(&scene), before);
    assert_eq!(ids(&palace), ["first".to_owned()].into());
}

#[test]
fn a_log_index_deleted_under_running_processes_loses_no_acknowledged_write() {
    let scene = Scene::new();
    let palace = open(&scene.path);
    add(&palace, "0").unwrap();
    let mut worker = Worker::serve(&scene.path);
    let mut acknowledged: BTreeSet<String> = ["0".to_owned()].into();
    for round in 1..=20 {
        fs::remove_file(scene.file("palace.sqlite3-shm")).unwrap();
        // The worker and a new process notice it in different orders.
        let names = [format!("{round}-here"), format!("{round}-there")];
        let here = || add(&palace, &names[0]).unwrap();
        let mut there = || {
            let op = Op::Add {
                rows: vec![row(&names[1])],
            };
            worker.must(&run(DRAWERS, op));
        };
        if round % 2 == 0 {
            here();
            there();
        } else {
            there();
            here();
        }
        acknowledged.extend(names);
        if round % 5 == 0 {
            let name = format!("{round}-new");
            let mut new = Worker::serve(&scene.path);
            let op = Op::Add {
                rows: vec![row(&name)],
            };
            new.must(&run(DRAWERS, op));
            new.finish();
            acknowledged.insert(name);
        }
        assert_eq!(ids(&palace), acknowledged, "round {round}");
    }
    worker.finish();
    palace.close().unwrap();
    let palace = open(&scene.path);
    assert_eq!(ids(&palace), acknowledged);
    assert!(
        palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
}

#[test]
fn a_log_index_deleted_while_processes_write_at_once_loses_no_acknowledged_write() {
    let scene = Scene::new();
    let palace = open(&scene.path);
    add(&palace, "first").unwrap();
    let stop = AtomicBool::new(false);
    let acknowledged = std::sync::Mutex::new(BTreeSet::from(["first".to_owned()]));
    std::thread::scope(|threads| {
        for number in 0..3 {
            let (scene, stop, acknowledged) = (&scene, &stop, &acknowledged);
            threads.spawn(move || {
                let mut worker = Worker::serve(&scene.path);
                for n in 0_u64.. {
                    if stop.load(std::sync::atomic::Ordering::Relaxed) {
                        break;
                    }
                    let id = format!("{number}-{n}");
                    let op = Op::Add {
                        rows: vec![row(&id)],
                    };
                    // A clear error is allowed; what is acknowledged must stay.
                    if worker.ask(&run(DRAWERS, op)).is_ok() {
                        acknowledged.lock().unwrap().insert(id);
                    }
                }
                worker.finish();
            });
        }
        for _ in 0..40 {
            let before = acknowledged.lock().unwrap().len();
            let _ = fs::remove_file(scene.file("palace.sqlite3-shm"));
            crate::support::wait_until("nobody writes any more", || {
                acknowledged.lock().unwrap().len() > before + 5
            });
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let kept = ids(&palace);
    let lost: Vec<_> = acknowledged
        .into_inner()
        .unwrap()
        .into_iter()
        .filter(|id| !kept.contains(id))
        .collect();
    assert!(lost.is_empty(), "lost {lost:?}");
    assert!(
        palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
}

#[test]
fn a_log_index_or_a_log_that_was_moved_away_and_comes_back_loses_no_acknowledged_write() {
    for name in ["palace.sqlite3-shm", "palace.sqlite3-wal"] {
        let scene = Scene::new();
        let away = scene.root.path().join("away");
        let palace = open(&scene.path);
        let mut worker = Worker::serve(&scene.path);
        let mut acknowledged = BTreeSet::new();
        let mut there = |id: String, acknowledged: &mut BTreeSet<String>| {
            let op = Op::Add {
                rows: vec![row(&id)],
            };
            // A clear error is allowed; what is acknowledged must stay.
            if worker.ask(&run(DRAWERS, op)).is_ok() {
                acknowledged.insert(id);
            }
        };
        for round in 0..5 {
            add(&palace, &format!("{round}-first")).unwrap();
            acknowledged.insert(format!("{round}-first"));
            there(format!("{round}-second"), &mut acknowledged);
            fs::rename(scene.file(name), &away).unwrap();
            for n in 0..3 {
                let id = format!("{round}-without-{n}");
                if add(&palace, &id).is_ok() {
                    acknowledged.insert(id);
                }
            }
            // The worker still has the old file, which is back now.
            fs::rename(&away, scene.file(name)).unwrap();
            for n in 0..3 {
                there(format!("{round}-there-{n}"), &mut acknowledged);
                let id = format!("{round}-here-{n}");
                if add(&palace, &id).is_ok() {
                    acknowledged.insert(id);
                }
            }
        }
        worker.finish();
        palace.close().unwrap();
        let palace = open(&scene.path);
        let kept = ids(&palace);
        let lost: Vec<_> = acknowledged.difference(&kept).collect();
        assert!(lost.is_empty(), "{name}: lost {lost:?}");
        assert!(acknowledged.len() >= 20, "{name}: {acknowledged:?}");
        assert!(
            palace
                .verify(&loci_palace::verify::Request { deep: true })
                .unwrap()
                .ok()
        );
    }
}

#[test]
fn a_palace_moved_away_and_back_while_commands_create_one_keeps_its_drawers() {
    let scene = Scene::new();
    let palace = open(&scene.path);
    for n in 0..20 {
        add(&palace, &format!("seed-{n}")).unwrap();
    }
    drop(palace);
    let away = scene.root.path().join("away");
    let stop = AtomicBool::new(false);
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let mut opener = crate::support::command(&scene.path, &["open"]);
                    let _ = opener.stderr(std::process::Stdio::null()).output();
                }
            });
        }
        for round in 0..40 {
            if fs::rename(&scene.path, &away).is_err() {
                continue;
            }
            std::thread::sleep(std::time::Duration::from_millis(round % 8 * 10));
            // A command may have made a new palace meanwhile: it goes elsewhere, and ours comes back.
            let mut made = 0;
            while fs::rename(&away, &scene.path).is_err() {
                let elsewhere = scene.root.path().join(format!("made-{round}-{made}"));
                let _ = fs::rename(&scene.path, elsewhere);
                made += 1;
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let palace = open(&scene.path);
    let seeds = ids(&palace)
        .into_iter()
        .filter(|id| id.starts_with("seed-"))
        .count();
    assert_eq!(seeds, 20);
    assert!(
        palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
}

#[test]
fn a_link_or_a_pipe_in_the_place_of_a_lock_or_a_log_is_refused() {
    let scene = Scene::new();
    let palace = open(&scene.path);
    add(&palace, "first").unwrap();
    palace.close().unwrap();
    let diary = scene.root.path().join("diary.txt");
    fs::write(&diary, "Dear diary").unwrap();
    fs::remove_file(scene.file("palace.lock")).unwrap();
    symlink(&diary, scene.file("palace.lock")).unwrap();
    let options = loci_palace::OpenOptions::create();
    assert!(Palace::open(&scene.path, &options).is_err());
    assert_eq!(fs::read_to_string(&diary).unwrap(), "Dear diary");
    for name in ["palace.lock", "palace.sqlite3-wal"] {
        fs::remove_file(scene.file(name)).unwrap();
        let pipe = std::process::Command::new("mkfifo")
            .arg(scene.file(name))
            .status();
        assert!(pipe.unwrap().success());
        assert!(Palace::open(&scene.path, &options).is_err(), "{name}");
        fs::remove_file(scene.file(name)).unwrap();
        assert_eq!(ids(&open(&scene.path)).len(), 1, "{name}");
    }
}

#[test]
fn a_truncated_log_index_is_noticed_at_the_next_call() {
    let scene = Scene::new();
    let palace = open(&scene.path);
    for round in 0..10 {
        add(&palace, &format!("{round}-before")).unwrap();
        truncate(&scene.file("palace.sqlite3-shm"));
        if round % 2 == 0 {
            add(&palace, &format!("{round}-after")).unwrap();
        } else {
            assert!(ids(&palace).contains(&format!("{round}-before")));
        }
    }
    assert_eq!(ids(&palace).len(), 15);
    assert!(
        palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
}

/// By another process: this one must not open and close the file.
fn truncate(path: &Path) {
    let done = std::process::Command::new("truncate")
        .args(["-s", "0"])
        .arg(path)
        .status();
    assert!(done.unwrap().success());
}

#[test]
fn a_log_deleted_under_a_running_process_is_moved_into_the_database() {
    let scene = Scene::new();
    let palace = open(&scene.path);
    for n in 0..20 {
        add(&palace, &n.to_string()).unwrap();
    }
    fs::remove_file(scene.file("palace.sqlite3-wal")).unwrap();
    // Another process does not start a log of its own: it would never see these commits.
    let refused = Worker::try_serve(&scene.path).err().unwrap();
    let pid = std::process::id().to_string();
    assert!(refused.contains("palace.sqlite3-wal"), "{refused}");
    assert!(refused.contains(&pid), "{refused}");
    // This one saves them at its next call, whichever it is.
    assert_eq!(ids(&palace).len(), 20);
    let mut worker = Worker::serve(&scene.path);
    let op = Op::Add {
        rows: vec![row("20")],
    };
    worker.must(&run(DRAWERS, op));
    worker.finish();
    add(&palace, "21").unwrap();
    fs::remove_file(scene.file("palace.sqlite3-wal")).unwrap();
    add(&palace, "22").unwrap();
    assert_eq!(ids(&palace).len(), 23);
    fs::remove_file(scene.file("palace.sqlite3-wal")).unwrap();
    palace.close().unwrap();
    let palace = open(&scene.path);
    assert_eq!(ids(&palace).len(), 23);
    assert!(
        palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
}

#[test]
fn a_palace_moved_away_under_a_running_process_is_refused_and_not_made_again() {
    let scene = Scene::new();
    let palace = open(&scene.path);
    add(&palace, "first").unwrap();
    let moved = scene.root.path().join("moved");
    fs::rename(&scene.path, &moved).unwrap();
    let refusals = [
        add(&palace, "second"),
        palace.collection(DRAWERS, true).map(|_| ()),
        palace
            .status(&loci_palace::status::Request::default())
            .map(|_| ()),
        palace
            .forget(&loci_palace::forget::Request::in_collection(
                DRAWERS,
                Selection::ids(["first"]),
            ))
            .map(|_| ()),
    ];
    for refused in refusals {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(matches!(error, Error::PalaceGone { .. }), "{error:?}");
    }
    assert!(!scene.path.exists(), "a new palace was made");
    // An empty folder in its place is no palace either.
    fs::create_dir(&scene.path).unwrap();
    assert!(matches!(
        add(&palace, "second"),
        Err(Error::PalaceGone { .. })
    ));
    fs::remove_dir_all(&scene.path).unwrap();
    fs::rename(&moved, &scene.path).unwrap();
    add(&palace, "second").unwrap();
    assert_eq!(ids(&palace).len(), 2);
}
