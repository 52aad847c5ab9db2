//! What the user may set: the switch in the environment and the keys below `[hooks]`.

use serde_json::json;

use super::saving::wait_for_savers;
use super::{Scene, exchange, harmless};
use crate::mine::stored;

const QUESTION: &str = "Which fuse did we put into the lamp of the lighthouse?";

#[test]
fn the_switch_in_the_environment_turns_everything_off() {
    for value in ["off", "0", "false", "OFF"] {
        let scene = Scene::remembering();
        let transcript = scene.transcript();
        let mut input = scene.input(&transcript);
        input["prompt"] = json!(QUESTION);
        for event in [
            "Stop",
            "UserPromptSubmit",
            "SessionStart",
            "SessionEnd",
            "nonsense",
        ] {
            let mut command = scene.dir.command();
            let file = scene.dir.write("input.json", input.to_string());
            command.args(["hook", event, "--harness", "claude-code"]);
            command.env("LOCI_HOOKS", value);
            command.stdin(std::fs::File::open(file).unwrap());
            let output = command.output().unwrap();
            assert!(
                output.status.success() && output.stdout.is_empty() && output.stderr.is_empty()
            );
        }
        assert_eq!(stored(&scene.dir).len(), 1);
        assert!(scene.notes().is_empty());
    }
}

#[test]
fn enabled_false_turns_everything_off() {
    let scene = Scene::remembering();
    scene.configure("enabled = false");
    assert_eq!(scene.stop(&scene.transcript()), None);
    assert_eq!(scene.prompt("s", QUESTION), None);
    assert_eq!(stored(&scene.dir).len(), 1);
}

#[test]
fn message_false_saves_silently() {
    let scene = Scene::new();
    scene.configure("message = false");
    let transcript = scene.transcript();
    assert_eq!(scene.stop(&transcript), None);
    wait_for_savers(&transcript);
    assert_eq!(stored(&scene.dir).len(), 1);
    scene.configure("message = true");
    assert_eq!(scene.stop(&transcript), None);
}

#[test]
fn interval_saves_at_every_so_many_stops_and_always_at_the_end() {
    let scene = Scene::new();
    scene.configure("interval = 3");
    let transcript = scene.transcript();
    assert_eq!(scene.stop(&transcript), None);
    assert_eq!(scene.stop(&transcript), None);
    assert!(!scene.dir.palace().exists());
    let third = scene.hook("Stop", &scene.input(&transcript));
    wait_for_savers(&transcript);
    assert_eq!(stored(&scene.dir).len(), 1);
    assert!(third.is_some() || scene.note("stop")["note"] == "saving in the background");
    for (n, event) in ["PreCompact", "SessionEnd"].into_iter().enumerate() {
        let more = exchange(
            &scene.project(),
            3 + n as u32,
            "And the other?",
            "It burns, too.",
        );
        Scene::append(&transcript, &more);
        scene.hook("Stop", &scene.input(&transcript));
        assert_eq!(stored(&scene.dir).len(), 1 + n);
        scene.hook(event, &scene.input(&transcript));
        wait_for_savers(&transcript);
        assert_eq!(stored(&scene.dir).len(), 2 + n);
    }
}

#[test]
fn budgets_of_nothing_and_failures_false_say_nothing() {
    let scene = Scene::remembering();
    scene.configure("wake_up_tokens = 0\nprompt_tokens = 0\nfailures = false");
    assert_eq!(scene.prompt("s", QUESTION), None);
    let start = json!({"session_id": "s", "cwd": scene.project(), "source": "startup"});
    assert_eq!(scene.hook("SessionStart", &start), None);
    let failed = json!({"session_id": "s", "cwd": scene.project(), "error": "error E4711: fuse_box overload in LampDriver"});
    assert_eq!(scene.hook("PostToolUseFailure", &failed), None);
    for (name, note) in scene.notes() {
        assert!(
            note["last"]["note"]
                .as_str()
                .unwrap()
                .contains("switched off"),
            "{name}: {note}"
        );
    }
}

#[test]
fn a_configuration_with_a_mistake_is_reported_to_doctor_and_nobody_else() {
    let scene = Scene::remembering();
    scene.configure("mesage = false");
    assert_eq!(scene.stop(&scene.transcript()), None);
    let note = scene.note("stop");
    assert_eq!(note["ok"], false);
    assert!(
        note["note"].as_str().unwrap().contains("config.toml"),
        "{note}"
    );
}

#[test]
fn a_palace_named_by_a_flag_is_the_one_that_is_used() {
    let scene = Scene::new();
    let transcript = scene.transcript();
    let line = [
        "hook",
        "Stop",
        "--harness",
        "claude-code",
        "--palace",
        "an other/palace",
    ];
    let input = scene.input(&transcript).to_string();
    harmless(&scene.dir.pipe(&line, input.as_bytes()));
    wait_for_savers(&transcript);
    assert!(scene.dir.path("an other/palace/palace.sqlite3").exists());
    assert!(!scene.dir.palace().exists());
}
