//! Whatever goes wrong, the agent goes on, and `loci doctor` can say what it was.

use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Scene, harmless};
use crate::support::Ran;

const QUESTION: &str = "Which fuse did we put into the lamp of the lighthouse?";

fn pipe(scene: &Scene, line: &[&str], input: &[u8]) -> Ran {
    scene.dir.pipe(&[&["hook"], line].concat(), input)
}

/// The last note of a call, with the one that could not be done.
fn failed(scene: &Scene, name: &str) -> String {
    let note: Value = scene.notes()[name].clone();
    assert_eq!(note["last"]["ok"], false, "{note}");
    assert_eq!(note["last"], note["failed"], "{note}");
    note["last"]["note"].as_str().unwrap().to_owned()
}

#[test]
fn an_input_that_cannot_be_understood_is_answered_with_nothing() {
    let scene = Scene::remembering();
    let deep = "[".repeat(200_000);
    let huge = format!("{{\"prompt\": \"{}\"}}", "x".repeat(11 << 20));
    let inputs: [&[u8]; 8] = [
        b"",
        b"  \n",
        b"{",
        b"[1, 2]",
        b"\"Stop\"",
        b"\xff\xfe\x00",
        deep.as_bytes(),
        huge.as_bytes(),
    ];
    for input in inputs {
        for event in [
            "Stop",
            "UserPromptSubmit",
            "SessionStart",
            "PostToolUseFailure",
        ] {
            let ran = pipe(&scene, &[event, "--harness", "claude-code"], input);
            assert_eq!(harmless(&ran), None);
        }
        failed(&scene, "claude-code-stop");
        let ran = pipe(&scene, &["stop", "--harness", "cursor"], input);
        assert_eq!(harmless(&ran), Some(json!({})));
    }
}

#[test]
fn an_object_of_another_shape_is_answered_with_nothing() {
    let scene = Scene::remembering();
    for input in [
        json!({}),
        json!({"session_id": 7, "transcript_path": ["a"], "cwd": {"b": 1}, "prompt": 3, "error": [[[]]]}),
        json!({"transcript_path": "", "cwd": "", "prompt": "", "tool_response": null}),
        json!({"transcript_path": "relative.jsonl", "cwd": "also/relative", "prompt": QUESTION, "tool_response": 12}),
        json!({"transcript_path": "/with\u{0}null", "cwd": "/with\u{0}null", "error": {"message": {}}}),
    ] {
        for event in [
            "SessionStart",
            "PreCompact",
            "Stop",
            "SessionEnd",
            "PostToolUse",
            "PostToolUseFailure",
        ] {
            scene.hook(event, &input);
        }
    }
}

#[test]
fn what_loci_does_not_know_is_answered_with_nothing_and_noted() {
    let scene = Scene::remembering();
    let lines: [&[&str]; 5] = [
        &["Nonsense", "--harness", "claude-code"],
        &["Stop", "--harness", "nonsense"],
        &["Stop", "--harness", "claude-code", "--nonsense"],
        &["Stop", "more", "words"],
        &["--harness"],
    ];
    for line in lines {
        let ran = pipe(&scene, line, b"{}");
        assert_eq!(harmless(&ran), None, "{line:?}");
        let note = failed(&scene, "unknown-unknown");
        assert!(!note.is_empty());
    }
    // Help is for whoever asks for it.
    let help = scene.dir.run(&["hook", "--help"]).ok();
    assert!(help.stdout.contains("LOCI_HOOKS=off"), "{help:?}");
}

#[test]
fn a_harness_that_keeps_the_input_open_does_not_keep_the_hook() {
    let scene = Scene::remembering();
    for (switch, event) in [("on", "Stop"), ("off", "Stop"), ("on", "Nonsense")] {
        let mut child = scene
            .dir
            .command()
            .args(["hook", event, "--harness", "claude-code"])
            .env("LOCI_HOOKS", switch)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"{\"prompt\": ").unwrap();
        let since = Instant::now();
        let mut said = String::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        assert!(child.wait().unwrap().success());
        assert!(
            since.elapsed() < Duration::from_secs(10),
            "{:?}",
            since.elapsed()
        );
        assert_eq!(said, "");
        drop(input);
    }
    let note = failed(&scene, "claude-code-stop");
    assert!(note.contains("too long"), "{note}");
}

#[test]
fn a_palace_that_does_not_answer_is_given_up_on_in_time() {
    let scene = Scene::remembering();
    scene.configure("timeout_ms = 300");
    let sql = rusqlite::Connection::open(scene.dir.database()).unwrap();
    sql.execute_batch(
        "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; SELECT count(*) FROM sqlite_schema;",
    )
    .unwrap();
    let since = Instant::now();
    assert_eq!(scene.prompt("s", QUESTION), None);
    assert!(
        since.elapsed() < Duration::from_secs(5),
        "{:?}",
        since.elapsed()
    );
    let note = failed(&scene, "claude-code-prompt");
    assert!(
        note.contains("too long") && !note.contains("loci verify"),
        "{note}"
    );
    let notes = scene.notes();
    let advice = &notes["claude-code-prompt"]["failed"]["advice"];
    assert_eq!(advice["action"], "verify", "{advice}");
    drop(sql);
    assert!(scene.prompt("s", QUESTION).is_some());
    let note = scene.notes()["claude-code-prompt"].clone();
    assert_eq!(
        (&note["last"]["ok"], &note["failed"]["ok"]),
        (&json!(true), &json!(false))
    );
}

#[test]
fn a_damaged_palace_is_reported_to_doctor_and_not_to_the_model() {
    let scene = Scene::remembering();
    let transcript = scene.transcript();
    for name in ["palace.sqlite3-wal", "palace.sqlite3-shm"] {
        let _ = std::fs::remove_file(scene.dir.palace().join(name));
    }
    std::fs::write(scene.dir.database(), vec![b'x'; 50_000]).unwrap();
    assert_eq!(scene.prompt("s", QUESTION), None);
    assert_eq!(scene.stop(&transcript), None);
    for name in ["claude-code-prompt", "claude-code-stop"] {
        let note = failed(&scene, name);
        assert!(note.contains("repair"), "{note}");
    }
}

#[test]
fn a_palace_of_a_later_version_is_left_alone() {
    let scene = Scene::remembering();
    let sql = rusqlite::Connection::open(scene.dir.database()).unwrap();
    sql.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(sql);
    assert_eq!(scene.stop(&scene.transcript()), None);
    assert_eq!(scene.prompt("s", QUESTION), None);
    failed(&scene, "claude-code-stop");
}

#[test]
fn no_palace_is_made_to_look_for_something() {
    let scene = Scene::new();
    assert_eq!(scene.prompt("s", QUESTION), None);
    let start = json!({"session_id": "s", "cwd": scene.project(), "source": "startup"});
    assert_eq!(scene.hook("SessionStart", &start), None);
    assert!(!scene.dir.palace().exists());
    assert_eq!(scene.note("prompt")["ok"], true);
}

#[test]
fn a_home_that_cannot_be_written_to_is_no_trouble() {
    let scene = Scene::remembering();
    let state = scene.dir.path("home/.local/state");
    std::fs::create_dir_all(state.parent().unwrap()).unwrap();
    std::fs::write(&state, "no folder").unwrap();
    let transcript = scene.transcript();
    for event in ["Stop", "SessionStart", "UserPromptSubmit", "SessionEnd"] {
        let mut input = scene.input(&transcript);
        input["prompt"] = json!(QUESTION);
        scene.hook(event, &input);
    }
}

#[test]
fn notes_of_many_sessions_take_little_room() {
    let scene = Scene::remembering();
    let folder = scene.dir.path("home/.local/state/loci/hooks");
    std::fs::create_dir_all(&folder).unwrap();
    let old = std::time::SystemTime::now() - Duration::from_secs(60 * 24 * 3_600);
    for n in 0..600 {
        let file = std::fs::File::create(folder.join(format!("session-{n}.json"))).unwrap();
        file.set_modified(old).unwrap();
    }
    let start = json!({"session_id": "s", "cwd": scene.project(), "source": "startup"});
    scene.hook("SessionStart", &start);
    assert!(std::fs::read_dir(&folder).unwrap().count() < 10);
}
