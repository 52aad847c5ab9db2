//! A salvage says what it lost: before, after and lost add up to the truth, lost drawers are named,
//! and nothing that was deleted on purpose is called lost. A replacing repair is killed at many
//! moments and never leaves the directory without a palace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loci_palace::{
    Fact, KnownBy, Link, LinkEnd, OpenOptions, Palace, RepairOptions, SalvageReport, Selection,
};

use crate::mined::{DRAWERS, Scene, document};
use crate::support::{Op, Rng, StoreRequest, Worker, contents, copy_directory, fill, listed, open};

const PAGE: usize = 8192;
const REPLACE: RepairOptions = RepairOptions { replace: true };

/// About 3,000 drawers: mined ones, added ones with vectors in two collections, deleted ones, an index
/// from before the last deletes, and a collection that was deleted.
struct Template {
    scene: Scene,
    /// Row to collection and id.
    drawers: BTreeMap<u64, (String, String)>,
}

impl Template {
    fn new() -> Self {
        let scene = Scene::of_words();
        for number in 0..40 {
            scene.write(
                &format!("n{number}.md"),
                document(number * 100..number * 100 + 25),
            );
        }
        let palace = scene.open();
        scene.mine(&palace);
        fill(&palace, DRAWERS, "a", 1_200, 64, 1);
        fill(&palace, "notes", "n", 800, 16, 2);
        fill(&palace, "gone", "g", 200, 16, 3);
        let drawers = palace.collection(DRAWERS, false).unwrap();
        let delete = |numbers: std::ops::Range<u64>| {
            let ids = numbers
                .map(|number| format!("a{number}"))
                .collect::<Vec<_>>();
            drawers.delete(&Selection::ids(ids)).unwrap();
        };
        delete(100..160);
        Op::Reindex.run(&palace, drawers.as_ref()).unwrap();
        delete(700..760);
        palace.delete_collection("gone").unwrap();
        palace.close().unwrap();
        let sql =
            "SELECT d.row, c.name, d.id FROM drawers d JOIN collections c ON c.id = d.collection";
        let db = scene.sql();
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement
            .query_map([], |row| {
                Ok((row.get::<_, i64>(0)? as u64, (row.get(1)?, row.get(2)?)))
            })
            .unwrap();
        let drawers = rows.map(Result::unwrap).collect();
        drop(statement);
        drop(db);
        Self { scene, drawers }
    }

    fn copy(&self, name: &str, harm: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
        let path = self.scene.beside(name);
        copy_directory(&self.scene.path, &path);
        let database = path.join("palace.sqlite3");
        let mut bytes = fs::read(&database).unwrap();
        harm(&mut bytes);
        fs::write(&database, bytes).unwrap();
        path
    }
}

fn overwrite(bytes: &mut [u8], rng: &mut Rng, pages: usize, keep_first: bool) {
    let count = bytes.len() / PAGE;
    for _ in 0..pages {
        let page = match rng.below(count) {
            0 if keep_first => 1,
            page => page,
        };
        let zeros = rng.below(4) == 0;
        for byte in &mut bytes[page * PAGE..(page + 1) * PAGE] {
            *byte = if zeros { 0 } else { rng.next() as u8 };
        }
    }
}

/// Overwrites pages that hold texts of added drawers and nothing else: such a palace still opens.
fn overwrite_texts(bytes: &mut [u8]) {
    let holds_texts =
        |page: &[u8]| page[0] == 0x0d && page.windows(9).any(|window| window == b"common uq");
    let hit: Vec<usize> = (1..bytes.len() / PAGE)
        .filter(|page| holds_texts(&bytes[page * PAGE..(page + 1) * PAGE]))
        .step_by(5)
        .collect();
    assert!(hit.len() > 4, "{hit:?}");
    for page in hit {
        bytes[page * PAGE..(page + 1) * PAGE].fill(0xAB);
    }
}

/// Ids of all drawers that a palace holds, or keeps as damaged.
fn kept_ids(path: &Path) -> BTreeSet<String> {
    let db = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
    let sql = "SELECT id FROM drawers UNION ALL SELECT drawer_id FROM damaged_drawers";
    let mut statement = db.prepare(sql).unwrap();
    let ids = statement.query_map([], |row| row.get(0)).unwrap();
    ids.map(Result::unwrap).collect()
}

fn salvaged(path: &Path) -> Option<SalvageReport> {
    let palace = Palace::connect(path, &OpenOptions::existing()).unwrap();
    palace
        .repair(&loci_palace::repair::Request::default())
        .unwrap()
        .salvage
}

/// Compares a report with the truth; gives how many are lost, and how many of them are named.
fn check(template: &Template, report: &SalvageReport, kept: &BTreeSet<String>) -> (usize, usize) {
    let lost: BTreeMap<u64, &str> = template
        .drawers
        .iter()
        .filter(|(_, (_, id))| !kept.contains(id))
        .map(|(row, (_, id))| (*row, id.as_str()))
        .collect();
    for drawer in &report.lost {
        let id = lost.get(&drawer.row);
        assert!(id.is_some(), "not lost, or deleted on purpose: {drawer:?}");
        if let Some(named) = &drawer.id {
            assert_eq!(Some(&named.as_str()), id, "{drawer:?}");
        }
        assert!(!drawer.evidence.is_empty());
    }
    let sum = report.saved + report.damaged_drawers + report.duplicates + report.lost_drawers;
    assert_eq!(sum, report.drawers_before, "{report:?}");
    assert_eq!(report.discrepancies, Vec::<String>::new());
    assert_eq!(report.duplicates, 0);
    if report.known_by == KnownBy::Counter {
        assert_eq!(report.drawers_before, template.drawers.len() as u64);
        assert_eq!(report.lost_drawers, lost.len() as u64);
    } else {
        assert!(report.drawers_before <= template.drawers.len() as u64);
        assert_eq!(report.lost_drawers, report.lost.len() as u64);
    }
    (lost.len(), report.lost.len())
}

#[test]
fn before_after_and_lost_add_up_to_the_truth_and_every_lost_drawer_is_named() {
    let template = Template::new();
    let (mut total, mut with_id) = ((0, 0), 0);
    let mut by_counter = 0;
    for seed in 1..=12_u64 {
        let pages = [1, 8, 20, 60][seed as usize % 4];
        let path = template.copy(&format!("p{seed}"), |bytes| {
            overwrite(bytes, &mut Rng(seed), pages, true);
        });
        let Some(report) = salvaged(&path) else {
            continue;
        };
        let (lost, named) = check(&template, &report, &kept_ids(&report.palace));
        by_counter += usize::from(report.known_by == KnownBy::Counter);
        if report.known_by == KnownBy::Counter {
            assert_eq!(lost, named, "seed {seed}");
        }
        with_id += report.lost.iter().filter(|lost| lost.id.is_some()).count();
        total = (total.0 + lost, total.1 + named);
        assert!(
            open(&report.palace)
                .verify(&loci_palace::verify::Request { deep: true })
                .unwrap()
                .ok()
        );
        fs::remove_dir_all(&report.palace).unwrap();
    }
    assert!(total.0 > 200 && by_counter > 5, "{total:?}, {by_counter}");
    assert!(total.1 * 10 >= total.0 * 9, "{total:?}");
    assert!(with_id * 2 >= total.1, "{with_id} of {total:?} have an id");
    eprintln!("{total:?} lost and named, {with_id} with an id, {by_counter} by counter");
}

#[test]
fn heavy_damage_without_a_schema_never_calls_a_deleted_or_saved_drawer_lost() {
    let template = Template::new();
    for seed in 20..26_u64 {
        let path = template.copy(&format!("h{seed}"), |bytes| {
            let pages = bytes.len() / PAGE / 3;
            overwrite(bytes, &mut Rng(seed), pages, false);
            if seed % 2 == 0 {
                bytes[..PAGE].fill(0xEE);
            }
        });
        let report = salvaged(&path).unwrap();
        check(&template, &report, &kept_ids(&report.palace));
        fs::remove_dir_all(&report.palace).unwrap();
    }
}

/// Nothing mentions the drawers any more but an index that was built before the last deletes.
#[test]
fn an_index_file_names_lost_drawers_and_none_that_were_deleted_after_it_was_built() {
    let template = Template::new();
    let db = template.scene.sql();
    let sql = "SELECT rootpage - 1 FROM sqlite_schema WHERE name IN ('palace', 'collections', 'tombstones')";
    let mut statement = db.prepare(sql).unwrap();
    let roots = statement.query_map([], |row| row.get::<_, u32>(0)).unwrap();
    let roots: Vec<usize> = roots.map(|root| root.unwrap() as usize).collect();
    let tombstones: i64 = db
        .query_row("SELECT count(*) FROM tombstones", [], |row| row.get(0))
        .unwrap();
    drop(statement);
    drop(db);
    assert!((60..500).contains(&tombstones), "{tombstones}: one page");
    let keep_schema_alone = |bytes: &mut Vec<u8>| {
        for (number, page) in bytes.chunks_mut(PAGE).enumerate() {
            let is_schema = number == 0
                || page
                    .windows(13)
                    .any(|text| text == b"CREATE TABLE " || text == b"CREATE INDEX ");
            if !is_schema && !roots.contains(&number) {
                page.fill(0xAB);
            }
        }
    };
    let path = template.copy("index", keep_schema_alone);
    let report = salvaged(&path).unwrap();
    check(&template, &report, &kept_ids(&report.palace));
    assert_eq!((report.saved, report.known_by), (0, KnownBy::Counter));
    assert_eq!(
        report.lost.len(),
        1_200 - 120,
        "those with a vector in `drawers`"
    );
    for lost in &report.lost {
        assert_eq!(lost.evidence, ["index"]);
        assert_eq!(lost.collection.as_deref(), Some(DRAWERS));
    }
    assert_eq!(report.lost_without_a_trace, report.lost_drawers - 1_080);
    // Without its tombstones the index tells nothing: its rows may have been deleted.
    let path = template.copy("no-tombstones", |bytes| {
        keep_schema_alone(bytes);
        for root in &roots {
            let page = &mut bytes[root * PAGE..(root + 1) * PAGE];
            // The palace and the collections stay: they hold text or a key.
            if page[3..5] == (tombstones as u16).to_be_bytes() {
                page.fill(0xAB);
            }
        }
    });
    let report = salvaged(&path).unwrap();
    check(&template, &report, &kept_ids(&report.palace));
    assert_eq!((report.lost.len(), report.saved), (0, 0));
    assert_eq!(report.lost_drawers, template.drawers.len() as u64);
}

#[test]
fn a_lost_drawer_is_listed_with_its_place_and_mining_brings_its_text_back() {
    let template = Template::new();
    let db = template.scene.sql();
    // The leaf page of the table that holds mined drawers.
    let text: String = db
        .query_row(
            "SELECT text FROM drawers WHERE origin <> 0 ORDER BY row LIMIT 1 OFFSET 300",
            [],
            |row| row.get(0),
        )
        .unwrap();
    drop(db);
    let path = template.copy("place", |bytes| {
        let at = bytes
            .windows(text.len())
            .position(|window| window == text.as_bytes())
            .unwrap();
        let page = at / PAGE;
        bytes[page * PAGE..(page + 1) * PAGE].fill(0xAB);
    });
    let before = contents(&template.scene.open(), DRAWERS);
    let report = salvaged(&path).unwrap();
    assert!(!report.lost.is_empty(), "{report:?}");
    for lost in &report.lost {
        let id = lost.id.as_ref().unwrap();
        let known = &before[id].meta;
        let text = |key: &str| known.get(key).and_then(|value| value.as_str());
        assert_eq!(lost.collection.as_deref(), Some(DRAWERS));
        assert_eq!(lost.source_file.as_deref(), text("source_file"));
        assert_eq!(lost.wing.as_deref(), text("wing"));
        assert_eq!(lost.room.as_deref(), text("room"));
        let line = known["start_line"].as_i64().unwrap().to_string();
        assert!(lost.line.as_ref().unwrap().starts_with(&line), "{lost:?}");
    }
    let files: BTreeSet<&str> = report
        .lost
        .iter()
        .filter_map(|lost| lost.source_file.as_deref())
        .collect();
    assert_eq!(report.incomplete_sources as usize, files.len());
    let palace = open(&report.palace);
    let again = template.scene.mine(&palace);
    assert_eq!(again.files.read as usize, files.len(), "{again:?}");
    let texts = |rows: BTreeMap<String, crate::support::Row>| -> Vec<Option<String>> {
        let mut texts: Vec<_> = rows.into_values().map(|row| row.text).collect();
        texts.sort();
        texts
    };
    assert!(
        texts(contents(&palace, DRAWERS)) == texts(before),
        "texts differ"
    );
}

#[test]
fn drawers_of_a_collection_that_was_being_deleted_are_neither_saved_nor_lost() {
    let template = Template::new();
    let drop = "UPDATE collections SET dropped = 1, name = char(1) || id WHERE name = 'notes';
                PRAGMA wal_checkpoint(TRUNCATE);";
    template.scene.sql().execute_batch(drop).unwrap();
    let path = template.copy("dropped", |bytes| {
        overwrite_texts(bytes);
        bytes[..100].fill(0);
    });
    let report = salvaged(&path).unwrap();
    let kept = kept_ids(&report.palace);
    let of_notes = |id: &String| id.starts_with('n') && id[1..].parse::<u64>().is_ok();
    assert!(!kept.iter().any(of_notes), "a deleted drawer is back");
    assert!(
        !report
            .lost
            .iter()
            .any(|lost| lost.id.as_ref().is_some_and(of_notes))
    );
    let names = open(&report.palace).collections().unwrap();
    assert!(names.iter().all(|info| info.name == DRAWERS), "{names:?}");
    let wanted = template
        .drawers
        .values()
        .filter(|(name, _)| name == DRAWERS);
    assert_eq!(report.drawers_before, wanted.count() as u64, "{report:?}");
    assert_eq!(report.saved + report.lost_drawers, report.drawers_before);
}

#[test]
fn lost_facts_and_links_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = open(&path);
    let relations = palace.relations().unwrap().unwrap();
    let facts: Vec<Fact> = (0..300)
        .map(|number| Fact {
            id: format!("fact-{number}"),
            subject: format!("lamp {number}"),
            predicate: "shines over the western".into(),
            object: "harbour".into(),
            ..Fact::default()
        })
        .collect();
    relations.add_facts(&facts).unwrap();
    let room = |name: String| LinkEnd::Room {
        wing: "tower".into(),
        room: name,
    };
    let links: Vec<Link> = (0..300)
        .map(|number| Link {
            from: room(format!("stair {number}")),
            to: room(format!("lamp {number}")),
            label: "leads to".into(),
            metadata: loci_palace::Metadata::default(),
        })
        .collect();
    relations.add_links(&links).unwrap();
    palace.close().unwrap();
    drop((relations, palace));
    let database = path.join("palace.sqlite3");
    let mut bytes = fs::read(&database).unwrap();
    for needle in [&b"shines over the western"[..], b"leads to{}"] {
        let leaf = (1..bytes.len() / PAGE).find(|page| {
            let page = &bytes[page * PAGE..(page + 1) * PAGE];
            page[0] == 0x0d && page.windows(needle.len()).any(|text| text == needle)
        });
        let leaf = leaf.unwrap();
        bytes[leaf * PAGE..(leaf + 1) * PAGE].fill(0xAB);
    }
    fs::write(&database, bytes).unwrap();
    let report = salvaged(&path).unwrap();
    let lost = (
        report.lost_facts.len() as u64,
        report.lost_links.len() as u64,
    );
    assert!(lost.0 > 5 && lost.1 > 5, "{lost:?}");
    assert_eq!((report.facts + lost.0, report.links + lost.1), (300, 300));
    assert!(report.lost_facts[0].what.starts_with("fact-"));
    assert!(
        report.lost_links[0].what.contains("`tower/stair "),
        "{:?}",
        report.lost_links[0]
    );
}

#[test]
fn a_salvage_keeps_dates_access_counts_and_the_ledger() {
    let template = Template::new();
    let sql = "UPDATE passages SET authored_at = 1500000000000 + row
                   WHERE authored_at = (SELECT created_at FROM drawers d WHERE d.row = passages.row);
               UPDATE drawers SET created_at = 1500000000000 + row, updated_at = 1500000000000 + 2 * row;
               INSERT INTO usage (row, access_count) SELECT row, 1 + row % 7 FROM drawers WHERE row % 3 = 0;
               PRAGMA wal_checkpoint(TRUNCATE);";
    template.scene.sql().execute_batch(sql).unwrap();
    // The first page alone: every drawer can be read.
    let path = template.copy("dates", |bytes| bytes[..PAGE].fill(0));
    let report = salvaged(&path).unwrap();
    assert_eq!(report.lost_drawers, 0);
    let histories = |path: &Path| -> BTreeMap<String, Vec<Option<String>>> {
        let db = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
        let sql = "SELECT d.id, d.created_at, d.updated_at, u.access_count, s.name, s.section
                   FROM drawers d LEFT JOIN usage u ON u.row = d.row LEFT JOIN sources s ON s.id = d.origin";
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| {
            let cell = |at| -> rusqlite::Result<Option<String>> {
                Ok(match row.get_ref(at)? {
                    rusqlite::types::ValueRef::Integer(number) => Some(number.to_string()),
                    other => other.as_str_or_null()?.map(str::to_owned),
                })
            };
            Ok((
                row.get(0)?,
                (1..6).map(cell).collect::<rusqlite::Result<_>>()?,
            ))
        });
        rows.unwrap().map(Result::unwrap).collect()
    };
    let (old, new) = (histories(&template.scene.path), histories(&report.palace));
    assert!(old == new, "histories differ");
    let palace = open(&report.palace);
    assert_eq!(template.scene.mine(&palace).files.read, 0);
}

/// Files of the directory that hold a database in whatever state.
fn old_is_kept(path: &Path, damaged: &[u8]) -> bool {
    let files = listed(path, |name| {
        name == "palace.sqlite3" || name.starts_with("palace.sqlite3.replaced-")
    });
    files
        .iter()
        .any(|file| fs::read(file).is_ok_and(|bytes| bytes == damaged))
}

#[test]
fn a_replaced_palace_is_whole_and_the_damaged_one_is_kept() {
    let template = Template::new();
    let path = template.copy("replaced", |bytes| overwrite_texts(bytes));
    let damaged = fs::read(path.join("palace.sqlite3")).unwrap();
    let mut server = Worker::serve(&path);
    let palace = Palace::connect(&path, &OpenOptions::existing()).unwrap();
    let report = palace.repair(&REPLACE).unwrap();
    assert_eq!(report.remaining, []);
    let salvage = report.salvage.unwrap();
    assert_eq!(salvage.palace, path);
    check(&template, &salvage, &kept_ids(&path));
    assert_eq!(fs::read(report.replaced.unwrap()).unwrap(), damaged);
    assert!(
        listed(&path, |name| name.contains("staging")
            || name.contains("restoring"))
        .is_empty()
    );
    // The same handle and a process that had the damaged palace open go on with the new one.
    assert!(
        palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
    assert_eq!(
        palace
            .status(&loci_palace::status::Request::default())
            .unwrap()
            .total,
        salvage.saved
    );
    let status = server.must(&StoreRequest::Status);
    assert_eq!(status["drawers"], salvage.saved);
    server.finish();
    // Nothing is wrong any more: nothing happens.
    let again = palace.repair(&REPLACE).unwrap();
    assert!(
        again.actions.is_empty() && again.salvage.is_none(),
        "{again:?}"
    );
}

#[test]
fn a_kill_during_a_replacing_repair_leaves_the_old_palace_or_the_new_one() {
    let template = Template::new();
    let make = |name: &str| template.copy(name, |bytes| overwrite_texts(bytes));
    let first = make("whole");
    let damaged = fs::read(first.join("palace.sqlite3")).unwrap();
    let since = Instant::now();
    let mut worker = Worker::serve(&first);
    worker.must(&StoreRequest::Replace);
    worker.finish();
    let time = since.elapsed();
    let wanted = kept_ids(&first);
    let (mut old, mut new) = (0, 0);
    for kill in 0..8_u32 {
        let path = make(&format!("kill{kill}"));
        let mut worker = Worker::serve(&path);
        worker.send(&StoreRequest::Replace);
        // Spread over the whole call; a kill that comes late finds the new palace.
        std::thread::sleep(time * kill / 7 + Duration::from_millis(5));
        worker.kill();
        assert!(old_is_kept(&path, &damaged), "kill {kill}");
        if fs::read(path.join("palace.sqlite3")).is_ok_and(|bytes| bytes == damaged) {
            old += 1;
        } else {
            new += 1;
        }
        // The next process goes on, whatever was left.
        let palace = Palace::connect(&path, &OpenOptions::existing()).unwrap();
        let report = palace.repair(&REPLACE).unwrap();
        assert_eq!(report.remaining, [], "kill {kill}");
        assert!(
            palace
                .verify(&loci_palace::verify::Request { deep: true })
                .unwrap()
                .ok()
        );
        palace.close().unwrap();
        assert!(old_is_kept(&path, &damaged), "kill {kill}");
        assert!(kept_ids(&path) == wanted, "kill {kill}: other drawers");
        assert!(listed(&path, |name| name.contains("restoring")).is_empty());
    }
    eprintln!("{old} kills left the old palace, {new} the new one");
    assert!(old > 0, "no kill came in time");
}

#[test]
fn a_replacing_repair_that_was_killed_between_its_renames_is_finished_by_the_next_opener() {
    let template = Template::new();
    let path = template.copy("between", |bytes| overwrite_texts(bytes));
    let damaged = fs::read(path.join("palace.sqlite3")).unwrap();
    let palace = Palace::connect(&path, &OpenOptions::existing()).unwrap();
    let report = palace.repair(&REPLACE).unwrap();
    palace.close().unwrap();
    drop(palace);
    let wanted = kept_ids(&path);
    let replaced = report.replaced.unwrap();
    let staged = replaced.to_string_lossy().replace("replaced", "restoring");
    let database = path.join("palace.sqlite3");
    // After the old database was renamed, before the new one was.
    fs::rename(&database, &staged).unwrap();
    let palace = open(&path);
    assert!(
        palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
    palace.close().unwrap();
    drop(palace);
    assert!(kept_ids(&path) == wanted);
    assert_eq!(fs::read(&replaced).unwrap(), damaged);
    // Before the old one was renamed: it stays, and a second repair does it all.
    fs::rename(&database, &staged).unwrap();
    fs::rename(&replaced, &database).unwrap();
    let palace = Palace::connect(&path, &OpenOptions::existing()).unwrap();
    let report = palace.repair(&REPLACE).unwrap();
    assert_eq!(report.remaining, []);
    assert_eq!(fs::read(report.replaced.unwrap()).unwrap(), damaged);
    assert!(kept_ids(&path) == wanted);
}
