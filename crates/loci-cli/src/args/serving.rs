//! Commands that agents start: the MCP server and the hooks.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    /// Which tools to offer
    #[arg(long, value_enum, default_value_t = ToolsArgument::Core)]
    pub(crate) tools: ToolsArgument,
    /// Listen for streamable HTTP instead of serving the client at stdin; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8787", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,
    /// What HTTP clients must send as a bearer token; needed unless the address is a loopback one
    #[arg(
        long,
        value_name = "TOKEN",
        env = "LOCI_MCP_TOKEN",
        hide_env_values = true
    )]
    pub(crate) token: Option<String>,
    /// A name by which HTTP clients may call this machine, besides loopback names and the address; may be repeated
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) allow_host: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolsArgument {
    /// Eight tools that cost a model little
    Core,
    /// All tools
    Full,
    /// MemPalace's tools, for prompts that name them
    Mempalace,
}

/// An address and a port, or a port of this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    let of_port = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let parsed = text.parse().ok().or_else(|| port.parse().ok().map(of_port));
    parsed.ok_or_else(|| "give an address such as 127.0.0.1:8787, or a port".into())
}

#[derive(Debug, Args)]
pub(crate) struct HookArguments {
    /// What happened, by the harness's own name: SessionStart, UserPromptSubmit, PreCompact, Stop,
    /// SessionEnd, PostToolUseFailure, …
    pub(crate) event: String,
    /// Who calls: claude-code, codex, cursor, gemini, or other for one that speaks Claude Code's JSON
    #[arg(long, value_name = "NAME", default_value = "claude-code")]
    pub(crate) harness: String,
    /// The transcript that is saved in the background
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) transcript: Option<PathBuf>,
    /// Where it belongs if it does not say so
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) wing: Option<String>,
}

pub(crate) const MCP: &str = "\
Examples:
  loci mcp                          serve the client that started it
  loci mcp --tools full
  loci mcp --http                   listen at 127.0.0.1:8787
  LOCI_MCP_TOKEN=… loci mcp --http 0.0.0.0:8787 --allow-host nas.local";

pub(crate) const HOOK: &str = "\
Examples:
  loci hook Stop --harness claude-code < input.json
  loci hook SessionStart --harness codex < input.json

Agents call it with one JSON object on stdin; `loci connect --hooks` sets that up.
LOCI_HOOKS=off switches all hooks off; so does `enabled = false` below [hooks] in config.toml,
where `message`, `interval`, `wake_up_tokens`, `prompt_tokens`, `failures` and `timeout_ms` are
set, too. What a hook could not do is shown by `loci doctor`";
