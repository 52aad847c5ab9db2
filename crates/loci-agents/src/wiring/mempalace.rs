//! Recognises MemPalace's own wiring.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::entry::{flag, shell_words, words_of_server};
use super::files;
use super::json_text::{JsonText, keys};

/// A server that Claude Code has for a single directory.
#[derive(Debug)]
pub(super) struct Local {
    pub(super) directory: String,
    pub(super) name: String,
    pub(super) entry: Value,
}

/// The environment variables that set MemPalace's palace.
const VARIABLES: [&str; 2] = ["MEMPALACE_PALACE_PATH", "MEMPALACE_PALACE"];

/// Returns the palace that an entry of MemPalace's server names.
pub(super) fn palace_of(entry: &Value) -> Option<PathBuf> {
    let environment = entry.get("env").or_else(|| entry.get("environment"));
    let value = |variable: &&str| environment?.get(variable)?.as_str().map(str::to_owned);
    let words = words_of_server(entry);
    let palace = flag(&words, "--palace").or_else(|| VARIABLES.iter().find_map(value))?;
    Some(PathBuf::from(palace)).filter(|palace| palace.is_absolute())
}

/// Returns the names of MemPalace's servers in the `.mcp.json` of a project, which is shared by
/// everyone who works on it.
pub fn in_project(directory: &Path) -> Vec<String> {
    let bytes = files::read(&directory.join(".mcp.json")).ok().flatten();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(json) = text.and_then(|text| JsonText::parse(text).ok()) else {
        return Vec::new();
    };
    match json.get(&keys(&["mcpServers"])) {
        Some(Value::Object(servers)) => servers
            .into_iter()
            .filter(|(_, entry)| is_server(entry))
            .map(|(name, _)| name)
            .collect(),
        _ => Vec::new(),
    }
}

/// Whether an entry runs MemPalace's server.
pub(super) fn is_server(entry: &Value) -> bool {
    runs_server(&words_of_server(entry))
}

fn runs_server(words: &[String]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let next = words.get(at + 1).map(String::as_str);
        matches!(name(word), "mempalace-mcp" | "mempalace-light-mcp")
            || (name(word) == "mempalace" && next == Some("mcp"))
            || (word == "-m" && next.is_some_and(|module| module.starts_with("mempalace.") && module.ends_with("mcp_server")))
            // `bash -c "… mempalace-mcp"` and similar commands.
            || (word.contains(' ') && runs_server(&shell_words(word)))
    })
}

/// Whether the command of a hook runs MemPalace.
pub(super) fn is_hook(command: &str) -> bool {
    let words = shell_words(command);
    words.iter().enumerate().any(|(at, word)| {
        let next = words.get(at + 1).map(String::as_str);
        let script = name(word);
        (script == "mempalace" && next == Some("hook"))
            || (matches!(word.as_str(), "-m")
                && next.is_some_and(|module| module.starts_with("mempalace")))
            || (script.starts_with("mempal") && script.contains("hook"))
            || (word.contains(' ') && word != command && is_hook(word))
    })
}

/// Whether a plugin of Claude Code, named `plugin@marketplace`, is MemPalace's.
pub(super) fn is_plugin(plugin: &str) -> bool {
    plugin.split('@').next() == Some("mempalace")
}

/// Returns the name of a program without its directory and extension.
fn name(word: &str) -> &str {
    Path::new(word)
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn its_server_is_known_in_every_documented_form() {
        let entries = [
            json!({"command": "mempalace-mcp"}),
            json!({"command": "/opt/venv/bin/mempalace-mcp", "args": ["--palace", "/p"]}),
            json!({"command": "mempalace-light-mcp"}),
            json!({"command": "python", "args": ["-m", "mempalace.mcp_server"]}),
            json!({"command": "/v/bin/python3", "args": ["-m", "mempalace.mcp_server", "--palace", "/p"]}),
            json!({"command": "uvx", "args": ["--from", "mempalace", "mempalace", "mcp"]}),
            json!({"type": "local", "command": ["mempalace-mcp"]}),
            json!({"command": "bash", "args": ["-c", "exec mempalace-mcp --quiet"]}),
        ];
        for entry in &entries {
            assert!(is_server(entry), "{entry}");
        }
        let others = [
            json!({"command": "loci", "args": ["mcp", "--tools", "mempalace"]}),
            json!({"command": "notes", "args": ["/home/me/mempalace"]}),
            json!({"url": "https://example.org/mempalace-mcp"}),
        ];
        for entry in &others {
            assert!(!is_server(entry), "{entry}");
        }
    }

    #[test]
    fn its_hooks_are_known_as_command_module_and_script() {
        let commands = [
            "mempalace hook run --hook stop --harness claude-code",
            "/venv/bin/mempalace hook run --hook precompact --harness codex",
            "python3 -m mempalace hook run --hook stop --harness claude-code",
            "/absolute/path/to/hooks/mempal_save_hook.sh",
            "bash \"/my hooks/mempal_precompact_hook.sh\"",
            "bash \"${CLAUDE_PLUGIN_ROOT}/hooks/mempal-stop-hook.sh\"",
            "sh -c 'mempalace hook run --hook stop'",
        ];
        for command in commands {
            assert!(is_hook(command), "{command}");
        }
        let others = [
            "loci hook Stop --harness codex",
            "cat ~/mempalace/notes",
            "make hooks",
            "",
        ];
        for command in others {
            assert!(!is_hook(command), "{command}");
        }
    }
}
