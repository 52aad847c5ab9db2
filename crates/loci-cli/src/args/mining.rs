//! The commands that read files and conversations into the palace.

use std::path::PathBuf;

use clap::Args;

use super::PlaceArguments;

/// Flags that decide which files are read.
#[derive(Debug, Clone, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags are what was typed")]
pub(crate) struct RuleArguments {
    /// Also read hidden files and folders
    #[arg(long)]
    pub(crate) hidden: bool,
    /// Also read files that `.gitignore` and `.ignore` exclude; `.lociignore` always applies
    #[arg(long)]
    pub(crate) ignored: bool,
    /// Also read folders of third-party code, such as node_modules
    #[arg(long)]
    pub(crate) vendored: bool,
    /// Also read links to files outside the given paths; links to folders are never followed
    #[arg(long)]
    pub(crate) follow: bool,
}

/// Flags that decide how files are read.
#[derive(Debug, Default, Args)]
pub(crate) struct ReadingArguments {
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    #[command(flatten)]
    pub(crate) rules: RuleArguments,
    /// Also read files that are skipped as generated: lock files, minified files, tables of numbers
    /// and files that say so. Encoded data and drawings are left out all the same
    #[arg(long)]
    pub(crate) generated: bool,
    /// Store keys, tokens and passwords unmasked, in this run and in later runs on the same files;
    /// to make this the default of every command, set `secrets = "keep"` in config.toml or
    /// palace.toml
    #[arg(long)]
    pub(crate) keep_secrets: bool,
    /// Also store text that was forgotten
    #[arg(long)]
    pub(crate) allow_again: bool,
    /// Start each drawer with this many bytes of the lines before it
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
    /// Mine the transcripts that agents keep on this machine: Claude Code, Codex, Gemini CLI,
    /// OpenCode, Cursor, Copilot, Cline, Roo Code, Kilo Code, Amp, Goose, Qwen Code, Kimi, Factory,
    /// OpenHands, Pi, OpenClaw, Mistral Vibe
    #[arg(long)]
    pub(crate) agents: bool,
    /// Show what would be done, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Mine at most N new or changed files
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Read every file again, changed or not, with the options of this run
    #[arg(long)]
    pub(crate) force: bool,
    /// Keep watching afterwards, as `loci watch` does
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
    /// Watch the transcripts that agents keep on this machine
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
    /// Remove the drawers of files that are gone or ignored; without it they are only listed
    #[arg(long)]
    pub(crate) apply: bool,
    /// Also remove conversations whose transcript is gone; agents delete transcripts after some
    /// weeks
    #[arg(long)]
    pub(crate) conversations: bool,
    /// Remove drawers even if a folder is missing or empty, or most of its files are gone
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
    /// Show at most N
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
  loci mine ~/notes                      # new and changed files
  loci mine ~/projects/loci --wing loci
  loci mine --agents                     # transcripts of Claude Code, Codex, …
  loci mine conversations.json           # an export of ChatGPT or Claude.ai
  loci mine . --dry-run --json

The wing and room come from --wing and --room, else from `.loci.toml` in the tree. Otherwise the
wing is the name of the project (its git repository), and the room is the folder. A second
project of the same name gets its own wing, such as `owner/api`; `loci wings` lists them. A later
run does not move drawers. Files that .gitignore, .ignore or .lociignore exclude are skipped. A
link to a file outside the given paths is skipped and counted, unless --follow is set. Exits with
2 if a file could not be read.";

pub(super) const WATCH: &str = "\
Examples:
  loci watch ~/notes ~/projects/loci
  loci mine --watch ~/notes              # the same

First mines the files that changed since the last run. Ctrl-C or SIGTERM ends it cleanly. With
--follow, linked files outside the paths are read at the start; their changes are not watched.";

pub(super) const SYNC: &str = "\
Examples:
  loci sync ~/notes            # lists the drawers that would be removed
  loci sync ~/notes --apply

Drawers of a folder that is missing, empty, or has lost most of its files are kept, because the
folder may only be unmounted; --even-most removes them. `loci undo` restores removed drawers.";

pub(super) const RUNS: &str = "\
Examples:
  loci runs
  loci undo 12                 # undoes run 12";

pub(super) const UNDO: &str = "\
Examples:
  loci runs
  loci undo 12

A run cannot be undone if a later run changed one of its files; undo the later run first. The
last 50 runs with changes can be undone.";
