//! An agent whose file cannot be changed does not keep the others from being connected or
//! disconnected.

use std::fs;

use loci_agents::wiring::{connect, disconnect, plan};

use super::scene::Scene;

const BROKEN: &str = "{\"mcpServers\": {";

fn scene() -> Scene {
    let scene = Scene::new();
    for directory in [".codex", ".cursor", ".gemini"] {
        fs::create_dir_all(scene.path(directory)).unwrap();
    }
    scene
}

#[test]
fn agents_that_can_be_wired_are_and_the_broken_one_is_named() {
    let scene = scene();
    scene.write(".cursor/mcp.json", BROKEN);
    let planned = plan(&scene.home, &scene.asked(&[])).unwrap();
    assert_eq!(planned.failed[0].agent, "cursor");
    assert!(planned.changes.iter().all(|one| one.agent != "cursor"));
    let done = connect(&scene.home, &scene.asked(&[]), &mut |_| Ok(())).unwrap();
    assert_eq!(done.failed.len(), 1);
    let error = done.failed[0].error.to_string();
    assert!(error.contains("mcp.json"), "{error}");
    assert!(scene.read(".codex/config.toml").contains("loci"));
    assert!(scene.read(".gemini/settings.json").contains("loci"));
    assert_eq!(scene.read(".cursor/mcp.json"), BROKEN);
    assert!(
        !scene.path(".cursor/hooks.json").exists(),
        "an agent is wired wholly or not"
    );
}

#[test]
fn a_file_that_cannot_be_written_does_not_stop_the_others() {
    let scene = scene();
    let before = scene.picture();
    // A directory has the name of the temporary file, so writing fails for every user.
    fs::create_dir_all(scene.path(".cursor/.mcp.json.loci-new/x")).unwrap();
    let done = connect(&scene.home, &scene.asked(&[]), &mut |_| Ok(())).unwrap();
    let failed: Vec<&str> = done.failed.iter().map(|one| one.agent).collect();
    assert_eq!(failed, ["cursor"]);
    assert!(scene.read(".gemini/settings.json").contains("loci"));
    fs::remove_dir_all(scene.path(".cursor/.mcp.json.loci-new")).unwrap();
    scene.disconnect();
    assert_eq!(scene.picture(), before);
}

#[test]
fn the_others_are_undone_and_the_broken_one_once_it_is_repaired() {
    let scene = scene();
    let before = scene.picture();
    scene.connect(&[]);
    let wired = scene.read(".cursor/mcp.json");
    for broken in [true, false] {
        let path = scene.path(".cursor/mcp.json");
        fs::remove_file(&path).unwrap();
        if broken {
            fs::write(&path, BROKEN).unwrap();
        } else {
            fs::create_dir(&path).unwrap();
        }
        let done = disconnect(&scene.home, &[], false).unwrap();
        assert_eq!(done.failed.len(), 1);
        assert_eq!(done.failed[0].agent, "cursor");
        assert_eq!(done.changes.is_empty(), !broken, "the rest goes at once");
        assert!(!scene.path(".gemini/settings.json").exists());
    }
    fs::remove_dir(scene.path(".cursor/mcp.json")).unwrap();
    scene.write(".cursor/mcp.json", wired);
    scene.disconnect();
    assert_eq!(scene.picture(), before);
}
