//! Commands that agents start: the MCP server and the hooks.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct McpArguments {}

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
  loci mcp";

pub(crate) const HOOK: &str = "\
Examples:
  loci hook Stop --harness claude-code < input.json
  loci hook SessionStart --harness codex < input.json

Agents call it with one JSON object on stdin; `loci connect --hooks` sets that up.
LOCI_HOOKS=off switches all hooks off; so does `enabled = false` below [hooks] in config.toml,
where `message`, `interval`, `wake_up_tokens`, `prompt_tokens`, `failures` and `timeout_ms` are
set, too. What a hook could not do is shown by `loci doctor`";
