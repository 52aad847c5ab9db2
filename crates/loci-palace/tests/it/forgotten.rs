//! What was forgotten does not come back by itself.

use std::fs;

use loci_palace::{ImportOptions, MineOptions, Palace, Selection, mine};

use super::mined::{DRAWERS, Scene, document, line, mine, transcript, undo_of, with_word};
use super::support::{Rng, contents, files_below, open};

/// A section with a word that stands nowhere else.
const WORD: &str = "quinquereme";

fn secret() -> String {
    let mut rng = Rng(77);
    let mut text = "## Secret\n\n".to_owned();
    for at in 0..14 {
        text.push_str(&line(&mut rng));
        if at == 6 {
            text.push_str(WORD);
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

fn with_secret() -> String {
    format!("{}{}{}", document(1..4), secret(), document(4..7))
}

fn force(allow_again: bool) -> MineOptions {
    MineOptions {
        force: true,
        allow_again,
        ..MineOptions::default()
    }
}

fn forget_word(palace: &Palace, word: &str) {
    let id = with_word(palace, word).unwrap().id;
    let outcome = palace
        .forget(&loci_palace::forget::Request::in_collection(
            DRAWERS,
            Selection::ids([id]),
        ))
        .unwrap();
    assert_eq!((outcome.forgotten, outcome.purge_pending), (1, false));
}

fn mine_all(scene: &Scene, palace: &Palace) -> mine::Answer {
    mine(palace, &scene.tree(), &force(false))
}

/// Scans every byte of every file of the palace.
fn assert_nowhere(scene: &Scene, word: &str) {
    for file in files_below(&scene.path) {
        let bytes = fs::read(&file).unwrap();
        let found = bytes
            .windows(word.len())
            .position(|window| window.eq_ignore_ascii_case(word.as_bytes()));
        assert_eq!(found, None, "{} holds {word}", file.display());
    }
}

#[test]
fn a_forgotten_drawer_does_not_come_back_by_mining_again() {
    let scene = Scene::new();
    scene.write("roses.md", with_secret());
    let palace = scene.open();
    scene.mine(&palace);
    let before = contents(&palace, DRAWERS).len();
    forget_word(&palace, WORD);
    mine_all(&scene, &palace);
    assert_eq!(contents(&palace, DRAWERS).len(), before - 1);
    // Edits that move the borders of chunks.
    let mut rng = Rng(5);
    let edits = [
        format!("{}{}", line(&mut rng), with_secret()),
        with_secret().replace("## Secret\n", ""),
        with_secret().replace("## Secret\n", "## Secret\n\nA new beginning.\n"),
        with_secret().replace("\n\n", "\n"),
        format!("{}{}", secret(), document(1..7)),
        secret(),
    ];
    for (at, edit) in edits.into_iter().enumerate() {
        scene.write("roses.md", edit);
        let report = scene.mine(&palace);
        assert!(
            with_word(&palace, WORD).is_none(),
            "edit {at}: it is back, {report:?}"
        );
        assert!(
            report.forgotten_lines > 0,
            "edit {at}: nothing is said, {report:?}"
        );
    }
    // Another file with the same text.
    scene.write("copy.md", with_secret());
    scene.mine(&palace);
    assert!(with_word(&palace, WORD).is_none());
    assert!(with_word(&palace, "## Section 2\n").is_some());
    palace.close().unwrap();
    assert_nowhere(&scene, WORD);
    scene.assert_sound(&scene.open());
}

#[test]
fn a_line_put_into_the_middle_of_a_forgotten_text_does_not_bring_it_back() {
    let scene = Scene::new();
    scene.write("roses.md", with_secret());
    let palace = scene.open();
    scene.mine(&palace);
    forget_word(&palace, WORD);
    let at = with_secret().find(WORD).unwrap() + WORD.len() + 1;
    let mut edited = with_secret();
    edited.insert_str(at, "Something quite new stands here.\n");
    scene.write("roses.md", edited);
    scene.mine(&palace);
    assert!(with_word(&palace, WORD).is_none(), "it is back");
    assert!(with_word(&palace, "Something quite new").is_some());
}

#[test]
fn a_forgotten_part_of_a_long_line_does_not_come_back() {
    let scene = Scene::new();
    let mut rng = Rng(3);
    let mut long: Vec<String> = (0..120).map(|_| line(&mut rng)).collect();
    long[60].push_str(WORD);
    scene.write(
        "long.txt",
        format!("first line\n{}\nlast line\n", long.join(" ")),
    );
    let palace = scene.open();
    scene.mine(&palace);
    let before = contents(&palace, DRAWERS).len();
    assert!(before > 3);
    forget_word(&palace, WORD);
    scene.write(
        "long.txt",
        format!("first line\n{}\nanother last line\n", long.join(" ")),
    );
    mine_all(&scene, &palace);
    assert!(with_word(&palace, WORD).is_none(), "it is back");
}

#[test]
fn what_everyone_says_does_not_vanish_with_a_forgotten_exchange() {
    let scene = Scene::new();
    let said = |prompt: &str| {
        format!("User: {prompt}\n\nAssistant: Noted.\n\nUser: Go on.\n\nAssistant: Done.\n")
    };
    scene.write("one.txt", said("The quokka is called Ferdinand."));
    let palace = scene.open();
    scene.mine(&palace);
    forget_word(&palace, "Ferdinand");
    scene.write("two.txt", said("The zebra is called Ophelia."));
    let report = scene.mine(&palace);
    assert_eq!(report.forgotten_lines, 0);
    let kept = with_word(&palace, "Ophelia").unwrap();
    let text = kept.text.unwrap();
    assert!(text.contains("Noted."), "{text}");
}

#[test]
fn a_forgotten_exchange_does_not_come_back_when_the_transcript_grows() {
    let scene = Scene::new();
    scene.write("talk.jsonl", transcript(0..5, 4));
    let palace = scene.open();
    scene.mine(&palace);
    assert_eq!(contents(&palace, DRAWERS).len(), 5);
    forget_word(&palace, "question 2:");
    scene.write("talk.jsonl", transcript(0..7, 4));
    scene.mine(&palace);
    assert!(with_word(&palace, "question 2:").is_none(), "it is back");
    assert_eq!(contents(&palace, DRAWERS).len(), 6);
    scene.assert_sound(&palace);
}

#[test]
fn allow_again_brings_a_forgotten_drawer_back() {
    let scene = Scene::new();
    scene.write("roses.md", with_secret());
    let palace = scene.open();
    scene.mine(&palace);
    forget_word(&palace, WORD);
    let options = MineOptions {
        allow_again: true,
        ..MineOptions::default()
    };
    mine(&palace, &scene.tree(), &options);
    assert!(with_word(&palace, WORD).is_some(), "it is not back");
    scene.assert_as_fresh(&palace);
    // It is not forgotten any more.
    scene.write("roses.md", with_secret() + "\nOne more line.\n");
    scene.mine(&palace);
    assert!(with_word(&palace, WORD).is_some());
}

#[test]
fn allow_again_brings_a_forgotten_drawer_of_an_edited_file_back() {
    let scene = Scene::new();
    scene.write("roses.md", with_secret());
    let palace = scene.open();
    scene.mine(&palace);
    forget_word(&palace, WORD);
    scene.write("roses.md", with_secret() + "\nOne more line.\n");
    scene.mine(&palace);
    assert!(with_word(&palace, WORD).is_none());
    scene.write("roses.md", with_secret() + "\nTwo more lines.\n");
    mine(&palace, &scene.tree(), &force(true));
    assert!(with_word(&palace, WORD).is_some(), "it is not back");
    scene.assert_as_fresh(&palace);
}

#[test]
fn an_undo_does_not_bring_a_forgotten_drawer_back() {
    let scene = Scene::new();
    scene.write("roses.md", with_secret());
    let palace = scene.open();
    scene.mine(&palace);
    let id = with_word(&palace, WORD).unwrap().id;
    // The run removes it, then it is forgotten, then the run is undone.
    scene.write("roses.md", document(1..7));
    let removed = scene.mine(&palace).run;
    assert!(with_word(&palace, WORD).is_none());
    palace
        .forget(&loci_palace::forget::Request::in_collection(
            DRAWERS,
            Selection::ids([id]),
        ))
        .unwrap();
    assert_nowhere(&scene, WORD);
    palace.undo(&undo_of(DRAWERS, removed.unwrap())).unwrap();
    assert!(with_word(&palace, WORD).is_none(), "it is back");
    // And neither by mining it again.
    scene.write("roses.md", with_secret() + "\nOne more line.\n");
    scene.mine(&palace);
    assert!(
        with_word(&palace, WORD).is_none(),
        "what was forgotten from an undo is back"
    );
    palace.close().unwrap();
    assert_nowhere(&scene, WORD);
}

#[test]
fn nothing_readable_of_a_forgotten_exchange_is_left_in_the_palace() {
    let scene = Scene::of_words();
    // A long transcript: its sections keep marks to go on from.
    let mut text = transcript(0..1_300, 45);
    assert!(text.len() > 4 << 20);
    for (number, word) in [(3, "alphaquine"), (700, "betaquine"), (1_299, "gammaquine")] {
        let question = format!("question {number}: ");
        text = text.replacen(&question, &format!("{question}{word} "), 1);
    }
    scene.write("talk.jsonl", text);
    let palace = scene.open();
    scene.mine(&palace);
    for word in ["alphaquine", "betaquine", "gammaquine"] {
        forget_word(&palace, word);
    }
    palace.close().unwrap();
    for word in ["alphaquine", "betaquine", "gammaquine"] {
        assert_nowhere(&scene, word);
    }
}

on_disk! {
#[test]
fn a_salvaged_palace_knows_what_was_forgotten() {
    let scene = Scene::new();
    scene.write("roses.md", with_secret());
    let palace = scene.open();
    scene.mine(&palace);
    forget_word(&palace, WORD);
    palace.close().unwrap();
    drop(palace);
    let database = scene.path.join("palace.sqlite3");
    let mut bytes = fs::read(&database).unwrap();
    bytes[..8_192].fill(0);
    fs::write(&database, &bytes).unwrap();
    let palace = Palace::connect(&scene.path, &loci_palace::OpenOptions::existing()).unwrap();
    let saved = palace
        .repair(&loci_palace::repair::Request::default())
        .unwrap()
        .salvage
        .unwrap();
    assert_eq!(saved.saved, 6);
    let fresh = open(&saved.palace);
    mine(&fresh, &scene.tree(), &force(false));
    assert!(with_word(&fresh, WORD).is_none(), "it is back");
    assert!(with_word(&fresh, "## Section 2\n").is_some());
}
}

#[test]
fn an_import_does_not_bring_a_forgotten_drawer_back() {
    let scene = Scene::new();
    scene.write("roses.md", with_secret());
    let palace = scene.open();
    scene.mine(&palace);
    let mut export = Vec::new();
    palace
        .export(&loci_palace::export::Request::default(), &mut export)
        .unwrap();
    forget_word(&palace, WORD);
    let report = palace
        .import(
            &mut export.as_slice(),
            &ImportOptions::default(),
            &mut |_| (),
        )
        .unwrap();
    assert!(with_word(&palace, WORD).is_none(), "it is back: {report:?}");
    assert_eq!((report.added, report.failed), (0, 0), "{report:?}");
    // Seven drawers, one of them forgotten, the source they belong to, and its project.
    assert_eq!(report.skipped, 9);
    assert_eq!(report.lost.len(), 1);
    assert!(
        report.lost[0].reason.contains("was forgotten"),
        "{report:?}"
    );
    palace.close().unwrap();
    assert_nowhere(&scene, WORD);
}

/// A text that an earlier run took out is kept for its undo, under another id than the drawer that is forgotten.
#[test]
fn a_forgotten_text_is_not_kept_for_an_undo_either() {
    let scene = Scene::new();
    let palace = scene.open();
    scene.write("a.md", with_secret());
    mine_all(&scene, &palace);
    scene.write("a.md", document(1..7));
    let removal = mine_all(&scene, &palace).run.unwrap();
    scene.write("a.md", with_secret());
    let again = mine_all(&scene, &palace).run.unwrap();
    let id = with_word(&palace, WORD).unwrap().id;
    let outcome = palace
        .forget(&loci_palace::forget::Request::in_collection(
            DRAWERS,
            Selection::ids([id]),
        ))
        .unwrap();
    // The drawer, and the copy that the removal kept.
    assert_eq!((outcome.forgotten, outcome.purge_pending), (2, false));
    for run in [again, removal] {
        palace.undo(&undo_of(DRAWERS, run)).unwrap();
    }
    assert!(with_word(&palace, WORD).is_none());
    palace.close().unwrap();
    assert_nowhere(&scene, WORD);
}

/// Another process allows one text again and forgets a second: as many as before, and none of them the same.
#[test]
fn a_process_that_goes_on_knows_what_was_forgotten_and_allowed_since() {
    let scene = Scene::new();
    let palace = scene.open();
    scene.write("a.md", with_secret());
    scene.write("b.md", secret().replace(WORD, "trireme"));
    mine_all(&scene, &palace);
    forget_word(&palace, WORD);
    mine_all(&scene, &palace);
    let other = open(&scene.path);
    mine(&other, &scene.tree(), &force(true));
    assert!(with_word(&other, WORD).is_some());
    forget_word(&other, "trireme");
    mine_all(&scene, &palace);
    assert!(with_word(&palace, "trireme").is_none());
    assert!(with_word(&palace, WORD).is_some());
}
