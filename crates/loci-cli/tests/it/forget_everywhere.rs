//! A text that came in by every way is forgotten, and its bytes are in no file that Loci writes:
//! not in the palace, not in its state, its cache or the directory for temporary files.

use std::path::Path;

use serde_json::{Value, json};

use crate::hooks::{Scene, exchange};
use crate::mine::put;
use crate::support::{Dir, lines};

/// Begins like nothing else, so that no compression of postings can hide it; a stem of it begins
/// with the same letters.
const MARKER: &str = "qzxv";

/// Where the marker stands below the directories that Loci writes to, in any case: the file, and
/// what is around it.
fn found(dir: &Dir) -> Vec<String> {
    let place = |path: &Path| {
        let bytes = std::fs::read(path).unwrap();
        let at = bytes
            .windows(MARKER.len())
            .position(|window| window.eq_ignore_ascii_case(MARKER.as_bytes()))?;
        let around = &bytes[at.saturating_sub(60)..bytes.len().min(at + 60)];
        Some(format!("{}: {}", path.display(), around.escape_ascii()))
    };
    ["palace", "home", "temporary"]
        .iter()
        .flat_map(|name| Dir::files(&dir.path(name)))
        .filter_map(|path| place(&path))
        .collect()
}

/// Everything that is stored, line by line.
fn exported(dir: &Dir) -> Vec<Value> {
    let ran = dir.run(&["export"]).ok();
    let lines = ran.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn by_command(dir: &Dir) {
    let metadata = json!({"qzxvkey": "QZXVvalue"}).to_string();
    let text = "Qzxvadding stands here.";
    dir.json(0, &["add", text, "--id", "added", "--metadata", &metadata]);
    dir.json(0, &["add", "Qzxvolder words.", "--id", "updated"]);
    dir.json(0, &["update", "updated", "Qzxvnewer words."]);
    dir.json(
        0,
        &[
            "add",
            "Qzxvtwice said.",
            "--source",
            "a.txt",
            "--id",
            "once",
        ],
    );
    dir.json(
        0,
        &[
            "facts",
            "add",
            "qzxvSubject",
            "owns",
            "qzxvobject",
            "--source",
            "added",
        ],
    );
    dir.json(
        0,
        &["links", "add", "added", "updated", "--label", "qzxvlabel"],
    );
    dir.json(
        0,
        &[
            "diary",
            "write",
            "Qzxvdiary entry.",
            "--agent",
            "ada",
            "--topic",
            "qzxvtopic",
        ],
    );
    let record = json!({"id": "imported", "document": "Qzxvimport.", "metadata": {"qzxvmore": 1}});
    let file = dir.write("in.jsonl", lines([record]));
    dir.json(0, &["import", "jsonl", file.to_str().unwrap()]);
}

fn by_server(dir: &Dir) {
    let call = |id: u32, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let greeting = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let added =
        json!({"name": "loci_add", "arguments": {"drawers": [{"text": "Qzxvserver said so."}]}});
    let input = lines([
        call(1, "initialize", greeting),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        call(2, "tools/call", added),
    ]);
    let ran = dir.pipe(&["mcp"], input.as_bytes()).ok();
    assert!(ran.stdout.contains("\"added\":1"), "{ran:?}");
}

/// Mined twice, so that an undo keeps the state in between; and saved by a hook.
fn by_mining(scene: &Scene) -> u64 {
    let dir = &scene.dir;
    let text = |word: &str| {
        format!("---\nqzxvfront: {word}\n---\n\n# Qzxvtitle\n\nThe {word} is qzxvdocument text.\n")
    };
    let file = put(dir, "notes/pay.md", text("qzxvfirst"));
    let folder = file.parent().unwrap().to_str().unwrap().to_owned();
    dir.json(0, &["mine", &folder]);
    put(dir, "notes/pay.md", text("qzxvsecond"));
    let run = dir.json(0, &["mine", &folder])["run"].as_u64().unwrap();
    let talk = exchange(
        &scene.project(),
        7,
        "What is qzxvasked?",
        "It is qzxvanswered.",
    );
    let transcript = put(dir, "talks/today.jsonl", talk);
    scene.stop(&transcript);
    // What a session was shown is noted in the state.
    scene.prompt("s", "What is qzxvasked and qzxvanswered?");
    run
}

#[test]
fn a_text_that_came_in_by_every_way_is_in_no_file_after_forget() {
    let scene = Scene::new();
    let dir = &scene.dir;
    by_command(dir);
    by_server(dir);
    let run = by_mining(&scene);
    dir.json(0, &["search", "qzxvadding"]);
    dir.json(0, &["reembed", "--model", "static"]);
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
    dir.json(0, &["repair"]);
    let backup = dir.path("backup").display().to_string();
    dir.json(0, &["backup", &backup]);
    dir.json(0, &["restore", &backup, "--replace"]);
    let stored = exported(dir);
    let holding = stored
        .iter()
        .filter(|record| record.to_string().to_lowercase().contains(MARKER));
    let ids: Vec<&str> = holding.filter_map(|record| record["id"].as_str()).collect();
    let ways = stored.iter().map(Value::to_string).collect::<String>();
    for word in [
        "Qzxvadding",
        "Qzxvnewer",
        "Qzxvtwice",
        "Qzxvdiary",
        "Qzxvimport",
        "Qzxvserver",
        "qzxvdocument",
        "qzxvanswered",
        "qzxvSubject",
        "qzxvlabel",
    ] {
        assert!(ways.contains(word), "{word} did not come in");
    }
    assert!(!found(dir).is_empty());
    let forgotten = dir.json(0, &[&["forget"][..], &ids].concat());
    assert_eq!(forgotten["purge_pending"], false, "{forgotten}");
    assert_eq!(found(dir), Vec::<String>::new());
    // Neither an undo nor a second look brings it back.
    dir.run(&["undo", &run.to_string()]);
    let folder = dir.path("notes").display().to_string();
    dir.run(&["mine", &folder, "--force"]).ok();
    scene.stop(&dir.path("talks/today.jsonl"));
    assert_eq!(found(dir), Vec::<String>::new());
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}
