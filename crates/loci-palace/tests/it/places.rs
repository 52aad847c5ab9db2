//! Files that move or go, and where their drawers belong.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use loci_palace::{
    Batch, Chosen, GoneReason, MetadataPatch, MineOptions, Palace, Reading, Rules, SyncReport,
    Tree, WatchTiming, mine, sync, watch,
};
use serde_json::Value;

use crate::mined::{
    DRAWERS, Scene, document, ids_by_text, mine, section, shapes, sync_of, transcript, tree_of,
};
use crate::support::{contents, wait_until};

fn ids(palace: &Palace) -> BTreeSet<String> {
    contents(palace, DRAWERS).into_keys().collect()
}

fn files(palace: &Palace) -> BTreeSet<String> {
    shapes(contents(palace, DRAWERS).values())
        .into_iter()
        .map(|shape| shape.file)
        .collect()
}

fn sync(palace: &Palace, request: &sync::Request) -> SyncReport {
    palace.sync(request).unwrap()
}

#[test]
fn a_renamed_file_and_a_renamed_folder_keep_their_drawers() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..4));
    scene.write("tools/spade.md", document(4..6));
    scene.write("tools/deep/rake.md", document(6..8));
    let palace = scene.open();
    scene.mine(&palace);
    let before = ids_by_text(&palace);
    scene.rename("roses.md", "flowers.md");
    scene.rename("tools", "shed");
    let report = scene.mine(&palace);
    assert_eq!(report.files.renamed, 3, "{report:?}");
    assert_eq!((report.drawers.new, report.files.gone), (0, 0));
    assert_eq!(ids_by_text(&palace), before);
    let wanted = ["flowers.md", "shed/spade.md", "shed/deep/rake.md"];
    assert_eq!(
        files(&palace),
        wanted.iter().map(|name| scene.name(name)).collect()
    );
    scene.assert_as_fresh(&palace);
    let again = scene.mine(&palace);
    assert_eq!(
        (again.files.read, again.files.renamed, again.run),
        (0, 0, None)
    );
}

#[test]
fn a_renamed_root_keeps_its_drawers_and_their_wing() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..4));
    scene.write("talk.jsonl", transcript(0..3, 3));
    let palace = scene.open();
    scene.mine(&palace);
    let before = ids_by_text(&palace);
    let moved = scene.beside("yard");
    fs::rename(&scene.root, &moved).unwrap();
    let report = mine(&palace, &tree_of(&moved), &MineOptions::default());
    assert_eq!((report.files.renamed, report.drawers.new), (2, 0));
    assert_eq!(ids_by_text(&palace), before);
    let rows = contents(&palace, DRAWERS);
    assert!(
        rows.values()
            .all(|row| row.meta["wing"] == "garden" || row.meta["wing"] == "orchard")
    );
    scene.assert_sound(&palace);
}

#[test]
fn two_files_that_swap_their_names_are_what_a_fresh_mine_finds() {
    let scene = Scene::new();
    scene.write("a.md", document(1..4));
    scene.write("b.md", document(4..8));
    let palace = scene.open();
    scene.mine(&palace);
    scene.rename("a.md", "c");
    scene.rename("b.md", "a.md");
    scene.rename("c", "b.md");
    let report = scene.mine(&palace);
    assert_eq!(report.files.gone, 0);
    scene.assert_as_fresh(&palace);
}

#[test]
fn a_copy_leaves_both_files_and_a_renamed_and_edited_file_is_new() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..4));
    let palace = scene.open();
    scene.mine(&palace);
    let before = ids(&palace);
    fs::copy(scene.at("roses.md"), scene.at("copy.md")).unwrap();
    let report = scene.mine(&palace);
    assert_eq!((report.files.renamed, report.drawers.new), (0, 3));
    assert!(before.is_subset(&ids(&palace)));
    scene.assert_as_fresh(&palace);
    // Copied and then one of them renamed: the copy that stays keeps its own drawers.
    scene.rename("roses.md", "moved.md");
    let report = scene.mine(&palace);
    assert_eq!((report.files.renamed, report.drawers.new), (1, 0));
    scene.assert_as_fresh(&palace);
    scene.rename("moved.md", "edited.md");
    scene.write("edited.md", document(1..5));
    let report = scene.mine(&palace);
    assert_eq!((report.files.renamed, report.files.gone), (0, 1));
    assert_eq!(report.gone, [scene.name("moved.md")]);
    let swept = sync(&palace, &sync_of(&scene.root));
    assert_eq!((swept.gone.len(), swept.removed), (1, 3), "{swept:?}");
    scene.assert_as_fresh(&palace);
}

#[test]
fn sync_shows_what_would_go_and_removes_it_only_when_asked() {
    let scene = Scene::new();
    for name in ["a.md", "b.md", "c.md"] {
        scene.write(name, section(name, name.len() as u64) + &document(1..3));
    }
    scene.write("talk.jsonl", transcript(0..3, 3));
    let palace = scene.open();
    scene.mine(&palace);
    scene.delete("b.md");
    scene.delete("talk.jsonl");
    let (seq, before) = (scene.seq(), contents(&palace, DRAWERS));
    let looking = sync::Request {
        apply: false,
        ..sync_of(&scene.root)
    };
    let looked = sync(&palace, &looking);
    assert_eq!(
        (looked.gone.len(), looked.removed, looked.run),
        (1, 0, None)
    );
    assert_eq!(looked.gone[0].name, scene.name("b.md"));
    assert_eq!(
        (looked.gone[0].why, looked.gone[0].drawers),
        (GoneReason::Deleted, 3)
    );
    assert_eq!(looked.kept_conversations, 1);
    assert_eq!((scene.seq(), &contents(&palace, DRAWERS)), (seq, &before));
    let swept = sync(&palace, &sync_of(&scene.root));
    assert_eq!((swept.removed, swept.brake), (3, None));
    assert!(swept.run.is_some());
    assert!(!files(&palace).contains(&scene.name("b.md")));
    assert!(
        files(&palace).contains(&scene.name("talk.jsonl")),
        "a conversation went"
    );
    scene.assert_sound(&palace);
    let conversations = sync::Request {
        conversations: true,
        ..sync_of(&scene.root)
    };
    assert_eq!(
        sync(&palace, &conversations).gone[0].name,
        scene.name("talk.jsonl")
    );
    scene.assert_as_fresh(&palace);
    assert_eq!(sync(&palace, &conversations).run, None);
}

#[test]
fn sync_removes_what_is_ignored_now() {
    let scene = Scene::new();
    scene.write("a.md", document(1..3));
    scene.write("drafts/b.md", document(3..5));
    let palace = scene.open();
    scene.mine(&palace);
    scene.write(".lociignore", "drafts/\n");
    let swept = sync(&palace, &sync_of(&scene.root));
    assert_eq!((swept.gone[0].why, swept.removed), (GoneReason::Ignored, 2));
    scene.assert_as_fresh(&palace);
}

#[test]
fn a_missing_an_empty_and_a_mostly_empty_root_never_empty_a_palace() {
    let scene = Scene::new();
    for number in 0..20 {
        scene.write(&format!("n{number}.md"), document([number]));
    }
    let palace = scene.open();
    scene.mine(&palace);
    let before = contents(&palace, DRAWERS);
    let aside = scene.beside("unmounted");
    fs::rename(&scene.root, &aside).unwrap();
    let brakes = |state: &str| {
        let swept = sync(&palace, &sync_of(&scene.root));
        assert_eq!((swept.removed, swept.run), (0, None));
        let brake = swept.brake.unwrap();
        assert!(
            brake.contains(state) && brake.contains("nothing was removed"),
            "{brake}"
        );
        assert_eq!(contents(&palace, DRAWERS), before);
    };
    brakes("missing");
    fs::create_dir(&scene.root).unwrap();
    brakes("empty");
    for number in 0..9 {
        fs::rename(
            aside.join(format!("n{number}.md")),
            scene.at(&format!("n{number}.md")),
        )
        .unwrap();
    }
    brakes("11 of the 20");
    let most = sync::Request {
        even_most: true,
        ..sync_of(&scene.root)
    };
    assert_eq!(sync(&palace, &most).gone.len(), 11);
    scene.assert_as_fresh(&palace);
}

#[test]
fn conversations_that_stay_anyway_do_not_brake_the_removal_of_a_file() {
    let scene = Scene::new();
    for number in 0..14 {
        scene.write(&format!("t{number}.jsonl"), transcript([number], 3));
    }
    scene.write("a.md", document(1..3));
    scene.write("b.md", document(3..5));
    let palace = scene.open();
    scene.mine(&palace);
    for number in 0..14 {
        scene.delete(&format!("t{number}.jsonl"));
    }
    scene.delete("b.md");
    let swept = sync(&palace, &sync_of(&scene.root));
    assert_eq!((swept.brake, swept.removed), (None, 2));
    assert_eq!(swept.kept_conversations, 14);
}

fn chosen(wing: Option<&str>, room: Option<&str>) -> Chosen {
    Chosen {
        wing: wing.map(str::to_owned),
        room: room.map(str::to_owned),
    }
}

fn mine_to(palace: &Palace, root: &Path, chosen: &Chosen) -> mine::Answer {
    let reading = Reading {
        chosen: chosen.clone(),
        ..Reading::default()
    };
    let options = MineOptions {
        chosen: chosen.clone(),
        ..MineOptions::default()
    };
    mine(
        palace,
        &Tree::new(&[root.to_path_buf()], reading).unwrap(),
        &options,
    )
}

fn wings(palace: &Palace) -> BTreeSet<(String, String)> {
    let words = |value: &Value| value.as_str().unwrap().to_owned();
    contents(palace, DRAWERS)
        .values()
        .map(|row| (words(&row.meta["wing"]), words(&row.meta["room"])))
        .collect()
}

fn places(list: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    list.iter()
        .map(|(wing, room)| ((*wing).to_owned(), (*room).to_owned()))
        .collect()
}

#[test]
fn a_re_mine_without_a_wing_moves_nothing_and_with_another_wing_moves_all() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..4));
    scene.write("tools/spade.md", document(4..6));
    scene.write("talk.jsonl", transcript(0..3, 3));
    let palace = scene.open();
    mine_to(&palace, &scene.root, &chosen(Some("ada"), None));
    let before = ids(&palace);
    let wanted = places(&[
        ("ada", "general"),
        ("ada", "tools"),
        ("ada", "conversations"),
    ]);
    assert_eq!(wings(&palace), wanted);
    // Unchanged, then edited: neither moves, and what is new goes to the others.
    assert_eq!(scene.mine(&palace).run, None);
    scene.write("roses.md", document(1..5));
    scene.write("talk.jsonl", transcript(0..4, 3));
    let report = scene.mine(&palace);
    assert_eq!(report.drawers.new, 2, "{report:?}");
    assert_eq!(wings(&palace), wanted);
    // A drawer that somebody put elsewhere stays there.
    let own = contents(&palace, DRAWERS).into_keys().next().unwrap();
    let patch = MetadataPatch::from_json(&serde_json::json!({"room": "cellar"})).unwrap();
    palace
        .collection(DRAWERS, false)
        .unwrap()
        .update(&Batch::new([own.clone()]).metadatas([patch]))
        .unwrap();
    scene.write("roses.md", document(0..5));
    scene.mine(&palace);
    assert_eq!(contents(&palace, DRAWERS)[&own].meta["room"], "cellar");
    scene.mine_until_settled(&palace);
    let now = ids(&palace);
    let report = mine_to(&palace, &scene.root, &chosen(Some("bea"), Some("attic")));
    assert_eq!(
        (
            report.drawers.updated,
            report.drawers.new,
            report.drawers.removed
        ),
        (now.len() as u64, 0, 0)
    );
    assert_eq!(wings(&palace), places(&[("bea", "attic")]));
    assert_eq!(ids(&palace), now);
    assert!(before.is_subset(&now));
    let again = mine_to(&palace, &scene.root, &chosen(Some("bea"), Some("attic")));
    assert_eq!(again.run, None, "{again:?}");
    scene.assert_sound(&palace);
}

#[test]
fn settings_and_the_name_of_the_repository_place_drawers_in_every_worktree() {
    let scene = Scene::new();
    let git = |folder: &Path, arguments: &[&str]| {
        let done = std::process::Command::new("git")
            .current_dir(folder)
            .args(["-c", "user.name=t", "-c", "user.email=t@t"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    scene.write("shed/roses.md", document(1..3));
    scene.write("top.md", document(3..5));
    git(&scene.root, &["init", "-q"]);
    git(&scene.root, &["add", "."]);
    git(&scene.root, &["commit", "-q", "-m", "first"]);
    let worktree = scene.beside("elsewhere");
    let to = worktree.to_str().unwrap();
    git(&scene.root, &["worktree", "add", "-q", to]);
    let palace = scene.open();
    let wanted = places(&[("garden", "shed"), ("garden", "general")]);
    mine(&palace, &tree_of(&worktree), &MineOptions::default());
    assert_eq!(wings(&palace), wanted, "a worktree has another name");
    scene.mine(&palace);
    assert_eq!(wings(&palace), wanted);
    // A folder of the repository is the same project.
    let other = crate::support::open(&scene.other());
    mine(&other, &tree_of(&scene.at("shed")), &MineOptions::default());
    assert_eq!(wings(&other), places(&[("garden", "shed")]));
    // Settings say otherwise for what is new, and nothing that is there moves.
    scene.write(".loci.toml", "wing = \"allotment\"\nroom = \"beds\"\n");
    scene.write("shed/new.md", document(7..9));
    let report = scene.mine(&palace);
    assert_eq!(report.drawers.updated, 0, "{report:?}");
    let mut both = wanted;
    both.insert(("allotment".into(), "beds".into()));
    assert_eq!(wings(&palace), both);
    scene.assert_sound(&palace);
}

/// Tells a watcher to stop, whatever happens.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_watch_files_what_comes_changes_moves_and_goes() {
    let scene = Scene::new();
    scene.write("roses.md", document(1..4));
    scene.write("tools.md", document(4..6));
    let (palace, stop) = (scene.open(), AtomicBool::new(false));
    let ready = AtomicBool::new(false);
    let roots: Vec<PathBuf> = vec![scene.root.clone()];
    std::thread::scope(|threads| {
        let watcher = threads.spawn(|| {
            let reading = Reading {
                rules: Rules::default(),
                ..Reading::default()
            };
            let options = MineOptions::default();
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
            palace.watch(&watching, &mut |told| match told {
                watch::Event::Ready(report) => {
                    assert_eq!(report.drawers.new, 5);
                    ready.store(true, Ordering::Relaxed);
                }
                watch::Event::Trouble(error) => panic!("{error}"),
                watch::Event::Mined(_) | watch::Event::Synced(_) | watch::Event::Rescan(_) => {}
            })
        });
        // A failed assertion ends the watcher too.
        let _stopped = StopAtEnd(&stop);
        wait_until("the watcher is not ready", || ready.load(Ordering::Relaxed));
        let before = ids_by_text(&palace);
        scene.write("roses.md", document(0..4));
        scene.write("new/bench.md", document(6..8));
        scene.rename("tools.md", "shed.md");
        wait_until("not filed", || {
            contents(&palace, DRAWERS).len() == 8 && files(&palace).contains(&scene.name("shed.md"))
        });
        let after = ids_by_text(&palace);
        assert!(before.iter().all(|(text, id)| after.get(text) == Some(id)));
        scene.delete("roses.md");
        wait_until("not removed", || contents(&palace, DRAWERS).len() == 4);
        stop.store(true, Ordering::Relaxed);
        watcher.join().unwrap().unwrap();
    });
    scene.assert_as_fresh(&palace);
}

/// A removal that is killed behind some sections: the file comes back as it was, and so do its drawers.
#[test]
fn a_source_whose_removal_was_not_finished_is_read_again() {
    let scene = Scene::of_words();
    let palace = scene.open();
    scene.write("large.md", document(0..4_200));
    scene.mine(&palace);
    let before = shapes(contents(&palace, DRAWERS).values());
    let collection = palace.collection(DRAWERS, false).unwrap();
    let ledger = collection.ledger().unwrap();
    let run = ledger.begin_run(&loci_palace::RunKind::Sync, &[]).unwrap();
    let rows = ledger
        .source(&palace.machine(), &scene.name("large.md"))
        .unwrap();
    // What a removal does first, and then the process is gone.
    let last = rows.last().unwrap().clone();
    let half = loci_palace::SourceChange {
        record: last,
        removed: true,
        ..loci_palace::SourceChange::default()
    };
    let head = loci_palace::SourceChange {
        record: loci_palace::SourceRecord {
            complete: false,
            hash: [0; 16],
            ..rows[0].clone()
        },
        ..loci_palace::SourceChange::default()
    };
    ledger.file(run, &[head, half]).unwrap();
    assert!(shapes(contents(&palace, DRAWERS).values()).len() < before.len());
    scene.mine(&palace);
    assert_eq!(shapes(contents(&palace, DRAWERS).values()), before);
}
