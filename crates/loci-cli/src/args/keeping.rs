//! Commands about what agents keep besides drawers: diaries, the wake-up text, links.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum DiaryCommand {
    /// The last entries
    #[command(after_help = DIARY)]
    Read,
}

#[derive(Debug, Args)]
pub(crate) struct WakeUpArguments {}

#[derive(Debug, Subcommand)]
pub(crate) enum LinksCommand {
    /// All links
    #[command(after_help = LINKS)]
    List,
}

pub(crate) const DIARY: &str = "\
Examples:
  loci diary read";

pub(crate) const WAKE_UP: &str = "\
Examples:
  loci wake-up";

pub(crate) const LINKS: &str = "\
Examples:
  loci links list";
