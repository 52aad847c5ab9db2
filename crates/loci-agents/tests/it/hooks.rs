//! Calls of hooks and their records, without a process.

use std::path::Path;

use loci_agents::Home;
use loci_agents::hooks::{Call, Event, Harness, answer, last_runs, note_unknown, refuse};
use loci_palace::{HooksConfig, OpenOptions, PalaceRef};
use serde_json::json;

fn home(root: &Path) -> Home {
    Home::within(root)
}

fn call(root: &Path, event: Event) -> Call {
    Call {
        event,
        harness: Harness::Codex,
        home: home(root),
        palace: PalaceRef::local(root.join("palace")),
        options: OpenOptions::existing(),
        config: HooksConfig::default(),
        program: "/bin/false".into(),
        arguments: Vec::new(),
    }
}

#[test]
fn doctor_sees_the_last_call_and_the_last_failure_of_each_hook() {
    let root = tempfile::tempdir().unwrap();
    let home = home(root.path());
    assert_eq!(last_runs(&home), []);
    note_unknown(&home, "`Nonsense` is no event");
    assert_eq!(refuse(&home, Harness::Codex, Event::Stop, "no palace"), "");
    let input = json!({"session_id": "s", "transcript_path": null}).to_string();
    let said = answer(&call(root.path(), Event::Stop), std::io::Cursor::new(input));
    assert_eq!(said, "");
    let runs = last_runs(&home);
    let told: Vec<_> = runs
        .iter()
        .map(|run| {
            (
                run.harness.as_str(),
                run.event.as_str(),
                run.ok,
                run.note.as_str(),
            )
        })
        .collect();
    assert_eq!(told.len(), 3, "{told:?}");
    for expected in [
        ("unknown", "unknown", false, "`Nonsense` is no event"),
        ("codex", "stop", true, "no transcript was named"),
        ("codex", "stop", false, "no palace"),
    ] {
        assert!(told.contains(&expected), "{expected:?} in {told:?}");
    }
    assert!(runs.iter().all(|run| run.at.ends_with('Z')), "{runs:?}");
}

#[test]
fn notes_that_cannot_be_read_are_passed_over() {
    let root = tempfile::tempdir().unwrap();
    let home = home(root.path());
    let folder = home.state.join("hooks");
    std::fs::create_dir_all(folder.join("note-folder.json")).unwrap();
    std::fs::write(folder.join("note-a-b.json"), "{\"last\": 7").unwrap();
    std::fs::write(folder.join("note-c-d.json"), vec![b' '; 1 << 20]).unwrap();
    assert_eq!(last_runs(&home), []);
    refuse(&home, Harness::Codex, Event::Stop, &"ü".repeat(10_000));
    let runs = last_runs(&home);
    assert_eq!(runs.len(), 1);
    assert!(runs.iter().all(|run| run.note.len() < 1_000), "{runs:?}");
}

#[test]
fn no_palace_is_made_inside_a_directory_of_another_program() {
    let root = tempfile::tempdir().unwrap();
    let palace = root.path().join("palace");
    std::fs::create_dir(&palace).unwrap();
    std::fs::write(palace.join("chroma.sqlite3"), "").unwrap();
    let transcript = root.path().join("talk.jsonl");
    let talk = json!({"timestamp": "2026-02-03T10:00:00Z", "type": "session_meta", "payload": {"id": "c", "cwd": "/lamp"}});
    std::fs::write(&transcript, format!("{talk}\n")).unwrap();
    let input = json!({"session_id": "s", "transcript_path": transcript}).to_string();
    answer(&call(root.path(), Event::Stop), std::io::Cursor::new(input));
    assert!(!palace.join("palace.sqlite3").exists());
    assert!(last_runs(&home(root.path())).iter().all(|run| !run.ok));
}
