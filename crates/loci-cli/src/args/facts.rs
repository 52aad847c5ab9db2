//! Commands about facts.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum FactsCommand {
    /// Facts in the order in which they began to hold
    #[command(after_help = FACTS)]
    Timeline,
}

pub(crate) const FACTS: &str = "\
Examples:
  loci facts timeline";
