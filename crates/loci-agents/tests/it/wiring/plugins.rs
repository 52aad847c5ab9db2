//! The plugin manifests of this repository match what connecting writes.

use std::path::Path;

use serde_json::Value;

use super::scene::Scene;

fn manifest(path: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(path)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A scene in which the program is named as a plugin names it.
fn connected() -> Scene {
    let scene = Scene::new();
    let mut asked = scene.asked(&["claude-code", "codex", "cursor"]);
    asked.program = "loci".into();
    scene.try_connect(&asked).unwrap();
    scene
}

#[test]
fn hooks_of_plugins_are_those_that_connecting_writes() {
    let scene = connected();
    for (plugin, file) in [
        ("hooks/hooks.json", ".claude/settings.json"),
        ("hooks/codex.json", ".codex/hooks.json"),
    ] {
        assert_eq!(
            manifest(plugin)["hooks"],
            scene.json(file)["hooks"],
            "{plugin}"
        );
    }
}

#[test]
fn the_server_of_plugins_is_the_one_that_connecting_writes() {
    let scene = connected();
    let server = manifest(".claude-plugin/mcp.json")["mcpServers"]["loci"].clone();
    assert_eq!(server, scene.json(".cursor/mcp.json")["mcpServers"]["loci"]);
}

#[test]
fn manifests_name_this_version_and_files_that_are_there() {
    for path in [".claude-plugin/plugin.json", ".codex-plugin/plugin.json"] {
        let plugin = manifest(path);
        assert_eq!(plugin["name"], "loci", "{path}");
        assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"), "{path}");
        for key in ["hooks", "mcpServers"] {
            if let Some(file) = plugin[key].as_str() {
                assert!(file.starts_with("./"), "{path}");
                manifest(file);
            }
        }
    }
    let marketplace = manifest(".claude-plugin/marketplace.json");
    assert_eq!(marketplace["plugins"][0]["name"], "loci");
    assert_eq!(marketplace["plugins"][0]["source"], "./");
    assert!(marketplace["owner"]["name"].is_string());
}
