//! `hook`: what agents send in the documented shapes, and what they get back.

mod choosing;
mod configured;
mod failing;
mod later;
mod recalling;
mod saving;
mod trouble;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::mine::put;
use crate::support::{Dir, Ran, lines};

const PALACE_OF_OLD: &str = "We put fuse seventeen into the lamp of the lighthouse: it said error E4711: fuse_box overload in \
    LampDriver, and a slow fuse of 16 A cured it.";

/// A home in which the project `lighthouse` was talked about before.
pub(crate) struct Scene {
    pub(crate) dir: Dir,
}

/// A folder with a repository.
pub(crate) fn make_project(folder: &Path) {
    std::fs::create_dir_all(folder.join(".git")).unwrap();
    std::fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
}

/// An exchange of Claude Code, as it stands in a transcript.
pub(crate) fn exchange(folder: &Path, n: u32, asked: &str, answered: &str) -> String {
    let record = |kind: &str, second: u32, content: Value| {
        json!({
            "type": kind, "uuid": format!("{kind}{n}"), "parentUuid": null, "isSidechain": false,
            "sessionId": "5e0d6c1a-0000-4000-8000-000000000001", "cwd": folder,
            "timestamp": format!("2026-02-{:02}T{:02}:{:02}:{second:02}Z", 1 + n / 1_440 % 28, n / 60 % 24, n % 60),
            "message": {"role": kind, "content": content},
        })
    };
    lines([
        record("user", 0, json!(asked)),
        record("assistant", 10, json!([{"type": "text", "text": answered}])),
    ])
}

impl Scene {
    pub(crate) fn new() -> Self {
        let scene = Self { dir: Dir::new() };
        make_project(&scene.project());
        scene
    }

    /// With something in memory.
    pub(crate) fn remembering() -> Self {
        let scene = Self::new();
        let old = exchange(&scene.project(), 1, "Why was the lamp dark?", PALACE_OF_OLD);
        let old = put(&scene.dir, "talks/old.jsonl", old);
        scene.dir.run(&["mine", old.to_str().unwrap()]).ok();
        scene
    }

    pub(crate) fn project(&self) -> PathBuf {
        let root = self.dir.path("home").parent().unwrap().canonicalize();
        root.unwrap().join("all projects/lighthouse")
    }

    /// A transcript of one exchange, in a path that nobody would choose.
    pub(crate) fn transcript(&self) -> PathBuf {
        let talk = exchange(
            &self.project(),
            2,
            "Is the lamp well now?",
            "It burns again.",
        );
        put(&self.dir, "talks of today/é 'quoted' \"$x\".jsonl", talk)
    }

    pub(crate) fn append(path: &Path, more: &str) {
        use std::io::Write;
        let mut file = std::fs::File::options().append(true).open(path).unwrap();
        file.write_all(more.as_bytes()).unwrap();
    }

    pub(crate) fn input(&self, transcript: &Path) -> Value {
        json!({"session_id": "s", "transcript_path": transcript, "cwd": self.project()})
    }

    /// Calls a hook of Claude Code.
    pub(crate) fn hook(&self, event: &str, input: &Value) -> Option<Value> {
        self.hook_of("claude-code", event, input)
    }

    pub(crate) fn hook_of(&self, harness: &str, event: &str, input: &Value) -> Option<Value> {
        let line = ["hook", event, "--harness", harness];
        harmless(&self.dir.pipe(&line, input.to_string().as_bytes()))
    }

    /// What a stop with this transcript tells the user. On a busy machine a save may go on in the background; then the next stop
    /// tells of it.
    pub(crate) fn stop(&self, transcript: &Path) -> Option<String> {
        loop {
            let said = self.hook("Stop", &self.input(transcript));
            if let Some(said) = said {
                return Some(said["systemMessage"].as_str().unwrap().to_owned());
            }
            let note = self.note("stop")["note"].clone();
            if note != "saving in the background" && note != "another process is saving" {
                return None;
            }
            saving::wait_for_savers(transcript);
        }
    }

    /// What the model is told when this is asked.
    pub(crate) fn prompt(&self, session: &str, prompt: &str) -> Option<String> {
        let input = json!({"session_id": session, "cwd": self.project(), "prompt": prompt});
        self.hook("UserPromptSubmit", &input)
            .map(|said| context(&said))
    }

    /// What is noted for `loci doctor`: by harness and event.
    pub(crate) fn notes(&self) -> BTreeMap<String, Value> {
        let folder = self.dir.path("home/.local/state/loci/hooks");
        let mut notes = BTreeMap::new();
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if let Some(name) = name.strip_prefix("note-") {
                let text = std::fs::read_to_string(&path).unwrap();
                notes.insert(name.to_owned(), serde_json::from_str(&text).unwrap());
            }
        }
        notes
    }

    /// The last note of an event of Claude Code; null if it was never called.
    pub(crate) fn note(&self, event: &str) -> Value {
        let notes = self.notes().remove(&format!("claude-code-{event}"));
        notes.map_or(Value::Null, |notes| notes["last"].clone())
    }

    pub(crate) fn configure(&self, hooks: &str) {
        put(
            &self.dir,
            "home/.config/loci/config.toml",
            format!("[hooks]\n{hooks}\n"),
        );
    }
}

/// The text for the model.
pub(crate) fn context(said: &Value) -> String {
    let text = said["hookSpecificOutput"]["additionalContext"].as_str();
    text.unwrap_or_else(|| panic!("{said}")).to_owned()
}

/// What a hook said, after a look that it stands in nobody's way: it exits with 0, is silent on stderr, and says one JSON
/// object or nothing, in which nothing is blocked, stopped or asked to go on.
pub(crate) fn harmless(ran: &Ran) -> Option<Value> {
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    if ran.stdout.is_empty() {
        return None;
    }
    assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    let fields = said.as_object().unwrap();
    for field in [
        "decision",
        "reason",
        "stopReason",
        "followup_message",
        "permission",
    ] {
        assert!(!fields.contains_key(field), "{said}");
    }
    assert_ne!(fields.get("continue"), Some(&json!(false)), "{said}");
    Some(said)
}

fn codex_talk(folder: &Path) -> String {
    let at = "2026-02-03T10:00:00Z";
    let line =
        |kind: &str, payload: Value| json!({"timestamp": at, "type": kind, "payload": payload});
    let message = |role: &str, kind: &str, words: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": words}]});
    lines([
        line(
            "session_meta",
            json!({"id": "c1", "timestamp": at, "cwd": folder}),
        ),
        line(
            "response_item",
            message("user", "input_text", "Is the lamp well now?"),
        ),
        line(
            "event_msg",
            json!({"type": "user_message", "message": "Is the lamp well now?"}),
        ),
        line(
            "response_item",
            message("assistant", "output_text", "It burns again."),
        ),
    ])
}

fn gemini_talk() -> String {
    let at = "2026-02-03T10:00:00Z";
    json!({
        "sessionId": "g1", "projectHash": "h", "startTime": at, "lastUpdated": at,
        "messages": [
            {"id": "1", "timestamp": at, "type": "user", "content": "Is the lamp well now?"},
            {"id": "2", "timestamp": at, "type": "gemini", "content": "It burns again."},
        ],
    })
    .to_string()
}

/// Plays recorded calls: each has an input, as the harness documents it, and the answer that it must get.
fn play(harness: &str, recorded: &str, transcript: (&str, String)) -> Scene {
    let scene = Scene::remembering();
    let transcript = put(&scene.dir, transcript.0, transcript.1);
    let filled = recorded
        .replace("$TRANSCRIPT", transcript.to_str().unwrap())
        .replace("$PROJECT", scene.project().to_str().unwrap());
    let calls: Vec<Value> = serde_json::from_str(&filled).unwrap();
    for call in calls {
        let event = call["event"].as_str().unwrap();
        let mut said = scene.hook_of(harness, event, &call["input"]);
        if expected_message(&call) && said.as_ref().is_none_or(|said| *said == json!({})) {
            saving::wait_for_savers(&transcript);
            said = scene.hook_of(harness, event, &call["input"]);
        }
        let (said, expected) = (said.unwrap_or_default(), &call["output"]);
        assert!(is_like(&said, expected), "{harness} {call}\nsaid {said}");
    }
    for (name, note) in scene.notes() {
        let fine = name.starts_with(harness) && (note["last"]["ok"] == true || harness == "cursor");
        assert!(fine, "{name}: {note}");
    }
    scene
}

/// On a busy machine a save may go on in the background; then the next stop tells of it.
fn expected_message(call: &Value) -> bool {
    call["output"].get("systemMessage").is_some()
}

/// Whether a value is the expected one, in which `$TEXT` stands for any text.
fn is_like(said: &Value, expected: &Value) -> bool {
    match (said, expected) {
        (Value::String(text), Value::String(any)) if any == "$TEXT" => !text.trim().is_empty(),
        (Value::Object(said), Value::Object(expected)) => {
            said.len() == expected.len()
                && expected
                    .iter()
                    .all(|(key, value)| said.get(key).is_some_and(|said| is_like(said, value)))
        }
        (said, expected) => said == expected,
    }
}

#[test]
fn claude_code_gets_what_its_hooks_document() {
    let talk = |scene: &Scene| {
        exchange(
            &scene.project(),
            2,
            "Is the lamp well now?",
            "It burns again.",
        )
    };
    let scene = Scene::new();
    play(
        "claude-code",
        include_str!("hooks/claude-code.json"),
        ("talks/today.jsonl", talk(&scene)),
    );
}

#[test]
fn codex_gets_what_its_hooks_document() {
    let scene = Scene::new();
    play(
        "codex",
        include_str!("hooks/codex.json"),
        ("talks/rollout-1.jsonl", codex_talk(&scene.project())),
    );
}

#[test]
fn gemini_gets_what_its_hooks_document_and_its_talks_are_filed_with_the_project() {
    let scene = play(
        "gemini",
        include_str!("hooks/gemini.json"),
        ("talks/session-g1.json", gemini_talk()),
    );
    let file = scene.dir.path("talks/session-g1.json");
    let wings = scene.dir.json(0, &["list", "--wing", "lighthouse"]);
    let texts = wings["drawers"].to_string();
    assert!(texts.contains("It burns again."), "{texts}");
    let mined = scene.dir.json(0, &["mine", file.to_str().unwrap()]);
    assert_eq!(
        (&mined["drawers"]["new"], &mined["drawers"]["updated"]),
        (&json!(0), &json!(0)),
        "{mined}"
    );
}

#[test]
fn cursor_gets_what_its_hooks_document_and_doctor_knows_what_could_not_be_saved() {
    let talk = lines([
        json!({"role": "user", "message": {"content": [{"type": "text", "text": "Is the lamp well now?"}]}}),
        json!({"role": "assistant", "message": {"content": [{"type": "text", "text": "It burns again."}]}}),
    ]);
    let scene = play(
        "cursor",
        include_str!("hooks/cursor.json"),
        ("talks/c1.jsonl", talk),
    );
    let note = scene.notes()["cursor-stop"]["last"].clone();
    assert_eq!(note["ok"], false, "{note}");
    assert_eq!(note["advice"]["action"], "mine_agents", "{note}");
}

#[test]
fn names_of_events_are_understood_in_any_spelling() {
    let scene = Scene::remembering();
    let input = json!({"session_id": "s", "cwd": scene.project(), "prompt": "ok"});
    for event in [
        "userPromptSubmit",
        "user-prompt-submit",
        "USER_PROMPT_SUBMIT",
    ] {
        assert_eq!(scene.hook(event, &input), None);
    }
    assert_eq!(
        scene.hook_of("Gemini-CLI", "beforeagent", &input),
        Some(json!({}))
    );
    assert_eq!(scene.notes().len(), 2, "{:?}", scene.notes());
}
