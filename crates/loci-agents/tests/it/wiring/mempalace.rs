//! MemPalace's wiring is found, replaced, and restored.

use loci_agents::wiring::plan;
use serde_json::json;

use super::scene::Scene;

const CLAUDE: &str = r#"{
  "mcpServers": {
    "mempalace": {
      "type": "stdio",
      "command": "/venv/bin/python",
      "args": ["-m", "mempalace.mcp_server"],
      "env": {"MEMPALACE_PALACE": "/p"}
    },
    "other": {"command": "x"}
  }
}
"#;

const SETTINGS: &str = r#"{
  "hooks": {
    "Stop": [
      {
        "matcher": "*",
        "hooks": [
          {"type": "command", "command": "/hooks/mempal_save_hook.sh", "timeout": 30}
        ]
      },
      {
        "hooks": [
          {"type": "command", "command": "say done"},
          {"type": "command", "command": "mempalace hook run --hook stop --harness claude-code"}
        ]
      }
    ],
    "PreCompact": [
      {"hooks": [{"type": "command", "command": "mempalace hook run --hook precompact --harness claude-code"}]}
    ]
  },
  "enabledPlugins": {"mempalace@mempalace": true, "other@x": true}
}
"#;

const CODEX: &str = "[mcp_servers.mempalace]\ncommand = \"mempalace-mcp\"\n\n[mcp_servers.mempalace.env]\nA = \"b\"\n\n[mcp_servers.other]\ncommand = \"x\"\n";

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write(".claude.json", CLAUDE);
    scene.write(".claude/settings.json", SETTINGS);
    scene.write(".codex/config.toml", CODEX);
    scene
}

fn replaced(scene: &Scene) {
    let mut asked = scene.asked(&["claude-code", "codex"]);
    asked.replace_mempalace = true;
    scene.try_connect(&asked).unwrap();
}

#[test]
fn it_is_found_and_left_alone_unless_asked() {
    let scene = scene();
    let asked = scene.asked(&["claude-code", "codex", "cursor"]);
    assert_eq!(
        plan(&scene.home, &asked).unwrap().mempalace,
        ["claude-code", "codex"]
    );
    scene.try_connect(&asked).unwrap();
    let servers = scene.json(".claude.json")["mcpServers"].clone();
    assert_eq!(servers["mempalace"]["command"], "/venv/bin/python");
    assert!(servers["loci"].is_object());
}

#[test]
fn its_server_gives_its_name_to_ours_with_its_tools() {
    let scene = scene();
    replaced(&scene);
    let servers = scene.json(".claude.json")["mcpServers"].clone();
    let ours = json!({"type": "stdio", "command": scene.program().to_str().unwrap(), "args": ["mcp", "--tools", "mempalace"]});
    assert_eq!(
        servers,
        json!({"mempalace": ours, "other": {"command": "x"}})
    );
    let codex = scene.read(".codex/config.toml");
    assert!(
        codex.contains("[mcp_servers.mempalace]\ncommand = \""),
        "{codex}"
    );
    assert!(
        !codex.contains("mempalace-mcp") && !codex.contains("env"),
        "{codex}"
    );
    assert!(
        scene.connect(&["claude-code", "codex"]).is_empty(),
        "asked again, nothing is left to do"
    );
}

#[test]
fn its_hooks_and_plugin_go_and_those_of_others_stay() {
    let scene = scene();
    replaced(&scene);
    let settings = scene.json(".claude/settings.json");
    assert_eq!(
        settings["enabledPlugins"],
        json!({"mempalace@mempalace": false, "other@x": true})
    );
    let text = scene.read(".claude/settings.json");
    assert!(
        !text.contains("mempal_save") && !text.contains("mempalace hook"),
        "{text}"
    );
    assert_eq!(
        settings["hooks"]["Stop"][0]["hooks"],
        json!([{"type": "command", "command": "say done"}])
    );
    assert_eq!(settings["hooks"]["PreCompact"].as_array().unwrap().len(), 1);
}

#[test]
fn disconnecting_puts_it_back_byte_for_byte() {
    let scene = scene();
    let before = scene.picture();
    replaced(&scene);
    scene.disconnect();
    assert_eq!(scene.picture(), before);
}

#[test]
fn disconnecting_puts_it_back_into_files_that_were_changed_since() {
    let scene = scene();
    replaced(&scene);
    scene.write(
        ".claude.json",
        scene.read(".claude.json").replace("\"x\"", "\"y\""),
    );
    let text = scene.read(".claude/settings.json");
    scene.write(
        ".claude/settings.json",
        text.replace("say done", "say over"),
    );
    let codex = scene.read(".codex/config.toml");
    scene.write(".codex/config.toml", format!("# new\n{codex}"));
    scene.disconnect();
    let then = CLAUDE.replace("\"x\"", "\"y\"");
    assert_eq!(scene.read(".claude.json"), then, "it stands where it stood");
    let settings = scene.json(".claude/settings.json");
    assert_eq!(settings["enabledPlugins"]["mempalace@mempalace"], true);
    let text = scene.read(".claude/settings.json");
    assert_eq!(text.matches("mempal_save_hook.sh").count(), 1, "{text}");
    assert_eq!(text.matches("mempalace hook run").count(), 2, "{text}");
    assert!(text.contains("say over") && !text.contains("my programs/loci"));
    let codex = scene.read(".codex/config.toml");
    assert!(
        codex.starts_with("# new\n")
            && codex.contains("mempalace-mcp")
            && codex.contains("[mcp_servers.mempalace.env]\nA = \"b\""),
        "{codex}"
    );
}

#[test]
fn its_hooks_give_way_to_ours_even_if_none_were_asked_for() {
    let scene = scene();
    let mut asked = scene.asked(&["claude-code", "codex"]);
    (asked.replace_mempalace, asked.hooks) = (true, false);
    scene.try_connect(&asked).unwrap();
    let settings = scene.read(".claude/settings.json");
    assert!(
        settings.contains("hook Stop --harness claude-code"),
        "{settings}"
    );
    assert!(
        !scene.path(".codex/hooks.json").exists(),
        "Codex had none of its hooks"
    );
}

const LOCAL: &str = r#"{
  "projects": {
    "/my code": {
      "mcpServers": {
        "memory": {"command": "mempalace-mcp", "env": {"MEMPALACE_PALACE_PATH": "/its/palace"}},
        "other": {"command": "x"}
      }
    }
  }
}
"#;

#[test]
fn a_server_of_one_directory_is_found_replaced_and_put_back() {
    let scene = Scene::new();
    scene.write(".claude.json", LOCAL);
    let states = loci_agents::wiring::survey_for(&scene.home, &scene.program());
    assert!(states[0].mempalace);
    let mut asked = scene.asked(&["claude-code"]);
    let found = plan(&scene.home, &asked).unwrap();
    assert_eq!(found.mempalace, ["claude-code"]);
    assert_eq!(found.local, [("/my code".into(), "memory".to_owned())]);
    assert_eq!(found.palaces, [std::path::PathBuf::from("/its/palace")]);
    asked.replace_mempalace = true;
    scene.try_connect(&asked).unwrap();
    let now = scene.json(".claude.json");
    let servers = &now["projects"]["/my code"]["mcpServers"];
    assert_eq!(*servers, json!({"other": {"command": "x"}}));
    let arguments = &now["mcpServers"]["memory"]["args"];
    assert_eq!(*arguments, json!(["mcp", "--tools", "mempalace"]));
    assert!(plan(&scene.home, &asked).unwrap().mempalace.is_empty());
    let text = scene.read(".claude.json");
    scene.write(".claude.json", text.replace("\"x\"", "\"y\""));
    scene.disconnect();
    let then: serde_json::Value = serde_json::from_str(&LOCAL.replace("\"x\"", "\"y\"")).unwrap();
    assert_eq!(scene.json(".claude.json"), then);
}

#[test]
fn a_server_of_a_project_is_known_by_its_file() {
    let scene = Scene::new();
    scene.write(
        ".mcp.json",
        "{\"mcpServers\": {\"m\": {\"command\": \"mempalace-mcp\"}, \"o\": {\"command\": \"x\"}}}",
    );
    let names = loci_agents::wiring::mempalace_in_project(&scene.home.home);
    assert_eq!(names, ["m"]);
}
