//! Commands that agents start: the MCP server and the hooks.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct McpArguments {}

#[derive(Debug, Args)]
pub(crate) struct HookArguments {}

pub(crate) const MCP: &str = "\
Examples:
  loci mcp";

pub(crate) const HOOK: &str = "\
Examples:
  loci hook Stop --harness claude-code";
