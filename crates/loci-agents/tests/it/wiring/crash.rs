//! After an interrupted run, every file is the old one or the new one, and everything can be
//! undone.

use std::cell::Cell;
use std::fs;

use loci_agents::wiring::{connect, disconnect};
use loci_palace::Error;

use super::scene::Scene;

const AGENTS: [&str; 4] = ["claude-code", "codex", "cursor", "gemini"];

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write(".claude.json", "{\n  \"a\": 1\n}\n");
    scene.write(".codex/config.toml", "model = \"x\"\n");
    scene.write(".gemini/settings.json", "{}");
    scene
}

/// Connects and stops before step `number`. Returns `true` if it finished.
fn cut_off(scene: &Scene, number: usize) -> bool {
    let step = Cell::new(0);
    connect(&scene.home, &scene.asked(&AGENTS), &mut |_| {
        step.set(step.get() + 1);
        if step.get() > number {
            return Err(Error::Internal {
                doing: "a test".into(),
                detail: "cut off".into(),
            });
        }
        Ok(())
    })
    .is_ok()
}

#[test]
fn whatever_step_is_the_last_everything_can_be_undone() {
    let whole = scene();
    whole.connect(&AGENTS);
    let new = whole.picture();
    let mut number = 0;
    loop {
        let scene = scene();
        let old = scene.picture();
        let finished = cut_off(&scene, number);
        for (path, bytes) in scene.picture() {
            let name = path.strip_prefix(&scene.home.home).unwrap();
            let then = new
                .get(&whole.home.home.join(name))
                .cloned()
                .flatten()
                .map(|bytes| {
                    // Both scenes have programs of their own.
                    let text = String::from_utf8(bytes).unwrap();
                    let (one, other) = (whole.program(), scene.program());
                    text.replace(one.to_str().unwrap(), other.to_str().unwrap())
                        .into_bytes()
                });
            let before = old.get(&path).cloned().flatten();
            assert!(
                bytes == before || bytes == then,
                "step {number}: {}",
                path.display()
            );
        }
        scene.disconnect();
        assert_eq!(scene.picture(), old, "step {number}");
        if finished {
            break;
        }
        number += 1;
    }
    assert!(number > 10, "only {number} steps");
}

#[test]
fn after_a_cut_connecting_again_finishes_and_can_be_undone() {
    for number in 0..20 {
        let scene = scene();
        let old = scene.picture();
        cut_off(&scene, number);
        scene.connect(&AGENTS);
        assert!(scene.connect(&AGENTS).is_empty());
        scene.disconnect();
        assert_eq!(scene.picture(), old, "step {number}");
    }
}

#[test]
fn what_a_killed_run_left_half_written_goes() {
    let scene = scene();
    scene.connect(&["claude-code"]);
    // The file was not renamed yet, so it is the old one.
    scene.write(".claude.json", "{\n  \"a\": 1\n}\n");
    scene.write("..claude.json.loci-new", "{\"half");
    // If a file was not created yet, only its directory exists.
    fs::remove_file(scene.path(".claude/settings.json")).unwrap();
    scene.disconnect();
    assert!(!scene.path(".claude").exists());
    assert!(!scene.path("..claude.json.loci-new").exists());
}

#[test]
fn a_file_that_changes_while_it_is_written_is_not_overwritten() {
    let scene = scene();
    let error = connect(&scene.home, &scene.asked(&["claude-code"]), &mut |step| {
        if step == "file" {
            scene.write(".claude.json", "{\"a\": 2}");
        }
        Ok(())
    })
    .unwrap()
    .failed
    .remove(0)
    .error;
    assert!(
        error.to_string().contains("run the command again"),
        "{error}"
    );
    assert_eq!(scene.read(".claude.json"), "{\"a\": 2}");
    disconnect(&scene.home, &[], false).unwrap();
    assert_eq!(scene.read(".claude.json"), "{\"a\": 2}");
}

#[test]
fn a_damaged_journal_is_reported_and_nothing_is_changed() {
    let scene = scene();
    scene.connect(&["claude-code"]);
    let after = scene.picture();
    fs::write(
        scene.home.state.join("wiring/journal.json"),
        "{\"version\": 1, ",
    )
    .unwrap();
    let error = disconnect(&scene.home, &[], false).unwrap_err();
    assert!(error.to_string().contains("journal.json"), "{error}");
    assert_eq!(scene.picture(), after);
}

#[test]
fn two_runs_at_once_end_as_one_after_the_other() {
    let scene = scene();
    let old = scene.picture();
    std::thread::scope(|scope| {
        for agent in AGENTS {
            let scene = &scene;
            scope.spawn(move || scene.connect(&[agent]));
        }
    });
    assert!(scene.connect(&AGENTS).is_empty());
    scene.disconnect();
    assert_eq!(scene.picture(), old);
}
