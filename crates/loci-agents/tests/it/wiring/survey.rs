//! The state of each agent, as shown by `loci doctor`.

use std::fs;

use loci_agents::wiring::{AgentState, Wired, WiringAdvice, survey_for};

use super::scene::{AGENTS, Scene};

fn state(scene: &Scene, agent: &str) -> AgentState {
    let all = survey_for(&scene.home, &scene.program());
    all.into_iter().find(|state| state.agent == agent).unwrap()
}

#[test]
fn every_agent_is_seen_before_connected_and_after() {
    let scene = Scene::new();
    for state in survey_for(&scene.home, &scene.program()) {
        assert!(
            !state.found && state.server == Wired::No && state.advice.is_none(),
            "{state:?}"
        );
    }
    let agents = AGENTS.map(|(agent, _)| agent);
    scene.connect(&agents);
    let states = survey_for(&scene.home, &scene.program());
    assert_eq!(states.len(), agents.len());
    for state in states {
        assert!(state.found, "{state:?}");
        assert_eq!(state.server, Wired::Yes, "{state:?}");
        assert!(
            matches!(state.hooks, Wired::Yes | Wired::Unsupported),
            "{state:?}"
        );
        assert_eq!(state.advice, None, "{state:?}");
        assert!(!state.files.is_empty());
    }
}

#[test]
fn an_agent_that_is_not_wired_is_reported_with_advice() {
    let scene = Scene::new();
    scene.write(".cursor/mcp.json", "{}");
    let state = state(&scene, "cursor");
    assert_eq!(
        (state.found, state.server, state.hooks),
        (true, Wired::No, Wired::No)
    );
    let advice = WiringAdvice::Connect {
        agent: "cursor",
        hooks: true,
    };
    assert_eq!(state.advice, Some(advice));
}

#[test]
fn an_entry_of_a_program_that_is_gone_or_another_is_outdated() {
    let scene = Scene::new();
    let mut asked = scene.asked(&["cursor"]);
    asked.program = scene.path("gone/loci");
    scene.try_connect(&asked).unwrap();
    let gone = state(&scene, "cursor");
    assert_eq!(
        (gone.server, gone.hooks),
        (Wired::Outdated, Wired::Outdated)
    );
    let advice = WiringAdvice::ConnectAgain {
        agent: "cursor",
        hooks: true,
    };
    assert_eq!(gone.advice, Some(advice));
    scene.write("gone/loci", "another program");
    assert_eq!(state(&scene, "cursor").server, Wired::Outdated);
    scene.connect(&["cursor"]);
    assert_eq!(state(&scene, "cursor").server, Wired::Yes);
}

#[test]
fn a_hook_that_is_missing_is_outdated() {
    let scene = Scene::new();
    scene.connect(&["cursor"]);
    let text = scene
        .read(".cursor/hooks.json")
        .replace("\"stop\"", "\"halt\"");
    scene.write(".cursor/hooks.json", text);
    assert_eq!(state(&scene, "cursor").hooks, Wired::Outdated);
}

#[test]
fn a_program_named_without_a_path_is_looked_for_on_the_path() {
    let mut scene = Scene::new();
    scene.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"loci\": {\"command\": \"loci\", \"args\": [\"mcp\"]}}}",
    );
    assert_eq!(state(&scene, "cursor").server, Wired::Outdated);
    scene.home.programs = vec![scene.program().parent().unwrap().to_owned()];
    assert_eq!(state(&scene, "cursor").server, Wired::Yes);
    let mut asked = scene.asked(&["cursor"]);
    asked.hooks = false;
    assert!(
        scene.try_connect(&asked).unwrap().is_empty(),
        "it runs this program already"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_place() {
    let scene = Scene::new();
    scene.write(".cursor/mcp.json", "{\n  oops\n}");
    let state = state(&scene, "cursor");
    assert_eq!(state.server, Wired::Unreadable);
    let Some(WiringAdvice::CorrectFile { problem }) = state.advice else {
        panic!("{:?}", state.advice);
    };
    assert!(
        problem.contains("mcp.json") && problem.contains("line 2"),
        "{problem}"
    );
}

#[test]
fn mempalace_beside_loci_is_mentioned() {
    let scene = Scene::new();
    scene.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"mempalace\": {\"command\": \"mempalace-mcp\"}}}",
    );
    let state = state(&scene, "cursor");
    assert!(state.mempalace);
    let advice = WiringAdvice::ReplaceMempalace { agent: "cursor" };
    assert_eq!(state.advice, Some(advice));
}

#[test]
fn a_plugin_that_is_on_counts_as_wired() {
    let scene = Scene::new();
    scene.write(
        ".claude/settings.json",
        "{\"enabledPlugins\": {\"loci@loci\": true}}",
    );
    let state = state(&scene, "claude-code");
    assert_eq!((state.server, state.hooks), (Wired::Yes, Wired::Yes));
}

#[test]
fn the_directories_that_variables_name_are_used() {
    let mut scene = Scene::new();
    scene.home.claude = Some(scene.path("claude elsewhere"));
    scene.home.codex = scene.path("codex elsewhere");
    scene.connect(&["claude-code", "codex"]);
    for path in [
        "claude elsewhere/.claude.json",
        "claude elsewhere/settings.json",
        "codex elsewhere/config.toml",
        "codex elsewhere/hooks.json",
    ] {
        assert!(scene.path(path).is_file(), "{path}");
    }
    let entries: Vec<_> = fs::read_dir(&scene.home.home)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        !entries
            .iter()
            .any(|name| name == ".claude" || name == ".claude.json" || name == ".codex"),
        "{entries:?}"
    );
}

#[test]
fn an_entry_is_shown_with_its_program_and_its_palace() {
    let scene = Scene::new();
    scene.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"loci\": {\"command\": \"/gone/loci\", \"args\": [\"mcp\", \"--palace\", \"/p\"]}}}",
    );
    let entry = state(&scene, "cursor").entries.remove(0);
    assert!(entry.gone && !entry.current && !entry.hook);
    assert_eq!(entry.program, "/gone/loci");
    assert_eq!(entry.palace, Some("/p".into()));
}

#[test]
fn hooks_are_not_advised_where_there_are_none() {
    let scene = Scene::new();
    fs::create_dir_all(scene.path(".codeium/windsurf")).unwrap();
    let advice = WiringAdvice::Connect {
        agent: "windsurf",
        hooks: false,
    };
    assert_eq!(state(&scene, "windsurf").advice, Some(advice));
}
