//! Agents wired by one command, and not otherwise.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::support::{Dir, Ran};

const CLAUDE: &str =
    "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"x\": { \"command\": \"x\" }\n  }\n}\n";
const CODEX: &str = "model = \"gpt-5\" # mine\r\n";
const ZED: &str = "// mine\n{\n  \"theme\": \"One\", // dark\n}\n";

fn home() -> Dir {
    let dir = Dir::new();
    for (name, text) in [
        (".claude.json", CLAUDE),
        (".codex/config.toml", CODEX),
        (".config/zed/settings.json", ZED),
    ] {
        put(&dir, name, text);
    }
    dir
}

fn put(dir: &Dir, name: &str, text: &str) {
    let path = dir.path("home").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(dir: &Dir, name: &str) -> String {
    fs::read_to_string(dir.path("home").join(name)).unwrap()
}

/// The files of the home with their bytes and times; not those that Loci keeps for itself.
fn picture(dir: &Dir) -> Vec<(PathBuf, Vec<u8>, SystemTime)> {
    let ours = dir.path("home/.local/state");
    Dir::files(&dir.path("home"))
        .into_iter()
        .filter(|path| !path.starts_with(&ours))
        .map(|path| {
            let time = fs::metadata(&path).unwrap().modified().unwrap();
            (path.clone(), fs::read(&path).unwrap(), time)
        })
        .collect()
}

fn bytes(dir: &Dir) -> Vec<(PathBuf, Vec<u8>)> {
    picture(dir)
        .into_iter()
        .map(|(path, bytes, _)| (path, bytes))
        .collect()
}

#[test]
fn a_dry_run_shows_the_change_and_touches_nothing() {
    let dir = home();
    let before = picture(&dir);
    let ran = dir.run(&["connect", "--hooks", "--dry-run"]).ok();
    assert!(ran.stdout.contains(".claude.json (changed)"), "{ran:?}");
    assert!(ran.stdout.contains("+ [mcp_servers.loci]"), "{ran:?}");
    assert!(ran.stdout.ends_with("nothing was written\n"), "{ran:?}");
    assert_eq!(picture(&dir), before);
    assert!(!dir.path("home/.local").exists() && !dir.palace().exists());
}

#[test]
fn nothing_is_changed_when_nobody_can_be_asked() {
    let dir = home();
    let before = picture(&dir);
    let error = dir.error(64, &["connect"]);
    assert!(error["help"].as_str().unwrap().contains("--yes"), "{error}");
    assert_eq!(picture(&dir), before);
}

#[test]
fn connecting_and_disconnecting_leaves_every_byte_as_it_was() {
    let dir = home();
    let before = bytes(&dir);
    let ran = dir.run(&["connect", "--hooks", "--yes"]).ok();
    assert!(
        ran.stderr.contains("/hooks"),
        "Codex wants hooks to be trusted: {ran:?}"
    );
    assert!(read(&dir, ".config/zed/settings.json").contains("\"context_servers\""));
    let again = dir.run(&["connect", "--hooks", "--yes"]).ok();
    assert!(
        again
            .stdout
            .contains("already connected: claude-code, codex, zed"),
        "{again:?}"
    );
    dir.run(&["disconnect"]).ok();
    assert_eq!(bytes(&dir), before);
    assert_eq!(dir.run(&["disconnect"]).code, 1);
}

#[test]
fn programs_get_the_changes_as_json() {
    let dir = home();
    let answer = dir.json(0, &["connect", "claude-code", "--yes"]);
    assert_eq!(answer["agents"], json!(["claude-code"]));
    let change = &answer["changes"][0];
    assert_eq!(change["act"], "changed");
    assert!(change["path"].as_str().unwrap().ends_with(".claude.json"));
    assert!(
        change["edits"][0]["inserted"]
            .as_str()
            .unwrap()
            .contains("\"loci\""),
        "{change}"
    );
    let undone = dir.json(0, &["disconnect"]);
    assert_eq!(undone["changes"][0]["act"], "restored");
}

#[test]
fn the_palace_is_written_only_if_it_was_named() {
    let dir = home();
    let mut plain = dir.command();
    plain.env_remove("LOCI_PALACE");
    Ran::of(plain.args(["connect", "claude-code", "--yes"])).ok();
    assert!(!read(&dir, ".claude.json").contains("palace"));
    dir.run(&["connect", "claude-code", "--yes", "--palace", "my palace"])
        .ok();
    let entry: Value = serde_json::from_str(&read(&dir, ".claude.json")).unwrap();
    let arguments = &entry["mcpServers"]["loci"]["args"];
    let place = dir
        .path("my palace")
        .canonicalize()
        .unwrap_or_else(|_| dir.path("my palace"));
    assert_eq!(arguments[1], "--palace");
    assert!(Path::new(arguments[2].as_str().unwrap()).ends_with(place.file_name().unwrap()));
    assert!(Path::new(arguments[2].as_str().unwrap()).is_absolute());
}

/// Agents hand no variables on, so that an entry has to say what a variable said.
#[test]
fn the_palace_that_a_variable_chose_is_written() {
    for (variable, value, palace) in [
        ("LOCI_PALACE", "mine", "mine"),
        ("XDG_DATA_HOME", "data", "data/loci/palace"),
    ] {
        let dir = home();
        let mut command = dir.command();
        command
            .env_remove("LOCI_PALACE")
            .env(variable, dir.path(value))
            .args(["connect", "claude-code", "--hooks", "--yes"]);
        Ran::of(&mut command).ok();
        let palace = dir.path(palace);
        let palace = palace.to_str().unwrap();
        let entry: Value = serde_json::from_str(&read(&dir, ".claude.json")).unwrap();
        assert_eq!(
            entry["mcpServers"]["loci"]["args"],
            json!(["mcp", "--palace", palace])
        );
        assert!(read(&dir, ".claude/settings.json").contains(palace));
    }
}

#[test]
fn a_palace_that_the_configuration_names_is_left_to_it() {
    let dir = home();
    put(
        &dir,
        ".config/loci/config.toml",
        "palace = \"/my/palace\"\n",
    );
    let mut command = dir.command();
    command.env_remove("LOCI_PALACE");
    Ran::of(command.args(["connect", "claude-code", "--yes"])).ok();
    assert!(!read(&dir, ".claude.json").contains("palace"));
}

#[test]
fn a_name_that_is_none_is_answered_with_the_one_that_is_meant() {
    let dir = home();
    for (typed, meant) in [
        ("claude", "claude-code"),
        ("code", "vscode"),
        ("gemini-cli", "gemini"),
    ] {
        let error = dir.error(64, &["connect", typed, "--yes"]);
        assert!(error["help"].as_str().unwrap().contains(meant), "{error}");
    }
    dir.error(64, &["disconnect", "emacs"]);
}

#[test]
fn doctor_says_where_agents_remember_if_it_is_elsewhere() {
    let dir = home();
    dir.run(&["init"]).ok();
    dir.run(&["connect", "zed", "--yes", "--palace", "elsewhere"])
        .ok();
    let ran = dir.run(&["doctor"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("Zed uses the palace"), "{ran:?}");
    dir.run(&["connect", "zed", "--yes"]).ok();
    let ran = dir.run(&["doctor"]).ok();
    assert!(!ran.stdout.contains("uses the palace"), "{ran:?}");
}

#[test]
fn what_is_written_runs_from_a_directory_with_spaces() {
    let dir = home();
    let program = dir.path("my programs/loci");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_loci"), &program).unwrap();
    let mut command = Command::new(&program);
    command.env_clear().env("HOME", dir.path("home")).args([
        "connect",
        "--hooks",
        "--yes",
        "--palace",
        "it's a palace",
        "claude-code",
    ]);
    Ran::of(&mut command).ok();
    let servers: Value = serde_json::from_str(&read(&dir, ".claude.json")).unwrap();
    let entry = &servers["mcpServers"]["loci"];
    let arguments = entry["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap());
    let mut server = Command::new(entry["command"].as_str().unwrap());
    Ran::of(server.env_clear().args(arguments).arg("--help")).ok();
    let settings: Value = serde_json::from_str(&read(&dir, ".claude/settings.json")).unwrap();
    for (event, groups) in settings["hooks"].as_object().unwrap() {
        let line = groups[0]["hooks"][0]["command"].as_str().unwrap();
        let ran = dir.shell(&format!("{line} --help")).ok();
        assert!(ran.stdout.contains("loci hook"), "{event}: {ran:?}");
    }
}

#[test]
fn every_hook_that_is_written_is_one_that_loci_answers() {
    let dir = home();
    dir.run(&[
        "connect",
        "--hooks",
        "--yes",
        "claude-code",
        "codex",
        "cursor",
        "gemini",
    ])
    .ok();
    let files = [
        ".claude/settings.json",
        ".codex/hooks.json",
        ".cursor/hooks.json",
        ".gemini/settings.json",
    ];
    for file in files {
        let settings: Value = serde_json::from_str(&read(&dir, file)).unwrap();
        for (event, list) in settings["hooks"].as_object().unwrap() {
            let entry = &list[0];
            let line = entry["hooks"][0]["command"]
                .as_str()
                .or(entry["command"].as_str())
                .unwrap();
            let ran = dir.shell(&format!("echo '{{}}' | LOCI_HOOKS=off {line}"));
            assert_eq!(
                (ran.code, ran.stderr.as_str()),
                (0, ""),
                "{file}, {event}: {ran:?}"
            );
        }
    }
}

#[test]
fn a_broken_file_is_reported_and_the_others_are_wired_and_undone() {
    let dir = home();
    let broken = "{\n  \"mcpServers\": {\n";
    put(&dir, ".cursor/mcp.json", broken);
    let before = bytes(&dir);
    let ran = dir.run(&["connect", "--yes"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    for said in [
        "cursor was skipped",
        "mcp.json",
        "line",
        "loci connect cursor",
    ] {
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
    for said in [
        "connected: claude-code, codex, zed",
        "loci disconnect",
        "wiring/backups",
    ] {
        assert!(ran.stdout.contains(said), "{ran:?}");
    }
    dir.run(&["disconnect"]).ok();
    assert_eq!(bytes(&dir), before);
    put(&dir, ".cursor/mcp.json", "{}");
    dir.run(&["connect", "--yes"]).ok();
    put(&dir, ".cursor/mcp.json", broken);
    let answer = dir.json(2, &["disconnect"]);
    assert_eq!(answer["failed"][0]["agent"], "cursor");
    assert_eq!(bytes(&dir), before, "all others are undone");
}

#[test]
fn a_broken_file_of_an_agent_that_was_named_stops_the_command() {
    let dir = home();
    put(&dir, ".cursor/mcp.json", "{\n  \"mcpServers\": {\n");
    let before = picture(&dir);
    let error = dir.error(2, &["connect", "zed", "cursor", "--yes"]);
    assert!(error["message"].as_str().unwrap().contains("mcp.json"));
    assert_eq!(picture(&dir), before);
}

#[test]
fn mempalace_is_mentioned_replaced_and_put_back() {
    let dir = home();
    put(
        &dir,
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"mempalace\": {\"command\": \"mempalace-mcp\"}}}",
    );
    let before = bytes(&dir);
    let ran = dir.run(&["connect", "cursor", "--dry-run"]).ok();
    assert!(ran.stderr.contains("--replace-mempalace"), "{ran:?}");
    let kept = dir
        .run(&["connect", "cursor", "--dry-run", "--keep-mempalace"])
        .ok();
    assert!(!kept.stderr.contains("--replace-mempalace"), "{kept:?}");
    let mut command = dir.command();
    command.env_remove("LOCI_PALACE");
    let ran = Ran::of(command.args(["connect", "cursor", "--yes", "--replace-mempalace"])).ok();
    assert!(!ran.stderr.contains("--replace-mempalace"), "{ran:?}");
    let servers: Value = serde_json::from_str(&read(&dir, ".cursor/mcp.json")).unwrap();
    assert_eq!(
        servers["mcpServers"]["mempalace"]["args"],
        json!(["mcp", "--tools", "mempalace"])
    );
    dir.run(&["disconnect"]).ok();
    assert_eq!(bytes(&dir), before);
}

#[test]
fn transcripts_are_counted_and_read_in_when_asked() {
    let dir = home();
    let talk = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"the harbour light is green\"},\"sessionId\":\"s\",\"timestamp\":\"2026-02-03T10:00:00Z\"}\n{\"type\":\"assistant\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"noted\"}]},\"sessionId\":\"s\",\"timestamp\":\"2026-02-03T10:00:01Z\"}\n";
    put(&dir, ".claude/projects/-code/s.jsonl", talk);
    let ran = dir.run(&["connect", "claude-code", "--yes"]).ok();
    assert!(
        ran.stderr.contains("1 transcript(s)") && ran.stderr.contains("loci mine --agents"),
        "{ran:?}"
    );
    assert!(!dir.palace().exists());
    let answer = dir.json(0, &["connect", "claude-code", "--yes", "--mine"]);
    assert_eq!(answer["transcripts"]["files"], 1);
    assert!(answer["mined"].is_object(), "{answer}");
    let found = dir.run(&["search", "harbour light"]).ok();
    assert!(found.stdout.contains("green"), "{found:?}");
}

#[test]
fn no_agent_is_nothing_found() {
    let dir = Dir::new();
    let mut command = dir.command();
    command.env("PATH", "/nowhere").args(["connect", "--yes"]);
    let ran = Ran::of(&mut command);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("claude-code, codex"), "{ran:?}");
}

#[test]
fn a_killed_connect_leaves_files_whole_and_can_be_undone() {
    let mut cut = 0;
    for delay in 0..24_u64 {
        let dir = home();
        let before = bytes(&dir);
        let mut child = dir
            .command()
            .args(["connect", "--hooks", "--yes"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let since = Instant::now();
        while since.elapsed() < Duration::from_micros(delay * 700) {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        cut += u32::from(child.wait().unwrap().code().is_none());
        for name in [
            ".claude.json",
            ".codex/config.toml",
            ".config/zed/settings.json",
        ] {
            let old = [CLAUDE, CODEX, ZED].contains(&read(&dir, name).as_str());
            let new = read(&dir, name).contains("loci") && read(&dir, name).ends_with('\n');
            assert!(old || new, "{name}: {}", read(&dir, name));
        }
        dir.run(&["disconnect"]);
        assert_eq!(bytes(&dir), before);
    }
    assert!(cut > 0, "no run was killed in time");
}
