//! Control characters and characters that nobody sees never leave as themselves in JSON.

use serde_json::{Value, json};

use crate::support::{Dir, lines};

const TEXT: &str = "a\u{9b}31m\u{7f}\u{85}b\u{2028}c\u{202e}d\u{e0041}e\u{feff} Straße 👍";

/// Characters that a terminal or a reader would obey instead of showing them.
fn obeyed(text: &str) -> Vec<char> {
    let hidden = |character: &char| {
        matches!(
            character,
            '\u{7f}'..='\u{9f}' | '\u{2028}'..='\u{202e}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
        )
    };
    let controls = text
        .chars()
        .filter(|character| hidden(character) || (character.is_control() && *character != '\n'));
    controls.collect()
}

fn stored() -> Dir {
    let dir = Dir::new();
    let record = json!({"id": TEXT, "document": TEXT, "metadata": {"wing": TEXT, "k\u{9b}": TEXT}});
    dir.write("records.jsonl", lines([record]));
    dir.run(&["import", "jsonl", "records.jsonl"]).ok();
    dir
}

#[test]
fn json_answers_escape_what_a_terminal_would_obey_and_mean_the_same() {
    let dir = stored();
    for arguments in [
        vec!["get", TEXT],
        vec!["list"],
        vec!["search", "Straße"],
        vec!["status"],
    ] {
        let ran = dir.run(&[arguments.as_slice(), &["--json"]].concat()).ok();
        assert_eq!(obeyed(&ran.stdout), [], "{arguments:?}");
        serde_json::from_str::<Value>(&ran.stdout).unwrap();
    }
    let found = dir.json(0, &["get", TEXT]);
    assert_eq!(found["drawers"][0]["text"], TEXT, "{found}");
    assert_eq!(found["drawers"][0]["metadata"]["k\u{9b}"], TEXT, "{found}");
}

#[test]
fn an_export_to_stdout_escapes_them_too_and_comes_back_the_same() {
    let dir = stored();
    let export = dir.run(&["export"]).ok().stdout;
    assert_eq!(obeyed(&export), []);
    let other = Dir::new();
    other.write("export.jsonl", &export);
    other.run(&["import", "jsonl", "export.jsonl"]).ok();
    assert_eq!(other.json(0, &["get", TEXT])["drawers"][0]["text"], TEXT);
}

#[test]
fn error_objects_on_stderr_escape_them_too() {
    let dir = stored();
    for arguments in [
        vec!["search", "x", "--collection", "no\u{9b}thing"],
        vec!["links", "add", "no\u{9b}thing", "x"],
        vec!["no\u{9b}command"],
    ] {
        let ran = dir.run(&[arguments.as_slice(), &["--json"]].concat());
        assert_ne!(ran.code, 0, "{arguments:?}");
        assert_eq!(obeyed(&ran.stderr), [], "{arguments:?}: {}", ran.stderr);
        let error: Value = serde_json::from_str(&ran.stderr).unwrap();
        assert!(error["error"]["message"].is_string(), "{error}");
    }
}

#[test]
fn plain_answers_about_names_escape_them_even_in_a_pipe() {
    let dir = stored();
    for arguments in [vec!["list"], vec!["search", "Straße", "--wing", "none"]] {
        let ran = dir.run(&arguments);
        let names: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(obeyed(&names.join("\n")), [], "{arguments:?}: {ran:?}");
    }
}
