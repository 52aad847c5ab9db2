//! The table of agents that can be wired: where their configuration is and how it is written. A new
//! agent is one more entry.

use std::path::{Path, PathBuf};

use crate::home::Home;

/// The properties of an agent.
pub(super) struct Agent {
    /// The short name, as typed.
    pub(super) id: &'static str,
    /// The name for users.
    pub(super) name: &'static str,
    /// Programs that show that the agent is installed.
    pub(super) programs: &'static [&'static str],
    /// The directory of the agent, which shows that it was used here.
    pub(super) directory: fn(&Home) -> PathBuf,
    pub(super) server: Servers,
    pub(super) hooks: Option<Hooks>,
    /// What the user must do after hooks are written.
    pub(super) hint: Option<&'static str>,
}

/// The location of MCP servers.
pub(super) struct Servers {
    pub(super) file: fn(&Home) -> PathBuf,
    pub(super) format: Format,
    /// The keys above the names of servers.
    pub(super) within: &'static [&'static str],
    pub(super) shape: Shape,
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Toml,
}

/// The shape of a server entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `command` and `args`.
    Plain,
    /// The same with `"type": "stdio"`.
    Typed,
    /// The same with an empty `env`.
    WithEnvironment,
    /// Both in one list, with `"type": "local"`.
    Local,
}

/// The location of hooks.
pub(super) struct Hooks {
    pub(super) file: fn(&Home) -> PathBuf,
    pub(super) style: HookStyle,
    /// The events that Loci handles.
    pub(super) events: &'static [Event],
}

/// An event of an agent, by the agent's name for it.
pub(super) struct Event {
    pub(super) name: &'static str,
    /// The matcher that restricts the event; all if there is none.
    pub(super) matcher: Option<&'static str>,
    /// The timeout in the agent's unit, seconds or milliseconds.
    pub(super) timeout: u64,
}

/// The shape of a hook entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookStyle {
    /// An event lists groups with a matcher, a group lists handlers.
    Groups,
    /// An event lists handlers; the file has a version.
    Flat,
}

impl Agent {
    /// Whether the agent is installed on this machine.
    pub(super) fn is_found(&self, home: &Home) -> bool {
        let has = |program: &&str| {
            home.programs
                .iter()
                .any(|path| path.join(program).is_file())
        };
        (self.directory)(home).is_dir()
            || (self.server.file)(home).is_file()
            || self.programs.iter().any(has)
    }

    /// The configuration files, each once.
    pub(super) fn files(&self, home: &Home) -> Vec<PathBuf> {
        let mut files = vec![(self.server.file)(home)];
        files.extend(self.hooks.as_ref().map(|hooks| (hooks.file)(home)));
        files.dedup();
        files
    }
}

const fn on(name: &'static str, matcher: Option<&'static str>, timeout: u64) -> Event {
    Event {
        name,
        matcher,
        timeout,
    }
}

/// Returns the agent with this short name.
pub(super) fn named(id: &str) -> Option<&'static Agent> {
    AGENTS.iter().find(|agent| agent.id == id)
}

const SESSION: Option<&str> = Some("startup|resume|clear|compact");

pub(super) const AGENTS: &[Agent] = &[
    Agent {
        id: "claude-code",
        name: "Claude Code",
        programs: &["claude"],
        directory: claude,
        server: Servers {
            file: |home| {
                home.claude
                    .as_deref()
                    .unwrap_or(&home.home)
                    .join(".claude.json")
            },
            format: Format::Json,
            within: &["mcpServers"],
            shape: Shape::Typed,
        },
        hooks: Some(Hooks {
            file: |home| claude(home).join("settings.json"),
            style: HookStyle::Groups,
            events: &[
                on("SessionStart", SESSION, 10),
                on("UserPromptSubmit", None, 10),
                on("PostToolUseFailure", Some("Bash"), 10),
                on("PreCompact", None, 10),
                on("Stop", None, 10),
                on("SessionEnd", None, 10),
            ],
        }),
        hint: None,
    },
    Agent {
        id: "codex",
        name: "Codex",
        programs: &["codex"],
        directory: |home| home.codex.clone(),
        server: Servers {
            file: |home| home.codex.join("config.toml"),
            format: Format::Toml,
            within: &["mcp_servers"],
            shape: Shape::Plain,
        },
        hooks: Some(Hooks {
            file: |home| home.codex.join("hooks.json"),
            style: HookStyle::Groups,
            events: &[
                on("SessionStart", SESSION, 10),
                on("UserPromptSubmit", None, 10),
                on("PostToolUse", Some("Bash"), 10),
                on("PreCompact", None, 10),
                on("Stop", None, 10),
                on("SessionEnd", None, 3),
            ],
        }),
        hint: Some("Codex runs new hooks once you trust them: type /hooks in it"),
    },
    Agent {
        id: "cursor",
        name: "Cursor",
        programs: &["cursor", "cursor-agent"],
        directory: |home| home.home.join(".cursor"),
        server: Servers {
            file: |home| home.home.join(".cursor/mcp.json"),
            format: Format::Json,
            within: &["mcpServers"],
            shape: Shape::Plain,
        },
        hooks: Some(Hooks {
            file: |home| home.home.join(".cursor/hooks.json"),
            style: HookStyle::Flat,
            events: &[
                on("sessionStart", None, 10),
                on("preCompact", None, 10),
                on("stop", None, 10),
                on("sessionEnd", None, 10),
            ],
        }),
        hint: None,
    },
    Agent {
        id: "gemini",
        name: "Gemini CLI",
        programs: &["gemini"],
        directory: |home| home.gemini.clone(),
        server: Servers {
            file: |home| home.gemini.join("settings.json"),
            format: Format::Json,
            within: &["mcpServers"],
            shape: Shape::Plain,
        },
        hooks: Some(Hooks {
            file: |home| home.gemini.join("settings.json"),
            style: HookStyle::Groups,
            events: &[
                on("SessionStart", None, 10_000),
                on("BeforeAgent", None, 10_000),
                on("AfterTool", Some("run_shell_command"), 10_000),
                on("PreCompress", None, 10_000),
                on("AfterAgent", None, 10_000),
                on("SessionEnd", None, 10_000),
            ],
        }),
        hint: None,
    },
    Agent {
        id: "windsurf",
        name: "Windsurf",
        programs: &["windsurf"],
        directory: |home| home.home.join(".codeium/windsurf"),
        server: Servers {
            file: |home| home.home.join(".codeium/windsurf/mcp_config.json"),
            format: Format::Json,
            within: &["mcpServers"],
            shape: Shape::Plain,
        },
        hooks: None,
        hint: None,
    },
    Agent {
        id: "vscode",
        name: "VS Code",
        programs: &["code"],
        directory: |home| home.applications.join("Code/User"),
        server: Servers {
            file: |home| home.applications.join("Code/User/mcp.json"),
            format: Format::Json,
            within: &["servers"],
            shape: Shape::Typed,
        },
        hooks: None,
        hint: None,
    },
    Agent {
        id: "zed",
        name: "Zed",
        programs: &["zed", "zeditor"],
        directory: zed,
        server: Servers {
            file: |home| zed(home).join("settings.json"),
            format: Format::Json,
            within: &["context_servers"],
            shape: Shape::WithEnvironment,
        },
        hooks: None,
        hint: None,
    },
    Agent {
        id: "opencode",
        name: "OpenCode",
        programs: &["opencode"],
        directory: |home| home.config.join("opencode"),
        server: Servers {
            file: |home| {
                let commented = home.config.join("opencode/opencode.jsonc");
                if commented.exists() {
                    commented
                } else {
                    home.config.join("opencode/opencode.json")
                }
            },
            format: Format::Json,
            within: &["mcp"],
            shape: Shape::Local,
        },
        hooks: None,
        hint: None,
    },
];

fn claude(home: &Home) -> PathBuf {
    home.claude
        .clone()
        .unwrap_or_else(|| home.home.join(".claude"))
}

/// Zed uses the desktop directory only on Windows; elsewhere it uses `.config`.
fn zed(home: &Home) -> PathBuf {
    if cfg!(windows) {
        home.applications.join("Zed")
    } else {
        home.config.join("zed")
    }
}

/// Whether two paths name one file.
pub(super) fn same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}
