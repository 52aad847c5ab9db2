//! Commands that wire agents to the palace.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags are what was typed")]
pub(crate) struct ConnectArguments {
    /// Agents to wire: claude-code, codex, cursor, gemini, windsurf, vscode, zed, opencode [default: all that
    /// are found on this machine]
    #[arg(value_name = "AGENT")]
    pub(crate) agents: Vec<String>,
    /// Install the hooks too: context at the start, memory for prompts, transcripts saved
    #[arg(long)]
    pub(crate) hooks: bool,
    /// Show what would change and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Put Loci in the place of MemPalace's server, under its name and with its tools, and of its hooks
    #[arg(long, conflicts_with = "keep_mempalace")]
    pub(crate) replace_mempalace: bool,
    /// Leave MemPalace wired beside Loci, without asking
    #[arg(long)]
    pub(crate) keep_mempalace: bool,
    /// The tools that agents see
    #[arg(long, value_name = "SET", value_enum)]
    pub(crate) tools: Option<ToolSet>,
    /// Name of the server in the configuration [default: loci]
    #[arg(long, value_name = "NAME", value_parser = server_name)]
    pub(crate) name: Option<String>,
    /// Read the transcripts that agents keep on this machine into the palace afterwards
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) mine: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ToolSet {
    /// The eight that are needed (default)
    Core,
    /// All of them
    Full,
    /// MemPalace's names and results
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

/// Agents make the names of tools from it.
fn server_name(text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if !text.is_empty() && text.len() <= 64 && text.chars().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("give letters, digits, `-` and `_`, at most 64".into())
    }
}

#[derive(Debug, Args)]
pub(crate) struct DisconnectArguments {
    /// Agents to disconnect [default: all]
    #[arg(value_name = "AGENT")]
    pub(crate) agents: Vec<String>,
    /// Show what would change and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

pub(crate) const CONNECT: &str = "\
Configuration files are merged, not rewritten; a backup is kept, and `loci disconnect` undoes exactly
what was done.

Examples:
  loci connect --dry-run
  loci connect --hooks
  loci connect claude-code codex --hooks --yes
  loci connect --replace-mempalace";

pub(crate) const DISCONNECT: &str = "\
A file that is as `loci connect` left it gets its former bytes back. Of a file that was changed since, only
Loci's entries go.

Examples:
  loci disconnect
  loci disconnect cursor --dry-run";
