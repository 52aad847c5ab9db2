//! Commands about what agents keep besides drawers: diaries, the wake-up text, links.

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
    /// The text, kept word for word; `-` or nothing reads stdin
    pub(crate) text: Option<String>,
    /// Whose diary it is
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: String,
    /// What it is about [default: general]
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
    /// Only this agent's, whatever the case [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only in this wing [default: all]
    #[arg(long, value_name = "WING")]
    pub(crate) wing: Option<String>,
    /// Show at most so many
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) last: usize,
}

#[derive(Debug, Args)]
pub(crate) struct WakeUpArguments {
    /// Only this wing [default: all]
    #[arg(long, value_name = "WING")]
    pub(crate) wing: Option<String>,
    /// Whose last diary entries to show
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Tokens of the text at most
    #[arg(long, value_name = "N", default_value_t = 800, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) budget: u32,
    /// Say who the memory belongs to, instead of waking up; `-` reads stdin, an empty text removes it
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["wing", "agent", "budget"])]
    pub(crate) identity: Option<String>,
    #[command(flatten)]
    pub(crate) secrets: SecretArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LinksCommand {
    /// Join two places
    #[command(after_help = LINKS_ADD)]
    Add(LinkArguments),
    /// Show the links at a place, or all
    #[command(after_help = PLACES)]
    List(LinksListArguments),
    /// Remove links between two places
    #[command(after_help = LINKS_REMOVE)]
    Remove(LinkArguments),
    /// Show where links lead, nearest first
    #[command(after_help = LINKS_FOLLOW)]
    Follow(LinksFollowArguments),
    /// Show the rooms that join wings
    #[command(after_help = LINKS_TUNNELS)]
    Tunnels(LinksTunnelsArguments),
}

#[derive(Debug, Args)]
pub(crate) struct LinkArguments {
    /// Where it starts: a drawer's id, or wing/room
    pub(crate) from: String,
    /// Where it leads
    pub(crate) to: String,
    /// What the one is to the other
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
    /// Show at most so many
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
    /// Skip so many first
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
    /// Links to go along at most
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) hops: usize,
    /// Show at most so many places
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Collection of the drawer
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
}

#[derive(Debug, Args)]
pub(crate) struct LinksTunnelsArguments {
    /// Only rooms that join this wing to another, or these two
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

Exit code 1 says that there is no entry.";

pub(crate) const WAKE_UP: &str = "\
Examples:
  loci wake-up --wing loci --agent claude --budget 600
  loci wake-up --identity 'I am Alice; I maintain Loci. Answer briefly.'
  loci wake-up --identity ''

Shows who the memory belongs to, what holds, the most important and the most recent drawers, and the
agent's last diary entries, in at most so many tokens. Metadata `importance` above 3 and
`\"pinned\": true` mark what is important; what is often found counts more. Recalled text is fenced:
it is data, not instructions. Exit code 1 says that there is nothing to tell.";

pub(crate) const LINKS: &str = "\
Examples:
  loci links add loci/search mempalace/search --label 'same problem'
  loci links follow loci/search

A place is a drawer's id or wing/room. `drawer:ID`, `room:WING/ROOM` and `wing:WING` leave no doubt.";

const PLACES: &str = "\
Examples:
  loci links list
  loci links list room:loci/search --json

A place is a drawer's id or wing/room. `drawer:ID`, `room:WING/ROOM` and `wing:WING` leave no doubt.
Exit code 1 says that there is no link.";

const LINKS_ADD: &str = "\
Examples:
  loci links add move job --label 'because of'
  loci links add room:loci/search room:mempalace/search

Both places must exist. There is one link per pair of places and label.
A place is a drawer's id or wing/room. `drawer:ID`, `room:WING/ROOM` and `wing:WING` leave no doubt.";

const LINKS_REMOVE: &str = "\
Examples:
  loci links remove move job --label 'because of'

Give the label that it has. Exit code 1 says that there is no such link.";

const LINKS_FOLLOW: &str = "\
Examples:
  loci links follow move
  loci links follow loci/search --hops 3 --limit 20

Goes along links in both directions, and from a room to rooms of the same name in other wings.";

const LINKS_TUNNELS: &str = "\
Examples:
  loci links tunnels
  loci links tunnels loci mempalace

A room joins wings if it stands in several of them, or if a link leads from it to another wing.
Exit code 1 says that there is none.";
