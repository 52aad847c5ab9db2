//! The entries that are written, and the text around them.

use std::fs;

use loci_agents::wiring::{Act, plan};
use loci_palace::Advice;
use serde_json::{Value, json};

use super::fixtures::FIXTURES;
use super::scene::{AGENTS, Scene};

#[test]
fn each_agent_gets_the_entry_that_it_documents() {
    let scene = Scene::new();
    let agents = AGENTS.map(|(agent, _)| agent);
    scene.connect(&agents);
    let program = scene.program();
    let program = program.to_str().unwrap();
    let plain = json!({"command": program, "args": ["mcp"]});
    let typed = json!({"type": "stdio", "command": program, "args": ["mcp"]});
    assert_eq!(scene.json(".claude.json")["mcpServers"]["loci"], typed);
    assert_eq!(scene.json(".cursor/mcp.json")["mcpServers"]["loci"], plain);
    assert_eq!(
        scene.json(".gemini/settings.json")["mcpServers"]["loci"],
        plain
    );
    let windsurf = scene.json(".codeium/windsurf/mcp_config.json");
    assert_eq!(windsurf["mcpServers"]["loci"], plain);
    assert_eq!(
        scene.json(".config/Code/User/mcp.json")["servers"]["loci"],
        typed
    );
    let zed = json!({"command": program, "args": ["mcp"], "env": {}});
    assert_eq!(
        scene.json(".config/zed/settings.json")["context_servers"]["loci"],
        zed
    );
    let opencode = json!({"type": "local", "command": [program, "mcp"]});
    assert_eq!(
        scene.json(".config/opencode/opencode.json")["mcp"]["loci"],
        opencode
    );
    let codex = format!("[mcp_servers.loci]\ncommand = \"{program}\"\nargs = [\"mcp\"]\n");
    assert_eq!(scene.read(".codex/config.toml"), codex);
}

#[test]
fn each_agent_gets_its_hooks_in_its_own_words() {
    let scene = Scene::new();
    scene.connect(&["claude-code", "codex", "cursor", "gemini"]);
    let program = format!("'{}'", scene.program().display());
    let handler = |event: &str, harness: &str, timeout: u64| json!({"type": "command", "command": format!("{program} hook {event} --harness {harness}"), "timeout": timeout});
    let claude = scene.json(".claude/settings.json");
    assert_eq!(
        claude["hooks"]["SessionStart"],
        json!([{"matcher": "startup|resume|clear|compact", "hooks": [handler("SessionStart", "claude-code", 10)]}])
    );
    assert_eq!(
        claude["hooks"]["Stop"],
        json!([{"hooks": [handler("Stop", "claude-code", 10)]}])
    );
    assert_eq!(claude["hooks"].as_object().unwrap().len(), 6);
    let codex = scene.json(".codex/hooks.json");
    assert_eq!(
        codex["hooks"]["SessionEnd"],
        json!([{"hooks": [handler("SessionEnd", "codex", 3)]}])
    );
    let cursor = scene.json(".cursor/hooks.json");
    assert_eq!(cursor["version"], 1);
    let stop = json!([{"command": format!("{program} hook stop --harness cursor"), "timeout": 10}]);
    assert_eq!(cursor["hooks"]["stop"], stop);
    let gemini = scene.json(".gemini/settings.json");
    assert_eq!(
        gemini["hooks"]["AfterTool"],
        json!([{"matcher": "run_shell_command", "hooks": [handler("AfterTool", "gemini", 10_000)]}])
    );
}

#[test]
fn everything_else_in_a_file_stays_word_for_word() {
    for fixture in FIXTURES {
        let scene = Scene::new();
        scene.write(fixture.path, fixture.text);
        scene.connect(&[fixture.agent]);
        let text = scene.read(fixture.path);
        // The old text is still there, in its order: only text was inserted.
        let mut letters = text.chars();
        let rest: String = fixture
            .text
            .chars()
            .filter(|letter| !letter.is_whitespace())
            .collect();
        assert!(
            rest.chars()
                .all(|letter| letters.any(|other| other == letter)),
            "{text}"
        );
        for line in fixture
            .text
            .lines()
            .filter(|line| fixture.text.lines().count() > 1 && !line.trim().is_empty())
        {
            let bare = line.trim_end_matches([',', ' ', '{', '}', '[', ']', '\r']);
            assert!(text.contains(bare), "`{line}` is gone from:\n{text}");
        }
        assert_eq!(text.contains('\r'), fixture.text.contains('\r'), "{text}");
        let bare_newlines = text.matches('\n').count() - text.matches("\r\n").count();
        assert!(
            !text.contains('\r') || bare_newlines == 0,
            "line ends are mixed: {text:?}"
        );
        assert_eq!(
            text.starts_with('\u{feff}'),
            fixture.text.starts_with('\u{feff}')
        );
    }
}

#[test]
fn other_servers_and_hooks_mean_what_they_meant() {
    for fixture in FIXTURES
        .iter()
        .filter(|fixture| fixture.path.contains(".json"))
    {
        let scene = Scene::new();
        scene.write(fixture.path, fixture.text);
        if !fixture.text.contains('{') {
            continue;
        }
        let before = scene.json(fixture.path);
        scene.connect(&[fixture.agent]);
        contains(&scene.json(fixture.path), &before);
    }
}

/// Every value of `part` is in `whole` at the same place; lists begin alike.
fn contains(whole: &Value, part: &Value) {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            for (key, value) in part {
                contains(whole.get(key).unwrap_or(&Value::Null), value);
            }
        }
        (Value::Array(whole), Value::Array(part)) => assert_eq!(&whole[..part.len()], part),
        _ => assert_eq!(whole, part),
    }
}

#[test]
fn comments_keep_to_what_they_were_written_beside() {
    let scene = Scene::new();
    scene.write(
        ".config/zed/settings.json",
        "{\n  \"context_servers\": {\n    \"a\": {} // about a\n    // the end\n  }\n}\n",
    );
    scene.connect(&["zed"]);
    let text = scene.read(".config/zed/settings.json");
    assert!(
        text.contains("\"a\": {}, // about a\n    \"loci\": {\n      \"command\""),
        "{text}"
    );
    assert!(text.contains("// the end\n  }\n"), "{text}");
}

#[test]
fn palace_tools_and_name_are_written_when_they_are_set() {
    let scene = Scene::new();
    let mut asked = scene.asked(&["cursor", "codex"]);
    asked.palace = Some("/my palace's".into());
    asked.tools = Some("full".into());
    asked.name = Some("memory".into());
    scene.try_connect(&asked).unwrap();
    let cursor = scene.json(".cursor/mcp.json");
    let arguments = json!(["mcp", "--palace", "/my palace's", "--tools", "full"]);
    assert_eq!(cursor["mcpServers"]["memory"]["args"], arguments);
    let stop = scene.json(".cursor/hooks.json")["hooks"]["stop"][0]["command"].clone();
    assert!(
        stop.as_str()
            .unwrap()
            .ends_with(r"--palace '/my palace'\''s'"),
        "{stop}"
    );
    let codex = scene.read(".codex/config.toml");
    assert!(codex.contains("[mcp_servers.memory]"), "{codex}");
    // Connecting again without hooks keeps them as they are.
    let again = scene.asked(&["cursor", "codex"]);
    assert!(scene.try_connect(&again).unwrap().is_empty());
}

#[test]
fn a_plan_changes_nothing() {
    let scene = Scene::new();
    for fixture in FIXTURES {
        scene.write(fixture.path, fixture.text);
    }
    let before = scene.picture();
    let changes = plan(&scene.home, &scene.asked(&[])).unwrap().changes;
    assert!(changes.len() > 8);
    assert!(changes.iter().all(|change| !change.edits.is_empty()));
    assert_eq!(scene.picture(), before);
    assert!(!scene.home.state.exists());
}

#[test]
fn without_names_the_agents_that_are_there_are_meant() {
    let scene = Scene::new();
    fs::create_dir_all(scene.path(".cursor")).unwrap();
    fs::create_dir_all(scene.path("bin")).unwrap();
    fs::write(scene.path("bin/codex"), "").unwrap();
    let mut home = scene.home.clone();
    home.programs = vec![scene.path("bin")];
    let plan = plan(&home, &scene.asked(&[])).unwrap();
    assert_eq!(plan.agents, ["codex", "cursor"]);
    assert!(plan.changes.iter().all(|change| change.act == Act::Created));
    assert_eq!(plan.hints.len(), 1, "Codex has to be told to trust hooks");
}

#[test]
fn a_broken_file_is_named_with_the_place_and_nothing_is_written() {
    let broken: [(&str, &str, &[u8], &str); 7] = [
        (
            "cursor",
            ".cursor/mcp.json",
            b"{\n  \"a\": [1, 2\n}\n",
            "line 3",
        ),
        (
            "claude-code",
            ".claude/settings.json",
            b"{'a': 1}",
            "line 1",
        ),
        ("codex", ".codex/config.toml", b"a = 1\n[b\n", "line 2"),
        ("gemini", ".gemini/settings.json", b"[1]", "not an object"),
        (
            "zed",
            ".config/zed/settings.json",
            b"{\"a\": \"\xff\"}",
            "UTF-8 from byte 7",
        ),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            b"{\n \"servers\": []}",
            "line 2: `servers` is not an object",
        ),
        (
            "claude-code",
            ".claude/settings.json",
            b"{\"hooks\": {\"Stop\": 1}}",
            "`hooks.Stop` is not a list",
        ),
    ];
    for (agent, path, bytes, place) in broken {
        let scene = Scene::new();
        scene.write(path, bytes);
        let before = scene.picture();
        let error = scene
            .try_connect(&scene.asked(&["codex", agent]))
            .unwrap_err()
            .to_string();
        assert!(error.contains(path) && error.contains(place), "{error}");
        assert_eq!(scene.picture(), before, "{path}");
    }
}

#[test]
fn a_name_that_another_server_has_is_refused() {
    let scene = Scene::new();
    scene.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"loci\": {\"command\": \"other\"}}}",
    );
    let error = scene.try_connect(&scene.asked(&["cursor"])).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`loci` is already the name of another server"),
        "{error}"
    );
    assert_eq!(error.advice(), Some(Advice::NameServer), "{error}");
}

#[test]
fn an_unknown_agent_lists_the_known_ones() {
    let scene = Scene::new();
    let error = scene.try_connect(&scene.asked(&["emacs"])).unwrap_err();
    assert!(error.to_string().contains("claude-code, codex"), "{error}");
}

#[test]
fn fields_that_people_add_to_the_entry_stay() {
    let scene = Scene::new();
    scene.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"loci\": {\"command\": \"/old/loci\", \"args\": [\"mcp\"], \"env\": {\"A\": \"b\"}}}}",
    );
    scene.connect(&["cursor"]);
    let entry = scene.json(".cursor/mcp.json")["mcpServers"]["loci"].clone();
    assert_eq!(entry["env"]["A"], "b");
    assert_eq!(entry["command"], scene.program().to_str().unwrap());
    let codex = "[mcp_servers.loci]\ncommand = \"/old/loci\" # here\nargs = [\"mcp\"]\nstartup_timeout_sec = 20\n";
    scene.write(".codex/config.toml", codex);
    scene.connect(&["codex"]);
    let new = format!("\"{}\"", scene.program().display());
    assert_eq!(
        scene.read(".codex/config.toml"),
        codex.replace("\"/old/loci\"", &new)
    );
}

#[test]
fn of_two_keys_of_one_name_the_one_that_counts_is_used() {
    let scene = Scene::new();
    scene.write(
        ".cursor/mcp.json",
        "{\n  \"mcpServers\": {\"a\": {}},\n  \"mcpServers\": {\"b\": {}}\n}\n",
    );
    scene.connect(&["cursor"]);
    let servers = scene.json(".cursor/mcp.json")["mcpServers"].clone();
    assert!(
        servers["b"].is_object() && servers["loci"].is_object(),
        "{servers}"
    );
}
