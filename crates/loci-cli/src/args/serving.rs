//! Commands that agents start: the MCP server and the hooks.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::SecretArguments;

#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    /// Which tools to offer
    #[arg(long, value_enum, default_value_t = ToolsArgument::Core)]
    pub(crate) tools: ToolsArgument,
    /// Serve streamable HTTP instead of the client at stdin; port 0 takes any free port
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8787", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,
    /// The bearer token that HTTP clients must send, instead of a generated one. Other users can
    /// see this flag in the process list; prefer the variable LOCI_MCP_TOKEN or --token-file
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["token_file", "no_auth"])]
    pub(crate) token: Option<String>,
    /// Read the token from this file
    #[arg(
        long,
        value_name = "FILE",
        requires = "http",
        conflicts_with = "no_auth"
    )]
    pub(crate) token_file: Option<PathBuf>,
    /// Require no token: every user and program on this machine can then read and change the
    /// palace. Loopback addresses only
    #[arg(long, requires = "http")]
    pub(crate) no_auth: bool,
    /// A folder or file that clients may mine with `loci_mine`; may be repeated [default:
    /// `mine_roots` in config.toml]
    #[arg(long, value_name = "PATH")]
    pub(crate) allow_mine: Vec<PathBuf>,
    /// A host name that HTTP clients may use, besides loopback names and the address; may be
    /// repeated
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) allow_host: Vec<String>,
    #[command(flatten)]
    pub(crate) secrets: SecretArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolsArgument {
    /// Eight tools that use few tokens
    Core,
    /// All tools
    Full,
    /// MemPalace's tools, for prompts that name them
    Mempalace,
}

/// Parses an address with a port, or a port of this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    let of_port = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let parsed = text.parse().ok().or_else(|| port.parse().ok().map(of_port));
    parsed.ok_or_else(|| "give an address such as 127.0.0.1:8787, or a port".into())
}

#[derive(Debug, Args)]
pub(crate) struct HookArguments {
    /// The event, as the agent names it: SessionStart, UserPromptSubmit, PreCompact, Stop,
    /// SessionEnd, PostToolUseFailure, …; for people: `try` or `log`
    pub(crate) event: String,
    /// With `try`: the prompt
    pub(crate) prompt: Option<String>,
    /// With `try`: the wing of the project; otherwise the wing of the current folder
    #[arg(long, value_name = "NAME")]
    pub(crate) wing: Option<String>,
    /// With `log`: the number of prompts, the latest first
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// The agent that runs the hook: claude-code, codex, cursor or gemini; `other` is any agent
    /// that sends the same JSON as Claude Code
    #[arg(long, value_name = "NAME", default_value = "claude-code")]
    pub(crate) harness: String,
    /// The transcript to save in the background
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) transcript: Option<PathBuf>,
    /// The folder of the conversation, if the transcript does not name one
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) folder: Option<String>,
}

pub(crate) const MCP: &str = "\
Examples:
  loci mcp                          serve the client that started it
  loci mcp --tools full
  loci mcp --tools full --allow-mine ~/notes
  loci mcp --http                   listen at 127.0.0.1:8787
  loci mcp --http 0.0.0.0:8787 --token-file ~/.loci-token --allow-host nas.local

HTTP clients send `Authorization: Bearer TOKEN`. A token is generated at every start, unless one
is given with LOCI_MCP_TOKEN, --token-file or --token. The file that holds it is printed at the
start; only its owner can read it. `loci doctor` lists the servers of a palace.";

pub(crate) const HOOK: &str = "\
Examples:
  loci hook try 'why do we cap retries at 10 s?'    what would be added to this prompt, and why
  loci hook log                                     what was added to which prompt
  loci hook Stop --harness claude-code < input.json
  loci hook SessionStart --harness codex < input.json

Agents call it with one JSON object on stdin; `loci connect --hooks` sets that up. LOCI_HOOKS=off
switches all hooks off, and so does `enabled = false` under [hooks] in config.toml. The other
settings there are `message`, `interval`, `wake_up_tokens`, `prompt_tokens`, `other_wings`,
`failures` and `timeout_ms`. `loci doctor` shows the failures of hooks.";
