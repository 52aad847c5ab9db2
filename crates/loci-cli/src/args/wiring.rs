//! Commands that connect agents to the palace.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags are what was typed")]
pub(crate) struct ConnectArguments {
    /// Agents to connect: claude-code, codex, cursor, gemini, windsurf, vscode, zed, opencode
    /// [default: all that are found on this machine]
    #[arg(value_name = "AGENT")]
    pub(crate) agents: Vec<String>,
    /// Also install the hooks: they add context when a session starts, add relevant memories to
    /// prompts, and save transcripts
    #[arg(long)]
    pub(crate) hooks: bool,
    /// Show what would change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Replace MemPalace's server with Loci, under the same name and with the same tools, and
    /// replace its hooks
    #[arg(long, conflicts_with = "keep_mempalace")]
    pub(crate) replace_mempalace: bool,
    /// Keep MemPalace connected beside Loci, without asking
    #[arg(long)]
    pub(crate) keep_mempalace: bool,
    /// The tools that agents see
    #[arg(long, value_name = "SET", value_enum)]
    pub(crate) tools: Option<ToolSet>,
    /// Name of the server in the configuration [default: loci]
    #[arg(long, value_name = "NAME", value_parser = server_name)]
    pub(crate) name: Option<String>,
    /// Afterwards, mine the transcripts that agents keep on this machine
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) mine: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ToolSet {
    /// Eight tools that use few tokens (default)
    Core,
    /// All tools
    Full,
    /// MemPalace's tools, for prompts that name them
    Mempalace,
}

impl ToolSet {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Full => "full",
            Self::Mempalace => "mempalace",
        }
    }
}

/// Parses the name of the server, from which agents build the names of tools.
fn server_name(text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if !text.is_empty() && text.len() <= 64 && text.chars().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("use at most 64 letters, digits, `-` and `_`".into())
    }
}

#[derive(Debug, Args)]
pub(crate) struct DisconnectArguments {
    /// Agents to disconnect [default: all]
    #[arg(value_name = "AGENT")]
    pub(crate) agents: Vec<String>,
    /// Show what would change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

pub(crate) const CONNECT: &str = "\
Adds entries to the agents' configuration files and keeps the rest of each file. A backup is
kept, and `loci disconnect` undoes exactly these changes.

Examples:
  loci connect --dry-run
  loci connect --hooks
  loci connect claude-code codex --hooks --yes
  loci connect --replace-mempalace";

pub(crate) const DISCONNECT: &str = "\
A file that has not changed since `loci connect` is restored byte for byte. In a file that has
changed, only Loci's entries are removed.

Examples:
  loci disconnect
  loci disconnect cursor --dry-run";
