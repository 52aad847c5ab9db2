//! `loci wings`: the wings of projects, and splitting a wing that several projects share.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct WingsArguments {
    #[command(subcommand)]
    pub(crate) command: Option<WingsCommand>,
    /// Collection to list
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WingsCommand {
    /// Split a shared wing into one wing per project; without --apply, only show the plan
    #[command(after_help = SPLIT)]
    Split(SplitArguments),
}

#[derive(Debug, Args)]
pub(crate) struct SplitArguments {
    /// The wing
    pub(crate) wing: String,
    /// Move the drawers; without it, only show where they would go
    #[arg(long)]
    pub(crate) apply: bool,
    /// Collection of the wing
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
}

pub(super) const WINGS: &str = "\
Examples:
  loci wings
  loci wings split api            # shows which drawers would go where
  loci wings split api --apply

The list has the number of drawers of each wing, the day of its last change, its rooms, and the
projects that are recorded for it. A project is identified by the URL of its git remote, else by its first commit, else by its
folder. The first project named `api` gets the wing `api`, the next one `owner/api`. Working
trees and clones belong to the same project. A wing set with --wing or with `wing` in
`.loci.toml` is not recorded for a project.";

const SPLIT: &str = "\
Examples:
  loci wings split api
  loci wings split api --apply --json

Each drawer moves to the wing of the project that its file or conversation belongs to. Drawers
that were added by hand, facts, links and diaries do not move. The project that is recorded for
the wing keeps it, else the one with the most drawers. If a split is interrupted, run it again to
finish it.";
