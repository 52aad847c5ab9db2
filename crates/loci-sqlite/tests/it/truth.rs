//! Damage to `palace.sqlite3` itself is recognised and said, and repair saves every readable row into
//! a new palace without touching the damaged one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use loci_core::RepairOptions;

use crate::support::{
    Access as _, Model, Op, Rng, Row, SqlitePalace, Worker, check, contents, copy_directory, fill,
    open, random_row, run,
};

const PAGE: usize = 8192;

struct Scene {
    directory: tempfile::TempDir,
    model: Model,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let palace = open(&directory.path().join("template"));
        let model = fill(&palace, "drawers", "a", 900, 64, 1);
        palace.close().unwrap();
        Self { directory, model }
    }

    fn copy(&self, name: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        copy_directory(&self.directory.path().join("template"), &path);
        path
    }
}

fn database(palace: &Path) -> PathBuf {
    palace.join("palace.sqlite3")
}

/// Pages of a kind (5 interior, 13 leaf of a table), by number from 0.
fn pages(bytes: &[u8], kind: u8) -> Vec<usize> {
    (1..bytes.len() / PAGE)
        .filter(|page| bytes[page * PAGE] == kind)
        .collect()
}

fn cells(bytes: &[u8], page: usize) -> usize {
    usize::from(u16::from_be_bytes([
        bytes[page * PAGE + 3],
        bytes[page * PAGE + 4],
    ]))
}

/// Damages a copy, then: verify says so, repair saves all but `lost` rows, the damaged file stays.
fn salvaged(scene: &Scene, name: &str, harm: impl Fn(&mut Vec<u8>), lost: usize) {
    let path = scene.copy(name);
    let mut bytes = fs::read(database(&path)).unwrap();
    harm(&mut bytes);
    fs::write(database(&path), &bytes).unwrap();
    let palace = SqlitePalace::at(&path);
    let report = palace.verify(true).unwrap();
    assert!(!report.ok(), "{name}: verify finds nothing");
    let repaired = palace.repair(RepairOptions::default()).unwrap();
    drop(palace);
    assert_eq!(
        fs::read(database(&path)).unwrap(),
        bytes,
        "{name}: the damaged file changed"
    );
    let saved = repaired
        .salvage
        .unwrap_or_else(|| panic!("{name}: not salvaged: {:?}", repaired.actions));
    let total = scene.model.rows.len();
    assert!(
        saved.saved as usize + saved.damaged.len() + lost >= total,
        "{name}: {} saved, {} damaged, at most {lost} lost, {total} there were",
        saved.saved,
        saved.damaged.len()
    );
    let fresh = open(&saved.palace);
    let found: BTreeMap<String, Row> = fresh
        .collections()
        .unwrap()
        .iter()
        .flat_map(|info| contents(&fresh, &info.name))
        .collect();
    assert_eq!(found.len() as u64, saved.saved, "{name}");
    for (id, row) in &found {
        let original = &scene.model.rows[id];
        assert_eq!(
            (&row.text, &row.meta),
            (&original.text, &original.meta),
            "{name}: {id}"
        );
        assert!(
            row.vector == original.vector
                || (row.vector.is_none() && saved.without_vector.contains(id)),
            "{name}: the vector of {id}"
        );
    }
    assert!(fresh.verify(true).unwrap().ok());
}

#[test]
fn a_zeroed_first_page_costs_no_drawer() {
    salvaged(&Scene::new(), "first", |bytes| bytes[..PAGE].fill(0), 0);
}

#[test]
fn garbage_in_interior_pages_costs_no_drawer() {
    let scene = Scene::new();
    salvaged(
        &scene,
        "interior",
        |bytes| {
            let interior = pages(bytes, 5);
            assert!(!interior.is_empty());
            for page in interior {
                let mut rng = Rng(page as u64);
                bytes[page * PAGE..(page + 1) * PAGE].fill_with(|| rng.next() as u8);
            }
        },
        0,
    );
}

#[test]
fn garbage_in_a_leaf_page_costs_at_most_what_stood_there() {
    let scene = Scene::new();
    let template = fs::read(database(&scene.directory.path().join("template"))).unwrap();
    let leaves = pages(&template, 13);
    for at in [leaves.len() / 3, leaves.len() / 2, leaves.len() - 2] {
        let page = leaves[at];
        salvaged(
            &scene,
            &format!("leaf{page}"),
            |bytes| bytes[page * PAGE..(page + 1) * PAGE].fill(0xA5),
            cells(&template, page),
        );
    }
}

#[test]
fn a_truncated_database_gives_back_what_is_left() {
    let scene = Scene::new();
    let template = fs::read(database(&scene.directory.path().join("template"))).unwrap();
    for length in [
        PAGE * 3,
        template.len() / 3,
        template.len() / 2,
        template.len() - PAGE,
        template.len() - 10,
    ] {
        let lost: usize = pages(&template, 13)
            .into_iter()
            .filter(|page| (page + 1) * PAGE > length)
            .map(|page| cells(&template, page))
            .sum();
        salvaged(
            &scene,
            &format!("cut{length}"),
            |bytes| bytes.truncate(length),
            lost,
        );
    }
}

#[test]
fn what_is_only_in_the_log_is_salvaged_too() {
    let scene = Scene::new();
    let path = scene.copy("log");
    let mut worker = Worker::serve(&path);
    let op = Op::Add {
        rows: (1..=20)
            .map(|n| random_row(&mut Rng(n), "late", n, 64))
            .collect(),
    };
    worker.must(&run("drawers", op));
    worker.kill();
    assert!(fs::metadata(path.join("palace.sqlite3-wal")).unwrap().len() > 0);
    let mut bytes = fs::read(database(&path)).unwrap();
    for page in pages(&bytes, 5) {
        bytes[page * PAGE..(page + 1) * PAGE].fill(0xEE);
    }
    bytes[..PAGE].fill(0);
    fs::write(database(&path), bytes).unwrap();
    let log = fs::read(path.join("palace.sqlite3-wal")).unwrap();
    let palace = SqlitePalace::at(&path);
    let saved = palace
        .repair(RepairOptions::default())
        .unwrap()
        .salvage
        .unwrap();
    let fresh = open(&saved.palace);
    let found: usize = fresh
        .collections()
        .unwrap()
        .iter()
        .map(|info| info.count as usize)
        .sum();
    assert_eq!(found, 920, "{saved:?}");
    drop(palace);
    assert_eq!(
        fs::read(path.join("palace.sqlite3-wal")).unwrap_or_default(),
        log,
        "the log changed"
    );
}

/// Where these bytes stand in the file, exactly once.
fn find(bytes: &[u8], needle: &[u8]) -> usize {
    let mut found = bytes
        .windows(needle.len())
        .enumerate()
        .filter(|(_, window)| *window == needle);
    let (at, _) = found.next().expect("the bytes are not in the file");
    at
}

#[test]
fn a_flipped_byte_inside_a_row_is_named_and_the_other_rows_are_read_and_queried() {
    let scene = Scene::new();
    let row = &scene.model.rows["a77"];
    let vector: Vec<u8> = row
        .vector
        .as_ref()
        .unwrap()
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    let word = row
        .text
        .as_ref()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .to_owned();
    let metadata = format!("\"touched\":{}}}", row.meta["touched"]);
    for (name, needle, at) in [
        ("vector", vector.clone(), 41),
        ("text", format!("common {word}").into_bytes(), 9),
        ("metadata", metadata.clone().into_bytes(), 11),
        ("metadata syntax", metadata.into_bytes(), 0),
    ] {
        let path = scene.copy(name);
        let mut bytes = fs::read(database(&path)).unwrap();
        let start = find(&bytes, &needle);
        bytes[start + at] ^= 1;
        fs::write(database(&path), &bytes).unwrap();
        let sound: String = rusqlite::Connection::open(database(&path))
            .unwrap()
            .query_row("PRAGMA quick_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(sound, "ok", "{name}: SQLite does not notice");
        let palace = open(&path);
        let report = palace.verify(true).unwrap();
        assert!(
            report
                .findings
                .iter()
                .any(|finding| finding.kind.as_str() == "damaged"
                    && finding.id.as_deref() == Some("a77")),
            "{name}: {:?}",
            report.findings
        );
        // The others are there, and say that one is missing.
        let collection = palace.collection("drawers", false).unwrap();
        let got = collection
            .get(&loci_core::Get::new(loci_core::Selection::all()))
            .unwrap();
        assert_eq!(got.ids.len(), 899, "{name}");
        assert!(
            got.warnings
                .iter()
                .any(|warning| warning.message().contains("a77")),
            "{name}: {:?}",
            got.warnings
        );
        let near = collection
            .query(&loci_core::Query::vector(row.vector.clone().unwrap()).k(20))
            .unwrap();
        assert_eq!(near.ids[0].len(), 20, "{name}");
        assert!(!near.ids[0].contains(&"a77".to_owned()), "{name}");
        let words =
            loci_recall::search_words(&*collection, "common", 20, &loci_core::Selection::all())
                .unwrap();
        assert_eq!(words.hits.len(), 20, "{name}");
        // A change of the others works; repair sets the bad one aside and the rest verifies.
        let op = Op::Update {
            rows: vec![random_row(&mut Rng(4), "a", 78, 64)],
        };
        op.run(&palace, collection.as_ref()).unwrap();
        let repaired = palace.repair(RepairOptions::default()).unwrap();
        assert_eq!(repaired.set_aside, ["a77"], "{name}");
        assert_eq!(
            (repaired.drawers_before, repaired.drawers_after),
            (900, 899),
            "{name}"
        );
        assert!(
            repaired.remaining.is_empty(),
            "{name}: {:?}",
            repaired.remaining
        );
        let mut model = scene.model.clone();
        model.apply(&op);
        model.apply(&Op::Delete {
            ids: vec!["a77".into()],
        });
        check(&palace, "drawers", &model, &mut Rng(5), true);
    }
}

#[test]
fn a_damaged_drawer_can_be_deleted_and_leaves_nothing_behind() {
    let scene = Scene::new();
    let word = scene.model.rows["a77"]
        .text
        .as_ref()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .to_owned();
    let path = scene.copy("delete");
    let mut bytes = fs::read(database(&path)).unwrap();
    let start = find(&bytes, format!("common {word}").as_bytes());
    bytes[start + 9] ^= 1;
    fs::write(database(&path), &bytes).unwrap();
    let palace = open(&path);
    let collection = palace.collection("drawers", false).unwrap();
    let delete = Op::Delete {
        ids: vec!["a77".into()],
    };
    if delete.run(&palace, collection.as_ref()).is_ok() {
        let mut model = scene.model.clone();
        model.apply(&delete);
        let words = loci_recall::search_words(&*collection, &word, 5, &loci_core::Selection::all())
            .unwrap();
        assert!(words.hits.is_empty());
        palace.repair(RepairOptions::default()).unwrap();
        check(&palace, "drawers", &model, &mut Rng(5), true);
    }
}

#[test]
fn a_damaged_log_gives_an_older_state_or_an_error_and_never_garbage() {
    let directory = tempfile::tempdir().unwrap();
    let template = directory.path().join("template");
    let mut history = vec![fill(&open(&template), "drawers", "a", 100, 8, 1)];
    let mut worker = Worker::serve(&template);
    let mut rng = Rng(2);
    for n in 1..=25 {
        let op = match n % 3 {
            0 => Op::Delete {
                ids: vec![format!("a{n}")],
            },
            1 => Op::Add {
                rows: vec![random_row(&mut rng, "b", n, 8)],
            },
            _ => Op::Update {
                rows: vec![random_row(&mut rng, "a", n + 50, 8)],
            },
        };
        worker.must(&run("drawers", op.clone()));
        let mut next = history.last().unwrap().clone();
        next.apply(&op);
        history.push(next);
    }
    worker.kill();
    let length = fs::metadata(template.join("palace.sqlite3-wal"))
        .unwrap()
        .len() as usize;
    assert!(length > 10 * PAGE);
    for case in 0..40 {
        let path = directory.path().join(format!("case{case}"));
        copy_directory(&template, &path);
        let wal = path.join("palace.sqlite3-wal");
        let mut bytes = fs::read(&wal).unwrap();
        match case {
            0 => fs::remove_file(&wal).unwrap(),
            1 => {
                let _ = fs::remove_file(path.join("palace.sqlite3-shm"));
            }
            2..=15 => {
                bytes.truncate(if case == 2 { 0 } else { rng.below(length) });
                fs::write(&wal, bytes).unwrap();
            }
            _ => {
                let at = if case < 20 {
                    rng.below(32)
                } else {
                    rng.below(length)
                };
                bytes[at] ^= 1 << rng.below(8);
                fs::write(&wal, bytes).unwrap();
            }
        }
        // The shared memory of dead processes is not a witness.
        let palace = match SqlitePalace::open(&path, false) {
            Ok(palace) => palace,
            Err(error) => {
                assert_ne!(error.kind().as_str(), "internal", "case {case}: {error}");
                continue;
            }
        };
        let found = contents(&palace, "drawers");
        let state = history.iter().find(|state| state.rows == found);
        let state = state.unwrap_or_else(|| panic!("case {case}: no state that there was"));
        // Commits behind the damage are missed aloud; repair takes note of that and of nothing else.
        let findings = palace.verify(true).unwrap().findings;
        assert!(
            findings
                .iter()
                .all(|finding| finding.kind.as_str() == "log"),
            "case {case}: {findings:?}"
        );
        palace.repair(RepairOptions::default()).unwrap();
        check(&palace, "drawers", state, &mut rng, true);
    }
}

/// A palace whose last twenty drawers are only in the log of a killed process.
fn with_a_log(scene: &Scene, name: &str) -> PathBuf {
    let path = scene.copy(name);
    let mut worker = Worker::serve(&path);
    for n in 1..=20 {
        let rows = vec![random_row(&mut Rng(n), "late", n, 64)];
        worker.must(&run("drawers", Op::Add { rows }));
    }
    worker.kill();
    path
}

#[test]
fn commits_behind_a_flipped_byte_of_the_log_are_missed_aloud_and_the_log_is_kept() {
    // SQLite's recovery stops at the damaged frame and says nothing; the next checkpoint would have
    // removed the evidence.
    let scene = Scene::new();
    let path = with_a_log(&scene, "flipped");
    let log = path.join("palace.sqlite3-wal");
    let mut bytes = fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let palace = open(&path);
    let count = palace
        .collection("drawers", false)
        .unwrap()
        .count()
        .unwrap();
    assert!((900..920).contains(&count), "{count}");
    let report = palace.verify(false).unwrap();
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    assert_eq!(report.findings[0].kind.as_str(), "log");
    palace.close().unwrap();
    let kept: Vec<_> = fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("damaged-log-"))
        .collect();
    assert_eq!(fs::read(&kept[0]).unwrap(), bytes);
    let palace = open(&path);
    palace.repair(RepairOptions::default()).unwrap();
    assert!(palace.verify(true).unwrap().ok());
    let status = palace.state().unwrap();
    assert!(
        status
            .set_aside
            .iter()
            .any(|name| name.contains("kept-log-"))
    );
}

#[test]
fn a_database_that_is_gone_or_empty_while_its_log_is_there_is_never_created_anew() {
    let scene = Scene::new();
    for (name, gone) in [("gone", true), ("empty", false)] {
        let path = with_a_log(&scene, name);
        let log = fs::read(path.join("palace.sqlite3-wal")).unwrap();
        if gone {
            fs::remove_file(database(&path)).unwrap();
        } else {
            fs::write(database(&path), b"").unwrap();
        }
        for create in [true, false] {
            let error = SqlitePalace::open(&path, create).err().unwrap();
            assert_eq!(error.code(), "corrupt", "{error}");
        }
        assert_eq!(fs::read(path.join("palace.sqlite3-wal")).unwrap(), log);
        let palace = SqlitePalace::at(&path);
        let saved = palace
            .repair(RepairOptions::default())
            .unwrap()
            .salvage
            .unwrap();
        assert!(saved.saved > 0, "{saved:?}");
    }
}
