//! Taking back what a run did.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use loci_palace::{Batch, ErrorKind, MetadataPatch, Palace, Selection, SyncReport, Undone};
use serde_json::json;

use super::mined::{
    DRAWERS, Scene, document, ids_by_text, runs, shapes, sync_of, undo_of, with_word,
};
use super::support::{Request, Row, Worker, contents, wait_until};

fn undo(palace: &Palace, run: Option<u64>) -> Undone {
    palace.undo(&undo_of(DRAWERS, run.unwrap())).unwrap()
}

/// Everything of a drawer but when it was written.
fn told(palace: &Palace) -> BTreeMap<String, Row> {
    contents(palace, DRAWERS)
}

fn sync(scene: &Scene, palace: &Palace) -> SyncReport {
    palace.sync(&sync_of(&scene.root)).unwrap()
}

fn patch(palace: &Palace, id: &str, json: &serde_json::Value) {
    let patch = MetadataPatch::from_json(json).unwrap();
    palace
        .collection(DRAWERS, false)
        .unwrap()
        .update(&Batch::new([id]).metadatas([patch]))
        .unwrap();
}

fn rewrite(palace: &Palace, id: &str, text: &str) {
    let (memory, _) = palace.memory(DRAWERS, false).unwrap();
    memory
        .collection
        .update(&Batch::new([id]).documents([text]))
        .unwrap();
}

fn id_with(palace: &Palace, word: &str) -> String {
    with_word(palace, word).unwrap().id
}

#[test]
fn the_undo_of_a_first_mine_leaves_nothing_and_a_new_mine_is_whole() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..4));
    scene.write("shed/tools.md", document(4..6));
    let palace = scene.open();
    let report = scene.mine(&palace);
    let undone = undo(&palace, report.run);
    assert_eq!(
        (undone.removed, undone.restored, undone.left, undone.sources),
        (5, 0, 0, 2)
    );
    assert!(told(&palace).is_empty());
    scene.assert_empty("sources");
    assert_eq!(
        runs(&palace, DRAWERS, 10)[0].state,
        loci_palace::RunState::Undone
    );
    let error = palace
        .undo(&undo_of(DRAWERS, report.run.unwrap()))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("already undone"), "{error}");
    scene.mine(&palace);
    scene.assert_as_fresh(&palace);
}

#[test]
fn the_undo_of_a_re_mine_brings_back_changed_removed_and_moved_chunks() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..6));
    scene.write("other.md", document(8..10));
    let palace = scene.open();
    scene.mine(&palace);
    let before = told(&palace);
    // One goes, one is new, the rest moves.
    scene.write("roses.md", document([7, 1, 2, 5, 4]));
    let report = scene.mine(&palace);
    assert_ne!(told(&palace), before);
    let undone = undo(&palace, report.run);
    assert_eq!(
        (undone.removed, undone.restored, undone.left, undone.sources),
        (1, 5, 0, 1)
    );
    assert_eq!(told(&palace), before);
    scene.assert_sound(&palace);
    // What it read is read again.
    scene.mine(&palace);
    scene.assert_as_fresh(&palace);
}

#[test]
fn undoing_all_runs_newest_first_leaves_nothing() {
    let scene = Scene::new();
    let palace = scene.open();
    let mut runs = Vec::new();
    let mut states = vec![BTreeMap::new()];
    for sections in [vec![1, 2, 3, 4], vec![1, 3, 4], vec![9, 4, 3], vec![2, 3]] {
        scene.write("roses.md", document(sections));
        runs.push(scene.mine(&palace).run);
        states.push(told(&palace));
    }
    for run in runs.into_iter().rev() {
        states.pop();
        let undone = undo(&palace, run);
        assert_eq!(undone.left, 0, "run {run:?}: {undone:?}");
        assert_eq!(&told(&palace), states.last().unwrap(), "run {run:?}");
        scene.assert_sound(&palace);
    }
    scene.assert_empty("sources");
}

#[test]
fn an_undo_behind_a_later_run_of_the_same_source_is_refused() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..4));
    scene.write("other.md", document(5..7));
    let palace = scene.open();
    let first = scene.mine(&palace).run.unwrap();
    scene.write("roses.md", document(2..5));
    let second = scene.mine(&palace).run.unwrap();
    let before = told(&palace);
    let error = palace.undo(&undo_of(DRAWERS, first)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(
        error
            .to_string()
            .contains(&format!("undo run {second} first")),
        "{error}"
    );
    assert_eq!(told(&palace), before);
    assert_eq!(
        runs(&palace, DRAWERS, 10)[1].state,
        loci_palace::RunState::Done
    );
    let error = palace.undo(&undo_of(DRAWERS, 99)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
}

#[test]
fn the_undo_of_a_sync_brings_the_drawers_back() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..4));
    scene.write("other.md", document(5..7));
    let palace = scene.open();
    scene.mine(&palace);
    let before = told(&palace);
    scene.delete("roses.md");
    let swept = sync(&scene, &palace);
    assert_eq!(swept.removed, 3);
    let undone = undo(&palace, swept.run);
    assert_eq!((undone.restored, undone.left), (3, 0));
    assert_eq!(told(&palace), before);
    scene.assert_sound(&palace);
    // And it can go again.
    assert_eq!(sync(&scene, &palace).removed, 3);
    scene.assert_as_fresh(&palace);
}

#[test]
fn the_undo_of_a_sync_is_refused_when_the_file_was_mined_again() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..4));
    scene.write("other.md", document(5..7));
    let palace = scene.open();
    scene.mine(&palace);
    scene.delete("roses.md");
    let swept = sync(&scene, &palace);
    scene.write("roses.md", document(1..4));
    scene.mine(&palace);
    let before = told(&palace);
    let error = palace
        .undo(&undo_of(DRAWERS, swept.run.unwrap()))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.to_string().contains("roses.md"), "{error}");
    let states: Vec<String> = runs(&palace, DRAWERS, 10)
        .into_iter()
        .map(|run| run.state.as_str().to_owned())
        .collect();
    assert_eq!(states, ["done"; 3], "the refused undo left a trace");
    assert_eq!(told(&palace), before);
    scene.assert_as_fresh(&palace);
}

#[test]
fn the_undo_of_a_rename_gives_the_old_name_back() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..4));
    let palace = scene.open();
    scene.mine(&palace);
    let before = told(&palace);
    scene.rename("roses.md", "flowers.md");
    let report = scene.mine(&palace);
    assert_eq!(report.files.renamed, 1);
    let undone = undo(&palace, report.run);
    assert_eq!((undone.restored, undone.left), (3, 0));
    assert_eq!(told(&palace), before);
    scene.assert_sound(&palace);
    assert_eq!(scene.mine(&palace).files.renamed, 1);
    scene.assert_as_fresh(&palace);
}

#[test]
fn the_undo_of_a_rename_is_refused_when_the_old_name_is_taken() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..4));
    let palace = scene.open();
    scene.mine(&palace);
    scene.rename("roses.md", "flowers.md");
    let renamed = scene.mine(&palace).run;
    scene.write("roses.md", document(5..7));
    scene.mine(&palace);
    let error = palace
        .undo(&undo_of(DRAWERS, renamed.unwrap()))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    scene.assert_as_fresh(&palace);
}

#[test]
fn drawers_that_people_edited_deleted_or_forgot_since_are_left_to_them() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..6));
    let palace = scene.open();
    let first = scene.mine(&palace).run;
    rewrite(&palace, &id_with(&palace, "## Section 1\n"), "my own words");
    let deleted = id_with(&palace, "## Section 2\n");
    palace
        .collection(DRAWERS, false)
        .unwrap()
        .delete(&Selection::ids([deleted]))
        .unwrap();
    let forgotten = id_with(&palace, "## Section 3\n");
    palace
        .forget(&loci_palace::forget::Request::in_collection(
            DRAWERS,
            Selection::ids([forgotten]),
        ))
        .unwrap();
    let undone = undo(&palace, first);
    assert_eq!((undone.removed, undone.left), (2, 1), "{undone:?}");
    let left: Vec<String> = told(&palace)
        .into_values()
        .map(|row| row.text.unwrap())
        .collect();
    assert_eq!(left, ["my own words"]);
    let report = palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(report.ok(), "{:?}", report.findings);
}

#[test]
fn an_undo_keeps_what_people_did_to_the_drawers_of_a_re_mine() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..6));
    let palace = scene.open();
    scene.mine(&palace);
    let forgotten = with_word(&palace, "## Section 5\n").unwrap();
    let before = told(&palace);
    // Section 5 goes, the others move.
    scene.write("roses.md", document([9, 1, 2, 3, 4]));
    let second = scene.mine(&palace).run;
    // A drawer that a run removed can still be forgotten: what the undo would need of it goes.
    palace
        .forget(&loci_palace::forget::Request::in_collection(
            DRAWERS,
            Selection::ids([forgotten.id.clone()]),
        ))
        .unwrap();
    let (liked, edited) = (
        id_with(&palace, "## Section 1\n"),
        id_with(&palace, "## Section 2\n"),
    );
    patch(&palace, &liked, &json!({"liked": "very much"}));
    rewrite(&palace, &edited, "my own words");
    let undone = undo(&palace, second);
    assert!(undone.left >= 1, "{undone:?}");
    let after = told(&palace);
    assert!(
        !after.contains_key(&forgotten.id),
        "a forgotten drawer is back"
    );
    assert_eq!(after[&edited].text.as_deref(), Some("my own words"));
    assert_eq!(
        after[&liked].meta["start_line"],
        before[&liked].meta["start_line"]
    );
    assert_eq!(
        after[&liked].meta.get("liked"),
        Some(&json!("very much")),
        "somebody's key is lost"
    );
    let report = palace
        .verify(&loci_palace::verify::Request { deep: true })
        .unwrap();
    assert!(report.ok(), "{:?}", report.findings);
}

on_disk! {
#[test]
fn the_undo_of_a_large_file_leaves_its_sections_as_they_were() {
    let scene = Scene::of_words();
    let with = |edit: &str, at: usize| {
        let mut sections: Vec<String> = (0..4_200).map(|seed| document([seed])).collect();
        sections.insert(at, edit.to_owned());
        sections.concat()
    };
    scene.write("large.md", with("", 0));
    let palace = scene.open();
    scene.mine(&palace);
    let before = ids_by_text(&palace);
    let origins = "SELECT d.id || ' ' || s.section FROM drawers d LEFT JOIN sources s ON s.id = d.origin ORDER BY d.id";
    let held = scene.strings(origins);
    scene.write("large.md", with("A paragraph at the start.\n\n", 1));
    let report = scene.mine(&palace);
    let undone = undo(&palace, report.run);
    assert_eq!(undone.left, 0, "{undone:?}");
    assert_eq!(ids_by_text(&palace), before);
    assert_eq!(
        scene.strings(origins),
        held,
        "drawers are of another section"
    );
    scene.assert_sound(&palace);
    // An edit behind everything that the undone run touched.
    scene.write("large.md", with("A paragraph at the end.\n\n", 4_199));
    scene.mine(&palace);
    scene.assert_as_fresh(&palace);
}
}

/// More files than one transaction of an undo takes back, some new, some changed, some gone.
#[test]
fn the_undo_of_many_small_files_takes_back_what_was_added_changed_and_removed() {
    let scene = Scene::of_words();
    let name = |number: u64| format!("n{number}.md");
    for number in 0..150 {
        scene.write(&name(number), document(number * 10..number * 10 + 2));
    }
    let palace = scene.open();
    let first = scene.mine(&palace).run;
    let before = (ids_by_text(&palace), told(&palace));
    for number in (0..150).step_by(2) {
        scene.write(&name(number), document(number * 10 + 1..number * 10 + 4));
    }
    for number in 150..250 {
        let line = number * 10;
        scene.write(&name(number), document(line..line.saturating_add(1)));
    }
    let changed = undo(&palace, scene.mine(&palace).run);
    assert_eq!((changed.left, changed.sources), (0, 175), "{changed:?}");
    assert_eq!((ids_by_text(&palace), told(&palace)), before);
    scene.assert_sound(&palace);
    for number in 0..70 {
        scene.delete(&name(number));
    }
    let swept = sync(&scene, &palace);
    let gone = undo(&palace, swept.run);
    assert_eq!((gone.restored, gone.left), (140, 0), "{gone:?}");
    assert_eq!((ids_by_text(&palace), told(&palace)), before);
    // Drawers that came back are known to the run that added them.
    let all = undo(&palace, first);
    assert_eq!((all.removed, all.left), (300, 0), "{all:?}");
    assert!(told(&palace).is_empty());
    scene.assert_empty("run_sources");
    scene.assert_empty("sources");
    scene.assert_sound(&palace);
}

on_disk! {
#[test]
fn an_undo_that_is_killed_goes_on_when_it_is_asked_again() {
    let scene = Scene::of_words();
    for number in 0..60 {
        scene.write(
            &format!("n{number}.md"),
            document(number * 10..number * 10 + 5),
        );
    }
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let palace = scene.open();
        let run = scene.mine(&palace).run.unwrap();
        palace.close().unwrap();
        let mut worker = Worker::serve(&scene.path);
        let db = scene.sql();
        worker.send(&Request::Undo {
            collection: DRAWERS.into(),
            run,
        });
        wait_until("the undo does not begin", || {
            let count = "SELECT count(*) FROM sources";
            db.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap() < 60
        });
        worker.kill();
        let palace = scene.open();
        let report = palace
            .verify(&loci_palace::verify::Request { deep: true })
            .unwrap();
        assert!(report.ok(), "{:?}", report.findings);
        // Every source is there with all its drawers, or not at all.
        let mut per_file: BTreeMap<String, usize> = BTreeMap::new();
        for shape in shapes(told(&palace).values()) {
            *per_file.entry(shape.file).or_default() += 1;
        }
        assert!(per_file.values().all(|count| *count == 5), "{per_file:?}");
        let state = runs(&palace, DRAWERS, 1).remove(0).state.to_string();
        if state == "undoing" {
            assert!(per_file.len() < 60);
            assert_eq!(undo(&palace, Some(run)).left, 0);
        }
        assert!(told(&palace).is_empty());
        if state == "undoing" && !per_file.is_empty() {
            scene.mine(&palace);
            scene.assert_as_fresh(&palace);
            return;
        }
        assert!(
            Instant::now() < deadline,
            "it was never killed in the middle"
        );
    }
}
}

/// A forget removes earlier states at the place of the drawer, so that none of them comes back. The
/// undo then put the source back as complete, and text that nobody had forgotten was never read again.
#[test]
fn text_that_an_undo_cannot_bring_back_after_a_forget_is_mined_again() {
    let scene = Scene::new();
    let old = "Old words about the zebra that nobody forgot.\n";
    scene.write("a.md", old);
    let palace = scene.open();
    scene.mine(&palace);
    scene.write("a.md", "Entirely different words about a giraffe.\n");
    let second = scene.mine(&palace).run;
    let giraffe = id_with(&palace, "giraffe");
    palace
        .forget(&loci_palace::forget::Request::in_collection(
            DRAWERS,
            Selection::ids([giraffe]),
        ))
        .unwrap();
    undo(&palace, second);
    scene.write("a.md", old);
    scene.mine(&palace);
    let texts: Vec<String> = told(&palace)
        .into_values()
        .filter_map(|row| row.text)
        .collect();
    assert_eq!(texts, [old.trim_end()]);
}
