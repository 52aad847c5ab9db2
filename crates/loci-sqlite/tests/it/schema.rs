//! The text of the schema may be damaged like any other byte, and a backup may hold more than a
//! palace: neither is believed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Query, RepairOptions, Selection};
use rusqlite::Connection;

use crate::support::{
    Access as _, Op, Rng, Seeded, SqlitePalace, contents, effort, fill, open, random_row,
};

const DATABASE: &str = "palace.sqlite3";

fn made(directory: &Path) -> PathBuf {
    let path = directory.join("palace");
    let palace = open(&path);
    fill(&palace, "drawers", "a", 12, 8, 1);
    palace.close().unwrap();
    path
}

/// Where in the file the texts of the schema are, byte by byte.
fn schema_bytes(database: &Path) -> Vec<usize> {
    let texts: Vec<String> = Connection::open(database)
        .unwrap()
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let bytes = fs::read(database).unwrap();
    texts
        .iter()
        .flat_map(|text| {
            let at = bytes
                .windows(text.len())
                .position(|window| window == text.as_bytes());
            at.into_iter().flat_map(|at| at..at + text.len())
        })
        .collect()
}

fn copy(from: &Path, to: &Path, flip: (usize, u8)) -> PathBuf {
    fs::create_dir_all(to).unwrap();
    let mut bytes = fs::read(from.join(DATABASE)).unwrap();
    bytes[flip.0] ^= flip.1;
    fs::write(to.join(DATABASE), bytes).unwrap();
    to.to_path_buf()
}

/// What a caller does with a palace, call by call.
fn everyday_calls(path: &Path) -> BTreeMap<&'static str, Error> {
    let palace = match SqlitePalace::open(path, true) {
        Ok(palace) => palace,
        Err(error) => return [("open", error)].into(),
    };
    let mut failed = BTreeMap::new();
    let mut note = |call, result: Result<(), Error>| {
        if let Err(error) = result {
            failed.insert(call, error);
        }
    };
    let drawers = || palace.collection("drawers", true);
    let add = Op::Add {
        rows: vec![random_row(&mut Rng(77), "b", 1, 8)],
    };
    note("status", palace.state().map(|_| ()));
    note(
        "words",
        drawers().and_then(|drawers| {
            loci_recall::search_words(&*drawers, "word", 5, &Selection::all()).map(|_| ())
        }),
    );
    note(
        "query",
        drawers().and_then(|drawers| drawers.query(&Query::vector(vec![1.0; 8])).map(|_| ())),
    );
    note(
        "add",
        drawers().and_then(|drawers| add.run(&palace, drawers.as_ref()).map(|_| ())),
    );
    let forget = Selection::ids(["a3".to_owned()]);
    note(
        "forget",
        palace.forget("drawers", &forget.clone()).map(|_| ()),
    );
    let target = path.join("a-backup");
    note("backup", palace.backup(&target).map(|_| ()));
    let _ = palace.close();
    failed
}

#[test]
fn a_flipped_byte_in_the_text_of_the_schema_is_found_and_salvaged_and_never_an_internal_error() {
    let seed = Seeded(crate::support::seed());
    let mut rng = Rng(seed.0);
    let directory = tempfile::tempdir().unwrap();
    let path = made(directory.path());
    let model = contents(&open(&path), "drawers");
    let places = schema_bytes(&path.join(DATABASE));
    assert!(places.len() > 5_000, "{}", places.len());
    let (mut reported, mut salvaged) = (0, 0);
    let rounds = 120 * effort();
    for round in 0..rounds {
        let at = places[rng.below(places.len())];
        let flip = (at, 1_u8 << rng.below(8));
        let harmed = copy(&path, &directory.path().join("harmed"), flip);
        for (call, error) in everyday_calls(&harmed) {
            assert_ne!(
                error.kind(),
                ErrorKind::Internal,
                "{flip:?} {call}: {error:?}"
            );
            if error.kind() == ErrorKind::Corrupt {
                assert!(error.help().is_some(), "{error}");
            }
        }
        fs::remove_dir_all(&harmed).unwrap();

        let harmed = copy(&path, &directory.path().join("harmed"), flip);
        let palace = SqlitePalace::at(&harmed);
        let report = palace
            .verify(round % 2 == 0)
            .unwrap_or_else(|error| panic!("verify, {flip:?}: {error:?}"));
        reported += usize::from(!report.ok());
        if report.ok() {
            // White space: the schema means the same.
            let failed = everyday_calls(&copy(&path, &directory.path().join("same"), flip));
            assert!(failed.is_empty(), "{flip:?}: {failed:?}");
        }
        let repaired = palace
            .repair(RepairOptions::default())
            .unwrap_or_else(|error| panic!("repair, {flip:?}: {error:?}"));
        drop(palace);
        let told = format!("{flip:?} {:?} {:?}", report.findings, repaired.actions);
        let whole = match repaired.salvage {
            Some(salvage) => {
                salvaged += 1;
                salvage.palace
            }
            None => harmed.clone(),
        };
        assert_eq!(contents(&open(&whole), "drawers"), model, "{told}");
        assert!(open(&whole).verify(true).unwrap().ok());
        fs::remove_dir_all(&whole).unwrap();
        let _ = fs::remove_dir_all(&harmed);
    }
    assert!(
        reported > rounds * 8 / 10 && salvaged > rounds / 2,
        "of {rounds}: {reported} reported, {salvaged} salvaged"
    );
}

#[test]
fn a_palace_with_a_damaged_schema_is_not_opened_so_nothing_in_it_is_removed() {
    // Without one comma the columns of a collection move by one, and the sum of its terms says that
    // it was deleted: opening the palace would remove its drawers.
    let directory = tempfile::tempdir().unwrap();
    let path = made(directory.path());
    let model = contents(&open(&path), "drawers");
    let bytes = fs::read(path.join(DATABASE)).unwrap();
    let text = b"dimension INTEGER,";
    let at = bytes
        .windows(text.len())
        .position(|window| window == text)
        .unwrap();
    let harmed = copy(
        &path,
        &directory.path().join("harmed"),
        (at + text.len() - 1, 64),
    );
    let before = fs::read(harmed.join(DATABASE)).unwrap();
    let failed = everyday_calls(&harmed);
    let error = failed.get("open").unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("table `collections`"), "{error}");
    assert!(error.help().unwrap().contains("repair"), "{error:?}");
    assert_eq!(fs::read(harmed.join(DATABASE)).unwrap(), before);
    let palace = SqlitePalace::at(&harmed);
    let salvage = palace
        .repair(RepairOptions::default())
        .unwrap()
        .salvage
        .unwrap();
    assert_eq!(contents(&open(&salvage.palace), "drawers"), model);
}

#[test]
fn foreign_triggers_and_views_in_a_palace_are_reported_and_repair_drops_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = made(directory.path());
    let before = contents(&open(&path), "drawers");
    Connection::open(path.join(DATABASE))
        .unwrap()
        .execute_batch(
            "CREATE TRIGGER eater AFTER INSERT ON usage BEGIN DELETE FROM drawers; END;
             CREATE VIEW \"a \"\"view\"\"\" AS SELECT * FROM drawers;
             CREATE INDEX extra ON drawers (text);",
        )
        .unwrap();
    let palace = open(&path);
    let report = palace.verify(false).unwrap();
    let found: Vec<_> = report
        .findings
        .iter()
        .map(|finding| (finding.kind.as_str(), finding.detail.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("schema", "the trigger `eater` is no part of a palace"),
            ("schema", "the view `a \"view\"` is no part of a palace"),
            ("schema", "the index `extra` is no part of a palace"),
        ]
    );
    let repaired = palace.repair(RepairOptions::default()).unwrap();
    assert!(repaired.remaining.is_empty(), "{:?}", repaired.remaining);
    assert!(palace.verify(true).unwrap().ok());
    assert_eq!(contents(&palace, "drawers"), before);
}

#[test]
fn a_backup_with_anything_foreign_in_its_schema_is_refused_and_nothing_is_touched() {
    let directory = tempfile::tempdir().unwrap();
    let path = made(directory.path());
    let palace = open(&path);
    let before = contents(&palace, "drawers");
    for (name, sql, named) in [
        (
            "trigger",
            "CREATE TRIGGER eater AFTER INSERT ON drawers BEGIN DELETE FROM drawers; END",
            "trigger `eater`",
        ),
        (
            "view",
            "ALTER TABLE usage RENAME TO elsewhere; CREATE VIEW usage AS SELECT * FROM elsewhere",
            "view `usage`",
        ),
        (
            "virtual table",
            "CREATE VIRTUAL TABLE spy USING fts5(text)",
            "table `spy`",
        ),
        ("table", "CREATE TABLE notes (a)", "table `notes`"),
        (
            "index",
            "CREATE INDEX extra ON drawers (text)",
            "index `extra`",
        ),
        (
            "changed table",
            "DROP VIEW analysed; CREATE VIEW analysed AS SELECT row, 'spam' AS text FROM drawers",
            "view `analysed`",
        ),
    ] {
        let backup = directory.path().join(format!("{name}.backup"));
        palace.backup(&backup).unwrap();
        Connection::open(&backup)
            .unwrap()
            .execute_batch(sql)
            .unwrap();
        let files = listing(&path);
        for replace in [true, false] {
            let target = if replace {
                path.clone()
            } else {
                directory.path().join("new")
            };
            let error = SqlitePalace::at(&target)
                .restore(&backup, replace)
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}: {error}");
            assert!(error.to_string().contains(named), "{name}: {error}");
        }
        assert!(!directory.path().join("new").exists(), "{name}");
        assert_eq!(listing(&path), files, "{name}");
        assert_eq!(contents(&palace, "drawers"), before, "{name}");
    }
}

#[test]
fn backups_of_every_format_still_restore() {
    for format in 1..=4 {
        let directory = tempfile::tempdir().unwrap();
        let backup = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../loci-palace/tests/compat")
            .join(format!("format-{format}.sqlite3"));
        let path = directory.path().join("palace");
        let palace = SqlitePalace::at(&path);
        assert!(palace.restore(&backup, false).unwrap().drawers > 0);
        let report = palace.verify(true).unwrap();
        assert!(report.ok(), "format {format}: {:?}", report.findings);
    }
}

fn listing(palace: &Path) -> Vec<PathBuf> {
    crate::support::listed(palace, |name| !name.contains(".lock"))
}
