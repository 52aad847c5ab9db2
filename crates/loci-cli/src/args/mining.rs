//! The commands that read files and conversations into the palace.

use std::path::PathBuf;

use clap::Args;

use super::PlaceArguments;

/// Which files are taken.
#[derive(Debug, Clone, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags are what was typed")]
pub(crate) struct RuleArguments {
    /// Take hidden files and folders too
    #[arg(long)]
    pub(crate) hidden: bool,
    /// Take what `.gitignore` and `.ignore` leave out too; `.lociignore` is always respected
    #[arg(long)]
    pub(crate) ignored: bool,
    /// Take folders of other people's code too, such as node_modules
    #[arg(long)]
    pub(crate) vendored: bool,
    /// Take links to files outside of the given paths too; links to folders are never entered
    #[arg(long)]
    pub(crate) follow: bool,
}

/// How files are read.
#[derive(Debug, Default, Args)]
pub(crate) struct ReadingArguments {
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    #[command(flatten)]
    pub(crate) rules: RuleArguments,
    /// Read lock files, minified and other generated text too
    #[arg(long)]
    pub(crate) generated: bool,
    /// Keep keys, tokens and passwords as they are instead of masking them; later runs keep them
    /// too. `secrets = "keep"` in config.toml or palace.toml does so for every way in
    #[arg(long)]
    pub(crate) keep_secrets: bool,
    /// Let text that was forgotten come back
    #[arg(long)]
    pub(crate) allow_again: bool,
    /// Begin each drawer with so many bytes of the lines before it
    #[arg(long, value_name = "BYTES", value_parser = overlap)]
    pub(crate) overlap: Option<usize>,
    /// Collection to mine into; created when missing
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
}

fn overlap(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes) if bytes <= 1_000 => Ok(bytes),
        _ => Err("give a number from 0 to 1000".into()),
    }
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags are what was typed")]
pub(crate) struct MineArguments {
    /// Files and folders: projects, notes, transcripts, chat exports
    #[arg(required_unless_present = "agents", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The transcripts that agents keep on this machine: Claude Code, Codex, Gemini CLI, OpenCode, Cursor
    #[arg(long)]
    pub(crate) agents: bool,
    /// Say what would be done and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// File at most so many new or changed files
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Read every file again, changed or not, with the options of this run
    #[arg(long)]
    pub(crate) force: bool,
    /// Go on watching after that, as `loci watch` does
    #[arg(long, conflicts_with_all = ["dry_run", "limit", "force"])]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArguments {
    /// Files and folders
    #[arg(required_unless_present = "agents", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The transcripts that agents keep on this machine
    #[arg(long)]
    pub(crate) agents: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

#[derive(Debug, Args)]
pub(crate) struct SyncArguments {
    /// Files and folders that were mined
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Remove the drawers of files that are gone or ignored now; without it they are only shown
    #[arg(long)]
    pub(crate) apply: bool,
    /// Remove conversations whose transcript is gone too; agents delete theirs after some weeks
    #[arg(long)]
    pub(crate) conversations: bool,
    /// Remove even if a folder is missing, empty, or most of its files are gone
    #[arg(long)]
    pub(crate) even_most: bool,
    #[command(flatten)]
    pub(crate) rules: RuleArguments,
    /// Collection that was mined into
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
}

#[derive(Debug, Args)]
pub(crate) struct RunsArguments {
    /// Show at most so many
    #[arg(long, value_name = "N", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Collection that was mined into
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArguments {
    /// Number of the run, as `loci runs` shows it
    pub(crate) run: u64,
    /// Collection that was mined into
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
}

pub(super) const MINE: &str = "\
Examples:
  loci mine ~/notes                      # what is new or changed since the last time
  loci mine ~/projects/loci --wing loci
  loci mine --agents                     # transcripts of Claude Code, Codex, …
  loci mine conversations.json           # an export of ChatGPT or Claude.ai
  loci mine . --dry-run --json

Wing and room come from --wing and --room, else from `.loci.toml` in the tree, else they are the
project's name (of its git repository) and the folder. A second project of the same name gets a wing
of its own, such as `owner/api`; `loci wings` lists them. A later run does not move drawers.
Files named in .gitignore, .ignore and .lociignore are left out. A link to a file outside of the
given paths is skipped and counted, unless --follow is given. The exit code is 2 if a file could not be read.";

pub(super) const WATCH: &str = "\
Examples:
  loci watch ~/notes ~/projects/loci
  loci mine --watch ~/notes              # the same

Catches up first with what changed while nobody watched. Ctrl-C or SIGTERM ends it cleanly. With
--follow, files outside that links lead to are read at the start; their changes are not watched.";

pub(super) const SYNC: &str = "\
Examples:
  loci sync ~/notes            # shows what would go
  loci sync ~/notes --apply

A folder that is missing, empty, or has lost most of its files is left alone: it may only be unmounted.
`loci undo` brings removed drawers back.";

pub(super) const RUNS: &str = "\
Examples:
  loci runs
  loci undo 12                 # takes back what run 12 did";

pub(super) const UNDO: &str = "\
Examples:
  loci runs
  loci undo 12

A run is not undone if a later run changed one of its files: undo that one first. What the last 50 runs
with changes need for their undo is kept.";
