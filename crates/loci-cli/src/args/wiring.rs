//! Commands that wire agents to the palace.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ConnectArguments {}

#[derive(Debug, Args)]
pub(crate) struct DisconnectArguments {}

pub(crate) const CONNECT: &str = "\
Examples:
  loci connect --dry-run";

pub(crate) const DISCONNECT: &str = "\
Examples:
  loci disconnect";
