//! Files that were changed after connecting: only Loci's entries are removed.

use std::fs;

use super::fixtures::FIXTURES;
use super::scene::Scene;

#[test]
fn what_was_changed_since_stays_and_our_entries_go() {
    for fixture in FIXTURES
        .iter()
        .filter(|fixture| fixture.text.contains('\n'))
    {
        let scene = Scene::new();
        scene.write(fixture.path, fixture.text);
        let empty =
            fixture.path.contains(".json") && scene.json(fixture.path) == serde_json::json!({});
        // White space between empty brackets is not kept if something else changed.
        if empty || fixture.text.contains("{ }") {
            continue;
        }
        scene.connect(&[fixture.agent]);
        // Another program adds a first key, or a person adds a first line.
        let edit = |text: &str| match text.find('{').filter(|_| fixture.path.contains(".json")) {
            Some(at) => format!("{}\"added\": 1, {}", &text[..=at], &text[at + 1..]),
            None => format!("# added\n{text}"),
        };
        scene.write(fixture.path, edit(&scene.read(fixture.path)));
        scene.disconnect();
        let left = scene.read(fixture.path);
        assert!(!left.contains("my programs/loci"), "{left}");
        assert_eq!(left, edit(fixture.text));
    }
}

#[test]
fn an_agent_that_writes_its_file_anew_keeps_what_it_wrote() {
    let scene = Scene::new();
    scene.write(".claude.json", "{\"numStartups\": 1}");
    scene.connect(&["claude-code"]);
    let mut value = scene.json(".claude.json");
    value["numStartups"] = 2.into();
    value["mcpServers"]["other"] = serde_json::json!({"command": "x"});
    scene.write(
        ".claude.json",
        serde_json::to_string_pretty(&value).unwrap(),
    );
    scene.disconnect();
    let left = scene.json(".claude.json");
    assert_eq!(
        left,
        serde_json::json!({"numStartups": 2, "mcpServers": {"other": {"command": "x"}}})
    );
}

#[test]
fn objects_that_were_made_for_the_entry_go_with_it_and_others_stay() {
    let scene = Scene::new();
    scene.write(".claude.json", "{\n  \"a\": 1\n}\n");
    scene.write(
        ".cursor/mcp.json",
        "{\n  \"mcpServers\": {},\n  \"a\": 1\n}\n",
    );
    scene.connect(&["claude-code", "cursor"]);
    for path in [".claude.json", ".cursor/mcp.json"] {
        scene.write(path, scene.read(path).replace("\"a\": 1", "\"a\": 2"));
    }
    scene.disconnect();
    assert_eq!(scene.read(".claude.json"), "{\n  \"a\": 2\n}\n");
    assert_eq!(
        scene.read(".cursor/mcp.json"),
        "{\n  \"mcpServers\": {},\n  \"a\": 2\n}\n"
    );
}

#[test]
fn connecting_again_after_a_change_still_undoes_to_what_is_not_ours() {
    let scene = Scene::new();
    scene.write(".cursor/mcp.json", "{\n  \"a\": 1\n}\n");
    scene.connect(&["cursor"]);
    let text = scene
        .read(".cursor/mcp.json")
        .replace("\"a\": 1", "\"a\": 2");
    scene.write(".cursor/mcp.json", text);
    let mut asked = scene.asked(&["cursor"]);
    asked.program = scene.path("new/loci");
    scene.try_connect(&asked).unwrap();
    scene.disconnect();
    assert_eq!(scene.read(".cursor/mcp.json"), "{\n  \"a\": 2\n}\n");
    assert!(!scene.path(".cursor/hooks.json").exists());
}

#[test]
fn without_a_journal_entries_are_known_by_what_they_run() {
    for fixture in FIXTURES {
        let scene = Scene::new();
        scene.write(fixture.path, fixture.text);
        scene.connect(&[fixture.agent]);
        fs::remove_dir_all(scene.home.state.join("wiring")).unwrap();
        assert!(!scene.disconnect().is_empty());
        for (path, bytes) in scene.picture() {
            let text = String::from_utf8(bytes.unwrap_or_default()).unwrap();
            assert!(
                !text.contains("my programs/loci"),
                "{}: {text}",
                path.display()
            );
        }
    }
}

#[test]
fn a_lost_backup_does_not_stop_the_undoing() {
    let scene = Scene::new();
    scene.write(".cursor/mcp.json", "{\n  \"a\": 1\n}\n");
    scene.connect(&["cursor"]);
    fs::remove_dir_all(scene.home.state.join("wiring/backups")).unwrap();
    scene.disconnect();
    assert_eq!(scene.read(".cursor/mcp.json"), "{\n  \"a\": 1\n}\n");
}

#[test]
fn a_backup_that_was_tampered_with_is_not_used() {
    let scene = Scene::new();
    scene.write(".cursor/mcp.json", "{\n  \"a\": 1\n}\n");
    scene.connect(&["cursor"]);
    for file in fs::read_dir(scene.home.state.join("wiring/backups")).unwrap() {
        fs::write(file.unwrap().path(), "{\"evil\": 1}").unwrap();
    }
    scene.disconnect();
    assert_eq!(scene.read(".cursor/mcp.json"), "{\n  \"a\": 1\n}\n");
}

#[test]
fn only_the_named_agent_is_disconnected() {
    let scene = Scene::new();
    scene.connect(&["cursor", "windsurf"]);
    let names = ["cursor".to_owned()];
    loci_agents::wiring::disconnect(&scene.home, &names, false).unwrap();
    assert!(!scene.path(".cursor").exists());
    assert!(
        scene
            .read(".codeium/windsurf/mcp_config.json")
            .contains("loci")
    );
}

#[test]
fn a_dry_run_of_disconnect_changes_nothing() {
    let scene = Scene::new();
    scene.connect(&["cursor"]);
    let before = scene.picture();
    let changes = loci_agents::wiring::disconnect(&scene.home, &[], true)
        .unwrap()
        .changes;
    assert_eq!(changes.len(), 2);
    assert_eq!(scene.picture(), before);
}

#[test]
fn a_comment_before_our_entry_does_not_swallow_what_follows_it() {
    let scene = Scene::new();
    scene.write(".cursor/mcp.json", "{}");
    scene.connect(&["cursor"]);
    let entry = "\"loci\": {\"command\": \"/x/loci\", \"args\": [\"mcp\"]}";
    scene.write(
        ".cursor/mcp.json",
        format!(
            "{{\"mcpServers\": {{ // mine\n  {entry}, \"a\": {{}} }}, \"b\": {{ // too\n }} }}"
        ),
    );
    scene.disconnect();
    let left = scene.json(".cursor/mcp.json");
    assert_eq!(left, serde_json::json!({"mcpServers": {"a": {}}, "b": {}}));
}
