//! Configuration files in the documented shapes, as written by agents and by people.

/// A file of an agent.
pub(crate) struct Fixture {
    pub(crate) agent: &'static str,
    pub(crate) path: &'static str,
    pub(crate) text: &'static str,
}

const fn fixture(agent: &'static str, path: &'static str, text: &'static str) -> Fixture {
    Fixture { agent, path, text }
}

pub(crate) const FIXTURES: &[Fixture] = &[
    fixture("claude-code", ".claude.json", CLAUDE_USED),
    fixture(
        "claude-code",
        ".claude.json",
        "{\"numStartups\":3,\"mcpServers\":{\"github\":{\"type\":\"http\",\"url\":\"https://example.org/mcp\"}},\"projects\":{\"/a b\":{}}}",
    ),
    fixture(
        "claude-code",
        ".claude.json",
        "{\r\n\t\"mcpServers\": {\r\n\t\t\"fs\": { \"command\": \"npx\", \"args\": [\"fs\"] }\r\n\t}\r\n}\r\n",
    ),
    fixture("claude-code", ".claude/settings.json", CLAUDE_SETTINGS),
    fixture(
        "claude-code",
        ".claude/settings.json",
        "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"say done\"}]}]}}",
    ),
    fixture(
        "claude-code",
        ".claude/settings.json",
        "\u{feff}{\n    \"model\": \"opus\",\n    \"hooks\": {}\n}",
    ),
    fixture("codex", ".codex/config.toml", CODEX_USED),
    fixture(
        "codex",
        ".codex/config.toml",
        "model = \"gpt-5\"  # no newline at the end",
    ),
    fixture(
        "codex",
        ".codex/config.toml",
        "# mine\r\nmodel = \"gpt-5\"\r\n\r\n[mcp_servers.docs]\r\ncommand = \"npx\"\r\nargs = [\"-y\", \"docs\"]\r\n",
    ),
    fixture(
        "codex",
        ".codex/config.toml",
        "mcp_servers = { docs = { command = \"npx\" } }\n[tui]\ntheme = \"x\"\n",
    ),
    fixture(
        "codex",
        ".codex/config.toml",
        "mcp_servers.docs.command = \"npx\"\nmcp_servers.docs.args = []\n\n\n",
    ),
    fixture(
        "codex",
        ".codex/hooks.json",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"notify\", \"timeout\": 5 }] }\n    ]\n  }\n}\n",
    ),
    fixture(
        "cursor",
        ".cursor/mcp.json",
        "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"a\",\n      \"env\": {\"KEY\": \"s\u{00e9}cret\"}\n    }\n  }\n}\n",
    ),
    fixture("cursor", ".cursor/mcp.json", "{\"mcpServers\": {}}"),
    fixture(
        "cursor",
        ".cursor/hooks.json",
        "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [{ \"command\": \"./audit.sh\" }],\n    \"afterFileEdit\": [{ \"command\": \"./format.sh\" }]\n  }\n}\n",
    ),
    fixture("cursor", ".cursor/hooks.json", "{ \"hooks\": { } }\n"),
    fixture("gemini", ".gemini/settings.json", GEMINI_USED),
    fixture(
        "gemini",
        ".gemini/settings.json",
        "{\n  \"theme\": \"GitHub\"\n}",
    ),
    fixture(
        "windsurf",
        ".codeium/windsurf/mcp_config.json",
        "{\n  \"mcpServers\": {\n    \"zapier\": {\n      \"serverUrl\": \"https://example.org/sse\"\n    }\n  }\n}",
    ),
    fixture("windsurf", ".codeium/windsurf/mcp_config.json", "{\n}\n"),
    fixture(
        "vscode",
        ".config/Code/User/mcp.json",
        "{\n\t\"servers\": {\n\t\t// the file system\n\t\t\"fs\": {\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"command\": \"npx\",\n\t\t},\n\t},\n\t\"inputs\": [\n\t\t{ \"id\": \"key\", \"type\": \"promptString\", \"password\": true },\n\t],\n}\n",
    ),
    fixture(
        "vscode",
        ".config/Code/User/mcp.json",
        "{\n\t\"inputs\": []\n}\n",
    ),
    fixture("zed", ".config/zed/settings.json", ZED_USED),
    fixture(
        "zed",
        ".config/zed/settings.json",
        "// nothing set yet\n{\n  // \"theme\": \"One Dark\"\n}\n",
    ),
    fixture("zed", ".config/zed/settings.json", "// only a comment"),
    fixture(
        "opencode",
        ".config/opencode/opencode.json",
        "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    \"x\": { \"type\": \"local\", \"command\": [\"bun\", \"x\"], \"enabled\": true }\n  }\n}\n",
    ),
    fixture(
        "opencode",
        ".config/opencode/opencode.jsonc",
        "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  /* servers */ \"mcp\": {\n    \"servers\": {\n      \"y\": { \"type\": \"local\", \"command\": [\"y\"], }, // mine\n    },\n  },\n}\n",
    ),
    fixture(
        "opencode",
        ".config/opencode/opencode.json",
        "{\"$schema\":\"https://opencode.ai/config.json\"}",
    ),
];

/// Alternatives for every file: missing, empty, or an empty object.
pub(crate) const BARE: [&str; 8] = [
    "",
    "\n",
    "{}",
    "{}\n",
    "{ }",
    "{\n}\n",
    "\u{feff}{}",
    "{\r\n}\r\n",
];

const CLAUDE_USED: &str = r#"{
  "numStartups": 412,
  "installMethod": "native",
  "tipsHistory": {
    "new-user-warmup": 1
  },
  "mcpServers": {
    "github": {
      "type": "stdio",
      "command": "docker",
      "args": [
        "run",
        "-i"
      ],
      "env": {
        "GITHUB_TOKEN": "ghp_secret"
      }
    }
  },
  "projects": {
    "/home/me/code": {
      "allowedTools": [],
      "mcpServers": {}
    }
  },
  "oauthAccount": {
    "emailAddress": "me@example.org"
  }
}
"#;

const CLAUDE_SETTINGS: &str = r#"{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "permissions": {
    "allow": ["Bash(git log:*)"],
    "deny": []
  },
  "hooks": {
    "PostToolUse": [
      {
        "matcher": "Edit|Write",
        "hooks": [
          {
            "type": "command",
            "command": "prettier --write \"$CLAUDE_FILE\""
          }
        ]
      }
    ],
    "Stop": [
      {
        "hooks": [
          { "type": "command", "command": "terminal-notifier -message done", "timeout": 5 }
        ]
      }
    ]
  },
  "enabledPlugins": {
    "review@team": true
  },
  "statusLine": { "type": "command", "command": "~/.claude/status.sh" }
}
"#;

const CODEX_USED: &str = r#"# Codex, set up by hand
model = "gpt-5-codex"
approval_policy = "on-request"   # ask me

[mcp_servers.context7]
command = "npx"
args = [
  "-y",   # do not ask
  "@upstash/context7-mcp",
]

  [mcp_servers.context7.env]
  TOKEN = "secret"

[projects."/home/me/code"]
trust_level = "trusted"

[notice]
text = """
[mcp_servers.loci]
this is only text
"""
# the end
"#;

const GEMINI_USED: &str = r#"{
    "security": { "auth": { "selectedType": "oauth-personal" } },
    "mcpServers": {
        "docs": { "httpUrl": "https://example.org/mcp", "timeout": 5000 }
    },
    "hooks": {
        "BeforeTool": [
            {
                "matcher": "write_file|replace",
                "hooks": [
                    { "name": "check", "type": "command", "command": "./check.sh", "timeout": 5000 }
                ]
            }
        ]
    },
    "ui": { "theme": "Atom One" } // dark
}
"#;

const ZED_USED: &str = r#"// Zed settings
//
// For information on how to configure Zed, see the Zed
// documentation: https://zed.dev/docs/configuring-zed
{
  "ui_font_size": 16,
  "buffer_font_size": 15.5,
  "context_servers": {
    "time": {
      "command": "uvx",
      "args": ["mcp-server-time"],
      "env": {},
    }, // the only one I need
    /* "old": {
      "command": "old"
    }, */
  },
  "theme": {
    "mode": "system",
    "light": "One Light",
    "dark": "One Dark",
  },
}
"#;
