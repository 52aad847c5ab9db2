//! Commands about diaries, the wake-up text and links.

use clap::{Args, Subcommand};

use super::SecretArguments;

#[derive(Debug, Subcommand)]
pub(crate) enum DiaryCommand {
    /// Write an entry
    #[command(after_help = DIARY_WRITE)]
    Write(DiaryWriteArguments),
    /// Show the last entries, newest first
    #[command(after_help = DIARY_READ)]
    Read(DiaryReadArguments),
}

#[derive(Debug, Args)]
pub(crate) struct DiaryWriteArguments {
    /// The text, stored word for word; `-` or no text reads stdin
    pub(crate) text: Option<String>,
    /// The agent that writes the entry
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: String,
    /// Topic of the entry [default: general]
    #[arg(long, value_name = "TOPIC")]
    pub(crate) topic: Option<String>,
    /// Wing of the entry [default: wing_ and the agent's name]
    #[arg(long, value_name = "WING")]
    pub(crate) wing: Option<String>,
    #[command(flatten)]
    pub(crate) secrets: SecretArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DiaryReadArguments {
    /// Only this agent's entries; case is ignored [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only in this wing [default: all]
    #[arg(long, value_name = "WING")]
    pub(crate) wing: Option<String>,
    /// Show at most N
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) last: usize,
}

#[derive(Debug, Args)]
pub(crate) struct WakeUpArguments {
    /// Only this wing [default: all]
    #[arg(long, value_name = "WING")]
    pub(crate) wing: Option<String>,
    /// Show the last diary entries of this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Maximum number of tokens in the text
    #[arg(long, value_name = "N", default_value_t = 800, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) budget: u32,
    /// Set the text that says who owns the memory, instead of waking up; `-` reads stdin, an empty
    /// text removes it
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["wing", "agent", "budget"])]
    pub(crate) identity: Option<String>,
    #[command(flatten)]
    pub(crate) secrets: SecretArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LinksCommand {
    /// Link two places
    #[command(after_help = LINKS_ADD)]
    Add(LinkArguments),
    /// Show all links, or those of one place
    #[command(after_help = PLACES)]
    List(LinksListArguments),
    /// Remove links between two places
    #[command(after_help = LINKS_REMOVE)]
    Remove(LinkArguments),
    /// Show the places that links lead to, nearest first
    #[command(after_help = LINKS_FOLLOW)]
    Follow(LinksFollowArguments),
    /// Show the rooms that connect wings
    #[command(after_help = LINKS_TUNNELS)]
    Tunnels(LinksTunnelsArguments),
}

#[derive(Debug, Args)]
pub(crate) struct LinkArguments {
    /// Where the link starts: a drawer's id, or wing/room
    pub(crate) from: String,
    /// Where the link leads
    pub(crate) to: String,
    /// How the first place relates to the second
    #[arg(long, value_name = "LABEL", default_value = "")]
    pub(crate) label: String,
    /// Collection of the drawers
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
    #[command(flatten)]
    pub(crate) secrets: SecretArguments,
}

#[derive(Debug, Args)]
pub(crate) struct LinksListArguments {
    /// Only links that start or end here
    pub(crate) place: Option<String>,
    /// Show at most N
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
    /// Skip the first N
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: usize,
    /// Collection of the drawer
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
}

#[derive(Debug, Args)]
pub(crate) struct LinksFollowArguments {
    /// Where to start
    pub(crate) place: String,
    /// Maximum number of links between the start and a place
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) hops: usize,
    /// Show at most N places
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Collection of the drawer
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
}

#[derive(Debug, Args)]
pub(crate) struct LinksTunnelsArguments {
    /// Only rooms that connect this wing to another, or these two wings
    #[arg(num_args = 0..=2, value_name = "WING")]
    pub(crate) wings: Vec<String>,
}

pub(crate) const DIARY: &str = "\
Examples:
  loci diary write 'The build needs two cores; one is too slow.' --agent claude
  loci diary read --agent claude --last 5";

const DIARY_WRITE: &str = "\
Examples:
  loci diary write 'Found the leak: the cache was never emptied.' --agent claude --topic leak
  git log -1 --format=%B | loci diary write --agent reviewer --wing loci

An entry is a drawer of room `diary`. The same text may be written again.";

const DIARY_READ: &str = "\
Examples:
  loci diary read
  loci diary read --agent claude --wing loci --last 3 --json

Exits with 1 if there are no entries.";

pub(crate) const WAKE_UP: &str = "\
Examples:
  loci wake-up --wing loci --agent claude --budget 600
  loci wake-up --identity 'I am Alice; I maintain Loci. Answer briefly.'
  loci wake-up --identity ''

Prints who owns the memory, the current facts, the most important and the most recent drawers,
and the agent's last diary entries, within the budget. Metadata `importance` above 3 or
`\"pinned\": true` marks a drawer as important; drawers that are often found count more. Recalled
text is fenced: it is data, not instructions. Exits with 1 if there is nothing to print.";

pub(crate) const LINKS: &str = "\
Examples:
  loci links add loci/search mempalace/search --label 'same problem'
  loci links follow loci/search

A place is a drawer's id or wing/room. `drawer:ID`, `room:WING/ROOM` and `wing:WING` are
unambiguous.";

const PLACES: &str = "\
Examples:
  loci links list
  loci links list room:loci/search --json

A place is a drawer's id or wing/room. `drawer:ID`, `room:WING/ROOM` and `wing:WING` are
unambiguous. Exits with 1 if there are no links.";

const LINKS_ADD: &str = "\
Examples:
  loci links add move job --label 'because of'
  loci links add room:loci/search room:mempalace/search

Both places must exist. There is one link per pair of places and label. A place is a drawer's id
or wing/room. `drawer:ID`, `room:WING/ROOM` and `wing:WING` are unambiguous.";

const LINKS_REMOVE: &str = "\
Examples:
  loci links remove move job --label 'because of'

The label must be the link's own. Exits with 1 if there is no such link.";

const LINKS_FOLLOW: &str = "\
Examples:
  loci links follow move
  loci links follow loci/search --hops 3 --limit 20

Follows links in both directions, and from a room to rooms of the same name in other wings.";

const LINKS_TUNNELS: &str = "\
Examples:
  loci links tunnels
  loci links tunnels loci mempalace

A room connects wings if several wings have a room of that name, or if a link leads from it to
another wing. Exits with 1 if there are none.";
