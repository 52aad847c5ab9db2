//! A source belongs to the machine that mined it. Two handles with different machines stand for two
//! machines that share a palace.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use loci_palace::{
    ImportOptions, Machine, MineOptions, OpenOptions, Palace, Reading, SyncReport, WatchTiming,
    sync, watch,
};

use crate::mined::{DRAWERS, Scene, runs, sync_of, undo_of};
use crate::support::{command, contents, wait_until};

fn machine(name: &str) -> Machine {
    Machine {
        id: format!("{name}-id"),
        host: name.into(),
    }
}

fn on(path: &Path, name: &str) -> Palace {
    let options = OpenOptions {
        machine: Some(machine(name)),
        ..OpenOptions::create()
    };
    Palace::open(path, &options).unwrap()
}

fn text(of: &str) -> String {
    format!("# {of}\n\nThe {of} stands at the far end of the garden, behind the old wall.\n")
}

fn sync(palace: &Palace, scene: &Scene, apply: bool) -> SyncReport {
    let request = sync::Request {
        apply,
        ..sync_of(&scene.root)
    };
    palace.sync(&request).unwrap()
}

/// Host and completeness of the rows of one file, by host.
fn rows(scene: &Scene, file: &str) -> Vec<String> {
    let name = scene.name(file);
    scene.strings(&format!(
        "SELECT host || ' ' || complete FROM sources WHERE name = '{name}' ORDER BY host"
    ))
}

#[test]
fn sync_and_mine_leave_sources_of_other_machines_alone() {
    let scene = Scene::of_words();
    let (laptop, desk) = (on(&scene.path, "laptop"), on(&scene.path, "desk"));
    scene.write("roses.md", text("rose"));
    scene.write("tools.md", text("spade"));
    scene.mine(&laptop);
    scene.delete("roses.md");
    // The desk has no files below this path.
    let swept = sync(&desk, &scene, true);
    assert_eq!((swept.sources, swept.removed, swept.gone.len()), (0, 0, 0));
    let others: Vec<(&str, u64)> = swept
        .other_machines
        .iter()
        .map(|other| (other.host.as_str(), other.sources))
        .collect();
    assert_eq!(others, [("laptop", 2)]);
    let report = scene.mine(&desk);
    assert_eq!(report.files.gone, 0, "{report:?}");
    assert_eq!(report.files.renamed, 0);
    assert_eq!(contents(&laptop, DRAWERS).len(), 2);
    let swept = sync(&laptop, &scene, true);
    assert_eq!((swept.sources, swept.removed), (2, 1));
    assert_eq!(contents(&laptop, DRAWERS).len(), 1);
}

#[test]
fn a_rename_takes_no_drawers_from_a_source_of_another_machine() {
    let scene = Scene::of_words();
    let (laptop, desk) = (on(&scene.path, "laptop"), on(&scene.path, "desk"));
    scene.write("roses.md", text("rose"));
    scene.mine(&laptop);
    scene.rename("roses.md", "flowers.md");
    let report = scene.mine(&desk);
    assert_eq!((report.files.renamed, report.drawers.new), (0, 1));
    assert_eq!(rows(&scene, "roses.md"), ["laptop 1"]);
    assert_eq!(rows(&scene, "flowers.md"), ["desk 1"]);
}

#[test]
fn one_path_on_two_machines_is_two_sources() {
    let scene = Scene::of_words();
    let (laptop, desk) = (on(&scene.path, "laptop"), on(&scene.path, "desk"));
    scene.write("roses.md", text("rose"));
    scene.mine(&laptop);
    // The text is there already, as the laptop's.
    let report = scene.mine(&desk);
    assert_eq!((report.drawers.new, report.drawers.kept), (0, 1));
    assert_eq!(rows(&scene, "roses.md"), ["desk 1", "laptop 1"]);
    assert_eq!(contents(&desk, DRAWERS).len(), 1);
    // Another text on the laptop: the desk's own text comes back by its next mine.
    scene.write("roses.md", text("hedge"));
    scene.mine(&laptop);
    assert_eq!(rows(&scene, "roses.md"), ["desk 0", "laptop 1"]);
    scene.write("roses.md", text("rose"));
    let report = scene.mine(&desk);
    assert_eq!((report.drawers.new, report.drawers.removed), (1, 0));
    let texts: Vec<String> = contents(&desk, DRAWERS)
        .into_values()
        .filter_map(|row| row.text)
        .collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    // Each machine removes its own. A root without files might only be unmounted.
    scene.write("shed.md", text("shed"));
    scene.delete("roses.md");
    assert_eq!(sync(&desk, &scene, true).removed, 1);
    assert_eq!(rows(&scene, "roses.md"), ["laptop 0"]);
    assert_eq!(sync(&laptop, &scene, true).removed, 1);
    assert_eq!(contents(&desk, DRAWERS).len(), 0);
}

#[test]
fn a_watch_leaves_sources_of_other_machines_alone() {
    let scene = Scene::of_words();
    let (laptop, desk) = (on(&scene.path, "laptop"), on(&scene.path, "desk"));
    scene.write("roses.md", text("rose"));
    scene.write("tools.md", text("spade"));
    scene.mine(&laptop);
    let (stop, ready) = (AtomicBool::new(false), AtomicBool::new(false));
    let roots: Vec<PathBuf> = vec![scene.root.clone()];
    std::thread::scope(|threads| {
        let watcher = threads.spawn(|| {
            let (reading, options) = (Reading::default(), MineOptions::default());
            let watching = watch::Request {
                collection: DRAWERS,
                roots: &roots,
                reading: &reading,
                options: &options,
                timing: WatchTiming {
                    quiet: Duration::from_millis(50),
                    at_most: Duration::from_millis(300),
                },
                stop: &stop,
            };
            desk.watch(&watching, &mut |event| match event {
                watch::Event::Ready(_) => ready.store(true, Ordering::Relaxed),
                watch::Event::Trouble(error) => panic!("{error}"),
                watch::Event::Mined(_) | watch::Event::Synced(_) | watch::Event::Rescan(_) => {}
            })
        });
        wait_until("not ready", || {
            ready.load(Ordering::Relaxed) || watcher.is_finished()
        });
        scene.delete("roses.md");
        scene.write("bench.md", text("bench"));
        wait_until("not filed", || {
            rows(&scene, "bench.md") == ["desk 1"] || watcher.is_finished()
        });
        wait_until("not removed", || {
            rows(&scene, "roses.md") == ["laptop 1"] || watcher.is_finished()
        });
        stop.store(true, Ordering::Relaxed);
        watcher.join().unwrap().unwrap();
    });
    let files = scene.strings("SELECT source_file FROM drawers ORDER BY source_file");
    let expected = ["bench.md", "roses.md", "tools.md"].map(|file| scene.name(file));
    assert_eq!(files, expected);
}

#[test]
fn a_run_is_undone_from_any_machine() {
    let scene = Scene::of_words();
    let (laptop, desk) = (on(&scene.path, "laptop"), on(&scene.path, "desk"));
    scene.write("roses.md", text("rose"));
    let first = scene.mine(&laptop).run.unwrap();
    scene.write("roses.md", text("hedge"));
    let second = scene.mine(&laptop).run.unwrap();
    let undone = desk.undo(&undo_of(DRAWERS, second)).unwrap();
    assert_eq!((undone.restored, undone.left), (1, 0), "{undone:?}");
    assert_eq!(rows(&scene, "roses.md"), ["laptop 1"]);
    assert_eq!(desk.undo(&undo_of(DRAWERS, first)).unwrap().removed, 1);
    assert_eq!(rows(&scene, "roses.md"), Vec::<String>::new());
}

#[test]
fn export_and_import_keep_the_machine_and_a_row_without_one_is_ours() {
    let scene = Scene::of_words();
    let laptop = on(&scene.path, "laptop");
    scene.write("roses.md", text("rose"));
    scene.mine(&laptop);
    let mut exported = Vec::new();
    laptop
        .export(&loci_palace::export::Request::default(), &mut exported)
        .unwrap();
    let lines = String::from_utf8(exported).unwrap();
    let imported = |lines: &str| {
        let palace = on(&scene.other(), "desk");
        let report = palace
            .import(
                &mut std::io::Cursor::new(lines),
                &ImportOptions::default(),
                &mut |_| (),
            )
            .unwrap();
        assert_eq!((report.sources, report.incomplete_sources), (1, 0));
        let collection = palace.collection(DRAWERS, false).unwrap();
        let mut owners = Vec::new();
        let mut each = |record: loci_palace::SourceRecord| {
            owners.push(record.machine);
            Ok(())
        };
        collection.ledger().unwrap().each_source(&mut each).unwrap();
        owners
    };
    assert_eq!(imported(&lines), [machine("laptop")]);
    // As an export from before machines were recorded.
    let before = lines
        .replace(",\"machine\":\"laptop-id\"", "")
        .replace(",\"host\":\"laptop\"", "");
    assert!(!before.contains("laptop"), "{before}");
    assert_eq!(imported(&before), [machine("desk")]);
}

fn of_format_6(path: &Path) {
    std::fs::create_dir(path).unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat/format-6.sqlite3");
    std::fs::copy(fixture, path.join("palace.sqlite3")).unwrap();
}

fn machines(path: &Path, sql: &str) -> Vec<(String, i64)> {
    let db = rusqlite::Connection::open(path.join("palace.sqlite3")).unwrap();
    let mut statement = db.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn the_first_machine_that_opens_format_6_for_writing_gets_its_sources() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    of_format_6(&path);
    let laptop = on(&path, "laptop");
    let desk = on(&path, "desk");
    let by_machine = "SELECT machine || host, count(*) FROM sources GROUP BY 1";
    assert_eq!(
        machines(&path, by_machine),
        [("laptop-idlaptop".to_owned(), 2)]
    );
    // What an undo would bring back is the laptop's, too.
    let kept = "SELECT json_extract(before, '$.machine.id'), count(*) FROM run_sources
                WHERE before <> '' GROUP BY 1";
    assert_eq!(machines(&path, kept), [("laptop-id".to_owned(), 1)]);
    let post = desk.collection("post", false).unwrap();
    let ledger = post.ledger().unwrap();
    assert_eq!(ledger.source(&machine("desk"), "post:ana").unwrap(), []);
    assert_eq!(
        ledger.source(&machine("laptop"), "post:ana").unwrap().len(),
        1
    );
    let run = runs(&laptop, "post", 1).remove(0).run;
    assert_eq!(desk.undo(&undo_of("post", run)).unwrap().left, 0);
    assert_eq!(
        machines(&path, by_machine),
        [("laptop-idlaptop".to_owned(), 1)]
    );
    assert!(
        laptop
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap()
            .ok()
    );
}

#[test]
fn a_kill_while_format_6_is_migrated_leaves_it_or_the_newest_whole() {
    let directory = tempfile::tempdir().unwrap();
    let timed = directory.path().join("timed");
    of_format_6(&timed);
    let since = std::time::Instant::now();
    crate::support::Worker::serve(&timed).kill();
    let whole = since.elapsed().as_micros() as u64;
    for round in 0..12 {
        let path = directory.path().join(round.to_string());
        of_format_6(&path);
        let mut child = command(&path, &["serve"]).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(whole * (round + 1) / 13));
        child.kill().unwrap();
        child.wait().unwrap();
        let format = machines(
            &path,
            "SELECT 'format', user_version FROM pragma_user_version",
        );
        let columns = "SELECT 'columns', count(*) FROM pragma_table_info('sources')";
        let expected = match format[0].1 {
            6 => 17,
            9 => 19,
            other => panic!("format {other}"),
        };
        assert_eq!(machines(&path, columns)[0].1, expected, "round {round}");
        let palace = on(&path, "laptop");
        assert_eq!(
            palace
                .status(&loci_palace::status::Request::default())
                .unwrap()
                .state
                .format,
            9
        );
        assert!(
            palace
                .verify(&loci_palace::verify::Request { deep: true })
                .unwrap()
                .ok(),
            "round {round}"
        );
    }
}
