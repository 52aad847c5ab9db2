//! `loci wings`: which project has which wing, and a wing that several share.

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
    /// Show, or with --apply do, what gives each project of a wing a wing of its own
    #[command(after_help = SPLIT)]
    Split(SplitArguments),
}

#[derive(Debug, Args)]
pub(crate) struct SplitArguments {
    /// The wing
    pub(crate) wing: String,
    /// Move the drawers; otherwise only show where they would go
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

A project is known by the URL of its git remote, else by its first commit, else by its folder. The first project named
`api` has the wing `api`, the next one `owner/api`. Working trees and clones are one project. --wing and `wing` in
`.loci.toml` name a wing that no project is recorded for.";

const SPLIT: &str = "\
Examples:
  loci wings split api
  loci wings split api --apply --json

Drawers go where the project of their file or conversation is. Drawers that were added by hand, facts, links and diaries
stay as they are. The project that is recorded for the wing keeps it, else the one with most drawers. A split that was
killed goes on when it is run again.";
